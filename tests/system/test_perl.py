#!/usr/bin/env python3
"""What Perl interprets, in place of its interpreter: subs and lines of a program that keeps its own account, what is called
through C, blocks that compare, what is evaluated, and threads; subs that come and go; of a command and of a process that runs
already. Needs the right to load programs into the kernel, and Debian's Perl, or another one, whose path is the environment's
PERL."""
import collections
import contextlib
import csv
import io
import os
import re
import sqlite3
import subprocess

from kit import (CPUPERF, PRINT, finish, need_programs, output, run, run_checks, skip, start, wait_until_recorded)

# Each sub waits for its thread's own CPU time, so that shares are known whatever else runs. It asks the kernel (clock_gettime):
# the smallest Perl has no module for it.
CLOCK = r"""use strict;
sub now {
  my $t = "\0" x 16;
  syscall(228, $_[0] // 3, $t);
  my ($s, $ns) = unpack("q2", $t);
  return $s * 1_000_000_000 + $ns;
}
sub burn {
  my $stop = now() + $_[0] * 1e9;
  while (now() < $stop) {
    my $i = 0;
    $i++ while $i < 3000;
  }
}
"""
SHARES = CLOCK + r"""
use List::Util qw(first);
sub alpha { burn(0.06) }

package Work;
sub new { bless {}, shift }
sub gamma {
  for my $s (0.01, 0.01) {
    main::burn($s);
  }
}
use overload '+' => sub { eval { main::burn(0.01) }; eval { main::burn(0.01) }; 1 };
sub DESTROY { main::burn(0.02) }

package main;
sub sorts {
  my @x = sort {
    burn(0.01);
    $a <=> $b } 1, 2;
}
sub compare { burn(0.02); $a <=> $b }
sub sorts_by_name { my @x = sort compare 1, 2 }
sub catches { eval { eval { burn(0.01); die "x" }; burn(0.01); die "y" }; 1 }
sub evaluates { eval "\nburn(0.02); 1" or die }
sub through_c { first { eval { my @x = sort { eval { burn(0.01) }; 0 } 1, 2 }; $_ > 1 } 1, 2 }
my $anonymous = sub { burn(0.02) };
sub adds { my $x = Work->new; $x + 1 }
sub matches { "a" =~ /a(?{ burn(0.02) })/ }
sub leaves { goto &alpha }
sub all {
  alpha();
  Work->new->gamma;
  sorts();
  sorts_by_name();
  catches();
  evaluates();
  through_c();
  $anonymous->();
  adds();
  matches();
  leaves();
}
burn(0.15);
for (1 .. 3) {
  all();
  do "./part.pl" or die;
}
"""
PART = """
burn(0.02);
1;
"""
# CPU time of each sub with all it calls, as a share of that of all.
WHOLE = 0.06 + 0.04 + 0.01 + 0.02 + 0.02 + 0.02 + 0.02 + 0.02 + 0.04 + 0.02 + 0.06
EXPECTED = {"main::alpha": 0.12, "Work::gamma": 0.02, "main::sorts": 0.01, "main::sorts_by_name": 0.02, "main::compare": 0.02,
            "main::catches": 0.02, "main::evaluates": 0.02, "(eval)": 0.02, "main::through_c": 0.02, "main::adds": 0.04,
            "Work::DESTROY": 0.04, "Work::__ANON__": 0.02, "main::matches": 0.02, "main::__ANON__": 0.04, "main::leaves": 0}
