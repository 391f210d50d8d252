#!/usr/bin/env python3
"""The report heap, and the answer of a session that measures the heap, of programs whose heap is known."""
import collections
import contextlib
import csv
import gzip
import io
import json
import os
import re
import signal
import sqlite3

import browser
from kit import CPUPERF, output, PRINT, run, run_checks

HEAP = os.environ["HEAP"]
KINDS = ("allocated", "live", "peak", "temporary")


def record(folder, *command, rate=1, more=(), code=0):
    spec = {"events": [{"group_name": "heap", "event_name": name, "rate": rate, "flags": ["callchain"]}
                       for name in KINDS] + list(more)}
    with open(f"{folder}/h.cpspec", "w", encoding="ascii") as f:
        json.dump(spec, f)
    return run(CPUPERF, f"--spec-file={folder}/h.cpspec", f"--output={folder}/s", "--", *command, code=code).stderr


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
    assert "\n\nheap: " in answer and "\n\n\n" not in answer, answer  # no place for counts, of which there are none
    assert answer.count(" heap    a") == 1, answer


def expect_mostly(trial, nr, least):
    """Of intervals of 95 %: in nr trials at least that share of them holds the truth. Chance alone may miss that: then
    that of four times as many decides, or of twenty: of 100 intervals fewer than 80 do once in 10^8. trial() yields
    of what each is, and whether it did; those of one thing are counted together."""
    held = collections.defaultdict(list)
    for times in (1, 3, 16):
        for _ in range(times * nr):
            for what, is_held in trial():
                held[what].append(is_held)
        if all(sum(h) >= least * len(h) for h in held.values()):
            return
    raise AssertionError({what: (sum(h), len(h)) for what, h in held.items()})


def check_without_samples(folder):
    """A program that allocates too little for a sample: what to type is said, not where all is sampled or a selection has none."""
    answer = record(folder, HEAP, "peak", rate=1 << 40)
    assert "No samples of the heap\nOne is taken per 1.100 TB; --event=heap:live@1,heap:leaked@1 --callgraph " in answer, answer
    assert "One is taken" not in output(PRINT, "--quiet", f"{folder}/s", "--report=heap", "--output-format=csv")
    record(folder, HEAP, "peak", rate=4096)
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap", "--comm=none")
    assert "No samples of the heap" in text and "One is taken" not in text, text


def check_page(folder):
    """The page's functions are those of the report: who called what allocates (bash has a function for that)."""
    if not browser.find():
        print("skip: page of the heap: no chromium (scripts/deps test)")
        return
    record(folder, "bash", "-c", "for i in {1..50}; do a[i]=$i; done")
    output(PRINT, "--quiet", f"{folder}/s", "--output-format=html", f"--output-file={folder}/page.html")
    with browser.Browser() as page:
        page.open(f"{folder}/page.html")
        assert page.run("document.getElementById('event').selectedOptions[0].textContent").startswith("allocated ")
        shown = {(r["name"], r["object"]): r["self"][0] for r in page.run("cpuperf.functions()") if r["self"][0]}
        assert "called what allocates" in page.run("document.getElementById('counted').textContent")
        page.assert_quiet()
    found = {(r["function"], r["object"]): int(r["allocated"]) for r in rows(folder, "--top=0")}
    assert shown == found and "xmalloc" not in {name for name, _ in found}, (shown, found)


def check_leaked(folder):
    """What is live at the end is said to be leaked, though it has no column; a few samples have a range, and rows without
    a sample no share."""
    leaked = {"group_name": "heap", "event_name": "leaked", "rate": 1, "flags": ["callchain"]}
    answer = record(folder, HEAP, "peak", more=[leaked])
    assert "live 1.500 MB, all of it leaked, allocated" in answer, answer
    for _ in range(20):
        run("rm", "-rf", f"{folder}/s")
        answer = record(folder, HEAP, "peak", rate=1 << 20, more=[{**leaked, "rate": 1 << 20}])
        assert not re.search(r"± \d{3,}[\d.]* %", answer.split("\nheap: ")[-1].split("\n")[0]), answer
        assert "0.00 % ±" not in answer and " 0.0 % ±" not in answer, answer
        if re.search(r"^heap: .*[\d.]+ MB \([\d.]+ [kMG]?B to [\d.]+ [kMG]?B\)", answer, re.M):
            return
    assert False, answer


