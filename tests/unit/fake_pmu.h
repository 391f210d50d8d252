/*
 * A kernel side of perf_event_open for tests: CPUs that go offline, groups with room for so many
 * hardware events, multiplexing, groups that never run, rings with samples, limits and refusals. It
 * counts its calls and what is open, and fails the nth call if told to. Only for tests; knows
 * pmu/ops.h alone.
 */
#ifndef TEST_FAKE_PMU_H
#define TEST_FAKE_PMU_H

#include "kit.h"

#include "pmu/ops.h"

#include <linux/perf_event.h>
#include <time.h>

enum {
	FAKE_MAX_EVENTS = 4096,
	FAKE_MAX_CPUS = 8,
	FAKE_FIRST_FD = 100000, /* so that a real close or read of it cannot hit anything */
	FAKE_MAX_CONFIG = 16,
	FAKE_MAX_RINGS = 64,
	FAKE_FIRST_ID = 7000, /* an event's id is that and its index */
};

/* A ring as perf_mmap() makes it; one page of head and tail, then the data. */
struct fake_ring {
	uint8_t *base; /* owned; NULL: free */
	size_t len;
	int event;     /* index of its owner */
	uint64_t lost; /* records that found no room and are not told yet */
	bool is_overwritten, is_paused;
};

struct fake_event {
	struct perf_event_attr attr;
	int ring; /* index; -1: none */
	uint64_t nr_lost;
	bool is_open, is_counting, is_detached, is_in_error;
	int cpu, leader; /* index */
	uint32_t type;
	uint64_t config, raw, since_ns, enabled_ns, running_ns; /* times: up to since_ns */
};

static struct fake_pmu {
	/* what it is */
	unsigned capacity;       /* hardware events in one group */
	unsigned max_open;       /* descriptors; more: EMFILE */
	unsigned running_pct;    /* of the time enabled in which a group runs */
	bool stuck;              /* from now on, groups of several events do not run */
	bool no_room_for_pinned; /* pinned events that are read or enabled go to the error state */
	bool offline[FAKE_MAX_CPUS];
	int refusal[2][FAKE_MAX_CONFIG]; /* by type and config: -errno of open */
	unsigned nr_eintr;               /* so many reads are interrupted */
	unsigned nr_torn;                /* so many reads of groups of several are refused */
	uint64_t max_ring_bytes;         /* of data; more: EPERM */
	int side_band_refusals;          /* so many side-band events say EINVAL */
	unsigned samples_per_read;       /* that an event writes when its group is read */
	unsigned samples_per_enable;     /* and when it is enabled */
	bool no_format_lost;             /* a kernel before 6.0 */
	bool has_tasks;                  /* events may be of tasks, on any CPU */
	bool is_attached;                /* events are enabled when they are opened */
	unsigned fail_call; /* this call (from 1) fails once with fail_error; 0: none */
	int fail_error;
	bool fail_fired;
	/* what happened */
	unsigned nr_calls, nr_opens, nr_reads, nr_enables, nr_pauses, nr_live, max_live;
	unsigned nr_wrong;            /* calls that the program should not make */
	unsigned nr_orphans;          /* leaders closed before their siblings */
	unsigned nr_events, nr_rings; /* rings: open ones */
	struct fake_event events[FAKE_MAX_EVENTS];
	struct fake_ring rings[FAKE_MAX_RINGS];
} fake;

static inline uint64_t fake_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline bool fake_fails(void)
{
	if (++fake.nr_calls != fake.fail_call)
		return false;
	fake.fail_fired = true;
	return true;
}

static inline struct fake_event *fake_of(int fd)
{
	int i = fd - FAKE_FIRST_FD;

	if (i >= 0 && i < (int)fake.nr_events && fake.events[i].is_open)
		return &fake.events[i];
	fake.nr_wrong++;
	return NULL;
}

static inline bool fake_is_member(const struct fake_event *e, int leader)
{
	return e->is_open && e->leader == leader && !e->is_detached;
}

static inline unsigned fake_members(int leader, bool hardware_only)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < fake.nr_events; i++)
		nr += fake_is_member(&fake.events[i], leader) &&
		      (!hardware_only || fake.events[i].type != PERF_TYPE_SOFTWARE);
	return nr;
}

