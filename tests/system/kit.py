"""What system tests share: how to run programs, to skip, and to run the checks of a file.

A test is tests/system/test_NAME.py; ctest calls it system_NAME. Its checks are functions check_…,
each called with a folder of its own. CONTRIBUTING.md shows a whole test.
"""
import contextlib
import fcntl
import functools
import glob
import os
import pty
import re
import select
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
import zlib

import sampled
from patience import PATIENCE_S

CPUPERF, PRINT = os.environ["CPUPERF"], os.environ["CPUPERF_PRINT"]
TEST = os.path.abspath(sys.argv[0])  # each check has another working directory
SESSION = "cpuperf.session"  # where it is saved without --output
# Without folders that are closed to this user, where a program that does not exist is one that may not be executed.
os.environ["PATH"] = ":".join(d for d in os.environ["PATH"].split(":") if os.access(d, os.X_OK))


def own_uid():
    """A user of this test, build and checkout alone: the kernel limits locked memory, of rings, per user, and tests run
    beside each other, also one with both builds. Nobody's processes and files have it."""
    folder = os.path.dirname(TEST)
    tests = sorted(glob.glob(f"{folder}/test_*.py"))
    is_installed = "/tested/" in CPUPERF
    checkout = zlib.crc32(folder.encode()) % (4500 // (2 * len(tests)))
    return 61000 + (2 * checkout + is_installed) * len(tests) + tests.index(TEST)


os.environ["CPUPERF_COLUMNS"] = "100000"  # no sentence is broken in a pipe: each is found

NO_SAMPLING = "measuring whole CPUs needs root or perf_event_paranoid 0"


def programs_missing():
    """Why no programs can be loaded into the kernel here; None: they can."""
    if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "programs in the kernel need root and a kernel with BTF"
    return None


def need_programs():
    missing = programs_missing()
    if missing:
        skip(missing)


def hidden_turns():
    """How often threads of the first process have run on a CPU. While they do, a kernel (Linux 6.18 of a virtual
    machine) was seen to run no BPF program, and to report no switch from them: each time one wait of a
    task may be missing."""
    turns = 0
    for path in glob.glob("/proc/1/task/*/schedstat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            turns += int(read_words(path)[2])
    return turns


def hidden_faults():
    """Page faults of the first process so far. Where its turns are hidden, they are counted, and have no samples: the
    sample that is due at one is missing."""
    with open("/proc/1/stat", encoding="utf-8") as f:
        words = f.read().rpartition(")")[2].split()
    return int(words[7]) + int(words[9])


def again(check, why):
    """Says that a check, by its name, is tried again: scripts/test-report lists that. For what the machine was seen to
    disturb, and for nothing else."""
    print(f"again: {check}: {' '.join(str(why).split())[:500]}", flush=True)


def despite_hidden_turns(check):
    """A check that fails where a single wait of its program is missing. It is tried again, twice at most and in an empty
    folder, where there were hidden turns meanwhile; without one it has failed."""
    @functools.wraps(check)
    def tries(folder):
        for left in (2, 1, 0):
            turns = hidden_turns()
            try:
                return check(folder)
            except AssertionError as error:
                if not left or hidden_turns() == turns:
                    raise
                again(check.__name__, f"there were hidden turns: {error}")
            empty(folder)
        return None
    return tries


def empty(folder):
    """Removes what is in it, and not itself: it may be where the test is."""
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry)
        else:
            os.unlink(entry)


def read_words(path):
    with open(path, encoding="ascii") as f:
        return f.read().split()


def run(*command, code=0, text=True, env=None, **how):
    """Runs the command to its end and returns subprocess's CompletedProcess. Fails unless its exit
    status is code (None: any). env is added to the environment; a value None removes. There is no
    limit of time but ctest's: the machine may be busy."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    whole = {k: v for k, v in {**os.environ, **(env or {})}.items() if v is not None}
    done = subprocess.run(command, text=text, check=False, env=whole, **how)
    assert code in (None, done.returncode), \
        (command, done.returncode, (done.stdout or "")[-2000:], done.stderr)
    return done


def output(*command, **how):
    return run(*command, **how).stdout


def show(folder, *args, **how):
    """What cpuperf_print says of the session in a folder (sampled.write_spec)."""
    return output(PRINT, f"--session={folder}/s.cpsession", "--quiet", *args, **how)


held_ports = []


def free_port():
    """A port of this machine's own address that nobody is given until this test ends, but who asks for this one, as
    servers do (SO_REUSEADDR). Who connects to it before is refused."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    held_ports.append(s)
    return s.getsockname()[1]


def wait_for(p, path):
    """Until the file exists; p must not have ended before."""
    while not os.path.exists(path):
        assert p.poll() is None, (path, p.communicate())
        time.sleep(0.01)


def read_when_there(path, text):
    """Until the file exists, which has this text from then on."""
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, encoding="utf-8") as f:
        found = f.read()
    assert found == text, (path, found, text)


