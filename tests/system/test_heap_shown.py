#!/usr/bin/env python3
"""The report heap, and the answer of a session that measures the heap, of programs whose heap is known."""
import csv
import io
import json
import os
import re

from kit import CPUPERF, output, PRINT, run, run_checks

HEAP = os.environ["HEAP"]
KINDS = ("allocated", "live", "peak", "temporary")


def record(folder, *command, rate=1, more=()):
    spec = {"events": [{"group_name": "heap", "event_name": name, "rate": rate, "flags": ["callchain"]}
                       for name in KINDS] + list(more)}
    with open(f"{folder}/h.cpspec", "w", encoding="ascii") as f:
        json.dump(spec, f)
    return run(CPUPERF, f"--spec-file={folder}/h.cpspec", f"--output={folder}/s", "--", *command).stderr


def rows(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap", "--output-format=csv", *options)
    return list(csv.DictReader(io.StringIO(text)))


def check_amounts(folder):
    """Peak, live and allocated bytes of two functions, beside each other; and the answer has them."""
    answer = record(folder, HEAP, "peak")
    found = {r["function"]: r for r in rows(folder)}
    assert set(found) == {"a", "b"}, found
    want = {"a": ("2000000", "0", "2000000", "200"), "b": ("1000000", "1500000", "2000000", "200")}
    for name, (peak, live, allocated, calls) in want.items():
        r = found[name]
        assert (r["peak"], r["live"], r["allocated"], r["allocations"]) == (peak, live, allocated, calls), r
        assert r["peak_low"] == r["peak_high"] == peak and r["leaked"] == "" and r["temporary"] == "0", r
    assert abs(float(found["a"]["share"]) - 200 / 3) < 1e-4, found
    assert "heap: peak 3.000 MB, live 1.500 MB, allocated 4.000 MB in 400 calls" in answer, answer
    assert "samples, 4.000 MB" not in answer, "one table, not one for each event"
    assert answer.count(" heap    a") == 1, answer


def check_peak_time(folder):
    """When the peak was; of several processes that it is a sum, and when the largest one's was."""
    counted = {"group_name": "heap", "event_name": "peak_time"}
    several = f"sleep .5; {HEAP} peak; sleep .5; {HEAP} growing; true"
    for command, sleep_ns in (([HEAP, "peak"], 0), (["sh", "-c", several], 5e8)):
        run("rm", "-rf", f"{folder}/s")
        answer = " ".join(record(folder, *command, more=[counted]).split())
        table = list(csv.DictReader(io.StringIO(output(PRINT, "--quiet", f"{folder}/s", "--report=summary",
                                                       "--output-format=csv"))))
        at = {int(r["value"]) for r in table if r["event"] == "peak_time" and r["value"]}
        wall = max(int(r["end_ns"]) - int(r["start_ns"]) for r in table)
        assert len(at) == 1 and sleep_ns <= min(at) <= wall - sleep_ns, (at, wall)
        found = re.search(r"heap: peak [\d.]+ MB( \(the sum of the peaks of \d+ processes\), the largest one)? at ([\d.]+) (n|u|m|)s", answer)
        assert found and bool(found[1]) == bool(sleep_ns), answer
        assert abs(float(found[2]) * {"n": 1, "u": 1e3, "m": 1e6, "": 1e9}[found[3]] - min(at)) < 1e6, (answer, at)


def check_totals(folder):
    """--sort=total has callers, whose amounts are those of all below them."""
    record(folder, HEAP, "tree")
    by_self = {r["function"]: r["allocated"] for r in rows(folder)}
    by_total = {r["function"]: r["allocated"] for r in rows(folder, "--sort=total,function")}
    assert by_self == {"foo": "1", "bar": "3"}, by_self
    assert (by_total["main"], by_total["tree"], by_total["foo"], by_total["bar"]) == ("4", "4", "2", "3"), by_total


def check_samples(folder):
    """Sums of samples have an interval, which holds the truth of each of two functions in most runs; exact
    ones have none."""
    truth = [int(n) for n in run(HEAP, "shares", "20000").stdout.split()]
    held = 0
    for _ in range(10):
        run("rm", "-rf", f"{folder}/s")
        record(folder, HEAP, "shares", "20000", rate=65536)
        found = {r["function"]: r for r in rows(folder)}
        for name, true in zip("ab", truth):
            r = found[name]
            assert float(r["allocated_low"]) < float(r["allocated"]) < float(r["allocated_high"]), r
            assert r["allocations"] == "", r
            held += float(r["allocated_low"]) <= true <= float(r["allocated_high"])
    assert held >= 16, held
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap")
    assert "±" in text.splitlines()[1] and " samples)" in text.splitlines()[1], text


def check_own_function(folder):
    """What the C and C++ libraries and a program's own xmalloc allocate stands at who called them."""
    source, program = f"{folder}/x.cc", f"{folder}/x"
    with open(source, "w", encoding="ascii") as f:
        f.write("""#include <cstdlib>
#include <cstring>
#include <string>
extern "C" __attribute__((noinline)) void *xmalloc(size_t n) { void *p = std::malloc(n); __asm__ volatile(""); return p; }
__attribute__((noinline)) void by_string() { static std::string s(5000, 'x'); __asm__ volatile(""); }
__attribute__((noinline)) void by_strdup() { static char *volatile p; p = strdup("0123456789"); }
__attribute__((noinline)) void by_wrapper() { static void *volatile p; p = xmalloc(700); __asm__ volatile(""); }
int main() { by_string(); by_strdup(); by_wrapper(); }
""")
    run("c++", "-O1", "-g", "-fno-builtin", "-o", program, source)
    record(folder, program)
    found = {r["function"]: r["allocated"] for r in rows(folder)}
    assert (found["by_string()"], found["by_strdup()"], found["by_wrapper()"]) == ("5001", "11", "700"), found
    assert "xmalloc" not in found, found


def check_refused(folder):
    """A session without samples has no such report; one with other samples has an empty one."""
    output(CPUPERF, "-e", "page_faults", f"--output={folder}/s", "--", "true")
    done = run(PRINT, f"{folder}/s", "--report=heap", code=None)
    assert done.returncode == 1 and "samples" in done.stderr, done
    output(CPUPERF, "-e", "cpu_clock@1000000", f"--output={folder}/t", "--", "true")
    assert "No samples of the heap" in output(PRINT, "--quiet", f"{folder}/t", "--report=heap")
    assert output(PRINT, "--quiet", f"{folder}/t", "--report=heap", "--output-format=csv").count("\n") == 1


run_checks(globals())