/* As sys_perf_event_open() checks: permission and support, the CPU, the group, the descriptor. */
static inline int fake_check_open(const struct perf_event_attr *a, int cpu, int leader)
{
	int rc = a->type < 2 && a->config < FAKE_MAX_CONFIG ? fake.refusal[a->type][a->config] : 0;

	if (rc)
		return rc;
	if (cpu < 0 ? !fake.has_tasks : cpu >= FAKE_MAX_CPUS || fake.offline[cpu])
		return -ENODEV;
	if (leader >= 0 && (fake.events[leader].cpu != cpu || fake.events[leader].is_detached))
		return -EINVAL;
	if (leader >= 0 && fake.events[leader].attr.use_clockid != a->use_clockid)
		return -EINVAL; /* one clock in a group */
	if (leader >= 0 && a->type != PERF_TYPE_SOFTWARE &&
	    fake_members(leader, true) >= fake.capacity)
		return -EINVAL;
	return fake.nr_live >= fake.max_open ? -EMFILE : 0;
}

#define FAKE_FORMAT_LOST (1u << 4)

static inline bool fake_is_side_band(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY;
}

static inline bool fake_is_sampled(const struct fake_event *e)
{
	return e->attr.sample_period > 0;
}

static inline int fake_open(struct perf_event_attr *a, pid_t pid, int cpu, int group_fd,
			    unsigned long flags)
{
	const uint64_t format =
	    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	int leader = group_fd < 0 ? -1 : group_fd - FAKE_FIRST_FD, rc;
	bool is_probe = fake_is_side_band(a) && pid == 0; /* of FORMAT_LOST */

	fake.nr_opens++;
	if (fake_fails())
		return fake.fail_error;
	if (is_probe) {
		pid = -1;
		cpu = 0;
		if (fake.no_format_lost)
			return -EINVAL;
	}
	if (fake_is_side_band(a) && !is_probe && fake.side_band_refusals-- > 0)
		return -EINVAL;
	if ((pid != -1 && !fake.has_tasks) || flags ||
	    (!fake_is_side_band(a) && ((a->read_format & ~FAKE_FORMAT_LOST) != format ||
				       a->disabled != (group_fd < 0 && !fake.is_attached))) ||
	    (group_fd >= 0 && !fake_of(group_fd)) || fake.nr_events == FAKE_MAX_EVENTS)
		fake.nr_wrong++;
	if (fake.no_format_lost && a->read_format & FAKE_FORMAT_LOST)
		return -EINVAL;
	rc = fake_check_open(a, cpu, leader);
	if (rc)
		return rc;
	fake.events[fake.nr_events] =
	    (struct fake_event){.is_open = true,
				.attr = *a,
				.ring = -1,
				.cpu = cpu,
				.leader = leader < 0 ? (int)fake.nr_events : leader,
				.type = a->type,
				.config = a->config};
	if (++fake.nr_live > fake.max_live)
		fake.max_live = fake.nr_live;
	return FAKE_FIRST_FD + (int)fake.nr_events++;
}

/* What happened meanwhile: time passes, and each event counts a little more than the last one. */
static inline void fake_advance(struct fake_event *e)
{
	uint64_t now_ns = fake_now_ns();
	bool is_stuck = fake.stuck && !e->is_detached && fake_members(e->leader, false) > 1;

	if (!e->is_counting)
		return;
	e->raw += 1 + (uint64_t)(e - fake.events) + now_ns % 1000;
	e->enabled_ns += now_ns - e->since_ns;
	if (!is_stuck)
		e->running_ns += (now_ns - e->since_ns) * fake.running_pct / 100;
	e->since_ns = now_ns;
}

static inline struct perf_event_mmap_page *fake_page(const struct fake_ring *r)
{
	return (struct perf_event_mmap_page *)r->base;
}

/* Puts whole words into the ring, over its end if need be. False: no room. */
static inline bool fake_put(struct fake_ring *r, const uint64_t *words, size_t nr)
{
	struct perf_event_mmap_page *page = fake_page(r);
	uint64_t mask = r->len - 4096 - 1, head = page->data_head;

	if (r->is_paused)
		return false;
	if (r->is_overwritten) {
		head -= nr * 8;
		for (size_t i = 0; i < nr; i++)
			memcpy(r->base + 4096 + ((head + i * 8) & mask), &words[i], 8);
		__atomic_store_n(&page->data_head, head, __ATOMIC_RELEASE);
		return true;
	}
	if (head + nr * 8 - __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) > mask + 1)
		return false;
	for (size_t i = 0; i < nr; i++, head += 8)
		memcpy(r->base + 4096 + (head & mask), &words[i], 8);
	__atomic_store_n(&page->data_head, head, __ATOMIC_RELEASE);
	return true;
}

