#!/usr/bin/env python3
"""cpuperf without a spec file: events and their sampling by options, for a command, for the machine and
on top of a spec. Software events only.
"""
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from kit import CPUPERF, may_count_faults, may_sample, output, PRINT, run, run_checks

FOLDER = "cpuperf.session"


def measure(folder, *args, **how):
    return run(CPUPERF, *args, cwd=folder, **how)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rows(folder, session=FOLDER):
    """{event: its rows of the summary, as dicts}"""
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", session, cwd=folder)
    head, *lines = [line.split(",") for line in text.splitlines()]
    out = {}
    for line in lines:
        row = dict(zip(head, line))
        out.setdefault(f"{row['group']}:{row['event']}", []).append(row)
    return out


def planned(folder, *args):
    """{event: what --check-spec says of its samples}"""
    text = measure(folder, "--check-spec", *args).stdout
    out, name = {}, None
    for line in text.splitlines():
        if line and not line.startswith(" ") and ":" in line:
            name = line.split(" ")[0]
        elif line.startswith(("  sampled", "  a sample")):
            out[name] = out.get(name, "") + line
        elif line.startswith("  opened"):
            out.setdefault(name, "")
    return out


def check_command(folder):
    if not may_count_faults("page faults and switches of a command"):
        return
    done = measure(folder, "-e", "page_faults,context_switches", "--quiet", "--", "sh", "-c", "exit 3", code=3)
    assert set(rows(folder)) == {"software:page_faults", "software:context_switches"}, rows(folder)
    assert int(rows(folder)["software:page_faults"][-1]["value"]) > 10
    assert "cpuperf: events:" not in done.stderr, done.stderr
    done = measure(folder, "-epage_faults", "--event=software:task_clock", "--", "true")
    assert done.stderr.startswith("cpuperf: events: software:page_faults\n"), done.stderr
    assert set(rows(folder)) == {"software:page_faults", "software:task_clock"}, rows(folder)


def check_counted_and_sampled(folder):
    """An event that is named twice, in two ways, has both: each run below reads both from its trace."""
    for events in ("page_faults,page_faults@5", "page_faults@5,page_faults"):
        saved = f"{folder}/{len(os.listdir(folder))}.cpspec"
        measure(folder, "-e", events, f"--save-spec={saved}", "--", "true")
        text = open(saved, encoding="utf-8").read()
        assert text.count('"rate":5') == 1, text


def check_frequency_of_waits(folder):
    """A frequency is the clock's: it says so where a wait is only counted."""
    line = "--frequency samples software:cpu_clock; off_cpu_time is counted\n"
    for events, is_said in (("off_cpu_time", True), ("off_cpu_time@1000000", False), ("wakeups,page_faults", False)):
        err = measure(folder, "-F", "99", "-e", events, "--", "true", code=None).stderr
        assert (line in err) == is_said and ("--event=off_cpu_time@1000000\n" in err) == is_said, err


def check_command_samples(folder):
    """Each page fault is sampled, with its callers; the shipped spec keeps its events beside -F."""
    if not may_count_faults("samples of page faults"):
        return
    spin = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done"]
    measure(folder, "-e", "page_faults@1", "-g", "--", *spin)
    row = rows(folder)["software:page_faults"][-1]
    assert int(row["samples"]) > 10 and row["residual"] == "0", row
    assert "libc" in output(PRINT, "--quiet", "--report=tree", FOLDER, cwd=folder)
    measure(folder, "-F", "499", "--", *spin)
    measured = rows(folder)
    assert "software:context_switches" in measured and "fixed:instructions_retired" in measured
    assert planned(folder, "-F", "499", "--", "true")["software:cpu_clock"].startswith("  sampled    499 times")


def check_line_to_type(folder):
    """The line that is printed after a command names its folder as a shell reads it back; what a terminal would
    obey is replaced."""
    for name, shown in (("plain", "plain"), ("it's\tin two", "it's?in two"), ("a\n\033[31m$x", "a??[31m$x")):
        err = measure(folder, "-e", "task_clock", "-o", name, "--", "true").stderr
        last = next((line for line in err.split("\n") if line.startswith("Saved in ")), "")
        assert last and "\033" not in err and "\t" not in err, repr(err)
        line = last.split(" More: ")[1].replace(" (--help)", "")
        assert shlex.split(line)[:2] == ["cpuperf_print", shown], last


