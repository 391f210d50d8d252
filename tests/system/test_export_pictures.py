#!/usr/bin/env python3
"""--output-format=svg and dot: do boxes, nodes and edges stand for what folded and the reports say, and can a name
break them? Where Graphviz is, it reads the graphs.
"""
import collections
import csv
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sampled  # noqa: E402
import kit  # noqa: E402
from kit import PRINT, run, run_checks, show  # noqa: E402
from sampled import event  # noqa: E402

SOURCE = os.environ["SOURCE_DIR"]
ROW, WHOLE = 16, 1180  # pixels: the height of a box, and the width of all samples
NAME = '<&">\\]]>\x1b'  # of a task
SPIN = "import ctypes, sys\nctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)\nprint(flush=True)\nwhile True: pass"


def record(folder):
    with subprocess.Popen([sys.executable, "-c", SPIN, NAME], stdout=subprocess.PIPE) as odd, sampled.Busy():
        odd.stdout.readline()
        p = sampled.start(folder, [event("software:cpu_clock", rate=1000000, flags=["callchain"]),
                                   sampled.counted(rate=1, flags=["callchain"])], "--duration=600",
                          f"--pid={os.getpid()}")  # files of others may be replaced: their functions lose names
        sampled.wait_for_mappings(p, f"{folder}/t.common.cpuperf", [odd.pid])  # and its name
        sampled.wait_for_cpu_time([odd], sampled.user_seconds(odd.pid) + 0.1)
        p.send_signal(signal.SIGINT)
        sampled.finish(p)
        odd.kill()


def csv_of(*args):
    return list(csv.DictReader(io.StringIO(show(SESSION, "--output-format=csv", "--top=0", *args))))


def prefixes():
    """Event, depth and name of each frame that folded has, to its part of the event's weight."""
    out, whole = collections.Counter(), collections.Counter()
    for line in show(SESSION, "--output-format=folded").splitlines():
        stack, weight = line.rsplit(" ", 1)
        label, *names = stack.split(";")
        whole[label] += int(weight)
        for depth, name in enumerate(names):
            out[label, depth, name.removesuffix("_[k]")] += int(weight)
    return {key: weight / whole[key[0]] for key, weight in out.items()}


def boxes():
    """Event, depth, name, part of the event by its title, left and right edge of each box."""
    root = xml.fromstring(show(SESSION, "--output-format=svg").encode())
    svg = root.tag.removesuffix("svg")
    heads = [(float(t.get("y")), t.text) for t in root.findall(f"{svg}text")]
    found, bases = [], {}
    for g in root.findall(f"{svg}g"):
        rect, title = g.find(f"{svg}rect"), g.find(f"{svg}title").text
        x, y, width = (float(rect.get(k)) for k in ("x", "y", "width"))
        assert y >= 0 and y + ROW <= float(root.get("height")), (y, root.get("height"))
        label = [text for at, text in heads if at < y][-1].split(": ")[0]
        bases[label] = max(y, bases.get(label, 0))
        name, share = re.fullmatch(r"(.*?)(?: \([^()]*\))?\n([\d.]+) %, .*", title, re.DOTALL).groups()
        found.append((label, y, name, float(share) / 100, x, x + width))
    return [(label, round((bases[label] - y) / ROW), *rest) for label, y, *rest in found], [text for _, text in heads]


def check_svg(_):
    found, heads = boxes()
    expected = prefixes()
    assert [text.split(": ")[0] for text in heads] == list(dict.fromkeys(key[0] for key in expected)), heads
    shares = collections.Counter()
    for label, depth, name, share, left, right in found:
        assert abs((right - left) / WHOLE - share) < 0.0002, (name, left, right, share)  # both are rounded
        shares[label, depth, name] += share
        if depth:
            below = [b for b in found if b[:2] == (label, depth - 1) and b[4] - 0.11 <= left and right <= b[5] + 0.11]
            assert below, (name, left, right)
    for (label, depth, name), share in expected.items():
        nr = sum(b[:3] == (label, depth, name) for b in found)
        # what has 0.3 pixels is drawn
        if share > 0.01 and name != "[unknown]":  # of which each has its own box
            assert abs(shares[label, depth, name] - share) < 0.0001 * nr + 0.005, (name, depth, share, shares[label, depth, name])
    assert sum(shares[key] for key in shares if key[:2] == ("cpu_clock", 0)) > 0.99
    assert any(name == NAME.replace("\x1b", "?") for _, depth, name, *_ in found if depth == 0), {b[2] for b in found if not b[1]}


def plain(text):
    return re.sub(r"\\(.)", r"\1", text)


def graphs(text):
    """Event to its nodes, number: ((name, file), own, total), and edges, (caller, callee): share, in percent."""
    out = {}
    for label, body in re.findall(r'^digraph "([^"]*)" \{\n(.*?)^\}\n', text, re.DOTALL | re.MULTILINE):
        text_ = r'"((?:[^"\\]|\\["\\])*)'
        nodes = {n: ((plain(name), plain(file)), float(own), float(total)) for n, name, own, total, file in re.findall(
            rf'^  (f\d+) \[label={text_}\\n([\d.]+) % of ([\d.]+) %", tooltip={text_}"', body, re.MULTILINE)}
        edges = {(a, b): float(share) for a, b, share in re.findall(r'^  (f\d+) -> (f\d+) \[label=" ([\d.]+) %"', body, re.MULTILINE)}
        out[label] = nodes, edges
    return out


