#!/usr/bin/env python3
"""cpuperf --versus=OLD -- NEW: which runs there are, in which order and with what; the verdict against
numbers of the runs themselves; what is recorded of both; mistakes. What is compared are page faults and
exit statuses, which no load changes, not times.
"""
import csv
import io
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys

from kit import CPUPERF, may_count_faults, output, PRINT, run, run_checks, wait_for

FOLDER = "cpuperf.versus"
# Touches so many pages, and appends a name and what the kernel accounts to it at its end to a file.
TOUCH = """
import mmap, resource, sys
m = mmap.mmap(-1, int(sys.argv[1]) * 4096)
m.madvise(15)  # no huge pages
for i in range(int(sys.argv[1])):
    m[i * 4096] = 1
with open("ran", "a") as f:
    print(sys.argv[2], resource.getrusage(resource.RUSAGE_SELF).ru_minflt, file=f)
"""


def touch(nr, name):
    return [sys.executable, "-ISc", TOUCH, str(nr), name]


def versus(folder, old, *options, new, code=0):
    return run(CPUPERF, f"--versus={old if isinstance(old, str) else shlex.join(old)}", *options, "--", *new,
               cwd=folder, code=code)


def ran(folder):
    with open(f"{folder}/ran", encoding="ascii") as f:
        return [line.split() for line in f]


def rows(text):
    return {r["measure"]: r for r in csv.DictReader(io.StringIO(text))}


def check_verdict(folder):
    """3,000 and 6,000 pages: twice as many but for what Python touches; by what the runs themselves saw."""
    done = versus(folder, touch(3000, "old"), "--by=page_faults", "--verdict-only", "--output-format=csv",
                  new=touch(6000, "new"))
    row, = (r for r in rows(done.stdout).values() if r["is_chosen"] == "true")
    assert row["measure"] == "page_faults" and row["is_difference"] == "true", row
    seen = {name: [int(n) for of, n in ran(folder)[2:] if of == name] for name in ("old", "new")}
    assert len(seen["old"]) == len(seen["new"]) == int(row["pairs"]) >= 6, (seen, row)
    change = 100 * (math.prod(n / o for n, o in zip(seen["new"], seen["old"])) ** (1 / len(seen["old"])) - 1)
    assert abs(float(row["change"]) - change) < 2, (row, change)
    assert float(row["change_low"]) <= float(row["change"]) <= float(row["change_high"]), row
    text = versus(folder, touch(3000, "old"), "--by=page_faults", "--verdict-only", new=touch(6000, "new")).stdout
    more = re.search(r": ([0-9.]+) % more \[", text.splitlines()[0])
    assert more and abs(float(more[1]) - change) < 2, (text, change)
    text = versus(folder, touch(6000, "old"), "--by=page_faults", "--verdict-only", new=touch(3000, "new")).stdout
    assert " % less [" in text.splitlines()[0], text
    with open(f"{folder}/{FOLDER}/runs.csv", encoding="ascii") as f:
        saved = list(csv.DictReader(f))
    assert [r["side"] for r in saved[:4]] == ["old", "new", "old", "new"], saved
    assert os.stat(f"{folder}/{FOLDER}").st_mode & 0o777 == 0o700


def check_turns(folder):
    """Old new, new old, …; the first of each side is left out; what is run beside them."""
    log = "sh -c 'echo {} >>ran'"
    done = versus(folder, touch(1, "old"), "--runs=4", "--verdict-only", "--output-format=ndjson",
                  "--setup=" + log.format("setup"), "--prepare=" + log.format("prepare"),
                  "--cleanup=" + log.format("cleanup"), new=touch(1, "new"))
    order = ["old", "new", *["old", "new", "new", "old"] * 2]
    expected = ["setup", *(x for name in order for x in ("prepare", name)), "cleanup"]
    assert [r[0] for r in ran(folder)] == expected, ran(folder)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found[0]["report"] == "versus" and found[0]["measure"] == "wall" and found[0]["pairs"] == 4, found


def check_streams(folder):
    """Each run reads the input from its start; it writes to nowhere, and the verdict is all that is printed."""
    with open(f"{folder}/in", "w", encoding="ascii") as f:
        f.write("input\n")
    command = ["sh", "-c", "read x; echo \"$x $VARIABLE\" >>ran; echo printed; echo said >&2"]
    os.environ["VARIABLE"] = "inherited"
    done = versus(folder, command, "--runs=2", f"--input={folder}/in", "--verdict-only", new=command)
    assert [" ".join(r) for r in ran(folder)] == ["input inherited"] * 6, ran(folder)
    assert "printed" not in done.stdout and done.stderr == "", done
    os.unlink(f"{folder}/ran")
    versus(folder, command, "--runs=2", "--verdict-only", new=command)
    assert [" ".join(r) for r in ran(folder)] == ["inherited"] * 6, ran(folder)


def check_self(folder):
    done = versus(folder, "self", "--by=page_faults", "--runs=6", new=touch(10, "self"))
    assert "this machine resolves" in done.stdout, done.stdout
    assert len(ran(folder)) == 14 and os.listdir(f"{folder}/{FOLDER}") == ["runs.csv"]