def check_machine(folder):
    done = measure(folder, "-e", "software:page_faults", "-d", "0.01", "-n", "3", "--output-format=csv")
    assert done.stdout.count(",all,") >= 3, done.stdout
    assert {r["iteration"] for r in rows(folder)["software:page_faults"]} == {"0", "1", "2"}
    measure(folder, "-e", "memory_used", "-d10ms", "-o", "named")
    assert "misc:memory_used" in rows(folder, "named")
    assert sorted(os.listdir(folder)) == [FOLDER, "named"], os.listdir(folder)
    measure(folder, "-F", "99", "-d", "0.05")
    assert os.path.isdir(f"{folder}/{FOLDER}.old") and "samples" in rows(folder)["software:cpu_clock"][-1]


def check_plan(folder):
    """What the options mean, without measuring."""
    chain, stack = "the callchain", "bytes of its stack"
    for args, event, has, misses in (
            (["-e", "page_faults@99"], "software:page_faults", ["each time it has counted 99", "program counter"],
             [chain, stack]),
            (["-e", "cpu_clock@99Hz", "-g=fp"], "software:cpu_clock", ["99 times", chain], [stack]),
            (["-e", "page_faults", "-g"], "software:cpu_clock", ["997 times", chain, "32,768 " + stack], []),
            (["-ghybrid"], "software:cpu_clock", ["997 times", chain, "1,024 " + stack], []),
            (["-c", "2000000"], "software:cpu_clock", ["500 times"], [chain]),
            (["-e", "cpu_clock@99Hz", "-F", "499"], "software:cpu_clock", ["  99 times"], ["499"]),
            (["--spec-file=profile.cpspec", "-F", "99"], "software:cpu_clock", ["  99 times", chain], [stack]),
            (["--spec-file=profile.cpspec", "-e", "cpu_clock@49Hz"], "software:cpu_clock", ["  49 times", chain],
             []),
            (["--spec-file=profile.cpspec", "-e", "page_faults"], "software:page_faults", [], ["a sample"]),
            (["--spec-file=profile.cpspec", "-e", "page_faults"], "software:cpu_clock", ["1,000,000 ns"], [])):
        plan = planned(folder, *args)
        if event == "software:cpu_clock" and "--spec-file" not in args[0] and "fixed:unhalted_core_cycles" in plan:
            event = "fixed:unhalted_core_cycles"
        assert all(text in plan[event] for text in has), (args, plan)
        assert not any(text in plan[event] for text in misses), (args, plan)
    assert list(planned(folder, "--spec-file=profile.cpspec", "-e", "cpu_clock")) == ["software:cpu_clock"]


def check_saved_spec(folder):
    """What --save-spec writes is valid, and means what the options did."""
    options = ["-e", "page_faults@99,task_clock", "-F", "499", "-g", "-d", "0.125", "--buffer-size-in-mb=1"]
    saved = f"{folder}/saved.cpspec"

    def plan(*args):
        first, rest = measure(folder, "--check-spec", *args).stdout.split("\n", 1)
        return first.split(": ", 1)[1], rest

    assert plan(*options, f"--save-spec={saved}") == plan(f"--spec-file={saved}")
    assert os.stat(saved).st_mode & 0o777 == 0o600
    assert "0.125" in read(saved) and os.listdir(folder) == ["saved.cpspec"]
    # a command: it lasts until the end again; without --check-spec it is measured, too
    measure(folder, "-e", "task_clock", f"--save-spec={saved}", "--", "sh", "-c", "touch ran")
    assert os.path.exists(f"{folder}/ran") and "duration" not in read(saved), read(saved)
    assert FOLDER not in read(saved)
    measure(folder, f"--spec-file={saved}", "--", "sleep", "0.01")
    assert set(rows(folder)) == {"software:task_clock"}
    measure(folder, "--spec-file=basic.cpspec", f"--save-spec={saved}", "--check-spec", "-n", "1")
    assert '"num_iterations": 1' in read(saved) and '"metrics"' not in read(saved)


