#!/usr/bin/env python3
"""The dashboard in a real terminal (tmux): each key, three sizes, resizing, ^Z, ^S, a terminal that
goes away, colours and none; the replay; and plain output where there is no terminal. CPUPERF and
CPUPERF_PRINT name the programs. Software and misc events: no PMU needed.
"""
import csv
import fcntl
import glob
import io
import json
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time

from kit import may_sample, programs_missing
from patience import PATIENCE_S
from terminal import Terminal, have_tmux

CPUPERF, PRINT = os.environ["CPUPERF"], os.environ["CPUPERF_PRINT"]

EVENTS = [("software", "cpu_clock"), ("software", "context_switches"),
          ("software", "page_faults"), ("fixed", "instructions_retired"),
          ("misc", "cpu_utilization"), ("misc", "memory_available"), ("misc", "process_cpu_time")]
METRICS = [{"name": "busy_part", "expr": "{cpu_utilization} / 100", "warn_above": -1}]


def write_spec(folder, events=EVENTS, metrics=METRICS, **more):
    spec = {"config_name": "watched", "duration": 1, "num_iterations": 10000,
            "events": [{"group_name": g, "event_name": e} for g, e in events], "metrics": metrics,
            "output_path_prefix": f"{folder}/t",
            "session_result_spec_path": f"{folder}/s.cpsession", **more}
    path = f"{folder}/s.cpspec"
    with open(path, "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return f"--spec-file={path}"


def iterations(folder):
    """How many the manifest counts: while the session runs, one of them is in progress."""
    try:
        with open(f"{folder}/s.cpsession", encoding="utf-8") as text:
            return json.load(text)["num_iterations"]
    except FileNotFoundError:
        return 0


def check_whole(folder, at_least=1):
    """What the session left is whole: the manifest says how much, and all of it can be read."""
    nr = iterations(folder)
    assert nr >= at_least, nr
    done = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--output-format=csv"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader(io.StringIO(done.stdout))
    assert {int(row["iteration"]) for row in rows} == set(range(nr)), nr
    assert not glob.glob(f"{folder}/.*.tmp"), os.listdir(folder)


def wait_until(what, why):
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.02)


def shown_iteration(text):
    return int(re.search(r"iteration (\d+)", text)[1])


