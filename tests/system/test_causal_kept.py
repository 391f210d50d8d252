#!/usr/bin/env python3
"""What cpuperf --causal keeps in the manifest of a session, and what cpuperf_print --report=causal makes of it.
CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import io
import json
import os
import re

import browser
from kit import CPUPERF, output, PRINT, programs_missing, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder, name, *options):
    program = os.path.join(folder, name)
    run("cc", "-O2", "-pthread", *options, f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{HERE}/causal.c")
    return program


def check_static(folder):
    """No agent is loaded into it: what the recorded run says, if it says something, stands alone."""
    static = build(folder, "static", "-static")
    text = output(CPUPERF, "--causal", "-o", f"{folder}/s", "--", static, "join", "40", "20")
    assert "join 40 20: no experiments: static is linked statically: it loads no agent" in text, text
    rows = list(csv.DictReader(io.StringIO(output(PRINT, f"{folder}/s", "--report=causal", "--output-format=csv"))))
    assert all(not r["saves"] and r["recorded"] for r in rows), rows
    if not programs_missing():
        assert "slack" in {r["function"] for r in rows}, rows


# What the report makes of a session: the recorded run is of no command with these functions.
ROW = {"function": "f", "linkage_name": "f", "object": "/o", "speedup": 50, "on_cpu": 10.0, "saves": 4.0, "saves_low": 3.0,
       "saves_high": 5.0, "rounds": 6}
MADE = {"command": "prog", "wall": 2.0, "spent": 60.0, "rounds": 6, "functions": 2, "until": 1.0, "confidence": 95.0, "known": True}


def write_manifest(folder, experiments):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/cpuperf.cpsession", "w", encoding="utf-8") as f:
        json.dump({"output_path_prefix": "cpuperf", "experiments": experiments}, f)
    return folder


def add_experiments(session, made):
    with open(f"{session}/cpuperf.cpsession", "r+", encoding="utf-8") as f:
        text = json.dumps({**json.load(f), "experiments": made})
        f.seek(0)
        f.write(text)


def check_disagreement(folder):
    """Of slack the recorded run cannot say that 40 % would be saved, nor of critical that it would take much longer."""
    if programs_missing():
        print(f"skip: a recorded run with wakers: {programs_missing()}")
        return
    program = build(folder, "causal")
    run(CPUPERF, "--spec-file=wall", "--output-file=/dev/null", "-o", f"{folder}/s", "--", program, "join", "60", "20")
    rows = [{**ROW, "function": name, "linkage_name": name, "object": program, "saves": saves, "saves_low": saves - 2,
             "saves_high": saves + 2} for name, saves in (("slack", 40.0), ("critical", -90.0), ("absent", 0.0))]
    add_experiments(f"{folder}/s", {**MADE, "rows": rows})
    text = output(PRINT, "--no-pager", f"{folder}/s", "--report=causal").replace("\n  ", " ")
    assert re.search(r"slack 50 % faster: experiments save 40 % \[38, 42\], the recorded run says .* ± .*: it has waits that", text), text
    assert "critical 50 % faster: experiments save -90 %" in text and "threads wait in a way that experiments do not see" in text, text
    found = list(csv.DictReader(io.StringIO(output(PRINT, f"{folder}/s", "--report=causal", "--output-format=csv"))))
    assert [r["differs"] for r in found] == ["true", "true", "false"], found
    assert float(found[0]["recorded"]) < 20 and float(found[2]["recorded"]) == 0, found
    assert "needs all samples" in run(PRINT, f"{folder}/s", "--report=causal", "--cpu=0", code=1).stderr


def check_refused(folder):
    """Where nothing can be tried, the session of before is not replaced."""
    run(CPUPERF, "--output-file=/dev/null", "-o", f"{folder}/s", "-e", "cpu_clock@100Hz", "--", "true")
    before = sorted(os.listdir(f"{folder}/s"))
    run(CPUPERF, "--causal=no_such_*", "-o", f"{folder}/s", "--", "true", code=125)
    assert sorted(os.listdir(f"{folder}/s")) == before, before


def check_page(folder):
    """A curve of each function, whose numbers are a table, too; also without a recording."""
    if not browser.find():
        print("skip: the page: no Chromium here")
        return
    rows = [{**ROW, "speedup": percent, "saves": percent / 10, "saves_low": 0.0, "saves_high": percent / 5} for percent in (25, 75)]
    region = {key: value for key, value in ROW.items() if key not in ("function", "linkage_name", "object")}
    regions = [{**region, "region": name, "speedup": percent} for name in ("<i>", "r") for percent in (50, 75)]
    made = {**MADE, "rows": [*rows, {**ROW, "function": "<b>", "saves_low": -200.0}, *regions]}
    run(CPUPERF, "--output-file=/dev/null", "-o", f"{folder}/r", "-e", "cpu_clock@100Hz", "--", "true")
    add_experiments(f"{folder}/r", made)
    with browser.Browser() as page:
        for session in f"{folder}/r", write_manifest(f"{folder}/s", made):
            output(PRINT, "--quiet", session, "--output-format=html", f"--output-file={folder}/page.html")
            page.open(f"{folder}/page.html")
            page.assert_quiet()
            assert not page.run("document.getElementById('experiments').hidden")
            assert page.run("[...document.querySelectorAll('#curves h3')].map((e) => e.textContent)") == [
                "f", "<b>", "region <i>", "region r"]
            first = page.run("document.querySelector('#curves .chart tbody').innerText").split()
            assert first == "25.0 % 2.5 % 0.0 % to 5.0 % 75.0 % 7.5 % 0.0 % to 15.0 %".split(), first
            assert "What f would save" in page.run("document.querySelector('#curves canvas').ariaLabel")
            assert page.run("[...document.querySelectorAll('#curves canvas')].every((e) => e.height > 0 && e.width > 0)")
            page.run("""document.querySelector('#curves canvas').dispatchEvent(
                new PointerEvent('pointermove', { clientX: document.querySelector('#curves canvas').getBoundingClientRect().right }))""")
            said = page.run("document.querySelector('#curves .hint').textContent")
            assert said == "75.0 % faster: saves 7.5 %, 0.0 % to 15.0 %", said
        run(CPUPERF, "--output-file=/dev/null", "-o", f"{folder}/t", "-e", "cpu_clock@100Hz", "--", "true")
        output(PRINT, "--quiet", f"{folder}/t", "--output-format=html", f"--output-file={folder}/page.html")
        page.open(f"{folder}/page.html")
        assert page.run("document.getElementById('experiments').hidden")
        page.assert_quiet()


def check_alone(folder):
    """Experiments without a recording."""
    made = write_manifest(f"{folder}/s", {**MADE, "rows": [ROW, {**ROW, "function": "g\u00e9", "saves_low": -1.0}]})
    text = output(PRINT, "--no-pager", made, "--report=causal")
    assert "prog: f in 50 % less time would save 4 % [3, 5] of 2.000 s (6 rounds of 2 experiments in 60.00 s)" in text, text
    assert "4 % [-1, 5]" in text and "together they hold with 95 %" in text and "no run was recorded" in text, text
    text = output(PRINT, "--no-pager", write_manifest(f"{folder}/s", {**MADE, "rows": [{**ROW, "region": name, "speedup": speedup} for name in (
        "r", "s") for speedup in (50, 100)]}), "--report=causal")
    assert all(text.count(f"\n{name}\n") == 1 for name in "rs") and len(re.findall(r"^ +(?:50|100) % .*-\*-", text, re.M)) == 4, text
    assert "* by experiments" in text and all(len(line) <= 80 for line in text.splitlines() if re.match(" +[0-9]+ % ", line)), text
    # of one nothing is known, as no run of it could be used
    less = {key: value for key, value in ROW.items() if not key.startswith("saves") and key != "rounds"}
    made = write_manifest(f"{folder}/s", {**MADE, "rounds_not_used": 7, "rows": [ROW, {**less, "function": "g"}]})
    text = output(PRINT, "--no-pager", made, "--report=causal")
    assert "7 of 18 runs are not used: threads waited for a CPU for more than 5 % of the time" in text, text
    assert re.search(r"^g +10.00 % +50.00 %$", text, re.M), text
    f, g = csv.DictReader(io.StringIO(output(PRINT, made, "--report=causal", "--output-format=csv")))
    assert (f["saves"], f["rounds"], g["saves"], g["rounds"]) == ("4.000000", "6", "", ""), (f, g)
    open_end = {key: value for key, value in ROW.items() if key not in ("saves_low", "saves_high", "on_cpu", "rounds")}
    text = output(PRINT, "--no-pager", write_manifest(f"{folder}/s", {**MADE, "known": False, "rows": [open_end]}), "--report=causal")
    assert "no function is known to save any of 2.000 s" in text and "4 % [?]" in text and "Not each is known within 1 %" in text, text
    for half, said in (2.0, "--at-most=4m"), (20.0, "--at-most=7h"), (90.0, "nor would it be in two days"):
        rows = [ROW, {**ROW, "saves_low": 4 - half, "saves_high": 4 + half}]
        text = output(PRINT, "--no-pager", write_manifest(f"{folder}/s", {**MADE, "known": False, "rows": rows}), "--report=causal")
        assert said in " ".join(text.split()), (half, text)
    text = output(PRINT, "--no-pager", write_manifest(f"{folder}/s", {**MADE, "rounds_without_latency": 3, "rows": [ROW]}), "--report=causal")
    assert "The latency is not known in 3 rounds: cpuperf waited for a CPU" in text, text
    latency = {**MADE, "rate": 9.0, "latency": 0.5, "rows": [{**ROW, "quantity": "latency", "point": "handled"}]}
    said = "wrong where threads wait before or behind handled"
    for looks in True, False:
        text = output(PRINT, "--no-pager", write_manifest(f"{folder}/s", {**latency, "latency_by_looks": looks}), "--report=causal")
        assert (said in " ".join(text.split())) == looks, text
    none = write_manifest(f"{folder}/s", {"command": "prog", "why_none": "prog is linked statically"})
    text = output(PRINT, "--no-pager", none, "--report=causal")
    assert text == "prog: no experiments: prog is linked statically\nNor does the recorded run say it: no run was recorded\n", text
    assert json.loads(output(PRINT, none, "--report=causal", "--output-format=json"))["reports"][0]["rows"] == []
    # what is no experiment, and a session without one
    for wrong, message in [({**MADE, "rows": 1}, "rows must be an array"), ({**MADE, "rows": [1]}, "must be an object"),
                           ({**MADE, "rows": [{**ROW, "speedup": 0}]}, "speedup must be"), ({"rows": [{}]}, "is missing"),
                           ({**MADE, "rows": [ROW, {**ROW, "function": ""}]}, "row 2 names neither a function nor a region"),
                           ({**MADE, "rows": 257 * [ROW]}, "at most 256"), ({"rows": [{**ROW, "function": "\x1b"}]}, "unprintable"),
                           ({**MADE, "rows": [{**ROW, "quantity": "joy"}]}, "quantity must be"),
                           ({**MADE, "rows": [{**ROW, "saves": "much"}]}, "saves must be"), ({"what": 1}, "unknown key")]:
        done = run(PRINT, write_manifest(f"{folder}/w", wrong), "--report=causal", code=1)
        assert message in done.stderr, (wrong, done.stderr)
    assert "no trace such as" in run(PRINT, write_manifest(f"{folder}/n", {"why_none": ""}), "--report=causal", code=1).stderr
    run(CPUPERF, "--output-file=/dev/null", "-o", f"{folder}/t", "-e", "cpu_clock@100Hz", "--", "true")
    assert "the session has no experiments" in run(PRINT, f"{folder}/t", "--report=causal", code=1).stderr
    # it is a session, so another one may replace it
    run(CPUPERF, "--output-file=/dev/null", "-o", made, "-e", "cpu_clock@100Hz", "--", "true")


run_checks(globals())
