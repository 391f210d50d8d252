/*
 * An entry that a rule matches is held until all are read: only then it is known how its thread and
 * those that wait in the same function live. What does not fit in memory is passed on.
 */
#include "report/idle.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "report/ends.h"
#include "report/functions.h"
#include "report/locks.h"
#include "report/own.h"
#include "report/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HELD_BYTES = 64 << 20, MAX_DEPTH = 3, LONG_NS = 10000000 };
static const double nearly_all = 0.9, half = 0.5;

/* WORKER: what a thread of any program does between jobs. */
enum { UNUSED = REPORT_IDLE_THREAD | REPORT_IDLE_UNUSED, WORKER = UNUSED | REPORT_IDLE_NEAR };

/* The first that matches applies. */
static const struct report_idle_rule built_in[] = {
    /* locks that are made of conditions: of interpreters, one for all threads */
    {"*", "take_gil", NULL, REPORT_IDLE_NEVER},
    {"*", "thread_sched_to_running*", NULL, REPORT_IDLE_NEVER},
    {"*", "gvl_acquire*", NULL, REPORT_IDLE_NEVER},
    {"*", "*barrier*", NULL, REPORT_IDLE_NEVER},
    /* threads of Java's machine itself */
    {"*", "GangWorker::loop*", "libjvm.so", UNUSED},
    {"*", "WorkerThread::run*", "libjvm.so", UNUSED},
    {"*", "CompileQueue::get*", "libjvm.so", UNUSED},
    {"*", "VMThread::wait_for_operation*", "libjvm.so", UNUSED},
    {"*", "ServiceThread::service_thread_entry*", "libjvm.so", UNUSED},
    {"*", "MonitorDeflationThread::*", "libjvm.so", UNUSED},
    {"*", "NotificationThread::*", "libjvm.so", UNUSED},
    {"*", "NMethodSweeper::sweeper_loop*", "libjvm.so", UNUSED},
    {"*", "G1ConcurrentRefineThread::*", "libjvm.so", UNUSED},
    {"*", "G1ConcurrentMarkThread::run_service*", "libjvm.so", UNUSED},
    {"*", "G1ServiceThread::*", "libjvm.so", UNUSED},
    {"*", "WatcherThread::sleep*", "libjvm.so", UNUSED},
    {"*", "JVM_WaitForReferencePendingList", "libjvm.so", UNUSED},
    {"*", "signal_thread_entry*", "libjvm.so", UNUSED},
    /* Python has semaphores as locks, also in its queue for workers */
    {"semaphore", "*SimpleQueue_get*", NULL, UNUSED},
    {"*", "PyThread_acquire_lock*", NULL, REPORT_IDLE_NEVER},
    {"epoll", NULL, NULL, REPORT_IDLE_LOOP},
    {"socket", "inet_csk_accept*", NULL, REPORT_IDLE_LOOP},
    {"socket", "unix_accept*", NULL, REPORT_IDLE_LOOP},
    {"poll", "g_main_loop_run", NULL, REPORT_IDLE_LOOP},
    {"poll", "g_main_context_iteration", NULL, REPORT_IDLE_LOOP},
    {"poll", "event_base_loop", NULL, REPORT_IDLE_LOOP},
    {"poll", "ev_run", NULL, REPORT_IDLE_LOOP},
    {"select", "event_base_loop", NULL, REPORT_IDLE_LOOP},
    {"select", "ev_run", NULL, REPORT_IDLE_LOOP},
    {"signal", "ngx_master_process_cycle", NULL, REPORT_IDLE_LOOP},
    {"signal", NULL, NULL, WORKER},
    {"condition", NULL, NULL, WORKER},
    {"semaphore", NULL, NULL, WORKER},
    {"sleep", NULL, NULL, WORKER | REPORT_IDLE_LONG},
};

/* --- rules of a file ------------------------------------------------------------------------- */

void report_idle_rules_fini(struct report_idle_rules *r)
{
	buf_fini(&r->text);
	*r = (struct report_idle_rules){.nr = 0};
}

static int fail(const char *path, size_t line, const char *why, struct err *e)
{
	err_set_at(e, -EINVAL, path, (unsigned)line, 1, "%s", why);
	err_hint(e, "a line is REASON:FUNCTION or REASON:FUNCTION@OBJECT, such as "
		    "condition:next_job; ! in front: this is no wait for work");
	return -EINVAL;
}

static char *trim(char *line)
{
	size_t len;

	line += strspn(line, " \t\r");
	len = strlen(line);
	while (len && strchr(" \t\r", line[len - 1]))
		line[--len] = '\0';
	return line;
}

