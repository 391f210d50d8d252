#!/usr/bin/env python3
"""Events by name as a person meets them: every name that is listed can be described, in every
format and for CPUs that are not this one; from a glob to a spec that works; completion in bash;
an unprivileged user. CPUPERF names the program. Opens software events only.
"""
import csv
import ctypes
import errno
import io
import json
import os
import pty
import random
import re
import select
import struct
import subprocess
import tempfile
import time

import kit
from kit import CPUPERF, may_sample
from patience import PATIENCE_S
import sampled

SOURCE_DIR = os.environ["SOURCE_DIR"]
MODELS = [None, "skl", "icx", "spr", "amd64_fam17h_zen1", "zen4"]
LIST_COLUMNS = "group name kind scope unit source works reason description".split()
MORE_COLUMNS = "alias scale encoding alone hint detail way".split()
SAMPLES = 320
NOBODY = 65534
libc = ctypes.CDLL(None)


def run(*args, **how):
    return kit.run(CPUPERF, *args, **how)


def for_model(model):
    return [f"--model-name={model}"] if model else []


def list_names(model=None, pattern=None):
    how = f"--list-events={pattern}" if pattern else "--list-events"
    return run(how, "--output-format=names", "--quiet", *for_model(model)).stdout.split("\n")[:-1]


def describe(name, model=None, how="ndjson"):
    return run(f"--describe-event={name}", f"--output-format={how}", *for_model(model)).stdout


# ---- lists

def check_common_words():
    """Words name events whose names do not contain them; and are understood where a name is expected."""
    found = (("disk latency", {"latency:block", "misc:disk_read_time"}, "disks"),
             ("Page_Faults", {"software:page_faults"}, "program"), ("system calls", {"latency:syscall.read"}, "latency"),
             ("disk  Latencies", {"latency:block"}, "disks"), ("futexes", {"sched:off_cpu_time"}, "wall"),
             ("GPUs", {"gpu:busy"}, "gpu"), ("lock", {"sched:off_cpu_time", "latency:syscall.futex"}, "wall"))
    for word, events, spec in kit.stride(found, 2):
        assert events <= set(list_names(pattern=word)), word
        first = run(f"--list-events={word}", "--quiet").stdout.split("\n", 1)[0]
        assert first.startswith(f"{word}: ") and spec in first.split("; --spec-file=")[1].split(", "), first
        for name in first.split("; ")[0][len(word) + 2:].split(", "):
            if not name.startswith("tracepoint:") or os.path.exists("/sys/kernel/tracing/events/raw_syscalls"):
                assert list_names(pattern=name), name
    # what people type is answered in a screen, without what only mentions the word
    screens = (("lock", 5), ("disk latency", 6), ("syscall", 18), ("wait", 3), ("sleep", 3), ("futex", 6),
               ("memory", 8), ("network", 8), ("interrupt", 4), ("cpu", 5), ("cache", 7), ("process", 17))
    for word, most in kit.stride(screens, 4):
        done = run(f"--list-events={word}")
        names = re.findall(r"^(?!Group |… )([^\n: ][^\n ]*): ", done.stdout.split("\n", 1)[1], re.M)
        assert 0 < len(names) <= most, (word, names)
    text = run("--list-events=syscall").stdout
    more = re.search(r"\n… (\d+) more: --list-events='latency:syscall\.\*'\n", text)
    assert int(more[1]) + 16 == len(list_names(pattern="latency:syscall.*")), text[-500:]
    mentions = re.search(r"(\d+) other event\(s\) mention it: --list-events='\*wait\*'", run("--list-events=wait").stderr)
    assert int(mentions[1]) + len(set(list_names(pattern="wait")) & set(list_names(pattern="*wait*"))) == \
        len(list_names(pattern="*wait*"))
    for option, hint in (("disk_latency", "did you mean latency:block?"),
                         ("misc:run_queue_latency", "did you mean latency:run_queue?"),
                         ("syscalls", "--list-events='syscalls' lists its events")):
        done = run(f"--event={option}", "--duration=1ms", code=None)
        assert done.returncode and hint in done.stderr, done.stderr
    done = run("--list-events=no such words", code=None)
    assert done.returncode and 'no event matches "no such words"' in done.stderr, done


