/*
 * Reads the values of processes from /proc. The files of a process stay open all, or none: an open
 * descriptor shows that its process ended even if the number is in use again; without one the start
 * time shows it. While the CPU clock of a process stands still, what only a running process can
 * change is not read again. process/members.c chooses and names processes.
 */
#include "process/reader.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "proc/keys.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "proc/text.h"
#include "process/task_table.h"
#include "things/file_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BIT(n) (1u << (n))
#define OF_IO  (BIT(PROCESS_READ_BYTES) | BIT(PROCESS_WRITE_BYTES))

enum {
	BY_PATH = INT_MIN, /* in place of a descriptor: opened for each reading */
	TEXT_BYTES = 4096,
	STATUS_BYTES = 1 << 16, /* lists the groups of the user: up to 11 bytes for each */
	PATH_BYTES = PROC_NAME_BYTES,
};
enum { INITIAL_PID_NAMESPACE = 0xeffffffc }; /* the kernel's PROC_PID_INIT_INO: its inode */

/* The files of a process. */
enum file { TASK, FD, SCHEDSTAT, STATM, STATUS, IO, FIRST_IO, STAT, NR_FILES };

static const char *const file_names[NR_FILES] = {
    [TASK] = "task", [FD] = "fd",     [SCHEDSTAT] = "schedstat", [STATM] = "statm",
    [IO] = "io",     [STAT] = "stat", [STATUS] = "status",
};

enum { NR_PARTS = 8 };

struct reader {
	struct file_cache cache;
	uint32_t wanted;           /* bits of fields */
	uint32_t fields[NR_PARTS]; /* the wanted fields that each part reads */
	uint32_t sleeping_fields;  /* fields that do not change while a process sleeps */
	unsigned files;            /* bits of the files that the wanted fields need */
	uint32_t self;
	uint64_t page_bytes, tick_ns;
	bool is_live;        /* the kernel's own /proc, not a captured one */
	bool has_clock;      /* clock_gettime uses the same process numbers */
	bool is_of_machine;  /* has_clock, and these are the numbers of the machine */
	bool has_ticks;      /* each CPU updates the clock of its task 100 times a second or more */
	bool has_fd_size;    /* st_size of fd/ is the number of descriptors: Linux 6.2 */
	bool has_schedstat;  /* the kernel fills it in */
	struct proc_ids ids; /* the last folder listed */
	char status[STATUS_BYTES]; /* the last one read */
};

struct watched {
	uint32_t pid;
	bool is_open;
	int fd[NR_FILES];     /* open; else BY_PATH, or -errno of the open */
	uint64_t start_ticks; /* 0 if is_open, or unknown */
	clockid_t clock;
	uint64_t clock_ns, moved_ns; /* its CPU time; when that value was first read */
	int nr_threads;              /* or -errno */
	struct task first;
	struct task_table others; /* the other threads, and the sum over all that ended */
	bool has_waited;          /* for a child: io has what that used */
	struct task_table io;     /* all threads, since then */
	uint64_t io_before[2];    /* bytes read and written of threads that had ended then */
	uint64_t past_faults;     /* of threads that have ended, at least */
	uint64_t nr_io_missed;    /* how often that grew */
	uint64_t
	    unseen_ns; /* upper bound of the CPU time of threads that ended before they were read */
	uint64_t nr_unseen; /* how often unseen_ns grew */
	bool is_whole;      /* the last reading had no failure */
};

/* ---- files */

static void write_path(char path[PATH_BYTES], uint32_t pid, const char *name)
{
	(void)proc_name(PROC(NULL, pid), name, path, PATH_BYTES);
}

static void write_task_path(char path[PATH_BYTES], uint32_t pid, uint32_t tid, enum file file)
{
	(void)proc_name(PROC(NULL, pid, tid), file_names[file], path, PATH_BYTES);
}

static void write_file_path(char path[PATH_BYTES], uint32_t pid, enum file file)
{
	write_task_path(path, pid, file == FIRST_IO ? pid : 0, file == FIRST_IO ? IO : file);
}

static bool is_denied(int rc)
{
	return rc == -EACCES || rc == -EPERM;
}

