/*
 * The members of a tree are found by /proc/PID/task/TID/children, which costs nothing for processes
 * of others. A kernel without that file (CONFIG_PROC_CHILDREN) shows the first processes alone.
 */
#include "target/memory.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/dict.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "proc/text.h"
#include "target/children.h"
#include "target/switches.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
	MIN_PERIOD_NS = 10000000,
	CPU_SHARE = 100, /* a pause is so many times the CPU time of the reading before it */
	MAX_MEMBERS = 65536,
	MAX_LIST_BYTES = 1 << 20,
	NR_HIDDEN_NAMED = 8,
};

/* Of /proc/PID/stat. */
static const unsigned fields[] = {
    PROC_STAT_PARENT,       PROC_STAT_FLAGS,       PROC_STAT_MINOR_FAULTS,
    PROC_STAT_MAJOR_FAULTS, PROC_STAT_USER_TICKS,  PROC_STAT_SYSTEM_TICKS,
    PROC_STAT_NR_THREADS,   PROC_STAT_START_TICKS, PROC_STAT_MEMORY_BYTES,
};
enum { NR_FIELDS = PROC_STAT_MEMORY_BYTES + 1 };
enum { FORKED_NO_EXEC = 0x40 }; /* in PROC_STAT_FLAGS: PF_FORKNOEXEC */

struct member {
	uint32_t pid;                   /* the key */
	uint64_t field[NR_FIELDS], rss; /* rss: pages */
};

struct hidden {
	uint32_t pid;     /* the key */
	bool is_measured; /* its events were opened after its exec */
};

struct target_memory {
	struct target_memory_config config;
	pid_t command;            /* 0: it is none */
	bool is_prompt;           /* kcmp and auxv do not wait for an exec */
	pthread_mutex_t reading;  /* held while members change */
	struct dict members;      /* of the last reading; ended ones have no rss */
	bool has_read;            /* what was not a member then began later */
	uint64_t used[NR_FIELDS]; /* since the first reading: sums of fields that only grow */
	struct target_switches switches;
	struct dict hidden; /* with more rights than this user; also what they made */
	struct buf hidden_names;
	size_t nr_hidden;        /* without what they made */
	struct target_peak peak; /* since it was taken; under the lock */
	int peak_fd, current_fd; /* of the cgroup; -1: it has none */
	bool can_reset;          /* memory.peak counts from a time that the reader sets */
	uint64_t before_bytes;   /* memory.peak when it was last read */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool has_thread, is_stopping;
};

/* ---- processes */

static bool read_member(const struct target_memory *m, uint32_t pid, struct member *out)
{
	const struct proc *p = PROC(m->config.root, pid);
	struct member new = {.pid = pid};
	struct proc_number numbers[ARRAY_NR(fields)];
	char text[PROC_STAT_BYTES];
	struct proc_statm statm;
	struct proc_stat s;

	for (size_t i = 0; i < ARRAY_NR(fields); i++)
		numbers[i] = (struct proc_number){fields[i], &new.field[fields[i]]};
	if (proc_stat_load(p, text, &s, numbers, ARRAY_NR(fields)) || proc_statm_load(p, &statm))
		return false;
	/* the RSS in stat is approximate */
	new.rss = statm.resident;
	*out = new;
	return true;
}

static void add_name(const struct target_memory *m, uint32_t pid, bool is_next, struct buf *names)
{
	buf_adds(names, is_next ? ", " : "");
	proc_add_name(PROC(m->config.root, pid), names);
}

static void add(struct dict *now, const struct member *new)
{
	struct member *own = dict_get(now, &new->pid);

	if (own)
		*own = *new;
}

struct listing {
	const struct target_memory *m;
	struct dict *now;
	uint32_t parent; /* 0: any */
};

static int add_pid(uint32_t pid, void *arg)
{
	const struct listing *l = arg;
	struct member new;

	if (read_member(l->m, pid, &new) &&
	    /* else it has ended, and another has its number */
	    (!l->parent || new.field[PROC_STAT_PARENT] == l->parent))
		add(l->now, &new);
	return 0;
}

static int add_children_of(uint32_t tid, void *arg)
{
	const struct listing *l = arg;

	(void)proc_each_child(PROC(l->m->config.root, l->parent, tid), add_pid, arg);
	return 0;
}