def check_keys(folder):
    """Each key by what it does; quit at last."""
    spec = write_spec(folder)
    os.mkdir(f"{folder}/cwd")
    with Terminal(["sh", "-c", f"cd {folder}/cwd && exec {CPUPERF} {spec} --duration=100ms"], 120,
                  36) as t:
        text = t.wait(r"iteration ([3-9]|\d\d)")
        assert re.search(r"^ watched  iteration \d+  \d+ of 10000  \[.*left \d+:\d\d", text), text
        assert re.search(r"CPUs? .*lost 0  \d+ warning", text), text
        for word in ("cpu_clock", "not measured: ", "memory_available", "process", "busy_part"):
            assert word in text, (word, text)
        assert re.search(r"^all .*\d!", text, re.M), text  # busy_part is beyond its limit
        assert "▁" in text or "█" in text
        t.press("?", r"Keys; any closes")
        t.press("x", r"Keys; any closes", absent=True)
        t.press("F1", r"Keys; any closes")
        t.press("q", r"Keys; any closes", absent=True)
        t.press("Home", r"^ all · software:cpu_clock")  # at first one with a value is selected
        t.press("l", r"^ all · software:context_switches")
        assert not re.search(r"^ process .*[▲▼]", t.text(), re.M)
        t.keys("Tab", "h")  # to the processes: the arrows and s are theirs, until Tab leads back
        text = t.press("s", r"^ process .*▼")
        assert re.search(r"^ all · software:context_switches", text, re.M), text
        t.press("s", r"^ process .*▲")
        t.press("s", r"^ process .*[▲▼]", absent=True)
        t.press("Tab", r"^ the machine · misc:memory_available")
        t.keys("Tab")
        t.press("Right", r"^ all · software:page_faults")
        t.press("Left", r"^ all · software:context_switches")
        t.press("h", r"^ all · software:cpu_clock")
        t.press("End", r"^ all · metric:busy_part")
        t.press("Home", r"^ all · software:cpu_clock")
        t.press("j", r"^ CPU 0 · software:cpu_clock")
        t.press("k", r"^ all · ")
        t.press("Down", r"^ CPU 0 · ")
        t.press("Up", r"^ all · ")
        t.press("NPage", r"^ CPU \d+ · ")
        t.press("PPage", r"^ all · ")
        t.press("r", r"r counts")
        t.press("r", r"r rates/s")
        t.press("l", r"context_switches")
        t.press("s", r"▼ *context_swi")
        t.press("s", r"▲ *context_swi")
        t.press("s", r"[▲▼] *context_swi", absent=True)
        t.press("t", r"v total")
        t.press("t", r"v CPUs")
        t.press("v", r"v total")
        t.press("v", r"v (packages|NUMA nodes|core types|CPUs)")
        while (view := re.search(r"v (\w+( \w+)?)", t.text().split("\n")[-2])[1]) != "CPUs":
            t.press("v", f"v {view}", absent=True)
        t.press("c", r"^ +\S.*│", absent=True)
        t.press("c", r"^ +\S.*│")
        t.press("d", r"no baseline yet")
        t.press("b", r"^ baseline \d+-\d+: ")
        t.wait(r"^all +.*\d%")
        t.press("d", r"^all +.*\d%", absent=True)
        t.press("f", r"^0 ")
        t.press("w", r"Warnings; any key")
        t.press("w", r"Warnings; any key", absent=True)
        text = t.press("p", r"PAUSED")
        before, files = shown_iteration(text), iterations(folder)
        wait_until(lambda: iterations(folder) > files + 4, "measuring stands still when paused")
        assert shown_iteration(t.text()) == before
        t.press("p", r"PAUSED", absent=True)
        t.wait(rf"iteration ({before + 4}|{before + 5}|\d*[1-9]\d\d?)\b")
        t.press("S", r"saved as /.*/cpuperf-\d+-\d+.*\.txt")
        t.keys("C-l", "C-\\")  # which ends nothing
        check_mouse(t)
        t.keys("q")
        text = t.wait(r"^status \d+\.", history=True)
        assert "status 0." in text, text
        for word in ("all traces", "mean", "dev %", "warning: busy_part: above -1", "stopped after"):
            assert word in text, (word, text)
        assert "Keys" not in text and "PAUSED" not in text, text
    saved = glob.glob(f"{folder}/cwd/cpuperf-*.txt")
    assert len(saved) == 1 and stat.S_IMODE(os.stat(saved[0]).st_mode) == 0o600, saved
    with open(saved[0], encoding="utf-8") as text:
        assert text.read().startswith(" watched  iteration "), saved
    check_whole(folder)


def check_mouse(t):
    """On a title: sorts; on a cell: selects; the wheel: lines."""
    lines = t.text().split("\n")
    y = next(i for i, line in enumerate(lines) if line.startswith("CPU "))
    x = lines[y].index("page_faults")
    t.tmux("send-keys", "-l", mouse(0, x + 2, y))
    t.wait(r"▼ *page_faults")
    t.tmux("send-keys", "-l", mouse(0, x + 2, y + 3))
    t.wait(r"^ CPU \d+ · software:page_faults")
    t.tmux("send-keys", "-l", mouse(64, x + 2, y + 3))
    t.wait(r"^ all · software:page_faults")
    t.tmux("send-keys", "-l", mouse(65, x + 2, y + 3))
    t.wait(r"^ CPU \d+ · software:page_faults")


def mouse(button, x, y):
    """As terminals tell it (X10): pressed, and for a button released."""
    at = f"{chr(33 + x)}{chr(33 + y)}"
    return f"\033[M{chr(32 + button)}{at}" + (f"\033[M#{at}" if button < 3 else "")


def check_sizes(folder):
    """Three sizes, and from one to the other while it runs."""
    spec = write_spec(folder)
    with Terminal([CPUPERF, spec, "--duration=100ms"], 80, 24) as t:
        t.wait(r"iteration ([1-9]|\d\d)")
        for width, height in ((80, 24), (300, 100), (120, 40), (20, 5), (80, 24)):
            t.resize(width, height)
            want = f"^ q quit.{{{min(width, 60) - 8}}}"
            wait_until(lambda w=width, h=height, p=want: fits(t.text(), w, h, p),
                       f"{width}×{height}: never drawn:\n{t.text()}")
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def fits(text, width, height, pattern):
    lines = text.rstrip("\n").split("\n")
    return len(lines) == height and max(len(line) for line in lines) <= width and \
        re.search(r"^ q quit", lines[-1]) and (width < 80 or re.search("elapsed", lines[0])) and \
        (width < 300 or "busy_part" in text) and pattern


