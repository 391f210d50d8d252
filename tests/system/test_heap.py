#!/usr/bin/env python3
"""What a command allocates, counted and sampled by stack. The tables are those of the definitions: what is allocated,
live, at the peak, the largest, freed at once; tests/system/heap.c has programs whose values are known.
"""
import csv
import io
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from kit import CPUPERF, PRINT, can_execute, finish, ordinary_user, output, run, run_checks, start, stride, wait_for

HEAP = os.environ["HEAP"]
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
COUNTED = "allocated allocations live peak max freed temporary leaked".split()
EVENTS = ",".join(f"heap:{name}" for name in COUNTED)


def measure(folder, *command, options=(), events=EVENTS, code=0, **how):
    """Measures the command into folder/s, and returns what it and cpuperf said."""
    chosen = [f"--event={events}"] if events else []
    done = run(CPUPERF, f"--output={folder}/s", *chosen, *options, "--", *command, code=code, cwd=folder, **how)
    return done.stdout + done.stderr


def counts(folder):
    """Of the summary's total of all traces, by event."""
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration")
    table = text[text.index("All traces"):].split("\n\n", maxsplit=1)[0]
    return {m[1]: int(m[2].replace(",", "")) for m in re.finditer(r"^  (.+?) {2,}([\d,]+) ", table, re.M)}


def expect(folder, want, *command, **how):
    measure(folder, *command, **how)
    got = counts(folder)
    assert {k: got[k] for k in want} == want, (command, got)


def check_definitions(folder):
    """One byte ten times, 1 to 10 bytes, and those freed at once."""
    for what, values in (("ones", (10, 10, 10, 10, 1, 0, 0, 10)),
                         ("growing", (55, 10, 55, 55, 10, 0, 0, 55)),
                         ("freed", (55, 10, 0, 10, 10, 55, 55, 0))):
        expect(folder, dict(zip(COUNTED, values)), HEAP, what)


def heading(folder, event):
    """The first line of the event's table: samples and weight."""
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=flat", f"--event={event}")
    return next(line for line in text.splitlines() if line)


def tree(folder, event):
    """Path from main on to (total, self) bytes and the samples of itself."""
    found, path = {}, []
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=tree", f"--event={event}")
    for line in text.splitlines():
        m = re.match(r" *[\d.]+ % +(?:[\d.]+ %)? +(\d+) +([\d,]+) B  ( *)(\S.*)$", line)
        if not m:
            continue
        depth = len(m[3]) // 2
        path[depth:] = [m[4]]
        found[">".join(path[path.index("main"):]) if "main" in path else m[4]] = (int(m[1]), int(m[2].replace(",", "")))
    return found


def check_stacks(folder):
    """main calls foo, which allocates 1 byte and calls bar(1), and bar(2)."""
    with open(f"{folder}/t.cpspec", "w", encoding="utf-8") as f:
        f.write('{"sampling": {"rate": 1, "flags": ["callchain"]}, "events": [' + ",".join(
            f'{{"group_name": "heap", "event_name": "{name}", "rate": 1}}'
            for name in ("allocated", "live", "peak", "leaked", "freed")) + "]}")
    said = measure(folder, HEAP, "tree", options=[f"--spec-file={folder}/t.cpspec"], events=None)
    assert "±" not in said, said  # nothing is left to chance
    assert heading(folder, "allocated") == "allocated: 3 samples, 4 B", heading(folder, "allocated")
    for event in ("allocated", "live", "peak", "leaked"):
        found = tree(folder, event)
        # by samples and bytes with those below; tree calls bar last, which may leave no frame of tree
        below = {k.replace(">tree>", ">"): v for k, v in found.items() if k.startswith("main")}
        assert below["main"] == (3, 4) and below["main>bar"] == (1, 2), (event, found)
        assert below["main>foo>bar"] == (1, 1) and below["main>foo"] == (2, 2), (event, found)


def check_calls(folder):
    """The same program in gprof's layout, as the seed's last tables have it: a function between callers and callees."""
    with open(f"{folder}/t.cpspec", "w", encoding="utf-8") as f:
        f.write('{"events": [{"group_name": "heap", "event_name": "allocated", "rate": 1, "flags": ["callchain"]}]}')
    run(CPUPERF, "--quiet", "--spec-file=t.cpspec", "--output=s", "--", HEAP, "tree", cwd=folder)
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=calls")
    blocks = [[" ".join(re.sub(r"\[\d+\]", "", line).split()) for line in block.splitlines()]
              for block in text.strip().split("\n\n")]
    for block in (["4 B 100.00 % 3/3 main", "0 B 4 B 100.00 % 3 tree", "2 B 50.00 % 1/2 bar", "2 B 50.00 % 2/2 foo"],
                  ["1 B 25.00 % 1/2 foo", "2 B 50.00 % 1/2 tree", "3 B 0 B 75.00 % 2 bar"],
                  ["2 B 50.00 % 2/2 tree", "1 B 1 B 50.00 % 2 foo", "1 B 25.00 % 1/2 bar"]):
        assert block in blocks, (block, text)


