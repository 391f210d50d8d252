/*
 * What is tried on the machine.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/perf_abi.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "doctor/doctor.h"
#include "elf/debuginfod.h"
#include "parts.h"
#include "pmu/ops.h"
#include "program.h"
#include "survey/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEVEL_OWN = 2, LEVEL_KERNEL = 1 };

static void set_error(struct doctor_finding *out, const struct err *e)
{
	doctor_set(out, DOCTOR_NO, e->msg, e->hint);
}

/* --- files of this program */

static int check_file(enum part_id id, struct err *e)
{
	char path[PATH_MAX];

	return part_check(id, path, e) ?: id == PART_PRINTER ? require_printer("", path, e) : 0;
}

static void add_missing(struct buf *missing, struct buf *get, const struct part *p,
			const struct err *e)
{
	buf_printf(missing, "%s%s", missing->len ? "; " : "", e->msg);
	if (!strstr(buf_str(get), e->hint))
		buf_printf(get, "%s%s", get->len ? "; " : "", e->hint);
	buf_printf(missing, " (%s)", p->costs);
}

static void try_files(struct doctor *d, struct doctor_finding *out)
{
	BUF_AUTO(missing, sizeof(out->found));
	BUF_AUTO(get, sizeof(out->get));
	BUF_AUTO(extra, sizeof(out->found));
	unsigned nr = 0;

	(void)d;
	for (int id = 0; id < PART_NR; id++) {
		struct err e = {0};
		int rc = check_file((enum part_id)id, &e);

		nr += rc == 0;
		if (rc == -ENOENT && parts[id].is_extra)
			buf_printf(&extra, "%s %s (package %s)",
				   extra.len ? "," : "; not installed:", parts[id].name,
				   parts[id].package);
		else if (rc && id != PART_AGENT) /* which has a row of its own */
			add_missing(&missing, &get, &parts[id], &e);
	}
	if (missing.len) {
		doctor_set(out, DOCTOR_NO, buf_str(&missing), buf_str(&get));
		return;
	}
	doctor_set(out, DOCTOR_YES, "", "");
	snprintf(out->found, sizeof(out->found), "%u of %d are there, of version %s%.300s", nr,
		 PART_NR, CPUPERF_VERSION, buf_str(&extra));
}

static void try_agent(struct doctor *d, struct doctor_finding *out)
{
	char path[PATH_MAX];
	struct err e = {0};

	(void)d;
	if (part_check_preload(PART_AGENT, path, &e))
		set_error(out, &e);
	else
		doctor_set(out, DOCTOR_YES, "it is there, of this version", "");
}

/* --- events of the kernel's perf */

static int open_own(bool is_user_only)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
				       .exclude_kernel = is_user_only,
				       .exclude_hv = is_user_only,
				       .disabled = 1};
	int fd;

	if (is_user_only)
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
	fd = pmu_kernel_ops.open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		pmu_kernel_ops.close(fd);
	return fd < 0 ? fd : 0;
}

/* Of an event that this program opens for itself. */
static void try_own_event(struct doctor *d, bool is_user_only, const char *yes,
			  struct doctor_finding *out)
{
	const int level = is_user_only ? LEVEL_OWN : LEVEL_KERNEL;
	struct event_support s = {.state = READING_OK};
	struct event ev;
	int rc = open_own(is_user_only);

	if (rc == 0) {
		doctor_set(out, DOCTOR_YES, yes, "");
		return;
	}
	if (catalogue_find_spelled(&d->m.events.catalogue, "software:task_clock", &ev, NULL) == 0)
		event_support_explain(&d->m.host, &ev, -rc, &s);
	if ((rc == -EACCES || rc == -EPERM) && !host_may_measure_cpus(&d->m.host) &&
	    d->m.host.perf_event_paranoid > level) {
		snprintf(s.reason, sizeof(s.reason), "perf_event_paranoid is %d",
			 d->m.host.perf_event_paranoid);
		event_support_hint_rights(&d->m.host, level, &s);
	}
	doctor_set(out, DOCTOR_NO, s.reason, s.hint);
}

static void try_own(struct doctor *d, struct doctor_finding *out)
{
	try_own_event(d, true, "a clock of this process was opened", out);
}

static void try_kernel(struct doctor *d, struct doctor_finding *out)
{
	try_own_event(d, false, "context switches of this process were opened", out);
}

