#!/usr/bin/env python3
"""Users who may not measure everything: what is printed to type, and what happens when it is typed.
CPUPERF and CPUPERF_PRINT name the programs; software events only. The machine's own settings stay as
they are.
"""
import csv
import io
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import time

from kit import CPUPERF, output, own_uid, PRINT, run, run_checks, skip, wait_for, wait_until_named
import sampled

UID = own_uid()
# program.cpspec has waits, which it does not permit to see in the kernel
SYSCTL = "sudo sysctl kernel.perf_event_paranoid=1  # permits no programs in the kernel (BPF)"
NOBODY = {"user": UID, "group": UID, "extra_groups": []}
# For about a second: in the kernel, and in user mode.
BUSY = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=6000", "status=none"]
LOOP = ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"]
# Files of other users do not count as leaks; a program with capabilities cannot be searched for leaks.
QUIET_ASAN = {"ASAN_OPTIONS": "detect_leaks=0"}


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        return int(f.read())


def install(folder):
    """Both programs and the specs of commands in a folder where everybody may write; cpuperf's path."""
    base = os.path.dirname(folder)
    os.chmod(folder, 0o777)
    program, _ = (sampled.for_everybody(path, base) for path in (CPUPERF, PRINT))
    for name in ("program.cpspec", "timers.cpspec"):
        shutil.copy(f"{os.environ['SOURCE_DIR']}/specs/{name}", f"{folder}/{name}")
        os.chmod(f"{folder}/{name}", 0o644)
    return program


def works(*command):
    """Whether the command can be run; if not, why is printed."""
    try:
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as e:
        print(f"skip: {command[0]}: {e.strerror}", flush=True)
        return False
    if done.returncode:
        print(f"skip: {' '.join(command)}: {done.stderr.strip()}", flush=True)
    return done.returncode == 0


def lines_to_type(err):
    """What to measure, how, and the lines; another way may follow."""
    found = re.search(r"\n\nTo measure (.*?), (.*):\n((?:  .*\n)+)(?:\nTo measure .*:\n(?:  .*\n)+)?\Z", err)
    assert found, err
    return found[1], found[2], [line.strip() for line in found[3].splitlines()]


def check_lines(folder):
    """An ordinary user reads what to type for his commands and for the machine; who may measure does not."""
    program = install(folder)
    typed = f"sudo chown root:{UID} {program} && sudo chmod 0750 {program} && sudo setcap cap_perfmon,cap_bpf,cap_syslog=ep {program}"
    own = run(program, "--", "true", cwd=folder, **NOBODY).stderr
    assert lines_to_type(own) == ("it in the kernel too", "type one of these lines",
                                  [typed, SYSCTL]), own
    machine = ("-e", "software:cpu_clock", "-n1", "-d0.01", "-o", "m")
    for more in ((), ("-F", "100")):
        err = run(program, *machine, *more, cwd=folder, code=1, **NOBODY).stderr
        assert lines_to_type(err) == ("whole CPUs", "type one of these lines",
                                      [typed, "sudo sysctl kernel.perf_event_paranoid=0"]), err
    err = run(program, *machine, "--log-format=json", cwd=folder, code=1, **NOBODY).stderr
    said = [json.loads(line)["message"] for line in err.splitlines()]
    assert [text.split(": ", 1)[1] for text in said if "to measure whole CPUs, type" in text] == [
        typed, "sudo sysctl kernel.perf_event_paranoid=0"], said
    assert "To measure" not in run(program, "--quiet", *machine, cwd=folder, code=1, **NOBODY).stderr
    for args in (("-o", "r", "--", "true"), (*machine,)):
        assert "To measure" not in run(program, *args, cwd=folder).stderr
    odd = f"{folder}/it's here"
    os.mkdir(odd)
    os.chmod(odd, 0o755)
    sampled.for_everybody(PRINT, odd)
    err = run(sampled.for_everybody(CPUPERF, odd), *machine, cwd=folder, code=1, **NOBODY).stderr
    for word in lines_to_type(err)[2][0].split(" && "):
        path = output("sh", "-c", f"for last in {word}; do :; done; printf %s \"$last\"")
        assert path == f"{odd}/{os.path.basename(CPUPERF)}", word


