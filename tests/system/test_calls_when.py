#!/usr/bin/env python3
"""Calls of functions that meet the condition of an event: each is a sample with its values, and nothing else is; the event's
count and the table of functions are exact. CPUPERF names the program; needs root and a kernel with uprobes."""
import json
import os
import subprocess

from kit import CPUPERF, need_programs, run, run_checks, show
from sampled import event, write_spec
from waited import Control

# Call i of handle has the size 8 * i, the factor 1 or -1, and returns size * factor, or -1 without a path.
SOURCE = r"""
#include <stddef.h>
#define OUT __attribute__((noinline))
static volatile long sink;
OUT int handle(const char *path, unsigned size, signed char factor) { sink += size; return path ? (int)size * factor : -1; }
OUT long outer(unsigned char low, long high) { sink += low; long n = handle("a", low, 1); sink += n; return high; }
OUT double scale(int a, double b, float c, double d, double e, double f, double g, double h, double i, double j, int k, int l, int m,
	int n, int o, int p, int q) { sink += a + k + l + m + n + o + p + q; return b + c + d + e + f + g + h + i + j; }
int main(void)
{
	for (int i = 0; i < 5; i++) sink += (long)scale(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, i * 10, i - 3);
	for (unsigned i = 0; i < 300; i++) sink += handle(i % 10 ? "x" : NULL, i * 8, i & 1 ? 1 : -1);
	for (unsigned i = 0; i < 20; i++) sink += outer(i, (long)i - 10);
	return 0;
}
"""
# Call i is open from its number to the line that it reads.
STEPS = r"""
#include <stdio.h>
static volatile int sink;
__attribute__((noinline)) int serve(unsigned size) { char line[8]; printf("%u\n", size); fflush(stdout); sink++; return fgets(line, 8, stdin) ? 1 : 0; }
int main(void) { unsigned i = 0; while (serve(i)) i++; return 0; }
"""
HANDLE = "handle(path:str, size:u32, factor:s8)>int"
CALLS = [(i % 10 > 0, i * 8, 1 if i & 1 else -1) for i in range(300)] + [(True, i, 1) for i in range(20)]
CALLS = [(has_path, size, factor, size * factor if has_path else -1) for has_path, size, factor in CALLS]


def build(folder, source=SOURCE):
    with open(f"{folder}/calls.c", "w", encoding="ascii") as f:
        f.write(source)
    run("cc", "-O1", "-g", "-fno-optimize-sibling-calls", "-fcf-protection=none", "-o", f"{folder}/calls", f"{folder}/calls.c")
    return f"{folder}/calls"


def rows(folder, report, *args):
    return [json.loads(line) for line in show(folder, f"--report={report}", "--output-format=ndjson", *args).splitlines()]


def samples(folder, heading):
    return [r["fields"] for r in rows(folder, "records") if r["kind"] == "sample" and r["event"] == heading]


def count(folder, heading):
    total, = (r["total"] for r in rows(folder, "summary") if r.get("summary") and r["label"] == heading)
    return total


def check_conditions(folder):
    """Each condition is an event of its own, all at once: the samples are those calls, with their values, in their order."""
    conditions = {"size >= 4KiB": lambda p, s, f, r: s >= 4096, "size>=2000 and return < 0": lambda p, s, f, r: s >= 2000 and r < 0,
                  "path == NULL": lambda p, s, f, r: not p, "factor != -1 && duration<=1h": lambda p, s, f, r: f != -1,
                  "return=8": lambda p, s, f, r: r == 8, "size<1 and path!=NULL": lambda p, s, f, r: s < 1 and p,
                  "duration>1h": lambda p, s, f, r: False, "return < -2000": lambda p, s, f, r: r < -2000}
    spec = write_spec(folder, [event(f"function:{HANDLE}", when=w, flags=["pc"]) for w in conditions])
    run(CPUPERF, spec, "--", build(folder), cwd=folder)
    for when, holds in conditions.items():
        expected = [c for c in CALLS if holds(*c)]
        heading = f"{HANDLE} when {when}"
        found = [(f["path"] != "NULL", f["size"], f["factor"], f["result"]) for f in samples(folder, heading)]
        assert found == expected, (when, found, expected)
        assert count(folder, heading) == len(expected), when
    calls = {int(r["calls"]) for r in rows(folder, "functions") if r.get("function") == "handle"}
    assert calls == {len(CALLS)}, calls


def check_option(folder):
    """From the file's debug information, of two functions at once, with callers."""
    run(CPUPERF, "--event=function:outer(...)@high>=-4 and low!=12", "--event=function:handle", "-g", "--output=s.cpsession", "--",
        build(folder), cwd=folder)
    heading = "outer(...) when high>=-4 and low!=12"
    found = [(f["low"], f["high"], f["result"]) for f in samples(folder, heading)]
    assert found == [(i, i - 10, i - 10) for i in range(6, 20) if i != 12], found
    assert count(folder, "handle") == len(CALLS)