/* file_cache_read of one of the process's files. Retries a file that was denied. */
static ssize_t read_file(struct reader *r, struct watched *p, enum file file, char *text,
			 size_t size)
{
	char path[PATH_BYTES] = "";

	if (p->fd[file] < 0)
		write_file_path(path, p->pid, file);
	if (is_denied(p->fd[file]))
		p->fd[file] = file_cache_open(&r->cache, path);
	if (p->fd[file] == -EMFILE)
		p->fd[file] = BY_PATH;
	if (p->fd[file] < 0 && p->fd[file] != BY_PATH)
		return p->fd[file];
	return file_cache_read(&r->cache, p->fd[file], path, text, size);
}

static int stat_file(struct reader *r, const struct watched *p, enum file file, struct stat *st)
{
	char path[PATH_BYTES];

	if (p->fd[file] >= 0)
		return sys()->fstatat(p->fd[file], "", st, AT_EMPTY_PATH);
	write_path(path, p->pid, file_names[file]);
	return sys()->fstatat(r->cache.dir, path, st, 0);
}

/* Lists one of the process's folders into r->ids. */
static int list_folder(struct reader *r, const struct watched *p, enum file file)
{
	IO_AUTO_FD int once = -1;
	char path[PATH_BYTES];
	int fd = p->fd[file], rc;

	if (fd == BY_PATH) {
		write_path(path, p->pid, file_names[file]);
		once = sys()->openat(r->cache.dir, path, O_RDONLY | O_DIRECTORY, 0);
		fd = once;
	}
	rc = fd < 0 ? fd : proc_ids_load(&r->ids, fd);
	/* an open folder of a process that ended */
	return rc == -ENOENT && p->is_open ? -ESRCH : rc;
}

/* 0 (with 0 in *out if it is unknown, as with hidepid=1), -ESRCH or -ENOMEM. */
static int load_start(struct reader *r, uint32_t pid, uint64_t *out)
{
	char path[PATH_BYTES], text[TEXT_BYTES];
	uint64_t start;
	const struct proc_number number = {PROC_STAT_START_TICKS, &start};
	struct proc_stat s;
	ssize_t n;

	write_path(path, pid, file_names[STAT]);
	n = file_cache_read(&r->cache, -1, path, text, sizeof(text));
	if (n == -ENOMEM)
		return -ENOMEM;
	if (n == -ENOENT || n == -ESRCH)
		return -ESRCH;
	*out = n < 0 || proc_stat_parse(text, (size_t)n, &s, &number, 1) ? 0 : start;
	return 0;
}

static int parse_stat(const char *text, ssize_t len, struct proc_stat *out,
		      const struct proc_number *numbers, size_t nr)
{
	return len < 0 ? (int)len : proc_stat_parse(text, (size_t)len, out, numbers, nr);
}

static int parse_io(const char *text, ssize_t len, struct proc_io *out)
{
	return len < 0 ? (int)len : proc_io_parse(text, (size_t)len, out);
}

static void add_io(struct reader *r, uint32_t pid, struct watched *p, struct process_family *out)
{
	char path[PATH_BYTES], text[TEXT_BYTES];
	struct proc_io io;
	ssize_t n;

	write_path(path, pid, file_names[IO]);
	n = p ? read_file(r, p, IO, text, sizeof(text))
	      : file_cache_read(&r->cache, -1, path, text, sizeof(text));
	if (parse_io(text, n, &io))
		return;
	out->has |= OF_IO;
	out->has_own |= OF_IO;
	out->waited[PROCESS_READ_BYTES] = io.read_bytes;
	out->waited[PROCESS_WRITE_BYTES] = io.write_bytes;
}

static int family_of(void *state, uint32_t pid, void *process, struct process_family *out)
{
	struct reader *r = state;
	uint64_t parent, minor, major, user, system;
	const struct proc_number numbers[] = {{PROC_STAT_PARENT, &parent},
					      {PROC_STAT_CHILD_MINOR_FAULTS, &minor},
					      {PROC_STAT_CHILD_MAJOR_FAULTS, &major},
					      {PROC_STAT_CHILD_USER_TICKS, &user},
					      {PROC_STAT_CHILD_SYSTEM_TICKS, &system}};
	char path[PATH_BYTES], text[TEXT_BYTES];
	struct proc_stat s;
	int rc;

	write_path(path, pid, file_names[STAT]);
	rc = parse_stat(text, file_cache_read(&r->cache, -1, path, text, sizeof(text)), &s, numbers,
			ARRAY_NR(numbers));
	if (rc)
		return rc;
	*out = (struct process_family){
	    .parent = (uint32_t)parent,
	    .is_zombie = proc_stat_has_ended(&s),
	    .has = BIT(PROCESS_CPU_TIME) | BIT(PROCESS_MINOR_FAULTS) | BIT(PROCESS_MAJOR_FAULTS) |
		   BIT(PROCESS_FAULTS),
	    .waited = {[PROCESS_CPU_TIME] = (user + system) * r->tick_ns,
		       [PROCESS_MINOR_FAULTS] = minor,
		       [PROCESS_MAJOR_FAULTS] = major,
		       [PROCESS_FAULTS] = minor + major},
	};
	if (r->wanted & OF_IO)
		add_io(r, pid, process, out);
	return 0;
}

