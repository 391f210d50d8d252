#!/usr/bin/env python3
"""The real Prometheus (scripts/deps peers): what it scrapes from a running session, and what it makes of the exported
file, are the numbers that the session has; its checker takes both texts. CPUPERF and CPUPERF_PRINT name the programs.
"""
import collections
import http.client
import json
import os
import re
import subprocess
import time
import urllib.parse

from kit import CPUPERF, PRINT, finish, free_port, need_sampling, output, peer, programs_missing, run, run_checks, skip
from patience import PATIENCE_S

EVENTS = "task_clock,page_faults,misc:process_cpu_time,misc:cpu_user,misc:memory_used,misc:net_rx_bytes"


def ask(port, path):
    """The answer's data; None: it does not answer yet."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except OSError:
        return None
    finally:
        connection.close()
    return json.loads(text)["data"] if answer.status == 200 and text.startswith("{") else text if answer.status == 200 else None


class Server:
    """Prometheus on a folder of data; it is asked by its HTTP API."""

    def __init__(self, folder, targets=(), rules=()):
        with open(f"{folder}/prometheus.yml", "w", encoding="ascii") as f:
            f.write("global: {scrape_interval: 200ms, evaluation_interval: 200ms}\n"
                    f"rule_files: {json.dumps(list(rules))}\nscrape_configs:\n- job_name: cpuperf\n  static_configs:\n"
                    f"  - targets: {json.dumps(list(targets))}\n")
        self.port = free_port()
        with open(f"{folder}/prometheus.log", "wb") as log:
            self.process = subprocess.Popen(
                [PROMETHEUS, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 "--storage.tsdb.retention.time=10y", f"--web.listen-address=127.0.0.1:{self.port}"],
                stdout=log, stderr=log, cwd=folder)
        self.log = f"{folder}/prometheus.log"

    def __enter__(self):
        while ask(self.port, "/-/ready") is None:
            with open(self.log, encoding="utf-8") as log:
                assert self.process.poll() is None, log.read()
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def query(self, text, **how):
        query = urllib.parse.urlencode({"query": text, **how})
        data = ask(self.port, f"/api/v1/query?{query}")
        assert data is not None, text
        return data["result"]

    def samples(self, selector, begin, end):
        """(time, value) of each sample, as they are stored, by labels without those of the scrape."""
        data = self.query(f"{selector}[{int(end - begin) + 60}s]", time=end + 1)
        return {frozenset((k, v) for k, v in series["metric"].items() if k not in ("instance", "job")):
                [(t, float(v)) for t, v in series["values"]] for series in data}


def points(text):
    """The same of an exported text."""
    found = collections.defaultdict(list)
    for name, labels, value, at in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+) (\S+)$", text, re.M):
        if name != "#":
            fields = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)+)"', labels), __name__=name)  # an empty one is none
            found[frozenset(fields.items())].append((float(at), float(value)))
    return found


def named(series, begin):
    return {k: v for k, v in series.items() if dict(k)["__name__"].startswith(begin)}


def start(folder, port, *options):
    return subprocess.Popen([CPUPERF, f"--metrics-listen={port}", "--duration=300ms", "--num-iterations=0", "-o", f"{folder}/s",
                             *options], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_until(p, is_so):
    while not is_so():
        assert p.poll() is None, p.communicate()
        time.sleep(0.2)


def check_scraped(folder):
    """Each sample of a counter is the sum up to some iteration of the session; later ones are of later iterations."""
    port = free_port()
    began = time.time()
    p = start(folder, port, "-e", EVENTS)
    with Server(folder, [f"127.0.0.1:{port}"]) as server:
        wait_until(p, lambda: any(len({n for _, n in v}) >= 5 for v in server.samples(
            "cpuperf_session_iterations", began, time.time()).values()))
        p.terminate()
        finish(p)
        stored = points(output(PRINT, "--quiet", f"{folder}/s", "--output-format=openmetrics"))
        for name in ("cpuperf_software_task_clock_seconds_total", "cpuperf_software_page_faults_total",
                     "cpuperf_misc_memory_used_bytes", "cpuperf_misc_net_rx_bytes_total"):
            got = server.samples(name, began, time.time())
            assert got and set(got) == set(named(stored, name)), (name, got, set(stored))
            for labels, samples in got.items():
                own = [n for _, n in stored[labels]]
                places = [own.index(n) for _, n in samples]
                assert name.endswith("_bytes") or places == sorted(places), (samples, own)
        up = server.samples("up", began, time.time())
        assert any(n == 1 for values in up.values() for _, n in values), up


def check_imported(folder):
    """All points of the exported file, as they are; once for each iteration."""
    run(CPUPERF, "-e", f"{EVENTS},cpu_clock@10000000,latency:syscall.read", "-d", "300ms", "-n", "4", "-o", "s", cwd=folder)
    text = output(PRINT, "--quiet", "s", "--output-format=openmetrics", cwd=folder)
    with open(f"{folder}/om.txt", "w", encoding="utf-8") as f:
        f.write(text)
    run(PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", "om.txt", "data", cwd=folder)
    stored = points(text)
    times = [t for v in stored.values() for t, _ in v]
    assert len({t for t, _ in stored[frozenset({("__name__", "cpuperf_session_iterations")})]}) == 4, text
    with Server(folder) as server:
        got = server.samples('{__name__=~"cpuperf_.*"}', min(times), max(times))
    assert set(got) == set(stored), set(got) ^ set(stored)
    for labels, own in stored.items():
        # Prometheus stores milliseconds
        assert len(own) == len(got[labels]), (labels, own, got[labels])
        for (t, n), (at, value) in zip(own, got[labels]):
            assert abs(t - at) < 0.0011 and (n == value or abs(n - value) <= 1e-12 * abs(n)), (labels, own, got[labels])


def check_classic_text(folder):
    run(CPUPERF, "-e", f"{EVENTS},latency:syscall.read", "-d", "300ms", "-n", "2", "-o", "s", cwd=folder)
    run(PROMTOOL, "check", "metrics", input=output(PRINT, "--quiet", "s", "--output-format=prometheus", cwd=folder))


def check_alerts(folder):
    """A limit of the spec is a rule that Prometheus takes; one that is exceeded is an alert, the other is none."""
    odd = 'of \\"all\\" {{ CPUs'
    with open(f"{folder}/x.cpspec", "w", encoding="ascii") as f:
        f.write('{ "events": [ { "group_name": "software", "event_name": "task_clock", "label": "t" } ], "metrics": [\n'
                f'{{ "name": "{odd}", "expr": "{{t}} / duration", "unit": "%", "warn_above": 0.5 }},\n'
                '{ "name": "other", "expr": "{t} / duration", "warn_below": 0.001, "warn_above": 1e30 } ] }')
    run(CPUPERF, "--spec-file=x", "--check-spec", "--save-alerts=rules.yml", cwd=folder)
    assert "3 rules found" in output(PROMTOOL, "check", "rules", "rules.yml", cwd=folder)
    run(CPUPERF, "--spec-file=x", "--check-spec", "--save-alerts=rules.yml", cwd=folder)
    done = run(CPUPERF, "--spec-file=x", "--check-spec", "--save-alerts=x.cpspec", cwd=folder, code=1)
    assert "x.cpspec" in done.stderr, done.stderr
    done = run(CPUPERF, "-e", EVENTS, "--check-spec", "--save-alerts=y.yml", cwd=folder, code=1)
    assert "no metric has a limit" in done.stderr and not os.path.exists(f"{folder}/y.yml"), done.stderr
    port = free_port()
    p = start(folder, port, "--spec-file=x")
    with Server(folder, [f"127.0.0.1:{port}"], ["rules.yml"]) as server:
        wait_until(p, lambda: server.query("ALERTS"))
        alerts = [r["metric"] for r in server.query("ALERTS")]
        summaries = [a["annotations"]["summary"] for a in ask(server.port, "/api/v1/alerts")["alerts"]]
        p.terminate()
        finish(p)
    assert {(a["alertname"], a["event"]) for a in alerts} == {
        ("cpuperf_metric_of_all_cpus_ratio_above", 'of "all" {{ CPUs')}, alerts
    assert all(f'of "all" {{{{ CPUs of 127.0.0.1:{port} is ' in s for s in summaries) and summaries, summaries


def check_dashboard(folder):
    """Each query of the dashboard for Grafana has an answer, where there is what it is about."""
    with open(f"{os.environ['SOURCE_DIR']}/service/cpuperf-dashboard.json", encoding="utf-8") as f:
        dashboard = json.load(f)
    port = free_port()
    p = start(folder, port, "-e", f"{EVENTS},latency:syscall.read,misc:disk_read_ops,context_switches")
    with Server(folder, [f"127.0.0.1:{port}"]) as server:
        wait_until(p, lambda: server.query("rate(cpuperf_latency_seconds_count[10s]) > 0")
                   if not programs_missing() else server.query("rate(cpuperf_session_iterations[10s]) > 0"))
        values = {"instance": [".*"], "__rate_interval": ["10s"]}
        for variable in dashboard["templating"]["list"][1:]:
            selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            found = {r["metric"][label] for r in server.query(f"count by ({label}) ({selector})")}
            assert found, variable
            values.setdefault(variable["name"], sorted(found))
        assert "cpuperf_software_page_faults_total" in values["counter"], values
        assert "cpuperf_misc_memory_used_bytes" in values["gauge"], values
        exprs = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]
        assert len(exprs) >= 10, exprs
        for title, expr in exprs:
            answers = []
            for one in values["counter"] if "$counter" in expr else values["gauge"]:
                text = expr.replace("$counter", one).replace("$gauge", one)
                text = text.replace("$instance", ".*").replace("$__rate_interval", "10s")
                assert "$" not in text, text
                answers += server.query(text)
            assert answers or title == "Latency" and programs_missing(), (title, expr)
    p.terminate()
    finish(p)


need_sampling()
PROMETHEUS, PROMTOOL = peer("prometheus"), peer("promtool")
if not PROMETHEUS or not PROMTOOL:
    skip("Prometheus")
run_checks(globals())
