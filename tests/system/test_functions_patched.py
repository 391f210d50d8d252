#!/usr/bin/env python3
"""Functions that nobody has prepared, counted by replacing their first instructions: exactly, also for an ordinary user,
and the program does what it does without. What cannot be counted so is named, with its reason. HOOKS names the agent.
"""
import csv
import io
import os
import shutil
import signal
import subprocess
import tempfile

from kit import CPUPERF, own_uid, PRINT, programs_missing, run, run_checks, skip
import sampled

if os.uname().machine != "x86_64":
    skip("x86-64 alone")
BUILT = tempfile.TemporaryDirectory(prefix="cpuperf-test.")  # once for all checks
os.chmod(BUILT.name, 0o755)
ORDINARY = {"user": own_uid(), "group": own_uid(), "extra_groups": []} if os.geteuid() == 0 else {}

# Threads, recursion, tail calls, tables of switch, longjmp, a library's function, and what is refused.
MANY = """
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
#define OUT __attribute__((noinline, noclone))
static jmp_buf back;
static volatile int sink;
OUT int parse_word(int x) { sink = x; return x * 3 + 1; }
OUT int parse_line(int x) { int sum = 0; for (int i = 0; i < 3; i++) sum += parse_word(x + i); return sum; }
OUT int parse_tail(int x) { sink = x; return parse_word(x + 1); }
OUT int parse_deep(int n) { int r = n ? parse_deep(n - 1) : 0; sink = r; return r + 1; }
OUT void parse_out(int n) { sink = n; if (n == 7) longjmp(back, 1); sink++; }
OUT int parse_kind(int k)
{
	switch (k) {
	case 0: return 7; case 1: return sink + 3; case 2: return sink * 5; case 3: return 11 ^ sink; case 4: return sink << 2;
	case 5: sink = 1; return 3; case 6: return sink - 9; case 7: sink = 2; return 8; default: return -1;
	}
}
OUT void *parse_all(void *n)
{
	for (int i = 0; i < 10000; i++) parse_line(i);
	return n;
}
__asm__(".globl parse_short\\n.type parse_short, @function\\nparse_short: ret\\n.size parse_short, 1\\nud2\\n"
	".globl parse_inner\\n.type parse_inner, @function\\nparse_inner: inc %edi\\n1: lea 1(%rdi), %eax\\nret\\n"
	".size parse_inner, . - parse_inner\\n"
	".globl outer\\n.type outer, @function\\nouter: test %edi, %edi\\njmp 1b\\nnop\\n.size outer, . - outer\\n");
void parse_short(void); int parse_inner(int), outer(int);
int main(void)
{
	pthread_t t[10]; int sum = 0, status;
	for (int i = 0; i < 10; i++) pthread_create(&t[i], NULL, parse_all, NULL);
	for (int i = 0; i < 10; i++) pthread_join(t[i], NULL);
	parse_word(0); parse_tail(1); parse_tail(2); parse_deep(99);
	for (volatile int i = 5; i < 9; i++) if (setjmp(back)) sum++; else parse_out(i);
	for (int i = 0; i < 9; i++) sum += parse_kind(i);
	parse_short(); sum += parse_inner(4) + outer(2);
	if (!fork()) { parse_line(1); _exit(9); }
	wait(&status);
	printf("%d %d\\n", sum, status >> 8);
	return 6;
}
"""
CALLS = {"parse_word": 300000 + 3 + 3, "parse_line": 100000 + 1, "parse_tail": 2, "parse_deep": 100, "parse_out": 4,
         "parse_kind": 9, "parse_all": 10}
THROWS = """
extern "C" int puts(const char *);
#define OUT __attribute__((noinline))
OUT int leaf(int x) { asm volatile("" : "+r"(x)); return x + 1; }
struct guard { int *n; OUT ~guard() { ++*n; } };
OUT int fall(int n, int *left) { guard g{left}; if (!n) throw 1; return fall(n - 1, left) + leaf(n); }
OUT int catches(int n) { int sum = 0, left = 0; for (int i = 0; i < n; i++) try { fall(3, &left); } catch (int) { sum += leaf(i); } return sum + left; }
int main() { puts(catches(50) == 50 * 49 / 2 + 50 + 200 ? "all" : "some"); return 5; }
"""
# Waits for a line, so that its recorder can be killed before.
WAITS = """
#include <stdio.h>
__attribute__((noinline)) int work(int x) { __asm__ volatile("" : "+r"(x)); return x * 5 % 4096 + 2; }
int main(int argc, char **argv)
{
	int sum = 0; char line[8]; FILE *f;
	for (int i = 0; i < 1000; i++) sum = work(sum);
	puts("ready"); fflush(stdout);
	if (!fgets(line, sizeof(line), stdin)) return 1;
	for (int i = 0; i < 1000; i++) sum = work(sum);
	f = fopen(argv[argc - 1], "w"); fprintf(f, "%d\\n", sum); fclose(f);
	return 0;
}
"""
# Starts a program whose memory is never both writable and executable.
STRICT = """
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) { return prctl(65, 1, 0, 0, 0) ? 77 : argc > 1 ? execvp(argv[1], argv + 1) : 0; }
"""


