#!/usr/bin/env python3
"""--control: a client of perf's protocol drives perf and cpuperf with the same steps. Software events only.
"""
import csv
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import time

from terminal import Terminal, have_tmux
from kit import CPUPERF, finish, may_count_faults, output, PRINT, SESSION, run, run_checks, sql

SPIN = "import select\nwhile not select.select([0], [], [], 0)[0]: sum(range(9999))"


class Client:
    """As clients of perf do it: writes a command, and reads 5 bytes."""

    def __init__(self, folder):
        self.paths = [f"{folder}/ctl", f"{folder}/ack"]
        for path in self.paths:
            os.mkfifo(path)
        self.ctl, self.ack = (os.open(path, os.O_RDWR) for path in self.paths)

    def send(self, text):
        os.write(self.ctl, text)

    def ask(self, text):
        self.send(text)
        got = b""
        while len(got) < 5:
            got += os.read(self.ack, 5 - len(got))
        assert got == b"ack\n\0", got

    def close(self):
        os.close(self.ctl)
        os.close(self.ack)


def start(folder, *options, command=(sys.executable, "-c", SPIN), **how):
    return subprocess.Popen([*options, "--", *command], cwd=folder, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def enabled(folder):
    """{event: ns enabled, over all iterations}"""
    return dict(sql(folder, "SELECT label, coalesce(sum(enabled_ns), 0) FROM counts JOIN events USING(event) "
                    "WHERE cpu IS NULL GROUP BY label"))


def table(folder):
    """(label, iteration, state, value) of each event's total."""
    rows = csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=series", "--output-format=csv", SESSION,
                                             cwd=folder)))
    return [(r["label"], int(r["iteration"]), r["state"], r["value"]) for r in rows if r["cpu"] == "all"]


def steps(client):
    for text in b"ping\n", b"enable\n", b"disable\n", b"enable", b"evlist\n", b"disable\0", b"enable\n", b"stop\n":
        client.ask(text)


def check_same_client(folder):
    """The same steps, of cpuperf and, where there is one that works, of perf."""
    for name in "cpuperf", "perf":
        at = f"{folder}/{name}"
        os.mkdir(at)
        command = [CPUPERF, "-e", "task_clock"]
        if name == "perf":
            command = ["perf", "stat", "-e", "task-clock"]
            if not shutil.which("perf") or run(*command, "--", "true", code=None).returncode:
                print("skip: the same client with perf: no perf here that counts", flush=True)
                continue
        client = Client(at)
        p = start(at, *command, "--delay=-1", f"--control=fifo:{client.paths[0]},{client.paths[1]}")
        steps(client)
        finish(p, None if name == "perf" else 0)
        client.close()
    assert [c for c, in sql(f"{folder}/cpuperf", "SELECT cause FROM iterations")] == ["end"]


def check_disabled(folder):
    """Nothing is counted before enable, and only what was enabled; a snapshot ends the iteration."""
    client = Client(folder)
    p = start(folder, CPUPERF, "-e", "task_clock,cpu_clock", "--delay=-1", "--control=fifo:ctl,ack")
    client.ask(b"ping\n")
    client.ask(b"snapshot\n")
    client.ask(b"enable task-clock\n")
    for _ in range(3):
        client.ask(b"enable nothing\n")
    client.ask(b"snapshot\n")
    _, said = finish(p)
    client.close()
    causes = [c for c, in sql(folder, "SELECT cause FROM iterations")]
    assert causes[-1] == "end" and set(causes[:-1]) == {"request"}, causes
    times = enabled(folder)
    assert times["task_clock"] > 0 and times["cpu_clock"] == 0, (times, said)
    # what was disabled has no number, in no iteration and in no mean
    for label, iteration, state, value in table(folder):
        is_on = label == "task_clock" and iteration > 0
        assert (state == "disabled", value == "") == (not is_on, not is_on), (label, iteration, state, value)
    summary = output(PRINT, "--quiet", SESSION, cwd=folder)
    assert "disabled" in summary, summary


def check_disabled_in_part(folder):
    """The answer names --control among the reasons why not all CPU time was counted."""
    client = Client(folder)
    work = "import time\ninput()\nwhile time.process_time() < 0.4: pass"
    p = start(folder, CPUPERF, "-e", "task_clock", "--control=fifo:ctl,ack",
              command=(sys.executable, "-c", work))
    client.ask(b"disable\n")
    p.stdin.write("\n")
    p.stdin.flush()
    _, said = finish(p)
    client.close()
    assert "time disabled by --control\n" in said, said


