#!/usr/bin/env python3
"""Latencies between COZ_BEGIN and COZ_END in experiments, of causal.c. The recorder does not wait for the program for a CPU, as
it would look when the program does less."""
import json
import os
import subprocess

from kit import CPUPERF, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))


def check_latency(folder):
    """By Little's law: of a region four are always under way, so it lasts for four times what is between two answers. All rounds
    may be such in which threads waited for a CPU."""
    program = os.path.join(folder, "causal")
    run("cc", "-O2", "-g", "-pthread", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{HERE}/causal.c")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        done = subprocess.run([CPUPERF, "-o-", f"--causal={program}:critical", "--progress=held", "-r2", "--output-format=json", "--",
                               "chrt", "--fifo", "1", program, "serve", "3000", "1000"], check=False, capture_output=True, text=True)
    except PermissionError:
        print("skip: latency: this user may not have a real-time priority")
        return
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if done.returncode:
        assert done.returncode == 125 and "threads waited for a CPU for more than 5 %" in done.stderr, done
        print("skip: latency: the machine is busy")
        return
    rows = json.loads(done.stdout)["reports"][0]["rows"]
    if rows[0]["rounds_without_latency"] and "latency" not in {r["quantity"] for r in rows}:
        print(f"skip: latency: cpuperf waited for a CPU in {rows[0]['rounds_without_latency']} rounds")
        return
    assert {r["quantity"] for r in rows} == {"throughput", "latency"}, rows
    assert all(abs(r["latency_ns"] * r["rate"] / 1e9 - 4) < 0.2 for r in rows), rows


run_checks(globals())
