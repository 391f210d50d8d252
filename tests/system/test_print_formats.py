#!/usr/bin/env python3
"""A real session, recorded and printed in every format. CPUPERF and CPUPERF_PRINT name the programs.

The recorder's CSV and NDJSON must be the printer's to the byte; the text table and the raw records
must hold the numbers of the CSV; what is missing, damaged or cannot be written must be said.
Uses software and misc events only: it runs on machines without a PMU.
"""
import csv
import fcntl
import io
import json
import math
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

from kit import CPUPERF, PRINT, may_sample, run
import sampled

EVENTS = [("software", "cpu_clock"), ("software", "context_switches"), ("misc", "cpu_user"),
          ("misc", "memory_used"), ("misc", "page_faults")]


def show(folder, how, code=0, **more):
    return run(PRINT, f"--session={folder}/s.cpsession", f"--output-format={how}", "--report=summary", "--each-iteration",
               code=code, **more)


def record(folder, how):
    spec = {"config_name": "check", "num_iterations": 3,
            "output_path_prefix": f"{folder}/t",
            "session_result_spec_path": f"{folder}/s.cpsession",
            "events": [{"group_name": g, "event_name": e, "label": f"{g}_{e}, \"x\""}
                       for g, e in EVENTS]}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return run(CPUPERF, f"--spec-file={folder}/s.cpspec", "--duration=20ms",
               f"--output-format={how}").stdout


def check_same(folder):
    for how in ("ndjson", "csv"):
        recorded = record(folder, how)
        assert recorded == show(folder, how).stdout, f"{how} differs"
    rows = list(csv.DictReader(io.StringIO(recorded)))
    objects = [json.loads(line) for line in show(folder, "ndjson").stdout.splitlines()]
    cells = [o for o in objects if "summary" not in o]
    assert len(objects) - len(cells) == len(EVENTS)
    assert len(cells) == len(rows)
    for cell, row in zip(cells, rows):
        for name, text in row.items():
            value = cell[name]
            assert (value is None and text == "") or \
                type(value)(text) == value, name
    return rows


def check_raw(folder, rows):
    out = show(folder, "raw").stdout
    assert out.startswith("\nIteration 0\n" + "=" * 14 + "\n\nTrace 0\n" + "-" * 8 + "\n")
    assert out.endswith("\n\n")
    found, place, last_time = [], None, 0
    for line in out.splitlines():
        if re.fullmatch(r"Iteration \d+", line):
            place = [int(line.split()[1]), None]
        elif re.fullmatch(r"Trace \d+", line):
            place[1] = int(line.split()[1])
            last_time = 0
        elif line and not set(line) <= set("=-"):
            match = re.fullmatch(r"([0-9a-f]{4,}): (?:Time: (\d+)|(Count|Value): "
                                 r"Event 0x([0-9a-f]+), (\d+)(?: of \d+)?)", line)
            assert match, line
            with open(f"{folder}/t.{place[0]}.{place[1]}.cpuperf", "rb") as trace:
                trace.seek(int(match[1], 16))
                reading = struct.unpack("<IIIIQQQQQ", trace.read(56))
            assert reading[2] == 1, line  # the state: a reading does stand there
            if match[2]:
                assert reading[4] == int(match[2])
                last_time = int(match[2])
                continue
            assert last_time, "a record before the time"
            if match[3] == "Value":
                assert reading[5] == int(match[5])
            found.append((place[0], place[1], match[3], reading[0], int(match[5])))
    labels = [f"{g}_{e}, \"x\"" for g, e in EVENTS]
    wanted = sorted((int(r["iteration"]), int(r["trace"]),
                     "Value" if r["kind"] == "value" else "Count", labels.index(r["label"]),
                     int(r["raw"])) for r in rows if r["raw"] and r["trace"])
    assert sorted(found) == wanted, (found[:4], wanted[:4])


def check_text(folder, rows):
    out = show(folder, "text").stdout
    for row in rows:
        if row["kind"] != "share" and row["value"]:
            assert f"{int(row['value']):,}" in out, row
    assert "Config     check\n" in out and "All traces" in out or "Trace 1" not in out
    assert max(len(line) for line in out.splitlines() if line.startswith("  ")) <= 80


