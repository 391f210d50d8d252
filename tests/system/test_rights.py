#!/usr/bin/env python3
"""Users who may not measure everything: what is printed to type, and what happens when it is typed.
CPUPERF and CPUPERF_PRINT name the programs; software events only. The machine's own settings stay as
they are.
"""
import os
import re
import shutil
import subprocess

from kit import CPUPERF, output, PRINT, run, run_checks, skip
import sampled

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
# For about a second: in the kernel, and in user mode.
BUSY = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=6000", "status=none"]
LOOP = ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"]
# Files of other users do not count as leaks; a program with capabilities cannot be searched for leaks.
QUIET_ASAN = {"ASAN_OPTIONS": "detect_leaks=0"}


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        return int(f.read())


def install(folder):
    """Both programs and the spec of commands in a folder where everybody may write; cpuperf's path."""
    base = os.path.dirname(folder)
    os.chmod(folder, 0o777)
    program, _ = (sampled.for_everybody(path, base) for path in (CPUPERF, PRINT))
    shutil.copy(f"{os.environ['SOURCE_DIR']}/specs/program.cpspec", f"{folder}/program.cpspec")
    os.chmod(f"{folder}/program.cpspec", 0o644)
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
    """What to measure, how, and the lines."""
    found = re.search(r"\n\nTo measure (.*?), (.*):\n((?:  .*\n)+)\Z", err)
    assert found, err
    return found[1], found[2], [line.strip() for line in found[3].splitlines()]


def check_lines(folder):
    """An ordinary user reads what to type for his commands and for the machine; who may measure does not."""
    program = install(folder)
    typed = f"sudo chown root:65534 {program} && sudo chmod 0750 {program} && sudo setcap cap_perfmon=ep {program}"
    own = run(program, "--", "true", cwd=folder, **NOBODY).stderr
    assert lines_to_type(own) == ("in the kernel too", "type one of these lines",
                                  [typed, "sudo sysctl kernel.perf_event_paranoid=1"]), own
    machine = ("-e", "software:cpu_clock", "-n1", "-d0.01", "-o", "m")
    for more in ((), ("-F", "100")):
        err = run(program, *machine, *more, cwd=folder, code=1, **NOBODY).stderr
        assert lines_to_type(err) == ("whole CPUs", "type one of these lines",
                                      [typed, "sudo sysctl kernel.perf_event_paranoid=0"]), err
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


def check_container(folder):
    """Where the bounding set is without the capability, no capability of a file helps."""
    drop = ("setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-all", "--reuid=65534", "--regid=65534",
            "--clear-groups")
    if not works(*drop, "true"):
        return
    err = run(*drop, install(folder), "--", "true", cwd=folder).stderr
    assert lines_to_type(err)[1:] == ("start the container with this option, or type the line outside of it",
                                      ["--cap-add=PERFMON", "sudo sysctl kernel.perf_event_paranoid=1"]), err


def check_user_namespace(folder):
    """Root of a user namespace has all capabilities, and may measure what its user may: a command and a
    running process in user mode, not the machine. So may a user without rights who makes one."""
    program, spec = install(folder), "--spec-file=./program.cpspec"  # of a user who is not mapped
    for who, options in (({}, ("--map-root-user",)), (NOBODY, ("--map-root-user",)), (NOBODY, ())):
        space = ("unshare", "--user", *options, "--pid", "--fork", "--mount-proc")
        if who and not works("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *space, "true") or \
                not works(*space, "true"):
            continue
        for name in ("one", "two"):
            shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
        os.chown(folder, *([65534] * 2 if who else [0] * 2))
        err = run(*space, program, spec, "-o", "one", "--", *LOOP, cwd=folder, env=QUIET_ASAN, **who).stderr
        assert "exit status 0" in err and "user mode only" in err and "task_clock" in err, err
        assert lines_to_type(err) == ("in the kernel too", "type outside of the user namespace",
                                      ["sudo sysctl kernel.perf_event_paranoid=1"]), err
        script = f'"$@" & exec {program} {spec} -o two -d 0.05 --pid=$!'
        err = run(*space, "sh", "-c", script, "sh", "sleep", "300", cwd=folder, env=QUIET_ASAN, **who).stderr
        assert "process 2 (sleep)" in err or "process" in err and "(sleep)" in err, err
        err = run(*space, program, "-e", "software:cpu_clock", "-n1", "-d0.01", "-o", "m", code=1, cwd=folder,
                  env=QUIET_ASAN, **who).stderr
        assert "has no effect in a user namespace" in err and "perf_event_paranoid=0" in err, err


if __name__ == "__main__":
    if not sampled.is_root() or paranoid() != 2:
        skip("this is not root, or perf_event_paranoid is not 2: an ordinary user may more or less")
    run_checks(globals(), everybody=True)
