#!/usr/bin/env python3
"""cpuperf -- COMMAND: its exit status, descriptors and signals are its own; counts and samples are of
it and of what it starts, and of nothing else; where its session is saved, and how it prints. CPUPERF,
CPUPERF_PRINT and MIX name the programs; software events only.
"""
import contextlib
import csv
import fcntl
import io
import json
import mmap
import os
import pty
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time

from kit import (CPUPERF, may_count_faults, ordinary_user, output, own_uid, PRINT, programs_missing, run, run_checks, stride,
                 wait_for)
import sampled

HERE = os.path.dirname(os.path.abspath(__file__))
SPIN = "i=0; while [ $i -lt %d ]; do i=$((i + 1)); done"
FOLDER = "cpuperf.session"
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"


# Where it does not matter what is measured: no programs in the kernel, no symbols.
ONE = [] if IS_LONG else ["-etask_clock"]


def measure(folder, *command, options=(), **how):
    return run(CPUPERF, *options, "--", *command, cwd=folder, **how)


def counted(folder, session=FOLDER):
    """{event: count} of the last command."""
    rows = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", session, cwd=folder)
    head, *lines = [line.split(",") for line in rows.splitlines()]
    out = {}
    for line in lines:
        row = dict(zip(head, line))
        if row["state"] == "ok" and not row["trace"]:
            out[row["event"]] = int(row["value"])
    return out


def comms(folder):
    rows = output(PRINT, "--quiet", "--output-format=csv", "--report=threads", FOLDER, cwd=folder)
    return {line.split(",")[-1] for line in rows.splitlines()[1:]}


def samples(folder):
    """Those that the kernel took."""
    rows = output(PRINT, "--quiet", "--output-format=csv", "--report=flat", "--event=software:cpu_clock", FOLDER, cwd=folder)
    return sum(int(r["self_samples"]) for r in csv.DictReader(io.StringIO(rows)) if r["function"] != "[not sampled]")


# ---- its own

def check_statuses(folder):
    with open(f"{folder}/plain", "w", encoding="ascii") as f:
        f.write("not a program")
    commands = ((["true"], 0), (["sh", "-c", "exit 7"], 7),
                (["sh", "-c", "kill -9 $$"], 137), (["sh", "-c", "kill -15 $$"], 143),
                (["no-such-program"], 127), ([""], 127), (["/"], 126), ([f"{folder}/plain"], 126))
    for command, code in stride(commands, 1):  # with what is measured without options
        measure(folder, *command, code=code)
    for command, code in commands:
        measure(folder, *command, code=code, options=ONE)
    for options in (["--no-such-option"], ["--spec-file=absent.cpspec"], ["-o", "plain"],
                    ["--num-iterations=-1"]):
        done = measure(folder, "sh", "-c", "touch ran", options=options, code=125)
        assert done.stderr.count("error: ") == 1, done.stderr
    assert not os.path.exists(f"{folder}/ran"), "the command ran, but nothing was measured"
    done = measure(folder, "no-such-program", options=ONE, code=127)
    assert "no-such-program: error: " in done.stderr and "PATH" in done.stderr, done.stderr


def check_ignored_sigchld(folder):
    """The kernel reaps the children of a process that ignores this signal."""
    run("sh", "-c", f"trap '' CHLD; exec {CPUPERF} -etask_clock -- sh -c 'exit 3'", cwd=folder, code=3)


def check_without_dashes(folder):
    """The first argument that is no option and names a program begins the command; the rest is its own."""
    os.symlink(shutil.which("sh"), f"{folder}/prog")
    for words in (["./prog", "-c", "exit $#", "x", "--", "-e"], ["-e", "task_clock", "sh", "-c", "exit 2"],
                  [*ONE, "--output=session", "sh", "-c", "exit 2", "--output=other"]):
        run(CPUPERF, *words, cwd=folder, code=2)
    assert sorted(os.listdir(folder)) == ["cpuperf.session", "cpuperf.session.old", "prog", "session"], os.listdir(folder)


def check_mistakes(folder):
    """One error each, which says what to type, and nothing runs."""
    for args, text in ((["--"], "no command after --"), (["./touch", "ran"], "-- COMMAND"), (["stat", "ran"], "-- COMMAND"),
                       (["-o", "", "--", "touch", "ran"], "--output: the name is empty"),
                       (["-o", "x", "--output-path-prefix=y", "--", "touch", "ran"], "exclusive"),
                       (["--output-format=csv", "--", "touch", "ran"], "csv requires --output-file"),
                       (["--list-specs", "--", "touch", "ran"], "exclusive")):
        done = run(CPUPERF, *args, cwd=folder, code=None)
        assert done.returncode == (125 if "--" in args else 2), (args, done)
        assert done.stderr.count("error: ") == 1 and text in done.stderr, (args, done.stderr)
    targets = {"CPUPERF_WAIT_CHILDREN": "1", "CPUPERF_NO_CHILDREN": "1"}  # no command: ignored
    done = run(CPUPERF, "-e", "page_faults", "--check-spec", cwd=folder, code=None,
               env={**os.environ, **targets})
    assert "error" not in done.stderr and "requires a command" not in done.stderr, done.stderr
    done = measure(folder, "touch", "ran", options=["--check-spec"], code=None)
    run(CPUPERF, "--list-events=usdt", "--", "touch", "ran", cwd=folder, code=None)  # those of its files
    assert os.listdir(folder) == [], os.listdir(folder)


def check_output_file(folder):
    """The answer, in each form, and the tables of a tally: complete, or the older file."""
    path = f"{folder}/answer"
    done = measure(folder, "true", options=[*ONE, "--output-file=/dev/full"], code=125)
    assert "/dev/full: error: " in done.stderr or "error: /dev/full: " in done.stderr, done.stderr
    shown = measure(folder, "echo", "own", options=["--output-file=answer"])
    assert shown.stdout == "own\n" and "exit status" not in shown.stderr, shown
    assert "Saved in" in shown.stderr, shown.stderr
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert text.startswith("echo own: exit status 0\n"), text
    assert os.stat(path).st_mode & 0o777 == 0o600
    own = ["-e", "task_clock", "--output-file=answer", "--output-format=csv"]
    measure(folder, "sh", "-c", "exit 3", options=own, code=3)
    with open(path, encoding="utf-8") as text:
        row, = csv.DictReader(text)
        assert (row["event"], row["state"]) == ("task_clock", "ok"), row
    measure(folder, "true", options=[*own[:-1], "--output-format=ndjson"])
    with open(path, encoding="utf-8") as text:
        assert {json.loads(line).get("event") for line in text} == {"task_clock"}
    tally = run(CPUPERF, "--quiet", "-e", "memory_total", "-n", "2", "-d", "1ms", *own[2:],
                cwd=folder)
    assert tally.stdout == "", tally.stdout
    with open(path, encoding="utf-8") as text:
        whole = text.read()
    assert {row["iteration"] for row in csv.DictReader(io.StringIO(whole))} == {"0", "1"}, whole
    os.symlink("answer", f"{folder}/link")
    for options in ([*ONE, "--output-file=link"], [*ONE, "--output-file=absent/answer"], ["-o", "answer", *own[2:]]):  # nothing runs
        measure(folder, "touch", "ran", options=options, code=125)
    run(CPUPERF, "-e", "page_faults", "-d", "1ms", "--output-file=link", cwd=folder, code=1)
    assert not os.path.exists(f"{folder}/ran")
    with open(path, encoding="utf-8") as text:
        assert text.read() == whole


def check_no_printer(folder):
    """The answer is missing, and not the session or the status."""
    os.mkdir(f"{folder}/alone")
    alone = shutil.copy(CPUPERF, f"{folder}/alone")
    shutil.copy(f"{os.environ['SOURCE_DIR']}/specs/program.cpspec", folder)
    done = run(alone, "--", "sh", "-c", "exit 3", cwd=folder, code=3)
    assert "cpuperf_print: warning: cannot be executed" in done.stderr, done.stderr
    assert re.match(r"(.* is waiting for a CPU\n)?sh -c 'exit 3': exit status 3\n", output(PRINT, "--quiet", cwd=folder))


def check_descriptors(folder):
    """Standard input and output are the command's; the answer goes to standard error, at the end. Beside others it begins
    with what the time was spent on."""
    done = measure(folder, "cat", input="both\n")
    assert done.stdout == "both\n", done
    assert re.match(r"(.* is waiting for a CPU\n)?cat: exit status 0\n", done.stderr), done.stderr
    done = measure(folder, "sh", "-c", "echo out; echo err >&2; ls /proc/self/fd")
    assert done.stdout.split() == ["out", "0", "1", "2", "3"], done.stdout  # 3: ls reads the folder
    assert re.match(r"err\n(.* is waiting for a CPU\n)?sh -c ", done.stderr), done.stderr
    done = measure(folder, "sh", "-c", "exit 0", options=["--verbose", *ONE])
    assert "exit status 0" in done.stderr


