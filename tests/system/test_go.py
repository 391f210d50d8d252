"""Programs of Go that are stripped: the names, lines and inlined calls of their functions are those of the same program
with symbols and DWARF, read from the table that Go's runtime has. Faults of memory are where the program makes them."""
import atexit
import csv
import functools
import glob
import io
import os
import re
import shutil
import tempfile

from kit import CPUPERF, PRINT, may_count_faults, output, run, run_checks, skip

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
LINES = {name: n + 1 for n, text in enumerate(SOURCE.split("\n")) for name in re.findall("// LINE (.*)", text)}


@functools.cache
def build():
    """The program, and the same without symbols: both have each function at the same address."""
    compilers = [path for path in (shutil.which("go"), *sorted(glob.glob("/usr/lib/go-*/bin/go"))) if path]
    if not compilers or not shutil.which("strip"):
        skip("go or strip: it is not installed")
    folder = tempfile.mkdtemp(prefix="cpuperf-test.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    with open(f"{folder}/main.go", "w", encoding="utf-8") as f:
        f.write(SOURCE)
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


def check_doctor(_):
    """A stripped program lacks nothing."""
    text = run(CPUPERF, "--doctor", "--", build()[1], code=None).stdout
    for name in ("its symbols", "its lines"):
        line, = re.findall(f"^.*{name}.*$", text, re.M)
        assert "Go's runtime" in line, line


run_checks(globals())
