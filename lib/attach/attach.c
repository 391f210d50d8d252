/* NOLINTBEGIN(cert-err34-c): numbers of the kernel, in its own words */
#include "attach/attach.h"

#include "attach/space.h"
#include "attach/stack.h"
#include "attach/thread.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/thread.h"
#include "proc/call.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "wire/loadable.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	TRY_NS = 2000000000, /* so long */
	TRY_PAUSE_NS = 1000000,
	LOCK_NS = 50000000, /* for the loader's lock to be free, while a thread is stopped */
	LOCK_PAUSE_NS = 20000,
	MAX_STATUS_BYTES = 64 << 10,
	DLOPEN_PRIVATE = (int)0x80000000, /* for __libc_dlopen_mode */
	MSG_WAITALL_FLAG = 0x100,
};

/* As the agent has it (agent/late/entries.h). */
struct answer {
	uint32_t nr;
	int32_t result;
	uint32_t entries, objects;
};

/* --- what the process is */

static int refuse(pid_t pid, int code, const char *why, const char *hint, struct err *e)
{
	err_set(e, code, "process %d %s", pid, why);
	if (hint)
		err_hint(e, "%s", hint);
	return code;
}

static int check_status(pid_t pid, const char *status, struct err *e)
{
	const char *features = strstr(status, "\nx86_Thread_features:");
	uint64_t state = 0, tracer = 0, seccomp = 0;
	struct proc_key keys[] = {
	    {"State", &state, .kind = PROC_LETTER}, {"TracerPid", &tracer}, {"Seccomp", &seccomp}};
	char line[128] = "";

	if (features)
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(features + 1, "\n"),
			 features + 1);
	(void)proc_keys_parse(status, strlen(status), keys, ARRAY_NR(keys));
	if (state == 'Z' || state == 'X')
		return refuse(pid, -ESRCH, "has ended", NULL, e);
	if (state == 'T')
		return refuse(pid, -EBUSY, "is stopped (SIGSTOP): it could not answer",
			      "kill -CONT has it go on", e);
	if (tracer) {
		err_set(e, -EBUSY, "process %d is traced by process %" PRIu64 ": only one can", pid,
			tracer);
		return e->code;
	}
	if (seccomp)
		return refuse(pid, -EPERM,
			      "is in a sandbox (seccomp), which may kill it for what the agent "
			      "does",
			      NULL, e);
	if (strstr(line, "shstk"))
		return refuse(pid, -ENOTSUP,
			      "has a shadow of its stack, which refuses calls from "
			      "outside",
			      NULL, e);
	return 0;
}

/* Whether both have the same of that. */
static bool shares(pid_t pid, const char *what)
{
	struct stat its, own;

	return proc_find(PROC(&root_live, (uint32_t)pid), what, &its) == 0 &&
	       proc_find(PROC_SELF(&root_live), what, &own) == 0 && its.st_dev == own.st_dev &&
	       its.st_ino == own.st_ino;
}

/* The library's file, by the paths that the process has. */
static int check_library(pid_t pid, const char *library, struct err *e)
{
	char name[PATH_MAX], path[PATH_MAX + 32];
	struct stat own, its;
	struct statvfs fs;

	if (strlen(library) >= ATTACH_TEXT_BYTES || stat(library, &own))
		return err_set(e, -ENOENT, "%s cannot be read", library);
	snprintf(name, sizeof(name), "root%s", library);
	if (proc_path(PROC(&root_live, (uint32_t)pid), name, path, sizeof(path)) < 0 ||
	    stat(path, &its) || its.st_dev != own.st_dev || its.st_ino != own.st_ino) {
		err_set(e, -ENOENT, "process %d has other files than cpuperf: it has no %s", pid,
			library);
		err_hint(e, "measure it from within its container");
		return e->code;
	}
	if (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOEXEC)
		return err_set(e, -EACCES, "%s is on a file system without programs (noexec)",
			       library);
	return 0;
}

static void hint_root(struct err *e)
{
	if (geteuid())
		err_hint(e, "root may attach to it: sudo cpuperf ...");
	else
		err_hint(
		    e,
		    "it has capabilities that this root lacks, or a security module protects it");
}

