#!/usr/bin/env python3
"""--memory-map and --report=memory: each number is that of /proc/PID/smaps, which this test reads itself, and known
mappings have their known sizes. mapped.c has what is mapped.
"""
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess

import pages
from kit import CPUPERF, PRINT, SESSION, finish, output, run, run_checks, start, wait_for, wait_until_measuring

MAPPED = os.environ["MAPPED"]
MIB = 1 << 20
FIELDS = {"Size": "size", "Rss": "resident", "Pss": "proportional", "Shared_Dirty": "dirty", "Private_Dirty": "dirty",
          "Swap": "swapped", "AnonHugePages": "huge", "ShmemPmdMapped": "huge", "FilePmdMapped": "huge",
          "Shared_Hugetlb": "huge", "Private_Hugetlb": "huge"}
AMOUNTS = ("mappings", "size", "resident", "proportional", "dirty", "swapped", "huge")
KERNEL = ("[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]")


def kind(name, mode):
    if name in ("", "[heap]", "[stack]") or name in KERNEL:
        return {"": "anonymous", "[heap]": "heap", "[stack]": "stack"}.get(name, "kernel")
    if name.startswith("/memfd:"):
        return "shared"
    return "text" if "x" in mode else "data" if mode == "rw-p" else "file"


def smaps(pid):
    """By kind and object: the amounts. Pages that others map, too, have another Pss as soon as one of them ends."""
    rows, row = {}, None
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        for line in f:
            head = re.match(r"[0-9a-f]+-[0-9a-f]+ (....) \S+ \S+ \d+ *(.*)\n", line)
            if head:
                row = rows.setdefault((kind(head[2], head[1]), head[2]), dict.fromkeys(AMOUNTS, 0))
                row["mappings"] += 1
            elif line.split(":")[0] in FIELDS:
                row[FIELDS[line.split(":")[0]]] += int(line.split()[1]) << 10
    return rows


def report(folder, *args):
    text = output(PRINT, "--quiet", "--report=memory", "--output-format=csv", *args, SESSION, cwd=folder)
    return {(r["kind"], r["object"]): r for r in csv.DictReader(io.StringIO(text))}


def at(rows, moment):
    """What the report has at a moment, as smaps has it."""
    found = {k: {a: int(r[f"{a}_{moment}"]) for a in AMOUNTS} for k, r in rows.items()}
    return {k: v for k, v in found.items() if v["mappings"]}


def assert_same(found, wanted):
    """Libraries are also mapped by others, which come and go."""
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    for key, row in found.items():
        for amount in AMOUNTS:
            assert row[amount] == wanted[key][amount] or amount == "proportional", (key, amount, row, wanted[key])
    for key in (k for k in found if k[0] in ("heap", "shared", "data")):
        assert found[key] == wanted[key], (key, found[key], wanted[key])


def next_stage(p, number):
    if number:
        p.stdin.write("\n")
        p.stdin.flush()
    assert p.stdout.readline() == "ready\n"


def end_iteration(recorder, folder, number):
    recorder.send_signal(signal.SIGUSR2)
    wait_for(recorder, f"{folder}/{SESSION}/cpuperf.{number}.0.cpuperf")


def assert_known(folder, begin, peak, end):
    """The three moments of the whole session, and what the program mapped between them."""
    rows = report(folder)
    for moment, wanted in (("begin", begin), ("peak", peak), ("end", end)):
        assert_same(at(rows, moment), wanted)
    grown = lambda key, amount: int(rows[key][f"{amount}_peak"]) - int(rows[key][f"{amount}_begin"])
    anonymous, heap = ("anonymous", ""), ("heap", "[heap]")
    assert grown(anonymous, "size") == 16 * MIB and grown(anonymous, "resident") == 8 * MIB, rows[anonymous]
    assert grown(anonymous, "dirty") == 8 * MIB and grown(anonymous, "huge") in (0, 2 * MIB, 4 * MIB), rows[anonymous]
    assert int(rows[anonymous]["resident_change"]) == 4 * MIB and int(rows[anonymous]["size_change"]) == 8 * MIB
    assert (grown(heap, "size") if heap in begin else int(rows[heap]["size_peak"])) == 3 * MIB
    assert int(rows[heap]["resident_peak"]) >= 3 * MIB and rows[heap]["resident_peak"] == rows[heap]["resident_end"]
    data = rows["data", f"{folder}/file"]
    assert (data["size_end"], data["dirty_end"], data["resident_begin"]) == (str(4 * MIB), str(MIB), "0"), data
    shared = rows["shared", "/memfd:known (deleted)"]
    assert (shared["size_peak"], shared["dirty_peak"], shared["resident_change"]) == (str(2 * MIB), str(MIB), str(MIB)), shared
    return rows


