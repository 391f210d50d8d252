#!/usr/bin/env python3
"""cpuperf --doctor says what is true: each of its rows is compared with a session. An installation that lacks a file,
or has one of another version, is named with the package. And cpuperf alone on a terminal: six commands that work."""
import errno
import json
import os
import re
import shutil
import struct
import subprocess

try:
    import jsonschema
except ImportError:
    jsonschema = None
    print("skip: the schema: python3-jsonschema is not installed", flush=True)

import sampled
from kit import CPUPERF, on_terminal, own_uid, PRINT, run, run_checks

HEAP, KNOWN = os.environ["HEAP"], os.environ["KNOWN"]
AGENT = os.environ["AGENT"]
BIN = os.path.dirname(CPUPERF)
FROM_BIN = os.path.relpath(os.path.dirname(AGENT), BIN)
STAMP = b"cpuperf agent of heap version \0"
# A row: a session that has a number only if the row is there. None: no session is short enough, or the machine has
# nothing to compare with.
SESSIONS = {
    "agent": ["-e", "heap:allocated", "--", HEAP, "ones"],
    "own programs": ["-e", "task_clock", "--", HEAP, "ones"],
    "whole CPUs": ["-e", "cpu_clock", "-d", "10ms", "--num-iterations=1"],
    "hardware counters": ["-e", "fixed:instructions_retired", "--", HEAP, "ones"],
    "waits (BPF)": ["-e", "sched:off_cpu_time", "--", HEAP, "ones"],
    "latencies (BPF)": ["-e", "latency:run_queue", "-d", "10ms", "--num-iterations=1"],
    "tracepoints": ["-e", "tracepoint:sched:sched_switch", "--", HEAP, "ones"],
}
ROWS = {*SESSIONS, "installation", "kernel code", "kernel types (BTF)", "kernel symbols", "running processes", "frame pointers",
        "debuginfod"}


def doctor(*options, program=CPUPERF, before=(), code=None, **how):
    done = run(*before, program, "--doctor", "--output-format=json", *options, code=code, **how)
    found = json.loads(done.stdout)
    if jsonschema:
        with open(f"{os.environ['SOURCE_DIR']}/schemas/doctor.schema.json", encoding="utf-8") as f:
            jsonschema.validate(found, json.load(f))
    return found, done


def rows_of(found, key="checks"):
    return {row["check"]: row for row in found[key]}


def measures(session, before=()):
    """Whether a session with only this event counts it."""
    shown = run(*before, CPUPERF, "--quiet", "-o", "-", *session, code=None)
    return shown.returncode == 0 and not re.search(r"not supported|no permission|n/a|not measured", shown.stdout + shown.stderr)


def check_rows_are_true(folder):
    os.chmod(folder, 0o777)
    user = ["setpriv", f"--reuid={own_uid()}", f"--regid={own_uid()}", "--clear-groups", "--inh-caps=-all"]
    heap = sampled.for_everybody(HEAP, os.path.dirname(folder))  # the build may be in a home that is closed
    deny = f"{os.path.dirname(folder)}/deny"  # as a container's filter
    run("cc", "-o", deny, f"{os.environ['SOURCE_DIR']}/tests/system/deny.c")
    for before in ([], *([user] if os.geteuid() == 0 else []), [deny, str(errno.EPERM)], [deny, str(errno.ENOSYS)]):
        found, done = doctor(before=before)
        rows = rows_of(found)
        assert set(rows) == ROWS, set(rows) ^ ROWS
        for name, session in SESSIONS.items():
            works = measures([heap if word == HEAP else word for word in session], before)
            assert (rows[name]["state"] in ("yes", "partly")) >= works, (before, rows[name], session)
            assert works or rows[name]["state"] != "yes", (before, rows[name], session)
        missing = [row for row in found["checks"] if row["costs_answers"] and row["state"] in ("no", "partly")]
        assert found["missing"] == len(missing), (found, missing)
        assert done.returncode == bool(missing), (done.returncode, missing)
        for row in found["checks"]:
            assert row["found"] and row["costs"], row
            assert row["state"] in ("yes", "unknown") or row["to_have_it"], row
            assert row["state"] != "yes" or not row["to_have_it"], row
        symbols = run(*before, "head", "-n", "1", "/proc/kallsyms").stdout.split()[0]
        assert (rows["kernel symbols"]["state"] == "yes") == (int(symbols, 16) != 0), (before, symbols, rows["kernel symbols"])
        types = os.path.exists("/sys/kernel/btf/vmlinux")
        assert (rows["kernel types (BTF)"]["state"] == "yes") == types, rows["kernel types (BTF)"]
    assert not os.listdir(folder), os.listdir(folder)


