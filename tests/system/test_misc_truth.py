#!/usr/bin/env python3
"""Does every row of misc show what this machine's /proc and sysfs say? A second reader, which knows nothing of the
table of events, reads the same files before and after each reading of cpuperf:

    outer { cpuperf's iteration { inner { work } inner } } outer

So a count lies between the inner and the outer difference, to the last unit; what goes up and down lies among what was
seen around the reading, within a slack that is far below what another field or another unit would show.

What each event must show is written by hand below; an event of the list that is read from /proc or sysfs and has no line here
fails. What this machine does not have must not be claimed to work. Nothing here asserts a time.
"""
import csv
import glob
import io
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

CPUPERF = os.environ["CPUPERF"]
PAGE = os.sysconf("SC_PAGESIZE")
PID = os.getpid()
MIB = 1 << 20


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


# ---- what the files say: thing ("" of the machine, "cpu0" of a CPU) to a number; {} where there is no such file


def per_cpu(*columns):
    """Of each CPU: ticks of the columns of /proc/stat, and of all of them."""
    def look():
        lines = [line.split() for line in read("/proc/stat").splitlines()]
        lines = [l for l in lines if l[0].startswith("cpu") and l[0] != "cpu"]
        return {l[0]: sum(int(l[c]) for c in columns) for l in lines}
    return look


def keyed(path, key, scale=1, column=1):
    def look():
        for line in read(path).splitlines() if os.path.exists(path) else ():
            words = line.replace(":", " ").split()
            if words and words[0] == key:
                return {"": int(words[column]) * scale}
        return {}
    return look


def meminfo(of, *less):
    def look():
        kib = {l.split(":")[0]: int(l.split()[1]) for l in read("/proc/meminfo").splitlines()}
        return {"": (kib[of] - sum(kib[l] for l in less)) * 1024}
    return look


def load(column):
    return lambda: {"": float(read("/proc/loadavg").split()[column])}


def pressure(what, line):
    def look():
        try:
            lines = read(f"/proc/pressure/{what}").splitlines()
        except OSError:  # no such kernel, or psi=0
            return {}
        return {"": 1000 * int(l.split("total=")[1]) for l in lines if l.startswith(line)}
    return look


def disk(column, scale, file="stat"):
    def look():
        found = {}
        for path in glob.glob(f"/sys/class/block/*/{file}"):
            try:
                words = read(path).split()
            except OSError:  # a device that is gone meanwhile
                continue
            if len(words) > column:
                found[path.split("/")[4]] = int(words[column]) * scale
        return found
    return look


def net(column):
    def look():
        lines = [l.rsplit(":", 1) for l in read("/proc/net/dev").splitlines() if ":" in l]
        return {l[0].strip(): int(l[1].split()[column]) for l in lines}
    return look


def of_self(number):
    return lambda: {f"{PID} {read('/proc/self/comm').strip()}": number()}


def self_stat(*columns):  # as proc(5) counts them, from 1; the name, which is the second, may hold blanks
    words = read("/proc/self/stat").rsplit(")", 1)[1].split()
    return sum(int(words[c - 3]) for c in columns)


def self_line(path, key):
    return int(read(path).split(f"\n{key}:")[1].split()[0])


def cgroups():
    """Those that the session names: some of the first level of version 2."""
    mounts = [l.split() for l in read("/proc/self/mounts").splitlines()]
    top = next((m[1] for m in mounts if m[2] == "cgroup2"), None)
    return {f"/{g.rsplit('/', 1)[1]}": g for g in sorted(glob.glob(f"{top}/*"))[:8]
            if os.path.isdir(g)} if top else {}


def cgroup(file, key, scale=1):
    def look():
        found = {}
        for name, folder in cgroups().items():
            try:
                words = read(f"{folder}/{file}").replace("=", " ").split()
            except OSError:
                continue
            if key is None:
                found[name] = int(words[0])
            elif file == "io.stat":
                found[name] = sum(int(w) for k, w in zip(words, words[1:]) if k == key)
            elif key in words:
                found[name] = int(words[words.index(key) + 1]) * scale
        return found
    return look


def own_io(name):
    """/proc/self/io has what children used that were waited for, too."""
    return sum(self_line(path, name) for path in glob.glob("/proc/self/task/*/io"))


