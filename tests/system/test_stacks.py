#!/usr/bin/env python3
"""Are stacks true? Programs whose call chains are known (chains.c, chains.cc, built here in several
ways) run in one session that samples them in four modes at once: chain (callchain: frame pointers),
dwarf (user_stack), the hybrid of both, and whole (unwound while it was recorded). cpuperf_print --report=stacks must show just the known
chain, name by name, in at least SHARE of the samples of the hot function. CPUPERF and CPUPERF_PRINT
name the programs; the rest is software events and a compiler.

What deviates by its nature is expected as it is:
- chain: a leaf without a frame, and what a signal interrupted, hide who called them: the caller of
  the caller seems to have called. In code without frame pointers only the sampled function is sure,
  and nothing else is looked at. The address to which a handler returns is not known to be one, and
  so has the name of what lies before it in libc, or none.
- hybrid: if the chain reaches a start, tables add only what frame pointers miss at the sampled end.
  If it does not, the recorded piece of stack is unwound, which may be too short for the frame of a
  signal.
- Above main are libc's beginnings; what was unwound goes to _start.
"""
import collections
import csv
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

from kit import can_execute, stride
import sampled
from sampled import event

HERE = os.path.dirname(os.path.abspath(__file__))
PRINT = os.environ["CPUPERF_PRINT"]
SHARE = 0.98  # of the samples of the hot function: others fell upon the ends of functions
LEAST = 30    # samples of each program and mode, else nothing was shown; a host that takes CPUs away takes some
MS = 140      # of a CPU's time, each program
# Where signals, forks and clocks are dear, as on some virtual machines, they take nearly all of it.
MS_OF = {"handler": 3 * MS, "fork": 4 * MS, "clock": 15 * MS}
RATE = 1000000
MODES = {"chain": {"flags": ["callchain"]},
         "hybrid": {"flags": ["callchain", "user_stack"], "stack_bytes": 1024},
         "dwarf": {"flags": ["user_stack"], "stack_bytes": 8192},
         "whole": {"flags": ["callchain", "user_stack"], "stack_bytes": 8192, "unwind": True}}
PERF_RATE = 5 * RATE

FP = ["-O1", "-fno-omit-frame-pointer", "-foptimize-sibling-calls"]
NO_FP = ["-O2", "-fomit-frame-pointer"]
BUILDS = {"every": ["-O0", "-fno-omit-frame-pointer"],  # leaves have frames too
          "fp": FP, "static": [*FP, "-static"],
          "nofp": NO_FP, "pie": [*NO_FP, "-fPIE", "-pie"], "nopie": [*NO_FP, "-fno-pie", "-no-pie"],
          "nofpstatic": [*NO_FP, "-static"], "m32": [*NO_FP, "-m32"]}