def check_suspended(folder):
    """^Z gives the terminal back, fg takes it again, ^C ends the session."""
    spec = write_spec(folder)
    with Terminal([CPUPERF, spec, "--duration=100ms"], 100, 30, shell=True) as t:
        t.wait(r"iteration ([1-9]|\d\d)")
        t.keys("C-z")
        t.wait(r"Stopped .*cpuperf")
        t.keys("sleep 0.5; echo shown $((40 + 2))", "Enter")  # its terminal is as it was
        t.wait(r"^shown 42")
        assert "q quit" not in t.text()
        files = iterations(folder)
        t.keys("fg", "Enter")
        text = t.wait(r"iteration \d+ ")
        assert re.search(r"^ q quit", text, re.M), text
        wait_until(lambda: iterations(folder) > files + 2, "it does not go on")
        t.keys("w")
        t.wait(r"was held up")
        t.keys("C-c")
        t.wait(r"all traces")
        t.keys("echo status $?", "Enter")
        t.wait(r"^status 0")
    check_whole(folder)


def check_background(folder):
    """In the background nobody looks on: no dashboard, no SIGTTOU."""
    spec = write_spec(folder)
    with Terminal([CPUPERF, spec, "--duration=50ms", "--num-iterations=3"], 100, 30,
                  shell=True) as t:
        t.wait(r"3 iterations, all traces", history=True)
        t.keys(f"clear; {CPUPERF} {spec} --duration=50ms --num-iterations=4 &", "Enter")
        text = t.wait(r"4 iterations, all traces", history=True)
        assert "Trace 0:" in text, text
    check_whole(folder, 4)


def child_of(t):
    return int(subprocess.run(["pgrep", "-P", str(t.pid()), "cpuperf"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout)


def check_hung_up(folder):
    """The terminal goes away: the session ends, its files are whole."""
    spec = write_spec(folder)
    with Terminal([CPUPERF, spec, "--duration=100ms", "--num-iterations=100"], shell=True) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        pid = child_of(t)
        t.tmux("kill-pane")
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "it does not end")
    check_whole(folder, 3)


def check_blocked(folder):
    """^S: measuring goes on, and the session ends although nothing can be written."""
    spec = write_spec(folder)
    with Terminal([CPUPERF, spec, "--duration=50ms"]) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.keys("C-s")
        files = iterations(folder)
        wait_until(lambda: iterations(folder) > files + 10, "a held terminal holds the measuring")
        text = t.text()
        wait_until(lambda: iterations(folder) > files + 40, "a held terminal holds the measuring")
        assert shown_iteration(t.text()) == shown_iteration(text)
        held = iterations(folder) - files
        t.keys("C-q")
        wait_until(lambda: shown_iteration(t.text()) >= files + 40, "the screen stands still")
        text = t.text()
        missed = re.search(r"(\d+) not in the history", text)  # some, where there is no CPU for it
        assert not missed or int(missed[1]) < held / 2, (held, text)
        t.keys("C-s")
        os.kill(child_of(t), signal.SIGINT)
        text = t.wait(r"^status 0\.", history=True)  # and the terminal is let go
        assert "all traces" in text, text
    check_whole(folder, 20)


def check_stalled(folder):
    """A terminal that takes nothing at all, as over a connection that hangs."""
    spec = write_spec(folder)
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 300, 0, 0))
    with subprocess.Popen([CPUPERF, spec, "--duration=50ms"], stdin=child, stdout=child,
                          stderr=child, env={**os.environ, "TERM": "xterm"}) as p:
        try:
            wait_until(lambda: iterations(folder) > 30, "a stalled terminal holds the measuring")
            p.send_signal(signal.SIGTERM)
            assert p.wait(timeout=600) == 1
        finally:
            p.kill()
    os.close(parent)
    os.close(child)
    check_whole(folder, 20)


