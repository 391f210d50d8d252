#!/usr/bin/env python3
"""Are reports of samples true? A program whose profile is known (mix.c) is sampled as it is, and
with one function a tenth slower: flat has the known shares within their intervals, and --diff names
that function first, by shares and by counts. CPUPERF, CPUPERF_PRINT and MIX name the programs;
software events only.

What is by chance has TRIES tries. That a difference is certain is not asked for: how often it is,
and how often something is claimed that is not so, are figures (scripts/bench-report interval diff).
Slower is work_a, not work_b: parts add up to 100, so that work_a would lose nearly as much by shares
(1.4) as work_b would gain (1.6), and which one is first would be up to chance.
"""
import csv
import math
import os
import subprocess
import tempfile
import time

from kit import again
import sampled

PRINT = os.environ["CPUPERF_PRINT"]
TRIES = 5
RATE = 50000  # ns
ITERATIONS, EACH = 6, "400ms"
PAIRS, ROUNDS = 2, 3000
SHARES = {"work_a": 70, "work_b": 20, "work_c": 10}
SLOWER = {"work_a": 77 / 1.07, "work_b": 20 / 1.07, "work_c": 10 / 1.07}
# What interrupts the program is a part of what it interrupted.
ONLY_WORK = ("--only=^work_", "--hide=^[^w]", "--hide=^w[^o]")
pids = []  # of all programs that were started: there may be others of the same name


class Doubt(AssertionError):
    """What chance may do once, but not each time."""


def rows(sessions, *args):
    done = subprocess.run([PRINT, *(f"--session={s}/s.cpsession" for s in sessions),
                           "--output-format=csv", "--pid=" + ",".join(map(str, pids)), *ONLY_WORK,
                           *args], capture_output=True,
                          text=True, timeout=600, check=False)
    assert done.returncode == 0, (args, done.returncode, done.stderr)
    return list(csv.DictReader(done.stdout.splitlines()))


def start(folder, *args, **keys):
    os.mkdir(folder)
    return sampled.start(folder, [sampled.event("software:cpu_clock", rate=RATE,
                                                flags=["callchain"])], *args, **keys)


def programs(*args):
    out = [sampled.mix(*args[:2], 1, cpu, *args[2:]) for cpu in sampled.CPUS[:2]]
    pids.extend(p.pid for p in out)
    return out


def record_time(folder, slower):
    """As they are for some time; iterations are replicates."""
    running = programs("ms", 60000, slower)
    try:
        time.sleep(0.05)
        sampled.finish(start(folder, f"--duration={EACH}", num_iterations=ITERATIONS))
    finally:
        for p in running:
            p.kill()
            p.communicate()


def work(slower):
    for p in programs("rounds", ROUNDS, slower):
        p.communicate()
        assert p.returncode == 0


def record_work(folder, slower):
    """The same work from its beginning to its end, in a session that lasts longer (one that is cut
    short is no replicate); sessions are replicates."""
    session = start(folder, duration=record_work.seconds)
    work(slower)
    is_late = session.poll() is not None
    sampled.finish(session)
    if is_late:
        record_work.seconds *= 2
        raise Doubt("the work was not done before the session's end")


record_work.seconds = 2


def check_flat(folder, shares):
    """Within four errors; the interval has 1.96."""
    flat = {row["function"]: row for row in rows([folder], "--report=flat")}
    assert set(flat) == set(shares), flat
    for name, true in shares.items():
        low, share, high = (float(flat[name][k]) for k in ("self_low", "self", "self_high"))
        error = (high - low) / 2 / 1.96
        print(f"  {name}: {low:.2f} to {high:.2f} %, is {true:.2f} %: off by "
              f"{(share - true) / error:+.1f} errors, {flat[name]['self_samples']} samples")
        by_chance = math.sqrt(share * (100 - share) / sum(int(r["self_samples"])
                                                          for r in flat.values()))
        assert low <= share <= high, (flat[name], by_chance)
        assert int(flat[name]["self_count"]) == RATE * int(flat[name]["self_samples"])
        # the error is estimated of 48 sums; on a busy or virtual machine a tick that was late stands for more than
        # one, so that it is larger; where each runs for longer at a time, a clock's samples change less often than by chance
        if abs(share - true) > 4 * error or error > 3 * by_chance:
            raise Doubt((name, share, true, error, by_chance))


def diff_of(now, was, *args):
    # of a target there is a row of all that it used
    diff = [r for r in rows(now, *(f"--diff={s}/s.cpsession" for s in was), *args) if r["function"] or sampled.may_sample()]
    print(f"  diff {' '.join(args)}: " + ", ".join(
        f"{r['function']} {float(r['change']):+.2f} ({float(r['relative']):+.1f} %"
        f"{', certain' if r['certain'] == 'true' else ''})" for r in diff))
    changes = {r["function"]: float(r["change"]) for r in diff}
    relative = {r["function"]: float(r["relative"]) for r in diff}
    assert set(changes) == set(SHARES), diff
    if max(relative, key=relative.get) != "work_a":  # beside others there are few samples
        raise Doubt(diff)
    return changes, relative, diff[0]["function"]


def check_shares(now, was):
    """Of what work_a gains the others lose."""
    changes, _, first = diff_of([now], [was])
    if {first, max(changes, key=lambda n: abs(changes[n]))} != {"work_a"}:
        raise Doubt(changes)
    assert abs(sum(changes.values())) < 0.001, changes
    if changes["work_a"] <= 0 or abs(changes["work_a"] - (SLOWER["work_a"] - 70)) > 1.5 or changes["work_b"] > 0:
        raise Doubt(changes)


def check_counts(folder):
    """Of work that is the same but for work_a, the others have what they had; but for the machine's
    speed, which is the same for all of them."""
    sides = [], []
    began = time.monotonic()
    work(10)
    record_work.seconds = max(record_work.seconds, math.ceil(3 * (time.monotonic() - began)))
    for i in range(PAIRS):
        for side, slower in enumerate((0, 10)):
            sides[side].append(f"{folder}/{i}.{side}")
            record_work(sides[side][-1], slower)
    changes, relative, _ = diff_of(sides[1], sides[0], "--counts")
    if abs(sum(changes.values())) < 0.01:  # as shares do each time, and a machine that became faster by as much may once
        raise Doubt(changes)
    against = (1 + relative["work_a"] / 100) / (1 + relative["work_b"] / 100)
    if not 1.03 < against < 1.17:
        raise Doubt(against)


def check(folder):
    was, now = f"{folder}/was", f"{folder}/now"
    record_time(was, 0)
    check_flat(was, SHARES)
    record_time(now, 10)
    check_flat(now, SLOWER)
    check_shares(now, was)
    check_counts(folder)


def main():
    for left in reversed(range(TRIES)):
        with tempfile.TemporaryDirectory(prefix="cpuperf-truth.") as folder:
            try:
                return check(folder)
            except Doubt as why:
                if not left:
                    raise
                again("check", why)


if __name__ == "__main__":
    main()