# Hot function, and what the stack is from main on, as a pattern of names: "is", but where it differs
# by what build ("fp": but leaves have none; "every": leaves too; "nofp") and mode.
NAMED_RETURN = "(__restore_rt|__kernel_rt_sigreturn)"
RETURN = r"(__restore_rt|__kernel_rt_sigreturn|\[unknown\] \([^;]*\)|\w+)"
SCENARIOS = {
    "plain": {"hot": "spin", "is": "main; one; two; three; spin",
              "fp chain": "main; one; two; spin"},
    "deep": {"hot": "spin", "is": "main; deep(; recurse){20}; spin",
             "fp chain": "main; deep(; recurse){19}; spin"},
    "tail": {"hot": "land", "is": "main; tail; land", "fp chain": "main; land",
             "every": "main; tail; hop; land"},
    "handler": {"hot": "spin", "is": "main; handle; (interrupted|(__)?setitimer); "
                                     f"{NAMED_RETURN}; handler; spin",
                "fp chain": f"main; {RETURN}; spin",
                "fp hybrid": f"main; {RETURN}; handler; spin",
                "every chain": f"main; handle; {RETURN}; handler; spin",
                "every hybrid": f"main; handle; {RETURN}; handler; spin",
                "nofp hybrid": f".*{RETURN}; handler; spin",
                # to code of the vdso of 32 bits, whose file is not known
                # from within the call it goes on through the vdso
                "m32": r"main; handle; (interrupted|(setitimer; )?(__)?setitimer(64)?(; \[unknown\])?); \[unknown\]; handler; spin",
                "m32 hybrid": r".*\[unknown\]; handler; spin"},
    "noreturn": {"hot": "forever", "is": "main; last; forever", "fp chain": "main; forever",
                 "every": "main; last; forever"},
    "fork": {"hot": "spin", "is": "main; forked; one; two; three; spin",
             "fp chain": "main; forked; one; two; spin"},
    "shell": {"hot": "spin", "is": "main; one; two; three; spin",
              "fp chain": "main; one; two; spin"},
    "plugin": {"hot": "plugin_work", "is": "main; use_plugin; plugin_entry; plugin_inner; plugin_work",
               "fp chain": "main; plugin_work"},
    "back": {"hot": "spin", "is": "main; use_back; plugin_entry; plugin_inner; two; three; spin",
             "fp chain": "main; plugin_inner; two; spin",
             "fp hybrid": "main; plugin_inner; two; three; spin"},
    # libc may go to the vdso by a jump, and the vdso may have frames or not
    "clock": {"hot": r"\S*clock_gettime\S*", "is": r"main; ask_clock(; \S*clock_gettime\S*)+",
              "fp chain": r"main(; ask_clock)?(; \S*clock_gettime\S*)+",
              "fp hybrid": r"main(; ask_clock)?(; \S*clock_gettime\S*)+"},
    "cc": {"hot": r"geo::Grid<int>::fill\(unsigned long\)( \[clone [^;]*\])?",
           "is": r"main; geo::Grid<int>::draw\(unsigned long\); "
                 r"geo::Grid<int>::fill\(unsigned long\)( \[clone [^;]*\])?"},
}
# What stands before main: libc's beginnings, which may have names here or not. They have no frame
# pointers, so that those lead from there to anything.
TO_START = r"_start; (__libc_start\w*; |\[unknown\] \([^;]*libc[^;]*\); )*"
BEFORE_MAIN = {"dwarf": TO_START, "whole": TO_START, "nofp hybrid": TO_START, "m32 hybrid": TO_START, "*": r"([^;]+; ){0,4}"}
OF_ALL = {"every": ("plain", "tail", "handler", "noreturn"), "nofpstatic": ("deep", "handler", "noreturn"),
          "m32": ("plain", "deep", "tail", "handler", "noreturn", "fork")}
KERNEL = r"(; (asm_|entry_|el0|ret_)\S*.*)?"  # entered while the hot function ran

Program = collections.namedtuple("Program", "name task scenario build command")


def compile_to(path, *flags, source="chains.c", compiler=os.environ.get("CC", "cc")):
    return subprocess.run([*compiler.split(), "-D_GNU_SOURCE", "-g1", *flags, f"{HERE}/{source}",
                           "-o", path], stderr=subprocess.PIPE, text=True, check=False)


def compile_cc(path):
    """By what compiles C++ here; clang does, and the tests have it."""
    for compiler in (os.environ.get("CXX", "c++"), "clang -x c++"):
        if shutil.which(compiler.split()[0]) and not compile_to(
                path, *NO_FP, "-g", "-fno-rtti", source="chains.cc", compiler=compiler).returncode:
            return True
    return False


def build_all(folder):
    """Builds of chains.c that can be had here; says which cannot."""
    built = set()
    for name, flags in BUILDS.items():
        done = compile_to(f"{folder}/chains-{name}", *flags, "-ldl")
        if done.returncode and not {"-static", "-m32"} & set(flags):
            raise SystemExit(f"chains.c: {' '.join(flags)}: {done.stderr}")
        if done.returncode:
            print(f"  skip: {name}: no library of C for {flags[-1]} here")
            continue
        if name == "m32" and not can_execute(f"{folder}/chains-{name}", name):
            continue
        built.add(name)
    assert not compile_to(f"{folder}/plugin.so", *NO_FP, "-DLIBRARY", "-shared",
                          "-fPIC").returncode
    if compile_cc(f"{folder}/chains-cc"):
        return built | {"cc"}
    print("  skip: cc: no compiler of C++ here")
    return built