def seconds(number, unit):
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def check_rates(folder):
    """Rates are over the time in which events were enabled; of events that were enabled for different times there
    are none."""
    work = (sys.executable, "-c", "import time\ninput()\nt = time.monotonic()\nwhile time.monotonic() < t + 0.2: pass")
    client = Client(folder)
    for events in (b"", b" task_clock"):
        p = start(folder, CPUPERF, "-e", "task_clock,page_faults", "--control=fifo:ctl,ack", command=work)
        client.ask(b"disable" + events + b"\n")
        time.sleep(0.5)
        client.ask(b"enable\n")
        p.stdin.write("\n")
        p.stdin.flush()
        _, said = finish(p)
        if events:
            assert "disabled events for different times: counts have no rates\n" in said, said
            assert not may_count_faults("a count without a rate") or re.search(r"\n  page_faults +[0-9,]+ *\n", said), said
            continue
        found = re.search(r"events were disabled for (\S+) (\S+) by --control; rates are over the other (\S+) (\S+)\n",
                          said)
        clock = re.search(r"\n  task_clock +(\S+) (\S+) +(\S+) %", said)
        wall = re.search(r"\n  (\S+) (\S+) wall", said)
        off, other, wall = seconds(*found.groups()[:2]), seconds(*found.groups()[2:]), seconds(*wall.groups())
        assert off >= 0.499 and 0.98 * wall <= off + other <= 1.02 * wall, said
        assert abs(float(clock[3]) - 100 * seconds(clock[1], clock[2]) / other) <= 0.2, said
    client.close()


CALLS = r"""
#include <cpuperf/mark.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(void)
{
	char c;
	CPUPERF_BEGIN("all");
	while (read(0, &c, 1) == 1) {
		long long begin = now();
		CPUPERF_BEGIN("call");
		usleep(50000);
		CPUPERF_END;
		printf("%lld\n", now() - begin);
		fflush(stdout);
	}
	CPUPERF_END;
}
"""


