"""Engines and processes of GPUs: where there is none, each is said in one line, with the reason; and how they are found."""
import glob
import json

from kit import CPUPERF, run, run_checks, skip

NAMES = ["engine_busy", "engine_busy_time", "process_gpu_time", "process_gpu_memory"]
NO_GPU = "there is no GPU with a driver of the kernel's (DRM)"


def describe(name):
    return json.loads(run(CPUPERF, f"--describe-event=gpu:{name}", "--output-format=ndjson").stdout)


def check_refused(folder):
    """None of them can be measured: one warning for all, and one error."""
    done = run(CPUPERF, "--event=" + ",".join(f"gpu:{name}" for name in NAMES), "--duration=10ms", code=1)
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and lines[0].startswith("cpuperf: warning: not supported: " + NO_GPU), lines
    assert all(f"gpu:{name}" in lines[0] for name in NAMES), lines
    assert lines[1] == f"cpuperf: error: none of the {len(NAMES)} event(s) can be measured here", lines


def check_beside_others(folder):
    """Another event is measured all the same; in the table they are not."""
    done = run(CPUPERF, "--event=misc:load_average_1,gpu:engine_busy", "--duration=10ms", "--num-iterations=1")
    assert NO_GPU in done.stderr and "load_average_1" in done.stdout, done.stdout + done.stderr


def check_described(folder):
    for name in NAMES:
        event = describe(name)
        assert event["reason"] == NO_GPU and event["source"] == "/proc/*/fdinfo", event


if glob.glob("/sys/class/drm/card*"):
    skip("there is a GPU here, and what its driver reports is not known")
run_checks(globals())