static void add_children(const struct target_memory *m, struct dict *now, uint32_t i)
{
	const struct member *parent = dict_at(now, i);
	struct listing l = {m, now, parent->pid};

	if (parent->field[PROC_STAT_NR_THREADS] > 1)
		(void)proc_each_thread(PROC(m->config.root, l.parent), add_children_of, &l);
	else
		(void)add_children_of(l.parent, &l);
}

static void find_members(const struct target_memory *m, struct dict *now)
{
	const struct member *before;
	struct member new;

	struct listing l = {m, now, 0};

	if (m->config.cgroup >= 0)
		(void)target_each_of_cgroup(m->config.cgroup, add_pid, &l);
	for (uint32_t i = 0; i < m->members.nr; i++) {
		before = dict_at(&m->members, i);
		if (read_member(m, before->pid, &new) &&
		    (!before->field[PROC_STAT_START_TICKS] ||
		     before->field[PROC_STAT_START_TICKS] == new.field[PROC_STAT_START_TICKS]))
			add(now, &new);
	}
	for (uint32_t i = 0; m->config.has_children && i < now->nr; i++)
		add_children(m, now, i);
}

/* Before Linux 5.7, kcmp and a read of auxv wait for an exec of the process, which may wait for a
 * file system or a debugger. */
static bool is_prompt(void)
{
	struct utsname name;
	unsigned long major, minor = 0;
	char *end;

	if (uname(&name))
		return false;
	major = strtoul(name.release, &end, 10);
	if (*end == '.')
		minor = strtoul(end + 1, NULL, 10);
	return major > 5 || (major == 5 && minor >= 7);
}

/* Between vfork and exec, a process has its parent's memory. Without kcmp, sizes are
 * compared. */
static bool has_own_memory(const struct target_memory *m, const struct dict *now,
			   const struct member *p)
{
	const uint32_t pid = (uint32_t)p->field[PROC_STAT_PARENT];
	const struct member *parent = dict_at(now, dict_find(now, &pid));
	long rc;

	if (!parent || !(p->field[PROC_STAT_FLAGS] & FORKED_NO_EXEC))
		return true;
	rc = m->is_prompt ? syscall(SYS_kcmp, pid, p->pid, KCMP_VM, 0, 0) : -1;
	return rc < 0 ? p->field[PROC_STAT_MEMORY_BYTES] != parent->field[PROC_STAT_MEMORY_BYTES]
		      : rc > 0;
}

static struct target_peak sum(const struct target_memory *m, const struct dict *now)
{
	struct target_peak sum = {0};

	for (uint32_t i = 0; i < now->nr; i++) {
		const struct member *p = dict_at(now, i);

		if (!p->rss || !has_own_memory(m, now, p))
			continue;
		sum.bytes += p->rss * m->config.page_bytes;
		sum.nr_processes++;
	}
	return sum;
}

/* Processes come and go while they are read one by one. All first readings precede all second
 * ones, so the smaller of two is what a process had when the others had theirs. */
static void read_again(const struct target_memory *m, struct dict *now)
{
	for (uint32_t i = 0; i < now->nr; i++) {
		struct member *p = dict_at(now, i), again;

		if (!read_member(m, p->pid, &again) ||
		    again.field[PROC_STAT_START_TICKS] != p->field[PROC_STAT_START_TICKS])
			p->rss = 0;
		else if (again.rss < p->rss)
			p->rss = again.rss;
	}
}

static bool is_new_peak(struct target_memory *m, struct target_peak p)
{
	bool is_new;

	pthread_mutex_lock(&m->lock);
	is_new = p.bytes > m->peak.bytes;
	pthread_mutex_unlock(&m->lock);
	return is_new;
}

static void add_peak(struct target_memory *m, struct target_peak p)
{
	pthread_mutex_lock(&m->lock);
	if (p.bytes > m->peak.bytes)
		m->peak = p;
	pthread_mutex_unlock(&m->lock);
}

static void init_members(struct dict *d)
{
	dict_init(d, sizeof(struct member), DICT_KEY(struct member, pid), MAX_MEMBERS);
}

/* What was used between two readings, and by those that began in between. */
static void add_used(struct target_memory *m, const struct dict *now)
{
	for (uint32_t i = 0; i < now->nr; i++) {
		const struct member *p = dict_at(now, i);
		const struct member *before = dict_at(&m->members, dict_find(&m->members, &p->pid));
		bool is_same = before && before->field[PROC_STAT_START_TICKS] ==
					     p->field[PROC_STAT_START_TICKS];

		for (unsigned k = PROC_STAT_MINOR_FAULTS;
		     k <= PROC_STAT_SYSTEM_TICKS && m->has_read; k++) {
			uint64_t from = is_same ? before->field[k] : 0;

			m->used[k] += p->field[k] > from ? p->field[k] - from : 0;
		}
	}
	m->has_read = true;
}