def check_regions_are_cut(folder):
    """Calls are those that were made while an event was enabled."""
    with open(f"{folder}/calls.c", "w", encoding="ascii") as f:
        f.write(CALLS)
    run("cc", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/calls", f"{folder}/calls.c")
    client = Client(folder)

    def calls(p, nr):
        """Their ns, by the program's own clock."""
        for _ in range(nr):
            p.stdin.write("\n")
            p.stdin.flush()
            yield int(p.stdout.readline())

    def regions(p):
        finish(p)
        return {r["region"]: r for r in csv.DictReader(io.StringIO(
            output(PRINT, "--quiet", "--report=regions", "--output-format=csv", cwd=folder)))}
    for options, first in (((), 2), (("--delay=-1",), 0)):
        p = start(folder, CPUPERF, "-e", "task_clock,page_faults", "--regions", "--control=fifo:ctl,ack", *options,
                  command=[f"{folder}/calls"])
        own = sum(calls(p, 2)) if first else sum(0 for _ in calls(p, 3))
        client.ask(b"disable\n")
        list(calls(p, 5))
        client.ask(b"enable task_clock\n")
        own += sum(calls(p, 4))
        client.ask(b"disable\n")
        list(calls(p, 3))
        found = regions(p)
        assert int(found["call"]["calls"]) == first + 4 and int(found["call"]["cut"]) == 0, found
        # the sleeps of 50 ms, and no more than the program's own clock has around them
        assert 0.999 * (first + 4) * 50e6 <= int(found["call"]["wall_ns"]) <= own, (own, found)
        assert int(found["all"]["cut"]) == int(found["all"]["calls"]) == 1, found
    p = start(folder, CPUPERF, "-e", "task_clock", "--regions", "--delay=-1", "--control=fifo:ctl,ack",
              command=[f"{folder}/calls"])
    list(calls(p, 2))
    assert "call" not in regions(p), "events were never enabled"
    client.close()


def check_never_enabled(folder):
    """The answer says so, in place of a count of 0."""
    client = Client(folder)
    p = start(folder, CPUPERF, "-e", "task_clock", "--delay=-1", "--control=fifo:ctl,ack")
    client.ask(b"ping\n")
    _, said = finish(p)
    client.close()
    assert "not measured: task_clock (it was disabled" in said, said


def check_descriptors(folder):
    """fd: of a socket; who leaves ends the control, not the session."""
    ours, theirs = socket.socketpair()
    p = start(folder, CPUPERF, "-e", "task_clock", f"--control=fd:{theirs.fileno()},{theirs.fileno()}",
              pass_fds=[theirs.fileno()])
    theirs.close()
    ours.sendall(b"disable\nping\n")
    got = b""
    while len(got) < 10:
        got += ours.recv(10 - len(got))
    assert got == b"ack\n\0" * 2, got
    ours.close()
    finish(p)


def check_listed(folder):
    """evlist prints names, with -F how each is sampled, and refuses what it does not print."""
    client = Client(folder)
    p = start(folder, CPUPERF, "-e", "task_clock,cpu_clock@99Hz", "--quiet", "--control=fifo:ctl,ack")
    client.ask(b"evlist\n")
    client.ask(b"evlist -F\n")
    client.ask(b"stop\n")
    _, said = finish(p)
    assert said.splitlines()[:4] == ["software:task_clock", "software:cpu_clock", "software:task_clock",
                                     "software:cpu_clock: sample_freq=99"], said
    p = start(folder, CPUPERF, "-e", "task_clock", "--control=fifo:ctl,ack")
    client.ask(b"evlist -v\n")
    client.ask(b"evlist -g\n")
    client.ask(b"stop\n")
    _, said = finish(p)
    client.close()
    for option in "-v", "-g":
        assert f'"evlist {option}" is not supported' in said, said


def check_dashboard(folder):
    """Messages are in the dashboard's line for them, not across its screen, and are printed at its end."""
    if not have_tmux():
        print("skip: messages in the dashboard: no tmux", flush=True)
        return
    client = Client(folder)
    with Terminal(["sh", "-c", f"cd {folder} && exec {CPUPERF} --live -e task_clock --control=fifo:ctl,ack"
                   " -- sh -c 'until [ -e over ]; do sleep 0.05; done'"], 120, 30) as t:
        t.wait(r"iteration \d+  elapsed")
        client.ask(b"nonsense\nping\n")
        screen = t.wait(r"1 warning \(w\)")
        assert "not a command" not in screen, screen
        t.press("w", "not a command")
        with open(f"{folder}/over", "w", encoding="ascii"):
            pass
        assert "warning: --control" in t.wait(r"^status 0\.", history=True)
    client.close()


def check_hostile(folder):
    """Long, partial and unknown lines do no harm, and answers that nobody reads do not block."""
    client = Client(folder)
    p = start(folder, CPUPERF, "-e", "task_clock", "--control=fifo:ctl,ack")
    client.ask(b"ping\n")
    for text in b"x" * 5000 + b"\n", b"\n\0\n", b"nonsense\n", b"\xff\x1b[2J\n", b"enab", b"led\n":
        client.send(text)
    client.ask(b"disable " + b"x" * 5000 + b"\n")
    for _ in range(20000):
        client.send(b"ping\n")
    client.send(b"stop\n")
    _, said = finish(p)
    client.close()
    assert "is not a command" in said and "\x1b" not in said, said
    assert [c for c, in sql(folder, "SELECT cause FROM iterations")] == ["end"]


def check_runs(folder):
    """stop ends the session, not only the present run: no other begins."""
    client = Client(folder)
    p = start(folder, CPUPERF, "-r", "3", "-e", "task_clock", "--control=fifo:ctl,ack", "--", "sh", "-c",
              "echo >>begun; until [ -e over ]; do sleep 0.02; done")
    while not os.path.exists(f"{folder}/begun"):
        time.sleep(0.02)
    client.ask(b"stop\n")
    with open(f"{folder}/over", "w", encoding="ascii"):
        pass
    finish(p)
    client.close()
    with open(f"{folder}/begun", encoding="ascii") as f:
        assert len(f.readlines()) == 1


def check_runs_stay_disabled(folder):
    """What a run has disabled is not enabled by the exec of the next."""
    client = Client(folder)
    p = start(folder, CPUPERF, "-r", "3", "-e", "task_clock,cpu_clock", "--control=fifo:ctl,ack", command=(
        "sh", "-c", "echo begun; read step; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"))
    for text in b"disable task-clock\n", b"ping\n", b"enable\n":
        assert p.stdout.readline() == "begun\n"
        client.ask(text)
        p.stdin.write("\n")
        p.stdin.flush()
    finish(p)
    client.close()
    states = [(label, iteration, state) for label, iteration, state, _ in table(folder)]
    assert sorted(states) == sorted((label, i, "disabled" if (label, i) == ("task_clock", 1) else "ok")
                                    for label in ("task_clock", "cpu_clock") for i in range(3)), states


def check_refused(folder):
    os.mkfifo(f"{folder}/fifo")
    os.symlink("fifo", f"{folder}/link")
    with open(f"{folder}/file", "w", encoding="ascii"):
        pass
    for how, said in (("file:x", "neither fifo"), ("fifo:", "neither fifo"), ("fifo:,x", "neither fifo"),
                      ("fifo:none", "No such file"), ("fifo:file", "not a FIFO"), ("fifo:link", "not a FIFO"),
                      ("fifo:/dev/null", "not a FIFO"), ("fifo:fifo,file", "not a FIFO"),
                      ("fd:x", "not a descriptor"), ("fd:999", "was not passed"), ("fd:-1", "not a descriptor")):
        done = run(CPUPERF, "-e", "task_clock", f"--control={how}", "--", "true", code=125, cwd=folder)
        assert said in done.stderr and done.stderr.count("error") == 1, (how, done.stderr)
    for fd in range(3, 12):  # cpuperf has pipes of its own by then
        done = run(CPUPERF, "-e", "task_clock", f"--control=fd:{fd}", "--", "true", code=125, cwd=folder)
        assert "was not passed" in done.stderr, (fd, done.stderr)
    assert "requires --control" in run(CPUPERF, "-e", "task_clock", "--delay=-1", "--", "true", code=125,
                                       cwd=folder).stderr
    assert "--control" in output(CPUPERF, "--help=all")


run_checks(globals())
