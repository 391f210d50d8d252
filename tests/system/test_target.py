#!/usr/bin/env python3
"""Processes that run already as a target: --pid, --comm, --cgroup, --no-children, --cpu. Counts and
samples are compared with what the processes measure of themselves; nothing is of an equal process
beside them. CPUPERF and CPUPERF_PRINT name the programs; software events only.
"""
import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from kit import CPUPERF, is_recording, may_count_faults, output, own_uid, PRINT, run, run_checks, wait_until_named
import sampled

# Waits for SIGUSR1; then uses this much CPU time in a thread that was there, in one that is new and
# in a child, and prints how much that was, in ns.
VICTIM = """
import os, signal, sys, threading, time
seconds = float(sys.argv[1])
go = threading.Event()
used = []
def burn():
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < seconds * 1e9:
        sum(range(2000))
    used.append(time.thread_time_ns() - begin)
def old():
    go.wait()
    burn()
thread = threading.Thread(target=old)
thread.start()
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))  # not go.set: the thread here may hold its lock
print("ready", time.process_time_ns(), flush=True)
while not asked:
    time.sleep(0.01)
go.set()
thread.join()
thread = threading.Thread(target=burn)
thread.start()
thread.join()
read, write = os.pipe()
if os.fork() == 0:
    burn()
    os.write(write, str(used[-1]).encode())
    os._exit(0)
os.wait()
print(sum(used), os.read(read, 100).decode(), flush=True)
"""
TICK_NS = 10_000_000  # of /proc/stat


# in turns in user mode, in the kernel, and with page faults
BOTH_MODES = """
import mmap
while True:
    sum(range(20000))
    with open("/dev/zero", "rb") as f:
        f.read(1 << 20)
    m = mmap.mmap(-1, 1 << 20)
    m[::4096] = bytes(256)
    m.close()
"""


TOUCH = """
import mmap, time
while True:
    m = mmap.mmap(-1, 1 << 16)
    m[::4096] = bytes(16)
    m.close()
    time.sleep(0.001)
"""


