#!/usr/bin/env python3
"""Regions in --output-format=html: each call is a slice of its thread's row, short ones are drawn as one, a million of
them make a small page that says so, and samples can be chosen by region. Chromium, where it is, clicks and looks.
CPUPERF and CPUPERF_PRINT name the programs.
"""
import collections
import csv
import io
import os

import browser
import pages
from kit import CPUPERF, output, PRINT, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))
MANY = r"""
#include <cpuperf/mark.h>
#include <pthread.h>
#include <time.h>
static void *calls(void *arg)
{
	struct timespec t = {.tv_nsec = 10000000};
	for (int i = 0; i < 100 * (arg ? 1 : 100); i++) {
		for (int k = 0; k < 50; k++) {
			CPUPERF_BEGIN("short");
			CPUPERF_BEGIN("inner");
			CPUPERF_END;
			CPUPERF_END;
		}
		if (i % 20 == 0)
			nanosleep(&t, 0);
	}
	for (int i = 0; i < 12; i++)
		CPUPERF_BEGIN("deep");
	for (int i = 0; i < 12; i++)
		CPUPERF_END;
	return arg;
}
int main(void)
{
	pthread_t t[50];
	calls(0);
	for (int i = 0; i < 50; i++)
		pthread_create(&t[i], 0, calls, t);
	for (int i = 0; i < 50; i++)
		pthread_join(t[i], 0);
}
"""


def record(folder, source, *options, events=("-e", "cpu_clock@1000Hz", "-g")):
    run("cc", "-O1", "-g", f"-I{os.environ['SOURCE_DIR']}/include", "-pthread", "-o", f"{folder}/marked", source)
    run(CPUPERF, "--regions", *events, *options, "--", "./marked", cwd=folder)


def table(folder, *options):
    text = output(PRINT, "--quiet", *options, "--output-format=csv", cwd=folder)
    return [r for r in csv.DictReader(io.StringIO(text, newline="")) if r.get("kind", "region") == "region"]


def page(folder, *options):
    path = f"{folder}/page.html"
    output(PRINT, "--quiet=2", "--output-format=html", f"--output-file={path}", *options, cwd=folder)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return path, pages.data_of(text)


