#!/usr/bin/env python3
"""Are tasks that are shorter than a clock's period sampled as long as they run? brief.c knows what its children used, which
end before a clock of their own would have a sample; of a command, and of a process that runs already.
"""
import csv
import io
import os
import re
import shutil
import subprocess
import sys

from kit import CPUPERF, PRINT, finish, need_programs, output, run, run_checks, start, wait_for, wait_until_measuring

HERE = os.path.dirname(os.path.abspath(__file__))
CLOCK = ["--short-tasks", "-e", "cpu_clock@997Hz"]  # in step with no tick of the kernel
NR = 500
OTHER_USER = 65534


def build(folder):
    run("cc", "-O1", "-pthread", "-o", f"{folder}/brief", f"{HERE}/brief.c")
    return f"{folder}/brief"


def sums(folder, column, first):
    """What the samples stand for, in ns: of the first task, and of all others. One that is about to be gone has no
    number."""
    text = output(PRINT, "--quiet", "--report=flat", f"--sort={column}", "--event=cpu_clock", "--output-format=csv", cwd=folder)
    rows = {int(r[column] or 0): int(r["self_count"]) for r in csv.DictReader(io.StringIO(text))}
    return rows.get(first, 0), sum(ns for task, ns in rows.items() if task != first)


def assert_true_to(found, text):
    """Each of a thousand turns begins and ends anywhere between two samples: a sum is off by 2 or 3 %."""
    known = [int(word) for word in text.split()]
    assert abs(sum(found) / sum(known) - 1) < 0.15, (found, known)
    assert abs(found[1] / sum(found) - known[1] / sum(known)) < 0.1, (found, known)


def pid_of_command(done):
    """The program says it: the numbers of its children may have begun anew with small ones."""
    return int(re.search(r"^pid (\d+)$", done.stderr, re.M)[1])


def check_processes(folder):
    """Counts are those of the tasks' own clocks, which begin with them."""
    done = run(CPUPERF, *CLOCK, "--", build(folder), str(NR), cwd=folder)
    assert_true_to(sums(folder, "pid", pid_of_command(done)), done.stdout)
    assert not re.search("% of the (expected|count)", done.stderr) and "Tasks that end" not in done.stderr, done.stderr
    text = output(PRINT, "--quiet", "--output-format=csv", cwd=folder)
    row = next(r for r in csv.DictReader(io.StringIO(text)) if r["cpu"] == "all")
    counted, weight = int(row["raw"]), int(row["weight"])
    assert row["state"] == "ok" and 0.5 < counted / weight < 1.15, row
    # of tasks that do nothing the kernel's count misses a third: what is selected is not judged by it
    done = run(CPUPERF, *CLOCK, "--", "sh", "-c", "for i in $(seq 1000); do (:); done", cwd=folder)
    assert "of the count" not in done.stderr and "of the count" not in done.stdout, done


def check_answer(folder):
    """Who asks only where the time of a command goes has them without the option."""
    done = run(CPUPERF, "--", build(folder), str(NR), cwd=folder)
    assert_true_to(sums(folder, "pid", pid_of_command(done)), done.stdout)
    assert "Tasks that end before" not in done.stderr, done.stderr


def check_answer_without_programs(folder):
    """Only who asked for them hears that they cannot be had."""
    without = ["setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin"]
    for options, is_said in (([], False), (["--short-tasks"], True)):
        done = run(*without, CPUPERF, *options, "--", "true", cwd=folder)
        assert ("short tasks have too few samples: " in done.stderr) == is_said, (options, done.stderr)


