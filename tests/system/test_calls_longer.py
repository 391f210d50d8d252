#!/usr/bin/env python3
"""Calls of functions that lasted longer than an event says: each is a sample of its function, with its callers, its duration,
its arguments and its result, and nothing else is. CPUPERF names the program; needs root and a kernel with uprobes."""
import json
import os
import re
import subprocess

from kit import CPUPERF, need_programs, run, run_checks, show
from sampled import event, write_spec

SOURCE = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#define OUT __attribute__((noinline))
static volatile long sink;
static void rest(long us) { struct timespec t = {0, us * 1000L}; while (us && nanosleep(&t, &t)) ; }
OUT int handle(const char *path, signed char ms) { rest(ms * 1000L); sink++; return path ? -(int)strlen(path) : 7; }
OUT int outer(const char *path, int ms) { int n = handle(path, ms); sink += n; return n; }
OUT int deep(int n) { int r = n ? deep(n - 1) : 0; rest(n == 2 ? 30000 : 0); sink++; return r + n; }
OUT long brief(const char *text, long n) { rest(50); sink += n; return text ? -n : n; }
int main(int argc, char **argv)
{
	static const char *const path[] = {"/slow", "/b", NULL};
	char text[16];
	(void)argv;
	if (argc > 2) return deep(100) == 0;
	if (argc > 1) {
		for (long i = 0; i < 400; i++) { snprintf(text, sizeof(text), "t%ld", i); brief(text, i * 1000); }
		brief((const char *)8, -1);
		return 0;
	}
	for (int i = 0; i < 300; i++) outer(path[1], 0);
	for (int i = 0; i < 3; i++) outer(path[0], 30);
	outer(path[2], 30);
	sink += deep(4);
#ifdef SWITCHES
	static ucontext_t c;
	if (sink == -1) swapcontext(&c, &c);
#endif
	return 0;
}
"""
LEAST_NS = 20_000_000
HANDLE = "handle(path:str, ms:s8)>int"


def build(folder, *flags):
    with open(f"{folder}/longer.c", "w", encoding="ascii") as f:
        f.write(SOURCE)
    run("cc", "-O1", "-fno-optimize-sibling-calls", "-fcf-protection=none", *flags, "-o", f"{folder}/longer", f"{folder}/longer.c")
    return f"{folder}/longer"


def samples(folder, name):
    rows = [json.loads(line) for line in show(folder, "--report=records", "--output-format=ndjson").splitlines()]
    return [r for r in rows if r["kind"] == "sample" and r["event"] == name]


def count(folder, name):
    rows = [json.loads(line) for line in show(folder, "--report=summary", "--output-format=ndjson").splitlines()]
    return max(int(r["value"]) for r in rows if r.get("event") == name and r.get("value"))  # of all CPUs


def functions(row):
    return [f["function"] for f in row["stack"]]


def check_log(folder):
    """Also where the return address of a caller that is timed, too, is replaced."""
    spec = write_spec(folder, [event(f"function:{HANDLE}", longer_than=LEAST_NS / 1e9, flags=["pc"]), event("function:outer"),
                               event("function:deep(n:int)>int", longer_than=LEAST_NS / 1e9, flags=["pc"])])
    for how, flags in ("fp", ["-fno-omit-frame-pointer"]), ("dwarf", ["-fomit-frame-pointer"]), ("whole", []):
        run(CPUPERF, spec, f"--callgraph={how}", "--", build(folder, *flags), cwd=folder)
        rows = samples(folder, HANDLE)
        assert all(r["fields"]["duration_ns"] > LEAST_NS for r in rows), (how, rows)
        found = [tuple(r["fields"][f] for f in ("path", "ms", "result")) for r in rows]
        # another may have waited for a CPU for that long
        assert found.count(("/slow", 30, -5)) == 3 and found.count(("NULL", 30, 7)) == 1, (how, found)
        assert {*found} <= {("/slow", 30, -5), ("NULL", 30, 7), ("/b", 0, -2)}, (how, found)
        assert all(functions(r)[:3] == ["handle", "outer", "main"] for r in rows), (how, rows)
        deep = {r["fields"]["n"]: r for r in samples(folder, "deep(n:int)>int")}
        assert {2, 3, 4} <= {*deep} <= {*range(5)}, (how, deep)
        for n, r in deep.items():
            assert r["fields"]["result"] == n * (n + 1) // 2, (how, r)
            assert functions(r)[:6 - n] == ["deep"] * (5 - n) + ["main"], (how, r)


def check_counts(folder):
    """The event counts what lasted longer, the functions all calls; of a rate each so many is a sample."""
    events = [event("function:handle", longer_than=LEAST_NS / 1e9, rate=2, flags=["pc"]), event("function:outer")]
    run(CPUPERF, write_spec(folder, events), "--", build(folder), cwd=folder)
    nr, rows = count(folder, "handle"), samples(folder, "handle")
    assert 4 <= nr < 304 and 0 <= nr - 2 * len(rows) <= os.cpu_count(), (nr, rows)
    assert count(folder, "outer") == 304
    calls = [json.loads(line) for line in show(folder, "--report=functions", "--output-format=ndjson").splitlines()]
    assert {int(r["calls"]) for r in calls if r.get("function") == "handle"} == {304}, calls
    assert all([*r["fields"]] == ["duration_ns"] and r["function"] == "handle" for r in rows), rows


def check_many(folder):
    """Values are exact where a report has ranges, and texts are read where it has others."""
    name = "brief(text:str, n:long)>long"
    run(CPUPERF, f"--event=function:{name}@>1us", "--output=s.cpsession", "--", build(folder), "brief", cwd=folder)
    found = sorted((r["fields"]["n"], r["fields"]["text"], r["fields"]["result"]) for r in samples(folder, name))
    assert found == [(-1, "[not readable]", 1)] + [(i * 1000, f"t{i}", -i * 1000) for i in range(400)], found


def check_deep(folder):
    """What has no times the event does not count, which is said where it is so."""
    for event_name, is_said in ("function:deep@>1h", True), ("function:deep@duration<1h", True), ("function:deep", False):
        done = run(CPUPERF, f"--event={event_name}", "--output=s.cpsession", "--", build(folder), "very", "deep", cwd=folder)
        note, = (n for n in done.stderr.splitlines() if "have no times" in n)
        assert "37 calls have no times: 64 calls of their task were open" in note, note
        assert note.endswith("; events with longer_than or when do not count them") == is_said, note
    assert count(folder, "deep") == 101


def check_without_ends(folder):
    """Of several functions some have no times: they are named."""
    done = run(CPUPERF, "--event=function:libc.so.6:*fork@>1h", "--output=s.cpsession", "--", "true", cwd=folder)
    assert re.search("the ends of calls of _*vfork are not seen", show(folder)), done


def check_refused(folder):
    """What has no times, and what only the kernel does."""
    program = build(folder, "-DSWITCHES")
    for args, words in ((["--event=function:outer@>1ms"], "how long its calls last is not known"),
                        (["--event=function:outer@>1ms", "--function-way=program"], "--function-way=kernel"),
                        (["--event=page_faults@>1ms"], "only events of function have a shortest duration")):
        done = subprocess.run([CPUPERF, *args, "--", program], capture_output=True, text=True, check=False)
        assert done.returncode != 0 and words in done.stderr, (args, done)


need_programs()
run_checks(globals())
