#!/usr/bin/env python3
"""Functions live (cpuperf --top) in a real terminal (tmux): each key, sizes, shares that are known, what is left in
the files, and what is refused. CPUPERF, CPUPERF_PRINT and MIX name the programs. Software events only."""
import contextlib
import csv
import glob
import io
import os
import re
import shutil
import signal
import subprocess
import time

from kit import CPUPERF, PRINT, output, run, run_checks, skip, stride
from patience import PATIENCE_S
from terminal import Terminal, have_tmux

MIX = os.environ["MIX"]
SHARE = r" *([\d.]+) %(?: ± ([\d.]+))?"


@contextlib.contextmanager
def working(*args):
    """The program whose functions take 70, 20 and 10 of 100 turns."""
    with subprocess.Popen([MIX, *(args or ("ms", "600000"))], stdout=subprocess.DEVNULL) as mix:
        try:
            yield mix.pid
        finally:
            mix.kill()


def rows(text):
    """Function: shares of self and total, each with its half, of the first two columns."""
    found = {}
    for line in text.split("\n"):
        match = re.match(rf"^{SHARE}{SHARE}.* (\S+)$", line)
        if match:
            found.setdefault(match[5], tuple(float(x or 0) for x in match.groups()[:4]))
    return found


def seconds(text):
    """Since the start, as the first line says."""
    match = re.search(r"lost \d+  (\d+):(\d\d)", text)
    return 60 * int(match[1]) + int(match[2])


def wait_seconds(t, least):
    end = time.monotonic() + PATIENCE_S
    while seconds(text := t.text()) < least:
        assert time.monotonic() < end, text
        time.sleep(0.05)
    return t.still()


def flat(session, *options):
    out = output(PRINT, f"--session={session}", "--report=flat", "--output-format=csv", "--quiet=2", *options)
    return [row for row in csv.DictReader(io.StringIO(out)) if row["event"] == "cpu_clock"]


def check_process(folder):
    """Shares are known, and those of the report over the same iterations."""
    with working() as pid, Terminal([CPUPERF, "--top", f"--pid={pid}", f"--output={folder}/s"], 120, 120) as t:
        t.wait(r"work_a$")
        t.press("t", "t all")
        wait_seconds(t, 4)
        t.press("p", "PAUSED")
        text = t.still()
        shown, nr = rows(text), seconds(text)
        for name, share in (("work_a", 70), ("work_b", 20), ("work_c", 10)):
            # with what the kernel does in it: interrupts of a busy machine are there while it runs
            half = max(shown[name][3], 1)
            assert abs(shown[name][2] - share) < 3 * half, (name, text)
        assert shown["run"][2] > 95 > 5 > shown["run"][0], text
        assert re.search(r"lost 0 ", text), text
        t.keys("q")
        t.wait(r"^status 0\.", history=True)
    if re.search(r" read \d+ of the last 5 and ", text):
        print("not compared with the report: on a busy machine some iterations were not read", flush=True)
        return
    # an iteration lasts a little more or less than a second, on a busy machine more: the time is of about as many
    names = "work_a", "work_b", "work_c", "run"
    wanted = {n: (shown[n][0], shown[n][2]) for n in names}
    nr_stored = len(glob.glob(f"{folder}/s/*.0.cpuperf"))
    lasts = sorted(range(nr_stored), key=lambda last: abs(last - (nr - 1)))
    assert any(shares(f"{folder}/s", last, names) == wanted for last in lasts), (shown, nr, nr_stored)


def shares(session, last, names):
    """Self and total of functions in all iterations to the last one, as the report says them."""
    said = {row["function"]: row for row in flat(session, f"--iteration=0-{last}")}
    return {n: tuple(round(float(said[n][k]), 2) for k in ("self", "total")) for n in names}


def check_made_code(folder):
    """Code that a program makes at run time is called as in an answer."""
    with open(f"{folder}/made.c", "w", encoding="ascii") as f:
        f.write("""#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__
static const unsigned char code[] = {0xeb, 0xfe};
#else
static const unsigned char code[] = {0, 0, 0, 0x14};
#endif
int main(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, code, sizeof(code));
	__builtin___clear_cache((char *)p, (char *)p + sizeof(code));
	((void (*)(void))p)();
}
""")
    run(*os.environ.get("CC", "cc").split(), "-o", f"{folder}/made", f"{folder}/made.c")
    with subprocess.Popen([f"{folder}/made"]) as made:
        try:
            with Terminal([CPUPERF, "--top", f"--pid={made.pid}"], 120, 120) as t:
                t.wait(r"\[code without names\]$")
        finally:
            made.kill()


