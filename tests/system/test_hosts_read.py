#!/usr/bin/env python3
"""The folder of a job: sessions of several hosts or ranks, added up and compared. Recorded here, one
after the other, with a host.json each. CPUPERF and CPUPERF_PRINT name the programs, SOURCE_DIR the
tree.
"""
import collections
import csv
import glob
import io
import json
import os
import shutil
import subprocess

from kit import CPUPERF, PRINT, may_count_faults, on_terminal, output, run, run_checks
from sampled import machine

LOOP = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]
# what names a row, and what adds up
ROWS = {
    "flat": (("event", "object", "function"), ("self_samples", "self_count", "total_count")),
    "calls": (("event", "caller", "caller_object", "callee", "callee_object"), ("samples", "count")),
    "stacks": (("event", "stack"), ("samples", "count")),
    "threads": (("event", "pid", "tid", "comm"), ("self_samples", "self_count")),
    "waits": (("event", "pid", "tid", "state", "reason"), ("self_samples", "self_count")),
}


def describe(job, folder, host, **keys):
    os.makedirs(f"{job}/{folder}", exist_ok=True)
    with open(f"{job}/{folder}/host.json", "w", encoding="utf-8") as out:
        json.dump({"version": 1, "host": host, "status": "ok", **keys}, out)


def record(job, folder, host, *options, command=LOOP, **keys):
    os.makedirs(job, exist_ok=True)
    run(CPUPERF, "--quiet", *options, "-o", f"{job}/{folder}", "--", *command)
    describe(job, folder, host, **keys)


def make_job(job, hosts=("n1", "n2"), **keys):
    for host in hosts:
        record(job, host, host, node=f"{host}.lan", **keys)