/* line: owned by the rules. */
static int add_rule(struct report_idle_rules *r, char *line, const char *path, size_t nr,
		    struct err *e)
{
	struct report_idle_rule *rule = &r->rule[r->nr];
	char *function, *object;

	if (!*line || *line == '#')
		return 0;
	if (r->nr == REPORT_MAX_IDLE_RULES)
		return fail(path, nr, "too many rules: at most 64", e);
	*rule = (struct report_idle_rule){.needs = *line == '!' ? REPORT_IDLE_NEVER : 0};
	rule->reason = line + (*line == '!');
	function = strchr(rule->reason, ':');
	if (!function || function == rule->reason)
		return fail(path, nr, "no rule", e);
	*function++ = '\0';
	object = strrchr(function, '@');
	if (object)
		*object++ = '\0';
	if (!*function || (object && !*object))
		return fail(path, nr, "no rule", e);
	rule->function = function;
	rule->object = object;
	r->nr++;
	return 0;
}

int report_idle_rules_load(struct report_idle_rules *r, const char *path, struct err *e)
{
	IO_AUTO_FD int fd = io_open_input(path, e);
	size_t nr = 0;
	char *at;
	int rc;

	if (fd < 0)
		return fd;
	buf_init(&r->text, REPORT_IDLE_RULES_BYTES);
	rc = io_load_fd(fd, &r->text);
	if (rc)
		return err_set_at(e, rc, path, 0, 0, "cannot be read: %s", strerror(-rc));
	at = r->text.data;
	if (r->text.len && memchr(at, '\0', r->text.len))
		return fail(path, 0, "no text", e);
	while (at && rc == 0) {
		char *line = strsep(&at, "\n");

		rc = add_rule(r, trim(line), path, ++nr, e);
	}
	return rc;
}

/* --- what is read ---------------------------------------------------------------------------- */

struct task {
	uint32_t session, pid, tid, idle; /* the key is the first three; idle: it waited for work */
	uint64_t all, blocked;            /* weights */
};

/* The threads of a process that wait by one rule in a function of the program. */
struct group {
	uint32_t session, pid, function, rule; /* the key; a rule's number, of the user's first */
	uint64_t longest;                      /* of a thread's time */
	uint64_t elsewhere;                    /* of all threads: what is not of this group */
};

/* A thread in a group. */
struct place {
	uint32_t group, task; /* the key */
	uint64_t weight, samples;
};

struct held {
	struct report_entry entry; /* its frames are in the arena */
	uint32_t place;
};

/* By what it is called. */
struct total {
	uint32_t function, kind; /* the key; kind: the place's rule */
	struct report_idle_place shown;
};

struct report_idle {
	struct report_functions *functions;
	const struct report_idle_rules *rules;
	const struct report_sink *to;
	struct report_sink sink;
	struct dict tasks, groups, places, totals;
	struct held *held; /* owned */
	size_t nr_held, room;
	struct arena frames;
	struct report_weight folded, rest;
	uint32_t event;
	struct report_idle_place *sorted; /* owned */
	size_t nr_sorted;
};

static const struct report_idle_rule *rule_at(const struct report_idle *i, size_t nr)
{
	return nr < i->rules->nr ? &i->rules->rule[nr] : &built_in[nr - i->rules->nr];
}

/* NULL: any text. What str_glob takes for a part is the whole here. */
static bool matches(const char *glob, const char *text)
{
	return !glob || (strpbrk(glob, "*?[") ? str_glob(glob, text) : strcmp(glob, text) == 0);
}

static bool has_frame(const struct report_idle_rule *rule, const struct report_entry *e)
{
	return (!rule->function && !rule->object) ||
	       ARRAY_ANY(x, e->frames, e->nr_frames,
			 matches(rule->function, x->function->name) &&
			     matches(rule->object, x->function->object));
}

/* The number of the rule that applies; UINT32_MAX: none, or one by which it is no wait for work. */
static uint32_t find_rule(const struct report_idle *i, const struct report_entry *e,
			  const char *reason, const char *kind)
{
	for (size_t n = 0; n < i->rules->nr + ARRAY_NR(built_in); n++) {
		const struct report_idle_rule *rule = rule_at(i, n);

		if ((matches(rule->reason, reason) || matches(rule->reason, kind)) &&
		    has_frame(rule, e))
			return rule->needs & REPORT_IDLE_NEVER ? UINT32_MAX : (uint32_t)n;
	}
	return UINT32_MAX;
}

/* At most a few functions of the program stand between the thread's start and the wait, which a
 * truncated stack does not show. */
static bool is_near_start(const struct report_entry *e, size_t own)
{
	size_t depth = 0, at = own;

	while (at < e->nr_frames &&
	       report_start_of(e->frames[at].function->name, e->frames[at].function->object,
			       true) != REPORT_START_YES)
		depth += report_own_rank(e->frames[at++].function) >= REPORT_OWN_OF_PROGRAM;
	return at < e->nr_frames && depth <= MAX_DEPTH;
}

