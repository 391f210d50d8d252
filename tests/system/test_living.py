#!/usr/bin/env python3
"""Programs that their path does not lead to have their names, printed while they run and after their end: those of a
mount namespace or a root of their own (containers), deleted and replaced ones, those that were never in a folder,
libraries that were upgraded. Also for the owner of a process. CPUPERF and CPUPERF_PRINT name the programs."""
import contextlib
import csv
import io
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

import kit
import sampled
from kit import CPUPERF, PRINT, may_sample, ordinary_user, output, run, run_checks, skip

BUILD_ID, FILE_PARTS = 15, 28  # kinds of frames

SOURCE = """
#include <stdio.h>
static volatile unsigned long sum;
__attribute__((noinline)) void burn(void)
{
	for (;;)
		sum++;
}
int main(void)
{
	puts("runs");
	fflush(stdout);
	burn();
}
"""
# In a library and in the program.
LIBRARY = """
static volatile unsigned long sum;
__attribute__((noinline)) void burn(void)
{
	for (long i = 0; i < 1000000; i++)
		sum++;
}
"""
CALLER = """
#include <stdio.h>
void burn(void);
static volatile unsigned long sum;
__attribute__((noinline)) static void turn(void)
{
	for (long i = 0; i < 1000000; i++)
		sum++;
}
int main(void)
{
	puts("runs");
	fflush(stdout);
	for (;;) {
		turn();
		burn();
	}
}
"""
# With an argument it deletes itself, and runs until that is a file.
SHORT = """
#include <unistd.h>
static volatile unsigned long sum;
__attribute__((noinline)) void burn(void)
{
	for (long i = 0; i < 100000000; i++)
		sum++;
}
int main(int argc, char **argv)
{
	if (argc > 1)
		unlink(argv[0]);
	do
		burn();
	while (argc > 1 && access(argv[1], F_OK));
	return 0;
}
"""
OTHER = SOURCE.replace("burn", "other")
# A part of its code is anonymous memory at the same addresses: moved there as node --use-largepages does (mmap), or as
# iodlr (mremap).
MOVED = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static volatile unsigned long sum;
static unsigned long rounds = -1ul;
__attribute__((section("moved"), aligned(4096), noinline)) void burn(void)
{
	for (unsigned long i = 0; i < rounds; i++)
		sum++;
}
__attribute__((section("moved"), aligned(4096))) void after(void)
{
}
int main(int argc, char **argv)
{
	unsigned long len = (char *)after - (char *)burn;
	int is_new = argc > 1 && strcmp(argv[1], "mmap") == 0;
	void *to = is_new ? (void *)burn : NULL;
	char copy[1 << 16];

	memcpy(copy, (void *)burn, len);
	to = mmap(to, len, PROT_READ | PROT_WRITE | (is_new ? PROT_EXEC : 0),
		  MAP_PRIVATE | MAP_ANONYMOUS | (is_new ? MAP_FIXED : 0), -1, 0);
	if (to == MAP_FAILED)
		return 1;
	memcpy(to, copy, len);
	mprotect(to, len, PROT_READ | PROT_EXEC);
	if (!is_new && mremap(to, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)burn) == MAP_FAILED)
		return 1;
	puts("runs");
	fflush(stdout);
	if (argc > 2)
		rounds = strtoul(argv[2], NULL, 10);
	burn();
	return 0;
}
"""


def build(path, source=SOURCE, *flags):
    """With a build-id of its own, as each is stored once: this test may run twice on the machine."""
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-static", *flags, "-o", path], input=source + f'const char built_as[] = "{path}";',
                   text=True, check=True)
    return path


def is_root(what):
    if not sampled.is_root():
        print(f"skip: {what}: it needs root", flush=True)
    return sampled.is_root()


@contextlib.contextmanager
def running(*command, **how):
    """Once it has said that it runs."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how) as p:
        try:
            line = p.stdout.readline()
            if line != "runs\n":
                skip(f"{command[0]}: cannot be had here")
            yield p.pid
        finally:
            p.kill()


def works(pid):
    """Until the process had a CPU for a tenth of a second more."""
    until = sampled.user_seconds(pid) + 0.1
    while sampled.user_seconds(pid) < until:
        time.sleep(0.01)


