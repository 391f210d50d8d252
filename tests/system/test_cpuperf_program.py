#!/usr/bin/env python3
"""The recording program as a person meets it: every option, every exit code, what does not work
here, output formats, terminals, pipes and signals. CPUPERF and CPUPERF_PRINT name the programs.
Uses software and misc events only; what must run as another user is skipped unless root.
"""
import collections
import csv
import fcntl
import io
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import kit
from kit import CPUPERF, PRINT, run_checks
import sampled

SOURCE_DIR = os.environ["SOURCE_DIR"]
NOBODY = 65534
SOFTWARE = [("software", "cpu_clock"), ("software", "page_faults"), ("software", "context_switches")]
MISC = [("misc", "cpu_user"), ("misc", "memory_used")]
HARDWARE = [("fixed", "instructions_retired"), ("arch", "llc_misses")]
HAS_PMU = any(name in ("cpu", "cpu_core") or name.startswith("armv8")
              for name in os.listdir("/sys/bus/event_source/devices"))


def run(*args, program=CPUPERF, **how):
    return kit.run(program, *args, **how)


def as_nobody(folder):
    """How to run cpuperf as nobody. folder: everybody may enter the one that it is in."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/",
            "program": sampled.for_everybody(CPUPERF, os.path.dirname(folder))}


def write_spec(folder, events, name="s.cpspec", event_keys=None, **keys):
    spec = {"num_iterations": 2, "output_path_prefix": f"{folder}/t",
            "session_result_spec_path": f"{folder}/s.cpsession",
            "events": [{"group_name": g, "event_name": e, **(event_keys or {})}
                       for g, e in events], **keys}
    with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return f"--spec-file={folder}/{name}"


def files(folder):
    return sorted(name for name in os.listdir(folder) if not name.endswith(".cpspec"))


def manifest(folder):
    with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
        return json.load(f)


def show(folder, how, code=0):
    return run(f"--session={folder}/s.cpsession", f"--output-format={how}", "--quiet",
               program=PRINT, code=code).stdout


# ---- options and exit codes

def check_all_errors_at_once(folder):
    """Names that do not exist are told with the errors of the text, in the order of the text."""
    spec = f"{folder}/bad.cpspec"
    with open(spec, "w", encoding="utf-8") as out:
        out.write("""{ "events": [
 { "group_name": "fixd", "event_name": "instructions_retired" },
 { "group_name": "software", "event_name": "cpu_clok", "flags": ["os", "so"] },
 { "group_name": "software", "event_name": "cpu_clock", "flags": ["os"] } ],
 "duratoin": 3 }
""")
    done = run(f"--spec-file={spec}", code=1)
    found = [line.split(":")[1:3] for line in done.stderr.splitlines() if line.startswith(spec)]
    assert found == [["2", "40"], ["3", "44"], ["3", "72"], ["4", "66"], ["5", "2"]], done.stderr


def check_labels(folder):
    """A label that is another column's heading, given or made, is refused, and that is said once."""
    for label, event in (("cpu_clock", "software:cpu_clock"), ("misc:page_faults", "misc:page_faults")):
        spec = f"{folder}/labels.cpspec"
        with open(spec, "w", encoding="utf-8") as out:
            json.dump({"events": [
                {"group_name": "software", "event_name": "cpu_clock"},
                {"group_name": "software", "event_name": "page_faults"},
                {"group_name": "misc", "event_name": "page_faults"},
                {"group_name": "software", "event_name": "task_clock", "label": label}]}, out)
        error = run(f"--spec-file={spec}", code=1).stderr
        assert error.count("error: ") == 1 and f"another column: {event}" in error, error


def check_choices_in_labels(folder):
    """Columns of one event are told apart by all that was picked; those that cannot be are refused."""
    spec = f"{folder}/choices.cpspec"
    rss = {"group_name": "misc", "event_name": "process_rss"}
    for choices, wanted in (([["0", "1"], ["0", "name:x"]], ["process_rss:0,1", "process_rss:0,name:x"]),
                            ([["all"], None], None)):
        with open(spec, "w", encoding="utf-8") as out:
            json.dump({"output_path_prefix": "", "session_result_spec_path": "",
                       "events": [{**rss, "pids": c} if c else rss for c in choices]}, out)
        done = run(f"--spec-file={spec}", "--duration=1ms", "--num-iterations=1",
                   "--output-format=csv", code=0 if wanted else 1)
        if wanted:
            labels = {r["label"] for r in csv.DictReader(io.StringIO(done.stdout))}
            assert labels == set(wanted), labels
        else:
            assert "have the heading process_rss:all" in done.stderr, done.stderr


