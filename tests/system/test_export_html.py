#!/usr/bin/env python3
"""Is the page of --output-format=html true, and can it be used? Real sessions become pages, which headless
Chromium opens (browser.py): with real clicks, drags and keys, and numbers held against those of
--report=flat. Names of functions, tasks and the session are markup. Nothing may be asked of the network,
nothing may be logged. CPUPERF, CPUPERF_PRINT and MIX name the programs; a compiler makes one more.
"""
import collections
import colorsys
import csv
import functools
import io
import json
import math
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import zlib

import browser
import pages
import perf_data_file as pd
import sampled
from sampled import event

PRINT = os.environ["CPUPERF_PRINT"]
LC_ALL = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}  # numbers have points all the same
NAME = "</script><script>window.hacked=1</script>"
FUNCTION = "</script><img src=x onerror=window.hacked=1>&amp;<!--"
COMM = "</b><i>&lt;\u2028"  # 15 bytes at most
FILE = "halves"  # of no other test, whose file may be gone between two readings
MS = 1000000

# Half of the time in first_half, half in second_half, which a function of an evil name calls, within itself.
PROGRAM = r"""
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
#define WORK(name) __attribute__((noinline)) void name(double end) { volatile int x = 0; \
	while (now() < end) for (int i = 0; i < 20000; i++) x++; }
WORK(first_half)
WORK(second_half)
__attribute__((noinline)) void evil(double end, int n) __asm__("\"EVIL\"");
void evil(double end, int n) { if (n) evil(end, n - 1); else second_half(end); __asm__ volatile(""); }
int main(void)
{
	double begin;
	char c;
	prctl(PR_SET_NAME, "COMM");
	if (read(0, &c, 1)) return 1; /* until it is measured */
	begin = now();
	first_half(begin + 0.5);
	evil(begin + 1, 2);
	first_half(begin + 30);
}
"""


def compile_program(folder):
    path = f"{folder}/{FILE}"
    text = PROGRAM.replace("EVIL", FUNCTION.replace("\\", "\\\\")).replace("COMM", COMM)
    with open(f"{folder}/program.c", "w", encoding="utf-8") as out:
        out.write(text)
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-D_GNU_SOURCE", "-O1", "-g",
                    "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", path, f"{folder}/program.c"],
                   check=True)
    return path


def record(folder, events, programs, *args, seconds=None, **keys):
    """A session, while the programs run; until each had a CPU for so long, if that is said. Their input ends when it begins
    to measure."""
    os.mkdir(folder)
    running = [subprocess.Popen(p, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for p in programs]
    try:
        session = sampled.start(folder, events, *args, **keys)
        for p in running:
            p.stdin.close()
        if seconds:
            sampled.finish_when(session, folder, running, seconds)
        else:
            sampled.finish(session)
    finally:
        for p in running:
            p.kill()
            p.wait()
    return f"{folder}/s.cpsession", [p.pid for p in running]


def run_print(*args, code=0):
    p = subprocess.run([PRINT, "--quiet=2", *args], capture_output=True, text=True, check=False,
                       env={**os.environ, **LC_ALL})
    assert p.returncode == code, (args, p.returncode, p.stderr)
    return p.stdout if code == 0 else p.stderr


def make_page(session, path, *args):
    run_print(f"--session={session}", "--output-format=html", f"--output-file={path}", *args)
    return path


@functools.cache
def report(session, name, *args):
    out = run_print(f"--session={session}", f"--report={name}", "--output-format=csv", "--top=0", *args)
    return list(csv.DictReader(io.StringIO(out)))


def flat(session, *args, which="cpu_clock"):
    """(function, object): self, total, samples, of an event."""
    return {(r["function"], r["object"]):
            (int(r["self_count"]), int(r["total_count"] or 0), int(r["self_samples"]))
            for r in report(session, "flat", *args) if r["event"] == which}


def table(page):
    """The same, of what the page shows."""
    rows = page.run("cpuperf.functions()")
    assert len(rows) == len({(r["name"], r["object"]) for r in rows})
    return {(r["name"], r["object"]): (r["self"][0], r["total"][0], r["samples"][0]) for r in rows}


def comparable(numbers):
    """Files of other programs come and go between two readings, and with them the names of their functions,
    and of what is mapped: only what they have together is the same."""
    out = {}
    for (name, file), (self, total, samples) in numbers.items():
        key, total = ((name, file), total) if file in (FILE, "[kernel]") else ("others", 0)
        before = out.get(key, (0, 0, 0))
        out[key] = (before[0] + self, before[1] + total, before[2] + samples)
    return {key: value for key, value in out.items() if any(value)}


def same(page, expected):
    got, expected = comparable(table(page)), comparable(expected)
    assert got == expected, {k: (got.get(k), expected.get(k)) for k in {*got, *expected}
                             if got.get(k) != expected.get(k)}
    assert expected


def frames(page):
    return page.run("cpuperf.frames()")


def frame(page, name):
    return max((f for f in frames(page) if f["name"] == name), key=lambda f: f["width"])


def text(page, selector):
    return page.run(f"document.querySelector({json.dumps(selector)}).textContent")


def point(page, name):
    """Where a frame is in view."""
    x, y, _, _ = page.box("#graph")
    f = frame(page, name)
    return x + f["left"] + f["width"] / 2, y + f["top"] + f["height"] / 2


def pixels(page, x, y, width, height):
    """Rows of (red, green, blue) of the screen."""
    clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
    scroll = page.run("[scrollX, scrollY]")
    clip["x"] += scroll[0]
    clip["y"] += scroll[1]
    return decode_png(browser.base64.b64decode(
        page.call("Page.captureScreenshot", format="png", clip=clip)["data"]))


def decode_png(data):
    at, packed, width, height, size = 8, b"", 0, 0, 0
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            width, height, _, color = struct.unpack_from(">IIBB", data, at + 8)
            size = {2: 3, 6: 4}[color]
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    raw, before, rows = zlib.decompress(packed), bytes(width * size), []
    for y in range(height):
        start = y * (width * size + 1)
        before = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + width * size]), before, size)
        rows.append([tuple(before[i:i + 3]) for i in range(0, width * size, size)])
    return rows