def check_blames_what_was_typed(folder):
    """An option that sets the pace is named, not the spec; and a folder is said to be one."""
    for option, why in (("--frequency=1000000000", "samples per second are above this machine's limit"), ("--period=10", "a rate of 10 ns: the kernel")):
        error = measure(folder, "true", options=[option], code=125).stderr
        assert error.startswith(f"{option.split('=')[0]}: error: software:cpu_clock: ") and why in error and ".cpspec" not in error, error
    error = measure(folder, folder, code=126).stderr
    assert error == f"{folder}: error: cannot be executed: it is a folder\n  hint: name the program itself, and its arguments after it\n", error


def check_inherits(folder):
    """What cpuperf changes for itself is not passed on."""
    script = ("grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status; ulimit -Sn; ulimit -Sc; nice; "
              "cat /proc/self/oom_score_adj")
    how = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 4096))}
    bare = output("sh", "-c", script, **how)
    assert measure(folder, "sh", "-c", script, **how).stdout == bare
    assert "200" in bare


def check_metrics(folder):
    """Metrics are printed as ratios, without a rate; those without numbers are not listed."""
    spec = {"events": [{"group_name": "software", "event_name": "task_clock"},
                       {"group_name": "software", "event_name": "page_faults"}],
            "metrics": [{"name": "clock_twice", "expr": "2 * {task_clock} / {task_clock}"},
                        {"name": "nothing", "expr": "{page_faults} / ({task_clock} - {task_clock})"}]}
    with open(f"{folder}/m.cpspec", "w", encoding="ascii") as f:
        json.dump(spec, f)
    shown = measure(folder, "ls", options=["--spec-file=./m.cpspec"]).stderr
    assert re.search(r"^  clock_twice +2(\.0+)?$", shown, re.M), shown
    assert "nothing" not in shown, shown


def check_scopes(folder):
    """Numbers that are not the target's say of what they are; only counts have a rate."""
    metrics = [{"name": "twice", "expr": "2 * {misc:forks} / {misc:forks}"},
               {"name": "mixed", "expr": "{software:task_clock} / {misc:memory_used}"},
               {"name": "own", "expr": "{software:task_clock} / {software:task_clock}"}]
    events = ["misc:memory_used", "misc:cpu_utilization", "misc:process_rss", "misc:process_cpu_time",
              "misc:process_vms", "misc:forks", "software:task_clock"]
    with open(f"{folder}/s.cpspec", "w", encoding="ascii") as f:
        spec = {"events": [dict(zip(("group_name", "event_name"), name.split(":"))) for name in events],
                "metrics": metrics}
        spec["events"][4]["pids"] = ["all"]
        json.dump(spec, f)
    of_processes = r" \(sum of processes of the machine\)"
    rate = r" [\d.,]+( \S)? ?(%|/s)"
    for options in ([], ["-r2"]):
        shown = measure(folder, "sh", "-c", "sleep 0.1; true", options=["--spec-file=./s.cpspec", *options]).stderr
        for name, number, rest in (
                ("memory_used", r"[\d.]+ .?B", r" \(whole machine\)"),
                ("cpu_utilization", r"[\d.]+ %", r" \(whole CPUs\)"),
                ("process_rss", r"[\d.]+ .?B", ""), ("process_cpu_time", r"[\d.]+ .?s", rate),
                ("process_vms", r"[\d.]+ .?B", of_processes),
                ("forks", r"[\d.]+( k)?", rate + r" \(whole machine\)"), ("task_clock", r"[\d.]+ .?s", rate),
                ("twice", r"2(\.0+)?", r" \(whole machine\)"), ("mixed", r"\S+( \S)?", r" \(partly whole machine\)"),
                ("own", r"1(\.0+)?", "")):
            half = r"( ± \S+( \S+)?)?" if options else ""
            assert re.search(f"^ {name} {number}{half}{rest}$", re.sub(" +", " ", shown), re.M), (name, shown)


def check_nobody_waits(folder):
    """The CPU time of wait4 lacks processes that are not waited for: the answer says so."""
    program = ("import os\np = os.fork()\nif p == 0:\n    sum(range(10**7))\n    os._exit(0)\n"
               "os.waitid(os.P_PID, p, os.WEXITED | %s)")
    for options, is_excluded in (("os.WNOWAIT", True), ("0", False)):
        shown = measure(folder, "/usr/bin/python3", "-c", program % options, options=ONE).stderr
        found = re.search(r"user and system exclude ([\d.]+ .?s) of CPU time: of processes that nobody waited for", shown)
        assert bool(found) == is_excluded, shown


def check_own_processes(folder):
    """Values of processes are of the command and what it starts; with pids all, of the machine."""
    spin = "for n in 1 2 3 4 5 6; do sum=0; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2; done"
    for options, own in stride((([], True), (["--spec-file=./s.cpspec"], False)), 1):
        event = {"group_name": "misc", "event_name": "process_cpu_time", "pids": ["all"]}
        with open(f"{folder}/s.cpspec", "w", encoding="ascii") as f:
            json.dump({"events": [event]}, f)
        measure(folder, "sh", "-c", f"sh -c '{spin}; :' & {spin}; wait", options=[*(options or ["-e", "misc:process_cpu_time"]),
                                                                     "-d", "100ms", "-n", "100"])
        text = output(PRINT, "--quiet", "--report=summary", "--output-format=csv", FOLDER, cwd=folder)
        names = {r["thing"] for r in csv.DictReader(io.StringIO(text)) if r["thing"]}
        comms = {n.split(" ", 1)[1] for n in names}
        assert (comms <= {"sh", "sleep", "cpuperf"}) == own, names
        assert sum(n.endswith(" sh") for n in names) >= 2, names