def check_keys(folder):
    with working("ms", "600000", "2") as pid, \
            Terminal(["sh", "-c", f"cd {folder} && exec {CPUPERF} --top --pid={pid} --output=s"], 120, 30) as t:
        text = t.wait(r"work_a$")
        assert re.search(r"^ cpu_clock 997 Hz  [\d,]+ samples/s  lost 0  \d+:\d\d", text), text
        assert f"  process {pid}  " in text, text  # what is measured
        assert re.search(r"^ (read .* · )?own [\d.]+ % of a CPU \(5 % in the long run\)", text, re.M), text
        t.press("?", r"Keys; any closes")
        t.press("x", r"Keys; any closes", absent=True)
        t.press("s", r"▼ total.*\n.* (main|_start|__libc\w+|thread|start_thread|clone3?|run|\[unknown\].*)$")
        t.press("s", r"▼ self.*\n.*work_a$")
        t.press("t", r"▼ self, all")
        t.press("t", r"▼ self, \d s")
        t.press("Home", r"work_a$")
        t.press("Enter", r"calls of a function")
        text = t.wait(r"caller +mix +run$")
        assert re.search(r"^ .*% +mix +work_a$", text, re.M), text
        t.press("Escape", r"calls of a function", absent=True)
        t.wait(r"work_a$")
        t.press("/", r"search: _")
        t.press("WORK_B", r"search: WORK_B_")
        t.wait(r"work_a$", absent=True)
        t.wait(r"work_b$")
        t.press("Enter", r"· search: WORK_B$")
        t.press("Escape", r"work_a$")
        t.press("v", r"v commands")
        t.wait(r"^ *[\d.]+ %.* mix$")
        t.press("v", r"v processes")
        t.wait(rf"mix \({pid}\)$")
        t.press("v", r"v threads")
        text = t.wait(rf"mix \({pid}/(?!{pid}\))\d+\)$")
        other = re.search(rf"mix \({pid}/((?!{pid}\))\d+)\)", text)[1]
        t.press("v", r"v functions")
        t.press("f", r"filter \(pid")
        t.keys(f"tid {other}", "Enter")
        t.wait(rf"· filter: tid {other}$")
        t.wait(r"work_a$")
        t.press("f", r"filter \(pid")
        t.keys("C-u", "pid 1", "Enter")
        t.wait(r"no sample passes the filter")
        t.press("f", r"filter \(pid")
        t.keys("C-u", "cpu x", "Enter")
        t.wait(r"cpu: .*$")
        t.wait(r"work_a$")
        t.press("v", r"v commands")
        t.press("v", r"v processes")
        t.wait(rf"mix \({pid}\)$")
        t.press("Enter", rf"· filter: pid {pid}$")
        t.wait(r"work_a$")
        t.press("Escape", r"filter:", absent=True)
        t.wait(r"work_a$")
        t.resize(120, 15)
        t.press("Home", r"work_a$")
        t.press("a", r"^ code of work_a, mix")
        t.wait(r"^ work_a \(mix\)")
        t.keys("Down")
        t.press("Down", r"^ cpu_clock: .* samples", absent=True)
        t.press("End", r"^ work_a \(mix\)", absent=True)
        t.press("Escape", r"code of", absent=True)
        t.press("e", r"one event is sampled")
        t.press("S", r"saved as .*\.txt")
        t.press("p", "PAUSED")
        t.press("p", "PAUSED", absent=True)
        t.press("C-l", r"work_a$")
        for width, height in ((60, 15), (300, 100), (80, 24), (20, 4)):
            t.resize(width, height)
            t.wait(r"work_a$" if width >= 60 else r"cpu_clock")
        t.keys("q")
        t.wait(r"^status 0\.", history=True)
    with open(glob.glob(f"{folder}/cpuperf-*.txt")[0], encoding="utf-8") as saved:
        assert "work_a" in saved.read()


def recorder_of(session):
    """Not one of its children that have its command line still: of those the numbers may be smaller."""
    out = subprocess.run(["pgrep", "-f", f"^{CPUPERF} .*{session}"], stdout=subprocess.PIPE, text=True,
                         check=False).stdout.split()
    for pid in out:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                if stat.read().rsplit(")", 1)[1].split()[1] not in out:
                    return int(pid)
    raise LookupError(session)