def check_runs(folder):
    """Each run has the children of its own."""
    done = run(CPUPERF, *CLOCK, "-r", "2", "--", build(folder), str(NR // 4), cwd=folder)
    used = [sum(map(int, line.split())) for line in done.stdout.splitlines() if line.replace(" ", "").isdigit()]
    text = output(PRINT, "--quiet", "--output-format=csv", cwd=folder)
    found = [int(r["weight"]) for r in csv.DictReader(io.StringIO(text)) if r["cpu"] == "all"]
    assert len(used) == len(found) == 2 and all(abs(f / u - 1) < 0.3 for f, u in zip(found, used)), (found, used)


def sample_running(folder, program, pid):
    """Samples the process, which works when the file go is there, and returns what the program printed."""
    os.mkdir(f"{folder}/of")
    with start(f"{folder}/of", *CLOCK, f"--pid={pid}") as session:
        wait_until_measuring(session, f"{folder}/of")
        with open(f"{folder}/go", "w", encoding="ascii"):
            pass
        out, _ = finish(program)
        finish(session)
    return out


def check_threads(folder):
    """Of a process that runs already, with the threads that it creates."""
    with start(folder, "-e", "page_faults", command=[build(folder), str(NR), f"{folder}/go"]) as program:
        wait_until_measuring(program, folder)
        with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as f:
            pid = int(f.read().split()[0])
        out = sample_running(folder, program, pid)
    assert_true_to(sums(f"{folder}/of", "tid", pid), out)


# argv: a file that says that the thread is there, one to wait for, and what the thread then executes
THREAD_EXECUTES = """import os, sys, threading, time
def execute():
    open(sys.argv[1], "w").close()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.001)
    os.execv(sys.argv[3], sys.argv[3:])
threading.Thread(target=execute).start()"""


def check_thread_executes(folder):
    """A thread that was there before executes a program: it takes the place of its process."""
    command = [sys.executable, "-c", THREAD_EXECUTES, f"{folder}/there", f"{folder}/go", build(folder), str(NR)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        wait_for(program, f"{folder}/there")
        out = sample_running(folder, program, program.pid)
    assert_true_to(sums(f"{folder}/of", "pid", program.pid), out)


def check_set_user_id(folder):
    """The kernel ends the events of a program that has more rights than its caller, but not the clocks of the CPUs."""
    program = build(folder)
    if os.statvfs(folder).f_flag & os.ST_NOSUID or [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]] < [5, 7]:
        print("skip: the set-user-ID bit is ignored here, or the kernel does not end the events", flush=True)
        return
    os.chown(program, OTHER_USER, OTHER_USER)
    os.chmod(program, 0o4755)
    done = run(CPUPERF, *CLOCK, "--", program, str(NR // 4), cwd=folder)
    assert re.search(r"\n  sampled, but not counted \(set-user-ID.*\(brief\)\n", done.stderr), done.stderr
    used, found = sum(map(int, done.stdout.split())), sum(sums(folder, "pid", None))
    assert abs(found / used - 1) < 0.3, (found, used)


def is_attached(descriptor):
    """Whether it is of an attached program; others come and go."""
    try:
        with open(descriptor, encoding="ascii") as f:
            return "link_type" in f.read()
    except FileNotFoundError:
        return False


def programs_of(folder, options, prefix=(), clock=CLOCK):
    """The programs that a session of this command attached, while it measures, and what it printed."""
    os.mkdir(folder)
    command = [*prefix, CPUPERF, *clock, *options, "--", "cat"]
    with subprocess.Popen(command, cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as session:
        wait_until_measuring(session, folder)
        fds = f"/proc/{session.pid}/fdinfo"
        nr = sum(is_attached(f"{fds}/{fd}") for fd in os.listdir(fds))
        _, err = finish(session)
    return nr, err


def check_loaded_once(folder):
    """Rings that are too large are opened anew with a smaller size; the programs stay."""
    nr, err = programs_of(f"{folder}/all", [], [])
    assert nr and "RLIMIT_MEMLOCK" not in err, (nr, err)
    again, err = programs_of(f"{folder}/less", ["--buffer-size-in-mb=64"],
                             ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"])
    assert "RLIMIT_MEMLOCK" in err and again == nr, (nr, again, err)


def check_one_object(folder):
    """What measures the waits of a command also selects its samples: nothing more is attached."""
    nr, _ = programs_of(f"{folder}/answer", [], clock=[])
    alone, _ = programs_of(f"{folder}/alone", ["--spec-file=program"], clock=[])
    assert nr == alone > 0, (nr, alone)


def check_who_samples(folder):
    """On each CPU a clock of the task that only counts, and one of the CPU: no task is interrupted twice."""
    if not shutil.which("strace"):
        print("skip: who samples: strace is not installed", flush=True)
        return
    run("strace", "-f", "-qq", "-s", "0", "-e", "trace=perf_event_open", "-o", f"{folder}/calls",
        CPUPERF, *CLOCK, "--", "true", cwd=folder)
    with open(f"{folder}/calls", encoding="utf-8") as f:
        clocks = [re.search(r"sample_(?:period|freq)=(\d+).*\}, (-?\d+), \d+, -1, ", line).groups()
                  for line in f if "SW_CPU_CLOCK" in line and "inherit=1" in line or "sample_freq=997" in line]
    of_tasks, of_cpus = [[int(rate) for rate, pid in clocks if (int(pid) < 0) == is_cpu] for is_cpu in (False, True)]
    assert of_cpus and len(of_tasks) == len(of_cpus) and set(of_tasks) == {0} and set(of_cpus) == {997}, clocks


def check_refused(folder):
    """It is of tasks: not of a machine or a control group; a spec has it, too."""
    for options in ([], ["--cgroup=/"]):
        done = run(CPUPERF, *CLOCK, "-d", "10ms", *options, code=1, cwd=folder)
        assert "--short-tasks requires a command, --pid or --comm" in done.stderr, done.stderr
    with open(f"{folder}/x.cpspec", "w", encoding="ascii") as f:
        f.write('{"target": {"cgroups": ["/"], "short_tasks": true}, "events": [{"group_name": "software", "event_name": "cpu_clock"}]}')
    done = run(CPUPERF, "--check-spec", "--spec-file=x.cpspec", code=None, cwd=folder)
    assert done.returncode and "target: short_tasks requires command, pids or comms" in done.stderr + done.stdout, done


if __name__ == "__main__":
    need_programs()
    run_checks(globals())