def check_signals(folder):
    """TERM and HUP are passed on; a signal of the terminal is not sent twice; who dies first."""
    script = "trap 'echo %s; exit 5' %s; echo ready; while :; do sleep 0.02; done"
    for name in ("TERM", "HUP"):
        with subprocess.Popen([CPUPERF, *ONE, "--", "sh", "-c", script % (name, name)], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            assert p.stdout.readline() == "ready\n"
            p.send_signal(getattr(signal, f"SIG{name}"))
            out, error = p.communicate()
            assert (p.returncode, out) == (5, f"{name}\n"), (p.returncode, out, error)
    script = ("trap 'n=x$n' INT; echo ready; i=0; "
              "while [ $i -lt 40 ]; do sleep 0.02; i=$((i + 1)); done; echo $n")
    with subprocess.Popen([CPUPERF, "--", "sh", "-c", script], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
        assert p.stdout.readline() == "ready\n"
        os.killpg(p.pid, signal.SIGINT)  # as ^C does
        out, error = p.communicate()
        assert (p.returncode, out) == (0, "x\n"), (p.returncode, out, error)
    with subprocess.Popen([CPUPERF, *ONE, "--", "sh", "-c", "echo $$; sleep 0.5; echo alive > goes_on"],
                          cwd=folder, stdout=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        p.kill()
    for _ in range(600):
        if os.path.exists(f"{folder}/goes_on"):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the command ended with cpuperf")


# ---- what is measured

def check_alone(folder):
    """Two equal programs, of which one is the target: nothing of the other."""
    mix = os.environ["MIX"]
    os.symlink(mix, f"{folder}/other")
    with subprocess.Popen([f"{folder}/other", "60"], stdout=subprocess.DEVNULL) as other:
        measure(folder, "sh", "-c", SPIN % 30000)
        other.kill()
    assert comms(folder) <= {"sh", "cpuperf"}, comms(folder)


def check_totals(folder):
    """A count of a command is one row of all CPUs in every format, with the number of the answer."""
    shown = measure(folder, "sh", "-c", SPIN % 20000).stderr
    run(PRINT, "--quiet", "--output-format=sqlite", "--output-file=x.db", FOLDER, cwd=folder)
    with contextlib.closing(sqlite3.connect(f"{folder}/x.db")) as db:
        stored = db.execute("SELECT event, value, iterations, iterations_without FROM totals"
                            " WHERE cpu IS NULL AND thing IS NULL").fetchall()
        raw = db.execute("SELECT label, raw FROM series JOIN events USING(event) WHERE cpu IS NULL"
                         " AND series.state = 'ok'").fetchall()
    found = {"totals": [r[:2] for r in stored if r[1] is not None], "sqlite series": raw}
    assert all(r[2] + r[3] == 1 for r in stored), stored
    for report, value in (("series", "raw"), ("summary", "value")):
        text = [output(PRINT, "--quiet", f"--output-format={form}", f"--report={report}", FOLDER,
                       cwd=folder) for form in ("csv", "ndjson")]
        lines = [json.loads(line) for line in text[1].splitlines()]
        for form, rows in (("csv", csv.DictReader(io.StringIO(text[0]))), ("ndjson", lines)):
            found[f"{report} {form}"] = [(r["label"], int(r[value])) for r in rows
                                         if r.get("cpu") == "all" and r["state"] == "ok"
                                         and r["kind"] == "count"]
    wanted = sorted(counted(folder).items())
    for where, rows in found.items():
        assert sorted(rows) == wanted, (where, rows, wanted)
    if not may_count_faults("the count of page faults in the answer"):
        return
    faults = int(re.search(r"^  page_faults +([\d,]+) ", shown, re.M).group(1).replace(",", ""))
    assert dict(wanted)["page_faults"] == faults > 0, (shown, wanted)


USAGE = r" % CPU: (\S+ [nmu]?s) user, (\S+ [nmu]?s) system"


def check_units(folder):
    """A time is a time in ns or s, and its rate a share of the wall time, whatever prints it."""
    shown = measure(folder, "sh", "-c", SPIN % 40000).stderr
    wall = in_ns(re.search(r"^  (\S+ \S+) wall, [\d.]+ % CPU: ", shown, re.M).group(1))
    total, rate = re.search(r"^  task_clock +(\S+ [nmu]?s) +([\d.]+) %$", shown, re.M).groups()
    assert abs(float(rate) - 100 * in_ns(total) / wall) < 0.01 * float(rate) + 0.1, shown
    views = {"--report=summary": ("ns", 1), "--report=series": ("%", 1e7)}
    for view, (unit, divisor) in views.items():
        text = output(PRINT, "--quiet", view, "--output-format=csv", FOLDER, cwd=folder)
        row = [r for r in csv.DictReader(io.StringIO(text)) if r["event"] == "task_clock"
               and r["cpu"] == "all"][0]
        expected = int(row["raw"]) / divisor / (int(row["span_ns"]) / 1e9 if unit == "%" else 1)
        assert row["unit"] == unit and abs(float(row["value"]) - expected) < 1e-6 * expected, row
    text = output(PRINT, "--quiet", "--output-format=openmetrics", FOLDER, cwd=folder)
    family = "cpuperf_software_task_clock_seconds"
    info = re.search(r'^cpuperf_event_info\{event="task_clock".*$', text, re.M).group(0)
    assert f'unit="seconds",metric_family="{family}"' in info, info
    value = float(re.search(rf"^{family}_total\S* (\S+)", text, re.M).group(1))
    assert abs(value * 1e9 - in_ns(total)) < 0.01 * in_ns(total), (value, total)


def check_own_threads(folder):
    """The threads that cpuperf creates meanwhile are in none of the rings of the command, whose records with
    several sampled events have another layout."""
    measure(folder, "sh", "-c", SPIN % 20000, options=["-e", "cpu_clock@1000000,page_faults@1"])
    rows = output(PRINT, "--quiet", "--output-format=csv", "--report=records", FOLDER, cwd=folder)  # exits with 0
    assert any(r["kind"] == "sample" for r in csv.DictReader(io.StringIO(rows, newline=""))), rows


def build_without_id(path):
    source = ("static void spin_here(void) { for (volatile long i = 0; i < 100000000; i++); }\n"
              "int main(void) { spin_here(); return 0; }\n")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-O1", "-fno-inline", "-Wl,--build-id=none", "-x", "c", "-",
                    "-o", path], input=source.encode(), check=True)


def check_name_like_deleted(folder):
    """A file whose name ends as the kernel's names of deleted files, without a build-id."""
    path = f"{folder}/spin (deleted)"
    build_without_id(path)
    measure(folder, path)
    if samples(folder):
        text = output(PRINT, "--quiet", "--report=flat", FOLDER, cwd=folder)
        assert re.search(r" spin \(deleted\) +spin_here$", text, re.M), text


def in_ns(text):
    number, unit = text.split()
    return float(number) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit]


def check_counts(folder):
    """Beside what the kernel's accounting says of the same run, children and threads included."""
    script = f"({SPIN % 40000}) & ({SPIN % 20000}); wait; {SPIN % 20000}"
    for _ in range(3 if IS_LONG else 1):
        missed_ns = -sampled.stolen_ns()
        shown = measure(folder, "sh", "-c", script).stderr
        missed_ns += sampled.stolen_ns()
        own = sum(in_ns(text) for text in re.search(USAGE, shown).groups())
        n = counted(folder)
        # accounting is exact here, or by ticks
        assert abs(n["task_clock"] - own) < 0.05 * own + 12e6 + missed_ns, (n, own, missed_ns)
        if not n["cpu_clock"]:
            continue
        taken = samples(folder) * 1e9 / 997
        assert abs(taken - n["task_clock"]) < 0.05 * n["task_clock"] + 12e6 + missed_ns, (taken, n, missed_ns)


def check_usage(folder):
    """The line of wait4's numbers: they agree with each other, and with what the command has of itself at its end."""
    script = "import resource\nm = bytearray(64 << 20)\nn = 0\nwhile n < 8000000: n += 1\n" \
             "print(*resource.getrusage(resource.RUSAGE_SELF)[:2])"
    done = measure(folder, sys.executable, "-c", script)
    shown = done.stderr
    wall, share, user, system, peak = re.search(
        r"^  (\S+ \w+) wall, (\S+)" + USAGE + r"; peak memory ([\d,]+) KiB", shown, re.M).groups()
    used = in_ns(user) + in_ns(system)
    assert abs(float(share) - 100 * used / in_ns(wall)) < 0.06 + 0.01 * float(share), shown
    for part, own in zip((user, system), done.stdout.split()):
        assert in_ns(part) >= 0.99 * 1e9 * float(own), (done.stdout, shown)
    assert 64 << 10 < int(peak.replace(",", "")) < 128 << 10, shown


def check_peak_before_exec(folder):
    """Linux includes in the peak what the process had before exec, which is cpuperf's: of a program that has less
    the number is an upper bound; of one that has more it is the program's. With runs, of the largest."""
    for options, mib, text in stride((([], "0", "; peak memory at most [0-9,]+ KiB in one process"),
                               ([], "64", "; peak memory 6[5-9],[0-9]{3} KiB in one process"),
                               (["-r2"], "0", "; peak memory at most [0-9,]+ KiB in one process"),
                               (["-r2"], "64", "; peak memory 6[5-9],[0-9]{3} KiB in one process")), 2):
        shown = measure(folder, os.environ["TOUCH"], mib, options=[*ONE, *options]).stderr
        shown = re.sub(r"\n {4}", " ", shown)  # a sentence may be broken
        assert re.search(text, shown), (options, mib, shown)


def check_life(folder):
    """How long its threads existed together, and were on a CPU: sleeps of 0.3 s, and who waits for them. Of so many one wait
    may be missing (kit.hidden_turns)."""
    nr = 10
    shown = measure(folder, "sh", "-c", f"for i in $(seq {nr}); do sleep 0.3 & done; wait").stderr
    wall = in_ns(re.search(r"(\S+ m?s) wall", shown)[1])
    line = re.search(r"\n  (\S+ m?s) of (\d+) threads: ([\d.]+ % on CPU, .*)\n", shown)
    assert line and int(line[2]) == nr + 2, shown  # and seq
    assert 0.999 * (nr + 1) * 0.3e9 < in_ns(line[1]) < 1.001 * (nr + 2) * wall, shown  # as printed, with four digits
    states = {name: float(share) for share, name in re.findall(r"([\d.]+) % ([\w ]+)", line[3])}
    assert 99.7 < sum(states.values()) < 100.3, shown  # with what was not seen as they began and ended
    # who may not load programs into the kernel, and has no records of switches, knows less
    blocked = sum(states.get(name, 0) for name in ("blocked", "blocked or waiting for a CPU"))
    assert blocked / 100 * in_ns(line[1]) > (nr - 1.1) * 0.3e9, shown  # who waits for them may begin to when they have ended
    # without samples of waits it says how to have them
    shown = measure(folder, "sleep", "0.2", options=["-e", "cpu_clock@99Hz"]).stderr
    assert re.search(r"% on CPU, [\d.]+ % blocked or waiting for a CPU \(--spec-file=wall samples where\)\n", shown), shown


def check_tree_peak(folder):
    """Three processes have memory at the same time; wait4 returns the largest of them."""
    script = "\n".join([
        "import os, sys, time",
        "for child in range(2):",
        "    if os.fork() == 0: break",
        "m = b'x' * (64 << 20)",
        "time.sleep(float(sys.argv[1]))"])
    for hold in ("0.3", "2", "10"):  # on a busy machine the reading may come late
        shown = measure(folder, sys.executable, "-c", script, hold, options=ONE).stderr
        found = re.search(
            r"; peak memory ([\d,]+) KiB in one process\n  peak memory of (\d) processes together: at "
            r"least ([\d,]+) KiB \(sum of RSS: shared pages count in each\)\n", shown)
        if not found:  # it saw one alone
            continue
        one, nr, all_ = (int(text.replace(",", "")) for text in found.groups())
        assert 64 < one >> 10 < 128 and all_ >> 10 < 3 * (one >> 10) + 64, shown
        if all_ >> 10 > 3 * 64:
            break
    assert found and nr == 3 and all_ >> 10 > 3 * 64, shown
    line, = (text for text in shown.splitlines() if "together" in text)
    assert line in output(PRINT, f"--session={folder}/{FOLDER}")
    shown = measure(folder, sys.executable, "-c", "import time; time.sleep(0.2)", options=ONE).stderr
    assert "in one process" in shown and "together" not in shown, shown