LOST = """#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static char *make(size_t n)
{
	char *p = malloc(n); /* line 5 */

	return memset(p, 1, n);
}
__attribute__((noinline)) static void lose(void)
{
	char *volatile p = make(1000); /* line 11 */

	(void)p;
}
int main(void)
{
	for (int i = 0; i < 40; i++) {
		char *volatile p = make(500);

		lose();
		free(p);
	}
	return 0;
}
"""


def check_who_loses(folder):
    """A leak names the caller of what allocates, and both lines; what else the function allocates is not lost."""
    with open(f"{folder}/lost.c", "w", encoding="ascii") as f:
        f.write(LOST)
    run("cc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", f"{folder}/lost", f"{folder}/lost.c")
    answer = run(CPUPERF, "-e", "heap:leaked@1,heap:allocated@1", "-g", f"--output={folder}/s", "--", f"{folder}/lost").stderr
    assert re.search(r"^ *leaked +called from +allocated in\n *40,000 B +lose lost\.c:11 +make lost\.c:5$", answer, re.M), answer
    answer = record(folder, HEAP, "peak")
    assert "called from" not in answer, answer


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


def peaks(folder, program, rate):
    run("rm", "-rf", f"{folder}/s")
    said = record(folder, HEAP, program, "20000", rate=rate)
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=summary", "--output-format=csv")
    total = next(int(r["value"]) for r in csv.DictReader(io.StringIO(text)) if r["event"] == "peak" and r["value"])
    heading = next(line for line in output(PRINT, "--quiet", f"{folder}/s", "--report=heap").splitlines() if line.startswith("heap: "))
    m = re.search(r"peak [\d.,]+ .?B(?: ± ([\d.]+) %)?", heading)
    return {r["function"]: r for r in rows(folder)}, total, float(m[1] or 0) / 100, said


def check_peak_of_samples(folder):
    """The moment of the peak is none where more happens to be sampled: the error holds the truth of each function and of
    their sum. Of a forked child, whose blocks of before are not known, it is; which is said."""
    for program in ("plateau", "waves"):
        truth, all_, _, _ = peaks(folder, program, 1)

        def trial(program=program, truth=truth, all_=all_):
            found, total, half, said = peaks(folder, program, 65536)
            assert "largest estimate" not in said, said
            for name in "ab":
                r = found.get(name)
                true = float(truth[name]["peak"])
                yield name, float(r["peak_low"]) <= true <= float(r["peak_high"]) if r else true < 3.7 * 65536
            yield "total", abs(total - all_) <= half * total
        expect_mostly(trial, 12, 0.75)
    said = peaks(folder, "forked", 65536)[3]
    assert "moment is that of the largest estimate" in " ".join(said.split()), said


