#!/usr/bin/env python3
"""cpuperf -r N -- COMMAND: each run is an iteration with the counts, the samples and the end of this run,
and of no other. What ends the runs early, which runs are averaged, and the key runs. Software events only.
"""
import contextlib
import csv
import io
import json
import math
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys

from kit import CPUPERF, may_count_faults, ordinary_user, output, PRINT, run, run_checks
import sampled

FOLDER = "cpuperf.session"
SPIN = "i=0; while [ $i -lt %d ]; do i=$((i + 1)); done"
# Touches 1,000 pages more in each run, and appends what it used: user, system time in ns, page faults.
GROWS = """
import mmap, os, resource, sys
path = sys.argv[1]
n = sum(1 for _ in open(path)) if os.path.exists(path) else 0
m = mmap.mmap(-1, (n * 1000 + 1) * 4096)
for i in range(n * 1000):
    m[i * 4096] = 1
sum(range(300000))
u = resource.getrusage(resource.RUSAGE_SELF)
print(int((u.ru_utime + u.ru_stime) * 1e9), u.ru_minflt + u.ru_majflt, file=open(path, "a"))
"""


def measure(folder, *command, options=(), **how):
    return run(CPUPERF, *options, "--", *command, cwd=folder, **how)


def rows(folder, *options):
    return list(csv.DictReader(io.StringIO(output(
        PRINT, "--quiet", "--output-format=csv", *options, FOLDER, cwd=folder))))


def counts(folder, event):
    """The event's count in each iteration."""
    return [int(r["value"]) for r in rows(folder, "--report=summary")
            if r["event"] == event and not r["trace"] and r["state"] == "ok"]


def iterations(folder, columns):
    run(PRINT, "--quiet", "--output-format=sqlite", "--output-file=x.db", FOLDER, cwd=folder)
    with contextlib.closing(sqlite3.connect(f"{folder}/x.db")) as db:
        found = db.execute(f"SELECT {columns} FROM iterations ORDER BY iteration").fetchall()
    os.unlink(f"{folder}/x.db")
    return found


def causes_of_rows(folder):
    """The set of causes in the last column of each iteration's rows."""
    text = output(PRINT, "--quiet", "--report=summary", "--output-format=csv", cwd=folder)
    assert text.splitlines()[0].endswith(",cause"), text
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault(int(row["iteration"]), set()).add(row["cause"])
    return [found[i] for i in sorted(found)]


def mean_and_half(numbers):
    """The mean, and half of its 95 % interval (of 3, 4 or 5 numbers)."""
    t = {3: 4.3027, 4: 3.1824, 5: 2.7764}[len(numbers)]
    mean = sum(numbers) / len(numbers)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1))
    return mean, t * deviation / math.sqrt(len(numbers))


def in_ns(text):
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit]


# ---- what is measured

def check_counts(folder):
    """The counts of run i stand in iteration i: beside what each run says of itself. The answer has the
    mean and its interval, and the exit status is the first that is not 0."""
    before_ns = sampled.stolen_ns()
    done = measure(folder, sys.executable, "-c", GROWS, "used", options=["-r4", "-e", "page_faults,task_clock"])
    most_ns = 100e6 + sampled.stolen_ns() - before_ns
    with open(f"{folder}/used", encoding="ascii") as f:
        used = [[int(word) for word in line.split()] for line in f]
    faults, clocks = counts(folder, "page_faults"), counts(folder, "task_clock")
    assert len(used) == len(faults) == len(clocks) == 4, (used, faults, clocks)
    for i, (ns, minor) in enumerate(used):
        assert minor - 400 < faults[i] < minor + 400, (i, faults, used)  # exec before, exit after
        assert clocks[i] > 0.8 * ns - 12e6 and clocks[i] < ns + most_ns, (i, clocks, used)
        assert i == 0 or 900 < faults[i] - faults[i - 1] < 1200, faults
    assert "4 runs, exit status 0; means ± 95 %" in done.stderr, done.stderr
    mean, half = mean_and_half(faults)
    shown = re.search(r"^  page_faults +([\d,]+) ± ([\d,.]+) ", done.stderr, re.M)
    assert abs(float(shown.group(1).replace(",", "")) - mean) < 1, (shown.group(0), mean)
    assert abs(float(shown.group(2).replace(",", "")) - half) < 1 + half / 1000, (shown.group(0), half)
    wall = re.search(r"^  (\S+ \S+) ± (\S+ \S+) wall, \S+ % CPU: \S+ \S+ ± \S+ \S+ user, \S+ \S+ ± \S+ \S+ system",
                     done.stderr, re.M)
    spans = iterations(folder, "start_ns, end_ns")
    lengths = [end - start for start, end in spans]
    assert 0 < in_ns(wall.group(1)) <= 1.0005 * sum(lengths) / 4, (wall.group(0), lengths)  # it is rounded to four digits
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans
    assert iterations(folder, "cause, is_cut") == [("run", 0)] * 4
    text = output(PRINT, "--quiet", "--output-format=raw", cwd=folder)
    assert re.findall(r"^Iteration .*", text, re.M) == [f"Iteration {i} (run)" for i in range(4)], text