static bool may_be_idle(const struct report_idle_rule *rule, const struct report_entry *e,
			size_t own)
{
	return (!(rule->needs & REPORT_IDLE_THREAD) || e->key.pid != e->key.tid) &&
	       (!(rule->needs & REPORT_IDLE_NEAR) || is_near_start(e, own));
}

static bool is_wait(const struct report_entry *e)
{
	return e->key.state > REPORT_ON_CPU && e->key.state < REPORT_IDLE;
}

/* What the sink did not ask for is 0. */
static int pass(struct report_idle *i, const struct report_entry *e)
{
	struct report_entry passed = *e;
	const unsigned parts = i->to->parts;

	if (is_wait(e)) {
		i->event = e->key.event;
		report_weight_add(&i->rest, &e->weight);
	}
	passed.key.session = parts & REPORT_BY_SESSION ? e->key.session : 0;
	passed.key.pid = parts & REPORT_BY_PID ? e->key.pid : 0;
	passed.key.tid = parts & REPORT_BY_TID ? e->key.tid : 0;
	passed.key.thread = parts & REPORT_BY_TID ? e->key.thread : 0;
	return i->to->entry(i->to->arg, &passed);
}

/* False: there is no memory, and it is passed on. */
static bool hold(struct report_idle *i, const struct report_entry *e, uint32_t place)
{
	struct report_frame *frames = arena_calloc(&i->frames, e->nr_frames, sizeof(*frames));
	struct held *h = frames ? MEM_ADD(i->held, i->nr_held, i->room) : NULL;

	if (!h)
		return false;
	memcpy(frames, e->frames, e->nr_frames * sizeof(*frames));
	*h = (struct held){*e, place};
	h->entry.frames = frames;
	i->event = e->key.event;
	return true;
}

/* 0: passed on or held; -errno. */
static int add_blocked(struct report_idle *i, const struct report_entry *e, uint32_t task)
{
	const char *reason = report_functions_text(i->functions, e->key.reason);
	const char *kind = report_lock_kind(e->frames, e->nr_frames);
	const size_t own = report_own_frame(e->frames, e->nr_frames, false);
	const uint32_t rule = *reason ? find_rule(i, e, reason, kind) : UINT32_MAX;
	const struct group key = {e->key.session, e->key.pid, e->frames[own].function->number,
				  rule};
	uint32_t group, number;
	struct place *place;

	if (rule == UINT32_MAX)
		return pass(i, e);
	group = dict_add(&i->groups, &key);
	number = group == DICT_NONE
		     ? DICT_NONE
		     : dict_add(&i->places, &(struct place){.group = group, .task = task});
	place = dict_at(&i->places, number);
	if (!place)
		return -ENOMEM;
	place->weight += e->weight.weight;
	place->samples += e->weight.samples;
	return e->key.state == REPORT_BLOCKED && may_be_idle(rule_at(i, rule), e, own) &&
		       hold(i, e, number)
		   ? 0
		   : pass(i, e);
}

static int add_entry(void *arg, const struct report_entry *e)
{
	const struct task key = {.session = e->key.session, .pid = e->key.pid, .tid = e->key.tid};
	struct report_idle *i = arg;
	uint32_t number;
	struct task *task;

	if (e->key.state == REPORT_NO_STATE)
		return pass(i, e);
	number = dict_add(&i->tasks, &key);
	task = dict_at(&i->tasks, number);
	if (!task)
		return -ENOMEM;
	task->all += e->weight.weight;
	/* Of what is both, as records of switches have it, some is for a CPU: it is of the place,
	 * and stays a row. */
	if (e->key.state != REPORT_BLOCKED && e->key.state != REPORT_WAITING)
		return pass(i, e);
	task->blocked += e->weight.weight;
	return add_blocked(i, e, number);
}

struct report_idle *report_idle_new(struct report_functions *functions,
				    const struct report_idle_rules *rules,
				    const struct report_sink *to)
{
	struct report_idle *i = mem_zalloc(sizeof(*i));

	if (!i)
		return NULL;
	i->functions = functions;
	i->rules = rules;
	i->to = to;
	i->sink = *to;
	i->sink.parts |= REPORT_BY_SESSION | REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_STATE |
			 REPORT_BY_REASON | REPORT_BY_STACK;
	i->sink.entry = add_entry;
	i->sink.arg = i;
	dict_init(&i->tasks, sizeof(struct task), DICT_KEY(struct task, tid), DICT_MAX);
	dict_init(&i->groups, sizeof(struct group), DICT_KEY(struct group, rule), DICT_MAX);
	dict_init(&i->places, sizeof(struct place), DICT_KEY(struct place, task), DICT_MAX);
	dict_init(&i->totals, sizeof(struct total), DICT_KEY(struct total, kind), DICT_MAX);
	arena_init(&i->frames, MAX_HELD_BYTES);
	return i;
}

