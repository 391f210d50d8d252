#!/usr/bin/env python3
"""cpuperf --sweep=NAME=VALUES -- COMMAND {NAME}: which runs there are, in which order and with what; numbers against those
of the runs themselves; formats; with --versus; mistakes. What is compared are page faults, which no load changes."""
import csv
import io
import json
import math
import os
import shlex
import xml.etree.ElementTree as ElementTree

from kit import CPUPERF, on_terminal, run, run_checks

# Needs about a page for each number, without a word of Python's.
TOUCH = "head -c {pages}0k /dev/zero | sort >/dev/null"
LOG = ["sh", "-c", "echo {n} >>ran"]


def sweep(folder, values, *options, command, code=0):
    return run(CPUPERF, f"--sweep={values}", *options, "--", *command, cwd=folder, code=code)


def ran(folder):
    with open(f"{folder}/ran", encoding="ascii") as f:
        return f.read().split()


def check_turns(folder):
    """Forth and back; the first run of each is left out of the rows and of the file of runs; what runs beside them."""
    done = sweep(folder, "n=a,b,c", "--runs=4", "--setup=sh -c 'echo setup >>ran'", "--prepare=sh -c 'echo for-{n} >>ran'",
                 "--cleanup=sh -c 'echo cleanup >>ran'", "--output-format=csv", command=LOG)
    order = [*"abc", *"abccba" * 2]
    assert ran(folder) == ["setup", *(x for n in order for x in (f"for-{n}", n)), "cleanup"], ran(folder)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(r["value"], r["rounds"], r["number"], r["efficiency"]) for r in rows] == [
        (n, "4", "", "") for n in "abc"], rows
    assert all(r["unit"] == "s" and 0 < float(r["cpu_seconds"]) < 60 for r in rows), rows
    with open(f"{folder}/cpuperf.sweep/runs.csv", encoding="ascii") as f:
        saved = list(csv.DictReader(f))
    assert [(r["round"], r["value"]) for r in saved] == [(str(i), n) for i in range(1, 5) for n in "abc"], saved


def check_numbers(folder):
    """Means, speed-up and efficiency are those of the saved runs."""
    done = sweep(folder, "pages=16..64*2", "--by=page_faults", "--runs=6", "--output-format=ndjson",
                 command=["sh", "-c", TOUCH])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["value"] for r in rows] == ["16", "32", "64"] and [r["number"] for r in rows] == [16, 32, 64], rows
    with open(f"{folder}/cpuperf.sweep/runs.csv", encoding="ascii") as f:
        saved = list(csv.DictReader(f))
    means = {}
    for row in rows:
        faults = [int(r["page_faults"]) for r in saved if r["value"] == row["value"]]
        means[row["value"]] = mean = math.prod(faults) ** (1 / len(faults))
        assert abs(row["mean"] - mean) < 1e-6 * mean and row["mean_low"] <= row["mean"] <= row["mean_high"], (row, faults)
        speedup = means["16"] / mean
        assert abs(row["speedup"] - speedup) < 1e-6 and abs(row["efficiency"] - 100 * speedup * 16 / row["number"]) < 1e-3, row
        assert row["measure"] == "page_faults" and row["report"] == "sweep" and row["rounds"] == 6, row
    assert means["64"] > means["16"], means


def check_text(folder):
    """The sentence, the table, a bar for each value that fits, and what Amdahl's law says only of numbers."""
    os.environ["LC_ALL"] = "C"
    try:
        os.environ["COLUMNS"] = "80"
        text = sweep(folder, "n=1,2,4", "--runs=2", "--output=-", command=["true", "{n}"]).stdout
        words = sweep(folder, "n=x,y", "--runs=2", "--output=-", command=["true", "{n}"]).stdout
        os.environ["CPUPERF_COLUMNS"] = "80"
        one = sweep(folder, "n=x", "--runs=2", "--output=-", command=["true", "{n}"]).stdout
    finally:
        del os.environ["LC_ALL"]
    assert one.startswith("true '{n}': wall time with n=x is ") and max(map(len, one.splitlines())) <= 80, one
    assert text.startswith("true '{n}': wall time with n=1 is ") and "times that with n=4" in text, text
    assert "serial share" in text.splitlines()[1], text
    assert [line.split("=")[0] for line in text.splitlines() if "#" in line] == ["n"] * 3, text
    assert all(len(line) <= 80 for line in text.splitlines() if "#" in line) and "efficiency" in text, text
    assert max(line.count("#") for line in text.splitlines()) == 60, text  # the longest bar
    assert "wall time is least with n=" in words and "serial share" not in words and "efficiency" not in words, words
    assert sorted(os.listdir(folder)) == []


