"""Annotated code: samples of lines and of instructions add up to those of the function, the lines are those of
addr2line, and time is at the instruction that takes it. The program that gcc has optimised is recorded once. With
CPUPERF_TEST_LONG=1 all compilers and flags, else a part."""
import atexit
import collections
import csv
import functools
import io
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile

from kit import CPUPERF, PRINT, on_terminal, output, own_uid, run, run_checks, skip, stride
import sampled

IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
SOURCE = """
#include <stdlib.h>
#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif
static volatile unsigned long sink;

static inline __attribute__((always_inline)) unsigned long turned(unsigned long n)
{
	return n * 0x5851f42d4c957f2dul + (n >> 17);
}

ALONE unsigned long helper(unsigned long n)
{
	return n ^ sink;
}

ALONE unsigned long work(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++) {
		sum += turned(i);
		if (i % 64 == 0)
			sum += helper(sum);
	}
	return sum;
}

ALONE unsigned long divided(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) {
		x += 0x7fffffffffff;
		DIVIDE(x);
		DIVIDE(x);
		DIVIDE(x);
		DIVIDE(x);
	}
	return x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], 0, 10) : 100;

	for (unsigned long i = 0; i < rounds; i++)
		sink += work(2000000) + divided(200000);
	return 0;
}
"""
DIVIDE = {
    "x86_64": '#define DIVIDE(x) __asm__ volatile("mov %0, %%rax; xor %%edx, %%edx; divq %1" '
              ': : "r"(x | 1ul << 62), "r"(3ul) : "rax", "rdx")',
    "aarch64": '#define DIVIDE(x) __asm__ volatile("udiv %0, %0, %1\\n\\tudiv %0, %0, %1" : "+r"(x) : "r"(1ul))',
}
BUILDS = {
    "O2": ["gcc", "-O2", "-g"], "O0": ["gcc", "-O0", "-g"], "dwarf4": ["gcc", "-O2", "-gdwarf-4"],
    "pie": ["gcc", "-O2", "-g", "-pie", "-fPIE"], "packed": ["gcc", "-O2", "-g", "-gz=zlib"],
    "lto": ["gcc", "-O2", "-g", "-flto"], "split": ["gcc", "-O2", "-g", "-gsplit-dwarf"],
    "clang": ["clang", "-O2", "-g"], "clang0": ["clang", "-O0", "-g"], "clang_lto": ["clang", "-O2", "-g", "-flto"],
}
SPLIT = "split"  # of which addr2line finds nothing at all: asked is the same code with its lines beside it


def build(folder, *command):
    with open(f"{folder}/p.c", "w", encoding="ascii") as out:
        out.write(DIVIDE[platform.machine()] + SOURCE)
    subprocess.run([*command, f"{folder}/p.c", "-o", f"{folder}/p"], check=True, cwd=folder)
    return f"{folder}/p"


def record(folder, *command, rounds="60" if IS_LONG else "20", rate=200000, flags=("pc", "user")):
    """Of the program alone, but for check_sums: each report would read the kernel's symbols. Not the answer either."""
    spec = {"num_iterations": 0, "events": [{"group_name": "software", "event_name": "cpu_clock", "rate": rate,
                                             "flags": list(flags)}]}
    with open(f"{folder}/s.cpspec", "w", encoding="ascii") as out:
        json.dump(spec, out)
    run(CPUPERF, f"--spec-file={folder}/s.cpspec", f"--output={folder}/s", "--output-format=csv", "--output-file=/dev/null",
        "--", *command, rounds)


def rows(folder, *options, report="annotate"):
    text = output(PRINT, "--quiet", f"{folder}/s", f"--report={report}", "--output-format=csv", *options)
    return list(csv.DictReader(io.StringIO(text)))


def text_of(folder, *options):
    return output(PRINT, "--quiet", f"{folder}/s", "--report=annotate", *options)


def recorded(folder, *command):
    build(folder, *command)
    record(folder, f"{folder}/p")
    return rows(folder, "--function=[w]ork", "--function=[d]ivided")