static int check_program(pid_t pid, struct err *e)
{
	struct loadable_judged judged = {.answer = LOADABLE_UNREADABLE};
	const struct proc *p = PROC(&root_live, (uint32_t)pid);
	char name[PATH_MAX] = "";
	int fd = proc_open(p, "exe");

	(void)proc_read_link(p, "exe", name, sizeof(name));
	if (fd == -EACCES || fd == -EPERM) {
		err_set(e, -EPERM, "process %d is of another user, or has more rights", pid);
		hint_root(e);
		return e->code;
	}
	if (fd < 0)
		return refuse(pid, -ESRCH, "has ended, or has no program", NULL, e);
	loadable_judge_open(fd, &judged);
	close(fd);
	if (judged.answer == LOADABLE_YES || judged.answer == LOADABLE_RIGHTS)
		return 0;
	return err_set(e, -ENOTSUP, "process %d: %s %s", pid, name, loadable_reason(judged.answer));
}

/* Also one that is linked into a program. */
static bool stands_for_malloc(const char *library)
{
	return strcmp(str_base_name(library), "libcpuperf-agent.so") == 0;
}

static int check_objects(struct attach_space *s, const char *library, struct err *e)
{
	static const char *const sanitizers[] = {"__asan_init", "__tsan_init", "__msan_init",
						 "__hwasan_init", "__lsan_enable"};
	struct attach_object *program = s->nr_objects ? &s->object[0] : NULL;

	for (size_t i = 0; i < s->nr_objects; i++)
		if (loadable_is_sanitizer(s->object[i].name, strlen(s->object[i].name)))
			return refuse(s->pid, -ENOTSUP,
				      "runs with a sanitizer, which must be the first in front of "
				      "the C library",
				      NULL, e);
	for (size_t i = 0; program && i < sizeof(sanitizers) / sizeof(*sanitizers); i++)
		if (attach_symbol(s, program, sanitizers[i], NULL))
			return refuse(
			    s->pid, -ENOTSUP,
			    "is built with a sanitizer, which must be the first in front of "
			    "the C library",
			    NULL, e);
	if (program && stands_for_malloc(library) && attach_symbol(s, program, "malloc", NULL))
		return refuse(s->pid, -ENOTSUP,
			      "has an allocator that is linked into its program: its calls have "
			      "no entries that could be rewritten",
			      NULL, e);
	return 0;
}

static int open_space(struct attach_space *s, pid_t pid, struct err *e)
{
	int rc = attach_space_open(s, pid);

	if (rc == -EACCES || rc == -EPERM) {
		err_set(e, -EPERM,
			"process %d may not be traced: it is of another user, has more rights, "
			"or /proc/sys/kernel/yama/ptrace_scope forbids it",
			pid);
		hint_root(e);
	} else if (rc) {
		err_set(e, rc, "process %d: %s", pid, rc == -ESRCH ? "has ended" : strerror(-rc));
	}
	return rc;
}

/* --- what a call from outside needs of the C library */

enum what { DO_BEGIN, DO_END };

struct job {
	enum what what;
	pid_t pid;
	const char *library;
	uint32_t number;
	uint64_t dlopen, dlerror, errno_location, attach, detach,
	    answer; /* addresses; 0: not known */
	uint64_t main_low;
	bool is_private; /* dlopen is __libc_dlopen_mode */
	struct attach_ways ways;
	struct attach_figures figures;
	char why[512];   /* the last reason why a thread was not asked */
	bool has_failed; /* for good */
	bool is_done;
};

/* In any of the C library's objects: glibc had several before 2.34. 0: none defines it. */
static uint64_t find_in_libc(struct attach_space *s, const char *name)
{
	uint64_t found = 0;

	for (size_t i = 0; i < s->nr_objects && !found; i++)
		if (s->object[i].kind == ATTACH_LIBC)
			found = attach_symbol(s, &s->object[i], name, NULL);
	return found;
}

