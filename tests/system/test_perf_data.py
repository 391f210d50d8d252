#!/usr/bin/python3
"""--perf-data=FILE on files that perf record made here, held against perf script sample by sample:
time, pid and tid, comm, CPU, event, period, address, and the stack with the names of functions.

Where the two may differ, and why (all else is a failure; how often each occurs is printed):
  alias   several symbols begin at one address, and each program has its own rule which is shown
  return  perf script looks a return address up as it is, we the call before it: they differ where
          the call is the last instruction of its function, and perf names the one behind it
  unnamed perf names from what it finds on its own: .gnu_debugdata, the vdso, PLT stubs; or we do
  empty   of a callchain without an entry (--kernel-callchains in a program) we show the address
  unwound stack bytes are unwound by other code, by other rules where to stop: the first frame must
          be the same, and of all stacks nine of ten as far as both go
"""
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kit  # noqa: E402
from kit import PRINT  # noqa: E402
import sampled  # noqa: E402

MIX = os.environ["MIX"]
# CPU time: beside a load wall time may have no sample.
WORK, ONE_THREAD = [MIX, "cpu_ms", "30", "2"], [MIX, "cpu_ms", "30"]
seen = collections.Counter()


def run(*args, **how):
    return kit.run(*args, code=None, text=False, **how)


def perf_record(folder, name, *args, work=tuple(WORK), to_pipe=False):
    """The file's path, or None where this perf or kernel cannot do it. Without its cache (-N), of links to files of the
    machine: each moves a file's time of change, which tells others beside this test that it may be another one."""
    path = f"{folder}/{name}.data"
    for _ in range(3):  # perf 6.1 at times ends with "stack smashing detected"
        with open(path if to_pipe else os.devnull, "wb") as out:
            done = subprocess.run(["perf", "record", "-N", *args, "-o", "-" if to_pipe else path, "--",
                                   *work], stdout=out, stderr=subprocess.PIPE, check=False)
        if b"smashing" not in done.stderr:
            break
        kit.again(name, "perf crashed")
    if done.returncode:
        why = [line for line in done.stderr.decode().splitlines() if line not in ("", "Error:")]
        print(f"skip: recording {name}: perf: {why[0] if why else 'no message'}")
        return None
    return path


HEAD = re.compile(r"^(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?"
                  r"(?:(?P<time>\d+\.\d+):\s+)?(?:(?P<period>\d+)\s+)?(?P<event>\S+):(?P<rest>.*)$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*?)(?:\+0x([0-9a-f]+))?(?: \(inlined\))? \((.*)\)$")


def perf_script(path, has_cpu, has_time=True):
    fields = "comm,pid,tid," + ("cpu," if has_cpu else "") + ("time," if has_time else "") + \
        "event,period,ip,sym,symoff,dso"
    for _ in range(3):  # perf 6.1 at times ends with "stack smashing detected"
        done = run(*sampled.perf_reader(), "perf", "script", "-i", path, "-F", fields, "--ns",
                   "--no-inline", "-f", "--max-stack=1024")
        if done.returncode >= 0:
            break
        kit.again(os.path.basename(path), "perf crashed")
    if done.returncode < 0:
        return None
    samples = []
    # a program's name may have any byte; Python ends lines at more than their ends
    for line in done.stdout.decode("latin-1").split("\n"):
        frame = FRAME.match(line) if line.startswith("\t") else None
        head = HEAD.match(line) if line.strip() and not frame else None
        if head:
            samples.append({**head.groupdict(), "comm": head["comm"].strip(), "stack": []})
            frame = FRAME.match(" " + head["rest"])
        if frame:
            samples[-1]["stack"].append((int(frame[1], 16), frame[2], int(frame[3] or "0", 16),
                                         frame[4]))
    assert samples, (path, done.stderr)
    return samples


def ours(path, *args):
    done = run(PRINT, f"--perf-data={path}", "--report=records", "--output-format=ndjson",
               "--quiet", *args)
    assert done.returncode == 0, (path, done.stderr)
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return [r for r in rows if r.get("kind") == "sample"], done.stderr.decode()


def clean(name):
    return re.sub(r"\.(constprop|isra|part|cold|lto_priv|localalias)(\.\d+)*|@.*$", "", name)