def check_failures(folder):
    """What fails is not compared; cleanup runs all the same."""
    for old, new, code, text in (
            ("true", ["sh", "-c", "echo why it failed >&2; exit 7"], 125,
             "sh: error: the first run of the new command ended with exit status 7: why it failed"),
            ("true", ["sh", "-c", "kill -9 $$"], 125, "sh: error: the first run of the new command was ended by signal 9"),
            ("false", ["true"], 125, "false: error: the first run of the old command ended with exit status 1"),
            ("true", ["sh", "-c", "echo x >>n; test $(wc -l <n) != 3"], 125,
             "sh: error: run 2 of the new command ended with exit status 1"),
            ("nowhere/x", ["true"], 127, "nowhere/x: error: cannot be executed: No such file"),
            ("/", ["true"], 126, "/: error: cannot be executed: it is a folder"),
            ("true", ["nowhere/x"], 127, "nowhere/x: error: cannot be executed: No such file")):
        done = versus(folder, old, "--cleanup=touch cleaned", "--verdict-only", new=new, code=code)
        assert done.stderr.count("error: ") == 1 and done.stdout == "", done
        assert text in done.stderr, (text, done.stderr)
        os.unlink(f"{folder}/cleaned")
    done = versus(folder, "sh -c 'exit 3'", "--ignore-status", "--runs=2", "--verdict-only", new=["false"])
    assert "2 + 2 runs" in done.stdout, done.stdout
    done = versus(folder, "true", "--prepare=false", new=["true"], code=125)
    assert "the command of --prepare before the first run of the old command ended with exit status 1" in done.stderr, done.stderr


def check_folder(folder):
    """A file of somebody else's is not replaced; variables of the environment do not ask for it."""
    os.mkdir(f"{folder}/mine")
    with open(f"{folder}/mine/runs.csv", "w", encoding="ascii") as f:
        f.write("mine\n")
    done = versus(folder, "true", "--output=mine", "--runs=2", new=["touch", "ran"], code=125)
    assert "runs.csv in it is no file of --versus" in done.stderr and os.listdir(folder) == ["mine"], done
    for _ in range(2):  # one of ours is
        versus(folder, "true", "--output=ours", "--runs=2", "--verdict-only", new=["true"])
    run(CPUPERF, "--list-specs", env={"CPUPERF_VERDICT_ONLY": "1", "CPUPERF_IGNORE_STATUS": "1"})


def check_not_recorded(folder):
    """What cannot be recorded is said before anything runs; what is prepared is not recorded."""
    done = versus(folder, "true", "-e", "nonexisting", new=["touch", "ran"], code=125)
    assert "Unknown event: nonexisting" in done.stderr and not os.path.exists(f"{folder}/ran"), done
    done = versus(folder, touch(500, "x"), "--prepare=true", "--by=page_faults", new=touch(9000, "x"))
    assert " % more [" in done.stdout and "Where it is" not in done.stdout and done.stderr == "", done
    for _ in range(5):  # of equal commands chance finds a difference up to once in 20 times
        done = versus(folder, touch(500, "x"), "--runs=2", "--verdict-only", "--by=page_faults", new=touch(500, "x"))
        if not re.search(" % (more|less) ", done.stdout):
            break
    assert "not known by so many runs" in done.stdout or "no difference beyond chance" in done.stdout, done


def check_fail_over(folder):
    fewer, more = touch(1000, "x"), touch(9000, "x")
    for old, new, code in ((fewer, more, 3), (more, fewer, 0)):
        versus(folder, old, "--by=page_faults", "--fail-over=5%", "--verdict-only", new=new, code=code)
    versus(folder, fewer, "--by=page_faults", "--fail-over=1000", "--verdict-only", new=more)


def check_recorded(folder):
    """Both are recorded as the other options say, and compared; nothing is where there is no difference."""
    if not may_count_faults("recordings"):
        return
    done = versus(folder, touch(500, "x"), "-e", "page_faults@1", "--by=page_faults", new=touch(9000, "x"))
    head, _, tail = done.stdout.partition("\n\n")
    assert " % more [" in head and "\npage_faults: 5 runs now, 5 before" in tail and "  yes  " in tail, done.stdout
    says, = (line for line in tail.splitlines() if line.startswith("The difference is in "))
    assert re.search(r" \+[\d,.]+ (k )?page_faults", says) and " -" not in says, says
    assert "allocated" not in tail, tail  # other events are asked for
    assert "wall, " not in tail and "p is corrected for these" not in tail, done.stdout  # the verdict is that
    assert f"cpuperf_print {FOLDER}/new --diff={FOLDER}/old --counts" in done.stderr, done.stderr
    for side in ("old", "new"):
        summary = output(PRINT, f"{FOLDER}/{side}", "--report=summary", "--output-format=csv", "--quiet", cwd=folder)
        assert {r["iteration"] for r in csv.DictReader(io.StringIO(summary))} >= {"0", "4"}, summary
    assert sorted(os.listdir(f"{folder}/{FOLDER}")) == ["new", "old", "runs.csv"]
    # a page of both, in place of the verdict, which stands beside it
    done = versus(folder, touch(500, "x"), "-e", "page_faults@1", "--by=page_faults", "--runs=2", "--output-format=html",
                  new=touch(9000, "x"))
    assert done.stdout.lower().startswith("<!doctype html>") and " % more [" in done.stderr.splitlines()[0], done.stderr
    done = versus(folder, touch(500, "x"), "--output=-", "--by=page_faults", new=touch(9000, "x"))
    assert done.stderr == "" and " % more [" in done.stdout, done


