#!/usr/bin/env python3
"""--trace-marker: readings and regions in a buffer of the kernel's tracer, live. CPUPERF names the program."""
import collections
import os
import re
import subprocess
import time

from kit import CPUPERF, need_sampling, run, run_checks, skip

TRACING = "/sys/kernel/tracing"
SOURCE = """
#include "cpuperf/mark.h"
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
int main(int argc, char **argv)
{
	int nr = atoi(argv[1]), us = atoi(argv[2]);
	struct pollfd in = {.fd = 0, .events = POLLIN};
	for (int i = 0; i < nr && !(us && poll(&in, 1, 0)); i++) { /* or until the test has seen all */
		CPUPERF_BEGIN("outer");
		CPUPERF_BEGIN("in|ner");
		if (us)
			usleep(us);
		CPUPERF_END;
		CPUPERF_INSTANT("here");
		CPUPERF_INT("size", -i);
		CPUPERF_INT("ms", now_ms());
		CPUPERF_END;
	}
	CPUPERF_BEGIN("open");
	while (us && read(0, &(char){0}, 1) > 0) /* until the test has seen all */
		;
	(void)argc;
	return 0;
}
"""


def build(folder):
    source, program = f"{folder}/marked.c", f"{folder}/marked"
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, source)
    return program


def start(folder, *args, option="--trace-marker"):
    p = subprocess.Popen([CPUPERF, "--regions", option, "--", build(folder), *args], cwd=folder, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p, f"{TRACING}/instances/cpuperf-{p.pid}"


def lines(place):
    with open(f"{place}/trace", encoding="utf-8", errors="replace") as f:
        return [m.group(1).split("|") for m in re.finditer(r"tracing_mark_write: ([SFCI]\|.*)$", f.read(), re.M)]


def wait_for(p, place, is_there):
    """The lines, when some are as they must be."""
    while p.poll() is None:
        found = lines(place) if os.path.exists(f"{place}/trace") else []
        if is_there(found):
            return found
        time.sleep(0.05)
    raise AssertionError((p.communicate(), "ended before"))


def check_live(folder):
    p, place = start(folder, "20", "100000")
    found = wait_for(p, place, lambda f: sum(x[0] == "F" for x in f) >= 6 and any(x[2] == "cpu_clock" for x in f))
    pids = {x[1] for x in found if x[0] == "S"}
    assert len(pids) == 1 and str(p.pid) not in pids, found
    open_slices = collections.Counter()
    for kind, _, *rest in found:
        if kind == "S":
            open_slices[tuple(rest)] += 1
            assert open_slices[tuple(rest)] == 1, found
        elif kind == "F":
            open_slices[tuple(rest)] -= 1
            assert open_slices[tuple(rest)] == 0, found
    assert {x[2] for x in found if x[0] == "S"} == {"outer", "in?ner"}, found
    assert {x[2] for x in found if x[0] == "I"} == {"here"}, found
    sizes = [int(x[3]) for x in found if x[0] == "C" and x[2] == "size"]
    assert sizes == [-i for i in range(len(sizes))] and sizes, found
    readings = [x for x in found if x[0] == "C" and x[2] == "cpu_clock"]
    assert {x[1] for x in readings} == {str(p.pid)} and all(float(x[3]) >= 0 for x in readings), readings
    # none while tracing is off
    with open(f"{place}/tracing_on", "w", encoding="ascii") as f:
        f.write("0")
    time.sleep(0.3)
    nr = len(lines(place))
    time.sleep(0.4)
    assert len(lines(place)) == nr
    out, err = p.communicate()
    assert p.returncode == 0, (out, err)
    assert not os.path.exists(place), place


def check_begin_and_end_in_different_objects(folder):
    for name, text in (("end.c", "void finish(void) { CPUPERF_END; }"),
                       ("main.c", "#include <unistd.h>\nvoid finish(void);\nint main(void) { for (int i = 0; i < 20; i++) {"
                        'CPUPERF_BEGIN("across"); CPUPERF_BEGIN("within"); usleep(30000); finish(); usleep(30000); finish(); }'
                        " while (read(0, &(char){0}, 1) > 0); }")):
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(f'#include "cpuperf/mark.h"\n{text}\n')
    include = f"-I{os.environ['SOURCE_DIR']}/include"
    run("cc", include, "-fPIC", "-shared", "-o", f"{folder}/libend.so", f"{folder}/end.c")
    run("cc", include, "-o", f"{folder}/across", f"{folder}/main.c", f"{folder}/libend.so", f"-Wl,-rpath,{folder}")
    p = subprocess.Popen([CPUPERF, "--regions", "--trace-marker", "--", f"{folder}/across"], cwd=folder, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = wait_for(p, f"{TRACING}/instances/cpuperf-{p.pid}", lambda f: sum(x[0] == "F" for x in f) >= 8)
    slices = [(x[0], x[2], int(x[3]) % 128) for x in found if x[0] in "SF"][:8]
    assert slices == [("S", "across", 0), ("S", "within", 1), ("F", "within", 1), ("F", "across", 0)] * 2, slices
    p.communicate()


def check_what_is_not_measured_is_not_written(folder):
    """The first slice is none of the delay, by the program's own clock."""
    program, began_ns = build(folder), time.monotonic_ns()
    p = subprocess.Popen([CPUPERF, "--regions", "--trace-marker", "--delay=1s", "--", program, "1000000", "50000"],
                         cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = wait_for(p, f"{TRACING}/instances/cpuperf-{p.pid}", lambda f: any(x[0] == "C" and x[2] == "ms" for x in f))
    times = [int(x[3]) for x in found if x[0] == "C" and x[2] == "ms"]
    assert times[0] >= began_ns // 10**6 + 1000, (began_ns, found)
    _, err = p.communicate()
    assert "not written" not in err, err


def check_an_end_for_each_beginning(folder):
    p, place = start(folder, "3", "100000")
    reader = wait_for(p, place, lambda f: any(x[:1] == ["S"] and x[2] == "open" for x in f))
    assert sum(x[0] == "S" for x in reader) == 7, reader
    p.communicate()
    assert not os.path.exists(place)


def check_the_rate_is_limited(folder):
    with open(f"{TRACING}/tracing_on", encoding="ascii") as f:
        if f.read().strip() != "1":
            print("skip: global: tracing is off here")
            return
    began = time.monotonic()
    p, _ = start(folder, "20000", "0", option="--trace-marker=global")
    _, err = p.communicate()
    seconds = time.monotonic() - began
    assert p.returncode == 0 and "lines were not written to the trace" in err, err
    mine = [x for x in lines(TRACING) if x[0] in "SF" and x[2] in ("outer", "in?ner", "open")]
    mine = [x for x in mine if x[1] == mine[-1][1]]  # others write there, too, and what they wrote stays
    # a second of the limit begins anew within it, and at its end
    assert 0 < len(mine) <= 1000 * (seconds + 2), (len(mine), seconds)
    # the shared buffer may be small: it has the last lines, so beginnings may be missing, but no end
    open_slices = set()
    for kind, *rest in mine:
        if kind == "S":
            open_slices.add(tuple(rest))
        else:
            open_slices.discard(tuple(rest))
    assert not open_slices, (open_slices, mine[-8:])


def check_what_a_killed_one_leaves(folder):
    p, place = start(folder, "100", "100000")
    wait_for(p, place, lambda f: f)
    p.kill()
    p.wait()
    p.stdin.close()
    p.stdout.close()
    p.stderr.close()
    assert os.path.exists(place)
    other, _ = start(folder, "1", "1000")
    other.communicate()
    assert not os.path.exists(place)


def check_refusals(folder):
    program = build(folder)
    done = run(CPUPERF, "--trace-marker=here", "--", program, "1", "0", cwd=folder, code=None)
    assert done.returncode and "--trace-marker=here: not global" in done.stderr, done
    done = run("setpriv", "--reuid=65531", "--regid=65531", "--clear-groups", CPUPERF, "--trace-marker", "-e", "page_faults",
               "--", "true", cwd="/", code=125)
    assert "--trace-marker: not supported: /sys/kernel/tracing" in done.stderr and "run cpuperf as root" in done.stderr, done


need_sampling()
if os.geteuid() or not os.path.exists(f"{TRACING}/instances"):
    skip("requires root and tracefs")
run_checks(globals(), everybody=True)
