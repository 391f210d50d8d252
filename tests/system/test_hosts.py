"""--hosts: one question to several hosts. ssh is a stand-in (standin_ssh.py), so that hosts can fail, lie and
be late; test_hosts_ssh.py has the real one."""
import contextlib
import glob
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import jsonschema

from kit import CPUPERF, PRINT, finish, may_count_faults, may_sample, output, run, run_checks
from patience import PATIENCE_S
from receiver import Answer, Receiver

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = output(CPUPERF, "--version").split()[-1]
LONG = "--hosts-timeout=60"  # the machine may be busy
SHORT_S = 8  # of hosts that never answer: those that do begin within it, also beside others
SHORT = f"--hosts-timeout={SHORT_S}"


def hosts_env(folder):
    """The stand-in first in PATH, with cpuperf; what hosts hold is in a folder of the test's own."""
    os.makedirs(f"{folder}/bin", exist_ok=True)
    os.makedirs(f"{folder}/held", exist_ok=True)
    with open(f"{folder}/bin/ssh", "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexec {sys.executable} {HERE}/standin_ssh.py \"$@\"\n")
    os.chmod(f"{folder}/bin/ssh", 0o755)
    return {"PATH": f"{folder}/bin:{os.path.dirname(CPUPERF)}:/usr/bin:/bin", "TMPDIR": f"{folder}/held",
            "VERSION": VERSION, "STANDIN_LOG": f"{folder}/ssh.log"}


def measure(folder, hosts, *args, code=0, **how):
    return run(CPUPERF, f"--hosts={hosts}", *args, code=code, env=hosts_env(folder), cwd=folder, **how)


LATE, MOST_LATE = set(), 8  # of some 50