static void read_switches(struct target_memory *m, const struct dict *now)
{
	for (uint32_t i = 0; i < now->nr; i++)
		target_switches_read(&m->switches, ((const struct member *)dict_at(now, i))->pid);
	target_switches_end(&m->switches);
}

/* A process that is not dumpable, by choice or because its program has more rights. */
static bool is_closed(const struct target_memory *m, uint32_t pid)
{
	char to[32];

	return proc_read_link(PROC(m->config.root, pid), "ns/user", to, sizeof(to)) == -EACCES;
}

/* Whether one of the numbers is not the expected one. */
static bool has_other(const struct proc_key *key, uint64_t expected)
{
	return ARRAY_ANY(n, key->out, key->nr < key->max ? key->nr : key->max, *n != expected);
}

static bool has_more_rights(const struct target_memory *m, uint32_t pid)
{
	uint64_t uids[4], gids[4], permitted[1];
	struct proc_key keys[] = {
	    {"Uid", uids, 4}, {"Gid", gids, 4}, {"CapPrm", permitted, 1, PROC_HEX}};

	return is_closed(m, pid) &&
	       proc_keys_load(PROC(m->config.root, pid), "status", keys, ARRAY_NR(keys)) == 0 &&
	       (has_other(&keys[0], geteuid()) || has_other(&keys[1], getegid()) ||
		has_other(&keys[2], 0));
}

/* AT_SECURE of a program of 64 or 32 bits. The high half of the first type of 64 bits is 0; the
 * first value of 32 bits is not, as it is an address or the CPU's features. */
static bool is_secure(const struct buf *auxv)
{
	size_t size = sizeof(uint64_t), at;
	uint32_t high = 0;
	uint64_t pair[2] = {0};

	if (auxv->len < 2 * sizeof(high))
		return false;
	memcpy(&high, auxv->data + sizeof(high), sizeof(high));
	if (high)
		size = sizeof(uint32_t);
	for (at = 0; at + 2 * size <= auxv->len; at += 2 * size) {
		memcpy(&pair[0], auxv->data + at, size);
		memcpy(&pair[1], auxv->data + at + size, size);
		if (pair[0] == AT_SECURE)
			return pair[1];
	}
	return false;
}

/* Root may read what is closed: the kernel's own mark shows an exec with more rights. A process
 * that was forked and has not called exec has its parent's mark, and its events. The events of a
 * control group belong to CPUs, and remain. */
static bool has_secure_exec(const struct target_memory *m, const struct member *p)
{
	BUF_AUTO(auxv, MAX_LIST_BYTES);

	return m->is_prompt && m->config.cgroup < 0 &&
	       !(p->field[PROC_STAT_FLAGS] & FORKED_NO_EXEC) &&
	       proc_load(PROC(m->config.root, p->pid), "auxv", &auxv) == 0 && is_secure(&auxv);
}

/* Root's events of a process that ran with more rights before they were opened remain. */
static void find_hidden(struct target_memory *m, const struct dict *now, bool is_first)
{
	const bool is_root = geteuid() == 0;

	for (uint32_t i = 0; i < now->nr; i++) {
		const struct member *p = dict_at(now, i);
		uint32_t parent = (uint32_t)p->field[PROC_STAT_PARENT];
		const struct hidden *above;
		struct hidden *own;

		if (dict_find(&m->hidden, &p->pid) != DICT_NONE ||
		    !(is_root ? has_secure_exec(m, p) : has_more_rights(m, p->pid)))
			continue;
		own = dict_get(&m->hidden, &p->pid);
		if (!own)
			continue;
		own->is_measured = is_root && is_first;
		above = dict_at(&m->hidden, dict_find(&m->hidden, &parent));
		if (own->is_measured || (above && !above->is_measured))
			continue;
		if (m->nr_hidden++ < NR_HIDDEN_NAMED)
			add_name(m, p->pid, m->nr_hidden > 1, &m->hidden_names);
	}
}