static uint32_t parent_of(void *state, uint32_t pid)
{
	struct process_family f = {0};

	return family_of(state, pid, NULL, &f) ? 0 : f.parent;
}

static void close_files(struct reader *r, struct watched *p)
{
	for (int i = 0; i < NR_FILES; i++) {
		file_cache_close(&r->cache, &p->fd[i]);
		p->fd[i] = BY_PATH;
	}
	p->is_open = false;
}

/* Opens the files that are needed. 0; -EMFILE: they are opened for each reading; -ESRCH; -ENOMEM.
 */
static int open_files(struct reader *r, struct watched *p)
{
	char path[PATH_BYTES];
	struct stat st;
	int rc = 0;

	if (!file_cache_has_room(&r->cache, (size_t)__builtin_popcount(r->files)))
		return -EMFILE;
	for (int i = 0; i < NR_FILES && rc != -EMFILE && rc != -ENOMEM; i++) {
		write_file_path(path, p->pid, (enum file)i);
		if (r->files & BIT(i))
			rc = p->fd[i] = file_cache_open(&r->cache, path);
	}
	write_path(path, p->pid, "");
	if (rc != -EMFILE && rc != -ENOMEM)
		rc = sys()->fstatat(r->cache.dir, path, &st, 0) == -ENOENT ? -ESRCH : 0;
	p->is_open = rc == 0;
	if (rc)
		close_files(r, p);
	return rc;
}

/* ---- values */

static void set(struct process_values *out, enum process_field field, uint64_t value)
{
	out->of[field] = value;
	out->has |= BIT(field);
}

/* The kernel's thread_group_cputime(): includes threads that ended. */
static int get_clock(struct reader *r, struct watched *p, struct process_values *out)
{
	(void)r;
	set(out, PROCESS_CPU_TIME, p->clock_ns);
	return 0;
}

static int get_fds(struct reader *r, struct watched *p, struct process_values *out)
{
	struct stat st;
	int rc;

	if (r->has_fd_size && stat_file(r, p, FD, &st) == 0) {
		set(out, PROCESS_FDS, (uint64_t)st.st_size);
		return 0;
	}
	rc = list_folder(r, p, FD);
	if (rc == 0)
		set(out, PROCESS_FDS, r->ids.nr);
	return rc;
}

/* The number of threads, or -errno. task/ has two links and one for each thread; of a process that
 * ended it has two. */
static int count_threads(struct reader *r, struct watched *p)
{
	struct stat st;
	int rc;

	if (!r->is_live) {
		rc = list_folder(r, p, TASK);
		return rc ? rc : (int)r->ids.nr;
	}
	rc = stat_file(r, p, TASK, &st);
	if (rc)
		return rc;
	return st.st_nlink <= 2 ? -ESRCH : (int)(st.st_nlink - 2);
}

static int get_threads(struct reader *r, struct watched *p, struct process_values *out)
{
	p->nr_threads = count_threads(r, p);
	if (p->nr_threads < 0)
		return p->nr_threads;
	set(out, PROCESS_THREADS, (uint64_t)p->nr_threads);
	return 0;
}

static int set_times(struct watched *p, struct task *task, const char *text, ssize_t len)
{
	struct proc_schedstat s;
	int rc = len < 0 ? (int)len : proc_schedstat_parse(text, (size_t)len, &s);

	if (rc == 0)
		task_table_set(&p->others, task, &(struct task_times){s.cpu_ns, s.delay_ns});
	return rc;
}

static void close_task(struct task *task, void *arg)
{
	struct reader *r = arg;

	file_cache_close(&r->cache, &task->fd);
}