def check_frame(i, theirs, our, is_counted):
    address, name, offset, _ = theirs
    # of programs' frames perf tells the place in the file: in its page it is the same
    back = (address - int(our["address"], 16)) % 4096
    assert back == 0, (i, theirs, our)
    if not is_counted:  # who else runs may be built anew just then
        return
    mine = our["function"]
    if clean(mine) == clean(name):
        seen["same"] += 1
    elif name == "[unknown]" and mine.startswith("[unknown]"):
        seen["unnamed by both"] += 1  # of a library without symbols and debug file
    elif i and offset == 0 and name != "[unknown]":
        seen["return"] += 1
    elif name == "[unknown]" or mine.startswith("[unknown]"):
        seen["unnamed"] += 1
    else:
        seen["alias"] += 1


def check_stack(sample, row, is_unwound):
    stack = row.get("stack") or [{"address": row["address"], "function": row["function"]}]
    theirs = sample["stack"]
    if is_unwound:
        seen["stacks"] += 1
        seen["unwound"] += len(theirs) != len(stack) or any(
            # perf moves return addresses that it unwound back into their calls
            (int(b["address"], 16) - a[0]) % 4096 > 1 for a, b in zip(theirs, stack))
        theirs, stack = theirs[:1], stack[:1]
    # perf drops the call chain of a thread that it does not find
    if not theirs and (len(stack) == 1 or row["comm"] != "mix"):
        seen["empty"] += 1
        return
    assert len(theirs) == len(stack), (sample, row)
    for i, (a, b) in enumerate(zip(theirs, stack)):
        check_frame(i, a, b, row["comm"] == "mix")


def leads(row):
    """A group's first event, a clock here, keeps its period; perf has what it counted since its last sample."""
    return "counts" in row and row["event"].removesuffix(":u").endswith("-clock")


def check(path, has_cpu=False, is_unwound=False, has_time=True):
    theirs, (mine, _) = perf_script(path, has_cpu, has_time), ours(path)
    if theirs is None:
        seen["perf crashed"] += 1
        return 0
    assert len(theirs) == len(mine), (path, len(theirs), len(mine))
    if has_time:
        # those of one time stand in any order
        theirs.sort(key=lambda s: (float(s["time"]), int(s["tid"]), s["event"]))
        mine.sort(key=lambda r: (r["monotonic_ns"], -1 if r["tid"] is None else r["tid"],
                                 r["event"]))
    for a, b in zip(theirs, mine):
        if has_time:
            assert int(a["time"].replace(".", "")) == b["monotonic_ns"], (a, b)
        for id_ in ("pid", "tid"):
            assert int(a[id_]) == (-1 if b[id_] is None else b[id_]), (a, b)
        shown, comm = (re.sub("[^ -~]", "?", text) for text in (a["comm"], b["comm"].encode().decode("latin-1")))
        assert shown == comm.strip() or a["comm"].startswith(":"), (a, b)
        assert a["event"] == b["event"], (a, b)
        assert not a["period"] or int(a["period"]) == b["period"] or leads(b), (a, b)
        assert not has_cpu or int(a["cpu"]) == b["cpu"], (a, b)
        check_stack(a, b, is_unwound)
    return len(mine)


def check_fields(path):
    """Of tracepoints: what perf prints as KEY=NUMBER is the field's number."""
    done = run(*sampled.perf_reader(), "perf", "script", "-i", path, "-F", "time,event,trace",
               "--ns", "-f")
    rows = {(r["monotonic_ns"], r["event"], r["tid"]): r["fields"] for r in ours(path)[0]}
    of_time = {}
    for (time, name, _), fields in rows.items():
        of_time.setdefault((time, name), []).append(fields)
    nr = 0
    for line in done.stdout.decode(errors="replace").splitlines():
        m = re.match(r"^\s*(\d+)\.(\d+):\s+(\S+):\s(.*)$", line)
        told = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)\b", m[4])} if m else {}
        fields = of_time.get((int(m[1] + m[2]), m[3]), []) if m else []
        if len(fields) != 1:  # two at one time
            continue
        told = {k: v for k, v in told.items() if k in fields[0] and isinstance(fields[0][k], int)}
        assert {k: fields[0][k] for k in told} == told, (line, fields)
        nr += len(told)
    assert nr > 0, done.stdout[:500]


def check_counts(path):
    """The samples of a group have the counts of all its members."""
    counts = [{name.removesuffix(":u"): n for name, n in r["counts"].items()}  # u: an ordinary user's
              for r in sorted(ours(path)[0], key=lambda r: r["monotonic_ns"])]
    assert counts and all(set(c) == {"cpu-clock", "page-faults"} for c in counts), counts[:3]
    assert counts[-1]["cpu-clock"] > 0 and max(c["page-faults"] for c in counts) > 0, counts


