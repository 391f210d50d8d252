"""README.md and the pages of doc/manual: what they show is run (shown.py), their options, links and topics exist."""
import glob
import os
import re

import shown
from kit import CPUPERF, output, run_checks, stride
from shown import SOURCE

PAGES = ["README.md"] + sorted(os.path.relpath(p, SOURCE) for p in glob.glob(f"{SOURCE}/doc/manual/*.md"))
ONLY = os.environ.get("MANUAL_PAGES", "").split()  # for who writes one
MAX_README_LINES = 250


def text_of(page):
    with open(f"{SOURCE}/{page}", encoding="utf-8") as f:
        return f.read()


def run_pages(folder, pages):
    faults, nr_run, nr_skipped = [], 0, 0
    for page in pages:
        place = f"{folder}/{os.path.basename(page)}"
        os.mkdir(place)
        shown.make_programs(place)
        found, run, skipped = shown.run_page(page, place)
        faults, nr_run, nr_skipped = faults + found, nr_run + run, nr_skipped + skipped
    print(f"{nr_run} blocks were run, {nr_skipped} were not", flush=True)
    assert not faults, "\n".join(faults)


def check_readme(folder):
    assert len(text_of("README.md").split("\n")) <= MAX_README_LINES + 1
    if not ONLY or "README.md" in ONLY:
        run_pages(folder, ["README.md"])


def check_manual(folder):
    pages = [p for p in PAGES if "manual/" in p and "```console" in text_of(p)]
    run_pages(folder, [p for p in pages if os.path.basename(p) in ONLY] if ONLY else stride(pages, 3))


def check_options(_folder):
    """Also of commands that are not run."""
    known = shown.known_options()
    faults = [fault for page in PAGES for fault in shown.check_options(page, text_of(page), known)]
    assert not faults, "\n".join(faults)
    assert sum(1 for page in PAGES for _ in shown.commands_in(text_of(page))) > 100


def check_root(_folder):
    """Who may not read a comment sees which commands need root."""
    faults = [fault for page in PAGES for fault in shown.hidden_roots(page, text_of(page))]
    assert not faults, "\n".join(faults)


def check_links(_folder):
    """Files that pages link to are there, and so are topics of cpuperf help."""
    bad = []
    for page in PAGES:
        folder = os.path.dirname(f"{SOURCE}/{page}")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text_of(page)):
            if not os.path.exists(f"{folder}/{target}"):
                bad.append(f"{page}: {target} is not there")
    topics = re.findall(r"^  (\S+) ", output(CPUPERF, "help"), re.M)
    for page in PAGES:
        for topic in re.findall(r"`cpuperf help ([a-z-]+)`", text_of(page)):
            if topic not in topics:
                bad.append(f"{page}: cpuperf help {topic}: there is no such topic")
    assert not bad, "\n".join(bad)


def check_listing(_folder):
    """The program that a page has is that of examples/."""
    page = text_of("doc/manual/from-a-program.md")
    listing = re.search(r"```c\n(.*?)```", page, re.S)[1]
    assert text_of("examples/count_function.c").endswith("*/\n" + listing)


def check_shapes(_folder):
    """The comparison itself: what it must notice, and what it must not."""
    printed = ["  self   total  samples", "66.4 % ± 10.4  1,234  73.22 ms  prog  parse_line", "lost 3"]
    for line, is_fine in (("self total samples", True), ("self total sample", False), ("Self total samples", False),
                          ("3.1 % ± 2 7 9 us  prog  parse_line", True), ("3.1 % ± 2 7 9 us prog parse", False),
                          ("3 % … parse_line", True), ("# … parse_lin", False), ("3 % 2 ns 9 prog parse_line", True), ("self … samples", True), ("lost -12", True),
                          ("lost many", False)):
        assert (shown.missing([line], printed) is None) == is_fine, line
    assert shown.missing(["lost 1", "self total samples", "lost twice"], printed) == "lost twice"
    assert shown.missing(["…", "", "lost 9"], printed) is None
    assert shown.missing(["gained 9"], printed, ["gained"]) is None
    page = "<!-- test: status 3 -->\n```console\n$ cpuperf --a \\\n    --b\nx\n```\ntext `cpuperf_print --report=flatt`\n"
    block, = shown.blocks("p", page)
    assert block.steps == [["cpuperf --a     --b", ["x"], 2]] and block.value("status") == "3"
    known = shown.known_options()
    assert len(shown.check_options("p", page, known)) == 3
    assert not shown.check_options("p", "`cpuperf -F 99 --pid=1 -- prog --nonsense | sort --x`", known)
    page = "# a\nas root\n{0}# b\nrooted\n{0}".format("<!-- test: root -->\n```console\n$ x\n```\n")
    assert shown.hidden_roots("p", page) == ["p:11: needs root, and its section does not say so"]


run_checks(globals())
