#!/usr/bin/env python3
"""What cpuperf_print says of functions that were measured call by call: sums over iterations and sessions, names, what
measuring has added, sampled times. The sessions are real, their functions made (functions_made.py), so that every number is
known."""
import contextlib
import csv
import io
import json
import math
import os
import re
import sqlite3

import browser
import functions_made
import store
from functions_made import bucket, function, low
from kit import CPUPERF, PRINT, on_terminal, output, run, run_checks
from sampled import COUNTED, counted, machine, write_spec

MIX = os.environ["MIX"]
WORK = "_ZN3App4workEi"  # App::work(int)
TIMES = ([1000] * 70 + [5000] * 30, [1100] * 80 + [90000] * 20)


def of_work(i, **other):
    keys = {"cpu_ns": 50_000, "self_ns": 40_000, "cost_ns": 300 * len(TIMES[i]), "obj": "/opt/app/prog", "address": 0x1200}
    return function(WORK, TIMES[i], **{**keys, **other})


def record(folder, name, *by_iteration, label="App*"):
    """A session of so many iterations, with these functions."""
    os.makedirs(f"{folder}/{name}")
    run(CPUPERF, write_spec(f"{folder}/{name}", [counted()], num_iterations=len(by_iteration)), "--duration=5ms", *machine())
    functions_made.add_functions(f"{folder}/{name}/t", {COUNTED: label}, by_iteration)
    return f"{folder}/{name}/s.cpsession"


def rows(folder, *args):
    args = ("--quiet", "--output-format=csv", *args)
    return list(csv.DictReader(io.StringIO(output(PRINT, *args, cwd=folder), newline="")))


def by_name(found):
    return {r["function"]: r for r in found}


def text(*args, columns=80, **how):
    return output(PRINT, "--quiet", "--report=functions", *args, env={"CPUPERF_COLUMNS": str(columns)}, **how)


def check_sums(folder):
    """Of iterations and of sessions; each number is that of all calls."""
    one = record(folder, "one", [of_work(0), function("main", calls=1, obj="/opt/app/prog")], [of_work(1)])
    two = record(folder, "two", [of_work(1, calls=103)])
    for sessions, parts, calls in (([one], (0, 1), 200), ([two], (1,), 103), ([one, two], (0, 1, 1), 303)):
        found = by_name(rows(folder, *sessions, "--report=functions"))
        row, times = found["App::work(int)"], sorted(t for i in parts for t in TIMES[i])
        assert (int(row["calls"]), int(row["timed"])) == (calls, len(times)), row
        assert int(row["wall_ns"]) == sum(times) and int(row["max_ns"]) == times[-1], row
        assert int(row["self_ns"]) == 40_000 * len(parts) and int(row["cpu_ns"]) == 50_000 * len(parts), row
        assert int(row["cost_ns"]) == 300 * len(times), row
        assert int(row["mean_ns"]) == round(sum(times) / len(times)), row
        assert int(row["net_mean_ns"]) == round(sum(times) / len(times)) - 300, row
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            is_at = bucket(times[math.ceil(share * len(times)) - 1])
            assert low(is_at) <= int(row[f"{name}_ns"]) <= max(low(is_at + 1), times[-1]), (name, row)
            assert int(row[f"{name}_low_ns"]) <= int(row[f"{name}_ns"]), (name, row)
        assert (row["event"], row["symbol"], row["object"], row["address"], row["way"]) == \
            ("App*", WORK, "/opt/app/prog", "0x1200", "kernel"), row
        if one in sessions:  # its call has not ended
            main = found["main"]
            assert (main["calls"], main["timed"], main["wall_ns"], main["mean_ns"], main["p50_ns"], main["max_ns"]) == \
                ("1", "0", "0", "", "", ""), main
    only = rows(folder, one, "--report=functions", "--iteration=1")
    assert [(r["function"], r["calls"]) for r in only] == [("App::work(int)", "100")], only
    found = rows(folder, one, two, "--report=functions", "--sort=iteration")
    assert [(r["session"], r["iteration"], r["function"], r["calls"]) for r in found] == \
        [(one, "0", "App::work(int)", "100"), (one, "0", "main", "1"), (one, "1", "App::work(int)", "100"),
         (two, "0", "App::work(int)", "103")], found
    found = rows(folder, one, two, "--report=functions", "--sort=session", "--function=work")
    assert [(r["session"], r["calls"]) for r in found] == [(one, "200"), (two, "103")], found