def record(folder, pid, program=CPUPERF, **how):
    shutil.rmtree(f"{folder}/s", ignore_errors=True)
    with subprocess.Popen([program, "--event=cpu_clock@1000000", "-g=fp", f"--pid={pid}", "--duration=600", "--num-iterations=1",
                           f"--output={folder}/s", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how) as p:
        try:
            kit.wait_until_recorded(p, f"{folder}/s/cpuperf.cpsession")
            sampled.wait_for_mappings(p, f"{folder}/s/cpuperf.common.cpuperf", [pid])
            works(pid)
        finally:
            p.send_signal(signal.SIGINT)
        kit.finish(p)


def functions(folder):
    """Of those that have samples, and what was said."""
    done = run(PRINT, f"{folder}/s", "--report=flat", "--output-format=csv")
    return [r["function"] for r in csv.DictReader(io.StringIO(done.stdout))], done.stderr


def check_space(folder):
    """In a mount namespace of its own, where the program lies on a file system that is nowhere else. Its sources are of
    there too: root does not read what has the same name here."""
    if not is_root("a mount namespace"):
        return
    with open(f"{folder}/p.c", "w", encoding="ascii") as f:
        f.write(SOURCE)
    run("gcc", "-O1", "-g", "-static", f"{folder}/p.c", "-o", f"{folder}/p")
    os.chmod(folder, 0o755)
    os.mkdir(f"{folder}/mnt")
    with running("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none mnt && cp p mnt/service && exec "$PWD/mnt/service"',
                 cwd=folder) as pid:
        assert not os.path.exists(f"{folder}/mnt/service")
        record(folder, pid)
        found, said = functions(folder)
        source = (PRINT, "--quiet", f"{folder}/s", "--report=annotate", "--function=burn")
        assert "sum++" not in output(*source) and "sum++" in output(*source, f"--source-dir={folder}")
    assert found[0] == "burn" and "No such file" not in said, (found, said)
    found, said = functions(folder)  # it has ended: by what the session stored, which has no sources and no code
    assert found[0] == "burn" and "No such file" not in said, (found, said)
    said = run(PRINT, "--quiet", f"{folder}/s", "--report=annotate", "--function=burn", code=None)
    assert "sum++" not in said.stdout + said.stderr, said


def check_root(folder):
    """In a root of its own, beside which a file of the same path is another program; links lead there."""
    if not is_root("a root of its own"):
        return
    os.makedirs(f"{folder}/root/bin")
    build(f"{folder}/root/bin/true.real")
    os.symlink("/bin/true.real", f"{folder}/root/bin/true")
    with running("chroot", f"{folder}/root", "/bin/true") as pid:
        record(folder, pid)
        assert functions(folder)[0][0] == "burn"
    assert functions(folder)[0][0] == "burn"


def check_changed(folder):
    """Deleted, and replaced by another program."""
    for change in ("deleted", "replaced"):
        build(f"{folder}/p")
        with running(f"{folder}/p") as pid:
            os.unlink(f"{folder}/p")
            if change == "replaced":
                build(f"{folder}/p", OTHER)
            record(folder, pid)
            found, said = functions(folder)
        assert found[0] == "burn", (change, found, said)
        found, said = functions(folder)
        assert found[0] == "burn", (change, found, said)


def check_moved(folder):
    """To memory at the same addresses: since the program's start, and before the session."""
    build(f"{folder}/p", MOVED)
    for how in ("mmap", "mremap"):
        with running(f"{folder}/p", how) as pid:
            record(folder, pid)
        assert functions(folder)[0][0] == "burn", how
        run(CPUPERF, "--event=cpu_clock@1000000", f"--output={folder}/s", "--quiet", "--", f"{folder}/p", how, "200000000")
        found, said = functions(folder)
        assert found[0] == "burn", (how, found, said)


def check_never_there(folder):
    """From memory alone."""
    path = build(f"{folder}/p")
    script = ("import os, sys; fd = os.memfd_create('made'); os.write(fd, open(sys.argv[1], 'rb').read()); "
              "os.execve(fd, ['made'], {})")
    with running(sys.executable, "-c", script, path) as pid:
        record(folder, pid)
        assert functions(folder)[0][0] == "burn"
    assert functions(folder)[0][0] == "burn"


def paths(common, kind, at):
    """Those of the files of which a common file has such frames; at: where their build-id is."""
    found = set()
    has_head = os.path.exists(common) and os.path.getsize(common) > 68  # while it is made it may have none yet
    for payload in sampled.Trace(common).of(kind) if has_head else ():
        id_bytes, = struct.unpack_from("<I", payload, at)
        length, = struct.unpack_from("<I", payload, at + 4 + id_bytes)
        found.add(payload[at + 8 + id_bytes:at + 8 + id_bytes + length].decode().removesuffix(" (deleted)"))
    return found


def stored(common):
    return paths(common, FILE_PARTS, 24)


def identified(common):
    return paths(common, BUILD_ID, 40)


def surveyed(names):
    """Which of the names records of the survey have: its look at a process may come late."""
    def found(common):
        content = pathlib.Path(common).read_bytes() if os.path.exists(common) else b""
        return {name for name in names if name.encode() + b"\0" in content}
    return found


def wait_for(paths_of, common, wanted, process):
    while not wanted <= paths_of(common):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def check_upgraded(folder):
    """A library and a program, each by another file that is renamed over it while both are measured; the process ends
    before the session does. Of the machine, and of the process."""
    base = folder
    for target in ("machine", "process"):
        if target == "machine" and not may_sample("the machine"):
            continue
        folder = f"{base}/{target}"  # else the files of the session before may be read
        os.mkdir(folder)
        library, program = f"{folder}/libburn.so", f"{folder}/p"
        run("gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library, input=LIBRARY + f'const char built_as[] = "{library}";')
        run("gcc", "-O1", "-x", "c", "-", "-x", "none", library, "-o", program, input=CALLER)
        with running(program) as pid:
            p = sampled.start(folder, [sampled.event("software:cpu_clock", rate=1000000, flags=["pc", "user"])], "--duration=1000",
                              *([f"--pid={pid}"] if target == "process" else []))
            wait_for(surveyed({library, program}), f"{folder}/t.common.cpuperf", {library, program}, p)
            for path in (library, program):
                run("gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", f"{path}.new", input=LIBRARY.replace("burn", "other"))
                os.rename(f"{path}.new", path)
            wait_for(stored, f"{folder}/t.common.cpuperf", {library, program}, p)
            works(pid)
        p.send_signal(signal.SIGINT)
        p.communicate()
        out = run(PRINT, f"--session={folder}/s.cpsession", "--report=flat", "--output-format=csv", "--top=0", f"--pid={pid}").stdout
        found = {r["function"]: r["object"] for r in csv.DictReader(io.StringIO(out))}
        assert found.get("burn") == "libburn.so" and found.get("turn") == "p" and "other" not in found, (target, found)


def check_last(folder):
    """Deleted just before the session ends, and before its process does."""
    path, common = build(f"{folder}/p"), f"{folder}/t.common.cpuperf"
    with subprocess.Popen(["sh", "-c", 'read go; exec "$0"', path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as shell:
        p = sampled.start(folder, [sampled.event("software:cpu_clock", rate=1000000, flags=["pc", "user"])], "--duration=1000",
                          f"--pid={shell.pid}")
        shell.stdin.write("go\n")
        shell.stdin.flush()
        wait_for(identified, common, {path}, p)
        works(shell.pid)
        os.unlink(path)
        p.send_signal(signal.SIGINT)
        p.communicate()
        shell.kill()
    assert path in stored(common)
    out = run(PRINT, f"--session={folder}/s.cpsession", "--report=flat", "--output-format=csv", "--top=0").stdout
    assert next(csv.DictReader(io.StringIO(out)))["function"] == "burn", out


def check_command(folder):
    """That is deleted when the session is over: nothing is stored of it. And one that deletes itself."""
    command = (CPUPERF, "--event=cpu_clock@1000000", "-g=fp", f"--output={folder}/s", "--quiet", "--", build(f"{folder}/p", SHORT))
    run(*command)
    os.unlink(f"{folder}/p")
    assert functions(folder)[0][0].startswith("[unknown] (p+")
    said = output(PRINT, f"{folder}/s", "--report=flat")
    assert "most of p: its file was not found (print while it runs" in said, said
    run("rm", "-r", f"{folder}/s")
    build(f"{folder}/p", SHORT)
    with subprocess.Popen([*command, f"{folder}/stop"], stdout=subprocess.DEVNULL) as p:
        wait_for(stored, f"{folder}/s/cpuperf.common.cpuperf", {f"{folder}/p"}, p)
        with open(f"{folder}/stop", "w"):
            pass
    found, said = functions(folder)
    assert p.returncode == 0 and found[0] == "burn", (found, said)


def check_owner(folder):
    """An ordinary user prints his own."""
    who = ordinary_user(folder)
    if not who:
        return
    (program,), how = who
    build(f"{folder}/p")
    os.chmod(f"{folder}/p", 0o755)
    with running(f"{folder}/p", **how) as pid:
        os.unlink(f"{folder}/p")
        record(folder, pid, program, **how)
        printer = os.path.join(os.path.dirname(program), os.path.basename(PRINT))
        out = run(printer, f"{folder}/s", "--report=flat", "--output-format=csv", **how).stdout
    assert next(csv.DictReader(io.StringIO(out)))["function"] == "burn", out
    out = run(printer, f"{folder}/s", "--report=flat", "--output-format=csv", **how).stdout  # it has ended
    assert next(csv.DictReader(io.StringIO(out)))["function"] == "burn", out


run_checks(globals(), everybody=True)