/* NULL, or what the process lacks. */
static const char *find_calls(struct attach_space *s, struct job *j)
{
	const struct attach_object *libc = attach_space_of_kind(s, ATTACH_LIBC);

	if (!libc || !attach_space_of_kind(s, ATTACH_LOADER))
		return "has no C library of glibc";
	j->dlopen = find_in_libc(s, "dlopen");
	j->is_private = !j->dlopen;
	if (j->is_private)
		j->dlopen = find_in_libc(s, "__libc_dlopen_mode");
	else
		j->dlerror = find_in_libc(s, "dlerror");
	j->errno_location = find_in_libc(s, "__errno_location");
	if (!libc->symbols)
		return "has a C library whose symbols cannot be read";
	if (!j->dlopen)
		return "has a C library without dlopen";
	return attach_find_ways(s, &j->ways)
		   ? NULL
		   : "has a C library without a return from signals that is known";
}

/* One whose file was removed or replaced since, by an upgrade, still has to end its session. */
static bool is_agent(const struct attach_object *o, const struct job *j)
{
	const char *name = str_base_name(j->library), *of = str_base_name(o->name);
	const size_t len = strlen(name);

	return o->kind == ATTACH_AGENT && strncmp(of, name, len) == 0 &&
	       (!of[len] || (j->what == DO_END && strcmp(of + len, " (deleted)") == 0));
}

static bool find_agent(struct attach_space *s, struct job *j)
{
	struct attach_object *agent = ARRAY_FIND(o, s->object, s->nr_objects, is_agent(o, j));

	if (!agent)
		return false;
	j->attach = attach_symbol(s, agent, "cpuperf_agent_attach", NULL);
	j->detach = attach_symbol(s, agent, "cpuperf_agent_detach", NULL);
	j->answer = attach_symbol(s, agent, "cpuperf_agent_answer", NULL);
	return true;
}

/* A process that has just begun, or executes another program, has its C library only after a
 * while. Where a session is to end, one without the agent needs nothing. */
static int open_with_calls(struct attach_space *s, struct job *j, struct err *e)
{
	const struct timespec pause = {0, TRY_PAUSE_NS};
	const uint64_t start = clock_monotonic_ns();
	const char *lacks;
	bool is_said = false;
	int rc;

	while ((rc = open_space(s, j->pid, e)) == 0) {
		if (j->what == DO_END && !find_agent(s, j)) {
			attach_space_close(s);
			return err_set(e, -ESRCH, "process %d runs another program", j->pid);
		}
		lacks = find_calls(s, j);
		if (!lacks)
			return 0;
		attach_space_close(s);
		if (clock_monotonic_ns() - start > TRY_NS)
			return refuse(j->pid, -ENOTSUP, lacks, NULL, e);
		if (!is_said)
			log_verbose(1, "process %d %s: it may have just begun", j->pid, lacks);
		is_said = true;
		nanosleep(&pause, NULL);
	}
	return rc;
}

int attach_check(pid_t pid, const char *library, struct err *e)
{
	BUF_AUTO(status, MAX_STATUS_BYTES);
	struct job j = {.pid = pid};
	struct attach_space s;
	int rc = proc_load(PROC(&root_live, (uint32_t)pid), "status", &status);

	if (rc)
		rc = refuse(pid, -ESRCH, "does not exist", NULL, e);
	rc = rc ?: check_status(pid, buf_str(&status), e);
	rc = rc ?: check_program(pid, e);
	if (rc == 0 && !shares(pid, "ns/net")) {
		refuse(pid, -ENOTSUP,
		       "is in another network namespace, from which it cannot reach "
		       "cpuperf",
		       "measure it from within its container", e);
		rc = e->code;
	}
	rc = rc ?: check_library(pid, library, e);
	if (rc)
		return rc;
	rc = open_with_calls(&s, &j, e);
	if (rc == 0) {
		rc = check_objects(&s, library, e);
		attach_space_close(&s);
	}
	return rc;
}

/* --- the threads that may be asked */

struct tids {
	pid_t *tid; /* owned */
	size_t nr, room;
	int rc;
};

static int add_tid(uint32_t tid, void *arg)
{
	struct tids *t = arg;
	pid_t *place = MEM_ADD(t->tid, t->nr, t->room);

	if (!place)
		return -ENOMEM;
	*place = (pid_t)tid;
	return 0;
}

static int find_tids(pid_t pid, struct tids *out)
{
	*out = (struct tids){.tid = NULL};
	return proc_each_thread(PROC(&root_live, (uint32_t)pid), add_tid, out);
}

enum rank { RANK_WAITS, RANK_RUNS, RANK_NOT_NOW };