def check_text(folder):
    """Rows in order, in 80 columns, below what has to be known of them."""
    many = [function(f"f{i:02}", [100], obj="/opt/app/prog", address=i, self_ns=100 - i) for i in range(1, 30)]
    session = record(folder, "s", [of_work(0, calls=102), *many])
    shown = text(session)
    head = "\nFunctions of prog: 131 calls of 30 functions; measured by breakpoints\n" \
        "Measuring added about 300 ns to each call of App::work(int): net is without\n" \
        "2 calls have no time: not ended yet, or nested too deep\n"
    assert shown.startswith(head), shown
    table = shown[len(head):].splitlines()
    assert table[0].split() == "calls time self mean net p50 p99 max function".split(), table
    assert table[1].endswith("  App::work(int)"), table
    assert [line.split()[-1] for line in table[2:-1]] == [f"f{i:02}" for i in range(1, 20)], table
    assert table[-1] == "… 10 more (--top=0 shows all)", table
    narrow, _ = on_terminal(80, PRINT, "--quiet", "--no-pager", session, "--report=functions")
    assert max(map(len, narrow.splitlines())) <= 80 and "App::work(int)" in narrow and "net" in narrow, narrow
    assert text(session, "--function=f0?").startswith("\nFunctions of prog: 9 calls of 9 functions; measured by breakpoints\ncalls "), shown
    assert "No function matches --function: did you mean f01?" in text(session, "--function=f011x"), shown
    assert text(session, "--event=other*", code=None) == ""
    empty = record(folder, "empty", [])
    assert text(empty) == "\nNo functions: events of the group function measure them\n", text(empty)
    assert output(PRINT, "--quiet", empty).count("Functions") == 0


def check_names(folder):
    """Two of one name in a file are told apart by address, of several files by these; what a terminal would act on is
    not in names. Ways are named."""
    twins = [function("init", [t], obj="/opt/app/prog", address=a) for t, a in ((10, 0x10), (20, 0x20))]
    others = [function("_ZN1AC2Ev", [30], obj="/opt/app/prog", address=0x30), function("_ZN1AC1Ev", [40], obj="/opt/app/prog", address=0x30),
              function("\033[2Jx", [50], obj="/opt/lib/libx.so.1", way=functions_made.PATCHED), function("far", [60], obj="/opt/lib/libx.so.1", way=77)]
    session = record(folder, "s", twins + others)
    shown = text(session, columns=200)
    assert "init (0x10)" in shown and "init (0x20)" in shown and shown.count("A::A()\n") == 2, shown
    assert "\033" not in shown and "libx.so.1" in shown and "Functions: 6 calls of 6 functions; measured by " \
        "another way, breakpoints, patched entries\n" in shown, shown
    found = rows(folder, session, "--report=functions")
    assert sorted(r["function"] for r in found if r["object"] == "/opt/app/prog") == ["A::A()", "A::A()", "init", "init"], found
    assert sorted(r["way"] for r in found) == ["kernel"] * 4 + ["other", "patched"], found


def check_sampled(folder):
    """A function whose calls were only counted has the time that was sampled in it, which is that of its rows in
    --report=flat; one without samples may have run between two of them."""
    session, calls = f"{folder}/s", 1000
    run(CPUPERF, "--event=software:page_faults,cpu_clock@100000", "--output=s", "--", MIX, "rounds", "300", "1", cwd=folder)
    of = [function(name, calls=calls, obj=MIX, address=i, has_times=False) for i, name in
          enumerate(("work_a", "work_b", "absent"))]
    of.append(function("run", [2000] * 10, obj=MIX, address=9))
    of += [function("work_c", calls=5, obj=MIX, address=a, has_times=False) for a in (70, 80)]  # two of one name
    functions_made.add_functions(f"{session}/cpuperf", {"page_faults": "work*"}, [of])
    found = by_name(rows(folder, "s", "--report=functions"))
    flat = by_name(r for r in rows(folder, "s", "--report=flat") if r["object"] == "mix")
    for name in ("work_a", "work_b"):
        row = found[name]
        assert abs(int(row["sampled_self_ns"]) - int(flat[name]["self_count"])) <= 1, (row, flat[name])
        assert int(row["sampled_self_ns_low"]) < int(row["sampled_self_ns"]) < int(row["sampled_self_ns_high"]), row
        assert abs(int(row["sampled_mean_ns"]) - int(row["sampled_self_ns"]) / calls) <= 1 and row["wall_ns"] == "", row
    assert found["absent"]["sampled_self_ns"] == "0" and int(found["absent"]["sampled_self_ns_high"]) > 100_000, found
    assert found["run"]["sampled_self_ns"] == "" and found["work_c"]["sampled_self_ns"] == "", found
    shown = text("s", cwd=folder)
    assert "Calls of some functions were counted, not timed: their times are sampled\n" in shown, shown
    lines = [line.split()[-1] for line in shown.splitlines() if re.search(r" (work_a|work_b|run)$", line)]
    assert lines == ["work_a", "work_b", "run"], shown
    part = rows(folder, "s", "--report=functions", "--comm=mix")  # of calls it is not known whose they are
    assert by_name(part)["work_a"]["sampled_self_ns"] == "", part


