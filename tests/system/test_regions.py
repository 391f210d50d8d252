#!/usr/bin/env python3
"""Regions that a program marks (cpuperf/mark.h): their times are compared with what the program measured itself,
samples with where it was. CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import functools
import io
import itertools
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile

from kit import CPUPERF, can_execute, finish, output, PRINT, run, run_checks, stride, wait_until_saved

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = f"-I{os.environ['SOURCE_DIR']}/include"
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer", INCLUDE]


@functools.lru_cache
def build(*more, compiler="cc", source="regions.c", name="regions"):
    """A program, compiled once, in a folder of its own."""
    program = os.path.join(tempfile.mkdtemp(dir=BUILT), name)
    os.chmod(os.path.dirname(program), 0o755)
    run(compiler, *FLAGS, *more, "-pthread", "-o", program, f"{HERE}/{source}", "-ldl")
    return program


SAMPLED = ("-e", "cpu_clock@1000Hz", "-g")


def measure(folder, program, *args, code=7, options=SAMPLED):
    """{name: number} of what it printed; its output is that of a run alone."""
    done = run(CPUPERF, "--regions", *options, "--", program, *args, cwd=folder, code=code)
    words = done.stdout.split()
    return {k: int(v) for k, v in zip(words[::2], words[1::2])}


def regions(folder, *options):
    """{path: row}"""
    text = output(PRINT, "--quiet", "--report=regions", "--output-format=csv", *options, cwd=folder)
    return {row["path"]: {k: v if k in ("path", "region", "kind") or not v else float(v) for k, v in row.items()}
            for row in csv.DictReader(io.StringIO(text, newline=""))}


def heading(folder):
    return output(PRINT, "--quiet", "--report=regions", cwd=folder).splitlines()[1]


def check_known_times(folder):
    own = measure(folder, build(), "threads")
    rows = regions(folder)
    assert "lost" not in heading(folder), heading(folder)
    path = "request > recurse"
    deep = [path, path + " > recurse", path + " > recurse > recurse"]
    assert sorted(rows) == sorted(["request", "request > parse", *deep]), sorted(rows)
    ns = {"request": rows["request"]["wall_ns"], "parse": rows["request > parse"]["wall_ns"],
          "recurse": sum(rows[p]["wall_ns"] for p in deep)}
    calls = {"request": rows["request"]["calls"], "parse": rows["request > parse"]["calls"],
             "recurse": sum(rows[p]["calls"] for p in deep)}
    for name, value in ns.items():
        assert calls[name] == own[name + ".calls"], (name, calls, own)
        # Between the clocks around the marks and those within; a preemption may lie there.
        low, high = own[name + ".inside"], own[name + ".outside"]
        assert 0.99 * low <= value <= 1.01 * high, (name, low, value, high)
    for row in rows.values():
        inner = sum(r["wall_ns"] for p, r in rows.items()
                    if p.startswith(row["path"] + " > ") and p.count(" > ") == row["path"].count(" > ") + 1)
        assert row["self_ns"] == row["wall_ns"] - inner, row
        assert row["closed"] == 0 and row["min_ns"] <= row["mean_ns"] <= row["max_ns"], row


def check_samples_have_regions(folder):
    measure(folder, build(), "threads")
    rows = regions(folder)
    # 1 ms of each request in parse, 1.5 ms in the three levels of recurse; five errors are one in a million
    share = rows["request > parse"]
    error = (share["cpu_clock_high"] - share["cpu_clock_low"]) / 2 / 1.96
    assert abs(share["cpu_clock"] - 40) <= 5 * error, share
    flat = output(PRINT, "--quiet", "--report=flat", "--sort=region", "--output-format=csv", cwd=folder)
    named = {r["region"]: float(r["self"]) for r in csv.DictReader(io.StringIO(flat, newline=""))
             if r["event"] == "cpu_clock"}
    assert abs(named["request > parse"] - share["cpu_clock"]) < 0.01, (named, share)


def check_filters_apply_to_marks(folder):
    measure(folder, build(), "threads")
    all_rows = regions(folder)
    parse = regions(folder, "--region=parse")
    assert list(parse) == ["request > parse"], parse
    times = ("calls", "wall_ns", "self_ns", "p50_ns", "max_ns")
    assert [parse["request > parse"][t] for t in times] == [all_rows["request > parse"][t] for t in times]
    amount = ["cpu_clock_count", "cpu_clock_samples"]
    for row in (parse["request > parse"], regions(folder, "--comm=regions", "--region=parse")["request > parse"]):
        assert amount and all(abs(row[k] - all_rows["request > parse"][k]) <= 1 for k in amount), \
            (amount, row, all_rows["request > parse"])
        low, high = (row[f"cpu_clock_count_{k}"] for k in ("low", "high"))
        assert low < row["cpu_clock_count"] < high, row  # of all samples, or of the region's: bursts may count otherwise
    assert regions(folder, "--region=req*").keys() == all_rows.keys()
    flat = output(PRINT, "--quiet", "--report=flat", "--region=request > parse", "--sort=region",
                  "--output-format=csv", cwd=folder)
    assert {r["region"] for r in csv.DictReader(io.StringIO(flat, newline=""))} == {"request > parse"}, flat
    assert not regions(folder, "--comm=nobody") and not regions(folder, "--pid=1")
    assert regions(folder, "--comm=regions")["request"]["calls"] == all_rows["request"]["calls"]
    # requests follow each other without gaps: a time within them cuts some
    for ms in range(5, 5000, 25):
        late = regions(folder, f"--from={ms}ms")
        if late["request"]["cut"]:
            break
    assert 0 < late["request"]["wall_ns"] < all_rows["request"]["wall_ns"], (ms, late, all_rows)
    assert "only partly in the time measured and selected" in output(
        PRINT, "--quiet", "--report=regions", f"--from={ms}ms", cwd=folder)


def check_threads_and_quantiles(folder):
    measure(folder, build(), "threads")
    text = output(PRINT, "--quiet", "--report=regions", "--group-by=thread", "--output-format=csv", cwd=folder)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    of_all = regions(folder)
    assert len({r["tid"] for r in rows}) == 8 and all(f"/{r['tid']} #" in r["thread"] for r in rows), rows
    for path, row in of_all.items():
        assert sum(int(r["wall_ns"]) for r in rows if r["path"] == path) == row["wall_ns"], (path, rows)
        assert row["min_ns"] <= row["p50_ns"] <= row["p90_ns"] <= row["p99_ns"] <= row["max_ns"], row
        assert row["deviation_ns"] >= 0, row
    # 1 ms of work in parse: the least time, as others may preempt it
    assert 0.95e6 <= of_all["request > parse"]["min_ns"], of_all
    tree = output(PRINT, "--quiet", "--output-format=folded", "--group-by=region", cwd=folder)
    assert any(line.split(";")[1:3] == ["request", "parse"] for line in tree.splitlines()) or any(
        line.split(";")[:2] == ["request", "parse"] for line in tree.splitlines()), tree


def check_paused_functions_have_no_samples(folder):
    measure(folder, build(), "pause")
    names = {r["function"]: int(r["self_samples"]) for r in csv.DictReader(io.StringIO(
        output(PRINT, "--quiet", "--report=flat", "--event=cpu_clock", "--output-format=csv", cwd=folder), newline=""))}
    assert names.get("shown", 0) + names.get("burn", 0) > 0, names
    callers = output(PRINT, "--quiet", "--report=tree", "--min-percent=0", cwd=folder)
    assert "shown" in callers and "hidden" not in callers, callers
    text = output(PRINT, "--report=regions", cwd=folder)
    assert "samples omitted, taken while the program had paused the measuring" in text, text


def check_regions_left_open_are_closed(folder):
    program = build()
    measure(folder, program, "jump")
    rows = regions(folder)
    # Each END ends the innermost region: the first outer stays open, and the rest is within it.
    assert sum(r["closed"] for r in rows.values()) == 3, rows
    assert "3 without an end of their own" in heading(folder), heading(folder)
    for options in (SAMPLED, ("-e", "page_faults")):  # without samples there is no record of the end
        measure(folder, program, "kill", code=128 + signal.SIGKILL, options=options)
        row = regions(folder)["killed"]
        assert row["calls"] == row["closed"] == 1 and row["wall_ns"] >= 29e6, row


def check_threads_end_with_regions_open(folder):
    """By record, or without samples as the recorder sees it: not with the last mark."""
    program = build()
    for options in (SAMPLED, ("-e", "page_faults")):
        for _ in range(4):  # a recorder that has no CPU for a second sees it with the end of the process
            measure(folder, program, "thread", options=options)
            row = regions(folder)["left"]
            if row["wall_ns"] < 1100e6:
                break
        # 100 ms until the thread ends, and 1 s more until the process does
        assert row["calls"] == row["closed"] == 1 and 100e6 <= row["wall_ns"] < 1100e6, row


def check_a_session_that_ends_first(folder):
    """A region that is open when the measuring ends was there until then, and so are its samples."""
    source = os.path.join(folder, "long.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <cpuperf/mark.h>\n#include <unistd.h>\nint main(int argc, char **argv) {\n(void)argc;\n"
                "CPUPERF_BEGIN(\"long\");\nwhile (access(argv[1], F_OK))\nfor (volatile int i = 0; i < 1000000; i++);\n"
                "CPUPERF_END;\n}\n")
    program = os.path.join(folder, "long")
    run("cc", "-O1", INCLUDE, "-o", program, source)
    times_asked = ("-d", "0.6", "-n", "2"), ("--windows=realtime:0.2:0.3:2",)
    for options, times in stride(itertools.product((SAMPLED, ("-e", "page_faults")), times_asked), 1):
        shutil.rmtree(f"{folder}/cpuperf.session", ignore_errors=True)
        with subprocess.Popen([CPUPERF, "--regions", *options, *times, "--", program, f"{folder}/end"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
            wait_until_saved(p, f"{folder}/cpuperf.session/cpuperf.cpsession")
            with open(f"{folder}/end", "w", encoding="ascii"):
                pass
            finish(p, None)
        os.remove(f"{folder}/end")
        row = regions(folder)["long"]
        metrics = [output(PRINT, "--quiet", "--output-format=openmetrics", *chosen, cwd=folder)
                   for chosen in ((), ("--iteration=0",), ("--iteration=1",))]
        whole, *parts = (float(re.search(r'region_seconds_total\{.*?region="long"\} ([\d.]+)', m)[1]) for m in metrics)
        assert abs(whole - sum(parts)) < 1e-6 and min(parts) > 0, (whole, parts)
        assert abs(row["wall_ns"] - whole * 1e9) < 1e3, (row, whole)
        # it begins when the program has been started, and lasts for all of the last iteration
        text = output(PRINT, "--quiet", "--report=summary", "--output-format=csv", cwd=folder)
        seconds = [max((int(r["end_ns"]) - int(r["start_ns"])) / 1e9 for r in csv.DictReader(io.StringIO(text))
                       if r["iteration"] == str(i)) for i in range(2)]
        assert parts[0] < 1.05 * seconds[0] and abs(parts[1] - seconds[1]) < 0.05 * seconds[1], (parts, seconds)
        if options is SAMPLED:
            flat = output(PRINT, "--quiet", "--report=flat", "--sort=region", "--output-format=csv", cwd=folder)
            shares = {r["region"]: float(r["self"]) for r in csv.DictReader(io.StringIO(flat, newline=""))}
            assert shares["long"] > 80, shares


def check_a_block_ends_what_was_left_in_it(folder):
    """By longjmp, and by an exception; here the end of the block is known."""
    measure(folder, build(), "leave")
    rows = regions(folder)
    # a mark between tells no more than that one region is open within the block
    assert sorted(rows) == ["request", "request > left", "request > left > after"], sorted(rows)
    assert (rows["request"]["calls"], rows["request"]["closed"]) == (10, 0), rows
    assert (rows["request > left"]["calls"], rows["request > left"]["closed"]) == (10, 10), rows
    measure(folder, build(compiler="c++", source="regions_exception.cc"))
    rows = regions(folder)
    assert {p: (r["calls"], r["closed"]) for p, r in rows.items()} == \
        {"request": (10, 0), "request > left": (10, 10)}, rows


def check_processes(folder):
    program = build()
    for what, closed in (("fork", 0), ("exec", 1)):
        measure(folder, program, what)
        rows = regions(folder)
        assert sorted(rows) == ["child", "parent"], rows
        assert rows["parent"]["wall_ns"] > rows["child"]["wall_ns"] >= 20e6, rows
        assert (rows["child"]["closed"], rows["parent"]["closed"]) == (closed, 0), rows


IMAGES = r"""
#include <cpuperf/mark.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argv;
	CPUPERF_BEGIN(argc > 1 ? "second" : "first");
	CPUPERF_BEGIN("inner");
	usleep(20000);
	if (argc == 1)
		execl("/proc/self/exe", "second", "2", NULL);
	if (argc == 3)
		execl("/bin/sleep", "sleep", "5", NULL);
	CPUPERF_END;
	CPUPERF_END;
	return 7;
}
"""


def check_exec_without_samples(folder):
    """Nothing but the marks says that the process runs another program: what it left open ends there."""
    with open(f"{folder}/images.c", "w", encoding="ascii") as f:
        f.write(IMAGES)
    run("cc", *FLAGS, "-o", f"{folder}/images", f"{folder}/images.c")
    measure(folder, f"{folder}/images", options=("-e", "page_faults"))
    closed = {path: row["closed"] for path, row in regions(folder).items()}
    assert closed == {"first": 1, "first > inner": 1, "second": 0, "second > inner": 0}, closed
    # a program without marks is looked for ten times a second
    measure(folder, f"{folder}/images", "2", "3", code=0, options=("-e", "page_faults"))
    row = regions(folder)["second"]
    assert row["closed"] == 1 and row["wall_ns"] < 4e9, row


ONE_LINE = r"""
#include <cpuperf/mark.h>
#define BOTH CPUPERF_REGION("a"); CPUPERF_REGION("b")
int main(void)
{
	BOTH; CPUPERF_REGION("c");
	return 7;
}
"""


def check_regions_on_one_line(folder):
    for compiler, source in (("cc", "line.c"), ("c++", "line.cc")):
        with open(f"{folder}/{source}", "w", encoding="ascii") as f:
            f.write(ONE_LINE)
        run(compiler, *FLAGS, "-o", f"{folder}/line", f"{folder}/{source}")
        measure(folder, f"{folder}/line", options=("-e", "page_faults"))
        assert list(regions(folder)) == ["a", "a > b", "a > b > c"], regions(folder)


def check_objects(folder):
    objects = [build("-shared", "-fPIC", f'-DNAME="object {i}"', source="regions_object.c", name=f"{i}.so")
               for i in (1, 2)]
    for flags in ([], ["-rdynamic"]):
        measure(folder, build(*flags), "object", *objects)
        rows = regions(folder)
        # The region that was open when the first object was closed ends with the thread.
        for path in ("object 1 > main", "object 1 > object 2 > main"):
            assert rows[path]["wall_ns"] >= 2e6, rows
        assert rows["object 1"]["closed"] == rows["object 1 > object 2"]["closed"] == 1, rows
        assert sum(r["calls"] for p, r in rows.items() if p.endswith("main")) == 2, rows


def check_ends_in_other_objects(folder):
    built = build("-shared", "-fPIC", '-DNAME="object"', source="regions_object.c", name="1.so")
    for flags in ([], ["-rdynamic"]):
        measure(folder, build(*flags), "across", built)
        assert {p: (r["calls"], r["closed"]) for p, r in regions(folder).items()} == {
            "main": (10, 0), "object": (30, 0), "object > inner": (10, 0), "block": (10, 0), "block > object": (10, 0)}, regions(folder)
        assert "end" not in heading(folder), heading(folder)


def check_compilers(folder):
    for compiler, flags in (("c++", ["-x", "c++", "-std=c++11", "-fpermissive"]), ("clang-14", ["-std=gnu99"]),
                            ("cc", ["-std=gnu99", "-fPIE", "-pie"]), ("cc", ["-static"])):
        if subprocess.run(["which", compiler], stdout=subprocess.DEVNULL).returncode:
            print(f"skip: {compiler}: not installed")
            continue
        more = ["-Wno-error"] if "-static" in flags else []
        measure(folder, build(*flags, *more, compiler=compiler), "fork")
        assert sorted(regions(folder)) == ["child", "parent"], (compiler, flags)


COUNTER = r"""
#include <cpuperf/mark.h>
#include <time.h>
static uint64_t read_counter(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}
/* Hardly any of it in the C library, which may have no frame pointers. */
#define WORK                                                      \
	for (clock_t until = clock() + CLOCKS_PER_SEC / 20; clock() < until;) \
		for (int i = 0; i < 10000; i++)                   \
			__asm__ volatile("")
