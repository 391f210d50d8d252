#!/usr/bin/env python3
"""Calls of functions by their texts, and by conditions that are joined by or: counts and samples are exactly the calls that meet
them. CPUPERF names the program; needs root and a kernel with uprobes."""
import json
import subprocess

from kit import CPUPERF, need_programs, run, run_checks, show
from sampled import event, write_spec

# Call i of each function has the text i of TEXTS, and returns "odd", or NULL.
SOURCE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define FUNCTION(name) __attribute__((noinline)) static const char *name(char *path, int id, int what) \
{ if (what == 'c') strcpy(path, "changed"); if (what == 'l') sink += *path; sink += id; return id & 1 ? odd : NULL; }
static volatile int sink;
static const char *volatile odd = "odd";
FUNCTION(visit_a) FUNCTION(visit_b) FUNCTION(visit_c)
/* The file's page is in memory, but not in the process before it is read. */
static char *map(const char *file) { return mmap(NULL, 1, PROT_READ, MAP_PRIVATE, open(file, O_RDONLY), 0); }
int main(int argc, char **argv)
{
	const char *(*all[])(char *, int, int) = {visit_a, visit_b, visit_c};
	sink += *odd; /* it is in memory from now on */
	long page = sysconf(_SC_PAGESIZE);
	for (int f = 0; f < 3; f++)
		for (int i = 2; i < argc; i += 2) {
			char *ends = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + page, *text = argv[i];
			int what = argv[i - 1][0];
			mprotect(ends, page, PROT_NONE);
			if (what == 'e') text = strcpy(ends - strlen(text) - 1, text);
			if (what == 'u') text = memcpy(ends - strlen(text), text, strlen(text));
			if (what == 'n') text = NULL;
			if (what == 'c') text = strcpy(malloc(99), text);
			if (what == 'l' || what == 'a') text = map(text);
			sink += all[f](text, i / 2 - 1, what) != NULL;
		}
	return 0;
}
"""
LONG = "x" * 118
# What each is: t: as it is; e: before the end of memory; u: the same without its end; n: NULL; c: the function changes it;
# l: in a file of this name, that the function reads; a: that it does not read. None: no text that can be read.
ETC = "/etc/passwd"
CALLS = [("t", ETC), ("t", ETC + "2"), ("t", ETC[:-1]), ("t", "/etc/"), ("t", "/etc"), ("t", ""), ("t", LONG), ("t", LONG + "x"),
         ("t", LONG * 3), ("e", ETC), ("e", LONG), ("u", ETC), ("n", "-"), ("c", ETC), ("c", "/opt"), ("l", "later"), ("a", "never"),
         ("t", "/Etc/passwd"), ("t", "changed"), ("t", "\u00e4/*"), ("t", "a,@5) 'b'"), ("t", "-")]
NULL = object()
TEXTS = [{"n": NULL, "u": None, "a": None, "l": ETC}.get(what, text) for what, text in CALLS]
SIGNATURE = "(path:str, id:int)>str"


def build(folder):
    for name in "later", "never":
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(ETC + "\0")
    with open(f"{folder}/calls.c", "w", encoding="ascii") as f:
        f.write(SOURCE)
    run("cc", "-O1", "-g", "-fcf-protection=none", "-o", f"{folder}/calls", f"{folder}/calls.c")
    return [f"{folder}/calls", *(a for call in CALLS for a in call)]


def rows(folder, report, *args):
    return [json.loads(line) for line in show(folder, f"--report={report}", "--output-format=ndjson", *args).splitlines()]


def found(folder, label):
    """The ids of the event's samples, which are as many as its count, and by their texts what the calls had."""
    ids = [r["fields"]["id"] for r in rows(folder, "records") if r["kind"] == "sample" and r["event"] == label]
    total, = (r["total"] for r in rows(folder, "summary") if r.get("summary") and r["label"] == label)
    assert total == len(ids), (label, total, ids)
    return ids


def is_text(text):
    return text is not None and text is not NULL


def equal(constant):
    return lambda i: is_text(TEXTS[i]) and TEXTS[i] == constant


def begins(constant):
    return lambda i: is_text(TEXTS[i]) and TEXTS[i].startswith(constant)


def other(like):
    """Of what can be read: NULL is another text, too."""
    return lambda i: TEXTS[i] is not None and not like(i)