def check_exit_codes(folder):
    spec = write_spec(folder, SOFTWARE)
    with open(f"{folder}/bad.cpspec", "w", encoding="utf-8") as out:
        out.write('{\n  "events": [{"group_name": "software", "event_name": "cpu_clok"}],\n}\n')
    no_folder = f"{folder}/none"
    run("--output=-", "diff", "/dev/null", "/dev/null")  # the program
    os.mkdir(f"{folder}/kept")
    with open(f"{folder}/kept/cpuperf.cpsession", "w", encoding="ascii"):
        pass
    for code, args, text in (
            (0, ["--help=all"], "Exit status: 0 done, 1 failed, 2 wrong usage"),
            (0, ["--help"], "All options: cpuperf --help=all"),
            (0, ["--version"], "cpuperf "),
            (0, ["--list-events", "--quiet"], "\nGroup software\n"),
            (0, ["--list-events=page", "--quiet"], "page_faults: "),
            (1, ["--list-events=nosuchthing"], "no event matches"),
            (0, ["--describe-event=software:cpu_clock"], "cpu_clock: "),
            (0, ["--describe-event", "software:cpu_clock"], "cpu_clock: "),
            (1, ["--describe-event=software:cpu_clok"], "Unknown event: software:cpu_clok"),
            (1, ["--describe-event=software:cpu_clok"], "did you mean software:cpu_clock"),
            (2, ["--describe-event=cpu_clock"], "group:name"),
            (2, ["--describe-event"], "--describe-event"),
            (0, ["--list-specs"], "basic.cpspec"),
            (1, [], "No events specified"),
            (1, ["--spec-file=nosuch.cpspec"], "nosuch.cpspec: no such spec"),
            (1, ["--spec-file=procesess"], "did you mean processes?"),
            (2, ["stat"], "to count: cpuperf -e page_faults"), (2, ["-a"], "the whole machine is measured"),
            (2, ["diff"], "--diff=OLD"), (2, ["diff", "old/cpuperf.cpsession", f"{folder}/kept"], "--diff=OLD"),
            (2, ["script"], "--report=records"), (2, ["script", "mine.cpspec"], "--report=records"),
            (2, ["script", "-i", "perf.data"], "--report=records"),
            (2, ["-e", "cs"], "did you mean software:context_switches?"),
            (2, ["-e", "cycles"], "did you mean fixed:unhalted_core_cycles?"),
            (1, [f"--spec-file={folder}/bad.cpspec"], "bad.cpspec:2:55: error: Unknown event"),
            (1, [f"--spec-file={folder}"], folder),
            (1, ["--spec-file="], "the name is empty"),
            (2, ["--list-specs", "--list-events"], "--list-specs, --list-events, --list-functions, --describe-event and measuring (--check-spec, --strict, --event, a command) are mutually exclusive"),
            (2, ["--list-events", spec, "--check-spec"], "--list-specs, --list-events, --list-functions, --describe-event and measuring (--check-spec, --strict, --event, a command) are mutually exclusive"),
            (2, ["--spec-fil=x"], "did you mean --spec-file"),
            (2, ["x"], "x"),
            (2, ["--help=x"], "--help=x: not all"),
            (2, [spec, "--output-format=xml"], "text csv ndjson"),
            (2, ["--list-specs", "--output-format=raw"], "text csv ndjson"),
            (2, [spec, "--verbose=x"], "--verbose=x"),
            (2, [spec, "--quiet=-1"], "--quiet=-1"),
            (2, [spec, "--duration=1y"], "--duration"),
            (2, [spec, "--duration=-1"], "--duration"),
            (2, [spec, "--num-iterations=-1"], "--num-iterations"),
            (2, [spec, "--buffer-size-in-mb=0"], "--buffer-size-in-mb"),
            (2, [spec, f"--config-name={'n' * 300}"], "--config-name"),
            (2, [spec, "--model-name=nosuch"], "--model-name: error: Unknown model: nosuch"),
            (1, [spec, f"--output-path-prefix={no_folder}/t"], no_folder),
            (1, [spec, f"--session-result-spec-path={no_folder}/s.cpsession"], "No such file"),
            (1, [spec, f"--log-file={no_folder}/log"], no_folder)):
        done = run(*args, code=code)
        assert text in done.stdout + done.stderr, (args, done.stdout, done.stderr)
        # results on stdout, messages on stderr: one or the other, but for --help
        assert bool(done.stdout) == (code == 0), args
        assert (code == 0) == (done.stderr == ""), (args, done.stderr)
    os.remove(f"{folder}/kept/cpuperf.cpsession")
    os.rmdir(f"{folder}/kept")
    assert files(folder) == []