# What two files do by turns, in calls that are short: most samples are where one begins or ends.
CALLS = CLOCK + r"""
use List::Util qw(first);
burn(0.15);
do "./leaf.pl" or die;
sub twice { leaf($_[0]) + leaf($_[0]) }
sub jumps { goto &jumped }
my sub inner { $_[0] }
sub seeks { first { $_ > 500 } 1 .. 501 }
my ($adds, $sum) = bless {}, "Adds";
my $stop = now() + 0.6e9;
while (now() < $stop) {
  twice($_) for 1 .. 200;
  back($_) + jumps($_) + inner($_) for 1 .. 100;
  my @sorted = map { sort compare 1, 5, 2, 4, 3, 9, 8, 6 } 1 .. 10;
  $sum = $adds + $_ for 1 .. 100;
  seeks() for 1 .. 2;
}
"""
LEAF = """
sub leaf { $_[0] }
sub back { return $_[0] }
sub jumped { $_[0] }
sub compare { $a <=> $b }
package Adds;
use overload '+' => sub { 1 };
1;
"""
# Each sub is code of its own, and the one before is freed. At first for as long as it may take to find out what the process is.
MADE = CLOCK + r"""
burn(0.15);
open(my $calls, ">", "calls") or die;
for my $i (0 .. 159) {
  my ($name, $time) = $i % 2 ? ("odds", 0.001) : ("even", 0.003);
  no strict "refs";
  eval "sub $name { burn($time) } 1" or die;
  my $since = now(1);
  &$name();
  print $calls "$since ", now(1), " $name\n";
  undef &$name;
  delete $main::{$name};
}
"""
SLEEPS = """
sub slept {
  for (1 .. 300) {
    select(undef, undef, undef, 0.001);
  }
}
slept();
"""
WAITING = CLOCK + """
$| = 1;
print "here\\n";
<STDIN>;
burn(0.4);
"""
HUNG = """
$| = 1;
sub reader {
  print "here\\n";
  <STDIN>;
}
reader();
"""
DEEP = CLOCK + r"""
no warnings;
sub down { $_[0] ? down($_[0] - 1) : burn(0.3) }
burn(0.15);
down(900);
"""
# Names that end alike and have as many bytes, of one line; and subs without names, of two.
ALIKE = CLOCK + r"""
burn(0.15);
my $tail = "t" x 100;
eval "#line 1 \"made.pl\"\nsub a$tail { burn(0.06) } sub b$tail { burn(0.02) } 1" or die;
my @made = (sub { burn(0.06) },
            sub { burn(0.02) });
no strict "refs";
for (1 .. 4) { &{"a$tail"}(); &{"b$tail"}(); $_->() for @made }
"""
THREADS = CLOCK + r"""
use threads;
sub other { burn(0.2) }
sub first_one { burn(0.1) }
burn(0.15);
my $thread = threads->create(\&other);
first_one();
$thread->join;
"""
EVENT, PERIOD_NS = ["-e", "cpu_clock@1997Hz"], 500751
PERL, PROGRAM = os.environ.get("PERL", "/usr/bin/perl"), "program.pl"


def may_run():
    if not os.path.exists(PERL):
        skip(f"needs {PERL}")
    if os.geteuid() != 0:
        skip("needs root: programs in the kernel")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def record(folder, text, *options):
    for name, of in [(PROGRAM, text), ("part.pl", PART), ("leaf.pl", LEAF)]:
        write(f"{folder}/{name}", of)
    run(CPUPERF, *(options or [*EVENT, "-g"]), "--output=s", "--", PERL, f"{folder}/{PROGRAM}", cwd=folder)


