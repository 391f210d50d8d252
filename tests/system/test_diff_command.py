#!/usr/bin/env python3
"""--diff of sessions of a command: the headline with its times and the totals of its events, what is
judged and what is not, runs that did not reach their end. Software events only.
"""
import csv
import io
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

from kit import CPUPERF, may_count_faults, may_sample, output, PRINT, run, run_checks

EVENTS = ["-e", "page_faults,task_clock,cpu_clock@1000000"]
NUMBER = r"[\d,.]+ (?:s|ms|us)"
HEADLINE = (rf"^(?P<name>.*): (?P<was>{NUMBER}) → (?P<is>{NUMBER}) wall, (?P<change>[+-][\d.]+) %"
            r"(?: \[(?P<low>-?[\d.]+), (?P<high>-?[\d.]+)\], (?P<verdict>slower|faster|no significant change),"
            r" p (?:= (?P<p>[\d.]+)|< 0\.001))?; (?P<of>.*)$")


def measure(folder, name, pages=100, options=(), ms=20, **how):
    """A command that touches so many pages, and uses so much CPU time."""
    return run(CPUPERF, "-o", name, *EVENTS, *options, "--", os.environ["KNOWN"], "faults", str(pages), str(ms),
               cwd=folder, **how)


def sides(now, was):
    return [*(f"--session={s}" for s in now), *(f"--diff={s}" for s in was)]


def text_of(folder, now, was, *options, **how):
    """An interval and its verdict agree, which may be on the next line."""
    text = output(PRINT, "--quiet", *sides(now, was), *options, cwd=folder, **how)
    for low, high, no_change in re.findall(r"\[([-\d.]+), ([-\d.]+)\],?\s+(no\s+significant\s+change)?", text):
        is_change = not no_change
        assert not float(low) < 0 < float(high) if is_change else float(low) <= 0 <= float(high), text
    return text


def rows_of(folder, now, was, *options):
    done = output(PRINT, "--quiet", *sides(now, was), "--output-format=csv", *options, cwd=folder)
    rows = list(csv.DictReader(io.StringIO(done)))
    return {r["event"]: r for r in rows if not r["function"]}, [r for r in rows if r["function"]]


def over_limit(folder, now, was, limit, *options):
    """The totals of which --fail-over is; its status says so."""
    totals, _ = rows_of(folder, now, was, *options)
    found = {name for name, r in totals.items() if r["certain"] == "true" and (not r["relative"] or float(r["relative"]) > limit)}
    run(PRINT, "--quiet", *sides(now, was), f"--fail-over={limit}", *options, cwd=folder, code=3 if found else 0)
    return found


def in_ns(text):
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1e9, "ms": 1e6, "us": 1e3}[unit]


def wall(folder, name):
    """Of one session: what its answer says."""
    text = output(PRINT, "--quiet", name, cwd=folder)
    return in_ns(re.search(rf"^  ({NUMBER})(?: ±.*?)? wall,", text, re.M).group(1))


