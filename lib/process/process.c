/*
 * The processes of a session as things: their readings and numbers, and what is in no row. Which
 * are chosen: process/members.c; a reader (process/reader.h) reads their values.
 */
#include "process/process.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "process/members.h"
#include "process/notes.h"
#include "process/state.h"
#include "process/tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- one process */

/* A thing whose process is not there any more. If its last values were in the iteration before, it
 * is not in this one. */
static void retire(struct process_state *s, const struct process *p)
{
	struct process_gone gone = {.pid = p->pid,
				    .number = p->number,
				    .is_final = p->has_ended,
				    .born_ns = p->born_ns,
				    .values = p->values};

	if (!s->ended.exits || !p->is_chosen || !p->has_number || !s->is_whole ||
	    (p->has_ended && p->is_of_before))
		return;
	memcpy(gone.name, p->name, sizeof(gone.name));
	process_ended_add(&s->ended, &gone);
}

static bool has_tree_rest(const struct process_state *s)
{
	return s->rest_fields && s->choice.tree;
}

/* What it used, and those that it has waited for. */
static uint64_t with_waited(const struct process *p, size_t field)
{
	bool has_own = p->family.has_own & 1u << field;

	return p->family.waited[field] + (has_own ? 0 : p->counted[field]);
}

/* Nobody in the tree waits for it. */
static void lose(struct process_state *s, const struct process *p)
{
	if (!has_tree_rest(s) || !p->has_number || p->is_waited_for)
		return;
	for (size_t i = 0; i < PROCESS_NR_FIELDS; i++)
		process_rest_lose(&s->rest[i], with_waited(p, i));
	s->is_rest_whole &= p->family.is_zombie;
}

static void drop(struct process_state *s, struct process *p)
{
	process_state_detach(s, p);
	mem_free(p);
}

/* 0, -ESRCH or -ENOMEM. */
static int read_values(struct process_state *s, struct process *p)
{
	int rc = p->source ? 0 : s->reader->attach(s->source, p->pid, &p->source);

	return rc ? rc : s->reader->read(s->source, p->source, &p->values);
}

/* Before the children are read: one that ends meanwhile is in no sum, rather than in two. Later its
 * parent may have ended, too. */
static void read_family(struct process_state *s, struct process *p)
{
	const struct process *parent;

	if (!has_tree_rest(s) || !p->is_in_tree ||
	    s->reader->family(s->source, p->pid, p->source, &p->family))
		return;
	parent = process_members_known(s, p->family.parent);
	p->is_waited_for = parent && parent->is_in_tree;
}

/* After -ESRCH: if another process has the number, it is a new thing. */
static int read_again(struct process_state *s, struct process *p)
{
	uint32_t pid = p->pid;

	retire(s, p);
	lose(s, p);
	process_state_detach(s, p);
	*p = (struct process){.pid = pid, .age = 1, .born_ns = clock_monotonic_ns()};
	p->age = 0;
	process_members_place(s, p);
	read_family(s, p);
	p->age = 1;
	process_members_look(s, p);
	return p->is_chosen ? read_values(s, p) : 0;
}

/* Without a reading before it, what an older process used is not in the iteration. */
static void add_grown(struct process_state *s, struct process *p)
{
	for (size_t i = 0; i < PROCESS_NR_FIELDS; i++) {
		uint64_t value = p->values.of[i];

		if (!(s->rest_fields & p->values.has & 1u << i))
			continue;
		if (!p->has_number && !p->born_ns)
			p->counted[i] = value;
		s->grown[i] += value > p->counted[i] ? value - p->counted[i] : 0;
		p->counted[i] = value;
	}
}

/* Reads a chosen process's values first, since they show whether it has run; for others the name
 * decides whether values are read. */