def check_document(folder):
    done = sweep(folder, "n=1,2,4", "--runs=2", "--output=-", "--output-format=json", command=["true", "{n}"])
    found = json.loads(done.stdout)
    assert found["document"] == "sweep" and found["parameter"] == "n" and found["rounds"] == 2, found
    assert found["command"] == "true '{n}'" and [r["value"] for r in found["rows"]] == ["1", "2", "4"], found
    assert isinstance(found["scaling"]["fits"], bool) and found["is_known"] is True and found["not_measured"] == [], found
    done = sweep(folder, "n=1,2,4", "--runs=2", "--output=-", "--output-format=json", "--by=cpu_time", command=["true", "{n}"])
    assert json.loads(done.stdout)["scaling"] is None, done  # the law is of wall time


def check_formats(folder):
    markdown = sweep(folder, "n=1,2", "--runs=2", "--output=-", "--output-format=markdown", command=["true", "{n}"]).stdout
    assert "\n| n |" in markdown and markdown.count("```text\n") == 2, markdown
    github = sweep(folder, "n=1,2,3", "--runs=2", "--output=-", "--output-format=github", command=["true", "{n}"]).stdout
    assert github.startswith("::notice title=wall%3A true '{n}'::true '{n}': wall time with n=1 is "), github
    assert github.count("\n") == 1 and "%0A" in github, github
    done = sweep(folder, "n=1,2", "--output-format=junit", command=["true", "{n}"], code=2)
    assert "--output-format=junit requires --versus and --fail-over=PERCENT" in done.stderr, done


def check_versus(folder):
    """The verdict for each value: {n} in both commands, and in one."""
    old = shlex.join(["sh", "-c", "echo old{n} >>ran"])
    new = ["sh", "-c", "echo new{n} >>ran"]
    done = sweep(folder, "n=1,2", f"--versus={old}", "--runs=2", "--output-format=csv", command=new)
    first = ["old1", "new1", "old2", "new2"]
    assert ran(folder) == [*first, *first, *reversed(first)], ran(folder)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [r["value"] for r in rows if r["measure"] == "wall"] == ["1", "2"], rows
    text = sweep(folder, "n=1,2", "--versus=self", "--runs=2", "--output=-", command=["true", "{n}"]).stdout
    assert text.startswith("n=1: true '{n}': ") and "\nn=2: true '{n}': " in text, text


def check_fail_over(folder):
    """A case for each value; those over the limit fail, and so does the whole."""
    command = ["sh", "-c", "if test {n} = 2; then for i in 1 2 3 4; do (:); (:); (:); (:); (:); done; fi"]
    options = ["--versus=sh -c :", "--by=page_faults", "--runs=6", "--output=-", "--fail-over=50%"]
    done = sweep(folder, "n=1,2", *options, "--output-format=junit", command=command, code=3)
    suite, = ElementTree.fromstring(done.stdout.encode()).findall("testsuite")
    failed = [c.find("failure") is not None for c in suite.findall("testcase")]
    assert failed == [False, True] and suite.get("failures") == "1" and suite.get("tests") == "2", done.stdout
    done = sweep(folder, "n=1,2", *options, "--output-format=github", command=command, code=3)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["::notice", "::error"], done.stdout
    done = sweep(folder, "n=1,2", *options, "--output-format=json", command=command, code=3)
    found = json.loads(done.stdout)
    assert found["is_over"] is True and [v["is_over"] for v in found["values"]] == [False, True], found