def check_overrides(folder):
    spec = write_spec(folder, SOFTWARE, duration=1000, num_iterations=1000)
    run(spec, "--duration=0.02s", "--num-iterations", "3", "--config-name=c", "--buffer-size-in-mb=2",
        f"--output-path-prefix={folder}/other", f"--session-result-spec-path={folder}/o.cpsession")
    traces = os.sysconf("SC_NPROCESSORS_ONLN")
    assert files(folder) == sorted([f"other.{i}.{t}.cpuperf" for i in range(3)
                                    for t in range(traces)] + ["o.cpsession"])
    done = run(spec, "--duration=0", "--num-iterations=1", "--output-path-prefix=",
               "--session-result-spec-path=")
    assert len(files(folder)) == 3 * traces + 1
    assert done.stdout.count("Trace 0:") == 1


def check_search(folder):
    for name in "abc":
        os.mkdir(f"{folder}/{name}")
    os.mkdir(f"{folder}/c/mine.cpspec")  # a folder of that name hides no spec
    for where, config in (("a", "of_a"), ("b", "of_b")):
        write_spec(f"{folder}/{where}", SOFTWARE, "mine.cpspec", config_name=config)
    write_spec(f"{folder}/b", SOFTWARE, "basic.cpspec")
    env = {"CPUPERF_SPEC_PATH": f"{folder}/nosuch::{folder}/b:{folder}/a"}

    def found(name, cwd="c", environment=env):
        return run(f"--spec-file={name}", "--check-spec", cwd=f"{folder}/{cwd}",
                   env=environment).stdout.splitlines()[0]

    assert found("mine.cpspec").startswith(f"{folder}/b/mine.cpspec: valid")
    assert found("mine.cpspec", cwd="a").startswith("mine.cpspec: valid")  # here is nearest
    assert found("basic.cpspec").startswith(f"{folder}/b/basic.cpspec")
    without = {"CPUPERF_SPEC_PATH": None}
    assert "specs/basic.cpspec: valid" in found("basic.cpspec", environment=without)
    run("--spec-file=mine.cpspec", "--check-spec", cwd=f"{folder}/c", env=without, code=1)
    run("--spec-file=./mine.cpspec", "--check-spec", cwd=f"{folder}/c", env=env, code=1)
    with open(f"{folder}/c/script", "w", encoding="ascii") as out:
        out.write("#!/bin/sh\n")
    for name, program in (("mine", shutil.which("true")), ("script", f"{folder}/c/script")):  # a program stands for no spec
        write_spec(f"{folder}/a", SOFTWARE, f"{name}.cpspec")
        if name == "mine":
            shutil.copy(program, f"{folder}/c/{name}")
        shutil.copy(program, f"{folder}/b/{name}")
        done = run(f"--spec-file={name}", "--check-spec", cwd=f"{folder}/c", env={"CPUPERF_SPEC_PATH": f"{folder}/b:{folder}/a"})
        assert f"/{name}.cpspec: valid" in done.stdout, done.stdout
        assert f"{name} in the current folder is a program: the spec is {folder}" in done.stderr, done.stderr
        done = run(f"--spec-file={name}", "--check-spec", cwd=f"{folder}/c", env=without, code=1)
        assert "no such spec" in done.stderr and "is a program" in done.stderr, done.stderr
        run(f"--spec-file=./{name}", "--check-spec", cwd=f"{folder}/c", env=env, code=1)
    listed = run("--list-specs", env=env).stdout
    assert f"{folder}/b:\n" in listed and "  mine.cpspec\n" in listed and "basic-cpu.cpspec" in listed


def check_list_specs(folder):
    """Each spec with its first comment, in every format; from hostile files too."""
    comments = {"lines": ("\n// What it  \n//\tmeasures, in\n//   short.\n//\n// More.\n{}", "What it measures, in short."),
                "block": ("/*\n * One\n * two.\n */\n// three\n{}", "One two."),
                "one": ("/* One. */ {} // two", "One."),
                "hash": ("# One\n#  two.\n#\n{}", "One two."),
                "models": ("// models: all\n// No comment.\n{}", ""),
                "none": ("{\n// inside\n}", ""), "empty": ("", ""),
                "bell": ("// a\a\x1b[31mb\n{}", None),
                "long": ("// " + "word " * 2000 + "\n{}", None)}
    for name, (text, _) in comments.items():
        with open(f"{folder}/{name}.cpspec", "w", encoding="utf-8") as out:
            out.write(text)
    os.mkfifo(f"{folder}/pipe.cpspec")
    env = {"CPUPERF_SPEC_PATH": folder}
    rows = list(csv.DictReader(io.StringIO(run("--list-specs", "--output-format=csv", env=env).stdout)))
    found = {r["name"]: r["comment"] for r in rows if r["path"] == f"{folder}/{r['name']}"}
    assert len(found) == len(comments) + 1 and found["pipe.cpspec"] == "", found
    for name, (_, comment) in comments.items():
        assert comment is None or found[f"{name}.cpspec"] == comment, (name, found)
    assert all(c.isprintable() for text in found.values() for c in text), found
    assert found["long.cpspec"].startswith("word word") and len(found["long.cpspec"]) < 4200
    names = run("--list-specs", "--output-format=names", env=env).stdout.split("\n")
    assert names[:3] == ["bell.cpspec", "block.cpspec", "empty.cpspec"] and "basic.cpspec" in names, names
    objects = [json.loads(line) for line in run("--list-specs", "--output-format=ndjson", env=env).stdout.splitlines()]
    assert [(o["name"], o["comment"]) for o in objects] == [(r["name"], r["comment"]) for r in rows]
    text = run("--list-specs", env=env).stdout
    assert f"{folder}:\n" in text and re.search(r"^  basic.cpspec +A first look at a machine: ", text, re.M), text
    shown, _ = kit.on_terminal(80, CPUPERF, "--list-specs", **env)
    assert max(len(line) for line in shown.splitlines()[:60]) <= 80 and "\n  one.cpspec  " in shown.replace("\r", ""), shown