def build(text, name, *flags, compiler="cc", libraries=()):
    program = os.path.join(BUILT.name, name)
    if not os.path.exists(program):
        run(compiler, "-O2", "-pthread", *flags, "-x", "c++" if compiler == "c++" else "c", "-o", program, "-", *libraries, input=text)
    return program


def everybodys():
    """A copy of what is installed, as far as it is needed here: in folders that everybody may enter."""
    folder = f"{BUILT.name}/tree"
    if not os.path.exists(folder):
        os.makedirs(f"{folder}/bin")
        for program in (CPUPERF, PRINT):
            sampled.for_everybody(program, f"{folder}/bin")
        agent = os.environ["HOOKS"]
        to = os.path.normpath(f"{folder}/bin/" + os.path.relpath(agent, os.path.dirname(CPUPERF)))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(agent, to)
    return f"{folder}/bin/cpuperf"


def measure(folder, event, *command, way="program", code=6, user=False, **how):
    """{name: calls} of the event, and what was printed."""
    os.chmod(folder, 0o777)
    how = {"cwd": folder, **(ORDINARY if user else {}), **how}
    shutil.rmtree(f"{folder}/s", ignore_errors=True)
    done = run(everybodys(), "-o", "s", f"--function-way={way}", "-e", f"function:{event}", "--", *command, code=code, **how)
    text = run(PRINT, "--quiet", "--report=functions", "--output-format=csv", "s", cwd=folder).stdout
    return {row["function"].split("(")[0]: int(row["calls"]) for row in csv.DictReader(io.StringIO(text))}, done


def check_counts_are_exact(folder):
    for flags in ([], ["-fcf-protection=full"], ["-no-pie"], ["-O0"], ["-s", "-rdynamic"]):
        program = build(MANY, "many" + "".join(flags), *flags)
        alone = run(program, code=6)
        found, done = measure(folder, "parse_*", program)
        expected = {n: c for n, c in CALLS.items() if n in found or f"{n}" not in done.stderr}
        assert found == expected and len(found) >= len(CALLS) - 1, (flags, found, done.stderr)
        assert done.stdout == alone.stdout, (flags, done, alone)
        assert "measured by patched entries" in done.stderr and "counted, not timed" in done.stderr, done.stderr


def check_an_ordinary_user(folder):
    if sampled.paranoid() > 2:
        skip("an ordinary user: perf_event_paranoid may refuse him")
    found, done = measure(folder, "parse_[wl]*", build(MANY, "many"), user=True, way="any" if os.geteuid() == 0 else "program")
    assert found["parse_word"] == CALLS["parse_word"] and found["parse_line"] == CALLS["parse_line"], (found, done)


def check_beside_the_kernel(folder):
    missing = programs_missing()
    if missing:
        skip(f"programs in the kernel: {missing}")
    program = build(THROWS, "throws", compiler="c++")
    theirs, _ = measure(folder, "*", program, way="kernel", code=5)
    ours, done = measure(folder, "*", program, code=5)
    assert done.stdout == "all\n" and ours == theirs, (ours, theirs)
    assert ours["leaf"] == 50 and ours["fall"] == 200 and ours["guard::~guard"] == 200, ours


def check_refused_by_name(folder):
    found, done = measure(folder, "parse_*", build(MANY, "many"))
    assert "parse_short" not in found and "parse_inner" not in found, found
    assert "not measured: parse_inner: a branch leads into its first instructions" in done.stderr, done.stderr
    assert "not measured: parse_short: " in done.stderr, done.stderr
    done = run(everybodys(), "--function-way=program", "-e", "function:parse_inner", "--", build(MANY, "many"), code=125, cwd=folder)
    assert "parse_inner is not measured in the program: a branch leads into its first instructions" in done.stderr, done.stderr
    assert "--function-way=kernel" in done.stderr and not done.stdout, done


