#!/usr/bin/env python3
"""Counts of regions: page faults are as many as the program touches pages, with and without chance.
CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import time

from kit import CPUPERF, may_count_faults, ordinary_user, output, PRINT, run, run_checks
from sampled import may_measure_kernel

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = "in_regions_page_faults"
CLOCK = {"group_name": "software", "event_name": "cpu_clock", "frequency": 499}
# Who may not measure the kernel may count the faults of user mode, and these are all that the programs have.
USER = {} if may_measure_kernel() else {"flags": ["user"]}
EVENTS = [CLOCK, *({"group_name": "software", "event_name": name, **(USER if name == "page_faults" else {})}
                   for name in ("page_faults", "context_switches", "cpu_migrations", "task_clock"))]


def measure(folder, calls, counts=("page_faults", "software:context_switches"), code=0, more=(), every=1, **keys):
    program = f"{folder}/program"
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{HERE}/regions_counts.c")
    with open(f"{folder}/spec.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": EVENTS, "regions": {"counts": list(counts), "every": every}, **keys}, f)
    return run(CPUPERF, f"--spec-file={folder}/spec.cpspec", "-o", f"{folder}/s", "--", program, str(calls), *more, code=code)


def rows(folder):
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=regions", "--output-format=csv")
    return {row["path"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}


def check_page_faults(folder):
    measure(folder, 100)
    outer, inner = rows(folder)["outer"], rows(folder)["outer > inner"]
    assert int(inner["calls"]) == int(inner[PAGES + "_calls"]) == 200, inner
    assert int(inner[PAGES]) == int(inner[PAGES + "_self"]) == 200 * 16, inner
    assert float(inner[PAGES + "_per_call"]) == 16, inner
    # the first call of a function or of the kernel may touch a page of its own
    assert 3500 <= int(outer[PAGES]) <= 3504 and 300 <= int(outer[PAGES + "_self"]) <= 304, outer
    text = output(PRINT, f"{folder}/s", "--report=regions")
    assert "page_faults: the marks of a region count 0 in it and 0 in those around it" in text, text
    assert "[marks]" not in text, text


def check_exports_have_counts(folder):
    """Exact where all calls were counted; else an estimate that holds the truth, and what was counted."""
    for every in (1, 3):
        measure(folder, 200, every=every)
        run(PRINT, f"{folder}/s", "--quiet", "--output-format=sqlite", f"--output-file={folder}/{every}.db")
        with sqlite3.connect(f"{folder}/{every}.db") as db:
            got = {p: rest for p, *rest in db.execute(
                "SELECT path, calls, total, total_low, total_high, self FROM region_counts JOIN regions USING(region)"
                " WHERE event = 'page_faults'")}
        assert set(got) == {"outer", "outer > inner"}, got
        calls, total, low, high, own = got["outer > inner"]
        metrics = {tuple(m): int(n) for *m, n in re.findall(
            r'cpuperf_region_(\w+)_total{.*region="([^"]*)",event="page_faults"} (\d+)',
            output(PRINT, f"{folder}/s", "--quiet", "--output-format=openmetrics"))}
        assert metrics["counted_calls", "outer > inner"] == calls, (metrics, got)
        assert metrics["counts", "outer > inner"] == metrics["self_counts", "outer > inner"] == 16 * calls, (metrics, got)
        if every == 1:
            assert (calls, total, low, high, own) == (400, 6400, 6400, 6400, 6400), got
            assert metrics["self_counts", "outer"] == got["outer"][4] == got["outer"][1] - 6400, (metrics, got)
        else:
            assert 60 < calls < 220 and low < total < high and abs(total - 6400) < 1, got


def check_no_output_has_the_trial_of_the_header(folder):
    measure(folder, 20, events=EVENTS[1:])
    os.rename(f"{folder}/s", f"{folder}/was")
    measure(folder, 30, events=EVENTS[1:])
    texts = {}
    for form in ("chrome", "openmetrics", "html"):
        run(PRINT, f"{folder}/s", "--quiet", f"--output-format={form}", f"--output-file={folder}/out")
        with open(f"{folder}/out", encoding="utf-8") as out:
            texts[form] = out.read()
    texts["diff"] = output(PRINT, f"--session={folder}/s", f"--diff={folder}/was", "--sort=region")
    run(PRINT, f"{folder}/s", "--output-format=sqlite", f"--output-file={folder}/s.sqlite")
    with sqlite3.connect(f"{folder}/s.sqlite") as db:
        texts["sqlite"] = "\n".join(db.iterdump())
    for form, text in texts.items():
        assert "outer" in text and "inner" in text, (form, text)
        assert "[mark" not in text, (form, text)


def check_a_child_leaves_the_counters_of_its_parent(folder):
    measure(folder, 100, more=["fork"])
    found = rows(folder)
    inner = found["outer > inner"]
    assert int(inner["calls"]) == int(inner[PAGES + "_calls"]) == 200 and "child" in found, found
    # after fork, pages of the program are copied at their next write: not those that are touched here
    assert int(inner[PAGES]) == 200 * 16, inner


def check_descriptors_closed_by_the_program(folder):
    done = measure(folder, 100, more=["close"])
    inner = rows(folder)["outer > inner"]
    said = "the later regions of 1 thread have no counts: the program closed its descriptors"
    assert int(inner["calls"]) == 200 and int(inner[PAGES + "_calls"]) == 100, inner
    assert said in done.stderr, done.stderr
    assert said in output(PRINT, f"{folder}/s", "--report=regions")


SHORT = r"""
#define _GNU_SOURCE
#include <cpuperf/mark.h>
#include <pthread.h>
#include <stdlib.h>
static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	CPUPERF_BEGIN("job");
	CPUPERF_END;
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[8];
	int nr = argc > 1 ? atoi(argv[1]) : 8;
	if (!nr)
		CPUPERF_INSTANT("tick");
	for (int i = 0; i < nr; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < nr; i++)
		pthread_join(t[i], 0);
}
"""


def check_short_threads(folder):
    """They have names, and the thread that tries what marks cost has no regions."""
    if not may_count_faults("check_short_threads"):
        return
    with open(f"{folder}/short.c", "w", encoding="ascii") as f:
        f.write(SHORT)
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/short", f"{folder}/short.c", "-pthread")
    record = (CPUPERF, "--regions", "--region-counts=page_faults", "--event=page_faults", "-o", f"{folder}/s", "--")
    run(*record, f"{folder}/short")
    text = output(PRINT, f"{folder}/s", "--report=regions", "--group-by=thread")
    assert "Regions of 8 threads, " in text and text.count("worker (") == 8 and "[unknown]" not in text, text
    assert list(rows(folder)) == ["job"], rows(folder)
    run(*record, f"{folder}/short", "0")
    text = output(PRINT, f"{folder}/s", "--report=regions")
    assert "No regions: instants and values alone\n\nInstants" in text, text


ATTACHED = r"""
#include <cpuperf/mark.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
int main(void)
{
	struct timespec t = {.tv_nsec = 5000000};
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct timespec begin;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		CPUPERF_BEGIN("request");
		for (int i = 0; i < 3; i++) {
			CPUPERF_BEGIN("step");
			char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			*p = 1;
			munmap(p, 4096);
			nanosleep(&t, 0);
			CPUPERF_END;
		}
		CPUPERF_END;
		printf("%lld\n", begin.tv_sec * 1000000000LL + begin.tv_nsec);
		fflush(stdout);
	}
}
"""


def measure_requests(folder, p, nr):
    """A session of the program with at least so many requests from their beginning to their end."""
    def is_set():
        with open(f"/proc/{p.pid}/maps", encoding="ascii") as f:
            return "cpuperf-marks" in f.read()

    while is_set():  # by the session before, until the next mark
        time.sleep(0.01)
    with subprocess.Popen([CPUPERF, "--regions", "--region-counts=page_faults", "--event=page_faults", f"--pid={p.pid}",
                           "-o", f"{folder}/s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as session:
        while not is_set():
            assert session.poll() is None
            time.sleep(0.01)
        since = time.monotonic_ns()
        while nr:
            nr -= int(p.stdout.readline()) > since
        session.send_signal(signal.SIGINT)
        assert session.wait() == 0


def check_attached_within_regions(folder):
    """A program that is measured from within its regions ends what nobody saw begin; what begins later is counted."""
    if not may_count_faults("check_attached_within_regions"):
        return
    with open(f"{folder}/a.c", "w", encoding="ascii") as f:
        f.write(ATTACHED)
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/a", f"{folder}/a.c")
    with subprocess.Popen([f"{folder}/a"], stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout.readline() == "ready\n"
            for _ in range(3):
                measure_requests(folder, p, 12)
                found = rows(folder)
                for path, faults in (("request", 3), ("request > step", 1)):
                    row = found[path]
                    assert int(row["calls"]) > 5, found
                    assert int(row[PAGES + "_calls"]) >= int(row["calls"]) - 4, row
                    assert abs(float(row[PAGES + "_per_call"]) - faults) < 0.5, row
        finally:
            p.kill()


def check_chance(folder):
    measure(folder, 2000, every=10)
    inner = rows(folder)["outer > inner"]
    assert 250 <= int(inner[PAGES + "_calls"]) <= 560, inner # 4,000 / 10 and 6 deviations
    # each call is the same, but those not counted may be others
    assert abs(float(inner[PAGES]) - 64000) < 1, inner
    assert 63000 < float(inner[PAGES + "_low"]) < 64000 < float(inner[PAGES + "_high"]) < 65000, inner
    outer = rows(folder)["outer"]
    assert float(outer[PAGES + "_low"]) <= 70100 and float(outer[PAGES + "_high"]) >= 69999.5, outer
    text = output(PRINT, f"{folder}/s", "--report=regions")
    assert " counted " in text and "Counts are estimates from the calls that were counted" in text, text


def check_few_counted_calls_are_no_estimate(folder):
    measure(folder, 20, every=5)
    inner = rows(folder)["outer > inner"]
    assert (inner[PAGES], inner[PAGES + "_low"], inner[PAGES + "_high"]) == ("", "", ""), inner
    text = output(PRINT, f"{folder}/s", "--report=regions")
    assert " n/a " in text and "n/a: too few counted calls" in text, text


def check_what_is_printed(folder):
    measure(folder, 20, counts=("task_clock",))
    text = output(PRINT, f"{folder}/s", "--report=regions", "--top=1")
    assert "1 more" not in text and "inner" in text, text
    outer = next(line for line in text.splitlines() if line.endswith("  outer"))
    assert sum(word in ("ns", "us", "ms", "s") for word in outer.split()) >= 6, text  # times of calls, and task_clock
    text = output(PRINT, f"{folder}/s", "--report=regions", "--region=nosuch")
    assert "No region matches --region; there are: outer, inner\n" in text, text
    done = run(PRINT, f"{folder}/s", "--report=regions", "--region=nosuch", "--output-format=csv")
    assert "No region matches --region; there are: outer, inner" in done.stderr, done.stderr
    assert "No region matches" not in output(PRINT, f"{folder}/s", "--report=regions", "--region=inner")


def check_events_that_are_not_supported(folder):
    unsupported = {"group_name": "fixed", "event_name": "instructions_retired"}
    for counts in (("instructions_retired", "page_faults"), ("page_faults", "instructions_retired")):
        done = measure(folder, 10, counts=counts, events=[*EVENTS, unsupported])
        text = output(PRINT, f"{folder}/s", "--report=regions")
        inner = rows(folder)["outer > inner"]
        assert inner[PAGES] == str(20 * 16), inner
        if "in_regions_instructions_retired" not in inner: # no PMU
            said = "regions have no counts of instructions_retired: not supported: "
            assert said in done.stderr and said in text, (done.stderr, text)


def check_an_ordinary_user_has_no_counts_of_the_kernel(folder):
    """Opened in user mode alone they would be 0 or too few, and look exact."""
    user = ordinary_user(folder)
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if not user or int(f.read()) != 2:
            return # below 2 he may measure the kernel
    (cpuperf,), who = user
    program = f"{folder}/program"
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{HERE}/regions_counts.c")
    for counts in ("page_faults,context_switches", "task_clock,page_faults"):
        done = run(cpuperf, "--regions", f"--region-counts={counts}", f"--event={counts}", "-o", f"{folder}/s", "--",
                   program, "10", **who)
        text = output(PRINT, f"{folder}/s", "--report=regions")
        said = ("regions have no counts of page_faults: no permission: it happens in the kernel, which this user may "
                "not measure")
        assert said in done.stderr and said in text, (done.stderr, text)
        inner = rows(folder)["outer > inner"]
        assert inner["calls"] == "20" and not inner.get(PAGES) and not inner.get("in_regions_context_switches"), inner
        assert ("in_regions_task_clock" in inner) == ("task_clock" in counts), inner


NAMED = """
#include <cpuperf/mark.h>
#include <pthread.h>
#include <time.h>
static void *run(void *arg)
{
	struct timespec t;
	cpuperf_thread_name("loader_thread");
	CPUPERF_BEGIN("load");
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 300000000);
	CPUPERF_END;
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	return 0;
}
"""


def check_thread_names(folder):
    with open(f"{folder}/named.c", "w", encoding="ascii") as f:
        f.write(NAMED)
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-pthread", "-o", f"{folder}/named", f"{folder}/named.c")
    run(CPUPERF, "--regions", "-e", "cpu_clock", "-F", "499", "-o", f"{folder}/s", "--", f"{folder}/named")
    for options in (("--report=regions", "--group-by=thread"), ("--report=flat", "--sort=comm,thread"),
                    ("--output-format=chrome",), ("--report=regions", "--comm=loader_thread", "--group-by=thread")):
        text = output(PRINT, f"{folder}/s", "--quiet", *options)
        assert "loader_thread" in text, text


def check_names(folder):
    done = measure(folder, 1, counts=["page_fault"], code=None)
    assert done.returncode and 'no event of the session is "page_fault"' in done.stderr, done.stderr
    done = measure(folder, 1, counts=["page_faults", "software:page_faults"], code=None)
    assert done.returncode and 'the event "software:page_faults" appears twice' in done.stderr, done.stderr
    done = measure(folder, 1, regions={"every": 3}, code=None)
    assert done.returncode and "regions.every: the regions have no counts" in done.stderr, done.stderr


run_checks(globals(), everybody=True)
