#!/usr/bin/env python3
"""--metrics-listen: what a scrape of a running session says is what cpuperf_print says of the same iterations, in both
forms; Prometheus's own checker takes the text; readers that are wrong, slow or many disturb nobody. CPUPERF and
CPUPERF_PRINT name the programs.
"""
import contextlib
import http.client
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from kit import CPUPERF, PRINT, finish, output, peer, run, run_checks, skip
from patience import PATIENCE_S
from sampled import machine, may_sample

EVENTS = "task_clock,page_faults,misc:process_cpu_time,misc:cpu_user,misc:net_rx_bytes"
NOW_AND_THEN = "import time\nwhile sum(range(9999)): time.sleep(.05)"
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}


class Local(http.client.HTTPConnection):
    """At a socket of the file system."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


HTTP = "http:" + "//"


def start(folder, *options):
    """Its socket: tests have no port of their own."""
    at = f"{folder}/socket"
    p = subprocess.Popen([CPUPERF, "-e", EVENTS, f"--metrics-listen=unix:{at}", "-o", f"{folder}/session",
                          *machine(*options), *options],
                         cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while p.poll() is None and not listens(at):
        time.sleep(0.02)
    return p, at


def listens(at):
    """The file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(at) == 0


def get(at, path="/metrics", method="GET", headers=None):
    connection = Local(at)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def scrape(p, at, nr, headers=None):
    """The text after at least nr iterations."""
    while p.poll() is None:
        answer, text = get(at, headers=headers)
        assert answer.status in (200, 503), text
        if answer.status == 200 and numbers(text)["cpuperf_session_iterations"] >= nr:
            return answer, text
        time.sleep(0.05)
    raise AssertionError(p.communicate())


@contextlib.contextmanager
def programs():
    """Some processes, where those of this test are measured and not the machine."""
    with contextlib.ExitStack() as stack:
        for _ in range(0 if may_sample() else 5):
            stack.callback(stack.enter_context(subprocess.Popen([sys.executable, "-c", NOW_AND_THEN])).kill)
        yield


def lines(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def numbers(text):
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines(text)}


def without_time(text):
    """Of a session's file, whose lines have times."""
    return [re.sub(r"^([^{ ]+(?:\{.*\})? \S+) \S+$", r"\1", line) for line in lines(text)]


def check_is_what_was_counted(folder):
    with programs():
        p, at = start(folder, "--duration=200ms", "--num-iterations=1000")
        answer, classic = scrape(p, at, 3)
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", answer.headers
        answer, text = scrape(p, at, 4, OPENMETRICS)
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"), answer.headers
        assert text.endswith("\n# EOF\n") and "# EOF" not in classic and "# UNIT" not in classic
        p.terminate()
        finish(p)
    for served in (classic, text):
        nr = int(numbers(served)["cpuperf_session_iterations"])
        stored = without_time(output(PRINT, "--quiet", f"{folder}/session", "--output-format=openmetrics",
                                     f"--iteration=0-{nr - 1}"))
        counts = [line for line in lines(served) if re.match(r"cpuperf_(software|misc_cpu|misc_net|event_iter)", line)]
        assert len(counts) > 8 and set(counts) <= set(stored), (set(counts) - set(stored), stored)
        parts = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in stored
                 if line.startswith("cpuperf_misc_process_cpu_time")}
        total = [n for k, n in numbers(served).items() if k.startswith("cpuperf_misc_process_cpu_time")]
        assert abs(sum(total) - sum(parts.values())) < 1e-3 and len(parts) > 3, (served, parts)
        assert numbers(served)["process_cpu_seconds_total"] > 0
    before, now = numbers(classic), numbers(text)
    lasting = [k for k in before if k.split("{")[0].endswith("_total") and "pid=" not in k]
    assert all(now[k] >= before[k] for k in lasting), (before, now)
    promtool = peer("promtool")
    if promtool:
        run(promtool, "check", "metrics", input=classic)


def check_things_are_limited(folder):
    """Three processes have a line each, the rest have one: together they are what the session has."""
    with programs():
        p, at = start(folder, "--duration=200ms", "--num-iterations=1000", "--metrics-things=3")
        _, text = scrape(p, at, 5)
        p.terminate()
        finish(p)
    nr = int(numbers(text)["cpuperf_session_iterations"])
    series = {k: n for k, n in numbers(text).items() if k.startswith("cpuperf_misc_process_cpu_time")}
    assert 2 <= len(series) <= 4, series  # of them some may have ended
    other = 'cpuperf_misc_process_cpu_time_seconds_total{event="process_cpu_time",comm="[other]"}'
    assert series[other] > 0, series
    stored = output(PRINT, "--quiet", f"{folder}/session", "--output-format=prometheus", f"--iteration=0-{nr - 1}")
    whole = [float(line.rpartition(" ")[2]) for line in lines(stored) if line.startswith("cpuperf_misc_process_cpu_time")]
    assert len(whole) > 4 and abs(sum(whole) - sum(series.values())) < 1e-3, (sum(whole), series)
    run(CPUPERF, "-e", EVENTS, "--metrics-listen=x", "--metrics-things=0", code=2)
    done = run(CPUPERF, "-e", EVENTS, "--metrics-things=3", code=2)
    assert "--metrics-things requires --metrics-listen" in done.stderr, done.stderr