def unfilter(kind, line, before, size):
    for i, byte in enumerate(line):
        a = line[i - size] if i >= size else 0
        b, c = before[i], before[i - size] if i >= size else 0
        paeth = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        line[i] = (byte + (0, a, b, (a + b) // 2, paeth)[kind]) % 256
    return bytes(line)


def choose(page, field, wanted):
    """By its text."""
    value = page.run(f"[...document.getElementById('{field}').options].find((o) => "
                     f"o.textContent.includes({json.dumps(wanted)})).value")
    page.run(f"(() => {{ const e = document.getElementById('{field}'); e.value = '{value}';"
             "e.dispatchEvent(new Event('change', {bubbles: true})); })()")
    page.settle()


# ---- what is checked

def check_file(path):
    """Markup of strangers is nowhere in it, and the policy is strict."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    assert page.count("</script>") == 2 and page.count("<script") == 2, page.count("</script>")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    assert not re.search("[<>&\u2028\u2029]", data)
    assert FUNCTION in json.loads(data)["names"]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert re.fullmatch(r"default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src "
                        r"'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'", policy), policy
    ours = page.replace(data, "")
    assert not re.search(r"(src|href)=|@import|url\(|https?:", ours), "something is from elsewhere"
    return json.loads(data)


def check_quiet(page, path):
    page.assert_quiet()
    assert {url.split("#")[0] for url in page.requests()} == {"file://" + path}, page.requests()
    assert page.run("window.hacked") is None
    assert page.run("document.images.length + document.querySelectorAll('b + i').length") == 0


def check_policy(page):
    """Even what got in would not run, and could not tell anybody."""
    page.run("(() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
             "document.body.append(s); document.body.insertAdjacentHTML('beforeend', "
             "'<img src=\"http://127.0.0.1:9/\" onerror=\"window.hacked = 1\">'); })()")
    assert page.run("fetch('http://127.0.0.1:9/').then(() => 1, () => 0)") == 0
    page.settle()
    assert page.run("window.hacked") is None
    assert any("Content Security Policy" in str(p) for p in page.problems())
    assert not [p for p in page.problems() if "Refused" not in str(p) and "violates" not in str(p)]


def check_header(page, session):
    info = page.run("[...document.querySelectorAll('#facts dt')].map((e) => [e.textContent, "
                    "e.nextSibling.textContent])")
    facts = dict(info)
    assert text(page, "h1").startswith(f"{NAME}: machine ") and page.run("document.title").startswith(NAME)
    assert facts["Session"].startswith(session) and facts["Host"].startswith(os.uname().nodename)
    assert os.uname().release in facts["Kernel"] and NAME in facts["Spec"]
    events = [value for name, value in info if name == "Event"]
    clock = next(e for e in events if e.startswith("software:cpu_clock [ns], sampled each 1000000: "))
    assert int(re.search(r"([\d,]+) samples", clock)[1].replace(",", "")) == sum(
        s for _, _, s in flat(session).values())
    assert re.match(r"[\d,]+ samples, [\d.]+ (m?s)$", text(page, "#span-said")), text(page, "#span-said")


def check_root(page):
    root = frames(page)[0]
    width = page.run("document.getElementById('graph').clientWidth")
    assert root["name"] == "all" and root["left"] == 0 and abs(root["width"] - width) < 0.5
    assert root["depth"] == 0 and width > 1000
    assert page.run("document.getElementById('scroll').getBoundingClientRect().bottom < innerHeight"), "it is in sight"
    below = [f["width"] for f in frames(page) if f["depth"] == 1]
    whole, *parts = page.run("(() => { const g = cpuperf.page.graph.graph; return [g.root, ...g.children(g.root)].map((f) => f.width); })()")
    parts = [width * part / whole for part in parts]
    # what else runs may have many functions of a sample each, which are too narrow to be drawn
    assert sum(below) <= width + 1 and 0.9 * width < sum(parts) <= width + 1, (below, parts)
    assert sum(p > 0.41 for p in parts) <= len(below) <= sum(p > 0.39 for p in parts), (below, parts)


def check_drawn(page):
    """What is on the screen is what the page says of its frames. Beside others the program's are narrow, without a name."""
    widest = max((f for f in frames(page) if f["depth"] == 1), key=lambda f: f["width"])["name"]
    for name in widest, "first_half":
        width = frame(page, name)["width"]
        x, y = (round(v) for v in point(page, name))
        colors = [c for row in pixels(page, round(x - width / 2) + 1, y - 8, round(width) - 3, 16) for c in row]
        most = max(set(colors), key=colors.count)
        assert colors.count(most) > len(colors) / 2 and max(most) > 100, most
        assert name != widest or len(set(colors)) > 10, ("there is no name on it", name, width)
    other = pixels(page, *(round(v) for v in point(page, "all")), 3, 3)[1][1]
    assert other != most, (other, most)
    wanted = page.run("getComputedStyle(document.documentElement).getPropertyValue('--bars')").strip()
    wanted = tuple(int(wanted[i:i + 2], 16) for i in (1, 3, 5))
    check_bars(page, wanted)
    # of a program that has its CPU all the time the bars may be of one height
    page.run("(() => { const { model, time } = cpuperf.page; model.kept = model.slices[0]; "
             "model.slices[0] = [...model.kept].map((weight, i) => i * 7 % 23); time.draw(); })()")
    check_bars(page, wanted)
    page.run("(() => { const { model, time } = cpuperf.page; model.slices[0] = model.kept; delete model.kept; "
             "time.draw(); })()")


def check_bars(page, color):
    """Those of the first 300 pixels are as high as their weights; iterations begin at lines over some."""
    x, y, _, _ = page.box_in("#time", "#axis")
    drawn = pixels(page, x, y, 300, page.run("cpuperf.page.time.rows[0].height"))
    bars = page.run("[...cpuperf.page.model.slices[0]].map((weight, i) => [weight, cpuperf.page.time.xOf(i)])")
    most, room = max(weight for weight, _ in bars), len(drawn) - 8
    own = [(weight / most * room, [row[math.ceil(left)] for row in drawn].count(color))
           for weight, left in bars if left < len(drawn[0]) - 1]
    right = [wanted for wanted, got in own if abs(got - wanted) <= 1.5]
    assert len(right) >= 0.8 * len(own) > 20 and max(right) > 0, (own, color)


def check_click(page, session):
    everything = frame(page, "all")["weight"][0]
    before = frame(page, "second_half")["width"]
    page.click(*point(page, "second_half"))
    assert page.run("cpuperf.zoomed()") == "second_half" and not page.run("cpuperf.isMoving()")
    after = frame(page, "second_half")
    assert after["width"] > before and abs(after["width"] - frame(page, "all")["width"]) < 0.5
    weight = flat(session)[("second_half", FILE)][1]
    assert after["weight"][0] == weight and everything > weight
    assert FUNCTION in text(page, "#path") and not page.run("document.getElementById('path').hidden")
    assert text(page, "#said").startswith("second_half · halves · "), text(page, "#said")
    page.click_on("#reset")
    assert page.run("cpuperf.zoomed()") == "all" and abs(frame(page, "second_half")["width"] - before) < 0.5
    page.click(*point(page, FUNCTION))
    page.click_on("#path button")
    assert page.run("cpuperf.zoomed()") == "all"


def share_of(numbers, name):
    return numbers[(name, FILE)][1] / sum(s for s, _, _ in numbers.values())


def lab(rgb_):
    """CIE L*a*b* (D65) of red, green and blue from 0 to 255."""
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055)**2.4 for c in rgb_]
    xyz = [sum(w * c for w, c in zip(row, linear)) for row in (
        (0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0178, 0.1095, 0.8728))]
    x, y, z = (t**(1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one, other):
    """The distance of two colours by CIEDE2000 (Sharma, Wu, Dalal 2005)."""
    (l1, a1, b1), (l2, a2, b2) = lab(one), lab(other)
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 1.5 - 0.5 * math.sqrt(mean**7 / (mean**7 + 25**7))
    c1, c2 = math.hypot(g * a1, b1), math.hypot(g * a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0
    h, c, l = math.radians((h1 + turn / 2) % 360), (c1 + c2) / 2, (l1 + l2) / 2
    t = (1 - 0.17 * math.cos(h - math.radians(30)) + 0.24 * math.cos(2 * h) + 0.32 * math.cos(3 * h + math.radians(6)) -
         0.2 * math.cos(4 * h - math.radians(63)))
    dl = (l2 - l1) / (1 + 0.015 * (l - 50)**2 / math.sqrt(20 + (l - 50)**2))
    dc = (c2 - c1) / (1 + 0.045 * c)
    dh = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn) / 2) / (1 + 0.015 * c * t)
    rotated = math.radians(60 * math.exp(-((math.degrees(h) - 275) / 25)**2))
    return math.sqrt(dl**2 + dc**2 + dh**2 - math.sin(rotated) * 2 * math.sqrt(c**7 / (c**7 + 25**7)) * dc * dh)


def colors_are_apart(page):
    """Those of the legends, in both themes."""
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/../../cpuperf_print/web/graph.js", encoding="utf-8") as f:
        lists = "".join(re.findall(r"^const (?:KERNEL_COLOR|COLORS|STATE_HUES) = .*?;", f.read(), re.M | re.S))
    for theme in range(2):
        for what, least in (("[...COLORS, KERNEL_COLOR, undefined]", 13), ("STATE_HUES.map((hue) => ({ hue }))", 16)):
            of = page.run(f"(() => {{ {lists} return {what}.map((c) => cpuperf.page.colors.of(c, 0)); }})()")
            assert len(of) > 4
            for i, one in enumerate(of):
                for other in of[:i]:
                    far = apart(*(rgb(c) if c.startswith("hsl") else [int(c[k:k + 2], 16) for k in (1, 3, 5)]
                                  for c in (one, other)))
                    assert far >= least, (theme, one, other, far)
        page.click_on("#theme")


def check_search(page, session):
    numbers = flat(session)
    share = share_of(numbers, "second_half")
    color = frame(page, "second_half")["color"]
    page.run("document.getElementById('graph').focus()")
    page.key("/")
    assert page.run("document.activeElement.id") == "search" and page.run(
        "document.getElementById('search').value") == ""
    page.type("SECOND_HAL")
    found = re.match(r"([\d.]+) % of the samples$", text(page, "#found"))
    assert abs(float(found[1]) - 100 * share) < 0.06, (found[0], share)
    lit = {f["color"] for f in frames(page) if f["name"] == "second_half"}
    assert len(lit) == 1 and lit != {color}
    assert not {f["color"] for f in frames(page) if "second_hal" not in f["name"]} & lit
    assert page.run("[...document.querySelectorAll('tr.found td.name')].map((e) => e.textContent)") == [
        "second_half"]
    page.run("document.getElementById('search').select()")
    page.type("onError=")  # whatever it calls is found with it
    found = re.match(r"([\d.]+) % of the samples$", text(page, "#found"))
    assert abs(float(found[1]) - 100 * share_of(numbers, FUNCTION)) < 0.06, found[0]
    page.type(" nothing is so")
    assert text(page, "#found") == "nothing found"
    page.key("Escape")  # the list, where it is open
    page.key("Escape")
    assert text(page, "#found") == "" and frame(page, "second_half")["color"] == color
    assert page.run("document.activeElement.id") == "graph"


