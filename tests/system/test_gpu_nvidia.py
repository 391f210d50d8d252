"""NVIDIA's GPUs from the programs' side: cpuperf with a stand-in for their library (tests/nvml/standin.c), found as the real one is, by
its name, in a mount namespace with the driver's files. No real GPU was at hand."""
import csv
import io
import os
import shutil
import subprocess
import tempfile
import time

from kit import CPUPERF, PRINT, output, run, run_checks, skip, wait_for

SPEC = os.path.join(os.environ["SOURCE_DIR"], "specs", "gpu.cpspec")
CHECK_GPU = os.path.join(os.environ["SOURCE_DIR"], "scripts", "check-gpu")
DEVICES = "".join(f"{i} device 0000:0{i + 1}:00.0\n" for i in range(2))
WHOLE = DEVICES + """0 utilization 37 12
1 utilization 50 13
* memory 85899345920 536870912 1073741824
0 power 117000
1 power 200500
* power_limit 700000
* temperature 41
* clock.sm 1980
* clock.mem 2619
* reasons 4
* encoder 3
* field.83 6000
* field.74 1000
* field.75 2000
* gpm 1
* gpm.2 51.5
"""


class Machine:
    """A folder with the driver's files, and how to run a program where they are in /proc."""

    def __init__(self, folder, text=WHOLE, kind="new", nr=2):
        self.folder = folder
        os.makedirs(f"{folder}/driver")
        for i in range(nr):
            gpu = f"{folder}/driver/nvidia/gpus/0000:0{i + 1}:00.0"
            os.makedirs(gpu)
            with open(f"{gpu}/information", "w", encoding="ascii") as f:
                f.write(f"Model: \t\t A\nDevice Minor: \t {i}\n")
        self.script(text)
        self.env = {"NVML_STANDIN": f"{folder}/script", "NVML_STANDIN_LOG": f"{folder}/log",
                    "LD_LIBRARY_PATH": os.path.join(os.environ["NVML_STANDINS"], kind)}

    def script(self, text):
        with open(f"{self.folder}/script.new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(f"{self.folder}/script.new", f"{self.folder}/script")

    def calls(self):
        if not os.path.exists(f"{self.folder}/log"):
            return []
        with open(f"{self.folder}/log", encoding="ascii") as f:
            return f.read().splitlines()

    def command(self, *command):
        return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                'mount --bind "$0" /proc/driver && exec "$@"', f"{self.folder}/driver", *command]

    def run(self, *command, **how):
        return run(*self.command(*command), env={**self.env, **how.pop("env", {})}, cwd=self.folder, **how)


def series(folder):
    """(event, thing) to its values, as printed."""
    rows = {}
    for r in csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--report=series", "--output-format=csv", f"{folder}/out"))):
        rows.setdefault((r["event"], r["thing_name"]), []).append(r)
    return rows


def check_session(folder):
    machine = Machine(folder)
    shown = machine.run(CPUPERF, f"--spec-file={SPEC}", "--duration=50ms", "--num-iterations=3", "--output=out", "--quiet",
                        "--output-format=csv").stdout
    for word in ("nvidia0", "nvidia1"):
        assert word in shown, shown
    rows = series(folder)
    values = {key: [float(r["value"]) for r in of if r["value"]] for key, of in rows.items()}
    for label, first, second in (("busy", 37, 50), ("memory_used", 1 << 30, 1 << 30), ("power", 117, 200.5),
                                 ("temperature", 41, 41), ("frequency", 1.98e9, 1.98e9), ("throttled", 1, 1),
                                 ("power_limit", 700, 700)):
        for thing, expected in (("nvidia0", first), ("nvidia1", second)):
            got = values.get((label, thing))
            assert got and all(abs(v - expected) < 1e-6 * expected + 1e-9 for v in got), (label, thing, got, sorted(rows)[:40])
    # counters that stood still, and what these GPUs do not have
    assert set(values[("energy", "nvidia0")]) == {0.0}, values
    for label in ("idle_time", "memory_shared"):
        assert not values.get((label, "nvidia0")), (label, rows.get((label, "nvidia0")))
    assert not any(call.startswith("pcie") for call in machine.calls()), "20 ms for each of them"


