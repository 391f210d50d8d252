#!/usr/bin/env python3
"""The examples: the commands at the head of each, run as they stand there, name its fault, and the fixed version does
not have it. Where a fault is one of hardware (false sharing, a cache that does not help), a machine without a PMU is
asked only which line has the time: the test says so."""
import csv
import io
import os
import re

from kit import CPUPERF, output, PRINT, programs_missing, run, run_checks

EXAMPLES, SOURCE_DIR = os.environ["EXAMPLES"], os.environ["SOURCE_DIR"]
PROGRAMS = {"cpuperf": CPUPERF, "cpuperf_print": PRINT}
NAMES = ("false_sharing", "lock_convoy", "leak", "n_plus_1_reads", "cache_hostile", "busy_wait", "slow_start", "fork_storm",
         "page_fault_storm", "noisy_neighbour")


def head(name):
    """The comment at the head of an example: its parts by their first word."""
    with open(f"{SOURCE_DIR}/examples/{name}.c", encoding="utf-8") as f:
        comment = f.read().split("*/")[0]
    text = "\n".join(line.removeprefix(" *").strip() for line in comment.splitlines())
    parts = dict(re.findall(r"^(Symptom|Command|What to see|Repair): (.*?)(?=\n(?:Symptom|Command|What to see|Repair):|\Z)", text,
                            re.M | re.S))
    assert set(parts) == {"Symptom", "Command", "What to see", "Repair"}, (name, parts)
    return parts


def type_commands(name, folder, text=None, fixed=False):
    """What the commands of an example print, one after the other, in a folder where its program is."""
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(f"{folder}/{name}"):
        os.symlink(f"{EXAMPLES}/{name}", f"{folder}/{name}")
    printed = []
    for line in (text or head(name)["Command"]).splitlines():
        words = line.split()
        if "--report=annotate" in words:  # the build's paths are relative to its folder
            words.append(f"--source-dir={SOURCE_DIR}")
        done = run(PROGRAMS[words[0]], *words[1:], *(["fixed"] if fixed and words[-1] == f"./{name}" else []), cwd=folder)
        printed.append(done.stdout + done.stderr)
    return printed


def both(name, folder):
    return type_commands(name, f"{folder}/faulty"), type_commands(name, f"{folder}/fixed", fixed=True)


