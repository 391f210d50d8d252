"""Both programs measure and report where stacks are small (ulimit -s 64, in KiB): no frame is large, and
threads have stacks of their own size. Sanitizers need more themselves.
"""
import os
import resource

import kit
from kit import CPUPERF, PRINT, run_checks
from sampled import event, may_sample, write_spec

IS_SANITIZED = b"__asan_init" in open(CPUPERF, "rb").read()
STACK_BYTES = (256 if IS_SANITIZED else 64) << 10
REPORTS = ("summary", "records", "flat", "tree", "callers", "calls", "stacks", "threads", "series",
           "top-down")
FORMATS = ("html", "folded", "pprof", "speedscope", "perfetto", "chrome", "openmetrics", "sqlite",
           "perf-data", "raw", "csv", "ndjson")


def limit():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, STACK_BYTES))


def run(*command):
    kit.run(*command, preexec_fn=limit)


def check_tally(folder):
    spec = write_spec(folder, [event("software:cpu_clock"), event("misc:process_cpu_time")])
    run(CPUPERF, spec, "--duration=20ms", "--num-iterations=3")
    for report in ("summary", "series", "top-down"):
        run(PRINT, f"--session={folder}/s.cpsession", f"--report={report}")
    run(CPUPERF, "--list-events")
    run(CPUPERF, spec, "--check-spec")
    bad = f"{folder}/bad.cpspec"
    with open(bad, "w", encoding="utf-8") as out:
        out.write('{"events": [' + ", ".join(["{}"] * 100) + "]}")
    kit.run(CPUPERF, f"--spec-file={bad}", code=1, preexec_fn=limit)


def check_sampling(folder):
    if not may_sample():
        print("skip: may not measure whole CPUs")
        return
    specs = f"{os.environ['SOURCE_DIR']}/specs"
    run(CPUPERF, f"--spec-file={specs}/profile-dwarf.cpspec", "--duration=50ms",
        "--num-iterations=2", f"--output-path-prefix={folder}/t",
        f"--session-result-spec-path={folder}/s.cpsession")


def check_reading(folder):
    data = f"{os.environ['SOURCE_DIR']}/tests/data/sessions"
    for report in REPORTS:
        run(PRINT, f"--session={data}/stacks.cpsession", f"--report={report}", f"--sysroot={folder}")
    for form in FORMATS:
        run(PRINT, f"--session={data}/samples.cpsession", f"--output-format={form}",
            f"--output-file={folder}/out", f"--sysroot={folder}")
    done = kit.run(PRINT, f"--session={data}/samples.cpsession", "--no-pager", "--quiet",
                   f"--diff={data}/killed.cpsession", f"--sysroot={folder}", code=1,
                   preexec_fn=limit)  # 1: the other session was killed
    assert "changed significantly" in done.stdout, done
    run(PRINT, f"--perf-data={data}/samples.perf.data", f"--sysroot={folder}")


run_checks(globals())
