#!/usr/bin/env python3
"""The agent that measures a program's heap, without cpuperf: a recorder written from the layout of its memory
(heap_memory.py) compares what it added up with programs whose heap is known.
"""
import glob
import os
import re
import resource
import signal
import subprocess
import sys

from heap_memory import ADAPTIVE, BLOCKS, OVERHEAD, PATTERN, PEAK, Recorder, STACKS, UNTOUCHED
from kit import run, run_checks

AGENT, HEAP = os.environ["AGENT"], os.environ["HEAP"]
LIBRARY = """
#include <stdlib.h>
void *library_keep;
__attribute__((noinline)) static void inner(void) { library_keep = malloc(SIZE); __asm__ volatile(""); }
void library_allocate(void) { inner(); __asm__ volatile(""); }
"""


def measure(*arguments, code=0, nr=1, **how):
    """What the program printed, and its memories."""
    recorder = Recorder(AGENT, **how)
    done = recorder.run(HEAP, *map(str, arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == code, (arguments, done)
    assert len(recorder.memories) == nr, (arguments, len(recorder.memories))
    return done.stdout, recorder.memories


def stacks(*arguments, **how):
    """Of a program with one process: what it printed, stacks without what the C library allocates for
    itself, and the header. All that was allocated is in a stack."""
    text, [memory] = measure(*arguments, **how)
    found = memory.stacks()
    calls, bytes_, _ = memory.threads()
    if memory.rate == 1:
        assert sum(s["samples"] for s in found) == calls, (arguments, found, calls)
        assert sum(s["bytes"] for s in found) == bytes_, (arguments, found, bytes_)
        live = sum(s["live_samples"] for s in found)
        assert len(memory.blocks()) == live, (live, len(memory.blocks()))
    head = memory.header()
    assert not (head["no_node"] or head["no_block"] or head["invalid"]), head
    return text, found, head


def amounts(s):
    return {k: (s[k + "_bytes"], s[k + "_samples"]) for k in ("live", "peak", "temporary")} | \
        {"allocated": (s["bytes"], s["samples"]), "max": s["max"]}


def check_counters(_):
    """The definitions: what is allocated, live, at the peak, the largest, freed at once."""
    for what, live, peak, allocated, largest, temporary in (
            ("ones", (10, 10), (10, 10), (10, 10), 1, (0, 0)),
            ("growing", (55, 10), (55, 10), (55, 10), 10, (0, 0)),
            ("freed", (0, 0), (10, 1), (55, 10), 10, (55, 10))):
        _, [s], _ = stacks(what)
        assert amounts(s) == {"live": live, "peak": peak, "allocated": allocated, "max": largest,
                              "temporary": temporary}, (what, s)


def check_tree(_):
    _, found, _ = stacks("tree")
    assert [(s["bytes"], s["samples"]) for s in found] == [(1, 1), (1, 1), (2, 1)], found
    in_foo, in_bar, last = (s["path"] for s in found)
    # main > foo > malloc; main > foo > bar; main > bar
    assert len(in_bar) == len(in_foo) + 1 == len(last) + 1, found
    assert in_bar[:-2] == in_foo[:-1] and in_bar[-1] == last[-1], found
    assert in_bar[:-3] == last[:-2] and in_bar[-3] != last[-2], found


def check_peak(_):
    """The stacks of the moment of the largest amount, which is in the middle."""
    _, found, head = stacks("peak")
    assert head["peak"] == 3000000 and head["live"] == 1500000, head
    assert [s["peak_bytes"] for s in found] == [2000000, 1000000, 0], found
    assert [s["live_bytes"] for s in found] == [0, 500000, 1000000], found


def check_adaptive(_):
    """While each allocation is a sample, all is as with a rate of 1: also what realloc moves, and the peak to the byte, though
    the sizes of malloc_usable_size are counted for what follows."""
    for what in ("peak", "kinds", "freed", "growing"):
        results = []
        for how in ({}, {"rate": 1 << 19, "wants": BLOCKS | STACKS | PEAK | ADAPTIVE}):
            _, found, head = stacks(what, **how)
            results.append(([amounts(s) for s in found], head["live"], head["peak"]))
        assert results[0] == results[1], (what, results)


def check_kinds(_):
    """Each function of the allocator; what fails allocates nothing, and what realloc frees is freed."""
    text, found, head = stacks("kinds")
    printed = [s for s in found if s["max"] == 4096 or s["max"] == 1024]  # stdio's buffer
    own = [s for s in found if s not in printed]
    assert sorted(s["bytes"] for s in own) == [21, 50, 100, 200, 320, 400, 640, 700], own
    assert {s["bytes"] for s in own if s["freed_samples"]} == {50, 200, 320, 640}, own
    assert text.startswith("(nil) 1 7"), text
    assert not head["unknown"], head
    assert measure("errno")[0] == "77\n"


def check_paths(_):
    """Paths are those of the unwinder of libgcc: through functions without frame pointers, with alloca and
    large frames, callbacks of the C library, a signal handler, in a thread and at exit."""
    for what, least in (("paths", 8), ("stacks", 20)):
        text, found, head = stacks(what)
        by_size = {s["max"]: s["path"] for s in found}
        lines = [line.split() for line in text.splitlines()]
        assert len(lines) >= least, text
        for size, *addresses in lines:
            theirs = [int(a, 16) for a in addresses][::-1]
            same = [s["path"] for s in found if s["path"][:-1] == theirs]
            ours = by_size.get(int(size), [0])
            assert same or ours[:-1] == theirs, (what, size, [hex(a) for a in ours], [hex(a) for a in theirs])
        assert not head["cut"], head


def check_alternate(folder):
    """Handlers that allocate on stacks of the least size, beside which nothing is written, also if the kernel says nothing
    of them while they run (SS_AUTODISARM), or the handler has another meanwhile. Their allocations have no callers."""
    program = f"{folder}/alternate"
    run("cc", "-O1", "-D_GNU_SOURCE", "-fno-builtin", "-pthread", "-o", program, f"{os.path.dirname(__file__)}/alternate.c")
    for words, others in ((), 0), (("autodisarm",), 0), (("autodisarm", "disable"), 0), (("autodisarm", "other"), 3):
        recorder = Recorder(AGENT)
        done = recorder.run(program, *words, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "0\n"), ("written beside its stack", words, done)
        [memory] = recorder.memories
        [s] = [s for s in memory.stacks() if s["bytes"] == 3 * 101 + others * 202]
        assert len(s["path"]) == 1 and memory.header()["cut"] == s["samples"] == 3 + others, (words, s, memory.header())


def check_deep(_):
    _, [whole], head = stacks("deep", 900)
    assert len(whole["path"]) > 900 and not head["cut"], (len(whole["path"]), head)
    assert len(set(whole["path"][-800:-10])) == 1, "one place that recurses"
    _, [cut], head = stacks("deep", 5000)
    assert 1000 < len(cut["path"]) <= 1024 and head["deep"] == head["cut"] == 1, head


def check_processes(_):
    """A child by fork has its own memory, which begins empty; one by vfork, its parent's; after exec a new
    one. However a process ends, what it did is there."""
    _, (parent, child) = measure("forks", nr=2)
    assert [s["bytes"] for s in parent.stacks()] == [1000, 3000, 4000], parent.stacks()
    assert not parent.header()["unknown"], "the child's free is not the parent's"
    assert [s["bytes"] for s in child.stacks()] == [2000], child.stacks()
    _, (before, after) = measure("execs", nr=2)
    assert before.pid == after.pid
    assert [s["bytes"] for m in (before, after) for s in m.stacks()] == [1000, 5]
    for what, code in (("killed", -signal.SIGKILL), ("raw", 3)):
        _, [memory] = measure(what, code=code)
        assert [s["live_bytes"] for s in memory.stacks()] == [1234], what


def check_sealed(_):
    """A program, and a child by fork, that forbid themselves all system calls but malloc's before they allocate."""
    for memory in measure("sealed", nr=2)[1] + measure("sealed_raw")[1]:
        assert [s["bytes"] for s in memory.stacks()] == [55], memory.stacks()


def check_threads(_):
    """Blocks that other threads free and reallocate; threads that end; handlers that interrupt the agent."""
    _, found, head = stacks("many", 20000)
    churn = [s for s in found if s["samples"] > 1000]
    assert len(churn) == 2, found
    for s in churn:
        assert s["live_bytes"] == s["live_samples"] == 0, s
    assert not head["unknown"], head
    _, found, head = stacks("consumer", 3000)
    [s] = [s for s in found if s["bytes"] == 210000]
    assert s["freed_bytes"] == 210000 and s["live_samples"] == 0, s
    _, found, head = stacks("threads", 3000)
    [s] = [s for s in found if s["bytes"] == 30000]
    assert s["freed_bytes"] == s["temporary_bytes"] == 30000 and head["nr_threads"] < 10, (s, head)
    _, [memory] = measure("signals", 2000)
    calls = memory.threads()[0]
    lost = calls - sum(s["samples"] for s in memory.stacks())
    assert calls >= 2000 and lost <= memory.header()["nested"], (calls, memory.header())


def check_libraries(folder):
    """Two libraries that come to the same addresses, one after the other: no path is of both."""
    paths = []
    for size in (11, 12):
        source, path = f"{folder}/l.c", f"{folder}/l{size}.so"
        with open(source, "w", encoding="ascii") as f:
            f.write(LIBRARY)
        run("cc", "-O2", "-shared", "-fPIC", f"-DSIZE={size}", "-o", path, source)
        paths.append(path)
    _, found, head = stacks("load", 50, *paths)
    assert head["nr_epochs"] >= 100, head
    of = {size: [s for s in found if s["max"] == size and s["samples"] * size == s["bytes"]] for size in (11, 12)}
    assert all(sum(s["samples"] for s in of[size]) == 50 for size in of), of
    mixed = [s for s in found if s["max"] == 12 and s["bytes"] % 12]
    assert not mixed, mixed


def check_little_memory(_):
    """Memory that runs out, address space that the recorder's memory does not fit into, and no place for
    blocks: the program goes on."""
    recorder = Recorder(AGENT, arena=4 << 30)
    done = recorder.run(HEAP, "exhausted", stdout=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_AS, (128 << 20, 128 << 20)))
    assert done.stdout == b"1\n" and recorder.memories, done
    for limit in (2 << 30, 40 << 20, 16 << 20):
        done = recorder.run(HEAP, "ones", "10", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (limit, limit)))  # pylint: disable=cell-var-from-loop
        assert done.returncode == 0, (limit, done)
        found = recorder.memories[-1].stacks()
        assert [s["bytes"] for s in found] == [10], (limit, found)
    _, [memory] = measure("shares", 20000, arena=16 << 10)
    head = memory.header()
    assert head["no_block"] > 1000 and len(memory.blocks()) >= 32, head
    assert sum(s["samples"] for s in memory.stacks()) == memory.threads()[0]