static inline uint64_t fake_header(uint32_t type, uint16_t misc, size_t nr_words)
{
	return type | (uint64_t)misc << 32 | (uint64_t)(nr_words * 8) << 48;
}

static inline uint64_t fake_id(const struct fake_event *e)
{
	return FAKE_FIRST_ID + (uint64_t)(e - fake.events);
}

/* The words of a sample that the attr asks for, in the kernel's order; only what is one word. */
static inline size_t fake_sample_words(const struct fake_event *e, uint32_t pid, uint64_t time_ns,
				       uint64_t *words)
{
	const uint64_t type = e->attr.sample_type;
	size_t nr = 1;

	if (type & PERF_SAMPLE_IDENTIFIER)
		words[nr++] = fake_id(e);
	if (type & PERF_SAMPLE_IP)
		words[nr++] = 0x401000;
	if (type & PERF_SAMPLE_TID)
		words[nr++] = (uint64_t)pid << 32 | pid;
	if (type & PERF_SAMPLE_TIME)
		words[nr++] = time_ns;
	if (type & PERF_SAMPLE_PERIOD)
		words[nr++] = 500;
	words[0] = fake_header(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, nr);
	return nr;
}

/* LOST goes before the next record that finds room. */
static inline void fake_tell_lost(struct fake_event *e, struct fake_ring *r)
{
	uint64_t words[6] = {0, fake_id(e), r->lost, 0, fake_now_ns(), fake_id(e)};
	size_t nr = e->attr.sample_type & PERF_SAMPLE_IDENTIFIER ? 6 : 5;

	words[0] = fake_header(PERF_RECORD_LOST, 0, nr);
	if (r->lost && fake_put(r, words, nr))
		r->lost = 0;
}

static inline void fake_sample(struct fake_event *e, uint32_t pid, uint64_t time_ns)
{
	struct fake_ring *r = e->ring >= 0 ? &fake.rings[e->ring] : NULL;
	uint64_t words[8];
	size_t nr = fake_sample_words(e, pid, time_ns, words);

	if (!r || !r->base)
		return;
	fake_tell_lost(e, r);
	if (!r->lost && fake_put(r, words, nr))
		return;
	r->lost++;
	e->nr_lost++;
}

static inline void fake_take_samples(struct fake_event *e, unsigned nr)
{
	for (unsigned i = 0; i < nr && fake_is_sampled(e); i++)
		fake_sample(e, 100 + i, fake_now_ns());
}

static inline void *fake_mmap(int fd, size_t len, bool is_read_only, int *error)
{
	struct fake_event *e = fake_of(fd);
	uint8_t *base;

	if (fake_fails() || !e || e->ring >= 0 || fake.nr_rings == FAKE_MAX_RINGS) {
		*error = fake.fail_error ? fake.fail_error : -EINVAL;
		return NULL;
	}
	if (fake.max_ring_bytes && len - 4096 > fake.max_ring_bytes) {
		*error = -EPERM;
		return NULL;
	}
	base = calloc(1, len);
	for (e->ring = 0; fake.rings[e->ring].base; e->ring++)
		;
	fake.rings[e->ring] = (struct fake_ring){
	    .base = base, .len = len, .event = fd - FAKE_FIRST_FD, .is_overwritten = is_read_only};
	fake.nr_rings++;
	return base;
}

static inline int fake_munmap(void *base, size_t len)
{
	for (unsigned i = 0; i < FAKE_MAX_RINGS; i++) {
		if (fake.rings[i].base != base)
			continue;
		fake.nr_wrong += fake.rings[i].len != len;
		for (unsigned k = 0; k < fake.nr_events; k++)
			if (fake.events[k].ring == (int)i)
				fake.events[k].ring = -1;
		free(base);
		fake.rings[i] = (struct fake_ring){0};
		fake.nr_rings--;
		return 0;
	}
	fake.nr_wrong++;
	return -EINVAL;
}