def check_colors(folder):
    """256 colours, 8, none; ASCII where the locale has no UTF-8; no screen on a dumb terminal."""
    spec = write_spec(folder)
    for term, env, has, lacks in (
            ("tmux-256color", {}, r"\033\[[0-9;]*38;5;\d", None),
            ("screen", {}, r"\033\[[0-9;]*3[1-6]m", r"38;5;"),
            # where ncurses loads libgpm, which forgets a name when it goes
            ("tmux-256color", {"TERM": "linux", "ASAN_OPTIONS": "detect_leaks=0"},
             r"\033\[[0-9;]*3[1-6]m", r"38;5;"),
            ("tmux-256color", {"NO_COLOR": "1"}, r"\033\[[0-9;]*7m", r"\033\[[0-9;]*(3[0-7]|38;)"),
            ("tmux-256color", {"LC_ALL": "C"}, r"\[[#.]+\]", r"[^\x00-\x7f]")):
        with Terminal([CPUPERF, spec, "--duration=100ms"], 120, 24, env, term=term) as t:
            text = t.wait(r"iteration ([1-9]|\d\d)", colors=True)
            assert re.search(has, text), (term, env, text)
            assert not lacks or not re.search(lacks, text), (term, env, text)
            t.keys("q")
            t.wait(r"^status 0\.", history=True)
    with Terminal([CPUPERF, spec, "--duration=20ms", "--num-iterations=2"],
                  env={"TERM": "dumb"}) as t:
        text = t.wait(r"^status 0\.", history=True)
        assert "Trace 0:" in text and "2 iterations, all traces" in text, text
    with Terminal([CPUPERF, spec, "--live"], env={"TERM": "dumb"}) as t:
        t.wait(r"TERM=dumb")
        t.wait(r"^status 1\.")


def check_target(folder):
    """Running processes, by iteration; a command, while its only iteration lasts; then the answer."""
    waits = f"while [ ! -e {folder}/stop ]; do sleep 0.05; done; exit 3"
    events = "--event=task_clock"
    ran = subprocess.Popen(["sh", "-c", waits])
    try:
        with Terminal([CPUPERF, "--live", f"--pid={ran.pid}", events, "--duration=50ms",
                       "--num-iterations=100000", f"--output={folder}/pid"], 120, 30) as t:
            t.wait(r"^all +\d")
            t.keys("q")
            t.wait(r"^status 0\.", history=True)
        with Terminal([PRINT, f"{folder}/pid", "--live"], 120, 30) as t:
            t.wait(r"REPLAY")
            t.wait(r"^all +\d")
            t.keys("q")
            t.wait(r"^status 0\.", history=True)
        with Terminal([CPUPERF, "--live", events, f"--output={folder}/quit",
                       f"--pid={ran.pid}"], 120, 30) as t:
            t.wait(r"iteration \d+  elapsed")
            t.keys("q")
            text = t.wait(r"^status 0\.", history=True)
            assert "ended after" not in text and re.search(r"task_clock +\d", text), text
        with Terminal([CPUPERF, "--live", f"--output={folder}/command", "--",
                       "sh", "-c", waits], 120, 30) as t:
            t.wait(r"iteration [1-9]\d*  elapsed")
            t.wait(r"^all +")
            with open(f"{folder}/stop", "w", encoding="utf-8"):
                pass
            text = t.wait(r"^status 3\.", history=True)
            assert "exit 3" in text and f"Saved in {folder}/command" in text, text
    finally:
        ran.kill()
        ran.wait()
    with open(f"{folder}/command/cpuperf.cpsession", encoding="utf-8") as manifest:
        assert json.load(manifest)["num_iterations"] == 1


MARKED = r"""
#include <cpuperf/mark.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct timespec t = {.tv_nsec = 10000000};
	CPUPERF_BEGIN("whole");
	while (access(argv[argc - 1], F_OK)) {
		CPUPERF_BEGIN("tick");
		nanosleep(&t, 0);
		CPUPERF_END;
	}
	CPUPERF_END;
}
"""


def is_tick(text):
    tick = re.search(r"^ tick +([\d.]+) +(\d\d[\d.]*) % +(\d\d+\.\d+ ms|\d+\.\d+ s)", text, re.M)
    return tick and 0 < float(tick[1]) <= 101 and float(tick[2]) <= 101


