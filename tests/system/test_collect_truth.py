#!/usr/bin/env python3
"""Is what is said of processes, disks, interfaces and memory true? A program that knows what it
uses (busy.c) does so inside one iteration:

    outer { cpuperf's iteration { inner { busy } inner } } outer

busy waits for a byte before it begins and stays when it is done, so that it sleeps at both
boundaries: what the kernel tells of it is exact then. What is of the whole machine lies between the
inner and the outer reading of the same file, whatever else runs. Nothing here asserts how long
anything took.

CPUPERF and BUSY name the programs. What needs root, a loop device, counting on whole CPUs or the
programs of sysstat is skipped where these are not to be had, and that is said.
"""
import contextlib
import csv
import glob
import io
import json
import os
import select
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import time

from kit import again, may_sample, run_checks, stride
import sampled

CPUPERF, CPUPERF_PRINT, BUSY, SOURCE_DIR = (
    os.environ[k] for k in ("CPUPERF", "CPUPERF_PRINT", "BUSY", "SOURCE_DIR"))
READER = f"{SOURCE_DIR}/tests/system/read_trace.py"
TICK_NS = 1000000000 // os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")
MIB = 1 << 20
TICK_READING = 2  # enum trace_boundary
# root without programs in the kernel
WITHOUT_BPF = ["setpriv", "--bounding-set=-bpf,-sys_admin"] if os.geteuid() == 0 else []
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def skip(what, why):
    print(f"skip: {what}: {why}")


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


class Busy:
    """The program; prefix: a command that becomes it."""

    def __init__(self, *args, prefix=(), program=BUSY):
        self.command = [*prefix, program, *map(str, args)]
        self.program = os.path.basename(program)

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "\n", self.command
        self.pid = self.process.pid
        self.name = f"{self.pid} {self.program}"
        return self

    def begin(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()

    def go(self):
        self.begin()
        return json.loads(self.process.stdout.readline())

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.wait(timeout=600):
            raise RuntimeError(f"busy: status {self.process.returncode}")


def write_spec(folder, events, **more):
    spec = {"num_iterations": 1000, "output_path_prefix": "", "session_result_spec_path":
            f"{folder}/s.cpsession", **more,
            "events": [{"group_name": "misc", "event_name": e, **keys} for e, keys in events]}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)


class Window:
    """One session around an action. look: independent readings, by name, which only grow."""

    def __init__(self, folder, events, action, look=dict, duration="60", prefix=()):
        write_spec(folder, events)
        outer = look()
        with subprocess.Popen([*prefix, CPUPERF, f"--spec-file={folder}/s.cpspec", "--output-format=csv",
                               f"--duration={duration}", "--quiet"],
                              stdout=subprocess.PIPE, text=True) as p:
            while not os.path.exists(f"{folder}/s.cpsession"):  # made after the first reading
                assert p.poll() is None
                time.sleep(0.002)
            inner = look()
            self.result = action()
            self.inner = {k: v - inner[k] for k, v in look().items()}
            p.send_signal(signal.SIGINT)
            self.rows = list(csv.DictReader(io.StringIO(p.communicate()[0])))
            assert p.returncode == 0
        self.outer = {k: v - outer[k] for k, v in look().items()}
        os.unlink(f"{folder}/s.cpsession")

    def of(self, event, thing=""):
        """The rows of the event; of one thing, or of the CPUs and the machine."""
        return [r for r in self.rows
                if r["event"] == event and r.get("thing", "") == thing and r["trace"]]

    def raws(self, event, thing=""):
        rows = self.of(event, thing)
        assert rows and all(r["state"] == "ok" for r in rows), (event, thing, rows)
        return [int(r["value" if thing else "raw"]) for r in rows]

    def one(self, event, thing=""):
        rows = self.raws(event, thing)
        assert len(rows) == 1, (event, thing, rows)
        return rows[0]

    def check_between(self, what, number):
        print(f"{what}: {number}, by the same file {self.inner[what]} to {self.outer[what]}")
        assert self.inner[what] <= number <= self.outer[what], what


def busy_ticks(not_these=(3, 4)):
    """All CPUs': all but idle and iowait; guests are in user and nice."""
    cpus = [line.split() for line in read("/proc/stat").splitlines()
            if line.startswith("cpu") and line[3] != " "]
    return sum(sum(int(n) for k, n in enumerate(c[1:9]) if k not in not_these) for c in cpus)