def check_formats():
    for model in (None, "skl"):
        text = run("--list-events", "--quiet", *for_model(model)).stdout
        groups = [line[6:] for line in text.split("\n") if line.startswith("Group ")]
        assert groups == [g for g in ("arch", "fixed", "model", "misc", "software", "tracepoint", "sched",
                                     "latency", "usdt", "function", "heap", "resource", "gpu")
                          if g in groups], groups
        assert text.startswith("\nGroup arch\n") and {"fixed", "misc", "software"} <= set(groups)
        rows = list(csv.DictReader(io.StringIO(
            run("--list-events", "--output-format=csv", "--quiet", *for_model(model)).stdout)))
        objects = [json.loads(line) for line in
                   run("--list-events", "--output-format=ndjson", "--quiet",
                       *for_model(model)).stdout.splitlines()]
        names = list_names(model)
        assert list(rows[0]) == LIST_COLUMNS == list(objects[0])
        assert [f"{r['group']}:{r['name']}" for r in rows] == names
        assert len(set(names)) == len(names) == len(objects), "a name is listed twice"
        lines = [line for line in text.split("\n") if line and not line.startswith("Group ")]
        hints = [line for line in lines if line.startswith("… ")]
        assert [line.split("'")[1] for line in hints if "'" in line] == ["usdt:*"] * ("usdt" in groups), hints
        assert sum("--list-functions" in line for line in hints) == ("function" in groups), hints
        lines = [line for line in lines if line not in hints]
        there = [i for i, row in enumerate(rows) if row["group"] != "usdt"]
        assert len(lines) == len(there)
        not_tried = {row["name"] for row, line in zip((rows[i] for i in there), lines) if line.endswith(" [not tried]")}
        assert not_tried == {row["name"] for row in rows if row["group"] in ("sched", "latency")}, not_tried
        for row, obj, line in zip((rows[i] for i in there), (objects[i] for i in there), lines):
            for one in (row, obj):  # meanwhile some come and go
                one["reason"] = re.sub(r"^\d+ of \d+ processes", "N of M processes", one["reason"])
            assert {**obj, "works": "true" if obj["works"] else "false"} == row
            mark = line.endswith(("[not supported]", "[no permission]"))
            partly = obj["reason"].startswith("not on every CPU: ") or "processes can be read" in obj["reason"] or \
                obj["reason"].startswith("only samples of")
            assert row["name"] in not_tried or mark == (not obj["works"]) == (bool(obj["reason"]) and not partly), line
            assert line.startswith(f"{row['name']}: {row['description']}"), line
            assert row["unit"] and row["source"] and row["description"].endswith("."), row
            assert row["kind"] in ("count", "value", "share"), row
            assert row["scope"] in ("cpu", "package", "system", "each"), row


def check_patterns():
    assert list_names(pattern="fixed:instr*") == ["fixed:instructions_retired"]
    assert list_names(pattern="FIXED:INSTR*") == ["fixed:instructions_retired"]
    assert "arch:branch_instructions_retired" in list_names(pattern="branches_retired")  # alias
    done = run("--list-events=nosuchthing", code=1)
    assert not done.stdout and 'no event matches "nosuchthing"' in done.stderr
    assert any(name.startswith("model:") for name in list_names("skl"))


def check_timings():
    """Printed, not asserted: the machine has other work."""
    for model in kit.stride(MODELS, 1):
        start = time.monotonic()
        names = list_names(model)
        took = time.monotonic() - start
        start = time.monotonic()
        run("--list-events", "--quiet", *for_model(model))
        print(f"  {model or 'this CPU'}: {len(names)} events, names {1000 * took:.0f} ms, "
              f"text {1000 * (time.monotonic() - start):.0f} ms")


# ---- descriptions

def check_every_name_resolves():
    choice = random.Random(4)
    everything = [(m, n) for m in MODELS for n in list_names(m)]
    own = [(m, n) for m, n in everything
           if m is None and not n.startswith(("tracepoint:", "model:", "latency:syscall."))]
    rest = [pair for pair in everything if pair not in set(own)]
    sample = own + choice.sample(rest, min(len(rest), max(0, SAMPLES - len(own))))
    assert len(sample) >= 300, len(sample)
    for model, name in kit.stride(sample, 80):
        event = json.loads(describe(name, model))
        assert f"{event['group']}:{event['name']}" == name, (model, name)
        assert list(event) == LIST_COLUMNS + MORE_COLUMNS
        assert "type " in event["encoding"] or event["group"] in ("misc", "gpu"), event
        assert event["group"] in ("fixed", "arch") or "Linux 6.12" not in event["detail"], event
        if event["works"] and not event["encoding"]:
            assert event["source"].startswith(("/", "bpf(2)")), event
    print(f"  {len(sample)} of {len(everything)} names to describe")