def check_readers(folder):
    """Wrong, silent and many: a session of known length is not longer, and each reader that asks is answered."""
    p, at = start(folder, "--duration=100ms", "--num-iterations=1000")
    scrape(p, at, 1)
    assert get(at, "/")[0].status == get(at, "/metrics/../etc")[0].status == 404
    assert get(at, method="POST")[0].status == get(at, method="DELETE")[0].status == 405
    answer, text = get(at, method="HEAD")
    assert answer.status == 200 and not text
    for garbage in (b"\0" * 100, b"GET " + b"/" * 100000, b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 20000):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(at)
            try:
                s.sendall(garbage)
                s.shutdown(socket.SHUT_WR)
                s.recv(100)
            except OSError:
                pass
    silent = [socket.socket(socket.AF_UNIX) for _ in range(600)]  # more than wait at the door
    for i, s in enumerate(silent):
        s.connect(at)
        s.sendall(b"GET /metrics HTTP/1.1\r\n"[:i % 2 * 100])
    nr = len(os.listdir(f"{folder}/session"))
    scrape(p, at, 12)
    assert p.poll() is None and nr, "it measures"
    for s in silent:
        s.close()
    with_body = get(at, headers={"Content-Length": "1000"})  # which does not come
    assert with_body[0].status == 400 and "no body" in with_body[1], with_body
    p.terminate()
    finish(p)
    assert not os.path.exists(at), at


def check_says_where(folder):
    """The kernel's choice of a port, too."""
    done = run(CPUPERF, "-e", EVENTS, f"--metrics-listen=unix:{folder}/at", "-d", "50ms", "-n", "1", *machine(), cwd=folder)
    assert f"metrics: {HTTP}localhost/metrics at unix:{folder}/at\n" in done.stderr, done.stderr
    with subprocess.Popen([CPUPERF, "-e", EVENTS, "--metrics-listen=0", "-d", "50ms", "-n", "0", *machine()], cwd=folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
        try:
            url = next(m[1] for line in p.stderr if (m := re.search(rf"metrics: ({HTTP}127\.0\.0\.1:\d+/metrics)$", line)))
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            is_served = False
            while not is_served:
                try:
                    with opener.open(url, timeout=PATIENCE_S) as answer:
                        is_served = b"cpuperf_software_" in answer.read()
                except urllib.error.HTTPError as e:
                    assert e.code == 503 and p.poll() is None, e  # the first iteration has not ended
            try:  # as a page would that has let its name mean this machine
                opener.open(urllib.request.Request(url, headers={"Host": "evil.example"}), timeout=PATIENCE_S)
                raise AssertionError("answered")
            except urllib.error.HTTPError as e:
                assert e.code == 403 and b"no name of this machine" in e.read(), e
        finally:
            p.terminate()
        finish(p)


def check_sockets(folder):
    p, at = start(folder, "--duration=100ms", "--num-iterations=1000")
    scrape(p, at, 1)
    assert os.stat(at).st_mode & 0o777 == 0o600, oct(os.stat(at).st_mode)
    done = run(CPUPERF, "-e", EVENTS, f"--metrics-listen=unix:{at}", "-d", "100ms", "-n", "2", *machine(), code=2, cwd=folder)
    assert "Address already in use" in done.stderr and "another program listens there" in done.stderr, done.stderr
    p.kill()
    p.communicate()
    assert os.path.exists(at), "a killed session leaves its socket"
    p, at = start(folder, "--duration=100ms", "--num-iterations=2")
    finish(p)
    assert not os.path.exists(at)
    with open(at, "w", encoding="ascii"):
        pass
    done = run(CPUPERF, "-e", EVENTS, f"--metrics-listen=unix:{at}", "-d", "100ms", "-n", "2", *machine(), code=2, cwd=folder)
    assert "Address already in use" in done.stderr and "is no socket" in done.stderr and os.path.isfile(at), done.stderr


def check_addresses(folder):
    for address in ("x", "localhost:1", "127.0.0.1:", "127.0.0.1:99999", ":80", "[::1", "unix:", "unix:" + "x" * 200):
        done = run(CPUPERF, "-e", EVENTS, f"--metrics-listen={address}", "-d", "100ms", "-n", "2", *machine(), code=2, cwd=folder)
        assert "--metrics-listen" in done.stderr and done.stderr.count("error") == 1, (address, done.stderr)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        done = run(CPUPERF, "-e", EVENTS, f"--metrics-listen={port}", "-d", "100ms", "-n", "2", *machine(), code=2, cwd=folder)
        assert f"{port}: Address already in use" in done.stderr, done.stderr
    run(CPUPERF, "-e", EVENTS, "--metrics-listen=127.0.0.1:0", "-d", "100ms", "-n", "2", *machine(), cwd=folder)


def check_command(folder):
    """Each second while it runs; of runs after each. What is served is no more than the session has."""
    p, at = start(folder, "--", "sh", "-c", f"until [ -e {folder}/end ]; do :; done")
    _, first = scrape(p, at, 1)
    _, text = scrape(p, at, 3)
    with open(f"{folder}/end", "w", encoding="ascii"):
        pass
    finish(p)
    stored = numbers(output(PRINT, "--quiet", f"{folder}/session", "--output-format=prometheus"))
    clock, = [k for k in stored if k.startswith("cpuperf_software_task_clock")]
    before, now = numbers(first), numbers(text)
    assert 0 < before[clock] < now[clock] <= stored[clock], (before, now, stored)
    p, at = start(folder, "--runs=1000", "--", "sleep", "0.05")
    scrape(p, at, 3)
    p.terminate()
    p.communicate()


def check_one_iteration(folder):
    p, at = start(folder, "--duration=1h", f"--pid={os.getpid()}", "--num-iterations=1")
    _, text = scrape(p, at, 2)
    assert "cpuperf_software_task_clock_seconds_total" in text, text
    p.terminate()
    finish(p)


run_checks(globals())
