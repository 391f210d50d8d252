#!/usr/bin/env python3
"""Whoever reads what cpuperf says may pause, for ever too: measuring goes on, all traces are there,
what is not printed is said, and a signal ends the program. CPUPERF and CPUPERF_PRINT name the
programs. No time is asserted: a session that waits for a reader fails by never making its files.
"""
import concurrent.futures
import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

from kit import may_sample
from patience import PATIENCE_S

CPUPERF, PRINT = os.environ["CPUPERF"], os.environ["CPUPERF_PRINT"]
NR_CPUS = os.sysconf("SC_NPROCESSORS_ONLN")
COUNTED = [{"group_name": "software", "event_name": "cpu_clock"},
           {"group_name": "misc", "event_name": "cpu_user"}]
SAMPLED = [{"group_name": "software", "event_name": "cpu_clock", "rate": 1000000,
            "flags": ["timebase"]}]
# A row of csv for each process and event: some iterations fill any queue.
MANY = [{"group_name": "misc", "event_name": f"process_{name}"}
        for name in ("cpu_time", "faults", "major_faults", "minor_faults", "rss", "run_delay", "shared",
                     "threads", "vms")]


def write_spec(folder, events, duration="100ms", **keys):
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump({"output_path_prefix": f"{folder}/t", "num_iterations": 8,
                   "session_result_spec_path": f"{folder}/s.cpsession", "events": events, **keys}, out)
    return [CPUPERF, f"--spec-file={folder}/s.cpspec", f"--duration={duration}"]


def full_pipe():
    """A pipe that takes nothing more, and what must be read before what is written next."""
    read, write = os.pipe()
    fill(write)
    return read, write


def fill(write):
    """Until nothing more is taken; what was given to a terminal goes on to where there is room."""
    os.set_blocking(write, False)
    nr = 1
    while nr:
        nr = 0
        try:
            while True:
                nr += os.write(write, b"." * 4096)
        except BlockingIOError:
            time.sleep(0.05)
    os.set_blocking(write, True)


def read_all(fd):
    with os.fdopen(fd, "rb") as f:
        return f.read().lstrip(b".").decode()


def wait_until(condition, p, what):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if p.poll() is not None or time.monotonic() > until:
            p.kill()
            raise AssertionError((what, p.wait()))
        time.sleep(0.02)


def last_trace(folder, iteration):
    return lambda: os.path.exists(f"{folder}/t.{iteration}.{NR_CPUS - 1}.cpuperf")


def show(folder):
    return subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--output-format=csv", "--quiet"],
                          capture_output=True, text=True, check=True).stdout


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def check_late_reader(folder):
    """All iterations are measured before anything is read, and then everything is printed."""
    spec = write_spec(folder, COUNTED)
    read, write = full_pipe()
    with subprocess.Popen([*spec, "--output-format=csv"], stdout=write,
                          stderr=subprocess.PIPE, text=True) as p:
        os.close(write)
        wait_until(last_trace(folder, 7), p, "measuring waits for a reader of stdout")
        text = read_all(read)
        error = p.stderr.read()
        assert p.wait() == 0, error
    assert "not printed" not in error, error
    assert text == show(folder), text


def check_one_order(folder):
    """Messages and tables in one pipe keep their order."""
    spec = write_spec(folder, COUNTED, duration="10ms", num_iterations=3)
    text = subprocess.run(spec, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True).stdout
    at = [text.index(part) for part in ("session starting", "Trace 0:", "\n3 iterations", "session ended")]
    assert at == sorted(at) and text.count("Trace 0:") == 3, text


def check_dropped(folder):
    """A queue that is full drops whole iterations, and says so where a program and a person look."""
    spec = write_spec(folder, MANY, duration="1ms", num_iterations=100000)
    read, write = full_pipe()
    with tempfile.TemporaryFile("w+") as log, \
         subprocess.Popen([*spec, "--output-format=csv", "--quiet"], stdout=write,
                          stderr=log) as p:
        os.close(write)

        def said():
            log.seek(0)
            return log.read()
        wait_until(lambda: "some are not printed" in said(), p, "nothing was dropped")
        time.sleep(0.3)  # for some more
        with concurrent.futures.ThreadPoolExecutor() as pool:
            reading = pool.submit(read_all, read)
            time.sleep(0.3)
            p.send_signal(signal.SIGTERM)
            text = reading.result()
        assert p.wait() == 0, said()
        error = said()
    cells = rows(text)
    gaps = [r for r in cells if (r["group"], r["event"]) == ("cpuperf", "iterations_not_printed")]
    printed = {int(r["iteration"]) for r in cells if r["group"] != "cpuperf"}
    missing = {int(g["iteration"]) + i for g in gaps for i in range(int(g["value"]))}
    with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
        done = json.load(f)["num_iterations"]
    assert gaps and all(g["state"] == "ok" and g["cpu"] == "all" and not g["trace"] for g in gaps), gaps
    assert not printed & missing and printed | missing == set(range(done)), (printed, missing, done)
    assert f"{len(missing)} of {done} iterations were not printed; the traces contain them" in error, error
    assert {int(r["iteration"]) for r in rows(show(folder))} == set(range(done))