def check_check_spec(folder):
    works = write_spec(folder, SOFTWARE + MISC, "w.cpspec")
    text = run(works, "--check-spec", "--strict").stdout
    assert "5 of 5 event(s) work here." in text
    assert "PERF_COUNT_SW_PAGE_FAULTS" in text and "/proc/meminfo" in text
    spec = write_spec(folder, SOFTWARE + HARDWARE)
    text = run(spec, "--check-spec").stdout
    if not HAS_PMU:
        assert "3 of 5 event(s) work here." in text and "no hardware PMU" in text
        text = run(spec, "--check-spec", "--strict", code=1).stdout
        assert "3 of 5 event(s) work here." in text
    run(write_spec(folder, [("software", "nosuch")]), "--check-spec", code=1)
    assert files(folder) == []


# ---- what does not work

def check_no_pmu(folder):
    if HAS_PMU:
        print("skip: what a machine without a PMU says: there is one")
        return
    spec = write_spec(folder, SOFTWARE + HARDWARE)
    done = run(spec, "--duration=20ms", "--strict", code=1)
    assert "--strict" in done.stderr and done.stdout == "" and files(folder) == []
    done = run(spec, "--duration=20ms")
    row = next(line for line in done.stdout.splitlines() if line.startswith("Trace 0:"))
    assert "not supported" not in row and len(row.split("|")) == 1 + len(SOFTWARE), row
    (line,) = {line for line in done.stdout.splitlines() if line.startswith("not measured: ")}
    assert all(name in line for _, name in HARDWARE) and "no hardware PMU" in line, line
    assert done.stderr.count("no hardware PMU") == 1, done.stderr
    assert "hint: run on hardware" in done.stderr
    assert line in show(folder, "text").splitlines()
    states = {r["state"] for r in csv.DictReader(io.StringIO(show(folder, "csv")))
              if r["event"] == "llc_misses"}
    assert states == {"not supported"}, states
    shutil.rmtree(folder)
    os.mkdir(folder)
    done = run(write_spec(folder, HARDWARE), code=1)
    assert "none of the 2 event(s)" in done.stderr and done.stdout == ""
    assert files(folder) == []


def check_refused_flags(folder):
    """What the kernel would pass by without a word, before the start; --check-spec says the same."""
    for event, flag, text, hint in (
            ("cpu_clock", "precise", "this kind of event has no precise samples here",
             "needs Intel PEBS or AMD IBS"),
            ("cpu_clock", "guest", "only hardware events distinguish virtual machines",
             "omit guest"),
            ("cpu_clock", "last_branch", "only hardware events record branches", "Intel LBR"),
            ("page_faults", "no_idle", "only clock samples can omit idle CPUs",
             "sample software:cpu_clock")):
        spec = write_spec(folder, [("software", event)],
                          event_keys={"rate": 1000000, "flags": [flag]})
        for more in ([], ["--check-spec"]):
            error = run(spec, *more, code=1).stderr
            assert f"software:{event}: {text}" in error, (flag, more, error)
            assert re.search(rf"\n  hint: .*{hint}", error), (flag, more, error)
            assert files(folder) == [], (flag, more)
    run(write_spec(folder, [("software", "cpu_clock")],
                   event_keys={"rate": 1000000, "flags": ["callchain"]}), "--duration=20ms")
    assert "t.common.cpuperf" in files(folder)