/* What its status says of it: whether it may be stopped. *is_stopped: it is, by us, since it
 * stopped too late at an attempt before. */
static bool may_stop(const struct proc *thread, bool *is_stopped)
{
	uint64_t seccomp = 0, state = 0;
	struct proc_key keys[] = {{"State", &state, .kind = PROC_LETTER}, {"Seccomp", &seccomp}};
	int rc = proc_keys_load(thread, "status", keys, ARRAY_NR(keys));

	*is_stopped = state == 't';
	return rc == 0 && state && strchr("RSt", (int)state) && !seccomp;
}

/* A system call that would end early by our interruption is not interrupted. */
static enum rank rank_of(pid_t pid, pid_t tid)
{
	const struct proc *thread = PROC(&root_live, (uint32_t)pid, (uint32_t)tid);
	struct proc_call c;
	bool is_stopped;

	if (!may_stop(thread, &is_stopped))
		return RANK_NOT_NOW;
	if (is_stopped)
		return RANK_WAITS;
	if (proc_call_load(thread, &c))
		return RANK_NOT_NOW;
	if (c.is_running)
		return RANK_RUNS;
	if ((c.number == SYS_recvfrom && c.argument[3] & MSG_WAITALL_FLAG) ||
	    c.number == SYS_recvmsg)
		return RANK_NOT_NOW;
	return attach_is_wait(c.number) ? RANK_WAITS : RANK_NOT_NOW;
}

/* --- the attempt */

static uint64_t main_low_of(const struct attach_space *s)
{
	const struct attach_mapping *m =
	    ARRAY_FIND(x, s->mapping, s->nr, strcmp(x->name, "[stack]") == 0);
	unsigned long long limit = 0;
	BUF_AUTO(text, MAX_STATUS_BYTES);
	const char *line;

	if (proc_load(PROC(&root_live, (uint32_t)s->pid), "limits", &text) == 0) {
		line = strstr(buf_str(&text), "Max stack size");
		if (line && sscanf(line + 14, " %llu", &limit) != 1)
			limit = 8 << 20; /* unlimited */
	}
	if (!m)
		return UINT64_MAX;
	return m->end - limit < m->start ? m->end - limit : m->start;
}

static int prepare(struct attach_space *s, struct job *j, struct err *e)
{
	attach_prepare(s);
	j->main_low = main_low_of(s);
	if (find_agent(s, j) && (!j->attach || !j->detach || !j->answer))
		return err_set(e, -ENOTSUP, "process %d has another version of cpuperf's agent",
			       s->pid);
	return 0;
}

/* Its mappings have changed. */
static int look_for_agent(struct attach_space *s, struct job *j)
{
	struct attach_space now;
	int rc = attach_space_open(&now, s->pid);

	if (rc)
		return rc;
	if (!find_agent(&now, j) || !j->attach || !j->answer)
		rc = -ENOENT;
	attach_space_close(&now);
	return rc;
}

static int fail(struct job *j, int rc, const char *why)
{
	j->has_failed = true;
	snprintf(j->why, sizeof(j->why), "%s", why);
	return rc;
}

static int call_agent(struct attach_thread *t, struct attach_space *s, struct job *j)
{
	const struct attach_call call = {.function = j->what == DO_BEGIN ? j->attach : j->detach,
					 .argument = {j->number},
					 .has_mask = true};
	struct answer before, after;
	int rc;

	if (!attach_space_read(s, j->answer, &before, sizeof(before)))
		return -EFAULT;
	rc = attach_thread_call(t, s, &j->ways, &call);
	if (rc)
		return rc;
	if (!attach_space_read(s, j->answer, &after, sizeof(after)) || after.nr == before.nr)
		return fail(j, -EIO, "did not answer");
	j->figures.entries = after.entries;
	j->figures.objects = after.objects;
	j->is_done = j->what == DO_END || !after.result;
	if (j->is_done)
		return 0;
	if (after.result == -EBUSY)
		return fail(j, after.result, "is measured by another cpuperf");
	if (after.result == -ECONNREFUSED)
		return fail(j, after.result, "cannot connect to cpuperf");
	if (after.result == -EAGAIN)
		return -EALREADY; /* it is soon outside */
	return fail(j, after.result, "has no memory for the agent");
}

