"""The pages in docs/ are true: rules on them load, and commands print what stands below them."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("T2O", ROOT / "build" / "t2o")).resolve()
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page):
    return [(m[1], m[2]) for m in BLOCK.finditer(page.read_text())]


def matches(want, got):
    """Line by line; "..." alone stands for any lines, within a line for any text."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
                      for line in want)
    return re.fullmatch(pattern, got)


def commands(text):
    """(command, lines that it prints) of a console block."""
    out = []
    for line in text.splitlines():
        if line.startswith("$ "):
            out.append((line[2:], []))
        else:
            out[-1][1].append(line)
    return out


PAGES_WITH_CODE = [p for p in PAGES if any(kind == "console" for kind, _ in blocks(p))]


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=lambda p: p.name)
def test_page(page, tmp_path):
    shutil.copy(ROOT / "examples/custom_rule/head.pt2", tmp_path)
    env = {k: v for k, v in os.environ.items() if not k.startswith("T2O")}
    env |= {"XDG_CONFIG_HOME": str(tmp_path / "none"), "PATH": f"{BINARY.parent}:{os.environ['PATH']}"}
    for kind, text in blocks(page):
        if kind == "lua":
            name = re.match(r"-- (\S+\.lua)", text)
            assert name, f"a Lua block begins with its file's name: {text[:40]}"
            (tmp_path / name[1]).write_text(text)
        for command, want in commands(text) if kind == "console" else []:
            done = subprocess.run(command, shell=True, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            assert matches(want, done.stdout), f"$ {command}\n{done.stdout}"


def test_pages_link_to_what_exists():
    for page in PAGES:
        prose = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text()))
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