/* Reads one of the other threads, or removes it and sets *has_ended. */
static int read_task(struct reader *r, struct watched *p, struct task *task, bool *has_ended)
{
	char path[PATH_BYTES] = "", text[TEXT_BYTES];
	int rc;

	if (task->fd < 0)
		write_task_path(path, p->pid, task->tid, SCHEDSTAT);
	if (task->fd == -1)
		task->fd = file_cache_open(&r->cache, path);
	rc = set_times(p, task, text,
		       file_cache_read(&r->cache, task->fd, path, text, sizeof(text)));
	if (rc != -ESRCH && rc != -ENOENT)
		return rc;
	task_table_end(&p->others, task);
	close_task(task, r);
	*has_ended = true;
	return 0;
}

/* Lists the threads but the first, and reads those that are new. */
static int find_tasks(struct reader *r, struct watched *p)
{
	int rc = list_folder(r, p, TASK);
	bool has_ended; /* ignored: the next reading finds it again */
	size_t nr = 0;

	for (size_t i = 0; i < r->ids.nr; i++)
		if (r->ids.list[i] != p->pid)
			r->ids.list[nr++] = r->ids.list[i];
	r->ids.nr = nr;
	if (rc == 0)
		rc = task_table_sync(&p->others, r->ids.list, nr, close_task, r);
	for (size_t i = 0; i < p->others.nr && rc == 0; i++)
		if (p->others.list[i].fd == -1) /* new */
			rc = read_task(r, p, &p->others.list[i], &has_ended);
	return rc;
}

/* If the number of threads is the same and none ended, they are the same threads. */
static int read_times(struct reader *r, struct watched *p)
{
	bool is_changed = p->nr_threads - 1 != (int)p->others.nr;
	char text[TEXT_BYTES];
	int rc =
	    (p->nr_threads < 0 ? p->nr_threads : 0)
		?: set_times(p, &p->first, text, read_file(r, p, SCHEDSTAT, text, sizeof(text)));

	for (size_t i = 0; i < p->others.nr && rc == 0; i++)
		rc = read_task(r, p, &p->others.list[i], &is_changed);
	return rc == 0 && is_changed ? find_tasks(r, p) : rc;
}

/* The kernel's encoding (include/linux/posix-timers.h). clock_getcpuclockid makes a system call to
 * check that the process exists. */
static clockid_t clock_of(uint32_t pid)
{
	enum { CPUCLOCK_SCHED = 2 };

	return (clockid_t)(~pid << 3 | CPUCLOCK_SCHED);
}

static uint64_t to_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static uint64_t cpu_time_of(const void *state, uint32_t pid)
{
	const struct reader *r = state;
	struct timespec t;

	return r->has_clock && clock_gettime(clock_of(pid), &t) == 0 ? to_ns(&t) : 0;
}

/*
 * Counts threads that started and ended unread: the process's clock includes their CPU time, the
 * sum over the threads read does not. The sum is read between two readings of the clock, so the
 * difference lies between least_ns and most_ns.
 */
static void find_unseen(struct reader *r, struct watched *p, uint64_t seen_ns)
{
	uint64_t after_ns = cpu_time_of(r, p->pid);
	uint64_t least_ns = p->clock_ns > seen_ns ? p->clock_ns - seen_ns : 0;
	uint64_t most_ns = after_ns > seen_ns ? after_ns - seen_ns : 0;

	if (least_ns > p->unseen_ns) {
		p->nr_unseen++;
		p->unseen_ns = most_ns > least_ns ? most_ns : least_ns;
	} else if (most_ns < p->unseen_ns) {
		p->unseen_ns = most_ns;
	}
}

static int get_times(struct reader *r, struct watched *p, struct process_values *out)
{
	int rc = r->has_schedstat ? read_times(r, p) : -ENOENT;
	struct task_times sum;

	if (rc)
		return rc;
	task_table_sum(&p->others, &sum);
	out->missed = BIT(PROCESS_RUN_DELAY);
	if (!r->has_clock) {
		set(out, PROCESS_CPU_TIME, sum.cpu_ns + p->first.last.cpu_ns);
		out->trouble[PROCESS_PARTIAL] |= BIT(PROCESS_CPU_TIME) & r->wanted;
		out->missed |= BIT(PROCESS_CPU_TIME);
	}
	set(out, PROCESS_RUN_DELAY, sum.delay_ns + p->first.last.delay_ns);
	find_unseen(r, p, sum.cpu_ns + p->first.last.cpu_ns);
	out->nr_missed = p->nr_unseen + p->others.nr_ended;
	for (size_t i = 0; i < p->others.nr; i++)
		out->is_reopened |= p->others.list[i].fd == -EMFILE;
	return 0;
}