def check_log(folder):
    assert re.fullmatch(r"cpuperf_print: \d+ records processed in \d+\.\d{3} seconds\n", show(folder, "csv").stderr)
    session = f"--session={folder}/s.cpsession"
    log = run(PRINT, session, "--verbose").stderr
    wanted = ["Config: check", r"3 iteration\(s\), \d+ trace\(s\)", f"Output path prefix: {folder}/t",
              r"\d+ records processed in \d+\.\d{3} seconds"]
    lines = [line.split("] ", 1)[1] for line in log.splitlines() if "main.c" in line]
    assert len(lines) == 4 and all(re.fullmatch(w, l) for w, l in zip(wanted, lines)), log
    assert run(PRINT, session, "--quiet").stderr == ""
    assert run(PRINT, session, "--verbose", f"--log-file={folder}/log").stderr == ""
    with open(f"{folder}/log", encoding="utf-8") as text:
        assert sum("main.c" in line for line in text) == 4
    run(PRINT, session, f"--output-file={folder}/out", "--output-format", "raw")
    with open(f"{folder}/out", encoding="utf-8") as text:
        assert text.read() == show(folder, "raw").stdout


def check_moved(folder):
    """A copy elsewhere prints the same: the folder in the prefix does not count."""
    before = show(folder, "csv").stdout
    with tempfile.TemporaryDirectory() as other:
        for name in os.listdir(folder):
            shutil.copy(f"{folder}/{name}", other)
        assert show(other, "csv").stdout == before
        os.remove(f"{other}/t.1.0.cpuperf")
        with open(f"{other}/t.2.0.cpuperf", "r+b") as trace:
            trace.seek(-300, os.SEEK_END)
            byte, = trace.read(1)
            trace.seek(-300, os.SEEK_END)
            trace.write(bytes([byte ^ 0x55]))
        done = show(other, "csv", code=1)
        assert "iteration 1 has no trace 0" in done.stderr
        assert "t.2.0.cpuperf" in done.stderr
        of_traces = {line for line in done.stdout.splitlines() if ",,all," not in line}
        assert of_traces <= set(before.splitlines()), of_traces - set(before.splitlines())


def check_failures(folder):
    session = f"--session={folder}/s.cpsession"
    for args in ([], [session, "--output-format=xml"],
                 [session, "--no-such-option"], ["--session"], [session, "--verbose=x"]):
        nowhere = {**os.environ, "XDG_STATE_HOME": folder}  # no last session
        assert "error" in run(PRINT, *args, code=2, env=nowhere).stderr, args
    for args in ([f"{folder}/none"], [session, "more"], [f"--session={folder}/none"], [f"--session={folder}"],
                 [f"--session={folder}/t.0.0.cpuperf"],
                 [session, f"--output-file={folder}/no/out"], [session, "--output-file=/dev/full"]):
        assert "error" in run(PRINT, *args, code=1).stderr, args
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert "No space left" in show(folder, "csv", code=1, stdout=full).stderr
    for how in ("text", "raw"):
        reader, writer = os.pipe()
        os.close(reader)
        assert "error" not in show(folder, how, stdout=writer).stderr  # who reads has read enough
        os.close(writer)
    assert run(PRINT, "--version").stdout.startswith("cpuperf_print ")
    assert "--output-format" in run(PRINT, "--help").stdout


def copy_of(folder, other):
    for name in os.listdir(folder):
        shutil.copy(f"{folder}/{name}", other)


def check_hostile(folder):
    """What a session file says does not steer the terminal."""
    with tempfile.TemporaryDirectory() as other:
        copy_of(folder, other)
        with open(f"{other}/s.cpsession", encoding="utf-8") as text:
            manifest = json.load(text)
        manifest["config_name"] = "a\x1b]0;owned\x07\x1b[2Jb\x9b31mc\nd"
        with open(f"{other}/s.cpsession", "w", encoding="utf-8") as out:
            json.dump(manifest, out)
        for how in ("text", "csv", "ndjson", "raw"):
            done = show(other, how)
            for text in (done.stdout, done.stderr):
                assert not re.search("[\0-\x09\x0b-\x1f\x7f\x80-\x9f]", text), (how, text)
        assert "Config     a?]0;owned??[2Jb??31mc?d\n" in show(other, "text").stdout


