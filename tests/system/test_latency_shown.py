#!/usr/bin/env python3
"""Where latencies are shown: by iteration, over time, in a database, compared. latency.c makes a known
number of system calls; what each output says is compared with --report=latency. CPUPERF and
CPUPERF_PRINT name the programs; needs root and a kernel with BTF.
"""
import csv
import io
import json
import os
import re
import shutil
import sqlite3

import browser
from kit import again, CPUPERF, need_programs, on_terminal, output, PRINT, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = ["clock_nanosleep", "readv"]
EVENTS = ",".join(f"latency:syscall.{c}" for c in CALLS)
RUNS, NR = 4, 40
THINGS = ("p50", "p90", "p99", "max")


def rows(folder, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", *args, cwd=folder)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def record(folder, name="s", us="2000", events=EVENTS, runs=RUNS):
    """Runs of the program: each is an iteration with NR calls of each kind."""
    program = os.path.join(folder, "latency")
    if not os.path.exists(program):
        run("cc", "-O1", "-pthread", "-o", program, f"{HERE}/latency.c")
    run(CPUPERF, f"--event={events}", f"--runs={runs}", f"--output={name}", "--", program, "2", str(NR // 2), us,
        cwd=folder)


def check_iterations(folder):
    """Each has its own; together they are all. Of several sessions each row names its own."""
    record(folder)
    found = rows(folder, "s", "--report=latency", "--sort=iteration")
    whole = [r for r in found if not r["what"]]
    assert [(int(r["iteration"]), r["event"]) for r in whole] == [
        (i, f"syscall.{c}") for i in range(RUNS) for c in sorted(CALLS)], whole
    assert all(int(r["count"]) == NR for r in whole), whole
    for row in whole:
        alone = rows(folder, "s", "--report=latency", f"--iteration={row['iteration']}",
                     f"--event=latency:{row['event']}")[0]
        assert alone == {k: v for k, v in row.items() if k != "iteration"}, (alone, row)
    assert [r["what"].endswith(" latency") for r in found if r["what"]] == [True] * RUNS * len(CALLS), found
    text = output(PRINT, "--quiet", "s", cwd=folder)
    for call in CALLS:
        assert re.search(rf"^syscall\.{call} +{RUNS * NR} +[\d.]+ m?s ", text, re.M), text
    # who and how long first; intervals leave a narrow terminal, and nothing is cut within a number
    wide, narrow = (on_terminal(n, PRINT, "--quiet", "--no-pager", f"{folder}/s", "--report=latency")[0] for n in (300, 80))
    for text, heads in ((wide, "event part what count time mean p50 95 % interval p90 95 % interval p99 95 % interval p99.9 "
                               "95 % interval max"), (narrow, "event part what count p50 p99 p99.9 max")):
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("event "))
        assert lines[at].split() == heads.split(), lines[at]
        assert all(re.search(r"\d [mun]?s$", line) for line in lines[at + 1:] if line.startswith("syscall.")), lines
    assert max(map(len, lines)) <= 80, lines
    record(folder, "t")
    both = rows(folder, "s", "t", "--report=latency", "--sort=iteration")
    assert [r for r in both if os.path.dirname(r["session"]) == "s"] == [
        {"session": r["session"], **found[i]} for i, r in enumerate(both[:len(found)])], both
    assert {os.path.dirname(r["session"]) for r in both[len(found):]} == {"t"}, both
    text = output(PRINT, "--quiet", "--report=latency", "--sort=session", "s", "t", cwd=folder)
    assert text.count("/cpuperf.cpsession ") == 2 * len(CALLS) * (1 + RUNS), text


def check_series(folder):
    """A point per iteration for each quantile, which other programs get too."""
    record(folder)
    whole = [r for r in rows(folder, "s", "--report=latency", "--sort=iteration") if not r["what"]]
    points = {(r["iteration"], r["event"], r["thing_name"]): r for r in rows(folder, "s", "--report=series")
              if r["thing_name"]}
    assert len(points) == len(whole) * len(THINGS), points
    for row in whole:
        for name in THINGS:
            p = points[row["iteration"], row["event"], name]
            assert (p["state"], p["unit"], p["kind"], p["cpu"]) == ("ok", "ns", "value", "all"), p
            assert float(p["value"]) == int(row[f"{name}_ns"]), (p, row)
    text = output(PRINT, "--quiet", "s", "--report=series", cwd=folder)
    for name in THINGS:
        assert text.count(f"\n  {name} ") == len(CALLS), text
    chrome = json.loads(output(PRINT, "--quiet", "s", "--output-format=chrome", cwd=folder))["traceEvents"]
    shown = [e["args"]["ns"] for e in chrome if e.get("name") == "syscall.readv p99"]
    assert shown == [int(r["p99_ns"]) for r in whole if r["event"] == "syscall.readv"], chrome


def check_sqlite(folder):
    """Histograms by what they are of, whose buckets have all of them."""
    record(folder)
    output(PRINT, "--quiet", "s", "--output-format=sqlite", "--output-file=s.db", cwd=folder)
    db = sqlite3.connect(f"{folder}/s.db")
    own = {(int(r["iteration"]), r["event"]): r for r in rows(folder, "s", "--report=latency", "--sort=iteration")
           if r["what"]}
    found = list(db.execute("SELECT l.iteration, e.label, l.what, l.count, l.sum_ns, l.max_ns, l.p50_ns, l.p99_ns,"
                            " sum(b.count), min(b.low_ns), max(b.high_ns) FROM latencies l JOIN events e USING(event)"
                            " JOIN latency_buckets b USING(latency) GROUP BY l.latency"))
    assert len(found) == len(own) == RUNS * len(CALLS), (found, own)
    for iteration, event, what, count, sum_ns, max_ns, p50, p99, in_buckets, low, high in found:
        row = own[iteration, event]
        assert (what, count, sum_ns, max_ns) == (row["what"], NR, int(row["sum_ns"]), int(row["max_ns"])), row
        assert all(abs(ns - int(row[f"{name}_ns"])) <= 0.5 for name, ns in (("p50", p50), ("p99", p99))), (p50, p99, row)
        assert in_buckets == NR and low <= p50 <= p99 <= max_ns < high, (row, low, high)
    db.close()


def diff_rows(folder, now, was, *args):
    found = rows(folder, *(f"--session={s}" for s in now), *(f"--diff={s}" for s in was), *args)
    return {r["event"]: r for r in found}


def check_diff(folder):
    """Of runs and of sessions: what became slower is significant, what did not is not; the longest is not judged."""
    for left in reversed(range(6)):  # beside others waits of 2 ms may last as long as those of 20 ms
        for name in ("was", "now"):
            shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
        record(folder, "was", runs=6)
        record(folder, "now", us="20000", runs=6)
        found = diff_rows(folder, ["now"], ["was"])
        if found["syscall.readv p50"]["certain"] == "true" or not left:
            break
        again("check_diff", found["syscall.readv p50"])
    for call in CALLS:
        for name in ("p50", "p90", "max"):
            row = found[f"syscall.{call} {name}"]
            for side, session in (("was", "was"), ("is", "now")):
                own = [int(r[f"{name}_ns"]) for r in rows(folder, session, "--report=latency", "--sort=iteration")
                       if not r["what"] and r["event"] == f"syscall.{call}"]
                assert abs(float(row[f"{side}_count"]) - sum(own) / len(own)) <= 1, (row, own)
        assert f"syscall.{call} p99" not in found, found  # 40 latencies have no interval of it
        assert found[f"syscall.{call} max"]["p"] == "", found
    slow = found["syscall.readv p50"]
    assert slow["certain"] == "true" and 0 < float(slow["relative"]), slow
    again = diff_rows(folder, ["was"], ["now"])["syscall.readv p50"]
    assert again["certain"] == "true" and float(again["relative"]) < 0, again
    text = output(PRINT, "--quiet", "--session=now", "--diff=was", cwd=folder)
    assert re.search(r"^syscall\.readv p50 +[\d.]+ ms +[\d.]+ ms +\+.* more ", text, re.M), text
    assert "the longest (max) is not judged" in text, text
    for now, was, code in (("now", "was", 3), ("was", "now", 0)):
        # others' work may make what is not slowed down slower, too, but by less
        done = run(PRINT, "--quiet", f"--session={now}", f"--diff={was}", "--event=latency:syscall.readv",
                   f"--fail-over={float(slow['relative']) * 0.9:.0f}", "--output-format=junit", cwd=folder, code=code)
        case = re.search(r'name="syscall\.readv p50"[^>]*>', done.stdout).group()
        assert case.endswith("/>") == (code == 0), done.stdout
    found = diff_rows(folder, ["now"], ["was"], "--event=latency:syscall.readv")
    assert {name.split()[0] for name in found} == {"wall_time", "cpu_time", "syscall.readv"}, found
    record(folder, "was2", runs=2)
    record(folder, "now2", us="20000", runs=2)
    found = diff_rows(folder, ["now", "now2"], ["was", "was2"])
    assert 0 < float(found["syscall.readv p50"]["relative"]), found
    # of both, in one histogram: the mean of two quantiles
    own = [int(rows(folder, s, "--report=latency", "--event=latency:syscall.readv")[0]["p50_ns"]) for s in ("was", "was2")]
    assert abs(float(found["syscall.readv p50"]["was_count"]) - sum(own) / 2) <= 1, (found, own)


def check_diff_machine(folder):
    """Iterations of the machine, also of a session that samples: amounts per second, latencies are not."""
    for name in ("was", "now"):
        run(CPUPERF, "--event=latency:softirq,latency:run_queue,software:cpu_clock@1000000", "--duration=200ms",
            "--num-iterations=5", f"--output={name}", cwd=folder)
    found = diff_rows(folder, ["now"], ["was"])
    for event in ("softirq", "run_queue"):
        assert found[event]["p"] and found[f"{event} p50"]["p"], found
        own = [int(r["p50_ns"]) for r in rows(folder, "now", "--report=latency", "--sort=iteration")
               if not r["what"] and r["event"] == event]
        assert abs(float(found[f"{event} p50"]["is_count"]) - sum(own) / len(own)) <= 1, (found, own)


def check_omitted(folder):
    """Formats that have no latencies say so, where there are some, and which have."""
    record(folder, runs=1, events=f"{EVENTS},software:cpu_clock@100000")
    for name in ("pprof", "folded", "speedscope", "perf-data", "raw", "chrome", "perfetto", "sqlite", "openmetrics", "html"):
        err = run(PRINT, "--quiet", f"--output-format={name}", "--output-file=x", "s", cwd=folder).stderr
        said = f"--output-format={name} omits latencies: --report=latency prints them\n" in err
        assert said == (name in ("pprof", "folded", "speedscope", "perf-data", "raw")), (name, err)
        assert not said or "\n  hint: formats with latencies: perfetto, chrome, openmetrics, prometheus, sqlite, parquet, html\n" in err, err
    record(folder, "none", runs=1, events="software:cpu_clock@100000")
    assert "omits latencies" not in run(PRINT, "--output-format=folded", "none", cwd=folder).stderr


def check_html(folder):
    """A chart for each event, with the numbers of the report; what it is of can be chosen; two sides of --diff."""
    if not browser.find():
        print("not tested: no Chromium here")
        return
    record(folder, "was", runs=2)
    record(folder, "now", us="20000", runs=2)
    found = rows(folder, "now", "--report=latency")
    for args, nr in ((("now",), 1), (("--session=now", "--diff=was"), 2)):
        output(PRINT, "--quiet", *args, "--output-format=html", "--output-file=page.html", cwd=folder)
        with browser.Browser() as page:
            page.open(f"{folder}/page.html")
            page.assert_quiet()
            titles = page.run("[...document.querySelectorAll('#charts .chart h3')].map((e) => e.textContent)")
            assert titles == [f"syscall.{c}" for c in CALLS], titles
            data = page.run("window.cpuperf.page.data.latencies")
            assert [(x["label"], x["what"]) for x in data] == [(r["event"], r["what"]) for r in found], data
            for x, row in zip(data, found):
                own = x["now"]
                assert (own["count"], own["max"]) == (int(row["count"]), int(row["max_ns"])), (x, row)
                assert sum(own["buckets"][2::3]) == own["count"], x
                for name, ns, low, high in own["quantiles"]:
                    key = name.replace(".", "_")
                    assert abs(ns - int(row[f"{key}_ns"])) <= ns * 1e-5 + 1, (x, row)
                    assert (high is None) == (row[f"{key}_high_ns"] == ""), (x, row)
                assert ("before" in x) == (nr == 2 and x["what"] == ""), x  # other processes, before
            lines = page.run("[...document.querySelectorAll('#charts .chart')].map((e) => e.querySelectorAll('tbody tr').length)")
            assert lines == [nr] * len(CALLS), lines
            # bars are drawn; nothing is asked of samples where there are none
            assert page.run("[...document.querySelectorAll('#charts .chart canvas')].every((c) => c.getContext('2d')"
                            ".getImageData(0, 0, c.width, c.height).data.some((x) => x))")
            assert page.run("['toolbar', 'stacks', 'table'].every((id) => document.getElementById(id).hidden)")
            said = page.run("document.querySelector('#charts .chart .hint').textContent")
            assert said.startswith(f"{2 * NR}, mean "), said
            page.run("(() => { const s = document.querySelector('#charts .chart select'); s.value = 1;"
                     " s.dispatchEvent(new Event('change')); })()")
            said = page.run("document.querySelector('#charts .chart .hint').textContent")
            assert said.startswith(f"{NR}, mean "), said
            page.assert_quiet()


if __name__ == "__main__":
    need_programs()
    run_checks(globals())