def check_saved_spec_refused(folder):
    """Nothing but a file of the caller's is replaced, and nothing is written of a spec that is wrong."""
    os.mkdir(f"{folder}/sub")
    os.symlink("sub", f"{folder}/link")
    with open(f"{folder}/prog.c", "w", encoding="ascii") as f:
        f.write("int main;")
    for name in ("sub", "link", "prog.c", "none/x.cpspec", "/dev/null", ""):
        done = measure(folder, "-e", "page_faults", f"--save-spec={name}", "--", "touch", "ran", code=125)
        assert done.stderr.count("error: ") == 1, (name, done.stderr)
    measure(folder, "--check-spec", "-e", "no_such_event", "--save-spec=new.cpspec", code=2)
    measure(folder, "--check-spec", "-e", "page_faults", "-F9999999", "--save-spec=new.cpspec", code=1)
    assert sorted(os.listdir(folder)) == ["link", "prog.c", "sub"], os.listdir(folder)
    assert read(f"{folder}/prog.c") == "int main;"
    if os.geteuid() == 0:
        with open(f"{folder}/theirs", "w", encoding="ascii") as f:
            f.write("theirs")
        os.chown(f"{folder}/theirs", 65534, 65534)
        measure(folder, "--check-spec", "-e", "page_faults", "--save-spec=theirs", code=1)
        assert read(f"{folder}/theirs") == "theirs"


def check_spec_names(folder):
    """Standard input; a name without the extension, after all that have exactly the name."""
    spec = '{"config_name": "%s", "events": [{"group_name": "software", "event_name": "page_faults"}]}'

    def config(name, **how):
        out = measure(folder, f"--spec-file={name}", "--save-spec=saved.cpspec", "--check-spec", **how)
        return out.stdout.split(": ")[0], json.loads(read(f"{folder}/saved.cpspec")).get("config_name")

    assert config("-", input=spec % "piped") == ("standard input", "piped")
    assert config("program")[1] == config("program.cpspec")[1] == "program"
    with open(f"{folder}/program.cpspec", "w", encoding="ascii") as f:
        f.write(spec % "here")
    assert config("program") == ("program.cpspec", "here")
    assert config("./program") == ("./program.cpspec", "here")
    os.mkdir(f"{folder}/specs")
    with open(f"{folder}/specs/program", "w", encoding="ascii") as f:
        f.write(spec % "exact")
    path = {"CPUPERF_SPEC_PATH": f"{folder}/specs"}
    assert config("program", env=path) == (f"{folder}/specs/program", "exact")
    assert config("specs/program")[1] == "exact"
    os.chmod(f"{folder}/program.cpspec", 0o666)
    done = measure(folder, "--spec-file=program", "--check-spec", code=1)
    assert "program.cpspec: error: not read from the current folder: every user can write" in done.stderr
    for text, error in (("{", "standard input:1:2: error"), ("", "standard input"),
                        ("[" + " " * (4 << 20), "standard input: error")):
        done = measure(folder, "--spec-file=-", input=text, code=1)
        assert done.stderr.startswith(error), done.stderr
    for name in ("./none", "none"):
        done = measure(folder, f"--spec-file={name}", code=1)
        assert done.stderr.count("error: ") == 1 and name in done.stderr, done.stderr


def check_flush_interval(folder):
    """Samples are written at this pace, of a process that has too few to fill what they wait in; at the end, all of them."""
    def switches():
        with open(f"/proc/{sleeper.pid}/status", encoding="ascii") as f:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M)[1])

    def grows(interval):
        """Whether the traces grow before the session ends."""
        args = [CPUPERF, "-e", "context_switches@1", f"--flush-interval={interval}", "-d600", f"--pid={sleeper.pid}", "-o", interval]
        with subprocess.Popen(args, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
            traces = []
            while not traces:
                traces = glob.glob(f"{folder}/{interval}/cpuperf.0.*.cpuperf")
                time.sleep(0.05)
            before, enough = sum(os.path.getsize(t) for t in traces), switches() + 20
            for _ in range(25 if interval == "3600" else 6000):
                time.sleep(0.05)
                grown = sum(os.path.getsize(t) for t in traces) > before
                if grown:
                    break
            while switches() < enough:
                time.sleep(0.05)
            p.send_signal(signal.SIGINT)
        assert int(rows(folder, interval)["software:context_switches"][-1]["samples"]) > 10
        return grown

    with subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.005)"]) as sleeper:
        try:
            assert grows("10ms")
            assert any(not grows("3600") for _ in range(3)), "the start of a trace may be seen as growth"
        finally:
            sleeper.kill()


