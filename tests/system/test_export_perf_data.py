#!/usr/bin/env python3
"""Does perf read what --output-format=perf-data writes? perf script, report and evlist read exported
sessions and have nothing to say on standard error; perf script shows the same samples as
--report=records (time, CPU, process, thread, name, event, period), with the same functions in the
same stacks; perf report has flat's totals. CPUPERF, CPUPERF_PRINT and MIX name the programs.

What differs by its nature is counted by kind, and told:
- alias: a name of the same address (perf takes another one of several, or with its version).
- behind: a call that is the last thing in its function (it does not return). perf looks a return
  address of a callchain up as it is, which is already of what lies behind; we look into the call.
- unknown: one of the two has no name. We name PLT entries and functions without a symbol by their
  unwind tables; perf names what lies behind a symbol without a size by it.
- parameters: perf shows functions of C++ without.
- vdso: perf calls functions of the vdso by other aliases, and misses their callers when unwinding.
- early: of a process that ran an exec between the session's start and the survey of /proc nobody knows
  what it was before: "[unknown]", which perf calls ":123". How many there are is for what else runs; each is looked up among
  the records that name tasks.
- end: both unwind the same bytes of a stack, one of them further.
Of a group that is read into its leader's samples (READ), perf makes a sample of each count, with
what came since the one before as period: so its totals are counts, and those are compared.
"""
import collections
import csv
import difflib
import functools
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import kit
from kit import again, may_sample
import perf_data_file as pd
import sampled
from sampled import event

HERE = os.path.dirname(os.path.abspath(__file__))
PRINT = os.environ["CPUPERF_PRINT"]
TRACEFS = "/sys/kernel/tracing"
RATE = 1000000
KINDS = ("alias", "behind", "unknown", "parameters", "vdso", "early", "end")
CLOCK = event("software:cpu_clock", rate=RATE, flags=["pc", "callchain"])

RESTRICTED = re.compile(r"^Warning:\nKernel address maps \(.*\) were restricted\.\n.*can't be resolved as well\.\n\n", re.S)

# Not cpuperf: its own stacks under a sanitizer are of libraries and frames that either unwinds in its way.
OURS = ("mix", "swapper", "chains")

Sample = collections.namedtuple("Sample", "time cpu comm pid tid event period stack")
Frame = collections.namedtuple("Frame", "name object offset")


def run(*command, code=0, env=None):
    """Standard output; nothing may be said beside it."""
    for _ in range(3):  # perf 6.1 at times ends with "stack smashing detected"
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600,
                              env=env, check=False)
        if "perf" not in command or "smashing" not in done.stderr:
            break
        again("run", "perf crashed")
    assert done.returncode == code, (command, done.returncode, done.stderr)
    return done.stdout, done.stderr


def perf(folder, *command):
    """perf is to be silent, but for what it says to one who may not read the kernel's symbols. Its caches are in the
    folder."""
    out, error = run(*sampled.perf_reader(), "perf", *command,
                     env={**os.environ, "HOME": folder, "DEBUGINFOD_URLS": ""})
    if not sampled.is_root():
        error = RESTRICTED.sub("", error)
    assert error == "", (command, error)
    return out


def printer(*args, code=0):
    return run(PRINT, *args, code=code)


def export(folder, *filters, name="out.data"):
    _, error = printer(f"--session={folder}/s.cpsession", "--output-format=perf-data",
                       f"--output-file={folder}/{name}", *filters)
    # other programs' stacks and files, and a busy machine, may cause warnings
    assert not re.search("error|omitted|not exported", error), error
    return f"{folder}/{name}"


# ---- samples by both

def object_of(path):
    """As we call it."""
    path = path.removesuffix(" (deleted)")
    return "[kernel]" if path.startswith(("[kernel", "[guest.kernel")) else os.path.basename(path)


def frame_of_perf(line):
    """"	ffffffff81 name+0x12 (object)\""""
    found = re.fullmatch(r"\s*([0-9a-f]+) (.*) \(([^()]*(?:\([^()]*\))?)\)", line)
    assert found, line
    name, _, offset = found[2].rpartition("+0x")
    if not name:
        name, offset = found[2], "0"
    return Frame(re.sub(r"@.*", "", name), object_of(found[3]), int(offset, 16))