def check_text_has_no_names(folder):
    """Hosts, users and folders; and it has each row of the document."""
    secret = f"{folder}/secretfolder"
    make_copy(secret)
    shutil.copy(KNOWN, f"{secret}/secretprogram")
    for options in ([], [f"--doctor={secret}/secretprogram"]):
        done = run(f"{secret}/bin/cpuperf", "--doctor", *options, code=None, cwd=folder, env={"HOME": secret})
        found, _ = doctor(program=f"{secret}/bin/cpuperf", env={"HOME": secret})
        for name in ("secretfolder", folder, os.uname().nodename):
            assert name not in done.stdout, (name, done.stdout)
        for row in found["checks"]:
            assert row["check"] in done.stdout, (row, done.stdout)
    assert "secretprogram" in done.stdout  # the name of what was asked for, without its folder
    os.unlink(f"{secret}/{FROM_BIN_AGENT}")
    for output in (run(f"{secret}/bin/cpuperf", "--doctor", code=1).stdout, json.dumps(doctor(program=f"{secret}/bin/cpuperf")[0])):
        assert "secretfolder" not in output and "package cpuperf" in output, output


FROM_BIN_AGENT = os.path.normpath(f"bin/{FROM_BIN}/libcpuperf-agent.so")
FROM_BIN_MARKS = os.path.normpath(f"bin/{os.path.relpath(os.environ['MARKS'], os.path.dirname(CPUPERF))}")


def make_copy(to):
    """What is installed, as far as these checks need it."""
    os.makedirs(f"{to}/bin")
    library = os.path.normpath(f"{to}/bin/{FROM_BIN}")
    os.makedirs(library)
    os.makedirs(f"{to}/share/cpuperf")
    for program in (CPUPERF, PRINT):
        shutil.copy(program, f"{to}/bin")
    for name in ("libcpuperf-agent.so", "libcpuperf-functions.so", "libcpuperf-causal.so"):
        shutil.copy(f"{os.path.dirname(AGENT)}/{name}", library)
    shutil.copy(os.environ["MARKS"], f"{to}/{FROM_BIN_MARKS}")
    os.symlink(f"{os.environ['SOURCE_DIR']}/specs", f"{to}/share/cpuperf/specs")


def check_incomplete_installation(folder):
    """Each file, where it is missed: it is named, with the package that has it."""
    copy = f"{folder}/copy"
    make_copy(copy)
    program = f"{copy}/bin/cpuperf"
    heap = (program, "-o", f"{folder}/s", "-e", "heap:allocated", "--", HEAP, "ones")
    assert "allocated" in run(*heap).stderr
    assert rows_of(doctor(program=program)[0])["installation"]["state"] == "yes"
    for file, name, row, command, code in (
            (FROM_BIN_AGENT, "libcpuperf-agent.so", "agent", heap, None),
            (FROM_BIN_AGENT, "libcpuperf-agent.so", "agent",
             (program, f"--pid={os.getpid()}", "--attach", "-e", "heap:allocated", "-d", "1ms"), 1),
            (FROM_BIN_MARKS, "libcpuperf_marks.so", "installation",
             (program, "-o", f"{folder}/s", "--regions", "--", KNOWN), None),
            ("share/cpuperf/specs", "the folder of specs", "installation", (program, "-o", f"{folder}/s", "--", KNOWN), None),
            ("bin/cpuperf_print", "cpuperf_print", "installation", (program, "-o", f"{folder}/s", "--", KNOWN), None),
            ("bin/cpuperf_print", "cpuperf_print", "installation",
             (program, "-o", f"{folder}/s", "--push=parca+http://127.0.0.1:1", "-e", "cpu_clock@99Hz", "--", KNOWN), None)):
        os.rename(f"{copy}/{file}", f"{folder}/away")
        done = run(*command, code=code)
        said = " ".join(done.stderr.split())
        assert f"{name} is not installed" in said and "package cpuperf" in said, (file, done)
        found, done = doctor(program=program)
        state = rows_of(found)[row]
        assert state["state"] == "no" and name in state["found"], (file, state)
        assert "package cpuperf" in state["to_have_it"], state
        assert done.returncode == 1, done
        os.rename(f"{folder}/away", f"{copy}/{file}")


