#!/usr/bin/env python3
"""Methods of Java have names without an option of the program: of a command, of a process that runs already, and of code
that is freed and replaced, of which no sample has a wrong name: the program says itself what ran when. With -g their callers
are right, by the program's own graph of calls, and interpreted ones have names and lines; so have those that the compiler has
inlined. The process does nothing for it.
What only looks like a Java machine does no harm. Needs java from 17 on, which has the compiler as a module; the
environment's JAVA_BIN is the folder of another one."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess

from kit import CPUPERF, PRINT, finish, output, run, run_checks, skip, stride, wait_until_recorded
import sampled

# heavy has three times the work of light.
WORK = """
public class Work {
    static volatile long sink;
    static long heavy(int n) { long s = 0; for (int i = 0; i < n; i++) s += i * (long) i % 7; return s; }
    static long light(int n) { long s = 0; for (int i = 0; i < n; i++) s += i * (long) i % 7; return s; }
    public static void main(String[] a) {
        for (int i = 0; i < Integer.parseInt(a[0]); i++) {
            sink += heavy(300000) + light(100000);
            if (i == 100) System.out.println("here");
        }
        System.out.println("end");
    }
}
"""
# Each method has known callers, and each call a line of its own.
CALLS = """
public class Calls {
    static volatile long sink;
    interface Op { long run(int n); }
    static class A implements Op { public long run(int n) { return leaf(n) + leaf(n + 1); } }
    static class B implements Op {
        public long run(int n) {
            return recur(n, 6);
        }
    }
    static long leaf(int n) { long s = 0; for (int i = 0; i < n; i++) s += i * (long) i % 7; return s; }
    static long recur(int n, int deep) { return deep == 0 ? last(n) : recur(n + 1, deep - 1) + 1; }
    static long last(int n) { byte[] a = new byte[n + 64]; System.arraycopy(a, 0, a, 1, n); return a[n / 2] + tiny(n); }
    static long tiny(int n) { return n * 31L + 7; }
    static void turn(Op[] ops, int n) {
        for (Op o : ops)
            for (int i = 0; i < 100; i++)
                sink += o.run(n + i);
        sink += leaf(n);
    }
    public static void main(String[] a) {
        Op[] ops = {new A(), new B()};
        for (long i = 0; ; i++) {
            turn(ops, 300);
            if (i == Long.parseLong(a[0])) System.out.println("here");
        }
    }
}
"""
CALLERS = {"Calls.leaf": {"Calls$A.run", "Calls.turn"}, "Calls.recur": {"Calls.recur", "Calls$B.run"},
           "Calls.last": {"Calls.recur"}, "Calls.tiny": {"Calls.last"}, "Calls$A.run": {"Calls.turn"},
           "Calls$B.run": {"Calls.turn"}, "Calls.turn": {"Calls.main"}}
# What both calls is inlined into it, as the options of the command say; each method has a line of its own.
INLINED = """
public class Inlined {
    static volatile long sink;
    static long heavy(long n) { long s = 0; for (long i = 0; i < 3 * n; i++) s = s * 31 + (i ^ s >> 3); return s; }
    static long light(long n) { return lighter(n) + 1; }
    static long lighter(long n) { long s = 1; for (long i = 0; i < n; i++) s = s * 31 + (i ^ s >> 3); return s; }
    static long both(long n) {
        return heavy(n)
            + light(n);
    }
    public static void main(String[] a) {
        for (long i = 0; ; i++) {
            sink += both(2000 + (i & 7));
            if (i == 5000) System.out.println("here");
        }
    }
}
"""
INLINES = ["-Xbatch", "-XX:-TieredCompilation", "-XX:CompileThreshold=1000", "-XX:CompileCommand=quiet",
           "-XX:CompileCommand=dontinline,Inlined::both", *(f"-XX:CompileCommand=inline,Inlined::{m}" for m in ("heavy", "light", "lighter"))]
# A class with another name each time, that is loaded, runs, and is freed with its code.
SPIN = """
public class Spin000 {
    static long x;
    public static long spin000(int n) {
        long s = 0;
        for (int i = 0; i < n; i++) s += i * (long) i % 7;
        return x += s;
    }
}
"""
MOVES = """
import java.lang.invoke.*;
public class Moves extends ClassLoader {
    Class<?> define(byte[] b, String digits) {
        for (int i = 1; i + 3 <= b.length; i++)
            if (b[i - 1] == 'n' && b[i] == '0' && b[i + 1] == '0' && b[i + 2] == '0')
                for (int k = 0; k < 3; k++) b[i + k] = (byte) digits.charAt(k);
        return defineClass("Spin" + digits, b, 0, b.length);
    }
    public static void main(String[] a) throws Throwable {
        byte[] spin = Moves.class.getResourceAsStream("Spin000.class").readAllBytes();
        StringBuilder out = new StringBuilder();
        for (int i = 1; i <= 10; i++) {
            String digits = String.format("%03d", i);
            MethodHandle m = MethodHandles.publicLookup().findStatic(new Moves().define(spin.clone(), digits),
                "spin" + digits, MethodType.methodType(long.class, int.class));
            long since = System.nanoTime();
            for (int k = Integer.parseInt(a[i == 1 ? 0 : 1]); k > 0; k--) { long ignored = (long) m.invoke(20000); }
            out.append("Spin" + digits + " " + since + " " + System.nanoTime() + "\\n");
            m = null;
            System.gc();
        }
        System.out.print(out);
    }
}
"""


def tool(name):
    found = shutil.which(name, path=os.environ.get("JAVA_BIN"))
    if not found:
        skip(f"there is no {name}")
    return found


SOURCES = {"Work": WORK, "Inlined": INLINED, "Moves": MOVES, "Spin000": SPIN, "Calls": CALLS}
classes = {}  # the files of all of them, once they are compiled


def build(folder):
    """Puts the classes there. The command that runs them, without what it would share with others."""
    java = tool("java")
    if not classes:
        for name, text in SOURCES.items():
            with open(f"{folder}/{name}.java", "w", encoding="ascii") as f:
                f.write(text)
        run(java, "-XX:TieredStopAtLevel=1", "-m", "jdk.compiler/com.sun.tools.javac.Main",
            *(f"{name}.java" for name in SOURCES), cwd=folder)
        for name in os.listdir(folder):
            if name.endswith(".class"):
                with open(f"{folder}/{name}", "rb") as f:
                    classes[name] = f.read()
    for name, code in classes.items():
        with open(f"{folder}/{name}", "wb") as f:
            f.write(code)
    return [java, "-XX:-UsePerfData", "-cp", folder]


def samples(folder):
    """Each sample of the event, but for what ran without one, by records of switches."""
    for line in output(PRINT, "--quiet", f"{folder}/s", "--report=records", "--output-format=ndjson").splitlines():
        record = json.loads(line)
        if record["kind"] == "sample" and record["event"] == "cpu_clock" and "address" in record:
            yield record


def record(folder, *whom):
    return run(CPUPERF, "--event=cpu_clock@1000000", f"--output={folder}/s", *whom, cwd=folder)


def record_running(folder, p, *options):
    """Of a process that runs already, until it had a CPU for so long that each of its methods has samples."""
    with subprocess.Popen([CPUPERF, "--event=cpu_clock@1000000", f"--output={folder}/s", *options, f"--pid={p.pid}", "--duration=600s",
                           "-n", "1"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as session:
        wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
        sampled.wait_for_cpu_time([p], sampled.user_seconds(p.pid) + 0.3)
        session.send_signal(signal.SIGINT)
        finish(session)


def assert_named(folder):
    counts = collections.Counter(r["function"] for r in samples(folder))
    heavy, light = counts["Work.heavy"], counts["Work.light"]
    assert heavy > light > 0, counts
    return counts


def check_names(folder):
    java = build(folder)
    shown = record(folder, "--", *java, "Work", "600").stdout
    assert "here\nend\n" in shown and "Picked up" not in shown, shown
    assert_named(folder)
    places = collections.Counter((r["object"], r["function"]) for r in samples(folder))
    java_s = sum(n for (where, _), n in places.items() if where == "[JIT]")
    # of the last look's time on, and of code that was replaced
    assert places[("//anon", "[unknown]")] < java_s, places

    # threads that read beside the samples are started before the recorder raises its own priority
    niceness = 'for t in /proc/$PPID/task/*; do cut -d" " -f1,19 $t/stat; done'
    shown = record(folder, "--", "sh", "-c", niceness).stdout
    threads = sorted((int(tid), int(nice)) for tid, nice in re.findall(r"^(\d+) (-?\d+)$", shown, re.M))[1:]
    assert threads and threads == sorted(threads, key=lambda t: -t[1]), threads

    # each run is another process
    record(folder, "--runs=2", "--", *java, "Work", "300")
    assert_named(folder)
    assert len({r["pid"] for r in samples(folder) if r["function"] == "Work.heavy"}) == 2

    # a process that runs already is not touched: it has no new thread, and writes no file
    with subprocess.Popen([*java, "Work", "1000000000"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
        try:
            assert p.stdout.readline() == "here\n"
            threads = set(os.listdir(f"/proc/{p.pid}/task"))
            record_running(folder, p)
            assert_named(folder)
            names = set()
            for tid in set(os.listdir(f"/proc/{p.pid}/task")) - threads:
                with open(f"/proc/{p.pid}/task/{tid}/comm", encoding="ascii") as f:
                    names.add(f.read().strip())
            assert all(n.startswith(("C1 ", "C2 ", "G1 ", "GC ")) for n in names), names
            left = [f"/tmp/perf-{p.pid}.map", f"/tmp/.java_pid{p.pid}", f"/tmp/.attach_pid{p.pid}"]
            assert not [path for path in left if os.path.exists(path)]
        finally:
            p.kill()
        assert p.stdout.read() == ""


def assert_moved(folder, turns, *options):
    """Code, and what describes methods, of several classes have one address by turns. They run by work and not by time, which
    leaves as much of it to who reads names, however busy the machine is."""
    java = build(folder)
    text = record(folder, "-g", "--", *java, "-XX:+UseSerialGC", *options, "Moves", str(5 * turns), str(turns)).stdout
    ran = {name: (int(since), int(until)) for name, since, until in re.findall(r"^(Spin\d+) (\d+) (\d+)$", text, re.M)}
    assert len(ran) == 10, text
    named, wrong = collections.Counter(), []
    for r in samples(folder):
        for frame in r.get("stack", []):
            found = re.fullmatch(r"(Spin\d+)\.spin\d+", frame["function"])
            if found:
                since, until = ran[found[1]]
                named[found[1], frame["object"]] += 1
                if not since <= r["monotonic_ns"] <= until:
                    wrong.append((frame["function"], r["monotonic_ns"] - since, until - since, r["tid"],
                                  [(f["function"], f["object"]) for f in r["stack"]]))
    assert not wrong, (len(wrong), wrong[:5])
    return named


def check_moved(folder):
    named = assert_moved(folder, 2000, "-XX:ReservedCodeCacheSize=3m")
    assert named["Spin001", "[JIT]"], named


def check_moved_interpreted(folder):
    named = assert_moved(folder, 300, "-Xint")
    assert named["Spin001", "Spin001.java"], named


def assert_callers(folder, turns, *options):
    """No method has a caller that does not call it; and stacks are whole: from main on they lead through the stub by which
    C++ calls Java to the start of the thread."""
    java = build(folder)
    with subprocess.Popen([*java, *options, "Calls", str(turns)], stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout.readline() == "here\n"
            record_running(folder, p, "-g")
        finally:
            p.kill()
    wrong, whole, cut = collections.Counter(), 0, 0
    for r in samples(folder):
        stack = [f["function"] for f in r.get("stack", [])]
        if not any(f in CALLERS for f in stack):
            continue
        wrong.update((f, by) for f, by in zip(stack, stack[1:]) if f in CALLERS and by not in CALLERS[f])
        whole += "Calls.main" in stack and stack[-1] in ("clone3", "__clone", "start_thread")
        cut += stack[-1] in CALLERS or stack[-1] == "Interpreter"
        if "Calls.main" in stack:
            assert stack.count("Calls.main") == 1 and "StubRoutines" in stack[stack.index("Calls.main") + 1], stack
    assert not wrong, wrong
    assert whole > cut, (whole, cut)


def check_callers(folder):
    assert_callers(folder, 5000, "-XX:-Inline")


def check_interpreted(folder):
    assert_callers(folder, 20, "-Xint")
    text = CALLS.splitlines()
    rows = output(PRINT, "--quiet", f"{folder}/s", "--report=flat", "--sort=function,line", "--output-format=ndjson")
    lines = collections.defaultdict(set)
    for row in map(json.loads, rows.splitlines()):
        if row.get("function", "").startswith("Calls"):
            lines[row["function"]].add(row["line"])
    for function, found in lines.items():
        name = function.rsplit(".", 1)[1]
        for place in found:
            file, line = place.split(":")
            assert file == "Calls.java", place
            # of a method of one line, that one
            assert f" {name}(" in text[int(line) - 1] or function in ("Calls.turn", "Calls$B.run", "Calls.main"), place
    assert {"Calls.java:" + str(text.index(t) + 1) for t in text if "o.run(n + i)" in t} <= lines["Calls.turn"], lines


def check_inlined(folder):
    """Of code that the compiler has made of four methods, each has its samples, its line, and its caller's line."""
    java = build(folder)
    with subprocess.Popen([*java, *INLINES, "Inlined", "1"], stdout=subprocess.PIPE, text=True) as p:
        try:
            while p.stdout.readline() != "here\n":  # both was compiled long before
                pass
            record_running(folder, p, "-g")
        finally:
            p.kill()
    paths = {"heavy": ["both"], "lighter": ["both", "light"]}
    counts = collections.Counter()
    rows = output(PRINT, "--quiet", f"{folder}/s", "--output-format=folded").splitlines()
    for row in rows:
        stack, number = row.rsplit(" ", 1)
        frames = [f.removeprefix("Inlined.") for f in stack.split(";")]
        for inner in paths.keys() & set(frames):
            at = frames.index(inner)
            assert frames[:at][-len(paths[inner]):] == paths[inner] and frames.count("both") == 1, row
            counts[inner] += int(number)
    assert counts["heavy"] > counts["lighter"] > 0, rows
    text = INLINED.splitlines()
    places = {f"Inlined.{method}": {f"Inlined.java:{i}" for i, t in enumerate(text, 1) if any(w in t for w in words)}
              for method, words in [("heavy", ["long heavy("]), ("light", ["long light("]), ("lighter", ["long lighter("]),
                                    ("both", ["return heavy(", "+ light("])]}
    lines = collections.defaultdict(set)
    rows = output(PRINT, "--quiet", f"{folder}/s", "--report=flat", "--sort=function,line", "--output-format=ndjson")
    for row in map(json.loads, rows.splitlines()):
        if row.get("function") in places and row["object"] == "[JIT]":
            lines[row["function"]].add(row.get("line"))
    lines["Inlined.both"].discard("[no line]")  # its last instruction is behind the last one of which that is known
    assert lines == places, (lines, places)


