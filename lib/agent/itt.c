/*
 * ITT: the collector library that INTEL_LIBITTNOTIFY64 names. The order of structures is that of
 * the published sources of ITT API 3 (ittnotify.h, ittnotify_config.h: ___itt_global,
 * ___itt_api_info, ___itt_domain, ___itt_string_handle, __itt_counter_info); nothing is copied.
 *
 * The part that is linked into the program loads this library at its first call, and calls
 * __itt_api_init with the list of its function pointers by name. Those of the table below are set;
 * the rest become what they are without a collector. Functions that take a time (…_ex,
 * frame_submit) are received if it is of our clock (no clock domain; __itt_get_timestamp returns
 * it) and not before another mark of the thread; else they are counted as lost.
 */
#include "agent/marks.h"
#include "agent/names.h"
#include "agent/ompt.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { KIND_DOMAIN = 0x4900, KIND_STRING, KIND_COUNTER, KIND_EVENT, KIND_FRAME };
enum { METADATA_U64 = 1 };

struct domain {
	volatile int flags;
	const char *name;
	void *wide;
	int extra1;
	void *extra2;
	struct domain *next;
};

struct string {
	const char *text;
	void *wide;
	int extra1;
	void *extra2;
	struct string *next;
};

struct id {
	unsigned long long d1, d2, d3;
};

/* Made here, or by the part in the program before it loaded this library. */
struct counter {
	const char *name;
	void *wide;
	const char *domain;
	void *wide_domain;
	int type;
};

struct api {
	const char *name;
	void **pointer;
	void *init, *null;
	int group;
};

struct global {
	unsigned char magic[8];
	unsigned long major, minor, build;
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *lib, *error_handler;
	const char **path;
	struct api *apis; /* to one without a name */
};

static const char *name_of(const struct domain *d)
{
	return d && d->name ? d->name : "";
}

static uint32_t task_key(const struct domain *d)
{
	uint32_t key = agent_hash(name_of(d), agent_length(name_of(d))) & (AGENT_FIRST_RANGE - 1);

	return key ? key : 1;
}

/* Ids are the program's own: of the domain. */
static uint32_t range_key(const struct domain *d, const struct id *id)
{
	const struct id none = {0}, *of = id ? id : &none;
	uint64_t mixed = (of->d1 * 0x9e3779b97f4a7c15u) ^ (of->d2 * 0xc2b2ae3d27d4eb4fu) ^
			 (of->d3 * 0x165667b19e3779f9u);

	return AGENT_FIRST_RANGE | (task_key(d) ^ (uint32_t)(mixed >> 32) ^ (uint32_t)mixed);
}

static void begin(uint32_t key, const struct domain *d, const struct string *s)
{
	char joined[AGENT_TEXT_BYTES];

	cpuperf_marks_begin_keyed(
	    key, agent_join(joined, name_of(d), s && s->text ? s->text : "[no name]"));
}

static void make_domain(struct agent_name *n)
{
	struct domain *d = (struct domain *)(void *)n->extra;

	d->flags = 1;
	d->name = n->text;
}

static struct domain *domain_create(const char *name)
{
	struct agent_name *n = name ? agent_name(KIND_DOMAIN, name, make_domain) : NULL;

	return n ? (struct domain *)(void *)n->extra : NULL;
}

static void make_string(struct agent_name *n)
{
	((struct string *)(void *)n->extra)->text = n->text;
}

static struct string *string_handle_create(const char *name)
{
	struct agent_name *n = name ? agent_name(KIND_STRING, name, make_string) : NULL;

	return n ? (struct string *)(void *)n->extra : NULL;
}

/* Which open tasks of the thread were left out, the innermost first. */
static __thread uint64_t skipped;

static void task_begin(const struct domain *d, struct id id, struct id parent, struct string *name)
{
	(void)id, (void)parent;
	skipped <<= 1;
	begin(task_key(d), d, name);
}

