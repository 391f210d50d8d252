#!/usr/bin/env python3
"""Experiments with regions of marks (cpuperf --causal=regions): causal.c has one on which its end depends, with another one in
it, and one on which it does not; all run the same functions.

As in test_causal.py: that the agent counts the time in the region, that the share of it is what the others are slowed down by,
and that they sleep. CPUPERF names the program, EXPERIMENTS the agent.
"""
import csv
import io
import json
import os

from experiment_memory import build, Run, until
from kit import CPUPERF, output, PRINT, programs_missing, run, run_checks

REGIONS = ("outer", "inner", "spare")


def check_others_are_slowed_down(folder):
    program = build(folder)

    def one(chosen):
        r = Run(program, chosen, 50, "regions", "120", "40", regions=REGIONS)
        assert r.status == 0 and r.pid and r.threads == 3 and not r.unsampled, vars(r)
        assert r.ns["outer"] >= r.ns["inner"] and r.ns["spare"] <= r.sampled - r.ns["outer"], vars(r)
        assert abs(r.all - r.ns[chosen] / 2) < 1000 and not any(r.left_open.values()), vars(r)
        return r

    def paid_within(r, chosen, other):
        """Who runs the chosen one is spared that while it is open, and owes nothing; the other thread sleeps in its own."""
        assert abs(r.paid[chosen] - r.all) < 1000, vars(r)
        return r.paid[other] > 0

    # the thread that makes them waits for their end, so it is spared what they have paid
    until(lambda r: 0 < r.all <= r.behind and paid_within(r, "outer", "spare"), lambda: one("outer"))
    # the inner one is half of it, and what follows the spare one as long as that
    until(lambda r: 0.4 < r.ns["inner"] / r.ns["outer"] < 0.6 and 0 < r.all <= r.behind and r.paid["inner"] == r.paid["outer"], lambda: one("inner"))
    # nobody is: who runs the other one has slept, and would not have ended earlier
    until(lambda r: 0 < r.ns["spare"] < 0.7 * (r.sampled - r.ns["outer"]) and
          r.wall >= r.ns["outer"] + r.all <= r.ns["outer"] + r.behind, lambda: one("spare"))


def check_left_open(folder):
    """What does not end in its thread is counted; what another thread ends, ends there with the next mark. What a thread before
    it left open in the same slot is not this one's."""
    program = build(folder)

    def one():
        r = Run(program, "later", 100, "open", "30", "0", regions=("later", "outer", "lost", "passed", "stale"))
        assert r.status == 0 and abs(r.all - r.ns["later"]) < 1000 and not r.ns["stale"], vars(r)
        return r

    until(lambda r: r.left_open == {"later": 0, "outer": 0, "lost": 1, "passed": 1, "stale": 0} and
          all(r.ns[name] for name in ("later", "outer", "lost", "passed")), one)


def check_lost_marks(folder):
    """Where an end may be lost, nothing is open any more."""
    program = build(folder)
    until(lambda r: r.status == 0 and r.ns["outer"] < r.sampled / 2,
          lambda: Run(program, "outer", 50, "full", "60", "0", regions=("outer",)))


def check_names(folder):
    """The program writes them, as long as there is room."""
    program = build(folder)
    until(lambda r: list(r.left_open) == ["spare", "outer"] and 0 < r.all < r.sampled,
          lambda: Run(program, "spare", 100, "regions", "60", "60", regions=("spare", "")))
    until(lambda r: sorted(r.left_open) == sorted(REGIONS),
          lambda: Run(program, "spare", 0, "regions", "60", "60", regions=("spare", "", "", "")))


def check_unloaded(folder):
    """A library with marks that is loaded and unloaded again and again, mostly at one place."""
    library = build(folder, "libloaded.so", "-shared", "-fPIC", "-DLIBRARY")
    program = build(folder)
    os.environ["LOADED"] = library

    def one():
        r = Run(program, "library", 20, "closed", "80", "0", regions=("library", "outer", "inner"))
        assert r.status == 9 and abs(r.all - r.ns["library"] / 5) < 1000, vars(r)
        return r

    until(lambda r: 0.3 < r.ns["library"] / (r.sampled - r.ns["outer"]) < 0.7, one)
    del os.environ["LOADED"]