@functools.lru_cache(maxsize=None)
def optimized():
    """A folder with the program that gcc has optimised, its source and its session, and the annotated functions. Checks
    read it, and change nothing."""
    folder = tempfile.mkdtemp(prefix="cpuperf-test.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder, recorded(folder, *BUILDS["O2"])


def has_instructions(found):
    return any(r["kind"] == "instruction" and r["text"] for r in found)


def check_sums(folder):
    """Of each function, kernel and libraries, too: the samples and the count of its lines, and of its instructions."""
    record(folder, f"{optimized()[0]}/p", flags=["pc"])
    found = rows(folder)
    flat = {(r["function"], r["object"]): r for r in rows(folder, report="flat")}
    sums = collections.defaultdict(lambda: [0, 0])
    for r in found:
        for i, name in enumerate(("self_samples", "self_count")):
            sums[r["function"], r["object"], r["kind"]][i] += int(r[name])
    assert len(sums) == 2 * len({k[:2] for k in sums})
    for (function, place, _), both in sums.items():
        of_flat = flat[function, place]
        assert both == [int(of_flat["self_samples"]), int(of_flat["self_count"])], (function, both, of_flat)
    assert {(f, o) for f, o, _ in sums} == {k for k, r in flat.items() if int(r["self_samples"])}
    assert all(float(r["self_low"]) <= float(r["self"]) <= float(r["self_high"]) for r in found)
    for option, kind in stride((("--source", "line"), ("--asm", "instruction")), 1):
        of_kind = rows(folder, option)
        assert {r["kind"] for r in of_kind} == {kind}
        assert [r for r in found if r["kind"] == kind] == of_kind
    assert {r["function"] for r in rows(optimized()[0], "--function=[W]ORK")} == {"work"}
    assert not rows(optimized()[0], "--function=no such function")


def places_of(program, addresses):
    """As addr2line -i has them: (function, file, line), the innermost first, for each address."""
    text = output("addr2line", "-a", "-f", "-i", "-e", program, *addresses)
    found, lines = {}, text.splitlines()
    at = 0
    while at < len(lines):
        address, places = lines[at], []
        at += 1
        while at < len(lines) and not lines[at].startswith("0x"):
            file, _, line = lines[at + 1].partition(" (")[0].rpartition(":")
            places.append((lines[at], os.path.normpath(file), line))
            at += 2
        found[int(address, 16)] = places
    return found


def compare_lines(name, program, found):
    """Each instruction of work; what both leave without a line is equal."""
    code = [r for r in found if r["kind"] == "instruction" and r["function"] == "work"]
    theirs = places_of(program, [r["address"] for r in code])
    for r in code:
        places = theirs[int(r["address"], 16)]
        _, file, line = places[0]
        # of units that were made at link time addr2line of binutils names this
        assert os.path.basename(file) == "<artificial>" or os.path.normpath(r["file"]) == file, (name, r, places)
        assert r["line"] == (line if line.isdigit() and line != "0" else ""), \
            (name, r, places)
        assert r["inlined"] == (places[0][0] if len(places) > 1 else ""), (name, r, places)
    return len(code)


def compare_sums(name, folder, found):
    """Lines and instructions of work and divided: each kind has all samples and the whole count of the function."""
    flat = {r["function"]: r for r in rows(folder, report="flat") if r["object"] == "p"}
    for function in {r["function"] for r in found}:
        for kind in ("line", "instruction"):
            own = [r for r in found if r["function"] == function and r["kind"] == kind]
            for count in ("self_samples", "self_count"):
                assert sum(int(r[count]) for r in own) == int(flat[function][count]) > 0, (name, function, kind, count)


def check_lines_of_builds(folder):
    """gcc and clang, with and without optimisation, at link time, packed and split."""
    for name, command in stride(BUILDS.items(), 2):
        if not shutil.which(command[0]):
            print(f"skip: {name}: no {command[0]}")
            continue
        os.mkdir(f"{folder}/{name}")
        found = recorded(f"{folder}/{name}", *command)
        compare_sums(name, f"{folder}/{name}", found)
        twin = f"{folder}/{name}/p"
        if name == SPLIT:
            twin = f"{folder}/{name}/twin"
            run(*command, "-gno-split-dwarf", f"{folder}/{name}/p.c", "-o", twin)
        if not has_instructions(found):
            skip("cpuperf_print has no capstone here")
        assert compare_lines(name, twin, found) > 10, name
        inlined = {r["inlined"] for r in found if r["function"] == "work"} - {""}
        assert inlined == {"turned"}, (name, inlined)


def check_stripped(folder):
    """Lines from the debug file that a link names; without it none, and the sums as ever."""
    program = shutil.copy(f"{optimized()[0]}/p", folder)
    whole = shutil.copy(program, f"{folder}/whole")
    run("objcopy", "--only-keep-debug", program, f"{folder}/p.debug")
    run("strip", "--strip-debug", program)
    run("objcopy", f"--add-gnu-debuglink={folder}/p.debug", program)
    record(folder, program)
    found = rows(folder, "--function=[w]ork")
    compare_sums("stripped", folder, found)
    if has_instructions(found):
        assert compare_lines("stripped", whole, found) > 10
    assert any(r["kind"] == "line" and r["text"].strip() == "sum += helper(sum);" for r in found)
    os.remove(f"{folder}/p.debug")
    found = rows(folder, "--function=[w]ork")
    lines = [r for r in found if r["kind"] == "line"]
    assert [(r["file"], r["line"]) for r in lines] == [("", "")], lines
    assert "No source lines" in text_of(folder, "--function=[w]ork")
    os.remove(program)
    found = rows(folder, "--function=*")
    assert sum(int(r["self_samples"]) for r in found if r["kind"] == "line") == \
        sum(int(r["self_samples"]) for r in found if r["kind"] == "instruction") > 100


def check_hot_instruction(_):
    """The divisions take the time: it is at them, or at the instruction behind."""
    _, found = optimized()
    if not has_instructions(found):
        skip("cpuperf_print has no capstone here")
    code = [r for r in found if r["kind"] == "instruction" and r["function"] == "divided"]
    at = {i for i, r in enumerate(code) if re.match("u?div", r["text"])}
    assert len(at) >= 4, [r["text"] for r in code]
    of = sum(int(r["self_samples"]) for i, r in enumerate(code) if i in at or i - 1 in at)
    whole = sum(int(r["self_samples"]) for r in code)
    assert whole > 50 and of > 0.9 * whole, (of, whole, [(r["text"], r["self_samples"]) for r in code])
    assert {r["skid"] for r in found} == {"timer"}


CALLS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile unsigned long sink;
__attribute__((noinline)) unsigned long work(unsigned long n)
{
	unsigned long sum = 0;
	char text[64];

	for (unsigned long i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%lu", i);
		sum += strlen(text) + strtoul(text, NULL, 10);
		for (int k = 0; k < 100; k++)
			sum = sum * 0x5851f42d4c957f2dul + 1;
	}
	return sum;
}
int main(int argc, char **argv) { sink = work(20000 * (argc > 1 ? strtoul(argv[1], NULL, 10) : 1)); puts("end"); return 0; }
"""
CALLERS = [[cc, "-O2", "-g", "-fno-builtin", *flags] for cc in ("gcc", "clang") for flags in (
    [], ["-fno-plt"], ["-Wl,-z,now"], ["-Wl,-z,lazy"], ["-fcf-protection=full"], ["-static"], ["-no-pie", "-fno-pie"])]


def named_by_objdump(program):
    """What each instruction of work calls, or reads of a slot, by its address: the name, and how it is reached."""
    text, found = output("objdump", "-d", "--no-show-raw-insn", "--disassemble=work", program), {}
    for address, name, kind in re.findall(r"^ *([0-9a-f]+):.*<([^>@+]+)(@\w[^>]*)?>$", text, re.M):
        if kind != "@@Base":
            found[int(address, 16)] = (name, "@plt" if kind == "@plt" else "@got" if kind else "")
    return found


def check_called_names(folder):
    """Calls through stubs and through slots, as objdump names them; in static programs what is called itself."""
    if platform.machine() != "x86_64":
        print("skip: called names: of x86-64 alone")
        return
    with open(f"{folder}/c.c", "w", encoding="ascii") as out:
        out.write(CALLS)
    for command in stride(CALLERS, 2):
        if not shutil.which(command[0]) or run(*command, f"{folder}/c.c", "-o", f"{folder}/c", code=None).returncode:
            print(f"skip: {' '.join(command)}: it cannot be built here")
            continue
        record(folder, f"{folder}/c", rounds="4", rate=50000)
        found = rows(folder, "--asm", "--function=[w]ork", "--function=*@plt")
        if not has_instructions(found):
            skip("cpuperf_print has no capstone here")
        ours = {int(r["address"], 16): re.search(r"<([^>]*?)(@plt|@got|)>$", r["text"]) for r in found if r["function"] == "work"}
        theirs = named_by_objdump(f"{folder}/c")
        names = {of.groups() for of in ours.values() if of}
        if "-static" in command:  # objdump names no stub, and aliases have one address
            assert any("strlen" in name for name, _ in names) and any("strtoul" in name for name, _ in names), (command, names)
            continue
        for address, of in ours.items():
            named, own = of.groups() if of else ("work", ""), theirs.get(address, ("work", ""))
            assert named == own, (command, hex(address), named, own)
        assert any("strtoul" in name and how == ("@got" if "-fno-plt" in command else "@plt") for name, how in names), \
            (command, names)
        for r in found:
            if r["function"].endswith("@plt") and r["text"].startswith("jmpq *"):
                assert r["text"].endswith(f" <{r['function'][:-4]}@got>"), r


def check_beside_perf(folder):
    """The same samples, of perf's file, at the same instructions; function for function."""
    if not sampled.have("perf"):
        print("skip: beside perf: no perf")
        return
    program = f"{optimized()[0]}/p"
    data = f"{folder}/perf.data"
    run("perf", "record", "-qN", "-e", "cpu-clock", "-c", "200000", "-o", data, program, "20")
    text = output(PRINT, "--quiet", f"--perf-data={data}", "--report=annotate", "--asm", "--output-format=csv")
    found = [r for r in csv.DictReader(io.StringIO(text)) if r["object"] == "p"]
    if not has_instructions(found):
        skip("cpuperf_print has no capstone here")
    for function in stride(("work", "divided", "helper"), 1):
        theirs = output("perf", "annotate", "--stdio", "-n", "-i", data, "-s", function, code=None)
        theirs = {int(a, 16): int(n) for n, a in re.findall(r"^ +(\d+) :\s+([0-9a-f]+):", theirs, re.M)}
        ours = {int(r["address"], 16): int(r["self_samples"]) for r in found if r["function"] == function}
        if theirs or sum(ours.values()):
            assert ours == theirs, (function, ours, theirs)
    assert sum(int(r["self_samples"]) for r in found) > 100


def check_without_symbols(folder):
    """What the unwind table says of a program without any."""
    whole, found = optimized()
    if not has_instructions(found):
        skip("cpuperf_print has no capstone here")
    program = f"{folder}/p"
    run("strip", "--strip-all", f"{whole}/p", "-o", program)
    record(folder, program)
    found = rows(folder, "--function=[[]unknown] (p+*")
    assert found
    for name in {r["function"] for r in found if int(r["self_samples"]) > 100}:
        start = re.fullmatch(r"\[unknown\] \(p\+(0x[0-9a-f]+)\)", name)[1]
        code = [r for r in found if r["function"] == name and r["kind"] == "instruction"]
        assert code[0]["address"] == start and len(code) > 10, (name, code[:3])
        assert any(r["text"].startswith("ret") for r in code) and all(r["text"] for r in code)


def check_terminal(_):
    """No line is wider than the terminal."""
    folder, _ = optimized()
    for columns in stride((60, 80, 200), 1):
        text, status = on_terminal(columns, PRINT, f"{folder}/s", "--report=annotate", "--function=[w]ork",
                                   "--no-pager", "--quiet", LC_ALL="C.UTF-8")
        lines = re.sub("\033\\[[0-9;]*m", "", text).splitlines()
        assert status == 0 and max(map(len, lines)) <= columns, (columns, max(lines, key=len))
        assert any("sum += " in line for line in lines), text


def check_text(_):
    """What a person sees: the tables, jumps, the name that is called, what is inlined, and nothing wider than a terminal."""
    folder, found = optimized()
    text = text_of(folder, "--function=[w]ork")
    assert re.search(r"^work \(p\): [\d.]+ % ± [\d.]+ of cpu_clock, [\d,]+ samples, [\d.]+ m?s$", text, re.M), text
    assert "by a timer" in text
    assert re.search(r"^ *[\d.]+ % ± [\d.]+ .* \d+ +sum \+= turned\(i\);$|inlined turned \(line \d+\): .*/p\.c", text, re.M), text
    assert re.search(r"return n \* 0x5851f42d4c957f2dul", text), text
    everything = text_of(folder, "--function=[w]ork", "--min-percent=0")  # the call may have no sample
    assert "… " not in everything and len(everything) >= len(text)
    if has_instructions(found):
        assert re.search(r"(callq?|bl) .*<helper>", everything), everything
        assert "↑" in everything and "→" in everything, everything
        assert re.search(r"p\.c:\d+ inlined turned$", everything, re.M), everything
        jumps = [r for r in found if r["kind"] == "instruction" and r["target"]]
        starts = {r["address"]: r for r in found if r["kind"] == "instruction"}
        inside = [r for r in jumps if r["target"] in starts]
        assert inside and all(int(starts[r["target"]]["jumps"]) > 0 for r in inside)
    for options in stride(([], ["--min-percent=0"], ["--top=0"], ["--source"], ["--asm"]), 2):
        assert text_of(folder, *options)
    assert "No function with samples of its own matches --function: there are " in text_of(folder, "--function=nothing")
    assert "did you mean work?" in text_of(folder, "--function=wrok")


def check_hostile_source(folder):
    """Found elsewhere; with control characters, as a pipe, or too short for its lines."""
    recorded(folder, *BUILDS["O2"])
    os.makedirs(f"{folder}/moved/src")
    os.rename(f"{folder}/p.c", f"{folder}/moved/src/p.c")
    text = text_of(folder, "--function=[w]ork", "--source")
    assert "which is not found (--source-dir)" in text and "turned(i)" not in text, text
    assert not re.search(r"^ +[\d,]+ *$", text, re.M), text  # a line's number alone says nothing
    for where in ("moved/src", "moved"):
        found = "turned(i)" in text_of(folder, "--function=[w]ork", "--source", f"--source-dir={folder}/{where}")
        assert found == (where == "moved/src")
    with open(f"{folder}/moved/src/p.c", encoding="ascii") as f:
        lines = f.read().replace("turned(i)", "\033]0;turned\a(i)")
    with open(f"{folder}/p.c", "w", encoding="ascii") as f:
        f.write(lines)
    for form in ([], ["--output-format=csv"], ["--output-format=ndjson"]):
        text = text_of(folder, "--function=[w]ork", *form)
        assert "?]0;turned?(i)" in text and not re.search("[\x00-\x09\x0b-\x1f\x7f]", text), text
    with open(f"{folder}/p.c", "w", encoding="ascii") as f:
        f.write("int x;\n")
    assert "int x;" not in text_of(folder, "--function=[w]ork")
    os.remove(f"{folder}/p.c")
    os.mkfifo(f"{folder}/p.c")
    assert "which is not a regular file" in text_of(folder, "--function=[w]ork")


def check_of_others(folder):
    """A program of another user, and then a session of his, name a file that only root may read as their source: root
    is not shown it in any form, and of what a folder that is named has, what that user may read."""
    if os.geteuid() != 0:
        print("skip: programs of others: this is not root")
        return
    for path in (os.path.dirname(folder), folder):
        os.chmod(path, 0o755)
    os.mkdir(f"{folder}/src")
    for path, text, mode in (("secret.c", "only root\n", 0o600), ("src/secret.c", "for all\n", 0o644)):
        with open(f"{folder}/{path}", "w", encoding="ascii") as f:
            f.write(text * 100)
        os.chmod(f"{folder}/{path}", mode)
    with open(f"{folder}/p.c", "w", encoding="ascii") as f:
        f.write(f'{DIVIDE[platform.machine()]}\n#line 1 "{folder}/secret.c"\n{SOURCE}')
    run("gcc", "-O2", "-g", f"{folder}/p.c", "-o", f"{folder}/p")
    record(folder, f"{folder}/p", rounds="5")
    assert "only root" in text_of(folder, "--function=[w]ork")
    for path in ("p", "s/cpuperf.cpsession"):
        os.chown(f"{folder}/{path}", own_uid(), own_uid())
        for form in (("--report=annotate",), ("--report=annotate", "--output-format=csv"), ("--output-format=html",)):
            assert "only root" not in output(PRINT, "--quiet", f"{folder}/s", *form), (path, form)
        text = text_of(folder, "--function=[w]ork")
        assert f"{folder}/secret.c, which is not in a folder named for it, as data of another user or container names it" in text, text
        assert "for all" in text_of(folder, "--function=[w]ork", f"--source-dir={folder}/src"), path
        assert "may not be read" in text_of(folder, "--function=[w]ork", f"--source-dir={folder}"), path
        os.chown(f"{folder}/{path}", 0, 0)


def check_usage(folder):
    run(CPUPERF, "--event=cpu_clock@1000000", f"--output={folder}/s", "--", "true")
    for wrong, why in (("none", "No such file or directory"), ("s/cpuperf.cpsession", "is not a folder")):
        done = run(PRINT, f"{folder}/s", "--report=annotate", f"--source-dir={folder}/{wrong}", code=2)
        assert f"--source-dir={folder}/{wrong}: {why}" in done.stderr, done.stderr
    for option in ("--function=x", "--source", "--asm", "--source-dir=/"):
        done = run(PRINT, f"{folder}/s", option, code=2)
        assert f"{option.partition('=')[0]} requires --report=annotate" in done.stderr, done.stderr


run_checks(globals())
