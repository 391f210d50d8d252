#!/usr/bin/env python3
"""The ready sets calls-*: events of functions that may be absent, and of libraries that a program loads later. Libraries
of this test stand in for those of databases, TLS and MPI: they have their names, and do nothing. CPUPERF names the
program; needs root and a kernel with uprobes."""
import csv
import glob
import io
import json
import os

from kit import CPUPERF, need_programs, output, PRINT, run, run_checks
from sampled import event

SPECS = f"{os.environ['SOURCE_DIR']}/specs"
# library -> functions, each with how often it is called
LIBRARIES = {
    "libsqlite3.so.0": {"sqlite3_prepare_v2": 3, "sqlite3_step": 30},
    "libpq.so.5": {"PQexec": 7, "PQgetResult": 8},
    "libmpi.so.40": {"MPI_Send": 5, "MPI_Recv": 4, "MPI_Allreduce": 6, "MPI_Waitall": 2},
    "libgnutls.so.30": {"gnutls_handshake": 1, "gnutls_record_send": 9},
}
LATER = r"""
#include <dlfcn.h>
int main(void)
{
	void *library = dlopen("libz.so.1", RTLD_NOW);
	const char *(*version)(void) = 0;
	*(void **)&version = library ? dlsym(library, "zlibVersion") : 0;
	for (int i = 0; version && i < 12; i++) version();
	return version ? 0 : 1;
}
"""


def compile_text(path, text, *flags):
    run("cc", "-x", "c", "-O1", "-fcf-protection=none", "-o", path, "-", "-x", "none", *flags, input=text)
    return path


def build(folder):
    """A program that calls each function of the libraries, which read the text; the statement is the 2nd argument, the rank the 4th."""
    libraries, lines = [], []
    for library, functions in LIBRARIES.items():
        body = "".join(f"long {name}(long a, const char *b, long c, long d) {{ return a + c + d + b[0]; }}\n"
                       for name in functions)
        libraries.append(compile_text(f"{folder}/{library}", body, "-shared", "-fPIC", f"-Wl,-soname,{library}"))
        for name, nr in functions.items():
            lines.append(f"extern long {name}(long, const char *, long, long); "
                         f"for (int i = 0; i < {nr}; i++) sum += {name}(1, i % 2 ? \"select a\" : \"select b\", 2, i % 2);")
    externs = "\n".join(lines)
    return compile_text(f"{folder}/prog", f"int main(void) {{ long sum = 0;\n{externs}\nreturn sum ? 0 : 1; }}",
                        *libraries, f"-Wl,-rpath,{folder}")


def write_events(folder, *events):
    with open(f"{folder}/events.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": events}, f)
    return f"--spec-file={folder}/events.cpspec"


def counts(folder):
    text = output(PRINT, "cpuperf.session", "--quiet", "--report=functions", "--output-format=csv", cwd=folder)
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return {row["function"]: int(row["calls"]) for row in rows}


def values(folder, argument):
    text = output(PRINT, "cpuperf.session", "--quiet", "--report=values", "--output-format=ndjson", "--top=0", cwd=folder)
    rows = [json.loads(line) for line in text.splitlines()]
    return {(r["function"], r["value"]): int(r["calls"]) for r in rows if r["argument"] == argument}


def check_sets(folder):
    """Each counts what it names, and says what is not there; no line for each event."""
    program = build(folder)
    for name, libraries in (("calls-sql", ("libsqlite3.so.0", "libpq.so.5")), ("calls-mpi", ("libmpi.so.40",)),
                            ("calls-tls", ("libgnutls.so.30",))):
        done = run(CPUPERF, f"--spec-file={SPECS}/{name}.cpspec", "--", program, cwd=folder)
        wanted = {f: nr for library in libraries for f, nr in LIBRARIES[library].items()}
        assert counts(folder) == wanted, (name, counts(folder))
        assert "not supported" not in done.stderr and done.stderr.count("each call costs") <= 2, done.stderr
        if name == "calls-sql":
            assert values(folder, "statement") == {
                ("sqlite3_prepare_v2", "select b"): 2, ("sqlite3_prepare_v2", "select a"): 1,
                ("PQexec", "select b"): 4, ("PQexec", "select a"): 3}, values(folder, "statement")
        if name == "calls-mpi":
            assert values(folder, "rank") == {("MPI_Send", "0"): 3, ("MPI_Send", "1"): 2,
                                              ("MPI_Recv", "0"): 2, ("MPI_Recv", "1"): 2}, values(folder, "rank")


def check_those_of_the_c_library(folder):
    program = compile_text(f"{folder}/own", r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <pthread.h>
        #include <unistd.h>
        int main(void)
        {
            static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
            void *volatile p;
            FILE *f = fopen("/dev/null", "w");
            for (int i = 0; i < 11; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
            for (int i = 0; i < 13; i++) { p = calloc(3, 5); free(p); }
            for (int i = 0; i < 17; i++) fflush(f);
            return 0;
        }""")
    for name, function, nr in (("locks", "pthread_mutex_lock", 11), ("memory", "calloc", 13), ("io", "fflush", 17)):
        run(CPUPERF, f"--spec-file={SPECS}/calls-{name}.cpspec", "--", program, cwd=folder)
        assert nr <= counts(folder)[function] <= nr + 3, (name, counts(folder))  # the C library's own


def check_optional(folder):
    """What is absent is listed with its reason; without the flag, and where nothing else is left, it is an error."""
    program = build(folder)
    absent = {**event("function:libnone.so:f"), "flags": ["optional"]}
    there = event("function:libpq.so:PQexec")
    done = run(CPUPERF, write_events(folder, absent, there), "--", program, cwd=folder)
    assert "not measured: libnone.so:f (no file of the target, and no installed library, is libnone.so)" in \
        " ".join(done.stderr.split()), done.stderr
    assert "warning" not in done.stderr and counts(folder) == {"PQexec": 7}, done.stderr
    for events, code, said in (
            ([absent], 125, "none of the 1 event(s) can be measured here"),
            ([event("function:libnone.so:f"), there], 125, "no file of the target, and no installed library, is libnone.so"),
            ([{**event("software:page_fault"), "flags": ["optional"]}, there], 0, "page_fault (there is no such event)"),
            ([{**event("softwre:page_faults"), "flags": ["optional"]}, there], 125, "Unknown event: softwre:page_faults")):
        done = run(CPUPERF, write_events(folder, *events), "--", program, cwd=folder, code=code)
        assert said in " ".join(done.stderr.split()), (code, done.stderr)


def check_library_that_is_loaded_later(folder):
    """By its name alone: the loader's list says where it is."""
    if not glob.glob("/lib/*/libz.so.1") and not glob.glob("/usr/lib*/libz.so.1"):
        print("skip: libz.so.1 is not installed")
        return
    program = compile_text(f"{folder}/later", LATER, "-ldl")
    run(CPUPERF, write_events(folder, event("function:libz.so:zlibVersion")), "--", program, cwd=folder)
    assert counts(folder) == {"zlibVersion": 12}, counts(folder)


need_programs()
run_checks(globals())