def check_output_file(folder):
    """What is read is not what is written; everything else may be."""
    with tempfile.TemporaryDirectory() as other:
        copy_of(folder, other)
        os.symlink(f"{other}/s.cpsession", f"{other}/link")
        os.link(f"{other}/t.1.0.cpuperf", f"{other}/hard")
        with open(f"{other}/foreign", "wb") as out:
            with open(f"{other}/t.0.0.cpuperf", "rb") as trace:
                out.write(trace.read(200))
        shutil.copy(f"{other}/s.cpsession", f"{other}/copy")
        with open(f"{other}/kallsyms", "w", encoding="ascii") as out:
            out.write("ffffffff81000000 T _text\n")
        before = {name: open(f"{other}/{name}", "rb").read() for name in os.listdir(other)}
        kallsyms = f"--kallsyms={other}/kallsyms"
        session = f"--session={other}/s.cpsession"
        for name, said in (("s.cpsession", "is a session file"), ("link", "is a symbolic link"),
                           ("copy", "is a session file"), ("kallsyms", "is an input file"),
                           ("t.2.0.cpuperf", "is a cpuperf trace"),
                           ("hard", "is a cpuperf trace"), ("foreign", "is a cpuperf trace")):
            done = run(PRINT, session, kallsyms, f"--output-file={other}/{name}", code=1)
            assert f"{other}/{name}: error: {said}" in done.stderr and done.stdout == "", done.stderr
        after = {name: open(f"{other}/{name}", "rb").read() for name in os.listdir(other)}
        assert before == after
        wanted = show(other, "raw").stdout
        with open(f"{other}/old", "w", encoding="utf-8") as out:
            out.write("x" * 1000000)
        for name in ("old", "new"):
            run(PRINT, session, f"--output-file={other}/{name}", "--output-format=raw")
            with open(f"{other}/{name}", encoding="utf-8") as text:
                assert text.read() == wanted
        assert run(PRINT, session, "--output-file=/dev/stdout",
                   "--output-format=raw").stdout == wanted
        os.mkfifo(f"{other}/fifo")
        with subprocess.Popen(["cat", f"{other}/fifo"], stdout=subprocess.PIPE, text=True) as cat:
            run(PRINT, session, f"--output-file={other}/fifo", "--output-format=raw")
            assert cat.communicate()[0] == wanted