def check_keys(page, pid):
    seen = []
    page.run("document.getElementById('theme').focus()")
    for _ in range(40):
        page.key("Tab")
        seen.append(page.run("document.activeElement.id || document.activeElement.tagName"))
        if seen[-1] == "filter":
            break
    order = [seen.index(i) for i in ("event", "search", "from", "to", "axis", "graph",
                                     "filter")]
    assert order == sorted(order), seen
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.search(f"pid:{pid}")  # whatever else the machine does
    page.run("document.getElementById('graph').focus()")
    page.key("Home")
    names = []
    for _ in range(60):
        page.key("ArrowUp")
        names.append(page.run("cpuperf.focused()"))
        if names[-1] in ("first_half", "second_half"):
            break
    assert names[-1] in ("first_half", "second_half") and "main" in names, names
    assert text(page, "#said").startswith(names[-1] + " · halves · ")
    page.key("ArrowDown")
    assert page.run("cpuperf.focused()") == names[-2]
    page.key("Enter")
    assert page.run("cpuperf.zoomed()") == names[-2]
    page.key("Escape")
    assert page.run("cpuperf.zoomed()") != names[-2]
    while page.run("cpuperf.zoomed()") != "all":
        page.key("Escape")
    page.search("")
    page.run("document.getElementById('graph').focus()")
    page.key("Home")
    page.key("ArrowUp")
    row = [f["name"] for f in sorted((f for f in frames(page) if f["depth"] == 1),
                                     key=lambda f: f["left"])]
    at = row.index(page.run("cpuperf.focused()"))
    steps = ("ArrowRight", "ArrowLeft") if at == 0 else ("ArrowLeft", "ArrowRight")
    page.key(steps[0])
    assert page.run("cpuperf.focused()") == row[1 if at == 0 else at - 1]
    page.key(steps[1])
    assert page.run("cpuperf.focused()") == row[at]


def time_of(page, name):
    return page.run(f"document.getElementById('{name}').value")


def selected(page):
    return page.run("[cpuperf.page.model.first, cpuperf.page.model.end]")


def check_time(page, session):
    """Where second_half ran; the rest has none of it."""
    x, y, width, _ = page.box_in("#time", "#axis")
    slices = page.run("cpuperf.page.data.nr_slices")
    assert 150 <= slices <= 402, slices
    assert time_of(page, "from") == "0ms"
    page.drag(x + width * 0.2, x + width * 0.41, y + 30)
    start, end = time_of(page, "from"), time_of(page, "to")
    some = flat(session, f"--from={start}", f"--to={end}")
    assert some != flat(session) and start != "0ms"
    same(page, some)
    assert f"--from={start} --to={end}" in text(page, "#span-said")
    total = sum(s for s, _, _ in some.values())
    assert frame(page, "all")["weight"][0] == total
    first, last = selected(page)
    page.drag(x + width * 0.3, x + width * 0.5, y + 60)  # from within: is moved
    moved = selected(page)
    assert moved[0] > first and moved[1] - moved[0] == last - first, (first, last, moved)
    same(page, flat(session, f"--from={time_of(page, 'from')}", f"--to={time_of(page, 'to')}"))
    page.drag(x + moved[1] / slices * width, x + width * 0.9, y + 60)  # by its border: is longer
    assert selected(page)[0] == moved[0] and selected(page)[1] > moved[1], (moved, selected(page))
    first, last = selected(page)
    page.run("document.getElementById('axis').focus()")
    page.key("ArrowRight")
    assert selected(page) == [first + 1, last + 1]
    page.key("ArrowLeft", modifiers=8)
    assert selected(page) == [first + 1, last]
    same(page, flat(session, f"--from={time_of(page, 'from')}", f"--to={time_of(page, 'to')}"))
    page.key("Escape")
    assert time_of(page, "from") == "0ms"
    same(page, flat(session))
    page.click_on("#to")
    page.run("document.getElementById('to').select()")
    page.type("0.8 s")
    page.key("Enter")
    assert time_of(page, "to") == "800ms", time_of(page, "to")
    same(page, flat(session, "--to=800ms"))
    page.click_on("#all-time")
    same(page, flat(session))


def check_whole_first(page):
    """What is typed whole is the first to be chosen, also where others have it within them, and more samples."""
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/../../cpuperf_print/web/query.js", encoding="utf-8") as f:
        names = page.run(f"(() => {{ {f.read()}; return completionsOf('pid:12', {{ pid: [[3124, 'c'], [123, 'b'], [12, 'a']] }})"
                         ".map((item) => item.name); })()")
    assert names == ["pid:12", "pid:3124", "pid:123"], names


def check_choices(page, session, pid):
    check_whole_first(page)
    comm = "</b><i>&lt;"
    page.run("document.getElementById('search').focus()")
    page.type(f"pid:{pid}")
    assert comm in text(page, "#completions li"), "what is chosen has a name"
    same(page, flat(session))  # a filter that is being written is none
    page.key("ArrowDown")
    page.key("Enter")
    assert page.run("document.getElementById('search').value") == f"pid:{pid} " and text(page, "#chips") == f"pid:{pid}×"
    same(page, flat(session, f"--pid={pid}"))
    assert "pid%3A" in page.run("location.hash")
    page.open(page.run("location.href.replace('file://', '')"))
    same(page, flat(session, f"--pid={pid}"))
    page.click_on("#chips button")
    same(page, flat(session))
    for query, options in ((f"tid:{pid}", [f"--tid={pid}"]), ("thread:</b>*", ["--comm=</b>*"]), (f"pid:1-{pid - 1}", [f"--pid=1-{pid - 1}"]),
                           ("200ms..0.9s", ["--from=200ms", "--to=900ms"]), (f"thread:none thread:*/* pid:{pid} ..1s", [f"--pid={pid}", "--to=1s"])):
        page.search(query)
        if flat(session, *options):
            same(page, flat(session, *options))
        else:
            assert table(page) == {}, query
    page.search("pid:x cpu:0")
    assert page.run("[...document.querySelectorAll('#chips .wrong')].length") == 2 and "--serve" in page.run(
        "document.querySelectorAll('#chips .wrong')[1].title")
    same(page, flat(session))  # what cannot be done is said, and changes nothing
    page.search("")
    choose(page, "event", "faults")
    same(page, flat(session, which="page_faults"))
    assert " faults" in text(page, "#span-said"), text(page, "#span-said")
    choose(page, "event", "cpu_clock")
    same(page, flat(session))


def check_modes(page, session):
    canvas = "document.getElementById('graph').clientHeight"
    upright = {(f["name"], f["depth"], round(f["width"])) for f in frames(page)}
    assert frame(page, "main")["top"] > frame(page, "first_half")["top"]
    page.click_on("#modes label:nth-of-type(2)")
    assert {(f["name"], f["depth"], round(f["width"])) for f in frames(page)} == upright
    assert frame(page, "main")["top"] < frame(page, "first_half")["top"] and frame(page, "all")["top"] == 0
    page.click_on("#modes label:nth-of-type(3)")
    numbers = flat(session)
    heads = {f["name"]: f["weight"][0] for f in frames(page) if f["depth"] == 1}
    assert {heads[name] for name in ("first_half", "second_half")} == {
        numbers[(name, FILE)][0] for name in ("first_half", "second_half")}
    second = frame(page, "second_half")
    callers = [f for f in frames(page) if f["depth"] == 2 and second["left"] - 1 <= f["left"] and
               f["left"] + f["width"] <= second["left"] + second["width"] + 1]
    caller = max(callers, key=lambda f: f["width"])  # on a busy machine the kernel calls, too
    assert second["depth"] == 1 and caller["name"] == FUNCTION and caller["width"] > 0.9 * second["width"], callers
    assert page.run(canvas) > 60
    page.click_on("#modes label:nth-of-type(1)")


def check_table(page):
    def column(n):
        return page.run("[...document.querySelectorAll('#functions tbody tr')].map((r) => "
                        f"r.children[{n}].textContent)")
    headers = page.run("[...document.querySelectorAll('#functions th')].map((e) => e.textContent)")
    assert headers[:3] == ["Self", "Total", "Samples"] and headers[-2:] == ["Function", "Object"], headers
    samples = [int(s.replace(",", "")) for s in column(2)]
    assert samples == sorted(samples, reverse=True)
    page.click_on("#functions th:nth-child(5) button")
    assert column(4) == sorted(column(4)) and text(page, "th[aria-sort=ascending]") == "Function"
    page.click_on("#functions th:nth-child(5) button")
    assert column(4) == sorted(column(4), reverse=True)
    page.click_on("#filter")
    page.type(FILE.upper())
    rows = list(zip(column(4), column(5)))
    assert all(FILE in f"{name} {file}".lower() for name, file in rows), rows
    assert {"first_half", "second_half", FUNCTION, "main"} <= {name for name, file in rows if file == FILE}, rows
    assert re.match(r"[\d,]+ of [\d,]+ functions$", text(page, "#counted"))
    row = column(4).index(FUNCTION) + 1
    page.click_on(f"#functions tbody tr:nth-child({row}) button")
    assert page.run("document.getElementById('search').value") == FUNCTION
    page.run("(() => { for (const id of ['search', 'filter']) { const e = document.getElementById(id);"
             "e.value = ''; e.dispatchEvent(new Event('input')); } })()")
    page.click_on("#functions th:nth-child(1) button")


