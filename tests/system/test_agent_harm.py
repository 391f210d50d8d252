#!/usr/bin/env python3
"""What the agent must not do to a measured program, and what it must say: programs that forbid themselves system calls or
limit their addresses, that call with wrong pointers, that execute others with environments of their own. With
CPUPERF_TEST_LONG=1 all system calls and limits, else a part."""
import atexit
import functools
import itertools
import os
import re
import resource
import shutil
import subprocess
import tempfile

from heap_memory import (BLOCKS, CHILDREN, CONNECT, FILTER, LIMIT, LIVES, PAGES, PEAK, Recorder, SANITIZER, STACKS,
                         STATIC_PROGRAM, TIMES, UNTOUCHED)
from kit import CPUPERF, run, run_checks, stride

AGENT = os.environ["AGENT"]
KILL, ERROR, RESULT = "0x80000000", "0x50001", "0x50000"
RESOURCES = 1 << 8 | 1 << 9 | 1 << 10  # descriptors, io, threads
TIMERS = 1 << 12
SHOW = """
#include <stdio.h>
#include <stdlib.h>
extern char **environ;
int main(void)
{
	char *volatile p = malloc(77);
	for (char **e = environ; *e; e++)
		puts(*e);
	free(p);
	return 7;
}
"""


def build(folder, name, text, *flags):
    with open(f"{folder}/{name}.c", "w", encoding="ascii") as f:
        f.write(text)
    return subprocess.run(["cc", "-o", f"{folder}/{name}", f"{folder}/{name}.c", *flags], check=False,
                          capture_output=True).returncode == 0


