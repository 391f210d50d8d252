#!/usr/bin/env python3
"""The events of the group latency: histograms made by programs in the kernel. latency.c makes a known
number of system calls and measures them itself; requests and interrupts are compared with /proc. The
machine may be busy: what happened between two readings of /proc within the session is in it, and
nothing that did not happen between two readings around it. CPUPERF and CPUPERF_PRINT name the
programs; needs root and a kernel with BTF.
"""
import contextlib
import csv
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from kit import again, CPUPERF, hidden_turns, need_programs, output, PRINT, run, run_checks, wait_until_measuring

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = ["clock_nanosleep", "readv"]
EVENTS = ",".join(f"latency:syscall.{c}" for c in CALLS)
LEAST_NS = {"readv": 2000000, "clock_nanosleep": 1000000}


def build(folder):
    program = os.path.join(folder, "latency")
    run("cc", "-O1", "-pthread", "-o", program, f"{HERE}/latency.c")
    return program


def rows(folder, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", *args, cwd=folder)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def latencies(folder, *args):
    """{(event, part, what): row}; what is "" for all of an event."""
    out = {}
    for row in rows(folder, "--report=latency", *args):
        key = row["event"], row["part"], row["what"]
        assert key not in out, row
        out[key] = row
    return out


def said(text):
    return {line.split()[0]: [int(n) for n in line.split()[1:]] for line in text.splitlines()}


def compare(row, took, least_ns):
    """The kernel measures within what the program measured around it: so does each order statistic."""
    n, ranks = len(took), {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    assert int(row["count"]) == n, (row, n)
    assert n * least_ns <= int(row["sum_ns"]) <= sum(took), (row, sum(took))
    assert abs(int(row["mean_ns"]) - int(row["sum_ns"]) / n) <= 1, row
    assert least_ns <= int(row["max_ns"]) <= took[-1], (row, took[-1])
    for name, q in ranks.items():
        assert least_ns * 15 / 16 <= int(row[f"{name}_ns"]), row
        rank = max(-(-n * q // 1), 1)
        assert int(row[f"{name}_ns"]) <= took[int(rank) - 1] * 17 / 16, (row, took)
        assert int(row[f"{name}_low_ns"]) <= int(row[f"{name}_ns"]), row
        high = row[f"{name}_high_ns"]
        assert not high or int(row[f"{name}_ns"]) <= int(high) <= int(row["max_ns"]), row


def check_command(folder):
    """Of its threads, and of nobody else."""
    program = build(folder)
    with subprocess.Popen([program, "1", "1000000"], stdout=subprocess.DEVNULL) as refused:
        assert refused.wait() == 2
    with subprocess.Popen([program, "2", "20000"], stdout=subprocess.DEVNULL) as noise:
        done = run(CPUPERF, f"--event={EVENTS}", "--", program, "3", "40", cwd=folder)
        noise.kill()
    took, found = said(done.stdout), latencies(folder)
    assert len(found) == 4, found
    for call in CALLS:
        own = [r for (event, part, what), r in found.items()
               if event == f"syscall.{call}" and part == "" and what.endswith(" latency")]
        assert len(own) == 1, found
        for row in (own[0], found[f"syscall.{call}", "", ""]):
            compare(row, took[call], LEAST_NS[call])
    counted = {r["label"]: int(r["value"]) for r in rows(folder, "--report=summary")
               if r["state"] == "ok" and not r["trace"]}
    assert counted == {f"syscall.{c}": len(took[c]) for c in CALLS}, counted
    for call in CALLS:  # the answer has them too
        assert re.search(rf"^syscall\.{call} +{len(took[call])} +[\d.]+ m?s ", done.stderr + done.stdout, re.M), done


def check_machine(folder):
    """By process; iterations add up, and so do sessions."""
    program = build(folder)
    took = {}
    for name in ("a", "b"):
        with subprocess.Popen([CPUPERF, f"--event={EVENTS}", "--duration=100ms", "--num-iterations=0",
                               f"--output={name}"], cwd=folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as session:
            while not os.path.exists(f"{folder}/{name}/cpuperf.cpsession"):
                assert session.poll() is None
                time.sleep(0.01)
            with subprocess.Popen([program, "2", "100"], stdout=subprocess.PIPE, text=True) as p:
                took[name] = said(p.communicate()[0]), f"{p.pid} latency"
            session.send_signal(signal.SIGINT)
            assert session.wait() == 0
    for name, (own, what) in took.items():
        found = latencies(folder, name)
        for call in CALLS:
            compare(found[f"syscall.{call}", "", what], own[call], LEAST_NS[call])
    apart = [latencies(folder, name) for name in took]
    both = latencies(folder, "a", "b")
    for key, row in both.items():
        parts = [a[key] for a in apart if key in a]
        for field in ("count", "sum_ns"):
            assert int(row[field]) == sum(int(p[field]) for p in parts), (key, row, parts)
        assert int(row["max_ns"]) == max(int(p["max_ns"]) for p in parts), (key, row, parts)
    last = int(rows(folder, "a", "--report=summary")[-1]["iteration"])
    sums = {}
    for i in range(last + 1):
        for key, row in latencies(folder, "a", f"--iteration={i}").items():
            sums[key] = sums.get(key, 0) + int(row["count"])
    assert sums == {key: int(row["count"]) for key, row in apart[0].items()}


def softirqs():
    with open("/proc/softirqs", encoding="ascii") as f:
        lines = f.read().splitlines()[1:]
    return {(w[0].strip(":").lower()): sum(map(int, w[1:])) for w in map(str.split, lines)}


def irqs():
    """Of those with one handler: {number: count}."""
    out = {}
    with open("/proc/interrupts", encoding="ascii") as f:
        nr = len(f.readline().split())
        for line in f:
            w = line.split()
            if w[0].rstrip(":").isdigit() and "," not in line and len(w) > nr + 2:
                out[w[0].rstrip(":")] = sum(map(int, w[1:nr + 1]))
    return out


def requests():
    out = {}
    with open("/proc/diskstats", encoding="ascii") as f:
        for w in map(str.split, f):
            out[f"{w[2]} read"] = int(w[3])
            if len(w) > 14:
                out[f"{w[2]} discard"] = int(w[14])
    return out


def read_all():
    return {"softirq": softirqs(), "irq": irqs(), "block": requests()}


def check_proc(folder):
    """Repeated while a hidden task had a turn: what it reads from the disk, the kernel counts, and runs no program at."""
    for n in range(8):
        os.mkdir(f"{folder}/{n}")
        turns = hidden_turns()
        try:
            compare_with_proc(f"{folder}/{n}")
            return
        except AssertionError as error:
            if n == 7 or hidden_turns() == turns:
                raise
            again("check_proc", f"there were hidden turns: {error}")


def compare_with_proc(folder):
    """Not less than what /proc counted within the session, and not more than around it. A kernel (see
    kit.hidden_turns) was seen to count some (0.2 % of soft interrupts) and to run no program at them."""
    nr_blocks = 200
    path = f"{os.path.dirname(CPUPERF)}/latency.{os.getpid()}"  # the folder of the test may be in memory
    with open(path, "wb") as f:
        f.write(os.urandom(4096 * nr_blocks))
        f.flush()
        os.fsync(f.fileno())
    try:
        before = read_all()
        with subprocess.Popen([CPUPERF, "--event=latency:block,latency:irq,latency:softirq", "--duration=60s"],
                              cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as session:
            wait_until_measuring(session, folder)
            first = read_all()
            direct = subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4096", "iflag=direct"], check=False,
                                    stderr=subprocess.DEVNULL).returncode == 0
            time.sleep(0.3)
            last = read_all()
            session.send_signal(signal.SIGINT)
            _, said = session.communicate()
        after = read_all()
    finally:
        os.unlink(path)
    found = latencies(folder)
    disks = {what.split()[0] for event, _, what in found if event == "block" and what}
    nr_seen = 0
    for event, part in (("softirq", ""), ("irq", ""), ("block", "device")):
        for name, least in last[event].items():
            if name not in after[event]:  # a device that others have removed
                continue
            least -= first[event].get(name, 0)
            most = after[event][name] - before[event].get(name, 0)
            own = [int(r["count"]) for (e, p, what), r in found.items() if (e, p) == (event, part) and what and
                   name in (what, what.split()[0], what.split()[-1])]
            if event == "block" and name.split()[0] not in disks and least:
                continue  # a partition, or a disk without requests (dm, md)
            assert len(own) < 2, (event, name, found)
            least = 0.9 * least - 10
            assert least <= sum(own) <= most, (event, name, least, own, most, found, said)
            nr_seen += bool(own)
    assert nr_seen >= 3, found
    if direct and disks:
        reads = sum(int(r["count"]) for (e, p, what), r in found.items() if e == "block" and p == "device" and
                    what.endswith(" read"))
        assert reads >= 0.9 * nr_blocks - 10, (reads, found)


def reads_of(disk):
    """(reads, ms from their beginning to their end), as the kernel adds them up."""
    with open("/proc/diskstats", encoding="ascii") as f:
        words, = [w for w in map(str.split, f) if w[2] == disk]
    return int(words[3]), int(words[6])


def read_blocks(folder, device, size):
    """Reads the device. How many requests that were, and ms that they took, by the kernel; rows by part. Repeated
    while requests may have ended in a turn of a hidden task."""
    disk = os.path.basename(device)
    for _ in range(8):
        turns, before = hidden_turns(), reads_of(disk)
        run(CPUPERF, "--event=latency:block", "--", "dd", f"if={device}", "of=/dev/null", size, "iflag=direct", cwd=folder)
        number, ms = (b - a for a, b in zip(before, reads_of(disk)))
        parts = {part: r for (_, part, what), r in latencies(folder).items() if what == f"{disk} read"}
        print(f"{number} reads, {ms} ms:", {part: (r["count"], r["sum_ns"], r["p50_ns"]) for part, r in parts.items()})
        if {int(r["count"]) for r in parts.values()} == {number} or hidden_turns() == turns:
            break
    assert number >= 8, number
    return number, ms, parts


def read_whole(folder, device, size):
    """Its parts, which add up to what the kernel says. That takes the times some us apart, and a busy machine may
    interrupt it there."""
    for _ in range(6):
        number, ms, parts = read_blocks(folder, device, size)
        assert {int(r["count"]) for r in parts.values()} == {number} and set(parts) == {"queue", "device"}, (number, parts)
        total, slack = sum(int(r["sum_ns"]) for r in parts.values()) / 1e6, 2 + ms / 100 + number * 0.005
        if ms - slack <= total <= ms + slack:
            return parts
    raise AssertionError((total, ms, number))


def check_block_parts(folder):
    """On a disk of the test's own: the time in the queue and in the device is all that a request takes, as the
    kernel itself adds it up. Of the requests of one read, 4 KiB each, many wait in the queue at once; of single
    ones none does."""
    tool = shutil.which("losetup", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not tool:
        print("skip: parts of requests: no losetup here")
        return
    image = os.path.join(folder, "image")
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    made = subprocess.run([tool, "--find", "--show", image], check=False, capture_output=True, text=True)
    if made.returncode:
        print("skip: parts of requests: no loop device:", made.stderr.strip())
        return
    device = made.stdout.strip()
    disk = os.path.basename(device)
    try:
        for key, value in (("scheduler", "mq-deadline"), ("max_sectors_kb", "4")):
            with contextlib.suppress(OSError), open(f"/sys/block/{disk}/queue/{key}", "w", encoding="ascii") as f:
                f.write(value)
        read_whole(folder, device, "bs=16M")
        single = read_whole(folder, device, "bs=4k")
    finally:
        run(tool, "--detach", device)
    assert int(single["queue"]["p50_ns"]) < int(single["device"]["p50_ns"]), single


def check_run_queue(folder):
    """The sum of the histogram is what sched:run_queue_time counts, but for the wait before the exec."""
    # its processes run on CPU 0, from their exec on
    script = "for i in 1 2 3 4; do (i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done) & done; wait"
    run(CPUPERF, "--event=latency:run_queue,sched:run_queue_time", "--", "taskset", "-c", "0", "sh", "-c",
        script, cwd=folder)
    found = latencies(folder)
    assert list(found) == [("run_queue", "", "")], found
    row = found["run_queue", "", ""]
    counted = {}
    for r in rows(folder, "--report=summary"):
        if r["state"] == "ok" and r["trace"] == "":
            counted[r["label"]] = int(r["value"])
    assert counted["run_queue"] == int(row["count"]), (counted, row)
    assert 0.5 * counted["run_queue_time"] <= int(row["sum_ns"]) <= 1.1 * counted["run_queue_time"], (counted, row)


def check_cpus(folder):
    """Of what is not measured there is nothing in the histograms."""
    if os.cpu_count() < 2:
        print("not tested: there is one CPU")
        return
    program = build(folder)
    events = EVENTS + ",latency:run_queue"
    run(CPUPERF, f"--event={events}", "--cpu=0", "--", "taskset", "-c", "1", program, "2", "20", cwd=folder)
    counted = {r["label"]: int(r["value"]) for r in rows(folder, "--report=summary")
               if r["state"] == "ok" and not r["trace"]}
    found = latencies(folder)
    assert counted["syscall.readv"] == 0 and not any(e == "syscall.readv" for e, _, _ in found), (counted, found)
    count = int(found["run_queue", "", ""]["count"]) if ("run_queue", "", "") in found else 0
    assert count == counted["run_queue"], (counted, found)


def check_one_reading(folder):
    """Counts of CPUs and histograms are of the same moment, however fast they grow."""
    work = "import os\nprint(flush=True)\nwhile True: os.getppid()"
    programs = [subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE) for _ in range(2)]
    for p in programs:
        p.stdout.readline()
    events = "latency:syscall.getppid,latency:run_queue,latency:softirq"
    run(CPUPERF, f"--event={events}", "--duration=50ms", "--num-iterations=12", cwd=folder)
    for p in programs:
        p.kill()
        p.communicate()
    counted = {}
    for r in rows(folder, "--report=summary"):
        if r["state"] == "ok" and not r["trace"]:
            counted[r["label"], int(r["iteration"])] = int(r["value"])
    found = {}
    for i in range(12):
        for (event, part, what), r in latencies(folder, f"--iteration={i}").items():
            if not part and not what:
                found[event, i] = int(r["count"])
    assert sum(counted.values()) > 10000, counted
    assert {k: n for k, n in counted.items() if n} == found, (counted, found)


def check_openmetrics(folder):
    """By process, in cumulative buckets; nothing twice."""
    program = build(folder)
    own = said(run(CPUPERF, f"--event={EVENTS}", "--", program, "2", "50", cwd=folder).stdout)
    text = output(PRINT, "--quiet", "--output-format=openmetrics", cwd=folder)
    assert text.count("# TYPE cpuperf_latency_seconds histogram\n") == 1, text
    found = {}
    for suffix, labels, value in re.findall(r"^cpuperf_latency_seconds(\w+)\{(.*)\} ([\d.]+) ", text, re.M):
        fields = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        assert fields["comm"] == "latency" and fields["pid"].isdigit(), labels
        found.setdefault(fields["event"], []).append((suffix, fields.get("le"), float(value)))
    assert set(found) == {f"syscall.{c}" for c in CALLS}, found
    for call in CALLS:
        *buckets, last, count, total = found[f"syscall.{call}"]
        n = len(own[call])
        assert (last, count) == (("_bucket", "+Inf", n), ("_count", None, n)), found
        assert total[0] == "_sum" and n * LEAST_NS[call] / 1e9 <= total[2] <= sum(own[call]) / 1e9, total
        counts, edges = [b[2] for b in buckets], [float(b[1]) for b in buckets]
        assert counts == sorted(counts) and edges == sorted(edges) and len(set(edges)) == len(edges), found
        for edge, below in zip(edges, counts):  # the kernel measures within what the program did
            assert sum(ns <= edge * 1e9 for ns in own[call]) <= below <= n, (edge, below, own)
            assert edge * 1e9 >= LEAST_NS[call] or not below, (edge, below)


def check_spec(folder):
    run(CPUPERF, "--spec-file=latency", "--duration=200ms", "--output=s", cwd=folder)
    assert ("run_queue", "", "") in latencies(folder, "s")


def check_refusals(folder):
    done = run(CPUPERF, "--event=latency:run_queue@1000", "--duration=100ms", cwd=folder, code=None)
    assert done.returncode and "can be counted, not sampled" in done.stderr, done.stderr
    done = run(CPUPERF, "--event=latency:syscall.raed", "--duration=100ms", cwd=folder, code=None)
    assert done.returncode and "did you mean latency:syscall.read?" in done.stderr, done.stderr
    text = output(CPUPERF, "--describe-event=latency:syscall.read", cwd=folder)
    assert "calls" in text and "--report=latency" in text, text
    run(CPUPERF, "--event=page_faults", "--", "true", cwd=folder)
    assert "No latencies" in output(PRINT, "--quiet", "--report=latency", cwd=folder)


def check_segments(folder):
    """More iterations than a file each: they are in segments."""
    run(CPUPERF, "--event=latency:softirq", "--duration=5ms", "--num-iterations=130", cwd=folder)
    counted = sum(int(r["value"]) for r in rows(folder, "--report=summary") if r["state"] == "ok" and not r["trace"])
    count = int(latencies(folder)["softirq", "", ""]["count"])
    assert 0.9 * counted - 50 <= count <= 1.1 * counted + 50, (counted, count)


if __name__ == "__main__":
    need_programs()
    run_checks(globals())
