#!/usr/bin/env python3
"""By how much a program would end earlier (--report=what-if): what_if.c has a thread on which its end depends, and one on
which it does not. CPUPERF and CPUPERF_PRINT name the programs; it needs the right to load programs into the kernel.
"""
import csv
import io
import json
import os

import pages
from kit import CPUPERF, despite_hidden_turns, need_programs, output, PRINT, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))


def measure(folder):
    program = os.path.join(folder, "what_if")
    run("cc", "-O1", "-g", "-pthread", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{HERE}/what_if.c")
    run(CPUPERF, "--spec-file=wall", "--regions", "-o", "s", "--", program, cwd=folder)


def rows(folder, report, *args):
    text = output(PRINT, "--quiet", "s", "--output-format=csv", f"--report={report}", *args, cwd=folder)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def what_the_end_depends_on(folder):
    """Exact, however busy the machine is: the sum of the samples on the longest path."""
    parts = "serial_part", "long_part", "brief_part", "main"
    time = {r["function"]: int(r["total_count"]) for r in rows(folder, "flat", "--event=cpu_clock", "--top=0")}
    found = {r["function"]: r for r in rows(folder, "what-if", *(f"--speedup={part}:50%" for part in parts))}
    assert list(found) == list(parts), found
    saved = {part: int(r["saves_with_callees_ns"]) for part, r in found.items()}
    assert saved["brief_part"] == 0 < time["brief_part"], (saved, time)
    # what main does between making the long thread and waiting for it has slack
    least = {"serial_part": time["serial_part"], "long_part": time["long_part"], "main": time["serial_part"]}
    for part, ns in least.items():
        assert ns / 2 - 1 <= saved[part] <= time[part] / 2 + 1, (part, saved, time)
        assert float(found[part]["faster"]) == 50 and not found[part]["saves_ns"], found[part]
        low, share, high = (float(found[part][f"saves_with_callees{end}"]) for end in ("_low", "", "_high"))
        assert 0 < low <= share <= high <= 50, found[part]
    # what ends a second thread is not what a glob names
    both, = rows(folder, "what-if", "--speedup=*_part:50")
    assert abs(int(both["saves_with_callees_ns"]) - saved["serial_part"] - saved["long_part"]) <= 2, (both, saved)


def each_function(folder):
    """Without a glob each function, the best first; and what the longest path consists of."""
    found = [r for r in rows(folder, "what-if", "--speedup=10%") if not r["region"]]
    own = {(r["object"], r["function"]): int(r["self_count"]) for r in rows(folder, "flat", "--event=cpu_clock", "--top=0")}
    assert found and {float(r["faster"]) for r in found} == {10}, found
    saves = [int(r["saves_ns"]) for r in found]
    assert saves == sorted(saves, reverse=True), saves
    for r in found:
        assert int(r["own_time"]) == own[r["object"], r["function"]], (r, own)
        assert int(r["saves_ns"]) <= int(r["own_time"]) / 10 + 1, r
        assert int(r["saves_ns"]) <= int(r["saves_with_callees_ns"]) + 1, r
    text = output(PRINT, "--quiet", "--no-pager", "s", "--report=what-if", cwd=folder)
    assert "Longest path: " in text and " % on a CPU, " in text and "what_if" in text.splitlines()[0], text
    document = json.loads(output(PRINT, "s", "--report=what-if", "--output-format=json", cwd=folder))
    assert document["reports"][0]["rows"][0]["function"] == rows(folder, "what-if")[0]["function"], document


def regions(folder):
    """What runs on a thread while a region is open on it is cut, whatever it is: by the same samples as in their report."""
    time = {r["path"]: int(r["cpu_clock_count"]) for r in rows(folder, "regions", "--top=0") if r["kind"] == "region"}
    assert set(time) == {"serial", "long", "long > step", "step", "step > step"} and time["step"] > 0, time
    least = {"region:serial": time["serial"], "region:long": time["long"], "region:step": time["long > step"],
             "region:long > step": time["long > step"], "region:*": time["serial"] + time["long"]}
    found = rows(folder, "what-if", *(f"--speedup={option}:50%" for option in least))
    assert [r["region"] for r in found] == [option.partition(":")[2] for option in least], found
    for r, (option, ns) in zip(found, least.items()):
        assert abs(int(r["saves_with_callees_ns"]) - ns / 2) <= 1, (option, r, time)
        assert (r["function"], r["object"], r["own_time"], r["saves"]) == ("", "", "", ""), r
    # each by its name, behind the functions
    listed = rows(folder, "what-if", "--speedup=50%")
    names = [r["region"] for r in listed]
    assert sorted(names, key=bool) == names and [name for name in names if name] == ["long", "step", "serial"], names
    own = {r["region"]: int(r["own_time"]) for r in listed}
    assert (own["long"], own["serial"], own["step"]) == (time["long"], time["serial"], time["long > step"] + time["step"]), (own, time)
    saved = {r["region"]: r["saves_with_callees_ns"] for r in listed}
    assert saved["long"] == found[1]["saves_with_callees_ns"] and saved["step"] == found[2]["saves_with_callees_ns"], (saved, found)
    # names that mean more than one thing, or none
    text = output(PRINT, "--quiet", "--no-pager", "s", "--report=what-if", "--speedup=region:step:50%", "--speedup=serial:50%",
                  "--speedup=nothing:50%", "--speedup=region:long:50%", cwd=folder)
    flat = " ".join(text.split())
    assert 'meant together: "long > step", "step". One alone: --speedup=\'region:OUTER > step:50%\'' in flat, text
    assert flat.count("meant together") == 1 and " region:step" in text, text
    assert 'matches "serial"; a region has that name: --speedup=\'region:serial:50%\'' in flat, text
    assert 'No function in the samples matches "nothing"' in flat and flat.count("a region has that name") == 1, text


def replayed_in_page(folder, session):
    """Rows of the page's view; None: it has none."""
    output(PRINT, "--quiet", session, "--output-format=html", f"--output-file={folder}/page.html", cwd=folder)
    with open(f"{folder}/page.html", encoding="utf-8") as f:
        found = [r["rows"] for r in pages.data_of(f.read())["reports"] if r["name"] == "what-if"]
    assert len(found) < 2, found
    return found[0] if found else None


def page(folder):
    """Functions and regions, as the report has them."""
    wanted = [json.loads(line) for line in output(PRINT, "--quiet", "s", "--report=what-if", "--output-format=ndjson", "--top=200",
                                                  cwd=folder).splitlines()]
    shown = replayed_in_page(folder, "s")
    assert shown == wanted and {"long", "step", "serial"} <= {r["region"] for r in shown}, (shown, wanted)


def refused(folder):
    def refused_with(*args, code=1):
        return run(PRINT, "--report=what-if", *args, code=code, cwd=folder).stderr

    for text in ("parse", "parse:", "parse:x", "parse:0%", "parse:101%", ":50%", "parse:50%%", "%"):
        assert "not FUNCTION:PERCENT" in refused_with("s", f"--speedup={text}", code=2), text
    said = refused_with("s", "--speedup=region:stap:50%")
    assert 'no region matches' in said and 'did you mean "step"?' in said and "serial" in said, said
    assert "a region: --speedup=region:NAME:50%" in refused_with("s", "--speedup=region:step", code=2)
    assert "more than 16" in refused_with("s", *17 * ["--speedup=a:1%"], code=2)
    for option in "--pid=1", "--comm=x", "--cpu=0", "--from=1ms":
        assert "needs all samples" in refused_with("s", option), option
    run(CPUPERF, "-e", "cpu_clock@997Hz", "-o", "t", "--", "true", cwd=folder)
    assert "does not have who ended waits" in refused_with("t")
    assert "--spec-file=wall" in refused_with("t")
    run(CPUPERF, "--spec-file=wall", "-d", "0.1", "-o", "m", cwd=folder)
    assert "no command ended" in refused_with("m")
    assert replayed_in_page(folder, "t") is None and replayed_in_page(folder, "m") is None
    run(CPUPERF, "--spec-file=wall", "-o", "n", "--", os.path.join(folder, "what_if"), cwd=folder)
    said = refused_with("n", "--speedup=region:step:50%")
    assert "the session has no regions" in said and "--regions" in said, said


@despite_hidden_turns  # that of main for the long thread
def check_what_if(folder):
    need_programs()
    measure(folder)
    what_the_end_depends_on(folder)
    each_function(folder)
    regions(folder)
    page(folder)
    refused(folder)


if __name__ == "__main__":
    run_checks(globals())
