#!/usr/bin/env python3
"""What scripts run, without any option of their interpreter: functions and the lines at which they begin, between native
callers and callees; code that is made and dropped while it is collected; of a command and of a process that runs already.
Needs the right to load programs into the kernel. SCRIPTS of the environment names other interpreters: node=/opt/bin/node."""
import os
import re
import shutil

import interpreted
from interpreted import count_calls, folded, rows, sampled_stacks
from kit import CPUPERF, finish, need_programs, run, run_checks, skip, start, wait_until_recorded

HERE = os.path.dirname(os.path.abspath(__file__))
EVENT = ["-e", "cpu_clock@1997Hz", "-g"]
CHOSEN = dict(one.split("=", 1) for one in os.environ.get("SCRIPTS", "").split() if "=" in one)

# Each function waits for the CPU time of its process, so that shares are known whatever else runs; at first for as long as it
# may take to find out what the process is.
NODE_SHARES = """'use strict';
const used = () => { const cpu = process.cpuUsage(); return cpu.user + cpu.system; };
function burn(ms) {
  const end = used() + ms * 1000;
  let n = 0;
  while (used() < end) for (let i = 0; i < 3000; i++) n += i % 7;
  return n;
}

function alpha() { return burn(90); }
function beta() {
  return burn(30); }
class Work {
  gamma() { let sum = 0; for (const ms of this.parts()) sum += burn(ms); return sum; }
  *parts() { for (let i = 0; i < 3; i++) yield 10; }
}
const key = (a, b) => burn(10) && a - b;
function throughC() { return [2, 1, 3].sort(key); }
function all() { alpha(); beta(); new Work().gamma(); throughC(); }
burn(250);
for (let i = 0; i < 2; i++) all();
"""
# Functions that are made and dropped, of four names, each with a line of its own; the collector moves what is left.
NODE_MADE = """'use strict';
const now = () => Number(process.hrtime.bigint());
const used = () => { const cpu = process.cpuUsage(); return cpu.user + cpu.system; };
const calls = [];
let junk = [];
function burn(ms) {
  const end = used() + ms * 1000;
  for (let n = 0; used() < end; n++) {
    junk.push({n, text: 'x' + n});
    if (junk.length > 3000) junk = [];
  }
}
burn(250);
for (let i = 0; i < 160; i++) {
  const name = 'f_' + i % 4;
  let f = (0, eval)('\\n'.repeat(i % 4) + `(function ${name}(burn, ms) { let own_${i} = burn(ms); return own_${i}; })`);
  const since = now();
  f(burn, i % 2 ? 1 : 3);
  calls.push(`${since} ${now()} ${name}\\n`);
  f = null;
  if (i % 5 === 0) gc();
}
require('fs').writeFileSync('calls', calls.join(''));
"""
NODE_NAMES = """import vm from 'vm';
let rounds = 1, n = 0;
function spin() { for (let r = 0; r < rounds; r++) for (let i = 0; i < 2000; i++) n += i % 7; }
while (process.cpuUsage().user < 200000) spin();
let since = process.cpuUsage().user, all = 0;
for (; process.cpuUsage().user - since < 100000; all++) spin();
rounds = Math.ceil(all / 8);
const o = {
  literal: function() { return spin(); },
  method() { return spin(); },
  get property() { return spin(); } };
o.inferred = function() { return spin(); };
class A {
  static ofClass() { return spin(); }
  #hidden() { return spin(); }
  shown() { return this.#hidden(); }
  constructor() { this.x = spin(); }
}
function größe() { return spin(); }
const other = function 関数() { return spin(); };
const many = new Function('spin', 'return function many() {' + Array.from({length: 100}, (_, i) => `let x${i} = ${i};\\n`).join('')
  + 'return function usesAll() { return spin() + ' + Array.from({length: 100}, (_, i) => `x${i}`).join('+') + '; }(); }')(spin);
const inVm = vm.runInThisContext('\\n(function inVm(f) { return f(); })', {filename: '/made/vm.js', lineOffset: 10});
const inEval = eval('(function inEval() { return spin(); })');
o.literal(); o.method(); o.property; o.inferred(); A.ofClass(); new A().shown(); größe(); other(); many(); inVm(spin);
inEval(); [1].forEach(function each() { return spin(); });
"""
NODE_WAITING = """
function served() {
  const end = process.cpuUsage().user + 400000;
  while (process.cpuUsage().user < end) for (let i = 0; i < 300; i++);
}
process.stdin.once('end', () => { served(); });
process.stdin.resume();
console.log('here');
"""