def of_tasks_ticks():
    """Without irq, softirq and steal, which the kernel may keep out of what tasks used."""
    return busy_ticks((3, 4, 5, 6, 7))


def task_times(pid, field):
    """Of all threads there are."""
    paths = glob.glob(f"/proc/{pid}/task/*/schedstat")
    return sum(int(read(path).split()[field]) for path in paths)


def check_threads(folder):
    """Two threads that are busy and one that is half of the time, as far as there are CPUs."""
    with Busy("threads", 700) as busy:
        pids = {"pids": [busy.pid]}
        one = Window(folder, [("process_cpu_time", pids), ("process_run_delay", pids),
                              ("process_threads", pids), ("cpu_utilization", {}),
                              ("cpu_user", {})], busy.go,
                     lambda: {"process_run_delay": task_times(busy.pid, 1),
                              "cpu_utilization, ticks": busy_ticks()})
        ours, own = one.one("process_cpu_time", busy.name), one.result["clock_ns"]
        print(f"process_cpu_time: {ours} ns, getrusage {one.result['rusage_us']} us, "
              f"clock {own} ns")
        assert own <= ours <= own + TICK_NS
        assert abs(ours - 1000 * one.result["rusage_us"]) <= TICK_NS
        assert one.one("process_threads", busy.name) == 4
        one.check_between("process_run_delay", one.one("process_run_delay", busy.name))
        # it adds up to its event, and nothing else was chosen
        assert one.one("process_cpu_time") == ours
        assert len({r["thing"] for r in one.rows}) == 2
        ticks, cpus = sum(one.raws("cpu_utilization")), len(one.of("cpu_utilization"))
        one.check_between("cpu_utilization, ticks", ticks)
        assert cpus == os.sysconf("SC_NPROCESSORS_ONLN")
        # the machine was busy at least as long as it; a tick at each end of each CPU may be missing
        assert (ticks + 2 * cpus) * TICK_NS >= own
        assert own / 2 <= (sum(one.raws("cpu_user")) + 2 * cpus) * TICK_NS, "it spins in user mode"
        assert sum(one.raws("cpu_user")) <= ticks


def check_born(folder):
    """One that comes in the iteration counts from its first moment; one that goes is not there without programs in
    the kernel (test_exits.py: with them)."""
    with contextlib.ExitStack() as stay:

        def act():
            with Busy("threads", 100) as gone:
                gone.go()
            busy = stay.enter_context(Busy("threads", 200))
            return gone, busy, busy.go()

        one = Window(folder, [("process_cpu_time", {"pids": ["name:busy"]})], act, prefix=WITHOUT_BPF)
        gone, busy, result = one.result
        total = task_times(busy.pid, 0)
    ours = one.one("process_cpu_time", busy.name)
    print(f"born: {ours} ns, by schedstat {total} ns, since it began {result['clock_ns']} ns")
    assert result["clock_ns"] <= ours and abs(ours - total) <= TICK_NS
    assert not one.of("process_cpu_time", gone.name)


def check_churn(folder):
    """Threads that come and go, about 1,000 in a second: none of their time is lost; how long they
    waited is, and that is said."""
    def act():
        result = busy.go()
        while len(os.listdir(f"/proc/{busy.pid}/task")) > 1:  # the last one may still end
            time.sleep(0.002)
        return result

    with Busy("churn", 1000) as busy:
        pids = {"pids": [busy.pid]}
        one = Window(folder, [("process_cpu_time", pids), ("process_threads", pids),
                              ("process_run_delay", pids), ("forks", {})], act)
        ours, own = one.one("process_cpu_time", busy.name), one.result["clock_ns"]
        print(f"churn: {ours} ns, clock {own} ns, {one.one('forks')} forks")
        assert own <= ours <= own + TICK_NS
        assert one.one("process_threads", busy.name) == 1
        assert one.one("forks") >= 1000
        for thing in ("", busy.name):
            assert [r["state"] for r in one.of("process_run_delay", thing)] == ["partial"], thing