static int visit(struct process_state *s, struct process *p)
{
	int rc = 0;

	process_members_place(s, p);
	if (!p->age)
		read_family(s, p);
	if (p->is_chosen) {
		rc = read_values(s, p);
		if (rc == -ESRCH)
			rc = read_again(s, p);
		else if (rc == 0)
			process_members_look_if_due(s, p, p->values.clock_ns);
	} else if (s->choice.nr_globs || p->is_in_tree ||
		   process_choice_has(&s->choice, p->pid, NULL)) {
		process_members_look_if_due(s, p, s->reader->clock(s->source, p->pid));
		rc = p->is_chosen ? read_values(s, p) : 0;
	}
	p->age++;
	if (rc || !p->is_chosen)
		return rc;
	add_grown(s, p);
	if (!p->has_number)
		p->number = s->nr_numbers++;
	p->has_number = true;
	process_notes_add(s, p);
	s->nr_reopened += p->values.is_reopened;
	s->things[s->nr_things++] = p;
	return 0;
}

/* ---- all of them */

/* Room for nr in list, next and things. */
static int reserve(struct process_state *s, size_t nr)
{
	struct process ***const arrays[] = {&s->list, &s->next, &s->things};

	if (nr <= s->cap)
		return 0;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		void *larger = mem_resize(*arrays[i], 2 * nr * sizeof(**arrays[i]));

		if (!larger)
			return -ENOMEM;
		*arrays[i] = larger;
	}
	s->cap = 2 * nr;
	return 0;
}

static void drop_gone(struct process_state *s, struct process *p)
{
	retire(s, p);
	lose(s, p);
	drop(s, p);
}

/* The process of that number, listed from s->at on or new; NULL if out of memory. Drops those
 * before it, which have ended. */
static struct process *find_or_add(struct process_state *s, uint32_t pid)
{
	struct process *p;

	while (s->at < s->nr && s->list[s->at]->pid < pid)
		drop_gone(s, s->list[s->at++]);
	if (s->at < s->nr && s->list[s->at]->pid == pid)
		return s->list[s->at++];
	p = mem_zalloc(sizeof(*p));
	if (p) {
		p->pid = pid;
		p->born_ns = s->is_whole ? clock_monotonic_ns() : 0;
	}
	return p;
}

/* Visits the processes of these numbers, drops the others. 0 or -ENOMEM. */
static int visit_all(struct process_state *s, const uint32_t *pids, size_t nr)
{
	struct process **was = s->list;
	int rc = 0;

	process_members_mark_roots(s);
	s->at = s->nr_next = s->nr_things = s->nr_reopened = 0;
	memset(s->grown, 0, sizeof(s->grown));
	for (size_t i = 0; i < s->nr; i++)
		read_family(s, s->list[i]);
	for (size_t i = 0; i < nr; i++) {
		struct process *p = find_or_add(s, pids[i]);
		int result = p ? visit(s, p) : -ENOMEM;

		if (result == 0)
			s->next[s->nr_next++] = p;
		else if (p)
			drop(s, p);
		if (result == -ENOMEM)
			rc = result;
	}
	while (s->at < s->nr)
		drop_gone(s, s->list[s->at++]);
	s->list = s->next;
	s->next = was;
	s->nr = s->nr_next;
	s->nr_next = 0;
	return rc;
}

static void on_exit(const struct bpf_exits_process *record, void *arg)
{
	struct process_state *s = arg;
	struct process *p;

	if (process_ended_finish(&s->ended, record))
		return;
	if (!record->is_whole) /* it is listed, and was read in this reading */
		return;
	p = process_members_find(s->list, s->nr, record->pid);
	if (!p || !p->has_number || p->has_ended) {
		process_ended_add_new(&s->ended, record,
				      p && !p->has_number ? p->born_ns : clock_monotonic_ns());
		return;
	}
	process_ended_set(s->ended.wanted, &record->sums, &p->values);
	add_grown(s, p);
	p->has_ended = true;
}