def check_programs(folder):
    """Events that need programs in the kernel: kernel.perf_event_paranoid does not permit them, and is not
    offered for them. For waits there is a spec that needs no rights."""
    program = install(folder)
    typed = f"sudo chown root:{UID} {program} && sudo chmod 0750 {program} && sudo setcap cap_perfmon,cap_bpf,cap_syslog=ep {program}"
    how = {"cwd": folder, **NOBODY}

    def blocks(*args, code=0):
        err = run(program, *args, code=code, **how).stderr
        return re.findall(r"\nTo measure (.*?), type (?:this line|one of these lines):\n((?:  .*\n)+)", err), err

    programs = " with programs in the kernel (BPF)"
    said, err = blocks("-e", "off_cpu_time", "--", "true", "it's")
    assert "no event of it was counted" in err, err
    assert said == [(f"sched:off_cpu_time{programs}", f"  {typed}\n"),
                    ("waits without more rights", f"  {program} --spec-file=wall -- true 'it'\\''s'\n")], err
    said, err = blocks("-e", "syscall.read,wakeups", "--", "true")
    assert said == [(f"latency:syscall.read, sched:wakeups{programs}", f"  {typed}\n")], err
    said, err = blocks("-e", "off_cpu_time", "-d", "0.05", "-n1", code=1)
    assert said[1:] == [("waits without more rights", f"  {program} --spec-file=wall -- COMMAND\n")], err
    said, err = blocks("-e", "off_cpu_time@1000000", "--", "true")  # measured, by records
    assert said == [(f"sched:off_cpu_time{programs}", f"  {typed}\n")], err
    said, err = blocks("-e", "task_clock,syscall.read", "--", "true")
    assert said == [("it in the kernel too", f"  {typed}\n  sudo sysctl kernel.perf_event_paranoid=1"
                                             "  # permits no programs in the kernel (BPF)\n")], err
    with subprocess.Popen(["sleep", "300"], **NOBODY) as p:
        wait_until_named(p, "sleep")
        said, err = blocks("-e", "off_cpu_time", f"--pid={p.pid}", "-d", "0.05", code=1)
        p.kill()
    assert said[1:] == [("waits without more rights", f"  {program} --spec-file=wall --pid={p.pid}\n")], err


def check_container(folder):
    """Where the bounding set is without the capability, no capability of a file helps, nor root's own."""
    option = "--cap-add=PERFMON --cap-add=BPF  # if still refused: --security-opt=seccomp=unconfined"
    drop = ("setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-all")
    if works(*drop, "true"):
        err = run(*drop, install(folder), "-e", "wakeups", "--", "true", cwd=folder).stderr
        assert lines_to_type(err) == ("sched:wakeups with programs in the kernel (BPF)", "start the container with this option",
                                      [option]), err
    drop = ("setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-all", f"--reuid={UID}", f"--regid={UID}",
            "--clear-groups")
    if not works(*drop, "true"):
        return
    err = run(*drop, install(folder), "--", "true", cwd=folder).stderr
    assert lines_to_type(err)[1:] == ("start the container with this option, or type the line outside of it",
                                      [option, SYSCTL]), err