def rows(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=csv", "--top=0", *options)
    return list(csv.DictReader(io.StringIO(text)))


def totals(folder, *options):
    """CPU time below each function, in ns."""
    found = collections.Counter()
    for r in rows(folder, "--report=flat", *options):
        found[r["function"]] += int(r["total_count"])
    return found


def read_stacks(folder, name="<main>"):
    """The program's, and the weight of each."""
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=folded")
    found = [re.fullmatch(r"(.*) (\d+)", line).groups() for line in text.splitlines()]
    return [(stack.split(";"), int(weight)) for stack, weight in found if name in stack.split(";")]


def assert_named(folder):
    """No sub without a name, and none that was left to the interpreter."""
    stacks = read_stacks(folder)
    bad = [s for s in stacks if any("(perl)" in f or f == "Perl_runops_standard" for f in s[0])]
    assert sum(w for _, w in bad) <= sum(w for _, w in stacks) / 1000, (bad[:3], len(stacks))


def assert_callers(folder):
    """In their order, also through C, whose frames are where it was called."""
    whole = {"Work::gamma": ["main::all", "Work::gamma"], "main::sorts": ["main::all", "main::sorts"],
             "main::compare": ["main::all", "main::sorts_by_name", "main::compare"],
             "main::catches": ["main::all", "main::catches"], "(eval)": ["main::all", "main::evaluates", "(eval)"],
             "main::through_c": ["main::all", "main::through_c", "main::__ANON__"],
             "Work::__ANON__": ["main::all", "main::adds", "Work::__ANON__"], "main::matches": ["main::all", "main::matches"],
             "(require)": ["(require)"]}
    names = sum(whole.values(), [])
    for name, expected in whole.items():
        found = [s for s, _ in read_stacks(folder) if name in s and "main::burn" in s]
        found = [[f for f in s[s.index("<main>"):s.index("main::burn")] if f in names] for s in found]
        assert found and all(s == expected for s in found), (name, found)
    through = [(s[s.index("main::through_c") + 1], weight) for s, weight in read_stacks(folder, "main::through_c") if
               "main::burn" in s]
    right = sum(weight for next_one, weight in through if "(Util.so" in next_one)
    assert right >= 0.95 * sum(weight for _, weight in through), through


def lines_of(folder):
    lines = {}
    for r in rows(folder, "--report=flat", "--sort=function,object,line"):
        lines.setdefault(r["function"], {})[r["line"]] = int(r["total_count"])
    return lines


def assert_lines(folder):
    """Each of these subs has one line that calls; next to no time is at others, as that of the sort's second statement."""
    lines, text = lines_of(folder), SHARES.splitlines()
    for name, call in [("main::alpha", "sub alpha"), ("Work::gamma", "main::burn($s)"), ("main::sorts", "burn(0.01);"),
                       ("main::catches", "sub catches"), ("main::through_c", "sub through_c")]:
        number = next(i for i, line in enumerate(text, 1) if line.strip().startswith(call))
        whole = sum(lines[name].values())
        other = whole - lines[name].get(f"{folder}/{PROGRAM}:{number}", 0)
        assert other <= max(0.01 * whole, 2 * PERIOD_NS) and other < whole / 2, (name, number, lines[name])
    assert lines["(eval)"]["(eval):2"] > 0 and lines["(require)"]["./part.pl:2"] > 0, (lines["(eval)"], lines["(require)"])


def assert_native(folder):
    """What the interpreter does for a sub is the sub's own, unless it is asked for; the sum stays."""
    merged, native = rows(folder, "--report=flat"), rows(folder, "--report=flat", "--native")
    assert sum(int(r["self_count"]) for r in merged) == sum(int(r["self_count"]) for r in native), (merged, native)
    own, alone = (sum(int(r["self_count"]) for r in found if r["function"] == "main::burn") for found in (merged, native))
    assert own > 0.8 * sum(int(r["self_count"]) for r in merged if r["object"] == PROGRAM) and own > 3 * alone, (own, alone)


def check_shares(folder):
    record(folder, SHARES)
    found = totals(folder)
    for name, seconds in EXPECTED.items():
        assert abs(found[name] / found["main::all"] - seconds / WHOLE) < 0.05, (name, found)
    assert_native(folder)
    assert_named(folder)
    assert_callers(folder)
    assert_lines(folder)


def check_calls(folder):
    """A sub is in its own file from its call to its return, also where C calls it, and calls what it calls; its place among the
    contexts is nothing's before and after."""
    record(folder, CALLS)
    found = collections.Counter()
    for r in rows(folder, "--report=flat"):
        found[r["function"], r["object"]] += int(r["total_count"])
    for name in ("main::leaf", "main::back", "main::compare", "Adds::__ANON__"):
        assert found[name, PROGRAM] <= found[name, "leaf.pl"] / 100 and found[name, "leaf.pl"], (name, found)
    assert found["main::leaf", "leaf.pl"] > found["main::twice", PROGRAM] / 10, found
    assert found["inner", PROGRAM] and not found["main::inner", PROGRAM], found  # it is the block's
    assert not [key for key in found if key[0] == "__ANON__"], found
    call = next(i for i, line in enumerate(CALLS.splitlines(), 1) if "jumps($_)" in line)
    jumped = lines_of(folder)["main::jumped"]
    assert jumped["./leaf.pl:4"] and f"{folder}/{PROGRAM}:{call}" not in jumped, jumped
    inside = [(s, weight) for s, weight in read_stacks(folder, "main::seeks") if "(Util.so" in s[-1]]
    right = sum(weight for s, weight in inside if "main::__ANON__" not in s)
    # The block's first op is the interpreter's just before its loop is called, and that call waits on some CPUs: up to a
    # quarter of these samples are there.
    assert right > sum(weight for _, weight in inside) / 2, inside
    bad = [s for s, _ in read_stacks(folder, "main::leaf") if s[s.index("main::leaf") - 1] != "main::twice"]
    assert not bad, bad


def sampled_functions(folder):
    """The time of each sample, and the functions of its stack."""
    output(PRINT, "--quiet", f"{folder}/s", "--output-format=sqlite", f"--output-file={folder}/s.sqlite")
    with contextlib.closing(sqlite3.connect(f"{folder}/s.sqlite")) as d:
        parents = {stack: (parent, name) for stack, parent, name in d.execute(
            "SELECT stack, parent, name FROM stacks JOIN functions USING (function)")}
        for time_ns, stack in d.execute("SELECT time_ns, stack FROM samples ORDER BY time_ns").fetchall():
            found = set()
            while stack in parents:
                stack, name = parents[stack]
                found.add(name)
            yield time_ns, found


def check_made(folder):
    """Subs by turns: each sample has the one that ran at its time by the program's own account, or none where it was just
    called or had returned."""
    record(folder, MADE)
    with open(f"{folder}/calls", encoding="ascii") as f:
        calls = [(int(a), int(b), name) for a, b, name in map(str.split, f)]
    right = wrong = neither = 0
    for time_ns, stack in sampled_functions(folder):
        ran = next((name for a, b, name in calls if a <= time_ns <= b), None)
        found = {name for name in ("even", "odds") if f"main::{name}" in stack}
        wrong += ran is not None and bool(found - {ran})
        right += found == {ran}
        neither += ran is not None and not found
    assert wrong == 0 and right > 100 and neither <= right / 10, (right, wrong, neither)
    assert_named(folder)


def check_alike(folder):
    record(folder, ALIKE)
    found = collections.Counter()
    for r in rows(folder, "--report=flat", "--sort=function,object,line"):
        found[r["function"], r["line"]] += int(r["total_count"])
    lines = ALIKE.splitlines()
    first = next(i for i, line in enumerate(lines, 1) if line.startswith("my @made"))
    for pair in ([(f"main::{letter}{'t' * 100}", "made.pl:1") for letter in "ab"],
                 [("main::__ANON__", f"{folder}/{PROGRAM}:{line}") for line in (first, first + 1)]):
        long, short = (found[key] for key in pair)
        assert long and abs(short / (long + short) - 0.25) < 0.08, (pair, found)


def check_waits(folder):
    """The sample of a wait is taken when it is over, and still in the sub that waited."""
    record(folder, SLEEPS, "-e", "sched:off_cpu_time@50000", "-g")
    found = [(r["function"], r["line"]) for r in rows(folder, "--report=waits", "--sort=function,line")]
    assert found[0] == ("main::slept", f"{folder}/{PROGRAM}:4"), found


def check_deep(folder):
    """Few samples: each is long, and a busy machine would lose them."""
    record(folder, DEEP, "-e", "cpu_clock@197Hz", "-g")
    depths = {s.count("main::down") for s, _ in read_stacks(folder) if "main::down" in s and "main::burn" in s}
    assert depths == {901}, depths


def check_threads(folder):
    """Each thread has an interpreter of its own."""
    if run(PERL, "-Mthreads", "-e", "1", code=None).returncode:
        return
    record(folder, THREADS)
    found = totals(folder)
    assert abs(found["main::first_one"] / found["main::other"] - 0.5) < 0.1, found
    assert not [s for s, _ in read_stacks(folder, "main::other") if "main::first_one" in s], found
    assert_named(folder)


@contextlib.contextmanager
def running(folder, text):
    """The program, when it has said that it is there."""
    write(f"{folder}/{PROGRAM}", text)
    with subprocess.Popen([PERL, f"{folder}/{PROGRAM}"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        assert program.stdout.readline() == "here\n"
        yield program


def check_hung(folder):
    """Waits that last are read while the thread is asleep."""
    with running(folder, HUNG) as program:
        run(CPUPERF, "-e", "sched:off_cpu_time@1000000", "-g", "--output=s", f"--pid={program.pid}", "--duration=2s",
            cwd=folder)
        finish(program)
    found = totals(folder)
    assert found["main::reader"], found


def check_running(folder):
    """A process that runs already."""
    with running(folder, WAITING) as program:
        with start(folder, *EVENT, "-g", "--output=s", f"--pid={program.pid}") as session:
            wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
            finish(program)
            finish(session)
    sums = totals(folder)
    assert_named(folder)
    assert sums["main::burn"] > sums["<main>"] * 0.9, sums


def check_other_program(folder):
    """One that only looks like an interpreter has no frames, and no harm: its stack of contexts is the one before itself, and
    its contexts are anything."""
    write(f"{folder}/a.c", """#include <pthread.h>
#include <time.h>
const unsigned char PL_revision = 5, PL_version = 36;
static void *place[4096];
pthread_key_t PL_thr_key;
__attribute__((noinline)) int Perl_runops_standard(void)
{ int n = 0; while (clock() < CLOCKS_PER_SEC * 3 / 10) n++; return n; }
int main(void)
{
	for (long i = 0; i < 4096; i++) place[i] = place + i * 77 % 4096;
	pthread_key_create(&PL_thr_key, NULL);
	pthread_setspecific(PL_thr_key, place);
	place[28] = place[102] = place + 100; /* the stack: contexts, itself, and how many */
	place[101] = place + 200;
	place[104] = (void *)(9L | 99L << 32);
	for (long i = 0; i < 10; i++) place[200 + i * 13] = (void *)(i % 2 ? 9L : 0x2bL);
	return Perl_runops_standard() < 0;
}
""")
    # at a fixed address: what is no context at one may look like a file's at another
    run("gcc", "-O1", "-rdynamic", "-no-pie", "-o", f"{folder}/perl", f"{folder}/a.c")
    run(CPUPERF, *EVENT, "-g", "--output=s", "--", f"{folder}/perl", cwd=folder)
    found = {r["function"] for r in rows(folder, "--report=flat")}
    assert "Perl_runops_standard" in found and "<main>" not in found, found


if __name__ == "__main__":
    need_programs()
    may_run()
    run_checks(globals(), everybody=True)