def check_programs_without_the_agent(folder):
    for name, flags, why in (("fixed", ["-static"], "is linked statically"), ("checked", ["-fsanitize=address"], "is linked with a sanitizer")):
        program = build(MANY, name, *flags)
        done = run(everybodys(), "--function-way=program", "-e", "function:parse_word", "--", program, code=125, cwd=folder)
        assert f"{name} {why}" in done.stderr and not done.stdout, (name, done)


def check_programs_do_the_same(folder):
    """All of their functions are changed."""
    with open(f"{folder}/x.c", "w", encoding="ascii") as f:
        f.write(MANY)
    with open(f"{folder}/x.py", "w", encoding="ascii") as f:
        f.write("import sys, json, threading\nt = [threading.Thread(target=json.dumps, args=([1] * 99,)) for _ in range(4)]\n"
                "[x.start() for x in t]\n[x.join() for x in t]\ntry:\n    {}['x']\nexcept KeyError as e:\n    print(e)\nsys.exit(7)\n")
    for event, *command in (
            ("*", "sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where x < 999) "
             "select count(*), sum(x * x), max(hex(x)) from c;"),
            ("*", "bash", "-c", "for i in {1..9}; do x=$(echo $i | tr 1 2); [[ $x == 7 ]] && echo seven; done; exit 4"),
            ("libc.so.6:*", "bash", "-c", "for i in 1 2 3; do x=$(echo $i | tr 1 2); done; echo $x; kill -9 $$"),
            ("*", "perl", "-e", "my %h; $h{$_ % 97} .= $_ for 1..999; print sort values %h; eval { die 1 }; print $@; exit 5"),
            ("Py*", "/usr/bin/python3", "-S", f"{folder}/x.py"),
            ("*", run("cc", "-print-prog-name=cc1").stdout.strip(), "-quiet", "-O1", f"{folder}/x.c", "-o", "-")):
        if not shutil.which(command[0]):
            print(f"skip: {command[0]}: not installed")
            continue
        alone = run(*command, cwd=folder, code=None)
        expected = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
        found, done = measure(folder, event, *command, code=expected)
        assert done.stdout == alone.stdout, (command, done, alone)
        assert len(found) > 20 and "calls were not counted" not in done.stderr, (command, len(found), done.stderr)


def check_code_that_may_not_be_written(folder):
    strict = build(STRICT, "strict")
    if run(strict, code=None).returncode:
        skip("the kernel has no PR_SET_MDWE")
    program = build(MANY, "many")
    found, done = measure(folder, f"{program}:parse_*", strict, program)
    assert done.stdout == run(program, code=6).stdout and not found, (found, done)
    assert "functions are not counted in a process: their code may not be written" in done.stderr, done.stderr


def check_code_that_the_loader_changes(folder):
    """Relocations in code: moved as it is in the file, it would be wrong. A breakpoint's byte may be among what was changed."""
    library = build("extern int word; int *found(void) { return &word; }", "libchanged.so", "-shared", "-fno-pic", "-mcmodel=large",
                    "-Wl,-z,notext")
    program = build("#include <stdio.h>\nint *found(void); int main(void) { printf(\"%p\\n\", (void *)found()); return 6; }",
                    "changed", "-Wl,--defsym=word=0x11cc", libraries=["-xnone", library])
    found, done = measure(folder, f"{library}:found", program)
    assert not found and done.stdout == "0x11cc\n", (found, done)
    assert "their code is not what the file has" in done.stderr, done.stderr


def check_what_is_loaded_later(folder):
    library = build("int found(int x) { return x * 3 + x / 7; }", "libfound.so", "-shared", "-fPIC")
    loads = build("#include <dlfcn.h>\n#include <stdio.h>\nint main(int c, char **v) { int (*f)(int) = dlsym(dlopen(v[c - 1], RTLD_NOW), "
                  "\"found\"); printf(\"%d\\n\", f(7)); return 6; }", "loads", "-ldl")
    found, done = measure(folder, f"{library}:found", loads, library)
    assert not found and done.stdout == "22\n", (found, done)
    assert "what a program loads later (dlopen) is counted with --function-way=kernel alone" in done.stderr, done.stderr


def check_the_recorder_is_killed(folder):
    program, out = build(WAITS, "waits"), f"{folder}/out"
    os.mkfifo(out)
    with subprocess.Popen([everybodys(), "--function-way=program", "-e", "function:work", "--", program, out], cwd=folder,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        p.send_signal(signal.SIGKILL)
        p.wait()
        p.stdin.write("go\n")
        p.stdin.flush()
        with open(out, encoding="ascii") as f:
            assert int(f.read()) > 0


run_checks(globals(), everybody=True)
