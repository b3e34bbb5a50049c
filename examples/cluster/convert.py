"""Converts many models on a Dask cluster: python convert.py FOLDER -d OUT [--scheduler ADDRESS] [-- OPTIONS OF t2o]

Every worker runs `t2o convert MODEL -o OUT --json --skip-existing`, so models and outputs have to be in a place that all
workers see. A model whose process crashes, or whose worker goes away, is tried again; one that t2o refuses is not: it
would be refused again. The report has a line of JSON for each model, in the order of the models. What is there already,
made of the same input, rules and options, is not made again: to go on after an interruption, run it again.
"""
import argparse
import json
import logging
import os
import pathlib
import subprocess
import sys

from dask.distributed import Client, LocalCluster, as_completed

REFUSED = {2, 3, 4, 5, 6}  # exit statuses that another attempt would not change


class Again(Exception):
    """The model is to be tried once more."""


def convert(t2o, model, out, options):
    """Runs on a worker. Returns the report of t2o."""
    pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([t2o, "convert", model, "-o", out, "--json", "--skip-existing", "-q", *options],
                          capture_output=True, text=True)
    if done.returncode and done.returncode not in REFUSED:
        raise Again(f"exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    report = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {"input": model, "output": None, "ok": False}
    return {**report, "exit_code": done.returncode, "host": os.uname().nodename, "process": os.getpid()}


def find(paths, folder, suffix):
    """(model, output) of every model, those of a folder at their place below it; in order."""
    jobs = {}
    for path in map(pathlib.Path, paths):
        models = sorted(path.rglob("*.pt2")) if path.is_dir() else [path]
        for model in models:
            place = model.relative_to(path) if path.is_dir() else pathlib.Path(model.name)
            out = str((folder / place).with_suffix(suffix))
            if out in jobs:
                sys.exit(f"{jobs[out]} and {model} would both be written to {out}")
            jobs[out] = str(model)
    return [(model, out) for out, model in jobs.items()]


def failure(model, error):
    return {"input": model, "output": None, "ok": False, "exit_code": 1,
            "diagnostics": [{"severity": "error", "code": None, "message": str(error), "notes": [], "hint": None}]}


def run(client, t2o, jobs, options, retries, show):
    """The report of each job, in order."""
    futures = {client.submit(convert, t2o, model, out, options, key=f"{i} {model}", retries=retries, pure=False): i
               for i, (model, out) in enumerate(jobs)}
    reports = [None] * len(jobs)
    for done in as_completed(futures):
        i = futures[done]
        try:
            reports[i] = done.result()
        except Exception as error:  # tried in vain, or its workers are gone
            reports[i] = failure(jobs[i][0], error)
        show(reports[i])
    return reports


def main():
    own = sys.argv[1:sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("models", nargs="+", help=".pt2 files, and folders of them")
    p.add_argument("-d", "--directory", type=pathlib.Path, required=True)
    p.add_argument("--to", choices=["onnx", "py"], default="onnx")
    p.add_argument("--scheduler", help="address of a cluster; without it, workers of this machine")
    p.add_argument("--workers", type=int, default=2, help="of this machine")
    p.add_argument("--retries", type=int, default=2)
    p.add_argument("--report", type=pathlib.Path, help="where to write the report (default: OUT/report.jsonl)")
    p.add_argument("--t2o", default=os.environ.get("T2O", "t2o"), help="the binary, as workers find it")
    a = p.parse_args(own)
    options = sys.argv[len(own) + 2:]
    jobs = find(a.models, a.directory.resolve(), f".{a.to}")
    a.directory.mkdir(parents=True, exist_ok=True)

    def show(report):
        state = "up to date" if report.get("skipped") else "done" if report["ok"] else f"failed ({report['exit_code']})"
        print(f"{report['input']}: {state}", file=sys.stderr)

    cluster = None if a.scheduler else LocalCluster(n_workers=a.workers, threads_per_worker=1, dashboard_address=None,
                                                   silence_logs=logging.CRITICAL)
    with Client(a.scheduler or cluster) as client:
        reports = run(client, a.t2o, jobs, options, a.retries, show)
    if cluster:
        cluster.close()
    report = a.report or a.directory / "report.jsonl"
    report.write_text("".join(json.dumps(r) + "\n" for r in reports))
    failed = sum(not r["ok"] for r in reports)
    print(f"{len(reports)} models: {len(reports) - failed} done, {failed} failed; {report}", file=sys.stderr)
    sys.exit(7 if failed else 0)


if __name__ == "__main__":
    main()
