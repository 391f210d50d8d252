#!/usr/bin/env python3
"""Stacks that are unwound while they are recorded: the same as those of a report that unwinds the same bytes, of
root and of an ordinary user, and of a program whose file is gone."""
import functools
import glob
import json
import os
import platform
import shlex
import shutil
import subprocess

from kit import CPUPERF, PRINT, ordinary_user, output, run, run_checks
import sampled
from sampled import event, write_spec

HERE = os.path.dirname(os.path.abspath(__file__))
UNWOUND = os.environ["UNWOUND"]
CLOCK = ["-e", "cpu_clock", "-F", "4999"]
ENOUGH = 100  # samples


@functools.lru_cache
def program():
    """Of C++, without frame pointers; None: there is no compiler."""
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"cpuperf-whole-{os.getpid()}")
    for compiler in (os.environ.get("CXX", "c++"), "clang++"):
        if shutil.which(compiler.split()[0]) and subprocess.run(
                [*shlex.split(compiler), "-O2", "-fomit-frame-pointer", f"{HERE}/whole.cc", "-o", path],
                stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return path
    print("skip: a program with exceptions: no compiler of C++ here", flush=True)
    return None


def others():
    """Programs of the system, as they are there."""
    commands = {"python3": ["-c", "sum(hash(str(i)) for i in range(60000))"],
                "perl": ["-e", "my %h; $h{$_ % 997} .= sprintf('%d', $_) for 1..60000; print length join '', sort values %h"],
                "sqlite3": [":memory:", "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) "
                                        "select count(*), sum(length(hex(i))) from n"]}
    return [[shutil.which(name), *args] for name, args in commands.items() if shutil.which(name)]


def samples_of(folder):
    """Of all traces: those with stack bytes, and those without."""
    found = [s for path in glob.glob(f"{folder}/*.cpuperf") if "common" not in path
             for s in sampled.Trace(path).samples()]
    return [s for s in found if s.get("stack")], [s for s in found if "stack" not in s]


def check_equal(folder):
    """Of several programs, which one shell starts: each frame, and why a stack ends."""
    commands = [*([[program(), "150"]] if program() else []), *others()]
    run(CPUPERF, *CLOCK, "-g=dwarf", "-o", f"{folder}/s", "--", "sh", "-c", "; ".join(map(shlex.join, commands)))
    done = subprocess.run([UNWOUND, f"{folder}/s/cpuperf.cpsession"], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    print(f"  {result}", flush=True)
    assert result["samples"] >= ENOUGH and not result["differs"], (result, done.stderr[:4000])
    # but within an exec, which a reader knows better
    assert result["unwound"] >= 0.98 * result["whole_as_read"], result
    assert result["bytes"] < result["put_bytes"] / 8, result


def check_recorded(folder):
    """Nothing is needed to read it: samples have no bytes, and the stacks are there."""
    if not program():
        return
    run(CPUPERF, *CLOCK, "-g", "-o", f"{folder}/s", "--", program(), "300")
    kept, unwound = samples_of(f"{folder}/s")
    assert len(unwound) >= ENOUGH and len(kept) < 0.1 * len(unwound), (len(kept), len(unwound))
    stacks = output(PRINT, f"{folder}/s", "--quiet", "--report=stacks", "--output-format=csv")
    for chain in ("main(); sort(); qsort", "; fall(unsigned int, unsigned int); fall(unsigned int, unsigned int)",
                  "; main(); resume_within(); resume(", "; cooperate(); yields(unsigned int); yields(unsigned int)"):
        assert chain in stacks, (chain, stacks[:4000])
    assert platform.machine() != "x86_64" or ",begins(); alone(); " in stacks, stacks[:4000]
    for row in stacks.splitlines():  # whole, and nothing below its first function but what that returns to
        assert "; cooperate()" not in row or row.split("; ")[1] == "cooperate()", row


def check_ordinary_user(folder):
    if not program() or not (found := ordinary_user(folder, program())):
        return
    (cpuperf, copy), how = found
    run(cpuperf, *CLOCK, "-g", "-o", "s", "--", copy, "300", **how)
    kept, unwound = samples_of(f"{folder}/s")
    assert len(unwound) >= ENOUGH and len(kept) < 0.1 * len(unwound), (len(kept), len(unwound))


def check_deleted(folder):
    """The process still has the file, when the recorder reads it."""
    if not program():
        return
    gone = shutil.copy(program(), f"{folder}/gone")
    run(CPUPERF, *CLOCK, "-g", "--flush-interval=10ms", "-o", f"{folder}/s", "--", gone, "300", "unlink")
    kept, unwound = samples_of(f"{folder}/s")
    assert not os.path.exists(gone) and len(unwound) >= ENOUGH, (len(kept), len(unwound))


def check_bytes(folder):
    """A stack has as many bytes as the spec says; else, as the buffer has room for at the pace of the samples: below
    16 KiB only where samples would be lost."""
    for mb, pace, asked, got in ((16, {"frequency": 997}, None, 32768), (1, {"frequency": 997}, None, 24576),
                                 (1, {"frequency": 4999}, None, 16384), (1, {"frequency": 4999}, 65528, 65528),
                                 (1, {"frequency": 4999}, 8192, 8192), (1, {"frequency": 50000}, None, 3072),
                                 (1, {"rate": 50}, None, 16384)):
        name = "page_faults" if "rate" in pace else "cpu_clock"  # how often these come is not known
        own = {"stack_bytes": asked} if asked else {}
        spec = write_spec(folder, [event(f"software:{name}", flags=["callchain", "user_stack"],
                                         unwind=True, **own, **pace)], buffer_size_in_mb=mb)
        run(CPUPERF, spec, "-o", f"{folder}/s", "--", "true")
        sizes = {a.stack for path in glob.glob(f"{folder}/s/*.cpuperf") if "common" not in path
                 for e in sampled.Trace(path).events for a in e["attrs"]} - {0}
        assert len(sizes) == 1 and max(sizes) <= (asked or 32768), (sizes, asked)
        if asked or os.geteuid() == 0:  # others may get a smaller buffer
            assert sizes == {got}, (mb, pace, asked, sizes)
        shutil.rmtree(f"{folder}/s")


def check_spec(folder):
    """The key needs what is unwound."""
    spec = write_spec(folder, [event("software:cpu_clock", rate=1000000, flags=["callchain"], unwind=True)])
    answer = run(CPUPERF, spec, "--", "true", code=125).stderr
    assert "unwind needs the flags callchain and user_stack" in answer, answer


try:
    run_checks(globals(), everybody=True)
finally:
    if program():
        os.unlink(program())