/* The loader's own reason, which the thread asks for. */
static int fail_to_load(struct attach_thread *t, struct attach_space *s, struct job *j)
{
	static const char unknown[] =
	    "its loader refuses it (a C library that is too old, no right to read it, or no room "
	    "for its thread-local memory)";
	uint64_t at = 0;
	const struct attach_call call = {.function = j->dlerror, .result = &at};
	char text[400] = "", why[sizeof(j->why)];
	size_t len = 0;

	if (j->dlerror && attach_thread_call(t, s, &j->ways, &call) == 0 && at)
		while (len < sizeof(text) - 1 && attach_space_read(s, at + len, &text[len], 1) &&
		       text[len])
			len++;
	text[len] = '\0';
	str_disarm(text);
	snprintf(why, sizeof(why), "cannot load the agent: %s", len ? text : unknown);
	return fail(j, -ENOEXEC, why);
}

static int load(struct attach_thread *t, struct attach_space *s, struct job *j)
{
	const struct attach_call call = {
	    .function = j->dlopen,
	    .argument = {0, RTLD_NOW | (j->is_private ? (uint64_t)DLOPEN_PRIVATE : 0)},
	    .text = j->library};
	int rc = attach_thread_call(t, s, &j->ways, &call);

	if (rc)
		return rc;
	return look_for_agent(s, j) ? fail_to_load(t, s, j) : 0;
}

/* Calls, again and again while the loader's lock is held. */
static int call_until_free(struct attach_thread *t, struct attach_space *s, struct job *j)
{
	const struct timespec pause = {0, LOCK_PAUSE_NS};
	const uint64_t start = clock_monotonic_ns();
	int rc;

	for (;;) {
		rc = j->attach ? call_agent(t, s, j) : load(t, s, j);
		if (rc == 0 && !j->is_done)
			continue;
		if (rc != -EAGAIN || j->has_failed || clock_monotonic_ns() - start > LOCK_NS)
			return rc;
		for (uint32_t word = 1; word && clock_monotonic_ns() - start < LOCK_NS;)
			if (!attach_space_read(s, t->lock, &word, sizeof(word)) || word)
				nanosleep(&pause, NULL);
	}
}

/* The same; errno stays as it is. */
static int call_in(struct attach_thread *t, struct attach_space *s, struct job *j)
{
	uint64_t at = 0;
	const struct attach_call call = {.function = j->errno_location, .result = &at};
	int error, rc = j->errno_location ? attach_thread_call(t, s, &j->ways, &call) : 0;

	if (rc)
		return rc;
	if (at && !attach_space_read(s, at, &error, sizeof(error)))
		at = 0;
	rc = call_until_free(t, s, j);
	if (at && t->state)
		(void)attach_space_write(s, at, &error, sizeof(error));
	return rc;
}

/* -EAGAIN: not with this thread now. */
static int ask(struct attach_space *s, struct job *j, pid_t tid)
{
	static const struct {
		int code;
		const char *why;
	} not_now[] = {{-EAGAIN, "would wait for the loader"},
		       {-EBUSY, "has registers or a stack that allow no call"},
		       {-EALREADY, "found another one within the agent, from the session before"},
		       {-EINTR, "was to handle a signal"}};
	struct attach_thread t;
	struct attach_place place = {.is_main = tid == s->pid, .main_low = j->main_low};
	uint64_t since = clock_monotonic_ns();
	const char *why;
	int rc = attach_thread_stop(&t, tid);

	if (rc == -EPERM)
		return fail(j, rc,
			    "may not be traced: it is of another user, is traced already, "
			    "or ptrace_scope forbids it");
	if (rc)
		return -EAGAIN;
	attach_thread_place(&t, &place);
	why = attach_judge(s, &place);
	rc = why ? -EAGAIN : call_in(&t, s, j);
	for (size_t i = 0; i < sizeof(not_now) / sizeof(*not_now) && !why; i++)
		if (rc == not_now[i].code && !j->has_failed) {
			why = not_now[i].why;
			rc = -EAGAIN;
		}
	if (why)
		snprintf(j->why, sizeof(j->why), "%s", why);
	attach_thread_release(&t);
	since = clock_monotonic_ns() - since;
	if (since > j->figures.stopped_ns)
		j->figures.stopped_ns = since;
	return rc;
}