def check_rows(page, session):
    """Counts and misc, beside the samples."""
    names = page.run("[...document.querySelectorAll('#rows b')].map((e) => e.textContent)")
    assert names[0] in ("samples", "all samples") and "cpu_user" in names, names
    series = page.run("cpuperf.page.data.series.find((s) => s.label === 'cpu_user')")
    points = [float(r["value"]) for r in report(session, "series") if r["label"] == "cpu_user"
              and r["value"]]
    assert series["unit"] == "%" and min(points) <= series["mean"] <= max(points), series["mean"]
    assert len([v for v in series["values"] if v is not None]) > 100
    for line in page.run("cpuperf.page.data.series.filter((s) => s.kind === 'machine')"):
        values = [v for v in line["values"] if v is not None]
        mean = sum(values) / len(values)
        assert abs(mean - line["mean"]) < 0.1 * abs(line["mean"]) + 0.5, (line["label"], mean, line["mean"])
    check_lanes(page, session)
    row = names.index("cpu_user")
    x, y, width, _ = page.box_in("#time", "#axis")
    page.mouse("mouseMoved", x + width / 2, y + 30)
    page.settle()
    shown = page.run("[...document.querySelectorAll('#rows span')].map((e) => e.textContent)")
    half = series["values"][len(series["values"]) // 2 - 1:len(series["values"]) // 2 + 2]
    assert any(abs(float(shown[row].split()[0]) - v) < 0.51 for v in half if v is not None), (shown, half)
    assert " at " in shown[0]
    page.mouse("mouseMoved", 5, 5)
    page.run("document.getElementById('chooser').open = true")
    page.run("document.querySelector('#choices label[title=cpu_user] input').click()")
    left = "[...document.querySelectorAll('#rows b')].map((e) => e.textContent)"
    page.until(f"!{left}.includes('cpu_user')")
    assert page.run(left) == [n for n in names if n != "cpu_user"], (page.run(left), names)


def check_lanes(page, session):
    """Each thread's samples, the heaviest first; a few are shown."""
    names, sums, shown = page.run("""(() => {
        const { lanes } = cpuperf.page.data;
        return [lanes.names, cpuperf.page.model.laneSlices.map((s) => s.reduce((a, b) => a + b)),
            cpuperf.page.time.rows.filter((row) => row.lane !== undefined).map((row) => row.name)];
    })()""")
    threads = {f"{r['comm']}, thread {r['tid'] or 'unknown'}": int(r["self_count"]) for r in report(session, "threads")
               if r["event"] == page.run("cpuperf.page.data.events[cpuperf.page.model.event].label")}
    assert names and len(set(names)) == len(names) and shown == names[:3], (names, shown)
    for name, weight in zip(names, sums):
        assert weight == threads.get(re.sub(r" #\d+$", "", name), 0), (name, weight, threads)
    assert sum(sums) <= page.run("cpuperf.page.model.slices[0].reduce((a, b) => a + b)"), sums
    samples = collections.Counter()  # of all events
    for r in report(session, "threads"):
        samples[f"{r['comm']}, thread {r['tid'] or 'unknown'}"] += int(r["self_samples"])
    order = [samples[re.sub(r" #\d+$", "", name)] for name in names]
    assert order == sorted(order, reverse=True) and order[0] > order[-1], order


def check_theme(page):
    light = page.run("getComputedStyle(document.body).backgroundColor")
    page.click_on("#theme")
    assert page.run("getComputedStyle(document.body).backgroundColor") != light
    x, y, width, height = page.box("#graph")
    drawn = collections.Counter(c for row in pixels(page, x, y, width - 1, height - 1) for c in row)
    assert max(drawn.most_common(1)[0][0]) < 200, drawn.most_common(3)  # a single pixel may be one of a name
    page.click_on("#theme")
    assert page.run("getComputedStyle(document.body).backgroundColor") == light


def check_one(folder, screen):
    program = compile_program(folder)
    session, (pid,) = record(
        f"{folder}/one", [event("software:cpu_clock", rate=MS, flags=["callchain"]),
                          event("software:page_faults", frequency=2000, flags=["callchain", *sampled.USER]),
                          event("misc:cpu_user"), event("misc:runnable"), sampled.counted()],
        [[program]], "--duration=150ms", num_iterations=14, config_name=NAME)
    path = make_page(session, f"{folder}/one.html")
    data = check_file(path)
    assert data["events"][0]["period"] == MS
    with browser.Browser(1280, 1000) as page:
        page.open(path)
        check_quiet(page, path)
        check_header(page, session)
        check_root(page)
        same(page, flat(session))
        assert len(comparable(flat(session))) > 2
        check_drawn(page)
        check_click(page, session)
        check_search(page, session)
        check_keys(page, pid)
        check_time(page, session)
        check_choices(page, session, pid)
        check_modes(page, session)
        check_table(page)
        check_rows(page, session)
        check_theme(page)
        colors_are_apart(page)
        check_quiet(page, path)
        check_code(page, session, path)
        if screen:
            page.screenshot(screen)
        check_policy(page)
    check_sight(path)
    check_narrow(path)
    return session, pid


def check_sight(path):
    """The root of the graph is seen without scrolling on a screen of 1000 x 800, and on a narrow one; of names in the rows
    over time nothing is covered."""
    for size in ((1000, 800), (485, 900)):
        with browser.Browser(*size) as page:
            page.open(path)
            assert page.run("document.getElementById('scroll').getBoundingClientRect().bottom < innerHeight && !scrollY"), size
            root = frame(page, "all")
            assert root["top"] + root["height"] <= page.run("document.getElementById('graph').clientHeight") + 0.5, root
            assert page.run("[...document.querySelectorAll('#rows li')].every((li) => [...li.children].reduce("
                            "(sum, e) => sum + e.offsetHeight, 0) <= li.clientHeight + 1)"), size


def calls(session, name, which="cpu_clock"):
    """(other, its object): samples and count, of callers and of callees."""
    rows = [r for r in report(session, "calls") if r["event"] == which]
    return [{(r[other], r[f"{other}_object"]): (int(r["samples"]), int(r["count"])) for r in rows if r[end] == name}
            for other, end in (("caller", "callee"), ("callee", "caller"))]


def shown_calls(page):
    found = page.run("""(() => { const { functions, objects } = cpuperf.page.data; const c = cpuperf.callers();
        return [c.callers, c.callees].map((list) => list.map((x) => [functions[x.of].name,
            objects[functions[x.of].object], x.samples[0], x.weight[0]])); })()""")
    return [{(name, file): (samples, weight) for name, file, samples, weight in rows} for rows in found]


def check_sandwich(page, session, path):
    """Callers and callees are those of --report=calls; a link keeps the function; keys choose another."""
    page.open(f"{path}#view=sandwich&function=second_half&object=halves")
    assert visible(page, "sandwich", "scroll") == ["sandwich"]
    for name in ("second_half", FUNCTION, "first_half"):
        page.click_on("#pick")
        page.run("document.getElementById('pick').select()")
        page.type(name[:-1])
        assert text(page, "#picks li[aria-selected=true] b") == name, text(page, "#picks")
        page.key("ArrowDown")
        page.key("ArrowUp")
        page.key("Enter")
        assert visible(page, "picks") == [] and shown_calls(page) == calls(session, name), (
            shown_calls(page), calls(session, name))
        up, down = page.run("cpuperf.sandwich()")
        total = flat(session)[(name, FILE)][1]
        assert up[0]["name"] == name and up[0]["weight"][0] == total == down[0]["weight"][0], (up[0], total)
        assert sum(f["weight"][0] for f in up if f["depth"] == 1) == total, up
        assert len({f["name"] for f in up if f["depth"] == 1}) == sum(f["depth"] == 1 for f in up)
        inner = sum(f["weight"][0] for f in down if f["depth"] == 1)
        width = max(f["width"] for f in down)
        assert inner <= total and all(abs(f["width"] - width * f["weight"][0] / total) < 1 for f in down if f["left"]), down
        check_half(page, session, name)
    assert "function=first_half" in page.run("location.hash"), page.run("location.hash")
    page.run("history.back()")
    page.until("document.getElementById('pick').value.startsWith('</script>')")
    page.open(path + page.run("location.hash"))
    assert page.run("document.getElementById('pick').value") == FUNCTION
    rows = page.run("[...document.querySelectorAll('#calls tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    assert [r[4] for r in rows].index("itself") == len(calls(session, FUNCTION)[0]) and ("second_half" in [r[5] for r in rows])
    page.click_on("#calls tbody tr:last-child td.name button")
    assert page.run("document.getElementById('pick').value") == rows[-1][5]
    page.open(path)
    page.run("document.getElementById('graph').focus()")
    page.key("ArrowUp")
    page.key("ArrowUp")
    focused = page.run("cpuperf.focused()")
    page.key("c")
    assert visible(page, "sandwich") and page.run("document.getElementById('pick').value") == focused
    page.run("document.getElementById('callers').focus()")
    page.key("ArrowUp")
    assert text(page, "#said") and visible(page, "path") == []
    page.open(f"{path}#view=nothing&function=%00&from=x&event=none&thread=-7")
    assert visible(page, "scroll") == ["scroll"]
    page.assert_quiet()


def shown_code(page):
    """[lines, instructions], as rows of texts."""
    return page.run("[...document.querySelectorAll('#code table')].map((t) => [...t.tBodies[0].rows].map("
                    "(r) => [...r.cells].map((c) => c.textContent)))")


def check_code(page, session, path):
    """Lines and instructions are those of --report=annotate; their samples are those of the function."""
    data = page.run("cpuperf.page.data.code.map((c) => ({...c, lines: c.lines.length, instructions: c.instructions.length}))")
    assert 0 < len(data) <= 30 and len(data) == page.run("cpuperf.page.data.code_functions")
    page.open(f"{path}#view=sandwich&function=second_half&object=halves")
    lines, code = shown_code(page)
    expected = [r for r in report(session, "annotate", "--function=[s]econd_half") if r["event"] == "cpu_clock"]
    for rows, kind in ((lines, "line"), (code, "instruction")):
        own = [r for r in expected if r["kind"] == kind]
        assert sum(int(r[1].replace(",", "") or 0) for r in rows) == flat(session)[("second_half", FILE)][2], rows
        weights = {r["address"] or r["line"]: r for r in own}
        shown = [r for r in rows if r[2]]
        for share, samples, at, _, said, _ in shown:
            row = weights[at]
            assert int(samples.replace(",", "") or 0) == int(row["self_samples"]), (at, samples, row)
            assert not samples or abs(float(share.split(" %")[0]) - float(row["self"])) < 0.06, (share, row)
            assert kind == "line" and not row["text"] or said == row["text"], (said, row)
        omitted = sum(int(re.match(r"… ([\d,]+) ", r[4])[1].replace(",", "")) for r in rows if r[4].startswith("… "))
        assert kind == "line" or len(shown) + omitted == len(own), (len(shown), omitted, len(own))
    assert any("now()" in r[4] for r in lines) or any("WORK" in r[4] for r in lines), lines
    assert any("↑" in r[3] for r in code) and any("→" in r[3] for r in code), code
    assert any(re.search("(callq?|bl) .*<now>", r[4]) for r in code), code
    others = [f for f in page.run("cpuperf.functions()") if f["name"] == "_start" and f["object"] == FILE]
    if others:
        page.open(f"{path}#view=sandwich&function=_start&object=halves")
        assert "with the most samples of their own" in text(page, "#code"), text(page, "#code")
    page.open(f"{path}#view=sandwich&function=main&object=halves")
    check_quiet(page, path)
    for width, dark in ((485, False), (485, True), (1000, True), (1600, False)):
        with browser.Browser(width, 900, dark) as narrow:
            narrow.open(f"{path}#view=sandwich&function=second_half&object=halves")
            assert narrow.run("document.documentElement.scrollWidth <= innerWidth") and shown_code(narrow)
    page.open(path)


def check_half(page, session, name):
    """± is that of independent samples; the report also knows how they follow each other, and says no more."""
    rows = [r for r in report(session, "flat") if r["event"] == "cpu_clock"]
    row = next(r for r in rows if r["function"] == name)
    said = text(page, "#sandwich-said")
    total, half = map(float, re.search(r"total ([\d.]+) ± ([\d.]+) %", said).groups())
    expected = max(float(row["total_high"]) - float(row["total"]), float(row["total"]) - float(row["total_low"]))
    share, nr = float(row["total"]) / 100, sum(int(r["self_samples"]) for r in rows)
    independent = 196 * (share * (1 - share) / nr) ** 0.5 if share < 1 else expected
    assert abs(total - float(row["total"])) < 0.06 and 0.8 < half / independent < 1.25, (said, row, independent)
    assert expected < 1.2 * half, (said, row)


def check_order(page, session, pid, path):
    """Sums are those of the thread, frames go on over slices, and first_half is before second_half."""
    page.open(f"{path}#view=order")
    choose(page, "thread", f"thread {pid} ")
    frames_ = page.run("cpuperf.order()")
    sums, expected = collections.Counter(), collections.Counter()
    for f in frames_:
        sums[f["name"]] += f["self"]
    for (name, _), (self, _, _) in flat(session, f"--pid={pid}").items():
        expected[name] += self
    names = ("first_half", "second_half", "main", FUNCTION)
    assert sum(sums.values()) == sum(expected.values()) == frames_[0]["weight"], (sums, expected)
    assert all(sums[name] == expected[name] for name in names), (sums, expected)
    check_frames(frames_)
    choose(page, "event", "faults")  # no time: each slice is filled
    faults = page.run("cpuperf.order()")
    chosen = page.run("document.getElementById('thread').selectedOptions[0].textContent") + " "
    assert faults[0]["weight"] == sum(f["self"] for f in faults) == sum(
        int(r["self_count"]) for r in report(session, "threads") if r["event"] == "page_faults" and
        chosen.startswith(f"{r['comm']}, thread {r['tid']} ")), (faults[0], chosen)
    check_frames(faults)
    choose(page, "event", "cpu_clock")
    choose(page, "thread", f"thread {pid} ")
    frames_ = page.run("cpuperf.order()")
    first, second = ([f for f in frames_ if f["name"] == name] for name in ("first_half", "second_half"))
    slices = page.run("cpuperf.page.data.nr_slices")
    assert min(f["from"] for f in first) < min(f["from"] for f in second), (first, second, slices)
    assert any(int(f["from"]) < int(f["to"] - 1e-6) for f in second) and sum(f["to"] - f["from"] for f in second) < 0.4 * slices, second
    assert "within a slice" in text(page, "#order-help")
    main_ = max((f for f in frames_ if f["name"] == "main"), key=lambda f: f["to"] - f["from"])
    assert main_["weight"] >= max(f["weight"] for f in first + second)
    page.run("document.getElementById('graph').focus()")
    for _ in range(4):
        page.key("ArrowDown")
    assert re.search(r" to [\d.]+ m?s$", text(page, "#said")), text(page, "#said")
    page.key("Enter")
    assert page.run("cpuperf.zoomed()") != "all" and f"thread=" in page.run("location.hash")


def check_frames(frames_):
    """Of a depth none overlaps another, and each is within the one below it."""
    rows = collections.defaultdict(list)
    for f in frames_:
        rows[f["depth"]].append((f["from"], f["to"]))
    for depth, row in rows.items():
        row.sort()
        assert all(a[1] <= b[0] + 1e-6 for a, b in zip(row, row[1:])), (depth, row)
        assert depth == 0 or all(any(o[0] - 1e-6 <= f[0] and f[1] <= o[1] + 1e-6 for o in rows[depth - 1]) for f in row)


def check_groups(page, session, path):
    """Processes as first frames: their weights are those of their threads; all else stays."""
    expected = collections.Counter()
    for r in report(session, "threads"):
        if r["event"] == "cpu_clock":
            expected[r["pid"] or "unknown"] += int(r["self_count"])  # of a task that has ended
    page.open(f"{path}#frames=process")
    below = [f for f in frames(page) if f["depth"] == 1]
    of_one = [(f["weight"][0], pid[1]) for f in below if (pid := re.search(r"\((\d+|unknown)\)$", f["name"]))]
    assert of_one and all(weight == expected.pop(pid) for weight, pid in of_one), (below, expected)
    several = [f for f in below if f["name"].endswith("(several processes)")]  # on a busy machine
    assert len(of_one) + len(several) == len(below), below
    assert sum(f["weight"][0] for f in several) <= expected.total(), (below, expected)  # narrow frames are not drawn
    same(page, flat(session))
    page.click_on("#modes label:nth-of-type(3)")
    assert frame(page, "second_half")["weight"][0] == flat(session)[("second_half", FILE)][0]
    choose(page, "grouping", "process name")
    assert "frames=name" in page.run("location.hash") or page.run("cpuperf.page.usual.frames") == "name"
    page.click_on("#modes label:nth-of-type(1)")
    names = [f["name"] for f in frames(page) if f["depth"] == 1]
    assert len(names) == len(set(names)) and not re.search(r"\(\d+\)$", names[0]), names
    same(page, flat(session))
    page.run("(() => { const e = document.getElementById('grouping'); e.value = 'none';"
             "e.dispatchEvent(new Event('change', {bubbles: true})); })()")
    functions = [f["name"] for f in frames(page) if f["depth"] == 1]  # mkdir is a function, too
    assert [sum(name.startswith("</b>") for name in of) for of in (names, functions)] == [1, 0], (names, functions)
    same(page, flat(session))


def check_views(session, pid, path):
    with browser.Browser(1280, 1000) as page:
        check_sandwich(page, session, path)
        check_order(page, session, pid, path)
        check_groups(page, session, path)
        check_quiet(page, path)
    for view in ("order", "sandwich"):
        check_narrow(f"{path}#view={view}")


def check_parts(session, pid, folder):
    """Options hold; what is small is merged, and that is said."""
    with browser.Browser(1280, 900) as page:
        page.open(make_page(session, f"{folder}/part.html", "--from=500ms", "--to=1s"))
        same(page, flat(session, "--from=500ms", "--to=1s"))
        assert time_of(page, "from") == "500ms" and re.match("1|9", time_of(page, "to")), time_of(page, "to")
        page.open(make_page(session, f"{folder}/small.html", "--min-percent=45", f"--pid={pid}"))
        got, every = table(page), flat(session, f"--pid={pid}")
        assert "merged into [merged]" in text(page, "#notes")
        assert sum(v[0] for v in got.values()) == sum(v[0] for v in every.values())
        # what is merged may be one function, or a part of one that is also shown
        assert got.pop(("[merged]", ""))[0] > 0
        assert all(v[i] <= every[k][i] for k, v in got.items() for i in (0, 2)), (got, every)
        page.assert_quiet()


def mixes(slower):
    mix = os.environ["MIX"]
    return [[mix, "ms", "60000", "1", str(cpu), "0", str(slower)] for cpu in sampled.CPUS]


def check_diff(folder):
    events = [event("software:cpu_clock", rate=200000, flags=["callchain"])]
    # as many samples beside a load: of 8 iterations on a machine that does nothing else
    was, pids = record(f"{folder}/was", events, mixes(0), "--duration=100ms", seconds=0.8, num_iterations=10000)
    now, more = record(f"{folder}/is", events, mixes(150), "--duration=100ms", seconds=0.8, num_iterations=10000)
    only = "--pid=" + ",".join(map(str, pids + more))
    path = make_page(now, f"{folder}/diff.html", f"--diff={was}", only)
    certain = {(r["function"], r["object"]): r for r in report(now, "diff", f"--diff={was}", only)
               if r["certain"] == "true"}
    assert ("work_b", "mix") in certain, certain
    with browser.Browser(1280, 900) as page:
        page.open(path)
        check_diff_page(page, now, was, only, certain)
        page.assert_quiet()


def red_less_blue(color):
    red, _, blue = map(int, re.match(r"rgb\((\d+) (\d+) (\d+)\)", color).groups())
    return red - blue


def check_diff_page(page, now, was, only, certain):
    rows = page.run("cpuperf.functions()")
    for side, session in ((0, now), (1, was)):
        # a diff has one row for the kernel's page of functions, whose build may differ
        shown = {(r["name"], r["object"]): (r["self"][side], r["total"][side], r["samples"][side])
                 for r in rows if r["total"][side] and r["object"] != "[vdso]"}
        numbers = {k: v for k, v in flat(session, only).items() if k[1] != "[vdso]"}
        assert shown == numbers, {k: (shown.get(k), numbers.get(k)) for k in {*shown, *numbers}
                                  if shown.get(k) != numbers.get(k)}
    assert red_less_blue(frame(page, "work_b")["color"]) > 40, frame(page, "work_b")
    assert red_less_blue(frame(page, "work_a")["color"]) < 0, frame(page, "work_a")
    assert abs(red_less_blue(frame(page, "run")["color"])) < 30, frame(page, "run")
    shown = page.run("[...document.querySelectorAll('#functions tbody tr')].map((r) => "
                     "[...r.children].map((c) => c.textContent)).filter((r) => r[6])")
    assert {r[7] for r in shown} == {name for name, _ in certain}, (shown, certain)
    row = next(r for r in shown if r[7] == "work_b")
    change, half = re.match(r"▲ \+([\d.]+) ± ([\d.]+) points$", row[6]).groups()
    expected = certain[("work_b", "mix")]
    assert abs(float(change) - float(expected["change"])) < 0.06, (row, expected)
    assert 0 < float(half) < float(change)
    assert "more than before" in text(page, "#legend")
    assert "changed significantly" in text(page, "#notes")
    wide = frame(page, "work_b")["width"]
    page.click_on("#sides label:nth-of-type(2)")
    assert frame(page, "work_b")["width"] < wide
    page.click(*point(page, "work_b"))
    assert re.search(r"% before, [\d.]+ % now: \+[\d.]+ points", text(page, "#said")), text(page, "#said")


def strips(page):
    return {s["name"]: s for s in page.run("cpuperf.strips()")}


def check_strips(page, session):
    """Of each CPU, in the middle of each iteration, what series says of it; as it is drawn and said."""
    found = strips(page)
    rows = [r for r in report(session, "series") if r["cpu"].isdigit() and r["state"] == "ok"]
    assert {r["label"] for r in rows} == set(found) and "cpu_user" in found, found.keys()
    start, span = page.run("[cpuperf.page.data.series_start_ns, cpuperf.page.data.series_span_ns]")
    for row in rows:
        strip = found[row["label"]]
        line = next(n for n in strip["lines"] if str(n["cpu"]) == row["cpu"])
        middle = int(row["time_ns"]) - int(row["span_ns"]) / 2
        at = int((middle - start) / span * len(line["values"]))
        expected, got = float(row["value"]), line["values"][at]
        assert abs(got - expected) <= 1e-3 * abs(expected) + 1e-6, (row, got)
        assert strip["scale"][0] == 0 and got <= strip["scale"][1] * 1.0001
    assert found["cpu_user"]["scale"] == [0, 100] and found["cpu_user"]["lines"][0]["unit"] == "%"
    # of a target nothing is counted by CPU
    busy = max((s for s in found.values() if s["name"] != "cpu_user"), default=found["cpu_user"], key=lambda s: max(
        v or 0 for n in s["lines"] for v in n["values"]))
    check_strip(page, busy)


def check_strip(page, strip):
    number = page.run("cpuperf.page.heat.shown.findIndex((s) => s.name === "
                      f"{json.dumps(strip['name'])})") + 1
    card = f"#strips article:nth-child({number})"
    x, y, _, _ = page.box(f"{card} canvas")
    values = strip["lines"][0]["values"]
    at = values.index(max(v or 0 for v in values))
    place = x + strip["left"] + (at + 0.5) / len(values) * strip["width"]
    drawn = pixels(page, int(place), int(y) + 3, 1, 1)[0][0]
    low, high = (page.run(f"cpuperf.page.heat.shown[{number - 1}].colorOf({v})") for v in strip["scale"])
    ends = [[int(v) for v in re.findall(r"\d+", color)] for color in (low, high)]
    part = values[at] / strip["scale"][1]
    assert all(abs(d - (a + part * (b - a))) < 3 for d, a, b in zip(drawn, *ends)), (drawn, ends, part)
    page.mouse("mouseMoved", place, y + 3)
    page.settle()
    said = text(page, f"{card} .said")
    assert re.match(rf"CPU {strip['lines'][0]['cpu']} at .*: [\d.,]+ ", said), said
    page.mouse("mouseMoved", 5, 5)
    page.run(f"document.querySelector('{card} canvas').focus()")
    page.key("ArrowRight")
    page.key("ArrowRight")
    second = page.run(f"cpuperf.page.heat.shown[{number - 1}].at")
    assert second == {"row": 0, "column": 1} and text(page, f"{card} .said").startswith("CPU "), second
    page.key("Escape")
    assert text(page, f"{card} .said").startswith("mean ")


def check_processes(page, session, pid):
    """The table has what series has of each process, and is sorted by a click."""
    rows = page.run("[...document.querySelectorAll('#process-rows tbody tr')].map((r) => [...r.children].map("
                    "(c) => c.textContent))")
    heads = page.run("[...document.querySelectorAll('#process-rows th')].map((e) => e.textContent)")
    assert heads == ["Process", "Name", "cpu time", "rss"], heads
    row = next(r for r in rows if r[0] == str(pid))
    points = [r for r in report(session, "series") if r["thing_name"].startswith(f"{pid} ")]
    times = [float(r["value"]) for r in points if r["label"] == "process_cpu_time" and r["value"]]
    assert row[1] == points[0]["thing_name"].split(" ", 1)[1] and times, (row, points)
    assert row[2].endswith(" %") and min(times) - 0.01 <= float(row[2][:-2]) <= max(times) + 0.01, (row, times)
    assert row[3].endswith("B") and "s/s" not in str(rows)
    shares = [float(r[2][:-2]) for r in rows if r[2]]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0, shares
    page.click_on("#process-rows th:nth-child(1) button")
    numbers = "[...document.querySelectorAll('#process-rows tbody tr')].map((r) => Number(r.children[0].textContent))"
    down = page.run(numbers)
    assert down == sorted(down, reverse=True) and down[0] > 1, down
    page.click_on("#process-rows th:nth-child(1) button")
    assert page.run(numbers)[1:3] == sorted(page.run(numbers)[1:3]) and page.run(numbers)[0] < down[0]
    page.click_on("#process-filter")
    page.type(str(pid))
    # others may have these digits in theirs, or in their names
    assert pid in page.run(numbers) and " of " in text(page, "#counted-processes")
    page.run("document.getElementById('process-filter').value = ''")


def visible(page, *ids):
    return [i for i in ids if page.run(f"document.getElementById('{i}').offsetParent !== null")]


def check_tally(folder):
    """Counts alone: rows of things, strips of CPUs, a table of processes, and nothing that is for samples."""
    spin = ["sh", "-c", "while :; do :; done"]
    session, (pid,) = record(
        f"{folder}/tally", [sampled.counted(), event("misc:cpu_user"), event("misc:disk_write_bytes"),
                            event("misc:net_rx_packets"), event("misc:process_cpu_time"), event("misc:process_rss")],
        [spin], "--duration=100ms", num_iterations=6, config_name="counts",
        metrics=[{"name": "used", "expr": "{process_cpu_time} / 1e9", "unit": "s"}])
    with browser.Browser(1280, 900) as page:
        page.open(make_page(session, f"{folder}/tally.html"))
        page.assert_quiet()
        names = page.run("[...document.querySelectorAll('#rows b')].map((e) => e.textContent)")
        assert {sampled.COUNTED, "cpu_user", "used"} <= set(names), names
        things = {f"{r['label']} of {r['thing_name']}" for r in report(session, "series")
                  if r["label"] in ("disk_write_bytes", "net_rx_packets") and r["thing_name"] and float(r["value"] or 0)}
        assert len(things & set(names)) == min(len(things), 8) or len(things) > 8, (things, names)
        assert not [n for n in names if n.startswith("process_cpu_time of")], names
        used = page.run("cpuperf.page.data.series.find((s) => s.label === 'used')")
        time = page.run("cpuperf.page.data.series.find((s) => s.label === 'process_cpu_time')")
        assert used["unit"] == "%" and used["per"] == "" and abs(used["mean"] - time["mean"]) < 0.01 * time["mean"] + 0.01, used
        assert visible(page, "toolbar", "stacks", "table", "drag", "span", "keys", "modes", "functions") == []
        assert visible(page, "heat", "processes", "axis") == ["heat", "processes", "axis"]
        check_strips(page, session)
        check_processes(page, session, pid)
        page.run("document.getElementById('axis').focus()")
        page.key("ArrowRight")
        assert page.run("cpuperf.page.time.cursor") > 0 and page.run("cpuperf.page.model.isAllTime")
        page.assert_quiet()
    check_narrow(f"{folder}/tally.html")
    check_limit(f"{folder}/tally.html", folder)


def check_limit(path, folder):
    """CPU time ends at what all CPUs are, a value near it makes that the top, and what is above is cut and marked."""
    most = 100 * os.cpu_count()

    def with_values(series):
        of = next(s for s in series if s["label"] == "process_cpu_time")
        assert of["limit"] == most and not [s for s in series if s["label"] == sampled.COUNTED and "limit" in s], of
        of.update(least=most / 2, mean=most, most=1.5 * most, values=[most / 2, 0.95 * most, most, 1.5 * most])

    with open(path, encoding="utf-8") as page:
        text = page.read()
    data = pages.data_of(text)
    with_values(data["series"])
    start, end = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).span(1)
    with open(f"{folder}/limit.html", "w", encoding="utf-8") as out:
        out.write(text[:start] + json.dumps(data).replace("<", "\\u003c") + text[end:])
    with browser.Browser(1280, 900) as page:
        page.open(f"{folder}/limit.html")
        of = "cpuperf.page.data.series.find((s) => s.label === 'process_cpu_time')"
        assert page.run(f"{of}.axis") == [0, most]
        shown = page.run(f"cpuperf.page.time.seriesValue({of}, -1)")
        assert shown.endswith(f" % of {most:.0f}.0 %") or shown.endswith(f"of {most} %"), shown
        slices = page.run("cpuperf.page.data.nr_slices")
        said = [page.run(f"cpuperf.page.time.seriesValue({of}, {int(slices * (i + 0.5) / 4)})") for i in range(4)]
        assert [text.endswith(": more than possible") for text in said] == [False, False, False, True], said
        page.assert_quiet()


def check_narrow(path):
    """Nothing is wider than the window, in the light and in the dark."""
    for dark in (False, True):
        with browser.Browser(485, 900, dark) as page:
            page.open(path)
            assert page.run("document.documentElement.scrollWidth <= innerWidth")
            assert page.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
            page.assert_quiet()


def check_unknown(folder):
    """Samples without a task: one process that is unknown, not several."""
    f = pd.File()
    f.event(0, 0, pd.IP | pd.TID | pd.TIME | pd.PERIOD | pd.IDENTIFIER, [1], period=1000)
    for i in range(10):
        f.sample(ip=0xffffffff81000123, misc=pd.KERNEL, pid=2**32 - 1, tid=2**32 - 1, time=1000 + i, period=1)
    with open(f"{folder}/unknown.data", "wb") as out:
        out.write(f.whole())
    run_print(f"--perf-data={folder}/unknown.data", "--output-format=html", f"--output-file={folder}/unknown.html")
    with browser.Browser(1280, 900) as page:
        page.open(f"{folder}/unknown.html")
        names = page.run("cpuperf.values().pid.map(([, name]) => name)")
        assert names == ["[unknown] (unknown)"], names


def check_names(folder):
    """A process has the name of its first thread, also if only others have samples, of which one has a name of its
    own."""
    f = pd.File()
    f.event(0, 0, pd.IP | pd.TID | pd.TIME | pd.PERIOD | pd.IDENTIFIER, [1], period=1000)
    f.comm(70, 70, "server", time=1)
    f.fork(70, 70, 71, 70, time=2)
    f.comm(70, 71, "worker", time=3)
    for i in range(10):
        f.sample(ip=0x401000, misc=pd.USER, pid=70, tid=71, time=1000 + i, period=1)
    with open(f"{folder}/names.data", "wb") as out:
        out.write(f.whole())
    run_print(f"--perf-data={folder}/names.data", "--output-format=html", f"--output-file={folder}/names.html")
    with browser.Browser(1280, 900) as page:
        page.open(f"{folder}/names.html")
        names = page.run("cpuperf.values().pid.map(([, name]) => name)")
        assert names == ["server (70)"], names


def rgb(color):
    hue, rich, light = map(float, re.match(r"hsl\(([\d.]+) ([\d.]+)% ([\d.]+)%\)$", color).groups())
    return [255 * part for part in colorsys.hls_to_rgb(hue / 360, light / 100, rich / 100)]


STATES = r"""
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void __attribute__((noinline)) rest(void) { nanosleep(&(struct timespec){0, 200000000}, 0); __asm__ volatile(""); }
static void __attribute__((noinline)) both(void) { for (double end = now() + 0.2; now() < end;) { } rest(); __asm__ volatile(""); }
int main(void) { both(); rest(); both(); }
"""


def check_states(folder):
    """What threads do: as outermost frames, then as colours of each stack."""
    program = f"{folder}/states"
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-x", "c", "-O1", "-fno-omit-frame-pointer",
                    "-fno-optimize-sibling-calls", "-o", program, "-"], input=STATES.encode(), check=True)
    subprocess.run([os.environ["CPUPERF"], "--quiet=2", "--spec-file=wall", "--memory-map", f"--output={folder}/wall", "--",
                    program],
                   check=True, stdout=subprocess.DEVNULL)
    by_state = {r["state"]: int(r["self_count"])
                for r in report(f"{folder}/wall", "flat", "--sort=state") if r["event"] == "thread_time"}
    assert {"on CPU", "blocked"} & set(by_state), by_state
    with browser.Browser(1280, 900) as page:
        page.open(make_page(f"{folder}/wall", f"{folder}/wall.html"))
        check_memory(page, f"{folder}/wall")
        check_waits_in_time(page, by_state)
        check_counts(page, f"{folder}/wall")
        first = {f["name"]: f["weight"][0] for f in frames(page) if f["depth"] == 1}
        assert first == {name: by_state[name] for name in first} and len(first) > 1, (first, by_state)
        divided = [f for f in frames(page) if f["name"] == "both"]
        assert all(len(f["parts"]) == 1 for f in divided)
        for name in first:
            assert name in text(page, "#legend"), (name, text(page, "#legend"))
        check_legend(page, f"{folder}/wall")
        page.click_on("#states label:nth-of-type(2)")
        assert not {f["name"] for f in frames(page)} & set(by_state), frames(page)
        whole = frame(page, "both")
        assert whole["weight"][0] == sum(f["weight"][0] for f in divided) and len(divided) > 1, (whole, divided)
        assert sorted(share for _, share in whole["parts"]) == sorted(
            f["weight"][0] / whole["weight"][0] for f in divided), (whole, divided)
        assert len({color for color, _ in whole["parts"]}) == len(divided), whole
        x, y, width, _ = page.box("#graph")
        assert page.run("document.querySelector('#graph').width") == width
        at = x + whole["left"]
        for color, share in whole["parts"]:
            drawn = pixels(page, at + share * whole["width"] / 2, y + whole["top"] + 3, 1, 1)[0][0]
            assert share * whole["width"] < 8 or max(abs(a - b) for a, b in zip(drawn, rgb(color))) <= 2, (drawn, color)
            at += share * whole["width"]
        assert len({color for color, share in frame(page, "rest")["parts"] if share > 0.5}) == 1
        for name in first:
            assert name in text(page, "#legend"), (name, text(page, "#legend"))
        page.click_on("#modes label:nth-of-type(3)")
        assert not {f["name"] for f in frames(page)} & set(by_state), frames(page)
        all_of = frame(page, "all")["weight"][0]
        assert sum(f["weight"][0] for f in frames(page) if f["depth"] == 1) > 0.9 * all_of == 0.9 * sum(by_state.values())
        page.assert_quiet()
    check_order_of_states(f"{folder}/wall.html", by_state)