def check_first(_):
    """The first allocation of a thread is sampled as rarely as others are."""
    for _ in range(5):
        _, [memory] = measure("ones", 10, rate=1 << 40)
        assert not memory.stacks(), memory.stacks()


def check_shares(_):
    """Exact sums of two functions; and by samples, in 15 runs: the interval holds the truth in all but 4, and the mean is
    within five of its standard deviations. With CPUPERF_TEST_LONG=1, and where chance was against it, in 60, in all but 12:
    of an interval that holds 19 of 20, less than one test in 100,000 has more."""
    is_long = os.environ.get("CPUPERF_TEST_LONG") == "1"
    text, found, _ = stacks("shares", 20000)
    truth = [int(n) for n in text.split()]
    assert sorted((s["bytes"] for s in found), reverse=True)[:2] == truth, (found, truth)
    held = held_live = total = runs = misses = 0
    live = sorted((s["live_bytes"] for s in found), reverse=True)[0]
    for runs in range(1, 61):
        text, found, head = stacks("shares", 20000, rate=65536)
        s = max(found, key=lambda s: s["bytes"])
        error = 1.96 * s["bytes"] / s["samples"] ** .5
        held += abs(s["bytes"] - truth[0]) <= error
        error = 1.96 * s["live_bytes"] / s["live_samples"] ** .5
        held_live += abs(s["live_bytes"] - live) <= error
        total += s["bytes"]
        assert head["peak"] >= head["live"] > 0
        misses = 4 if runs == 15 else 12
        if runs == 15 and not is_long and min(held, held_live) >= runs - misses and is_near(total / runs / truth[0], runs):
            break
    print(f"the interval held allocated bytes in {held} of {runs} runs, live bytes in {held_live}; "
          f"the mean is {total / runs / truth[0]:.4f} of the truth")
    assert held >= runs - misses and held_live >= runs - misses
    assert is_near(total / runs / truth[0], runs)