def check_sessions(folder):
    """Three sessions a side: the headline has the means, and the totals of each event are judged."""
    was, now = [[f"{side}{i}" for i in range(3)] for side in ("was", "now")]
    for a, b in zip(was, now):
        measure(folder, a, pages=1000)
        measure(folder, b, pages=4000)
    text = text_of(folder, now, was, "--counts")
    head = re.search(HEADLINE, text, re.M)
    assert text.startswith("\n") and head.start() == 1, text
    for key, names in (("was", was), ("is", now)):
        mean = sum(wall(folder, n) for n in names) / 3
        assert abs(in_ns(head[key]) - mean) < mean / 500, (text, mean)
    assert head["of"] == "3 sessions now, 3 before", text
    change = in_ns(head["is"]) / in_ns(head["was"]) - 1
    # each of both times is printed with four digits: within 0.05 %; the change with one decimal
    assert abs(float(head["change"]) - 100 * change) < 100 * (1 + change) * 0.00101 + 0.0501, text
    assert float(head["low"]) <= float(head["change"]) <= float(head["high"]), text
    totals, functions = rows_of(folder, now, was)
    p = float(totals["wall_time"]["p"])  # 0.0497 is 0.050 in text
    assert (head["verdict"] == "no significant change") == (p >= 0.05) and abs(float(head["p"] or 0) - p) < 0.0051, (text, p)
    assert set(totals) == {"wall_time", "cpu_time", "page_faults", "task_clock", "cpu_clock"} and functions, totals
    faults = totals["page_faults"]
    grown = float(faults["is_count"]) - float(faults["was_count"])
    assert 2900 < grown < 3100 and faults["certain"] == "true" and float(faults["p"]) < 0.05, faults
    assert abs(float(faults["change"]) - 100 * grown / float(faults["was_count"])) < 0.01, faults
    assert re.search(r"^page_faults +[\d,.]+ +[\d,.]+ +\+\d+\.\d\d % +\[\d+\.\d, \d+\.\d\] +more +(< )?0\.0", text,
                     re.M), text
    assert "p is corrected for these 4 totals (Holm); the wall time is tested alone" in text, text
    assert "changed significantly (5 % level, corrected by Holm)" in text, text
    # amounts in the event's unit with --counts, else shares
    table = text.split("\ncpu_clock: ")[1]
    assert re.search(r"^ *[-+][\d.]+ %.* [\d.]+ (ms|us|ns) +([\d.]+ (ms|us|ns)|0) ", table, re.M), table
    # one change: that of the row itself, with its interval, and none of rows that were not tested
    assert "relative" not in table, table
    csv_rows = csv.DictReader(io.StringIO(output(PRINT, "--quiet", *sides(now, was), "--counts", "--output-format=csv", cwd=folder)))
    tested = [r for r in csv_rows if r["event"] == "cpu_clock" and r["function"] and r["p"]]
    shown = re.findall(r"^ *([-+][\d.]+) %(?: ± ([\d.]+))? .* (\S+)$", table, re.M)
    changed = [r for r in tested if r["relative"]]  # those that are new have no part
    assert len(shown) == len(changed) or "more (--top=0" in table, (table, tested)
    for r in changed[:5]:
        found = [s for s in shown if r["function"].endswith(s[2])]
        part = float(r["relative"]) / float(r["change"]) if float(r["change"]) else 100 / float(r["was"])
        half = float(r["change_half"]) * abs(part)
        assert any(abs(float(s[0]) - float(r["relative"])) < 0.01 and abs(float(s[1] or 0) - half) < 0.02 * half + 0.02
                   for s in found), (r, half, found)
    table = text_of(folder, now, was).split("\ncpu_clock: ")[1]
    assert re.search(r"^ *[-+][\d.]+ pp.* [\d.]+ % +[\d.]+ % ", table, re.M) and not re.search(r"^.* pp.* ms", table, re.M), table
    # a total that grew is over the limit; what is excluded by --event is not looked at (of the clock's functions those
    # of page faults may have grown as much, and others be new)
    run(PRINT, "--quiet", *sides(was, now), "--event=page_faults", "--fail-over=9000", cwd=folder, code=0)
    limit = round(0.9 * 100 * grown / float(faults["was_count"]))
    run(PRINT, "--quiet", *sides(now, was), f"--fail-over={limit}", cwd=folder, code=3)
    assert set(rows_of(folder, now, was, "--event=cpu_clock")[0]) == {"wall_time", "cpu_time", "cpu_clock"}
    assert not over_limit(folder, now, was, limit, "--event=task_clock") - {"wall_time"}  # which is the machine's, too