class Victim:
    def __init__(self, folder, seconds, name="target-test", **who):
        path = f"{folder}/{name}"
        if not os.path.exists(path):
            os.symlink("/usr/bin/python3" if who else sys.executable, path)
        self.process = subprocess.Popen([path, "-c", VICTIM, str(seconds)], text=True,
                                        stdout=subprocess.PIPE, **who)
        word, self.before_ns = self.process.stdout.readline().split()
        assert word == "ready"
        self.pid = self.process.pid
        self.stolen_ns = sampled.stolen_ns()
        self.most_ns = None

    def go(self):
        self.process.send_signal(signal.SIGUSR1)

    def used(self):
        """Nanoseconds that the process has timed, and its child. Then most_ns is what both used since
        the process was ready, with the interpreter's work, and what no task may have been charged for."""
        own, child = self.process.stdout.readline().split()
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        whole_ns = int((usage.ru_utime + usage.ru_stime) * 1e9) - int(self.before_ns)
        self.most_ns = 1.05 * whole_ns + 5e6 + sampled.stolen_ns() - self.stolen_ns + TICK_NS
        return int(own), int(child)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def start(folder, *options):
    return subprocess.Popen([CPUPERF, *options], cwd=folder, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def wait_until_measuring(folder, name="cpuperf.session"):
    """The manifest is written when everything is open and enabled."""
    path = f"{folder}/{name}/cpuperf.cpsession"
    while not is_recording(path):
        time.sleep(0.01)
    time.sleep(0.1)


def finish(p, code=0):
    out, err = p.communicate()
    assert code in (None, p.returncode), (p.returncode, out, err)
    return err


def rows(folder, report):
    text = output(PRINT, "--quiet", "--output-format=csv", f"--report={report}", "cpuperf.session",
                  cwd=folder)
    return list(csv.DictReader(io.StringIO(text)))


def counts(folder):
    """{event: sum over iterations}"""
    sums = {}
    for r in rows(folder, "summary"):
        if r["state"] == "ok" and not r["trace"]:
            sums[r["event"]] = sums.get(r["event"], 0) + int(r["value"])
    return sums


def sampled_tasks(folder):
    """{(process, thread): samples}"""
    return {(int(r["pid"] or -1), int(r["tid"] or -1)): int(r["self_samples"]) for r in rows(folder, "threads")
            if r["event"] == "cpu_clock"}


def check_pid(folder):
    """Threads that are there and that come, and children; not its twin; the answer; the end."""
    victim, twin = Victim(folder, 0.3), Victim(folder, 0.3)
    p = start(folder, f"--pid={victim.pid}")
    wait_until_measuring(folder)
    victim.go()
    twin.go()
    used = sum(victim.used())
    answer = finish(p)
    twin.used()
    counted = counts(folder)["task_clock"]
    assert used * 0.99 < counted < victim.most_ns, (used, counted, victim.most_ns)
    assert re.match(rf"(.* is waiting for a CPU\n)?process {victim.pid} \(target-test\): ended\n", answer), answer
    by_task = sampled_tasks(folder)
    missed_ns = sampled.stolen_ns() - victim.stolen_ns + TICK_NS
    assert sum(by_task.values()) > (0.9 * used - missed_ns) / 1e9 * 997, (by_task, used, missed_ns)
    assert twin.pid not in {pid for pid, _ in by_task}, by_task
    assert len(by_task) >= 3, by_task  # two threads and the child


def check_no_children(folder):
    victim = Victim(folder, 0.3)
    p = start(folder, f"--pid={victim.pid}", "--no-children")
    wait_until_measuring(folder)
    victim.go()
    own, child = victim.used()
    answer = finish(p, None)
    if "Linux 5.13" in answer:
        print(f"skip: --no-children: {answer}")
        return
    counted = counts(folder)["task_clock"]
    assert own * 0.99 < counted < victim.most_ns - child, (own, child, counted, victim.most_ns)
    assert {pid for pid, _ in sampled_tasks(folder)} == {victim.pid}


def check_asleep(folder):
    """It wakes every 10 ms: between, its counts are 0, not unknown."""
    victim = Victim(folder, 0.01)
    events = "page_faults,task_clock" if may_count_faults("faults while asleep") else "cpu_clock,task_clock"
    p = start(folder, f"--pid={victim.pid}", "-e", events, "-d", "1ms", "-n", "50", "--output-format=csv")
    shown = list(csv.DictReader(io.StringIO(p.communicate()[0])))
    victim.end()
    for found in (shown, rows(folder, "summary")):
        found = [r for r in found if not r["trace"] and r.get("start_ns")]
        assert len(found) == 100, found
        assert {r["state"] for r in found} == {"ok"}, found


def check_several(folder):
    """Several by number and by name, each with iterations: the counts are sums over all tasks."""
    mine = f"m{os.getpid()}"  # no other run of this test has it
    victims = [Victim(folder, 0.2, name=f"{mine}-many") for _ in range(3)]
    other = Victim(folder, 0.2, name="other-many")
    p = start(folder, f"--comm={mine}-m*", f"--pid={other.pid}", "-e", "task_clock,page_faults",
              "--duration=0.2", "--num-iterations=1000000", "--no-live")
    wait_until_measuring(folder)
    for victim in victims + [other]:
        victim.go()
    used = sum(sum(victim.used()) for victim in victims + [other])
    most_ns = sum(victim.most_ns for victim in victims + [other])
    finish(p)
    counted = counts(folder)["task_clock"]
    # the session ends whole with the last of them
    assert used * 0.99 < counted < most_ns, (used, counted, most_ns)


def check_stays(folder):
    """Ctrl-C ends the measuring, whole; the process goes on."""
    victim = Victim(folder, 0.1)
    p = start(folder, "-p", str(victim.pid))
    wait_until_measuring(folder)
    p.send_signal(signal.SIGINT)
    answer = finish(p)
    assert f"process {victim.pid} (target-test): still running" in answer, answer
    assert victim.process.poll() is None
    info = output(PRINT, "--quiet", "--report=summary", "--each-iteration", cwd=folder)
    assert "cut short" not in info, info
    victim.end()


def check_cpu(folder):
    """Only on the CPUs named, of a process that runs on another one: nothing."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("skip: --cpu: there is one CPU")
        return
    victim = Victim(folder, 0.1)
    for task in os.listdir(f"/proc/{victim.pid}/task"):
        os.sched_setaffinity(int(task), {cpus[0]})
    first, second = (start(folder, f"--pid={victim.pid}", f"--cpu={cpu}", "-o", name)
                     for cpu, name in ((cpus[0], "first"), (cpus[1], "second")))
    wait_until_measuring(folder, "first")
    wait_until_measuring(folder, "second")
    victim.go()
    used = sum(victim.used())
    finish(first)
    finish(second)
    os.rename(f"{folder}/first", f"{folder}/cpuperf.session")
    counted = counts(folder)["task_clock"]
    assert used * 0.99 < counted < victim.most_ns, (used, counted, victim.most_ns)
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", "second", cwd=folder)
    others = [r for r in csv.DictReader(io.StringIO(text)) if r["event"] == "task_clock" and
              r["state"] == "ok"]
    assert others and all(int(r["value"]) == 0 for r in others), others


def cgroup_root():
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2" and fields[3] == "/":
            return fields[4]
    return None


def moving(folder, *options):
    """A process that moves between CPUs, measured in iterations; what cpuperf printed."""
    cpus = sorted(os.sched_getaffinity(0))
    victim = subprocess.Popen([sys.executable, "-c", "while True: sum(range(2000))"])
    p = start(folder, f"--pid={victim.pid}", "-d", "0.2", "-n", "4", "--output-format=csv",
              "--quiet", *options)
    while p.poll() is None:
        for cpu in cpus:
            os.sched_setaffinity(victim.pid, {cpu})
            time.sleep(0.07)
    victim.kill()
    victim.wait()
    return list(csv.DictReader(io.StringIO(p.communicate()[0])))


def check_moving(folder):
    """A task's event on a CPU is enabled also while the task runs on another one: nothing is scaled,
    and where it did not run, the count is 0. Recorder and printer print the same."""
    live = moving(folder)
    stored = rows(folder, "summary")
    keys = ("iteration", "trace", "event", "state", "value", "running_share")
    assert [[r.get(k) for k in keys] for r in live] == [[r.get(k) for k in keys] for r in stored]
    clocks = {"cpu_clock": 0, "task_clock": 0}
    for r in live:
        if r["event"] in clocks and not r["trace"]:
            assert r["state"] == "ok" and r["value"] == r["raw"], r
            clocks[r["event"]] += int(r["value"])
    # the one may be read later than the other; scaled by its share of two CPUs it would be twice as much
    one, other = clocks.values()
    assert 0.7 * other - 2e7 < one < 1.4 * other + 2e7, clocks


def check_cgroup(folder):
    """Whoever is in the group, also who comes later; the end when the last has gone."""
    root = cgroup_root()
    path = f"{root}/cpuperf-test-{os.getpid()}"
    try:
        assert root, "no cgroup2 is mounted"
        os.mkdir(path)
    except (AssertionError, OSError) as why:
        print(f"skip: --cgroup: {why}")
        return
    try:
        victim, twin, later = Victim(folder, 0.2), Victim(folder, 0.2), Victim(folder, 0.2)
        for pid in (victim.pid, later.pid):
            with open(f"{path}/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(pid))
        p = start(folder, f"--cgroup=/{os.path.basename(path)}")
        wait_until_measuring(folder)
        for one in (victim, twin, later):
            one.go()
        used = sum(victim.used()) + sum(later.used())
        twin.used()
        answer = finish(p, None)
        if "no permission" in answer or "not support" in answer:
            print(f"skip: --cgroup: {answer}")
            return
        counted = counts(folder)["task_clock"]
        most_ns = victim.most_ns + later.most_ns
        assert used * 0.99 < counted < most_ns, (used, counted, most_ns, answer)
        pids = {pid for pid, _ in sampled_tasks(folder)}
        assert {victim.pid, later.pid} <= pids and twin.pid not in pids, pids
        assert ": ended\n" in answer, answer
    finally:
        while True:
            try:
                os.rmdir(path)
                break
            except OSError:
                time.sleep(0.05)


def check_empty_cgroup(folder):
    """An empty group is measured until the duration has passed, or processes have come and gone."""
    root = cgroup_root()
    path = f"{root}/cpuperf-empty-{os.getpid()}"
    name = f"/{os.path.basename(path)}"
    try:
        assert root, "no cgroup2 is mounted"
        os.mkdir(path)
    except (AssertionError, OSError) as why:
        print(f"skip: --cgroup: {why}")
        return
    try:
        began = time.monotonic()
        err = run(CPUPERF, "-e", "task_clock", f"--cgroup={name}", "-d", "0.5", "-o", "x", cwd=folder).stderr
        assert time.monotonic() - began >= 0.5, err
        assert f"cgroup {name} is empty: measuring what enters it\n" in err, err
        assert f"\ncgroup {name}: no process entered it\n" in err, err
        measured = re.search(r"\n  (\S+) (ms|s) measured\n", err)
        assert float(measured[1]) * {"ms": 1, "s": 1000}[measured[2]] >= 500, err
        p = start(folder, f"--cgroup={name}")
        wait_until_measuring(folder)
        enter = f"echo $$ > {path}/cgroup.procs; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"
        run("sh", "-c", enter)
        answer = finish(p, None)
        assert f"\ncgroup {name}: ended\n" in answer, answer
        assert counts(folder)["task_clock"] > 1e6, answer
    finally:
        os.rmdir(path)
    for group in (name, "/no/such"):
        err = run(CPUPERF, "-e", "task_clock", f"--cgroup={group}", cwd=folder, code=1).stderr
        assert f"--cgroup: error: {group}: no such control group, neither below {root} nor as a folder\n" in err, err
        assert f"  hint: /proc/PID/cgroup shows the group of a process; all are folders below {root}\n" in err, err


def check_many_tasks(folder):
    """Threads that come and go while the events are opened: none is counted twice."""
    script = ("import signal, threading, time\n"
              "ends = []\n"
              "signal.signal(signal.SIGUSR1, lambda *_: ends.append(1))\n"
              "print('ready', flush=True)\n"
              "while not ends:\n"
              "    all = [threading.Thread(target=lambda: sum(range(3000))) for _ in range(20)]\n"
              "    [t.start() for t in all]\n"
              "    [t.join() for t in all]\n"
              "print(time.process_time_ns())\n")
    stolen_ns = sampled.stolen_ns()
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        session = start(folder, f"--pid={p.pid}")
        wait_until_measuring(folder)
        time.sleep(1)
        p.send_signal(signal.SIGUSR1)
        whole = int(p.stdout.readline())
        answer = finish(session)
    counted = counts(folder).get("task_clock")
    stolen_ns = sampled.stolen_ns() - stolen_ns + TICK_NS
    assert counted and counted <= whole * 1.01 + stolen_ns, (counted, whole, stolen_ns, answer)


def check_churn(folder):
    """A program that creates threads all the time, which live on: it and they are counted. In four of five
    sessions of perf stat it was not: its events had been exchanged for disabled ones."""
    run(*os.environ.get("CC", "cc").split(), "-O2", f"{os.path.dirname(__file__)}/crowd.c", "-o", f"{folder}/crowd",
        "-lpthread")
    with subprocess.Popen([f"{folder}/crowd", "churn"], stdout=subprocess.PIPE) as p:
        try:
            time.sleep(0.5)
            clock = ~p.pid << 3 | 2  # CPUCLOCK_SCHED of the process
            for _ in range(3):
                begin = time.clock_gettime_ns(clock)
                session = start(folder, f"--pid={p.pid}", "-e", "task_clock,page_faults,context_switches")
                wait_until_measuring(folder)
                before = time.clock_gettime_ns(clock)
                time.sleep(0.5)
                used = time.clock_gettime_ns(clock) - before
                session.send_signal(signal.SIGINT)
                answer = finish(session, None)
                counted = counts(folder).get("task_clock")
                # the kernel counts no clone and no exit
                assert counted and 0.4 * used <= counted <= time.clock_gettime_ns(clock) - begin, (counted, used, answer)
        finally:
            p.kill()


def compare_switches(program, folder, who):
    """The switches of a process in user mode are those that /proc has more than at the start: at most what it
    had in all meanwhile, and none of those before."""
    with subprocess.Popen(["/usr/bin/python3", "-c", "import time\nwhile True: time.sleep(0.001)"], **who) as p:
        def switches():
            with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
                return sum(int(n) for n in re.findall(r"ctxt_switches:\t(\d+)", f.read()))
        try:
            while switches() < 1000:
                time.sleep(0.05)
            for seconds in (0.3, 2, 8, 20):
                before = switches()
                answer = run(program, f"--pid={p.pid}", "-e", "task_clock", "-d", str(seconds), cwd=folder, **who).stderr
                most = switches() - before
                found = re.search(r"\n  user mode only; .*?([\d,]+) context switches \(/proc\)\n", answer)
                if found and int(found[1].replace(",", "")):
                    break
        finally:
            p.kill()
    assert found and 0 < int(found[1].replace(",", "")) <= most, (answer, most)


def compare_of_proc_alone(program, folder, who):
    """Page faults and context switches that no event may count are answered by /proc; what /proc does not have
    is an error, and so is a table, which has no place for them."""
    asked = [program, "-e", "page_faults,context_switches"]
    with subprocess.Popen(["/usr/bin/python3", "-c", TOUCH], **who) as p:
        try:
            for seconds in (0.3, 2, 8, 20):
                answer = run(*asked, f"--pid={p.pid}", "-d", str(seconds), cwd=folder, **who).stderr
                found = re.search(r"\n  no event of it was counted; at least [1-9][\d,]* page faults, "
                                  r"(at least )?[1-9][\d,]* context switches \(/proc\)\n", answer)
                if found:
                    break
            assert found and "error" not in answer and "To measure it in the kernel" in answer, answer
            for more in (["-e", "cpu_migrations"], ["-e", "page_faults", "-n", "2"]):
                done = run(program, *more, f"--pid={p.pid}", "-d", "0.05", cwd=folder, code=1, **who)
                assert "error: none of the 1 event(s) can be measured here" in done.stderr, done.stderr
        finally:
            p.kill()
    done = run(*asked, f"--pid={os.getpid()}", "-d", "0.05", cwd=folder, code=1, **who)
    assert f"--pid: error: process {os.getpid()} belongs to another user" in done.stderr, done.stderr


def check_ordinary_user(folder):
    """His own process, in user mode where he may no more; another user's is refused."""
    if os.geteuid() != 0:
        print("skip: an ordinary user: this is not root")
        return
    if int(open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii").read()) > 2:
        print("skip: an ordinary user: perf_event_paranoid may refuse him")
        return
    who = {"user": own_uid(), "group": own_uid(), "extra_groups": []}
    if run("/usr/bin/python3", "-c", "", code=None, **who).returncode:
        print("skip: an ordinary user: he has no /usr/bin/python3")
        return
    os.chmod(folder, 0o777)
    os.chmod(os.path.dirname(folder), 0o755)
    program, _ = (sampled.for_everybody(path, os.path.dirname(folder)) for path in (CPUPERF, PRINT))
    shutil.copy(f"{os.environ['SOURCE_DIR']}/specs/program.cpspec", f"{folder}/program.cpspec")
    victim = Victim(folder, 0.3, **who)
    p = subprocess.Popen([program, f"--pid={victim.pid}"], cwd=folder, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, **who)
    wait_until_measuring(folder)
    victim.go()
    used = sum(victim.used())
    finish(p)
    counted = counts(folder)["task_clock"]
    assert used * 0.99 < counted < victim.most_ns, (used, counted, victim.most_ns)
    done = run(program, f"--pid={os.getpid()}", "-d", "0.1", cwd=folder, code=1, **who)
    assert f"--pid: error: process {os.getpid()} belongs to another user" in done.stderr, done.stderr
    assert "sudo cpuperf" in done.stderr and "To measure" not in done.stderr, done.stderr
    compare_of_proc_alone(program, folder, who)
    # the time that is not sampled, and faults, are those of /proc; the longer it takes, the surer there are some
    both = subprocess.Popen(["/usr/bin/python3", "-c", BOTH_MODES], **who)
    try:
        for seconds in (0.3, 2, 8, 20):
            answer = run(program, f"--pid={both.pid}", "-d", str(seconds), cwd=folder, **who).stderr
            found = [re.search(pattern, answer) for pattern in (
                r"\n  user mode only; at least [1-9][\d,]* page faults, .*[1-9][\d,]* context switches \(/proc\)\n",
                r"\n  in user mode, at least +[1-9]", r"\n  in the kernel, at least, not sampled +[1-9]")]
            if all(found):
                break
    finally:
        both.kill()
        both.wait()
    assert all(found), answer
    # the kernel counts ticks: less than one is not 0
    with subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"], **who) as busy:
        try:
            for seconds in (0.3, 0.3, 1, 1, 2, 4, 8):
                answer = run(program, f"--pid={busy.pid}", "-d", str(seconds), cwd=folder, **who).stderr
                assert not re.search(r"\n  in (user mode|the kernel), at least.* 0 ns", answer), answer
                if re.search(r"\n  in the kernel, at least, not sampled +< 10\.00 ms\n", answer):
                    break
            else:
                print("skip: a time below a tick: the kernel counted more in each of 7 tries", flush=True)
        finally:
            busy.kill()
    compare_switches(program, folder, who)
    # by name: what may not be measured is named, the others are measured
    name = f"both-{os.getpid()}-of"  # no other run of this test has it
    sleep = shutil.copy("/bin/sleep", f"{folder}/{name}")
    with subprocess.Popen([sleep, "300"]) as theirs:
        with subprocess.Popen([sleep, "300"], **who) as mine:
            for one in (theirs, mine):
                wait_until_named(one, name)
            asked = [f"--comm={name[:-2]}*", "-e", "task_clock", "-d", "0.05"]
            done = run(program, *asked, "-n", "2", cwd=folder, **who)
            answer = run(program, *asked, cwd=folder, **who).stderr
            mine.kill()
        refused = f"1 not measured (of other users, or with more rights): {theirs.pid} ({name})"
        assert f"warning: {refused}" in done.stderr, done.stderr
        assert f"process {mine.pid} ({name}); {refused}" in answer, answer
        done = run(program, *asked, cwd=folder, code=1, **who)
        theirs.kill()
    assert f'--comm: error: all processes with the name "{name[:-2]}*" (1) belong to other users' in done.stderr, done.stderr
    assert "sudo cpuperf" in done.stderr and "To measure" not in done.stderr, done.stderr


def check_mistakes(folder):
    """One error each, and no session."""
    me = str(os.getpid())
    for args, code, text in (
            (["--pid=99999999"], 1, "--pid: error: there is no process 99999999"),
            (["--pid", f"{me},x"], 1, '"x" is not a process number'), (["--pid="], 1, '"" is not a process number'),
            (["--comm=no-such-name"], 1, '--comm: error: no process has the name "no-such-name"'),
            (["--cgroup=/no-such"], 1, "--cgroup: error: /no-such: no such control group"),
            (["--cgroup=/tmp"], 1, "not a control group"),
            (["--pid", me, "--cgroup=/"], 2, "exclusive"), (["--no-children"], 2, "requires"),
            (["-e", "task_clock", "--cpu=4000"], 1, "CPU 4000 is not online"),
            (["-e", "task_clock", "--cpu=x"], 1, "not a list of CPUs"),
            (["--pid", me, "--", "touch", "ran"], 125, "exclusive")):
        done = run(CPUPERF, "-d", "0.1", *args, cwd=folder, code=code)
        assert done.stderr.count("error: ") == 1 and text in done.stderr, (args, done.stderr)
    assert os.listdir(folder) == [], os.listdir(folder)


def check_many_named(folder):
    """Of many processes the answer names eight, and says that there are more."""
    many = [subprocess.Popen(["sleep", "300"]) for _ in range(10)]
    for p in many:
        wait_until_named(p, "sleep")
    pids = [str(p.pid) for p in many]
    err = finish(start(folder, "--pid=" + ",".join(pids), "-e", "task_clock", "-d", "0.05"))
    for p in many:
        p.kill()
        p.wait()
    named = ", ".join(f"{pid} (sleep)" for pid in sorted(pids, key=int)[:8])
    assert f"10 processes: {named}, ...: " in err, err


def check_descriptors(folder):
    """Too many threads for the limit of open files: an error that says what to do."""
    threads = ("import threading, time; [threading.Thread(target=time.sleep, args=(60,)).start() for _ "
               "in range(200)]; print('ready', flush=True)")
    with subprocess.Popen([sys.executable, "-c", threads], stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        done = run(CPUPERF, f"--pid={p.pid}", "-d", "0.1", cwd=folder, code=1,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
        p.kill()
    assert done.stderr.count("error: ") == 1 and "ulimit -n" in done.stderr, done.stderr


def check_measured(folder):
    """What the answer says was measured is the time from the first iteration's start to the last one's end."""
    unit = {"us": 1e3, "ms": 1e6, "s": 1e9}
    victim = Victim(folder, 0.1)
    for options in ([], ["--delay=0.2"]):
        err = finish(start(folder, f"--pid={victim.pid}", "-e", "task_clock", "-d", "0.05", *options))
        cells = rows(folder, "summary")
        span = int(cells[-1]["end_ns"]) - int(cells[0]["start_ns"])
        number, name = re.search(r"^  ([\d.]+) (\w+) measured$", err, re.M).groups()
        assert abs(float(number) * unit[name] - span) < 0.0006 * span, (options, span, err)
    victim.end()


def check_manifest(folder):
    """What was measured stands in the session."""
    victim = Victim(folder, 0.1)
    finish(start(folder, f"--pid={victim.pid}", "-d", "0.1"))
    victim.end()
    with open(f"{folder}/cpuperf.session/cpuperf.cpsession", encoding="utf-8") as f:
        assert json.load(f)["num_iterations"] == 1
    text = output(PRINT, "--quiet", cwd=folder)
    assert f"\nprocess {victim.pid} (target-test)" in "\n" + text, text


if __name__ == "__main__":
    run_checks(globals())