def check_refused_timebase(folder):
    """A timebase that is not there is no column without numbers: there would be no samples."""
    if HAS_PMU:
        print("skip: a timebase that is not there: there is a PMU")
        return
    spec = write_spec(folder, HARDWARE[:1],
                      event_keys={"rate": 1000000, "flags": ["timebase"]})
    done = run(spec, code=1)
    assert "instructions_retired cannot be the timebase here: " in done.stderr, done.stderr
    assert "no hardware PMU" in done.stderr and "\n  hint: " in done.stderr, done.stderr
    assert done.stdout == "" and files(folder) == []


def check_no_permission(folder):
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        paranoid = int(f.read())
    if os.geteuid() != 0 or paranoid < 1:
        print("skip: no permission: not root, or everybody may measure")
        return
    # the first group's list of names alone would fill a message
    many = SOFTWARE + HARDWARE + [("software", n) for n in (
        "task_clock", "cpu_migrations", "minor_faults", "major_faults", "alignment_faults",
        "emulation_faults", "dummy", "bpf_output", "cgroup_switches")] + [
            ("arch", n) for n in ("unhalted_core_cycles", "instructions_retired",
                                  "llc_references", "branch_misses_retired")]
    spec = write_spec(folder, many + MISC)
    os.chown(folder, NOBODY, NOBODY)
    os.chmod(f"{folder}/s.cpspec", 0o644)
    nobody = as_nobody(folder)
    done = run(spec, "--duration=20ms", **nobody)
    assert f"perf_event_paranoid is {paranoid}" in done.stderr, done.stderr
    assert "CAP_PERFMON" in done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("not measured: "))
    assert line.count(", ") >= 11 and f"perf_event_paranoid is {paranoid}" in line, line
    assert "no permission" in run(spec, "--duration=20ms", "--output-format=csv", **nobody).stdout
    assert os.stat(f"{folder}/t.0.0.cpuperf").st_uid == NOBODY
    run(spec, "--strict", **nobody, code=1)