def end_with(folder, number):
    spec = write_spec(folder, COUNTED, num_iterations=100)
    read, write = full_pipe()
    with subprocess.Popen(spec, stdout=write, stderr=subprocess.PIPE, text=True) as p:
        os.close(write)
        wait_until(last_trace(folder, 3), p, "measuring waits for a reader of stdout")
        p.send_signal(number)
        _, error = p.communicate(timeout=PATIENCE_S)
        assert p.returncode == 1, (p.returncode, error)
    os.close(read)
    done = len({r["iteration"] for r in rows(show(folder))})
    assert f"{done} of {done} iterations were not printed; the traces contain them" in error, error
    assert "standard output is not being read" in error, error


def check_signal(folder):
    """One TERM or INT ends it although nobody reads, and what was measured is whole."""
    for number in (signal.SIGTERM, signal.SIGINT):
        os.mkdir(f"{folder}/{number}")
        end_with(f"{folder}/{number}", number)


def check_signal_at_the_end(folder):
    """It waits for whoever may still read, until a signal comes."""
    spec = write_spec(folder, COUNTED, num_iterations=2)
    read, write = full_pipe()
    with subprocess.Popen(spec, stdout=write, stderr=subprocess.DEVNULL) as p:
        os.close(write)
        wait_until(last_trace(folder, 1), p, "measuring waits for a reader of stdout")
        time.sleep(0.5)
        assert p.poll() is None
        p.send_signal(signal.SIGTERM)
        assert p.wait(timeout=PATIENCE_S) == 1
    os.close(read)


def check_messages(folder):
    """Standard error that takes nothing holds nothing either; who reads late gets all of it."""
    spec = write_spec(folder, COUNTED)
    read, write = full_pipe()
    with subprocess.Popen(spec, stdout=subprocess.DEVNULL, stderr=write) as p:
        os.close(write)
        wait_until(last_trace(folder, 7), p, "measuring waits for a reader of stderr")
        text = read_all(read)
        assert p.wait() == 0, text
    assert "session starting" in text and "session ended" in text, text


def check_messages_and_signal(folder):
    spec = write_spec(folder, COUNTED)
    read, write = full_pipe()
    with subprocess.Popen([*spec, "--num-iterations=100"], stdout=subprocess.DEVNULL,
                          stderr=write) as p:
        os.close(write)
        wait_until(last_trace(folder, 3), p, "measuring waits for a reader of stderr")
        p.send_signal(signal.SIGTERM)
        assert p.wait(timeout=PATIENCE_S) == 0
    os.close(read)


def check_status_line(folder):
    """A terminal that takes nothing any more: the status line of a session that samples, and its end."""
    if not may_sample("status line"):
        return
    spec = write_spec(folder, SAMPLED, num_iterations=3, duration="2200ms")
    parent, child = pty.openpty()
    with subprocess.Popen(spec, stdout=subprocess.DEVNULL, stderr=child) as p:
        text = b""
        while b"samples/s" not in text:
            text += os.read(parent, 65536)
        fill(child)
        wait_until(last_trace(folder, 2), p, "measuring waits for a terminal")
        p.send_signal(signal.SIGTERM)
        p.wait(timeout=PATIENCE_S)
    os.close(child)
    os.close(parent)


def check_sampling(folder):
    """Rings are emptied while nobody reads: none overflows."""
    if not may_sample("sampling"):
        return
    spec = write_spec(folder, SAMPLED, num_iterations=10, duration="300ms")
    read, write = full_pipe()
    with subprocess.Popen([*spec, "--output-format=csv"], stdout=write, stderr=write) as p:
        os.close(write)
        wait_until(last_trace(folder, 9), p, "measuring waits for a reader")
        text = read_all(read)
        assert p.wait() == 0, text
    cells = [r for r in rows(show(folder)) if r["event"] == "cpu_clock"]
    assert {int(r["iteration"]) for r in cells} == set(range(10)), cells
    assert all(r["lost"] in ("", "0") for r in cells), cells


def main():
    for name, check in sorted(globals().items()):
        if not name.startswith("check_") or (sys.argv[1:] and name not in sys.argv[1:]):
            continue
        start_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="cpuperf-paused.") as folder:
            check(folder)
        print(f"{name}: ok, {time.monotonic() - start_s:.1f} s", flush=True)


main()
