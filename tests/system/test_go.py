"""Programs of Go that are stripped: the names, lines and inlined calls of their functions are those of the same program
with symbols and DWARF, read from the table that Go's runtime has. Faults of memory are where the program makes them: also
in the regions of its labels, by its own account, and behind what the runtime does on a stack of its own."""
import atexit
import contextlib
import csv
import functools
import glob
import io
import os
import re
import shutil
import sqlite3
import tempfile

import sampled
from interpreted import folded, running
from kit import (CPUPERF, PRINT, finish, may_count_faults, output, run, run_checks, skip, start,
                 wait_until_recorded)

SOURCE = """package main

type table struct{ pages int }

func put(page []byte) { page[0] = 1 } // LINE put

//go:noinline
func (t *table) fill(memory []byte) {
	for i := 0; i < len(memory); i += 4096 {
		put(memory[i:]) // LINE fill
		t.pages++
	}
}

//go:noinline
func each[V any](values []V, f func(V)) {
	for _, v := range values {
		f(v) // LINE each
	}
}

func main() {
	t := &table{}
	each([]int{32 << 20}, func(n int) { t.fill(make([]byte, n)) }) // LINE main
	println(t.pages)
}
"""
# Each line of the input is a round. A fault is a sample, so nothing depends on how long it takes.
LABELLED = r"""package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"unsafe"
)

var kept []byte

func now() int64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

//go:noinline
func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

// In a tick the kernel takes so many samples, and then none.
func pause() {
	t := syscall.Timespec{Nsec: 4000000}
	syscall.Nanosleep(&t, nil)
}

// In regions as the account says.
func faults(pages int, regions string) {
	b, err := syscall.Mmap(-1, 0, pages*4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	syscall.Madvise(b, 15) // no huge pages
	pause()
	since := now()
	touch(b)
	fmt.Printf("%d %d %d %s\n", since, now(), pages, regions)
	syscall.Munmap(b)
}

func do(f func(context.Context), labels ...string) {
	pprof.Do(context.Background(), pprof.Labels(labels...), f)
}

func nested(ctx context.Context) {
	faults(20, "request=checkout")
	pprof.Do(ctx, pprof.Labels("phase", "parse"), func(context.Context) {
		faults(20, "request=checkout > phase=parse")
		done := make(chan bool)
		go func() { faults(20, "request=checkout > phase=parse"); done <- true }()
		<-done
	})
	faults(20, "request=checkout")
}

// Two goroutines of one thread.
func turns() {
	runtime.GOMAXPROCS(1)
	next, done := [2]chan bool{make(chan bool, 1), make(chan bool, 1)}, make(chan bool)
	for i := range next {
		go func(i int) {
			do(func(context.Context) {
				for n := 0; n < 10; n++ {
					<-next[i]
					faults(4, fmt.Sprint("turn=", i))
					next[1-i] <- true
				}
				done <- true
			}, "turn", fmt.Sprint(i))
		}(i)
	}
	next[0] <- true
	<-done
	<-done
}

//go:noinline
func large() []byte { return make([]byte, 64<<20) }

func many() (labels []string) {
	for i := 0; i < 17; i++ {
		labels = append(labels, fmt.Sprint("k", i), "v")
	}
	return
}

func main() {
	fmt.Println("here")
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if line == "look\n" {
			do(func(context.Context) { faults(1, "") }, "found", "it")
			continue
		}
		faults(20, "")
		do(nested, "request", "checkout")
		faults(20, "")
		for i := 0; i < 30; i++ {
			do(func(context.Context) { faults(2, fmt.Sprint("short=", i)) }, "short", fmt.Sprint(i))
		}
		turns()
		do(func(context.Context) { faults(20, "a=1 > b=2 > c=3") }, "c", "3", "b", "2", "a", "1")
		do(func(context.Context) { faults(20, "a=1") }, "a", "1", "long", strings.Repeat("x", 256))
		do(func(context.Context) { faults(20, "long="+strings.Repeat("x", 255)) }, "long", strings.Repeat("x", 255))
		do(func(context.Context) { faults(20, "") }, many()...)
		do(func(context.Context) { pause(); kept = large() }, "alloc", "large")
	}
}
"""
LINES = {name: n + 1 for n, text in enumerate(SOURCE.split("\n")) for name in re.findall("// LINE (.*)", text)}