def check_answer(folder):
    """After a command, in its document, and in the summary."""
    run(CPUPERF, "--event=software:page_faults", "--output=s", "--", "true", cwd=folder)
    many = [function(f"f{i:02}", [100], address=i, self_ns=100 - i) for i in range(1, 15)]
    functions_made.add_functions(f"{folder}/s/cpuperf", {"page_faults": "f*"}, [[of_work(0, obj="/usr/bin/prog"), *many]])
    for args in (), ("--report=summary",):
        shown = output(PRINT, "--quiet", "s", *args, cwd=folder)
        assert shown.count("\nFunctions of prog: 114 calls of 15 functions; ") == 1 and "… 5 more (--top=0 shows all)" in shown, shown
    assert "f*" in shown[:shown.index("\nFunctions")], shown  # the number of calls
    document = json.loads(output(PRINT, "--quiet", "s", "--output-format=json", cwd=folder))
    table, = [t for t in document["tables"] if t["report"] == "functions"]
    assert table["rows"][0]["function"] == "App::work(int)" and table["rows"][0]["calls"] == 100, table
    assert len(table["rows"]) >= 8 and len(table["rows"]) + table["left_out"] == 10, table  # of those of an answer


def check_exports(folder):
    """A table of SQLite and of the store has the rows of --sort=iteration; buckets are those of the calls."""
    session = record(folder, "s", [of_work(0, calls=102), function("plain", calls=7, has_times=False, address=2**63 + 5)],
                     [of_work(1)])
    names = ("iteration", "event", "function", "symbol", "object", "way", "calls", "timed", "wall_ns", "self_ns", "cpu_ns",
             "max_ns", "cost_ns")
    quantiles = ("p50_ns", "p90_ns", "p99_ns", "p99_9_ns")
    own = rows(folder, session, "--report=functions", "--sort=iteration")
    own = sorted([[r[n] for n in names] + [int(r["address"], 16)] + [int(r[n] or -1) for n in quantiles] for r in own])
    columns = ", ".join(f"f.{n}" for n in (*names, "address", *quantiles)).replace("f.event", "{}")
    buckets = "SELECT sum(b.count), min(b.low_ns), max(b.high_ns) FROM function_calls f JOIN function_call_buckets b" \
        " USING(function_call) GROUP BY f.iteration ORDER BY 2, 3"
    run(PRINT, "--quiet", session, "--output-format=sqlite", "--output-file=x.db", cwd=folder)
    with contextlib.closing(sqlite3.connect(f"{folder}/x.db")) as db:
        found = {"sqlite": (db.execute(f"SELECT {columns.format('e.label')} FROM function_calls f JOIN events e USING(event)"
                                       ).fetchall(), db.execute(buckets).fetchall())}
    if store.missing():
        print(f"skip: the store: {store.missing()}")
    else:
        run(PRINT, "--quiet", session, "--output-format=parquet", "--output-file=store", cwd=folder)
        got = store.query(f"{folder}/store", f"SELECT {columns.format('f.event')} FROM function_calls f", buckets)
        found["parquet"] = tuple(g.rows for g in got)
    for name, (calls, of_calls) in found.items():
        calls = sorted([["" if v is None else str(v) for v in r[:13]] + [int(r[13])] +
                        [-1 if v is None else round(float(v)) for v in r[14:]] for r in calls])
        assert calls == own, (name, calls, own)
        assert [[int(v) for v in r] for r in of_calls] == [
            [100, low(bucket(t[0])), low(bucket(max(t)) + 1)] for t in TIMES], (name, of_calls)


def check_metrics(folder):
    """Sums over all iterations, in both texts; of a function without times its calls alone."""
    session = record(folder, "s", [of_work(0, calls=102), function("plain", calls=7, has_times=False, address=5, way=3)],
                     [of_work(1)])
    wall = sum(map(sum, TIMES))
    work = 'event="App*",function="App::work(int)",object="/opt/app/prog",address="0x1200",way="kernel"'
    wanted = [f"calls_total{{{work}}} 202", f"timed_calls_total{{{work}}} 200", f"seconds_total{{{work}}} {wall / 1e9:.9f}",
              f"self_seconds_total{{{work}}} 0.000080000", f"cpu_seconds_total{{{work}}} 0.000100000",
              f"cost_seconds_total{{{work}}} 0.000060000",
              'calls_total{event="App*",function="plain",object="/usr/bin/prog",address="0x5",way="compiled"} 7']
    for form in ("openmetrics", "prometheus"):
        lines = output(PRINT, "--quiet", session, f"--output-format={form}", cwd=folder).splitlines()
        found = [" ".join(line.split(" ")[:2]) if form == "prometheus" else line.rpartition(" ")[0] for line in lines
                 if line.startswith("cpuperf_functions_")]
        assert sorted(found) == sorted(f"cpuperf_functions_{w}" for w in wanted), (form, found)