def check_sampling_key(folder):
    """Defaults of sampled events, and what options make of these."""
    with open(f"{folder}/own.cpspec", "w", encoding="ascii") as f:
        f.write("""{ "sampling": { "frequency": 499, "flags": [ "callchain" ] }, "events": [
            { "group_name": "software", "event_name": "cpu_clock", "sampled": true },
            { "group_name": "software", "event_name": "page_faults", "rate": 10 },
            { "group_name": "software", "event_name": "task_clock" } ] }""")
    plan = planned(folder, "--spec-file=own")
    assert "499 times" in plan["software:cpu_clock"] and "callchain" in plan["software:cpu_clock"], plan
    assert "counted 10" in plan["software:page_faults"] and "callchain" in plan["software:page_faults"], plan
    assert not plan["software:task_clock"], plan
    measure(folder, "--spec-file=own", "-F99", "-g=dwarf", "--save-spec=saved.cpspec", "--check-spec")
    assert planned(folder, "--spec-file=saved") == planned(folder, "--spec-file=own", "-F99", "-gdwarf")
    measure(folder, "--spec-file=own", "--", "sh", "-c", "i=0; while [ $i -lt 9999 ]; do i=$((i + 1)); done")
    if may_count_faults("samples of page faults"):
        assert int(rows(folder)["software:page_faults"][-1]["samples"]) > 0


def check_variables(folder):
    """Any option from the environment; the command line first, then it, then the spec."""
    env = {"CPUPERF_SPEC_FILE": "basic", "CPUPERF_DURATION": "0.25", "CPUPERF_NUM_ITERATIONS": "3",
           "CPUPERF_QUIET": "1"}
    assert ", 3 iteration(s) of 250 ms," in measure(folder, "--check-spec", env=env).stdout
    assert ", 3 iteration(s) of 1 s," in measure(folder, "--check-spec", "-d1", env=env).stdout
    env = {"CPUPERF_EVENT": "page_faults", "CPUPERF_CALLGRAPH": "fp"}
    plan = measure(folder, "--check-spec", env=env).stdout
    assert "2 event(s)" in plan and "callchain" in plan and "page_faults" in plan, plan
    assert "page_faults" not in measure(folder, "-e", "task_clock", "--check-spec", env=env).stdout
    measure(folder, "--list-events=cpu_clock", env={**env, "CPUPERF_STRICT": "1"})
    measure(folder, "--list-specs", env={"CPUPERF_OUTPUT_FORMAT": "csv", "CPUPERF_EVENT": "x"})
    env = {"CPUPERF_PID": "1", "CPUPERF_COMM": "x", "CPUPERF_CGROUP": "/none"}
    for name, value in env.items():
        measure(folder, "--list-events=cpu_clock", env={name: value})
        done = measure(folder, "-e", "page_faults", "--", "true", env={name: value})
        assert "true: exit status 0" in done.stderr, done.stderr
    done = measure(folder, "--pid=99999999", "-d0.1", env={"CPUPERF_CGROUP": "/"}, code=1)
    assert "there is no process 99999999" in done.stderr, done.stderr
    done = measure(folder, "-d0.1", env=env, code=2)
    assert done.stderr.count("error: ") == 1 and "--cgroup and the variables of --pid" in done.stderr, done.stderr
    shutil.rmtree(f"{folder}/{FOLDER}")
    shutil.rmtree(f"{folder}/{FOLDER}.old")
    env = {"CPUPERF_OUTPUT": "elsewhere"}
    measure(folder, "-e", "page_faults", "--", "true", env=env)
    measure(folder, "-e", "page_faults", "--output-path-prefix=x", "--session-result-spec-path=", "--", "true", env=env)
    assert os.listdir(f"{folder}/elsewhere") and FOLDER not in os.listdir(folder)
    assert any(name.startswith("x.0.") for name in os.listdir(folder)), os.listdir(folder)
    for name, value, text in (("DURATION", "x", "error: duration must be"),
                              ("STRICT", "yes", 'error: must be 0 or 1, not "yes"'),
                              ("CALLGRAPH", "lbr", "error: --callgraph=lbr: not one of"),
                              ("EVENT", "page_fualts", ":1:1: error: Unknown event"),
                              ("PERIOD", "x", "error: rate must be"),
                              ("MODEL_NAME", "nope", "error: Unknown model: nope")):
        done = measure(folder, "-epage_faults" if name != "EVENT" else "--check-spec", code=2,
                       env={f"CPUPERF_{name}": value})
        assert f"CPUPERF_{name}" in done.stderr and text in done.stderr, done.stderr
    done = measure(folder, code=1, env={"CPUPERF_SPEC_FILE": "nope"})
    assert done.stderr.startswith("CPUPERF_SPEC_FILE: error: nope: no such spec"), done.stderr