def rows(folder, *options):
    """The rows of a report of the session there, as dictionaries."""
    return list(csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--output-format=csv", *options, cwd=folder))))


def amount(rows_, function, column="self_count"):
    return sum(float(row[column]) for row in rows_ if row["function"] == function)


def has_pmu():
    return run(CPUPERF, "--quiet", "-o", "-", "-e", "instructions_retired,unhalted_core_cycles", "--", "true", code=None).returncode == 0


def only_with_pmu(name, folder):
    """The command for machines with a PMU, which is within the text. What it counts depends on the CPU's caches, and is
    for a reader."""
    if not has_pmu():
        print(f"skip: {name}: its cycles and misses: this machine has no PMU. What is checked here is the line that has the time",
              flush=True)
        return
    command = re.search(r"With a PMU,\n(cpuperf .*)", head(name)["What to see"])[1]
    faulty, = type_commands(name, f"{folder}/faulty", command)
    fixed, = type_commands(name, f"{folder}/fixed", command, fixed=True)
    print(faulty, fixed)


def check_each_has_its_parts(_):
    """And each is one of these, so that none is installed without a check."""
    found = {name.removesuffix(".c") for name in os.listdir(f"{SOURCE_DIR}/examples")} - {"count_function", "prog"}
    assert found == set(NAMES), found ^ set(NAMES)
    for name in NAMES:
        assert f"./{name}" in head(name)["Command"], name
        assert "fixed" in head(name)["Repair"], name
        with open(f"{SOURCE_DIR}/doc/manual/examples.md", encoding="utf-8") as f:
            page = f.read()
        assert f"\n## {name}\n" in page, name
        for line in head(name)["Command"].splitlines():
            assert f"\n$ {line}\n" in page, (name, line)


def check_false_sharing(folder):
    (answer, code), (fixed, _) = both("false_sharing", folder)
    assert "8 bytes apart" in answer and "64 bytes apart" in fixed, (answer, fixed)
    assert re.search(r"^on CPU:.*\n.*\n.*false_sharing +count_requests$", answer, re.M), answer
    # or what follows it: a timer's sample is at the instruction that was to run next
    assert re.search(r"^≥? *[\d.]+ %.*(c->nr\+\+;|i\+\+\))$", code, re.M), code
    only_with_pmu("false_sharing", folder)


def check_cache_hostile(folder):
    (answer, code), (fixed, _) = both("cache_hostile", folder)
    assert "8192 bytes from element" in answer and "4 bytes from element" in fixed, (answer, fixed)
    assert re.search(r"cache_hostile +add_up$", answer, re.M), answer
    assert re.search(r"^≥? *[\d.]+ %.*(sum \+= element\[i\];|i \+= step\))$", code, re.M), code
    only_with_pmu("cache_hostile", folder)


def check_lock_convoy(folder):
    (answer, locks), (_, fixed) = both("lock_convoy", folder)
    assert re.search(r"blocked .* lock_convoy +log_line$", answer, re.M), answer
    if programs_missing():
        print(f"skip: lock_convoy: the name of the lock: {programs_missing()}", flush=True)
        return
    waits = re.search(r"^log_lock +mutex +([\d,]+) .* log_line$", locks, re.M)
    assert waits and int(waits[1].replace(",", "")) >= 50, locks
    assert "log_lock" not in fixed or int(re.search(r"^log_lock +mutex +([\d,]+)", fixed, re.M)[1]) < int(waits[1]) / 3, fixed


def check_leak(folder):
    (answer, tree), (fixed, _) = both("leak", folder)
    assert re.search(r"called from +allocated in\n.*main leak\.c:\d+ +read_record leak\.c:\d+$", answer, re.M), answer
    assert re.search(r"^leaked: .*\n(.*\n)*.*read_record$", tree, re.M), tree
    # of one run in 100 the sampled block is the buffer of standard output, which stays
    leaks = re.search(r"^ *leaked +called from.*\n(.+\n)*", fixed, re.M)
    assert "all of it leaked" in answer and (not leaks or "read_record" not in leaks[0]), (answer, fixed)


def check_n_plus_1_reads(folder):
    (answer,), (fixed,) = both("n_plus_1_reads", folder)
    for text, reads, opened, function in ((answer, "51,000", "2,000", "find_price"), (fixed, "1", "1", "read_prices")):
        for event, nr in (("io_read_calls", reads), ("fd_opened", opened)):
            part = text[text.index(f"{event}: "):].split("\n\n")[0]
            assert re.search(rf" {nr} +n_plus_1_reads +{function}$", part, re.M), (event, part)


def check_busy_wait(folder):
    type_commands("busy_wait", f"{folder}/faulty")
    type_commands("busy_wait", f"{folder}/fixed", fixed=True)
    faulty = rows(f"{folder}/faulty", "--report=flat")
    on_cpu = [row for row in faulty if row["event"] == "cpu_clock"]
    assert on_cpu[0]["function"] == "wait_for_result", on_cpu
    fixed = [row for row in rows(f"{folder}/fixed", "--report=flat") if row["event"] == "cpu_clock"]
    # counts of time by the clock of the thread: others' work does not change them much
    assert amount(fixed, "wait_for_result") < amount(on_cpu, "wait_for_result") / 2, (on_cpu, fixed)


def check_slow_start(folder):
    (answer, tree), (fixed, _) = both("slow_start", folder)
    assert re.search(r"^on CPU:.*\n.*\n.*slow_start +make_table$", answer, re.M), answer
    assert re.search(r" load_modules\n.* make_table$", tree, re.M), tree
    assert "make_table" not in fixed, fixed


def check_fork_storm(folder):
    (answer, waits), (fixed, _) = both("fork_storm", folder)
    assert " 151 threads" in answer and " 1 thread:" in fixed, (answer, fixed)
    assert re.search(r"fork_storm +measure_name$", answer, re.M), answer
    assert "child" in waits or programs_missing(), waits


def check_page_fault_storm(folder):
    (answer,), (fixed,) = both("page_fault_storm", folder)
    if programs_missing():  # of an ordinary user, who may not count in the kernel: as the kernel accounts them
        faults = [int(re.search(r"([\d,]+) page faults", text)[1].replace(",", "")) for text in (answer, fixed)]
        assert faults[0] > 51200 > 10 * faults[1], (answer, fixed)
        return
    assert re.search(r"^page_faults: \d+ samples, 51,\d\d\d\n.*\n.* page_fault_storm +handle_request$", answer, re.M), answer
    assert int(re.search(r"^page_faults: (\d+) sample", fixed, re.M)[1]) < 50, fixed


def check_noisy_neighbour(folder):
    (answer, tree), _ = both("noisy_neighbour", folder)
    assert re.search(r"waiting for a CPU .* noisy_neighbour +serve_requests$", answer, re.M), answer
    assert re.search(r" waiting for a CPU\n(.*\n)*.* serve_requests$", tree, re.M), tree
    faulty, fixed = ([row for row in rows(f"{folder}/{which}", "--report=flat") if row["event"] == "cpu_clock"]
                     for which in ("faulty", "fixed"))
    shares = [amount(found, "compact_logs") / (amount(found, "compact_logs") + amount(found, "serve_requests"))
              for found in (faulty, fixed)]
    assert shares[0] > 0.2 and shares[1] < 0.1, (shares, faulty, fixed)


run_checks(globals())