def check_samples(folder):
    """Each run's samples stand in its own iteration, as many as it used; the processes differ."""
    before_ns = sampled.stolen_ns()
    measure(folder, "sh", "-c", SPIN % 50000, options=["-r", "3", "-F", "997"])
    missed_ns = sampled.stolen_ns() - before_ns
    clocks, seen = counts(folder, "task_clock"), []
    for i in range(3):
        threads = rows(folder, "--report=threads", "--event=cpu_clock", f"--iteration={i}")
        pids = {r["pid"] for r in threads}
        assert len(pids) == 1 and not pids & set(seen), (i, threads, seen)
        seen += pids
        taken = sum(int(r["self_samples"]) for r in threads) * 1e9 / 997
        assert abs(taken - clocks[i]) < 0.05 * clocks[i] + 12e6 + missed_ns, (i, taken, clocks, missed_ns)


def check_orphans(folder):
    """What a run leaves behind is not counted in the next one."""
    script = ("[ -e first ] && exit; touch first; (" + SPIN % 200000 + "; touch done; " + SPIN % 1000000000 +
              ") > /dev/null 2>&1 & echo $! > pid; while [ ! -e done ]; do sleep 0.02; done")
    measure(folder, "sh", "-c", script, options=["-r", "3", "-e", "task_clock"])
    with open(f"{folder}/pid", encoding="ascii") as f:
        os.kill(int(f.read()), signal.SIGKILL)
    clocks = counts(folder, "task_clock")
    assert clocks[0] > 4 * max(clocks[1:]), clocks


def check_no_children(folder):
    """Of each run the first process alone."""
    script = f"(exec {sys.executable} -c 'import mmap; m = mmap.mmap(-1, 1 << 23); m[:] = bytes(1 << 23)'); :"
    done = measure(folder, "sh", "-c", script, options=["-r2", "--no-children", "-e", "page_faults"], code=None)
    if "Linux 5.13" in done.stderr:
        print(f"skip: --no-children: {done.stderr}")
        return
    faults = counts(folder, "page_faults")
    assert len(faults) == 2 and all(20 < n < 1000 for n in faults), faults


def check_many(folder):
    """More runs than plain traces; nothing of cpuperf stays behind."""
    measure(folder, "true", options=["-r", "120", "-e", "page_faults"])
    faults = counts(folder, "page_faults")
    assert len(faults) == 120 and all(10 < n < 1000 for n in faults), faults
    with open(f"{folder}/{FOLDER}/cpuperf.cpsession", encoding="utf-8") as f:
        assert json.load(f)["num_iterations"] == 120


def check_inherits(folder):
    """Each run inherits what cpuperf inherited; standard input is the runs' in turn."""
    script = ("grep -E 'Sig(Ign|Blk|Cgt)|PPid' /proc/self/status | grep -v PPid; ulimit -Sn; ulimit -Sc; nice; "
              "cat /proc/self/oom_score_adj; ls /proc/self/fd; cat")
    how = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 4096)), "input": "one\n"}
    bare = output("sh", "-c", script, **how)
    done = measure(folder, "sh", "-c", script, options=["-r", "2"], **how)
    assert done.stdout == bare + bare.replace("one\n", ""), (done.stdout, bare)