def frequency():
    paths = glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
    return {p.split("/")[5]: 1000 * int(read(p)) for p in paths}


COUNT, SHARE = "count", "share"
# event: (kind, unit, what the file says); kind of a value: how far it may be off
ROWS = {
    "cpu_utilization": (SHARE, "%", per_cpu(1, 2, 3, 6, 7, 8)),
    "cpu_user": (SHARE, "%", per_cpu(1, 2)),
    "cpu_nice": (SHARE, "%", per_cpu(2)),
    "cpu_system": (SHARE, "%", per_cpu(3)),
    "cpu_idle": (SHARE, "%", per_cpu(4)),
    "cpu_iowait": (SHARE, "%", per_cpu(5)),
    "cpu_irq": (SHARE, "%", per_cpu(6)),
    "cpu_softirq": (SHARE, "%", per_cpu(7)),
    "cpu_steal": (SHARE, "%", per_cpu(8)),
    "context_switches": (COUNT, "switches", keyed("/proc/stat", "ctxt")),
    "forks": (COUNT, "forks", keyed("/proc/stat", "processes")),
    "runnable": (64, "tasks", keyed("/proc/stat", "procs_running")),
    "blocked": (64, "tasks", keyed("/proc/stat", "procs_blocked")),
    "load_average_1": (0.001, "tasks", load(0)),
    "load_average_5": (0.001, "tasks", load(1)),
    "load_average_15": (0.001, "tasks", load(2)),
    "memory_unavailable": (256 * MIB, "B", meminfo("MemTotal", "MemAvailable")),
    "memory_used": (256 * MIB, "B", meminfo("MemTotal", "MemFree", "Buffers", "Cached")),
    "memory_available": (256 * MIB, "B", meminfo("MemAvailable")),
    "memory_total": (0, "B", meminfo("MemTotal")),
    "memory_free": (256 * MIB, "B", meminfo("MemFree")),
    "memory_buffers": (16 * MIB, "B", meminfo("Buffers")),
    "memory_cached": (256 * MIB, "B", meminfo("Cached")),
    "memory_shared": (256 * MIB, "B", meminfo("Shmem")),
    "memory_dirty": (256 * MIB, "B", meminfo("Dirty")),
    "swap_used": (256 * MIB, "B", meminfo("SwapTotal", "SwapFree")),
    "swap_total": (0, "B", meminfo("SwapTotal")),
    "page_faults": (COUNT, "faults", keyed("/proc/vmstat", "pgfault")),
    "major_faults": (COUNT, "faults", keyed("/proc/vmstat", "pgmajfault")),
    "page_in": (COUNT, "B", keyed("/proc/vmstat", "pgpgin", 1024)),
    "page_out": (COUNT, "B", keyed("/proc/vmstat", "pgpgout", 1024)),
    "swap_in": (COUNT, "pages", keyed("/proc/vmstat", "pswpin")),
    "swap_out": (COUNT, "pages", keyed("/proc/vmstat", "pswpout")),
    "pressure_cpu_some": (COUNT, "ns", pressure("cpu", "some")),
    "pressure_memory_some": (COUNT, "ns", pressure("memory", "some")),
    "pressure_memory_full": (COUNT, "ns", pressure("memory", "full")),
    "pressure_io_some": (COUNT, "ns", pressure("io", "some")),
    "pressure_io_full": (COUNT, "ns", pressure("io", "full")),
    "disk_read_ops": (COUNT, "requests", disk(0, 1)),
    "disk_read_bytes": (COUNT, "B", disk(2, 512)),
    "disk_read_time": (COUNT, "ns", disk(3, 1000000)),
    "disk_write_ops": (COUNT, "requests", disk(4, 1)),
    "disk_write_bytes": (COUNT, "B", disk(6, 512)),
    "disk_write_time": (COUNT, "ns", disk(7, 1000000)),
    "disk_busy_time": (COUNT, "ns", disk(9, 1000000)),
    "disk_discard_bytes": (COUNT, "B", disk(13, 512)),
    "disk_read_queue": (64, "requests", disk(0, 1, "inflight")),
    "disk_write_queue": (64, "requests", disk(1, 1, "inflight")),
    "process_cpu_time": (COUNT, "ns", of_self(time.process_time_ns)),
    "process_run_delay": (COUNT, "ns", of_self(lambda: int(read("/proc/self/schedstat").split()[1]))),
    "process_rss": (4 * MIB, "B", of_self(lambda: PAGE * int(read("/proc/self/statm").split()[1]))),
    "process_peak_rss": (4 * MIB, "B", of_self(lambda: 1024 * self_line("/proc/self/status", "VmHWM"))),
    "process_vms": (4 * MIB, "B", of_self(lambda: PAGE * int(read("/proc/self/statm").split()[0]))),
    "process_shared": (MIB, "B", of_self(lambda: PAGE * int(read("/proc/self/statm").split()[2]))),
    "process_read_bytes": (COUNT, "B", of_self(lambda: own_io("read_bytes"))),
    "process_write_bytes": (COUNT, "B", of_self(lambda: own_io("write_bytes"))),
    "process_threads": (0, "threads", of_self(lambda: self_line("/proc/self/status", "Threads"))),
    "process_faults": (COUNT, "faults", of_self(lambda: self_stat(10, 12))),
    "process_minor_faults": (COUNT, "faults", of_self(lambda: self_stat(10))),
    "process_major_faults": (COUNT, "faults", of_self(lambda: self_stat(12))),
    # the folder that is listed is open meanwhile
    "process_fds": (1, "files", of_self(lambda: len(os.listdir("/proc/self/fd")) - 1)),
    "net_rx_bytes": (COUNT, "B", net(0)),
    "net_rx_packets": (COUNT, "packets", net(1)),
    "net_rx_errors": (COUNT, "errors", net(2)),
    "net_rx_drops": (COUNT, "packets", net(3)),
    "net_tx_bytes": (COUNT, "B", net(8)),
    "net_tx_packets": (COUNT, "packets", net(9)),
    "net_tx_errors": (COUNT, "errors", net(10)),
    "net_tx_drops": (COUNT, "packets", net(11)),
    "cgroup_cpu_usage": (COUNT, "ns", cgroup("cpu.stat", "usage_usec", 1000)),
    "cgroup_cpu_throttled": (COUNT, "ns", cgroup("cpu.stat", "throttled_usec", 1000)),
    "cgroup_memory_current": (256 * MIB, "B", cgroup("memory.current", None)),
    "cgroup_io_read_bytes": (COUNT, "B", cgroup("io.stat", "rbytes")),
    "cgroup_io_write_bytes": (COUNT, "B", cgroup("io.stat", "wbytes")),
    "cpu_frequency": (10e9, "Hz", frequency),
}
# The kernel takes back a little of these now and then: a tick or two, and then there may be no share.
MAY_GO_BACK, BACK_TICKS = {"cpu_idle", "cpu_iowait"}, 2
# Temperatures, whatever the drivers call them: one of those that the machine has.
SENSORS = {"package_temperature", "ia_temperature"}
SLACK_DEGREES = 5