@functools.lru_cache(maxsize=None)
def harm():
    """The program of harm.c, built once for all checks."""
    folder = tempfile.mkdtemp(prefix="cpuperf-test.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = f"{folder}/harm"
    run("cc", "-O1", "-D_GNU_SOURCE", "-fno-builtin", "-pthread", "-w", "-o", program,
        f"{os.path.dirname(__file__)}/harm.c")
    return program


def alone(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def measured(*command, nr=None, **how):
    """What the program did, and its memories."""
    recorder = Recorder(AGENT, **how)
    done = recorder.run(*command, capture_output=True, text=True)
    assert nr is None or len(recorder.memories) == nr, (command, done, len(recorder.memories))
    return done, recorder.memories


def same(a, b):
    return (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr)


@functools.lru_cache(maxsize=None)
def numbers():
    """Of system calls, without futex: whether a thread waits is chance."""
    text = run("cc", "-E", "-dM", "-include", "sys/syscall.h", "-xc", "/dev/null").stdout
    by_name = dict(re.findall(r"#define __NR_(\w+) (\d+)\n", text))
    by_name.pop("futex")
    return {name: int(nr) for name, nr in by_name.items() if int(nr) < 460}


def check_each_call(_):
    """Filters that kill at one system call, over all there are: the program and its children end as without the agent."""
    program = harm()
    wants = BLOCKS | STACKS | PEAK | UNTOUCHED | RESOURCES | TIMERS
    ways = ("prctl", "seccomp", "call")
    for i, (name, nr) in stride(enumerate(sorted(numbers().items())), 30):
        command = [program, "filtered", str(nr), KILL, ways[i % 3]]
        a, (b, _) = alone(*command), measured(*command, wants=wants, intervals=(1000000, 1000000))
        assert same(a, b), (name, a, b)
        assert a.returncode != 77, name


def check_filters(_):
    """What is not measured is noted; what the filter answers with an error is harmless."""
    program, nr = harm(), numbers()
    ends = "fork 0\nexec 0\nvfork 0\n"
    for way in ("prctl", "seccomp", "call"):
        for name in ("socket", "connect", "recvmsg"):
            done, [m] = measured(program, "filtered", str(nr[name]), KILL, way, nr=1)
            assert done.stdout == ends, (name, done)
            # the child that only executes has nothing to write
            assert m.missed() == {(CHILDREN, ""): 1, (FILTER, "true"): 2}, (name, way, m.missed())
            stacks = [s for s in m.stacks() if s["samples"] == 50 or s["samples"] % 50 == 0]
            assert sum(s["samples"] for s in stacks) >= 100, "it goes on itself, and its thread"
    done, [m] = measured(program, "filtered", str(nr["socket"]), RESULT, "prctl", nr=1)
    assert done.stdout == ends and (CHILDREN, "") in m.missed(), "an error of 0 would be a descriptor"
    done, [m] = measured(program, "filtered", str(nr["socket"]), ERROR, "seccomp", nr=1)
    assert done.stdout == ends and m.missed() == {(CONNECT, ""): 1}, (done, m.missed())
    # what only a program that is executed would call
    done, memories = measured(program, "filtered", str(nr["openat"]), KILL, "prctl", nr=2)
    assert [m.missed() for m in memories] == [{(FILTER, "true"): 2}, {}], [m.missed() for m in memories]
    # nothing of the agent: all is measured
    done, memories = measured(program, "filtered", str(nr["reboot"]), KILL, "prctl", nr=4)
    assert done.stdout == ends and not any(m.missed() for m in memories), done
    done, memories = measured(program, "filtered", str(nr["mincore"]), KILL, "prctl", wants=BLOCKS | STACKS | UNTOUCHED)
    assert done.stdout == ends and memories[0].missed()[(PAGES, "")] == 100, memories[0].missed()
    done, memories = measured(program, "filtered", str(nr["timer_delete"]), KILL, "prctl", wants=STACKS | TIMERS,
                              intervals=(1000000, 0), nr=1)
    assert done.stdout == ends and memories[0].missed()[(TIMES, "")] == 1, memories[0].missed()


CHILDREN_OF = """
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile keep;
static void seal(void)
{
	struct sock_filter f[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
				  {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_connect}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
				  {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
	struct sock_fprog p = {4, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		_exit(77);
}
static void limit(void)
{
	struct rlimit most = {3, 3};
	if (setrlimit(RLIMIT_NOFILE, &most))
		_exit(77);
}
static void start(void)
{
	if (vfork() == 0) {
		int fd = open("/dev/null", O_RDONLY);
		_exit(fd < 0);
	}
	wait(NULL);
}
static void away(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		_exit(77);
}
static void lock(void)
{
	(void)mlockall(MCL_FUTURE);
}
int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } way[] = {
		{"seal", seal}, {"limit", limit}, {"start", start}, {"away", away}, {"lock", lock}};
	int status = 0, nr = argc == 1 ? 20 : 1;
	keep = malloc(10);
	for (int i = 0; i < nr && !status; i++) {
		if (fork() == 0) {
			if (argc == 1) {
				free(keep);
				_exit(0);
			}
			for (int k = 0; k < 5; k++)
				if (!strcmp(way[k].name, argv[1]))
					way[k].run();
			keep = malloc(313);
			_exit(0);
		}
		wait(&status);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
"""


def check_children(folder):
    """A child that allocates nothing does not connect. One that makes it impossible before its first allocation does before,
    and one that shares its memory with a child of its own is the one that is measured."""
    program = f"{folder}/children"
    assert build(folder, "children", CHILDREN_OF, "-D_GNU_SOURCE", "-w", "-fno-builtin", "-O1")
    done, memories = measured(program, wants=BLOCKS | STACKS | PEAK | RESOURCES)
    assert (done.returncode, len(memories)) == (0, 1), (done, len(memories))
    for way in ("none", "seal", "limit", "start", "away", "lock"):
        done, memories = measured(program, way, wants=BLOCKS | STACKS | PEAK | RESOURCES)
        if done.returncode == 77 and way in ("seal", "away"):
            print(f"skip: {way}: the kernel does not let it", flush=True)
            continue
        assert done.returncode == 0 and len(memories) == 2 and memories[0].pid != memories[1].pid, (way, done, memories)
        [s] = [s for s in memories[1].stacks() if s["max"] == 313]
        assert s["live_bytes"] == 313 and not memories[0].missed(), (way, s, memories[0].missed())


FOREIGN = """
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static char tls[65536] __attribute__((aligned(64))), stack[1 << 18] __attribute__((aligned(64)));
static void *volatile keep;
static char *const arguments[] = {"true", NULL};
static int child(void *executes)
{
	struct rlimit most;
	int fd = open("/dev/null", O_RDWR), fds[2];
	char c = 0;
	if (fd < 0 || write(fd, &c, 1) != 1 || read(fd, &c, 1) || close(dup(fd)) || pipe(fds) || close(fds[0]) || close(fds[1]) ||
	    close(fd) || getrlimit(RLIMIT_AS, &most) || setrlimit(RLIMIT_AS, &most) || unshare(0) || usleep(1))
		_exit(1);
	(void)chroot("/");
	if (executes)
		execve("/bin/true", arguments, environ);
	_exit(0);
}
int main(void)
{
	keep = malloc(10);
	for (long i = 0; i < 2; i++) {
		int status, pid = clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_SETTLS | SIGCHLD, (void *)i,
					NULL, tls + sizeof(tls) / 2);
		if (waitpid(pid, &status, 0) != pid || status)
			return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : 1;
	}
	keep = malloc(20);
	return 0;
}
"""


def check_foreign_locals(folder):
    """A child that shares the memory and has thread-local memory of its own, of zeros, as sandboxes make for one call."""
    program = f"{folder}/foreign"
    assert build(folder, "foreign", FOREIGN, "-D_GNU_SOURCE", "-w", "-fno-builtin", "-O1")
    if alone(program).returncode:
        print("skip: foreign locals: this C library cannot do it either", flush=True)
        return
    everything = BLOCKS | STACKS | PEAK | 64 | RESOURCES | TIMERS
    for wants in (0, everything):
        done, memories = measured(program, wants=wants, intervals=(1000000, 1000000))
        assert done.returncode == 0 and memories, (wants, done)
    assert run(program, env={"LD_PRELOAD": AGENT}, code=None).returncode == 0, "without a recorder"


def check_refused_filter(folder):
    """A filter that the kernel refuses changes nothing."""
    program = f"{folder}/refused"
    assert build(folder, "refused", """
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdlib.h>
int main(void)
{
	struct { unsigned short code; unsigned char t, f; unsigned k; } kill = {6, 0, 0, 0};
	struct { unsigned short len; void *filter; } program = {1, &kill};
	void *volatile p;
	if (!syscall(SYS_seccomp, 1, 0x4000, &program) || !syscall(SYS_seccomp, 0, 1, 0))
		return 1;
	if (fork() == 0) {
		p = malloc(5);
		return 0;
	}
	return wait(0) < 0;
}
""", "-D_GNU_SOURCE", "-w")
    done, memories = measured(program, nr=2)
    assert done.returncode == 0 and not memories[0].missed(), done


SIGNALS = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile long x;
static volatile sig_atomic_t nr, sum;
static sigjmp_buf away;
static long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}
/* For 10 ticks of the kernel, by which timers of CPU time expire. */
__attribute__((noinline)) static void spin(void)
{
	long before = now(CLOCK_MONOTONIC), tick = now(CLOCK_MONOTONIC_COARSE);
	for (int ticks = 0; ticks < 10;) {
		long is, at;
		for (int i = 0; i < 10000; i++)
			x += i;
		is = now(CLOCK_MONOTONIC);
		at = now(CLOCK_MONOTONIC_COARSE);
		ticks += at != tick && is - before < 1000000;
		before = is;
		tick = at;
	}
}
__attribute__((noinline)) void ignoring(void) { spin(); __asm__ volatile(""); }
__attribute__((noinline)) void handling(void) { spin(); __asm__ volatile(""); }
static void simple(int number) { nr++; sum += number; }
static void full(int number, siginfo_t *info, void *context) { nr++; sum += info->si_pid == getpid() ? number : 1000; }
static void jump(int number) { nr++; siglongjmp(away, 1); }
int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = SIG_IGN}, old;
	for (int i = 1; i < 65; i++) {
		if (argc == 1)
			signal(i, SIG_IGN);
		else
			sigignore(i);
		if (i != SIGKILL && i != SIGSTOP && i != 32 && i != 33 && (sigaction(i, NULL, &old) || old.sa_handler != SIG_IGN))
			printf("%d is not ignored\\n", i);
	}
	for (int i = 34; i < 65; i++)
		raise(i);
	ignoring();
	for (int i = 34; i < 65; i++) {
		action.sa_flags = i % 2 ? SA_SIGINFO : i % 4 ? SA_RESETHAND : 0;
		if (i % 2)
			action.sa_sigaction = full;
		else
			action.sa_handler = simple;
		if (sigaction(i, &action, &old) || old.sa_handler != SIG_IGN)
			printf("%d was not ignored\\n", i);
		raise(i);
	}
	printf("%d %d\\n", nr, sum);
	for (int i = 34; i < 65; i++) {
		void *was = signal(i, jump);
		printf("%d", was == SIG_DFL ? 0 : was == (void *)full ? 1 : was == (void *)simple ? 2 : 3);
		if (!sigsetjmp(away, 1))
			raise(i);
	}
	handling();
	fprintf(stderr, "%p %p\\n", ignoring, handling);
	return printf(" %d\\n", nr) < 0;
}
"""


def check_signals(folder):
    """A program that ignores all signals, or has a handler for each, finds all as it set it, and its time is still sampled."""
    program = f"{folder}/signals"
    assert build(folder, "signals", SIGNALS, "-D_GNU_SOURCE", "-w", "-fno-builtin", "-O1", "-no-pie")
    for more in ([], ["sigignore"]):
        a = alone(program, *more)
        done, [m] = measured(program, *more, wants=STACKS | TIMERS, intervals=(1000000, 0))
        assert (a.returncode, a.stdout) == (done.returncode, done.stdout) and a.returncode == 0, (more, a, done)
        for name, begin in zip(("ignoring", "handling"), (int(x, 16) for x in done.stderr.split())):
            found = [s for s in m.stacks() if any(begin <= pc < begin + 16 for pc in s["path"])]
            assert sum(s["samples"] for s in found), (more, name, m.stacks())


def check_wrong_pointers(_):
    program = harm()
    a, (b, _) = alone(program, "wrong"), measured(program, "wrong")
    assert a.returncode == 0 and len(a.stdout.splitlines()) == 7, a
    assert same(a, b), (a, b)


def check_limits(_):
    """Of a limit of addresses a program has, with the agent, seven eighths of what it has without, at least; a memory that
    fits within it has sums."""
    program = harm()
    for mib, how in stride(itertools.product((64, 512, 4096), ("prlimit", "setrlimit", None)), 3):
        command = [program, "limited", str(mib), *([how] if how else [])]
        bytes_ = mib << 20

        def limit(how=how, bytes_=bytes_):
            if not how:
                resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

        without = int(subprocess.run(command, preexec_fn=limit, capture_output=True, check=True).stdout)
        for wants in (BLOCKS | STACKS | PEAK, BLOCKS | STACKS | 32):
            recorder = Recorder(AGENT, arena=1 << 30, wants=wants)
            done = recorder.run(*command, preexec_fn=limit, capture_output=True)
            assert done.returncode == 0, (command, done)
            [m] = recorder.memories
            assert without - int(done.stdout) <= mib / 8 + 3, (command, without, done.stdout)
            assert m.missed() == {(LIMIT, ""): 1}, (command, m.missed())
            assert sum(s["samples"] for s in m.stacks()) == m.threads()[0] >= 20000, (command, m.header())
            assert not m.header()["no_node"] and not m.header()["no_block"], (command, m.header())
    # nothing of another resource, or of more than there is
    code = "import resource as r; r.setrlimit(r.RLIMIT_CORE, (0, 0)); r.setrlimit(r.RLIMIT_AS, (1 << 46, 1 << 46))"
    _, [m] = measured("/usr/bin/python3", "-c", code)
    assert not m.missed() and m.header()["mapped"] == m.bytes, m.missed()


def check_own_environments(folder):
    """A program that gets an environment of its own is measured, and has that environment but for what measures it."""
    program, show = harm(), f"{folder}/show"
    assert build(folder, "show", SHOW) and build(folder, "own.so", "int own;", "-shared", "-fPIC")
    for how in ("empty", "null", "execle", "spawn", "cleared", "vfork", "many"):
        a, (b, memories) = alone(program, "owned", how, show), measured(program, "owned", how, show, nr=2)
        added = [line for line in b.stdout.splitlines() if line not in a.stdout.splitlines()]
        assert b.returncode == a.returncode == 7, (how, a, b)
        assert sorted(line.split("=")[0] for line in added) == ["CPUPERF_HEAP", "LD_PRELOAD"], (how, added)
        assert set(a.stdout.splitlines()) <= set(b.stdout.splitlines()), (how, a, b)
        assert any(s["max"] == 77 for s in memories[1].stacks()) and not memories[0].missed(), how
    done, memories = measured(program, "owned", "forked", nr=2)
    assert done.returncode == 7, done
    for script, preload in ((f"env -i {show}", AGENT), (f"LD_PRELOAD={folder}/own.so {show}", f"{AGENT}:{folder}/own.so"),
                            (f"unset LD_PRELOAD CPUPERF_HEAP; {show}", AGENT), (f"env -u LD_PRELOAD {show}", AGENT)):
        done, memories = measured("sh", "-c", f"{script}; true")
        assert f"LD_PRELOAD={preload}\n" in done.stdout and "CPUPERF_HEAP=cpuperf" in done.stdout, (script, done)
        assert any(s["max"] == 77 for s in memories[-1].stacks()), script
        assert not any(m.missed() for m in memories), script


def said(memories):
    return {key: sum(m.missed().get(key, 0) for m in memories) for m in memories for key in m.missed()}


def check_named(folder):
    """Programs that cannot be measured are named: static ones, those with a sanitizer; not those that cannot be executed."""
    assert build(folder, "show", SHOW)
    assert build(folder, "static", SHOW, "-static"), "libc.a is needed"
    _, memories = measured("sh", "-c", f"{folder}/static; {folder}/static; {folder}/nowhere; {folder}; true")
    assert said(memories) == {(STATIC_PROGRAM, "static"): 2}, said(memories)
    if build(folder, "checked", SHOW, "-fsanitize=address"):
        _, memories = measured("sh", "-c", f"{folder}/checked; LD_PRELOAD=/x/libasan.so.8 {folder}/show; true")
        assert said(memories) == {(SANITIZER, "checked"): 1, (SANITIZER, "show"): 1}, said(memories)
    else:
        print("skip: checked: it cannot be built here", flush=True)
    done = run(CPUPERF, "--event=heap:allocated", f"--output={folder}/s", "--", "sh", "-c",
               f"{folder}/static; {folder}/static; true", code=0)
    assert "not measured (static; 2): they are linked statically" in done.stdout + done.stderr, done
    command = [harm(), "filtered", str(numbers()["socket"]), KILL, "prctl"]
    done = run(CPUPERF, "--event=heap:allocated", f"--output={folder}/s", "--", *command, code=0)
    for text in ("not measured (true; 2): they cannot make system calls", "child processes are not measured (1): they cannot make"):
        assert text in done.stdout + done.stderr, done


def check_own_frames(_):
    """No stack has a function of the agent, which calls libc's that allocate."""
    done, [m] = measured(harm(), "threaded", wants=BLOCKS | STACKS | RESOURCES)
    parts = [[int(x, 16) for x in line.split()[0].split("-")] for line in done.stdout.splitlines()]
    begin, end = min(p[0] for p in parts), max(p[1] for p in parts)
    stacks = m.stacks()
    assert len(stacks) > 5 and not [s for s in stacks if any(begin <= pc < end for pc in s["path"])], stacks
    # those of libc for a thread, or a stream, are of main
    assert not m.header()["cut"], m.header()


