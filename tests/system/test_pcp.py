#!/usr/bin/env python3
"""The real Performance Co-Pilot (scripts/deps peers): what its clients read of a running session through pmdaopenmetrics,
configured as the manual and cpuperf-metrics(7) say, is what the session has. pmcd runs in the folder of a check, on a port of its
own. CPUPERF and CPUPERF_PRINT name the programs.
"""
import collections
import math
import os
import pwd
import re
import signal
import subprocess
import time

from kit import CPUPERF, PRINT, finish, free_port, need_sampling, output, peer, run, run_checks, skip

EVENTS = "task_clock,page_faults,cpu_clock@1000000,misc:process_cpu_time,misc:cpu_user,misc:memory_used,misc:net_rx_bytes"
SOURCE_DIR = os.environ["SOURCE_DIR"]
DOMAIN = 144
ALL = "openmetrics.cpuperf"


def first(*paths):
    return next(path for path in paths if os.path.exists(path))


class Pcp:
    """A pmcd with the agent, of which all files are in the folder, but for its program. config: the name, text and mode of
    the agent's file for cpuperf."""

    def __init__(self, folder, *config):
        self.folder = folder = f"{folder}/pcp"
        for name in ("run", "log/pmcd", "tmp", "etc/pcp/pmcd", "var/pmns", "var/tmp", "var/config/pmda", "bin", "lib", "rc", "config.d"):
            os.makedirs(f"{folder}/{name}")
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.write_conf()
        self.env = {"PCP_CONF": f"{folder}/pcp.conf", "PCP_DIR": ROOT, "PMCD_PORT": str(free_port()),
                    "PMCD_SOCKET": f"{folder}/run/s", "PYTHONPATH": f"{ROOT}/usr/lib/python3/dist-packages",
                    "LD_LIBRARY_PATH": f"{folder}/lib:{ROOT}/usr/lib"}
        name, text, mode = config
        self.write(f"config.d/{name}", text)
        os.chmod(f"{folder}/config.d/{name}", mode)
        self.write("etc/pcp/pmcd/pmcd.conf", f"openmetrics {DOMAIN} pipe binary notready /usr/bin/python3 {AGENT} -d {DOMAIN} "
                   f"-c {folder}/config.d -l {folder}/log/agent.log -u {self.user}\n")
        self.write("var/pmns/root", f"root {{\n    openmetrics {DOMAIN}:*:*\n}}\n")
        with open(f"{folder}/out", "wb") as out:
            self.process = subprocess.Popen(
                [f"{BINADM}/pmcd", "-f", "-q", "600", "-A", "-i", "127.0.0.1", "-l", f"{folder}/log/pmcd/pmcd.log", "-s",
                 f"{folder}/run/s", "-U", self.user], stdout=out, stderr=out, env={**os.environ, **self.env}, cwd=folder)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as f:
            f.write(text)

    def read(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8") as f:
            return f.read()

    def write_conf(self):
        """The machine's pcp.conf with other folders."""
        places = {"/etc": "etc", "/etc/init.d": "rc", "/usr/lib/pcp/bin": "bin", "/var/lib/pcp": "var", "/run/pcp": "run",
                  "/var/log/pcp": "log", "/var/tmp": "tmp", "/etc/pcp": "etc/pcp"}
        own = {"PCP_USER": self.user, "PCP_GROUP": self.user, "PCP_AWK_PROG": "awk", "PCP_SYSTEMDUNIT_DIR": "",
               "PCP_SORT_PROG": "sort", "PCP_WHICH_PROG": "which"}
        lines = []
        with open(first("/etc/pcp.conf", f"{ROOT}/etc/pcp.conf"), encoding="ascii") as f:
            for name, value in re.findall(r"^(PCP_\w+)=(.*)$", f.read(), re.M):
                for place in sorted(places, key=len, reverse=True):
                    if value == place or value.startswith(f"{place}/"):
                        value = f"{self.folder}/{places[place]}{value[len(place):]}"
                        break
                else:
                    value = f"{ROOT}{value}" if value.startswith("/usr/") else value
                lines.append(f"{name}={own.get(name, value)}\n")
        self.write("pcp.conf", "".join(lines))
        for name in os.listdir(BINADM):
            os.symlink(f"{BINADM}/{name}", f"{self.folder}/bin/{name}")
        for name in os.listdir(f"{ROOT}/usr/lib"):  # Python looks for libraries as the linker does
            if name.startswith("libpcp_") and ".so." in name:
                link = f"{self.folder}/lib/{name[:name.index('.so')]}.so"
                if not os.path.lexists(link):
                    os.symlink(f"{ROOT}/usr/lib/{name}", link)

    def __enter__(self):
        self.write("pid", str(self.process.pid))
        while self.run("pminfo", "-h", "127.0.0.1", code=None).returncode:
            assert self.process.poll() is None, self.read("log/pmcd/pmcd.log")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def run(self, program, *args, **how):
        """A client."""
        place = first(f"{ROOT}/usr/bin/{program}", f"{BINADM}/{program}")
        return run(place, *args, env=self.env, cwd=self.folder, **how)

    def output(self, program, *args, **how):
        return self.run(program, *args, **how).stdout

    def ask(self, *args, **how):
        return self.output("pminfo", "-h", "127.0.0.1", *args, **how)

    def values(self, name):
        """The numbers of a metric, by instance (None: it has none); empty: it has no value now."""
        return read_values(self.ask("-f", name, code=None))

    def wait_for(self, is_so, session=None):
        while not is_so():
            assert self.process.poll() is None
            assert not session or session.poll() is None, session.communicate()
            time.sleep(0.2)


def read_values(text):
    return {inst or None: value for inst, value in
            re.findall(r'^\s*(?:inst \[\d+ or "([^"]*)"\] )?value (\S.*)$', text, re.M)}


def start(folder, address, *options, name="s"):
    return subprocess.Popen([CPUPERF, f"--metrics-listen={address}", "--duration=300ms", "--num-iterations=0", "-o",
                             f"{folder}/{name}", *options], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True)


class Stored:
    """What cpuperf_print exports of the ended session: the last number of each series up to an iteration."""

    def __init__(self, folder):
        text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=openmetrics")
        self.points, self.ends = collections.defaultdict(list), {}
        for name, labels, value, at in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+) (\S+)$", text, re.M):
            fields = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            if name == "cpuperf_session_iterations":
                self.ends[int(value)] = float(at)
            elif name != "#":
                self.points[name, frozenset(fields.items())].append((float(at), value))

    def of(self, name, iteration, **labels):
        """By the rest of the labels, without the event's."""
        found = {}
        for (series, fields), points in self.points.items():
            rest = {k: v for k, v in fields if k not in labels and k != "event"}
            past = [value for at, value in points if at <= self.ends[iteration]]
            if series == name and all((k, v) in fields for k, v in labels.items()) and past:
                found[tuple(sorted(rest.items()))] = past[-1]
        return found