def growth(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=csv", *options)
    return {(r["event"], r["function"]): r for r in csv.DictReader(io.StringIO(text))}


def check_growth(folder):
    """Between two dumps of one session 100 blocks of 3000 bytes leak and one of 70,000 is freed; that is found, with
    its path. The same of another session's dump, as page, and with samples, whose error holds the truth."""
    record(folder, HEAP, "dumps", "100")
    path = "main;dumps;between_dumps"
    found = growth(folder, "--iteration=1", "--diff=@0")
    assert {k: (int(r["change"]), float(r["change_half"]), int(r["was_samples"]), int(r["is_samples"])) for k, r in found.items()} == {
        ("live", "between_dumps"): (300000, 0, 0, 100), ("live", "dumps"): (-70000, 0, 1, 0),
        ("live", "before_dumps"): (0, 0, 10, 10)}, found
    leak = found["live", "between_dumps"]
    assert leak["stack"].endswith(path) and (leak["was"], leak["is"]) == ("0", "300000"), leak
    text = output(PRINT, "--quiet", f"{folder}/s", "--iteration=1", "--diff=@0")
    assert "live: 310.0 kB now, 80,000 B before; 1 stack has more by 300.0 kB, 1 less by 70,000 B" in text, text
    assert re.search(r"^\+300\.0 kB +300\.0 kB +100 +between_dumps < dumps < main", text, re.M), text
    assert "before_dumps" not in text, text
    # an event that is chosen; the last iteration, if none is; the dump of another session
    found = growth(folder, "--iteration=1", "--diff=@0", "--event=allocated")
    assert found["allocated", "between_dumps"]["change"] == "300000" and ("live", "dumps") not in found, found
    assert growth(folder, "--diff=@0")["live", "after_dumps"]["change"] == "50000"
    run("cp", "-r", f"{folder}/s", f"{folder}/old")
    done = run(PRINT, "--quiet", f"{folder}/s", f"--diff={folder}/old", code=None)
    assert done.returncode == 1 and "compare iterations of one" in done.stderr, done
    run("rm", "-rf", f"{folder}/old", f"{folder}/s@0")
    run("mv", f"{folder}/s", f"{folder}/old")
    record(folder, HEAP, "dumps", "30")
    for old in (f"{folder}/old@1", f"{folder}/old@0-1"):
        found = growth(folder, "--iteration=1", f"--diff={old}")
        assert found["live", "between_dumps"]["change"] == str(90000 - 300000), found
    found = growth(folder, "--report=heap", f"--diff={folder}/old")  # at the end of both
    assert found["live", "between_dumps"]["change"] == str(90000 - 300000) and len(found) == 3, found
    page = output(PRINT, "--quiet", f"{folder}/s", "--iteration=1", "--diff=@0", "--output-format=html")
    assert "between_dumps" in page and "0 of 3 iterations" in page, len(page)
    for options, text in ((["--diff=@3"], "it has 3 iterations"), (["--diff=@1-0"], "is not a list of numbers"),
                          (["--iteration=7", "--diff=@0"], "it has 3 iterations"),
                          ([f"{folder}/old", "--diff=@1"], "of which session")):
        done = run(PRINT, "--quiet", f"{folder}/s", *options, code=None)
        assert done.returncode and text in done.stderr, done

    def trial():
        run("rm", "-rf", f"{folder}/s")
        record(folder, HEAP, "dumps", "1000", rate=30000)
        r = growth(folder, "--iteration=1", "--diff=@0")["live", "between_dumps"]
        assert 0 < float(r["change_half"]) < 1500000, r
        yield "between_dumps", abs(int(r["change"]) - 3000000) <= float(r["change_half"])
    expect_mostly(trial, 5, 0.8)


SIZES = """
#include <pthread.h>
#include <stdlib.h>
#include "cpuperf/heap.h"
static void *volatile kept[400];
static void *volatile keep;
static void *run(void *arg)
{
	for (int i = 0; i < 100; i++) {
		kept[4 * i] = malloc(20);
		kept[4 * i + 1] = malloc(31);
		kept[4 * i + 2] = malloc(32);
		kept[4 * i + 3] = malloc(0);
	}
	return arg;
}
/* The key's destructor runs after the agent's: what it frees is freed by a thread without a slot. */
static void late(void *arg)
{
	static __thread int again;
	if (again++ < 3)
		pthread_setspecific(*(pthread_key_t *)arg, arg);
	else
		free(kept[2]), kept[2] = NULL;
}
static void *free_late(void *arg)
{
	free(malloc(5000));
	pthread_setspecific(*(pthread_key_t *)arg, arg);
	return arg;
}
int main(void)
{
	static pthread_key_t key;
	pthread_t t;
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	cpuperf_heap_dump();
	for (int i = 0; i < 100; i++)
		free(kept[4 * i]);
	keep = malloc(1 << 20);
	keep = malloc(5000);
	free(keep);
	pthread_key_create(&key, late);
	pthread_create(&t, NULL, free_late, &key);
	pthread_join(t, NULL);
	return 0;
}
"""


def bytes_by_size(count):
    """What the program "shares" allocates, of classes that have many samples."""
    x, found = 88172645463325252, {}
    for _ in range(count):
        x ^= x << 13 & (1 << 64) - 1
        x ^= x >> 7
        x ^= x << 17 & (1 << 64) - 1
        n = x % 64 + 1 if x >> 40 & 1 else x % 20000 + 1
        low = 1 << n.bit_length() - 1
        found[low] = found.get(low, 0) + n
    return {low: n for low, n in found.items() if n > 100 * 65536}


def sizes(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=sizes", "--output-format=csv", *options)
    return {int(r["from"]): r for r in csv.DictReader(io.StringIO(text))}


def check_sizes(folder):
    """Calls, bytes, and what is live, by powers of two: of a thread that has ended, by what another one frees, and
    by one that frees when it ends; of each iteration, and of samples, which are those of the other tables."""
    source, program = f"{folder}/x.c", f"{folder}/x"
    with open(source, "w", encoding="ascii") as f:
        f.write(SIZES)
    run("cc", "-O1", "-g", "-fno-builtin", "-pthread", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, source)
    record(folder, program)
    first = {k: [int(r[n]) for n in ("calls", "allocated", "live_calls", "live")] for k, r in sizes(folder, "--iteration=0").items()}
    assert first[0] == [100, 0, 100, 0] and first[32][:3] == [100, 3200, 100] and first[16] == [200, 5100, 200, 5100], first
    assert 4096 not in first and 1 << 20 not in first, first
    last = {k: [int(r[n]) for n in ("calls", "allocated", "live_calls", "live")] for k, r in sizes(folder).items()}
    assert last[0] == first[0] and last[16] == [200, 5100, 100, 3100], last
    assert last[32] == [100, 3200, 99, 3168] and last[1 << 20] == [1, 1 << 20, 1, 1 << 20] and last[4096] == [2, 10000, 0, 0], last
    output(PRINT, "--quiet", f"{folder}/s", "--output-format=sqlite", f"--output-file={folder}/s.db")
    with contextlib.closing(sqlite3.connect(f"{folder}/s.db")) as db:
        of = {k: list(r) for k, *r in db.execute("SELECT from_bytes, calls, bytes, live_calls, live_bytes FROM heap_sizes WHERE iteration = 0")}
        assert of == first, (of, first)
        of = {k: list(r) for k, *r in db.execute("""SELECT from_bytes, sum(calls), sum(bytes),
            sum(live_calls) FILTER (WHERE iteration = (SELECT max(iteration) FROM heap_sizes)),
            sum(live_bytes) FILTER (WHERE iteration = (SELECT max(iteration) FROM heap_sizes)) FROM heap_sizes GROUP BY 1""")}
        assert {k: [n or 0 for n in r] for k, r in of.items()} == last, (of, last)
        assert list(db.execute("SELECT DISTINCT to_bytes FROM heap_sizes WHERE from_bytes IN (0, 16) ORDER BY 1")) == [(0,), (31,)]
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=openmetrics")
    of = {}
    for name, low, high, value in re.findall(r'^cpuperf_heap_size_(\w+)\{from_bytes="(\d+)",to_bytes="(\d+)"\} (\d+)', text, re.M):
        assert int(high) == max(2 * int(low) - 1, 0), (low, high)
        of.setdefault(int(low), {})[name] = int(value)
    assert {k: [r[n] for n in ("calls_total", "bytes_total", "live_calls", "live_bytes")] for k, r in of.items()} == last, (of, last)
    assert sizes(folder)[16]["to"] == "31" and sizes(folder)[16]["allocated_low"] == "5100", last
    all_ = sum(int(r["allocated"]) for r in rows(folder))
    assert all_ == sum(r[1] for r in last.values()), (all_, last)
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap")
    assert re.search(r"^16 to 31 +[\d.]+ % +5,100 B +200 +3,100 B +100$", text, re.M), text
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap", "--rows=12")
    assert re.search(r"^allocated by size: [\d.]+ % 1,048,576 to 2,097,151 bytes, [\d.]+ % 4,096 to 8,191, ", text, re.M), text
    assert len(text.splitlines()) <= 12, text
    assert "No latencies" in output(PRINT, "--quiet", f"{folder}/s", "--report=latency")
    truth = bytes_by_size(20000)

    def trial():
        run("rm", "-rf", f"{folder}/s")
        record(folder, HEAP, "shares", "20000", rate=65536)
        found = sizes(folder)
        for low, true in truth.items():
            r = found[low]
            assert float(r["allocated_low"]) < int(r["allocated"]) < float(r["allocated_high"]), r
            yield "sizes", float(r["allocated_low"]) <= true <= float(r["allocated_high"])
    expect_mostly(trial, 5, 0.8)


def check_bands(folder):
    """With --top, how many functions hold how much; in text only."""
    record(folder, HEAP, "bands")
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap", "--top=2")
    assert "\nFunctions by share of peak: 1 of at least 1 %, 2 of 0.5 to 1 %, 1 of 0.1 to 0.5 %, 3 of less\n" in text, text
    assert "by share" not in output(PRINT, "--quiet", f"{folder}/s", "--report=heap")
    assert "Rows by share of peak: 1 of" in output(PRINT, "--quiet", f"{folder}/s", "--report=heap", "--top=2", "--sort=comm,function")
    assert len(rows(folder, "--top=2")) == 2


def check_lifetimes(folder):
    """How long what was freed had lived, by the function that allocated it: a function of its own in all reports, and a
    table. The clock never says less than was slept; others may make it more."""
    kind = {"group_name": "heap", "event_name": "lifetime", "rate": 1, "flags": ["callchain"]}
    record(folder, HEAP, "lives", more=[kind])
    found = {r["function"]: r for r in csv.DictReader(io.StringIO(output(
        PRINT, "--quiet", f"{folder}/s", "--report=lifetimes", "--output-format=csv")))}
    assert {k: (r["freed"], r["calls"]) for k, r in found.items()} == {
        "lives_briefly": ("1000000", "10000"), "lives_20_ms": ("10000", "10"), "lives_1_s": ("20000", "10")}, found
    assert int(found["lives_briefly"]["brief"]) > 900000, found
    assert list(found)[0] == "lives_briefly", found
    late = found["lives_20_ms"]
    assert sum(int(late[k]) for k in ("below_100ms", "below_1s", "above_1s")) == 10000 and late["brief"] == "0", late
    assert found["lives_1_s"]["above_1s"] == "20000", found
    for r in found.values():
        assert sum(int(v) for k, v in r.items() if k.startswith(("below", "above"))) == int(r["freed"]), r
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=callers", "--event=lifetime")
    assert re.search(r"\[lived 1 s or longer\]", text) and "lives_1_s" in text, text
    folded = output(PRINT, "--quiet", f"{folder}/s", "--event=lifetime", "--output-format=folded")
    assert re.search(r";lives_1_s;\[lived 1 s or longer\] 20000$", folded, re.M), folded
    shown = output(PRINT, "--quiet", f"{folder}/s", "--report=heap")
    assert re.search(r"^lifetimes: freed 1\.030 MB in 10,020 calls, of which 9\d\.\d % lived less than 1 ms$", shown, re.M), shown
    assert re.search(r"^ +9\d.* lives_briefly$", shown, re.M), shown
    # estimates from samples
    run("rm", "-rf", f"{folder}/s")
    record(folder, HEAP, "lives", rate=1000, more=[dict(kind, rate=1000)])
    r = next(csv.DictReader(io.StringIO(output(PRINT, "--quiet", f"{folder}/s", "--report=lifetimes", "--output-format=csv"))))
    assert r["function"] == "lives_briefly" and 5e5 < int(r["brief"]) < 2e6, r
    assert int(r["brief_low"]) < int(r["brief"]) < int(r["brief_high"]), r


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

    def trial():
        run("rm", "-rf", f"{folder}/s")
        record(folder, HEAP, "shares", "20000", rate=65536)
        found = {r["function"]: r for r in rows(folder)}
        for name, true in zip("ab", truth):
            r = found[name]
            assert float(r["allocated_low"]) < float(r["allocated"]) < float(r["allocated_high"]), r
            assert r["allocations"] == "", r
            yield "shares", float(r["allocated_low"]) <= true <= float(r["allocated_high"])
    expect_mostly(trial, 10, 0.8)
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap")
    assert "±" in text.splitlines()[1] and " samples)" in text.splitlines()[1], text
    # that is counted, not estimated, and what is freed at once is a part of it
    shown = re.search(r"allocated ([\d.]+) MB \(.*, temporary ([\d.]+) MB ± ", text.splitlines()[1])
    allocated, temporary = (sum(int(r[name]) for r in rows(folder)) for name in ("allocated", "temporary"))
    assert abs(float(shown[2]) - float(shown[1]) * temporary / allocated) <= 0.001 * float(shown[2]), (text, allocated, temporary)


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
    found = {k[1]: r["is"] for k, r in growth(folder, "--diff=@0").items()}
    assert (found["by_strdup()"], found["by_wrapper()"]) == ("11", "700"), found


def check_not_measured(folder):
    """What is not known is no number: of a program with a malloc of its own, whose heap no sample has; of pages of a process that
    a signal ended; of CPUs, as the heap is of processes."""
    with open(f"{folder}/own.c", "w", encoding="ascii") as f:
        f.write("""#include <stddef.h>
static char all[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = all + used; used += (n + 15) & ~15ul; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
int main(void) { return malloc(100) == NULL; }
""")
    run("cc", "-O1", "-fno-builtin", "-o", f"{folder}/own", f"{folder}/own.c")
    said = " ".join(record(folder, f"{folder}/own").split())
    assert "1 process calls a malloc of its own" in said, said
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=summary", "--output-format=csv")
    values = {r["value"] for r in csv.DictReader(io.StringIO(text)) if r["event"] == "live"}
    assert values == {""}, text
    run("rm", "-rf", f"{folder}/s")
    said = record(folder, HEAP, "killed", more=[{"group_name": "heap", "event_name": "resident"}], code=128 + signal.SIGKILL)
    assert "malloc of" not in said and "1 process ended without a look at the pages" in " ".join(said.split()), said
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=summary", "--output-format=csv")
    values = {(r["event"], r["value"]) for r in csv.DictReader(io.StringIO(text)) if r["event"] in ("resident", "live")}
    assert ("live", "1234") in values and not any(e == "resident" and v for e, v in values), values
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=series", "--output-format=csv")
    assert {r["cpu"] for r in csv.DictReader(io.StringIO(text)) if r["group"] == "heap"} == {"all"}, text
    text = output(CPUPERF, "--check-spec", "--spec-file=heap")
    assert "9 of 9 event(s) work here, 9 of them with a target" in text, text


def check_go_types(folder):
    """pprof's types are those of Go's heap profiles; objects are not counted by samples."""
    for rate, wanted in ((1, [b"alloc_objects", b"alloc_space", b"inuse_objects", b"inuse_space"]),
                         (65536, [b"alloc_space", b"allocated_samples", b"inuse_space", b"live_samples"])):
        run("rm", "-rf", f"{folder}/s")
        record(folder, HEAP, "shares", "20000", rate=rate)
        output(PRINT, "--quiet", f"{folder}/s", "--output-format=pprof", f"--output-file={folder}/{rate}.pb.gz")
        with gzip.open(f"{folder}/{rate}.pb.gz") as f:
            data = f.read()
        assert sorted(set(re.findall(rb"(?:alloc|inuse|allocated|live)_[a-z]+", data))) == wanted, data


def check_deep_stacks(folder):
    """What the agent cuts is no limit of the kernel."""
    with open(f"{folder}/x.c", "w", encoding="ascii") as f:
        f.write("""#include <stdlib.h>
static void *volatile k;
__attribute__((noinline)) int f(int n) { int r; if (!n) { k = malloc(100); return 1; } r = f(n - 1); __asm__ volatile(""); return r; }
int main(int c, char **v) { return !f(atoi(v[c - 1])); }
""")
    run("cc", "-O1", "-fno-builtin", "-o", f"{folder}/x", f"{folder}/x.c")
    for depth, is_cut in (("300", False), ("3000", True)):
        run("rm", "-rf", f"{folder}/s")
        record(folder, f"{folder}/x", depth)
        text = output(PRINT, f"{folder}/s", "--report=flat", "--event=allocated")
        assert ("1,024 functions that the agent follows" in text) == is_cut and "perf_event_max_stack" not in text, text


def check_regions(folder):
    """What was allocated has no time: no region has it, and it is in no column of the regions."""
    with open(f"{folder}/x.c", "w", encoding="ascii") as f:
        f.write("""#include <cpuperf/mark.h>
#include <stdlib.h>
int main(void) { for (int i = 0; i < 5; i++) { CPUPERF_BEGIN("a"); keep = malloc(1000); CPUPERF_END; } return 0; }
""".replace("int main", "static void *volatile keep;\nint main"))
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/x", f"{folder}/x.c")
    run(CPUPERF, "-e", "heap:allocated@1,cpu_clock@1000000", "-g", "--regions", f"--output={folder}/s", "--", f"{folder}/x")
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=regions")
    assert "cpu_clock" in text and "allocated" not in text, text
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=tree", "--group-by=region", "--event=allocated")
    assert re.search(r"^ *100.00 % .* 5,000 B  \[none\]$", text, re.M), text


def check_refused(folder):
    """A session without samples has no such report; one with other samples has an empty one."""
    output(CPUPERF, "-e", "page_faults", f"--output={folder}/s", "--", "true")
    done = run(PRINT, f"{folder}/s", "--report=heap", code=None)
    assert done.returncode == 1 and "samples" in done.stderr, done
    output(CPUPERF, "-e", "cpu_clock@1000000", f"--output={folder}/t", "--", "true")
    assert "No heap: it is measured with --spec-file=heap" in output(PRINT, "--quiet", f"{folder}/t", "--report=heap")
    assert output(PRINT, "--quiet", f"{folder}/t", "--report=heap", "--output-format=csv").count("\n") == 1


run_checks(globals())