static int ask_any(struct attach_space *s, struct job *j)
{
	struct tids tids;
	int rc = find_tids(s->pid, &tids) ? -ESRCH : -EAGAIN;

	for (int rank = RANK_WAITS; rank <= RANK_RUNS && rc == -EAGAIN; rank++)
		for (size_t i = 0; i < tids.nr && rc == -EAGAIN && !j->has_failed; i++)
			if (rank_of(s->pid, tids.tid[i]) == (enum rank)rank)
				rc = ask(s, j, tids.tid[i]);
	mem_free(tids.tid);
	return rc;
}

static int run(struct attach_space *s, struct job *j, struct err *e)
{
	const struct timespec pause = {0, TRY_PAUSE_NS};
	const uint64_t start = clock_monotonic_ns();
	int rc;

	snprintf(j->why, sizeof(j->why), "waits in a system call that may not be interrupted");
	do {
		j->figures.tries++;
		rc = ask_any(s, j);
		if (rc != -EAGAIN || j->has_failed)
			break;
		nanosleep(&pause, NULL);
	} while (clock_monotonic_ns() - start < TRY_NS);
	if (rc == 0)
		return 0;
	if (j->has_failed)
		return err_set(e, rc, "process %d %s", s->pid, j->why);
	if (rc == -EAGAIN) {
		err_set(e, rc,
			"process %d: no thread was where it could load the agent within 2 s: the "
			"last one looked at %s",
			s->pid, j->why);
		err_hint(e, "try again");
		return rc;
	}
	return err_set(e, rc, "process %d: %s", s->pid, rc == -ESRCH ? "has ended" : strerror(-rc));
}

static int begin(struct job *j, struct err *e)
{
	struct attach_space s;
	int rc = open_with_calls(&s, j, e);

	if (rc)
		return rc;
	rc = prepare(&s, j, e);
	rc = rc ?: run(&s, j, e);
	attach_space_close(&s);
	return rc;
}

struct tracer {
	struct job *job;
	struct err *e;
	int rc;
};

static void *trace(void *arg)
{
	struct tracer *t = arg;

	t->rc = begin(t->job, t->e);
	return NULL;
}

/* In a thread that traces and ends: then the kernel releases what is still traced, as a thread that
 * sleeps where nothing wakes it. */
static int begin_alone(struct job *j, struct err *e)
{
	struct tracer t = {.job = j, .e = e};
	pthread_t thread;
	int rc = thread_start_blocked(&thread, trace, &t);

	if (rc)
		return err_set(e, rc, "no thread can be made: %s", strerror(-rc));
	pthread_join(thread, NULL);
	return t.rc;
}

int attach_begin(pid_t pid, const char *library, uint32_t number, struct attach_figures *out,
		 struct err *e)
{
	struct job j = {.what = DO_BEGIN, .pid = pid, .library = library, .number = number};
	const struct attach_figures *f = &j.figures;
	int rc = begin_alone(&j, e);

	if (rc == 0)
		log_verbose(1,
			    "process %d: %u entries of %u objects are rewritten; a thread was "
			    "stopped for %.1f ms, at the %u. attempt",
			    pid, f->entries, f->objects, (double)f->stopped_ns / 1e6, f->tries);
	if (out)
		*out = *f;
	return rc;
}

int attach_end(pid_t pid, const char *library, struct attach_figures *out, struct err *e)
{
	struct job j = {.what = DO_END, .pid = pid, .library = library};
	const struct attach_figures *f = &j.figures;
	int rc = begin_alone(&j, e);

	if (rc == 0)
		log_verbose(1,
			    "process %d is as before; a thread was stopped for %.1f ms, at the %u. "
			    "attempt",
			    pid, (double)f->stopped_ns / 1e6, f->tries);
	if (out)
		*out = *f;
	return rc;
}

void attach_leave(pid_t pid, const char *library)
{
	struct err e = {0};
	int rc = attach_end(pid, library, NULL, &e);

	if (rc && rc != -ESRCH)
		log_warning("the agent stays in use, without effect: %s", e.msg);
}
/* NOLINTEND(cert-err34-c) */