static void read_processes(struct target_memory *m)
{
	const bool is_first = !m->has_read;
	struct dict now;

	init_members(&now);
	find_members(m, &now);
	add_used(m, &now);
	if (m->config.has_switches)
		read_switches(m, &now);
	find_hidden(m, &now, is_first);
	if (is_new_peak(m, sum(m, &now))) {
		read_again(m, &now);
		add_peak(m, sum(m, &now));
	}
	dict_fini(&m->members);
	m->members = now;
}

/* ---- control groups */

/* 0 if it cannot be read. */
static uint64_t read_number(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	const char *p = text;
	uint64_t v;

	return n > 0 && str_scan_u64(&p, text + n, &v) == 0 ? v : 0;
}

/* Linux 6.12: then the peak that this descriptor reads counts from here on. */
static bool reset_peak(int fd)
{
	return pwrite(fd, "reset", 5, 0) == 5;
}

static void open_cgroup(struct target_memory *m)
{
	int folder = m->config.cgroup;

	m->current_fd = openat(folder, "memory.current", O_RDONLY | O_CLOEXEC);
	m->peak_fd = openat(folder, "memory.peak", O_RDWR | O_CLOEXEC);
	m->can_reset = m->peak_fd >= 0 && reset_peak(m->peak_fd);
	if (m->peak_fd < 0)
		m->peak_fd = openat(folder, "memory.peak", O_RDONLY | O_CLOEXEC);
	m->before_bytes = read_number(m->peak_fd);
}

void target_memory_take(struct target_memory *m, struct target_peak *out)
{
	uint64_t bytes = read_number(m->peak_fd);

	pthread_mutex_lock(&m->lock);
	*out = m->peak;
	m->peak = (struct target_peak){0};
	pthread_mutex_unlock(&m->lock);
	out->is_of_cgroup = m->peak_fd >= 0 || m->current_fd >= 0;
	/* the group's peak of all time is this one's if it rose */
	if (m->can_reset || bytes > m->before_bytes) {
		out->bytes = bytes;
		out->is_exact = true;
	}
	if (m->can_reset)
		(void)reset_peak(m->peak_fd);
	m->before_bytes = read_number(m->peak_fd);
}

/* ---- both */

void target_memory_read(struct target_memory *m)
{
	if (m->current_fd < 0 && m->peak_fd < 0) {
		pthread_mutex_lock(&m->reading);
		read_processes(m);
		pthread_mutex_unlock(&m->reading);
	} else {
		add_peak(m, (struct target_peak){.bytes = read_number(m->current_fd)});
	}
}

void target_memory_used(struct target_memory *m, struct target_used *out)
{
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	const uint64_t *used = m->used;

	*out = (struct target_used){0};
	if (m->current_fd >= 0 || m->peak_fd >= 0)
		return;
	pthread_mutex_lock(&m->reading);
	read_processes(m);
	*out = (struct target_used){.user_ns = used[PROC_STAT_USER_TICKS] * tick_ns,
				    .system_ns = used[PROC_STAT_SYSTEM_TICKS] * tick_ns,
				    .minor_faults = used[PROC_STAT_MINOR_FAULTS],
				    .major_faults = used[PROC_STAT_MAJOR_FAULTS],
				    .switches = m->switches.nr,
				    .are_switches_all = m->config.has_switches &&
							target_switches_are_all(&m->switches)};
	pthread_mutex_unlock(&m->reading);
}

size_t target_memory_list(struct target_memory *m, pid_t except, size_t max, struct buf *names)
{
	size_t nr = 0;

	pthread_mutex_lock(&m->reading);
	read_processes(m);
	for (uint32_t i = 0; i < m->members.nr; i++) {
		const struct member *p = dict_at(&m->members, i);

		if (p->rss && p->pid != (uint32_t)except && nr++ < max)
			add_name(m, p->pid, nr > 1, names);
	}
	pthread_mutex_unlock(&m->reading);
	return nr;
}

size_t target_memory_hidden(struct target_memory *m, struct buf *names)
{
	size_t nr;

	pthread_mutex_lock(&m->reading);
	nr = m->nr_hidden;
	buf_adds(names, buf_str(&m->hidden_names));
	pthread_mutex_unlock(&m->reading);
	return nr;
}

/* A command that was forked and has not called exec is still cpuperf. */
static bool is_before_exec(const struct target_memory *m, const struct member *p)
{
	return m->command && p->pid == (uint32_t)m->command &&
	       p->field[PROC_STAT_FLAGS] & FORKED_NO_EXEC &&
	       p->field[PROC_STAT_PARENT] == (uint32_t)getpid();
}