def check_largest(folder):
    """The largest allocation of each path: over calls, processes and iterations it is a maximum, not a sum; so is that of a
    function with all that it calls. What adds samples up has none of them."""
    for options in stride(([], ["--duration=0.5", "--num-iterations=0"]), 1):
        measure(folder, "sh", "-c", f"{HEAP} largest 200; sleep .7; {HEAP} largest 300; {HEAP} largest 120; sleep 1",
                options=["-g", *options], events="heap:max@1,heap:max,heap:allocated@1")
        found = {k.replace(">largest>", ">"): v[1] for k, v in tree(folder, "max").items() if k.startswith("main")}
        assert (found["main"], found["main>allocate_three"], found["main>allocate_two"]) == (300, 300, 50), found
        for report in ("flat", "callers"):
            text = output(PRINT, f"{folder}/s", "--quiet", f"--report={report}", "--event=max")
            assert re.search(r" 300 B\b.* allocate_three$", text, re.M) or report == "callers", text
            assert not re.search(r"\b(420|500|620) B", text), text
            assert re.search(r"^max\S*: .*, largest [\d,]+ B", text, re.M), text
        text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", "--output-format=csv")
        found = {row["function"]: row["max"] for row in csv.DictReader(io.StringIO(text))}
        assert (found["allocate_three"], found["allocate_two"]) == ("300", "50"), found
        assert "allocate_two" not in output(PRINT, f"{folder}/s", "--quiet", "--event=max", "--output-format=folded")
        assert "allocate_two" in output(PRINT, f"{folder}/s", "--quiet", "--event=allocated", "--output-format=folded")


def check_path_peak(folder):
    """The largest live amount of each path, whenever that was: also of one that holds nothing at the process's peak, of a
    block that moves once, of blocks that another thread frees. A function, a node of the tree and several processes have
    that of the largest path, which is said."""
    want = {"hold_ten>hold": 10000, "hold_five>hold": 5000, "hold_ten": 10000, "hold_moved": 7000, "hold_for_others": 3000, "hold_at_two": 400}
    note = "A row with several has the largest"
    measure(folder, "sh", "-c", f"{HEAP} path_peaks; {HEAP} path_peaks", options=["-g"],
            events="heap:path_peak@1,heap:peak@1,heap:allocated@1")
    assert counts(folder)["path_peak"] >= 10000, counts(folder)
    for event, all_ in (("path_peak", want), ("peak", {"hold_five>hold": 0, "hold_at_two": 0})):
        found = {k.split(">path_peaks>")[1]: v[1] for k, v in tree(folder, event).items() if ">path_peaks>" in k}
        assert {k: found.get(k, 0) for k in all_} == all_, (event, found)
    for report in ("tree", "flat", "callers", "heap"):
        text = output(PRINT, f"{folder}/s", "--quiet", f"--report={report}", "--event=path_peak")
        assert note in " ".join(text.split()), text
        assert re.search(r"largest (path peak )?[\d.,]+ k?B", text), text
        assert report != "flat" or re.search(r" 10,000 B\b.* hold$", text, re.M), text
    assert note not in output(PRINT, f"{folder}/s", "--quiet", "--report=flat", "--event=allocated")
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", "--output-format=csv")
    assert [r["path_peak"] for r in csv.DictReader(io.StringIO(text)) if r["function"] == "hold"] == ["10000"], text
    assert ";hold" not in output(PRINT, f"{folder}/s", "--quiet", "--event=path_peak", "--output-format=folded")
    measure(folder, HEAP, "path_peaks", events="heap:path_peak,heap:peak")
    assert counts(folder) == {"path_peak": 10000, "peak": 10000}, counts(folder)
    measure(folder, HEAP, "path_peaks", options=["-g"], events="heap:path_peak@64,heap:allocated@64")
    text = " ".join(output(PRINT, f"{folder}/s", "--quiet", "--report=heap").split())
    assert "largest estimated path peak" in text and "the largest of estimates" in text, text