def check_legend(page, session):
    """Objects have their shares of CPU time: who waits is no work of the kernel's."""
    objects = collections.Counter()
    for row in report(session, "flat", "--sort=state,object"):
        if row["event"] == "thread_time" and row["state"] == "on CPU":
            is_kernel = row["object"].startswith("[") and row["object"] not in ("[vdso]", "[unknown]")
            objects["kernel" if is_kernel else row["object"]] += int(row["self_count"])
    legend = page.run("[...document.querySelectorAll('#legend li')].map((e) => e.textContent)")
    shown = dict(re.fullmatch("(.*?)(?: ([0-9.]+) %)?", x).groups() for x in legend[legend.index("of CPU time:") + 1:])
    sums = collections.Counter()  # a wait is of the program's function
    for row in page.run("cpuperf.page.model.functions()"):
        sums["self"] += row["self"][0]
        sums["onCpu"] += row["onCpu"]
    by_state = {r["state"]: int(r["self_count"]) for r in report(session, "flat", "--sort=state") if r["event"] == "thread_time"}
    assert sums["self"] == sum(by_state.values()) and sums["onCpu"] == by_state["on CPU"], (sums, by_state)
    rest = next(r for r in page.run("cpuperf.functions()") if r["name"] == "rest")
    assert rest["self"][0] > 0.9 * by_state["blocked"] > 0, (rest, by_state)
    for name, weight in objects.items():
        assert abs(float(shown[name] or 0) - 100 * weight / sum(objects.values())) < 0.06, (name, shown, objects)