/* Owned by the caller. NULL without memory. */
static pid_t *list_own_memory(const struct target_memory *m, const struct dict *now, size_t *nr)
{
	pid_t *pids = mem_calloc(now->nr + 1, sizeof(*pids));

	*nr = 0;
	for (uint32_t i = 0; pids && i < now->nr; i++) {
		const struct member *p = dict_at(now, i);

		if (p->rss && has_own_memory(m, now, p) && !is_before_exec(m, p))
			pids[(*nr)++] = (pid_t)p->pid;
	}
	return pids;
}

void target_memory_pass(struct target_memory *m)
{
	MEM_AUTO pid_t *pids = NULL;
	struct dict of_cgroup;
	size_t nr;

	if (!m->config.on_processes)
		return;
	init_members(&of_cgroup);
	pthread_mutex_lock(&m->reading);
	if (m->config.cgroup >= 0)
		find_members(m, &of_cgroup);
	pids = list_own_memory(m, m->config.cgroup >= 0 ? &of_cgroup : &m->members, &nr);
	pthread_mutex_unlock(&m->reading);
	if (nr)
		m->config.on_processes(m->config.arg, pids, nr);
	dict_fini(&of_cgroup);
}

int target_memory_new(const struct target_memory_config *config, struct target_memory **out)
{
	struct target_memory *m = mem_zalloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->config = *config;
	m->is_prompt = is_prompt();
	m->peak_fd = m->current_fd = -1;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->reading, NULL);
	if (thread_cond_init(&m->wake)) {
		pthread_mutex_destroy(&m->lock);
		pthread_mutex_destroy(&m->reading);
		mem_free(m);
		return -ENOMEM;
	}
	init_members(&m->members);
	m->has_read = config->counts_all;
	dict_init(&m->hidden, sizeof(struct hidden), DICT_KEY(struct hidden, pid), MAX_MEMBERS);
	buf_init(&m->hidden_names, MAX_LIST_BYTES);
	target_switches_init(&m->switches, config->root, config->counts_all);
	if (m->config.period_ns < MIN_PERIOD_NS)
		m->config.period_ns = MIN_PERIOD_NS;
	if (config->cgroup >= 0)
		open_cgroup(m);
	for (size_t i = 0; i < config->nr_pids; i++)
		(void)dict_add(&m->members, &(uint32_t){(uint32_t)config->pids[i]});
	m->command = config->counts_all && config->nr_pids ? config->pids[0] : 0;
	m->config.pids = NULL;
	*out = m;
	return 0;
}

static void *read_steadily(void *arg)
{
	struct target_memory *m = arg;

	pthread_mutex_lock(&m->lock);
	while (!m->is_stopping) {
		uint64_t cpu_ns = clock_thread_cpu_ns(), pause_ns = m->config.period_ns, until_ns;

		pthread_mutex_unlock(&m->lock);
		target_memory_read(m);
		target_memory_pass(m);
		cpu_ns = clock_thread_cpu_ns() - cpu_ns;
		if (cpu_ns > pause_ns / CPU_SHARE)
			pause_ns = cpu_ns * CPU_SHARE;
		until_ns = clock_monotonic_ns() + pause_ns;
		pthread_mutex_lock(&m->lock);
		while (!m->is_stopping && !thread_cond_wait(&m->wake, &m->lock, until_ns))
			;
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

int target_memory_start(struct target_memory *m)
{
	const bool is_needed = !m->can_reset || m->config.on_processes;
	int rc = is_needed ? thread_start_blocked(&m->thread, read_steadily, m) : 0;

	m->has_thread = rc == 0 && is_needed;
	return rc;
}

void target_memory_free(struct target_memory *m)
{
	if (!m)
		return;
	if (m->has_thread) {
		pthread_mutex_lock(&m->lock);
		m->is_stopping = true;
		pthread_cond_signal(&m->wake);
		pthread_mutex_unlock(&m->lock);
		pthread_join(m->thread, NULL);
	}
	io_close(&m->peak_fd);
	io_close(&m->current_fd);
	dict_fini(&m->members);
	target_switches_fini(&m->switches);
	dict_fini(&m->hidden);
	buf_fini(&m->hidden_names);
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->reading);
	mem_free(m);
}