def check_errors(folder):
    """A GPU that is lost while it is measured; one whose calls fail; one that has no more permission."""
    machine = Machine(folder)
    events = [f"--event=gpu:{name}" for name in ("busy", "power", "temperature")]
    with subprocess.Popen(machine.command(CPUPERF, *events, "--duration=100ms", "--num-iterations=20", "--output=out"),
                          cwd=folder, env={**os.environ, **machine.env}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        wait_for(p, f"{folder}/log")
        while machine.calls().count("power 1") < 3:
            assert p.poll() is None, p.communicate()
        machine.script("0 utilization !15\n* utilization 50 13\n1 power !999\n1 temperature !4\n* power 1\n* temperature 1\n")
        out, err = p.communicate()
    assert p.returncode == 0, (out, err)
    assert "GPU nvidia0 is not read any more: the GPU is lost" in err, err
    after = [call for call in machine.calls() if call.endswith(" 0")]
    assert after[-1] == "utilization 0", after[-5:]
    rows = series(folder)
    states = {key: [r["state"] for r in of] for key, of in rows.items()}
    assert len(rows[("busy", "nvidia0")]) < len(rows[("busy", "nvidia1")]), states
    assert states[("power", "nvidia1")][-1] == "failed" and states[("temperature", "nvidia1")][-1] == "no permission", states
    assert states[("busy", "nvidia1")][-1] == "ok", states


def check_silent(folder):
    """A driver that does not answer delays one reading; the session goes on, and ends."""
    machine = Machine(folder)
    with subprocess.Popen(machine.command(CPUPERF, "--event=gpu:power", "--event=software:cpu_clock", "--duration=200ms",
                                          "--num-iterations=20", "--output=out"),
                          cwd=folder, env={**os.environ, **machine.env}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        wait_for(p, f"{folder}/log")
        while machine.calls().count("power 1") < 3:
            assert p.poll() is None, p.communicate()
        machine.script("0 power hang\n")
        out, err = p.communicate()
    assert p.returncode == 0, (out, err)
    assert err.count("NVIDIA's driver has not answered for 2 s") == 1, err
    rows = series(folder)
    assert rows[("power", "nvidia0")][-1]["state"] == "failed", rows[("power", "nvidia0")]
    assert rows[("power", "nvidia0")][0]["state"] == "ok"


def check_gpm(folder):
    machine = Machine(folder)
    machine.run(CPUPERF, "--event=gpu:sm_active", "--event=gpu:fp16_active", "--event=gpu:busy", "--duration=150ms",
                "--num-iterations=3", "--output=out", "--quiet")
    rows = series(folder)
    assert [float(r["value"]) for r in rows[("sm_active", "nvidia1")]] == [51.5] * len(rows[("sm_active", "nvidia1")])
    assert rows[("busy", "nvidia1")] and not any(r["value"] for r in rows.get(("fp16_active", "nvidia1"), []))


def check_gpm_soon(folder):
    """At a pace above the library's: a sample is one point, or two if it is also that of a boundary."""
    machine = Machine(folder)
    machine.run(CPUPERF, "--event=gpu:sm_active@10ms", "--duration=400ms", "--num-iterations=2", "--output=out", "--quiet")
    times = [int(r["monotonic_ns"]) for r in series(folder)[("sm_active", "nvidia1")]]
    assert 2 <= len(set(times)) <= len(times) <= len(set(times)) + 2, times
    assert (len(set(times)) - 1) * 90e6 <= max(times) - min(times), times  # the library's pace is 100 ms


def check_hung(folder):
    """A driver that never answers: one of all sources waits for it."""
    machine = Machine(folder, "* init hang\n")
    start_s = time.monotonic()
    shown = machine.run(CPUPERF, f"--spec-file={SPEC}", "--duration=50ms", "--num-iterations=1", "--output=out", "--quiet")
    assert time.monotonic() - start_s < 26, "2 GPUs: 13 s, once"
    assert shown.stderr.count("NVIDIA's driver has not answered") >= 1, shown.stderr


def check_processes(folder):
    """By pid, with the name that the kernel has."""
    machine = Machine(folder, WHOLE + f"0 compute {os.getpid()}:4096\n1 compute {os.getpid()}:1024\n")
    machine.run(CPUPERF, "--event=gpu:process_gpu_memory", "--duration=50ms", "--num-iterations=2", "--output=out", "--quiet")
    with open("/proc/self/comm", encoding="utf-8") as f:
        name = f"{os.getpid()} {f.read().strip()}"
    rows = series(folder)
    assert rows[("process_gpu_memory", name)] and {float(r["value"]) for r in rows[("process_gpu_memory", name)]} == {5120.0}, rows


def check_old_driver(folder):
    machine = Machine(folder, kind="old")
    machine.run(CPUPERF, f"--spec-file={SPEC}", "--duration=20ms", "--num-iterations=1", "--output=out", "--quiet")
    rows = series(folder)
    assert float(rows[("memory_used", "nvidia0")][-1]["value"]) == (1 << 30) + (512 << 20), rows[("memory_used", "nvidia0")]


def check_not_loaded(folder):
    """Without NVIDIA's driver the library stays where it is, and nobody hears of it."""
    machine = Machine(folder, nr=0)
    done = machine.run(CPUPERF, "--describe-event=gpu:busy")
    assert not machine.calls() and "nvidia" not in (done.stdout + done.stderr).lower().replace("nvidia)", ""), done


def check_no_library(folder):
    machine = Machine(folder)
    done = machine.run(CPUPERF, "--describe-event=gpu:sm_active", env={"LD_LIBRARY_PATH": folder})
    assert "libnvidia-ml.so.1" in done.stdout, done


def check_names(folder):
    """Events of the library work where it is; with words for devices."""
    machine = Machine(folder)
    listed = machine.run(CPUPERF, "--list-events=gpu:", "--output-format=csv", "--quiet").stdout
    works = {r["name"]: r["works"] for r in csv.DictReader(io.StringIO(listed))}
    assert works["busy"] == works["sm_active"] == works["throttled"] == "true", works
    assert works["fan"] == works["fp16_active"] == "false", works
    with open(f"{folder}/one.cpspec", "w", encoding="utf-8") as f:
        f.write('{ "config_name": "one", "duration": 0.02, "num_iterations": 1, "output_path_prefix": "%s/s",\n'
                '  "events": [ { "group_name": "gpu", "event_name": "busy", "devices": [ "nvidia1" ] } ] }\n' % folder)
    shown = machine.run(CPUPERF, "--spec-file=one.cpspec", "--quiet", "--output-format=csv").stdout
    assert "nvidia1" in shown and "nvidia0" not in shown, shown


SMI = """#!/bin/sh
# A stand-in for nvidia-smi: two samples of each GPU, then it waits for its end, as the real one does.
[ "$1" = "--query-gpu=pci.bus_id,utilization.gpu,utilization.memory,memory.used,memory.total,power.draw,enforced.power.limit,\
temperature.gpu,temperature.memory,clocks.sm,clocks.mem,utilization.encoder,utilization.decoder" ] || exit 2
[ "$2 $3" = "--format=csv,noheader,nounits --loop-ms=500" ] || exit 3
for power in 110.00 124.00; do
	echo "00000000:01:00.0, 37, 12, 1024, 81920, $power, 700.00, 41, [N/A], 1980, 2619, 3, [N/A]"
	echo "00000000:02:00.0, 40, 13, 1024, 81920, [Unknown Error], 700.00, 41, [N/A], 1980, 2619, 3, [N/A]"
done
exec sleep 100
"""


def check_check_gpu(folder):
    """scripts/check-gpu: what agrees, what does not, and what cannot be compared."""
    machine = Machine(folder)
    for i in range(2): # the numbers of their nodes are not in the order on the bus
        with open(f"{folder}/driver/nvidia/gpus/0000:0{i + 1}:00.0/information", "w", encoding="ascii") as f:
            f.write(f"Device Minor: \t {1 - i}\n")
    os.mkdir(f"{folder}/bin")
    with open(f"{folder}/bin/nvidia-smi", "w", encoding="ascii") as f:
        f.write(SMI)
    os.chmod(f"{folder}/bin/nvidia-smi", 0o755)
    env = {"PATH": f"{folder}/bin:/usr/bin:/bin"}
    build = os.path.dirname(os.path.dirname(CPUPERF))
    shown = machine.run(CHECK_GPU, "-B", build, "--seconds=1", env=env).stdout
    lines = {tuple(line.split()[:2]): line.split()[2:] for line in shown.split("\n") if line.startswith("nvidia") and
             line.split()[-1] == "nvidia-smi"}
    assert lines[("nvidia1", "busy")][:3] == ["37", "37", "+0.0%"], shown
    assert lines[("nvidia0", "busy")][:3] == ["50", "40", "+25.0%"], shown
    assert lines[("nvidia1", "power")][:3] == ["117", "117", "+0.0%"], shown
    assert lines[("nvidia1", "memory_used")][2] == lines[("nvidia1", "frequency")][2] == "+0.0%", shown
    assert ("nvidia0", "power") not in lines and ("nvidia1", "memory_temperature") not in lines, shown
    # output that is none, and no other program
    with open(f"{folder}/bin/nvidia-smi", "w", encoding="ascii") as f:
        f.write("#!/bin/sh\necho it failed >&2; exit 9\n")
    shown = machine.run(CHECK_GPU, "-B", build, "--seconds=1", env=env, code=1).stdout
    assert "nvidia-smi: no value that cpuperf has too: it failed" in shown, shown
    os.unlink(f"{folder}/bin/nvidia-smi")
    shown = machine.run(CHECK_GPU, "-B", build, "--seconds=1", env=env, code=1).stdout
    assert "nothing to compare with" in shown, shown


def check_check_gpu_without(folder):
    machine = Machine(folder, nr=0)
    if os.path.exists("/sys/class/drm"):
        print("skip: check-gpu without a GPU: there may be one")
        return
    shown = machine.run(CHECK_GPU, "-B", os.path.dirname(os.path.dirname(CPUPERF)), code=77).stdout
    assert shown.startswith("skip: no GPU here"), shown


if not shutil.which("unshare") or not os.path.isdir("/proc/driver"):
    skip("no unshare, or no /proc/driver")
with tempfile.TemporaryDirectory() as empty:
    os.mkdir(f"{empty}/driver")
    tried = subprocess.run(Machine.command(type("", (), {"folder": empty}), "true"), stderr=subprocess.PIPE, text=True, check=False)
if tried.returncode:
    skip(f"mounts in a namespace of one's own: {tried.stderr.strip()}")
run_checks(globals())