def check_little_things(_):
    """Dumps, locks and limits of memory, a forbidden clock, wrong calls: all as without the agent."""
    program, everything = harm(), BLOCKS | STACKS | PEAK | LIVES
    for wants in (BLOCKS, everything):
        for rate in (1, 1 << 19):
            for command in (["dumped"], ["called"], ["freed"], ["limited_data"], ["clocked", "tsc"], ["clocked", "strict"]):
                a, (b, _) = alone(program, *command), measured(program, *command, wants=wants, rate=rate)
                assert same(a, b), (command, wants, rate, a, b)
    done, [m] = measured(program, "called", wants=everything)[0], measured(program, "dumped", wants=everything)[1]
    assert done.stdout.startswith("fexecve -1 Invalid argument\nspawn 0\nexit 0\n") and m.bytes > 1 << 26, (done, m.bytes)
    a, (b, [m]) = alone(program, "locked"), measured(program, "locked", wants=everything)
    (rc, without), (_, with_) = map(int, a.stdout.split()), map(int, b.stdout.split())
    assert rc == 0 and with_ < without + 65536 and m.missed() == {(LIMIT, ""): 1}, (a, b, m.missed())


def check_deep(folder):
    """Stacks that are deeper than the agent follows have their innermost functions."""
    done = run(CPUPERF, "--event=heap:allocated@1", "-g", f"--output={folder}/s", "--", harm(), "deep", "2000")
    assert "recurse" in done.stdout + done.stderr and "no address" not in done.stdout + done.stderr, done
    assert "deeper than the" in done.stdout + done.stderr, done


run_checks(globals())