def check_omitted(folder):
    """Formats that have no functions say so, where there are some, and which have."""
    session = record(folder, "s", [of_work(0)])
    for name in ("raw", "chrome", "perfetto", "sqlite", "openmetrics", "html"):
        err = run(PRINT, "--quiet", f"--output-format={name}", "--output-file=x", session, cwd=folder).stderr
        said = f"--output-format={name} omits functions: --report=functions prints them\n" \
            "  hint: formats with functions: openmetrics, prometheus, sqlite, parquet, html\n" in err
        assert said == (name in ("raw", "chrome", "perfetto")), (name, err)


def check_damaged(folder):
    """A frame that cannot be right is reported, and what is right is printed."""
    good, other = function("good", [10] * 3), function("other", [10], event=77)
    for name, bad in (("event", other), ("name", function("", [10])), ("cut", good[:-3])):
        session = record(folder, name, [good, bad])
        done = run(PRINT, "--quiet", session, "--report=functions", code=1)
        assert "good" in done.stdout and "1 function;" in done.stdout and done.stderr.count("error: ") == 1, (name, done)


def check_diff(folder):
    """Quantiles of the functions with most time now, of replicates; a change beyond chance is found. An event that is called
    as its function has no other name."""
    def times(base):
        return [base + i for i in range(200)]

    def sessions(name, base):
        few = [function(f"f{i:02}", [50 + i] * 3, obj=f"/{name}/prog", address=i) for i in range(20)]
        return record(folder, name, *[[function("work", times(base + 10 * i), obj=f"/{name}/prog", address=base), *few]
                                      for i in range(6)], label="work")

    was, now = sessions("was", 5000), sessions("now", 9000)
    found = {r["event"]: r for r in rows(folder, f"--session={now}", f"--diff={was}", "--report=diff")}
    row = found["work p50"]
    assert 5100 < float(row["was_count"]) < 5150 and 9100 < float(row["is_count"]) < 9150, row
    is_judged = not machine()  # of a target that goes on the iterations are one run
    assert row["certain"] == ("true" if is_judged else "false") and 70 < float(row["relative"]) < 90, row
    assert found["work max"]["p"] == "" and {"work, f19 max", "work, f11 max"} <= set(found), found
    assert "work, f10 max" not in found and ("work, f19 p50" in found) != is_judged, found  # too few calls for an interval
    text = output(PRINT, "--quiet", f"--session={now}", f"--diff={was}")
    assert "Of functions the ten with the most time are compared.\n" in text, text


def check_html(folder):
    """A chart of each event, with the functions that took most time; with --diff both sides."""
    if not browser.find():
        print("not tested: no Chromium here")
        return
    many = [function(f"f{i:02}", [10 * i], address=i) for i in range(1, 30)]
    now = record(folder, "now", [of_work(0), *many], [of_work(1)])
    was = record(folder, "was", [of_work(1), function("f01", [7, 7], address=1), function("gone", [5], address=2)])
    for args, before in ((), {}), ((f"--diff={was}",), {"": 103, "App::work(int)": 100}):
        output(PRINT, "--quiet", f"--session={now}", *args, "--output-format=html", f"--output-file={folder}/page.html")
        with browser.Browser() as page:
            page.open(f"{folder}/page.html")
            page.assert_quiet()
            assert page.run("[...document.querySelectorAll('#charts .chart h3')].map((e) => e.textContent)") == ["App*"]
            data = page.run("window.cpuperf.page.data.latencies")
            assert [x["what"] for x in data] == ["", "App::work(int)"] + [f"f{i:02}" for i in range(29, 10, -1)], data
            every, work = data[0]["now"], data[1]["now"]
            assert every["count"] == 200 + 29 and sum(every["buckets"][2::3]) == every["count"], every
            assert (work["count"], work["max"]) == (200, 90000), work
            assert abs(work["mean"] - sum(map(sum, TIMES)) / 200) < 0.01 * work["mean"], work
            assert {x["what"]: x["before"]["count"] for x in data if "before" in x} == before, data


run_checks(globals())