static __attribute__((noinline)) void shown(void)
{
	WORK;
}
static __attribute__((noinline)) void hidden(void)
{
	WORK;
}
int main(void)
{
	uint64_t before = read_counter(), now = cpuperf_mark_now(CPUPERF_MARK_CYCLES), after = read_counter();

	CPUPERF_BEGIN("slept");
	usleep(20000);
	CPUPERF_END;
	shown();
	cpuperf_pause();
	hidden();
	cpuperf_resume();
	return CPUPERF_MARK_COUNTER == CPUPERF_MARK_TSC && before <= now && now <= after ? 7 : 1;
}
"""


def check_programs_of_each_machine(folder):
    """The counter that a program says it can read is the one that it reads; its pauses are by it."""
    source = f"{folder}/counter.c"
    with open(source, "w", encoding="ascii") as f:
        f.write(COUNTER)
    # the kernel's headers are those of both
    of_32_bits = ["-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"]
    for flags in ([], of_32_bits) if platform.machine() == "x86_64" else ():
        if run("cc", *FLAGS, *flags, "-o", f"{folder}/counter", source, code=None).returncode and flags:
            print("skip: programs of 32 bits: the compiler makes none", flush=True)
        elif can_execute(f"{folder}/counter", "programs of 32 bits"):
            measure(folder, f"{folder}/counter")
            assert 20e6 <= regions(folder)["slept"]["wall_ns"] < 2e9, (flags, regions(folder))
            callers = output(PRINT, "--quiet", "--report=tree", "--min-percent=0", cwd=folder)
            assert "shown" in callers and "hidden" not in callers, (flags, callers)
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <cpuperf/mark.h>\nuint64_t now(void) { return cpuperf_mark_now(CPUPERF_MARK_CYCLES); }\n")
    for compiler, flags, instruction in (("cc", of_32_bits, "rdtsc"), ("aarch64-linux-gnu-gcc", [], "cntvct_el0")):
        if platform.machine() == "x86_64" and shutil.which(compiler):
            done = run(compiler, *FLAGS, *flags, "-S", "-o", "-", source, code=None)
            assert done.returncode or instruction in done.stdout.split("\nnow:")[1], done.stdout
    # x32: the C library for it is rarely there
    x32 = ["cc", "-D__ILP32__", "-D__x86_64__", "-E", INCLUDE, source]
    assert "cannot mark programs of x32: define CPUPERF_NO_MARKS" in run(*x32, code=1).stderr


def check_nothing_changes_without_a_recorder(folder):
    program = build()
    for variable in (None, "", "/nowhere", "x" * 300, "cpuperf-marks-", "cpuperf-marks-0000000g", "cpuperf-marks-12345678"):
        env = {**os.environ, "CPUPERF_MARKS": variable} if variable is not None else None
        done = run(program, "fork", code=7, env=env)
        assert not done.stdout and not done.stderr, done
    none = build("-DCPUPERF_NO_MARKS", name="none")
    assert b"CPUPERF_MARKS" not in open(none, "rb").read()


def check_a_killed_recorder_harms_nobody(folder):
    program = build()
    p = subprocess.Popen([CPUPERF, "--regions", "--", program, "threads"], cwd=folder, stdout=subprocess.PIPE,
                         start_new_session=True)
    assert p.stdout.readline() == b"begun 1\n"
    p.kill()
    text = p.stdout.read().decode()  # until the command has ended, too
    p.wait()
    assert "request.calls 80\n" in text, text


def check_regions_without_samples(folder):
    """Of a session that counts: wall time, calls, and the counts of regions; in all formats that have regions."""
    own = measure(folder, build(), "threads", options=("-e", "page_faults,task_clock", "--region-counts=page_faults"))
    rows = regions(folder)
    for name in ("request", "parse"):
        row = rows["request" if name == "request" else "request > parse"]
        assert row["calls"] == own[name + ".calls"], (row, own)
        assert 0.99 * own[name + ".inside"] <= row["wall_ns"] <= 1.01 * own[name + ".outside"], (row, own)
        assert row["in_regions_page_faults_calls"] == row["calls"], row
    text = output(PRINT, "--quiet", cwd=folder)
    assert "page_faults" in text and "\nRegions of " in text, text
    assert "Regions of" in output(PRINT, "--quiet", "--report=regions", "--group-by=thread", cwd=folder)
    assert '"cat":"region"' in output(PRINT, "--quiet", "--output-format=chrome", cwd=folder)
    assert 'cpuperf_region_calls_total{region="request > parse"}' in output(
        PRINT, "--quiet", "--output-format=openmetrics", cwd=folder)
    assert '"tracks":[{"comm":"regions"' in output(PRINT, "--quiet", "--output-format=html", cwd=folder)
    done = run(PRINT, "--quiet", "--report=flat", cwd=folder, code=1)
    assert "has counts only" in done.stderr, done.stderr
    run(CPUPERF, "-e", "page_faults", "--", "true", cwd=folder)
    done = run(PRINT, "--quiet", "--report=regions", cwd=folder, code=1)
    assert "has counts only" in done.stderr, done.stderr


def check_options_of_counts(folder):
    for value, why in (("page_faults,,x", "--region-counts:1:13: error: region_counts: the name of an event is missing"),
                       ("nothing", "no event of the session is"), ("", "the name of an event is missing")):
        done = run(CPUPERF, "--regions", "-e", "page_faults", f"--region-counts={value}", "--", "true", cwd=folder, code=125)
        assert why in done.stderr, done.stderr
    done = run(CPUPERF, "-e", "page_faults", "--region-counts=page_faults", "--", "true", cwd=folder, code=125)
    assert "no regions are received" in done.stderr and "--regions" in done.stderr, done.stderr


def check_regions_of_a_control_group(folder):
    done = run(CPUPERF, "--regions", "-e", "cpu_clock@997Hz", "--cgroup=/", cwd=folder, code=1)
    assert "regions of a control group cannot be received" in done.stderr, done.stderr


with tempfile.TemporaryDirectory(prefix="cpuperf-test.") as BUILT:
    os.chmod(BUILT, 0o755)
    run_checks(globals(), everybody=True)
