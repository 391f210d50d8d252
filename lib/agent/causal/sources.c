/*
 * What sends threads their signals, in a table: whoever takes one from there closes it, the thread
 * as it ends, or the recorder's call. An event ends by itself when the thread has not handled so
 * many of its signals: too many that are pending make the kernel send SIGIO, which ends the
 * program. How many may be pending is limited for all processes of a user together
 * (RLIMIT_SIGPENDING): where little of that is left a timer sends them, which has its signal
 * beforehand.
 *
 * Threads of a process that runs already are found in /proc. One that blocks the signal is not
 * sampled: nothing but itself could change that. The one that the recorder has call this blocks all
 * meanwhile; what it blocks else the recorder says. It may sleep, and what it runs in these calls
 * must not wake it: so its event is the last one that is opened, and the signals of this time are
 * taken from it.
 */
#include "agent/causal/agent.h"
#include "base/perf_abi.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	INTERVAL_NS = 1000000,
	MAX_FD = 1 << 16,
	MAX_SIGNAL = 64,
	MAX_TID_BYTES = 16,
	STATUS_BYTES = 16384,
	NAMES_BYTES = 4096,
	EVENT_ROOM = 64, /* pending signals, for each event */
};

static struct agent_source sources[AGENT_SOURCES];
static uint32_t nr_sources; /* that were used */
static uint32_t nr_at_work; /* threads that change one */
static int64_t room;        /* for signals that may be pending */

/* Among the upper half of the descriptors that the program may have, of which most stay free. */
static int move_up(int fd)
{
	struct rlimit limit = {0};
	int moved;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > MAX_FD)
		limit.rlim_cur = MAX_FD;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, (int)limit.rlim_cur / 2);
	agent_file_close(fd);
	if (moved < 0 || moved < (int)(limit.rlim_cur / 4 * 3))
		return moved;
	agent_file_close(moved);
	return -1;
}

static void give_room(void)
{
	__atomic_fetch_add(&room, EVENT_ROOM, __ATOMIC_RELAXED);
}

static bool take_room(void)
{
	if (__atomic_sub_fetch(&room, EVENT_ROOM, __ATOMIC_RELAXED) >= 0)
		return true;
	give_room();
	return false;
}

/* Of any thread of this process. */
static bool open_event(struct agent_source *s, pid_t tid)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .sample_period = INTERVAL_NS,
				       .wakeup_events = 1,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	const struct f_owner_ex owner = {F_OWNER_TID, tid};
	const bool has_room = take_room();
	const int opened =
	    has_room ? (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)
		     : -1;
	const int fd = opened < 0 ? -1 : move_up(opened);

	if (fd < 0) {
		if (has_room)
			give_room();
		return false;
	}
	__atomic_store_n(&s->fd, 1 + (uint32_t)fd, __ATOMIC_RELAXED);
	if (fcntl(fd, F_SETSIG, s->signal) == 0 && fcntl(fd, F_SETOWN_EX, &owner) == 0 &&
	    fcntl(fd, F_SETFL, O_RDONLY | O_ASYNC) == 0 &&
	    ioctl(fd, PERF_EVENT_IOC_REFRESH, AGENT_SIGNALS) == 0)
		return true;
	if (__atomic_exchange_n(&s->fd, 0, __ATOMIC_RELAXED)) {
		agent_file_close(fd);
		give_room();
	}
	return false;
}

void agent_source_allow(const struct agent_source *s)
{
	uint32_t fd;

	__atomic_fetch_add(&nr_at_work, 1, __ATOMIC_SEQ_CST);
	fd = __atomic_load_n(&s->fd, __ATOMIC_RELAXED);
	if (fd)
		(void)ioctl((int)fd - 1, PERF_EVENT_IOC_REFRESH, AGENT_SIGNALS);
	__atomic_fetch_sub(&nr_at_work, 1, __ATOMIC_SEQ_CST);
}

static bool make_timer(struct agent_source *s, pid_t tid)
{
	/* as the kernel names the CPU time of a thread */
	const clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6);
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = s->signal};
	const struct itimerspec every = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
	int timer;

	event.sigev_value.sival_int = AGENT_COOKIE;
	event._sigev_un._tid = tid;
	if (syscall(SYS_timer_create, clock, &event, &timer))
		return false;
	__atomic_store_n(&s->timer, 1 + (uint32_t)timer, __ATOMIC_RELAXED);
	return syscall(SYS_timer_settime, timer, 0, &every, NULL) == 0;
}

/* A number that the program has closed, and uses itself, stays open: that has another signal. The
 * event is disabled, as a child may have it, too. */