def parts_of_page():
    """The lines of the agent's file that the manual has."""
    with open(f"{SOURCE_DIR}/doc/manual/all-the-time.md", encoding="utf-8") as f:
        return re.search(r"config\.d/cpuperf\.url <<END\n(.*?)    END\n", f.read(), re.S)[1].replace("    ", "")


def program_of_manual():
    """The program for a socket that cpuperf-metrics(7) has."""
    with open(f"{SOURCE_DIR}/doc/cpuperf-metrics.7", encoding="utf-8") as f:
        return re.search(r"\.EX\n(    #!/bin/sh\n.*?)\.EE", f.read(), re.S)[1].replace("\\-", "-").replace("    ", "")


def records(pcp, archive):
    """Of each time of the archive, the values of each metric by the labels of its instance."""
    for record in re.split(r"\n\[\d+ bytes\]\n", pcp.output("pmdumplog", "-a", archive))[1:]:
        metrics = re.split(rf"^    \d+\.\d+\.\d+ \({ALL}\.([^)]+)\):", record, flags=re.M)[1:]
        values = {name: read_values(text) for name, text in zip(metrics[::2], metrics[1::2])}
        if values.get("cpuperf_session_iterations"):
            yield int(values["cpuperf_session_iterations"][None]), values


FAMILIES = {  # and what an instance is of
    "cpuperf_software_task_clock_seconds_total": ("task_clock", "cpu"),
    "cpuperf_software_page_faults_total": ("page_faults", "cpu"),
    "cpuperf_misc_memory_used_bytes": ("memory_used", None),
    "cpuperf_misc_net_rx_bytes_total": ("net_rx_bytes", "device"),
    "cpuperf_records_lost_total": (None, "cpu"),
}


