#!/usr/bin/env python3
"""A real session, recorded and printed in every format. CPUPERF and CPUPERF_PRINT name the programs.

The recorder's CSV and NDJSON must be the printer's to the byte; the text table and the raw records
must hold the numbers of the CSV; what is missing, damaged or cannot be written must be said.
Uses software and misc events only: it runs on machines without a PMU.
"""
import csv
import io
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile

CPUPERF, PRINT = os.environ["CPUPERF"], os.environ["CPUPERF_PRINT"]
EVENTS = [("software", "cpu_clock"), ("software", "context_switches"), ("misc", "cpu_user"),
          ("misc", "memory_used"), ("misc", "page_faults")]


def run(*args, code=0, stdout=subprocess.PIPE):
    done = subprocess.run(args, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    return done


def show(folder, how, code=0, **more):
    return run(PRINT, f"--session={folder}/s.cpsession", f"--output-format={how}", code=code, **more)


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
                                 r"Event 0x([0-9a-f]+), (\d+))", line)
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
                     int(r["raw"])) for r in rows if r["raw"])
    assert sorted(found) == wanted, (found[:4], wanted[:4])


def check_text(folder, rows):
    out = show(folder, "text").stdout
    for row in rows:
        if row["kind"] != "share" and row["value"]:
            assert f"{int(row['value']):,}" in out, row
    assert "Config     check\n" in out and "All traces" in out or "Trace 1" not in out
    assert max(len(line) for line in out.splitlines() if line.startswith("  ")) <= 80


def check_log(folder):
    log = show(folder, "csv").stderr
    wanted = ["Config: check", r"3 iteration\(s\), \d+ trace\(s\)", f"Output path prefix: {folder}/t",
              r"\d+ records processed in \d+\.\d{3} seconds"]
    lines = [line.split("] ", 1)[1] for line in log.splitlines()]
    assert len(lines) == 4 and all(re.fullmatch(w, l) for w, l in zip(wanted, lines)), log
    session = f"--session={folder}/s.cpsession"
    assert run(PRINT, session, "--quiet").stderr == ""
    assert run(PRINT, session, f"--log-file={folder}/log").stderr == ""
    with open(f"{folder}/log", encoding="utf-8") as text:
        assert len(text.readlines()) == 4
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
            trace.write(b"\x55")
        done = show(other, "csv", code=1)
        assert "iteration 1 lacks trace 0" in done.stderr
        assert "t.2.0.cpuperf" in done.stderr
        assert set(done.stdout.splitlines()) <= set(before.splitlines())


def check_failures(folder):
    session = f"--session={folder}/s.cpsession"
    for args in ([], ["positional"], [session, "more"], [session, "--output-format=xml"],
                 [session, "--no-such-option"], ["--session"], [session, "--verbose=x"]):
        assert "error" in run(PRINT, *args, code=2).stderr, args
    for args in ([f"--session={folder}/none"], [f"--session={folder}"],
                 [f"--session={folder}/t.0.0.cpuperf"],
                 [session, f"--output-file={folder}/no/out"], [session, "--output-file=/dev/full"]):
        assert "error" in run(PRINT, *args, code=1).stderr, args
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert "No space left" in show(folder, "csv", code=1, stdout=full).stderr
    for how in ("text", "raw"):
        reader, writer = os.pipe()
        os.close(reader)
        assert "Broken pipe" in show(folder, how, code=1, stdout=writer).stderr
        os.close(writer)
    assert run(PRINT, "--version").stdout.startswith("cpuperf_print ")
    assert "--output-format" in run(PRINT, "--help").stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows = check_same(folder)
        check_raw(folder, rows)
        check_text(folder, rows)
        check_log(folder)
        check_moved(folder)
        check_failures(folder)
    print(f"print_formats: {len(rows)} cells agree in all formats")


main()