def wait_until_named(p, name):
    """Until the process has the name of its program: Popen returns a little before, as its exec closes files first."""
    while sampled.comm(p.pid) != f"{name[:15]}\n":
        assert p.poll() is None, (p.args, name)
        time.sleep(0.001)


def wait_until_measuring(p, folder):
    """The manifest of the default session is written when everything is open and enabled."""
    wait_until_recorded(p, f"{folder}/{SESSION}/cpuperf.cpsession")


def wait_until_recorded(p, path):
    """The same of the session of this manifest."""
    while not is_recording(path):
        assert p.poll() is None, (path, p.communicate())
        time.sleep(0.01)


def wait_until_saved(p, path):
    """Until the session of this manifest has ended. Its command may go on."""
    while not os.path.exists(path) or is_recording(path):
        assert p.poll() is None or os.path.exists(path), (path, p.communicate())
        time.sleep(0.01)


def is_recording(path):
    """Whether the manifest says so. One of an earlier session may be replaced at any moment."""
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as f:
        return '"recording"' in f.read()
    return False


def start(folder, *options, command=()):
    """cpuperf, with a command if there is one, in a folder, with pipes."""
    return subprocess.Popen([CPUPERF, *options, *(["--", *command] if command else [])], cwd=folder, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(p, code=0):
    """Closes its standard input, and returns what it printed. Code None: any."""
    out, err = p.communicate()
    assert code in (None, p.returncode), (p.returncode, out, err)
    return out, err


def sql(folder, query):
    """The rows of a query of the default session of a folder."""
    run(PRINT, "--quiet", "--output-format=sqlite", "--output-file=x.db", SESSION, cwd=folder)
    with contextlib.closing(sqlite3.connect(f"{folder}/x.db")) as db:
        found = db.execute(query).fetchall()
    os.unlink(f"{folder}/x.db")
    return found


def without_totals(rows):
    """Rows of --report=series without those over CPUs of events that have rows of their CPUs."""
    of_cpu = {r["label"] for r in rows if r["cpu"] != "all" and r["kind"] != "metric"}
    return [r for r in rows if r["cpu"] != "all" or r["label"] not in of_cpu]


def peer(name):
    """A program of another project: this machine's, or one that scripts/deps peers has unpacked. None, with the
    reason printed, if there is neither."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    own = f"{cache}/cpuperf/peers/usr/bin/{name}"
    found = shutil.which(name) or (own if os.access(own, os.X_OK) else None)
    if not found:
        print(f"skip: {name}: neither installed nor unpacked by scripts/deps peers", flush=True)
    return found


def own_libraries(folder, program):
    """A folder with copies of the program's libraries: valgrind ends at a breakpoint that a test beside this one has
    set in them."""
    own = f"{folder}/own"
    os.makedirs(own, exist_ok=True)
    for path in re.findall(r"=> (/\S+)", output("ldd", program)):
        shutil.copy(path, own)
    return own


def skip(reason):
    print(f"skip: {reason}")
    sys.exit(77)


def can_execute(path, what):
    """Whether the kernel executes the program, which is killed at once: one of 32 bits it may refuse. If not,
    prints that what is named is skipped."""
    try:
        with subprocess.Popen([path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            process.kill()
    except OSError as error:
        print(f"skip: {what}: the kernel does not execute it: {error.strerror}", flush=True)
        return False
    return True


def stride(items, most, shift=0):
    """At most so many of the items, evenly, from a place that the seed chooses (and shift: other calls take others);
    with CPUPERF_TEST_LONG=1 all. As tests/kit/stride.h."""
    items = list(items)
    if os.environ.get("CPUPERF_TEST_LONG") == "1" or len(items) <= most:
        return items
    by = -(-len(items) // most)
    seed = int(os.environ.get("CPUPERF_TEST_SEED", "0"))
    print(f"a part is tried: {most} of {len(items)}: CPUPERF_TEST_SEED={seed}", flush=True)
    return items[(seed + shift) % by::by]


def need_sampling():
    if not sampled.may_sample():
        skip(NO_SAMPLING)


def may_sample(what):
    """Whether whole CPUs may be measured; if not, prints that the checks named are skipped."""
    if not sampled.may_sample():
        print(f"skip: {what}: {NO_SAMPLING}", flush=True)
    return sampled.may_sample()


def may_count_faults(what):
    """Whether this user may measure his commands in the kernel, where faults and switches are counted; if
    not, prints that the checks named are skipped."""
    if not sampled.may_measure_kernel():
        print(f"skip: {what}: counting in the kernel needs root or perf_event_paranoid 1", flush=True)
    return sampled.may_measure_kernel()


def ordinary_user(folder, *programs):
    """Copies of CPUPERF and these programs that everybody may run, and the keywords of run() that make an
    ordinary user run them in the folder. None, with the reason printed, if there is none who may measure."""
    if os.geteuid() != 0 or sampled.paranoid() > 2:
        print("skip: an ordinary user: this is not root, or perf_event_paranoid may refuse him", flush=True)
        return None
    os.chmod(folder, 0o777)
    base = os.path.dirname(folder)
    copies = [sampled.for_everybody(path, base) for path in (CPUPERF, PRINT, *programs)]
    return [copies[0], *copies[2:]], {"cwd": folder, "user": own_uid(), "group": own_uid(), "extra_groups": []}


def on_terminal(columns, *command, rows=50, meanwhile=None, once=None, **env):
    """All that appears on a terminal of so many columns, and the exit status. meanwhile(p) is called while it runs, or
    once this pattern has appeared."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    mode = termios.tcgetattr(theirs)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    whole = {k: v for k, v in os.environ.items() if k not in ("PAGER", "NO_COLOR", "LESS")}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                          env={**whole, "TERM": "xterm", **env}) as p:
        os.close(theirs)
        text = b""
        if meanwhile and not once:
            meanwhile(p)
        try:
            while select.select([ours], [], [], PATIENCE_S)[0]:
                piece = os.read(ours, 65536)
                if not piece:
                    break
                text += piece
                if once and re.search(once, text):
                    once = meanwhile(p)
        except OSError:  # the last of them has closed it
            pass
        p.wait(timeout=600)
    os.close(ours)
    return text.decode(), p.returncode


def run_checks(names, everybody=False):
    """Runs the functions check_… of names (globals()), or those that the command line names, each
    with an empty folder, which everybody may enter if so asked. One may skip itself; where all do, the test is skipped."""
    nr_run = nr_skipped = 0
    for name, check in sorted(names.items()):
        if not name.startswith("check_") or sys.argv[1:] and name not in sys.argv[1:]:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="cpuperf-test.", ignore_cleanup_errors=True) as base:
            if everybody:
                os.chmod(base, 0o755)
            os.mkdir(f"{base}/x")
            os.chdir(f"{base}/x")  # a session without --output is no other test's
            try:
                check(f"{base}/x")
            except SystemExit as end:
                if end.code != 77:
                    raise
                print(f"{name}: skipped", flush=True)
                nr_skipped += 1
                continue
            finally:
                os.chdir("/")
        nr_run += 1
        print(f"{name}: ok, {time.monotonic() - began:.1f} s", flush=True)
    if nr_skipped and not nr_run:
        sys.exit(77)