def samples_of_perf(folder, path):
    """By perf script, in its order."""
    text = perf(folder, "script", "-i", path, "--ns", "--no-inline", "--max-stack", "1024", "-F",
                "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso")
    head = re.compile(r"\s*(.*?)\s+(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\d+)\s+(\S+):\s*(.*)")
    sample = None
    for line in filter(str.strip, text.split("\n")):
        if line.startswith("\t"):
            if sample:
                sample.stack.append(frame_of_perf(line))
            continue
        if sample:
            yield sample
        found = head.fullmatch(line)
        if not found:  # a name of a task that has a newline
            sample = None
            continue
        # an address of 0: none
        at = [frame_of_perf(found[9])] if found[9].endswith(")") and found[9][:2] != "0 " else []
        sample = Sample(int(found[5]) * 10**9 + int(found[6]), int(found[4]), found[1],
                        int(found[2]) % 2**32, int(found[3]) % 2**32, found[8], int(found[7]), at)
    if sample:
        yield sample


def frame_of_ours(text):
    """"ffffffff81 name (object)", "55d0 [unknown] (object+0x12)\""""
    found = re.fullmatch(r"[0-9a-f]+ (.*) \(([^()]*(?:\([^()]*\))?)\)", text) or \
        re.fullmatch(r"[0-9a-f]+ (.*)()", text)
    assert found, text
    name = re.sub(r"\(\)$", "", found[1])
    return Frame(name, re.sub(r"\+0x[0-9a-f]+$", "", found[2]), 0)


def id_of(text):
    """A pid or tid; unknown as perf has it."""
    return 2**32 - 1 if text == "-" else int(text)


def samples_of_ours(folder, *filters):
    """By --report=records; times are since the start, in whole microseconds."""
    text, _ = printer(f"--session={folder}/s.cpsession", "--report=records", *filters)
    head = re.compile(r" *(-?\d+)\.(\d{6})  CPU (\S+) +(.*?) +(\d+|-)/(\d+|-) +(\S+) period (\d+)(.*)")
    sample = None
    for line in text.split("\n"):
        if sample and re.match(r" {17}[0-9a-f]", line):
            sample.stack.append(frame_of_ours(line.strip()))
            continue
        if sample:
            yield sample
        sample = None
        found = head.fullmatch(line)
        if found:
            at = re.search(r"  ([0-9a-f]+ .*)$", found[9])
            sample = Sample(int(found[1]) * 10**6 + int(found[2]), int(found[3]), found[4],
                            id_of(found[5]), id_of(found[6]), found[7], int(found[8]),
                            [frame_of_ours(at[1])] if at else [])
    if sample:
        yield sample


# ---- names