/* What has ended since the last reading, or since it was read in this one. */
static void read_ended(struct process_state *s)
{
	struct process_ended *d = &s->ended;

	if (exits_read(d->exits, on_exit, s))
		d->nr_missing++;
	process_ended_add_commands(d);
	exits_begin(d->exits);
	s->grown[PROCESS_CPU_TIME] += d->grown_ns;
	process_rest_owe(&s->rest[PROCESS_CPU_TIME], d->grown_ns);
}

/* What the things used, and those that they have waited for. */
static uint64_t sum_of_tree(const struct process_state *s, size_t field)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nr_things; i++)
		sum += with_waited(s->things[i], field);
	return sum;
}

static void read_rest(struct process_state *s, bool is_whole)
{
	struct process_rest *of_time = &s->rest[PROCESS_CPU_TIME];

	if (!s->rest_fields)
		return;
	if (!s->has_rest_number)
		s->rest_number = s->nr_numbers++;
	s->has_rest_number = true;
	if (!has_tree_rest(s) && process_rest_read(of_time, s->grown[PROCESS_CPU_TIME], is_whole)) {
		process_rest_close(of_time);
		s->rest_fields = 0;
	}
	for (size_t i = 0; i < PROCESS_NR_FIELDS; i++) {
		if (has_tree_rest(s) && s->rest_fields & 1u << i)
			process_rest_add(&s->rest[i], sum_of_tree(s, i), s->grown[i], is_whole);
		s->rest_raw[i] = s->rest[i].raw_ns;
	}
	if (has_tree_rest(s))
		of_time->time_ns = clock_monotonic_ns();
}

/* One that was removed has no processes. */
static int read_group(struct process_state *s)
{
	int rc = process_group_read(&s->group, s->choice.group);

	return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
}

static int process_read(void *state)
{
	struct process_state *s = state;
	/* if processes are chosen by number alone and all run, /proc need not be listed; an
	 * iterator reads them when it lists them */
	bool is_listed = s->is_by_tasks || s->choice.all || s->choice.tree ||
			 s->choice.group >= 0 || s->choice.nr_globs ||
			 s->nr_things != s->choice.nr_numbers;
	const uint32_t *pids;
	size_t nr;
	int rc;

	process_ended_begin(&s->ended);
	rc = is_listed ? s->reader->list(s->source, &s->ids) : 0;
	if (rc == 0 && s->choice.group >= 0)
		rc = read_group(s);
	pids = is_listed ? s->ids.list : s->choice.numbers;
	nr = is_listed ? s->ids.nr : s->choice.nr_numbers;
	rc = rc ?: reserve(s, nr) ?: visit_all(s, pids, nr);
	if (rc)
		s->nr_things = 0;
	else if (s->ended.exits)
		read_ended(s);
	read_rest(s, rc == 0);
	s->is_whole = rc == 0;
	return rc;
}

static size_t process_nr(const void *state)
{
	const struct process_state *s = state;

	return s->is_whole ? s->nr_things + process_ended_nr(&s->ended) + (s->rest_fields != 0) : 0;
}

static void get_values(const struct process_values *v, struct things_one *out)
{
	out->time_ns = v->time_ns;
	out->has = v->has;
	out->values = v->of;
	out->denied = v->trouble[PROCESS_DENIED];
	out->absent = v->trouble[PROCESS_ABSENT];
	out->failed = v->trouble[PROCESS_FAILED];
	out->missed = v->missed;
	out->nr_missed = v->nr_missed;
}

static void get_gone(const struct process_gone *g, struct things_one *out)
{
	*out = (struct things_one){.number = g->number,
				   .name = g->name,
				   .born_ns = g->born_ns,
				   .has_ended = g->is_final && g->pid};
	get_values(&g->values, out);
}

static void get_rest(const struct process_state *s, struct things_one *out)
{
	*out = (struct things_one){
	    .number = s->rest_number,
	    .name = "exited and unattributed",
	    .time_ns = s->rest[PROCESS_CPU_TIME].time_ns,
	    .has = s->rest_fields,
	    .values = s->rest_raw,
	    .is_rest = s->is_rest_whole,
	};
}