def is_near(mean, runs):
    return abs(mean - 1) < .02 * (60 / runs) ** .5


def check_programs(folder):
    """Programs that know nothing of it print and return what they do alone."""
    python = "import json; print(len([json.loads('[1,{\"a\":2}]') for i in range(5000)]))"
    with open(f"{folder}/x.c", "w", encoding="ascii") as f:
        f.write("#include <stdio.h>\nint main(void) { puts(\"x\"); return 4; }\n")
    for command in ([sys.executable, "-c", python], ["bash", "-c", "for i in 1 2 3; do echo $(ls /usr | wc -l); done; exit 9"],
                    ["perl", "-e", "my %h; $h{$_} = 'x' x ($_ % 100) for 1..20000; print scalar(keys %h), qq(\\n)"],
                    ["gcc", "-O2", "-o", f"{folder}/x", f"{folder}/x.c"], ["sh", "-c", "echo a >&2; kill -9 $$"]):
        alone = subprocess.run(command, capture_output=True, check=False)
        for rate in (1, 524288):
            recorder = Recorder(AGENT, rate=rate)
            measured = recorder.run(*command, capture_output=True)
            assert (alone.returncode, alone.stdout, alone.stderr) == \
                (measured.returncode, measured.stdout, measured.stderr), (command, alone, measured)
            assert recorder.memories, command
            for m in recorder.memories:
                sums = sum(s["samples"] for s in m.stacks())
                assert sums == m.threads()[0] if rate == 1 else sums < m.threads()[0], (command, sums, m.threads())