def interpreter(name):
    path = CHOSEN.get(name) or shutil.which(name)
    if not path:
        print(f"skip: {name}: it is not installed")
    return path


def record(folder, command, program, text):
    with open(f"{folder}/{program}", "w", encoding="utf-8") as f:
        f.write(text)
    run(CPUPERF, *EVENT, "--output=s", "--", *command, f"{folder}/{program}", cwd=folder)


def lines(folder):
    """Those at which the functions begin, as FILE:LINE without folders."""
    found = {}
    for r in rows(folder, "--report=flat", "--sort=function,line"):
        found.setdefault(r["function"], set()).add(r["line"].rpartition("/")[2])
    return found


def assert_shares(folder, of_all):
    found = {r["function"]: int(r["total_count"]) for r in rows(folder, "--report=flat")}
    for name, share in of_all.items():
        assert abs(found[name] / found["all"] - share) < 0.06, (name, {n: found.get(n) for n in of_all}, found["all"])


def check_node_shares(folder):
    """Of each function with what it calls; callers in their order, through the library's code, and none without a name."""
    node = interpreter("node")
    if not node:
        return
    record(folder, [node], "program.js", NODE_SHARES)
    assert_shares(folder, {"alpha": 0.5, "beta": 1 / 6, "gamma": 1 / 6, "throughC": 1 / 6, "key": 1 / 6})
    below = [(stack[stack.index("all"):], weight) for stack, weight in folded(folder) if "all" in stack]
    whole = ["all", "throughC", "key", "burn"]
    found = [[f for f in stack if f in whole] for stack, _ in below if "key" in stack]
    assert found and all(stack in (whole, whole[:-1]) for stack in found), found
    bad = [s for s in below if any("InterpreterEntry" in f or "javascript" in f or "//anon" in f for f in s[0])]
    assert sum(weight for _, weight in bad) <= sum(weight for _, weight in below) / 50, bad[:3]
    found = lines(folder)
    for name, first, last in [("burn", 3, 8), ("alpha", 10, 10), ("beta", 11, 12), ("gamma", 14, 14), ("key", 17, 17),
                              ("throughC", 18, 18), ("all", 19, 19)]:  # further ones where it is optimised
        all_lines = {f"program.js:{number}" for number in range(first, last + 1)}
        begins = f"program.js:{first}" in found[name] or name == "burn"  # which may soon be optimised
        assert begins and found[name] and found[name] <= all_lines, (name, found[name])


def check_node_made(folder):
    node = interpreter("node")
    if not node:
        return
    record(folder, [node, "--expose-gc"], "program.js", NODE_MADE)
    right, wrong, neither = count_calls(folder, sampled_stacks(folder, of_threads=False))
    assert wrong == 0 and right > 100 and neither <= right / 10, (right, wrong, neither)
    found = lines(folder)
    for i in range(4):
        assert found[f"f_{i}"] == {f"<anonymous>:{i + 1}"}, (i, found[f"f_{i}"])


def check_node_names(folder):
    """As V8's own profiler has them, in a module whose path is written as a URL."""
    node = interpreter("node")
    if not node:
        return
    os.mkdir(f"{folder}/a b")
    record(folder, [node], "a b/program.mjs", NODE_NAMES)
    found = lines(folder)
    for name, line in [("literal", 9), ("method", 10), ("get property", 11), ("o.inferred", 12), ("ofClass", 14), ("#hidden", 15),
                       ("shown", 16), ("A", 17), ("größe", 19), ("関数", 20), ("each", 26)]:
        assert f"program.mjs:{line}" in found.get(name, ()), (name, line, found.get(name), sorted(found))
    assert found["inVm"] == {"vm.js:12"} and found["inEval"] == {"<anonymous>:1"}, found
    assert found["many"] == {"<anonymous>:3"} and found["usesAll"] == {"<anonymous>:103"}, found
    paths = {r["line"] for r in rows(folder, "--report=flat", "--sort=function,line") if r["function"] == "literal"}
    assert paths == {f"{folder}/a b/program.mjs:9"}, paths


def check_node_running(folder):
    """A process that runs already."""
    node = interpreter("node")
    if not node:
        return
    with open(f"{folder}/program.js", "w", encoding="ascii") as f:
        f.write(NODE_WAITING)
    with interpreted.running(node, f"{folder}/program.js") as program:
        with start(folder, *EVENT, "--output=s", f"--pid={program.pid}") as session:
            wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
            finish(program)
            finish(session)
    found = {r["function"]: int(r["total_count"]) for r in rows(folder, "--report=flat")}
    assert found["served"] > max(found.values()) / 2, found