def check_ordinary_user(folder):
    user = ordinary_user(folder)
    if not user:
        return
    (program,), who = user
    shutil.copy(f"{os.environ['SOURCE_DIR']}/specs/program.cpspec", f"{folder}/program.cpspec")
    done = run(program, "-r3", "--", "sh", "-c", SPIN % 30000, **who)
    assert "3 runs, exit status 0" in done.stderr, done.stderr
    clocks = counts(folder, "task_clock")
    assert len(clocks) == 3 and max(clocks) < 20 * min(clocks) and min(clocks) > 1e6, clocks


# ---- how it ends

def check_statuses(folder):
    """The first status that is not 0; the runs after it are made."""
    script = "echo x >> n; case $(wc -l < n) in 2) exit 7;; 3) exit 5;; esac"
    done = measure(folder, "sh", "-c", script, options=["-r4", "-e", "page_faults"], code=7)
    assert "4 runs, 2 failed, the first: exit status 7; means" in done.stderr, done.stderr
    assert len(counts(folder, "page_faults")) == 4
    measure(folder, "no-such-program", options=["-r2"], code=127)
    assert "4 runs" in output(PRINT, "--quiet", cwd=folder)
    done = measure(folder, "true", options=["-r1"])
    assert "true: 1 runs" not in done.stderr and "true: " in done.stderr, done.stderr


def check_killed(folder):
    """A run that is killed is the last one. It is stored, and not averaged."""
    script = "echo x >> n; [ $(wc -l < n) = 4 ] && kill -9 $$; " + SPIN % 5000
    done = measure(folder, "sh", "-c", script, options=["-r9", "-e", "page_faults,task_clock"], code=137)
    assert "4 of 9 runs, 1 failed, the first: killed by signal 9, SIGKILL; means ± 95 % of the runs before it\n" in done.stderr, done.stderr
    assert iterations(folder, "cause, is_cut") == [("run", 0)] * 3 + [("end", 1)]
    clocks = counts(folder, "task_clock")
    mean, _ = mean_and_half(clocks[:3])
    shown = in_ns(re.search(r"^  task_clock +(\S+ \S+) ±", done.stderr, re.M).group(1))
    assert abs(shown - mean) < mean / 1000, (shown, clocks)
    text = output(PRINT, "--quiet", "--report=summary", "--output-format=ndjson", cwd=folder)
    summary = [r for r in map(json.loads, text.splitlines()) if r.get("summary") and r["event"] == "task_clock"][0]
    assert summary["total"] == sum(clocks) and summary["iterations"] == 4, summary
    os.remove(f"{folder}/n")
    done = measure(folder, "sh", "-c", script.replace("= 4", "= 2"), options=["-r9", "-e", "task_clock"], code=137)
    assert "2 of 9 runs, 1 failed, the first: killed by signal 9, SIGKILL; numbers of the run before it\n" \
        in done.stderr, done.stderr
    assert abs(summary["mean"] - mean) < 1, (summary, mean)