# A library with the tables of a machine, which are as wrong as the first argument of the compiler says.
FAKE = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define PLACE(n, v) uint64_t gHotSpotVM##n = v
struct field { const char *type, *name, *kind; int32_t is_static; uint64_t offset; void *address; };
struct type { const char *name, *super; int32_t a, b, c; uint64_t size; };
static char memory[1 << 20], map[1 << 20];
static struct { uint64_t low, high; } space[2] = {{(uint64_t)memory, (uint64_t)memory + sizeof(memory)},
                                                  {(uint64_t)map, (uint64_t)map + sizeof(map)}};
static struct heap { uint64_t memory[2], segments[2], shift; } heap = {.shift = SHIFT};
static struct heap *heaps[8] = {&heap, &heap, &heap, &heap, &heap, &heap, &heap, &heap};
static struct { int32_t nr, room; void *data; } list = {NR, 8, heaps};
static void *of_list = &list, *of_objects = memory;
struct field fields[] = {
#define S(type, name, kind, address) {type, name, kind, 1, 0, address}
#define F(type, name, kind, offset) {type, name, kind, 0, offset, 0}
  S("CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", HEAPS),
  S("Universe", "_collectedHeap", "CollectedHeap*", &of_objects),
  F("CollectedHeap", "_total_collections", "unsigned int", 0),
  F("GrowableArrayBase", "_len", "int", 0), F("GrowableArray<int>", "_data", "int*", 8),
  F("CodeHeap", "_memory", "VirtualSpace", 0), F("CodeHeap", "_segmap", "VirtualSpace", 16),
  F("CodeHeap", "_log2_segment_size", "int", 32),
  F("VirtualSpace", "_low", "char*", 0), F("VirtualSpace", "_high", "char*", 8),
  F("HeapBlock::Header", "_length", "size_t", 0), F("HeapBlock::Header", "_used", "bool", 8),
  F("CodeBlob", "_name", "const char*", 0), F("CodeBlob", "_size", "int", 8),
  F("CodeBlob", "_code_offset", "int", 12), F("CodeBlob", "_data_offset", "int", END_AT),
  F("nmethod", "_method", "Method*", 24), F("nmethod", "_compile_id", "int", 32),
  F("Method", "_constMethod", "ConstMethod*", 0), F("ConstMethod", "_constants", "ConstantPool*", 0),
  F("ConstMethod", "_name_index", "u2", 0), F("ConstantPool", "_pool_holder", "InstanceKlass*", 0),
  F("Klass", "_name", "Symbol*", 0), F("Symbol", "_length", "u2", 0), F("Symbol", "_body[0]", "u1", 2),
  {LAST, LAST, LAST}};