def make_programs(folder, built):
    """A link for each, because its name is that of its task: one that no program of another run of this test has."""
    out = []

    def add(scenario, build, *more):
        task = f"{len(out)}-{os.getpid()}"
        os.symlink(f"chains-{build}", f"{folder}/{task}")
        command = [f"{folder}/{task}", scenario, str(MS_OF.get(scenario, MS)), *more]
        if scenario == "shell":
            each = f"{folder}/{task} plain {MS // 5}"  # much of it is starting
            command = ["/bin/sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10; do {each}; done"]
        out.append(Program(f"{scenario}-{build}", task, scenario, build, command))

    for build in sorted(built - {"cc"}):
        for scenario in SCENARIOS if build in ("fp", "nofp") else OF_ALL.get(build, ("plain",)):
            if scenario != "cc":
                add(scenario, build, f"{folder}/plugin.so")
    if "cc" in built:
        add("cc", "cc")
    return out


def share_out(folder, programs):
    """Each of two CPUs works off its programs, one after the other, by a script."""
    cpus = sampled.CPUS[:2]
    for cpu in cpus:
        mine = programs[cpus.index(cpu)::len(cpus)]
        with open(f"{folder}/run{cpu}.sh", "w", encoding="utf-8") as out:
            out.write("".join(f"{shlex.join(p.command)} || exit 1\n" for p in mine))
    parts = " & ".join(f"taskset -c {cpu} /bin/sh {folder}/run{cpu}.sh || exit 1" for cpu in cpus)
    return ["/bin/sh", "-c", f"{parts}; wait $!"]


def record(folder, programs):
    """perf, which is to be compared with, samples what it starts only."""
    events = [event("software:cpu_clock", label=name, rate=RATE, **keys)
              for name, keys in MODES.items()]
    # --buildid-mmap: while a session asks for build-ids in mappings, as cpuperf does, Linux marks the
    # mappings of other sessions as if they had some too, of which perf dies.
    peer = ["perf", "record", "-qN", "--buildid-mmap", "-e", "cpu-clock", "-c", str(PERF_RATE), "--call-graph",
            "dwarf,8192", "-o", f"{folder}/perf.data"] if sampled.have("perf") else []
    session = sampled.start(folder, events, duration=60, buffer_size_in_mb=32)
    subprocess.run([*peer, *share_out(folder, programs)], check=True, timeout=600)
    session.send_signal(signal.SIGINT)
    sampled.finish(session)


def stacks(folder, program, *more):
    """mode: samples by stack, names alone."""
    done = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--report=stacks",
                           "--output-format=csv", f"--comm={program.task}", *more],
                          capture_output=True, text=True, timeout=600, check=True)
    out = {mode: collections.Counter() for mode in MODES}
    for row in csv.DictReader(done.stdout.splitlines()):
        names = "; ".join(re.sub(r"\(\)$", "", n) for n in row["stack"].split("; "))
        out[row["event"]][names] += int(row["samples"])
    return out


