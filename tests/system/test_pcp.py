#!/usr/bin/env python3
"""The real Performance Co-Pilot (scripts/deps peers): what its clients read of a running session through pmdacpuperf is
what the session has. pmcd runs in the folder of a check, on a port of its own. CPUPERF and CPUPERF_PRINT name the
programs; pmdacpuperf is beside them.
"""
import collections
import contextlib
import csv
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from kit import CPUPERF, PRINT, finish, need_sampling, output, peer, run, run_checks, skip

EVENTS = "task_clock,page_faults,cpu_clock@1000000,misc:process_cpu_time,misc:cpu_user,misc:memory_used,misc:net_rx_bytes"
PMDA = f"{os.path.dirname(CPUPERF)}/pmdacpuperf"
DOMAIN = 397


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def first(*paths):
    return next(path for path in paths if os.path.exists(path))


class Pcp:
    """A pmcd with the agent, of which all files are in the folder. pmda: where the agent is; None: it is not added yet."""

    def __init__(self, folder, address, pmda=PMDA):
        self.folder = folder = f"{folder}/pcp"
        for name in ("run", "log/pmcd", "tmp", "etc/pcp/pmcd", "var/pmns", "var/tmp", "var/config/pmda", "bin", "lib", "rc"):
            os.makedirs(f"{folder}/{name}")
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.write_conf()
        self.env = {"PCP_CONF": f"{folder}/pcp.conf", "PCP_DIR": ROOT, "PMCD_PORT": str(free_port()),
                    "PMCD_SOCKET": f"{folder}/run/s", "PYTHONPATH": f"{ROOT}/usr/lib/python3/dist-packages",
                    "LD_LIBRARY_PATH": f"{folder}/lib:{ROOT}/usr/lib"}
        if pmda:
            self.write("etc/pcp/pmcd/pmcd.conf", f"cpuperf {DOMAIN} pipe binary {pmda} -d {DOMAIN} -U {self.user} "
                       f"-l {folder}/log/cpuperf.log {address}\n")
            self.write("var/pmns/root", f"root {{\n    cpuperf {DOMAIN}:*:*\n}}\n")
        else:
            self.write("etc/pcp/pmcd/pmcd.conf", f"pmcd 2 dso pmcd_init {ROOT}/usr/lib/pcp/pmdas/pmcd/pmda_pmcd.so\n")
            self.write("var/pmns/root", self.output("pmcpp", f"{ROOT}/usr/lib/pcp/pmns/root_pmcd"))
        with open(f"{folder}/out", "wb") as out:
            self.process = subprocess.Popen(
                [f"{BINADM}/pmcd", "-f", "-q", "2", "-A", "-i", "127.0.0.1", "-l", f"{folder}/log/pmcd/pmcd.log", "-s",
                 f"{folder}/run/s", "-U", self.user], stdout=out, stderr=out, env={**os.environ, **self.env}, cwd=folder)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as f:
            f.write(text)

    def read(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8") as f:
            return f.read()

    def write_conf(self):
        """The machine's pcp.conf with other folders; programs that may signal those of others are replaced."""
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
            if name != "pmsignal":
                os.symlink(f"{BINADM}/{name}", f"{self.folder}/bin/{name}")
        self.write("bin/pmsignal", f'#!/bin/sh\n[ "$*" != "-a -s HUP pmcd" ] || kill -HUP "$(cat {self.folder}/pid)"\n')
        self.write("rc/pmcd", "#!/bin/sh\n")
        for name in ("bin/pmsignal", "rc/pmcd"):
            os.chmod(f"{self.folder}/{name}", 0o755)
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
        """A client; pmrep by the interpreter that its package is for."""
        place = first(f"{ROOT}/usr/bin/{program}", f"{BINADM}/{program}")
        python = ["/usr/bin/python3"] if program == "pmrep" else []
        return run(*python, place, *args, env=self.env, cwd=self.folder, **how)

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


def start(folder, *options, name="s"):
    return subprocess.Popen([CPUPERF, f"--metrics-listen=unix:{folder}/m", "--duration=300ms", "--num-iterations=0", "-o",
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


def to_ns(seconds):
    whole, part = seconds.split(".")
    return str(int(whole) * 10**9 + int(part.ljust(9, "0")))


def same(text):
    return text


# Metrics whose instances are series, too: the family, how its numbers are converted, and the instance of its labels.
SERIES = {
    "software.task_clock": ("cpuperf_software_task_clock_seconds_total", to_ns, lambda r: f"cpu{r['cpu']}"),
    "software.page_faults": ("cpuperf_software_page_faults_total", same, lambda r: f"cpu{r['cpu']}"),
    "software.cpu_clock": ("cpuperf_software_cpu_clock_seconds_total", to_ns, lambda r: f"cpu{r['cpu']}"),
    "misc.memory_used": ("cpuperf_misc_memory_used_bytes", same, lambda r: None),
    "misc.net_rx_bytes": ("cpuperf_misc_net_rx_bytes_total", same, lambda r: r["device"]),
    "records.lost": ("cpuperf_records_lost_total", same, lambda r: f"cpu{r['cpu']}"),
}


def records(pcp, archive):
    """Of each time of the archive, the values of each metric by instance."""
    for record in re.split(r"\n\[\d+ bytes\]\n", pcp.output("pmdumplog", "-a", archive))[1:]:
        metrics = re.split(r"^    \d+\.\d+\.\d+ \((?:cpuperf\.)?([^)]+)\):", record, flags=re.M)[1:]
        values = {name: read_values(text) for name, text in zip(metrics[::2], metrics[1::2])}
        if values.get("session.iterations"):
            yield int(values["session.iterations"][None]), values


def check_archive(folder):
    """What pmlogger has stored is, of each iteration, what the session has; processes add up to all of them."""
    p = start(folder, "-e", EVENTS)
    with Pcp(folder, f"unix:{folder}/m") as pcp:
        pcp.wait_for(lambda: pcp.values("cpuperf.session.iterations"), p)
        pcp.write("logger.conf", "log mandatory on 300 msec { cpuperf }\n")
        pcp.output("pmlogger", "-h", "127.0.0.1", "-c", "logger.conf", "-l", "logger.log", "-s", "12", "archive")
        raw = [read_values(f"value {line.strip()}") for line in
               pcp.output("pmval", "-h", "127.0.0.1", "-r", "-s", "3", "-t", "300msec", "cpuperf.software.page_faults").splitlines()[-3:]]
        # an iteration has to end before its numbers are in the files
        last = int(pcp.values("cpuperf.session.iterations")[None])
        pcp.wait_for(lambda: int(pcp.values("cpuperf.session.iterations")[None]) > last)
        p.terminate()
        finish(p)
        rep = list(csv.reader(pcp.output("pmrep", "-a", "archive", "-u", "-r", "-o", "csv", "cpuperf.session.iterations",
                                         "cpuperf.software.page_faults").splitlines()))
        seen = list(records(pcp, "archive"))
    stored = Stored(folder)
    assert len(seen) >= 4 and len({n for n, _ in seen}) >= 3, seen
    for iteration, values in seen:
        for name, (family, convert, instance) in SERIES.items():
            own = {instance(dict(rest)): convert(value) for rest, value in stored.of(family, iteration).items()}
            assert values[name] == own and own, (iteration, name, values[name], own)
        all_processes = sum(int(n) for n in values["misc.process_cpu_time"].values())
        own = sum(int(to_ns(n)) for n in stored.of("cpuperf_misc_process_cpu_time_seconds_total", iteration).values())
        assert all_processes == own, (iteration, all_processes, own)
        own = stored.of("cpuperf_misc_cpu_user_ratio", iteration, cpu="0")[()]
        assert abs(float(values["misc.cpu_user"]["cpu0"]) - float(own)) < 1e-6, (values["misc.cpu_user"], own)
    rows = {int(n): faults for _, n, *faults in rep[1:]}
    columns = [name.rsplit("-", 1)[1] for name in rep[0][2:]]
    assert set(rows) == {n for n, _ in seen}, (rep, seen)
    for iteration, values in seen:
        assert dict(zip(columns, rows[iteration])) == values["software.page_faults"], (iteration, rep)
    points = [tuple(n for _, n in sorted(stored.of("cpuperf_software_page_faults_total", i).items())) for i in stored.ends]
    for values in raw:
        assert tuple(values[None].split()) in points, (values, points)


def check_descriptions(folder):
    """Units, semantics, domains, helps, and two events of one name."""
    with open(f"{folder}/x.cpspec", "w", encoding="ascii") as f:
        f.write('{ "config_name": "two of one", "events": [ { "group_name": "software", "event_name": "page_faults", "label": "a b", "flags": [ "os", "user" ] },\n'
                '{ "group_name": "software", "event_name": "page_faults", "label": "7", "flags": [ "user" ] },\n'
                '{ "group_name": "misc", "event_name": "process_cpu_time" }, { "group_name": "misc", "event_name": "memory_used" } ],\n'
                '"metrics": [ { "name": "faults per s", "expr": "{7} / duration" } ] }')
    p = start(folder, "--spec-file=x", name="two")
    with Pcp(folder, f"unix:{folder}/m") as pcp:
        pcp.wait_for(lambda: pcp.values("cpuperf.session.iterations"), p)
        text = pcp.ask("-d", "-t", "cpuperf.software", "cpuperf.misc", "cpuperf.metric", "cpuperf.session.start_time")
        described = {name: (help_, *what) for name, help_, *what in re.findall(
            r"^cpuperf\.(\S+) \[(.*)\]\n    Data Type: (.*)  InDom: (.*) 0x.*\n    Semantics: (\w+)  Units: (.*)$", text, re.M)}
        assert set(described) == {"software.page_faults.a_b", "software.page_faults.x7", "misc.process_cpu_time", "misc.memory_used",
                                  "metric.faults_per_s", "session.start_time"}, text
        cpu = described["software.page_faults.a_b"]
        assert cpu == described["software.page_faults.x7"] and cpu[0].startswith("Page faults"), text
        assert cpu[1:2] + cpu[3:] == ("64-bit unsigned int", "counter", "count") and cpu[2].startswith(f"{DOMAIN}."), text
        process = described["misc.process_cpu_time"]
        assert process[3:] == ("counter", "nanosec") and process[2] not in (cpu[2], "PM_INDOM_NULL"), text
        assert described["misc.memory_used"][1:] == ("64-bit unsigned int", "PM_INDOM_NULL", "instant", "byte"), text
        assert described["metric.faults_per_s"][1:] == ("double", "PM_INDOM_NULL", "instant", "none"), text
        assert pcp.values("cpuperf.session.config_name") == {None: '"two of one"'}
        instances = pcp.values("cpuperf.misc.process_cpu_time")
        assert any(re.fullmatch(r"\d+ .+", name) for name in instances), instances
        states = pcp.values("cpuperf.event.state")
        assert states["process_cpu_time"] == '"ok"' and len(states) == 4, states
        helps = pcp.ask("-T", "cpuperf.misc.memory_used")
        assert "cpuperf_misc_memory_used_bytes" in helps, helps
    p.terminate()
    finish(p)


def check_sessions(folder):
    """The numbers of a session end with it; the next one is found, whatever it measures."""
    p = start(folder, "-e", "page_faults")
    with Pcp(folder, f"unix:{folder}/m") as pcp:
        pcp.wait_for(lambda: pcp.values("cpuperf.software.page_faults"), p)
        p.terminate()
        finish(p)
        pcp.wait_for(lambda: pcp.values("cpuperf.pmda.connected")[None] == "0")
        text = pcp.ask("-f", "cpuperf.software", "cpuperf.session.iterations", code=None)
        assert "value" not in text and text.count("Try again") == 2, text
        assert "no session" in pcp.values("cpuperf.pmda.problem")[None]
        p = start(folder, "-e", "task_clock")
        pcp.wait_for(lambda: pcp.values("cpuperf.software.task_clock"), p)
        assert "page_faults" not in pcp.ask("cpuperf"), pcp.ask("cpuperf")
        os.kill(p.pid, signal.SIGSTOP)  # what answers is of the same process
        pcp.wait_for(lambda: pcp.values("cpuperf.pmda.connected")[None] == "0")
        assert not pcp.values("cpuperf.software.task_clock")
        os.kill(p.pid, signal.SIGCONT)
        pcp.wait_for(lambda: pcp.values("cpuperf.software.task_clock"), p)
        p.terminate()
        finish(p)


def check_hostile(folder):
    """Whatever listens at the address: pmcd goes on, and says what is wrong."""
    head, end = b"# TYPE cpuperf_session_iterations gauge\ncpuperf_session_iterations 1\n", b"# EOF\n"
    things = b"# TYPE cpuperf_misc_x counter\n# HELP cpuperf_misc_x \\\\ %s%n\\n\n"
    info = b"# TYPE cpuperf_event info\n" + b"".join(
        b'cpuperf_event_info{event="%s",group="a.b",name="%s",metric_family="cpuperf_misc_x"} 1\n' % (e, e) for e in (b"", b"x", b"x "))
    texts = [(b"", "OpenMetrics"), (b"x" * 100000, "OpenMetrics"), (head, "OpenMetrics"), (b"\0" * 1000 + end, "OpenMetrics"),
             (head + things + b'cpuperf_misc_x_total{event="x",pid="1",comm="\\n\\"\x1b[31m a"} 18446744073709551616\n' + end, None),
             (head + things + b'cpuperf_misc_x_total{event="x",pid="-1",comm=""} 1\n' * 3 + info + end, None),
             (head + b"# TYPE cpuperf_session_ counter\ncpuperf_session__total{a=\"\"} 1\n" + info + end, None),
             (head + b"# TYPE cpuperf_session counter\ncpuperf_session_total 1\n" + end, None),
             (b"".join(b"# TYPE cpuperf_%d counter\ncpuperf_%d_total 1\n" % (i, i) for i in range(20000)) + end, None)]
    served, is_done = [None], False
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(50)

    def serve():
        while not is_done:
            with listener.accept()[0] as s:
                s.recv(1000)
                while served[0] is None:  # silent for longer than the agent waits
                    time.sleep(0.1)
                with contextlib.suppress(OSError):  # the agent may have heard enough
                    s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + served[0])

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with Pcp(folder, f"127.0.0.1:{listener.getsockname()[1]}") as pcp:
        for text, problem in [(None, "imed out"), *texts]:
            failures = int(pcp.values("cpuperf.pmda.failures")[None])
            served[0] = text
            if problem:
                pcp.wait_for(lambda: int(pcp.values("cpuperf.pmda.failures")[None]) > failures + 1)
                assert re.search(problem, pcp.values("cpuperf.pmda.problem")[None]), (text, pcp.values("cpuperf.pmda.problem"))
            else:
                pcp.wait_for(lambda: pcp.values("cpuperf.pmda.connected")[None] == "1")
                time.sleep(0.3)
            shown = pcp.ask("-f", "-t", "cpuperf", code=None)
            assert "\x1b" not in shown and "cpuperf.pmda.reads" in shown, (text[:1000], shown, pcp.read("log/pmcd/pmcd.log"), pcp.read("log/cpuperf.log"))
        assert "terminated" not in pcp.read("log/pmcd/pmcd.log")
        is_done = True
        pcp.values("cpuperf.pmda.reads")
        with socket.create_connection(listener.getsockname()) as s:
            s.send(b"x")
        thread.join()
    listener.close()


def check_install(folder):
    """service/pcp/Install, as cmake --install leaves it, and Remove."""
    if os.geteuid() != 0:
        print("skip: check_install: PCP's Install scripts want root", flush=True)
        return
    place = f"{folder}/pmdas/cpuperf"
    shutil.copytree(f"{os.environ['SOURCE_DIR']}/service/pcp", place)
    shutil.copy(PMDA, place)
    p = start(folder, "-e", "page_faults")
    with Pcp(folder, None, pmda=None) as pcp:
        how = {"cwd": place, "env": {**pcp.env, "PMDA_ARGS": f"-U root -l {folder}/log unix:{folder}/m"}, "stdin": subprocess.DEVNULL}
        done = run(f"{place}/Install", **how)
        assert re.search(r"appeared \.\.\. \d+ metrics and \d+ values", done.stdout), done
        pcp.wait_for(lambda: pcp.values("cpuperf.software.page_faults"), p)
        done = run(f"{place}/Remove", **how)
        assert "have gone away ... OK" in done.stdout and "cpuperf" not in pcp.ask(), done
    p.terminate()
    finish(p)


def check_usage(folder):
    done = run(PMDA, "-x", code=1, cwd=folder)
    assert "ADDRESS" in done.stderr + done.stdout, done
    run(PMDA, "a", "b", code=1, cwd=folder)


if not os.access(PMDA, os.X_OK):
    skip("pmdacpuperf: this cpuperf was built without libpcp-pmda")
need_sampling()
if not all([peer("pminfo"), peer("pmlogger"), peer("pmrep")]):
    skip("Performance Co-Pilot")
ROOT = peer("pminfo").removesuffix("/usr/bin/pminfo")
BINADM = f"{ROOT}/usr/lib/pcp/bin"
if "without libmicrohttpd" in run(CPUPERF, "-e", "task_clock", "--metrics-listen=x", "-d", "1ms", code=2).stderr:
    skip("this cpuperf was built without libmicrohttpd")
run_checks(globals())