def check_variables_of_others(folder):
    """A set-user-ID program does not run, whatever they are; test_rights has file capabilities."""
    if os.geteuid() != 0:
        print("skip: variables of a setuid program: making one needs root")
        return
    copy = shutil.copy(CPUPERF, f"{folder}/copy")
    for mode, code, text in ((0o755, 2, "CPUPERF_STRICT"), (0o4755, 125, "set-user-ID")):
        os.chmod(copy, mode)
        done = run(copy, "--version", code=code, env={"CPUPERF_STRICT": "yes"}, user=65534, group=65534,
                   extra_groups=[])
        assert text in done.stderr, done.stderr


def check_mistakes(folder):
    """One error for each, which names the place in the argument and what was meant."""
    for args, *texts in (
            (["-e", "task_clock,page_fualts"], "--event:1:12: error: Unknown event: page_fualts",
             "did you mean software:page_faults?"),
            (["-e", "sofware:page_faults"], "--event:1:1: error: Unknown event", "software:page_faults"),
            (["-e", "page_faults@fast"], '--event:1:13: error: "fast" is neither a rate nor a frequency', "@997Hz"),
            (["-e", "page_faults,"], "--event:1:13: error: the name of an event is missing"),
            (["-e", ""], "--event:1:1: error: the name of an event is missing"),
            (["-e", "memory_used@99Hz"], "--event:1:1: error: memory_used: a misc event cannot be sampled"),
            (["-e", "page_faults,software:page_faults"], "--event:1:13: error: software:page_faults appears twice",
             "hint: remove one, or sample one of them: software:page_faults@RATE"),
            (["-e", "page_faults@7", "-e", "page_faults@7"], "--event:1:1: error: page_faults appears twice at the same rate",
             "hint: remove one, or count one of them: page_faults"),
            (["-e", "memory_used,memory_used"], "--event:1:13: error: memory_used appears twice\n  hint: remove one\n"),
            (["-e", "latency:irq,latency:irq"], "--event:1:13: error: latency:irq appears twice\n  hint: remove one\n"),
            (["-e", "wakeups,wakeups"], "--event:1:9: error: wakeups appears twice\n  hint: remove one\n"),
            (["-F", "0"], "--frequency: error: frequency must be an integer from 1 to"),
            (["-c", "x"], "--period: error: rate must be an integer"),
            (["-F", "99", "-c", "99"], "--frequency and --period are mutually exclusive"),
            (["-g=lbr"], "--callgraph=lbr: not one of whole fp dwarf hybrid aggregate"),
            (["-e"], "--event needs a value"),
            (["--list-events", "-e", "page_faults"], "mutually exclusive")):
        done = measure(folder, *args, code=2)
        assert done.stderr.count("error: ") == 1 and all(t in done.stderr for t in texts), (args, done.stderr)
    done = measure(folder, "-e", "off_cpu_time@10000,off_cpu_time@1000000", code=1)
    assert "error: sched:off_cpu_time can be sampled at one rate only\n  hint: remove one, or count it" in done.stderr
    done = measure(folder, "-e", "no,such@x", code=2)
    assert done.stderr.count("error: ") == 2, done.stderr
    done = measure(folder, "-e", "no", "--", "touch", "ran", code=125)
    assert os.listdir(folder) == [], os.listdir(folder)


if not may_sample("the whole machine, and the pace of writing"):
    del check_machine, check_flush_interval
run_checks(globals(), everybody=True)