def check_dot(_):
    text = show(SESSION, "--output-format=dot")
    shown = graphs(text)
    calls = csv_of("--report=calls")
    totals = {(r["event"], r["function"], r["object"] or r["function"]): float(r["total"])
              for r in csv_of("--report=flat", "--sort=function,object")}
    assert list(shown) == list(dict.fromkeys(row["event"] for row in calls)), list(shown)
    for label, (nodes, edges) in shown.items():
        assert all(own <= total for _, own, total in nodes.values())
        for name, _, total in nodes.values():
            assert total >= 0.5 and abs(total - totals[label, *name]) < 0.01, (name, total, totals[label, *name])
        named = collections.Counter()
        for (a, b), share in edges.items():
            named[nodes[a][0], nodes[b][0]] += share
        expected = collections.Counter()
        names = {name for name, *_ in nodes.values()}
        for row in calls:
            pair = tuple((row[who], row[f"{who}_object"] or row[who]) for who in ("caller", "callee"))
            if row["event"] == label and float(row["share"]) >= 0.5 and set(pair) <= names:
                expected[pair] += float(row["share"])
        assert named.keys() == expected.keys(), named.keys() ^ expected.keys()
        assert all(abs(named[key] - expected[key]) < 0.02 for key in named), (named, expected)
    few = graphs(show(SESSION, "--output-format=dot", "--top=2", "--min-percent=0"))
    assert all(len(nodes) == 2 for nodes, _ in few.values()), few
    if not shutil.which("dot"):
        print("skip: Graphviz: dot is not here", flush=True)
        return
    assert b"<svg" in run("dot", "-Tsvg", input=text.encode(), text=False).stdout


def browser(folder, text):
    """A folder with nothing but this script as xdg-open, and the file in which it says how it was called."""
    os.makedirs(f"{folder}/bin")
    with open(f"{folder}/bin/xdg-open", "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\n{text}\n")
    os.chmod(f"{folder}/bin/xdg-open", 0o755)
    os.chmod(folder, 0o777)
    return f"{folder}/bin"


def opened(folder, *args, code=0, **env):
    """In the folder: the page of the session, opened."""
    usual = {"PATH": f"{folder}/bin", "DISPLAY": ":77", "WAYLAND_DISPLAY": None, "BROWSER": None, "SUDO_UID": None, "SUDO_GID": None}
    return run(PRINT, "--quiet", f"--session={SOURCE}/tests/data/sessions/tally.cpsession", "--open", *args, cwd=folder, code=code, env={**usual, **env})


def check_open(folder):
    """The page is written, then the user's program for it gets its path, as one word and without a shell; if none is there, or
    it fails, that is an error which says where the page is."""
    named = f"{folder}/named"
    browser(named, f'printf "%s|" "$#" "$@" > {named}/calls; /bin/mv {named}/calls {named}/said')
    opened(named)
    kit.read_when_there(f"{named}/said", f"1|{named}/cpuperf.html|")
    with open(f"{named}/cpuperf.html", encoding="utf-8") as page:
        assert page.read().startswith("<!doctype html>")
    os.unlink(f"{named}/said")
    opened(named, "--output-format=html", "--output-file=$(a b);.html")
    kit.read_when_there(f"{named}/said", f"1|{named}/$(a b);.html|")
    failing = f"{folder}/failing"
    browser(failing, "exit 3")
    for why, more, env in (("exit status 3", [], {}), ("neither xdg-open nor a browser", [], {"PATH": folder}),
                           ("there is no screen", [], {"DISPLAY": None})):
        said = opened(failing, *more, code=1, **env).stderr
        assert why in said and f"the page is {failing}/cpuperf.html" in said, said
    for why, more in (("excludes --output-format=csv", ["--output-format=csv"]), ("no file that a browser", ["--output-file=/dev/stdout"]),
                      ("mutually exclusive", ["--report=flat"])):
        said = opened(failing, *more, code=2).stderr
        assert why in said, said


def check_open_sudo(folder):
    """Root by sudo writes and opens it as the user who called it; what that user may not replace stays."""
    if os.geteuid() != 0:
        print("skip: sudo: needs root", flush=True)
        return
    nobody = {"SUDO_UID": "65534", "SUDO_GID": "65534"}
    theirs = f"{folder}/theirs"
    browser(theirs, f'/usr/bin/id -u > {theirs}/calls; /bin/mv {theirs}/calls {theirs}/said')
    for place in (folder, os.path.dirname(folder)):
        os.chmod(place, 0o755)
    for _ in range(2):  # also where the page is there already
        opened(theirs, **nobody)
        kit.read_when_there(f"{theirs}/said", "65534\n")
        assert os.stat(f"{theirs}/cpuperf.html").st_uid == 65534
        os.unlink(f"{theirs}/said")
    os.chown(f"{theirs}/cpuperf.html", 0, 0)
    assert "belongs to another user" in opened(theirs, code=1, **nobody).stderr
    assert not os.path.exists(f"{theirs}/said")
    os.mkdir(f"{folder}/own", mode=0o700)  # of root
    said = opened(f"{folder}/own", code=1, **nobody, PATH=f"{theirs}/bin").stderr
    assert "of user 65534, who called sudo" in said and "--output-file=/tmp/cpuperf.html" in said, said
    assert "who called sudo" not in opened(theirs, "--output-file=none/page.html", "--output-format=html", code=1, **nobody).stderr


with tempfile.TemporaryDirectory(prefix="cpuperf-test.") as SESSION:
    record(SESSION)
    run_checks(globals())