static void close_source(struct agent_source *s)
{
	const uint32_t fd = __atomic_exchange_n(&s->fd, 0, __ATOMIC_RELAXED);
	const uint32_t timer = __atomic_exchange_n(&s->timer, 0, __ATOMIC_RELAXED);

	if (fd)
		give_room();
	if (fd && fcntl((int)fd - 1, F_GETSIG) == s->signal) {
		(void)ioctl((int)fd - 1, PERF_EVENT_IOC_DISABLE, 0);
		agent_file_close((int)fd - 1);
	}
	if (timer)
		(void)syscall(SYS_timer_delete, (int)timer - 1);
	__atomic_store_n(&s->tid, 0, __ATOMIC_RELEASE);
}

void agent_source_leave(struct agent_source *s)
{
	__atomic_fetch_add(&nr_at_work, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->tid, __ATOMIC_RELAXED) == (uint32_t)syscall(SYS_gettid))
		close_source(s);
	__atomic_fetch_sub(&nr_at_work, 1, __ATOMIC_SEQ_CST);
}

static struct agent_source *take_source(pid_t tid)
{
	for (uint32_t i = 0; i < AGENT_SOURCES; i++) {
		uint32_t none = 0, nr = __atomic_load_n(&nr_sources, __ATOMIC_RELAXED);

		if (!__atomic_compare_exchange_n(&sources[i].tid, &none, (uint32_t)tid, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		while (nr <= i && !__atomic_compare_exchange_n(&nr_sources, &nr, i + 1, false,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return &sources[i];
	}
	return NULL;
}

uint32_t agent_source_number(const struct agent_source *s)
{
	return (uint32_t)(s - sources);
}

struct agent_source *agent_source_find(pid_t tid)
{
	for (uint32_t i = 0; i < nr_sources; i++)
		if (__atomic_load_n(&sources[i].tid, __ATOMIC_ACQUIRE) == (uint32_t)tid)
			return &sources[i];
	return NULL;
}

uint32_t agent_source_next(uint32_t *at)
{
	uint32_t tid = 0;

	while (!tid && *at < nr_sources)
		tid = __atomic_load_n(&sources[(*at)++].tid, __ATOMIC_ACQUIRE);
	return tid;
}

static void count_thread(bool is_sampled)
{
	__atomic_fetch_add(is_sampled ? &agent.shared->nr_threads : &agent.shared->nr_unsampled, 1,
			   __ATOMIC_RELAXED);
}

static bool is_present(uint32_t session)
{
	return session == __atomic_load_n(&agent.session, __ATOMIC_SEQ_CST);
}

static struct agent_source *open_source(pid_t tid, uint32_t session)
{
	const int number = __atomic_load_n(&agent.signal, __ATOMIC_RELAXED);
	struct agent_source *s = number ? take_source(tid) : NULL;
	bool is_open;

	if (s)
		s->signal = number;
	is_open = s && (open_event(s, tid) || make_timer(s, tid));
	count_thread(is_open);
	if (is_open && is_present(session))
		return s;
	if (s)
		close_source(s);
	return NULL;
}

/* Whoever gives the signal back ends the session first, then looks whether one is at work, and then
 * what is pending. */
struct agent_source *agent_source_open(pid_t tid, uint32_t session)
{
	struct agent_source *s = NULL;

	__atomic_fetch_add(&nr_at_work, 1, __ATOMIC_SEQ_CST);
	if (is_present(session))
		s = open_source(tid, session);
	__atomic_fetch_sub(&nr_at_work, 1, __ATOMIC_SEQ_CST);
	return s;
}

void agent_sources_forget(void)
{
	for (uint32_t i = 0; i < nr_sources; i++) {
		const uint32_t fd = sources[i].fd;

		if (fd)
			give_room();
		if (fd && fcntl((int)fd - 1, F_GETSIG) == sources[i].signal)
			agent_file_close((int)fd - 1);
		sources[i] = (struct agent_source){0};
	}
	nr_sources = nr_at_work = 0;
}

/* --- all threads; in the recorder's calls, one at a time */

/* As the kernel writes it. */
struct entry {
	uint64_t inode, offset;
	uint16_t len;
	uint8_t type;
	char name[];
};

static pid_t parse_tid(const char *name)
{
	pid_t tid = 0;

	while (*name >= '0' && *name <= '9')
		tid = tid * 10 + (*name++ - '0');
	return *name ? 0 : tid;
}

/* After the name: 16 digits. Where it is not known, all are set. */
static uint64_t signals_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	uint64_t set = 0;

	if (!at)
		return UINT64_MAX;
	for (at += strlen(name); (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
		set = set << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
	return set;
}

typedef void thread_fn(pid_t tid, const char *status, void *arg);

static void read_status(int dir, const char *name, thread_fn *of, void *arg)
{
	static char status[STATUS_BYTES];
	const pid_t tid = parse_tid(name);
	char path[MAX_TID_BYTES + sizeof("/status")];
	size_t len = 0;
	long bytes;
	int fd;

	if (!tid || strlen(name) > MAX_TID_BYTES)
		return;
	while (name[len])
		path[len] = name[len], len++;
	memcpy(path + len, "/status", sizeof("/status"));
	fd = agent_file_open(dir, path, 0);
	if (fd < 0)
		return;
	bytes = agent_file_read(fd, status, sizeof(status) - 1);
	agent_file_close(fd);
	status[bytes > 0 ? bytes : 0] = '\0';
	of(tid, status, arg);
}

static void each_thread(thread_fn *of, void *arg)
{
	static char names[NAMES_BYTES] __attribute__((aligned(8)));
	const int dir = agent_file_open(AT_FDCWD, "/proc/self/task", O_DIRECTORY);
	long bytes;

	if (dir < 0)
		return;
	while ((bytes = syscall(SYS_getdents64, dir, names, sizeof(names))) > 0)
		for (long at = 0; at < bytes;) {
			const struct entry *e = (const void *)(names + at);

			read_status(dir, e->name, of, arg);
			at += e->len;
		}
	agent_file_close(dir);
}

/* "pending/limit". Where it is not known, none. */
static int64_t room_of(const char *status)
{
	static const char name[] = "\nSigQ:\t";
	const char *at = strstr(status, name);
	uint64_t nr[2] = {0};

	if (!at)
		return 0;
	at += sizeof(name) - 1;
	for (int i = 0; i < 2; i++, at += *at == '/')
		for (; *at >= '0' && *at <= '9'; at++)
			nr[i] = nr[i] * 10 + (uint64_t)(*at - '0');
	nr[1] = nr[1] < INT32_MAX ? nr[1] : INT32_MAX; /* it may be unlimited */
	return nr[0] < nr[1] ? (int64_t)(nr[1] - nr[0]) : 0;
}

static void look_at_signals(pid_t tid, const char *status, void *arg)
{
	const uint64_t blocked = signals_of(status, "\nSigBlk:\t");
	uint32_t *nr = arg;

	(void)tid;
	__atomic_store_n(&room, room_of(status), __ATOMIC_RELAXED);
	for (int number = 1; number <= MAX_SIGNAL; number++)
		nr[number] += blocked >> (number - 1) & 1;
}

static void open_one(pid_t tid, const char *status, void *arg)
{
	const uint64_t blocked = signals_of(status, "\nSigBlk:\t");

	if (tid == *(const pid_t *)arg)
		return;
	if (agent.signal && blocked >> (agent.signal - 1) & 1)
		count_thread(false);
	else if (!agent_source_find(tid))
		(void)agent_source_open(tid, agent.session);
}

void agent_sources_take_signal(void)
{
	uint32_t nr_blocking[MAX_SIGNAL + 1] = {0};

	each_thread(look_at_signals, nr_blocking);
	if (!agent.signal)
		(void)agent_clock_take(nr_blocking);
}

void agent_sources_open(uint64_t blocked)
{
	pid_t caller = (pid_t)syscall(SYS_gettid);

	each_thread(open_one, &caller);
	if (agent.signal && blocked >> (agent.signal - 1) & 1)
		count_thread(false);
	else
		(void)agent_source_open(caller, agent.session);
}

/* Of the thread that the recorder has call this, which blocks all. */
static void take_pending(void)
{
	const uint64_t set = UINT64_C(1) << (agent.signal - 1);
	const struct timespec now = {0, 0};

	while (syscall(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set)) == agent.signal)
		;
}

struct pending {
	uint64_t set;
	uint32_t nr_threads;
};

static void add_pending(pid_t tid, const char *status, void *arg)
{
	struct pending *p = arg;

	(void)tid;
	p->set |= signals_of(status, "\nSigPnd:\t") | signals_of(status, "\nShdPnd:\t");
	p->nr_threads++;
}

void agent_sources_close(void)
{
	struct pending p = {0};

	for (uint32_t i = 0; i < nr_sources; i++)
		close_source(&sources[i]);
	/* who changes one may have it send a signal yet; whoever comes now finds none */
	if (!agent.signal || __atomic_load_n(&nr_at_work, __ATOMIC_SEQ_CST))
		return;
	take_pending();
	each_thread(add_pending, &p);
	if (p.nr_threads && !(p.set >> (agent.signal - 1) & 1))
		agent_clock_give_back();
}