static int get_memory(struct reader *r, struct watched *p, struct process_values *out)
{
	char text[TEXT_BYTES];
	ssize_t n = read_file(r, p, STATM, text, sizeof(text));
	struct proc_statm m;
	int rc = n < 0 ? (int)n : proc_statm_parse(text, (size_t)n, &m);

	if (rc)
		return rc;
	if (__builtin_mul_overflow(m.size, r->page_bytes, &m.size) ||
	    __builtin_mul_overflow(m.resident, r->page_bytes, &m.resident) ||
	    __builtin_mul_overflow(m.shared, r->page_bytes, &m.shared))
		return -ERANGE;
	set(out, PROCESS_VMS, m.size);
	set(out, PROCESS_RSS, m.resident);
	set(out, PROCESS_SHARED, m.shared);
	return 0;
}

static int get_peak(struct reader *r, struct watched *p, struct process_values *out)
{
	ssize_t n = read_file(r, p, STATUS, r->status, sizeof(r->status));
	uint64_t state = 0, peak = 0;
	struct proc_key keys[] = {{"State", &state, .kind = PROC_LETTER},
				  {"VmHWM", &peak, .kind = PROC_KIB}};
	int rc = n < 0 ? (int)n : proc_keys_parse(r->status, (size_t)n, keys, ARRAY_NR(keys));

	if (rc || state == 'Z' || state == 'X') /* it has no memory any more */
		return rc;
	if (__builtin_mul_overflow(peak, 1024u, &peak))
		return -ERANGE;
	set(out, PROCESS_PEAK_RSS, peak);
	return 0;
}

/* Each child has faults. */
static int find_waited(struct reader *r, struct watched *p)
{
	char text[TEXT_BYTES];
	uint64_t faults;
	const struct proc_number number = {PROC_STAT_CHILD_MINOR_FAULTS, &faults};
	struct proc_stat s;
	int rc = parse_stat(text, read_file(r, p, STAT, text, sizeof(text)), &s, &number, 1);

	p->has_waited |= rc == 0 && faults;
	return rc;
}

static void drop_task(struct task *task, void *arg)
{
	(void)task;
	(void)arg;
}

/* The file of the first thread is open: of a process that has ended nobody may open it. */
static int read_io_of_task(struct reader *r, struct watched *p, uint32_t tid, struct proc_io *out)
{
	char path[PATH_BYTES], text[TEXT_BYTES];

	if (tid == p->pid)
		return parse_io(text, read_file(r, p, FIRST_IO, text, sizeof(text)), out);
	write_task_path(path, p->pid, tid, IO);
	return parse_io(text, file_cache_read(&r->cache, -1, path, text, sizeof(text)), out);
}

static bool add_faults(const char *text, ssize_t len, uint64_t *sum)
{
	uint64_t faults;
	const struct proc_number number = {PROC_STAT_MINOR_FAULTS, &faults};
	struct proc_stat s;

	if (parse_stat(text, len, &s, &number, 1))
		return false;
	*sum += faults;
	return true;
}

/* Each thread has faults: those of the process, without those of the threads that are there. */
static void find_past_faults(struct reader *r, struct watched *p)
{
	char path[PATH_BYTES], text[TEXT_BYTES];
	uint64_t all = 0, here = 0;
	bool is_known = add_faults(text, read_file(r, p, STAT, text, sizeof(text)), &all);

	for (size_t i = 0; i < p->io.nr && is_known; i++) {
		write_task_path(path, p->pid, p->io.list[i].tid, STAT);
		is_known = add_faults(
		    text, file_cache_read(&r->cache, -1, path, text, sizeof(text)), &here);
	}
	if (is_known && all > here && all - here > p->past_faults) {
		p->past_faults = all - here;
		p->nr_io_missed++;
	}
}