ALLOCATORS = (("", ""), ("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc.so.4"),
              ("tcmalloc_minimal", "libtcmalloc_minimal.so.4"), ("mimalloc", "libmimalloc.so.2"))
KEPT, FREED = (101, 202, 303, 707, 808, 1010), (128, 404, 4000, 512, 606)


def with_allocators(folder):
    """The program of heap_new.cc with each allocator, preloaded and linked: names, the program, what is preloaded. One of
    them is heap_threads.cc."""
    own = f"{folder}/libthreads.so"
    run("c++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fno-builtin", "-o", own, f"{os.path.dirname(__file__)}/heap_threads.cc")
    run("c++", "-std=c++17", "-O1", "-g", "-fno-builtin", "-c", "-o", f"{folder}/new.o",
        f"{os.path.dirname(__file__)}/heap_new.cc")
    for name, library in (*ALLOCATORS, ("threads", own)):
        program = f"{folder}/new-{name}"
        what = [own] if library == own else ["-Wl,--no-as-needed", f"-l{name}"] if name else []
        done = run("c++", "-pthread", "-o", program, f"{folder}/new.o", *what, code=None)
        if not done.returncode:
            yield name, "linked", program, ""
        elif name:
            print(f"skip: {name}, linked: it is not installed to link with", flush=True)
        if not name:
            continue
        if library == own or glob.glob(f"/usr/lib/*/{library}"):
            yield name, "preloaded", f"{folder}/new-", library
        else:
            print(f"skip: {name}, preloaded: it is not installed", flush=True)


def check_allocators(folder):
    """C++ allocates by operators, which other allocators have themselves: each is one allocation, at the place in
    the program that calls it. What the agent asks an allocator may allocate: that changes nothing."""
    for name, way, program, library in with_allocators(folder):
        alone, calls = run(program, env={"LD_PRELOAD": library}, code=None), []
        for rate, wants in ((1, OVERHEAD | PATTERN | UNTOUCHED), (1 << 16, OVERHEAD)):
            recorder, what = Recorder(AGENT, rate=rate, wants=BLOCKS | STACKS | PEAK | wants), (name, way, rate, wants)
            recorder.agent = ":".join(filter(None, (AGENT, library)))
            done = recorder.run(program, capture_output=True, text=True)
            assert (alone.returncode, alone.stdout) == (done.returncode, done.stdout), (what, alone, done)
            parent, child = recorder.memories
            calls.append(parent.threads())
            if rate > 1:
                continue
            found = [s for s in parent.stacks() if s["bytes"] in KEPT + FREED]
            freed = {s["bytes"]: s["freed_bytes"] for s in found}
            want = {n: n for n in FREED} | {n: 0 for n in KEPT}
            if name == "mimalloc":  # it ends the program where there is no memory; alone, too
                freed.pop(606, None), want.pop(606)
            assert freed == want, (what, found)
            [s] = [s for s in child.stacks() if s["bytes"] == 909]
            assert s["live_bytes"] == 909, (what, s)
        assert all(c == calls[0] for c in calls), (name, way, calls)


def check_without_recorder(_):
    """Nobody listens, or the variable is missing or wrong: nothing happens."""
    for name in (None, "cpuperf-marks-00000001", "x" * 5000):
        done = run(HEAP, "growing", "10", env={"LD_PRELOAD": AGENT, "CPUPERF_MARKS": name})
        assert done.stdout == done.stderr == "", (name, done)


