#!/usr/bin/env python3
"""Regions of programs that run already: found by the ELF notes of their objects, whatever they are linked as and
wherever they run, and off again afterwards. CPUPERF and CPUPERF_PRINT name the programs.
"""
import contextlib
import csv
import io
import os
import signal
import subprocess
import time

import sampled
from kit import CPUPERF, output, PRINT, run, run_checks
from marks import LIBRARY
from patience import PATIENCE_S

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = f"{os.environ['SOURCE_DIR']}/include"
RATE = ("-e", "cpu_clock@499Hz")


def build(folder, *more, source="regions_running.c", name="running", include=INCLUDE):
    program = os.path.join(folder, name)
    run("cc", "-O1", "-g", f"-I{include}", *more, "-pthread", "-o", program, f"{HERE}/{source}", "-ldl")
    return program


@contextlib.contextmanager
def running(*command, **how):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how) as p:
        assert p.stdout.readline() == "ready\n"
        try:
            yield p
        finally:
            p.kill()


def attach(folder, pid, *options, code=0, duration="1s"):
    return run(CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", f"--pid={pid}", f"--duration={duration}", *options,
               cwd=folder, code=code)


def attach_working(folder, pid):
    """The longer it takes, the surer there is some work: beside others a second has little."""
    for seconds in (1, 4, 16):  # what it did before it was set is no region's, but a part that gets less
        attach(folder, pid, duration=f"{seconds}s")
        if is_work(regions(folder).get("work")):
            break
    expect_work(folder)


def wait_until_set(recorder, pid):
    """Until the program writes marks."""
    while True:
        with open(f"/proc/{pid}/maps", encoding="ascii") as f:
            if "cpuperf-marks" in f.read():
                return
        assert recorder.poll() is None
        time.sleep(0.01)