def check_adds_up(folder):
    """With what exited between two readings the rows add up to the CPU time of the machine."""
    if os.stat("/proc/self/ns/pid").st_ino != 0xeffffffc:
        skip("the machine's CPU time", "the processes of a container are not those of the machine")
        return

    def act():
        used = 0
        with Busy("threads", 50):
            for _ in range(20):
                with Busy("threads", 50) as gone:
                    used += gone.go()["clock_ns"]
            subprocess.run(["sh", "-c", "for i in $(seq 500); do /bin/true; done"], check=True)
        return used

    for prefix in stride(((), WITHOUT_BPF), 1):
        compare_sum(folder, act, prefix)


def compare_sum(folder, act, prefix):
    one = Window(folder, [("process_cpu_time", {})], act,
                 lambda: {"machine": busy_ticks() * TICK_NS, "tasks": of_tasks_ticks() * TICK_NS}, prefix=prefix)
    least, most = one.inner["tasks"], one.outer["machine"]
    ours, rest = (one.one("process_cpu_time", t) for t in ("", "exited and unattributed"))
    rows = sum(int(r["value"]) for r in one.rows if r.get("thing") and r["trace"] and r["state"] == "ok")
    print(f"machine: {ours} ns, of these exited {rest} ns, by /proc/stat {least} to {most} ns")
    assert rows == ours
    # the kernel counts the machine's time in ticks, and cpuperf the time of processes exactly
    slack = (4 + os.sysconf("SC_NPROCESSORS_ONLN")) * TICK_NS + most // 10
    assert least - slack <= ours <= most + slack
    # the rest is mostly that of processes that ended, if they have no lines of their own
    ended = sum(int(r["value"]) for r in one.rows if r.get("thing", "").endswith((" busy", " true", " true (ended)")) and
                r["trace"] and r["state"] == "ok")
    assert (rest if prefix is WITHOUT_BPF else rest + ended) >= one.result // 4, one.result
    assert {r["state"] for r in one.of("process_cpu_time")} == {"ok"}


def meminfo():
    kib = {line.split(":")[0]: int(line.split()[1]) for line in read("/proc/meminfo").splitlines()}
    return {"memory_available": kib["MemAvailable"] << 10,
            "memory_used": kib["MemTotal"] - kib["MemFree"] - kib["Buffers"] - kib["Cached"] << 10}