def check_archive(folder):
    """What pmlogger has stored is, of each iteration, what the session has; processes are excluded."""
    port = free_port()
    p = start(folder, port, "-e", EVENTS)
    assert "9712" in parts_of_page(), parts_of_page()
    with Pcp(folder, "cpuperf.url", parts_of_page().replace("9712", str(port)), 0o644) as pcp:
        pcp.wait_for(lambda: pcp.values(f"{ALL}.cpuperf_session_iterations"), p)
        pcp.write("logger.conf", f"log mandatory on 300 msec {{ {ALL} }}\n")
        pcp.output("pmlogger", "-h", "127.0.0.1", "-c", "logger.conf", "-l", "logger.log", "-s", "12", "archive")
        described = {name: what for name, *what in re.findall(
            r"^openmetrics\.cpuperf\.(\S+)$\n    Data Type: (.*)  InDom: .*\n    Semantics: (\w+)  Units: (.*)$", pcp.ask("-d", ALL), re.M)}
        # an iteration has to end before its numbers are in the files
        last = int(pcp.values(f"{ALL}.cpuperf_session_iterations")[None])
        pcp.wait_for(lambda: int(pcp.values(f"{ALL}.cpuperf_session_iterations")[None]) > last)
        p.terminate()
        finish(p)
        seen = list(records(pcp, "archive"))
    assert described["cpuperf_software_task_clock_seconds_total"] == ["double", "counter", "sec"], described
    assert described["cpuperf_software_page_faults_total"] == ["double", "counter", "none"], described
    assert described["cpuperf_misc_memory_used_bytes"] == ["double", "instant", "byte"], described
    assert "cpuperf_event_iterations" in described and not any("process_cpu_time" in name for name in described), described
    stored = Stored(folder)
    assert len(seen) >= 4 and len({n for n, _ in seen}) >= 3, seen
    for iteration, values in seen:
        for name, (event, label) in FAMILIES.items():
            own = {f"{label}:{dict(rest)[label]}" if label else "": float(value) for rest, value in stored.of(name, iteration).items()}
            read = {re.sub(rf"^\d+ ?| ?event:{event}$", "", labels): float(value) for labels, value in values[name].items()}
            assert own and own.keys() == read.keys(), (iteration, name, read, own)
            assert all(math.isclose(read[i], own[i], rel_tol=1e-5) for i in own), (iteration, name, read, own)


def check_sessions(folder):
    """Of a socket: the numbers of a session end with it; the next one is found, whatever it measures."""
    if not peer("curl"):
        return
    socket_path = f"{folder}/m"
    program = program_of_manual().replace("/run/cpuperf/watch.metrics", socket_path)
    faults, clock = f"{ALL}.cpuperf_software_page_faults_total", f"{ALL}.cpuperf_software_task_clock_seconds_total"
    p = start(folder, f"unix:{socket_path}", "-e", "page_faults")
    with Pcp(folder, "cpuperf", program, 0o755) as pcp:
        pcp.wait_for(lambda: pcp.values(faults), p)
        p.terminate()
        finish(p)
        assert "Try again" in pcp.ask("-f", faults, code=None), pcp.ask("-f", faults, code=None)
        p = start(folder, f"unix:{socket_path}", "-e", "task_clock", name="next")
        pcp.wait_for(lambda: pcp.values(f"{ALL}.cpuperf_session_iterations") and pcp.values(clock), p)
        assert not pcp.values(faults)
        p.terminate()
        finish(p)


need_sampling()
if not all([peer("pminfo"), peer("pmlogger")]):
    skip("Performance Co-Pilot")
ROOT = peer("pminfo").removesuffix("/usr/bin/pminfo")
BINADM = f"{ROOT}/usr/lib/pcp/bin"
AGENT = f"{ROOT}/usr/lib/pcp/pmdas/openmetrics/pmdaopenmetrics.python"
if not os.path.exists(AGENT):
    skip("pmdaopenmetrics: not in this package of Performance Co-Pilot")
run_checks(globals())
