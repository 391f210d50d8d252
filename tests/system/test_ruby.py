#!/usr/bin/env python3
"""What Ruby interprets, in place of its interpreter: functions and lines of a program that keeps its own account, what is
called through C, blocks, what rescues, fibers and threads; code that comes and goes; of a command and of a process that runs
already. Needs the right to load programs into the kernel, and Debian's Ruby, or another one, whose path is the environment's
RUBY."""
import collections
import contextlib
import csv
import io
import os
import re
import sqlite3
import subprocess

from kit import (CPUPERF, PRINT, finish, need_programs, output, run, run_checks, skip, start, wait_until_recorded)

# Each function waits for its thread's own CPU time, so that shares are known whatever else runs.
CLOCK = """def now
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
end

def burn(seconds)
  stop = now + seconds
  while now < stop
    i = 0
    while i < 3000
      i += 1
    end
  end
end
"""
SHARES = CLOCK + """
def alpha
  burn(0.06)
end

class Work
  def gamma
    [0.01, 0.01].each do |s|
      burn(s)
    end
  end

  def made
    -> { burn(0.02) }
  end

  define_method(:defined) do
    burn(0.02)
  end
end

def negative(x)
  burn(0.01)
  -x
end

def through_c
  [0, 1].map { |x| negative(x) }
end

def cleans
  burn(0.01)
  raise "x"
rescue StandardError
  burn(0.01)
end

def all
  alpha
  Work.new.gamma
  through_c
  Work.new.made.call
  Work.new.defined
  cleans
end

def fiber
  Fiber.new { burn(0.02) }.resume
end

def thread
  Thread.new { burn(0.02) }.join
end
burn(0.15)
k = 0
while k < 4
  all
  fiber
  thread
  require_relative "part"
  $LOADED_FEATURES.pop
  k += 1
end
"""
PART = """
burn(0.02)
"""
# CPU time of each function with all it calls, as a share of that of all.
WHOLE = 0.06 + 0.02 + 0.02 + 0.02 + 0.02 + 0.02
EXPECTED = {"alpha": 0.06, "gamma": 0.02, "block in gamma": 0.02, "negative": 0.02, "through_c": 0.02, "made": 0,
            "block in made": 0.02, "block in <class:Work>": 0.02, "cleans": 0.02, "rescue in cleans": 0.01,
            "block in fiber": 0.02, "block in thread": 0.02, "<top (required)>": 0.02}
# Each method is code of its own, and the collector takes the one before. At first for as long as it may take to find out what
# the process is.
MADE = CLOCK + """
burn(0.15)
calls = ""
160.times do |i|
  name = i.even? ? "even" : "odds"
  Object.class_eval "def #{name}; burn(#{i.even? ? 0.003 : 0.001}); end", "#{name}.rb", 1
  since = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  send(name)
  calls << "#{since} #{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)} #{name}\\n"
  Object.send(:remove_method, name)
  GC.start if i % 8 == 0
end
File.write("calls", calls)
"""
SLEEPS = """
def slept
  400.times do
    sleep(0.001)
  end
end
slept
"""
WAITING = CLOCK + """
$stdout.sync = true
puts "here"
gets
burn(0.4)
"""
HUNG = """
$stdout.sync = true
def stuck(queue)
  queue.pop
end
def reader
  puts "here"
  gets
end
other = Thread.new { stuck(Queue.new) }
Thread.pass until other.stop?
reader
"""
DEEP = CLOCK + """
def down(n)
  n > 0 ? down(n - 1) : burn(0.3)
end
burn(0.15)
down(900)
"""
# A string is made by an instruction that calls no method, with which its line begins; and joined by one that may, with which
# its line ends.
LITERALS = """
def literals(n)
  i = 0
  a = 1
  while i < n
    b = a
    c = "abc"
    i += 1
  end
end

def joins(n)
  i = 0
  a = "some"
  while i < n
    c = ["#{a} and so on, and on",
         i]
    i += 1
  end
end
literals(8_000_000)
joins(1_500_000)
"""
# Names that end alike, of one line, and have as many bytes; they may begin alike, too.
ALIKE = CLOCK + """
burn(0.15)
tail = "t" * 100
Object.class_eval "def HEADa#{tail}; burn(0.06); end", "made.rb", 1
Object.class_eval "def HEADb#{tail}; burn(0.02); end", "made.rb", 1
5.times { send("HEADa#{tail}"); send("HEADb#{tail}") }
"""
# Ruby finds the line of an instruction in one way for the first ones of a method, and in another for each 64 of the others.
LONG = CLOCK + "burn(0.15)\ndef long\n  x = 0\n" + "".join(
    "  burn(0.02)\n" if i % 29 == 28 else "  x += 1\n" for i in range(250)) + "end\nlong\n"
EVENT = ["-e", "cpu_clock@1997Hz"]
RUBY, PROGRAM = os.environ.get("RUBY", "/usr/bin/ruby"), "program.rb"


