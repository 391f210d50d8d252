"""Code made at run time, named by the jitdump that its compiler writes: two functions that have one address by turns
have the time that each took, in all reports, and annotate shows instructions from the dump and lines of it. The same of
what V8 writes, and of what perf recorded, beside perf inject -j."""
import collections
import csv
import glob
import io
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from kit import CPUPERF, PRINT, finish, output, run, run_checks, wait_until_recorded
from patience import PATIENCE_S
from terminal import Terminal, have_tmux
import sampled

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, ALPHA, BETA = 4, 40, 120
HOT = """
function hotLoop(n) {
  let x = 1;
  for (let i = 0; i < n; i++)
    x = (x * 1103515245 + 12345) % 2147483647;
  return x;
}
function main(n) {
  let sum = 0;
  for (let i = 0; i < n; i++)
    sum += hotLoop(1000000);
  return sum;
}
console.log(main(30));
"""


def jit(folder):
    """The compiler, and how it is called."""
    run("gcc", "-O2", "-Wall", "-o", f"{folder}/jit", f"{HERE}/jit.c")
    return [f"{folder}/jit", folder, str(ROUNDS), str(ALPHA), str(BETA)]


def record(folder, *command):
    run(CPUPERF, "--event=cpu_clock@200000", f"--output={folder}/s", "--", *command, cwd=folder)


def rows(folder, report, *options, session="s"):
    text = output(PRINT, "--quiet", f"{folder}/{session}", f"--report={report}", "--output-format=csv", *options)
    return list(csv.DictReader(io.StringIO(text)))


def samples(found):
    """Of each function."""
    sums = collections.Counter()
    for r in found:
        sums[r["function"]] += int(r["self_samples"])
    return sums


def has_share(sums):
    both = sums["alpha"] + sums["beta"]
    assert both > 0.8 * sum(sums.values()), sums
    share = ALPHA / (ALPHA + BETA)
    assert abs(sums["alpha"] / both - share) < 0.03, sums


def dump_of(folder):
    found, = glob.glob(f"{folder}/jit-*.dump")
    return found


def printed(folder, *options):
    """What is said of the dump, and the samples of functions."""
    p = subprocess.run([PRINT, f"{folder}/s", "--report=flat", "--output-format=csv", *options], check=True,
                       capture_output=True, text=True)
    said = [line for line in p.stderr.splitlines() if ".dump" in line]
    return said, samples(csv.DictReader(io.StringIO(p.stdout)))


def check_names(folder):
    """Shares of both functions are those of the time that they had, in each report and by all orders of reading."""
    record(folder, *jit(folder))
    flat = rows(folder, "flat")
    has_share(samples(flat))
    named = [(r["function"], r["object"]) for r in flat if r["function"] in ("alpha", "beta")]
    assert sorted(named) == [("alpha", "[JIT]"), ("beta", "[JIT]")], named  # each of several loads
    said, sums = printed(folder)
    assert not said and sums == samples(flat), (said, sums)
    names = collections.Counter(re.findall(r"\b(alpha|beta)\b", output(PRINT, "--quiet", f"{folder}/s", "--report=records")))
    assert names["alpha"] >= sums["alpha"] and names["beta"] >= sums["beta"], (names, sums)
    folded = output(PRINT, "--quiet", f"{folder}/s", "--output-format=folded")
    for name in ("alpha", "beta"):
        of = sum(int(line.split()[-1]) for line in folded.splitlines() if re.search(rf"\b{name}\b", line))
        assert of == 200000 * sums[name], (name, of, sums)  # of nanoseconds
    run(PRINT, "--quiet", f"{folder}/s", "--output-format=pprof", f"--output-file={folder}/p.pb.gz")


def check_annotate(folder):
    """Time is in the loop of each, whose instructions are in the dump, and whose line the dump has."""
    record(folder, *jit(folder))
    flat = samples(rows(folder, "flat"))
    found = rows(folder, "annotate", "--function=alpha", "--function=beta")
    for name in ("alpha", "beta"):
        of = [r for r in found if r["function"] == name]
        for kind in ("line", "instruction"):
            assert sum(int(r["self_samples"]) for r in of if r["kind"] == kind) == flat[name]
        hot = [r for r in of if r["kind"] == "line" and r["line"] == "11"]
        assert [r["file"] for r in hot] == ["/jit/it.txt"], of
        assert int(hot[0]["self_samples"]) > 0.98 * flat[name]
        code = [r for r in of if r["kind"] == "instruction"]
        assert all(r["text"] and r["line"] in ("10", "11", "12") for r in code), code
        # of each round: the code is of that time; jumps lead back to the loop's begin
        assert len({int(r["address"], 0) for r in code}) * ROUNDS == len(code)
        loop = [r for r in code if r["line"] == "11"]
        assert len(loop) == 2 * ROUNDS and len([r for r in code if r["jumps"] != "0"]) \
            == ROUNDS, loop
        assert sum(int(r["self_samples"]) for r in loop) > 0.98 * flat[name]
    places = {n: {int(r["address"], 0) for r in found if r["function"] == n and r["kind"] == "instruction"}
              for n in ("alpha", "beta")}
    assert min(places["alpha"]) == min(places["beta"])
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=annotate", "--function=beta")
    assert "/jit/it.txt" in text and "it.txt:11" in text