def type_lines(program, folder):
    """Types what permits the user of NOBODY to measure, as root; whether that can be done here."""
    with open("/proc/self/status", encoding="ascii") as f:
        if re.search(r"^NoNewPrivs:\t1", f.read(), re.M) or os.statvfs(folder).f_flag & os.ST_NOSUID:
            print("skip: what the lines do: capabilities of files are ignored here", flush=True)
            return False
    lines = lines_to_type(run(program, "--spec-file=./program.cpspec", "-o", "typed", "--", "true", cwd=folder,
                              **NOBODY).stderr)[2]
    if "setcap" not in lines[0]:
        print("skip: what the lines do: the bounding set is without the capability", flush=True)
        return False
    with open(f"{folder}/sudo", "w", encoding="ascii") as sudo:
        sudo.write('#!/bin/sh\nexec "$@"\n')
    os.chmod(f"{folder}/sudo", 0o755)
    typed = run("sh", "-c", lines[0], env={"PATH": f"{folder}:{SBIN['PATH']}"}, code=None)
    if typed.returncode:
        print(f"skip: what the lines do: {typed.stderr.strip()}", flush=True)
    st = os.stat(program)
    assert typed.returncode or (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (0, UID, 0o750), st
    return typed.returncode == 0


SBIN = {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
CAPABILITIES = "grep -h ^Cap[IPE] "


def check_typed(folder):
    """What was printed is typed: the user of the group measures his own processes and the machine, in the
    kernel too. The program has the capability only while it opens events; the command never has it; what
    belongs to others stays closed, and variables change nothing."""
    program = install(folder)
    if not type_lines(program, folder):
        return
    how = {"cwd": folder, **NOBODY}
    evil = f"{folder}/evil"
    env = {**QUIET_ASAN, "CPUPERF_OUTPUT": evil, "CPUPERF_RUNS": "3", "CPUPERF_SPEC_PATH": folder, "HOME": evil,
           "XDG_STATE_HOME": evil, "TMPDIR": evil, "TERMINFO": evil, "LIBPFM_DEBUG": "1", "MINE": "is here"}
    os.mkdir(evil)
    os.chmod(evil, 0o777)
    shutil.copy(f"{folder}/program.cpspec", f"{folder}/other.cpspec")

    script = f'echo "$MINE $CPUPERF_OUTPUT"; {CAPABILITIES} /proc/self/status; exec "$@"'
    done = run(program, "--", "sh", "-c", script, "sh", *BUSY, env=env, **how)
    first, *sets = done.stdout.splitlines()
    assert first == f"is here {evil}", done.stdout
    assert len(sets) == 3 and all(int(s.split()[1], 16) == 0 for s in sets), done.stdout
    assert "user mode only" not in done.stderr and "one of these lines" not in done.stderr, done.stderr
    assert re.search(r"\n  page_faults +[1-9]", done.stderr) and os.listdir(evil) == [], done.stderr
    flat = list(csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=flat", "--output-format=csv",
                                                  f"{folder}/cpuperf.session", env=QUIET_ASAN))))
    named = [r for r in flat if r["object"] == "[kernel]" and r["function"] and "unknown" not in r["function"]]
    assert sum(float(r["self"]) for r in named) > 20, flat

    err = run(program, "--list-events", env=env, **how).stderr  # libpfm would print hundreds of lines
    assert err.count("\n") < 50, err

    # of the recorder itself, in all its threads: nothing but these three, and nothing in force
    run("setcap", "cap_perfmon,cap_bpf,cap_syslog,cap_dac_override=ep", program, env=SBIN)
    # (an event may just be opened: try again)
    script = (f"for i in $(seq 100); do out=$({CAPABILITIES} /proc/$PPID/task/*/status); "
              'echo "$out" | grep ^CapEff | grep -q "[1-9a-f]0*$" || break; sleep 0.05; done; echo "$out"')
    has_waits = json.loads(run(program, "--describe-event=sched:off_cpu_time", "--output-format=ndjson",
                               env=QUIET_ASAN).stdout.splitlines()[0])["works"]
    waits = ("-e", "sched:off_cpu_time") if has_waits else ()
    watch = run(program, "-o", "w", *waits, "--", "sh", "-c", script, env=env, **how)
    for line in watch.stdout.splitlines():
        allowed = 1 << 39 | 1 << 38 | 1 << 34 if line.startswith("CapPrm") else 0
        assert int(line.split()[1], 16) & ~allowed == 0, watch.stdout
    assert watch.stdout.count("CapEff") > 1, watch.stdout
    for row in csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=summary", "--output-format=csv",
                                                 f"{folder}/w", env=QUIET_ASAN))):
        assert not waits or row["trace"] or row["state"] == "ok" and int(row["value"]) > 0, row
    if not waits:
        print("skip: waits: no programs in the kernel here", flush=True)

    run(program, "-o", "r", "-r2", "--", "true", env=env, **how)
    own = run(program, "-o", "p", "-d0.05", "--pid", str(os.getpid()), code=1, env=env, **how)
    assert f"process {os.getpid()} belongs to another user" in own.stderr and own.stderr.count("error: ") == 1
    with subprocess.Popen(["sleep", "300"], **NOBODY) as p:
        wait_until_named(p, "sleep")
        err = run(program, "-o", "p", "-d0.05", f"--pid={p.pid}", env=env, **how).stderr
        p.kill()
    assert f"process {p.pid} (sleep)" in err and "user mode only" not in err, err
    name = f"of-root-{os.getpid()}"  # no other run of this test has it
    with subprocess.Popen([shutil.copy("/bin/sleep", f"{folder}/{name}"), "300"]) as p:
        wait_until_named(p, name)
        err = run(program, "-o", "p", "-d0.05", f"--comm={name}", code=1, env=env, **how).stderr
        p.kill()
    assert "--comm: error: all processes with the name" in err and "(1) belong to other users" in err, err
    err = run(program, "-o", "p", "-d0.05", "--cgroup=/", code=1, env=env, **how).stderr
    assert "belongs to another user" in err or "not a control group" in err, err
    run(program, "-o", "m", "-e", "software:cpu_clock", "-n1", "-d0.05", "--strict", env=env, **how)

    os.mkdir(f"{folder}/closed", 0o700)
    shutil.copy(f"{folder}/other.cpspec", f"{folder}/closed/closed.cpspec")
    for args in (("--spec-file=closed/closed.cpspec",), ("-o", "closed/s"), ("--log-file=closed/log",)):
        err = run(program, *args, "--", "true", code=125, env=env, **how).stderr
        assert "Permission denied" in err, err
    assert "no such spec" in run(program, "-o", "x", "--spec-file=nowhere", "--", "true", code=125, env=env,
                                 **how).stderr
    others = {"user": 65533, "group": 65533, "extra_groups": []}
    assert run("sh", "-c", program, code=None, cwd=folder, **others).returncode == 126