def check_ends(folder):
    """Each leaves a whole session, and the terminal as it was (status is shown only then)."""
    def interrupt(t):
        t.keys("C-c")
        t.wait(r"saved in")
        t.keys("echo status $?.", "Enter")

    ends = {"q": lambda t, s: t.keys("q"), "int": lambda t, s: interrupt(t),
            "term": lambda t, s: os.kill(recorder_of(s), signal.SIGTERM),
            "killed": lambda t, s: os.kill(int(screen_of(s)), signal.SIGKILL)}
    for name, end in stride(ends.items(), 2):
        with working() as pid, Terminal([CPUPERF, "--top", f"--pid={pid}", f"--output={folder}/{name}"], 100, 20,
                                           shell=name == "int") as t:
            t.wait(r"work_a$")
            t.wait(r"work_b$")  # which is rarer
            end(t, f"{folder}/{name}")
            text = t.wait(r"^status \d+\.", history=True)
            assert re.search(r"^status 0\.", text, re.M) and "not as it was" not in text, (name, text)
            assert "session ended; saved in" in text, (name, text)
        assert {row["function"] for row in flat(f"{folder}/{name}")} > {"work_a", "work_b"}, name
        assert "in progress" not in output(PRINT, f"--session={folder}/{name}")


def check_screen_killed(folder):
    """A session with an end goes on to it."""
    for nr in (8, 60):  # beside others the first rows may come late
        with working() as pid, Terminal([CPUPERF, "--top", f"--pid={pid}", "--duration=500ms", f"--num-iterations={nr}",
                                         f"--output={folder}/s"], 100, 20) as t:
            t.wait(r"work_a$|^status ")
            with contextlib.suppress(LookupError, ProcessLookupError, subprocess.CalledProcessError):  # it has ended
                os.kill(int(screen_of(f"{folder}/s")), signal.SIGKILL)
            text = t.wait(r"^status \d+\.", history=True)
        if "ended by signal 9" in text:
            break
    assert "ended by signal 9: the session is whole" in text and "status 0." in text, text
    rows_of = csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=summary", "--output-format=csv", "--each-iteration",
                                                f"--session={folder}/s")))
    assert {r["iteration"] for r in rows_of} >= {str(i) for i in range(nr)}


def check_machine(folder):
    """Nothing named: the machine. And a session that lasts as long as is said."""
    if os.geteuid() != 0:
        print("skip: machine: needs root", flush=True)
        return
    # what idle CPUs are in; a busy scheduler has other functions of that name
    idle = r"(?m)(halt| \w*(cpu|do|default|mwait|intel|acpi\w*)_idle|mwait\w*|cpuidle\w*|swapper\S*)$"
    with working() as pid, Terminal(["sh", "-c", f"cd {folder} && exec {CPUPERF} --top"], 100, 24) as t:
        os.setpriority(os.PRIO_PROCESS, pid, -20)  # on a busy machine it must be among the first, too
        t.wait(r"work_a$")
        rows_ = t.text()
        assert not re.search(idle, rows_), rows_
        t.press("f", r"filter \(pid")
        t.keys("mix", "Enter")
        t.wait(r"work_a$")
        t.keys("q")
        text = t.wait(r"^status 0\.", history=True)
    assert "session ended; --output=NAME saves one" in text and not os.listdir(folder), (text, os.listdir(folder))
    # also of events that are named
    with working() as pid, Terminal(["sh", "-c", f"cd {folder} && exec {CPUPERF} --top -e cpu_clock@1000Hz"], 100, 24) as t:
        os.setpriority(os.PRIO_PROCESS, pid, -20)
        t.wait(r"work_a$")
        rows_ = t.text()
        assert not re.search(idle, rows_), rows_
        t.keys("q")
        t.wait(r"^status 0\.", history=True)
    for seconds in (3, 15):  # beside others the first rows may come late
        with working(), Terminal([CPUPERF, "--top", "-F", "10000", f"--duration={seconds}s", f"--output={folder}/{seconds}"],
                                 100, 24) as t:
            is_shown = "cpu_clock 10,000 Hz" in t.wait(r"^ cpu_clock 10,000 Hz|^status ")
            text = t.wait(r"^status 0\.", history=True)
            assert re.search(rf"^{seconds} iterations", text, re.M), text
            assert re.search(r"^cpu_clock +[\d,]+ +0 ", text, re.M), text  # 0 lost
        if is_shown:
            return
    raise AssertionError("no rows within 15 s")