def check_description():
    text = describe("fixed:instructions_retired", how="text").split("\n")
    assert text[0] == "instructions_retired: Instructions retired."
    labels = {line[:13].strip(): line[13:] for line in text[1:] if line[2:3].strip()}
    assert labels["unit"] == "instructions" and labels["scope"] == "each CPU"
    assert labels["encoding"].endswith("type 0, config 0x1"), labels
    assert labels["flags"] == "os alone, user alone, or both"
    assert labels["here"] == "works" or labels["reason"], labels
    for model, code in (("spr", "0xe124"), ("skl", "0x0151"), ("nhm", "0x0151"), ("zen4", "0xc860")):
        event = json.loads(describe("arch:l1d_load_misses", model))
        assert f"({code})" in event["detail"] and "Linux 6.12" in event["detail"], (model, event)
    text = describe("software:cpu_clock", how="text")
    assert "\n  flags      counts do not separate os and user; samples may be restricted to one\n" in text
    for model in MODELS:
        text = describe("misc:cpu_user", model, how="text")
        assert "encoding" not in text and "detail" not in text, text
    assert next(csv.DictReader(io.StringIO(describe("misc:cpu_user", how="csv"))))["kind"] == "share"


def check_unknown():
    for name, text in (("fixed:instructions_retird", "did you mean fixed:instructions_retired?"),
                       ("model:L2_RQSTS:MIS", "L2_RQSTS:MISS"),
                       ("model:cycle_activity", "needs a unit mask: CYCLES_L2_MISS"),
                       ("model:INST_RETIRED:ANY_P:u", "use flags for the privilege level: os, user"),
                       ("fixed:instructions_retired:u", "use flags for the privilege level: os, user"),
                       ("model:r01c2:u", "use flags for the privilege level: os, user"),
                       ("nosuch:cpu_clock", "software:cpu_clock")):
        done = run(f"--describe-event={name}", "--model-name=skl", code=1)
        assert text in done.stderr and not done.stdout, (name, done.stderr)
    done = run("--describe-event=page_faults", code=2)
    assert "did you mean misc:page_faults or software:page_faults?" in done.stderr, done.stderr
    for how in ("--list-events", "--describe-event=fixed:instructions_retired"):
        assert "did you mean" in run(how, "--model-name=skylak", code=1).stderr
    full, short = (re.sub(r"\d+ of \d+ processes", "", run("--list-events", f"--model-name={name}", "--quiet").stdout)
                   for name in ("skylake", "skl"))
    assert full == short


def check_missing_tables():
    """The other architecture's CPU: what needs no table is listed, and the rest explained."""
    other = "skl" if os.uname().machine == "aarch64" else "neoverse-n1"
    done = run("--list-events", f"--model-name={other}")
    assert "fixed" in done.stdout and "group model:" in done.stderr, done.stderr


def check_document():
    """doc/events.md has what every machine lists: all but what this one's PMUs and sensors add."""
    with open(f"{SOURCE_DIR}/doc/events.md", encoding="utf-8") as f:
        group, names = "", set()
        for line in f:
            group = line[3:].strip() if line.startswith("## ") else group
            if group and line.startswith("| `"):
                names.add(f"{group}:{line[3:line.index('`', 3)]}")
    assert {"misc:memory_bytes_read", "misc:energy_pkg", "misc:package_temperature",
            "misc:cpu_frequency", "arch:inst_retired", "misc:gt_temperature"} <= names, names
    listed = list_names()
    for name in listed:
        assert not name.startswith(("arch:", "fixed:", "software:")) or name in names, name
    for name in kit.stride((n for n in listed if n.startswith("misc:")), 30):
        assert not json.loads(describe(name))["reason"].startswith("needs ") or name in names, name


# ---- specs

def write_spec(folder, names, **keys):
    path = f"{folder}/s.cpspec"
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"events": [{"group_name": n.split(":", 1)[0], "event_name": n.split(":", 1)[1]}
                              for n in names], "duration": 0, "num_iterations": 1,
                   "output_path_prefix": "", "session_result_spec_path": "", **keys}, out)
    return f"--spec-file={path}"