/* Of each thread that is there. */
static int read_io_of_tasks(struct reader *r, struct watched *p)
{
	int rc = list_folder(r, p, TASK)
		     ?: task_table_sync(&p->io, r->ids.list, r->ids.nr, drop_task, NULL);

	for (size_t i = 0; i < p->io.nr && rc == 0; i++) {
		struct proc_io io;

		rc = read_io_of_task(r, p, p->io.list[i].tid, &io);
		if (rc == 0)
			task_table_set(&p->io, &p->io.list[i],
				       &(struct task_times){.read_bytes = io.read_bytes,
							    .write_bytes = io.write_bytes});
		else if (rc == -ENOENT || rc == -ESRCH) /* the next reading finds its end */
			rc = 0;
	}
	return rc;
}

static uint64_t beyond(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* The kernel adds what a child used to the process that has waited for it, with what threads used
 * that ended: from the first child on threads are read. */
static int get_io_of_tasks(struct reader *r, struct watched *p, struct process_values *out)
{
	bool is_first = !p->io.list;
	struct task_times sum;
	int rc = read_io_of_tasks(r, p);

	if (rc)
		return rc;
	task_table_sum(&p->io, &sum);
	if (is_first) {
		p->io_before[0] = beyond(out->of[PROCESS_READ_BYTES], sum.read_bytes);
		p->io_before[1] = beyond(out->of[PROCESS_WRITE_BYTES], sum.write_bytes);
	}
	set(out, PROCESS_READ_BYTES, p->io_before[0] + sum.read_bytes);
	set(out, PROCESS_WRITE_BYTES, p->io_before[1] + sum.write_bytes);
	find_past_faults(r, p);
	out->missed |= OF_IO;
	if (out->nr_missed < p->nr_io_missed)
		out->nr_missed = p->nr_io_missed;
	return 0;
}

/* Whether it has waited for a child is read after its bytes: these are its own then. */
static int get_io(struct reader *r, struct watched *p, struct process_values *out)
{
	char text[TEXT_BYTES];
	struct proc_io io;
	int rc = 0;

	if (!p->has_waited)
		rc = parse_io(text, read_file(r, p, IO, text, sizeof(text)), &io)
			 ?: find_waited(r, p);
	if (rc)
		return rc;
	if (p->has_waited)
		return get_io_of_tasks(r, p, out);
	set(out, PROCESS_READ_BYTES, io.read_bytes);
	set(out, PROCESS_WRITE_BYTES, io.write_bytes);
	return 0;
}

static int get_faults(struct reader *r, struct watched *p, struct process_values *out)
{
	char text[TEXT_BYTES];
	uint64_t minor, major;
	const struct proc_number numbers[] = {{PROC_STAT_MINOR_FAULTS, &minor},
					      {PROC_STAT_MAJOR_FAULTS, &major}};
	struct proc_stat s;
	int rc = parse_stat(text, read_file(r, p, STAT, text, sizeof(text)), &s, numbers,
			    ARRAY_NR(numbers));

	if (rc)
		return rc;
	set(out, PROCESS_MINOR_FAULTS, minor);
	set(out, PROCESS_MAJOR_FAULTS, major);
	set(out, PROCESS_FAULTS, minor + major);
	return 0;
}

/*
 * Parts that may be read by path come first: an open file read after them proves that the process
 * was the same. changes_asleep: others can reclaim its memory, or share its descriptors.
 */
static const struct part {
	uint32_t fields;
	unsigned files;
	int (*get)(struct reader *r, struct watched *p, struct process_values *out);
	bool changes_asleep;
} parts[NR_PARTS] = {
    {BIT(PROCESS_CPU_TIME), 0, get_clock, true},
    {BIT(PROCESS_FDS), BIT(FD), get_fds, true},
    {BIT(PROCESS_THREADS), BIT(TASK), get_threads},
    {BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY), BIT(TASK) | BIT(SCHEDSTAT), get_times},
    {BIT(PROCESS_RSS) | BIT(PROCESS_VMS) | BIT(PROCESS_SHARED), BIT(STATM), get_memory, true},
    {BIT(PROCESS_PEAK_RSS), BIT(STATUS), get_peak},
    {OF_IO, BIT(TASK) | BIT(IO) | BIT(FIRST_IO) | BIT(STAT), get_io},
    {BIT(PROCESS_MINOR_FAULTS) | BIT(PROCESS_MAJOR_FAULTS) | BIT(PROCESS_FAULTS), BIT(STAT),
     get_faults},
};

/* ---- the reader */