struct type types[] = {{"HeapBlock", 0, 0, 0, 0, 16}, {"ConstantPool", 0, 0, 0, 0, POOL}, {0}};
struct field *gHotSpotVMStructs = fields;
struct type *gHotSpotVMTypes = types;
PLACE(StructEntryArrayStride, STRIDE); PLACE(StructEntryTypeNameOffset, 0); PLACE(StructEntryFieldNameOffset, 8);
PLACE(StructEntryTypeStringOffset, 16); PLACE(StructEntryOffsetOffset, 32); PLACE(StructEntryAddressOffset, 40);
PLACE(TypeEntryArrayStride, sizeof(struct type)); PLACE(TypeEntryTypeNameOffset, 0); PLACE(TypeEntrySizeOffset, 32);
static void burn(void) {
  struct timespec t = {0};
  volatile unsigned x = 0;
  while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), t.tv_nsec < BURN_MS * 1000000 && !t.tv_sec)
    for (int i = 0; i < 10000; i++) x++;
}
__attribute__((constructor)) static void fill(void) {
  memcpy(heap.memory, &space[0], 16);
  memcpy(heap.segments, &space[1], 16);
  for (size_t i = 0; i + 64 <= sizeof(memory); i += 64) {  /* blocks, each of one segment */
    uint64_t *w = (uint64_t *)(memory + i);
    int32_t *blob = (int32_t *)(w + 2);
    w[0] = LENGTH; w[1] = 1; w[2] = (uint64_t)NAME; blob[3] = 8; blob[4] = 40; w[5] = METHOD; blob[8] = (int)i;
  }
}
int main(void) { burn(); return 0; }
"""
RIGHT = {"SHIFT": 6, "NR": 1, "END_AT": 16, "LAST": 0, "POOL": 8, "STRIDE": "sizeof(struct field)", "LENGTH": 1,
         "NAME": '"nmethod"', "METHOD": "(uint64_t)w", "HEAPS": "&of_list", "BURN_MS": 60}
FAKES = [{"SHIFT": 0}, {"SHIFT": 60}, {"NR": 8}, {"NR": -1}, {"END_AT": 65535}, {"POOL": 65535}, {"STRIDE": 1},
         {"LAST": '"Symbol"'}, {"LENGTH": "UINT64_MAX"}, {"NAME": "-1"}, {"METHOD": "i"}, {"METHOD": "(uint64_t)-8"},
         {"HEAPS": "(void *)4096"}]


def check_hostile(folder):
    """What is no machine, and has its tables all the same."""
    with open(f"{folder}/fake.c", "w", encoding="ascii") as f:
        f.write(FAKE)
    for i, wrong in enumerate([{"NAME": '"aBlobOfThis"', "BURN_MS": 400}, *stride(FAKES, 3)]):
        os.mkdir(f"{folder}/{i}")
        where = f"{folder}/{i}/libjvm.so"
        defines = [f"-D{name}={value}" for name, value in {**RIGHT, **wrong}.items()]
        run("gcc", "-w", "-O1", "-pie", "-fPIE", "-rdynamic", *defines, "-o", where, "fake.c", cwd=folder)
        record(folder, "--", where)
        assert [r for r in samples(folder) if r["function"] in ("burn", "main")], wrong
        if i == 0:  # what is as it should be is read
            with open(f"{folder}/s/cpuperf.common.cpuperf", "rb") as common:
                assert b"aBlobOfThis" in common.read()


run_checks(globals())