def may_run():
    if not os.path.exists(RUBY):
        skip(f"needs {RUBY}")
    if os.geteuid() != 0:
        skip("needs root: programs in the kernel")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def record(folder, text, *options):
    write(f"{folder}/{PROGRAM}", text)
    write(f"{folder}/part.rb", PART)
    run(CPUPERF, *(options or [*EVENT, "-g"]), "--output=s", "--", RUBY, f"{folder}/{PROGRAM}", cwd=folder)


def rows(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=csv", "--top=0", *options)
    return list(csv.DictReader(io.StringIO(text)))


def totals(folder, *options):
    """CPU time below each function, in ns. From Ruby 3.4 on a method has its class before it."""
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
    """No function of Ruby without a name, and none that was left to the interpreter."""
    stacks = read_stacks(folder)
    bad = [s for s in stacks if any("(ruby)" in f or f == "rb_vm_exec" for f in s[0])]
    assert sum(w for _, w in bad) <= sum(w for _, w in stacks) / 1000, (bad[:3], len(stacks))


def assert_callers(folder):
    """In their order, also through C, and what runs beside a method."""
    whole = {"negative": ["<main>", "all", "through_c", "block in through_c", "negative", "burn"],
             "block in gamma": ["<main>", "all", "gamma", "block in gamma", "burn"],
             "block in made": ["<main>", "all", "block in made", "burn"],
             "rescue in cleans": ["<main>", "all", "cleans", "rescue in cleans", "burn"],
             "<top (required)>": ["<main>", "<top (required)>", "burn"]}
    names = sum(whole.values(), [])
    is_loop_known = output(RUBY, "-e", "print RUBY_VERSION") < "3.3"  # stripped files of later ones do not say where it is
    for name, expected in whole.items():
        found = [s for s, _ in read_stacks(folder) if name in s and "burn" in s]
        assert not is_loop_known or all("ruby_run_node" in s[:s.index("<main>")] for s in found), (name, found)
        found = [[f for f in s[s.index("<main>"):] if f in names] for s in found]
        assert found and all(s == expected for s in found), (name, found)


def lines_of(folder):
    lines = {}
    for r in rows(folder, "--report=flat", "--sort=function,object,line"):
        lines.setdefault(r["function"], {})[r["line"]] = int(r["total_count"])
    return lines


def assert_lines(folder):
    """Each of these functions has one line that calls."""
    lines, text = lines_of(folder), SHARES.splitlines()
    for name, call in [("alpha", "burn(0.06)"), ("block in gamma", "burn(s)"), ("block in made", "-> { burn(0.02)"),
                       ("through_c", "[0, 1].map"), ("block in fiber", "Fiber.new { burn")]:
        number = next(i for i, line in enumerate(text, 1) if line.strip().startswith(call))
        right = lines[name].get(f"{folder}/{PROGRAM}:{number}", 0)
        assert right >= 0.99 * sum(lines[name].values()), (name, lines[name])
    assert lines["<top (required)>"][f"{folder}/part.rb:2"] > 0, lines["<top (required)>"]


def assert_native(folder):
    """What the interpreter does for a function is the function's own, unless it is asked for; the sum stays."""
    merged, native = rows(folder, "--report=flat"), rows(folder, "--report=flat", "--native")
    assert sum(int(r["self_count"]) for r in merged) == sum(int(r["self_count"]) for r in native), (merged, native)
    own, alone = (sum(int(r["self_count"]) for r in found if r["function"] == "burn") for found in (merged, native))
    assert own > 0.8 * sum(int(r["self_count"]) for r in merged if r["object"] == PROGRAM) and own > 3 * alone, (own, alone)


def check_shares(folder):
    record(folder, SHARES)
    found = totals(folder)
    for name, seconds in EXPECTED.items():
        if name == "<top (required)>":
            continue
        assert abs(found[name] / found["all"] - seconds / WHOLE) < 0.05, (name, found)
    assert_native(folder)
    assert_named(folder)
    assert_callers(folder)
    assert_lines(folder)


def check_literals(folder):
    """Time belongs to the line of the instruction that runs, and not to that before."""
    record(folder, LITERALS)
    lines, numbers = lines_of(folder), {}
    for i, text in enumerate(LITERALS.splitlines(), 1):
        numbers[text.strip()] = f"{folder}/{PROGRAM}:{i}"
    for name, most, least in [("literals", 'c = "abc"', "b = a"), ("joins", 'c = ["#{a} and so on, and on",', "i]")]:
        most, least = lines[name].get(numbers[most], 0), lines[name].get(numbers[least], 0)
        assert most > 0.4 * sum(lines[name].values()) and least < 0.2 * sum(lines[name].values()), (lines, numbers)


def check_long(folder):
    record(folder, LONG)
    lines = {int(line.rpartition(":")[2]): time for line, time in lines_of(folder)["long"].items()}
    expected = {i for i, line in enumerate(LONG.splitlines(), 1) if line == "  burn(0.02)"}
    right = sum(lines.get(i, 0) for i in expected)
    assert right >= 0.99 * sum(lines.values()) and all(lines.get(i, 0) > right / 20 for i in expected), (lines, expected)


def sampled_functions(folder):
    """The time of each sample, and the functions of its stack, each with its file."""
    output(PRINT, "--quiet", f"{folder}/s", "--output-format=sqlite", f"--output-file={folder}/s.sqlite")
    with contextlib.closing(sqlite3.connect(f"{folder}/s.sqlite")) as d:
        parents = {stack: (parent, name, of) for stack, parent, name, of in d.execute(
            "SELECT stack, parent, name, object_name FROM stacks JOIN functions USING (function)")}
        for time_ns, stack in d.execute("SELECT time_ns, stack FROM samples ORDER BY time_ns").fetchall():
            found = set()
            while stack in parents:
                stack, name, of = parents[stack]
                found.add((name, of))
            yield time_ns, found


def check_made(folder):
    """Methods by turns: each sample has the one that ran at its time by the program's own account, or none where it was just
    called or had returned."""
    record(folder, MADE)
    with open(f"{folder}/calls", encoding="ascii") as f:
        calls = [(int(a), int(b), name) for a, b, name in map(str.split, f)]
    right = wrong = neither = 0
    for time_ns, stack in sampled_functions(folder):
        ran = next((name for a, b, name in calls if a <= time_ns <= b), None)
        found = {name for name in ("even", "odds") if (name, f"{name}.rb") in stack}
        wrong += ran is not None and bool(found - {ran})
        right += found == {ran}
        neither += ran is not None and not found
    assert wrong == 0 and right > 100 and neither <= right / 10, (right, wrong, neither)
    assert_named(folder)


def check_alike(folder):
    for head in "", "h" * 100:
        record(folder, ALIKE.replace("HEAD", head))
        found = {r["function"]: int(r["total_count"]) for r in rows(folder, "--report=flat")
                 if r["object"] == "made.rb" and r["function"] != "<main>"}
        long, short = (found.get(head + letter + "t" * 100, 0) for letter in "ab")
        assert len(found) == 2 and abs(short / (long + short) - 0.25) < 0.08, found


def check_waits(folder):
    """The sample of a wait is taken when it is over, and still in the function that waited."""
    record(folder, SLEEPS, "-e", "sched:off_cpu_time@50000", "-g")
    found = [(r["function"], r["line"]) for r in rows(folder, "--report=waits", "--sort=function,line")]
    found = [r for r in found if folder in r[1]]  # Ruby 3.3 has a thread that waits, too
    assert found[0] == ("block in slept", f"{folder}/{PROGRAM}:4"), found


def check_deep(folder):
    """Few samples: each is long, and a busy machine would lose them."""
    record(folder, DEEP, "-e", "cpu_clock@197Hz", "-g")
    depths = {s.count("down") for s, _ in read_stacks(folder) if "down" in s and "burn" in s}
    assert depths == {901}, depths


@contextlib.contextmanager
def running(folder, text):
    """The program, when it has said that it is there."""
    write(f"{folder}/{PROGRAM}", text)
    with subprocess.Popen([RUBY, f"{folder}/{PROGRAM}"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        assert program.stdout.readline() == "here\n"
        yield program


def check_hung(folder):
    """Waits that last are read while the threads are asleep; before Ruby 3.0 of the thread that was the last one to run."""
    with running(folder, HUNG) as program:
        run(CPUPERF, "-e", "sched:off_cpu_time@1000000", "-g", "--output=s", f"--pid={program.pid}", "--duration=2s",
            cwd=folder)
        finish(program)
    found, is_old = totals(folder), output(RUBY, "-e", "print RUBY_VERSION") < "3"
    assert found["reader"] and (found["stuck"] or is_old), found


def check_running(folder):
    """A process that runs already."""
    with running(folder, WAITING) as program:
        with start(folder, *EVENT, "-g", "--output=s", f"--pid={program.pid}") as session:
            wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
            finish(program)
            finish(session)
    sums = totals(folder)
    assert_named(folder)
    assert sums["burn"] > sums["<main>"] * 0.9, sums


def check_other_program(folder):
    """One that only looks like an interpreter has no frames, and no harm."""
    write(f"{folder}/a.c", """#include <time.h>
const int ruby_api_version[] = {3, 1, 0};
static void *place[4096];
__thread void *ruby_current_ec;
void ruby_run_node(void) { }
__attribute__((noinline)) int rb_vm_exec(void)
{ int n = 0; while (clock() < CLOCKS_PER_SEC * 3 / 10) n++; return n; }
int main(void)
{
	for (long i = 0; i < 4096; i++) place[i] = place + i * 77 % 4096;
	ruby_current_ec = place; /* the thread points back to it; its frames are anything */
	place[0] = place + 1024, place[1] = (void *)1024L, place[2] = place + 1100, place[6] = place + 512;
	place[512 + 5] = place;
	return rb_vm_exec() < 0;
}
""")
    run("gcc", "-O1", "-rdynamic", "-o", f"{folder}/ruby", f"{folder}/a.c")
    run(CPUPERF, *EVENT, "-g", "--output=s", "--", f"{folder}/ruby", cwd=folder)
    found = {r["function"] for r in rows(folder, "--report=flat")}
    assert "rb_vm_exec" in found and not any("(ruby)" in name for name in found), found


if __name__ == "__main__":
    need_programs()
    may_run()
    run_checks(globals(), everybody=True)