@functools.lru_cache
def libc_has_names():
    """Whether libc's own functions have names here: of its symbol table, or of its debug file."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        libc = next(line.split()[-1] for line in f if "/libc.so" in line or "/libc-2" in line)
    build_id = re.search(r"Build ID: (\w\w)(\w+)", subprocess.run(
        ["readelf", "-n", libc], stdout=subprocess.PIPE, text=True, check=True).stdout)
    files = [libc, "/usr/lib/debug/.build-id/{}/{}.debug".format(*build_id.groups())]
    names = subprocess.run(["nm", *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, check=False).stdout
    if "__restore_rt" in names or "__kernel_rt_sigreturn" in names:
        return True
    print("  skip: the name of the code to which handlers return: libc is stripped here, and has "
          "no debug file")
    return False


def expected(program, mode):
    row = SCENARIOS[program.scenario]
    kind = {"every": "every", "fp": "fp", "static": "fp", "m32": "m32"}.get(program.build, "nofp")
    if kind in ("nofp", "m32") and mode == "chain":
        return f"(.*; )?{row['hot']}"
    pattern = row.get(f"{kind} {mode}", row.get(kind, row["is"]))
    if NAMED_RETURN in pattern and "static" not in program.build and not libc_has_names():
        pattern = pattern.replace(NAMED_RETURN, r"\[unknown\] \(libc[^;]*\)")
    if not pattern.startswith("main"):
        return pattern
    return BEFORE_MAIN.get(f"{kind} {mode}", BEFORE_MAIN.get(mode, BEFORE_MAIN["*"])) + pattern


def compare(program, mode, counted):
    """Whether the stacks with the hot function are as expected; the exceptions are told."""
    hot = re.compile(rf"(?:^|.*; ){SCENARIOS[program.scenario]['hot']}{KERNEL}")
    right = re.compile(expected(program, mode) + KERNEL)
    mine = {stack: nr for stack, nr in counted.items() if hot.fullmatch(stack)}
    wrong = {stack: nr for stack, nr in mine.items() if not right.fullmatch(stack)}
    total, bad = sum(mine.values()), sum(wrong.values())
    print(f"  {program.name:<16}{mode:<8}{total - bad:5} of {total}")
    for stack, nr in sorted(wrong.items(), key=lambda item: -item[1])[:4]:
        print(f"    {nr} {stack}")
    return total >= LEAST and total - bad >= SHARE * total


def most_frequent(program, counted):
    """Of the stacks with the hot function, from main on and without what the kernel did."""
    hot = re.compile(rf"(?:.*?; )?(main; .*?{SCENARIOS[program.scenario]['hot']}){KERNEL}")
    sums = collections.Counter()
    for stack, nr in counted.items():
        if found := hot.fullmatch(stack):
            sums[found[1]] += nr
    return max(sums, key=sums.get, default=None)


def check_inlined(folder, programs):
    """With --inline the two functions that have the loop are frames of their own."""
    for program in programs:
        counted = stacks(folder, program, "--inline")
        for mode in MODES:
            # the start of a program takes longer on a virtual machine
            total = sum(nr for stack, nr in counted[mode].items() if "geo::" in stack)
            assert total > 0.8 * sum(counted[mode].values()), counted[mode]
            right = sum(nr for stack, nr in counted[mode].items()
                        if re.search(r"fill\([^;]*; geo::row\(unsigned long\); "
                                     r"geo::step\(unsigned long\)" + KERNEL + "$", stack))
            print(f"  --inline        {mode:<8}{right:5} of {total}")
            assert right >= 0.95 * total >= LEAST, counted[mode]


def peers_stacks(folder):
    """By perf: task: samples by stack."""
    text = subprocess.run([*sampled.perf_reader(), "perf", "script", "-i", f"{folder}/perf.data",
                           "--no-inline", "-F", "comm,ip,sym"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, errors="replace",
                          check=False).stdout
    out = collections.defaultdict(collections.Counter)
    for block in text.split("\n\n"):
        comm, *lines = block.strip("\n").split("\n")
        names = [re.sub(r"@.*", "", line.strip().partition(" ")[2]) for line in lines]
        out[comm.strip()]["; ".join(reversed(names))] += 1
    return out


def check_peer(folder, programs, most):
    """Another reader of stacks, of samples of its own, mostly has the same one as the most frequent.
    It has none of programs of 32 bits.
    What differs is told: the known chains say who is right."""
    if not os.path.exists(f"{folder}/perf.data"):
        print("  skip: no perf to compare with")
        return
    peers, same = peers_stacks(folder), 0
    for program in programs:
        theirs = most_frequent(program, peers[program.task])
        same += theirs == most[program.name]
        if theirs != most[program.name]:
            print(f"    perf has of {program.name}: {theirs}")
    print(f"  perf has the same stacks of {same} of {len(programs)} programs")
    # of few programs it may be any part
    assert same >= 0.5 * len(programs) or os.environ.get("CPUPERF_TEST_LONG") != "1"


def main():
    with tempfile.TemporaryDirectory(prefix="cpuperf-stacks.") as folder:
        programs = stride(make_programs(folder, build_all(folder)), 5)
        record(folder, programs)
        failed, most = [], {}
        for program in programs:
            counted = stacks(folder, program)
            failed += [(program.name, mode) for mode in MODES
                       if not compare(program, mode, counted[mode])]
            most[program.name] = most_frequent(program, counted["dwarf"])
        check_inlined(folder, [p for p in programs if p.build == "cc"])
        check_peer(folder, [p for p in programs if p.build != "m32"], most)
        assert not failed, failed


if __name__ == "__main__":
    main()