def check_from_glob_to_spec():
    with tempfile.TemporaryDirectory() as folder:
        for model in kit.stride(MODELS, 3):
            names = list_names(model, "*cache*miss*")
            assert names and (not model or any(n.startswith("model:") for n in names))
            done = run(write_spec(folder, names[:32]), "--check-spec", *for_model(model))
            for name in names[:32]:
                assert f"\n{name}\n" in done.stdout, (model, name, done.stdout)
        # what is said to work is measured
        names = [n for n in list_names(pattern="software:*") if json.loads(describe(n))["works"]]
        if names:
            done = run(write_spec(folder, names), "--strict", "--quiet")
            assert names[0].split(":")[1] in done.stdout, done.stdout


def cpus_of(text):
    return {cpu for part in text.split(",") for first, _, last in [part.partition("-")]
            for cpu in range(int(first), int(last or first) + 1)}


def check_where():
    """An event of a PMU with CPUs of its own is opened on those, and --check-spec says so."""
    with tempfile.TemporaryDirectory() as folder:
        for name in kit.stride(list_names(pattern="misc:*"), 30):
            pmu = json.loads(describe(name))["encoding"].split(":")[0]
            mask = f"/sys/bus/event_source/devices/{pmu}/cpumask"
            if not pmu or not os.path.exists(mask):
                continue
            with open(mask, encoding="ascii") as f:
                there = cpus_of(f.read())
            text = run(write_spec(folder, [name]), "--check-spec").stdout
            where = next(line for line in text.split("\n") if line.startswith("  where "))
            assert cpus_of(where.split("CPUs ")[1]) <= there, (name, where, there)


def check_model_of_spec():
    if not may_sample("the model of a spec"):
        return
    with tempfile.TemporaryDirectory() as folder:
        spec = write_spec(folder, ["software:cpu_clock"])
        run(spec, "--model-name=default")
        other = "nhm" if os.uname().machine == "x86_64" else "skl"
        done = run(spec, f"--model-name={other}", code=1)
        assert "this CPU is " in done.stderr and other in done.stderr, done.stderr
        run(spec, "--model-name=nosuch", code=2)
        assert run(spec, "--output-format=names", code=2).stderr


# ---- around it

def check_counters():
    """--check-spec says how many counters the model has, and whether the events fit."""
    for model, text in (("skl", "8 programmable, 3 fixed. Hardware events: 3 use fixed ones, 4 "),
                        ("zen3", "6 programmable, 0 fixed. Hardware events: 0 use fixed ones, 7 "),
                        ("zen3", "they are multiplexed"),
                        ("arm_n1", "7 hardware event(s) on each CPU; the number of counters")):
        done = run("--check-spec", "--spec-file=basic-cpu.cpspec", f"--model-name={model}")
        assert text in done.stdout.replace("\n", " "), (model, done.stdout[-400:])


def is_completed(folder, typed, line):
    """Types the text and a tab to bash in a terminal: whether it makes the line of it."""
    script = f"{SOURCE_DIR}/doc/completions/cpuperf.bash"
    master, slave = pty.openpty()
    env = {**os.environ, "PS1": "READY>", "TERM": "dumb", "HISTFILE": "",
           "PATH": f"{folder}:{os.environ['PATH']}"}
    with subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=slave, stdout=slave,
                          stderr=slave, env=env, start_new_session=True) as shell:
        os.close(slave)
        seen = b""

        def wait_for(text):
            nonlocal seen
            end = time.monotonic() + PATIENCE_S
            while text not in seen and time.monotonic() < end:
                if select.select([master], [], [], 0.2)[0]:
                    seen += os.read(master, 65536)
            return text in seen

        os.write(master, f"source {script}; echo SOUR''CED\n".encode())
        assert wait_for(b"SOURCED"), seen
        os.write(master, f"{typed}\t".encode())
        done = wait_for(line.encode())
        shell.kill()
    os.close(master)
    if not done:
        print(seen)
    return done


def check_completion():
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(CPUPERF, f"{folder}/cpuperf")
        for typed, line in (
                ("cpuperf --describe-ev", "cpuperf --describe-event="),
                ("cpuperf --describe-event=so", "cpuperf --describe-event=software:"),
                ("cpuperf --describe-event=software:cpu_cl",
                 "cpuperf --describe-event=software:cpu_clock "),
                ("cpuperf --describe-event fixed:instr",
                 "cpuperf --describe-event fixed:instructions_retired "),
                ("cpuperf --output-format=nd", "cpuperf --output-format=ndjson ")):
            assert is_completed(folder, typed, line), typed


