#!/usr/bin/env python3
"""Programs that a measured one executes. Those that cannot load the agent run as if it were not there: the same
environment, output, stderr and exit status. The others are measured."""
import os
import subprocess
import sys

from heap_memory import Recorder
from kit import can_execute, run, run_checks

AGENT = os.environ["AGENT"]
# prints its arguments and environment
SHOW = """
#include <stdio.h>
#include <stdlib.h>
extern char **environ;
int main(int argc, char **argv)
{
	char *volatile p = malloc(77);
	for (int i = 1; i < argc; i++)
		puts(argv[i]);
	for (char **e = environ; *e; e++)
		puts(*e);
	fputs("to stderr\\n", stderr);
	free(p);
	return 7;
}
"""
# the same without a C library, for a machine of 32 bits
NARROW = """
static int call(int nr, int a, const void *b, int c)
{
	int r;
	__asm__ volatile("int $0x80" : "=a"(r) : "0"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}
static void put(const char *s)
{
	int n = 0;
	while (s[n])
		n++;
	call(4, 1, s, n);
	call(4, 1, "\\n", 1);
}
__attribute__((used)) void begin(char **argv)
{
	for (argv++; *argv; argv++)
		put(*argv);
	for (argv++; *argv; argv++)
		put(*argv);
	call(4, 2, "to stderr\\n", 10);
	call(1, 7, 0, 0);
}
__asm__(".globl _start\\n_start: lea 4(%esp), %eax\\n push %eax\\n call begin\\n");
"""
FUNCTIONS = ("execve execv execvp execvpe execveat execveat_open fexecve execl execlp execle posix_spawn posix_spawnp "
             "vfork system popen many").split()


def build(folder, name, text, *flags):
    source = f"{folder}/{name}.c"
    with open(source, "w", encoding="ascii") as f:
        f.write(text)
    done = subprocess.run(["cc", "-o", f"{folder}/{name}", source, *flags], check=False, capture_output=True)
    if done.returncode:
        print(f"skip: {name}: it cannot be built here", flush=True)
    return done.returncode == 0