def check_signals(folder):
    """Ctrl-C and TERM reach the run in progress, which is the last one, also if it goes on."""
    script = ("trap n=1 TERM INT; echo ready; [ -e second ] || { touch second; exit; }; "
              "while [ -z $n ]; do sleep 0.02; done; exit 0")
    for number, kill in ((signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)):
        if os.path.exists(f"{folder}/second"):
            os.unlink(f"{folder}/second")
        with subprocess.Popen([CPUPERF, "-r", "1000", "-e", "page_faults", "--", "sh", "-c", script], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
            for _ in range(2):
                assert p.stdout.readline() == "ready\n"
            kill(p.pid, number)
            out, err = p.communicate()
        assert p.returncode == 0 and out == "", (number, p.returncode, out, err)
        assert "2 of 1000 runs, exit status 0" in err, (number, err)
        assert iterations(folder, "cause") == [("run",), ("run",)]
        assert causes_of_rows(folder) == [{"run"}, {"run"}]
        html = output(PRINT, "--quiet", "--output-format=html", cwd=folder)
        assert ', 2 runs"],["Measured","sh -c ' in html, html[-3000:]
        assert "cause:" not in output(PRINT, "--quiet", "--report=summary", "--each-iteration", cwd=folder)


def check_end_of_target(folder):
    """An iteration that its target's end has ended is not averaged with those that took their time."""
    for _ in range(3):
        with subprocess.Popen(["sh", "-c", SPIN % 1000000 + "; sleep 0.03"]) as victim:
            run(CPUPERF, f"--pid={victim.pid}", "-e", "task_clock", "-d0.2", "-n1000000", "--no-live", cwd=folder)
        causes = iterations(folder, "cause, is_cut")
        if causes[1:] and causes[-1][0] == "end":  # and not between two iterations
            break
    else:
        print("skip: the end of a target: the machine is too busy for two iterations")
        return
    assert causes == [("time", 0)] * (len(causes) - 1) + [("end", 0)], causes
    assert causes_of_rows(folder) == [{"time"}] * (len(causes) - 1) + [{"end"}]
    text = output(PRINT, "--quiet", "--report=summary", "--each-iteration", cwd=folder)
    assert re.findall(r"^Iteration (\d+):.*, cause: end$", text, re.M) == [str(len(causes) - 1)], text
    assert re.search(r"^\d+ iterations, the last ended by the end of its target after .*\(in the totals only\)", text,
                     re.M), text
    text = output(PRINT, "--quiet", "--report=summary", "--output-format=ndjson", cwd=folder)
    summary = [r for r in map(json.loads, text.splitlines()) if r.get("summary") and r["event"] == "task_clock"][0]
    clocks = counts(folder, "task_clock")[:len(causes) - 1]  # the last one may have no number
    assert abs(summary["mean"] - sum(clocks) / len(clocks)) < 1, (summary, clocks)


# ---- how runs are compared

# Both compute: the second for so many ms.
WORK = "i=0; while [ $i -lt %d ]; do i=$((i + 1)); done; exec $KNOWN faults 1 %d"


def check_diff(folder):
    """Runs are replicates: what changed between two sessions of runs is significant without --within. A
    killed run is ignored. Iterations that are no runs still hold within these two sessions only."""
    for name, spin, work in (("was", 20000, 30), ("is", 20000, 300), ("same", 20000, 30)):
        measure(folder, "sh", "-c", WORK % (spin, work), options=["-r4", "-F", "4999", "-o", name])

    def diff(now, *options, code=0):
        return run(PRINT, "--quiet", "--report=diff", "--sort=comm", f"--session={now}", "--diff=was", *options,
                   cwd=folder, code=code)

    text = diff("is").stdout
    assert "4 runs now, 4 before" in text and "within these two" not in text and "run to run" not in text, text
    found = list(csv.DictReader(io.StringIO(diff("is", "--output-format=csv").stdout)))
    row = [r for r in found if r["comm"] == "known"][0]
    assert row["certain"] == "true" and row["scope"] == "" and float(row["change"]) > 5, found
    diff("is", "--fail-over=5", "--counts", code=3)
    # the time in the run queue is the machine's, not the program's, and so is the wall time
    done = diff("same", "--fail-over=300", "--counts", "--event=*_clock", "--event=page_faults", "--output-format=csv", code=None)
    found = [r for r in csv.DictReader(io.StringIO(done.stdout)) if r["certain"] == "true" and float(r["relative"] or 301) > 300]
    assert {r["event"] for r in found} <= {"wall_time"} and done.returncode == (3 if found else 0), done
    script = f"echo x >> n; [ $(wc -l < n) = 4 ] && kill -9 $$; {WORK % (20000, 30)}"
    measure(folder, "sh", "-c", script, options=["-r9", "-F", "4999", "-o", "killed"], code=137)
    text = diff("killed").stdout
    assert "3 runs now, 4 before" in text and "ignored: 1 now, 0 before" in text, text
    with subprocess.Popen(["sh", "-c", SPIN % 100000000]) as p:
        for nr, name in (("3", "times"), ("1", "once")):
            run(CPUPERF, f"--pid={p.pid}", "-F", "4999", "-d0.1", f"-n{nr}", "--no-live", "-o", name, cwd=folder)
        p.kill()
    done = diff("times", "--fail-over=5", code=1)
    assert "--fail-over requires several sessions" in done.stderr, done.stderr
    assert "iterations now" in diff("times").stdout
    assert re.search(r": 1 (session|iteration) now, \d before; ", text := diff("once").stdout), text


# ---- options and the key

def check_command_lines(folder):
    """Each run is a process of its own: the command line of each is stored, however short it is."""
    script = f": {folder}; {SPIN % 3000}"
    measure(folder, "sh", "-c", script, options=["-r4", "-e", "task_clock@5000Hz"])
    raw = output(PRINT, "--quiet", "--output-format=raw", FOLDER, cwd=folder)
    lines = re.findall(r"Cmdline: pid (\d+), (.*)$", raw, re.M)  # of the survey too
    runs = {pid for pid, line in lines if line == f"sh -c {script}"}
    assert len(runs) == 4, runs
    shown = output(PRINT, "--quiet", "--report=flat", "--sort=cmdline", "--output-format=csv", FOLDER, cwd=folder)
    assert [r["cmdline"] for r in csv.DictReader(io.StringIO(shown))] == [f"sh -c {script}"], shown


def check_key(folder):
    """runs in a spec; options replace it by a time, and the reverse; --save-spec writes it."""
    with open(f"{folder}/own.cpspec", "w", encoding="ascii") as f:
        f.write('{"runs": 3, "events": [{"group_name": "software", "event_name": "page_faults"}]}')
    with open(f"{folder}/timed.cpspec", "w", encoding="ascii") as f:
        f.write('{"duration": 60, "num_iterations": 7, "events": '
                '[{"group_name": "software", "event_name": "page_faults"}]}')
    for options, nr in ((["--spec-file=own"], 3), (["--spec-file=own", "--runs=2"], 2),
                        (["--spec-file=own", "-n2"], None), (["--spec-file=timed", "-r2"], 2)):
        done = measure(folder, "true", options=[*options, "--save-spec=saved.cpspec"])
        assert (f"{nr} runs" in done.stderr) == (nr is not None), (options, done.stderr)
        with open(f"{folder}/saved.cpspec", encoding="ascii") as f:
            saved = json.load(f)
        assert saved.get("runs") == nr and ("duration" in saved) == (nr is None), (options, saved)
    measure(folder, "true", options=["--spec-file=saved"])
    assert len(counts(folder, "page_faults")) == 2
    assert "2 run(s)" in run(CPUPERF, "--spec-file=saved", "--check-spec", "--", "true", cwd=folder).stdout
    env = {"CPUPERF_RUNS": "2"}
    assert "2 runs" in measure(folder, "true", options=["-epage_faults"], env=env).stderr
    assert "runs" not in measure(folder, "true", options=["-epage_faults", "-d9"], env=env).stderr


def check_mistakes(folder):
    """One error each, and nothing runs."""
    for args, code, text in (
            (["-r2", "-d1", "--", "touch", "ran"], 125, "--runs and --duration are mutually exclusive"),
            (["-r2", "-n1", "--", "touch", "ran"], 125, "--runs and --num-iterations are mutually exclusive"),
            (["-r0", "--", "touch", "ran"], 125, "runs must be an integer from 1 to 1000000"),
            (["-rx", "--", "touch", "ran"], 125, "runs must be an integer"),
            (["-r2", "-e", "page_faults"], 2, "--runs: error: runs require a command"),
            (["-r2", f"--pid={os.getpid()}"], 2, "--runs: error: runs require a command")):
        done = run(CPUPERF, *args, cwd=folder, code=code)
        assert done.stderr.count("error: ") == 1 and text in done.stderr, (args, done.stderr)
    with open(f"{folder}/own.cpspec", "w", encoding="ascii") as f:
        f.write('{"runs": 3,\n "events": [{"group_name": "software", "event_name": "page_faults"}]}')
    done = run(CPUPERF, "--spec-file=own", cwd=folder, code=2)
    assert done.stderr.startswith("own.cpspec:1:10: error: runs require a command"), done.stderr
    assert os.listdir(folder) == ["own.cpspec"], os.listdir(folder)


if not may_count_faults("runs"):
    sys.exit(77)
run_checks(globals(), everybody=True)