def check_default(folder):
    """On a terminal, samples of a process without an end are shown; where there is an end they are not."""
    with working() as pid:
        with Terminal([CPUPERF, "-F", "997", f"--pid={pid}", f"--output={folder}/a"], 100, 20) as t:
            t.wait(r"work_a$")
            t.keys("q")
            t.wait(r"^status 0\.", history=True)
        for more in (["--duration=1s"], ["--no-live", "--duration=100ms"]):
            with Terminal([CPUPERF, "-F", "997", f"--pid={pid}", *more, f"--output={folder}/b"], 100, 20) as t:
                assert "of a CPU (5 %" not in t.wait(r"^status 0\.", history=True)


def check_later(folder):
    """cpuperf_print --live of a session that has ended."""
    with working() as pid:
        subprocess.run([CPUPERF, "-F", "997", f"--pid={pid}", "--duration=200ms", "--num-iterations=3",
                        f"--output={folder}/s"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with Terminal([PRINT, "--live", f"{folder}/s"], 100, 20) as t:
        t.wait(r"work_a$")
        text = t.wait(r" ENDED$")
        said = {row["function"]: row for row in flat(f"{folder}/s")}
        # a share that is known within 10 % or worse has one digit; that of the report is rounded to two
        assert abs(rows(text)["work_a"][0] - float(said["work_a"]["self"])) < 0.0551, (text, said)
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def check_code_filtered(folder):
    """The samples of the code page are those of the filter."""
    other = f"{folder}/Other"
    shutil.copy(MIX, other)
    with working("ms", "600000", "2") as pid, subprocess.Popen([other, "ms", "600000"],
                                                             stdout=subprocess.DEVNULL) as second:
        subprocess.run([CPUPERF, "-F", "997", f"--pid={pid},{second.pid}", "--duration=300ms", "--num-iterations=3",
                        f"--output={folder}/s"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        second.kill()
    threads = {row["tid"]: int(row["self_samples"]) for row in flat(f"{folder}/s", "--sort=tid,function", "--comm=mix")
               if row["function"] == "work_a"}
    assert len(threads) == 2, threads
    tid = [t for t in threads if t != str(pid)][0]
    filters = [(f"tid {tid}", [f"--tid={tid}"]), (f"pid {second.pid}", [f"--pid={second.pid}"]),
               ("cpu 0 Other", ["--cpu=0", "--comm=Other"]), ("oTHer", ["--comm=Other"]),
               (f"pid {pid} tid {tid} mix", [f"--tid={tid}"])]
    with Terminal([PRINT, "--live", f"{folder}/s"], 120, 40) as t:
        t.wait(r"work_a$")
        for typed, options in stride(filters, 2):
            said = {row["function"]: int(row["self_samples"]) for row in flat(f"{folder}/s", *options)}
            if "work_a" not in said:
                continue  # this CPU was not used
            t.press("f", r"filter \(pid")
            t.keys("C-u", typed, "Enter")
            t.wait(rf"· filter: {typed}( ·|$)")
            t.press("/", r"search: ")
            t.keys("C-u", "work_a", "Enter")
            t.wait(r"work_a$")
            t.press("a", r"^ code of work_a")
            text = t.wait(r"^ work_a \(.*of cpu_clock, ([\d,]+) samples")
            shown = re.search(r"^ work_a \(.*of cpu_clock, ([\d,]+) samples", text, re.M)[1]
            assert int(shown.replace(",", "")) == said["work_a"], (typed, said, text)
            t.press("Escape", r"code of", absent=True)
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def times_of(pid):
    """CPU time of a process, and of its children that have ended, in ticks."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def wants_cpu(pid):
    """Whether one of its threads runs or waits for a CPU."""
    for path in glob.glob(f"/proc/{pid}/task/*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(path, encoding="utf-8") as stat:
            if stat.read().rsplit(")", 1)[1].split()[0] == "R":
                return True
    return False


def screen_of(session):
    return subprocess.run(["pgrep", "-P", str(recorder_of(session)), "-f", f"^{PRINT} "], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.split()[0]


@contextlib.contextmanager
def working_at_length(folder):
    """A program whose function has so many instructions that reading them takes more than all around it."""
    with open(f"{folder}/long.c", "w", encoding="ascii") as f:
        f.write(r"""
            __attribute__((noinline)) void work_a(void) { __asm__ volatile(".rept 100000\nnop\n.endr"); }
            int main(void) { for (;;) work_a(); }""")
    run(*os.environ.get("CC", "cc").split(), "-O1", f"{folder}/long.c", "-o", f"{folder}/long")
    with subprocess.Popen([f"{folder}/long"]) as p:
        try:
            yield p.pid
        finally:
            p.kill()


def check_code_is_charged(folder):
    """What the processes that read code used is paid back: meanwhile nothing is read. The screen says what is missing."""
    def recorded():
        return len(glob.glob(f"{folder}/s/*.0.cpuperf"))

    with working_at_length(folder) as pid, Terminal([CPUPERF, "--top", f"--pid={pid}", f"--output={folder}/s"], 100, 24) as t:
        t.wait(r"work_a$")
        screen, begin = screen_of(f"{folder}/s"), time.monotonic()
        # beyond what the credit grows by meanwhile
        while times_of(screen)[1] < (0.8 + 0.05 * (time.monotonic() - begin)) * os.sysconf("SC_CLK_TCK"):
            t.press("a", r"^ code of ")
            t.wait(r"^ \w+ \(.*\)")
            t.press("Escape", r"code of", absent=True)
        os.kill(pid, signal.SIGSTOP)  # it has shown what it has to
        read, end = seconds(t.still()), recorded() + 5
        while recorded() < end:
            time.sleep(0.1)
        # A step may have begun before the last page was read.
        assert seconds(t.text()) - read <= 2, (read, times_of(screen), t.text())
        # Then the newest are read, and what nobody sees as the last seconds is not.
        said = r"^ read ([1-5]) of the last 5 and (\d+) of all (\d+) iterations · own "
        end = time.monotonic() + PATIENCE_S
        while not (match := re.search(said, text := t.still(), re.M)):
            assert time.monotonic() < end, text
        assert int(match[2]) < int(match[3]) and int(match[2]) == seconds(text), text
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def check_budget(folder):
    """Whatever there is to read: of the CPU time that the kernel counted no more than the budget allows, what was
    lent at the start, and the step that was begun (which takes longer with sanitizers)."""
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(working("ms", "600000", "8")) for _ in range(3)]
        t = stack.enter_context(Terminal([CPUPERF, "--top", "-F", "10000", f"--pid={','.join(map(str, pids))}",
                                          f"--output={folder}/s"], 100, 24))
        t.wait(r"work_a$")
        screen = screen_of(f"{folder}/s")
        begin, first, last, burst, longest, has_rested = time.monotonic(), None, None, 0, 0, False
        while (passed := time.monotonic() - begin) < 12 or not has_rested:
            assert passed < 12 + PATIENCE_S, "a step has no end"
            ticks = times_of(screen)[0]
            first, last = (ticks, ticks) if last is None else (first, last)
            burst += ticks - last
            longest, last = max(longest, burst), ticks
            if not wants_cpu(screen):  # a step that was begun does, also where it has none beside a load
                burst, has_rested = 0, True
            time.sleep(0.2)
        used, passed = ((last - first) / os.sysconf("SC_CLK_TCK"), time.monotonic() - begin)
        assert used <= 0.75 + 0.05 * passed + longest / os.sysconf("SC_CLK_TCK"), (used, passed, longest, t.text())
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def check_hostile(folder):
    """A thread, a program and its functions may have any name."""
    name = f"{folder}/\033[2J\033]0;x\007%s"
    with open(MIX, "rb") as of, open(name, "wb") as out:
        out.write(of.read())
    os.chmod(name, 0o755)
    with subprocess.Popen([name, "ms", "600000"], stdout=subprocess.DEVNULL) as mix, \
            Terminal([CPUPERF, "--top", f"--pid={mix.pid}", f"--output={folder}/s"], 120, 20) as t:
        t.wait(r"work_a$")
        t.press("v", r"v commands")
        t.press("v", r"v processes")
        text = t.wait(rf"\?\[2J.*\({mix.pid}\)$")
        assert text.startswith(" cpu_clock"), text
        t.keys("q")
        mix.kill()
        t.wait(r"^status 0\.", history=True)


def check_refused(folder):
    counts = f"{folder}/counts"
    wrong = (
        (("--top",), 2, "--top: standard output is not a terminal"),
        (("--top", f"--output={counts}", "--event=page_faults"), 2, "no event is sampled"),
        (("--top", "--live"), 2, "mutually exclusive"),
        (("--top", "--output-format=csv"), 2, "excludes --output-format"),
        (("--top", "--flight-recorder=1s"), 2, "excludes runs, windows and a flight recorder"),
        (("--top", "--", "true"), 125, "--top excludes a command"))
    for args, status, message in stride(wrong, 3):
        done = subprocess.run([CPUPERF, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        assert done.returncode == status and message in done.stderr, (args, done)
    assert "cpuperf_print --report=flat" in subprocess.run(
        [CPUPERF, "--top"], cwd=folder, stderr=subprocess.PIPE, text=True, check=False).stderr


if not have_tmux():
    skip("there is no tmux")
run_checks(globals())
