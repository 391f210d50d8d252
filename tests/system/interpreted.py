"""Sessions of programs that are interpreted: what tests of several languages share."""
import contextlib
import csv
import io
import re
import sqlite3
import subprocess

from kit import PRINT, output


def rows(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=csv", "--top=0", *options)
    return list(csv.DictReader(io.StringIO(text)))


def folded(folder, *options):
    """The functions of each stack, and its weight."""
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=folded", *options)
    found = [re.fullmatch(r"(.*) (\d+)", line).groups() for line in text.splitlines()]
    return [(stack.split(";"), int(weight)) for stack, weight in found]


def sampled_stacks(folder, of_threads=True):
    """The time of each sample, and the names of its functions. of_threads: also of those that a program has started."""
    output(PRINT, "--quiet", f"{folder}/s", "--output-format=sqlite", f"--output-file={folder}/s.sqlite")
    with contextlib.closing(sqlite3.connect(f"{folder}/s.sqlite")) as d:
        parents = {stack: (parent, name) for stack, parent, name in d.execute(
            "SELECT stack, parent, name FROM stacks JOIN functions USING (function)")}
        for time_ns, stack in d.execute("SELECT time_ns, stack FROM samples JOIN tasks USING (task) WHERE ? OR pid = tid "
                                        "ORDER BY time_ns", (of_threads,)).fetchall():
            names = set()
            while stack in parents:
                stack, name = parents[stack]
                names.add(name)
            yield time_ns, names


def count_calls(folder, stacks, begin="f_"):
    """By the program's own account, the lines "since until name" of the file calls: samples of a function that ran then, of
    another, and of none since the process was recognised."""
    with open(f"{folder}/calls", encoding="ascii") as f:
        calls = [(int(since), int(until), name) for since, until, name in map(str.split, f)]
    right = wrong = neither = 0
    for time_ns, names in stacks:
        ran = next((name for since, until, name in calls if since <= time_ns <= until), None)
        found = {name for name in names if name.startswith(begin)}
        wrong += ran is not None and bool(found - {ran})
        right += found == {ran}
        neither += right > 0 and ran is not None and not found
    return right, wrong, neither


@contextlib.contextmanager
def running(*command):
    """A program that says that it is there, and goes on when its input ends."""
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        assert program.stdout.readline() == "here\n"
        yield program