def check_pace_without_permission(folder):
    """Who may not open the clock at whose pace misc events are read still has them, without samples;
    with anything else at that pace the session is refused."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        paranoid = int(f.read())
    if os.geteuid() != 0 or paranoid < 1:
        print("skip: no permission: not root, or everybody may measure")
        return
    os.chown(folder, NOBODY, NOBODY)
    nobody = as_nobody(folder)
    files_of = (f"--output-path-prefix={folder}/t", f"--session-result-spec-path={folder}/s.cpsession")
    with open(f"{folder}/mixed.cpspec", "w", encoding="utf-8") as out:
        json.dump({"events": [{"group_name": "software", "event_name": "cpu_clock", "rate": 1000000,
                               "flags": ["timebase"]},
                              {"group_name": "software", "event_name": "page_faults"},
                              {"group_name": "misc", "event_name": "memory_used"}]}, out)
    os.chmod(f"{folder}/mixed.cpspec", 0o644)
    system = sampled.for_everybody(f"{SOURCE_DIR}/specs/system.cpspec", folder)
    for spec, more, code in ((f"{folder}/mixed.cpspec", [], 1), (system, ["--strict"], 1),
                             (system, [], 0), (system, ["--duration=5"], 0), (system, ["--duration=20"], 0)):
        begin = time.monotonic()
        done = run(f"--spec-file={spec}", *files_of, "--duration=1", "--num-iterations=1", *more,
                   code=code, **nobody)
        took = time.monotonic() - begin
        said = "without samples: " if code == 0 else "cannot be the timebase here: "
        assert said in done.stderr and f"perf_event_paranoid is {paranoid}" in done.stderr, done.stderr
        if code:
            continue
        shown = run(f"--session={folder}/s.cpsession", "--report=summary", "--each-iteration", program=PRINT).stdout
        ticks = int(re.search(r"Ticks: +(\d+) readings", shown).group(1))
        assert ticks <= 10 * took, (ticks, took, shown)
        if ticks >= 5:  # a busy machine misses some
            break
    assert ticks >= 5, shown
    assert "not measured: cpu_clock (measuring whole CPUs is not permitted" in shown, shown


def check_descriptor_limit(folder):
    def limit(hard, soft=None):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft or hard, hard))

    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    spec = write_spec(folder, SOFTWARE + MISC)
    done = run(spec, "--duration=20ms", preexec_fn=limit(22))
    assert "not measured: " in done.stdout and "ulimit -n" in done.stderr, (done.stdout, done.stderr)
    assert len(files(folder)) == 2 * cpus + 1  # misc is measured, and all is written
    show(folder, "csv")
    run(spec, "--duration=20ms", "--strict", preexec_fn=limit(22), code=1)
    done = run(spec, "--duration=20ms", preexec_fn=limit(1024, soft=10))  # the hard one is taken
    assert "limit" not in done.stdout + done.stderr


# ---- output

def check_formats(folder):
    reader = f"{SOURCE_DIR}/tests/system/read_trace.py"
    spec = write_spec(folder, SOFTWARE + MISC + HARDWARE, num_iterations=3)
    for how in ("csv", "ndjson"):
        mine = run(spec, "--duration=30ms", f"--output-format={how}").stdout
        assert mine == show(folder, how), how
    assert all(json.loads(line) for line in mine.splitlines())
    rows = list(csv.DictReader(io.StringIO(show(folder, "csv"))))
    traces = [f"{folder}/{name}" for name in files(folder) if name.endswith(".cpuperf")]
    counted = run(reader, "--counts", *traces, program=sys.executable).stdout
    raw = {(r["iteration"], r["trace"], r["event"]): r
           for r in csv.DictReader(io.StringIO(counted))}
    checked, sums = 0, collections.Counter()
    for row in rows:
        if not row["trace"]:  # a total over CPUs: the rows before it
            assert row["cpu"] == "all" and row["raw"] == \
                (str(sums[row["iteration"], row["event"]]) if row["value"] else ""), row
            continue
        sums[row["iteration"], row["event"]] += int(row["raw"] or 0)
        other = raw[row["iteration"], row["trace"], row["event"]]
        assert other["state"] == row["state"], (row, other)
        if row["state"] == "ok":
            assert other["raw_delta"] == row["raw"], (row, other)
            checked += 1
    assert checked == len(raw) - sum(r["state"] != "ok" for r in raw.values()) > 20


def check_sums(folder):
    """No count is lost between two iterations: the ends of one are the starts of the next."""
    reader = f"{SOURCE_DIR}/tests/system/read_trace.py"
    run(write_spec(folder, SOFTWARE, num_iterations=20), "--duration=10ms")
    for cpu in range(os.sysconf("SC_NPROCESSORS_ONLN")):
        traces = [f"{folder}/t.{i}.{cpu}.cpuperf" for i in range(20)]
        before, first, total = None, None, [0] * 3
        for line in run(reader, *traces, program=sys.executable).stdout.splitlines():
            frame = json.loads(line)
            if frame.get("frame") != "readings":
                continue
            now = [r["raw"] for r in frame["readings"]]
            if frame["boundary"] == 0:
                assert before in (None, now), "a count is lost between iterations"
                first = first or now
            else:
                total = [t + b - a for t, a, b in zip(total, before, now)]
            before = now
        assert total == [b - a for a, b in zip(first, before)]
        shown = [r for r in csv.DictReader(io.StringIO(show(folder, "csv")))
                 if r["cpu"] == str(cpu)]
        for k, (_, event) in enumerate(SOFTWARE):
            assert sum(int(r["raw"]) for r in shown if r["event"] == event) == total[k]


def in_terminal(columns, *args):
    """The program's output to a terminal of so many columns."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([CPUPERF, *args], stdout=child, stderr=subprocess.PIPE) as p:
        os.close(child)
        text = b""
        try:
            while part := os.read(parent, 65536):
                text += part
        except OSError:  # EIO: the other end is closed
            pass
        assert p.wait() == 0, p.stderr.read()
    os.close(parent)
    return re.sub(r"\033\[[\d;]*m", "", text.decode().replace("\r\n", "\n"))  # its width is that without colours


def check_terminal(folder):
    spec = write_spec(folder, SOFTWARE + MISC + [("software", "task_clock"),
                                                 ("misc", "memory_available")])
    wide = in_terminal(250, spec, "--duration=30ms", "--no-live")
    assert max(len(line) for line in wide.splitlines()) > 80
    for columns in (80, 40, 20):
        text = in_terminal(columns, spec, "--duration=30ms", "--no-live")
        table = text.split("\n\n2 iterations")[0]
        # a column that is wider than what is left stands alone, and is not cut
        if columns == 80:
            assert max(len(line) for line in text.splitlines()) <= columns, text
        for line in table.splitlines():
            if line.startswith("Trace"):
                for cell in line.split("|")[1:]:
                    assert re.fullmatch(r" *(\d{1,3}(,\d{3})*|[\d.]+%|[\d.,]+ [kMGT]?B|)", cell), line
        rows = [line for line in table.splitlines() if line.startswith("Trace 0:")]
        assert sum(line.count("|") for line in rows) == 2 * 7, text
    for how in ("--help", "--help=all"):
        assert max(len(line) for line in in_terminal(80, how).splitlines()) <= 80


