#!/usr/bin/env python3
"""Latencies in experiments, of causal.c: between COZ_BEGIN and COZ_END, and of a region of cpuperf/mark.h. The recorder does not
wait for the program for a CPU, as it would look when the program does less."""
import json
import os
import subprocess

from experiment_memory import BUSY
from kit import CPUPERF, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))


def measure(folder, point, *functions):
    """Rows, with latencies. All rounds may be such in which threads waited for a CPU: then None."""
    program = os.path.join(folder, "causal")
    if not os.path.exists(program):
        run("cc", "-O2", "-g", "-pthread", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{HERE}/causal.c")
    scope = ",".join(f"{program}:{function}" for function in functions)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        done = subprocess.run([CPUPERF, "-o-", f"--causal={scope}", f"--progress={point}", "-r2", "--output-format=json", "--",
                               "chrt", "--fifo", "1", program, "serve", "3000", "1000"], check=False, capture_output=True, text=True)
    except PermissionError:
        print("skip: latency: this user may not have a real-time priority")
        return None
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if done.returncode:
        assert done.returncode == 125 and BUSY in done.stderr, done
        print("skip: latency: the machine is busy")
        return None
    rows = json.loads(done.stdout)["reports"][0]["rows"]
    if any(r["saves"] is None for r in rows):  # none of the rounds of one of them is used
        print("skip: latency: the machine is busy")
        return None
    if rows[0]["rounds_without_latency"] and "latency" not in {r["quantity"] for r in rows}:
        print(f"skip: latency: cpuperf waited for a CPU in {rows[0]['rounds_without_latency']} rounds")
        return None
    assert {r["quantity"] for r in rows} == {"throughput", "latency"}, rows
    return rows


def check_latency(folder):
    """By Little's law: of a region four are always under way, so it lasts for four times what is between two answers."""
    rows = measure(folder, "held", "critical")
    assert not rows or all(abs(r["latency_ns"] * r["rate"] / 1e9 - 4) < 0.2 for r in rows), rows


def check_measured(folder):
    """A region that is nothing but a function is as much shorter as that is faster, and not at all if the one before it in
    another thread is, on which its thread waits outside of it: were delays taken as even, it would be the other way round."""
    for _ in range(3):
        rows = measure(folder, "handle", "critical", "slack")
        if not rows:
            return
        saves = {r["function"]: r["saves"] for r in rows if r["quantity"] == "latency"}
        if saves["slack"] > saves["critical"] + 20:
            return
    raise AssertionError(rows)


run_checks(globals())
