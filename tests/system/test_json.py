#!/usr/bin/env python3
"""Documents of --output-format=json: each report of each kept session, and of a job, is valid by the installed schema, has
the rows of ndjson, and says of each field what it is. CPUPERF_RENEW=1 writes what the schema says of the rows of each report."""
import glob
import json
import os
import shlex
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skip: python3-jsonschema is not installed")
    sys.exit(77)

import kit
from kit import PRINT, run_checks

SOURCE = os.environ["SOURCE_DIR"]
SESSIONS = f"{SOURCE}/tests/data/sessions"
SCHEMA = f"{SOURCE}/schemas/report.schema.json"
RENEW = os.environ.get("CPUPERF_RENEW") == "1"
with open(SCHEMA, encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
VALIDATOR = jsonschema.Draft202012Validator(schema)

NAMES = ("tally", "things", "samples", "stacks", "killed", "functions")
# those without columns have fields of their own: of the summary cpuperf-formats(7) describes them, of records cpuperf-reports(7)
WITHOUT_COLUMNS = ("summary", "records")
REPORTS = ("summary", "flat", "tree", "callers", "calls", "stacks", "threads", "waits", "records", "branches", "annotate",
           "regions", "heap", "sizes", "lifetimes", "memory", "locks", "latency", "functions", "changes", "series", "top-down",
           "hosts", "imbalance", "heat", "what-if", "causal")


def printed(source, *options, fails=(0, 1)):
    done = subprocess.run([PRINT, *source, *options], cwd=SESSIONS, check=False, capture_output=True, timeout=600,
                          stdin=subprocess.DEVNULL)
    assert done.returncode in fails, (source, options, done)
    return done.stdout.decode()


def document(source, *options, fails=(0, 1)):
    text = printed(source, *options, "--output-format=json", fails=fails)
    found = json.loads(text)
    require_valid(found, (source, options))
    return found


def require_valid(found, about):
    errors = [(list(e.absolute_path), e.message[:300]) for e in VALIDATOR.iter_errors(found)]
    assert not errors, (about, errors[:3])


def sources():
    """Of each what names it on the command line."""
    return [(f"--session={name}.cpsession", "--sysroot=root") for name in NAMES] + [
        ("--perf-data=samples.perf.data", "--sysroot=root")]


def fields_of(columns):
    return {c[key] for c in columns for key in ("name", "low", "high", "half") if key in c}


def type_of(value):
    return {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object",
            type(None): "null"}[type(value)]


TYPES = {"text": {"string"}, "address": {"string"}, "flag": {"boolean"}, "cpu": {"number", "string"}}


# Columns are named by the events of the session.
BY_EVENTS = ("regions",)
# Options that choose among columns: what is there with each of them is always there.
CHOICES = ((), ("--sort=comm",))


def add_rows(rows_of, always_of, report):
    """The types of each field, of all documents, and those that each row has. Columns are there without rows, too."""
    fields = rows_of.setdefault(report["report"], {})
    columns = [] if report["report"] in BY_EVENTS else report["columns"]
    seen = [set(row) for row in report["rows"]] or [fields_of(columns) | {"report"}] * bool(report["columns"])
    for of in seen:
        always_of[report["report"]] = always_of.get(report["report"], of) & of
    for column in report["columns"]:
        for name in fields_of([column]):
            fields.setdefault(name, set()).update(TYPES.get(column["kind"], {"number"}))
    for row in report["rows"]:
        for name, value in row.items():
            fields.setdefault(name, set()).add(type_of(value))


def renew(rows_of, always_of):
    for name, fields in rows_of.items():
        schema["$defs"]["rows"][name] = {
            "type": "object", "required": sorted(always_of.get(name, ())), "properties": {k: {"type": sorted(v | {"null"})} for k, v in sorted(fields.items())}}
    schema["$defs"]["rows"] = dict(sorted(schema["$defs"]["rows"].items()))
    schema["$defs"]["report"]["allOf"] = [
        {"if": {"properties": {"report": {"const": name}}},
         "then": {"properties": {"rows": {"items": {"$ref": f"#/$defs/rows/{name}"}}}}} for name in schema["$defs"]["rows"]]
    shown = schema | {"$defs": {k: v if k not in ("rows", "report") else k for k, v in schema["$defs"].items()}}
    text = json.dumps(shown, indent=1)
    for name in ("rows", "report"):  # a line for each report
        lines = ",\n".join(f"   {json.dumps(k)}: " + json.dumps(v).replace('}}, {"if"', '}},\n    {"if"')
                           for k, v in schema["$defs"][name].items())
        text = text.replace(f'"{name}": "{name}"', f'"{name}": {{\n{lines}\n  }}')
    with open(SCHEMA, "w", encoding="utf-8") as out:
        out.write(text + "\n")


def loaded(source, *options):
    """The document, as it is renewed not valid yet; None: refused, as it needs samples or a job."""
    text = printed(source, *options, "--output-format=json")
    found = json.loads(text) if text else None
    if found and not RENEW:
        require_valid(found, (source, options))
    return found


def check_reports_of_kept_sessions(_folder):
    rows_of, always_of = {}, {}
    nr_rows = 0
    for source in sources():
        for name in REPORTS:
            option = f"--report={name}"
            found = loaded(source, option)
            if not found:
                continue
            assert found["document"] == "report" and found["version"] == 1, found
            (report,) = found["reports"]
            rows = [json.loads(line) for line in printed(source, option, "--output-format=ndjson").splitlines()]
            assert report["rows"] == rows, (source, name)
            if name not in WITHOUT_COLUMNS and rows and not source[0].startswith("--perf"):
                known = fields_of(report["columns"]) | {"report"}
                assert all(set(row) == known for row in rows), (source, name, known, rows[0])
            add_rows(rows_of, always_of, report)
            for choice in CHOICES[1:]:
                add_rows(dict(rows_of), always_of, loaded(source, option, *choice)["reports"][0])
            nr_rows += len(rows)
    for choice in CHOICES:
        diff = loaded(sources()[2], "--report=diff", "--diff=killed.cpsession", *choice)
        add_rows(rows_of, always_of, diff["reports"][0])
    if RENEW:
        renew(rows_of, always_of)
    described = {name: set(row["properties"]) for name, row in schema["$defs"]["rows"].items()}
    assert nr_rows > 1000 and described == {name: set(fields) for name, fields in rows_of.items()}, (nr_rows, described)
    assert set(described) == set(REPORTS) | {"diff"}
    required = {name: set(row["required"]) for name, row in schema["$defs"]["rows"].items()}
    assert required == {name: always_of.get(name, set()) for name in rows_of}, (required, always_of)


def check_several_reports(_folder):
    both = document(sources()[2], "--report=flat", "--report=threads")
    assert [r["report"] for r in both["reports"]] == ["flat", "threads"]
    alone = document(sources()[2], "--report=threads")
    assert both["reports"][1] == alone["reports"][0] and alone["reports"][0]["rows"]
    share = [c for c in both["reports"][0]["columns"] if c["name"] == "self"]
    assert share == [{"name": "self", "kind": "share", "unit": "%", "low": "self_low", "high": "self_high"}]


def check_difference(_folder):
    found = document(sources()[2], "--diff=killed.cpsession")
    assert [r["report"] for r in found["reports"]] == ["diff"] and [s["is_before"] for s in found["sessions"]] == [
        False, True], found
    assert found["reports"][0]["rows"]


def check_answers(_folder):
    """The first rows of what text has, totals, what was not measured and why, and what to type: in 4 KB."""
    for source in sources():
        text = printed(source, "--output-format=json")
        if source[0].startswith("--perf"):  # has no counts
            assert document(source)["document"] == "report"
            continue
        found = document(source)
        assert found["document"] == "answer" and len(text.encode()) <= 4096, (source, len(text))
        totals = [json.loads(line) for line in printed(source, "--report=summary", "--output-format=ndjson").splitlines()]
        totals = {(r["group"], r["event"]): r["total"] for r in totals if r.get("summary")}
        for row in found["totals"]["rows"]:
            assert totals[row["group"], row["event"]] == row.get("total"), (source, row)
            assert "mean_low" not in row, row  # iterations that follow each other are no independent runs
        absent = [name for row in found["not_measured"]["rows"] for name in row["events"]]
        assert len(found["totals"]["rows"]) + found["totals"]["left_out"] + len(absent) == len(totals), (source, found)
    found = document(sources()[1])
    assert found["not_measured"]["rows"] == [{"reason": "no total", "events": ["misc:net_rx_bytes"]}] and not found["tables"] and found["next"] == [], found
    found = document(sources()[2])
    (flat,) = found["tables"]
    rows = [json.loads(line) for line in printed(sources()[2], "--report=flat", "--output-format=ndjson").splitlines()]
    assert flat["rows"] == rows[:len(flat["rows"])] and len(flat["rows"]) >= 5 and flat["left_out"], flat
    of_event = {}
    for row in rows:
        of_event[row["event"]] = of_event.get(row["event"], 0) + 1
    assert len(flat["rows"]) + flat["left_out"] == sum(min(nr, 10) for nr in of_event.values()) < len(rows), (flat, of_event)
    assert found["next"] == [["cpuperf_print", "--session=samples.cpsession", "--report=annotate", "--function=work_a"]]
    few = document(sources()[2], "--top=2")
    (table,) = few["tables"]
    assert [r for r in table["rows"] if r["event"] == "cpu_clock"] == flat["rows"][:2] and not table["left_out"], few


def check_long_answer(folder):
    """Rows that find no room are counted, and each list has its first rows."""
    found = document(sources()[2], "--top=0")
    assert len(json.dumps(found, separators=(",", ":"))) <= 4096 and found["tables"][0]["left_out"] > 10
    assert found["totals"]["rows"] and found["notes"]["rows"], found


def check_command(folder):
    """The answer of a command, in place of text: on standard error, or in a file."""
    options = ["--output=here", "--output-format=json", "--quiet", "--event=task_clock", "--", "/bin/sh", "-c", "exit 3"]
    done = subprocess.run([kit.CPUPERF, *options], cwd=folder, check=False, capture_output=True, timeout=600)
    assert done.returncode == 3 and not done.stdout, done
    found = json.loads(done.stderr)
    require_valid(found, options)
    assert found["target"]["exit_status"] == 3 and found["target"]["command"].startswith("/bin/sh -c"), found
    assert found["target"]["wall_ns"] > 0 and found["totals"]["rows"][0]["event"] == "task_clock", found
    done = subprocess.run([kit.CPUPERF, "--runs=3", "--output-file=answer.json", *options], cwd=folder, check=False,
                          capture_output=True, timeout=600)
    with open(f"{folder}/answer.json", encoding="utf-8") as out:
        found = json.load(out)
    require_valid(found, options)
    target, (total,) = found["target"], found["totals"]["rows"]
    assert target["runs"] == 3 and target["failed_runs"] == 3, target
    assert target["wall_ns_low"] < target["wall_ns"] < target["wall_ns_high"], target
    assert total["mean_low"] < total["mean"] < total["mean_high"], total


def check_sampled(folder):
    """With waits, whose rows are in the same table: the sentence, where the time went, functions, and what is next."""
    if not kit.may_sample("the answer of samples"):
        return
    command = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    done = subprocess.run([kit.CPUPERF, "--output=here", "--output-format=json", "--output-file=a.json", "--", "/bin/sh", "-c",
                           command], cwd=folder, check=False, capture_output=True, timeout=600)
    assert done.returncode == 0, done
    with open(f"{folder}/a.json", encoding="utf-8") as out:
        text = out.read()
    found = json.loads(text)
    require_valid(found, "a sampled command")
    assert len(text.encode()) <= 4096 and found["conclusion"] is None or "%" in found["conclusion"], found
    assert "flat" in [t["report"] for t in found["tables"]] and all(t["rows"] for t in found["tables"]), found
    (flat,) = [t for t in found["tables"] if t["report"] == "flat"]
    assert all(set(row) == fields_of(flat["columns"]) | {"report"} for row in flat["rows"]), flat
    ((program, session, *report),) = found["next"]
    assert program == "cpuperf_print" and report[0].startswith("--report="), found["next"]
    done = subprocess.run([PRINT, session, *report, "--quiet"], cwd=folder, check=False, capture_output=True, timeout=600)
    assert done.returncode == 0 and done.stdout, (found["next"], done)


def check_refused(folder):
    for options in (["--list-events"], ["--duration=1s", "--event=task_clock"]):
        done = subprocess.run([kit.CPUPERF, "--output=here", "--output-format=json", *options], cwd=folder, check=False,
                              capture_output=True, timeout=600)
        assert done.returncode != 0 and not done.stdout, (options, done)


def check_versus(folder):
    """By page faults, which no load changes."""
    options = ["--output=-", "--versus=true", "--runs=4", "--by=page_faults", "--output-format=json", "--", "sh", "-c",
               "sleep 0; true"]
    done = subprocess.run([kit.CPUPERF, *options], cwd=folder, check=False, capture_output=True, timeout=600)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    require_valid(found, options)
    assert found["document"] == "versus" and found["difference"] == "more" and found["pairs"] == 4, found
    assert found["conclusion"].startswith("sh -c"), found
    again = [option for option in options if not option.startswith(("--output", "--runs"))]
    again.insert(again.index("--"), "--output-format=text")
    assert found["next"] == [["cpuperf", *again]], found
    chosen = [row for row in found["rows"] if row["is_chosen"]]
    assert [row["measure"] for row in chosen] == ["page_faults"] and chosen[0]["change_low"] > 0, found
    known = fields_of(found["columns"]) | {"report"}
    assert all(set(row) == known for row in found["rows"]), found
    assert len(found["rows"]) + len(found["not_measured"]) == 4, found
    assert found["differences"] is None, found


def check_versus_differences(folder):
    """The rows of the report of both recordings that are significant, and no others, as many as fit."""
    if not kit.may_count_faults("recordings of both"):
        return
    touch = "import mmap\nm = mmap.mmap(-1, {} * 4096)\nm.madvise(15)\nfor i in range({}): m[i * 4096] = 1"
    old, new = ([sys.executable, "-ISc", touch.format(nr, nr)] for nr in (500, 5000))
    options = [f"--versus={shlex.join(old)}", "-e", "page_faults@1", "--by=page_faults", "--runs=6", "--output-format=json"]
    done = subprocess.run([kit.CPUPERF, *options, "--", *new], cwd=folder, check=False, capture_output=True, timeout=600)
    assert done.returncode == 0 and not done.stderr, done
    found = json.loads(done.stdout)
    require_valid(found, options)
    assert len(done.stdout) <= 4096, len(done.stdout)
    assert found["next"] == [["cpuperf_print", "cpuperf.versus/new", "--diff=cpuperf.versus/old", "--counts"]], found
    shown = subprocess.run([PRINT, "cpuperf.versus/new", "--diff=cpuperf.versus/old", "--counts", "--no-totals", "--top=10",
                            "--output-format=ndjson", "--quiet"], cwd=folder, check=True, capture_output=True, timeout=600)
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    differences = found["differences"]
    certain = [row for row in rows if row["certain"]]
    assert certain and differences["rows"] == certain[:len(differences["rows"])] and differences["rows"], (differences, rows)
    assert len(differences["rows"]) + differences["left_out"] == len(certain), (differences, rows)


def check_sweep(folder):
    """Of one command, and with --versus: of each value."""
    options = ["--output=-", "--sweep=n=1,2,3", "--runs=2", "--output-format=json"]
    for more, command in (([], ["true", "{n}"]), (["--by=page_faults"], ["true", "{n}"]), (["--versus=true"], ["true", "{n}"])):
        done = subprocess.run([kit.CPUPERF, *options, *more, "--", *command], cwd=folder, check=False, capture_output=True,
                              timeout=600)
        assert done.returncode == 0, done
        found = json.loads(done.stdout)
        require_valid(found, more)
        known = fields_of(found["columns"]) | {"report"}
        assert all(set(row) == known for row in found["rows"]), found
        assert {row["value"] for row in found["rows"]} == {"1", "2", "3"}, found
        assert found["document"] == ("versus" if "--versus=true" in more else "sweep"), found
        shares = [v for k, v in (found.get("scaling") or {}).items() if k.startswith("serial_share") and v is not None]
        assert all(0 <= v <= 100 for v in shares), found


def check_failure(_folder):
    """A document says what ended it early, and is whole."""
    found = document(sources()[0], "--report=flat", fails=(1,))
    assert found["reports"] == [{"report": "flat", "rows": [], "columns": []}] and "samples" in found["error"]["message"]


def check_problems(_folder):
    found = document(sources()[2], "--report=branches")
    assert [p for p in found["problems"] if p["message"].startswith("--report=branches: no rows")], found


run_checks(globals())