def check_memory(folder):
    """Where the peak differs, functions by what they allocate are recorded too."""
    if not may_count_faults("recordings"):
        return
    more = "--by=peak_memory", "--runs=3", "--output-format=json"
    program = "import sys; x = [bytearray(100000) for i in range(int(sys.argv[1]))]"
    # more than what starts it has, which a sanitized build makes large: less is not known
    few, many = ([sys.executable, "-ISc", program, nr] for nr in ("300", "1000"))
    found = json.loads(versus(folder, few, *more, new=many).stdout)
    assert any(row["event"] == "allocated" and row["relative"] > 100 for row in found["differences"]["rows"]), found


def check_stopped(folder):
    """Ctrl-C: what is known by then is printed, and nothing is left running."""
    with subprocess.Popen([CPUPERF, "--versus=sh -c 'echo x >>ran'", "--at-most=1h", "--until=0.000001%",
                           "--cleanup=touch cleaned", "--", "true"],
                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as p:
        wait_for(p, f"{folder}/ran")
        while len(ran(folder)) < 9:
            assert p.poll() is None, p.communicate()
        os.killpg(p.pid, signal.SIGINT)
        out, err = p.communicate()
    assert p.returncode == 130 and err == "" and " runs)" in out.splitlines()[0], (p.returncode, out, err)
    assert os.path.exists(f"{folder}/cleaned")


def check_mistakes(folder):
    for args, code, text in (
            (["--versus=true"], 2, "--versus requires the new command"),
            (["--until=1%", "--", "touch", "ran"], 125, "require --versus"),
            (["--versus=a | b", "--", "touch", "ran"], 125, "'|' is for a shell"),
            (["--versus=", "--", "touch", "ran"], 125, "the command has no word"),
            (["--versus=true", "--prepare=a 'b", "--", "touch", "ran"], 125, "the quote ' does not end"),
            (["--versus=true", "--until=x", "--", "touch", "ran"], 125, "--until=x: must be above 0"),
            (["--versus=true", "--until=0", "--", "touch", "ran"], 125, "--until=0: must be above 0"),
            (["--versus=true", "--at-most=x", "--", "touch", "ran"], 125, "--at-most=x: not a time"),
            (["--versus=true", "--by=x", "--", "touch", "ran"], 125, "--by=x: not one of wall cpu_time"),
            (["--versus=true", "--runs=1", "--", "touch", "ran"], 125, "--runs=1: must be 2 to"),
            (["--versus=true", "--runs=9", "--until=1", "--", "touch", "ran"], 125, "mutually exclusive"),
            (["--versus=true", "--input=nowhere", "--", "touch", "ran"], 125, "nowhere: error: No such file"),
            (["--versus=true", "--input=/dev/zero", "--", "touch", "ran"], 125, "not a regular file"),
            (["--versus=true", "--verdict-only", "--output-format=html", "--", "touch", "ran"], 2,
             "--verdict-only records nothing"),
            (["--versus=self", "--output-format=html", "--", "touch", "ran"], 2, "--versus=self records nothing"),
            (["--versus=self", "--quiet", "-e", "page_faults", "--", "touch", "ran"], 2,
             "--event is of what is recorded: --versus=self records nothing"),
            (["--versus=true", "--prepare=true", "-g", "--", "touch", "ran"], 2, "--callgraph is of what is recorded: --prepare"),
            (["--versus=true", "-o", "-", "--cpu=0", "--", "touch", "ran"], 2, "--cpu is of what is recorded: --output=-"),
            (["--versus=true", "--verdict-only", "--spec-file=wall", "--", "touch", "ran"], 2,
             "--spec-file is of what is recorded: --verdict-only"),
            (["--versus=true", "--output-format=junit", "--", "touch", "ran"], 2, "requires --versus and --fail-over"),
            (["--versus=true", "--pid=1", "--", "touch", "ran"], 2, "mutually exclusive")):
        done = run(CPUPERF, *args, cwd=folder, code=code)
        assert done.stderr.count("error: ") == 1 and text in done.stderr, (args, done.stderr)
    assert os.listdir(folder) == [], os.listdir(folder)
    os.symlink("/", f"{folder}/{FOLDER}")
    done = versus(folder, "true", "--runs=2", new=["true"], code=125)
    assert f"{FOLDER}: error: " in done.stderr, done.stderr


run_checks(globals())