/* An event of the catalogue, in the way in which a session would measure it. */
static void check_event(struct doctor *d, const char *name, struct event_support *out)
{
	const char *why;
	struct event ev;
	struct err e = {0};

	if (catalogue_find_spelled(&d->m.events.catalogue, name, &ev, &e) == 0) {
		(void)api_works_check(&d->works, &ev, out);
		return;
	}
	/* "Unknown event: NAME: why": where the list of events cannot be read, it is not unknown */
	why = strstr(e.msg, ": tracefs ");
	*out = (struct event_support){.state = READING_NOT_SUPPORTED};
	snprintf(out->reason, sizeof(out->reason), "%.255s", why ? why + 2 : e.msg);
	snprintf(out->hint, sizeof(out->hint), "%.255s", e.hint);
}

/* yes: what is said where it works. */
static void try_event(struct doctor *d, const char *name, const char *yes,
		      struct doctor_finding *out)
{
	struct event_support s;

	check_event(d, name, &s);
	if (s.state != READING_OK)
		doctor_set(out, DOCTOR_NO, s.reason, s.hint);
	else
		doctor_set(out, *s.reason ? DOCTOR_PARTLY : DOCTOR_YES, *s.reason ? s.reason : yes,
			   s.hint);
}

static void try_waits(struct doctor *d, struct doctor_finding *out)
{
	try_event(d, "sched:off_cpu_time", "the programs of waits were loaded", out);
	if (out->state == DOCTOR_PARTLY) /* by records of switches */
		snprintf(out->get, sizeof(out->get), "%s", d->works.waits.hint);
}

/* --- what the kernel says of itself */

static void try_types(struct doctor *d, struct doctor_finding *out)
{
	enum { MAGIC = 0xeb9f }; /* include/uapi/linux/btf.h */
	IO_AUTO_FD int fd = root_open(&d->m.host.root, "/sys/kernel/btf/vmlinux");
	uint16_t magic = 0;

	if (fd >= 0 && io_read_full(fd, &magic, sizeof(magic)) == sizeof(magic) && magic == MAGIC)
		doctor_set(out, DOCTOR_YES, "the kernel's types (BTF) were read", "");
	else
		doctor_set(out, DOCTOR_NO,
			   "this kernel does not have its types (/sys/kernel/btf/vmlinux)",
			   "use a kernel with CONFIG_DEBUG_INFO_BTF; in a container, mount /sys");
}

static int end_at_first(const char *text, size_t len, void *arg)
{
	(void)text;
	(void)len;
	(void)arg;
	return 1;
}

static void try_kallsyms(struct doctor *d, struct doctor_finding *out)
{
	const struct survey_symbols_config config = {.root = &d->m.host.root,
						     .pass_text = end_at_first};
	int rc = survey_symbols_run(&config);

	if (rc == 1)
		doctor_set(out, DOCTOR_YES, "/proc/kallsyms has addresses", "");
	else if (rc == -EACCES || rc == -EPERM)
		doctor_set(
		    out, DOCTOR_NO, "the kernel hides the addresses in /proc/kallsyms",
		    "run as root, grant CAP_SYSLOG (setcap), or set kernel.kptr_restrict to 0 and "
		    "kernel.perf_event_paranoid to 1");
	else
		doctor_set(out, DOCTOR_NO, "/proc/kallsyms cannot be read",
			   "use a kernel with CONFIG_KALLSYMS; in a container, mount /proc");
}

/* --- processes that run already */

/* In a process that has nothing to do with this one any more, as those are that --attach is for. It
 * ends with the pipe. */
static void wait_for_end(int to, int from)
{
	const pid_t self = getpid();
	char byte;

	(void)prctl(PR_SET_DUMPABLE, 1); /* this program's file may have capabilities */
	(void)!write(to, &self, sizeof(self));
	close(to);
	(void)!read(from, &byte, 1);
	_exit(0);
}