static void task_begin_fn(const struct domain *d, struct id id, struct id parent, void *function)
{
	(void)id, (void)parent, (void)function;
	skipped <<= 1;
	begin(task_key(d), d, &(struct string){.text = "[function]"});
}

static void task_end(const struct domain *d)
{
	bool is_received = !(skipped & 1);

	skipped >>= 1;
	if (is_received)
		cpuperf_marks_end_keyed(task_key(d));
}

static bool is_ours(const void *clock, uint64_t time, bool is_end)
{
	/* of another clock: no time that a mark may have */
	return cpuperf_marks_at(clock ? UINT64_MAX : time, is_end) != 0;
}

static void task_begin_ex(const struct domain *d, void *clock, unsigned long long time,
			  struct id id, struct id parent, struct string *name)
{
	bool is_received = is_ours(clock, time, false);

	if (is_received)
		task_begin(d, id, parent, name);
	else
		skipped = skipped << 1 | 1;
	cpuperf_marks_at_once();
}

static void task_begin_fn_ex(const struct domain *d, void *clock, unsigned long long time,
			     struct id id, struct id parent, void *function)
{
	(void)function;
	task_begin_ex(d, clock, time, id, parent, &(struct string){.text = "[function]"});
}

static void task_end_ex(const struct domain *d, void *clock, unsigned long long time)
{
	if (skipped & 1)
		skipped >>= 1;
	else if (is_ours(clock, time, true))
		task_end(d);
	cpuperf_marks_at_once();
}

static void range_begin(const struct domain *d, struct id id, struct id parent, struct string *name)
{
	(void)parent;
	begin(range_key(d, &id), d, name);
}

static void range_end(const struct domain *d, struct id id)
{
	cpuperf_marks_end_keyed_anywhere(range_key(d, &id));
}

static void range_begin_ex(const struct domain *d, void *clock, unsigned long long time,
			   struct id id, struct id parent, struct string *name)
{
	if (is_ours(clock, time, false))
		range_begin(d, id, parent, name);
	cpuperf_marks_at_once();
}

static void range_end_ex(const struct domain *d, void *clock, unsigned long long time, struct id id)
{
	if (is_ours(clock, time, true))
		range_end(d, id);
	cpuperf_marks_at_once();
}

/* Frames have the name of their domain. */
static void frame_begin_v3(const struct domain *d, struct id *id)
{
	cpuperf_marks_begin_keyed(range_key(d, id), name_of(d));
}

static void frame_end_v3(const struct domain *d, struct id *id)
{
	cpuperf_marks_end_keyed_anywhere(range_key(d, id));
}

/* "function$omp$parallel:threads@file:line" */
static bool is_of_openmp(const struct domain *d)
{
	return agent_ompt_is_on && strstr(name_of(d), "$omp$");
}

/* A frame that has ended. */
static void frame_submit_v3(const struct domain *d, struct id *id, unsigned long long begin_time,
			    unsigned long long end_time)
{
	if (is_of_openmp(d))
		return;
	if (end_time >= begin_time && is_ours(NULL, begin_time, false)) {
		frame_begin_v3(d, id);
		if (is_ours(NULL, end_time, true))
			frame_end_v3(d, id);
	}
	cpuperf_marks_at_once();
}

static struct agent_name *frame_create(const char *domain)
{
	return domain ? agent_name(KIND_FRAME, domain, NULL) : NULL;
}

static void frame_begin(const struct agent_name *frame)
{
	if (frame)
		cpuperf_marks_begin_keyed(frame->key, frame->text);
}

static void frame_end(const struct agent_name *frame)
{
	if (frame)
		cpuperf_marks_end_keyed_anywhere(frame->key);
}

static void marker(const struct domain *d, struct id id, struct string *name, int scope)
{
	char joined[AGENT_TEXT_BYTES];

	(void)id, (void)scope;
	cpuperf_marks_instant(
	    agent_join(joined, name_of(d), name && name->text ? name->text : "[no name]"));
}