def check_dumps(folder):
    """A program that dumps its heap ends the iteration, and waits until it was read: what it allocated between two dumps
    and did not free is in the second's amounts, with its place. Without a recorder it does nothing."""
    events = "heap:live@1,heap:allocated@1,heap:freed@1"
    for _ in range(3 if IS_LONG else 1):
        said = measure(folder, HEAP, "dumps", "100", options=["-g"], events=events)
        assert "dumps 0 0\n" in said, said
        live, grown = {}, {}
        for i in range(3):
            text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", f"--iteration={i}", "--output-format=csv")
            for row in csv.DictReader(io.StringIO(text)):
                live[i, row["function"]] = int(row["live"])
                grown[i, row["function"]] = int(row["allocated"]) - int(row["freed"])
        for i, known in ((0, {"before_dumps": 10000, "dumps": 70000}),
                         (1, {"before_dumps": 10000, "between_dumps": 300000}),
                         (2, {"before_dumps": 10000, "between_dumps": 300000, "after_dumps": 50000})):
            assert {name: n for (k, name), n in live.items() if k == i and n} == known, (i, live)
        assert (grown[1, "between_dumps"], grown[1, "dumps"]) == (300000, -70000), grown
    # each is over before the call returns
    measure(folder, HEAP, "many_dumps", "40", options=["-g"], events="heap:live@1")
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", "--sort=iteration,function", "--output-format=csv")
    live = {int(r["iteration"]): int(r["live"]) for r in csv.DictReader(io.StringIO(text)) if r["function"] == "many_dumps"}
    assert live == {i: 3000 * i for i in range(1, 41)}, live
    assert run(HEAP, "dumps", "1").stdout == "dumps -1 -1\n"
    said = measure(folder, HEAP, "dumps", "100", options=["--runs=2"], events=events)  # its iterations are the runs
    assert said.count("dumps -1 -1\n") == 2, said
    assert "dumps -1 -1\n" in run(CPUPERF, f"--output={folder}/s", "--event=task_clock", "--", HEAP, "dumps", "1").stdout