def temperatures():
    degrees = []
    for path in (*glob.glob("/sys/class/hwmon/hwmon*/temp*_input"),
                 *glob.glob("/sys/class/thermal/thermal_zone*/temp")):
        try:
            degrees.append(int(read(path)) / 1000)
        except (OSError, ValueError):  # a sensor that is asleep
            pass
    return degrees


def listed():
    """The events of misc that are read from files."""
    done = subprocess.run([CPUPERF, "--list-events=misc:*", "--output-format=ndjson", "--quiet"], check=True,
                          stdout=subprocess.PIPE, text=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return {e["name"]: e for e in events
            if e["source"].startswith(("/proc", "/sys")) and "event_source" not in e["source"]}


def is_sensor(name):
    return name in SENSORS or name.startswith(("hwmon/", "thermal/"))


def look(names):
    return {name: ROWS[name][2]() for name in names}


def work(folder):
    """Something of everything that can be done anywhere."""
    with open(f"{folder}/data", "wb") as out:
        out.write(b"x" * (4 * MIB))
        os.fsync(out.fileno())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x" * 1000, ("127.0.0.1", 9))
    until = time.process_time() + 0.1
    while time.process_time() < until:
        subprocess.run(["true"], check=True)
        sum(range(10000))


def write_spec(folder, names):
    keys = {"process": {"pids": [PID]}, "disk": {"devices": ["all"]}, "net": {"devices": ["all"]},
            "cgroup": {"cgroups": list(cgroups())}}
    events = [{"group_name": "misc", "event_name": n, **keys.get(n.split("_")[0], {})} for n in names]
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump({"num_iterations": 1, "output_path_prefix": "",
                   "session_result_spec_path": f"{folder}/s.cpsession", "events": events}, out)


class Window:
    """What a session of the events showed, and what the files said around its two readings."""

    def __init__(self, folder, names):
        own = [n for n in names if n in ROWS]
        write_spec(folder, names)
        self.looks = [look(own)]
        with subprocess.Popen([CPUPERF, f"--spec-file={folder}/s.cpspec", "--output-format=csv",
                               "--duration=60", "--quiet"], stdout=subprocess.PIPE, text=True) as p:
            while not os.path.exists(f"{folder}/s.cpsession"):  # made after the first reading
                assert p.poll() is None
                time.sleep(0.002)
            self.looks.append(look(own))
            work(folder)
            self.looks.append(look(own))
            p.send_signal(signal.SIGINT)
            self.rows = list(csv.DictReader(io.StringIO(p.communicate()[0])))
            assert p.returncode == 0
        self.looks.append(look(own))

    def of(self, name):
        """Thing or CPU to its row; of events of many things, not their sum."""
        rows = [r for r in self.rows if r["event"] == name and r["state"] == "ok" and r["trace"]]
        if any(r["thing"] for r in rows):
            return {r["thing"]: r for r in rows if r["thing"]}
        return {f"cpu{r['cpu']}" if "cpu" + r["cpu"] in self.looks[0][name] else "": r for r in rows}


def check_count(window, name, thing, number):
    said = [l[name][thing] for l in window.looks]
    slack = BACK_TICKS if name in MAY_GO_BACK else 0
    assert said[2] - said[1] - slack <= number <= said[3] - said[0] + slack, (name, thing, number, said)
    return said[3] - said[0]


def check_value(window, name, thing, number, slack):
    said = [l[name][thing] for l in window.looks[2:]]
    assert min(said) - slack <= number <= max(said) + slack, (name, thing, number, said)
    return said[0]


def check_row(window, name):
    """How many numbers were held against those of the files, and how many of them were not 0."""
    kind, unit, _ = ROWS[name]
    rows, nr, nr_moved = window.of(name), 0, 0
    things = set.intersection(*(set(l[name]) for l in window.looks))
    assert things <= set(rows) or name in MAY_GO_BACK, (name, things - set(rows))
    for thing in things & set(rows):
        row = rows[thing]
        assert row["kind"] == (kind if isinstance(kind, str) else "value"), row
        assert row["unit"] == unit, row
        if kind == SHARE:
            moved = check_count(window, name, thing, int(row["raw"]))
        elif kind == COUNT:
            moved = check_count(window, name, thing, int(row["value"]))
        else:
            moved = check_value(window, name, thing, float(row["value"]), kind)
        nr, nr_moved = nr + 1, nr_moved + (moved != 0)
    return nr, nr_moved


def check_sensor(window, name, degrees):
    rows = [r for r in window.rows if r["event"] == name and r["state"] == "ok"]
    for row in rows:
        assert (row["kind"], row["unit"]) == ("value", "°C"), row
        assert any(abs(float(row["value"]) - d) <= SLACK_DEGREES for d in degrees), (row, degrees)


def main():
    events = listed()
    unknown = {n for n in events if n not in ROWS and not is_sensor(n)}
    assert not unknown, f"events without a line in this test: {unknown}"
    assert set(ROWS) <= set(events), set(ROWS) - set(events)
    names = [n for n, e in events.items() if e["works"] and not (n.startswith("cgroup_") and not cgroups())]
    with tempfile.TemporaryDirectory(prefix="cpuperf-misc.") as folder:
        window = Window(folder, names)
    degrees = temperatures()
    for name in ROWS:
        nr, nr_moved = check_row(window, name) if name in names else (0, 0)
        if nr:
            print(f"{name}: {nr} as the files say, {nr_moved} of them not 0")
        else:
            print(f"skip: {name}: this machine has no file of it")
            assert name not in names or not ROWS[name][2](), name
    for name in filter(is_sensor, names):
        check_sensor(window, name, degrees)


main()