def rows_of(program, scope, *args):
    return list(csv.DictReader(io.StringIO(output(
        CPUPERF, "-o", "-", f"--causal={scope}", "-r2", *args, "--output-format=csv", "--", program, "regions", "60", "40"))))


def agrees_with_replay(session, rows):
    """The other answer, by the run that was recorded with its marks: that of the report what-if. It may be that none saves any:
    where both threads end at once, neither has a region on which the end depends."""
    if programs_missing():
        assert all(r["recorded"] is None for r in rows), rows
        return
    options = [f"--speedup=region:{r['region']}:{r['speedup']}%" for r in rows]
    found = list(csv.DictReader(io.StringIO(output(PRINT, "--quiet", session, "--report=what-if", "--output-format=csv", *options))))
    assert [r["recorded"] for r in rows] == [float(r["saves_with_callees"]) for r in found], (rows, found)


def check_command(folder):
    program = build(folder)
    document = json.loads(output(CPUPERF, "-o", f"{folder}/s", "--causal=regions", "--speedup=50,100", "-r2", "--output-format=json",
                                 "--", program, "regions", "60", "40"))
    rows = document["reports"][0]["rows"]
    assert {r["region"] for r in rows} == set(REGIONS) and len(rows) == 6, rows
    assert all((r["function"], r["object"], r["source"], r["line"]) == ("", "", "", None) for r in rows), rows
    agrees_with_replay(f"{folder}/s", rows)
    part = {r["region"]: r["on_cpu"] for r in rows}
    # of all runs: outer does 60 of 140 parts
    assert part["outer"] > part["inner"] > 0 < part["spare"] and part["outer"] > 15, part
    with open(f"{folder}/s/cpuperf.cpsession", encoding="utf-8") as f:
        made = json.load(f)["experiments"]
    assert made["functions"] == 3 and all(r["region"] and "function" not in r for r in made["rows"]), made
    text = output(PRINT, "--no-pager", f"{folder}/s", "--report=causal")
    # runs in which threads waited for a CPU are not used: all may be such
    assert not any(r["rounds"] for r in rows) or all(text.count(f"\n{name}\n") == 1 for name in REGIONS), text
    assert "\nregion " in text and "while the region is open on a thread" in text, text
    assert {r["region"] for r in rows_of(program, "regions:[is]*")} == {"inner", "spare"}
    assert rows_of(program, "critical")[0]["region"] == ""


def check_other_tools(folder):
    """Marks of Kokkos, whose library connects at its first one."""
    row, = csv.DictReader(io.StringIO(output(CPUPERF, "-o", "-", "--causal=regions", "-r2", "--output-format=csv", "--", build(folder),
                                             "tool", "60", "0")))
    assert "tool's" in row["region"] and float(row["on_cpu"]) > 50, row


def check_errors(folder):
    program = build(folder)
    for scope, how, messages in [
            ("regions:inne", "regions", ('no region matches "inne"', 'did you mean "inner"?', "outer")),
            ("regions:nothing*", "regions", ('no region matches "nothing*"', "it has: ")),
            ("regions:", "regions", ("names no regions",)),
            ("regions", "join", ("it marks no region", "CPUPERF_BEGIN")),
            ("regions:lost", "open", ("cannot be tried: lost",))]:
        done = run(CPUPERF, "-o-", f"--causal={scope}", "-r2", "--", program, how, "60", "40", code=125)
        assert all(m in done.stderr for m in messages) and done.stderr.count("error:") == 1, (scope, done)
    done = run(CPUPERF, "-o-", "--causal=regions", "-r2", "--", program, "open", "30", "0")
    assert "not tried" in done.stderr and "lost" in done.stderr and "passed" in done.stderr, done
    assert "outer " in done.stdout and "lost" not in done.stdout, done


run_checks(globals())
