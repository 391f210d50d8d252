#!/usr/bin/env python3
"""What cpuperf --causal keeps in the manifest of a session, and what cpuperf_print --report=causal makes of it.
CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import io
import json
import os

from kit import CPUPERF, output, PRINT, programs_missing, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))


def check_static(folder):
    """No agent is loaded into it: what the recorded run says, if it says something, stands alone."""
    static = os.path.join(folder, "static")
    run("cc", "-O2", "-pthread", "-static", "-o", static, f"{HERE}/causal.c")
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


def check_alone(folder):
    """Experiments without a recording."""
    made = write_manifest(f"{folder}/s", {**MADE, "rows": [ROW, {**ROW, "function": "g\u00e9", "saves_low": -1.0}]})
    text = output(PRINT, "--no-pager", made, "--report=causal")
    assert "prog: f in 50 % less time would save 4 % [3, 5] of 2.000 s (6 rounds of 2 experiments in 60.00 s)" in text, text
    assert "4 % [-1, 5]" in text and "together they hold with 95 %" in text and "no run was recorded" in text, text
    open_end = {key: value for key, value in ROW.items() if key not in ("saves_low", "saves_high", "on_cpu", "rounds")}
    text = output(PRINT, "--no-pager", write_manifest(f"{folder}/s", {**MADE, "known": False, "rows": [open_end]}), "--report=causal")
    assert "no function is known to save any of 2.000 s" in text and "4 % [?]" in text and "Not each is known within 1 %" in text, text
    # what is no experiment, and a session without one
    for wrong, message in [({**MADE, "rows": 1}, "rows must be an array"), ({**MADE, "rows": [1]}, "must be an object"),
                           ({**MADE, "rows": [{**ROW, "speedup": 0}]}, "speedup must be"), ({"rows": [{}]}, "is missing"),
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