def check(folder, conditions, **keys):
    """As many events of a function as it may have, of the three functions, all at once."""
    names = list(conditions)
    spec = write_spec(folder, [event(f"function:visit_{'abc'[i // 8]}{SIGNATURE}", when=w, label=f"e{i}", flags=["pc"], **keys)
                               for i, w in enumerate(names)])
    run(CPUPERF, spec, "--", *build(folder), cwd=folder)
    for i, when in enumerate(names):
        expected = [k for k in range(len(CALLS)) if conditions[when](k)]
        assert found(folder, f"e{i}") == expected, (when, found(folder, f"e{i}"), expected)


def check_texts(folder):
    """Equal, begins, and neither, also at the longest text that is compared, at the end of memory, and where a text is changed by
    the function or comes into memory meanwhile; what cannot be read meets nothing."""
    check(folder, {
        f'path == "{ETC}"': equal(ETC), f"path!='{ETC}'": other(equal(ETC)), f'path ~ "{ETC}*"': begins(ETC),
        'path ~ "/etc/*"': begins("/etc/"), "path !~ '/etc/*'": other(begins("/etc/")), 'path == ""': equal(""),
        'path != ""': other(equal("")), f'path == "{LONG}"': equal(LONG), f'path ~ "{LONG}*"': begins(LONG),
        'path == "changed"': equal("changed"), 'path == "/opt"': equal("/opt"), 'path == "\u00e4/*"': equal("\u00e4/*"),
        "path ~ '\u00e4*'": begins("\u00e4"), "path == \"a,@5) 'b'\"": equal("a,@5) 'b'"), 'path == "no such"': lambda i: False,
        "path == NULL": lambda i: TEXTS[i] is NULL, "path != NULL": lambda i: TEXTS[i] is not NULL,
        'return == "odd"': lambda i: i & 1, "return ~ 'od*'": lambda i: i & 1, 'return != "odd"': lambda i: not i & 1,
        'return == "even"': lambda i: False, "path == '-'": equal("-")})


def check_alternatives(folder):
    """And binds closer than or; a value is in one alternative or in many."""
    etc, opt = equal(ETC), equal("/opt")
    check(folder, {
        "id == 3 or id == 5": lambda i: i in (3, 5), "id==3||id==5||id>=20": lambda i: i in (3, 5) or i >= 20,
        "id < 2 or id > 4 and id < 8": lambda i: i < 2 or 4 < i < 8, "id > 4 and id < 8 or id < 2": lambda i: i < 2 or 4 < i < 8,
        f'id < 9 and path == "{ETC}" or path == "/opt"': lambda i: i < 9 and etc(i) or opt(i),
        f'path == "/opt" or path == "{ETC}" and id > 9': lambda i: opt(i) or etc(i) and i > 9,
        "path == NULL or return != NULL and id > 17": lambda i: TEXTS[i] is NULL or i & 1 and i > 17,
        "id < 0 or id > 99": lambda i: False,
        "duration > 1h or id == 4": lambda i: i == 4, "duration <= 1h and id == 4 or duration > 1h and id == 5": lambda i: i == 4,
        "duration >= 0s or id == 4": lambda i: True, "id < 99 or id == 4": lambda i: True,
        "id == 1 or id == 2 or id == 3 or id == 4 or id == 5 or id == 6 or id == 7 or id == 8": lambda i: 1 <= i <= 8,
        "id!=1&&id!=2&&id!=3&&id!=4 or id==2": lambda i: not 1 <= i <= 4 or i == 2,
        f"path ~ '{ETC}*' or path == '' or id == 11": lambda i: begins(ETC)(i) or TEXTS[i] == "" or i == 11,
        "id > 3 and (id == 1 or path ~ '/etc/*')": lambda i: i > 3 and begins("/etc/")(i),
        "(id == 3 or id == 5 or id > 17) and id != 5": lambda i: i == 3 or i > 17,
        f"(path == '{ETC}' or path == '/opt') and (id < 9 or return != NULL) or id == 2": lambda i: (etc(i) or opt(i)) and (i < 9 or i & 1) or i == 2,
        "id > 1 and (id < 4 or (return == 'odd' and (id < 9 or path == NULL or id > 18)) or id == 12)":
            lambda i: 1 < i < 4 or i & 1 and i > 1 and (i < 9 or TEXTS[i] is NULL or i > 18) or i == 12,
        "(duration > 2h or id > 18) and (duration < 1h or id == 3)": lambda i: i > 18})