def check_mixed_installation(folder):
    """An agent of another version, one without a version, or no file of one: refused before the program runs, and named."""
    copy = f"{folder}/copy"
    make_copy(copy)
    program, agent = f"{copy}/bin/cpuperf", f"{copy}/{FROM_BIN_AGENT}"
    with open(agent, "rb") as f:
        whole = f.read()
    assert whole.count(STAMP) == 1, whole.count(STAMP)
    at = (whole.index(STAMP) + len(STAMP) + 3) // 4 * 4
    at = whole.index(STAMP) + (len(STAMP) + 3) // 4 * 4
    version, = struct.unpack_from("<I", whole, at)
    for changed, word in ((whole[:at] + struct.pack("<I", version - 1) + whole[at + 4:], f"has version {version - 1} "),
                          (whole.replace(STAMP, STAMP[::-1]), "is damaged, or older than this cpuperf"),
                          (whole[:-1], "is damaged, or older than this cpuperf"), (b"", "is damaged, or older than this cpuperf"),
                          (None, "cannot be read: it is not a regular file")):
        os.unlink(agent)
        if changed is None:
            os.mkfifo(agent)  # which to open would wait for a writer
        else:
            with open(agent, "wb") as f:
                f.write(changed)
        for command, code in (((program, "-o", f"{folder}/s", "-e", "heap:allocated", "--", HEAP, "ones"), None),
                              ((program, f"--pid={os.getpid()}", "--attach", "-e", "heap:allocated", "-d", "1ms"), 1)):
            done = run(*command, code=code)
            said = " ".join(done.stderr.split())
            assert f"libcpuperf-agent.so {word}" in said and "of one version" in said, (word, done)
        row = rows_of(doctor(program=program)[0])["agent"]
        assert row["state"] == "no" and word in row["found"] and "of one version" in row["to_have_it"], row
    os.unlink(agent)
    with open(agent, "wb") as f:
        f.write(whole)
    os.rename(copy, f"{folder}/with:colon")
    program = f"{folder}/with:colon/bin/cpuperf"
    word = "in a folder with a space or colon in its name"
    assert word in run(program, "-o", f"{folder}/s", "-e", "heap:allocated", "--", HEAP, "ones", code=None).stderr
    found = doctor(f"--doctor={HEAP}", program=program)[0]
    for row in (rows_of(found)["agent"], rows_of(found, "program_checks")["the agent in it"]):
        assert row["state"] == "no" and word in row["found"], row
    os.rename(f"{folder}/with:colon", copy)
    program = f"{copy}/bin/cpuperf"
    with open(f"{copy}/bin/cpuperf_print", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho cpuperf_print 0.0.9\n")
    os.chmod(f"{copy}/bin/cpuperf_print", 0o755)
    row = rows_of(doctor(program=program)[0])["installation"]
    assert row["state"] == "no" and "cpuperf_print 0.0.9" in row["found"], row
    push = run(program, "-o", f"{folder}/s", "--push=parca+http://127.0.0.1:1", "-e", "cpu_clock@99Hz", "--", "touch", f"{folder}/ran",
               code=125).stderr
    top, status = on_terminal(WIDTH, program, "--top", f"--pid={os.getpid()}")
    assert status == 1 and not os.path.exists(f"{folder}/ran"), (status, push)
    for option, said in (("--push", push), ("--top", top)):
        said = " ".join(said.split())
        assert f"{option}: cpuperf_print is of another version than cpuperf" in said and "cpuperf_print 0.0.9" in said, said
        assert "install the package cpuperf" in said, said
    with open(f"{copy}/bin/cpuperf_print", "w", encoding="utf-8") as f:  # as one of another version is started
        f.write(f'#!/bin/sh\nCPUPERF_ASKED_BY="1$CPUPERF_ASKED_BY" exec {PRINT} "$@"\n')
    version = run(PRINT, "--version").stdout.split()[1].rstrip(",")
    said = " ".join(run(program, "-o", f"{folder}/s", "--", KNOWN, code=None).stderr.split())
    assert f"cpuperf_print {version} was started by cpuperf 1{version}: they must be of one version" in said, said


SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#define F(n) __attribute__((noinline)) int f##n(int a, int b) { \
    int t = a; for (int i = 0; i < b; i++) t = t * 3 + rand() % (i + n + 1) - atoi("7"); printf("%d", t); return t + b; }