def check_closed_stdout(folder):
    spec = write_spec(folder, SOFTWARE + MISC, num_iterations=100)
    with subprocess.Popen([CPUPERF, spec, "--duration=100ms"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        p.stdout.close()  # | head -1
        error = p.stderr.read()
        assert p.wait() == 1, error
    assert "standard output: Broken pipe" in error, error
    done = manifest(folder)["num_iterations"]
    assert 1 <= done < 100
    show(folder, "csv")  # all is whole, or it would fail
    assert len(files(folder)) == done * os.sysconf("SC_NPROCESSORS_ONLN") + 1
    for verb in (["--help"], ["--list-events"], ["--list-specs"], [spec, "--check-spec"]):
        end, to = os.pipe()
        os.close(end)  # the reader has read enough
        p = subprocess.run([CPUPERF, *verb], stdout=to, stderr=subprocess.PIPE, check=False, text=True)
        os.close(to)
        assert p.returncode == 0 and "pipe" not in p.stderr, (verb, p.stderr)
        with open("/dev/full", "w", encoding="ascii") as full:
            p = subprocess.run([CPUPERF, *verb], stdout=full, stderr=subprocess.PIPE, check=False)
            assert p.returncode == 1, verb
        p = subprocess.run(f'"{CPUPERF}" {" ".join(verb)} >&-', shell=True, check=False,
                           stderr=subprocess.DEVNULL)
        assert p.returncode == 1, verb


def says_nothing(*args):
    """On a busy machine iterations may be late, which is a warning; but not each time."""
    return any(run(*args).stderr == "" for _ in range(50))


def check_logs(folder):
    spec = write_spec(folder, SOFTWARE, num_iterations=1)
    args = [spec, "--duration=10ms", "--output-path-prefix=", "--session-result-spec-path="]
    loud = run(*args).stderr
    for text in ("cpuperf: session starting", "cpuperf: session ended",
                 "1 iteration(s) of 10 ms"):
        assert text in loud, loud
    assert "1 iteration(s) of 2 s" in run(
        spec, "--duration=2", "--output-path-prefix=", "--session-result-spec-path=").stderr
    assert says_nothing(*args, "--quiet")
    args[0] = write_spec(folder, SOFTWARE + [("fixed", "cycle_counter")], num_iterations=1)
    if not HAS_PMU:
        assert "warning" in run(*args, "--quiet").stderr
    assert run(*args, "--quiet=2").stderr == ""
    assert any(len(run(*args, "--verbose=9").stderr) >= len(run(*args).stderr) for _ in range(50))
    log = f"{folder}/log"
    for times in (1, 2):  # appended
        assert run(*args, f"--log-file={log}").stderr == ""
        with open(log, encoding="utf-8") as f:
            assert f.read().count("session starting") == times
    assert os.stat(log).st_mode & 0o777 == 0o600


def check_json_logs(folder):
    """Each line is an object of the same keys, with any locale; positions only with --verbose."""
    def lines(*command, **how):
        return [json.loads(line) for line in subprocess.run(
            command, check=False, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            **how).stderr.decode().splitlines()]

    def infos(messages):
        # which session is the last one of this user depends on what else runs
        return [m["message"].partition(": cpuperf_print")[0] for m in messages if m["level"] == "info"]
    args = [write_spec(folder, SOFTWARE, num_iterations=1), "--duration=10ms"]
    plain = lines(CPUPERF, *args, "--log-format=json")
    assert {"info"} <= {line["level"] for line in plain} <= {"info", "warning"}, plain
    assert "session starting" in {line["message"] for line in plain}, plain
    assert all(set(line) - {"hint"} == {"time", "level", "program", "message"} for line in plain)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["time"]) for line in plain)
    variables = {**os.environ, "CPUPERF_LOG_FORMAT": "json", "LC_ALL": "de_DE.UTF-8"}
    again = lines(CPUPERF, *args, env=variables)
    assert infos(again) == infos(plain), (again, plain)  # a busy machine adds warnings
    loud = lines(CPUPERF, *args, "--log-format=json", "--verbose")
    assert any(line.get("file", "").endswith(".c") and line["line"] > 0 for line in loud), loud
    for command in ([CPUPERF, "--log-format=json", b"--spec-file=\xff\"\n\\"],
                    [CPUPERF, "--spec-fil=x", "--log-format", "json"],
                    [PRINT, "--log-format=json", b"--session=\xff\"\n\\"]):
        error, = lines(*command)  # an error in an option, too
        assert error["level"] == "error" and error["program"] == os.path.basename(command[0]), error
        assert "\n" not in error["message"], error
    assert lines(CPUPERF, "--quack", env=variables)[0]["level"] == "error"
    assert b"not one of text json" in subprocess.run(
        [PRINT, "--log-format=xml"], check=False, stderr=subprocess.PIPE).stderr


# ---- ends