def check_memory(folder):
    """The process has what it filled; the machine's numbers are some that /proc shows meanwhile.
    Pages that were freed before wait in lists of the CPUs, where the kernel counts them as used."""
    mib, slack, seen = 256, 48 * MIB, []

    def look_on(seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            seen.append(meminfo())
            time.sleep(0.005)

    for left in reversed(range(6)):  # others may take more for a moment, which one of both sees
        seen.clear()
        with Busy("memory", mib) as busy:
            pids = {"pids": [busy.pid]}

            def act(busy=busy):
                look_on(0.2)
                busy.begin()
                look_on(0.5)
                json.loads(busy.process.stdout.readline())
                look_on(0.2)

            look_on(0.02)
            events = [("process_rss", pids), ("process_vms", pids), ("process_shared", pids),
                      ("memory_used", {}), ("memory_available", {})]
            one = Window(folder, events, act, duration="0.05")
            look_on(0.02)
            statm = [PAGE * int(n) for n in read(f"/proc/{busy.pid}/statm").split()]
        for event, now in zip(("process_vms", "process_rss", "process_shared"), statm):
            values = one.raws(event, busy.name)
            print(f"{event}: {values[0]} to {values[-1]} B, by statm {now} B")
            assert values[-1] == now
            rose = values[-1] - values[0]
            assert abs(rose - (0 if event == "process_shared" else mib * MIB)) <= MIB, rose
        if all([is_of_machine(one, event, [m[event] for m in seen], slack) for event in ("memory_used", "memory_available")]):
            break
        assert left, "the machine's numbers are others than those of /proc, each time"
        again("check_memory", "the machine's numbers are others than those of /proc")


def is_of_machine(one, event, shown, slack):
    """Whether the values lie within what /proc showed, and rose as it did."""
    values = one.raws(event)
    rose, should = max(values) - min(values), max(shown) - min(shown)
    print(f"{event}: {min(values) // MIB} to {max(values) // MIB} MiB, /proc: "
          f"{min(shown) // MIB} to {max(shown) // MIB} MiB")
    return min(shown) - slack <= min(values) <= max(values) <= max(shown) + slack and should / 2 <= rose <= should + slack


def loop_prefix(folder):
    """A command before one that sees a new file system on a loop device at folder/mnt; both go when
    it ends. None: it cannot be had here."""
    image = f"{folder}/image"
    os.mkdir(f"{folder}/mnt")
    with open(image, "wb") as out:
        out.truncate(96 * MIB)
    made = shutil.which("mkfs.ext4") and subprocess.run(
        ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image],
        check=False, stdout=subprocess.DEVNULL).returncode == 0
    prefix = ["unshare", "-m", "sh", "-c", f'mount -o loop {image} {folder}/mnt && exec "$@"', "sh"]
    may = made and os.geteuid() == 0 and subprocess.run(
        [*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    return prefix if may else None


def check_disk(folder):
    """Bytes that are written to a file and synced, on a disk of its own."""
    mib, prefix = 24, loop_prefix(folder)
    if not prefix:
        skip("disk", "no file system on a loop device can be had here (root, mkfs.ext4, loop)")
        return
    with Busy("write", f"{folder}/mnt/file", mib, prefix=prefix) as busy:
        loop = subprocess.run(["losetup", "--noheadings", "-O", "NAME", "-j", f"{folder}/image"],
                              check=True, stdout=subprocess.PIPE, text=True).stdout.strip()[5:]

        def bytes_written():
            return {"disk_write_bytes": 512 * int(read(f"/sys/block/{loop}/stat").split()[6])}

        def io_written():
            return int(read(f"/proc/{busy.pid}/io").split("\nwrite_bytes: ")[1].split()[0])

        devices, before = {"devices": [loop]}, io_written()
        one = Window(folder, [("disk_write_bytes", devices), ("disk_write_ops", devices),
                              ("disk_busy_time", devices), ("disk_write_queue", devices),
                              ("process_write_bytes", {"pids": [busy.pid]})],
                     busy.go, bytes_written)
        of_process = io_written() - before
        name = busy.name
    one.check_between("disk_write_bytes", one.one("disk_write_bytes", loop))
    assert one.one("disk_write_bytes", loop) >= mib * MIB
    assert one.one("disk_write_ops", loop) > 0
    print(f"process_write_bytes: {one.one('process_write_bytes', name)}, by its io {of_process}")
    assert one.one("process_write_bytes", name) == of_process >= mib * MIB
    assert {r["thing"] for r in one.rows if r["event"].startswith("disk_")} == {"", loop}


def lo_bytes():
    line = next(l for l in read("/proc/net/dev").splitlines() if l.split(":")[0].strip() == "lo")
    return {"net_rx_bytes": int(line.split(":")[1].split()[0])}


def send(nr_bytes):
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as out, server.accept()[0] as into:
            left, block = nr_bytes, b"x" * 65536
            while left:
                out.sendall(block)
                got = 0
                while got < len(block):
                    got += len(into.recv(65536))
                left -= len(block)
    return nr_bytes


def check_network(folder):
    if not os.path.exists("/sys/class/net/lo") or read("/sys/class/net/lo/carrier") != "1\n":
        skip("network", "there is no lo, or it is down")
        return
    lo = {"devices": ["lo"]}
    one = Window(folder, [("net_rx_bytes", lo), ("net_tx_bytes", lo), ("net_rx_packets", lo)],
                 lambda: send(16 * MIB), lo_bytes)
    one.check_between("net_rx_bytes", one.one("net_rx_bytes", "lo"))
    assert one.one("net_rx_bytes", "lo") >= one.result
    assert one.one("net_tx_bytes", "lo") >= one.result  # whoever sends there receives
    assert one.one("net_rx_packets", "lo") > 0


def see(name, *command):
    """Starts a peer, or says that it is not there."""
    if not shutil.which(command[0]):
        skip(f"beside {name}", "it is not installed")
        return None
    return subprocess.Popen(["env", "LC_ALL=C", "S_TIME_FORMAT=ISO", *command],
                            stdout=subprocess.PIPE, text=True)


def columns(text, key):
    """The last line below the heading that has the key, by heading."""
    lines = [line.split() for line in text.splitlines()]
    at = max(i for i, line in enumerate(lines) if key in line and lines[i + 1:i + 2])
    return dict(zip(lines[at], lines[-1 if key == "cs" else at + 1]))


def of_process(text, key, pid):
    """What pidstat says of a process, below the heading that has the key."""
    lines = [line.split() for line in text.splitlines()]
    at = next(i for i, line in enumerate(lines) if key in line)
    return next(dict(zip(lines[at], line))[key] for line in lines[at + 1:] if str(pid) in line)


def physical_disk():
    disks = [os.path.basename(os.path.dirname(p)) for p in sorted(glob.glob("/sys/block/*/device"))]
    return disks[0] if disks else None


def check_beside(folder):
    """pidstat, vmstat and iostat look for a second inside ours: they see no more than we do."""
    disk = physical_disk()

    def act():
        busy.begin()
        peers = {"pidstat": see("pidstat", "pidstat", "-u", "-r", "-p",
                                f"{busy.pid},{large.pid}", "1", "1"),
                 "vmstat": see("vmstat", "vmstat", "-n", "1", "2"),
                 "iostat": disk and see("iostat", "iostat", "-d", "-k", "-y", "1", "1", disk)}
        with open(f"{folder}/data", "wb") as out:
            out.write(b"x" * (4 * MIB))
            os.fsync(out.fileno())
        said = {name: p.communicate()[0] for name, p in peers.items() if p}
        assert all(p.returncode == 0 for p in peers.values() if p)
        said["is busy"] = not select.select([busy.process.stdout], [], [], 0)[0]  # else a peer may have begun too late
        busy.process.stdout.readline()  # it has ended its work
        return said

    with Busy("threads", 1800) as busy, Busy("memory", 64) as large:
        large.go()
        pids = {"pids": [busy.pid, large.pid]}
        one = Window(folder, [("process_cpu_time", pids), ("process_rss", pids),
                              ("context_switches", {}),
                              *([("disk_write_bytes", {"devices": [disk]})] if disk else [])], act)
    said = one.result
    if "pidstat" in said:
        share = float(of_process(said["pidstat"], "%CPU", busy.pid))
        kib = int(of_process(said["pidstat"], "RSS", large.pid))
        ours = one.one("process_cpu_time", busy.name)
        print(f"beside pidstat: {share} % of a second, {kib} kB; ours {ours} ns, "
              f"{one.one('process_rss', large.name)} B")
        assert (0 < share or not said["is busy"]) and share * 1e7 <= ours + 4 * TICK_NS
        # its /proc/PID/stat knows that to some pages of each CPU only
        assert abs(kib * 1024 - one.one("process_rss", large.name)) <= MIB
        assert one.one("process_rss", large.name) >= 64 * MIB
    if "vmstat" in said:
        switches = int(columns(said["vmstat"], "cs")["cs"])
        print(f"beside vmstat: {switches} switches a second; ours {one.one('context_switches')}")
        assert 0 < switches <= one.one("context_switches")
    if "iostat" in said:
        kib = int(columns(said["iostat"], "kB_wrtn")["kB_wrtn"])
        ours = one.one("disk_write_bytes", disk)
        print(f"beside iostat: {kib} kB written to {disk}; ours {ours} B")
        assert kib * 1024 <= ours + 1024


def frames(path):
    done = subprocess.run(["/usr/bin/python3", READER, path], stdout=subprocess.PIPE, check=True,
                          text=True)
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


def ticks(all_frames):
    """(event, instance): the times of its readings between the boundaries."""
    out = {}
    for f in all_frames:
        for r in f.get("readings", ()) if f.get("boundary") == TICK_READING else ():
            assert r["state"] == 1, r
            out.setdefault((r["event"], r["instance"]), []).append(r["time_ns"])
    return out


def check_ticks(folder):
    """system.cpspec reads ten times a second: each event, each thing, each CPU."""
    if not may_sample("ticks"):
        return
    for left in reversed(range(5)):  # a busy machine is late at some, and misses some
        if are_ticks_regular(folder, 3):
            return
        assert left, "readings are late or missing, each time"
        again("check_ticks", "readings are late or missing")


def are_ticks_regular(folder, seconds):
    begin = time.monotonic()
    subprocess.run([CPUPERF, f"--spec-file={SOURCE_DIR}/specs/system.cpspec", "--quiet",
                    f"--duration={seconds}", f"--output-path-prefix={folder}/t",
                    f"--session-result-spec-path={folder}/s.cpsession"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took, are_regular = time.monotonic() - begin, True
    for trace in range(os.sysconf("SC_NPROCESSORS_ONLN")):
        all_frames = frames(f"{folder}/t.0.{trace}.cpuperf")
        events = next(f["events"] for f in all_frames if f["frame"] == "events")
        of_event = ticks(all_frames)
        for (event, instance), times in of_event.items():
            assert len(times) <= 10 * took + 1, (events[event]["name"], instance, took, times)
            gap = statistics.median(b - a for a, b in zip(times, times[1:])) if len(times) > 1 else 0
            if len(times) < 5 * seconds or abs(gap - 1e8) > 1e7:
                print("late:", events[event]["name"], instance, len(times), gap)
                are_regular = False
        wanted = {i for i, e in enumerate(events) if e["group"] == "misc" and e["state"] == 1 and
                  (trace == 0 or e["scope"] == 1) and e["scope"] != 4}
        assert wanted <= {event for event, _ in of_event}, trace
        assert {(e, t["number"]) for f in all_frames if f["frame"] == "things" for e in f["events"]
                for t in f["things"]} == {k for k in of_event if events[k[0]]["scope"] == 4}
        print(f"ticks: trace {trace}: {len(of_event)} series of "
              f"{min(map(len, of_event.values()))} to {max(map(len, of_event.values()))} readings")
    return are_regular


def check_short_lived(folder):
    """A process that is there for a part of a session that reads ten times a second: its readings
    are in the trace, and its name; the table has what is there at the end."""
    if not may_sample("short-lived"):
        return
    name = f"br{os.getpid()}"  # of this test alone
    program = shutil.copy(BUSY, f"{folder}/{name}")
    of_it = {"pids": [f"name:{name}"]}
    write_spec(folder, [("process_cpu_time", of_it), ("process_rss", of_it)], num_iterations=1,
               output_path_prefix=f"{folder}/t")
    with open(f"{folder}/s.cpspec", encoding="utf-8") as f:
        spec = json.load(f)
    spec["events"].append({"group_name": "software", "event_name": "cpu_clock", "rate": 100000000,
                           "flags": ["timebase"]})
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    for seconds in (0.2, 1, 5, 20):  # a busy machine may read it too seldom
        with subprocess.Popen([*WITHOUT_BPF, CPUPERF, f"--spec-file={folder}/s.cpspec", "--output-format=csv",
                               "--duration=600", "--quiet"], stdout=subprocess.PIPE, text=True) as p:
            while not os.path.exists(f"{folder}/t.0.0.cpuperf"):
                assert p.poll() is None
                time.sleep(0.002)
            time.sleep(0.2)
            begin = time.monotonic()
            with Busy("threads", 100, program=program) as busy:
                busy.go()
                time.sleep(seconds)
            lived = time.monotonic() - begin
            p.send_signal(signal.SIGINT)
            table = p.communicate()[0]
            assert p.returncode == 0
        all_frames = frames(f"{folder}/t.0.0.cpuperf")
        names = {(e, t["number"]): t["name"] for f in all_frames if f["frame"] == "things"
                 for e in f["events"] for t in f["things"]}
        series = {(key[0], names[key]): len(times) for key, times in ticks(all_frames).items()}
        print(f"short-lived: {series} in {lived:.1f} s")
        assert set(series) <= {(event, busy.name) for event in (0, 1)}
        assert all(nr <= 10 * lived + 2 for nr in series.values())
        assert busy.name not in table
        if len(series) == 2 and all(nr >= 2 for nr in series.values()):
            return
        os.unlink(f"{folder}/t.0.0.cpuperf")
        assert seconds < 20, "it was not read"
        again("check_short_lived", f"{series} in {lived:.1f} s")


def check_ended(folder):
    """Without programs in the kernel, what a process counted after its last reading is in no sum: the sum says so, of
    values it does not, and the next sum is whole; live, printed and over time, at the ends and between them."""
    name = f"en{os.getpid()}"  # of this test alone
    program = shutil.copy(BUSY, f"{folder}/{name}")
    of_it = {"pids": [f"name:{name}"]}
    timebase = [{"group_name": "software", "event_name": "cpu_clock", "rate": 100000000,
                 "flags": ["timebase"]}] if sampled.may_sample() else []
    for more in stride(([], timebase), 1):
        write_spec(folder, [("process_cpu_time", of_it), ("process_rss", of_it)], num_iterations=3,
                   output_path_prefix=f"{folder}/t", metrics=[{"name": "made", "expr":
                                                               "{process_cpu_time} * 2"}])
        with open(f"{folder}/s.cpspec", encoding="utf-8") as f:
            spec = json.load(f)
        spec["events"] += more
        with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
            json.dump(spec, out)
        for duration in ("700ms", "5s", "20s"):
            with Busy("threads", 1, program=program) as first, \
                    Busy("threads", 1, program=program) as second, \
                    subprocess.Popen([*WITHOUT_BPF, CPUPERF, f"--spec-file={folder}/s.cpspec", "--quiet",
                                      "--output-format=csv", f"--duration={duration}"],
                                     stdout=subprocess.PIPE, text=True) as p:
                while not os.path.exists(f"{folder}/s.cpsession"):
                    assert p.poll() is None
                    time.sleep(0.002)
                time.sleep(0.2)
                first.process.stdin.close()
                first.process.wait()
                ended_ns = time.monotonic_ns()
                live = p.communicate()[0]
                assert p.returncode == 0
            if ended_ns < max(int(r["end_ns"]) for r in csv.DictReader(io.StringIO(live)) if r["end_ns"]):
                break
            os.unlink(f"{folder}/s.cpsession")
            again("check_ended", f"a process ended after the session of {duration}")
        os.rename(f"{folder}/s.cpsession", f"{folder}/was.cpsession")

        def printed(*args):
            done = subprocess.run([CPUPERF_PRINT, f"--session={folder}/was.cpsession", "--quiet",
                                   "--output-format=csv", *args], check=True, text=True,
                                  stdout=subprocess.PIPE)
            return done.stdout

        assert printed() == live
        rows = list(csv.DictReader(io.StringIO(live)))
        for event, states in (("process_cpu_time", ["ok", "ok", "partial"]),
                              ("made", ["ok", "ok", "partial"]), ("process_rss", ["ok"] * 3)):
            assert sorted(r["state"] for r in rows
                          if r["event"] == event and not r["thing"]) == states, (event, rows)
        assert [r["thing"] for r in rows if r["event"] == "process_rss" and r["thing"]
                and r["iteration"] == "2"] == [second.name], rows
        series = [r for r in csv.DictReader(io.StringIO(printed("--report=series")))
                  if r["event"] == "process_cpu_time" and not r["thing_name"]]
        assert [r["state"] for r in series].count("partial") == 1 and \
            {r["state"] for r in series} == {"partial", "ok"}, series
        print(f"ended: {len(series)} sums over time")


def check_absent(folder):
    """A number that no process has is said, and is no reason to leave out the others."""
    with Busy("threads", 1) as gone:
        pass
    write_spec(folder, [("process_cpu_time", {"pids": [gone.pid]}),
                        ("process_rss", {"pids": [0]})], num_iterations=2)
    done = subprocess.run([CPUPERF, f"--spec-file={folder}/s.cpspec", "--duration=20ms",
                           "--output-format=csv", "--quiet"], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stderr.count(f"there is no process {gone.pid}") == 1, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [r["state"] for r in rows if r["event"] == "process_cpu_time"] == ["not supported"] * 2
    assert sum(r["thing"].endswith(" cpuperf") and r["state"] == "ok" for r in rows) == 2
    strict = subprocess.run([CPUPERF, f"--spec-file={folder}/s.cpspec", "--strict"], check=False,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert strict.returncode == 1


def as_nobody():
    """A command before one that runs as nobody, and sees all processes. None: not to be had."""
    prefix = NOBODY
    if "hidepid=" in read("/proc/mounts"):
        prefix = ["unshare", "-m", "sh", "-c", 'mount -t proc proc /proc -o hidepid=0 && exec "$@"',
                  "sh", *NOBODY]
    may = os.geteuid() == 0 and shutil.which("setpriv") and subprocess.run(
        [*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    return prefix if may else None


def check_nobody(folder):
    """The bytes of another user's process may not be read: that is said once, its row and the sum say
    so in every output, live and printed, and the rest is measured."""
    prefix = as_nobody()
    if not prefix:
        skip("nobody", "not root, or no setpriv")
        return
    os.chmod(folder, 0o777)
    program = sampled.for_everybody(CPUPERF, folder)
    with Busy("threads", 1) as busy:
        pids = {"pids": [busy.pid, 0]}
        write_spec(folder, [("process_cpu_time", pids), ("process_rss", pids),
                            ("process_write_bytes", pids)], num_iterations=3,
                   output_path_prefix=f"{folder}/t",
                   metrics=[{"name": "written", "expr": "{process_write_bytes} * 2"}])
        os.chmod(f"{folder}/s.cpspec", 0o644)
        done = subprocess.run([*prefix, program, f"--spec-file={folder}/s.cpspec",
                               "--duration=50ms", "--output-format=csv", "--quiet"], check=True,
                              cwd="/", text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print(f"nobody: {done.stderr.strip()}")
    assert done.stderr.count("cannot be read; needs their user") == 1 and busy.name in done.stderr
    there = [(r["event"], r["state"]) for r in csv.DictReader(io.StringIO(done.stdout))
             if r["thing"] == busy.name]
    assert there == [("process_cpu_time", "ok"), ("process_rss", "ok"),
                     ("process_write_bytes", "no permission")] * 3, there
    own = [r["state"] for r in csv.DictReader(io.StringIO(done.stdout))
           if r["thing"].endswith(" cpuperf") and r["event"] == "process_write_bytes"]
    assert own == ["ok"] * 3, own
    expect_partial(folder, done.stdout, busy.name)


def expect_partial(folder, live, name):
    """Of two processes one may not be read: what every output says of their sum."""
    sums = [r["state"] for r in csv.DictReader(io.StringIO(live))
            if r["event"] == "process_write_bytes" and not r["thing"]]
    assert sums == ["partial: 1 of 2"] * 3, sums
    metrics = {r["state"] for r in csv.DictReader(io.StringIO(live)) if r["event"] == "written"}
    assert metrics == {"partial"}, metrics

    def printed(*args):
        return subprocess.run([CPUPERF_PRINT, f"--session={folder}/s.cpsession", "--quiet", *args],
                              check=True, text=True, stdout=subprocess.PIPE).stdout

    assert printed("--output-format=csv") == live
    text = printed("--each-iteration")
    assert text.count("  partial: 1 of 2\n") >= 3 and "partial: 1 of 2 in 3 iterations" in text, text
    assert f"{name} " in text and "no permission" in text, text
    assert "partial: 1 of 2 in 3 iterations" in printed()
    rows = [json.loads(line) for line in printed("--output-format=ndjson").splitlines()]
    assert [r["reason"] for r in rows if r.get("summary") and r["event"] == "process_write_bytes"] == \
        ["partial: 1 of 2 in 3 iterations"], rows[-4:]
    assert f" {name}, no permission\n" in printed("--output-format=raw")
    series = list(csv.DictReader(io.StringIO(printed("--report=series", "--output-format=csv"))))
    assert sum(r["state"] == "partial: 1 of 2" for r in series) == 3
    assert sum(r["state"] == "no permission" and r["thing_name"] == name for r in series) == 3
    assert "(partial: 1 of 2)" in printed("--report=series")
    families = printed("--output-format=openmetrics")
    for line in ('cpuperf_event_iterations{event="process_write_bytes",state="partial"} 3 ',
                 'cpuperf_event_things{event="process_write_bytes",state="ok"} 1 ',
                 'cpuperf_event_things{event="process_write_bytes",state="no permission"} 1 '):
        assert line in families, (line, families)
    assert "process_write_bytes lacks something: partial: 1 of 2" in printed("--output-format=html")
    assert '"partial":["process_write_bytes: partial: 1 of 2' in printed("--output-format=chrome")
    printed("--output-format=sqlite", f"--output-file={folder}/db")
    with contextlib.closing(sqlite3.connect(f"{folder}/db")) as db:
        states = dict(db.execute("select state, count(*) from counts group by state").fetchall())
    assert states["partial: 1 of 2"] == 3 and states["no permission"] == 3, states


run_checks(globals(), everybody=True)