@functools.lru_cache
def addresses(path):
    """name: its addresses, of a file and its debug file."""
    out = collections.defaultdict(set)
    files = [path]
    found = re.search(r"Build ID: (\w\w)(\w+)", subprocess.run(
        ["readelf", "-n", path], capture_output=True, text=True, check=False).stdout)
    if found:
        files.append(f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug")
    for name in files:
        text = subprocess.run(["readelf", "-sW", name], capture_output=True, text=True,
                              errors="replace", check=False).stdout
        for words in map(str.split, text.splitlines()):
            if len(words) >= 8 and words[3] in ("FUNC", "IFUNC", "NOTYPE"):
                out[words[7].split("@")[0]].add(int(words[1], 16))
    return out


def is_alias(a, b, paths):
    if a.object == "[kernel]":
        table = sampled.kernel_addresses()
        return bool(table[a.name] & table[b.name])
    return any(addresses(p)[a.name] & addresses(p)[b.name] for p in paths.get(a.object, ()))


def differs(ours, theirs, depth, paths):
    """The kind of the difference of two frames; "" if there is none, None if it has no reason."""
    if ours.name == theirs.name:
        return "" if ours.object == theirs.object or "unknown" in ours.name else None
    if "[unknown]" in (ours.name[:9], theirs.name[:9]) or ours.name.endswith("@plt"):
        return "unknown"
    if theirs.object == "[vdso]":
        return "vdso"
    if ours.object != theirs.object:
        return None
    if depth and theirs.offset == 0:
        return "behind"
    if ours.name.startswith((f"{theirs.name}(", f"{theirs.name}[")):
        return "parameters"
    return "alias" if is_alias(ours, theirs, paths) else None


def compare_stacks(ours, theirs, is_unwound, paths, kinds):
    """Whether all differences are of a kind."""
    if is_unwound and len(ours) != len(theirs):
        kinds["end"] += 1
    elif len(ours) != len(theirs):
        return False
    if is_unwound and any(f.object == "[vdso]" for f in theirs):
        kinds["vdso"] += 1
        return True
    for depth, (a, b) in enumerate(zip(ours, theirs)):
        kind = differs(a, b, depth, paths)
        if kind is None:
            return False
        if kind:
            kinds[kind] += 1
    return True


def names_by_time(folder):
    """tid: (microseconds since the start, name or None) of each record that names it, in their order. Who is forked has his
    parent's name."""
    start_ns = min(t.end[0] for t in sampled.traces(folder))
    out, found = collections.defaultdict(list), []
    for r in sampled.common(folder).records():
        if r.kind == sampled.R_COMM:
            found.append((struct.unpack_from("<Q", r.body, len(r.body) - 8)[0], 1, r))
        elif r.kind == sampled.R_FORK:
            found.append((struct.unpack_from("<Q", r.body, 16)[0], 0, r))
    for when, is_name, r in sorted(found, key=lambda f: f[:2]):
        _, of, tid, parent = struct.unpack_from("<4I", r.body)
        if is_name:
            tid, name = of, sampled.name_of(r.body[8:])
        else:
            name = out[parent][-1][1] if out[parent] else None
        out[tid].append(((when - start_ns) // 1000, name))
    return out


def names_at(named, when):
    """By the records of a task: that before a microsecond, and those within it."""
    before = [name for t, name in named if t < when]
    return {before[-1] if before else None, *(name for t, name in named if t == when)}


def compare(folder, ours, theirs, is_unwound=False, comms=None, has_period=True):
    """Sample by sample; the stacks of tasks of these names (none: of all)."""
    start_ns = min(t.end[0] for t in sampled.traces(folder))
    kinds, wrong, named = collections.Counter(), [], names_by_time(folder)
    paths = collections.defaultdict(set)
    for m in (m for of_pid in sampled.mappings(sampled.common(folder)).values() for m in of_pid):
        paths[os.path.basename(m.name)].add(m.name)
    key = lambda s: (s.time, s.cpu, s.tid, s.event)
    theirs = sorted((s._replace(time=(s.time - start_ns) // 1000) for s in theirs), key=key)
    ours = sorted(ours, key=key)
    assert len(ours) == len(theirs) > 100, (len(ours), len(theirs))
    kinds["all"] = len(ours)
    for a, b in zip(ours, theirs):
        assert key(a) == key(b) and a.pid == b.pid and (
            a.period == b.period or not has_period), (a, b)
        is_unknown = a.comm == "[unknown]" and re.fullmatch(r":-?\d+", b.comm)
        # of names with other characters some are disarmed
        if is_unknown or re.fullmatch(r"[\w./:+@-]+", a.comm) and a.comm != b.comm:
            # of what others start just then the name may be that before exec
            assert a.comm not in OURS and b.comm not in OURS, (a, b)
            by_record = names_at(named[a.tid], a.time)
            # where no record names it by then, each takes one of the later names
            by_record = by_record if by_record != {None} or is_unknown else {name for _, name in named[a.tid]}
            assert by_record & ({None} if is_unknown else {a.comm, b.comm}), (a, b, named[a.tid])
            kinds["early"] += 1
        if (not comms or a.comm in comms) and not compare_stacks(a.stack, b.stack, is_unwound, paths, kinds):
            wrong.append((a, b))
    print(f"    {len(ours)} samples are the same; "
          + ", ".join(f"{kind} {kinds[kind]}" for kind in KINDS if kinds[kind]))
    for a, b in wrong[:3]:
        print("    other stacks:", "; ".join(f.name for f in a.stack), "|",
              "; ".join(f.name for f in b.stack))
    print(f"    {len(wrong)} stacks differ without a reason")
    assert len(wrong) <= 2 + 0.002 * len(ours), len(wrong)  # of a few hundred one or two may be chance
    return kinds


# ---- totals

def totals_of_perf(folder, path):
    """(event, comm): samples and the sum of periods. Of names with a newline perf's first line is read:
    two may be the same."""
    out, name = collections.defaultdict(lambda: (0, 0)), None
    text = perf(folder, "report", "-i", path, "--stdio", "--no-children", "-g", "none", "--sort",
                "comm", "-F", "sample,period,comm", "-t;", "--no-group")
    for line in text.splitlines():
        found = re.match(r"# Samples: .* of events? '(.*)'", line)
        name = found[1] if found else name
        row = re.fullmatch(r"\s*(\d+)\s*;\s*(\d+)\s*;(.*)", line)
        if row:
            nr, period = out[name, row[3].strip()]
            out[name, row[3].strip()] = (nr + int(row[1]), period + int(row[2]))
    return out


def totals_of_ours(folder, *filters):
    text, _ = printer(f"--session={folder}/s.cpsession", "--report=flat", "--sort=comm",
                      "--output-format=csv", "--top=0", *filters)
    return {(row["event"], row["comm"]): (int(row["self_samples"]), int(row["self_count"]))
            for row in csv.DictReader(text.splitlines())}


def check_totals(folder, path, *filters):
    """Of each event, and of each name but for those that came late (see early)."""
    ours, theirs = totals_of_ours(folder, *filters), totals_of_perf(folder, path)
    same = sum(theirs.get(key) == value for key, value in ours.items())
    for key, value in ours.items():
        assert theirs.get(key) == value or key[1] not in OURS, (key, value, theirs.get(key))
    for name in {name for name, _ in ours}:
        ours_of, theirs_of = ([sum(v[i] for (n, _), v in t.items() if n == name) for i in (0, 1)]
                              for t in (ours, theirs))
        assert ours_of == theirs_of, (name, ours_of, theirs_of, ours, dict(theirs))
    print(f"    {len(ours)} rows of flat, {same} the same in perf report")  # the others are those that came late


# ---- sessions

OWN = [f"--comm={name}" for name in OURS]  # to unwind what else runs takes its time


def record(folder, events, ms=200, prefix=(), **keys):
    """A session while a mix and a program without frame pointers have a CPU each."""
    session = sampled.start(folder, events, prefix=prefix, duration=60, **keys)
    chains = f"{os.path.dirname(folder)}/chains"
    programs = [sampled.mix("cpu_ms", ms, 2), subprocess.Popen([chains, "deep", str(ms)])]
    for p in programs:
        p.communicate(timeout=600)
        assert p.returncode == 0
    session.send_signal(signal.SIGINT)
    sampled.finish(session)


def check_silent(folder, path):
    """What perf says of the file as a whole."""
    perf(folder, "report", "--stdio", "--no-inline", "-i", path)
    perf(folder, "script", "--no-inline", "--show-task-events", "--show-mmap-events", "-i", path)
    header = perf(folder, "report", "--header-only", "-i", path)
    for word in ("hostname : ", "os release : ", "perf version : cpuperf", "arch : ", "nrcpus online : ",
                 "nrcpus avail : ", "cpudesc : ", "cmdline : ", "event : name = ",
                 "time of first sample : ", "clockid: monotonic", "reference time: "):
        assert f"# {word}" in header, (word, header)
    assert "vmlinux" in (ids := perf(folder, "buildid-list", "-i", path)) or "kernel" in ids, ids
    return perf(folder, "evlist", "-v", "-i", path)


def check_session(folder, events, is_unwound=False, filters=(), of_callers=True, **keys):
    record(folder, events, **keys)
    path = export(folder, *filters)
    told = check_silent(folder, path)
    kinds = compare(folder, samples_of_ours(folder, *filters), samples_of_perf(folder, path),
                    is_unwound, OURS)
    check_totals(folder, path, *filters)
    check_round_trip(folder, path, *(filters or OWN), of_callers=of_callers)
    return path, told, kinds


def check_one(folder):
    _, told, _ = check_session(folder, [CLOCK])
    assert len(told.splitlines()) == 2 and "IDENTIFIER" in told, told
    check_filters(folder)
    check_unshaped(folder)
    check_refused(folder)


def check_several(folder):
    """Of several layouts: with addresses and callers or without, of a frequency. Only one to which
    Linux gives a stranger's id: with two, nobody knows of which a sample is."""
    events = [sampled.counted(rate=1, flags=["callchain"]),
              event("software:task_clock", label="task", frequency=900), CLOCK]
    _, told, _ = check_session(folder, events)
    names = [line.partition(":")[0] for line in told.splitlines()]
    assert names == [sampled.COUNTED, "task", "cpu_clock", "dummy"], names


def last_counts(folder):
    """label: what the last sample of each CPU has of it."""
    last, out = {}, collections.Counter()
    for trace in (t for i in range(sampled.nr_iterations(folder)) for t in sampled.traces(folder, i)):
        for sample in trace.samples():
            last[trace.cpu] = trace, sample
    for trace, sample in last.values():
        group = [e for e, *_ in trace.ids.values()]
        for place, (count, *_) in zip(group, sample["read"][1]):
            out[trace.events[place]["label"]] += count
    return out


def check_group(folder):
    """A timebase with counts in its samples, in several iterations."""
    events = [event("software:cpu_clock", rate=RATE, flags=["pc", "timebase"]),
              event("software:page_faults", flags=sampled.USER), sampled.counted()]
    with sampled.Busy() as programs:
        session = sampled.start(folder, events, "--duration=200ms", num_iterations=1000)
        kit.wait_for(session, f"{folder}/t.2.0.cpuperf")
        sampled.finish_when(session, folder, programs, 0.1)
    path = export(folder)
    told = check_silent(folder, path)
    names = [line.partition(":")[0] for line in told.splitlines()]
    assert names == ["cpu_clock", "page_faults", sampled.COUNTED, "dummy"], names
    theirs = [s for s in samples_of_perf(folder, path) if s.event == "cpu_clock"]
    compare(folder, samples_of_ours(folder), theirs, comms=OURS, has_period=False)
    if may_sample("counts of a group in samples, as each task has them in a trace of another CPU"):
        totals = collections.Counter()
        for (name, _), (_, period) in totals_of_perf(folder, path).items():
            totals[name] += period
        assert totals == last_counts(folder), (totals, last_counts(folder))
    assert "anon group" in perf(folder, "report", "--stdio", "--group", "-i", path)
    # read back, what each event of the group counted are samples of it, too, as perf has it
    own, read = (sorted((row["function"], row["pid"], row["self_samples"]) for row in csv.DictReader(
        flat(given, "--sort=function,pid", "--event=cpu_clock", *OWN)) if not is_hidden(row))
                 for given in (f"--session={folder}/s.cpsession", f"--perf-data={path}"))
    assert own and own == read, (own, read)
    first = export(folder, "--iteration=0", name="first.data")
    some = sorted((s.cpu, s.time) for s in samples_of_perf(folder, first) if s.event == "cpu_clock")
    assert 0 < len(some) < len(theirs), (len(some), len(theirs))
    assert some == sorted((t.cpu, s["time"]) for t in sampled.traces(folder, 0) for s in t.samples())
    # what fell on others is not taken for that of the next sample that is picked
    everything = {(s.time, s.cpu, s.event): s.period for s in samples_of_perf(folder, path)}
    for more in (["--comm=mix"], ["--iteration=1"]):
        some = {(s.time, s.cpu, s.event): s.period
                for s in samples_of_perf(folder, export(folder, *more, name="some.data"))}
        assert len(some) > 20 and some.items() <= everything.items(), (more, len(some), len(everything))


def check_dwarf(folder):
    """perf unwinds the stack that the samples have."""
    user_stack = event("software:cpu_clock", rate=RATE, flags=["user_stack"], stack_bytes=8192)
    path, _, kinds = check_session(folder, [user_stack], is_unwound=True, filters=OWN)
    deep = [s for s in samples_of_perf(folder, path) if s.comm == "chains"]
    whole = sum(f"{'recurse ' * 20}deep main".split() == [f.name for f in s.stack][1:23]
                for s in deep)
    rows, _ = printer(f"--session={folder}/s.cpsession", "--report=flat", "--comm=chains", "--top=0",
                      "--output-format=csv")
    spins = [r["self_samples"] for r in csv.DictReader(rows.splitlines()) if r["function"] == "spin"]
    text = perf(folder, "report", "--stdio", "--no-children", "-g", "none", "--no-inline", "--comm=chains",
                "--sort=sym", "-F", "sample,sym", "-t;", "-i", path)
    assert re.findall(r"^ *(\d+) *;\[\.\] spin", text, re.M) == spins, (spins, text)
    assert kinds["end"] < 0.05 * kinds["all"] and whole > 0.9 * len(deep), (kinds, whole, len(deep))


def check_both(folder):
    """The kernel's callers by the chain, the program's by its stack: not twice. Where the stack tells
    less than frame pointers did, those are gone."""
    both = event("software:cpu_clock", rate=RATE, flags=["callchain", "user_stack"], stack_bytes=8192)
    check_session(folder, [both], is_unwound=True, filters=OWN, of_callers=False)


def check_hybrid(folder):
    """What a short piece of stack adds to a chain of frame pointers."""
    hybrid = event("software:cpu_clock", rate=RATE, flags=["callchain", "user_stack"], stack_bytes=512)
    check_session(folder, [hybrid], filters=OWN)


def see_tracefs():
    """What stands before a command so that it sees tracefs; None: it cannot be had."""
    if os.path.isdir(f"{TRACEFS}/events"):
        return ()
    prefix = ("unshare", "-m", "sh", "-c", f'mount -t tracefs nodev {TRACEFS} && exec "$@"', "sh")
    may = sampled.is_root() and shutil.which("unshare") and subprocess.run(
        [*prefix, "test", "-d", f"{TRACEFS}/events"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0
    return prefix if may else None


def check_tracepoints(folder):
    """Their fields are shown."""
    if not may_sample("tracepoints"):
        return
    prefix = see_tracefs()
    if prefix is None:
        print("skip: tracepoints: tracefs cannot be had here")
        return
    events = [event("tracepoint:sched:sched_switch", rate=1, flags=["callchain"]),
              event("tracepoint:sched:sched_process_exec", rate=1)]
    record(folder, events, prefix=prefix)
    path = export(folder)
    check_silent(folder, path)
    check_totals(folder, path)
    text = perf(folder, "script", "-i", path, "-F", "trace:comm,tid,event,trace")
    switches = re.findall(r"^ *(mix|chains) +(\d+) +sched:sched_switch: +(.*)$", text, re.M)
    assert len(switches) > 5, text[:500]
    for comm, tid, fields in switches:
        assert f"prev_comm={comm} prev_pid={tid} " in fields and "next_prio=" in fields, fields
    assert re.search(r"sched_process_exec: +filename=\S*/chains pid=\d+", text), text[-500:]
    fields = perf(folder, "evlist", "--trace-fields", "-i", path)
    assert "prev_comm,prev_pid" in fields, fields
    check_round_trip(folder, path, *OWN)


def check_filters(folder):
    """Those of samples; what was mapped when stays."""
    for more in (["--cpu=0"], ["--comm=mix"], ["--from=50ms", "--to=150ms"], ["--comm=nobody"]):
        path = export(folder, *more, name="some.data")
        wanted, _ = printer(f"--session={folder}/s.cpsession", "--report=flat", "--sort=comm",
                            "--output-format=csv", "--top=0", *more)
        rows = list(csv.DictReader(wanted.splitlines()))
        ours, theirs = sum(int(r["self_samples"]) for r in rows), list(samples_of_perf(folder, path))
        assert len(theirs) == ours and (ours > 20) == (more != ["--comm=nobody"]), (more, ours)
        assert "PERF_RECORD_MMAP2" in perf(folder, "script", "--show-mmap-events", "-i", path) or \
            not theirs


def check_unshaped(folder):
    """perf looks names up itself: it is said that rules for names do not hold."""
    for rule in ("--merge=s/a/b/", "--merge-object", "--split=a>b/c", "--hide=a", "--only=a"):
        _, told = printer(f"--session={folder}/s.cpsession", "--output-format=perf-data",
                          f"--output-file={folder}/some.data", "--comm=mix", rule)
        assert f"perf-data ignores {rule.partition('=')[0]}: " in told, told


def refuse(*args, what, code=2):
    _, error = printer("--output-format=perf-data", *args, code=code)
    lines = [line for line in error.splitlines() if "error" in line]
    assert len(lines) == 1 and what in lines[0], error


def check_refused(folder):
    session = f"--session={folder}/s.cpsession"
    refuse(session, session, f"--output-file={folder}/x", what="prints one session")
    refuse(session, what="cannot hold a perf.data file, whose beginning is written last", code=1)
    os.mkfifo(f"{folder}/fifo")
    reader = subprocess.Popen(["cat", f"{folder}/fifo"], stdout=subprocess.DEVNULL)
    refuse(session, f"--output-file={folder}/fifo", what="whose beginning is written last", code=1)
    reader.wait(timeout=600)
    os.mkdir(f"{folder}/tally")
    sampled.finish(sampled.start(f"{folder}/tally", [sampled.counted()], "--duration=10ms"))
    refuse(f"--session={folder}/tally/s.cpsession", f"--output-file={folder}/x",
           what="has counts only", code=1)


def flat(*args):
    text, _ = printer("--report=flat", "--top=0", "--output-format=csv", *args)
    return text.splitlines()


def check_round_trip(folder, path, *filters, of_callers=True):
    """Read back, the file says the same. of_callers: so too who called."""
    for columns in ("function", "function,comm,pid", "object,cpu"):
        ours, theirs = (sorted(numbers(flat(given, f"--sort={columns}", *filters), of_callers))
                        for given in (f"--session={folder}/s.cpsession", f"--perf-data={path}"))
        differ = list(difflib.unified_diff(ours, theirs, n=0))
        assert ours and not differ, (columns, differ[:20])


def is_hidden(row):
    """Of the kernel's page of functions, whose names one who may not read the kernel's addresses does not get of a
    file of perf: they are those of this boot, of which he does not know."""
    return not sampled.is_root() and row["object"] == "[vdso]" and "function" in row


def numbers(lines, of_callers):
    for row in csv.DictReader(lines):
        if not is_hidden(row) and (of_callers or row["self_samples"] != "0"):
            # bursts are counted in blocks of time from the first record, which may be later in the file
            yield str([value for name, value in row.items() if not name.endswith(("_low", "_high"))
                       and (of_callers or not name.startswith("total"))])


def check_lost(folder):
    """What found no room is said, as perf says it: this time it has a warning."""
    user_stack = event("software:cpu_clock", rate=RATE, flags=["user_stack"], stack_bytes=32768)
    with sampled.Busy() as programs:
        session = sampled.start(folder, [user_stack], f"--pid={','.join(str(p.pid) for p in programs)}", duration=60,
                                buffer_size_in_mb=1)
        computed = max(sampled.user_seconds(p.pid) for p in programs)
        sampled.wait_for_cpu_time(programs, computed + 0.1)
        session.send_signal(signal.SIGSTOP)
        computed = max(sampled.user_seconds(p.pid) for p in programs)
        sampled.wait_for_cpu_time(programs, computed + 0.3)
        for what in (signal.SIGCONT, signal.SIGINT):
            session.send_signal(what)
        sampled.finish(session)
    lost = sum(i["lost"] for t in sampled.traces(folder) for i in t.sampling["items"])
    printer(f"--session={folder}/s.cpsession", "--output-format=perf-data",
            f"--output-file={folder}/out.data")
    text, error = run(*sampled.perf_reader(), "perf", "report", "--stdio", "--no-inline", "-i",
                      f"{folder}/out.data")
    assert lost > 100 and f"# Total Lost Samples: {lost}" in text, (lost, text[:500])
    assert "lost" in error, error


def check_of_perf(folder):
    """What perf recorded, read and written again, is the same to it, also where records have the id of an
    event in their middle."""
    whole, ms = (["-a"], "100") if may_sample("whole CPUs by perf") else (["--sample-cpu"], "300")
    for more in (["-e", "cpu-clock"], ["-F", "997"]):
        run("perf", "record", "-qN", "--buildid-mmap", *whole, "-g", "-F", "999", *more, "-o",
            f"{folder}/perf.data", os.environ["MIX"], "cpu_ms", ms)
        printer(f"--perf-data={folder}/perf.data", "--output-format=perf-data",
                f"--output-file={folder}/out.data")
        # the files of other programs, which have the names of functions, may be gone meanwhile
        for of in (["--comms=mix"], ["-F", "comm,pid,tid,cpu,time,event,ip,period"]):
            theirs, ours = (perf(folder, "script", "--no-inline", *of, "-i", f"{folder}/{name}")
                            for name in ("perf.data", "out.data"))
            assert ours == theirs and ours.count("cpu-clock") > 50, (more, ours[:1000], theirs[:1000])


def check_branches(folder):
    """No machine of these tests has branches, weights and addresses of data: they are made. In the
    order of their events, which have layouts of their own."""
    for branch in (0, pd.HW_INDEX):
        f = pd.File("<", attr_bytes=112)
        data = pd.IDENTIFIER | pd.IP | pd.TID | pd.TIME | pd.ADDR | pd.WEIGHT | pd.DATA_SRC | pd.PHYS
        f.event(0, 0, data | pd.PERIOD | pd.CALLCHAIN | pd.BRANCH, [5], period=1000, branch=branch | 1)
        f.event(0, 1, data | pd.CPU | pd.TRANSACTION, [6], period=77)
        f.names(["cycles", "loads"])
        f.comm(10, 10, "made")
        f.mmap(10, 0x400000, 0x10000, 0, "/opt/made")
        for i in range(10):
            f.sample(ip=0x400100, pid=10, tid=10, time=1000 + i, period=50,
                     chain=(pd.CONTEXT_USER, 0x400100, 0x400201),
                     branches=[(0x400300, 0x400400, f.branch_flags(mispredicted=1, cycles=12)),
                               (0x400500, 0x400600, f.branch_flags(predicted=1, cycles=99))])
            f.sample(event=1, ip=0x400100, pid=10, tid=10, time=1000 + i, cpu=3, addr=0xabc0,
                     weight=17, data_src=0x68100142)
        with open(f"{folder}/made.data", "wb") as out:
            out.write(f.whole())
        printer(f"--perf-data={folder}/made.data", "--output-format=perf-data",
                f"--output-file={folder}/out.data")
        fields = "comm,tid,time,event,ip,period,brstack,addr,weight,data_src,phys_addr"
        theirs, ours = (run("perf", "script", "-F", fields, "-i", f"{folder}/{name}")[0].split("\n")
                        for name in ("made.data", "out.data"))
        assert sorted(ours) == sorted(theirs), list(difflib.unified_diff(theirs, ours))[:10]
        assert sum("0x400300/0x400400/M/-/-/12" in line for line in ours) == 10, ours[:10]
        assert sum("abc0" in line and " 17 " in line for line in ours) == 10, ours[:10]
        assert "branch" in perf(folder, "report", "--header-only", "-i", f"{folder}/out.data")
        assert "# Samples: 20 " in run("perf", "report", "--stdio", "-b", "-i", f"{folder}/out.data")[0]


CHECKS = [check_one, check_several, check_group, check_dwarf, check_both, check_hybrid,
          check_tracepoints, check_lost, check_of_perf, check_branches]


def main():
    if not sampled.have("perf"):
        print("skip: there is no perf")
        raise SystemExit(77)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-g1", "-O2",
                        "-fomit-frame-pointer", f"{HERE}/chains.c", "-o", f"{folder}/chains", "-ldl"],
                       check=True)
        for check in CHECKS:
            print(f"  {check.__name__}", flush=True)
            os.mkdir(f"{folder}/{check.__name__}")
            check(f"{folder}/{check.__name__}")


if __name__ == "__main__":
    main()
