#!/usr/bin/env python3
"""The files of a session while other things happen: a second session, a kill, a full disk, a
reader at any moment, what is in the way. CPUPERF and CPUPERF_PRINT name the programs.
A full disk needs root, to mount one; else that part is skipped.
"""
import csv
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

try:
    import jsonschema
except ImportError:
    jsonschema = None

from kit import CPUPERF, PRINT, run_checks, stride
from sampled import machine

SOURCE_DIR = os.environ["SOURCE_DIR"]
READER = f"{SOURCE_DIR}/tests/system/read_trace.py"
CPUS = os.sysconf("SC_NPROCESSORS_ONLN")
EVENTS = [("software", "cpu_clock"), ("software", "page_faults"), ("misc", "cpu_user")]


def spec_of(folder, **keys):
    spec = {"num_iterations": 100, "output_path_prefix": f"{folder}/t",
            "session_result_spec_path": f"{folder}/s.cpsession",
            "events": [{"group_name": g, "event_name": e} for g, e in EVENTS], **keys}
    with tempfile.NamedTemporaryFile("w", suffix=".cpspec", dir=os.path.dirname(folder),
                                     delete=False) as out:
        json.dump(spec, out)
    return f"--spec-file={out.name}"


def start(*args):
    program = [] if args[0] == "prlimit" else [CPUPERF]
    return subprocess.Popen([*program, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True)


def run(*args, code=0):
    with start(*args) as p:
        error = p.communicate(timeout=600)[1]
    assert p.returncode == code, (args, p.returncode, error)
    return error


def wait_for(path, p):
    while not os.path.exists(path):
        assert p.poll() is None, p.stderr.read()
        time.sleep(0.005)


def traces(folder):
    return sorted(f"{folder}/{n}" for n in os.listdir(folder) if n.endswith(".cpuperf"))


def sizes(folder):
    return [os.path.getsize(path) for path in traces(folder)]


def assert_whole(folder):
    """Every trace that is there is whole, by a reader that is not ours."""
    p = subprocess.run([sys.executable, READER, "--counts", *traces(folder)], check=False,
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return p.stdout.count("\n") - 1


def shown(folder, code):
    p = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--output-format=csv"],
                       check=False, capture_output=True, text=True)
    assert p.returncode == code, p.stderr
    return list(csv.DictReader(io.StringIO(p.stdout))), p.stderr


def strays(folder):
    return [n for n in os.listdir(folder) if not n.endswith(".cpuperf") and n != "s.cpsession"]


def check_lock(folder):
    """A second session on the same prefix or manifest fails and leaves the first alone."""
    first = start(spec_of(folder), "--duration=500ms")  # longer than what follows takes on a busy machine
    wait_for(f"{folder}/s.cpsession", first)
    for key, option in (("session_result_spec_path", "--output-path-prefix"),
                        ("output_path_prefix", "--session-result-spec-path")):
        error = run(spec_of(folder, **{key: f"{folder}/other.cpsession"}), code=1)
        assert "another cpuperf session" in error and option in error, error
    run(spec_of(folder, output_path_prefix=f"{folder}/o", num_iterations=1,
                session_result_spec_path=f"{folder}/o.cpsession"), "--duration=10ms")
    wait_for(f"{folder}/t.0.{CPUS - 1}.cpuperf", first)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert [n for n in strays(folder) if n.endswith(".lock")], "a killed one leaves its locks"
    assert_whole(folder)
    shown(folder, code=1)  # the iteration it was in is missing
    run(spec_of(folder, num_iterations=2), "--duration=10ms")
    # of the killed one, at most the file that it was writing
    assert all(n == "o.cpsession" or n.startswith(".cpuperf-") for n in strays(folder)), strays(folder)
    assert len(shown(folder, code=0)[0]) == 2 * (CPUS + 1) * len(EVENTS)


def check_manifest_always(folder):
    """Whoever looks at the manifest at any moment sees a valid one."""
    if jsonschema is None:
        print("skip: validation by jsonschema: python3-jsonschema is not there")
        return
    with open(f"{SOURCE_DIR}/schemas/cpsession.schema.json", encoding="utf-8") as f:
        validator = jsonschema.Draft202012Validator(json.load(f))
    for ms in (30, 100, 400):  # on a busy machine this one looks more seldom
        seen = look_at_manifest(folder, validator, ms)
        if len(set(seen)) > 20:
            break
    assert len(set(seen)) > 20 and seen[-1] <= 100, seen
    with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
        session = json.load(f)
    assert session["num_iterations"] == 100 and session["num_traces"] == CPUS
    assert session["config_name"] == "c" and session["output_path_prefix"] == f"{folder}/t"
    assert strays(folder) == []


def look_at_manifest(folder, validator, ms):
    """The numbers of iterations that it has while a session runs."""
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")
    p = start(spec_of(folder, config_name="c"), f"--duration={ms}ms", "--sync-period=1ms")
    wait_for(f"{folder}/s.cpsession", p)
    seen = [0]
    while p.poll() is None:
        with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
            session = json.load(f)
        validator.validate(session)
        assert session["num_iterations"] >= seen[-1]
        # an iteration is announced when it starts: all before it are there
        assert os.path.exists(f"{folder}/t.{session['num_iterations'] - 2}.{CPUS - 1}.cpuperf") \
            or session["num_iterations"] == 1
        seen.append(session["num_iterations"])
    assert p.returncode == 0, p.stderr.read()
    return seen


def check_strict_manifest(folder):
    """A manifest for the schema of the original, which refuses other keys; cpuperf_print reads it."""
    schema = {"type": "object", "additionalProperties": False, "properties": {
        "config_name": {"type": "string"}, "num_iterations": {"type": "integer", "minimum": 1},
        "num_traces": {"type": "integer", "minimum": 1}, "output_path_prefix": {"type": "string"}}}
    if jsonschema is None:
        print("skip: validation by jsonschema: python3-jsonschema is not there")
        return
    for options, is_strict in (([], False), (["--manifest=strict"], True)):
        run(spec_of(folder, config_name="c"), "--duration=10ms", "--num-iterations=2", *machine(), *options)
        with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
            wrong = list(jsonschema.Draft7Validator(schema).iter_errors(json.load(f)))
        assert is_strict == (not wrong), wrong
        shown = subprocess.run([PRINT, "--quiet", f"--session={folder}/s.cpsession"], check=True, capture_output=True, text=True).stdout
        assert re.search(r"^cpu_clock +\S", shown, re.M), shown
    assert "which iterations were removed" in run(spec_of(folder), "--manifest=strict", "--retain=iterations:2", code=1)


def check_modes(folder):
    old = os.umask(0)
    run(spec_of(folder, num_iterations=1), "--duration=10ms")
    os.umask(old)
    for name in os.listdir(folder):
        assert os.stat(f"{folder}/{name}").st_mode == 0o100600, name


def check_in_the_way(folder):
    """The rest of what can be in the way is in the unit tests; here are the program's words."""
    victim = f"{folder}/victim"
    for name, option in (("t.0.0.cpuperf", "--output-path-prefix"),
                         ("s.cpsession", "--session-result-spec-path"),
                         ("t.traces.lock", "--output-path-prefix"),
                         ("s.cpsession.lock", "--session-result-spec-path")):
        path = f"{folder}/{name}"
        for is_link in (False, True):
            with open(victim if is_link else path, "w", encoding="ascii") as f:
                f.write("precious\n")
            if is_link:
                os.symlink(victim, path)
            error = run(spec_of(folder, num_iterations=1), "--duration=10ms", code=1)
            assert path in error and option in error, error
            with open(path, encoding="ascii") as f:
                assert f.read() == "precious\n"
            os.unlink(path)
        assert set(os.listdir(folder)) == {"victim"}, os.listdir(folder)


def check_killed_before_its_first_trace(folder):
    """What an older session left is not taken for the numbers of one that died at once."""
    run(spec_of(folder, num_iterations=3, duration=0, config_name="older"))
    p = start(spec_of(folder, duration=1000, config_name="newer"))
    while "newer" not in open(f"{folder}/s.cpsession", encoding="utf-8").read():
        assert p.poll() is None, p.stderr.read()
        time.sleep(0.005)
    rows, error = shown(folder, 0)  # while it runs
    assert rows == [] and "in progress" in error, (rows, error)
    p.kill()
    p.wait()
    rows, error = shown(folder, 1)
    assert rows == [] and "iteration 0" in error, (rows, error)


def iterations(rows):
    return sorted({int(row["iteration"]) for row in rows})


def check_refused_keeps_older(folder):
    """A session that does not begin leaves the one before it readable."""
    run(spec_of(folder, num_iterations=2, duration=0))
    with open(f"{folder}/notes.cpsession", "w", encoding="utf-8") as out:
        out.write("precious\n")
    for keys, said in (({"session_result_spec_path": f"{folder}/notes.cpsession"}, "was not written by cpuperf"),
                       ({"session_result_spec_path": f"{folder}/no/s.cpsession"}, "No such file"),
                       ({"session_result_spec_path": f"{folder}/t.5.0.cpuperf"}, "empty or ending in .cpsession"),
                       ({"events": [{"group_name": "misc", "event_name": "nothing"}]}, "nothing")):
        assert said in run(spec_of(folder, **keys), "--duration=10ms", code=1)
        rows, error = shown(folder, code=0)
        assert iterations(rows) == [0, 1], (keys, error)


def check_replaced(folder):
    """Another session uses the prefix with a manifest of its own: neither shows the other's."""
    def session(name, nr):
        run(spec_of(folder, num_iterations=nr, duration=0,
                    session_result_spec_path=f"{folder}/{name}.cpsession"))

    def show(name, code):
        os.link(f"{folder}/{name}.cpsession", f"{folder}/s.cpsession")
        try:
            return shown(folder, code)
        finally:
            os.unlink(f"{folder}/s.cpsession")

    session("a", 4)
    assert iterations(show("a", 0)[0]) == [0, 1, 2, 3]
    session("b", 2)
    rows, error = show("b", 0)
    assert iterations(rows) == [0, 1], rows
    assert "t.2.0.cpuperf" in error and "not of this session" in error, error
    rows, error = show("a", 1)
    assert iterations(rows) == [2, 3], rows
    assert "t.0.0.cpuperf" in error and "a trace of another session" in error, error
    session("c", 4)
    for name in "a", "b":
        rows, error = show(name, 1)
        assert rows == [] and "those of t belong to another session" in error, (rows, error)
    assert iterations(show("c", 0)[0]) == [0, 1, 2, 3]
    # a manifest without an id is of the session that the first trace is of
    with open(f"{folder}/a.cpsession", encoding="utf-8") as f:
        old = json.load(f)
    assert len(old.pop("session_id")) == 32
    with open(f"{folder}/old.cpsession", "w", encoding="utf-8") as f:
        json.dump(old, f)
    assert iterations(show("old", 0)[0]) == [0, 1, 2, 3]


def run_in_tmp(*commands, **variables):
    """The program with the default paths, in an empty /tmp of its own, in which the commands ran. Without
    variables it has no home."""
    env = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_STATE_HOME")}
    with open(CPUPERF, "rb") as cpuperf, open(PRINT, "rb") as printer:
        fds = cpuperf.fileno(), printer.fileno()
        script = f"""set -e; mount -t tmpfs none /tmp; chmod 1777 /tmp; cd /; cat >/tmp/spec
cpuperf() {{ /proc/self/fd/{fds[0]} --spec-file=/tmp/spec --output-format=csv "$@"; }}
show() {{ /proc/self/fd/{fds[1]} --output-format=csv "$@"; }}
other() {{ setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }}
""" + "\n".join(commands)
        spec = json.dumps({"num_iterations": 20, "events": [
            {"group_name": g, "event_name": e} for g, e in EVENTS]})
        return subprocess.run(["unshare", "-m", "bash", "-c", script], input=spec, text=True, env={**env, **variables},
                              check=False, capture_output=True, pass_fds=fds)


def check_public_folder(_):
    """What anybody can do in /tmp ends no session of root's, whose files go elsewhere."""
    if os.geteuid() != 0 or run_in_tmp("other true").returncode:
        print("skip: names in /tmp that belong to others: not root, or no mount namespace here")
        return
    for make in stride(("touch /tmp/cpuperf.12.0.cpuperf", "ln -s /etc/passwd /tmp/cpuperf.0.1.cpuperf",
                        "mkdir /tmp/cpuperf.3.1.cpuperf", "touch /tmp/cpuperf.cpsession",
                        "touch /tmp/cpuperf.traces.lock", "mkfifo /tmp/cpuperf.cpsession.lock"), 2):
        p = run_in_tmp(f"other {make}", "ls -lA /tmp >&2",
                       "cpuperf --quiet=2 --duration=1ms >/dev/null",
                       "stat -c %a /tmp/cpuperf-* >&2",
                       "show --session=$(echo /tmp/cpuperf-*/cpuperf.cpsession)")
        assert p.returncode == 0 and "belongs to another user (uid 65534)" in p.stderr, (make, p)
        assert "the files of this session are in /tmp/cpuperf-" in p.stderr, p.stderr
        assert "\n700\n" in p.stderr, p.stderr
        assert iterations(csv.DictReader(io.StringIO(p.stdout))) == list(range(20)), p.stdout
        # a path that was asked for is used or refused
        p = run_in_tmp(f"other {make}", "cpuperf --duration=1ms --output-path-prefix=/tmp/cpuperf "
                       "--session-result-spec-path=/tmp/s.cpsession; ls /tmp/cpuperf-*")
        assert p.returncode and "/cpuperf-" not in p.stdout, (make, p)
    # with a home, all of it goes there, where cpuperf_print finds it
    p = run_in_tmp("other touch /tmp/cpuperf.common.cpuperf", "mkdir -m 700 /tmp/home",
                   "cpuperf --quiet=2 --duration=1ms >/dev/null", "cd /tmp/home", "show", HOME="/tmp/home")
    assert "the files of this session are in /tmp/home/.local/state/cpuperf/cpuperf.session;" in p.stderr, p
    assert p.returncode == 0 and iterations(csv.DictReader(io.StringIO(p.stdout))) == list(range(20)), p
    # a prefix that was asked for does not depend on the default path of the manifest
    p = run_in_tmp("other touch /tmp/cpuperf.cpsession",
                   "cpuperf --quiet=2 --duration=1ms --output-path-prefix=/tmp/t >/dev/null",
                   "show --session=/tmp/t.cpsession")
    assert p.returncode == 0 and "cpuperf_print --session=/tmp/t.cpsession" in p.stderr, p
    assert iterations(csv.DictReader(io.StringIO(p.stdout))) == list(range(20)), p.stdout
    # in another folder the manifest is beside the traces; one that was named is where it was said
    p = run_in_tmp("mkdir /tmp/mine", "cd /tmp/mine", "cpuperf --duration=1ms --output-path-prefix=t >/dev/null",
                   "cpuperf --duration=1ms --output-path-prefix=/tmp/t "
                   "--session-result-spec-path=/tmp/mine/s.cpsession >/dev/null",
                   "test ! -e /tmp/cpuperf.cpsession; test -e /tmp/mine/s.cpsession; show --session=t.cpsession")
    assert p.returncode == 0 and iterations(csv.DictReader(io.StringIO(p.stdout))) == list(range(20)), p
    # without traces there is nothing that the manifest could lie beside
    p = run_in_tmp("other touch /tmp/cpuperf.cpsession", "mkdir /tmp/mine", "cd /tmp/mine",
                   "cpuperf --duration=1ms --output-path-prefix= >/dev/null; ls -A /tmp/mine")
    assert "/tmp/cpuperf.cpsession: belongs to another user" in p.stderr, p
    assert p.returncode == 0 and not p.stdout, p
    # a name that is taken while the session runs costs that file
    p = run_in_tmp("cpuperf --duration=100ms --num-iterations=10 >/dev/null & pid=$!",
                   "until [ -e /tmp/cpuperf.0.0.cpuperf ]; do kill -0 $pid; sleep 0.01; done",
                   "kill -STOP $pid; other touch /tmp/cpuperf.8.0.cpuperf; kill -CONT $pid",
                   "wait $pid && exit 9", "show --session=/tmp/cpuperf.cpsession || true")
    assert p.returncode == 0, p
    assert "/tmp/cpuperf.8.0.cpuperf: belongs to another user (uid 65534)" in p.stderr, p.stderr
    assert "the session goes on without this file" in p.stderr, p.stderr
    assert "1 file(s) of the session are missing" in p.stderr, p.stderr
    rows = list(csv.DictReader(io.StringIO(p.stdout)))
    assert iterations(rows) == [i for i in range(10) if CPUS > 1 or i != 8], p.stdout
    assert {r["trace"] for r in rows if r["iteration"] == "8" and r["trace"]} == \
        {str(t) for t in range(1, CPUS)}, p.stdout


def check_pre_made(_):
    """A hundred ways of another user to be there first (with CPUPERF_TEST_LONG=1): none ends the
    session, costs it a number, or is touched by it."""
    if os.environ.get("CPUPERF_TEST_LONG") != "1" or os.geteuid() != 0 or \
            run_in_tmp("other true").returncode:
        return
    names = [f"cpuperf.{i}.{t}.cpuperf" for i in (0, 1, 7, 19, 20) for t in (0, CPUS - 1, 99)]
    names += ["cpuperf.cpsession", ".cpuperf.cpsession.tmp", "cpuperf.cpsession.lock",
              "cpuperf.traces.lock", ".cpuperf.5.0.cpuperf.tmp"]
    for name in names:
        for make in ("touch", "mkdir", "mkfifo", "ln -s /etc/passwd", "ln -s /tmp/none"):
            p = run_in_tmp(f"other {make} /tmp/{name}; stat -c '%u %i %z' /tmp/{name} >/tmp/before",
                           "sum=$(md5sum /etc/passwd)", "cpuperf --duration=1ms >/dev/null",
                           f"stat -c '%u %i %z' /tmp/{name} | cmp - /tmp/before",
                           '[ "$sum" = "$(md5sum /etc/passwd)" ] && [ ! -e /tmp/none ]',
                           "set -- /tmp/cpuperf-*/cpuperf.cpsession /tmp/cpuperf.cpsession",
                           '[ -O "$1" ] && [ -f "$1" ] || shift', 'show --session="$1"')
            assert p.returncode == 0, (make, name, p)
            assert iterations(csv.DictReader(io.StringIO(p.stdout))) == list(range(20)), (make, name)


def check_names(folder):
    """Names that cannot work are refused before anything is measured."""
    error = run(spec_of(folder, session_result_spec_path=f"{folder}/t.0.0.cpuperf"), code=1)
    assert 'session_result_spec_path must be ' in error and "ending in .cpsession" in error, error
    error = run(spec_of(folder, output_path_prefix=f"{folder}/" + "n" * 243), code=1)
    assert "too long" in error, error
    with open(f"{folder}/s.cpsession", "w", encoding="utf-8") as out:
        out.write('{"config_name": "of another program"}')
    error = run(spec_of(folder), code=1)
    assert "was not written by cpuperf" in error, error
    with open(f"{folder}/s.cpsession", encoding="utf-8") as left:
        assert left.read() == '{"config_name": "of another program"}'
    assert traces(folder) == []


def check_blocked_output(folder):
    """A reader that does not read: the signal ends the session, and its files are whole."""
    spec = spec_of(folder, duration=0)
    read_end, write_end = os.pipe()
    p = subprocess.Popen([CPUPERF, spec, "--num-iterations=1000000"], stdout=write_end,
                         stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    while sum(sizes(folder)) < 1 << 20:  # far more was printed than a pipe takes
        assert p.poll() is None, p.stderr.read()
        time.sleep(0.1)
    p.send_signal(signal.SIGTERM)
    error = p.communicate(timeout=600)[1]
    os.close(read_end)
    assert p.returncode == 1 and "standard output" in error, (p.returncode, error)
    rows = assert_whole(folder)
    assert rows and rows % (CPUS * len(EVENTS)) == 0, rows


def check_signals(folder):
    """Each signal that ends a session leaves whole files and nothing else."""
    signals = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU
    for nr, number in stride(itertools.product((100, 100000), signals), 4):  # files of iterations, and segments
        if os.path.exists(f"{folder}/s.cpsession"):  # of the one before: it is waited for
            os.unlink(f"{folder}/s.cpsession")
        p = start(spec_of(folder, num_iterations=nr), "--duration=100ms")
        wait_for(f"{folder}/s.cpsession", p)
        time.sleep(0.15)
        p.send_signal(number)
        error = p.communicate(timeout=600)[1]
        out_of_time = number == signal.SIGXCPU
        assert p.returncode == out_of_time, (number, p.returncode, error)
        assert ("limit of CPU time" in error) == out_of_time and f"of {nr} iter" in error, error
        assert strays(folder) == [], (number, os.listdir(folder))
        rows = shown(folder, code=0)[0]
        assert len(rows) % ((CPUS + 1) * len(EVENTS)) == 0 and rows, (number, rows)


def check_output_fails(folder):
    """Standard output fails from the first iteration on, alone and together with the traces."""
    for limit, nr_done, elsewhere in ((10**6, None, True), (300, 0, False)):
        with open("/dev/full", "w", encoding="utf-8") as full, subprocess.Popen(
                ["prlimit", f"--fsize={limit}", CPUPERF, spec_of(folder), "--duration=50ms"],
                stdout=full, stderr=subprocess.PIPE, text=True) as p:
            error = p.communicate(timeout=600)[1]
        assert p.returncode == 1, (limit, p.returncode, error)
        found = re.search(r"standard output: No space left on device; the session ended after "
                          r"(\d+) iteration", error)
        assert found and int(found[1]) < 100, error
        assert nr_done is None or int(found[1]) == nr_done, error
        assert ("the traces contain them" in error) == elsewhere, error
        assert "not read fast enough" not in error, error


def check_limits(folder):
    """A limit of file sizes ends a session as a full disk does; one of CPU time as a signal."""
    big = {"num_iterations": 90, "config_name": "x" * 200,
           "events": [{"group_name": g, "event_name": e} for g, e in EVENTS] +
           [{"group_name": "misc", "event_name": "process_threads"}]}
    for keys, limit in ((big, 4096), (dict(big, num_iterations=100000), 100000)):
        error = run("prlimit", f"--fsize={limit}", CPUPERF, spec_of(folder, **keys),
                    "--duration=1ms", code=1)
        assert "File too large" in error and f"{folder}/" in error, error
        assert strays(folder) == [], os.listdir(folder)
    assert shown(folder, code=1)[0]
    for limit in stride(("1:9", "3:3"), 1):  # as ulimit -St, and as ulimit -t
        error = run("prlimit", f"--cpu={limit}", CPUPERF, spec_of(folder, num_iterations=10**6),
                    "--duration=0", code=1)
        assert "limit of CPU time" in error and strays(folder) == [], error
        assert shown(folder, code=0)[0]


def check_strays_of_others(folder):
    """Files that nobody can say are of the session cost it nothing."""
    run(spec_of(folder, num_iterations=3), "--duration=5ms")
    rows = shown(folder, code=0)[0]
    for name in ("t.s5.0.cpuperf", "t.s0.9.cpuperf", "t.7.0.cpuperf"):
        with open(f"{folder}/{name}", "w", encoding="utf-8"):
            pass
    os.mkdir(f"{folder}/t.s7.0.cpuperf")
    again, said = shown(folder, code=0)
    assert again == rows and "not of this session: ignored" in said, said


def check_log_to_pipe(folder):
    """A FIFO as log is not waited for."""
    os.mkfifo(f"{folder}/log")
    error = run(spec_of(folder), "--duration=1ms", f"--log-file={folder}/log", code=1)
    assert "--log-file=" in error and "cannot be opened" in error, error


def check_full_disk(folder):
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "none",
                                            folder], check=False).returncode:
        print("skip: a full disk: no file system can be mounted here")
        return
    try:
        error = run(spec_of(folder), "--duration=5ms", code=1)
        assert "No space left on device" in error and f"{folder}/" in error, error
        assert strays(folder) == [], strays(folder)
        assert assert_whole(folder) > 0
        rows, said = shown(folder, code=1)
        nr, last = len(traces(folder)), max(int(r["iteration"]) for r in rows)
        assert nr >= 4 and len({(r["iteration"], r["trace"]) for r in rows if r["trace"]}) == nr
        assert nr == (last + 1) * CPUS or f"iteration {last} has no trace" in said, said
        assert any(f"t.{i}." in error for i in (last, last + 1)) or "s.cpsession" in error, error
        # it ended, and its manifest had room to say so
        assert "did not end" not in said, said
        with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
            assert "state" not in json.load(f)
    finally:
        subprocess.run(["umount", folder], check=True)


run_checks(globals())