def check_longer(folder):
    """What is longer has to be so in each alternative; durations are known without a signature."""
    program = build(folder)
    spec = write_spec(folder, [event(f"function:visit_a{SIGNATURE}", when="id == 3 or id == 5", longer_than=3600, label="longer", flags=["pc"]),
                               event("function:visit_b", when="duration < 1h or duration > 2h", label="all", flags=["pc"]),
                               event("function:visit_b", when="duration > 2h or duration > 3h", label="none", flags=["pc"])])
    run(CPUPERF, spec, f"--event=function:visit_c{SIGNATURE}@path == '{ETC}' or path ~ \"a,@5)*\"", "--", *program, cwd=folder)
    totals = {r["label"]: r["total"] for r in rows(folder, "summary") if r.get("summary")}
    assert (totals["longer"], totals["all"], totals["none"]) == (0, len(CALLS), 0), totals
    expected = sum(equal(ETC)(i) or begins("a,@5)")(i) for i in range(len(CALLS)))
    assert totals[f"visit_c{SIGNATURE} when path == '{ETC}' or path ~ \"a,@5)*\""] == expected, totals


def check_refused(folder):
    """One line says what, and the next what to type; in a spec with the place, behind escapes, too."""
    program = build(folder)
    for when, words, column in (
            ("path == 5", "path of visit_a is a text, which is compared with one in quotes, or NULL", 1),
            ('path == "x" or id == "x"', "id of visit_a is an integer, which is compared with a number", 16),
            ("id > 4 or address ~ 'x*'", "address of visit_a is an address, which is compared with a number", 11),
            ("path == '\"' and id > 0.5", "id of visit_a is an integer, which has no fraction", 17),
            ("id > 4 or share > 0.5", "share of visit_a is floating-point: such values are in registers that programs of the kernel cannot read", 11),
            (f"path == '{118 * 'x'}' or path == '{17 * chr(228)}' or id == 'x'", f"{9 * chr(228)}: id of visit_a is an integer", 164),
            ("id > 4 or path ~ \"x\"", "~ compares the begin of a text", 18),
            ("(id > 4 or id < 2", "this ( has no )", 1),
            ("id > 4 and (id < 9 or path == 5)", "path of visit_a is a text, which is compared with one in quotes", 23),
            ("id > 4 or duration > 2ms and duration < 1ms", "no duration is as short and as long", 11),
            ("id > 4 and (duration > 2ms or id == 5) and duration < 1ms and duration > 0s", "no duration is as short and as long", 13)):
        name = "function:visit_a(path:str, id:int, address:ptr, share:f64)"
        done = subprocess.run([CPUPERF, f"--event={name}@{when}", "--", *program], capture_output=True, encoding="utf-8", check=False)
        assert done.returncode != 0 and words in done.stderr and "hint: " in done.stderr, (when, done)
        assert f"--event:1:{len(name) + 1 + column}: " in done.stderr, (when, done)
        with open(f"{folder}/bad.cpspec", "w", encoding="utf-8") as f:
            f.write(f'{{ "events": [\n{{ "when": {json.dumps(when, ensure_ascii=False)}, "group_name": "function", "event_name": "{name[9:]}" }} ] }}\n')
        done = subprocess.run([CPUPERF, f"--spec-file={folder}/bad.cpspec", "--", *program], capture_output=True, encoding="utf-8", check=False)
        at = len('{ "when": ') + len(json.dumps(when[:column - 1], ensure_ascii=False))
        assert done.returncode != 0 and f"bad.cpspec:2:{at}: " in done.stderr, (when, at, done)
        assert words in done.stderr and "hint: " in done.stderr, (when, done)
    sixteen = "&&".join(f"id!={i}" for i in range(16))
    spec = write_spec(folder, [event(f"function:visit_a{SIGNATURE}", when=f"{sixteen[:-2]}{i}", flags=["pc"]) for i in range(3)])
    done = subprocess.run([CPUPERF, spec, "--", *program], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert "the conditions of all events that have visit_a have more than 32 comparisons" in done.stderr + done.stdout, done


need_programs()
run_checks(globals())
