#!/usr/bin/env python3
"""Power cuts: copies of the disk (a loop device's backing file) while a session records onto it.
What was not brought to the disk by then is not in the copy. Of each copy every iteration must print
that cpuperf had said to be on the disk before, and every session whose end it had reported. 6 cuts,
with CPUPERF_TEST_LONG=1 50. CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from kit import CPUPERF, PRINT, run
from patience import PATIENCE_S

SESSIONS = 25 if os.environ.get("CPUPERF_TEST_LONG", "0") not in ("", "0") else 3
EVENTS = [("software", "cpu_clock"), ("misc", "cpu_user")]
CPUS = len(os.sched_getaffinity(0))
SIZE = (64 if SESSIONS > 3 else 32) << 20
BUFFERS = bytearray(SIZE), bytearray(SIZE)  # made once: new memory is slow to touch on some machines
CLAIM = re.compile(r"on the disk: the first (\d+) iterations")


def why_not():
    if os.geteuid() != 0:
        return "only root mounts a disk"
    for tool in ("mkfs.ext4", "e2fsck", "losetup", "mount"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return f"no {tool} here"
    return None


class Disk:
    """A file with a file system in it, mounted."""

    def __init__(self, image, where, how):
        self.image, self.where, self.device = image, where, None
        os.makedirs(where, exist_ok=True)
        self.device = run("losetup", "--find", "--show", image).stdout.strip()
        try:
            run("mount", "-t", "ext4", "-o", how, self.device, where)
        except AssertionError:
            run("losetup", "--detach", self.device)
            raise

    def close(self):
        run("umount", self.where)
        run("losetup", "--detach", self.device)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def write_spec(folder, disk, number, **keys):
    spec = {"duration": 1, "output_path_prefix": f"{disk}/t{number}",
            "session_result_spec_path": f"{disk}/t{number}.cpsession",
            "events": [{"group_name": g, "event_name": e} for g, e in EVENTS], **keys}
    with open(f"{folder}/{number}.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return f"--spec-file={folder}/{number}.cpspec"


class Session:
    """A session that records, and what it says to be on the disk."""

    def __init__(self, *args):
        self.claimed = 0
        self.process = subprocess.Popen([CPUPERF, *args, "--quiet", "--verbose=1"], text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        for line in self.process.stderr:
            if found := CLAIM.search(line):
                self.claimed = int(found[1])

    def wait_for(self, claimed):
        deadline = time.monotonic() + PATIENCE_S
        while self.claimed < claimed:
            assert time.monotonic() < deadline and self.process.poll() is None, self.claimed
            time.sleep(0.01)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()


def iterations(disk, number):
    """Those of which every CPU is there, or which the manifest says were removed."""
    done = subprocess.run([PRINT, f"--session={disk}/t{number}.cpsession", "--report=summary",
                           "--output-format=csv"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    seen = {}
    for row in csv.DictReader(io.StringIO(done.stdout)):
        if row["event"] == "cpu_clock" and row["trace"]:
            seen.setdefault(int(row["iteration"]), set()).add(row["trace"])
    removed = 0
    if done.stdout:
        with open(f"{disk}/t{number}.cpsession", encoding="utf-8") as f:
            removed = json.load(f).get("removed", {}).get("iterations", 0)
    assert not seen or min(seen) >= removed, (min(seen), removed)
    return {i for i, cpus in seen.items() if len(cpus) >= CPUS} | set(range(removed)), done.stderr


def snapshot(image, copy, process):
    """The disk at one moment: it was read twice, and nothing had changed meanwhile. Else what was
    read first would be older than what was read last, which no power cut makes. Where reading takes
    longer than a session leaves the disk alone, that is stopped, where it is."""
    first, second = BUFFERS
    for i in range(1000):
        if process and i == 20:
            process.send_signal(signal.SIGSTOP)
        with open(image, "rb", buffering=0) as f:
            for buffer in BUFFERS:
                f.seek(0)
                assert f.readinto(buffer) == len(buffer)
        if first == second:
            break
    else:
        assert False, "the disk is never at rest"
    with open(copy, "wb") as f:
        f.write(first)


def cut(folder, image, promised, process=None):
    """What is on the disk now, as a machine finds it that starts again."""
    copy = f"{folder}/copy"
    snapshot(image, copy, process)
    subprocess.run(["e2fsck", "-fy", copy], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)
    with Disk(copy, f"{folder}/after", "ro"):
        for number, nr in promised.items():
            found, said = iterations(f"{folder}/after", number)
            assert found >= set(range(nr)), (number, nr, sorted(set(range(nr)) - found)[:5],
                                             said[-1000:])
    os.unlink(copy)


KINDS = [("--duration=10ms", "--num-iterations=100000"), ("--duration=50ms", "--num-iterations=90"),
         ("--duration=1ms", "--num-iterations=1000000", "--retain=iterations:100")]


def check_cuts(folder, image, disk):
    """One session after the other; those that have ended stay whole through all further cuts."""
    chance, ended = random.Random(), {}
    seed = chance.randrange(10**6)
    print(f"seed {seed}")
    chance.seed(seed)
    for number in range(SESSIONS):
        session = Session(write_spec(folder, disk, number), *KINDS[number % len(KINDS)],
                          f"--sync-period={chance.choice(['100ms', '300ms', '1s'])}")
        try:
            session.wait_for(chance.randrange(1, 8))
            time.sleep(chance.uniform(0, 1))
            cut(folder, image, {**ended, number: session.claimed}, session.process)
        finally:
            session.close()
        run(CPUPERF, write_spec(folder, disk, f"e{number}"), "--duration=1ms", "--quiet",
            f"--num-iterations={chance.choice([1, 3, 150])}")
        with open(f"{disk}/te{number}.cpsession", encoding="utf-8") as f:
            ended = {f"e{number}": json.load(f)["num_iterations"]}
        cut(folder, image, ended)


def check_without(folder, image, disk):
    """The test sees what is not synced: right after such a session nothing is on the disk."""
    run(CPUPERF, write_spec(folder, disk, "n"), "--duration=1ms", "--quiet", "--num-iterations=3",
        "--no-sync")
    try:
        cut(folder, image, {"n": 3})
    except AssertionError:
        return
    assert False, "without a sync all is on the disk: this test sees nothing"


def main():
    why = why_not()
    if why:
        print(f"skip: no power cuts: {why}")
        return 77
    with tempfile.TemporaryDirectory(prefix="cpuperf-cut.") as folder:
        image = f"{folder}/image"
        with open(image, "wb") as f:
            f.truncate(SIZE)
        run("mkfs.ext4", "-q", "-F", image)
        try:
            disk = Disk(image, f"{folder}/disk", "rw")
        except AssertionError as e:
            print(f"skip: no power cuts: no disk can be mounted here: {str(e)[-200:]}")
            return 77
        with disk:
            check_without(folder, image, disk.where)
            check_cuts(folder, image, disk.where)
    print(f"{2 * SESSIONS} power cuts")
    return 0


sys.exit(main())