def check_rate(folder):
    """It is of the calls that meet the condition, which are counted all; a label replaces both."""
    spec = write_spec(folder, [event(f"function:{HANDLE}", when="factor>0", rate=7, flags=["pc"], label="some")])
    run(CPUPERF, spec, "--", build(folder), cwd=folder)
    nr, found = count(folder, "some"), samples(folder, "some")
    assert nr == sum(c[2] > 0 for c in CALLS) and all(f["factor"] == 1 for f in found), (nr, found)
    assert 0 <= nr - 7 * len(found) <= 7 * os.cpu_count(), (nr, found)  # by CPU


def check_floats(folder):
    """They are not recorded, and said to be; integers behind them are where the compiler has put them, also on the stack."""
    program = build(folder)
    signature = "scale(a:int, b:f64, c:f32, d:f64, e:f64, f:f64, g:f64, h:f64, i:f64, j:f64, k:skip, l:skip, m:skip, n:skip, o:int, p:int, q:int)"
    for name, values in (signature, ("a", "o", "p", "q")), ("scale(...)", ("a", "k", "l", "m", "n", "o", "p", "q")):
        run(CPUPERF, write_spec(folder, [event(f"function:{name}", when="q >= -1", label="behind", flags=["pc"])]), "--", program, cwd=folder)
        expected = [{**dict(zip("aklmno", (i, 1, 2, 3, 4, 5))), "p": i * 10, "q": i - 3} for i in (2, 3, 4)]
        found = [{v: f[v] for v in values} for f in samples(folder, "behind")]
        assert found == [{v: c[v] for v in values} for c in expected], (name, found)
        for value in ("j", "return") if name == "scale(...)" else ("j",):
            done = subprocess.run([CPUPERF, f"--event=function:{name}@{value} > 1", "--", program], capture_output=True, text=True, check=False)
            assert done.returncode != 0 and f"{value} of scale is floating-point: such values are in registers that" in done.stderr, done


def check_control(folder):
    """A call counts if the event was enabled when it began and when it ended; values are taken for it where the event that counts
    them is disabled, and are not counted then."""
    name, control = "function:serve(size:u32)>int", Control()
    spec = write_spec(folder, [event(name, label="first", when="size>=2", flags=["pc"]), event(name, label="second")])
    with subprocess.Popen([CPUPERF, spec, "--delay=-1", *control.options, "--", build(folder, STEPS)], cwd=folder, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, **control.how) as p:
        control.ask("ping")
        for i, request in enumerate(("enable", "ping", "ping", "disable second", "ping", "disable first", "enable second", "enable first", "ping")):
            assert p.stdout.readline() == f"{i}\n"  # the call has begun
            control.ask(request)
            print(file=p.stdin, flush=True)
        p.stdin.close()
        p.stdout.read()
    assert p.returncode == 0, p.returncode
    assert [f["size"] for f in samples(folder, "first")] == [2, 3, 4, 8, 9], samples(folder, "first")
    assert (count(folder, "first"), count(folder, "second")) == (5, 6)
    values = {int(r["value"]): int(r["calls"]) for r in rows(folder, "values") if r.get("argument") == "size"}
    assert values == {i: 1 for i in (1, 2, 3, 7, 8, 9)}, values


def check_refused(folder):
    """One line says what, and the next what to type; in a spec with the place."""
    program = build(folder)
    for name, when, words, column in (
            (HANDLE, "siez > 4", "no value of handle that is recorded has the name \"siez\"", 1),
            (HANDLE, "size>4 and path > 5", "path of handle is a text, which is compared with one in quotes, or NULL", 12),
            (HANDLE, "factor < 128", "factor is from -128 to 127", 1),
            (HANDLE, "duration < 1ms and duration > 2ms", "no duration is as short and as long", 1),
            ("handle", "size > 4", "handle has no signature, so no \"size\" is known", 1),
            (HANDLE, "size > 4 nor size < 2", "\"nor\" is neither \"and\" nor \"or\"", 10)):
        done = subprocess.run([CPUPERF, f"--event=function:{name}@{when}", "--", program], capture_output=True, text=True, check=False)
        assert done.returncode != 0 and words in done.stderr and "hint: " in done.stderr, (when, done)
        with open(f"{folder}/bad.cpspec", "w", encoding="ascii") as f:
            f.write(f'{{ "events": [\n{{ "when": "{when}", "group_name": "function", "event_name": "{name}" }} ] }}\n')
        done = subprocess.run([CPUPERF, f"--spec-file={folder}/bad.cpspec", "--", program], capture_output=True, text=True, check=False)
        assert done.returncode != 0 and f"bad.cpspec:2:{len('{ .when.: .') + column}: " in done.stderr, (when, done)
        assert words in done.stderr and "hint: " in done.stderr, (when, done)


need_programs()
run_checks(globals())