def check_new_functions(folder):
    """What was not there before is new: it has no part of nothing."""
    shutil.copy(os.environ["KNOWN"], f"{folder}/old")
    shutil.copy(os.environ["KNOWN"], f"{folder}/young")
    was, now = [[f"{program}{i}.d" for i in range(3)] for program in ("old", "young")]
    for names, program in ((was, "old"), (now, "young")):
        for name in names:
            run(CPUPERF, "--quiet=2", "-o", name, *EVENTS, "--", f"{folder}/{program}", "faults", "100", "40", cwd=folder)
    for options in ([], ["--counts"]):
        table, says, largest = text_of(folder, now, was, *options).split("\ncpu_clock: ")[1].partition(
            "\nThe difference is in ")
        # the largest amounts of the same work, which are what the columns was and is say
        assert bool(says) == bool(options) and (not says or re.match(
            r"(old use_cpu -[\d.]+ ms, young use_cpu \+|young use_cpu \+[\d.]+ ms, old use_cpu -)[\d.]+ ms", largest)), largest
        lines = table.splitlines()
        young = [line for line in lines if " young " in line]
        assert young and all(re.match(r" *(\+[\d.]+ pp ± [\d.]+)? *new  ", line) for line in young), lines
        assert not any("new" in line for line in lines if " old " in line), lines
    assert {r["relative"] for r in rows_of(folder, now, was)[1] if r["object"] == "young"} == {""}


def check_one_each(folder):
    """One run a side: numbers, and no judgement; the same for one against two."""
    for name in ("was", "now", "now2"):
        measure(folder, name)
    for now, why in ((["now"], "one run each: no judgement"), (["now", "now2"], "one session before: no judgement")):
        text = text_of(folder, now, ["was"])
        head = re.search(HEADLINE, text, re.M)
        assert head and head["of"] == why and not head["low"] and " p " not in head[0], text
        assert "(Holm); the wall" not in text and "[" not in text.split("\ncpu_clock")[0].split("\n", 2)[2], text
        totals, _ = rows_of(folder, now, ["was"])
        assert {(r["certain"], r["p"], r["change_half"]) for r in totals.values()} == {("false", "", "")}, totals


def check_iterations(folder):
    """All iterations of a command are one run: their amounts add up."""
    sums = {}
    for name in ("was", "now"):
        measure(folder, name, ms=200, options=["-d0.03", "-n10000"])
        rows = csv.DictReader(io.StringIO(output(PRINT, "--quiet", name, "--output-format=csv", cwd=folder)))
        rows = [r for r in rows if r["event"] in ("page_faults", "task_clock") and r["state"] == "ok"]
        assert len({r["iteration"] for r in rows}) > 2, rows
        for r in rows:
            sums[name, r["event"]] = sums.get((name, r["event"]), 0) + float(r["value"])
    text = text_of(folder, ["now"], ["was"])
    head = re.search(HEADLINE, text, re.M)
    assert head and head["of"] == "one run each: no judgement", text
    assert "did not reach" not in text_of(folder, ["now"], ["was"])
    totals, _ = rows_of(folder, ["now"], ["was"])
    for event in ("page_faults", "task_clock"):
        got = [float(totals[event][f"{side}_count"]) for side in ("was", "is")]
        assert got == [sums["was", event], sums["now", event]], (event, got, sums)


def check_runs(folder):
    """The runs of one session a side are the replicates."""
    measure(folder, "was", pages=1000, options=["-r3"])
    measure(folder, "now", pages=4000, options=["-r4"])
    head = re.search(HEADLINE, text_of(folder, ["now"], ["was"]), re.M)
    assert head["of"] == "4 runs now, 3 before, of one session each", head
    columns = os.environ["CPUPERF_COLUMNS"]
    os.environ["CPUPERF_COLUMNS"] = "40"
    try:
        narrow = text_of(folder, ["now"], ["was"])
    finally:
        os.environ["CPUPERF_COLUMNS"] = columns
    broken = [line for line in narrow.splitlines() if re.search("runs? now|rows? tested|one session", line)]
    assert len(broken) > 1 and max(map(len, broken)) <= 40, narrow
    assert abs(in_ns(head["is"]) - wall(folder, "now")) < wall(folder, "now") / 500, head
    totals, _ = rows_of(folder, ["now"], ["was"])
    assert totals["page_faults"]["certain"] == "true", totals
    assert totals["page_faults"]["scope"] == "", totals