/* CPU time is read from the clock, or summed over the threads. */
static void choose_parts(struct reader *r)
{
	for (size_t i = 0; i < NR_PARTS; i++) {
		r->fields[i] = parts[i].fields & r->wanted;
		if ((parts[i].get == get_clock) != r->has_clock)
			r->fields[i] &= ~BIT(PROCESS_CPU_TIME);
		if (r->fields[i])
			r->files |= parts[i].files;
		if (!parts[i].changes_asleep)
			r->sleeping_fields |= r->fields[i];
	}
	if (!(r->files & BIT(STATM)))
		r->files |= BIT(TASK); /* shows the end of the process, and is readable for all */
}

/* A kernel that does not account for waiting (no CONFIG_SCHEDSTATS, delayacct=off) writes zeros,
 * also for this process, which did run. */
static bool has_schedstat(const struct reader *r)
{
	char text[TEXT_BYTES];
	struct proc_schedstat s;
	ssize_t n = file_cache_read(&r->cache, -1, "self/schedstat", text, sizeof(text));

	return n < 0 || proc_schedstat_parse(text, (size_t)n, &s) || s.nr_runs;
}

/* CPUs in nohz_full may skip ticks for a second. "(null)" is an empty list. */
static bool has_ticks(const struct root *root)
{
	char cpus[64];
	int rc = root_load_line(root, "/sys/devices/system/cpu/nohz_full", cpus, sizeof(cpus));

	return rc == -ENOENT || (rc == 0 && (!cpus[0] || strcmp(cpus, "(null)") == 0));
}

static void detect_machine(struct reader *r, const struct root *root)
{
	uint64_t self = 0, ids[PROC_MAX_NAMESPACES];
	struct proc_key keys[] = {{"Pid", &self}, {"NSpid", ids, PROC_MAX_NAMESPACES}};
	struct stat st;

	if (proc_keys_load(PROC_SELF(root), "status", keys, ARRAY_NR(keys)) == 0 &&
	    self <= INT32_MAX)
		r->self = (uint32_t)self;
	r->is_live = !root->dir[0];
	r->has_clock = r->is_live && r->self == (uint32_t)getpid() && keys[1].nr <= 1;
	r->is_of_machine = r->has_clock &&
			   sys()->fstatat(r->cache.dir, "self/ns/pid", &st, 0) == 0 &&
			   st.st_ino == INITIAL_PID_NAMESPACE;
	r->has_fd_size =
	    r->is_live && sys()->fstatat(r->cache.dir, "self/fd", &st, 0) == 0 && st.st_size > 0;
	r->has_schedstat = has_schedstat(r);
	r->has_ticks = has_ticks(root);
	r->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	r->tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
}

static int open_all(const struct root *root, uint32_t wanted, void **state)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	int rc = r ? file_cache_init(&r->cache, root, "/proc") : -ENOMEM;

	if (rc) {
		mem_free(r);
		return rc;
	}
	r->wanted = wanted;
	detect_machine(r, root);
	choose_parts(r);
	*state = r;
	return 0;
}

static void close_all(void *state)
{
	struct reader *r = state;

	file_cache_fini(&r->cache);
	proc_ids_fini(&r->ids);
	mem_free(r);
}

static uint32_t self_of(const void *state)
{
	const struct reader *r = state;

	return r->self;
}

static bool is_of_machine(const void *state)
{
	const struct reader *r = state;

	return r->is_of_machine;
}

static int list_all(void *state, struct proc_ids *out)
{
	const struct reader *r = state;

	return proc_ids_load(out, r->cache.dir);
}