def write_script(folder, name, text):
    with open(f"{folder}/{name}", "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(f"{folder}/{name}", 0o755)


def programs(folder):
    """Names of those that cannot load the agent; besides, `plain`, which can, and `own.so`, the user's library."""
    here = os.path.dirname(__file__)
    run("cc", "-o", f"{folder}/calls", f"{here}/exec_calls.c", "-D_GNU_SOURCE", "-fno-builtin", "-w")
    assert build(folder, "plain", SHOW) and build(folder, "own.so", "int own;", "-shared", "-fPIC")
    with open(f"{folder}/plain", "rb") as f:
        loader = f.read()
    loader = loader[loader.index(b"/lib"):].split(b"\0")[0].decode()
    run("cp", loader, f"{folder}/ld-musl-other.so.1")
    found = [name for name, text, flags in (
        ("static", SHOW, ["-static"]), ("static_pie", SHOW, ["-static-pie"]),
        ("narrow", NARROW, ["-m32", "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-O1",
                            "-fno-stack-protector"]),
        ("other", SHOW, [f"-Wl,--dynamic-linker={folder}/ld-musl-other.so.1"]),
        ("checked", SHOW, ["-fsanitize=address"]))
        if build(folder, name, text, *flags) and (name != "narrow" or can_execute(f"{folder}/{name}", name))]
    if os.getuid() == 0:
        run("cp", f"{folder}/plain", f"{folder}/raised")
        os.chown(f"{folder}/raised", 65534, 65534)
        os.chmod(f"{folder}/raised", 0o4755)
        run("cp", f"{folder}/plain", f"{folder}/same_user")
        os.chmod(f"{folder}/same_user", 0o4755)
        found.append("raised")
    else:
        print("skip: setuid: only root can make such a file", flush=True)
    write_script(folder, "script", f"#! {folder}/static -x\n")
    write_script(folder, "again", f"#!{folder}/script\n")
    return found + ["script", "again"]


class Pair:
    """Runs a command alone and measured, with a library that the user preloads, or none."""

    def __init__(self, folder, own):
        self.env = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", ASAN_OPTIONS="detect_leaks=0")
        self.env.pop("LD_PRELOAD", None)
        self.env.pop("CPUPERF_HEAP", None)
        self.own = own

    def alone(self, *command):
        env = dict(self.env, LD_PRELOAD=self.own) if self.own else self.env
        return subprocess.run(command, env=env, capture_output=True, check=False)

    def measured(self, *command):
        recorder = Recorder(AGENT)
        env = dict(self.env, LD_PRELOAD=":".join(filter(None, (AGENT, self.own))), CPUPERF_HEAP=recorder.name)
        done = subprocess.run(command, env=env, capture_output=True, check=False)
        return done, recorder.memories

    def compare(self, *command, by_line=False):
        """by_line: a shell between has an order of its own."""
        alone, (measured, memories) = self.alone(*command), self.measured(*command)
        of = (lambda text: sorted(text.splitlines())) if by_line else (lambda text: text)
        assert (alone.returncode, of(alone.stdout), alone.stderr) == \
            (measured.returncode, of(measured.stdout), measured.stderr), (command, alone, measured)
        return alone, memories


def pairs(folder):
    """With each list of the programs that run so: a sanitizer permits no library before it."""
    unable = programs(folder)
    yield Pair(folder, ""), unable
    yield Pair(folder, f"{folder}/own.so"), [name for name in unable if name != "checked"]


def check_functions(folder):
    """Each function of libc that executes, and each kind of program."""
    for pair, unable in pairs(folder):
        for how in FUNCTIONS:
            for name in unable if how in ("execve", "posix_spawnp") else ["static", "script"]:
                done, memories = pair.compare(f"{folder}/calls", how, f"{folder}/{name}", by_line=True)
                assert done.returncode == 7 and b"to stderr" in done.stderr, (how, name, done)
                # the sh of system and popen is measured, and nothing else
                assert len(memories) == (2 if how in ("system", "popen") else 1), (how, name, len(memories))
            done, memories = pair.measured(f"{folder}/calls", how, f"{folder}/plain")
            assert done.returncode == 7 and b"CPUPERF_HEAP" in done.stdout, (how, done)
            assert len(memories) == (3 if how in ("system", "popen") else 2), (how, len(memories))
            assert any(s["max"] == 77 for s in memories[-1].stacks()), how
        if os.getuid() == 0:
            _, memories = pair.measured(f"{folder}/calls", "execv", f"{folder}/same_user")
            assert len(memories) == 2, "setuid to the user that it has"


def check_programs(folder):
    """Shells, python3 and make."""
    write_script(folder, "Makefile", "%:\n\t-@$@ b\n\t-@exec $@ b; echo $$?\n")
    python = ("import subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode, "
              "subprocess.run(sys.argv[1:], close_fds=False).returncode, flush=True)")
    for pair, unable in pairs(folder):
        for name in unable:
            path = f"{folder}/{name}"
            for command in (["bash", "-c", f"{path} b; echo $?; {name} c"], ["dash", "-c", f"{path} b; echo $?; {name} c"],
                            [sys.executable, "-c", python, path, "b"], ["make", "-s", "-C", folder, path],
                            ["env", "-u", "HOME", name], ["nice", path]):
                _, memories = pair.compare(*command, by_line=True)
                assert memories, command


def check_places(folder):
    """After chroot the agent is not there; a program in which a sanitizer is preloaded; a failed exec."""
    programs(folder)
    if os.getuid() == 0:
        os.mkdir(f"{folder}/root")
        libraries = run("ldd", f"{folder}/plain").stdout.split()
        for path in filter(os.path.isfile, libraries):
            os.makedirs(f"{folder}/root{os.path.dirname(path)}", exist_ok=True)
            run("cp", path, f"{folder}/root{path}")
        run("cp", f"{folder}/plain", f"{folder}/root/plain")
        done, _ = Pair(folder, "").compare("chroot", f"{folder}/root", "/plain")
        assert done.returncode == 7, done
    pair = Pair(folder, "")
    for how, path, error in (("execv", "/nowhere/x", 2), ("execvp", "/nowhere/not-there", 2), ("execv", "/etc/passwd", 13),
                             ("execve", "/dev", 13), ("posix_spawn", "/nowhere/x", None)):
        done, _ = pair.compare(f"{folder}/calls", how, path)
        assert error is None or f"errno {error}\n".encode() == done.stdout, (how, path, done)
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isfile(asan):
        print("skip: there is no libasan.so", flush=True)
        return
    asan = os.path.realpath(asan)
    text = "import os; os.environ['LD_PRELOAD'] += ':%s'; os.execv('%s/plain', ['plain'])" % (asan, folder)
    done, _ = Pair(folder, "").measured(sys.executable, "-c", text)
    assert done.returncode == 7 and done.stderr == b"to stderr\n", done
    assert f"LD_PRELOAD={asan}\n".encode() in done.stdout and b"CPUPERF_HEAP" not in done.stdout, done


run_checks(globals())