def check_unwound(folder):
    """Functions with a frame that no register points to: callers are found by the table of the dump, and only by it."""
    command = [*jit(folder)[:2], "2", "20", "60"]
    for kind in ("table", "bare"):
        run(CPUPERF, "--event=cpu_clock@200000", "--callgraph=dwarf", f"--output={folder}/{kind}", "--", *command, kind,
            cwd=folder)
        folded = output(PRINT, "--quiet", f"{folder}/{kind}", "--output-format=folded")
        sums = collections.Counter()
        for line in folded.splitlines():
            stack, number = line.rsplit(" ", 1)
            if stack.endswith((";alpha", ";beta")):
                sums[";main;" in stack] += int(number)
        share = sums[True] / sums.total()
        assert (share > 0.98) if kind == "table" else (share < 0.05), (kind, sums)


def check_damaged(folder):
    """What is wrong with a dump is said once; what is before it is used."""
    record(folder, *jit(folder))
    path = dump_of(folder)
    with open(path, "rb") as f:
        whole = f.read()
    offsets, at = [], 40
    while at < len(whole):
        offsets.append(at)
        at += struct.unpack_from("<I", whole, at + 4)[0]
    assert at == len(whole) and len(offsets) == 4 * ROUNDS
    last = offsets[-1]

    def changed(at, value):
        return whole[:at] + struct.pack("<I", value) + whole[at + 4:]

    cases = {
        "whole": (whole, None, True),
        "cut": (whole[:-1], "truncated", True),
        "size": (changed(last + 4, 3), "invalid size", True),
        "name": (changed(last + 40, 1 << 20), "1 record skipped: invalid", True),
        "version": (changed(4, 7), "version", False),
        "text": (b"x" * 100, "not a jitdump", False),
        "hole": (None, "not a jitdump", False),
    }
    for name, (data, word, is_used) in cases.items():
        with open(path, "wb") as f:
            if data is None:
                f.truncate(1 << 30)
            else:
                f.write(data)
        said, sums = printed(folder)
        assert len(said) == (word is not None) and (not said or word in said[0]), (name, said)
        assert (sums["alpha"] > 0) == is_used, (name, sums)
    os.rename(path, f"{folder}/kept")  # so that nothing else has its inode
    assert len(printed(folder)[0]) == 1
    os.symlink("/etc/passwd", path)
    said, sums = printed(folder)
    assert len(said) == 1 and "link" in said[0] and not sums["alpha"], said
    os.remove(path)
    with open(path, "wb") as f:  # another file of that name
        f.write(whole)
    said, sums = printed(folder)
    assert not sums["alpha"] and "another file" in said[0], (said, sums)


def check_sysroot(folder):
    """A dump that was copied with its path is found below a root."""
    record(folder, *jit(folder))
    path = dump_of(folder)
    os.makedirs(os.path.dirname(f"{folder}/root{path}"))
    shutil.move(path, f"{folder}/root{path}")
    has_share(printed(folder, f"--sysroot={folder}/root")[1])