static void process_get(const void *state, size_t i, struct things_one *out)
{
	const struct process_state *s = state;
	const struct process *p;

	if (i >= s->nr_things) {
		i -= s->nr_things;
		if (i < process_ended_nr(&s->ended))
			get_gone(process_ended_get(&s->ended, i), out);
		else
			get_rest(s, out);
		return;
	}
	p = s->things[i];

	*out = (struct things_one){
	    .number = p->number,
	    .name = p->name,
	    .born_ns = p->born_ns,
	    .has_ended = p->has_ended,
	};
	get_values(&p->values, out);
}

/* ---- the source */

static void process_close(void *state)
{
	struct process_state *s = state;

	for (size_t i = 0; i < s->nr; i++)
		drop(s, s->list[i]);
	if (s->source)
		s->reader->close(s->source);
	process_ended_close(&s->ended);
	process_rest_close(&s->rest[PROCESS_CPU_TIME]);
	process_choice_fini(&s->choice);
	process_group_fini(&s->group);
	proc_ids_fini(&s->ids);
	mem_free(s->list);
	mem_free(s->next);
	mem_free(s->things);
	buf_fini(&s->absent);
	buf_fini(&s->text);
	mem_free(s);
}

/* If processes are chosen by number alone, one at least must run. */
static int check_numbers(struct process_state *s, struct err *e)
{
	size_t k = 0, nr_absent = 0;
	int rc = s->choice.nr_numbers ? s->reader->list(s->source, &s->ids) : 0;

	if (rc)
		return err_set(e, rc, "the processes cannot be listed: %s", strerror(-rc));
	for (size_t i = 0; i < s->choice.nr_numbers; i++) {
		while (k < s->ids.nr && s->ids.list[k] < s->choice.numbers[i])
			k++;
		if (k < s->ids.nr && s->ids.list[k] == s->choice.numbers[i])
			continue;
		process_notes_add_absent(s, "%" PRIu32, s->choice.numbers[i]);
		nr_absent++;
	}
	if (!nr_absent || nr_absent < s->choice.nr_numbers || s->choice.nr_globs || s->choice.all)
		return 0;
	return err_set(e, -ENOENT, "pids: there is no process %s", buf_str(&s->absent));
}

static void open_rest(struct process_state *s)
{
	const uint32_t cpu_time = s->wanted & 1u << PROCESS_CPU_TIME;
	const uint32_t of_family = cpu_time | 1u << PROCESS_MINOR_FAULTS |
				   1u << PROCESS_MAJOR_FAULTS | 1u << PROCESS_FAULTS |
				   1u << PROCESS_READ_BYTES | 1u << PROCESS_WRITE_BYTES;
	struct process_rest *of_time = &s->rest[PROCESS_CPU_TIME];

	s->is_rest_whole = true;
	if (s->choice.tree && s->choice.tree->has_children) {
		s->rest_fields = s->wanted & of_family;
		for (size_t i = 0; i < PROCESS_NR_FIELDS; i++)
			process_rest_open_tree(&s->rest[i], i == PROCESS_CPU_TIME);
		return;
	}
	if (s->choice.all && cpu_time)
		process_rest_open(of_time, &s->root);
	else if (s->choice.group >= 0 && cpu_time)
		process_rest_open_group(of_time, s->choice.group);
	s->rest_fields = of_time->fd >= 0 ? cpu_time : 0;
}

static int open_source(struct process_state *s, const struct root *root,
		       const struct things_choice *words, uint32_t wanted, struct err *e)
{
	int rc = s->reader->open(root, wanted, &s->source);

	s->wanted = wanted;
	if (rc)
		return err_set(e, rc, "/proc: cannot be read: %s", strerror(-rc));
	s->ended.wanted = wanted;
	s->ended.nr_numbers = &s->nr_numbers;
	s->ended.choice = &s->choice;
	rc = process_choice_init(&s->choice, words, s->reader->self(s->source), e)
		 ?: check_numbers(s, e);
	s->ended.is_target = s->choice.tree || s->choice.group >= 0;
	if (rc == 0 && s->reader->is_of_machine(s->source))
		open_rest(s);
	return rc;
}