@contextlib.contextmanager
def recording(folder, pid):
    """A session in which the program writes marks from the beginning of the block to its end."""
    with subprocess.Popen([CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", f"--pid={pid}"], cwd=folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        wait_until_set(recorder, pid)
        yield recorder
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait() == 0


def regions(folder, *options, **how):
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=regions", "--output-format=csv", *options, **how)
    return {row["path"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}


def has_calls(folder, **more_than):
    """Of a session that is being recorded."""
    found = regions(folder, code=None)
    return all(name in found and int(found[name]["calls"]) > least for name, least in more_than.items())


def expect_work(folder, *options):
    """Both threads are in the region whenever they run: so are their samples, if thread ids are right."""
    row = regions(folder, *options)["work"]
    assert is_work(row), row


def is_work(row):
    return row and float(row["cpu_clock_high"] or 0) > 90 and int(row["calls"]) > 20


def leftovers(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        return f.read().count("cpuperf-marks") + len(os.listdir(f"/proc/{pid}/fd")) - 3


def wait_until_off(p):
    """The next mark of each thread ends it."""
    end = time.monotonic() + PATIENCE_S
    while leftovers(p.pid):
        assert time.monotonic() < end, leftovers(p.pid)
        time.sleep(0.01)


def check_kinds_of_programs(folder):
    for flags, times in ((["-fPIE", "-pie", "-s"], 2), (["-no-pie", "-flto"], 1), (["-static"], 1),
                         (["-ffunction-sections", "-Wl,--gc-sections"], 1)):
        with running(build(folder, *flags)) as p:
            for _ in range(times): # each time another recorder
                attach_working(folder, p.pid)
            wait_until_off(p)


def check_objects_loaded_later(folder):
    objects = build(folder, "-shared", "-fPIC", '-DNAME="late"', source="regions_object.c", name="late.so")
    with running(build(folder), f"{folder}/go", objects) as p:
        with recording(folder, p.pid):
            with open(f"{folder}/go", "w", encoding="ascii"):
                pass
            while "late.so" not in open(f"/proc/{p.pid}/maps", encoding="ascii").read():
                time.sleep(0.01)
            while not has_calls(folder, late=10, work=20):  # it is found some time after that
                time.sleep(0.1)
        expect_work(folder)
        assert int(regions(folder)["late"]["calls"]) > 10, regions(folder)


def check_exec(folder):
    with running(build(folder), f"{folder}/exec") as p:
        with recording(folder, p.pid) as recorder:
            sampled.wait_for_cpu_time([p], sampled.user_seconds(p.pid) + 0.3)
            with open(f"{folder}/exec", "w", encoding="ascii"):
                pass
            while f"{folder}/exec" in open(f"/proc/{p.pid}/cmdline", encoding="ascii").read():
                time.sleep(0.01)
            wait_until_set(recorder, p.pid)
            sampled.wait_for_cpu_time([p], sampled.user_seconds(p.pid) + 0.3)
        # the threads of the new image have other ids than those before
        text = output(PRINT, f"{folder}/s", "--report=regions")
        assert "Regions of 4 threads" in text or "Regions of 5 threads" in text, text


def namespace(*flags):
    """None: this user may not make it."""
    command = ["unshare", *flags]
    return command if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 else None


def inner_pid(p):
    while True:
        with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
            words = f.read().split()
        if words:
            return int(words[0])
        time.sleep(0.01)


STEPS = r"""
#include <cpuperf/mark.h>
#include <stdio.h>
static int step(void)
{
	int c = getchar();
	if (c == 'w') {
		CPUPERF_BEGIN("work");
		CPUPERF_END;
	} else if (c == 'b') {
		CPUPERF_BEGIN("plain");
	} else if (c == 'e') {
		CPUPERF_END;
	} else if (c == 'B') {
		CPUPERF_REGION("block");
		while (step() != 'E')
			;
	}
	if (c != 'B') {
		putchar(c);
		fflush(stdout);
	}
	return c;
}
int main(void)
{
	puts("ready");
	fflush(stdout);
	while (step() != EOF)
		;
}
"""


STEPS_IN_PYTHON = r"""
import cpuperf, sys
def step():
    c = sys.stdin.read(1)
    if c == "w":
        with cpuperf.region("work"):
            pass
    elif c == "b":
        cpuperf.begin("plain")
    elif c == "e":
        cpuperf.end()
    elif c == "B":
        with cpuperf.region("block"):
            while step() != "E":
                pass
    if c != "B":
        print(c, end="", flush=True)
    return c
print("ready", flush=True)
while step():
    pass
"""


def check_begun_under_another_recorder(folder):
    with open(f"{folder}/steps.c", "w", encoding="ascii") as f:
        f.write(STEPS)
    run("cc", f"-I{INCLUDE}", "-o", f"{folder}/steps", f"{folder}/steps.c")
    begin_under_another(folder, f"{folder}/steps")


def check_begun_in_python_under_another_recorder(folder):
    paths = {"PYTHONPATH": f"{os.environ['SOURCE_DIR']}/bindings/python", "CPUPERF_MARKS_LIBRARY": LIBRARY}
    begin_under_another(folder, "/usr/bin/python3", "-c", STEPS_IN_PYTHON, env={**os.environ, **paths})


def begin_under_another(folder, *program, **how):
    with running(*program, stdin=subprocess.PIPE, **how) as p:
        def steps(text):
            for c in text:
                p.stdin.write(c + ("w" if c == "B" else ""))
                p.stdin.flush()
                assert p.stdout.read(1) == ("w" if c == "B" else c)

        def record(text):
            with subprocess.Popen([CPUPERF, "--regions", "-e", "page_faults", "-o", f"{folder}/s", f"--pid={p.pid}"],
                                  cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
                while "cpuperf-marks" not in open(f"/proc/{p.pid}/maps", encoding="ascii").read():
                    steps("w")
                steps(text)
                recorder.send_signal(signal.SIGINT)
            while leftovers(p.pid):
                steps("w")
            text = output(PRINT, f"{folder}/s", "--report=regions")
            return set(regions(folder)), "ends without a beginning" in text, text

        paths, is_unmatched, text = record("Bbw")
        assert paths == {"work", "block", "block > work", "block > plain", "block > plain > work"} and not is_unmatched, text
        paths, is_unmatched, text = record("E") # of the block: no mark
        assert paths == {"work"} and not is_unmatched, text
        paths, is_unmatched, text = record("ew") # of plain: its beginning was before
        assert paths == {"work"} and "1 ends without a beginning" in text, text


def check_namespaces(folder):
    unshare = namespace("--pid", "--fork", "--kill-child", "--mount")
    if not unshare:
        print("skip: namespaces: not permitted")
        return
    program = build(folder)
    script = f"exec 9<{program}; mount -t tmpfs none {folder}; exec /proc/self/fd/9"
    with running(*unshare, "sh", "-c", script) as p:
        attach_working(folder, inner_pid(p))
    # a command, which connects by itself
    run(CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", "--", *unshare, program, env={"IS_SHORT": "1"})
    expect_work(folder)


def check_another_network(folder):
    unshare = namespace("--net")
    if not unshare:
        print("skip: network namespaces: not permitted")
        return
    with running(*unshare, build(folder)) as p:
        assert "another network namespace" in attach(folder, p.pid).stderr
        assert not regions(folder)


def check_commands_that_do_not_know_the_recorder(folder):
    program = build(folder)
    record = (CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", "--")
    run(*record, "env", "-i", "IS_SHORT=1", program)
    assert int(regions(folder)["work"]["calls"]) > 20, regions(folder)
    done = run(*record, "env", "-i", "true")
    assert "the variable CPUPERF_MARKS of its parent" in done.stderr, done.stderr
    unshare = namespace("--net")
    if unshare:
        done = run(*record, *unshare, program, env={"IS_SHORT": "1"})
        assert "another network namespace" in done.stderr and "no program wrote marks" not in done.stderr, done.stderr


def check_little_address_space(folder):
    program = build(folder)
    script = f"ulimit -v 90000; exec {program}"
    done = run(CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", "--", "sh", "-c", script, env={"IS_SHORT": "1"})
    expect_work(folder)
    assert "marks" not in done.stderr, done.stderr
    with open(f"{folder}/few.c", "w", encoding="ascii") as f:
        f.write("#include <cpuperf/mark.h>\nint main(void) { CPUPERF_INSTANT(\"x\"); return 7; }\n")
    run("cc", "-O1", "-static", f"-I{INCLUDE}", "-o", f"{folder}/few", f"{folder}/few.c")
    script = f"ulimit -v 3000; exec {folder}/few"
    done = run(CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", "--", "sh", "-c", script, code=7)
    assert "(of 1): the limit of their address space (RLIMIT_AS) is too low" in done.stderr, done.stderr


def check_another_version(folder):
    include = os.path.join(folder, "old/cpuperf")
    os.makedirs(include)
    with open(f"{INCLUDE}/cpuperf/mark.h", encoding="utf-8") as f:
        text = f.read()
    with open(f"{include}/mark.h", "w", encoding="utf-8") as f:
        f.write(text.replace("CPUPERF_MARK_VERSION = 2,", "CPUPERF_MARK_VERSION = 3,"))
    program = build(folder, include=f"{folder}/old")
    with running(program) as p:
        assert "another version of cpuperf/mark.h" in attach(folder, p.pid).stderr
    done = run(CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", "--", program, env={"IS_SHORT": "1"})
    assert "another version of cpuperf/mark.h" in done.stderr, done.stderr
    assert not regions(folder)


def check_killed_recorder(folder):
    with running(build(folder)) as p:
        command = [CPUPERF, "--regions", *RATE, "-o", f"{folder}/k", f"--pid={p.pid}", "--duration=60s"]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as recorder:
            while not leftovers(p.pid):
                time.sleep(0.05)
            recorder.send_signal(signal.SIGKILL)
        attach_working(folder, p.pid) # the word has the number of a recorder that is gone
        wait_until_off(p)


def check_slow_recorder(folder):
    """A recorder that does not answer for a while: the program goes on without it, and is set again."""
    with running(build(folder)) as p:
        for seconds in (2, 8, 32):  # beside others it may have little of a CPU in the time that remains
            p.send_signal(signal.SIGSTOP)
            with subprocess.Popen([CPUPERF, "--quiet", "--regions", *RATE, "-o", f"{folder}/s", f"--pid={p.pid}",
                                   f"--duration={4 + seconds}s"]) as recorder:
                time.sleep(2)  # the program is set
                recorder.send_signal(signal.SIGSTOP)
                p.send_signal(signal.SIGCONT)
                time.sleep(2)  # it waits for a second
                recorder.send_signal(signal.SIGCONT)
                assert recorder.wait() == 0
            calls = int(regions(folder).get("work", {"calls": 0})["calls"])
            if calls > 20:
                break
        assert calls > 20, regions(folder)


def check_two_recorders(folder):
    with running(build(folder)) as p:
        command = [CPUPERF, "--regions", *RATE, "-o", f"{folder}/k", f"--pid={p.pid}", "--duration=60s"]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as recorder:
            while not leftovers(p.pid):
                time.sleep(0.05)
            assert "another cpuperf receives marks" in attach(folder, p.pid).stderr
            recorder.send_signal(signal.SIGINT)


def check_machine(folder):
    """Of a machine, on which another cpuperf may receive what this program writes, and which may have much to look through."""
    if os.geteuid():
        print("skip: the machine: needs root")
        return
    with running(build(folder)):
        for seconds in (2, 8, 32):
            done = run(CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", f"--duration={seconds}s", cwd=folder)
            assert "saved in " in done.stderr and "cpuperf_print --report=regions" in done.stderr.replace(f" {folder}/s", ""), done.stderr
            calls = int(regions(folder).get("work", {"calls": 0})["calls"])
            if calls > 20:
                break
        assert calls > 20, (calls, done.stderr)


def check_another_user(folder):
    """Root measures a program of another user."""
    if os.geteuid():
        print("skip: another user: needs root")
        return
    os.chmod(folder, 0o755)
    with running(build(folder), user=65532, group=65532, extra_groups=[]) as p:
        attach_working(folder, p.pid)
        wait_until_off(p)


def check_command_of_another_user(folder):
    """What root measures may become another user, as by su: it connects since the command is its ancestor."""
    if os.geteuid():
        print("skip: a command of another user: needs root")
        return
    os.chmod(folder, 0o755)
    drop = ("setpriv", "--reuid=65532", "--regid=65532", "--clear-groups")
    run(CPUPERF, "--regions", *RATE, "-o", f"{folder}/s", "--", "sh", "-c", '"$@"; true', "sh", *drop, build(folder),
        env={"IS_SHORT": "1"})
    expect_work(folder, "--comm=running")  # not of what begins it


run_checks(globals(), everybody=True)