def check_attached(folder):
    """Of a process that runs already the mappings are read, and so are those of its dump."""
    command = jit(folder)
    command[2] = "1000"
    with subprocess.Popen(command) as p:
        try:
            while not glob.glob(f"{folder}/jit-*.dump"):
                assert p.poll() is None
            sampled.wait_for_cpu_time([p], 0.2)
            with subprocess.Popen([CPUPERF, "--event=cpu_clock@200000", f"--output={folder}/s", f"--pid={p.pid}", "--duration=600s",
                                   "-n", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as session:
                try:
                    wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
                    sampled.wait_for_mappings(session, f"{folder}/s/cpuperf.common.cpuperf", [p.pid])
                    sampled.wait_for_cpu_time([p], sampled.user_seconds(p.pid) + 0.4)  # two turns of each function
                finally:
                    session.send_signal(signal.SIGINT)
                finish(session)
            sums = printed(folder)[1]
        finally:
            p.kill()
    assert sums["alpha"] + sums["beta"] > 0.8 * sum(sums.values()) > 0 and sums["alpha"] and sums["beta"], sums


def check_live(folder):
    """A dump that grows is read on: functions that it gets later have their share, in each second."""
    if not have_tmux():
        print("skip: functions that come later: no tmux", flush=True)
        return
    # rounds so short that there are many, also where others have the CPU
    with subprocess.Popen([*jit(folder)[:2], "100000", str(ALPHA // 10), str(BETA // 10)]) as p:
        try:
            with Terminal([CPUPERF, "--top", f"--pid={p.pid}", f"--output={folder}/s"], 120, 40) as t:
                t.wait(r"beta$")
                t.press("t", "t all")
                sampled.wait_for_cpu_time([p], sampled.user_seconds(p.pid) + 0.5)
                deadline = time.monotonic() + PATIENCE_S
                while True:
                    text = t.text()
                    found = {m[2]: float(m[1]) for m in re.finditer(r"^ *([\d.]+) %.* (alpha|beta)$", text, re.M)}
                    since = re.search(r"lost \d+  (\d+):(\d\d)", text)
                    if len(found) == 2 and since and int(since[2]) >= 5:
                        break
                    assert time.monotonic() < deadline, text
                    time.sleep(0.1)
        finally:
            p.kill()
    share = ALPHA / (ALPHA + BETA)
    assert abs(found["alpha"] / (found["alpha"] + found["beta"]) - share) < 0.1, text
    assert found["alpha"] + found["beta"] > 80, text


def check_namespace(folder):
    """In a PID namespace a dump has another number than its process has outside."""
    inner = ["unshare", "--pid", "--fork", "--kill-child"]
    if not sampled.is_root() or subprocess.run([*inner, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        print("skip: a PID namespace: no PID namespaces", flush=True)
        return
    record(folder, *inner, *jit(folder))
    assert os.path.basename(dump_of(folder)) == "jit-1.dump"
    has_share(printed(folder)[1])


def check_perf(folder):
    """What perf recorded: the same as perf inject has; times of another clock are not compared, which is said."""
    if not sampled.have("perf"):
        print("skip: beside perf: no perf that records", flush=True)
        return
    if not sampled.may_measure_kernel():
        print("skip: beside perf: its file has no address of the kernel, which tells of which boot the dump is", flush=True)
        return
    command = jit(folder)
    event = ["-e", "cpu-clock", "-c", "200000"]
    for name, clock in (("mono", ["-k", "mono"]), ("other", [])):
        run("perf", "record", "-qN", *clock, "-o", f"{folder}/{name}.data", *event, *command, cwd=folder)
    run(*sampled.perf_reader(), "perf", "inject", "-j", "-i", f"{folder}/mono.data", "-o", f"{folder}/done.data", cwd=folder)
    sums, said = {}, {}
    for name in ("mono", "other", "done"):
        p = subprocess.run([PRINT, f"--perf-data={folder}/{name}.data", "--report=flat", "--output-format=csv"],
                           check=True, capture_output=True, text=True)
        sums[name] = samples(csv.DictReader(io.StringIO(p.stdout)))
        said[name] = [line for line in p.stderr.splitlines() if ".dump" in line]
    has_share(sums["mono"])
    for name in ("alpha", "beta"):
        assert sums["mono"][name] == sums["done"][name], sums
    assert not said["mono"] and len(said["other"]) == 1 and "another clock" in said["other"][0], said
    assert sums["other"]["beta"] == sum(sums["other"][n] for n in ("alpha", "beta")) > 0, sums


def check_node(folder):
    """V8's own dump, whose lines are shifted."""
    if not sampled.have("node"):
        print("skip: V8: no node", flush=True)
        return
    with open(f"{folder}/hot.js", "w", encoding="ascii") as f:
        f.write(HOT)
    record(folder, "node", "--perf-prof", f"{folder}/hot.js")
    flat = samples(rows(folder, "flat"))
    hot = sum(n for name, n in flat.items() if "hotLoop" in name)
    assert hot > 0.5 * sum(flat.values()), flat.most_common(5)
    found = rows(folder, "annotate", "--function=*hotLoop*", "--top=0")
    lines = collections.Counter()
    for r in found:
        if r["kind"] == "line":
            assert r["file"] in ("", f"{folder}/hot.js"), r
            lines[r["line"]] += int(r["self_samples"])
    assert sum(lines.values()) == hot and lines["4"] + lines["5"] > 0.9 * hot, lines
    assert lines["5"] > lines["4"], lines  # the remainder takes the time
    most = max((r for r in found if r["kind"] == "instruction"), key=lambda r: int(r["self_samples"]))
    assert most["text"] and most["line"] == "5", most
    assert "x = (x * 1103515245 + 12345) % 2147483647;" in output(
        PRINT, "--quiet", f"{folder}/s", "--report=annotate", "--function=*hotLoop*")


run_checks(globals())