def check_counts(page, session):
    """What has one number of all the time is a row of a table, not of the axis."""
    rows = page.run("[...document.querySelectorAll('#count-rows tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    found = {r["label"]: float(r["value"]) for r in report(session, "series") if r["cpu"] == "all" and r["unit"] == "switches/s"}
    shown = {label: float(mean.split()[0].replace(",", "")) for label, mean, _ in rows if mean.endswith("switches/s")}
    assert shown.keys() == found.keys() == {"context_switches"}, (rows, found)
    assert abs(shown["context_switches"] / found["context_switches"] - 1) < 0.01, (rows, found)
    assert not {label for label, *_ in rows} & set(page.run("cpuperf.page.time.series.map((s) => s.label)")), rows


def check_memory(page, session):
    """A view has the rows of the report, by a click those of most mappings first."""
    page.run("cpuperf.page.setReport('memory')")
    page.until("document.querySelectorAll('#report tbody tr').length > 1")
    heads = page.run("[...document.querySelectorAll('#report th')].map((e) => e.textContent)")
    at = heads.index("mappings peak")
    found = {(r["kind"], r["object"]): r for r in report(session, "memory")}
    page.click_on(f"#report th:nth-child({at + 1}) button")
    rows = [dict(zip(heads, row)) for row in page.run(
        "[...document.querySelectorAll('#report tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")]
    assert {(r["kind"], r["object"]) for r in rows} == found.keys() and len(rows) == len(found), (rows, found)
    assert [int(r["mappings peak"]) for r in rows] == sorted((int(r["mappings_peak"]) for r in found.values()), reverse=True), rows
    page.search("[stack]")
    page.until("document.querySelectorAll('#report tbody tr').length === 1")
    page.search("")
    page.run("cpuperf.page.setReport('')")
    page.settle()


def check_waits_in_time(page, by_state):
    """A wait is in all slices of its time; what is only counted is no choice."""
    slices, slice_ns = page.run("[[...cpuperf.page.model.slices[0]], cpuperf.page.data.slice_ns]")
    assert sum(slices) == sum(by_state.values()) and max(slices[1:]) <= 1.5 * slice_ns, (slices, slice_ns)
    assert sum(x > slice_ns / 2 for x in slices) > 0.7 * 0.6e9 / slice_ns, (slices, slice_ns)
    shown = text(page, "#event")
    assert "thread_time" in shown and " 0 samples" not in shown, shown


def check_order_of_states(path, by_state):
    """A wait is drawn over all of its time, on which its only sample is at the end."""
    with browser.Browser(1280, 900) as page:
        page.open(f"{path}#view=order")
        found = page.run("cpuperf.order()")
        slice_ns = page.run("cpuperf.page.data.slice_ns")
        check_frames(found)
        sums = collections.Counter()
        for f in found:
            sums[f["name"]] += f["weight"]
        assert found[0]["weight"] == sum(by_state.values()) == sum(f["self"] for f in found), (found[0], by_state)
        assert all(sums[state] == weight for state, weight in by_state.items()), (sums, by_state)
        rest = max((f for f in found if f["name"] == "blocked"), key=lambda f: f["weight"])
        drawn = (rest["to"] - rest["from"]) * slice_ns
        assert rest["weight"] > 1e8 and 0.7 < drawn / rest["weight"] < 1.4, (rest, slice_ns)


def check_paced(folder):
    """A clock that only paces the readings of others has no graph."""
    spec = f"{os.path.dirname(os.path.abspath(__file__))}/../../specs/system.cpspec"
    subprocess.run([os.environ["CPUPERF"], "--quiet=2", f"--spec-file={spec}", f"--output={folder}/paced", "--duration=500ms",
                    *sampled.machine()], check=True, stdout=subprocess.DEVNULL)
    with browser.Browser(1280, 900) as page:
        page.open(make_page(f"{folder}/paced", f"{folder}/paced.html"))
        seen = visible(page, "stacks", "table", "toolbar", "answer", "heat", "axis")
        assert seen == ["heat", "axis"], seen
        page.assert_quiet()


def check_missing(folder):
    """What the machine does not have is one quiet line, with the metrics of it."""
    hardware = ("instructions_retired", "unhalted_core_cycles", "llc_misses")
    session, _ = record(f"{folder}/missing", [event("software:task_clock"), *(event(f"arch:{name}") for name in hardware)], [],
                        num_iterations=2, duration=0.05, metrics=[{"name": "ipc", "expr": "{instructions_retired} / {unhalted_core_cycles}"}])
    missing = {r["event"] for r in report(session, "summary") if r["state"] == "not supported"}
    missing |= {"ipc"} if missing & set(hardware[:2]) else set()
    with open(make_page(session, f"{folder}/missing.html"), encoding="utf-8") as f:
        data = json.loads(re.search(r'id="data">(.*?)</script>', f.read(), re.S)[1])
    lines = [re.fullmatch(r"Not measured: ([\w, ]*) \(.*\)\.", line) for line in data["notes"] if line.startswith("Not measured")]
    assert sorted(name for line in lines for name in line[1].split(", ")) == sorted(missing), (data["notes"], missing)
    assert not missing or len(lines) == 1 or len(missing) < 4, data["notes"]
    assert not any(name in line for name in missing for line in data["warnings"]), data["warnings"]


def check_refused(session, folder):
    """Before anything is written."""
    one = (f"--session={session}", "--output-format=html", f"--output-file={folder}/none.html")
    assert "--report" in run_print(*one, "--report=flat", code=2)
    assert "does not support --counts" in run_print(*one, f"--diff={folder}/was/s.cpsession", "--counts", code=2)
    assert "one session" in run_print(*one, f"--session={folder}/is/s.cpsession", "--by-session", code=2)
    assert not os.path.exists(f"{folder}/none.html")


def main():
    if not browser.find():
        print("skip: no Chromium here")
        sys.exit(77)
    screen = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(prefix="cpuperf-html.") as folder:
        session, pid = check_one(folder, screen)
        check_views(session, pid, f"{folder}/one.html")
        check_parts(session, pid, folder)
        check_diff(folder)
        check_tally(folder)
        check_paced(folder)
        check_missing(folder)
        check_unknown(folder)
        check_names(folder)
        check_states(folder)
        check_refused(session, folder)


if __name__ == "__main__":
    main()