@functools.cache
def build(source=SOURCE):
    """The program, and the same without symbols: both have each function at the same address."""
    compilers = [path for path in (shutil.which("go"), *sorted(glob.glob("/usr/lib/go-*/bin/go"))) if path]
    if not compilers or not shutil.which("strip"):
        skip("go or strip: it is not installed")
    folder = tempfile.mkdtemp(prefix="cpuperf-test.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    with open(f"{folder}/main.go", "w", encoding="utf-8") as f:
        f.write(source)
    env = {"GOCACHE": f"{folder}/cache", "GO111MODULE": "off", "GOFLAGS": "", "HOME": folder}
    run(compilers[0], "build", "-o", f"{folder}/full", f"{folder}/main.go", env=env)
    run("strip", "-o", f"{folder}/stripped", f"{folder}/full")
    return f"{folder}/full", f"{folder}/stripped"


def plain(name):
    """Without what symbols alone have: types of an instance, and by which convention it is called."""
    return re.sub(r"\.abi(0|internal)$", "", re.sub(r"\[.*\]", "[...]", name)).replace("·", ".")


def functions(program):
    text = output(CPUPERF, f"--list-functions={program}:*", "--output-format=csv")
    return {int(row["address"]): (plain(row["function"]), int(row["size"])) for row in csv.DictReader(io.StringIO(text))
            if not row["function"].startswith(("go:", "runtime.etext"))}  # marks of the linker


def check_names(_):
    """Of all functions, of Go's runtime, too."""
    full, stripped = map(functions, build())
    assert len(stripped) > 500 and any(name == "main.(*table).fill" for name, _ in stripped.values()), len(stripped)
    differ = {hex(address): (stripped.get(address), full.get(address)) for address in stripped.keys() | full.keys()
              if stripped.get(address) != full.get(address)}
    assert not differ, differ


def check_lines(folder):
    if not may_count_faults("lines"):
        skip("lines: see above")
    expected = {("main.put", LINES["put"]), ("main.(*table).fill", LINES["fill"]), ("main.each[...]", LINES["each"]),
                ("main.main.func1", LINES["main"]), ("main.main", LINES["main"])}
    for program in build():
        session = f"{folder}/{os.path.basename(program)}"
        run(CPUPERF, "-e", "page_faults@1", "-g", "-o", session, "--", program)
        rows = list(csv.DictReader(io.StringIO(output(PRINT, session, "--quiet", "--report=flat", "--inline", "--lines", "--top=0",
                                                      "--output-format=csv"))))
        found = {(plain(row["function"]), row["line"]) for row in rows}
        assert {(name, f"{os.path.dirname(program)}/main.go:{line}") for name, line in expected} <= found, (program, expected, found)
        put = [row for row in rows if row["function"] == "main.put"]
        assert sum(int(row["self_samples"]) for row in put) >= 16, (program, put)  # pages of 2 MiB, at least
        text = output(PRINT, session, "--quiet", "--report=flat")
        assert "without names" not in text and "[unknown] (" not in text, (program, text)


def in_regions(folder, function):
    """The time and the regions of each sample with this function in its stack."""
    output(PRINT, "--quiet", f"{folder}/s", "--output-format=sqlite", f"--output-file={folder}/s.sqlite")
    with contextlib.closing(sqlite3.connect(f"{folder}/s.sqlite")) as d:
        return d.execute("WITH RECURSIVE above (stack) AS (SELECT stack FROM stacks JOIN functions USING (function) WHERE name = ? "
                         "UNION SELECT stacks.stack FROM stacks JOIN above ON parent = above.stack) "
                         "SELECT time_ns, coalesce(path, '') FROM samples JOIN above USING (stack) LEFT JOIN regions USING (region)",
                         (function,)).fetchall()


def is_in(path, text):
    with open(path, encoding="utf-8") as f:
        return text in f.read()


def check_labels(folder):
    """Of a program without symbols, that runs already. Once it is known, each fault is in the regions that it says."""
    if os.geteuid() != 0:
        print("skip: labels: needs root: programs in the kernel", flush=True)
        return
    with running(build(LABELLED)[1]) as program:
        with start(folder, "-e", "page_faults@1", "-g=fp", "--output=s", f"--pid={program.pid}", "--duration=60s",
                   "--verbose=2", "--log-file=log") as session:
            wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
            while not is_in(f"{folder}/log", f"process {program.pid} is read: go"):
                print("look", file=program.stdin, flush=True)
                program.stdout.readline()
                assert session.poll() is None, session.communicate()
            out, _ = program.communicate("go\n")
            finish(session)
    account = [line.split(" ", 3) for line in out.splitlines()]
    found = in_regions(folder, "main.touch")
    assert len(account) == 60, out
    lost = [sampled.Trace(path).sampling["lost"] for path in glob.glob(f"{folder}/s/cpuperf.0.*.cpuperf")]
    for since, until, pages, regions in account:
        there = [(r, time_ns - int(since)) for time_ns, r in found if int(since) <= time_ns <= int(until)]
        assert {r for r, _ in there} <= {regions}, (regions, there, lost)
        assert there or int(pages) < 20, (regions, pages)
    assert len(found) >= sum(int(pages) for _, _, pages, _ in account) / 2, (len(found), account)
    of_runtime = [stack for stack, _ in folded(folder, "--group-by=region") if "main.large" in stack and "runtime.systemstack" in stack]
    assert of_runtime and all(stack[1] == "alloc=large" for stack in of_runtime), of_runtime
    rows = csv.DictReader(io.StringIO(output(PRINT, f"{folder}/s", "--quiet", "--report=regions", "--output-format=csv", "--top=0")))
    of = {row["path"]: row for row in rows}
    inside = sum(regions.startswith("request=checkout") for _, regions in found)
    row = of["request=checkout"]
    assert int(row["page_faults_samples"]) >= inside and row["calls"] == "", row
    assert "Regions by labels" in output(PRINT, f"{folder}/s", "--quiet")  # the answer
    run(PRINT, f"{folder}/s", "--quiet", "--output-format=html", f"--output-file={folder}/s.html")
    assert is_in(f"{folder}/s.html", '"report":"regions"')
    run(CPUPERF, "--quiet", "-e", "page_faults@1", "-g=fp", f"--output={folder}/none", "--", build(LABELLED)[1], input="")
    compared = output(PRINT, f"{folder}/none", "--quiet", f"--diff={folder}/s", "--sort=region")
    assert "request=checkout" in compared and "Regions" not in compared, compared  # there are no calls
    log = output(PRINT, f"{folder}/s", "--quiet", "--report=records", "--region=request=checkout", "--output-format=ndjson")
    inside = sum("request=checkout" in regions for _, regions in found)
    assert log.count('"kind":"sample"') >= inside > 0, (log[:500], inside)


def check_callers_of_runtime(folder):
    """What the runtime does on its own stack is called by the goroutine, also where tables say where functions return to."""
    if not may_count_faults("callers"):
        skip("callers: see above")
    run(CPUPERF, "-e", "page_faults@1", "-g", "--output=s", "--", build()[0], cwd=folder)
    stacks = [stack for stack, _ in folded(folder) if any(name.startswith("runtime.systemstack") for name in stack)]
    behind = [stack for stack in stacks if "main.main" in stack]
    roots = {stack[1] for stack in stacks if not stack[1].startswith("runtime.rt0_go")}
    assert all(sum(name.startswith("runtime.systemstack") for name in stack) == 1 for stack in behind), behind[:3]
    assert behind and not any(root.startswith("runtime.systemstack") for root in roots), (roots, stacks[:3])


def check_doctor(_):
    """A stripped program lacks nothing."""
    text = run(CPUPERF, "--doctor", "--", build()[1], code=None).stdout
    for name in ("its symbols", "its lines"):
        line, = re.findall(f"^.*{name}.*$", text, re.M)
        assert "Go's runtime" in line, line


run_checks(globals())