static void marker_ex(const struct domain *d, void *clock, unsigned long long time, struct id id,
		      struct string *name, int scope)
{
	if (is_ours(clock, time, false))
		marker(d, id, name, scope);
	cpuperf_marks_at_once();
}

/* 0: there are too many. */
static int event_create(const char *name, int len)
{
	(void)len;
	return name ? (int)agent_number(KIND_EVENT, name) : 0;
}

/* An event may have no end: the one before is closed. */
static int event_start(int event)
{
	const struct agent_name *n = agent_name_of(KIND_EVENT, (uint32_t)event);

	if (n) {
		cpuperf_marks_drop_keyed(n->key);
		cpuperf_marks_begin_keyed(n->key, n->text);
	}
	return 0;
}

static int event_end(int event)
{
	const struct agent_name *n = agent_name_of(KIND_EVENT, (uint32_t)event);

	if (n)
		cpuperf_marks_end_keyed(n->key);
	return 0;
}

/* The layout is that of the part in the program, which may have made some before. */
static struct counter *counter_create_typed(const char *name, const char *domain, int type)
{
	char joined[AGENT_TEXT_BYTES];
	struct agent_name *n =
	    name ? agent_name(KIND_COUNTER, agent_join(joined, domain, name), NULL) : NULL;
	struct counter *c;

	if (!n)
		return NULL;
	c = (struct counter *)(void *)n->extra;
	__atomic_store_n(&c->type, type, __ATOMIC_RELAXED);
	__atomic_store_n(&c->name, n->text, __ATOMIC_RELEASE); /* with its domain */
	return c;
}

static struct counter *counter_create(const char *name, const char *domain)
{
	return counter_create_typed(name, domain, METADATA_U64);
}

/* Reads a value of __itt_metadata_type; those that are not whole are cut. */
static int64_t value_of(int type, const void *at)
{
	switch (type) {
	case 3:
		return *(const uint32_t *)at;
	case 4:
		return *(const int32_t *)at;
	case 5:
		return *(const uint16_t *)at;
	case 6:
		return *(const int16_t *)at;
	case 7:
		return (int64_t) * (const float *)at;
	case 8:
		return (int64_t) * (const double *)at;
	default:
		return *(const int64_t *)at;
	}
}

/* Its name here with the value in this process. NULL: no memory. */
static struct agent_name *find_counter(const struct counter *c, int64_t **value)
{
	char joined[AGENT_TEXT_BYTES];
	struct agent_name *n =
	    c && c->name ? agent_name(KIND_COUNTER, agent_join(joined, c->domain, c->name), NULL)
			 : NULL;

	if (n)
		*value = (int64_t *)(void *)(n->extra + sizeof(*c));
	return n;
}

static void counter_set_value(const struct counter *c, const void *from)
{
	int64_t *value, now;
	const struct agent_name *n = from ? find_counter(c, &value) : NULL;

	if (!n)
		return;
	now = value_of(c->type, from);
	__atomic_store_n(value, now, __ATOMIC_RELAXED);
	cpuperf_marks_int(n->text, now);
}

static void counter_add(const struct counter *c, int64_t by)
{
	int64_t *value;
	const struct agent_name *n = find_counter(c, &value);

	if (n)
		cpuperf_marks_int(n->text, __atomic_add_fetch(value, by, __ATOMIC_RELAXED));
}

static void counter_set_value_ex(const struct counter *c, void *clock, unsigned long long time,
				 const void *from)
{
	if (is_ours(clock, time, false))
		counter_set_value(c, from);
	cpuperf_marks_at_once();
}

/* What a program passes as the clock of its times. All are alike here. */
static void *clock_domain_create(void *fn, void *data)
{
	static struct {
		unsigned long long frequency, base;
		void *fn, *data;
		int extra1;
		void *extra2, *next;
	} other;

	(void)fn, (void)data;
	return &other;
}

static unsigned long long get_timestamp(void)
{
	return cpuperf_marks_now();
}

static void counter_inc(const struct counter *c)
{
	counter_add(c, 1);
}