def check_unprivileged():
    """Nobody lists and describes as well; what he may not do is marked."""
    if os.geteuid():
        print("  not root: all above ran unprivileged")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                  sampled.for_everybody(CPUPERF, folder)]

        def run_nobody(*args):
            return subprocess.run([*nobody, *args], capture_output=True, text=True, check=True,
                                  timeout=600, cwd="/").stdout

        text = run_nobody("--list-events")
        assert "\nGroup software\n" in text and "\nGroup misc\n" in text
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
            if int(f.read()) > 0:
                assert "cpu_clock: " in text and "[no permission]" in text
                assert "CAP_PERFMON" in run_nobody("--describe-event=software:cpu_clock")
        # of a sum over processes the list, the description and the plan say how many can be read
        few = r"\d+ of \d+ processes can be read"
        assert re.search(rf"process_read_bytes: .* \[partly: {few}\]", text), text
        about = run_nobody("--describe-event=misc:process_read_bytes")
        assert "works partly" in about and re.search(few, about) and "CAP_SYS_PTRACE" in about, about
        assert "partly" not in run_nobody("--describe-event=misc:process_rss")
        spec = f"{folder}/s.cpspec"
        with open(spec, "w", encoding="ascii") as f:
            json.dump({"config_name": "s", "output_path_prefix": "/nowhere/s",
                       "events": [{"group_name": "misc", "event_name": "process_read_bytes"}]}, f)
        os.chmod(spec, 0o644)
        assert re.search(f"here +works partly: {few}", run_nobody("--check-spec", f"--spec-file={spec}"))
        strict = subprocess.run([*nobody, "--check-spec", "--strict", f"--spec-file={spec}"], check=False,
                                capture_output=True, cwd="/")
        assert strict.returncode == 1, strict
        assert "partly" not in subprocess.run([CPUPERF, "--list-events"], capture_output=True, text=True,
                                              check=True).stdout
        for name in run_nobody("--list-events", "--output-format=names").split()[::50]:
            run_nobody(f"--describe-event={name}")


def refusing(cpu=None):
    """For preexec_fn: perf_event_open says EOPNOTSUPP, of this CPU or of all. linux/seccomp.h, filter.h."""
    def instruction(code, jump_true, jump_false, k):
        return struct.pack("=HBBI", code, jump_true, jump_false, k)
    load, equal, answer = 0x20, 0x15, 0x06
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    text = (instruction(load, 0, 0, 0) + instruction(equal, 0, 3, number)
            + instruction(load, 0, 0, 32)
            + (instruction(equal, 0, 1, cpu) if cpu is not None else instruction(0x05, 0, 0, 0))
            + instruction(answer, 0, 0, 0x00050000 | errno.EOPNOTSUPP)
            + instruction(answer, 0, 0, 0x7fff0000))
    room = ctypes.create_string_buffer(text)
    program = struct.pack("=HxxxxxxQ", len(text) // 8, ctypes.addressof(room))

    def install():
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, room
    return install


def check_refused():
    """What the kernel lists and does not open is not said to work: in the list, the description, the plan."""
    if os.geteuid() != 0:
        return
    none = {"preexec_fn": refusing()}
    works = {row["name"]: row["works"] for row in csv.DictReader(io.StringIO(
        run("--list-events=software:*", "--output-format=csv", "--quiet", **none).stdout))}
    assert set(works.values()) == {"false"} and "cpu_clock" in works, works
    assert "cpu_clock: " in (text := run("--list-events=software:cpu_clock", **none).stdout)
    assert "[not supported]" in text, text
    text = run("--describe-event=software:cpu_clock", **none).stdout
    assert "not supported" in text and "the kernel rejects" in text and "Operation not supported" in text, text
    with tempfile.TemporaryDirectory() as folder:
        spec = write_spec(folder, ["software:cpu_clock", "misc:memory_used"])
        assert "2 of 2 event(s) work here" in run(spec, "--check-spec", "--strict").stdout
        text = run(spec, "--check-spec", **none).stdout
        assert "not supported: the kernel rejects" in text and "1 of 2 event(s) work here" in text, text
        run(spec, "--check-spec", "--strict", code=1, **none)
        nr = os.sysconf("SC_NPROCESSORS_ONLN")
        if nr > 1:
            text = run(spec, "--check-spec", "--strict", code=1, preexec_fn=refusing(1)).stdout
            assert f"works partly: on {nr - 1} of {nr} CPUs only" in text and "1 of 2 event(s)" in text, text


def main():
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            start = time.monotonic()
            check()
            print(f"ok {name} ({time.monotonic() - start:.1f} s)")


if __name__ == "__main__":
    main()