/* Starts it; its number, or -errno. Closing *end ends it. */
static pid_t start_stranger(int *end)
{
	int up[2], down[2];
	pid_t child, stranger = -EAGAIN;

	if (pipe2(up, O_CLOEXEC))
		return -errno;
	if (pipe2(down, O_CLOEXEC)) {
		close(up[0]);
		close(up[1]);
		return -EMFILE;
	}
	child = fork();
	if (child == 0) {
		close(down[1]);
		if (fork() == 0)
			wait_for_end(up[1], down[0]);
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (io_read_full(up[0], &stranger, sizeof(stranger)) != sizeof(stranger))
		stranger = -EAGAIN;
	close(up[0]);
	*end = down[1];
	return stranger;
}

static void try_attach(struct doctor *d, struct doctor_finding *out)
{
	int end = -1, rc;
	pid_t stranger = start_stranger(&end);

	(void)d;
	if (stranger < 0) {
		doctor_set(out, DOCTOR_UNKNOWN, strerror(-stranger), "");
		io_close(&end);
		return;
	}
	rc = ptrace(PTRACE_SEIZE, stranger, NULL, NULL) ? -errno : 0;
	io_close(&end);
	while (rc == 0 && waitpid(stranger, NULL, __WALL) < 0 && errno == EINTR)
		;
	if (rc == 0)
		doctor_set(out, DOCTOR_YES, "a process of this user was traced", "");
	else
		doctor_set(
		    out, DOCTOR_NO, "the kernel does not let this user trace processes of his own",
		    "run as root, grant CAP_SYS_PTRACE (in a container: --cap-add=SYS_PTRACE), or "
		    "set kernel.yama.ptrace_scope to 0");
}

/* --- names and stacks */

static void try_libraries(struct doctor *d, struct doctor_finding *out)
{
	struct doctor_program own;

	if (doctor_read_program(d, "/proc/self/exe", &own) || !own.nr_libraries) {
		doctor_set(out, DOCTOR_UNKNOWN, "cpuperf itself loads no library",
			   "cpuperf --doctor=PROGRAM looks at those of a program");
		return;
	}
	doctor_set_libraries(
	    out, &own, " libraries that cpuperf loads",
	    "-g (the default of commands) and -g=hybrid need none; or a distribution "
	    "that builds with them (Fedora, Ubuntu 24.04)");
}

static void try_debuginfod(struct doctor *d, struct doctor_finding *out)
{
	struct elf_debuginfod *client;
	struct err e = {0};

	(void)d;
	if (elf_debuginfod_open(&client, &e)) {
		set_error(out, &e);
		return;
	}
	elf_debuginfod_close(client);
	doctor_set(out, DOCTOR_YES, "a server is set, and the client's library is there", "");
}

const struct doctor_check doctor_checks[DOCTOR_NR] = {
    [DOCTOR_FILES] = {"installation", try_files, "what is named", false},
    [DOCTOR_AGENT] = {"agent", try_agent,
		      "no events of the groups heap and resource: who allocates, leaks, open files",
		      false},
    [DOCTOR_OWN] = {"own programs", try_own,
		    "no clock samples of commands: time is sampled by timers in the program "
		    "(resource:cpu_time), where its agent can be loaded",
		    false},
    [DOCTOR_KERNEL] = {"kernel code", try_kernel,
		       "samples end at the system call; context switches and faults in the kernel "
		       "are not counted",
		       false},
    [DOCTOR_CPUS] = {"whole CPUs", NULL,
		     "only one's own commands and processes: not the machine, control groups, "
		     "cpuperf --top, the dashboard of the machine",
		     false, "software:cpu_clock", "a clock of a CPU was opened"},
    [DOCTOR_PMU] = {"hardware counters", NULL,
		    "no cycles, instructions, cache and branch misses: profiles are by the clock",
		    false, "fixed:instructions_retired", "instructions of a CPU were opened"},
    [DOCTOR_PROGRAMS] = {"waits (BPF)", try_waits,
			 "waits of a command are samples by records of its switches; no wakers, no "
			 "waits of the machine",
			 false},
    [DOCTOR_LATENCIES] = {"latencies (BPF)", NULL,
			  "no histograms of system calls, disks, run queue and interrupts", false,
			  "latency:run_queue", "the programs of latencies were loaded"},
    [DOCTOR_TYPES] = {"kernel types (BTF)", try_types,
		      "no programs in the kernel: see waits and latencies", false},
    [DOCTOR_KALLSYMS] = {"kernel symbols", try_kallsyms,
			 "functions of the kernel have no names: [kernel]", false},
    [DOCTOR_TRACEPOINTS] = {"tracepoints", NULL, "no events of the group tracepoint", false,
			    "tracepoint:sched:sched_switch", "sched:sched_switch was opened"},
    [DOCTOR_ATTACH] = {"running processes", try_attach,
		       "--attach does not work: the heap is measured of commands only", false},
    [DOCTOR_LIBRARIES] = {"frame pointers", try_libraries,
			  "-g=fp and -g=aggregate lose the callers of library functions", true},
    [DOCTOR_DEBUGINFOD] = {"debuginfod", try_debuginfod,
			   "cpuperf_print --debuginfod downloads no missing symbols and sources",
			   true},
};

void doctor_try(struct doctor *d, const struct doctor_check *c, struct doctor_finding *out)
{
	if (c->event)
		try_event(d, c->event, c->yes, out);
	else
		c->try(d, out);
}