def rows_of(*args, **how):
    return list(csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--output-format=csv", *args, **how))))


def sums_of(rows, names, numbers):
    out = collections.defaultdict(lambda: [0] * len(numbers))
    for row in rows:
        sums = out[tuple(row[n] for n in names)]
        for i, n in enumerate(numbers):
            sums[i] += int(row[n] or 0)
    return dict(out)


def check_sums(folder):
    """The merged numbers are the sums of the parts' own."""
    make_job("j")
    for report, (names, numbers) in ROWS.items():
        merged = sums_of(rows_of("j", f"--report={report}"), names, numbers)
        parts = [row for host in ("n1", "n2") for row in rows_of(f"j/{host}", f"--report={report}")]
        assert merged and merged == sums_of(parts, names, numbers), report
    for report in ("tree", "callers"):
        merged = [r for r in rows_of("j", f"--report={report}") if r["depth"] == "0"]
        parts = [r for host in ("n1", "n2") for r in rows_of(f"j/{host}", f"--report={report}")
                 if r["depth"] == "0"]
        key = (("event", "object", "function"), ("total_samples", "total_count"))
        assert merged and sums_of(merged, *key) == sums_of(parts, *key), report
    # the folded stacks, and the summary's rows: those of each part
    lines = collections.Counter()
    for host in ("n1", "n2"):
        for line in output(PRINT, "--quiet", f"j/{host}", "--output-format=folded").splitlines():
            stack, nr = line.rsplit(" ", 1)
            lines[stack] += int(nr)
    merged = dict(line.rsplit(" ", 1) for line in
                  output(PRINT, "--quiet", "j", "--output-format=folded").splitlines())
    assert {k: int(v) for k, v in merged.items()} == lines
    rows = rows_of("j", "--report=summary")
    assert {r["host"] for r in rows} == {"n1", "n2"}
    for host in ("n1", "n2"):
        own = rows_of(f"j/{host}", "--report=summary")
        assert [r["value"] for r in rows if r["host"] == host] == [r["value"] for r in own]
    # the sum in text
    text = output(PRINT, "--quiet", "j", "--report=summary")
    if may_count_faults("the sum of page faults"):
        faults = sum(int(r["value"]) for r in rows if r["label"] == "page_faults" and r["value"])
        line = next(line for line in text.splitlines() if line.startswith("page_faults"))
        assert line.split()[1].replace(",", "") == str(faults), (line, faults)
    assert "Sum of 2 parts" in text


def check_columns(folder):
    """host and rank as fields, filters, and a job found as the last session."""
    for rank in range(4):
        record("j", f"n{rank // 2}.{rank}", f"n{rank // 2}", rank=rank)
    rows = rows_of("j", "--report=flat", "--sort=host,rank")
    assert {(r["host"], r["rank"]) for r in rows} == {("n0", "0"), ("n0", "1"), ("n1", "2"), ("n1", "3")}
    all_rows = rows_of("j", "--report=flat", "--event=cpu_clock", "--by-host")
    assert {r["host"] for r in all_rows} == {"n0", "n1"}
    names, numbers = ROWS["flat"]
    for host in ("n0", "n1"):
        of_host = sums_of([r for r in all_rows if r["host"] == host], names, numbers)
        filtered = rows_of("j", "--report=flat", "--event=cpu_clock", f"--host={host}")
        assert of_host == sums_of(filtered, names, numbers)
    for args, ranks in (("--rank=1-2",), {"1", "2"}), (("--host=n1", "--rank=0-2"), {"2"}):
        rows = rows_of("j", "--report=flat", "--sort=rank", *args)
        assert {r["rank"] for r in rows} == ranks, rows
    refused = run(PRINT, "--quiet", "j", "--host=x*", code=1)
    assert "--host and --rank select nothing" in refused.stderr
    # the ranks of a host are one: stacks of each host one after the other
    text = output(PRINT, "--quiet", "j", "--by-host", "--report=tree")
    assert text.count("\nn1:\n") == 1 and "n0:\n" in text and "rank" not in text
    text, _ = on_terminal(160, PRINT, "--quiet", "--no-pager", "j", "--by-host", "--report=flat",
                          "--event=cpu_clock")
    header = next(line for line in text.splitlines() if "function" in line)
    assert header.replace("\033[1m", "").split()[:2] == ["n0", "n1"], header
    rows = [json.loads(line) for line in
            output(PRINT, "--quiet", "j", "--report=summary", "--output-format=ndjson").splitlines()]
    assert {(r["host"], r["rank"]) for r in rows} == {("n0", 0), ("n0", 1), ("n1", 2), ("n1", 3)}


def check_faults(folder):
    """What failed, is late or partial is named with the reason; the rest is whole."""
    make_job("j", ("a", "b"))
    whole = rows_of("j", "--report=flat")
    describe("j", "c", "c", status="failed", reason="ssh: connection refused")
    describe("j", "d", "d", status="ok")  # without a session
    record("j", "e", "e", status="late", reason="began 3 s after the others")
    os.mkdir("j/none")
    done = run(PRINT, "--quiet", "j", "--report=flat", code=1)
    assert "4 of 6 parts are not whole" in done.stdout.splitlines()[0], done.stdout
    for text in ("c: failed: ssh: connection refused", "d: failed: ",
                 "e: late: began 3 s after the others", "none: failed: host.json: it is missing: the folder is empty"):
        assert f"  {text}" in done.stdout, (text, done.stdout)
    done = run(PRINT, "--quiet", "j", "--report=flat", "--output-format=csv", "--host=[abc]")
    assert list(csv.DictReader(io.StringIO(done.stdout))) == whole
    assert "c: failed: ssh: connection refused" in done.stderr and "late" not in done.stderr
    shutil.rmtree("j/d")
    run(PRINT, "--quiet", "j", "--report=flat", code=1)  # of an empty folder nobody said that it failed
    os.rmdir("j/none")
    run(PRINT, "--quiet", "j", "--report=flat")
    # a part twice would count twice
    shutil.copytree("j/a", "j/f")
    assert "same session" in run(PRINT, "--quiet", "j", "--report=flat", code=1).stderr
    for name in ("a", "b", "e", "f"):
        shutil.rmtree(f"j/{name}")
    assert "no part of the job can be read: ssh" in run(PRINT, "--quiet", "j", code=1).stderr


def damage(job, host, nr_bytes=None):
    """Zeros in the headers of its traces, or only their first bytes."""
    for name in os.listdir(f"{job}/{host}"):
        if name.startswith("cpuperf.0."):
            with open(f"{job}/{host}/{name}", "r+b") as f:
                f.seek(40)
                f.write(bytes(20))
                f.truncate(nr_bytes or os.fstat(f.fileno()).st_size)


def check_damaged(folder):
    """A part of which nothing can be read is named with the reason, and the others are printed; one of which
    something can is not whole in sums."""
    for host in "n1", "n2", "n3":
        record("j", host, host, "-e", "task_clock,page_faults")
    shutil.copytree("j", "two", ignore=shutil.ignore_patterns("n3"))
    whole = rows_of("two", "--report=summary")
    shutil.copytree("j", "cut")
    damage("j", "n3")
    damage("cut", "n3", 30)
    for job, why in ("j", "the header of this trace is damaged"), ("cut", "the trace is truncated: 30 of the "):
        done = run(PRINT, job, code=1)
        assert f"{job}: 1 of 3 parts is not whole:\n  n3: failed: cpuperf.0." in done.stdout and why in done.stdout, done
        assert "Sum of 2 parts, by" in done.stdout and f"{job}/n3/cpuperf.0.0.cpuperf: error: {why}" in done.stderr, done
        done = run(PRINT, "--quiet", job, "--report=summary", "--output-format=csv", code=1)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert [{**row, "session": ""} for row in rows] == [{**row, "session": ""} for row in whole], rows
        assert f"{job}: warning: n3: failed: cpuperf.0." in done.stderr, done.stderr
        shutil.rmtree(f"{job}/n1")
        shutil.rmtree(f"{job}/n2")
        assert "no part of the job can be read: cpuperf.0." in run(PRINT, job, code=1).stderr
    os.mkdir("partly")
    record("partly", "n1", "n1", "-e", "task_clock")
    run(CPUPERF, "--quiet", "-e", "task_clock", "-d", "50ms", "-n", "2", "-o", "partly/n2", *machine())
    describe("partly", "n2", "n2")
    damage("partly", "n2")
    done = run(PRINT, "partly", code=1)
    row = next(line for line in done.stdout.splitlines() if line.startswith("n2 "))
    assert " partial " in row and "Sum of 2 parts, 1 of which is partial, by" in done.stdout, done.stdout
    # a folder of sessions is no job
    os.unlink("partly/n2/host.json")
    done = run(PRINT, "partly", code=1)  # nobody said that it failed: data is left out
    assert "1 of 2 parts is not whole" in done.stdout and "n2: failed: host.json: it is missing" in done.stdout, done
    os.unlink("partly/n1/host.json")
    assert "part" not in run(PRINT, "--quiet", "partly", code=1).stdout


def check_partial(folder):
    """The times of a part of which iterations are missing are not those of its work: they are shown, and not compared."""
    os.mkdir("j")
    for host in (f"n{i}" for i in range(6)):
        run(CPUPERF, "--quiet", "-e", "task_clock", "-d", "50ms", "-n", "6", "-o", f"j/{host}", *machine())
        describe("j", host, host)
    for i in range(1, 6):
        for path in glob.glob(f"j/n3/cpuperf.{i}.*.cpuperf"):
            os.unlink(path)
    done = run(PRINT, "j", "--report=hosts", code=1)
    assert "n3 differs beyond chance: wall" not in done.stdout and "; most: n3" not in done.stdout, done.stdout
    assert "1 of 6 hosts began late or is not whole: times are compared without it" in done.stdout, done.stdout
    assert "j/n3: error: no traces of iteration 1-5 (of 0-5)" in done.stderr, done.stderr


def check_other_events(folder):
    """Parts of different events are not added up: which one, and what prints them."""
    for host, event in ("a", "page_faults"), ("b", "task_clock"):
        record("j", host, host, "-e", event)
    done = run(PRINT, "j", "--report=hosts", code=1)
    assert "j/b/cpuperf.cpsession: error: measured other events than j/a/" in done.stderr and "--by-host" in done.stderr, done
    assert "task_clock" in output(PRINT, "--quiet", "j", "--report=summary", "--by-host")


def check_missing_samples(folder):
    """Of one host of a job, they are said with its name."""
    record("j", "a", "a", "-e", "cpu_clock@997Hz")
    crash = ["sh", "-c", LOOP[2] + "; kill -SEGV $$"]
    run(CPUPERF, "--quiet", "-e", "cpu_clock@997Hz", "--flight-recorder=2s", "-o", "j/b", "--", *crash, code=139)
    describe("j", "b", "b")
    done = run(PRINT, "j", "--host=b", "--report=flat", "--output-format=csv")
    said = [line for line in done.stderr.splitlines() if ": samples: " in line]
    assert len(said) == 1 and "warning: b: cpu_clock: samples: of the last " in said[0], done.stderr


def check_outliers(folder):
    """A host that does three times the work of seven others; three hosts are too few."""
    for i in range(8):
        spins = 60000 if i == 5 else 20000
        record("j", f"h{i}", f"h{i}", "-e", "task_clock", command=[*LOOP[:2], LOOP[2].replace("20000", str(spins))])
    rows = rows_of("j", "--report=hosts")
    for option in "--by-host", "--by-session":  # it compares them, and does not print them apart
        for report in "hosts", "imbalance", "heat":
            what = "--quiet", "j", f"--report={report}"
            assert output(PRINT, *what, option) == output(PRINT, *what), (option, report)
    cpu = {r["host"]: r for r in rows if r["quantity"] == "cpu_ns"}
    assert len(cpu) == 8 and max(cpu, key=lambda h: float(cpu[h]["z"])) == "h5", cpu
    assert all(float(r["p"]) <= float(r["adjusted"]) <= 1 for r in rows)
    for row in rows:
        assert (row["differs"] == "true") == (float(row["adjusted"]) < 0.05)
    text = output(PRINT, "--quiet", "j", "--report=hosts")
    assert "8 hosts" in text and "most: h5" in text, text
    few = output(PRINT, "--quiet", "j", "--host=h[012]", "--report=hosts")
    assert "3 hosts differs beyond chance cannot be told" in few, few
    assert all(r["p"] == "" and r["differs"] == "false" for r in rows_of("j", "--host=h[012]", "--report=hosts"))
    # the imbalance by hand
    own = [float(r["value"]) for r in cpu.values()]
    row = next(r for r in rows_of("j", "--report=imbalance") if r["name"] == "CPU")
    mean = sum(own) / 8
    assert row["slowest_host"] == "h5"
    assert abs(float(row["over_percent"]) - 100 * (max(own) / mean - 1)) < 1e-3, (row, own)
    assert abs(float(row["idle_percent"]) - 100 * (max(own) - mean) / max(own)) < 1e-3, (row, own)


def check_regions(folder):
    """Times of regions, added up and compared."""
    program = f"{folder}/regions"
    run("cc", "-O1", "-g", f"-I{os.environ['SOURCE_DIR']}/include", "-pthread", "-o", program,
        f"{os.path.dirname(os.path.abspath(__file__))}/regions_shown.c")
    for i in range(3):
        record("j", f"h{i}", f"h{i}", "--regions", "-e", "task_clock", command=[program])
    lines = {r["name"]: r for r in rows_of("j", "--report=imbalance") if r["kind"] == "region"}
    parts = [{r["path"]: r for r in rows_of(f"j/h{i}", "--report=regions") if r["kind"] == "region"}
             for i in range(3)]
    assert lines
    for name, row in lines.items():
        times = [int(p[name]["wall_ns"]) if name in p else 0 for p in parts]
        assert int(row["max_ns"]) == max(times) and row["slowest_host"] == f"h{times.index(max(times))}"
        assert abs(int(row["mean_ns"]) - sum(times) / 3) <= 1, (row, times)
        assert int(row["calls"]) == sum(int(p[name]["calls"]) for p in parts if name in p)


def check_heat(folder):
    """The amounts over time are those counted, by the clock of who started it."""
    make_job("j", ("a", "b"), clock_offset_ns=0)
    cells = rows_of("j", "--report=heat", "--event=task_clock")
    assert {r["host"] for r in cells} == {"a", "b"} and len(cells) == 200
    for host in ("a", "b"):
        # alone, so that all of each cell is measured
        cells = rows_of("j", "--report=heat", "--event=task_clock", f"--host={host}")
        amount = sum(float(r["value"]) / 100 * int(r["span_ns"]) for r in cells)
        own = rows_of(f"j/{host}", "--report=summary")
        counted = next(int(r["value"]) for r in own if r["label"] == "task_clock" and r["cpu"] == "all")
        assert abs(amount / counted - 1) < 1e-3, (amount, counted)
    first = {h: int(rows_of("j", "--report=heat", f"--host={h}")[0]["realtime_ns"]) for h in ("a", "b")}
    assert first["a"] < first["b"]
    describe("j", "b", "b", clock_offset_ns=5000000000)  # its clock is 5 s ahead
    assert int(rows_of("j", "--report=heat", "--host=b")[0]["realtime_ns"]) == first["b"] - 5000000000
    assert int(rows_of("j", "--report=heat", "--host=a")[0]["realtime_ns"]) == first["a"]
    text = output(PRINT, "--quiet", "j", "--report=heat")
    assert "\033[" not in text and text.count("\na ") == 1 and text.count("\nb ") == 1
    text, _ = on_terminal(120, PRINT, "--quiet", "--no-pager", "j", "--report=heat", NO_COLOR="", TERM="xterm")
    assert "\033[48;5;" in text


def check_diff(folder):
    """The hosts of two jobs are replicates."""
    make_job("was")
    make_job("is")
    done = run(PRINT, "--quiet", "is", "--diff=was", "--by-host", code=2)
    assert "--by-host and --diff are mutually exclusive" in done.stderr and "--host=" in done.stderr, done.stderr
    text = output(PRINT, "--quiet", "is", "--diff=was", "--report=diff")
    rows = [json.loads(line) for line in
            output(PRINT, "--quiet", "is", "--diff=was", "--report=diff", "--output-format=ndjson").splitlines()]
    several = output(PRINT, "--quiet", *(f"is/n{i}" for i in (1, 2)), *(f"--diff=was/n{i}" for i in (1, 2)),
                     "--report=diff", "--output-format=ndjson").splitlines()
    assert text and rows == [json.loads(line) for line in several]


def check_formats_of_one_session(folder):
    """A format that cannot print a job names a part, and the formats that can."""
    make_job("j")
    for how in "perf-data", "otlp":
        done = run(PRINT, "j", f"--output-format={how}", "--output-file=x", code=1)
        assert f"--output-format={how} prints one session" in done.stderr and "name a part of the job, such as j/n1/" in \
            done.stderr and "formats of a whole job: " in done.stderr and not os.path.exists("x"), done.stderr
        can = done.stderr.split("formats of a whole job: ")[1].split("\n")[0].split(", ")
        assert how not in can and {"html", "parquet", "pprof", "folded", "perfetto", "chrome", "sqlite", "openmetrics", "prometheus"} <= set(can), can
        if how != "otlp":
            run(PRINT, "j", "--host=n2", f"--output-format={how}", "--output-file=x")
            os.unlink("x")


def check_hostile(folder):
    """Folders that are no jobs, and host.json that is none."""
    make_job("j", ("a",))
    describe("j", "b", "b\n\x1b[31m")
    with open("j/b/host.json", "w", encoding="utf-8") as out:
        out.write("{")
    os.symlink("a", "j/link")
    done = run(PRINT, "--quiet", "j", "--report=flat", code=1)
    assert "1 of 2 parts is not whole" in done.stdout and "b: failed: host.json" in done.stdout
    os.mkdir("empty")
    assert subprocess.run([PRINT, "--quiet", "empty"], stderr=subprocess.PIPE, check=False).returncode == 1


run_checks(globals())