def slices(data):
    """Per track, per level: (begin, end, path, calls, has_closed)."""
    paths = ["several"]
    for r in data["regions"]:
        paths.append(f"{paths[r['outer']]} > {r['name']}" if r["outer"] else r["name"])
    for track in data["tracks"]:
        of = pages.numbers(track["slices"])
        levels = []
        for _ in range(track["depth"]):
            level, at = [], 0
            for _ in range(next(of)):
                begin = at + next(of)
                at = begin + next(of)
                path, code = paths[next(of)], next(of)
                level.append((begin, at, path, code // 2 + 1, code % 2))
            levels.append(level)
        assert next(of, None) is None
        yield track, levels


def instants(data):
    """(name, how many, value) of all tracks."""
    for track in data["tracks"]:
        of = pages.numbers(track["instants"])
        at = 0
        for distance in of:
            at += distance
            name, nr, kind = data["marks"][next(of)], next(of) + 1, next(of)
            yield at, name, nr, {0: None, 1: 1, 2: -1}[kind] and (1, 1, -1)[kind] * next(of)


def check_instants(folder):
    record(folder, f"{HERE}/regions_shown.c")
    _, data = page(folder)
    assert [i[1:] for i in instants(data) if i[3] is None] == [("parsed", 1, None)] * 5
    assert [i[1:] for i in instants(data) if i[3] is not None] == [("queue", 1, 3 - i) for i in range(5)]
    within = [s[:2] for _, levels in slices(data) for s in levels[0]]
    assert all(any(begin <= i[0] <= end for begin, end in within) for i in instants(data))


def check_slices(folder):
    record(folder, f"{HERE}/regions_shown.c")
    rows = {r["path"]: r for r in table(folder, "--report=regions")}
    _, data = page(folder)
    ns, calls, closed = collections.Counter(), collections.Counter(), collections.Counter()
    for track, levels in slices(data):
        assert track["comm"] == "marked", track
        for depth, level in enumerate(levels):
            for begin, end, path, nr, is_closed in level:
                assert path.count(" > ") == depth, (path, depth)
                ns[path] += end - begin
                calls[path] += nr
                closed[path] += is_closed
    for path, row in rows.items():
        assert calls[path] == int(row["calls"]) and closed[path] == int(row["closed"]), (path, calls, closed)
        assert ns[path] == int(row["wall_ns"]), (path, ns, row)
    assert any("1 call of a region has no end" in w for w in data["warnings"]), data["warnings"]
    own = {e["label"]: e["samples"][0] for e in data["events"]}
    assert own["cpu_clock"] == sum(int(r["self_samples"]) for r in table(folder, "--report=flat", "--top=0")
                                   if r["event"] == "cpu_clock")
    _, chosen = page(folder, "--region=parse")
    assert {s[2] for _, levels in slices(chosen) for level in levels for s in level} == {"request > parse"}
    _, between = page(folder, "--from=30ms", "--to=60ms")
    assert all(30e6 <= s[0] <= s[1] <= 60e6 for _, levels in slices(between) for level in levels for s in level)


def check_many(folder):
    with open(f"{folder}/many.c", "w", encoding="ascii") as f:
        f.write(MANY)
    record(folder, f"{folder}/many.c")
    rows = {r["path"]: int(r["calls"]) for r in table(folder, "--report=regions")}
    path, data = page(folder)
    assert rows["short > inner"] > 500000 and os.path.getsize(path) < 4 << 20, (rows, os.path.getsize(path))
    tracks = list(slices(data))
    assert len(tracks) == 40 and tracks[0][0]["depth"] == 8, [t for t, _ in tracks]
    of_thread, calls = collections.Counter(), collections.Counter()
    for r in table(folder, "--report=regions", "--group-by=thread"):
        of_thread[int(r["tid"])] += 0 if " > " in r["path"] else int(r["wall_ns"])
        calls[int(r["tid"])] += 0 if " > " in r["path"] else int(r["calls"])
    most, = of_thread.most_common(1)
    assert most[0] in [track["tid"] for track, _ in tracks], ("the thread with the most time is not there", most)
    seen = 0
    for track, levels in tracks:
        assert sum(s[3] for s in levels[0]) == calls[track["tid"]], (track, calls)
        # those drawn as one last from the first to the last
        assert sum(s[1] - s[0] for s in levels[0]) >= of_thread[track["tid"]], (track, of_thread)
        for level in levels:
            assert len(level) < 10000
            assert all(a[1] <= b[0] for a, b in zip(level, level[1:]))
            seen += sum(s[3] for s in level if s[2] == "short")
    assert 0 < seen <= rows["short"]
    for note in ("are drawn as one", "Regions of 11 more threads are omitted", "within more than 7 others"):
        assert any(note in n for n in data["notes"]), (note, data["notes"])


def check_browser(folder):
    if not browser.find():
        print("skip: Chromium: not installed")
        return
    record(folder, f"{HERE}/regions_shown.c")
    path, data = page(folder)
    with browser.Browser() as b:
        b.open(path)
        b.assert_quiet()
        paths = b.run("cpuperf.values().region.map(([path]) => path)")
        # in the last one nothing is done: beside others a sample may still fall into it
        assert [p for p in paths if p != "open"] == ["request", "request > parse", "-"], paths
        all_ = b.run("cpuperf.page.model.allSamples()")
        for which, wanted in (('"request > parse"', "request > parse"), ("parse", "parse"), ("request", "request"), ("", None)):
            b.search(which and f"region:{which}")
            options = [f"--region={wanted}"] if wanted else []
            want = sum(int(r["self_samples"]) for r in table(folder, "--report=flat", "--top=0", *options)
                       if r["event"] == "cpu_clock")
            got = b.run("cpuperf.page.model.allSamples()")  # of all also records of switches: of no region
            assert got == want if which else got >= want, (which, want, got)
        b.search("region:*")
        within = b.run("cpuperf.page.model.allSamples()")
        b.search("region:-")
        assert within > 0 and b.run("cpuperf.page.model.allSamples()") == all_ - within
        b.search("")
        x, y, width, _ = b.box_in("#time", "#axis")
        # behind the rows of samples: one of all, and one of each thread where there are several
        top = b.run("(({rows}) => rows.slice(0, rows.findIndex((r) => r.track)).reduce((sum, r) => sum + r.height, 0))(cpuperf.page.time)")
        track, levels = next(slices(data))
        begin, end = levels[0][0][:2]
        span = data["nr_slices"] * data["slice_ns"]
        b.mouse("mouseMoved", x + width * ((begin + end) / 2 - data["start_ns"]) / span, y + top + 10)
        # a thread has a row of its samples, too, where others have some
        b.until("[...document.querySelectorAll('#rows li')].some((e) => "
                f"['thread {track['tid']}', 'request', ' ms'].every((part) => e.textContent.includes(part)))")
        at = next(instants(data))[0]
        b.mouse("mouseMoved", x + width * (at - data["start_ns"]) / span, y + top + 10)
        # the value is of the same moment, which may be another pixel where others run between
        b.until("[...document.querySelectorAll('#rows li')].some((e) => e.textContent.includes('; parsed'))")
        color = b.run("getComputedStyle(document.documentElement).getPropertyValue('--panel')")
        pixel = ("(() => { const c = cpuperf.page.time; const p = c.context.getImageData(Math.round(c.xOfTime("
                 f"{(begin + end) / 2}) * devicePixelRatio), {top + 6} * devicePixelRatio, 1, 1).data; return [...p]; }})()")
        b.until(f"{pixel}[3] === 255")
        assert len(set(b.run(pixel)[:3])) > 1, (b.run(pixel), color)


run_checks(globals(), everybody=True)