def check_words(folder):
    """Braces that are no parameter's stay; {{m}} is {m}."""
    sweep(folder, "n=1", "--runs=2", "--output=-",
          command=["sh", "-c", "echo \"$@\" >>ran", "sh", "{n}x{n}", "{{n}}", "{}", "{ n}", "{1}", "{{x}}"])
    assert ran(folder) == ["1x1", "{n}", "{}", "{", "n}", "{1}", "{x}"] * 3, ran(folder)


def check_mistakes(folder):
    for args, code, text in (
            (["--sweep=n=1,2", "--", "touch", "ran"], 125, "--sweep=n=1,2: {n} is in no command"),
            (["--sweep=n=1,2", "--", "touch", "{n}", "{m}"], 125, "{m} in {m}: --sweep has no values of m"),
            (["--sweep=n=1,2", "--versus=touch {m}", "--", "touch", "{n}"], 125, "{m} in {m}"),
            (["--sweep=n=", "--", "touch", "{n}"], 125, "--sweep=n=: it has no value"),
            (["--sweep=n=1,,2", "--", "touch", "{n}"], 125, "a value is empty"),
            (["--sweep=n=1,2,1", "--", "touch", "{n}"], 125, "the value 1 is there twice"),
            (["--sweep=n=1,1.0", "--", "touch", "{n}"], 125, "the value 1.0 is there twice"),
            (["--sweep=n=5..1", "--", "touch", "{n}"], 125, "5..1 is no range"),
            (["--sweep=n=-1..1", "--", "touch", "{n}"], 125, "-1..1 is no range"),
            (["--sweep=n=1..10*1", "--", "touch", "{n}"], 125, "1..10*1 is no range"),
            (["--sweep=n=1..65", "--", "touch", "{n}"], 125, "at most 64 values"),
            (["--sweep=1,2", "--", "touch", "{n}"], 125, "does not begin with a name and ="),
            (["--sweep=n=1", "--sweep=m=1", "--", "touch", "{n}"], 2, "--sweep=m=1: there is --sweep=n=1"),
            (["--sweep=n=1"], 2, "--sweep requires a command"),
            (["--sweep=n=1", "--pid=1", "--", "touch", "{n}"], 2, "mutually exclusive"),
            (["--sweep=n=1", "-o", "x", "-e", "page_faults", "--", "touch", "{n}"], 2,
             "--event is of what is recorded: --sweep records nothing"),
            (["--sweep=n=1", "--memory-map", "--", "touch", "{n}"], 2, "--memory-map is of what is recorded"),
            (["--sweep=n=1", "--fail-over=1", "--", "touch", "{n}"], 2, "require --versus"),
            (["--sweep=n=1,2", "--runs=1", "--", "touch", "{n}"], 125, "--runs=1: must be 2 to"),
            (["--output-format=markdown", "--", "touch", "ran"], 125, "--output-format=markdown requires --versus or --sweep")):
        done = run(CPUPERF, *args, cwd=folder, code=code)
        assert done.stderr.count("error: ") == 1 and text in done.stderr, (args, done.stderr)
    assert os.listdir(folder) == [], os.listdir(folder)
    done = sweep(folder, "n=0,1", "--output=-", command=["sh", "-c", "exit {n}"], code=125)
    assert "sh: error: the first run of the n=1 command ended with exit status 1" in done.stderr, done
    for value in ("n=0,1", "n=1"):
        done = sweep(folder, value, "--output=-", "--prepare=sh -c 'exit {n}'", command=["true"], code=125)
        assert "sh: error: the command of --prepare before the first run of the n=1 command ended with " in done.stderr, done


def check_status(folder):
    """Each state of the line on the terminal fits into it, and says what is known least."""
    text, status = on_terminal(40, CPUPERF, "--sweep=value=1..9", "--runs=4", "-o", "-", "--", "true", "{value}")
    states = [state for state in text.split("\r\x1b[K") if " commands in " in state]
    assert status == 0 and len(states) == 2 and all(len(state) == 39 for state in states), text
    assert all(s.startswith(f"{n} runs of 9 commands in ") for n, s in zip((2, 4), states)), states


run_checks(globals())