def check_faults(folder):
    """A known number of pages, in a child."""
    if not may_count_faults("page faults"):
        return
    script = "import mmap\nm = mmap.mmap(-1, 2000 * 4096)\nfor i in range(2000): m[i * 4096] = 1"
    measure(folder, sys.executable, "-c", "pass", options=["-e", "page_faults"])
    before = counted(folder)["page_faults"]
    measure(folder, "sh", "-c", '"$0" -c "$1"; true', sys.executable, script, options=["-e", "page_faults"])
    faults = counted(folder)["page_faults"] - before
    assert 1900 < faults < 3500, faults


def check_pid_namespace(folder):
    """In a container all that is measured has a number, so there is nothing to note."""
    inside = ["unshare", "-pf", "--mount-proc"]
    if os.geteuid() != 0 or run(*inside, "true", code=None).returncode:
        print("skip: a PID namespace: not root, or there are none here")
        return
    shown = run(*inside, CPUPERF, "--", "sh", "-c", SPIN % 20000, cwd=folder).stderr
    assert "exit status 0" in shown and "PID namespace" not in shown, shown


def target_frames(folder):
    """What the last command's traces store of it."""
    out = []
    for name in sorted(os.listdir(f"{folder}/{FOLDER}")):
        if re.fullmatch(r"cpuperf\.\d+\.\d+\.cpuperf", name):
            rows = output(sys.executable, f"{HERE}/read_trace.py", f"{folder}/{FOLDER}/{name}")
            out += [row for row in map(json.loads, rows.splitlines()) if row.get("frame") == "target"]
    return out


def check_from_exec(folder):
    """What the process of the command did before it became the command is in none of its counts. Those of wait4
    include exec itself: the pages of the arguments and of the environment, and some more: 5 to 9 were seen, and 50 of
    before."""
    if not may_count_faults("page faults before exec"):
        return
    most = 20 + sum(len(k) + len(v) + 2 for k, v in os.environb.items()) // 4096
    for _ in range(3 if IS_LONG else 1):
        measure(folder, "true", options=["-e", "page_faults"])
        event, (target,) = counted(folder)["page_faults"], target_frames(folder)
        faults = target["minor_faults"] + target["major_faults"]
        assert event <= faults <= event + most, (event, target)


def sleeper(folder):
    """A program that sleeps, and whose command line no other test has; see end_sleepers."""
    return shutil.copy(shutil.which("sleep"), folder)


def end_sleepers(folder):
    """They still run: nobody has waited for them."""
    run("pkill", "-f", f"^{folder}/sleep ")


def check_orphans(folder):
    """What outlives the command does not hold up the answer, which names it."""
    sleep = f"{sleeper(folder)} 3600 & until grep -qx sleep /proc/$!/comm; do :; done"  # in sh before exec
    with open(os.devnull, "w", encoding="ascii") as null:
        measure(folder, "sh", "-c", f"{sleep}; exit 4", code=4, stdout=null, stderr=null)
    end_sleepers(folder)
    for script, left in stride(((sleep, r"[0-9]+ \(sleep\)"),
                                (f"for i in 1 2 3 4 5 6 7 8 9; do {sleep}; done",
                                 r"([0-9]+ \(sleep\), ){8}\.\.\."),
                                ("sleep 0.1 & sleep 0.1; wait; exec sleep 0.1", None)), 1):
        with open(f"{folder}/answer", "w+", encoding="utf-8") as answer: # a pipe would stay open
            measure(folder, "sh", "-c", script, stdout=answer, stderr=answer)
            answer.seek(0)
            found = re.search(r"  still running at its end, .*: (.*)\n", answer.read())
        assert bool(found) == bool(left) and (not left or re.fullmatch(left, found[1])), (script, found)
    with open(f"{folder}/answer", "w+", encoding="utf-8") as answer:
        measure(folder, "sh", "-c", sleep, options=["-r2"], stdout=answer, stderr=answer)
        answer.seek(0)
        text = answer.read()
    assert re.search(r"  still running at the end of the last run, and not .*: \d+ \(sleep\)\n", text), text
    end_sleepers(folder)


def check_left(folder):
    """What is left is named without samples too, as far as /proc showed it in time, and where the measuring ends
    first. The longer it takes, the surer it was seen."""
    sleep = f"{sleeper(folder)} 3600 & until grep -qx sleep /proc/$!/comm; do :; done"
    for options, wait, when in (([], 1, "its end"), (["--wait-children", "-d{}"], 3, "that time"),
                                (["-d{}"], 3, "that time")):
        for seconds in (0.1, 1, 5, 20):
            script = sleep.replace(" 3600", f" {4 * seconds}") + f"; sleep {wait * seconds}"
            with open(f"{folder}/answer", "w+", encoding="utf-8") as answer:
                measure(folder, "sh", "-c", script, options=["-etask_clock", *(o.format(seconds) for o in options)],
                        stdout=answer, stderr=answer)
                answer.seek(0)
                text = re.sub(r"\n {4}", " ", answer.read())  # a sentence may be broken
            found = re.search(r"  still running at (.*), and not measured from then on: (.*) \(found in /proc; there may "
                              r"be more\)\n", text)
            if found and re.fullmatch(r"\d+ \(sleep\)(, \d+ \(sleep\))?", found[2]):
                break
        else:
            assert False, text
        assert found[1] == when, text
    done = measure(folder, "sh", "-c", "sleep 0.1 & wait", options=["-etask_clock"])
    assert "still running" not in done.stderr, done.stderr


def check_no_children(folder):
    """Children that are not measured: the answer says that they are not, and nothing of their end."""
    script = f"sh -c '{SPIN % 100000}'; sleep 0.1 & true"
    for options in stride(([], ["-r2"]), 1):
        done = measure(folder, "sh", "-c", script, options=["--no-children", *options], code=None)
        if "--no-children: error: " in done.stderr:  # Linux 5.13 has it
            print(f"skip: --no-children: {done.stderr}")
            return
        assert "still running" not in done.stderr, done.stderr
        assert "  the processes that it started were not measured (--no-children)\n" in done.stderr, done.stderr
        assert re.search(r"  counted for .* % of the CPU time\n  excluded: child processes \(--no-children\), ", done.stderr), done.stderr
    assert "(--no-children)" not in measure(folder, "sh", "-c", script).stderr


def check_short_runs(folder):
    """CPU time of a thread includes the kernel's work at a switch, counts do not."""
    script = "import time\nfor _ in range(%d): time.sleep(0.00002)" % (number := 5000 if IS_LONG else 2000)
    text = measure(folder, sys.executable, "-c", script).stderr
    share = re.search(r"  counted for ([\d.]+) % of the CPU time\n  excluded: (.*)\n", text)
    if not share:
        print("skip: the kernel's work at switches: it is little here", flush=True)
        return
    told = re.fullmatch(r"the kernel's work at context switches, ([\d.]+) us at each of ([\d,]+) if nothing else is", share[2])
    if told:
        assert 0 < float(told[1]) <= 20 and int(told[2].replace(",", "")) >= number, text
    else:  # beside others a switch takes longer: it is one of what may be the cause
        assert share[2].startswith("the kernel's work at context switches, set-user-ID"), text
    text = measure(folder, sys.executable, "-c", script, options=["--no-children"], code=None).stderr
    assert "at context switches" not in text, text