# The small functions are inlined, heavy into middle; a turn does three times as much in heavy as in light, each step of which
# waits for the one before. Their constants differ, as what is the same is done once for both.
NODE_INLINED = """'use strict';
function heavy(x) {
  x = Math.imul(x ^ (x >>> 15), 2246822519);
  x = Math.imul(x ^ (x >>> 16), 2654435761);
  x = Math.imul(x ^ (x >>> 14), 1597334677);
  return x;
}

function light(x) {
  x = Math.imul(x ^ (x >>> 13), 3266489917);
  return x;
}

function middle(x) {
  return heavy(x);
}

function work(n) {
  let a = 1;
  for (let i = 0; i < n; i++) {
    a = middle(a);
    a = light(a);
  }
  return a;
}

while (process.cpuUsage().user < 900000)
  work(300000);
"""


def check_node_inlined(folder):
    """Functions that are inlined into optimised code, with their callers and lines; where nothing is, the same functions."""
    node = interpreter("node")
    if not node:
        return
    record(folder, [node], "program.js", NODE_INLINED)
    of = {"heavy": 0, "light": 0}
    for stack, weight in folded(folder):
        names = [f for f in stack if f in ("work", "middle", "heavy", "light")]
        if not names:
            continue
        assert names[0] == "work" and names in (["work"], ["work", "middle"], ["work", "middle", "heavy"], ["work", "light"]), stack
        if names[-1] in of:
            of[names[-1]] += weight
    assert 1.8 < of["heavy"] / of["light"] < 5, of
    at = {}
    for r in rows(folder, "--report=flat", "--sort=function,line"):
        at.setdefault(r["function"], {})[int(r["line"].rpartition(":")[2] or 0) if ":" in r["line"] else 0] = int(r["self_count"])
    assert sum(w for line, w in at["heavy"].items() if line in (3, 4, 5)) > sum(at["heavy"].values()) / 2, at["heavy"]
    assert set(at["heavy"]) <= {2, 3, 4, 5, 6}, at["heavy"]
    assert set(at["light"]) <= {9, 10, 11}, at["light"]
    assert set(at["work"]) <= set(range(18, 25)), at["work"]


def check_other_program(folder):
    """One that has V8's symbols and none of its objects has no frames, and no harm."""
    if not shutil.which("gcc"):
        print("skip: other program: needs gcc")
        return
    with open(f"{HERE}/../../lib/interpreters/javascript.c", encoding="ascii") as f:
        text = f.read()
    known = re.findall(r'X\("(\w+)", (\w+|-\d+)\)', text)
    assert len(known) > 55, known
    with open(f"{HERE}/../../lib/interpreters/v8.h", encoding="ascii") as f:
        values = dict(re.findall(r"\b(V8_\w+) = (\d+)", f.read()))
    known = [(name, values.get(value, value)) for name, value in known]
    symbols = "".join(f"const int v8dbg_{name} = {value if re.fullmatch('-?[0-9]+', value) else 1 if value == 'TAG' else 8};\n"
                      for name, value in known)
    with open(f"{folder}/a.c", "w", encoding="ascii") as f:
        f.write(symbols + """#include <sys/mman.h>
#include <time.h>
static unsigned long words[64];
__attribute__((noinline)) int run_it(int n)
{ unsigned long here[8];
  for (int i = 0; i < 8; i++) here[i] = (unsigned long)&words[i * 7] + 1;
  __asm__ volatile("" : : "r"(here) : "memory");
  if (n) return run_it(n - 1) + 1;
  while (clock() < CLOCKS_PER_SEC * 3 / 10) n++;
  return n; }
int main(void)
{ for (int i = 0; i < 64; i++) words[i] = (unsigned long)&words[i * 5 % 64] + i % 3;
  enum { NR = 1 << 17 };
  unsigned long *code = mmap(0, NR * 8, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < NR; i++)
    code[i] = (unsigned long)(i % 3 ? &code[(i * 7919L) % NR] : &words[i % 64]) + 1;
  return run_it(40) < 0; }
""")
    run("gcc", "-O1", "-fno-omit-frame-pointer", "-rdynamic", "-o", f"{folder}/node", f"{folder}/a.c")
    run(CPUPERF, *EVENT, "--output=s", "--", f"{folder}/node", cwd=folder)
    found = {r["function"] for r in rows(folder, "--report=flat")}
    assert "run_it" in found and not found & {"(anonymous)", "[unknown] (javascript)"}, found


if __name__ == "__main__":
    need_programs()
    if os.geteuid() != 0:
        skip("needs root: programs in the kernel")
    run_checks(globals(), everybody=True)