def check_process(folder):
    """Each iteration has what was mapped at its start, at its largest and at its end."""
    program = subprocess.Popen([MAPPED, f"{folder}/file"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    maps = []
    next_stage(program, 0)
    recorder = start(folder, "--memory-map", "-e", "page_faults", f"--pid={program.pid}")
    wait_until_measuring(recorder, folder)
    for stage in range(3):
        if stage:
            next_stage(program, stage)
        end_iteration(recorder, folder, stage)
        maps.append(smaps(program.pid))
    total = shutil.which("pmap") and output("pmap", "-X", str(program.pid)).strip().split("\n")[-1].split()
    program.stdin.close()
    program.wait()
    finish(recorder)
    assert_same(at(report(folder, "--iteration=1"), "begin"), maps[0])
    assert_same(at(report(folder, "--iteration=1"), "peak"), maps[1])
    assert_same(at(report(folder, "--iteration=2"), "peak"), maps[1])
    rows = assert_known(folder, *maps)
    if total:
        assert [int(t) << 10 for t in total[:2]] == [sum(int(r[f"{a}_end"]) for r in rows.values())
                                                     for a in ("size", "resident")], total
    assert_forms(folder, rows)


def check_beside_the_heap(folder):
    """A session of the heap reads maps, too: its report says what memory grew by that malloc does not have."""
    p = start(folder, "-e", "heap:live@1,heap:leaked@1,heap:peak@1", command=(MAPPED, f"{folder}/file"))
    wait_until_measuring(p, folder)
    for stage in range(3):
        next_stage(p, stage)
        p.send_signal(signal.SIGUSR2)
        wait_for(p, f"{folder}/{SESSION}/cpuperf.{stage + 1}.0.cpuperf")  # of sampling there is a file from its start
    finish(p)
    rows = report(folder)
    text = output(PRINT, "--quiet", "--report=heap", SESSION, cwd=folder)
    found = re.search(r"^resident memory \+([\d.]+) MB to ([\d.]+) MB: (.*); ([\d.]+) MB of it is not live in malloc: its overhead, mapped beside it",
                      text, re.M)
    assert found, text
    of = {m: sum(int(r[f"resident_{m}"]) for r in rows.values()) for m in ("begin", "end")}
    kinds = {k: sum(int(r["resident_change"]) for (kind, _), r in rows.items() if kind == k) for k in ("anonymous", "heap")}
    for shown, wanted in ((found[1], of["end"] - of["begin"]), (found[2], of["end"])):
        assert abs(float(shown) * 1e6 - wanted) < wanted / 500, (text, of)
    anonymous = re.search(r"anonymous mappings \+([\d.]+) MB", found[3])
    assert anonymous, (text, rows)
    anonymous = float(anonymous[1])
    assert abs(anonymous * 1e6 - kinds["anonymous"]) < 5000 and anonymous > 4, (text, kinds)
    assert 4 * MIB < float(found[4]) * 1e6 < sum(kinds.values()) * 1.001, (text, kinds)


FREES = r'''
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	char *p[40];
	for (int i = 0; i < 40; i++)
		memset(p[i] = malloc(1 << 20), 1, 1 << 20);
	usleep(300000);
	for (int i = 0; i < 40; i++)
		free(p[i]);
	return 0;
}
'''


def check_freed_at_the_end(folder):
    """What a command frees before it ends is nobody's fault: its last map is of before."""
    with open(f"{folder}/frees.c", "w", encoding="ascii") as f:
        f.write(FREES)
    run("gcc", "-O1", "-fno-builtin", "-o", f"{folder}/frees", f"{folder}/frees.c")
    for events in ("heap:live@1", "heap:live@1,heap:peak@1"):
        for _ in range(20):  # the last map may be of before it had all
            run(CPUPERF, "-e", events, f"--output={folder}/s", "--", f"{folder}/frees")
            text = output(PRINT, "--quiet", "--report=heap", f"{folder}/s")
            assert "not live in malloc" not in text, text
            if re.search(r"^resident memory \+[1-4]\d\.\d+ MB to ", text, re.M):
                break
        else:
            assert False, text


def assert_forms(folder, rows):
    """Text has kinds and the largest objects of them, other forms a row of each."""
    said, table = output(PRINT, "--quiet", "--report=memory", "--top=2", SESSION, cwd=folder).split("\nmemory ")
    assert re.search(r"Memory of 1 process: begin .*, peak .*, end .* before the end of the measuring", said), said
    text = f"\nmemory {table}"
    kinds = {k for k, _ in rows}
    assert all(re.search(rf"^{k} +\d", text, re.M) for k in kinds) and re.search("^all +", text, re.M), text
    assert re.search(r"^  file +\d", text, re.M) and folder not in text and "[heap]" not in text and len(re.findall("^  ", text, re.M)) == 2, text
    assert "more (--top=0 shows all)" in text, text
    lines = output(PRINT, "--quiet", "--report=memory", "--output-format=ndjson", SESSION, cwd=folder).splitlines()
    assert len(lines) == len(rows) and json.loads(lines[0])["report"] == "memory"
    assert len(report(folder, "--top=2")) == 2
    assert_page(folder, rows)
    assert "| memory" in output(PRINT, "--quiet", "--report=memory", "--output-format=markdown", SESSION, cwd=folder)


def assert_page(folder, rows):
    """The page has the same numbers."""
    data = pages.data_of(output(PRINT, "--quiet=2", "--output-format=html", SESSION, cwd=folder))
    shown = {(r["kind"], r["object"]): r for r in next(r["rows"] for r in data["reports"] if r["name"] == "memory")}
    assert shown.keys() == rows.keys() and at(shown, "peak") == at(rows, "peak") and at(shown, "end") == at(rows, "end"), (shown, rows)


def check_command(folder):
    """A command and what it starts; after its end the last map is that of before."""
    recorder = start(folder, "--memory-map", "-e", "page_faults", command=["sh", "-c", f"{MAPPED} {folder}/file; exit 0"])
    next_stage(recorder, 0)
    wait_until_measuring(recorder, folder)
    end_iteration(recorder, folder, 0)
    next_stage(recorder, 1)
    end_iteration(recorder, folder, 1)
    finish(recorder)
    rows = report(folder, "--iteration=1")
    assert int(rows["data", f"{folder}/file"]["dirty_end"]) == MIB
    assert {os.path.basename(o) for k, o in rows if k == "text"} >= {"mapped"}, rows.keys()
    assert int(rows["stack", "[stack]"]["mappings_end"]) == 2  # of the shell, too
    assert "Memory of 2 processes" in output(PRINT, "--quiet", "--report=memory", "--iteration=1", SESSION, cwd=folder)
    last = report(folder, "--iteration=2")
    assert at(last, "begin") == at(rows, "end")


def check_refused(folder):
    """Without a target there is no process whose memory could be read; without a map the report says so."""
    asked = run(CPUPERF, "--memory-map", "-e", "page_faults", "--duration=10ms", code=1, cwd=folder).stderr
    assert asked.strip() == "cpuperf: error: --memory-map requires a command, --pid, --comm or --cgroup", asked
    run(CPUPERF, "-e", "page_faults", "--", "true", cwd=folder)
    assert "No map of the memory: it is measured with --memory-map" in output(
        PRINT, "--quiet", "--report=memory", SESSION, cwd=folder)
    assert not report(folder)


run_checks(globals(), everybody=True)