def check_regions(folder):
    """Regions of a command and of a process while they run, also one that is open all the time."""
    with open(f"{folder}/m.c", "w", encoding="ascii") as f:
        f.write(MARKED)
    subprocess.run(["cc", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/m", f"{folder}/m.c"], check=True)
    may_sample = subprocess.run([CPUPERF, "--quiet", "-e", "cpu_clock@99Hz", "-o", f"{folder}/try", "--", "true"], check=False,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    if not may_sample:
        print("skip: regions: sampling is not permitted", flush=True)
        return
    ran = subprocess.Popen([f"{folder}/m", f"{folder}/never"])
    events = "--event=cpu_clock@99Hz,task_clock"
    try:
        for name, target in (("c", ["--", f"{folder}/m", f"{folder}/end"]),
                             ("p", ["--duration=500ms", "--num-iterations=100000", f"--pid={ran.pid}"])):
            with Terminal([CPUPERF, "--live", "--regions", events, f"--output={folder}/{name}-regions", *target], 120, 30) as t:
                # the open one: all of the time; calls of 10 ms, less than 100 a second
                # beside others each call may take longer, and a look at marks be late: then another screen has this
                wait_until(lambda t=t: is_tick(t.text()), "ticks of 10 ms are never shown")
                if name == "c":
                    t.wait(r"^ whole +0 +(9\d|10\d|110)(\.\d+)? % +open")
                t.keys("q")
                if name == "c":
                    with open(f"{folder}/end", "w", encoding="utf-8"):
                        pass
                t.wait(r"^status 0\.", history=True)
    finally:
        ran.kill()
        ran.wait()


def check_latencies(folder):
    """The latencies of a command while it runs: of the last second, not all."""
    os.mkfifo(f"{folder}/fifo")
    missing = programs_missing()
    if missing:
        print("skip: latencies:", missing, flush=True)
        return
    # calls until they are seen, then none: a line that goes
    script = f"while [ ! -e {folder}/seen ]; do sleep 0.02; done; touch {folder}/slept; read line < {folder}/fifo; true"
    with Terminal([CPUPERF, "--live", "--event=latency:syscall.clock_nanosleep,task_clock",
                   f"--output={folder}/l", "--", "sh", "-c", script], 120, 30) as t:
        t.wait(r"clock_nanosleep .*ms")
        with open(f"{folder}/seen", "w", encoding="utf-8"):
            pass
        wait_until(lambda: os.path.exists(f"{folder}/slept"), "the sleeps end")
        wait_until(lambda: not re.search(r"clock_nanosleep .*ms", t.text()), "none in the last second")
        with open(f"{folder}/fifo", "w", encoding="utf-8"):
            pass
        t.wait(r"^status 0\.", history=True)


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def check_no_terminal(folder):
    """Byte by byte what it was: of a number that does not change, what is expected is known."""
    spec = write_spec(folder, [("misc", "memory_total")], [], num_iterations=2, duration=0)
    with open("/proc/meminfo", encoding="utf-8") as text:
        total = int(re.search(r"MemTotal: +(\d+)", text.read())[1]) * 1024
    nr_cpus = os.cpu_count()
    env = {**os.environ, "TERM": "xterm-256color"}
    plain = subprocess.run([CPUPERF, spec, "--quiet"], stdout=subprocess.PIPE, env=env,
                           check=True).stdout.decode()
    if nr_cpus <= 10 and 1e9 <= total < 9.9995e14:
        power = next(p for p in (9, 12) if total < 9.9995 * 10 ** (p + 2))
        digits = total / 10 ** power
        shown = f"{digits:.{3 if digits < 9.9995 else 2 if digits < 99.995 else 1}f} " + \
            {9: "GB", 12: "TB"}[power]
        table = "          |memory_total\n" + "".join(
            f"Trace {i}:  |{shown if i == 0 else '':>{12 if i == 0 else 0}}\n"
            for i in range(nr_cpus))
        assert plain.startswith(2 * table + "\n2 iterations, all traces\n"), (plain, table)
    assert plain == run(CPUPERF, spec, "--quiet", "--no-live").stdout.decode()
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([CPUPERF, spec, "--quiet"], stdout=out, check=True)
        out.seek(0)
        assert out.read().decode() == plain


def check_refused(folder):
    spec = write_spec(folder)
    sampled = f"{folder}/sampled.cpspec"
    with open(sampled, "w", encoding="utf-8") as out:
        json.dump({"events": [{"group_name": "software", "event_name": "cpu_clock",
                               "rate": 1000000}]}, out)
    session = f"--session={folder}/s.cpsession"
    subprocess.run([CPUPERF, spec, "--num-iterations=1", "--duration=10ms"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for args, message in (
            ((CPUPERF, spec, "--live"), "--live: standard output is not a terminal"),
            ((CPUPERF, spec, "--live", "--no-live"), "mutually exclusive"),
            ((CPUPERF, spec, "--live", "--output-format=csv"), "--live excludes --output-format=csv"),
            ((CPUPERF, f"--spec-file={sampled}", "--live"), "this spec samples"),
            ((PRINT, session, "--live"), "requires a terminal on standard output"),
            ((PRINT, session, "--live", "--report=series"), "excludes --report"),
            ((PRINT, session, session, "--live"), "one session"),
            ((PRINT, session, "--live", "--cpu=0"), "excludes --cpu"),
            ((PRINT, session, "--live", "--comm=x"), "excludes --cpu")):
        done = run(*args)
        assert done.returncode == 2 and message in done.stderr.decode(), (args, done)
    done = run(CPUPERF, "--live", "--", "true")
    assert done.returncode == 125 and b"standard error is not a terminal" in done.stderr, done


def check_replay(folder):
    """Forwards and backwards; what is shown is what the recorder printed."""
    spec = write_spec(folder, num_iterations=15)
    subprocess.run([CPUPERF, spec, "--duration=30ms"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    os.truncate(f"{folder}/t.7.0.cpuperf", os.path.getsize(f"{folder}/t.7.0.cpuperf") // 2)
    text = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--output-format=csv"],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    row = next(row for row in csv.DictReader(io.StringIO(text))
               if (row["iteration"], row["trace"], row["event"]) == ("1", "0", "context_switches"))
    shown = f"{int(row['raw']):,}" if row["raw"] else row["state"]
    with Terminal([PRINT, f"--session={folder}/s.cpsession", "--live"], 120, 36) as t:
        t.wait(r"iteration 0  1 of 15 .*REPLAY")
        for key, iteration in ((".", 1), (".", 2), (",", 1), (">", 11), ("<", 1), ("G", 14),
                               (".", 14), ("g", 0), ("]", 1), ("[", 0), (".", 1)):
            t.press(key, rf"iteration {iteration}  {iteration + 1} of 15")
        t.keys("Home", "l", "j")
        t.wait(rf"^ CPU 0 · software:context_switches · {shown}( |$)")
        t.press("w", r"t\.7\.0\.cpuperf")
        t.press("w", r"Warnings", absent=True)
        if os.path.exists("/sys/devices/system/cpu/cpu0/topology/physical_package_id"):
            t.press("v", r"v total")
            text = t.press("v", r"v packages")
            assert re.search(r"^package \d+ ", text, re.M), text
        t.keys("space")
        t.wait(r"PLAYING")
        t.wait(r"iteration 14  15 of 15 .*REPLAY")
        t.keys("q")
        text = t.wait(r"^status 1\.", history=True)  # something could not be read
        assert "t.7.0.cpuperf" in text, text


def check_long_replay(folder):
    """More iterations than the history keeps: what is around the one shown is read anew."""
    spec = write_spec(folder, num_iterations=700, events=[("misc", "memory_available")],
                      metrics=[{"name": "available", "expr": "{memory_available} / 1e9"}])
    subprocess.run([CPUPERF, spec, "--duration=1ms"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with Terminal([PRINT, f"--session={folder}/s.cpsession", "--live"], 120, 36) as t:
        t.wait(r"n 600\b")
        t.press("G", r"iteration 699  700 of 700")
        t.wait(r"n 700\b")
        warnings = re.search(r"(\d+) warnings?", t.text())[1]
        t.press("g", r"iteration 0  1 of 700")
        t.press(">", r"iteration 10  11 of 700")
        t.wait(r"n 600\b")
        assert re.search(r"^ .*[│≈] .*[⠁-⣿]{6}$", t.text(), re.M), t.text()
        assert re.search(r"(\d+) warnings?", t.text())[1] == warnings, "told twice"


def main():
    if not have_tmux():
        print("skip: no tmux here (scripts/deps test installs it)")
        return 77
    for check in (check_keys, check_sizes, check_suspended, check_background, check_hung_up,
                  check_blocked, check_stalled, check_colors, check_no_terminal, check_refused,
                  check_replay, check_long_replay, check_target, check_regions, check_latencies):
        if check in (check_keys, check_replay) and not may_sample(f"{check.__name__}, on events of whole CPUs"):
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            check(folder)
        print(f"{check.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