static int process_open(const struct root *root, const struct things_choice *choice,
			uint32_t wanted, void **state, struct err *e)
{
	struct process_state *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->root = *root;
	s->reader = &process_proc_reader;
	s->rest[PROCESS_CPU_TIME].fd = s->choice.group = -1;
	buf_init(&s->absent, PROCESS_NOTE_BYTES);
	buf_init(&s->text, PROCESS_NOTE_BYTES);
	rc = open_source(s, root, choice, wanted & ((1u << PROCESS_NR_FIELDS) - 1), e);
	if (rc)
		process_close(s);
	else
		*state = s;
	return rc;
}

/* Why /proc is read. */
static int refuse_tasks(const struct process_state *s, struct err *why)
{
	const struct process_choice *c = &s->choice;

	if (!(s->wanted & process_tasks_fields()))
		return -ENODATA;
	if (!s->reader->clock(s->source, s->reader->self(s->source)))
		return err_set(why, -ENOTSUP, "/proc belongs to another PID namespace or machine");
	if (c->nr_numbers && !c->nr_globs && !c->all)
		return err_set(why, -EINVAL, "processes are chosen by number alone");
	if (privilege_is_held())
		return err_set(why, -EPERM, "processes of others are read by the user's rights");
	return 0;
}

static int process_use_kernel(void *state, struct err *why)
{
	struct process_state *s = state;
	void *tasks;
	int rc = refuse_tasks(s, why) ?: process_tasks_open(&s->root, s->wanted, &tasks, why);

	if (rc)
		return rc;
	s->reader->close(s->source);
	s->reader = &process_tasks_reader;
	s->source = tasks;
	s->is_by_tasks = true;
	return 0;
}

static const char *process_way(const void *state, uint16_t field)
{
	const struct process_state *s = state;
	bool is_by_tasks = s->is_by_tasks && process_tasks_by(s->source) & 1u << field;

	return is_by_tasks ? "BPF: iterator over tasks" : NULL;
}

static int process_follow(void *state, struct err *why)
{
	struct process_state *s = state;
	struct process_ended *d = &s->ended;
	const struct things_tree *tree = s->choice.tree;
	const struct follow_config config = {.has_target = tree,
					     .has_children = tree && tree->has_children,
					     .has_cgroup = s->choice.group >= 0,
					     .cgroup = s->choice.group};
	int rc;

	if (!(d->wanted & process_ended_fields()))
		return -ENODATA;
	if (!s->reader->is_of_machine(s->source))
		return err_set(why, -ENOTSUP, "these are not the processes of the machine");
	if (!s->ended.is_target && privilege_is_held())
		return err_set(why, -EPERM, "processes of others are not followed");
	rc = exits_open(&config, &d->exits, why);
	if (rc == 0 && has_tree_rest(s)) /* what has ended has lines */
		s->rest_fields = 0;
	return rc;
}

static void process_next(void *state)
{
	struct process_state *s = state;

	s->ended.is_next = s->ended.has_begun = true;
	for (size_t i = 0; i < s->nr_things; i++)
		s->things[i]->is_of_before = s->things[i]->has_ended;
}

static void process_settle(const void *state)
{
	const struct process_state *s = state;

	if (s->ended.exits)
		exits_settle();
}

const struct things_source process_source = {
    .name = "process",
    .open = process_open,
    .close = process_close,
    .read = process_read,
    .nr = process_nr,
    .get = process_get,
    .use_kernel = process_use_kernel,
    .way = process_way,
    .follow = process_follow,
    .next = process_next,
    .settle = process_settle,
    .note = process_notes_next,
};