static void counter_inc_delta(const struct counter *c, unsigned long long by)
{
	counter_add(c, (int64_t)by);
}

static void counter_dec(const struct counter *c)
{
	counter_add(c, -1);
}

static void counter_dec_delta(const struct counter *c, unsigned long long by)
{
	counter_add(c, -(int64_t)by);
}

static void itt_pause(void)
{
	cpuperf_marks_pause();
}

static void itt_resume(void)
{
	cpuperf_marks_resume();
}

static void thread_set_name(const char *name)
{
	if (name)
		cpuperf_marks_thread_name(name);
}

static int thr_name_set(const char *name, int len)
{
	(void)len;
	thread_set_name(name);
	return 0;
}

typedef void (*function)(void);
#define BY(name) ((function)(name))

static const struct {
	const char *name;
	function by;
} replaced[] = {
    {"__itt_domain_create", BY(domain_create)},
    {"__itt_string_handle_create", BY(string_handle_create)},
    {"__itt_task_begin", BY(task_begin)},
    {"__itt_task_begin_fn", BY(task_begin_fn)},
    {"__itt_task_end", BY(task_end)},
    {"__itt_task_begin_ex", BY(task_begin_ex)},
    {"__itt_task_begin_fn_ex", BY(task_begin_fn_ex)},
    {"__itt_task_end_ex", BY(task_end_ex)},
    {"__itt_task_begin_overlapped_ex", BY(range_begin_ex)},
    {"__itt_task_end_overlapped_ex", BY(range_end_ex)},
    {"__itt_clock_domain_create", BY(clock_domain_create)},
    {"__itt_get_timestamp", BY(get_timestamp)},
    {"__itt_frame_submit_v3", BY(frame_submit_v3)},
    {"__itt_marker_ex", BY(marker_ex)},
    {"__itt_counter_set_value_ex", BY(counter_set_value_ex)},
    {"__itt_task_begin_overlapped", BY(range_begin)},
    {"__itt_task_end_overlapped", BY(range_end)},
    {"__itt_region_begin", BY(range_begin)},
    {"__itt_region_end", BY(range_end)},
    {"__itt_frame_begin_v3", BY(frame_begin_v3)},
    {"__itt_frame_end_v3", BY(frame_end_v3)},
    {"__itt_frame_create", BY(frame_create)},
    {"__itt_frame_begin", BY(frame_begin)},
    {"__itt_frame_end", BY(frame_end)},
    {"__itt_marker", BY(marker)},
    {"__itt_event_create", BY(event_create)},
    {"__itt_event_start", BY(event_start)},
    {"__itt_event_end", BY(event_end)},
    {"__itt_counter_create", BY(counter_create)},
    {"__itt_counter_create_typed", BY(counter_create_typed)},
    {"__itt_counter_set_value", BY(counter_set_value)},
    {"__itt_counter_inc", BY(counter_inc)},
    {"__itt_counter_inc_delta", BY(counter_inc_delta)},
    {"__itt_counter_dec", BY(counter_dec)},
    {"__itt_counter_dec_delta", BY(counter_dec_delta)},
    {"__itt_pause", BY(itt_pause)},
    {"__itt_resume", BY(itt_resume)},
    {"__itt_thread_set_name", BY(thread_set_name)},
    {"__itt_thr_name_set", BY(thr_name_set)},
};

static void set(const struct api *a)
{
	void *to = a->null;

	for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced) && cpuperf_marks_are_on(); i++)
		if (strcmp(a->name, replaced[i].name) == 0)
			memcpy(&to, &replaced[i].by, sizeof(to));
	*a->pointer = to;
}

/* groups: of functions; what is not asked for is not called. */
AGENT_EXPORTED void __itt_api_init(struct global *global, int groups);
AGENT_EXPORTED void __itt_api_init(struct global *global, int groups)
{
	(void)groups;
	if (!global || global->major < 3 || !global->apis)
		return;
	for (const struct api *a = global->apis; a->name; a++)
		if (a->pointer)
			set(a);
}