def check_untouched(_):
    """Pages that were never touched, of what is freed or copied away: once each, at the call that allocated them."""
    text, found, head = stacks("untouched", wants=BLOCKS | STACKS | UNTOUCHED)
    copied, moved = (int(n) for n in text.split())
    got = {s["max"]: s["untouched"] for s in found if s["max"] in (80000, 120000, 110000, 1 << 20, 9 << 20, 3000)}
    assert got == {80000: copied, 120000: 0, 110000: 0, 9 << 20: moved, 3000: 0, 1 << 20: got[1 << 20]}, (text, got)
    megabytes = sorted((s["untouched"], s["untouched_samples"]) for s in found if s["max"] == 1 << 20)
    assert megabytes == [(0, 0), (128 * 4096, 1)], found
    assert copied > 70000 and moved > (9 << 20) - 5000 and not head["unknown"], (text, head)
    [s] = [s for s in stacks("untouched")[1] if s["max"] == 9 << 20]
    assert s["untouched"] == 0, "it is not wanted"
    # of samples: those bytes by the allocations that the sample stands for
    total = runs = 0
    for runs in range(1, 41):
        total += sum(s["untouched"] for s in stacks("untouched", rate=1 << 20, wants=BLOCKS | STACKS | UNTOUCHED)[1])
    want = copied + moved + 128 * 4096
    print(f"of samples the mean is {total / runs / want:.3f} of the truth")
    assert abs(total / runs / want - 1) < .2, (total, want)


def check_pattern(_):
    """What was not written of blocks, by their pattern: exactly, of new and of used memory, of any size; calloc has none; what
    realloc keeps counts once; the largest ones by their pages."""
    wants = BLOCKS | STACKS | UNTOUCHED | PATTERN
    text, found, head = stacks("pattern", wants=wants)
    want = dict(map(int, line.split()) for line in text.splitlines())
    got = {size: sum(s["untouched"] for s in found if s["max"] == size) for size in want}
    assert got == want and not head["unknown"], (got, want)
    [s] = [s for s in found if s["max"] == 1001]
    assert s["untouched_samples"] == 1, s
    # beside it, when blocks were allocated has its place in the same word
    text, found, _ = stacks("pattern", wants=wants | 32)
    assert sum(s["untouched"] for s in found if s["max"] == 1002) == 1000, found
    # of samples: those bytes by the allocations that the sample stands for
    total = runs = 0
    for runs in range(1, 61):
        total += sum(s["untouched"] for s in stacks("pattern", rate=1 << 16, wants=wants)[1] if s["max"] < 1 << 20)
    truth = sum(n for size, n in want.items() if size < 1 << 20)
    print(f"of samples the mean is {total / runs / truth:.3f} of the truth")
    assert abs(total / runs / truth - 1) < .15, (total, truth)


def check_wants(_):
    """What is not wanted is not done: counts alone, sums without blocks or stacks."""
    _, [counts] = measure("freed", rate=0, wants=0)
    assert counts.threads() == [10, 55, 10] and not counts.stacks()
    _, [totals] = measure("freed", wants=BLOCKS | PEAK)
    assert totals.threads() == counts.threads(), totals.threads()
    [s] = totals.stacks()
    assert (s["bytes"], s["freed_bytes"], s["peak_bytes"], s["path"]) == (55, 55, 10, []), s
    _, [sums] = measure("freed", wants=STACKS)
    [s] = sums.stacks()
    assert (s["bytes"], s["freed_bytes"], sums.blocks()) == (55, 0, []), s


def check_imports(_):
    """The library imports only what the C libraries have in which it may be loaded."""
    known = set("""__cxa_finalize __environ environ __errno_location clock_gettime close connect dl_iterate_phdr dladdr dlopen dlsym
        fcntl fcntl64 fstat fstat64 getauxval getenv geteuid getpid getsockopt madvise memchr memcpy memset mmap mmap64
        munmap pread pread64 pthread_key_create pthread_setcancelstate pthread_setspecific recvmsg send setsockopt socket strlen strncmp
        syscall memcmp memmove ioctl dladdr1 mprotect strchr strcmp strrchr strstr fxstat __fxstat64 stat stat64 __xstat64
        uname""".split())
    lines = run("nm", "-D", "--undefined-only", AGENT).stdout.splitlines()
    needed = {re.sub("@.*", "", line.split()[1]) for line in lines if line.split()[0] == "U"}
    assert needed <= known, needed - known


run_checks(globals())