static int command_of(void *state, uint32_t pid, char out[PROCESS_COMMAND_BYTES])
{
	const struct reader *r = state;
	char path[PATH_BYTES], text[TEXT_BYTES];
	ssize_t n;

	write_path(path, pid, "comm");
	n = file_cache_read(&r->cache, -1, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (n && text[n - 1] == '\n')
		text[n - 1] = '\0';
	snprintf(out, PROCESS_COMMAND_BYTES, "%.*s", PROCESS_COMMAND_BYTES - 1, text);
	return 0;
}

static void detach_process(void *state, void *process)
{
	struct reader *r = state;
	struct watched *p = process;

	close_files(r, p);
	for (size_t i = 0; i < p->others.nr; i++)
		close_task(&p->others.list[i], r);
	task_table_fini(&p->others);
	task_table_fini(&p->io);
	mem_free(p);
}

static int attach_process(void *state, uint32_t pid, void **process)
{
	struct watched *p = mem_zalloc(sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->clock = clock_of(pid);
	for (int i = 0; i < NR_FILES; i++)
		p->fd[i] = BY_PATH;
	rc = open_files(state, p);
	if (rc == -EMFILE)
		rc = load_start(state, pid, &p->start_ticks);
	if (rc)
		detach_process(state, p);
	else
		*process = p;
	return rc;
}

/* 0, -ESRCH or -ENOMEM. */
static int read_part(struct reader *r, struct watched *p, size_t i, struct process_values *out)
{
	enum process_trouble kind;
	int rc;

	/* get_times needs the number of threads, which also shows the end of the process */
	if (!r->fields[i] && !(parts[i].get == get_threads && r->files & BIT(TASK)))
		return 0;
	rc = parts[i].get(r, p, out);
	if (rc == 0 || rc == -ESRCH || rc == -ENOMEM)
		return rc;
	kind = is_denied(rc) ? PROCESS_DENIED : rc == -ENOENT ? PROCESS_ABSENT : PROCESS_FAILED;
	out->trouble[kind] |= r->fields[i];
	if (kind == PROCESS_FAILED)
		out->error = rc;
	return 0;
}

static int read_parts(struct reader *r, struct watched *p, bool is_asleep,
		      struct process_values *out)
{
	uint32_t unchanged = is_asleep ? r->sleeping_fields : 0;
	int rc = 0;

	out->has &= unchanged;
	for (int t = 0; t < PROCESS_NR_TROUBLES; t++)
		out->trouble[t] &= unchanged;
	for (size_t i = 0; i < NR_PARTS && rc == 0; i++)
		if (!is_asleep || parts[i].changes_asleep)
			rc = read_part(r, p, i, out);
	if (rc == 0 && is_asleep && !(r->files & BIT(STATM)) && count_threads(r, p) == -ESRCH)
		rc = -ESRCH;
	out->has &= r->wanted;
	return rc;
}

/* A clock that goes back belongs to another process; reading the files shows it. */
static int read_clock(const struct reader *r, struct watched *p, uint64_t now_ns)
{
	struct timespec t;
	uint64_t ns;

	if (!r->has_clock)
		return 0;
	if (clock_gettime(p->clock, &t))
		return -ESRCH;
	ns = to_ns(&t);
	if (ns > p->clock_ns || !p->moved_ns) {
		p->clock_ns = ns;
		p->moved_ns = now_ns;
	}
	return 0;
}

/*
 * The clock of a running process moves with each tick and when it stops. If it has not moved for
 * two of the longest ticks, the process was not running at the last reading, and has run since for
 * the last tick at most; the next reading shows that.
 */
static bool is_asleep(const struct reader *r, const struct watched *p, uint64_t now_ns)
{
	enum { TICKS_NS = 20000000 };

	return r->has_clock && r->has_ticks && p->is_whole && now_ns - p->moved_ns >= TICKS_NS;
}

static int read_process(void *state, void *process, struct process_values *values)
{
	struct watched *p = process;
	bool was_open = p->is_open;
	uint64_t start;
	int rc;

	values->time_ns = clock_monotonic_ns();
	rc = was_open ? 0 : open_files(state, p);
	values->is_reopened = rc == -EMFILE;
	if (rc == -EMFILE)
		rc = 0;
	rc = rc
			   ?: read_clock(state, p, values->time_ns)
			   ?: read_parts(state, p, is_asleep(state, p, values->time_ns), values);
	if (rc == 0 && !was_open)
		rc = load_start(state, p->pid, &start);
	if (rc == 0 && !was_open && start && p->start_ticks && start != p->start_ticks)
		rc = -ESRCH; /* another process has the number */
	values->clock_ns = p->clock_ns;
	p->is_whole = rc == 0 && !values->trouble[PROCESS_FAILED];
	return rc;
}

const struct process_reader process_proc_reader = {
    .open = open_all,
    .close = close_all,
    .self = self_of,
    .is_of_machine = is_of_machine,
    .list = list_all,
    .command = command_of,
    .parent = parent_of,
    .family = family_of,
    .clock = cpu_time_of,
    .attach = attach_process,
    .detach = detach_process,
    .read = read_process,
};
