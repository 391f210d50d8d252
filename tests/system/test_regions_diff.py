#!/usr/bin/env python3
"""--diff by region: the numbers of each side are the means of what --report=regions says of its sessions, what changed is
found, and what did not is not. CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import io
import json
import os
import re

from kit import CPUPERF, may_count_faults, output, PRINT, run, run_checks

PROGRAM = r"""
#include <cpuperf/mark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
/* Of --control, and until it is done. */
static void ask(const char *command, int length)
{
	char answer[5];
	int to = open("ctl", O_WRONLY), from = open("ack", O_RDONLY);
	if (write(to, command, length) != length || read(from, answer, sizeof(answer)) != sizeof(answer))
		_exit(1);
	close(to);
	close(from);
}
int main(int argc, char **argv)
{
	for (int i = 0; argc > 3 && i < atoi(argv[3]); i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);
	CPUPERF_BEGIN("request");
	for (int i = 0; i < atoi(argv[1]); i++) {
		struct timespec t = {.tv_nsec = atoi(argv[2]) * 1000000L};
		CPUPERF_BEGIN("wait");
		nanosleep(&t, 0);
		if (argc > 4 && i == 1) {
			ask("disable\n", 8);
			nanosleep(&(struct timespec){.tv_nsec = 150000000}, 0);
			ask("enable\n", 7);
		}
		CPUPERF_END;
	}
	CPUPERF_END;
}
"""
WAIT = "request > wait"
LONG_MS = 100  # a busy machine makes waits of 2 ms longer, too, but not by that much


def build(folder):
    with open(f"{folder}/program.c", "w", encoding="ascii") as f:
        f.write(PROGRAM)
    run("cc", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/marked", f"{folder}/program.c")


def measure(folder, name, calls, ms, *options, ms_before=0):
    run(CPUPERF, "--regions", *options, "-o", name, "--", "./marked", str(calls), str(ms), str(ms_before), cwd=folder)


def table(folder, *options):
    return list(csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--output-format=csv", *options, cwd=folder),
                                           newline="")))


def options_of(now, was):
    return [*(f"--session={s}" for s in now), *(f"--diff={s}" for s in was)]


def diff(folder, now, was, *options):
    """{(path, number): row}"""
    rows = table(folder, *options_of(now, was), "--sort=region", *options)
    return {(r["region"], r["event"]): r for r in rows}


def mean(folder, names, path, column):
    values = [next(float(r[column]) for r in table(folder, name, "--report=regions") if r["path"] == path)
              for name in names]
    return sum(values) / len(values)


def enough_sessions(folder, calls, options, is_certain, ms_before=0):
    """Their names, before and now: four each, or as many more as it takes to be certain beside others' work, which makes
    short waits many times as long."""
    was, now = [], []
    for nr in (4, 8, 16, 32):
        for i in range(len(was), nr):
            was.append(f"was{i}")
            now.append(f"now{i}")
            measure(folder, was[i], calls, 2, *options, ms_before=ms_before)
            measure(folder, now[i], calls, LONG_MS, *options)
        if is_certain(now, was):
            break
    return was, now


def check_sessions(folder):
    build(folder)
    was, now = enough_sessions(folder, 6, [], lambda *sides: diff(folder, *sides)[WAIT, "region_wall_ns"]["certain"] == "true")
    rows = diff(folder, now, was)
    for path in ("request", WAIT):
        for number, column in (("region_calls", "calls"), ("region_wall_ns", "wall_ns"), ("region_cpu_clock",
                                                                                        "cpu_clock_count")):
            row = rows[path, number]
            for side, names in (("was_count", was), ("is_count", now)):
                assert abs(float(row[side]) - mean(folder, names, path, column)) < 1, (row, side)
    assert (WAIT, "region_self_ns") not in rows and ("request", "region_self_ns") in rows, rows.keys()
    calls, wall, each = (rows[WAIT, f"region_{n}"] for n in ("calls", "wall_ns", "wall_ns_per_call"))
    assert float(calls["change"]) == 0 and calls["certain"] == "false" and float(calls["is_count"]) == 6, calls
    assert wall["certain"] == each["certain"] == "true" and float(each["is_count"]) > LONG_MS * 1e6, (wall, each)
    assert float(wall["is_count"]) >= 6 * LONG_MS * 1e6 and float(each["p"]) < 0.05, (wall, each)
    text = output(PRINT, "--quiet", *(f"--session={s}" for s in now), *(f"--diff={s}" for s in was),
                  "--group-by=region", cwd=folder)
    line = next(x for x in text.splitlines() if x.startswith("wall per call") and x.endswith(WAIT))
    assert " more " in line and f"{len(now)} sessions now, {len(was)} before" in text, text
    sides = options_of(now, was)
    run(PRINT, "--quiet", *sides, "--sort=region", "--region=wait", "--event=cpu_clock", "--fail-over=50", cwd=folder,
        code=3)
    cases = output(PRINT, "--quiet", *sides, "--sort=region", "--output-format=junit", "--fail-over=50", cwd=folder, code=3)
    assert f'classname="region" name="{WAIT} region_wall_ns_per_call"' in cases.replace("&gt;", ">"), cases
    # nothing is slower the other way round
    other = diff(folder, was, now)
    assert float(other[WAIT, "region_wall_ns_per_call"]["change"]) < -50, other


def check_regions_are_judged(folder):
    """Without samples, with as many faults and the same time in all: only the regions differ."""
    build(folder)
    judge = ("--sort=region", "--fail-over=50")
    was, now = enough_sessions(folder, 3, ["-e", "page_faults"], lambda *sides: run(
        PRINT, "--quiet", *options_of(*sides), *judge, cwd=folder, code=None).returncode == 3, ms_before=3 * (LONG_MS - 2))
    sides = options_of(now, was)
    run(PRINT, "--quiet", *sides, *judge, cwd=folder, code=3)
    run(PRINT, "--quiet", *sides, "--sort=region", "--fail-over=50", "--comm=nobody", cwd=folder, code=0)


PAGES = r"""
#include <cpuperf/mark.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	int nr = atoi(argv[argc - 1]);
	for (int i = 0; i < 40; i++) {
		char *at = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(at, 64 * 4096, MADV_NOHUGEPAGE);
		CPUPERF_BEGIN("touch");
		for (int k = 0; k < nr; k++)
			at[k * 4096] = 1;
		CPUPERF_END;
		CPUPERF_BEGIN("same");
		at[63 * 4096] = 1;
		CPUPERF_END;
		munmap(at, 64 * 4096);
	}
}
"""


def check_counts(folder):
    """Pages that are touched are counted: 16 before, 20 now. Of one call in three, too."""
    if not may_count_faults("check_counts"):
        return
    with open(f"{folder}/pages.c", "w", encoding="ascii") as f:
        f.write(PAGES)
    run("cc", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/pages", f"{folder}/pages.c")
    for every in (1, 3):
        with open(f"{folder}/spec.cpspec", "w", encoding="ascii") as f:
            json.dump({"events": [{"group_name": "software", "event_name": "page_faults"}],
                       "regions": {"counts": ["page_faults"], "every": every}}, f)
        for i in range(4):
            for name, pages in ((f"was{every}{i}", 16), (f"now{every}{i}", 20)):
                run(CPUPERF, "--spec-file=spec.cpspec", "-o", name, "--", "./pages", str(pages), cwd=folder)
        sides = [f"now{every}{i}" for i in range(4)], [f"was{every}{i}" for i in range(4)]
        rows = diff(folder, *sides)
        each, same = (rows[path, "region_page_faults_per_call"] for path in ("touch", "same"))
        # the first calls may touch a page of their own
        assert 16 <= float(each["was_count"]) < 16.3 and 20 <= float(each["is_count"]) < 20.3, each
        assert each["certain"] == "true" and float(same["was_count"]) == float(same["is_count"]) == 1, (each, same)
        assert same["certain"] == "false", same
        text = output(PRINT, "--quiet", *(f"--session={s}" for s in sides[0]), *(f"--diff={s}" for s in sides[1]),
                      "--group-by=region", cwd=folder)
        line = next(x for x in text.splitlines() if x.startswith("page_faults per call") and x.endswith("touch"))
        assert " more " in line and re.search(r"\+2[45]\.\d+ %", line), text
    # a side without counts has nothing to compare
    run(CPUPERF, "--regions", "-e", "page_faults", "-o", "bare", "--", "./pages", "16", cwd=folder)
    assert not [n for _, n in diff(folder, ["now10"], ["bare"]) if n.endswith("page_faults_per_call")]


def check_delays(folder):
    """Sessions that left out different delays measured different parts: said first, in each form."""
    build(folder)
    for name, delay in (("a", "15ms"), ("b", "5ms"), ("c", "5ms")):  # a busy machine may be late: less than the program lasts
        measure(folder, name, 10, 80, "-e", "page_faults", f"--delay={delay}")
    said = "delay of 0.015 s was not measured now, of 0.005 s before"
    text = output(PRINT, "--quiet", "--session=a", "--diff=b", "--report=diff", "--sort=region", cwd=folder)
    assert re.search(rf"A {said}; amounts are of different parts of the work\n(.*\n)*Regions", text), text
    done = run(PRINT, "--session=a", "--diff=b", "--report=diff", "--output-format=csv", cwd=folder)
    assert re.search(rf"a {said}", done.stderr), done.stderr
    assert "delay" not in output(PRINT, "--quiet", "--session=b", "--diff=c", "--report=diff", cwd=folder)


def check_disabled_times(folder):
    """A call that --control cuts is one call, and not part of the time per call: as in the report. What was disabled is
    said.
    """
    build(folder)
    measure(folder, "was", 3, 100, "-e", "page_faults")
    for name in ("ctl", "ack"):
        os.mkfifo(f"{folder}/{name}")
    ends = [os.open(f"{folder}/{name}", os.O_RDWR) for name in ("ctl", "ack")]
    # the program itself disables and enables, within its second call
    run(CPUPERF, "--regions", "-e", "page_faults", "--control=fifo:ctl,ack", "-o", "now", "--", "./marked", "3", "100", "0",
        "control", cwd=folder)
    for end in ends:
        os.close(end)
    rows = diff(folder, ["now"], ["was"])
    for path, calls in (("request", 1), (WAIT, 3)):
        row = rows[path, "region_calls"]
        assert float(row["was_count"]) == calls and calls >= float(row["is_count"]) > calls - 2, row
        assert mean(folder, ["now"], path, "calls") == float(row["is_count"]), row
    assert ("request", "region_wall_ns_per_call") not in rows, rows.keys()
    each = rows[WAIT, "region_wall_ns_per_call"]
    assert float(each["is_count"]) >= 100e6, each
    text = output(PRINT, "--quiet", "--session=now", "--diff=was", "--report=diff", "--sort=region", cwd=folder)
    disabled = re.search(r"A time disabled by --control of ([\d.]+) s was not measured now, of 0\.000 s before; amounts", text)
    assert float(disabled[1]) >= 0.149, text


def check_one_session_each(folder):
    build(folder)
    measure(folder, "was", 3, 2)
    measure(folder, "now", 6, 2)
    rows = diff(folder, ["now"], ["was"])
    calls = rows[WAIT, "region_calls"]
    assert (float(calls["was_count"]), float(calls["is_count"]), calls["certain"]) == (3, 6, "false"), calls
    assert not any(r["p"] for (_, e), r in rows.items() if e.startswith("region_")), rows
    assert not [r for r in diff(folder, ["now"], ["was"], "--comm=nobody").values()
                if r["event"].startswith("region_")]


def check_runs_are_replicates(folder):
    build(folder)
    for name, calls in (("was", 4), ("now", 8)):
        measure(folder, name, calls, 1, "--runs=4")
    rows = diff(folder, ["now"], ["was"])
    calls = rows[WAIT, "region_calls"]
    assert (float(calls["was_count"]), float(calls["is_count"])) == (4, 8) and calls["certain"] == "true", calls


def check_marks_on_one_side(folder):
    build(folder)
    measure(folder, "now", 2, 1)
    run(CPUPERF, "--regions", "-o", "was", "--", "true", cwd=folder)
    rows = diff(folder, ["now"], ["was"])
    calls = rows[WAIT, "region_calls"]
    assert (float(calls["was_count"]), float(calls["is_count"]), calls["relative"]) == (0, 2, ""), calls
    run(CPUPERF, "--regions", "-o", "was2", "--", "true", cwd=folder)
    assert "Regions" not in output(PRINT, "--quiet", "--session=was", "--diff=was2", "--sort=region", cwd=folder)


run_checks(globals(), everybody=True)