def round_trip(folder):
    """What a session is as perf.data is read as the session is."""
    with subprocess.Popen([MIX, "ms", "60000", "2"], stdout=subprocess.DEVNULL) as mix:
        try:
            sampled.finish(sampled.start(folder, [
                sampled.event("software:cpu_clock", rate=1000000, flags=["callchain"]),
                sampled.event("software:context_switches", rate=3, flags=["pc"])], duration=1))
        finally:
            mix.kill()
    session, path = f"--session={folder}/s.cpsession", f"{folder}/exported.data"
    done = run(PRINT, session, "--output-format=perf-data", f"--output-file={path}", "--quiet")
    assert done.returncode == 0, done.stderr
    for report in ("flat", "tree", "callers", "stacks", "threads"):
        tables = []
        for source in (session, f"--perf-data={path}"):
            # others may begin just then, and be told of twice, or half
            done = run(PRINT, source, f"--report={report}", "--output-format=csv", "--quiet",
                       f"--pid={mix.pid}")
            assert done.returncode == 0, done.stderr
            # whether each task had a clock of its own is not known of a file: intervals differ
            tables.append(sorted([v for k, v in row.items() if not k.endswith(("_low", "_high"))]
                                 for row in csv.DictReader(io.StringIO(done.stdout.decode()))))
        assert tables[0] == tables[1], (report, [r for r in tables[0] + tables[1] if r not in tables[0] or r not in tables[1]])
    assert len(tables[0]) > 2, tables
    print(f"round trip: {len(tables[0]) - 1} threads and events")


CLOCK = ["-e", "cpu-clock", "-c", "250000"]


def check_kcore(folder):
    """The kernel's functions have the names that the folder has of them, but where these are of another place. What was
    loaded meanwhile (trampolines of other tests' probes) has the name of its record."""
    if os.geteuid() != 0:
        print("skip: kcore: kallsyms has no addresses for an ordinary user", flush=True)
        return
    in_kernel = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=1000")
    path, parts = perf_record(folder, "alone", *CLOCK, "-a", work=in_kernel), f"{folder}/kcore"
    os.makedirs(f"{parts}/kcore_dir")
    os.rename(path, f"{parts}/data")
    with open("/proc/kallsyms", encoding="ascii") as f:
        symbols = [line.split(maxsplit=2) for line in f]
    recorded = run(PRINT, f"--perf-data={parts}", "--report=records", "--output-format=ndjson", "--quiet").stdout.decode()
    loaded = {r["name"] for r in map(json.loads, recorded.splitlines()) if str(r.get("kind")).startswith("ksymbol")}
    for moved in (0, 4096):
        with open(f"{parts}/kcore_dir/kallsyms", "w", encoding="ascii") as f:
            f.writelines(f"{int(at, 16) + moved:x} {kind} {'' if name.strip() in ('_text', '_stext') else 'own_'}{name}"
                         + ("" if name.endswith("\n") else "\n") for at, kind, name in symbols)
        done = run(PRINT, f"--perf-data={parts}", "--report=flat", "--output-format=csv", "--quiet")
        names = [r["function"] for r in csv.DictReader(io.StringIO(done.stdout.decode()))
                 if r["object"] == "[kernel]" and r["function"] not in loaded]
        assert done.returncode == 0 and names, done
        own = sum(name.startswith("own_") for name in names)
        assert own == (0 if moved else len(names)), (moved, names)
    print(f"kcore: {len(names)} functions of the kernel")