# Touches 40 pages more in each run: what drifts is correlated between neighbours.
DRIFTS = """
import mmap, os, sys
n = os.path.getsize(sys.argv[2]) if os.path.exists(sys.argv[2]) else 0
open(sys.argv[2], "a").write("x")
pages = int(sys.argv[1]) + 40 * n
m = mmap.mmap(-1, pages * 4096)
m.madvise(15)  # no huge pages
for i in range(pages):
    m[i * 4096] = 1
"""


def check_runs_are_independent(folder):
    """Ten runs a side: Welch's test of them as they are, not of blocks of neighbours, as that of iterations."""
    counts = {}
    for side, pages in (("was", 2000), ("now", 2300)):
        run(CPUPERF, "-o", side, "-e", "page_faults", "-r10", "--", sys.executable, "-ISc", DRIFTS, str(pages), f"{side}.n",
            cwd=folder)
        rows = csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=summary", "--output-format=csv", side, cwd=folder)))
        counts[side] = [int(r["value"]) for r in rows if r["event"] == "page_faults" and not r["trace"]]
        assert len(counts[side]) == 10, counts
    mean = {side: sum(c) / 10 for side, c in counts.items()}
    error = math.sqrt(sum((x - mean[side]) ** 2 for side, c in counts.items() for x in c) / 9 / 10)
    change, error = (100 * x / mean["was"] for x in (mean["now"] - mean["was"], error))
    text = text_of(folder, ["now"], ["was"])
    low, high = map(float, re.search(r"^page_faults .*\[([-\d.]+), ([-\d.]+)\] +more ", text, re.M).groups())
    # of 18 degrees of freedom; the first and the second of two totals that are corrected together
    assert abs((low + high) / 2 - change) < 0.2, (text, change)
    assert 2.1009 * error - 0.2 < (high - low) / 2 < 2.4450 * error + 0.2, (text, error)