def start(folder, *args, events=SOFTWARE, **more):
    """A long session, when its first manifest is there and its handlers are set."""
    spec = write_spec(folder, events, num_iterations=100)
    p = subprocess.Popen([CPUPERF, spec, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, **more)
    while p.poll() is None and not os.path.exists(f"{folder}/s.cpsession"):
        time.sleep(0.01)
    return p


def check_signals(folder):
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        shutil.rmtree(folder)
        os.mkdir(folder)
        p = start(folder, "--duration=300ms")
        time.sleep(0.45)  # into the second iteration, or so
        p.send_signal(number)
        out, error = p.communicate(timeout=600)
        assert p.returncode == 0, (number, error)
        done = manifest(folder)["num_iterations"]
        assert 1 <= done < 100 and f"stopped after {done} of 100" in error, error
        assert out.count("Trace 0:") == done and f"\n{done} iteration" in out, out
        assert len(files(folder)) == done * cpus + 1
        rows = list(csv.DictReader(io.StringIO(show(folder, "csv"))))
        last = [r for r in rows if int(r["iteration"]) == done - 1 and r["event"] == "cpu_clock"]
        assert len(last) == cpus + 1 and all(int(r["value"]) > 0 for r in last)


def is_pending(p, number):
    """Whether the process has not looked at the signal yet."""
    with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
        return any(int(mask, 16) >> number - 1 & 1 for mask in re.findall(r"^(?:Sig|Shd)Pnd:\s*(\S+)", f.read(), re.M))


def check_second_signal(folder):
    """One that cannot say that it was stopped waits; the second signal ends it all the same."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while os.write(write, b" " * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(write, True)
    spec = write_spec(folder, SOFTWARE, num_iterations=3)
    p = subprocess.Popen([CPUPERF, spec, "--quiet", "--duration=1000s", "--output-path-prefix="],
                         stdout=subprocess.DEVNULL, stderr=write)
    os.close(write)
    while not os.path.exists(f"{folder}/s.cpsession"):  # it measures
        assert p.poll() is None
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    while is_pending(p, signal.SIGINT):  # else both are one
        time.sleep(0.01)
    time.sleep(0.3)
    assert p.poll() is None
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=600) == -signal.SIGINT
    os.close(read)


def check_nohup(folder):
    p = start(folder, "--duration=50ms", "--num-iterations=8",
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    p.send_signal(signal.SIGHUP)
    out, error = p.communicate(timeout=600)
    assert p.returncode == 0 and "stopped after" not in error, error
    assert out.count("Trace 0:") == 8


def check_stopped(folder):
    """SIGSTOP and SIGCONT: no burst of iterations afterwards, and it is said."""
    p = start(folder, "--duration=100ms", "--num-iterations=40")
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.6)
    p.send_signal(signal.SIGCONT)
    _, error = p.communicate(timeout=600)
    assert p.returncode == 0
    assert re.search(r"iteration \d+ was held up: it took \d+ ms instead of \d+", error)
    assert "was held up: it took" in run(f"--session={folder}/s.cpsession", program=PRINT).stdout


def check_two_sessions(folder):
    """A shorter session after a longer one of the same name: the rest is named, never mixed in."""
    run(write_spec(folder, SOFTWARE, num_iterations=4), "--duration=10ms")
    done = run(write_spec(folder, SOFTWARE, num_iterations=2), "--duration=10ms",
               "--output-format=csv")
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    assert len(files(folder)) == 4 * cpus + 1
    shown = run(f"--session={folder}/s.cpsession", "--output-format=csv", program=PRINT)
    assert shown.stdout == done.stdout
    assert re.search(rf"t\.2\.0\.cpuperf: warning: not of this session.* {2 * cpus - 1} more files? "
                     rf"up to t\.3\.{cpus - 1}\.cpuperf", shown.stderr), shown.stderr
    # one of the old ones in the place of a new one is not taken for it
    os.rename(f"{folder}/t.2.0.cpuperf", f"{folder}/t.1.0.cpuperf")
    shown = run(f"--session={folder}/s.cpsession", "--output-format=csv", program=PRINT, code=1)
    assert "t.1.0.cpuperf" in shown.stderr
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert not [r for r in rows if (r["iteration"], r["trace"]) == ("1", "0")]
    assert [r for r in rows if r["iteration"] == "0"]


OF_WHOLE_CPUS = {f"check_{name}" for name in (
    "check_spec", "descriptor_limit", "exit_codes", "formats", "json_logs", "logs", "no_pmu", "nohup", "overrides", "refused_flags",
    "second_signal", "signals", "stopped", "sums", "terminal", "two_sessions")}
run_checks({name: value for name, value in globals().items() if name not in OF_WHOLE_CPUS or kit.may_sample(name)}, everybody=True)