def check_buffers(folder):
    """Buffers that the limit of locked memory makes smaller, and the line that is printed then, as typed."""
    program = install(folder)
    if paranoid() < 0 or not type_lines(program, folder):
        print("skip: the limit of buffers: there is none, or capabilities of files do nothing", flush=True)
        return
    how = {"cwd": folder, "env": QUIET_ASAN, **NOBODY,
           "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))}
    machine = (program, "-e", "cpu_clock@100Hz", "-n1", "-d0.05", "-o", "m")
    err = run(*machine, **how).stderr
    assert re.search(r"buffers of \d+ KiB per CPU, not 16384", err), err
    line = f"sudo setcap cap_perfmon,cap_bpf,cap_syslog,cap_ipc_lock=ep {program}"
    assert lines_to_type(err) == ("with larger buffers", "type this line", [line]), err
    run("sh", "-c", line, env={"PATH": f"{folder}:{SBIN['PATH']}"})
    err = run(*machine, **how).stderr
    assert "buffers of" not in err and "To measure" not in err, err


def check_set_user_id(folder):
    program = install(folder)
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        print("skip: set-user-ID: it is ignored here", flush=True)
        return
    os.chmod(program, 0o4755)
    for args in ((), ("--", "true"), ("help",), ("help", "heap"), ("--help",), ("--manual",), ("--doctor",)):
        err = run(program, *args, cwd=folder, code=125, env=QUIET_ASAN, **NOBODY).stderr
        assert "error: it is set-user-ID" in err and err.count("error: ") == 1, err


def check_hidden(folder):
    """Programs with more rights than their caller, and those that he may not read, are named: the kernel ends
    their events at exec. One that is not dumpable by choice is measured."""
    program = install(folder)
    if os.statvfs(folder).f_flag & os.ST_NOSUID or paranoid() > 2:
        print("skip: set-user-ID children: the bit is ignored here, or this user may measure nothing", flush=True)
        return
    for name, mode in (("own-cat", 0o755), ("suid-cat", 0o4755), ("sgid-cat", 0o2755), ("closed-cat", 0o711)):
        shutil.copy(shutil.which("cat"), f"{folder}/{name}")
        os.chmod(f"{folder}/{name}", mode)
    how = {"cwd": folder, **NOBODY}
    line = r"\n  not measured \(set-user-ID, capabilities or unreadable\): (.*)\n"
    script = "./own-cat; ./suid-cat; ./sgid-cat; ./closed-cat; true"
    spec = f"--spec-file={folder}/program.cpspec"
    err = run(program, spec, "--", "sh", "-c", script, stdin=subprocess.DEVNULL, **how).stderr
    # by process number, which does not follow the order of creation where numbers start again
    found = re.findall(r"(\d+) \((.*?)\)(?:, |$)", re.search(line, err)[1])
    assert sorted(name for _, name in found) == ["closed-cat", "sgid-cat", "suid-cat"], err
    assert [int(pid) for pid, _ in found] == sorted(int(pid) for pid, _ in found), err
    err = run(program, spec, "--", "./suid-cat", stdin=subprocess.DEVNULL, **how).stderr
    assert re.fullmatch(r"\d+ \(suid-cat\)", re.search(line, err)[1]), err
    assert not re.search(line, run(program, spec, "--", "./own-cat", stdin=subprocess.DEVNULL, **how).stderr)
    # without samples, those that /proc shows at some reading, the one at the end of measuring included
    hidden = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); input()"
    suid = r"\d+ \(suid-cat\)"
    for command, found in ((["sh", "-c", "./suid-cat; true"], suid), (["./suid-cat"], suid),
                           (["/usr/bin/python3", "-c", hidden], None)):
        compare_hidden_counted(program, folder, line, command, found, NOBODY)
    # root's too: the kernel ends events where the program runs for another user or group
    kernel = [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]]
    if kernel < [5, 7]:
        print("skip: root's set-user-ID children: before Linux 5.7 they are not looked for", flush=True)
        return
    for name, mode in (("suid-cat", 0o4755), ("sgid-cat", 0o2755)):
        os.chown(f"{folder}/{name}", NOBODY["user"], NOBODY["group"])
        os.chmod(f"{folder}/{name}", mode)
    as_nobody = ["setpriv", f"--reuid={NOBODY['user']}", "--clear-groups", "cat"]
    for command, found in ((["sh", "-c", "./suid-cat; true"], suid), (["./sgid-cat"], r"\d+ \(sgid-cat\)"),
                           (as_nobody, None)):
        compare_hidden_counted(program, folder, line, command, found, {})
    # events that are opened later remain
    with subprocess.Popen(["./suid-cat"], cwd=folder, stdin=subprocess.PIPE) as p:
        wait_until_named(p, "suid-cat")
        err = run(program, "-e", "task_clock", f"--pid={p.pid}", "-d", "0.3", cwd=folder).stderr
        p.stdin.close()
    assert "(suid-cat): still running" in err and not re.search(line, err), err