void report_idle_free(struct report_idle *i)
{
	if (!i)
		return;
	dict_fini(&i->tasks);
	dict_fini(&i->groups);
	dict_fini(&i->places);
	dict_fini(&i->totals);
	arena_fini(&i->frames);
	mem_free(i->held);
	mem_free(i->sorted);
	mem_free(i);
}

const struct report_sink *report_idle_sink(const struct report_idle *i)
{
	return &i->sink;
}

/* --- what is idle ---------------------------------------------------------------------------- */

static void add_up_groups(struct report_idle *i)
{
	for (uint32_t n = 0; n < i->places.nr; n++) {
		const struct place *place = dict_at(&i->places, n);
		const struct task *task = dict_at(&i->tasks, place->task);
		struct group *group = dict_at(&i->groups, place->group);

		group->elsewhere += task->all - place->weight;
		group->longest = task->all > group->longest ? task->all : group->longest;
	}
}

static bool is_nearly_all(uint64_t part, uint64_t all)
{
	return (double)part >= nearly_all * (double)all;
}

/* While the one that lived longest lived, all wait at once but for at most the time that they are
 * elsewhere. */
static bool are_at_once(const struct group *group)
{
	return (double)group->elsewhere <= half * (double)group->longest;
}

static bool is_idle(const struct report_idle *i, const struct place *place)
{
	const struct task *task = dict_at(&i->tasks, place->task);
	const struct group *group = dict_at(&i->groups, place->group);
	const unsigned needs = rule_at(i, group->rule)->needs;

	if (needs & REPORT_IDLE_LOOP && !is_nearly_all(place->weight, task->blocked))
		return false;
	if (needs & REPORT_IDLE_LONG && place->weight < LONG_NS * place->samples)
		return false;
	return !(needs & REPORT_IDLE_UNUSED) ||
	       (is_nearly_all(place->weight, task->all) && are_at_once(group));
}

/* 0 or -ENOMEM. */
static int fold(struct report_idle *i, const struct held *h, const struct place *place)
{
	const struct group *group = dict_at(&i->groups, place->group);
	const struct report_entry *e = &h->entry;
	const char *reason = report_functions_text(i->functions, e->key.reason);
	const char *kind = report_lock_kind(e->frames, e->nr_frames);
	const struct total key = {.function = group->function, .kind = group->rule};
	struct total *total = dict_get(&i->totals, &key);
	struct task *task = dict_at(&i->tasks, place->task);

	if (!total)
		return -ENOMEM;
	total->shown.reason = *kind ? kind : reason;
	total->shown.function = group->function;
	report_weight_add(&total->shown.weight, &e->weight);
	report_weight_add(&i->folded, &e->weight);
	task->idle = 1;
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	const struct report_idle_place *x = a, *y = b;

	return order_u64(y->weight.weight, x->weight.weight) ?: order_u64(x->function, y->function);
}

/* 0 or -ENOMEM. */
static int sort_places(struct report_idle *i)
{
	i->sorted = mem_calloc(i->totals.nr + 1, sizeof(*i->sorted));
	if (!i->sorted)
		return -ENOMEM;
	for (uint32_t n = 0; n < i->totals.nr; n++)
		i->sorted[i->nr_sorted++] = ((struct total *)dict_at(&i->totals, n))->shown;
	qsort(i->sorted, i->nr_sorted, sizeof(*i->sorted), by_weight);
	return 0;
}

int report_idle_end(struct report_idle *i)
{
	/* One thread alone hides no other. */
	const bool has_others = i->tasks.nr > 1;
	int rc = 0;

	add_up_groups(i);
	for (size_t n = 0; n < i->nr_held && rc == 0; n++) {
		const struct held *h = &i->held[n];
		const struct place *place = dict_at(&i->places, h->place);

		rc = has_others && is_idle(i, place) ? fold(i, h, place) : pass(i, &h->entry);
	}
	i->nr_held = 0;
	return rc ?: sort_places(i);
}

void report_idle_sum(const struct report_idle *i, struct report_idle_sum *out)
{
	*out = (struct report_idle_sum){.weight = i->folded,
					.event = i->event,
					.rest = i->rest,
					.places = i->sorted,
					.nr_places = i->nr_sorted};
	for (uint32_t n = 0; n < i->tasks.nr; n++)
		out->nr_threads += ((struct task *)dict_at(&i->tasks, n))->idle;
}