def check_cut(folder):
    """A run that was ended, and one that outlives the measuring, are compared as rates."""
    measure(folder, "whole")
    with subprocess.Popen([CPUPERF, "-o", "cut", *EVENTS, "--", "sh", "-c",
                           "echo ready; while :; do :; done"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
        assert p.stdout.readline() == "ready\n"
        os.killpg(p.pid, signal.SIGINT)
        p.communicate()
    # on a busy machine the measuring may end late: the command waits for that
    with subprocess.Popen([CPUPERF, "-o", "timed", *EVENTS, "-d0.1", "--", "sh", "-c",
                           "until [ -e over ]; do :; done"], cwd=folder, stderr=subprocess.PIPE) as p:
        manifest = f"{folder}/timed/cpuperf.cpsession"
        while not os.path.exists(manifest) or '"recording"' in open(manifest, encoding="utf-8").read():
            time.sleep(0.01)
        open(f"{folder}/over", "w", encoding="ascii").close()
        p.communicate()
    for now, was in ((["cut"], ["whole"]), (["whole"], ["timed"]), (["whole"], ["whole2"])):
        if was == ["whole2"]:
            measure(folder, "whole2", code=None)
        text = text_of(folder, now, was)
        totals, _ = rows_of(folder, now, was)
        is_rate = was != ["whole2"]
        assert ("amounts per second are compared" in text) == is_rate, text
        assert ("wall_time" in totals) != is_rate and "page_faults" in totals, totals
        assert not is_rate or re.search(r"^task_clock +[\d.]+ % +[\d.]+ % ", text, re.M), text
        if is_rate:
            assert 0 <= float(totals["task_clock"]["is_count"]) <= 2e9, totals  # ns per second


def check_cut_runs(folder):
    """Of several runs those that were cut are ignored; what failed is counted."""
    measure(folder, "was", options=["-r3"])
    script = "echo x >> n; [ $(wc -l < n) = 4 ] && kill -9 $$; i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); done"
    run(CPUPERF, "-o", "now", *EVENTS, "-r9", "--", "sh", "-c", script + "; exit 3", cwd=folder, code=None)
    text = text_of(folder, ["now"], ["was"])
    assert "; 3 runs now, 3 before" in text and "per second" not in text, text
    assert "Runs that did not reach their end are ignored: 1 now, 0 before" in text, text
    assert "Runs that failed: 3 of 4 now, 0 of 3 before" in text, text


def check_counts_only(folder):
    """Sessions without samples: the headline and the totals alone, in every format."""
    known = os.environ["KNOWN"]
    for name, ms in (("was", 1), ("now", 200)):
        run(CPUPERF, "-o", name, "-r3", "-e", "page_faults,task_clock", "--", known, "faults", "100", str(ms),
            cwd=folder)
    text = text_of(folder, ["now"], ["was"])
    head = re.search(HEADLINE, text, re.M)
    assert head and head["of"] == "3 runs now, 3 before, of one session each" and "amples" not in text, text
    totals, others = rows_of(folder, ["now"], ["was"])
    assert set(totals) >= {"wall_time", "cpu_time"} and not others, totals
    if "task_clock" in totals:
        assert totals["task_clock"]["certain"] == "true", totals
    args = sides(["now"], ["was"])
    done = run(PRINT, "--quiet", *args, "--output-format=junit", "--fail-over=5", cwd=folder, code=3)
    assert 'name="cpu_time"' in done.stdout and "<failure" in done.stdout, done.stdout
    assert run(PRINT, "--quiet", *args, "--output-format=html", cwd=folder).stdout.lower().startswith("<!doctype html>")
    run(PRINT, "--quiet", *args, "--counts", "--output-format=markdown", cwd=folder)


def check_counts_of_machine(folder):
    """Counts of the machine have no headline of a command; iterations hold within these two sessions."""
    if not may_sample("counts of the machine"):
        return
    for name in ("was", "now"):
        run(CPUPERF, "-o", name, "-e", "context_switches", "-d0.05", "-n5", "--no-live", cwd=folder)
    text = text_of(folder, ["now"], ["was"])
    assert re.search(r"^Whole machine: iterations of [\d.]+ s now, [\d.]+ s before.*; \d+ iterations now, \d+ before, "
                     "of one session each$", text, re.M), text
    totals, others = rows_of(folder, ["now"], ["was"])
    assert set(totals) == {"context_switches"} and not others, totals
    for side in ("was", "now"):
        rows = csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=summary", "--output-format=csv", side,
                                                 cwd=folder)))
        rows = [r for r in rows if not r["trace"]]
        per = [(int(r["end_ns"]) - int(r["start_ns"])) / 1e9 if "per second" in text else 1 for r in rows]
        mean = sum(int(r["value"]) / p for r, p in zip(rows, per)) / len(rows)
        shown = float(totals["context_switches"]["was_count" if side == "was" else "is_count"])
        assert abs(mean - shown) <= mean / 1000, (mean, shown, text)
    error = run(PRINT, "--quiet", *sides(["now"], ["was"]), "--fail-over=5", cwd=folder, code=1).stderr
    assert "--within" in error, error


HOSTILE = 'a<b>&"|`\x02\xe2\x80\xae\xff'.encode("latin-1")  # a control, an invisible character, no UTF-8


def hostile_sessions(folder):
    """Of a program with such a name, which computes more on the newer side, and has more page faults: how long the former
    takes is the machine's, too."""
    shutil.copy("/bin/sh", os.path.join(folder.encode(), HOSTILE))
    for name, n, nr_children in (("was", 10000, 1), ("now", 60000, 20)):
        run(CPUPERF, "-o", name, "-r3", "-e", "page_faults,task_clock,cpu_clock@100000", "--",
            b"./" + HOSTILE, "-c", f"i=0; while [ $i -lt {n} ]; do i=$((i + 1)); done" + "; (:)" * nr_children, cwd=folder)
    return sides(["now"], ["was"])