def parts(folder, name="cpuperf.session"):
    """host.json of each part, by its folder's name; each as the schema has it. All are to begin 100 ms after the last is
    ready; beside others one may have no turn within that, and says so rightly: but few may."""
    with open(f"{os.environ['SOURCE_DIR']}/schemas/host.schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    found = {}
    for path in glob.glob(f"{folder}/{name}/*/host.json"):
        with open(path, encoding="utf-8") as f:
            found[path.split("/")[-2]] = part = json.load(f)
        jsonschema.validate(part, schema)
        assert os.stat(path).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700
        if part["status"] == "late" and part["host"] != "late":
            LATE.add((path, part.pop("reason", None)))
            part["status"] = "ok"
    assert len(LATE) <= MOST_LATE, LATE
    return found


def nothing_is_left(folder):
    deadline = time.monotonic() + PATIENCE_S  # by a child of what was killed
    while os.listdir(f"{folder}/held") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.listdir(f"{folder}/held"), os.listdir(f"{folder}/held")


def check_counts(folder):
    """Each host's session is whole, as cpuperf there would have saved it."""
    if not may_count_faults("check_counts"):
        return
    done = measure(folder, "a,alice@b:2222,c", LONG, "-e", "page_faults", "--", "sh", "-c", "echo $((6*7)); exit 3", code=3)
    assert sorted(done.stdout.splitlines()) == ["a: 42", "alice@b:2222: 42", "c: 42"], done.stdout
    # the answer is that of all
    assert "Imbalance of wall time" in done.stderr and "Sum of 3 parts" in done.stderr, done.stderr
    assert "Saved in ./cpuperf.session. More: cpuperf_print (--help)\n" in done.stderr, done.stderr
    found = parts(folder)
    assert set(found) == {"a", "alice_b_2222", "c"}, found
    instants = {part["start_realtime_ns"] for part in found.values()}
    assert len(instants) == 1 and abs(instants.pop() - time.time_ns()) < 3600e9
    for name, part in found.items():
        assert part["status"] == "ok" and part["exit_status"] == 3 and part["node"] == os.uname().nodename, part
        assert abs(part["clock_offset_ns"]) <= part["clock_error_ns"], part  # it is the same clock
        shown = run(PRINT, f"cpuperf.session/{name}", cwd=folder)
        assert "exit status 3" in shown.stdout and "page_faults" in shown.stdout, shown.stdout
        assert "warning" not in shown.stderr and "error" not in shown.stderr, shown.stderr
        # they begin when all are ready
        head = json.loads(output(PRINT, "--quiet", "--output-format=ndjson", f"cpuperf.session/{name}",
                                 cwd=folder).splitlines()[0])
        assert head, shown.stdout
    assert found["alice_b_2222"]["host"] == "alice@b:2222"
    with open(f"{folder}/ssh.log", encoding="utf-8") as f:
        calls = [json.loads(line) for line in f]
    assert all("BatchMode=yes" in call for call in calls)
    assert {tuple(call[call.index("--"):]) for call in calls} == \
        {("--", "a", "cpuperf --as-part"), ("--", "alice@b", "cpuperf --as-part"), ("--", "c", "cpuperf --as-part")}
    assert [call[call.index("-p") + 1] for call in calls if "-p" in call] == ["2222"]
    nothing_is_left(folder)
    # the job before becomes .old, and a session takes its place
    run(CPUPERF, "-e", "page_faults", "--", "true", cwd=folder)
    assert parts(folder, "cpuperf.session.old") == found and not parts(folder)


def check_arguments(folder):
    """Whatever they contain, they arrive."""
    args = [b"a b", b"'\"", b"new\nline", b"$HOME `id` $(id)", b"", b"\xff\xfe", b"*", b"\\", b"-x", b"--", b"~", b"#"]
    done = measure(folder, "a", LONG, "-e", "page_faults", "--", "printf", r"%s\0", *args, text=False)
    assert done.stdout == b"".join(a + b"\0" for a in args), done.stdout
    nothing_is_left(folder)


def check_program(folder):
    """A path that a shell would divide."""
    odd = f"{folder}/it's $HOME"
    os.mkdir(odd)
    os.symlink(CPUPERF, f"{odd}/cpuperf")
    done = measure(folder, "a", LONG, f"--hosts-program={odd}/cpuperf", "-e", "page_faults", "--", "echo", "x")
    assert done.stdout == "x\n"


def make_sent(folder, machine=None):
    """A file as scripts/package tar makes it, of a program that says where it runs, and is ours."""
    name = f"cpuperf-{machine or os.uname().machine}-linux"
    os.makedirs(f"{folder}/pack/{name}/bin")
    with open(f"{folder}/pack/{name}/bin/cpuperf", "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nstat -c '%a %n' \"${{0%/*/*/*}}\" >>{folder}/ran\nexec {CPUPERF} \"$@\"\n")
    os.chmod(f"{folder}/pack/{name}/bin/cpuperf", 0o755)
    run("tar", "-C", f"{folder}/pack", "-czf", f"{folder}/{name}.tar.gz", name)
    return f"{folder}/{name}.tar.gz"


def check_send(folder):
    """Who has no cpuperf, or another one, gets ours into a folder of its own for the time of the measurement; who has
    it, gets none."""
    sent = make_sent(folder)
    old = f"{folder}/it's \"$(touch injected)\""
    with open(old, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho cpuperf 0.0.1\n")
    os.chmod(old, 0o755)
    script = "pwd; umask; ls -d \"$TMPDIR\"/*/cpuperf-*"
    done = measure(folder, "bare,bare2,a", LONG, f"--send={sent}", "-e", "page_faults", "--", "sh", "-c", script, code=None)
    assert {p["status"] for p in parts(folder).values()} == {"ok"}, (parts(folder), done.stderr)
    with open(f"{folder}/ran", encoding="utf-8") as f:
        places = f.read().splitlines()
    assert len(set(places)) == 2 and all(p.startswith(f"700 {folder}/held/cpuperf.") for p in places), places
    assert f"bare: {os.path.realpath(folder)}\n" in done.stdout and "bare: 0022\n" in done.stdout.replace("0002", "0022"), done.stdout
    nothing_is_left(folder)
    os.unlink(f"{folder}/ran")
    measure(folder, "a", LONG, f"--send={sent}", f"--hosts-program={old}", "-e", "page_faults", "--", "true")
    assert os.path.exists(f"{folder}/ran") and not os.path.exists(f"{folder}/injected")
    os.unlink(f"{folder}/ran")
    measure(folder, "a", LONG, f"--send={sent}", "-e", "page_faults", "--", "true")
    assert not os.path.exists(f"{folder}/ran")
    nothing_is_left(folder)


def check_send_interrupted(folder):
    """The folder is removed when the command was ended, and when the starter was."""
    sent = make_sent(folder)
    for number, status in (signal.SIGINT, 130), (signal.SIGKILL, -9):
        p = begin(folder, "bare", "touch run.$$; exec sleep 1000", f"--send={sent}")
        p.send_signal(number)
        finish(p, status)
        for pid in pids(folder):
            wait_gone(pid)
            os.unlink(f"run.{pid}")
        nothing_is_left(folder)


def check_send_fails(folder):
    """Each has its reason, and nothing is left there."""
    sent = make_sent(folder)
    reasons = {"garbled": "did not arrive whole", "other_machine": "it asked for what is not sent",
               "no_name": "it asked for what is not sent", "twice_asks": "something else answered", "dropped": "",
               "at_once_asks": "something else answered", "long_asks": "something else answered"}
    measure(folder, ",".join(reasons), LONG, f"--send={sent}", "-e", "page_faults", "--", "true", code=125)
    for name, part in parts(folder).items():
        assert part["status"] == "failed" and reasons[name] in part["reason"], part
    nothing_is_left(folder)
    measure(folder, "bare", LONG, f"--send={make_sent(folder, 'sparc')}", "-e", "page_faults", "--", "true", code=125)
    why = f"it is of machine {os.uname().machine}, and --send has no cpuperf-{os.uname().machine}-linux.tar.gz"
    assert parts(folder)["bare"]["reason"] == why, parts(folder)
    measure(folder, "bare,old", LONG, "-e", "page_faults", "--", "true", code=125)
    assert all("--send copies this one there" in part["reason"] for part in parts(folder).values()), parts(folder)


def check_send_usage(folder):
    for name, content in ("cpuperf", b""), ("cpuperf-x86_64-linux", b""), ("cpuperf-sparc-linux", b"tar"):
        with open(f"{folder}/{name}.tar.gz", "wb") as f:
            f.write(content)
    for option, why in (f"--send={folder}/cpuperf.tar.gz", "is not named cpuperf-MACHINE-linux.tar.gz"), \
            (f"--send={folder}/cpuperf-x86_64-linux.tar.gz", "is empty"), ("--send=", "names no file"), \
            (f"--send={folder}/cpuperf-sparc-linux.tar.gz", "is no file of gzip"), \
            (f"--send={folder}/cpuperf-y-linux.tar.gz", "cpuperf-y-linux.tar.gz"), \
            ("--send", "there is no cpuperf-MACHINE-linux.tar.gz in "):
        done = measure(folder, "a", option, "-e", "page_faults", "--", "true", code=None)
        assert done.returncode in (2, 125) and why in done.stderr, (option, done)
        assert not os.path.exists(f"{folder}/ssh.log")
    done = run(CPUPERF, "--send", "-e", "page_faults", "--", "true", code=None)
    assert "--send requires --hosts" in done.stderr, done


def check_hosts_fail(folder):
    """One that fails is named, with the reason; the others are whole."""
    reasons = {
        "refused": "ssh: connect to host refused port 22: Connection refused",
        "missing": "cpuperf was not found there",
        "noisy": "something else answered, perhaps the login shell: Welcome?[2J to this host",
        "old": f"cpuperf 0.0.1 is there, and {VERSION} here",
        "protocol": "speaks protocol 2, and this one 1",
        "escapes": "cpuperf ?[2J is there",
        "above": "a file that no session has", "absolute": "a file that no session has",
        "hidden": "a file that no session has", "twice": "it sent a file twice",
        "short": "it did not send all of its files", "more": "more of a file than it said",
        "nothing": "it did not send all of its files", "again": "another protocol", "greets": "another protocol",
        "asks": "another protocol", "unknown": "another protocol", "huge": "another protocol",
        "truncated": "another protocol", "pongs": "another protocol", "centuries": "a century",
        "dies": "cpuperf was ended there", "floods": "the ?[2Jreason",
    }
    done = measure(folder, "a,b," + ",".join(reasons), LONG, "-e", "page_faults", "--", "echo", "x", code=125)
    found = parts(folder)
    assert set(found) == {"a", "b", *reasons}
    assert found["a"]["status"] == found["b"]["status"] == "ok", found
    for name, why in reasons.items():
        part = found[name]
        assert part["status"] == ("partial" if name in ("twice", "short", "more", "dies") else "failed"), part
        assert why in part["reason"] and f"{name}: {part['status']}: " in done.stderr, (part, done.stderr)
    assert "a: x" in done.stdout and "b: x" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("floods: ")]
    assert [len(line) for line in lines] == [65536 + 8] * 4, [len(line) for line in lines]
    assert "2 of 25 host(s) measured" in done.stderr
    outside = {os.path.basename(path) for path in glob.glob(f"{folder}/**", recursive=True) if "cpuperf.x" in path}
    assert not outside and not os.path.exists("/tmp/cpuperf.x.cpuperf")
    nothing_is_left(folder)


def check_hosts_hang(folder):
    """Those that never answer, fall silent or are ready too late: the others begin without them."""
    done = measure(folder, "a,hangs,silent,late", SHORT, "-e", "page_faults", "--", "echo", "x", code=125)
    found = parts(folder)
    assert found["a"]["status"] == "ok", (found, done.stderr)
    assert found["hangs"]["status"] == "failed" and f"did not answer for {SHORT_S} s" in found["hangs"]["reason"]
    assert found["silent"]["status"] == "failed" and f"silent for {SHORT_S} s" in found["silent"]["reason"]
    assert found["late"]["status"] == "late" and found["late"]["start_realtime_ns"] == found["a"]["start_realtime_ns"]
    assert "2 of 4 host(s) measured" in done.stderr


def check_clocks(folder):
    """The offset is right within the error, and so is the instant by that host's clock."""
    skew = -3_600_000_000_123
    measure(folder, "skewed,a", LONG, "-e", "page_faults", "--", "true")
    part = parts(folder)["skewed"]
    assert abs(part["clock_offset_ns"] - skew) <= part["clock_error_ns"] < 60e9, part
    with open(f"{folder}/skewed.instant", encoding="ascii") as f:
        assert json.load(f) == part["start_realtime_ns"] + part["clock_offset_ns"]


def check_spec(folder):
    """The hosts have no file of it; errors in it have its name."""
    with open(f"{folder}/x.cpspec", "w", encoding="ascii") as f:
        f.write('{"events": [{"group_name": "software", "event_name": "page_faults"}]}')
    for how in ({"stdin": subprocess.DEVNULL}, {"input": open(f"{folder}/x.cpspec", encoding="ascii").read()}):
        spec = "-" if "input" in how else "./x.cpspec"
        done = measure(folder, "a,b", LONG, f"--spec-file={spec}", "--", "sh", "-c", "ls; wc -c", **how)
        assert "a: 0" in done.stdout, done.stdout  # nothing is the command's input
        assert "page_faults" in output(PRINT, "cpuperf.session/b", cwd=folder)
    with open(f"{folder}/x.cpspec", "w", encoding="ascii") as f:
        f.write('{"events": []}')
    done = measure(folder, "a,b", LONG, "--spec-file=./x.cpspec", "--", "true", code=125)
    assert "a: ./x.cpspec:1:12: error: " in done.stderr, done.stderr
    assert parts(folder)["a"]["status"] == "failed" and not parts(folder)["a"]["reason"].startswith("cpuperf ended")
    nothing_is_left(folder)


def check_machines(folder):
    if not may_sample("check_machines"):
        return
    done = measure(folder, "a,b", LONG, "-e", "page_faults", "--duration=50ms", "--num-iterations=2")
    assert "Sum of 2 parts" in done.stdout, done.stdout
    for part in "a", "b":
        assert "exit_status" in parts(folder)[part]
        assert "2 iteration(s)" in run(PRINT, f"cpuperf.session/{part}", "--verbose", cwd=folder).stderr
    done = measure(folder, "a", LONG, "-e", "no_such_event", "-d", "50ms", code=1)
    assert "no_such_event" in parts(folder)["a"]["reason"]


def check_statuses(folder):
    """The largest of all."""
    with open(f"{folder}/n", "w", encoding="ascii") as f:
        f.write("4")
    script = 'mkdir d 2>/dev/null && exit 7; exit 2'
    measure(folder, "a,b,c", LONG, "-e", "page_faults", "--", "sh", "-c", script, code=7)
    assert sorted(part["exit_status"] for part in parts(folder).values()) == [2, 2, 7]
    measure(folder, "a", LONG, "-e", "page_faults", "--", "no-such-command", code=125)
    assert "no-such-command" in parts(folder)["a"]["reason"], parts(folder)
    measure(folder, "a", LONG, "-e", "page_faults", "--", "sh", "-c", "kill -9 $$", code=137)


def check_output(folder):
    script = "printf 'x\\ny'; printf 'e\\n' >&2; exit 0"
    done = measure(folder, "a", LONG, "--quiet", "-e", "page_faults", "--", "sh", "-c", script)
    assert (done.stdout, done.stderr) == ("x\ny", "e\n"), done
    done = measure(folder, "a,b", LONG, "--quiet", "-e", "page_faults", "--", "sh", "-c", script)
    assert sorted(done.stdout.splitlines()) == ["a: x", "a: y", "b: x", "b: y"], done.stdout
    assert sorted(done.stderr.splitlines()) == ["a: e", "b: e"], done.stderr
    done = measure(folder, "a,b", LONG, "--quiet", "-e", "page_faults", "--", "head", "-c", "3000000", "/dev/zero")
    assert done.stdout.count("\0") == 6000000


def begin(folder, hosts, script, *options):
    """Starts it, and waits until the command runs on all hosts (which have one folder)."""
    env = {**os.environ, **hosts_env(folder)}
    p = subprocess.Popen([CPUPERF, f"--hosts={hosts}", LONG, "-e", "page_faults", *options, "--", "sh", "-c", script],
                         cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    nr = len(hosts.split(","))
    while len(glob.glob(f"{folder}/run.*")) < nr:
        assert p.poll() is None, p.communicate()
        time.sleep(0.02)
    return p


def wait_gone(pid):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                if f.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.05)
    raise AssertionError(f"{pid} still runs")


def pids(folder):
    return [int(path.rsplit(".", 1)[1]) for path in glob.glob(f"{folder}/run.*")]


def check_interrupted(folder):
    """Ctrl-C ends the commands, and the sessions are saved."""
    for number, status in (signal.SIGINT, 130), (signal.SIGTERM, 143):
        p = begin(folder, "a,b", "touch run.$$; exec sleep 100")
        p.send_signal(number)
        _, err = finish(p, status)
        assert {part["status"] for part in parts(folder).values()} == {"ok"}, (parts(folder), err)
        for pid in pids(folder):
            wait_gone(pid)
            os.unlink(f"run.{pid}")
    nothing_is_left(folder)


def check_beside_another(folder):
    """While one session uses the folder, the next one takes the folder beside it, and says so."""
    p = begin(folder, "a,b", "touch run.$$; exec sleep 100")
    done = measure(folder, "a", LONG, "-e", "page_faults", "--", "true")
    assert "another session is using ./cpuperf.session" in done.stderr and "cpuperf.session.2" in done.stderr, done.stderr
    assert [part["status"] for part in parts(folder, "cpuperf.session.2").values()] == ["ok"]
    p.send_signal(signal.SIGINT)
    finish(p, 130)
    assert {part["status"] for part in parts(folder).values()} == {"ok"}


def check_interrupted_twice(folder):
    """What ignores the first goes on; the second does not wait for it."""
    p = begin(folder, "a,b", "trap '' INT; touch run.$$; while :; do sleep 0.1; done")
    p.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert p.poll() is None
    while p.poll() is None:  # who had no CPU meanwhile took both for one
        p.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(20)
    finish(p, 125)
    assert {part["reason"] for part in parts(folder).values()} == {"the job was interrupted twice"}
    for pid in pids(folder):
        wait_gone(pid)  # by SIGHUP
    nothing_is_left(folder)


def check_starter_dies(folder):
    """The command gets SIGHUP, as of a terminal that was closed; one that ignores it goes on, and nothing of
    the session is left on the host."""
    p = begin(folder, "a", "touch run.$$; exec sleep 1000")
    p.kill()
    finish(p, -signal.SIGKILL)
    for pid in pids(folder):
        wait_gone(pid)
        os.unlink(f"run.{pid}")
    nothing_is_left(folder)
    assert parts(folder)["a"]["reason"] == "the starter was ended"
    p = begin(folder, "a", "trap '' HUP; touch run.$$; exec sleep 1000")
    p.kill()
    finish(p, -signal.SIGKILL)
    nothing_is_left(folder)
    for pid in pids(folder):
        os.kill(pid, signal.SIGTERM)
        wait_gone(pid)


def check_recorder_stops(folder):
    """One whose measuring process is stopped is named after its limit of time, though its command prints on;
    the others are whole. A command that is stopped for longer is no reason."""
    with open(f"{folder}/x.sh", "w", encoding="ascii") as f:
        f.write("""if mkdir stopped 2>/dev/null; then
    echo $$ >pid; kill -STOP $$; exit 0
fi
while [ ! -s pid ]; do sleep 0.1; done
if mkdir slow 2>/dev/null; then
    sleep 12; kill -CONT $(cat pid); exit 0
fi
parent=$(awk '/^PPid/ { print $2 }' /proc/$$/status)
trap 'touch hung.up; exit 1' HUP
kill -STOP $parent; touch run.$$
for i in $(seq 300); do echo x; sleep 0.1; done
kill -CONT $parent
""")
    with open(f"{folder}/apart", "w", encoding="ascii") as f:
        f.write('#!/bin/sh\ncpuperf "$@"; exit $?\n')  # not killed with ssh, as on another host
    os.chmod(f"{folder}/apart", 0o755)
    done = measure(folder, "a,b,c", SHORT, f"--hosts-program={folder}/apart", "-e", "page_faults", "--", "sh", "x.sh",
                   code=125)
    found = parts(folder)
    assert sorted(part["status"] for part in found.values()) == ["failed", "ok", "ok"], (found, done.stderr)
    name, part = next((n, p) for n, p in found.items() if p["status"] == "failed")
    assert f"silent for {SHORT_S} s" in part["reason"] and f"{name}: failed: it was silent" in done.stderr, (part, done.stderr)
    assert f"{name}: cpuperf: warning: the process that measures, " in done.stderr, done.stderr
    assert "2 of 3 host(s) measured" in done.stderr
    for pid in pids(folder):
        wait_gone(pid)
    assert os.path.exists(f"{folder}/hung.up")
    nothing_is_left(folder)


def check_recorder_dies(folder):
    """What was sent is partial, or there is nothing; the reason says so."""
    script = "touch run.$$; kill -9 $(awk '/^PPid/ { print $2 }' /proc/$$/status); sleep 1"
    measure(folder, "a", LONG, "-e", "page_faults", "--", "sh", "-c", script, code=125)
    assert parts(folder)["a"]["status"] in ("partial", "failed")
    assert "Killed" in parts(folder)["a"]["reason"], parts(folder)
    nothing_is_left(folder)


def check_push(folder):
    """Each host sends its own profiles, from where it is, by its own name; the files come here as ever."""
    if not may_sample("check_push"):
        return
    with Receiver("pyroscope", [Answer(type="application/proto")] * 9) as r:
        done = measure(folder, "a,b", LONG, f"--push={r.url}", f"--push-spool={folder}/spool", "--push-wait=60s",
                       "--frequency=997", "--duration=300ms", "--num-iterations=2")
        assert len(r.requests) == 4, (len(r.requests), done.stderr)
    assert {part["status"] for part in parts(folder).values()} == {"ok"}
    nothing_is_left(folder)


def check_full_disk(folder):
    """Of the starter: who sends more than fits is named, the others are whole, and so is what is said of all."""
    if os.geteuid() != 0 or run("unshare", "-m", "true", code=None).returncode:
        print("skip: check_full_disk: needs root, to mount a small file system", flush=True)
        return
    env = hosts_env(folder)
    os.mkdir(f"{folder}/small")
    command = [CPUPERF, "--hosts=a,big,b", LONG, "-o", "small/job", "-e", "page_faults", "--", "echo", "x"]
    script = (f"mount -t tmpfs -o size=1m none small && {shlex.join(command)}; status=$?; "
              "cp -a small/job copy && exit $status")
    done = run("unshare", "-m", "sh", "-c", script, cwd=folder, env=env, code=125)
    found = parts(folder, "copy")
    assert {name: part["status"] for name, part in found.items()} == {"a": "ok", "b": "ok", "big": "partial"}, (found, done)
    why = "its files cannot be written: No space left on device"
    assert why in found["big"]["reason"] and f"big: partial: {why}" in done.stderr, done.stderr
    assert sorted(done.stdout.splitlines()) == ["a: x", "b: x"] and "2 of 3 host(s) measured" in done.stderr, done
    for name in "a", "b":
        shown = run(PRINT, f"copy/{name}", cwd=folder)
        assert "page_faults" in shown.stdout and "error" not in shown.stderr, shown
    nothing_is_left(folder)


def check_usage(folder):
    for hosts in "-oProxyCommand=x", "a,-b", "a b", "a\nb", "\x1b", "", "a,a", "a:0":
        done = measure(folder, hosts, "-e", "page_faults", "--", "true", code=None)
        assert done.returncode in (2, 125) and "--hosts" in done.stderr, done
        assert not os.path.exists(f"{folder}/ssh.log") and "\x1b" not in done.stderr
    for other in "--control=fd:3", "--check-spec", "--output-file=x", "--list-specs", "--save-spec=x":
        done = measure(folder, "a", other, "-e", "page_faults", code=2)
        assert "mutually exclusive" in done.stderr, done.stderr
    done = measure(folder, "a", "--hosts-timeout=x", "-e", "page_faults", code=2)
    assert "--hosts-timeout" in done.stderr
    for option in "--hosts-timeout=3", "--hosts-program=x":
        done = run(CPUPERF, option, "-e", "page_faults", cwd=folder, code=2)
        assert option.partition("=")[0] + " requires --hosts" in done.stderr, done.stderr
    done = measure(folder, "a", "--output=-", "-e", "page_faults", code=2)
    assert "--output=-" in done.stderr
    with open(f"{folder}/thesis", "w", encoding="ascii"):
        pass
    os.mkdir(f"{folder}/mine")
    os.rename(f"{folder}/thesis", f"{folder}/mine/thesis")
    done = measure(folder, "a", "-o", "mine", "-e", "page_faults", "-d", "1", code=1)
    assert "not a session's file" in done.stderr and os.listdir(f"{folder}/mine") == ["thesis"]


run_checks(globals())
