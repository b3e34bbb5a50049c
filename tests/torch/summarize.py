"""Totals and a per-op table of a results file written by run_cases.py.

    python summarize.py results.jsonl [--csv per_op.csv] [--worst 40]
"""
import argparse
import collections
import csv
import json
import pathlib

STATUSES = ("ok", "unsupported", "convert_error", "invalid_model", "ort_unimplemented",
            "runtime_error", "mismatch")


def percent(part, whole):
    return f"{part}/{whole} ({100 * part / max(whole, 1):.1f} %)"


def per_op(rows):
    """op -> Counter of statuses."""
    table = collections.defaultdict(collections.Counter)
    for r in rows:
        table[r["op"]][r["status"]] += 1
    return table


def totals(rows, table):
    """The headline figures, as (label, text) pairs."""
    yield "cases ok", percent(sum(r["status"] == "ok" for r in rows), len(rows))
    yield "ops fully ok", percent(sum(set(c) == {"ok"} for c in table.values()), len(table))
    yield "ops with any case ok", percent(sum(c["ok"] > 0 for c in table.values()), len(table))
    for dtype in sorted({r["dtype"] for r in rows}):
        some = [r for r in rows if r["dtype"] == dtype]
        yield f"cases ok, {dtype}", percent(sum(r["status"] == "ok" for r in some), len(some))
    counts = collections.Counter(r["status"] for r in rows)
    yield "statuses", ", ".join(f"{s} {counts[s]}" for s in STATUSES if counts[s])
    seconds = sorted(r["convert_s"] for r in rows if r["convert_s"] is not None)
    if seconds:
        yield ("convert seconds",
               f"median {seconds[len(seconds) // 2]:.3f}, sum {sum(seconds):.0f}")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("results")
    p.add_argument("--csv", help="write the per-op table here")
    p.add_argument("--worst", type=int, default=40)
    args = p.parse_args()
    rows = [json.loads(x) for x in pathlib.Path(args.results).read_text().splitlines()]
    table = per_op(rows)
    for label, text in totals(rows, table):
        print(f"{label:28} {text}")
    first = {}
    for r in rows:
        if r["status"] != "ok":
            first.setdefault(r["op"], f"{r['status']}: {r['message']}")
    bad = {op: sum(c.values()) - c["ok"] for op, c in table.items() if set(c) != {"ok"}}
    print(f"\n{'op':48} ok/all  first failure")
    for op in sorted(bad, key=lambda op: (-bad[op], op))[:args.worst]:
        print(f"{op:48} {table[op]['ok']:>2}/{sum(table[op].values()):<4} {first[op][:110]}")
    if args.csv:
        with open(args.csv, "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["op", "cases", *STATUSES, "first_failure"])
            for op in sorted(table):
                w.writerow([op, sum(table[op].values()), *(table[op][s] for s in STATUSES),
                            first.get(op, "")])


if __name__ == "__main__":
    main()
