#!/usr/bin/env python3
"""Which blocks nothing points to any more: a program that loses some of a known size, and keeps others by a global, from
within, in a chain, in thread-local memory, in a stack and in a register. valgrind says the same, where it is installed."""
import csv
import io
import os
import re
import shutil
import signal

from kit import again, CPUPERF, PRINT, output, own_libraries, run, run_checks

HEAP = os.environ["HEAP"]
LOST = {"lost_direct": 20 * 5008, "lost_chain": 1040, "lost_cycle": 208, "lost_large": 1 << 20, "lost_last": 6000,
        "reach_global": 1000}
KEPT = {"reach_global": 1000, "reach_interior": 2000, "reach_chain": 5200, "reach_tls": 3000, "reach_stack": 4000,
        "reach_register": 7000}
ITEMS, ITEM_BYTES = 200000, 96
EVENTS = "heap:unreachable@1,heap:leaked@1,heap:live@1"


def measure(folder, *command, events=EVENTS, options=(), code=0):
    run("rm", "-rf", f"{folder}/s")
    return run(CPUPERF, f"--output={folder}/s", "-g", f"--event={events}", *options, "--", *command, code=code).stderr


def rows(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--report=heap", "--output-format=csv", *options)
    return {r["function"]: r for r in csv.DictReader(io.StringIO(text))}


def lost(folder, *options):
    return {name: int(r["unreachable"]) for name, r in rows(folder, *options).items() if r["unreachable"] != "0"}


def check_ends(folder):
    """At the return from main, _exit and quick_exit; a child by vfork ends in its parent's memory."""
    for how in ("0", "1", "2", "5"):
        said = measure(folder, HEAP, "reach", how)
        found = rows(folder)
        assert {k: v for k, v in lost(folder).items() if v} == LOST, (how, lost(folder), said)
        for name, size in KEPT.items():
            r = found[name]
            assert int(r["leaked"]) - int(r["unreachable"]) == size, (how, r)
        assert "unreachable" in said and "without a search" not in said, said


def check_scattered(folder):
    """Two lists of many blocks in a random order, of which one is lost: all of it, and nothing of the other."""
    said = measure(folder, HEAP, "scattered", str(ITEMS))
    assert lost(folder) == {"lost_item": ITEMS * ITEM_BYTES}, (lost(folder), said)
    assert int(rows(folder)["kept_item"]["leaked"]) == ITEMS * ITEM_BYTES, rows(folder)


def check_without_search(folder):
    """A program that ends by itself is not searched, which is said."""
    for how, code in ((["reach", "3"], 0), (["killed"], 128 + signal.SIGKILL)):
        said = measure(folder, HEAP, *how, code=None)
        assert "1 process ended without a search for pointers to their blocks" in said, said
        assert not lost(folder), lost(folder)


def check_dumps(folder):
    """At a dump, too: what it found and what is live still."""
    measure(folder, HEAP, "reach", "4")
    assert lost(folder, "--iteration=0") == LOST, lost(folder, "--iteration=0")
    assert lost(folder, "--iteration=1") == LOST, lost(folder, "--iteration=1")


def check_processes(folder):
    """Each process is searched; what is counted is their sum."""
    measure(folder, "sh", "-c", f"{HEAP} reach & {HEAP} reach; wait; true")
    assert {k: v for k, v in lost(folder).items() if k in LOST} == {k: 2 * v for k, v in LOST.items()}, lost(folder)
    measure(folder, HEAP, "reach", events="heap:unreachable")
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration")
    assert re.search(rf"unreachable +{sum(LOST.values()):,} ", text), text


def check_refused(folder):
    """With samples other blocks could have the pointers; those of before --attach are not known."""
    for events in ("heap:unreachable@512", "heap:unreachable,heap:live@512", "heap:live@512,heap:unreachable"):
        said = run(CPUPERF, f"--output={folder}/s", f"--event={events}", "--", "true", code=125).stderr
        assert "heap:unreachable requires a rate of 1" in said, said


def lost_by_valgrind(folder, valgrind, *what):
    done = run(valgrind, "--leak-check=full", HEAP, *what, env={"LD_LIBRARY_PATH": own_libraries(folder, HEAP)}, code=None)
    return {m[1]: int(m[2].replace(",", "")) for m in
            re.finditer(r"(definitely lost|indirectly lost|possibly lost|still reachable): ([\d,]+) bytes", done.stderr)}


def compare_with_valgrind(folder, valgrind, *what):
    """Its heap begins at 78 million: any number of that size in the memory, of nanoseconds for one, is a pointer into a block
    for it, from which more is reached; another run has others."""
    measure(folder, HEAP, *what)
    table = rows(folder)
    unreachable = sum(int(r["unreachable"]) for r in table.values())
    for left in (2, 1, 0):
        found = lost_by_valgrind(folder, valgrind, *what)
        lost = found["definitely lost"] + found["indirectly lost"]
        if lost >= unreachable or not left:
            break
        again("check_valgrind", f"{found}, {unreachable} bytes here")
    assert lost == unreachable, (found, table)
    kept = sum(int(r["leaked"]) for r in table.values()) - unreachable
    assert abs(found["possibly lost"] + found["still reachable"] - kept) < 2000, (found, kept, table)


def check_valgrind(folder):
    """The same program, the same bytes: definitely and indirectly lost there, unreachable here."""
    valgrind = shutil.which("valgrind")
    if not valgrind:
        print("skip: check_valgrind: valgrind is not installed")
        return
    compare_with_valgrind(folder, valgrind, "reach")
    compare_with_valgrind(folder, valgrind, "scattered", "10000")


run_checks(globals())