/* perf_read_group(): nr, enabled, running, values of leader and siblings, in their order. */
static inline ssize_t fake_read(int fd, void *buf, size_t len)
{
	struct fake_event *e = fake_of(fd);
	int leader = fd - FAKE_FIRST_FD;
	bool has_lost = e && e->attr.read_format & FAKE_FORMAT_LOST;
	uint64_t *words = buf;
	size_t nr = 0;

	fake.nr_reads++;
	if (fake_fails())
		return fake.fail_error;
	if (!e)
		return -EBADF;
	if (fake.nr_eintr && fake.nr_eintr--)
		return -EINTR;
	if (fake_members(leader, false) > 1 && fake.nr_torn && fake.nr_torn--)
		return -ECHILD;
	if (fake.no_room_for_pinned && e->attr.pinned)
		e->is_in_error = true;
	if (e->is_in_error)
		return 0;
	words[0] = e->is_detached ? 1 : fake_members(leader, false);
	if (len < (3 + words[0] * (has_lost ? 2 : 1)) * sizeof(*words))
		return -ENOSPC;
	fake_advance(e);
	words[1] = e->enabled_ns;
	words[2] = e->running_ns;
	for (unsigned i = 0; i < fake.nr_events; i++) {
		struct fake_event *m = &fake.events[i];

		if (m != e && (e->is_detached || !fake_is_member(m, leader)))
			continue;
		if (m != e)
			fake_advance(m);
		words[3 + nr++] = words[2] ? m->raw : 0;
		if (has_lost)
			words[3 + nr++] = m->nr_lost;
		if (!m->is_detached)
			fake_take_samples(m, fake.samples_per_read);
	}
	return (ssize_t)((3 + nr) * sizeof(*words));
}

static inline int fake_ioctl(int fd, unsigned long request, unsigned long arg)
{
	struct fake_event *e = fake_of(fd);
	int leader = fd - FAKE_FIRST_FD;

	if (fake_fails())
		return fake.fail_error;
	if (e && request == PERF_EVENT_IOC_ID) {
		uint64_t id = fake_id(e);

		memcpy((void *)arg, &id, sizeof(id)); /* NOLINT(performance-no-int-to-ptr) */
		return 0;
	}
	if (e && request == PERF_EVENT_IOC_SET_OUTPUT) {
		struct fake_event *to = fake_of((int)arg);

		if (!to || to->ring < 0 || to->cpu != e->cpu ||
		    to->attr.write_backward != e->attr.write_backward)
			return -EINVAL;
		e->ring = to->ring;
		return 0;
	}
	if (e && request == PERF_EVENT_IOC_PAUSE_OUTPUT && e->ring >= 0) {
		fake.nr_pauses++;
		fake.rings[e->ring].is_paused = arg;
		return 0;
	}
	if (!e || request != PERF_EVENT_IOC_ENABLE || arg || e->leader != leader)
		fake.nr_wrong++;
	fake.nr_enables++;
	for (unsigned i = 0; i < fake.nr_events; i++)
		if (fake_is_member(&fake.events[i], leader) && !fake.events[i].is_counting) {
			fake.events[i].is_counting = true;
			fake.events[i].since_ns = fake_now_ns();
			fake_take_samples(&fake.events[i], fake.samples_per_enable);
		}
	if (e)
		e->is_in_error = fake.no_room_for_pinned && e->attr.pinned;
	return 0;
}

static inline int fake_close(int fd)
{
	struct fake_event *e = fake_of(fd);

	if (!e)
		return -EBADF;
	if (!e->is_detached && e->leader == fd - FAKE_FIRST_FD &&
	    fake_members(e->leader, false) > 1)
		fake.nr_orphans++;
	e->is_open = false;
	fake.nr_live--;
	return fake_fails() ? fake.fail_error : 0;
}

static const struct pmu_ops fake_ops = {
    .open = fake_open,
    .read = fake_read,
    .ioctl = fake_ioctl,
    .close = fake_close,
    .mmap = fake_mmap,
    .munmap = fake_munmap,
};

/* A machine with eight CPUs, four counters, and no trouble. */
static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.capacity = 4;
	fake.max_open = FAKE_MAX_EVENTS;
	fake.running_pct = 100;
}

/* perf_event_exit_cpu(): every event of the CPU is taken out of its group and stays as it is. */
static inline void fake_set_offline(int cpu)
{
	fake.offline[cpu] = true;
	for (unsigned i = 0; i < fake.nr_events; i++)
		if (fake.events[i].is_open && fake.events[i].cpu == cpu) {
			fake_advance(&fake.events[i]);
			fake.events[i].is_detached = true;
			fake.events[i].is_counting = false;
		}
}

static inline void fake_set_online(int cpu)
{
	fake.offline[cpu] = false;
}

#endif