def compare_hidden_counted(program, folder, line, command, found, who):
    """Which processes a session of counts names."""
    for seconds in (0.3, 2, 8, 20):
        with subprocess.Popen([program, "-e", "task_clock", "-d", str(seconds), "-o", "n", "--", *command], text=True,
                              cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **who) as p:
            wait_for(p, f"{folder}/n/cpuperf.cpsession")
            while '"state"' in open(f"{folder}/n/cpuperf.cpsession", encoding="utf-8").read():
                assert p.poll() is None, p.communicate()
                time.sleep(0.01)
            err = p.communicate("\n")[1]
        shutil.rmtree(f"{folder}/n")
        named = re.search(line, err)
        if not found or named:
            break
    assert named and re.fullmatch(found, named[1]) if found else not named, err


# Returns EACCES from perf_event_open(2), as Debian's kernel does for users at kernel.perf_event_paranoid 3.
REFUSED = """
import ctypes, os, platform, struct, sys
number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
code = b"".join(struct.pack("<HBBI", *i) for i in
                ((0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 | 13), (6, 0, 0, 0x7fff0000)))
text = ctypes.create_string_buffer(code)
prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, struct.pack("@HP", 4, ctypes.addressof(text)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def check_refused(folder):
    """Who may open no event has the command's end, times, faults and switches, no 0 that was not counted, and
    what to type; a running process is an error."""
    program = install(folder)
    python = ("/usr/bin/python3", "-c", REFUSED)
    if platform.machine() not in ("x86_64", "aarch64") or not works("setpriv", f"--reuid={UID}", "--clear-groups",
                                                                    *python, shutil.which("true")):
        print("skip: all events refused: no seccomp filter here", flush=True)
        return
    for options in ((), ("-e", "page_faults,context_switches"), ("-r2", "-e", "task_clock")):
        shutil.rmtree(f"{folder}/n", ignore_errors=True)
        err = run(*python, program, *options, "-o", "n", "--", "sh", "-c", "exit 3", code=3, cwd=folder, **NOBODY).stderr
        assert re.search(r"\n  no event of it was counted; [1-9]\d* page faults, \d+ context switches \(wait4", err), err
        assert re.search(r" wall, \S+ % CPU: .* user, .* system", err) and "exit status 3" in err, err
        assert "(this user may measure no process (perf_event_paranoid is 2))" in err and "warning: " not in err, err
        assert lines_to_type(err)[:2] == ("it", "type one of these lines"), err
        by_timers = "\nTo measure time by timers in the program, without perf events, type this line:\n" in err
        assert by_timers == ("task_clock" in options), (options, err)  # without options they would be taken
        rows = csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=series", "--output-format=csv",
                                                 f"{folder}/n", env=QUIET_ASAN)))
        assert all(row["value"] == "" for row in rows if row["state"] != "ok")
    run(*python, program, "--strict", "-o", "n", "--", "true", code=125, cwd=folder, **NOBODY)
    with subprocess.Popen(["sleep", "300"], **NOBODY) as p:
        err = run(*python, program, f"--pid={p.pid}", "-d0.01", code=1, cwd=folder, **NOBODY).stderr
        p.kill()
    assert "this user may measure no process" in err and lines_to_type(err)[0] == "it", err
    err = run(program, f"--pid={os.getpid()}", "-d0.01", code=1, cwd=folder, **NOBODY).stderr
    assert "belongs to another user" in err and "To measure" not in err, err


def check_user_namespace(folder):
    """Root of a user namespace has all capabilities, and may measure what its user may: a command and a
    running process in user mode, not the machine. So may a user without rights who makes one, also with the
    capabilities of the program's file: they are of the namespace."""
    program, spec = install(folder), "--spec-file=./program.cpspec"  # of a user who is not mapped
    for who, options in (({}, ("--map-root-user",)), (NOBODY, ("--map-root-user",)), (NOBODY, ())):
        space = ("unshare", "--user", *options, "--pid", "--fork", "--mount-proc")
        if who and not works("setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", *space, "true") or \
                not works(*space, "true"):
            continue
        for name in ("one", "two"):
            shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
        os.chown(folder, *([UID] * 2 if who else [0] * 2))
        err = run(*space, program, spec, "-o", "one", "--", *LOOP, cwd=folder, env=QUIET_ASAN, **who).stderr
        assert "exit status 0" in err and "user mode only" in err and "task_clock" in err, err
        assert lines_to_type(err) == ("it in the kernel too", "type outside of the user namespace",
                                      [SYSCTL]), err
        script = '"$@" & while read name </proc/$!/comm && [ $name = sh ]; do :; done; ' \
                 f'exec {program} {spec} -o two -d 0.05 --pid=$!'
        err = run(*space, "sh", "-c", script, "sh", "sleep", "300", cwd=folder, env=QUIET_ASAN, **who).stderr
        assert "process 2 (sleep)" in err, err
        err = run(*space, program, "-e", "software:cpu_clock", "-n1", "-d0.01", "-o", "m", code=1, cwd=folder,
                  env=QUIET_ASAN, **who).stderr
        assert "has no effect in a user namespace" in err and "perf_event_paranoid=0" in err, err
    space = ("setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "unshare", "--user")
    if works(*space, "true") and type_lines(program, folder):
        err = run(*space, program, spec, "-o", "three", "--", *LOOP, cwd=folder, env=QUIET_ASAN).stderr
        assert "user mode only" in err, err
        assert lines_to_type(err)[:2] == ("it in the kernel too", "type outside of the user namespace"), err


if __name__ == "__main__":
    if not sampled.is_root() or paranoid() != 2:
        skip("this is not root, or perf_event_paranoid is not 2: an ordinary user may more or less")
    run_checks(globals(), everybody=True)