def on_terminal(width, *args, stderr=None):
    """What is printed to a terminal of so many columns; stderr too, if it has no place of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    with subprocess.Popen(args, stdout=slave, stderr=stderr or slave) as p:
        os.close(slave)
        out = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        assert p.wait() == 0, p.stderr and p.stderr.read()
    os.close(master)
    return out.decode().replace("\r\n", "\n")


def check_terminal(folder):
    """The summary has the columns that fit on the terminal; a file and a pipe have all."""
    args = (PRINT, f"--session={folder}/s.cpsession", "--no-pager", "--report=summary", "--each-iteration")
    for width, last in ((300, "max"), (100, "max"), (80, "min"), (55, "mean")):
        summary = on_terminal(width, *args, stderr=subprocess.PIPE).split(", all traces\n")[1].splitlines()
        # 100 hold the counts of a small machine, and less holds those of an ordinary user
        assert summary[0].split()[-1] == last or width == 100 or width < 100 and not sampled.may_sample(), (width, summary[0])
        numbers = [line for line in summary if not line.startswith("    ")]
        assert all(len(line) <= width for line in numbers) or last == "mean", (width, numbers)
    wide = show(folder, "text").stdout
    assert wide.split(", all traces\n")[1].splitlines()[0].endswith("max")
    on_terminal(40, *args, f"--output-file={folder}/out", stderr=subprocess.PIPE)
    with open(f"{folder}/out", encoding="utf-8") as text:
        assert text.read() == wide


def record_cut(folder, how):
    """What a session prints that is ended in its third iteration or later, and how many it had."""
    with subprocess.Popen([CPUPERF, f"--spec-file={folder}/s.cpspec", "--duration=300ms", f"--output-format={how}"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        while not os.path.exists(f"{folder}/t.1.0.cpuperf"):
            assert p.poll() is None, p.stderr.read()
            time.sleep(0.005)
        time.sleep(0.03)
        p.send_signal(signal.SIGINT)
        recorded = p.communicate()[0]
    assert p.returncode == 0
    with open(f"{folder}/s.cpsession", encoding="utf-8") as text:
        return recorded, json.load(text)["num_iterations"]


def check_cut(folder):
    """A session that is ended in an iteration: both programs say so, and print the same."""
    with tempfile.TemporaryDirectory() as other:
        with open(f"{folder}/s.cpspec", encoding="utf-8") as text:
            spec = json.load(text)
        spec.update(num_iterations=100, output_path_prefix=f"{other}/t",
                    session_result_spec_path=f"{other}/s.cpsession")
        with open(f"{other}/s.cpspec", "w", encoding="utf-8") as out:
            json.dump(spec, out)
        for how in ("ndjson", "text"):
            for _ in range(5):  # again, if the iteration was due when the signal came
                for name in os.listdir(other):
                    if name != "s.cpspec":
                        os.remove(f"{other}/{name}")
                recorded, nr = record_cut(other, how)
                rows = list(csv.DictReader(io.StringIO(show(other, "csv").stdout)))
                if rows[-1]["cause"] == "end":
                    break
            shown = show(other, how).stdout
            assert nr >= 3, nr  # more, if this process had no CPU for long
            if how == "ndjson":
                assert recorded == shown
                objects = [json.loads(line) for line in shown.splitlines()]
                sums = [o for o in objects if "summary" in o]
                assert all(o["cut"] == 1 and o["iterations"] == nr for o in sums), (nr, sums)
                clock = sums[0]
                if sampled.may_sample():
                    each = [o["value"] for o in objects
                            if "summary" not in o and (o["label"], o["cpu"]) == (clock["label"], "all")]
                    assert len(each) == nr and clock["min"] == min(each[:-1]), (clock, each)
                    assert math.isclose(clock["mean"], sum(each[:-1]) / (nr - 1), rel_tol=1e-6), (clock, each)
                    assert math.isclose(clock["total"], sum(each), rel_tol=1e-6), (clock, each)
                else:
                    assert clock["mean"] is None, clock
            else:
                last = re.compile(rf"\n{nr} iterations, the last cut short after \S+ ms "
                                  r"\(in the totals only\), all traces\n.*", re.S)
                assert last.search(recorded)[0] == last.search(shown)[0]


SAMPLED = [{"group_name": "software", "event_name": "cpu_clock", "rate": 1000000,
            "flags": ["pc", "timebase"]},
           {"group_name": "software", "event_name": "page_faults", "rate": 10, "flags": ["pc"]},
           {"group_name": "software", "event_name": "task_clock", "frequency": 500,
            "flags": ["user"]},
           {"group_name": "misc", "event_name": "context_switches"},
           {"group_name": "misc", "event_name": "memory_used"}]
OF_SAMPLES = ["samples", "idle", "weight", "lost", "throttled", "expected", "coverage", "residual"]
OF_TICKS = ["ticks", "ticks_missed"]


def write_sampling(folder):
    spec = {"config_name": "sampled", "num_iterations": 2, "events": SAMPLED,
            "output_path_prefix": f"{folder}/t",
            "session_result_spec_path": f"{folder}/s.cpsession"}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return f"--spec-file={folder}/s.cpspec"


def sampled_rows(rows):
    """What the columns of samples say follows from the others."""
    rates = {e["event_name"]: e.get("rate", 0) for e in SAMPLED}
    rows = [r for r in rows if r["trace"]]
    for row in rows:
        if row["event"] in ("context_switches", "memory_used"):
            assert not any(row[name] for name in OF_SAMPLES), row
            assert bool(row["ticks"]) == bool(row["ticks_missed"]), row  # neither where it was held up all the time
            continue
        assert not any(row[name] for name in OF_TICKS), row
        samples, weight, rate = int(row["samples"]), int(row["weight"]), rates[row["event"]]
        assert not rate or weight == samples * rate, row
        assert int(row["residual"]) == int(row["raw"]) - weight, row
        assert int(row["idle"]) <= samples, row
        if row["event"] == "task_clock":  # of user alone: nothing is claimed
            assert row["expected"] == row["coverage"] == "", row
        elif row["event"] == "page_faults":
            expected = int(row["raw"]) // rate
            assert row["expected"] == str(expected)
            ratio = min(samples / expected, 1) if expected else None
            assert row["coverage"] == ("" if ratio is None else f"{int(ratio * 1e4 + 1e-9) / 1e4:.4f}"), row
        elif row["coverage"]:
            assert 0 <= float(row["coverage"]) <= 1, row
            assert int(row["expected"]) * rate <= int(row["running_ns"]), row
    assert any(int(row["ticks"] or 0) > 0 for row in rows), rows
    return [row for row in rows if row["samples"]]


def check_block(folder, recorded, rows, per_cpu):
    """The text has the sums of the CSV, in 80 columns, and of each CPU what is asked for."""
    blocks = re.findall(r"(?m)^event +samples .*\n((?:.*\n)+?)(?=\n| +\||$)", recorded)
    for i in range(2):
        lines = [line for line in blocks[i].splitlines()]
        for name in ("cpu_clock", "page_faults", "task_clock"):
            total = sum(int(r["samples"]) for r in rows
                        if r["event"] == name and r["iteration"] == str(i))
            found = [line.split() for line in lines if line.startswith(name + " ")]
            assert found and found[0][1] == f"{total:,}", (name, total, lines)
        of_cpus = [line for line in lines if line.startswith("  CPU ")]
        assert len(of_cpus) == (len([r for r in rows if r["iteration"] == str(i)]) if per_cpu else 0)
        assert all(len(line) <= 80 for line in lines), lines
        assert any(line.startswith("task_clock: no coverage") for line in lines), lines


def check_status(spec):
    """One line a second, on a terminal alone, gone before anything else is said."""
    args = (CPUPERF, spec, "--duration=1900ms")
    for width in (80, 30):
        said = on_terminal(width, *args)
        shown = re.findall(r"\r\x1b\[K([^\r\n]+)(?=\r\x1b\[K)", said)
        assert len(shown) >= 2, said
        for line in shown:
            full = re.fullmatch(r"[\d,]+ samples/s, [\d,]+ lost, [\d,]+\.\d MiB written, \d s left",
                                line)
            assert full if width == 80 else len(line) < 30, line
        left = re.sub(r"[^\n]*\r\x1b\[K", "", said)
        assert "samples/s" not in left and "session ended" in left, left
    assert "\x1b" not in on_terminal(80, *args, "--num-iterations=1", "--quiet")
    assert "\x1b" not in run(*args, "--num-iterations=1").stderr


def check_plan(spec):
    plan = run(CPUPERF, spec, "--check-spec", "--strict").stdout
    for line in ("sampling, 5 event(s)", "  sampled    each 1,000,000 ns: 1,000 times a second\n",
                 "  sampled    each time it has counted 10\n", "  sampled    500 times a second",
                 "  a sample   has the time, process and thread; the program counter\n",
                 "  timebase   events without a rate are read at its pace\n",
                 "  read       at the pace of the timebase, software:cpu_clock\n",
                 "  coverage   unknown: the count includes what the flags exclude from samples"):
        assert line in plan, (line, plan)
    assert plan.count("  timebase  ") == 1 and plan.count("  coverage  ") == 1


def check_sampling():
    """A session that samples: both programs print the same of it, and it adds up."""
    with tempfile.TemporaryDirectory() as folder:
        spec = write_sampling(folder)
        with subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"]) as busy:
            cpu = min(os.sched_getaffinity(0))
            os.sched_setaffinity(busy.pid, [cpu])
            try:
                for how in ("ndjson", "csv"):
                    recorded = run(CPUPERF, spec, "--duration=300ms", f"--output-format={how}").stdout
                    assert recorded == show(folder, how).stdout, f"{how} differs"
                rows = list(csv.DictReader(io.StringIO(recorded)))
                assert list(rows[0])[-len(OF_SAMPLES + OF_TICKS) - 1:] == [*OF_SAMPLES, *OF_TICKS, "cause"]
                clocks = [r for r in rows if r["event"] == "cpu_clock" and r["cpu"] == str(cpu)]
                assert len(clocks) == 2 and all(int(r["samples"]) and r["coverage"] for r in clocks)
                check_block(folder, show(folder, "text").stdout, sampled_rows(rows), True)
                text = run(CPUPERF, spec, "--duration=300ms").stdout
                rows = sampled_rows(list(csv.DictReader(io.StringIO(show(folder, "csv").stdout))))
                check_block(folder, text, rows, False)
                assert text.split("\n2 iterations,")[1] == \
                    show(folder, "text").stdout.split("\n2 iterations,")[1]
                assert "cpu_clock|" not in text and "context_switches|" in text
                check_status(spec)
            finally:
                busy.kill()
        check_plan(spec)


THINGS = [{"group_name": "misc", "event_name": "process_cpu_time"},
          {"group_name": "misc", "event_name": "forks"},
          {"group_name": "misc", "event_name": "process_rss", "pids": ["name:cpuperf", 1]},
          {"group_name": "misc", "event_name": "disk_read_bytes", "devices": ["all"]},
          {"group_name": "misc", "event_name": "process_cpu_time", "label": "none",
           "pids": ["name:no-such-program"]}]


def check_adds_up(rows):
    """The things of each event, those with a number, come to what the event has."""
    events = {}
    for row in rows:
        assert (row["trace"], row["cpu"]) == ("0", "all"), row
        events.setdefault((row["iteration"], row["label"]), []).append(row)
    assert not any(label == "none" for _, label in events)
    for (_, label), of_it in events.items():
        whole = [int(r["value"]) for r in of_it if not r["thing"]]
        parts = [int(r["value"]) for r in of_it if r["thing"] and r["state"] == "ok"]
        assert len(whole) == 1, of_it
        assert (not parts) == (label == "forks") and (not parts or whole[0] == sum(parts)), of_it
    return {label for _, label in events}


def check_things():
    """Processes that come and go, and disks: both programs print the same of them."""
    with tempfile.TemporaryDirectory() as folder:
        spec = {"config_name": "things", "num_iterations": 4, "events": THINGS,
                "output_path_prefix": f"{folder}/t",
                "session_result_spec_path": f"{folder}/s.cpsession"}
        with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
            json.dump(spec, out)
        come_and_go = "while :; do sleep 0.07; done"
        with subprocess.Popen(["sh", "-c", come_and_go]) as shell:
            try:
                for how in ("ndjson", "csv"):
                    recorded = run(CPUPERF, f"--spec-file={folder}/s.cpspec", "--duration=100ms",
                                   f"--output-format={how}").stdout
                    assert recorded == show(folder, how).stdout, f"{how} differs"
            finally:
                shell.kill()
        rows = list(csv.DictReader(io.StringIO(recorded)))
        assert list(rows[0])[0] == "thing"
        assert check_adds_up(rows) >= {"process_cpu_time", "forks", "process_rss"}
        there = {frozenset(r["thing"] for r in rows if r["event"] == "process_cpu_time" and
                           r["iteration"] == str(i)) for i in range(4)}
        assert len(there) > 1, there
        text = show(folder, "text").stdout
        assert text.count("\nprocess  ") == 4, text
        text = run(PRINT, f"--session={folder}/s.cpsession", "--report=summary", "--each-iteration", "--top=0").stdout
        assert any(line.startswith(f"{shell.pid} sh ") for line in text.splitlines())
        assert max(len(line) for line in text.splitlines() if " cpuperf " in line) <= 80
        raw = show(folder, "raw").stdout
        assert raw.count("Iteration ") == 4


def main():
    if may_sample("sampling"):
        check_sampling()
    check_things()
    with tempfile.TemporaryDirectory() as folder:
        rows = check_same(folder)
        check_raw(folder, rows)
        check_text(folder, rows)
        check_log(folder)
        check_moved(folder)
        check_failures(folder)
        check_hostile(folder)
        check_output_file(folder)
        check_terminal(folder)
        check_cut(folder)
    print(f"print_formats: {len(rows)} cells agree in all formats")


main()