def check_junit(folder):
    """A test case for each total and row that was tested; a failure for each over the limit."""
    args = hostile_sessions(folder)
    for more in (["--counts"], ["--sort=comm,object"], ["--sort=pid"]):
        for limit in (0, 100000):
            options = [*more, f"--fail-over={limit}", "--within"]
            done = run(PRINT, "--quiet", *args, "--output-format=junit", *options, cwd=folder, code=None)
            text = run(PRINT, "--quiet", *args, "--output-format=csv", *options, cwd=folder, code=None)
            rows = [r for r in csv.DictReader(io.StringIO(text.stdout)) if r["p"]]
            over = [r for r in rows if r["certain"] == "true" and (not r["relative"] or float(r["relative"]) > limit)]
            suite, = ElementTree.fromstring(done.stdout.encode()).findall("testsuite")
            cases = suite.findall("testcase")
            failed = [c for c in cases if c.find("failure") is not None]
            assert len(cases) == len(rows) == int(suite.get("tests")), (done.stdout, rows)
            said = run(PRINT, "--quiet", *args, "--output-format=github", *options, cwd=folder, code=done.returncode).stdout
            assert said.count("::error title=") == len(over) and (over or said.startswith("::notice title=cpuperf diff::")), said
            assert len(failed) == len(over) == int(suite.get("failures")), (done.stdout, over)
            assert done.returncode == text.returncode == (3 if failed else 0), (done, text.returncode)
            assert sum(c.get("classname") == "total" for c in cases) == 5, done.stdout
    assert any("over the limit of 0.00 %" in c.find("failure").get("message") for c in ElementTree.fromstring(
        output_of_three(folder, args, "--counts", "--fail-over=0", "--within").encode()).iter("testcase")
        if c.find("failure") is not None)
    names = output_of_three(folder, args, "--counts", "--sort=comm", "--fail-over=0", "--within")
    assert 'a&lt;b&gt;&amp;&quot;|`?' in names, names
    done = run(PRINT, "--quiet", *args, "--output-format=junit", cwd=folder, code=2)
    assert not done.stdout and "--output-format=junit requires --fail-over=PERCENT" in done.stderr, done
    done = run(PRINT, "now", "--output-format=junit", cwd=folder, code=2)
    assert "--output-format=junit requires --diff=FILE" in done.stderr, done


def check_markdown(folder):
    """The same cells as text, in tables; all other text is in blocks of code; names do not break out."""
    args = hostile_sessions(folder)
    for more in (["--counts"], ["--sort=comm,function"]):
        lines = output(PRINT, "--quiet", *args, "--output-format=markdown", *more, cwd=folder).splitlines()
        plain = output(PRINT, "--quiet", *args, *more, cwd=folder)
        tables, is_code = [], False
        for i, line in enumerate(lines):
            if line.startswith("```"):
                is_code = not is_code
            elif is_code:
                assert line in plain.splitlines(), line
            elif line.startswith("|"):
                if not lines[i - 1].startswith("|"):
                    tables.append([])
                tables[-1].append(line[1:-1].strip(" ").split("|"))
            else:
                assert line == "", (i, line)
        assert not is_code and len(tables) == 2, lines
        for table in tables:
            assert len({len(row) for row in table}) == 1 and len(table) > 3, table
            assert all(cell.strip() in ("---", "---:") for cell in table[1]), table
        cells = {cell.strip() for row in tables[1][2:] for cell in row}
        assert all(not c or c[0] + c[-1] == "``" or c.startswith("<code>") or not set(c) & set("<>&`*_[]\\")
                   for c in cells), cells
        assert "--sort=comm,function" not in more or any(
            c.startswith("<code>a&#60;b&#62;&#38;&#34;&#124;&#96;&#63;") for c in cells), cells
    head = next(line for line in plain.splitlines() if " wall, " in line)
    assert head in lines, lines


def output_of_three(folder, args, *options):
    return run(PRINT, "--quiet", *args, "--output-format=junit", *options, cwd=folder, code=3).stdout


if not may_count_faults("all checks, which compare page faults"):
    sys.exit(77)
run_checks(globals(), everybody=True)