def check_reports(folder):
    """Slide 33: n reports, of which number n has live n, total 1 + .. + n, max n. (Its program says malloc(1); its table is that of
    malloc(n).) Our iterations have what was allocated in each: their sum so far is the seed's total."""
    measure(folder, HEAP, "reports", "10", options=["-g"], events="heap:live@1,heap:allocated@1,heap:max@1")
    for n in stride(range(1, 11), 2):
        def row(iterations):
            text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", f"--iteration={iterations}", "--output-format=csv")
            return next(r for r in csv.DictReader(io.StringIO(text)) if r["function"] == "reports")
        alone, so_far = row(n - 1), row(f"0-{n - 1}")
        assert (alone["live"], alone["allocated"], alone["allocations"]) == (str(n), str(n), "1"), (n, alone)
        assert (so_far["live"], so_far["allocated"], so_far["allocations"], so_far["max"]) == (
            str(n), str(n * (n + 1) // 2), str(n), str(n)), (n, so_far)


def check_snapshots(folder):
    """SIGUSR2 to the recorder ends the iteration: what is live is that of this moment."""
    program = ("import os, signal, time; x = bytearray(1 << 24); os.kill(os.getppid(), signal.SIGUSR2)\n"
               "while not os.path.exists('s/cpuperf.0.0.cpuperf'): time.sleep(.01)\ndel x; time.sleep(.2)")
    measure(folder, sys.executable, "-c", program, events="heap:live", env={"PYTHONMALLOC": "malloc"})
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration")
    live = [int(m.replace(",", "")) for m in re.findall(r"^  live +([\d,]+)", text, re.M)][::2]
    assert live[0] > 1 << 24 > live[1] > 0, text


DUMPED = """
import os, time
def wait(number):
    while not os.path.exists(f"s/cpuperf.{{number}}.0.cpuperf"):
        time.sleep(.01)
x = bytearray(1 << 24)
{}
time.sleep(.1)
del x
time.sleep(.2)
"""


def lives_of_iterations(folder):
    """Whether DUMPED had its block at the end of each."""
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration")
    return [int(m.replace(",", "")) > 1 << 24 for m in re.findall(r"^  live +([\d,]+)", text, re.M)][::2]


def makes_no_dump(folder, what, why):
    """It is said while the program has its block, of which no iteration then tells."""
    program = f"import os, sys; x = bytearray(1 << 24); {what}; sys.stdin.read(); del x"
    shutil.rmtree(f"{folder}/s", ignore_errors=True)
    with start(folder, f"--output={folder}/s", "--event=heap:live", f"--dump-file={folder}/dump",
               command=["env", "PYTHONMALLOC=malloc", sys.executable, "-c", program]) as p:
        said = ""
        while why not in said:
            assert p.poll() is None and not os.path.exists(f"{folder}/s/cpuperf.0.0.cpuperf"), (what, said)
            if select.select([p.stderr], [], [], 0.05)[0]:
                said += os.read(p.stderr.fileno(), 65536).decode()
        finish(p)
    assert lives_of_iterations(folder)[0] is False, what


def check_dump_file(folder):
    """A file that is written or moved to its place ends the iteration, once each; others, links, and files of other
    users do not, and a file that is there already is not changed."""
    def live(what, *options):
        measure(folder, sys.executable, "-c", DUMPED.format(what), events="heap:live", env={"PYTHONMALLOC": "malloc"},
                options=options or [f"--dump-file={folder}/dump"])
        return lives_of_iterations(folder)

    path = f"{folder}/dump"
    for what in stride((f"open({path!r}, 'w').close()", f"open({path!r}, 'a').write('x')",
                        f"open({path!r} + '1', 'w').close(); os.rename({path!r} + '1', {path!r})"), 1):
        got = live(f"{what}; wait(0)")
        assert got[:2] == [True, False], (what, got)
    assert live(f"open({path!r}, 'w').close(); wait(0); open({path!r}, 'w').close(); wait(1)")[:3] == [True, True, False]
    with open(path, "w", encoding="ascii") as f:
        f.write("stays")
    for what in stride((f"open({path!r}).read()", f"open({path!r} + '1', 'w').close()", f"os.mkdir({path!r} + '2')"), 1):
        assert live(f"{what}; time.sleep(.5)")[0] is False, what
    with open(path, encoding="ascii") as f:
        assert f.read() == "stays"
    os.unlink(path)
    makes_no_dump(folder, f"os.symlink({path!r}, {path!r} + '3'); os.rename({path!r} + '3', {path!r})", "is no regular file")
    os.unlink(path)
    if os.getuid() == 0:
        makes_no_dump(folder, f"open({path!r} + '1', 'w').close(); os.chown({path!r} + '1', 65534, 65534); os.rename({path!r} + '1', {path!r})",
                      "belongs to another user")
    with open(f"{folder}/d.cpspec", "w", encoding="ascii") as f:
        f.write(f'{{"dump_file": "{folder}/dump", "events": [{{"group_name": "heap", "event_name": "live"}}]}}')
    os.unlink(path) if os.path.exists(path) else None
    measure(folder, sys.executable, "-c", DUMPED.format(f"open({path!r}, 'w').close(); wait(0)"), events=None, options=[f"--spec-file={folder}/d.cpspec"])
    assert output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration").count("\n  live ") >= 2
    os.symlink("nothing", f"{folder}/link")
    os.mkfifo(f"{folder}/fifo")
    for options, text in (([f"--dump-file={folder}/link"], "link: is a link"), ([f"--dump-file={folder}"], "is a folder"),
                          ([f"--dump-file={folder}/fifo"], "fifo: is no regular file"), (["--dump-file="], "--dump-file: the name is empty"),
                          ([f"--dump-file={folder}/none/x"], "none: No such file"), (["--dump-file=/"], "is not the name of a file"),
                          (["--dump-file=x", "--runs=2"], "dump_file and runs are mutually exclusive")):
        done = run(CPUPERF, "--event=heap:live", *options, "--", "true", code=None, cwd=folder)
        assert done.returncode and text in done.stderr, done


FREES = "x = bytearray(1 << 24); print(flush=True); input(); del x; print(flush=True); input()"


def end_iteration(p, folder, number):
    """Ends this one, and waits for the next."""
    p.send_signal(signal.SIGUSR1)
    wait_for(p, f"{folder}/s/cpuperf.{number}.0.cpuperf")


def check_iterations(folder):
    """Counts are those of each iteration; what is live is what there is at its end."""
    with start(folder, f"--output={folder}/s", "--event=heap:live,heap:allocated",
               command=["env", "PYTHONMALLOC=malloc", sys.executable, "-c", FREES]) as p:
        for number in range(2):
            p.stdout.readline()
            end_iteration(p, folder, number)
            p.stdin.write("\n")
            p.stdin.flush()
        finish(p)
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration")
    live = [int(m.replace(",", "")) for m in re.findall(r"^  live +([\d,]+)", text, re.M)][::2]
    assert live[0] > 1 << 24 > live[1] > 0, text


def check_values_of_iterations(folder):
    """What is live does not add up over iterations: the last one counts, unless each is shown or chosen."""
    measure(folder, HEAP, "many_dumps", "3", events="heap:live@1,heap:allocated@1")
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=flat", "--sort=iteration", "--event=live")
    each = dict(reversed(row) for row in re.findall(r" (\d+) B +(\d+)$", text.replace(",", ""), re.M))
    nr = int(max(each, key=int))
    assert nr > 0 and f"{int(each[str(nr)]):,} B in the last iteration" in heading(folder, "live"), (each, heading(folder, "live"))
    assert "last" not in heading(folder, "allocated"), heading(folder, "allocated")
    assert f" {int(each['1']):,} B" in output(PRINT, f"{folder}/s", "--quiet", "--report=flat", "--iteration=1", "--event=live")


def measure_first(folder, what, *options):
    """The first iteration ends when the program has printed a line: the line."""
    run("rm", "-rf", f"{folder}/s")
    with start(folder, f"--output={folder}/s", *options, "--duration=600", command=[HEAP, what]) as p:
        line = p.stdout.readline()
        end_iteration(p, folder, 0)
        finish(p)
    return line


def check_pages(folder):
    """Pages that are in memory, and those that were never touched: of a block of which half is touched, half; and all
    together what the kernel counts for these mappings, but for the allocator's own share."""
    events = ",".join(f'{{"group_name": "heap", "event_name": "{name}", "rate": 1}}'
                      for name in ("resident", "untouched", "allocated"))
    with open(f"{folder}/p.cpspec", "w", encoding="utf-8") as f:
        f.write('{"sampling": {"rate": 1, "flags": ["callchain"]}, "events": [' + events + "]}")
    said = measure_first(folder, "resident", f"--spec-file={folder}/p.cpspec")
    rss = int(re.match(r"\d+", said)[0]) * 1024
    got = counts(folder)
    assert got["untouched"] == 128 * 4096, (got, said)
    assert .98 * rss - (64 << 10) <= got["resident"] <= rss, (got, rss)
    for event in stride(("resident", "untouched"), 1):
        text = output(PRINT, f"{folder}/s", "--quiet", "--report=tree", "--iteration=0", f"--event={event}")
        assert re.search(r" 1 +524\.3 kB +half$", text, re.M), text
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", "--iteration=0")
    assert re.search(r"resident [\d.]+ MB, untouched 524\.\d+ kB", text), text
    # what is live at the end of an iteration counts once, also if it is freed later
    measure(folder, HEAP, "resident", events="heap:untouched,heap:resident", options=["--duration=1", "--num-iterations=3"])
    got = counts(folder)
    assert got["untouched"] == 128 * 4096, got


def check_pages_at_end(folder):
    """Pages of what is live when its process ends, however it does so by itself, also in a child; what a signal ends has
    none, which is said, and is no number."""
    half = 128 * 4096
    for how, nr in stride(((0, 1), (1, 1), (2, 1), (3, 2)), 1):
        said = measure(folder, HEAP, "paged", str(how), options=["-g"], events="heap:resident@1,heap:untouched@1,heap:unreachable@1")
        found = {event: dict(re.findall(r";(\w+);half (\d+)$", output(PRINT, f"{folder}/s", "--quiet", "--output-format=folded", f"--event={event}"), re.M))
                 for event in ("resident", "untouched")}
        assert found["resident"] == {"paged": str(nr * half)}, (how, found, said)
        assert found["untouched"] == {"paged": str(nr * half), "freed_half": str(nr * half)}, (how, found, said)
        assert "without a" not in said, (how, said)
    for how, code, want in ((0, 0, {"untouched": 2 * half}), (4, 128 + signal.SIGKILL, {"untouched": half})):
        said = measure(folder, HEAP, "paged", str(how), code=code, events="heap:untouched,heap:resident")
        got = counts(folder)
        assert half <= got.pop("resident", half) < half + (1 << 20) and got == want, (how, got)
        assert ("resident" in counts(folder)) == (how == 0), (how, counts(folder))
        assert ("1 process ended without a look at the pages of their blocks" in said) == (how == 4), (how, said)


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def check_recorder_that_is_gone(folder):
    """A program whose recorder died, or is stopped, ends all the same; of that it waits some seconds for the answer."""
    for sent in (signal.SIGKILL, signal.SIGSTOP)[:2 if IS_LONG else 1]:
        with subprocess.Popen([CPUPERF, f"--output={folder}/{sent}", "--event=heap:resident@1,heap:unreachable@1", "-g", "--", HEAP, "paged", "5"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as recorder:
            pid = int(recorder.stdout.readline())
            recorder.send_signal(sent)
            recorder.stdin.write("\n")
            recorder.stdin.flush()
            while not has_ended(pid):
                time.sleep(0.01)
            recorder.send_signal(signal.SIGCONT)
            recorder.communicate()


def check_pattern(folder):
    """Words that were never written, of blocks that are live at the end of an iteration and of those freed: once."""
    want = {"quarter": 10000 - 2500 - 4, "live_pattern": 1000 * 32, "large_pattern": (2 << 20) - (600 << 10)}
    events = "heap:untouched@1,heap:allocated@1"
    for options in stride((None, ["--duration=1", "--num-iterations=3"], []), 1):
        if options is None:
            measure_first(folder, "patterns", f"--event={events}", "--untouched=pattern")
        else:
            measure(folder, HEAP, "patterns", events=events, options=["--untouched=pattern", *options])
        text = output(PRINT, f"{folder}/s", "--quiet", "--report=tree", "--event=untouched", "--output-format=csv")
        got = {row["function"]: int(row["self_count"]) for row in csv.DictReader(text.splitlines())}
        assert want.items() <= got.items(), (options, text)
    # by pages, as without the option: the large one's
    measure(folder, HEAP, "patterns", events="heap:untouched@1")
    assert counts(folder)["untouched"] in (362 * 4096, 361 * 4096), counts(folder)
    for events, text in (("heap:untouched,heap:resident", "heap:resident: the pattern"), ("heap:peak@1,heap:untouched@1", "heap:peak: the pattern"),
                         ("heap:live", "no event is heap:untouched")):
        done = run(CPUPERF, f"--event={events}", "--untouched=pattern", "--", "true", code=None, cwd=folder)
        assert done.returncode and text in done.stderr, (events, done)


def check_ends(folder):
    """However the program ends, nothing is lost."""
    for what, code in (("killed", -9), ("raw", 0)):
        measure(folder, HEAP, what, code=None)
        got = counts(folder)
        assert got["allocated"] > 0 and got["leaked"] == got["live"] > 0, (what, code, got)


def check_processes(folder):
    """A child of fork and a program of exec have their own amounts; the sums are of all."""
    measure(folder, "sh", "-c", f"{HEAP} ones; {HEAP} freed; exec {HEAP} growing")
    got = counts(folder)
    own = {}
    for what in ("ones", "growing"):
        measure(folder, HEAP, what)
        own[what] = counts(folder)["allocated"]
    assert got["allocated"] >= 10 + 55 + 55 and got["max"] >= 10, got
    assert own == {"ones": 10, "growing": 55}, own


def check_other_preloads_stay(folder):
    """The agent comes before what the user preloads; its own variable reaches the program."""
    said = measure(folder, "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": "libm.so.6", "ASAN_OPTIONS": "verify_asan_link_order=0"})
    assert re.search(r"^/\S*libcpuperf-agent\.so:libm\.so\.6$", said, re.M), said
    said = measure(folder, "sh", "-c", "echo =$LD_PRELOAD=$CPUPERF_HEAP=", events="software:task_clock",
                   env={"LD_PRELOAD": None})
    assert "===" in said, said  # no events, no agent


MPI_LIBRARY = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept, *daemon_kept;
int MPI_Init(int *argc, char ***argv)
{
	pid_t child = fork();

	(void)argc, (void)argv;
	if (child == 0) { /* a daemon of the library: its heap is its own */
		daemon_kept = malloc(50000);
		_exit(0);
	}
	kept = malloc(3000);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}
int MPI_Finalize(void)
{
	free(kept);
	return 0;
}
"""
MPI_PROGRAM = """
#include <stdlib.h>
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
static void *work;
static void finalise(void) { MPI_Finalize(); }
int main(int argc, char **argv)
{
	if (MPI_Init(&argc, &argv) || atexit(finalise))
		return 1;
	work = malloc(700);
	exit(0);
}
"""


def check_mpi(folder):
    """MPI_Init needs no wrapper: it may fork, and the program may end by exit and finalise then. What it allocates has
    its stack; its child has a heap of its own, which --no-children does not measure."""
    for name, text, flags in (("libmpi.so", MPI_LIBRARY, ["-shared", "-fPIC"]),
                              ("prog", MPI_PROGRAM, [f"-L{folder}", "-lmpi", f"-Wl,-rpath,{folder}"])):
        with open(f"{folder}/{name}.c", "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run(["cc", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-o", f"{folder}/{name}",
                        f"{folder}/{name}.c", *flags], check=True)
    for options, children in stride((([], 50000), (["--no-children"], 0)), 1):
        measure(folder, f"{folder}/prog", options=["-g", *options], events="heap:allocated@1,heap:leaked@1,heap:freed@1",
                env={"LD_PRELOAD": None, "ASAN_OPTIONS": "detect_leaks=0"})
        text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", "--output-format=csv")
        found = {r["function"]: (int(r["allocated"]), int(r["freed"]), int(r["leaked"]))
                 for r in csv.DictReader(io.StringIO(text))}
        assert found["MPI_Init"] == (3000 + children, 3000, children), (options, found)
        assert found["main"] == (700, 0, 700), (options, found)


PLAIN = "#include <stdlib.h>\nint main(void) { return malloc(3) == NULL; }\n"


def build(folder, name, *flags):
    """False: no such compiler or library here."""
    with open(f"{folder}/{name}.c", "w", encoding="utf-8") as f:
        f.write(PLAIN)
    return subprocess.run(["cc", "-fno-builtin", "-o", f"{folder}/{name}", f"{folder}/{name}.c", *flags], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def check_refused(folder):
    """Programs that cannot load the agent run as they are, and the reason is said."""
    env = {"LD_PRELOAD": None, "ASAN_OPTIONS": "detect_leaks=0"}
    for name, flags, why in stride((("static", ["-static"], "static is linked statically: it loads no agent"),
                                    ("narrow", ["-m32"], "narrow is a program for another kind of machine"),
                                    ("checked", ["-fsanitize=address"], "checked is linked with a sanitizer"),
                                    ("raised", [], "raised has more rights than its user")), 2):
        if not build(folder, name, *flags):
            print(f"skip: {name}: it cannot be built here")
            continue
        if name == "narrow" and not can_execute(f"{folder}/{name}", name):
            continue
        if name == "narrow" and os.path.exists(os.environ["AGENT"].replace(".so", "-i386.so")):
            print("skip: narrow: it has an agent of its own")
            continue
        if name == "raised":
            if os.getuid():
                print("skip: setuid: only root can make such a file")
                continue
            os.chown(f"{folder}/{name}", 65534, 65534)
            os.chmod(f"{folder}/{name}", 0o4755)
        with open(f"{folder}/script", "w", encoding="utf-8") as f:
            f.write(f"#!{folder}/{name}\n")
        os.chmod(f"{folder}/script", 0o755)
        for command in (name, "script"):
            done = run(CPUPERF, f"--output={folder}/s", "--event=heap:live,software:task_clock", "--", f"{folder}/{command}",
                       cwd=folder, env=env)
            said = done.stdout + done.stderr
            assert why in said and "ld.so" not in said and "task_clock" in said, said
            assert "live  " not in said.replace("not supported", ""), said
            done = run(CPUPERF, f"--output={folder}/s", "--event=heap:live", "--", f"{folder}/{command}", cwd=folder,
                       env=env, code=None)
            assert done.returncode != 0 and why in done.stderr, done
            # so does --check-spec, without running it
            done = run(CPUPERF, "--check-spec", "--event=heap:live,software:task_clock", "--", f"{folder}/{command}",
                       cwd=folder, env=env)
            assert why in " ".join(done.stdout.split()) and "1 of 2 event(s) work here" in done.stdout, done
    done = run(CPUPERF, "--check-spec", "--event=heap:live", "--", "true", cwd=folder, env=env)
    assert "1 of 1 event(s) work here" in done.stdout, done


def check_refused_of_an_ordinary_user(folder):
    """That he may not measure in the kernel is no reason why nothing was measured: this fails as it does for root."""
    who = ordinary_user(folder)
    if who and build(folder, "static", "-static"):
        (program,), how = who
        done = run(program, "--event=heap:live", "--", f"{folder}/static", code=125, **how)
        assert "none of the 1 event(s) can be measured here" in done.stderr, done.stderr


def check_targets(folder):
    """Only a command can have the agent."""
    for options in ([f"--pid={os.getpid()}"], []):
        done = run(CPUPERF, f"--output={folder}/s", "--duration=10ms", "--num-iterations=1", "--event=heap:live", *options,
                   code=None, cwd=folder)
        assert done.returncode != 0 and "an agent in a command that cpuperf starts" in done.stderr, done


def check_errors(folder):
    for events, text in (("heap:allocated@1,heap:live@2", "heap:live has another rate than heap:allocated"),
                         ("heap:allocations@1", "heap:allocations can be counted, not sampled"),
                         ("heap:live@99Hz", "its rate is the bytes per sample")):
        done = run(CPUPERF, f"--event={events}", "--", "true", code=None, cwd=folder)
        assert done.returncode != 0 and text in done.stderr, (events, done)


CHURN = """
#include <stdlib.h>
static void *volatile keep;
__attribute__((noinline)) static void large(void) { keep = malloc(3000); free(keep); __asm__ volatile(""); }
__attribute__((noinline)) static void small(void) { keep = malloc(1000); free(keep); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 400000; i++) { large(); small(); } return 0; }
"""


def check_rates(folder):
    """Samples are weighted: beside an exact count the estimate is near, and so are the shares."""
    with open(f"{folder}/churn.c", "w", encoding="utf-8") as f:
        f.write(CHURN)
    run("cc", "-O1", "-g", "-fno-builtin", "-o", f"{folder}/churn", f"{folder}/churn.c")
    with open(f"{folder}/fixed.cpspec", "w", encoding="utf-8") as f:  # the flag adaptive is missing
        json.dump({"sampling": {"rate": 524288, "flags": ["callchain"]},
                   "events": [{"group_name": "heap", "event_name": name, "rate": 524288} for name in ("allocated", "live")] +
                             [{"group_name": "heap", "event_name": name, "label": label}
                              for name, label in (("allocated", "bytes allocated"), ("max", "largest"))]}, f)
    said = measure(folder, f"{folder}/churn", options=[f"--spec-file={folder}/fixed.cpspec"], events=None)
    exact = 400000 * 4000
    assert counts(folder)["bytes allocated"] == exact, said
    said = output(PRINT, f"{folder}/s", "--quiet", "--report=flat", "--event=allocated")
    m = re.search(r"allocated: ([\d,]+) samples, ([\d.]+) GB", said)
    assert m, said
    nr = int(m[1].replace(",", ""))
    # exponential distances of 512 KiB: about 3052 samples; 6 standard deviations
    assert abs(nr - exact / 524288) < 6 * (exact / 524288) ** .5, said
    assert abs(float(m[2]) * 1e9 - exact) < 6 * exact / nr ** .5, said
    share = float(re.search(r"^ *([\d.]+) % ± .*large$", said[m.start():], re.M)[1])
    assert abs(share - 75) < 6 * 100 * (.75 * .25 / nr) ** .5, said
    assert counts(folder)["largest"] == 3000, said


def by_function(folder):
    """Of each function, by event: the estimate, and the half of its interval that is larger."""
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=heap", "--output-format=csv", "--min-percent=0")
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        found[row["function"]] = {
            e: (int(row[e]), max(int(row[e]) - int(row[f"{e}_low"]), int(row[f"{e}_high"]) - int(row[e])))
            for e in ("peak", "live", "leaked", "allocated", "temporary")}
    return found


def adapt(folder, kind):
    """How far the estimates of a session of heap_adapts.c are from what is so, and half of their intervals of 95 %."""
    said = measure(folder, f"{folder}/adapts", kind, options=["--spec-file=heap"], events=None)
    printed = [list(map(int, m)) for m in re.findall(r"^(\d+) (\d+) (\d+) (\d+)$", said, re.M)]
    assert len(printed) == printed[0][0], (kind, said)
    # of a child the blocks of before its fork are its parent's; each line has the bytes of all before
    first, all_, last = printed[0][1], printed[0][2], sum(p[3] for p in printed)
    got = by_function(folder)
    assert got["early"]["leaked"][0] == first, (kind, got["early"], said)
    if kind == "few":
        assert "±" not in said and "Note" not in said, said
        assert got["late"]["leaked"] == (last, 0) and got["brief"]["temporary"] == (all_, 0), (kind, got)
        assert got["late"]["peak"] == (last, 0), (kind, got)
        return {}
    assert re.search(r"exact numbers of the first allocations alone", said), (kind, said)
    assert re.search(r"allocated .* \([\d,]+ calls exactly, then [\d,]+ samples\)", said.replace("\n  ", " ")), said
    folded = output(PRINT, f"{folder}/s", "--quiet", "--output-format=folded", "--event=live")
    shown = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines() if line)
    assert shown == counts(folder)["live"], (kind, shown, counts(folder))
    truth = {("late", event): last for event in ("leaked", "live", "peak")}
    if kind in ("steady", "bursts", "threads"):
        truth["brief", "temporary"] = all_
    if kind == "growing":
        truth["growing", "live"] = 0
    found = {at: (got[at[0]][at[1]][0] - want, got[at[0]][at[1]][1]) for at, want in truth.items()}
    assert all(half > 0 for at, (_, half) in found.items() if at[0] != "growing"), (kind, got, said)
    return found


def check_adaptive(folder):
    """By default all is exact while that costs little, then sampled: what is lost before is exact, and all else is right
    within twice its error, however the program allocates. Chance alone is beyond that once in some thousands: then the mean
    of four other sessions decides, whose error is half as large."""
    run("cc", "-O1", "-g", "-fno-builtin", "-pthread", "-o", f"{folder}/adapts", f"{os.path.dirname(__file__)}/heap_adapts.c")
    for kind in "few steady bursts growing threads forks".split():
        found = adapt(folder, kind)
        beyond = [at for at, (off, half) in found.items() if abs(off) > 2 * half + 1]
        if not beyond:
            continue
        print(f"{kind}: {beyond} of {found}", flush=True)
        more = [adapt(folder, kind) for _ in range(4)]
        for at in beyond:
            off, half = (sum(of[at][i] for of in more) / 4 for i in (0, 1))
            assert abs(off) <= half + 1, (kind, at, found, more)


def check_beside_a_clock(folder):
    """Samples of the heap and of a clock in one session; -g is for both, each in its way."""
    said = measure(folder, HEAP, "growing", events="heap:allocated@1,software:cpu_clock@100000,heap:allocations",
                   options=["-g=dwarf"])
    assert heading(folder, "allocated") == "allocated: 10 samples, 55 B", said
    assert tree(folder, "allocated")["main"] == (10, 55), said
    assert counts(folder)["allocations"] == 10, said


def check_runs(folder):
    """Each run is an iteration with a process of its own."""
    measure(folder, HEAP, "growing", options=["--runs=3"])
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration")
    assert re.findall(r"^  allocated +([\d,]+)", text, re.M)[::2][:3] == ["55"] * 3, text


if shutil.which("cc") is None:
    print("skip: no C compiler")
    sys.exit(77)
run_checks(globals(), everybody=True)