def check_wait_children(folder):
    """--wait-children: the end is that of the last process, also of one that left for another
    session; its time is in the sums. Children that cpuperf had before are not waited for, and a
    signal ends the waiting."""
    script = f"(sleep 0.4; exec setsid sh -c '{SPIN % 100000}') & exit 4"
    done = measure(folder, "sh", "-c", script, options=["--wait-children"], code=4)
    wall, user, system = (in_ns(re.search(pattern, done.stderr)[1])
                          for pattern in (r"(\S+ \S+) wall", r"(\S+ \S+) user", r"(\S+ \S+) system"))
    assert wall >= 400e6, done.stderr
    # ticks may decide which of both it is
    assert user + system > 0.9 * counted(folder)["task_clock"] > 10e6, done.stderr

    sleep = sleeper(folder)
    before = f"{sleep} 3600 & exec {CPUPERF} -e task_clock --wait-children -- sh -c 'sleep 0.1 & exit 5'"
    run("sh", "-c", before, cwd=folder, code=5, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end_sleepers(folder)
    with subprocess.Popen([CPUPERF, *ONE, "--wait-children", "--", "sh", "-c", f"{sleep} 3600 & echo left"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        p.terminate()
    assert p.returncode in (0, 128 + signal.SIGTERM), p.returncode
    end_sleepers(folder)
    count = "$(ps --ppid $PPID -o stat= | grep -c Z)"
    many = f"for i in $(seq 100); do (true &) ; done; while [ {count} -gt 0 ]; do sleep 0.1; done"
    measure(folder, "sh", "-c", many, options=["--wait-children", "-etask_clock"]) # reaped meanwhile
    done = run(CPUPERF, "--wait-children", "--pid=1", cwd=folder, code=2)
    assert "--wait-children requires a command" in done.stderr, done


def check_duration(folder):
    """Measuring may end before the command, which goes on."""
    manifest = f"{folder}/{FOLDER}/cpuperf.cpsession"  # says until the end of the measuring that it goes on
    script = f"until [ -s {manifest} ] && ! grep -q '\"state\"' {manifest}; do sleep 0.05; done; echo late; exit 6"
    done = measure(folder, "sh", "-c", script, options=["--duration=100ms"], code=6)
    assert done.stdout == "late\n" and "still running when the measuring ended" in done.stderr, done
    assert re.search(r"went on unmeasured: exit status 6 after \d+\.\d+ s, of which \d+\.\d+ s user, \d+\.\d+ s system\n",
                     done.stderr), done
    # rates and CPUs are of the time that was measured; the command ends when it was
    wait = "import os, time\nopen('measuring', 'w').close()\nwhile not os.path.exists('measured'): pass\n"
    p = subprocess.Popen([CPUPERF, "-d0.2", "-e", "task_clock", "--", sys.executable, "-c", wait], cwd=folder, text=True,
                         stderr=subprocess.PIPE)
    wait_for(p, f"{folder}/measuring")
    while '"state"' in open(f"{folder}/{FOLDER}/cpuperf.cpsession", encoding="utf-8").read():
        time.sleep(0.01)
    open(f"{folder}/measured", "wb").close()
    err = p.communicate()[1]
    assert p.returncode == 0, err
    # the time of /proc is a multiple of its ticks, which may be 0
    found = re.search(r"\n  (\S+ m?s) measured, (\S+) % CPU(?:: at least (?:< )?\S+ \w+ user, (?:< )?\S+ \w+ system \(/proc\))?\n"
                      r"  peak memory of 1 process: at least [\d,]+ KiB\n", err)
    count = re.search(r"\n  task_clock +(\S+ \w+) +(\S+) %", err)
    assert found and count and found[2] == count[2], err
    assert abs(float(found[2]) - 100 * in_ns(count[1]) / in_ns(found[1])) < 0.1 + 0.01 * float(found[2]), err


def check_ordinary_user(folder):
    """Who may not measure in the kernel measures his own command in user mode, and is told so: what is
    counted in the kernel is missing, and never 0."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        paranoid = int(f.read())
    if os.geteuid() != 0 or paranoid != 2:
        print("skip: this is not root, or perf_event_paranoid is not 2: an ordinary user may more or less")
        return
    base = os.path.dirname(folder)
    os.chmod(folder, 0o777)
    program, _ = (sampled.for_everybody(path, base) for path in (CPUPERF, PRINT))
    shutil.copy(f"{os.environ['SOURCE_DIR']}/specs/program.cpspec", f"{folder}/program.cpspec")
    who = {"user": own_uid(), "group": own_uid(), "extra_groups": []}
    script = f"{SPIN % 60000}; exec dd if=/dev/zero of=/dev/null bs=1M count=6000"
    missed_ns = -sampled.stolen_ns()
    shown = run(program, "--", "sh", "-c", script, cwd=folder, **who).stderr
    missed_ns += sampled.stolen_ns()
    assert re.search(r"\n  user mode only; [\d,]+ page faults", shown), shown
    assert "\n  not measured: cpu_migrations (it happens in the kernel, which this user may not measure, " in shown, shown
    states = {row["event"]: row["state"] for row in csv.DictReader(io.StringIO(output(
        PRINT, "--quiet", "--output-format=csv", FOLDER, cwd=folder))) if not row["trace"]}
    assert (states["cpu_migrations"], states["context_switches"]) == ("not supported", "no permission"), states
    assert re.search(r" of 1 thread: [\d.]+ % on CPU, .*% blocked.*\n  waits are found by records of switches\n", shown), shown
    n = counted(folder)
    assert set(n) == {"cpu_clock", "task_clock", "run_queue_time", "off_cpu_time"}, n
    # the sum is exact; how it is divided, ticks may have decided
    own = sum(in_ns(text) for text in re.search(USAGE, shown).groups())
    assert abs(n["task_clock"] - own) < 0.05 * own + 12e6 + missed_ns, (n, shown, missed_ns)
    taken = samples(folder) * 1e9 / 997  # of the loop, and not of dd, which is in the kernel
    assert 0.05 * own < taken < 0.8 * own, (taken, own, n)
    # both parts are rows, and the samples are compared with the one of user mode
    user, system = re.search(USAGE, shown).groups()
    share, = re.findall(rf"\n  in user mode +{re.escape(user)} .*\(samples × period: ([\d.]+) %\)\n", shown)
    assert abs(float(share) - 100 * taken / in_ns(user)) < 0.01 * float(share) + 0.1, (share, taken, user)
    assert re.search(rf"\n  in the kernel, not sampled +{re.escape(system)} ", shown), shown


def on_terminal(rows, columns, *command, **how):
    """What the command prints on standard error, which is a terminal of that size: its lines without colours."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    out = b""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its, **how) as p:
        os.close(its)
        with contextlib.suppress(OSError):
            while data := os.read(ours, 65536):
                out += data
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.decode().replace("\r\n", "\n")).splitlines()


def height(lines, columns):
    return sum(max(1, -(-len(line) // columns)) for line in lines)


def functions(lines):
    """What is exact has no ±."""
    return [line for line in lines if re.match(r" *[\d.]+ %  ?[± ]", line)]


PLACES = "".join(f"""
__attribute__((noinline)) static void nap_{i}(void) {{ usleep(60000); __asm__ volatile(""); }}
__attribute__((noinline)) static void run_{i}(void) {{ for (volatile int i = 0; i < 3000000; i++); }}""" for i in range(12))


def check_waits_apart(folder):
    """What ran on a CPU comes first, in shares of that, though each of twelve sleeps took longer; the waits have a table
    of their own. Each adds up to all of it."""
    with open(f"{folder}/places.c", "w", encoding="ascii") as f:
        f.write("#include <unistd.h>\n" + PLACES + "int main(void) {" +
                "".join(f"nap_{i}(); run_{i}();" for i in range(12)) + "}")
    run("cc", "-O1", "-o", f"{folder}/places", f"{folder}/places.c")
    lines = measure(folder, f"{folder}/places").stderr.splitlines()
    on_cpu, waiting = (next((i for i, line in enumerate(lines) if line.startswith(what)), 0)
                       for what in ("on CPU: ", "waiting: "))
    if not waiting:
        print("skip: waits apart: they are not measured here", flush=True)
        return
    assert 0 < on_cpu < waiting, lines
    for table, nr in ((lines[on_cpu:waiting], 10), (lines[waiting:], 5)):
        shares = [float(line.split()[0]) for line in functions(table)]
        rest = re.search(r"^… \d+ more: ([\d.]+) %", "\n".join(table), re.M)
        rounded = 0.05 * (nr + 1)  # a share of few samples has one decimal
        assert len(shares) == nr if rest else 0 < len(shares) <= nr, table  # a function may have no sample
        assert abs(sum(shares) + (float(rest[1]) if rest else 0) - 100) <= rounded, table
    assert not any(re.search(r"  (waiting for a CPU|blocked)  |nap_", line) for line in functions(lines[on_cpu:waiting])), lines
    assert all(re.search(r"  (waiting for a CPU|blocked)  ", line) for line in functions(lines[waiting:])), lines
    table = output(PRINT, "--quiet", "--report=flat", "--output-format=csv", FOLDER, cwd=folder)
    # beside others each may wait longer for a CPU than it sleeps
    assert any(re.search(r"  blocked +sleep +places +nap_\d+$", line) for line in lines) or \
        all("  waiting for a CPU  " in line for line in functions(lines[waiting:])), lines
    assert any(r["event"] == "off_cpu_time" and "sleep" in r["function"] and int(r["self_count"])
               for r in csv.DictReader(io.StringIO(table, newline=""))), table


def check_many_processes(folder):
    """An answer about many processes begins with what they were; one about a few does not."""
    for i in range(30):
        with open(f"{folder}/work{i}.sh", "w", encoding="ascii") as f:
            f.write("i=0; while [ $i -lt 15000 ]; do i=$((i + 1)); done\n")
    for nr, what in ((20, "for i in $(seq 0 19); do sh work$i.sh & done; wait"), (3, "for i in 0 1; do sh work$i.sh; done"),
                     (30, "for i in $(seq 0 29); do sh work$i.sh & done; wait"),
                     (21, "for i in $(seq 0 19); do sh work$i.sh & done; i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done; wait")):
        lines = measure(folder, "sh", "-c", what).stderr.splitlines()
        heading = next((i for i, line in enumerate(lines) if re.search(r" by command, of \d+ processes$", line)), None)
        if nr < 16:
            assert heading is None, lines
            continue
        assert heading and re.match(r" *share +processes +count +command$", lines[heading + 1]), lines
        assert nr <= int(lines[heading].split()[-2]) <= nr + 2, lines  # with that of seq and the shell
        rows = [line.split() for line in functions(lines[heading:lines.index("", heading)])]
        assert any(re.search(r"^\S.*: [\d,]+ samples", line) for line in lines[heading:]), lines
        assert all(row[-1] in ("sh", "seq") or nr < 30 and re.fullmatch(r"work\d+\.sh", row[-1]) and row[-2] == "sh" for row in rows), lines
        rest = re.search(r"^… \d+ more: ([\d.]+) %", "\n".join(lines[heading:lines.index("", heading)]), re.M)
        assert abs(sum(float(row[0]) for row in rows) + (float(rest[1]) if rest else 0) - 100) < 0.2, lines
        # few have most, or their programs
        assert not rest or float(rest[1]) <= 50, lines
        by_command = lines[-1].endswith(" --report=flat --sort=cmdline,function (--help)")
        assert by_command == (nr != 21), lines  # one process has most


NEXT = {
    # what it does, the options that are proposed, and what they print
    "lock": ("""
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *turn(void *p) { for (int i = 0; i < 3; i++) { pthread_mutex_lock(&m); usleep(20000); pthread_mutex_unlock(&m); } return p; }
int main(void) { pthread_t t[6]; for (int i = 0; i < 6; i++) pthread_create(&t[i], 0, turn, 0); for (int i = 0; i < 6; i++) pthread_join(t[i], 0); }
""", "--report=(locks|waits)", r"blocked +futex|\bm +mutex "),  # locks are known to root
    "touches": ("""
#include <sys/mman.h>
int main(void) { for (int i = 0; i < 100; i++) { char *p = mmap(0, 8 << 20, 3, 0x22, -1, 0); madvise(p, 8 << 20, 15);
    for (long k = 0; k < 8 << 20; k += 4096) p[k] = 1; munmap(p, 8 << 20); } }
""", r"--report=calls --function=\w*(fault|abort)\w*", r"\bmain \[\d+\]"),
    "spins": ("""
__attribute__((noinline)) static void spin_here(void) { for (volatile long i = 0; i < 200000000; i++); }
int main(void) { spin_here(); }
""", "--report=annotate --function=spin_here", r"spin_here"),
    "sleeps": ("int main(void) { usleep(100000); }", "--report=tree", r"\d % "),
}


def check_next(folder):
    """What to look at next follows from what was found, and works as it is typed, also for a session whose name is
    quoted. Beside others a program may wait for a CPU most of the time: then that is looked at."""
    path = f"{os.path.dirname(PRINT)}:{os.environ['PATH']}"
    for name, (text, options, found) in NEXT.items():
        with open(f"{folder}/{name}.c", "w", encoding="ascii") as f:
            f.write("#include <unistd.h>\n" + text)
        run("cc", "-g", "-O1", "-pthread", "-o", f"{folder}/{name}", f"{folder}/{name}.c")
        for session in ([], ["-o", f"it's {name}"]):
            err = run(CPUPERF, *session, "--", f"{folder}/{name}", cwd=folder).stderr
            typed, chosen = re.search(r"^Saved in .*\. More: (cpuperf_print (?:'.*' |\S+ )?(--report=.*)) \(--help\)$", err, re.M).groups()
            shown = output("sh", "-c", f"{typed} --no-pager", cwd=folder, env={"PATH": path})
            assert os.geteuid() or re.fullmatch(f"{options}|--report=waits", chosen), (typed, err)
            assert re.search(found if re.fullmatch(options, chosen) else r"\d %", shown), (typed, shown, err)
    # counts have no such reports, and neither has what another program prints of them
    err = run(CPUPERF, "-e", "task_clock", "--", "true", cwd=folder).stderr
    assert "More: cpuperf_print (--help)\n" in err, err


def are_fewest(lines):
    """Two rows in each table, of which there is one of waits where others had the CPU."""
    return len(functions(lines)) == 2 * sum(line.lstrip().startswith("self ") for line in lines)


def check_one_screen(folder):
    """On a terminal of 24 lines and 80 columns the answer leaves a line for the prompt: functions become fewer; on
    a larger one there are more. What has more to say, of a loss for example, is longer rather than cut."""
    long = "x" * 300
    command = (CPUPERF, "--", "sh", "-c", SPIN % 200000, long)
    usual = on_terminal(24, 80, *command, cwd=folder)
    large = on_terminal(60, 100, *command, cwd=folder)
    text = "\n".join(usual)
    assert (height(usual, 80) < 24 or are_fewest(usual)) and 2 <= len(functions(usual)) < len(functions(large)), (usual, large)
    assert height(large, 100) < 60, large
    for pattern in (r"^sh -c .*x?…: exit status 0$", r"^  .* wall, .* CPU: .* user, .* system; peak ", r"^  task_clock  ",
                    r"^(on CPU|cpu_clock): [\d,]+ samples", r"^ +self ", r"^… \d+ more: ", r"^Saved in "):
        assert re.search(pattern, text, re.M), (pattern, usual)
    # a command that does not fit beside the session's name has a line of its own
    for name in "n" * 5, "n" * 40:
        *_, before, last = on_terminal(24, 80, *command[:1], "-o", name, "--", "true", cwd=folder)
        assert len(last) <= 80 and (last.startswith("  cpuperf_print ") and before == f"Saved in {name}. More:"
                                    if len(name) > 5 else last.startswith(f"Saved in {name}. More: cpuperf_print ")), (before, last)
    # nothing of it is cut where there is no terminal
    whole = run(*command, cwd=folder).stderr
    assert f"{long}: exit status 0" in whole and 10 <= len(functions(whole.splitlines())) <= 15, whole
    for rows in stride((12, 24, 40), 1):
        lines = output(PRINT, "--quiet", f"--rows={rows}", cwd=folder).splitlines()
        assert are_fewest(lines) or height(lines, 80) <= rows, (rows, lines)
    run(PRINT, "--rows=24", "--top=3", cwd=folder, code=2)


def check_one_screen_of_user(folder):
    """The same for an ordinary user: how to measure more has one line, and the rows of what the line of the CPU time has
    are functions. A larger terminal has all, and so has --verbose."""
    who = ordinary_user(folder)
    if not who:
        return
    (program,), how = who
    shutil.copy(f"{os.environ['SOURCE_DIR']}/specs/program.cpspec", f"{folder}/program.cpspec")
    command = (program, "--spec-file=./program.cpspec", "--", "sh", "-c", SPIN % 60000)
    small, large = (on_terminal(rows, 80, *command, **how) for rows in (24, 60))
    spoken = on_terminal(24, 80, command[0], "--verbose", *command[1:], **how)
    assert height(small, 80) < 24 and len(functions(small)) >= 2, small
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) < 2:
            return
    assert "To measure it in the kernel too: --verbose prints how" in small, small
    assert not any(line.startswith(("  sudo ", "  in the kernel, not sampled")) for line in small), small
    assert any(line.startswith("  in the kernel, not sampled") for line in large), large
    for lines in large, spoken:
        assert any(line.startswith("  sudo ") for line in lines) and "--verbose prints" not in str(lines), lines


# ---- its files

def check_nameless(folder):
    """The answer says how to have names, by the runtime whose files are found."""
    run(*os.environ.get("CC", "cc").split(), "-O2", f"{HERE}/nameless.c", "-o", f"{folder}/plain")
    run("strip", f"{folder}/plain", "-o", f"{folder}/bare")
    for name in ("node", "node_exporter", "other", "python3.99"):
        shutil.copy(f"{folder}/plain", f"{folder}/{name}")
    made = "in code made at run time, without names: "
    inside = "below the interpreter _PyEval_EvalFrameDefault: "
    many = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.6 & done; ./{} {} 150; wait"
    cases = [("node", "made", made + "node --perf-basic-prof\n"),
             ("other", "made", made + "needs a jitdump or a /tmp/perf-PID.map"),
             ("python3.99", "interpreted", inside + "python3 -X perf (3.12 or later)\n"),
             ("other", "interpreted", None), ("node", "file", None), ("node_exporter", "made", made + "needs a jitdump"),
             ("bare", "file", "in functions without names, most of bare: needs its debug symbols")]
    # waits have no names to miss: the shares are of the CPU time, however many threads sleep
    for is_alone, (name, how, expected) in [(True, case) for case in stride(cases, 2)] + [(False, cases[0])]:
        text = measure(folder, *([f"./{name}", how, "150"] if is_alone else ["sh", "-c", many.format(name, how)])).stderr
        lines = [line for line in text.splitlines(True) if made in line or "interpreter" in line or
                 "functions without names" in line]
        assert len(lines) == (expected is not None), (name, how, text)
        if expected:
            program, share, rest = re.match(r"(?:(\w+): )?([\d.]+) % (?:of the CPU time )?(.*)", lines[0], re.S).groups()
            assert float(share) >= (50 if is_alone else 30) and rest.startswith(expected), (name, how, text)
            of = {"node": "node", "python3.99": "python"}.get(name, name if how == "made" else None)
            assert program == of, (name, how, text)
            table = next(line for line in text.splitlines(True) if re.match(" +self ", line))
            assert text.index(lines[0]) < text.index(table), text  # first what the rows cannot name
            row = re.search(rf" {of} +\[code without names\]\n", text)
            assert bool(row) == (how == "made") and "//anon" not in text, text  # a row for each program
    text = measure(folder, "sh", "-c", "./node made 150; ./other made 450; ./other made 10").stderr
    lines = [re.match(r"(\w+): ([\d.]+) % ", line).groups() for line in text.splitlines() if made in line]
    assert [program for program, _ in lines] == ["other", "node"], text  # by program, the most first
    assert float(lines[0][1]) > 1.5 * float(lines[1][1]), text


def check_last(folder):
    """Without a name, cpuperf_print takes the session of the folder, else the last one anywhere."""
    env = {**os.environ, "XDG_STATE_HOME": folder}
    elsewhere = f"{folder}/elsewhere"
    os.mkdir(elsewhere)
    assert "cpuperf -- COMMAND makes" in run(PRINT, cwd=elsewhere, env=env, code=2).stderr
    measure(folder, "true", options=[*ONE, "-o", "one"], env=env)
    first, text = run(PRINT, cwd=elsewhere, env=env).stdout.split("\n", 1)
    age = r"No session of yours in this folder\. The last one, (\S+)/one/cpuperf\.cpsession, \d+ (second|minute|hour|day)s? ago:"
    assert re.fullmatch(age, first)[1] == folder and "true: exit status 0" in text, (first, text)
    os.utime(f"{folder}/one/cpuperf.cpsession", (1, time.time() - 2.5 * 86400))
    assert ", 2 days ago:\n" in run(PRINT, cwd=elsewhere, env=env).stdout
    assert "No session" not in run(PRINT, "--output-format=csv", cwd=elsewhere, env=env).stdout
    assert "No session" not in run(PRINT, "one", cwd=folder, env=env).stdout
    measure(folder, "sh", "-c", "exit 3", options=ONE, env=env, code=3)
    assert "exit status 3" in run(PRINT, cwd=elsewhere, env=env).stdout
    measure(folder, "false", options=[*ONE, "-o", "two"], env=env, code=1)
    assert "false: exit status 1" in run(PRINT, cwd=elsewhere, env=env).stdout
    assert "exit status 3" in run(PRINT, cwd=folder, env=env).stdout
    shutil.rmtree(f"{folder}/two")
    gone = run(PRINT, cwd=elsewhere, env=env, code=1)
    assert f"{folder}/two" in gone.stderr, gone.stderr


def check_kernel_symbols(folder):
    """A command that ends before the kernel's symbols are read has them nevertheless."""
    with open("/proc/kallsyms", encoding="utf-8") as f:
        is_hidden = not any(int(line.split()[0], 16) for line in f)
    if is_hidden or not may_count_faults("kernel symbols"):
        print("skip: kernel symbols: this user may not read their addresses, or sample the kernel", flush=True)
        return
    for _ in range(8 if IS_LONG else 2):
        measure(folder, "true")
        assert "Kallsyms: " in output(PRINT, "--quiet", "--output-format=raw", cwd=folder)


def check_overstated_periods(folder):
    """With a frequency the kernel stores periods that may add up to several times the count of faults that come in bursts."""
    if not may_count_faults("periods of faults"):
        return
    bursts = "import mmap, time\nfor i in range(20):\n    m = mmap.mmap(-1, 1 << 18)\n" \
             "    for k in range(64):\n        m[k << 12] = 1\n    m.close()\n    time.sleep(0.01)"
    for _ in range(20 if IS_LONG else 4):
        text = measure(folder, sys.executable, "-c", bursts, options=["-e", "page_faults@997Hz"]).stderr
        table = csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--output-format=csv", cwd=folder)))
        row = next(r for r in table if r["cpu"] == "all" and r["event"] == "page_faults")
        count, periods, samples = int(row["value"]), int(row["weight"]), int(row["samples"])
        is_more = 100 * periods > 110 * count and periods - count > 2 * (periods // samples)
        said = re.search(r"page_faults: .*; periods add up to ([\d.]+) % of the count", text)
        assert bool(said) == is_more, (row, text)
        if is_more:
            assert float(said[1]) == round(100 * periods / count, 1), (row, text)
            return
    print("skip: periods: this kernel's add up to the count", flush=True)


def check_counted_clock(folder):
    """Who asks for a clock alone hears how it is sampled."""
    for events, is_said in (("cpu_clock", True), ("cpu_clock,page_faults", False), ("cpu_clock@997Hz", False)):
        text = measure(folder, "true", options=["-e", events]).stderr
        assert ("--event=cpu_clock@997Hz\n" in text) == is_said, (events, text)


def check_short_tasks(folder):
    """Where each task has its own period, what those ran that end before it is found by records of switches. Where these
    are not all, the answer says that samples are missing."""
    if not may_count_faults("samples that are missing"):  # of user mode alone nothing is expected
        return
    many = ["sh", "-c", "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i + 1)); done; times" % (300 if IS_LONG else 150)]
    told = "Tasks that end before their first sample are missed"
    for options in ["--spec-file=program", "-F", "250"], ["-e", "cpu_clock@250Hz"]:  # 30 are expected, and hardly one is there
        done = measure(folder, *many, options=options)
        used = sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", done.stdout))  # as the kernel has it
        rows = csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=flat", "--event=software:cpu_clock",
                                                 "--output-format=csv", cwd=folder)))
        found = {r["function"]: int(r["self_count"]) / 1e9 for r in rows}
        assert 0.75 * used < sum(found.values()) < 1.25 * used, (options, used, found)
        assert found["[not sampled]"] > 0.4 * used and told not in done.stderr, done
        assert not re.search("% of the (expected|count)", done.stderr), done
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        cpus = f"--cpu={f.read().strip()}"
    for options in ["--spec-file=program"], ["--spec-file=program", "-F", "250"]:
        text = measure(folder, *many, options=[*options, cpus]).stderr
        assert told in text and (len(options) > 1 or "% of the expected samples" in text or "No samples" in text), text
    if programs_missing() is None:  # test_short_tasks.py has what the samples are then
        for options in ([], ["--short-tasks", "--spec-file=program"]):
            text = measure(folder, *many, options=options).stderr
            assert told not in text and not re.search("% of the (expected|count)", text), text
    for options in stride((["-F", "99"], ["-F", "50000", "-g=fp"], ["-c", "20000", "-g=fp"]), 1):
        text = measure(folder, "sh", "-c", SPIN % 100000, options=options).stderr
        assert told not in text, text


def check_whole_stacks(folder):
    """Without options, callers are found in programs without frame pointers."""
    run(*os.environ.get("CC", "cc").split(), "-O2", "-fomit-frame-pointer", f"{HERE}/deep.c", "-o", f"{folder}/deep")
    text = measure(folder, "./deep", "60", "200", code=1).stderr
    assert "ncomplete stacks" not in text, text
    table = output(PRINT, "--quiet", "--report=flat", "--output-format=csv", FOLDER, cwd=folder)
    total = next(row["total"] for row in csv.DictReader(io.StringIO(table)) if row["function"] == "main")
    assert float(total) >= 90, table


def check_folder(folder):
    measure(folder, "sh", "-c", "exit 0")
    assert sorted(os.listdir(f"{folder}/{FOLDER}"))[-2:] == ["cpuperf.common.cpuperf",
                                                             "cpuperf.cpsession"]
    assert os.stat(f"{folder}/{FOLDER}").st_mode == 0o40700
    measure(folder, "echo", "second", options=ONE)
    assert output(PRINT, "--quiet", cwd=folder).startswith("echo second: exit status 0\n")
    assert "sh -c 'exit 0': exit status 0" in output(PRINT, "--quiet", f"{FOLDER}.old", cwd=folder)
    measure(folder, "no-such-program", options=ONE, code=127)  # replaces nothing
    assert output(PRINT, "--quiet", cwd=folder).startswith("echo second")
    measure(folder, "echo", "named", options=[*ONE, "-o", "mine"])
    manifest = f"{folder}/mine/cpuperf.cpsession"
    for name in ("mine", manifest, f"--session={manifest}"):
        assert output(PRINT, "--quiet", name, cwd=folder).startswith("echo named"), name
    measure(folder, "echo", "again", options=[*ONE, "--output=mine"])
    assert output(PRINT, "--quiet", "mine", cwd=folder).startswith("echo again")
    with open(f"{folder}/mine/thesis.tex", "w", encoding="ascii") as f:
        f.write("precious")
    done = measure(folder, "touch", "ran", options=[*ONE, "-o", "mine"], code=125)
    assert "thesis.tex is not a session's file" in done.stderr, done.stderr
    assert not os.path.exists(f"{folder}/ran")
    assert output(PRINT, "--quiet", "mine", cwd=folder).startswith("echo again")
    os.mkdir(f"{folder}/empty")
    done = run(PRINT, cwd=f"{folder}/empty", code=2, env={**os.environ, "XDG_STATE_HOME": folder})
    assert "no session named" in done.stderr, done.stderr


def check_folder_in_use(folder):
    """A second command in one folder is measured beside the first, and says where it is saved."""
    first = subprocess.Popen([CPUPERF, "-e", "task_clock", "--", "sh", "-c", "echo runs; read x"], cwd=folder, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert first.stdout.readline() == "runs\n"
    for _ in range(2):
        said = measure(folder, "echo", "second", options=ONE).stderr
        assert f"Saved in ./{FOLDER}.2, because another session is using ./{FOLDER}. " in said, said
        assert output(PRINT, "--quiet", f"{FOLDER}.2", cwd=folder).startswith("echo second")
    done = run(CPUPERF, *ONE, "-o", FOLDER, "--", "true", cwd=folder, code=125)  # who names it gets that one
    assert "another cpuperf session is using this name" in done.stderr, done.stderr
    said = first.communicate("x\n")[1]
    assert first.returncode == 0 and f"Saved in ./{FOLDER}. " in said, said
    assert sorted(os.listdir(folder)) == [FOLDER, f"{FOLDER}.2", f"{FOLDER}.2.old"], os.listdir(folder)


def check_output_names(folder):
    """What stands for host, process, date and a free number in the name of --output."""
    host = re.escape(os.uname().nodename)
    for pattern, name in (("n-%n", "n-1"), ("n-%n", "n-2"), ("a%%b", "a%b"), ("%h-%p-%d", rf"{host}-[1-9]\d*-20\d{{6}}-\d{{6}}")):
        before = set(os.listdir(folder))
        measure(folder, "echo", "named", options=[*ONE, "-o", pattern])
        made, = set(os.listdir(folder)) - before
        assert re.fullmatch(name, made), (pattern, made)
        assert output(PRINT, "--quiet", made, cwd=folder).startswith("echo named"), made
    made = set(os.listdir(folder))
    several = [subprocess.Popen([CPUPERF, *ONE, "-o", "both-%n", "--", "true"], cwd=folder, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [p.wait() for p in several] == [0] * 4
    assert set(os.listdir(folder)) - made == {f"both-{i}" for i in range(1, 5)}, os.listdir(folder)
    measure(folder, "true", options=["-e", "no-such-event", "-o", "none-%n"], code=125)
    assert not os.path.exists(f"{folder}/none-1")
    error = run("env", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", CPUPERF, "-o", "r-%n", "--", "true", cwd=folder, code=125).stderr
    assert "each rank of this job would name another folder" in error, error
    for pattern, why in (("a%q", "=a%q: %q has no meaning"), ("a%", "=a%: % has no meaning"),
                         ("%n" + "/x" * 2100, ": the name is too long")):
        error = measure(folder, "touch", "ran", options=[*ONE, "-o", pattern], code=125).stderr
        assert error.startswith(f"cpuperf: error: --output{why}\n"), error
    assert not os.path.exists(f"{folder}/ran")


def has_own_devices(path):
    """Of some file systems (overlay, btrfs) maps have another device than stat."""
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m, open("/proc/self/maps", encoding="ascii") as maps:
        assert len(m)
        major, minor = next(line.split()[3] for line in maps if line.rstrip().endswith(path)).split(":")
    return os.stat(path).st_dev == os.makedev(int(major, 16), int(minor, 16))


def check_no_build_id(folder):
    """Of a program that has none nothing is said where the file is the one that ran, unchanged; else that it is assumed."""
    program = f"{folder}/plain"
    build_without_id(program)
    if not has_own_devices(program):
        print("skip: no build-id: the file system has other devices in maps")
        return
    done = run(CPUPERF, "--", program, cwd=folder, code=None)
    assert "plain: exit status" in done.stderr and "build-id" not in done.stderr, done.stderr
    if "on CPU: " in done.stderr:
        os.utime(program, (1e9, 1e9))
        assert "is assumed to be the file that ran" in run(PRINT, cwd=folder).stderr


def what_changes_with_writing(name):
    st = os.lstat(name)
    return st.st_ino, st.st_mode, st.st_uid, st.st_gid, st.st_nlink, st.st_size, st.st_mtime_ns, st.st_ctime_ns


def check_foreign_folder(folder):
    """Where ./cpuperf.session belongs to another user, or cannot be written, the session is saved in a folder
    of one's own, and one line says so. Nothing of the other user is touched; -o NAME of another user is an
    error."""
    if os.geteuid() != 0:
        print("skip: folders of other users: not root")
        return
    base = os.path.dirname(folder)
    program, printer = (sampled.for_everybody(path, base) for path in (CPUPERF, PRINT))
    how = {"cwd": folder, "user": own_uid(), "group": own_uid(), "extra_groups": []}
    state = f"{base}/state"
    os.mkdir(state, 0o700)
    os.chown(state, own_uid(), own_uid())
    os.chmod(folder, 0o1777)
    env = {"XDG_STATE_HOME": state}
    saved = f"Saved in {state}/cpuperf/cpuperf.session, because ./cpuperf.session%s. More: cpuperf_print (--help)\n"
    name = f"{folder}/{FOLDER}"
    for make, undo in ((os.mkdir, os.rmdir), (lambda at: open(at, "wb").close(), os.unlink),
                       (lambda at: os.symlink("/etc", at), os.unlink), (lambda at: os.symlink("/none", at), os.unlink),
                       (lambda at: os.mkdir(at, 0o777), os.rmdir)):
        make(name)
        before, unchanged = os.lstat(name), what_changes_with_writing(name)
        err = run(program, "-e", "task_clock", "--", "echo", str(before.st_ino), env=env, **how).stderr
        assert saved % " belongs to root" in err, err
        assert what_changes_with_writing(name) == unchanged and (not os.path.isdir(name) or os.path.islink(name) or not os.listdir(name))
        shown = run(printer, "--quiet", env=env, **how).stdout
        assert shown.split("\n", 1)[-1].startswith(f"echo {before.st_ino}: exit status 0"), shown
        undo(name)
    assert os.listdir(f"{state}/cpuperf/cpuperf.session.old")
    os.mkdir(f"{name}.old")
    run(program, "-e", "task_clock", "--", "echo", "first", env=env, **how)
    err = run(program, "-e", "task_clock", "--", "echo", "second", env=env, **how).stderr
    mine = f"because ./cpuperf.session.old belongs to root. More: cpuperf_print {state}/cpuperf/cpuperf.session (--help)"
    assert mine in err, err  # without a name, the first one is shown
    assert run(printer, "--quiet", env=env, **how).stdout.startswith("echo first")
    os.mkdir(f"{folder}/other")
    err = run(program, "-e", "task_clock", "-o", "other", "--", "true", env=env, code=125, **how).stderr
    assert "other: error: is not the folder of a session of yours: it belongs to another user" in err, err
    os.mkdir(f"{folder}/closed")
    closed = {**how, "cwd": f"{folder}/closed"}
    err = run(program, "-e", "task_clock", "--", "true", env=env, **closed).stderr
    assert saved % " cannot be made: Permission denied" in err, err
    err = run(program, "-e", "task_clock", "-d0.01", "-n1", env=env, code=None, **closed).stderr
    assert "./cpuperf.session cannot be made: Permission denied: the files of this session are in" in err or \
        "none of the 1 event(s) can be measured" in err, err
    err = run(program, "-e", "task_clock", "--", "true", env={"XDG_STATE_HOME": None, "HOME": None}, **closed).stderr
    place, = re.findall(r"Saved in (/tmp/cpuperf-[0-9a-f]{16}), because .* More: cpuperf_print \1 ", err)
    st = os.stat(place)
    assert (st.st_mode, st.st_uid) == (0o40700, own_uid()), st
    shutil.rmtree(place)


def check_spec(folder):
    """A spec of one's own, with its own counts."""
    with open(f"{folder}/own.cpspec", "w", encoding="ascii") as f:
        f.write('{"config_name": "own", "events": ['
                '{"group_name": "software", "event_name": "page_faults"}]}')
    shown = measure(folder, "true", options=["--spec-file=own.cpspec"]).stderr
    assert "page_faults" in shown and "task_clock" not in shown, shown
    assert counted(folder).get("page_faults", 0) > 10 or not may_count_faults("page faults by a spec")


run_checks(globals(), everybody=True)