F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8)
int main(void) { return f1(1, 2) + f2(1, 2) + f3(1, 2) + f4(1, 2) + f5(1, 2) + f6(1, 2) + f7(1, 2) + f8(1, 2); }
"""


def check_programs(folder):
    """Built in known ways."""
    with open(f"{folder}/p.c", "w", encoding="utf-8") as f:
        f.write(SOURCE)
    base = {"the agent in it": "yes", "its files": "yes", "its symbols": "yes", "its lines": "no", "its frame pointers": "no"}
    for flags, differs in (
            (["-fomit-frame-pointer"], {}),
            (["-fno-omit-frame-pointer"], {"its frame pointers": "yes"}),
            (["-fomit-frame-pointer", "-g"], {"its lines": "yes"}),
            (["-fomit-frame-pointer", "-s"], {"its symbols": "partly"}),
            (["-fomit-frame-pointer", "-static"], {"the agent in it": "no", "its frame pointers": None})):
        run("cc", "-O2", *flags, "-o", f"{folder}/p", f"{folder}/p.c")
        found, done = doctor(f"--doctor={folder}/p")
        rows = rows_of(found, "program_checks")
        for name, state in {**base, **differs}.items():
            assert state in (None, rows[name]["state"]), (flags, name, rows[name])
        same, _ = doctor("--", f"{folder}/p", "--an-argument")
        assert same["program_checks"] == found["program_checks"], same
        assert done.returncode == 1 or not found["missing"], found
    for flags, state in ((["-fomit-frame-pointer"], "no"), ([], "yes")):
        if subprocess.run(["aarch64-linux-gnu-gcc", "-O2", *flags, "-o", f"{folder}/p", f"{folder}/p.c"], check=False,
                          capture_output=True).returncode if shutil.which("aarch64-linux-gnu-gcc") else True:
            print("skip: arm64: no cross compiler", flush=True)
            break
        rows = rows_of(doctor(f"--doctor={folder}/p")[0], "program_checks")
        assert rows["its frame pointers"]["state"] == state, (flags, rows["its frame pointers"])
    if os.geteuid() == 0:
        run("cc", "-O2", "-o", f"{folder}/p", f"{folder}/p.c")
        os.chown(f"{folder}/p", own_uid(), own_uid())
        os.chmod(f"{folder}/p", 0o4755)
        row = rows_of(doctor(f"--doctor={folder}/p")[0], "program_checks")["the agent in it"]
        assert row["state"] == "no" and "more rights" in row["found"], row
    with open(f"{folder}/script", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexit 7\n")
    os.chmod(f"{folder}/script", 0o755)
    assert doctor(f"--doctor={folder}/script")[0]["run_by"] == "sh"
    with open("/bin/ls", "rb") as f, open(f"{folder}/truncated", "wb") as out:
        out.write(f.read(3000))
    os.chmod(f"{folder}/truncated", 0o755)
    assert "shorter than its header says" in run(CPUPERF, f"--doctor={folder}/truncated", code=2).stderr
    os.mkfifo(f"{folder}/fifo")
    with open(f"{folder}/empty", "wb"):
        os.chmod(f"{folder}/empty", 0o755)
    for name in ("none", "fifo", "empty", ""):
        said = run(CPUPERF, f"--doctor={folder}/{name}", code=2).stderr
        assert "no such program" in said and "name a program in PATH" in said, (name, said)
    assert "not text or json" in run(CPUPERF, "--doctor", "--output-format=csv", code=2).stderr


def check_truncated_library(folder):
    """It is named, and the program is judged all the same."""
    with open(f"{folder}/l.c", "w", encoding="utf-8") as f:
        f.write("int l(void) { return 1; }\n")
    with open(f"{folder}/p.c", "w", encoding="utf-8") as f:
        f.write("int l(void); int main(void) { return l() - 1; }\n")
    run("cc", "-shared", "-fPIC", "-o", f"{folder}/libshort.so", f"{folder}/l.c")
    run("cc", "-o", f"{folder}/p", f"{folder}/p.c", f"-L{folder}", "-lshort", f"-Wl,-rpath,{folder}")
    whole = rows_of(doctor(f"--doctor={folder}/p")[0], "program_checks")["its files"]
    assert whole["state"] == "yes", whole
    nr = int(whole["found"].split()[0])
    assert nr >= 3, whole  # the loader's file and the C library's, too
    os.truncate(f"{folder}/libshort.so", os.path.getsize(f"{folder}/libshort.so") - 1)  # of the table of sections
    run(f"{folder}/p")  # which is not loaded
    found, done = doctor(f"--doctor={folder}/p")
    rows = rows_of(found, "program_checks")
    assert rows["its files"]["found"] == f"1 of {nr} are truncated, shorter than their headers say: libshort.so", rows
    assert rows["its files"]["state"] == "no" and done.returncode == 1 and rows["its symbols"]["state"] == "yes", rows


WIDTH = 80
FIRST_LINES = re.compile(r"^([✓✗?]) (.+?\?) +(cpuperf .+)$", re.M)


def check_first_page(folder):
    """Six lines, each a command that works as it is written, if it has the sign."""
    text, status = on_terminal(WIDTH, CPUPERF, LC_ALL="C.UTF-8")
    lines = [(question, command, sign) for sign, question, command in FIRST_LINES.findall(text)]
    assert status == 0 and len(lines) == 6 and max(map(len, text.split("\n"))) <= WIDTH, (status, text)
    assert not [sign for _, command, sign in lines if "--hosts" in command and "✓" in sign], text  # ssh is not tried
    os.mkdir(f"{folder}/path")
    os.symlink(CPUPERF, f"{folder}/path/cpuperf")
    shutil.copy(shutil.which("true"), f"{folder}/path/du")  # /usr is large
    env = {"PATH": f"{folder}/path:{os.environ['PATH']}"}
    for question, command, sign in lines:
        if "✓" not in sign or "--hosts" in command:
            continue
        if "watch" in command:
            command += " --no-live --num-iterations=1 -d 10ms"  # the dashboard is for a person
        command = command.replace("--versus", "--at-most=100ms --versus")
        done = run("sh", "-c", command, env=env, cwd=folder, code=None)
        assert done.returncode == 0 and not re.search("error:", done.stderr), (question, done)
    if os.geteuid() == 0:  # an ordinary user: what needs more rights has the line to type, and only that
        make_copy(f"{folder}/copy")  # where he may read it
        text, status = on_terminal(WIDTH, "setpriv", f"--reuid={own_uid()}", f"--regid={own_uid()}", "--clear-groups",
                                   f"{folder}/copy/bin/cpuperf", LC_ALL="C.UTF-8")
        may = sampled.may_sample() and open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii").read().strip() in ("-1", "0")
        signs = {command: sign for sign, _, command in FIRST_LINES.findall(text)}
        assert status == 0 and len(signs) == 6 and max(map(len, text.split("\n"))) <= WIDTH, (status, text)
        for command, sign in signs.items():
            needs_root = "watch" in command or "--hosts" in command
            if needs_root and not may:
                assert sign == "✗" and re.search(rf"{re.escape(command)}\n    (with sudo|as root|install ssh)\n", text), (command, sign)
            elif not needs_root:
                assert sign[0] == "✓", (command, sign)
    # without a terminal, and with an option, as ever
    for arguments in ([], ["-d", "1"]):
        done = run(CPUPERF, *arguments, code=1)
        assert "No events specified" in done.stderr and not done.stdout, done
    assert "No events specified" in on_terminal(WIDTH, CPUPERF, "-d", "1")[0]


run_checks(globals(), everybody=True)