# Of these perf records no thread that the program creates (PERF_SAMPLE_READ excludes inheritance).
OF_MAIN = ("one", "group", "groups", "group_thread", "group_packed", "noinherit")
# name, options, what check() is told
RECORDINGS = [
    ("plain", CLOCK, {}),
    ("chains", [*CLOCK, "-g"], {}),
    ("frequency", ["-e", "cpu-clock", "-F", "3000", "-g"], {}),
    ("system", [*CLOCK, "-a", "-g"], {"has_cpu": True}),
    ("cpu", [*CLOCK, "--sample-cpu", "-T"], {"has_cpu": True}),
    ("data", [*CLOCK, "-d", "--phys-data"], {}),
    ("raw", [*CLOCK, "-R", "-g"], {}),
    ("packed", [*CLOCK, "-g", "-z"], {}),
    ("packed19", [*CLOCK, "-a", "-z19"], {"has_cpu": True}),
    ("ids", [*CLOCK, "--buildid-all"], {}),
    ("clock", [*CLOCK, "--clockid", "CLOCK_BOOTTIME"], {}),
    ("one", [*CLOCK, "--per-thread"], {"has_time": False}),
    ("several", ["-e", "cpu-clock,task-clock,page-faults,context-switches", "-c", "50000", "-g"], {}),
    ("group", ["-e", "{cpu-clock,page-faults}:S", "-c", "250000"], {}),
    ("groups", ["-e", "{task-clock,context-switches,page-faults}:S", "-e", "{cpu-clock,page-faults}:S",
                "-e", "context-switches", "-F", "2000", "-g"], {}),
    ("group_system", ["-e", "{cpu-clock,page-faults,context-switches}:S", "-F", "2000", "-a"],
     {"has_cpu": True}),
    ("group_thread", ["-e", "{cpu-clock,page-faults}:S", "-F", "2000", "--per-thread"],
     {"has_time": False}),
    ("group_packed", ["-e", "{cpu-clock,page-faults}:S", "-F", "2000", "-g", "-z"], {}),
    ("group_threads", ["-e", "{cpu-clock,page-faults}:S", "-F", "2000", "-a", "--threads"], {}),
    ("tracepoints", ["-e", "sched:sched_switch,sched:sched_wakeup", "-g"], {}),
    ("noinherit", [*CLOCK, "-i"], {"has_time": False}),
    ("kernel", [*CLOCK, "-g", "--kernel-callchains"], {}),
    ("user", [*CLOCK, "-g", "--user-callchains"], {}),
    ("mmap2", [*CLOCK, "-g", "--buildid-mmap"], {}),
    ("cgroups", [*CLOCK, "--all-cgroups", "--namespaces"], {}),
    ("switches", [*CLOCK, "--switch-events"], {}),
    ("weights", [*CLOCK, "-W"], {}),
    ("registers", [*CLOCK, "-I", "--user-regs=ip,sp"], {}),
    ("pages", [*CLOCK, "-d", "--data-page-size", "--code-page-size"], {}),
    ("counts", [*CLOCK, "-s"], {}),
    ("tail", [*CLOCK, "-g", "--tail-synthesize"], {}),
    ("aio", [*CLOCK, "--aio"], {}),
    ("threads", [*CLOCK, "-g", "--threads"], {}),  # these are folders
    ("parts", [*CLOCK, "-z", "--threads"], {}),
    ("first", [*CLOCK, "-C", "0"], {"has_cpu": True}),
    ("dwarf", [*CLOCK, "--call-graph", "dwarf,8192"], {"is_unwound": True}),
]


def main():
    if not shutil.which("perf"):
        print("skip: perf is not installed")
        return 77
    nr = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder  # perf keeps copies of programs there
        for name, args, how in RECORDINGS:
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            path = perf_record(folder, name, *args, work=ONE_THREAD if name in OF_MAIN else WORK)
            if path:
                nr += 1
                if name == "tracepoints":
                    check_fields(path)
                if name == "group":
                    check_counts(path)
                print(f"{name}: {check(path, **how)} samples")
        check_kcore(folder)
        path = perf_record(folder, "pipe", *CLOCK, "-g", to_pipe=True)
        if path:
            print(f"pipe: {check(path)} samples")
        # events of different sample types in one pipe
        path = perf_record(folder, "mixed", "-e", "sched:sched_switch", "-e", "cpu-clock", "-F", "997",
                           to_pipe=True)
        if path:
            print(f"mixed: {check(path)} samples")
        path = perf_record(folder, "output", *CLOCK, "--switch-output=1M")
        for file in sorted(os.listdir(folder)):
            if file.startswith("output.data."):
                print(f"{file}: {check(f'{folder}/{file}')} samples")
        if kit.may_sample("round trip"):
            round_trip(folder)
    print(dict(seen))
    if sys.argv[1:]:
        return 0
    assert nr - seen["perf crashed"] > 10, "perf records too little here"
    assert seen["same"] > 20 * seen["alias"], seen
    assert seen["same"] > 10 * seen["unnamed"], seen
    assert seen["stacks"] > 10 * seen["unwound"], seen
    return 0


if __name__ == "__main__":
    sys.exit(main())
