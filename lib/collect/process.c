/*
 * The processes of a session: which are chosen, their thing numbers and names, and the notes about
 * them. A reader (process_reader.h) reads their values.
 */
#include "collect/process.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/privilege.h"
#include "base/str.h"
#include "collect/process_choice.h"
#include "collect/process_ended.h"
#include "collect/process_group.h"
#include "collect/process_reader.h"
#include "collect/process_rest.h"
#include "collect/process_tasks.h"
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_BYTES = 65536, WHO_BYTES = 160, NR_NAMED = 4, MIN_NOTES = 3 };

static const char *const field_names[PROCESS_NR_FIELDS] = {
    [PROCESS_CPU_TIME] = "CPU time",
    [PROCESS_RUN_DELAY] = "run delay",
    [PROCESS_RSS] = "resident memory",
    [PROCESS_VMS] = "virtual memory",
    [PROCESS_SHARED] = "shared memory",
    [PROCESS_READ_BYTES] = "bytes read",
    [PROCESS_WRITE_BYTES] = "bytes written",
    [PROCESS_THREADS] = "threads",
    [PROCESS_MINOR_FAULTS] = "minor faults",
    [PROCESS_MAJOR_FAULTS] = "major faults",
    [PROCESS_FAULTS] = "faults",
    [PROCESS_FDS] = "descriptors",
    [PROCESS_PEAK_RSS] = "peak of resident memory",
};

/* The note when a field is missing; is_of_each: naming processes, else once for all. */
static const struct {
	bool is_of_each;
	const char *text;
} troubles[PROCESS_NR_TROUBLES] = {
    [PROCESS_DENIED] = {true, "cannot be read"},
    [PROCESS_ABSENT] = {false, "not reported by this kernel"},
    [PROCESS_FAILED] = {true, "could not be read"},
    [PROCESS_PARTIAL] = {false,
			 "without threads that start and end between two readings: this /proc "
			 "belongs to another PID namespace"},
};

/* A running process, chosen or not: its name may change, and with it the choice. */
struct process {
	uint32_t pid;
	uint32_t age;                 /* readings */
	uint64_t clock_ns, looked_ns; /* its CPU time and the time when its name was last read */
	uint32_t number;
	uint64_t born_ns; /* as of struct collect_thing */
	bool is_in_tree;  /* of the choice, and stays there; or is in its control group */
	bool is_chosen, has_number;
	void *source;                        /* the reader's; NULL: not attached */
	uint32_t noted[PROCESS_NR_TROUBLES]; /* bits of fields already noted */
	struct process_values values;
	uint64_t
	    counted[PROCESS_NR_FIELDS]; /* at the last reading that had it: of what has a rest */
	struct process_family family;   /* of the last reading, if trees have a rest */
	bool is_of_before;              /* has_ended in the iteration before */
	bool has_ended;                 /* after it was read: the values are the last ones */
	char name[PROCESS_NAME_BYTES];
};

/* The next note about one kind of trouble. */
struct note {
	uint32_t fields;
	int error;
	size_t nr_processes, nr_named;
	char who[WHO_BYTES]; /* names of the first nr_named */
	unsigned nr_notes;   /* notes written before, about nr_before processes */
	size_t nr_before;
};

struct state {
	struct root root;
	const struct process_reader *reader;
	void *source;     /* the reader's */
	uint32_t wanted;  /* bits of fields */
	bool is_by_tasks; /* reader is that of an iterator; it may have failed since */
	struct process_choice choice;
	struct process_group group; /* of the choice */
	struct proc_ids ids;
	struct process **list;   /* by pid, ascending */
	struct process **next;   /* swapped with list by each reading */
	struct process **things; /* the chosen ones of the last reading */
	size_t at;               /* those before it in list are in next, or have ended */
	size_t nr, nr_next, nr_things, cap;
	size_t nr_reopened;
	uint32_t nr_numbers; /* assigned to things */
	struct process_ended ended;
	struct process_rest rest[PROCESS_NR_FIELDS];
	uint32_t rest_fields; /* bits of those; 0: there is none */
	bool has_rest_number, is_rest_whole;
	uint32_t rest_number;
	uint64_t rest_raw[PROCESS_NR_FIELDS];
	uint64_t grown[PROCESS_NR_FIELDS]; /* the things in this reading, since the one before */
	struct note notes[PROCESS_NR_TROUBLES];
	uint32_t noted[PROCESS_NR_TROUBLES];
	bool is_whole; /* the last reading succeeded */
	bool has_noted_reopened, has_noted_absent, has_noted_failed;
	struct buf absent; /* the words of the choice that match no process */
	struct buf text;   /* the last note */
};

/* ---- notes */

static void add_who(struct note *n, const char *name)
{
	size_t len = strlen(n->who);

	n->nr_processes++;
	if (n->nr_named == NR_NAMED || len + strlen(name) + 3 > sizeof(n->who))
		return;
	snprintf(n->who + len, sizeof(n->who) - len, "%s%s", len ? ", " : "", name);
	n->nr_named++;
}

static void note_trouble(struct state *s, struct process *p)
{
	for (int i = 0; i < PROCESS_NR_TROUBLES; i++) {
		uint32_t *noted = troubles[i].is_of_each ? p->noted : s->noted;
		uint32_t new = p->values.trouble[i] & ~noted[i];

		if (!new)
			continue;
		noted[i] |= new;
		s->notes[i].fields |= new;
		s->notes[i].error = p->values.error;
		add_who(&s->notes[i], p->name);
	}
}

static void write_trouble(struct state *s, enum process_trouble kind)
{
	const struct note *n = &s->notes[kind];
	struct buf *b = &s->text;

	for (int i = 0; i < PROCESS_NR_FIELDS; i++)
		if (n->fields & 1u << i)
			buf_printf(b, "%s%s", b->len ? ", " : "", field_names[i]);
	if (troubles[kind].is_of_each)
		buf_printf(b, " of %zu %sprocess%s (%s%s)", n->nr_processes,
			   n->nr_before ? "more " : "", n->nr_processes == 1 ? "" : "es", n->who,
			   n->nr_named < n->nr_processes ? ", …" : "");
	buf_printf(b, ": %s", troubles[kind].text);
	if (kind == PROCESS_DENIED)
		buf_adds(b, host_may_trace(&s->root) ? "; refused despite CAP_SYS_PTRACE"
						     : "; needs their user, or CAP_SYS_PTRACE");
	if (kind == PROCESS_FAILED)
		buf_printf(b, ": %s", strerror(-n->error));
}

static void add_absent(struct state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_absent(struct state *s, const char *fmt, ...)
{
	va_list ap;

	if (s->absent.len)
		buf_adds(&s->absent, ", ");
	va_start(ap, fmt);
	buf_vprintf(&s->absent, fmt, ap);
	va_end(ap);
}

/* Once, after the first reading of all processes. */
static void write_absent(struct state *s)
{
	for (size_t i = 0; i < s->choice.nr_globs; i++)
		if (!s->choice.has_hit[i])
			add_absent(s, "\"name:%s\"", s->choice.globs[i]);
	s->has_noted_absent = true;
	if (s->absent.len)
		buf_printf(&s->text, "pids: there is no process %s: it is read once it starts",
			   buf_str(&s->absent));
}

/* When it has doubled. */
static bool note_missing(struct state *s)
{
	struct process_ended *d = &s->ended;
	uint64_t nr = d->exits ? d->nr_missing + exits_lost(d->exits) : 0;

	if (nr <= 2 * d->nr_noted)
		return false;
	d->nr_noted = nr;
	buf_printf(&s->text,
		   "%" PRIu64 " processes that ended are in no line: too many ended at a time", nr);
	return true;
}

static bool note_failed(struct state *s)
{
	if (!s->is_by_tasks || s->has_noted_failed || process_tasks_by(s->source))
		return false;
	s->has_noted_failed = true;
	buf_adds(&s->text, "the iterator over tasks fails: processes are read from /proc from now "
			   "on, which is slower");
	return true;
}

/* False if no note is due. */
static bool write_note(struct state *s)
{
	if (s->is_whole && !s->has_noted_absent)
		write_absent(s);
	if (s->text.len)
		return true;
	for (int i = 0; i < PROCESS_NR_TROUBLES; i++) {
		struct note *n = &s->notes[i];

		/* If processes come and go, each reading may add to a note: after the first notes,
		 * the next is due when it has as many processes as all before. */
		if (!n->fields || (n->nr_notes >= MIN_NOTES && n->nr_processes < n->nr_before))
			continue;
		write_trouble(s, (enum process_trouble)i);
		*n = (struct note){.nr_notes = n->nr_notes + 1,
				   .nr_before = n->nr_before + n->nr_processes};
		return true;
	}
	if (note_missing(s) || note_failed(s))
		return true;
	if (!s->nr_reopened || s->has_noted_reopened)
		return false;
	buf_printf(&s->text,
		   "half of the open-file limit is in use: the files of %zu of %zu processes are "
		   "reopened for each reading, which is slower; raise the limit (ulimit -n)",
		   s->nr_reopened, s->nr_things);
	s->has_noted_reopened = true;
	return true;
}

static const char *process_note(void *state)
{
	struct state *s = state;

	buf_reset(&s->text);
	if (!write_note(s) || !s->text.data)
		return NULL;
	str_disarm(s->text.data);
	return s->text.data;
}

/* ---- one process */

static void detach(struct state *s, struct process *p)
{
	if (p->source)
		s->reader->detach(s->source, p->source);
	p->source = NULL;
}

/* A thing whose process is not there any more. If its last values were in the iteration before, it
 * is not in this one. */
static void retire(struct state *s, const struct process *p)
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

static struct process *find(struct process *const *list, size_t nr, uint32_t pid)
{
	size_t at = ORDER_FIRST(i, nr, list[i]->pid >= pid);

	return at < nr && list[at]->pid == pid ? list[at] : NULL;
}

/* In this reading or the one before. */
static struct process *find_known(const struct state *s, uint32_t pid)
{
	return find(s->next, s->nr_next, pid) ?: find(s->list + s->at, s->nr - s->at, pid);
}

static bool has_tree_rest(const struct state *s)
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
static void lose(struct state *s, const struct process *p)
{
	const struct process *parent = find_known(s, p->family.parent);

	if (!has_tree_rest(s) || !p->has_number || (parent && parent->is_in_tree))
		return;
	for (size_t i = 0; i < PROCESS_NR_FIELDS; i++)
		process_rest_lose(&s->rest[i], with_waited(p, i));
	s->is_rest_whole &= p->family.is_zombie;
}

static void drop(struct state *s, struct process *p)
{
	detach(s, p);
	mem_free(p);
}

/* A process that has run since its name was read may be another program by now, or another process
 * of the same number. If its clock is unknown, or names are only labels, the name is read often at
 * first and seldom later, and not for all processes in the same reading. */
static bool is_due(const struct state *s, const struct process *p, uint64_t clock_ns)
{
	enum { SELDOM = 64, LONG_NS = 1000000000 };
	bool is_target = s->choice.tree || s->choice.group >= 0;
	bool is_label = (s->choice.all || is_target) && !s->choice.nr_globs;

	if (clock_ns && clock_ns == p->clock_ns)
		return false;
	if (clock_ns && (!is_label || clock_monotonic_ns() - p->looked_ns >= LONG_NS))
		return true;
	if (p->age < SELDOM)
		return (p->age & (p->age - 1)) == 0;
	return (p->age + p->pid) % SELDOM == 0;
}

/* True if the process or one of its ancestors is in the tree. Ancestors of this reading or the one
 * before have been looked at. */
static bool is_in_tree(struct state *s, uint32_t pid)
{
	enum { MAX_DEPTH = 1000 }; /* a parent may end, and its number be used again, meanwhile */

	for (unsigned depth = 0; pid && depth < MAX_DEPTH; depth++) {
		const struct process *p = find_known(s, pid);

		if (process_choice_is_root(&s->choice, pid) || (p && p->is_in_tree))
			return true;
		if ((p && p->age) || !s->choice.tree->has_children)
			return false;
		pid = s->reader->parent(s->source, pid);
	}
	return false;
}

static void put_in_tree(struct state *s, struct process *p)
{
	p->is_in_tree = true;
	if (s->ended.exits) /* it may have ended */
		(void)exits_add_process(s->ended.exits, (pid_t)p->pid);
}

static void find_in_tree(struct state *s, struct process *p)
{
	if (is_in_tree(s, p->pid))
		put_in_tree(s, p);
}

/* No group lists it any more. */
static bool is_zombie(const struct state *s, uint32_t pid)
{
	struct process_family f = {0};

	return s->reader->family(s->source, pid, NULL, &f) == 0 && f.is_zombie;
}

/* One that was there before, and moves, is looked at again: a thing from now on, or no more. */
static void find_in_group(struct state *s, struct process *p)
{
	bool is_in = process_group_has(&s->group, p->pid);

	if (is_in == p->is_in_tree || (!is_in && is_zombie(s, p->pid)))
		return;
	p->is_in_tree = is_in;
	if (p->age)
		p->age = p->born_ns = 0;
}

static void find_in_target(struct state *s, struct process *p)
{
	if (s->choice.group >= 0)
		find_in_group(s, p);
	else if (s->choice.tree && !p->age)
		find_in_tree(s, p);
}

/* Reads the name, and decides by it whether the process is chosen. A process that is chosen again
 * later is a new thing. */
static void look(struct state *s, struct process *p)
{
	char command[PROCESS_COMMAND_BYTES];
	bool is_known = s->reader->command(s->source, p->pid, command) == 0;

	snprintf(p->name, sizeof(p->name), "%" PRIu32 "%s%s", p->pid, is_known ? " " : "",
		 is_known ? command : "");
	str_clean(p->name, strlen(p->name));
	p->is_chosen =
	    p->is_in_tree || process_choice_has(&s->choice, p->pid, is_known ? command : NULL);
	if (p->is_chosen)
		return;
	detach(s, p);
	p->has_number = false;
}

/* 0, -ESRCH or -ENOMEM. */
static int read_values(struct state *s, struct process *p)
{
	int rc = p->source ? 0 : s->reader->attach(s->source, p->pid, &p->source);

	return rc ? rc : s->reader->read(s->source, p->source, &p->values);
}

/* Before the children are read: one that ends meanwhile is in no sum, rather than in two. */
static void read_family(struct state *s, struct process *p)
{
	if (has_tree_rest(s) && p->is_in_tree)
		(void)s->reader->family(s->source, p->pid, p->source, &p->family);
}

/* After -ESRCH: if another process has the number, it is a new thing. */
static int read_again(struct state *s, struct process *p)
{
	uint32_t pid = p->pid;

	retire(s, p);
	lose(s, p);
	detach(s, p);
	*p = (struct process){.pid = pid, .age = 1, .born_ns = clock_monotonic_ns()};
	p->age = 0;
	find_in_target(s, p);
	read_family(s, p);
	p->age = 1;
	look(s, p);
	return p->is_chosen ? read_values(s, p) : 0;
}

static void look_if_due(struct state *s, struct process *p, uint64_t clock_ns)
{
	if (p->age && !is_due(s, p, clock_ns))
		return;
	look(s, p);
	p->clock_ns = clock_ns;
	p->looked_ns = clock_monotonic_ns();
}

/* Without a reading before it, what an older process used is not in the iteration. */
static void add_grown(struct state *s, struct process *p)
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
static int visit(struct state *s, struct process *p)
{
	int rc = 0;

	find_in_target(s, p);
	if (!p->age)
		read_family(s, p);
	if (p->is_chosen) {
		rc = read_values(s, p);
		if (rc == -ESRCH)
			rc = read_again(s, p);
		else if (rc == 0)
			look_if_due(s, p, p->values.clock_ns);
	} else if (s->choice.nr_globs || p->is_in_tree ||
		   process_choice_has(&s->choice, p->pid, NULL)) {
		look_if_due(s, p, s->reader->clock(s->source, p->pid));
		rc = p->is_chosen ? read_values(s, p) : 0;
	}
	p->age++;
	if (rc || !p->is_chosen)
		return rc;
	add_grown(s, p);
	if (!p->has_number)
		p->number = s->nr_numbers++;
	p->has_number = true;
	note_trouble(s, p);
	s->nr_reopened += p->values.is_reopened;
	s->things[s->nr_things++] = p;
	return 0;
}

/* ---- all of them */

/* Room for nr in list, next and things. */
static int reserve(struct state *s, size_t nr)
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

static void drop_gone(struct state *s, struct process *p)
{
	retire(s, p);
	lose(s, p);
	drop(s, p);
}

/* The process of that number, listed from s->at on or new; NULL if out of memory. Drops those
 * before it, which have ended. */
static struct process *find_or_add(struct state *s, uint32_t pid)
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

/* A process may become the first one of a run after it was listed. */
static void mark_roots(struct state *s)
{
	const struct collect_tree *tree = s->choice.tree;

	for (size_t i = 0; tree && i < *tree->nr; i++) {
		struct process *p = find(s->list, s->nr, (uint32_t)(*tree->ids)[i]);

		if (p && !p->is_in_tree)
			put_in_tree(s, p);
	}
}

/* Visits the processes of these numbers, drops the others. 0 or -ENOMEM. */
static int visit_all(struct state *s, const uint32_t *pids, size_t nr)
{
	struct process **was = s->list;
	int rc = 0;

	mark_roots(s);
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
	struct state *s = arg;
	struct process *p;

	if (process_ended_finish(&s->ended, record))
		return;
	p = find(s->list, s->nr, record->pid);
	if (!p || !p->has_number || p->has_ended) {
		process_ended_add_new(&s->ended, record);
		return;
	}
	process_ended_set(s->ended.wanted, &record->sums, &p->values);
	add_grown(s, p);
	p->has_ended = true;
}

/* What has ended since the last reading, or since it was read in this one. */
static void read_ended(struct state *s)
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
static uint64_t sum_of_tree(const struct state *s, size_t field)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nr_things; i++)
		sum += with_waited(s->things[i], field);
	return sum;
}

static void read_rest(struct state *s, bool is_whole)
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
static int read_group(struct state *s)
{
	int rc = process_group_read(&s->group, s->choice.group);

	return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
}

static int process_read(void *state)
{
	struct state *s = state;
	/* if processes are chosen by number alone and all run, /proc need not be listed; an
	 * iterator reads them when it lists them */
	bool is_listed = s->is_by_tasks || s->choice.all || s->choice.tree ||
			 s->choice.group >= 0 || s->choice.nr_globs ||
			 s->nr_things != s->choice.nr_numbers;
	const uint32_t *pids;
	size_t nr;
	int rc = is_listed ? s->reader->list(s->source, &s->ids) : 0;

	if (rc == 0 && s->choice.group >= 0)
		rc = read_group(s);
	pids = is_listed ? s->ids.list : s->choice.numbers;
	nr = is_listed ? s->ids.nr : s->choice.nr_numbers;
	process_ended_begin(&s->ended);
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
	const struct state *s = state;

	return s->is_whole ? s->nr_things + process_ended_nr(&s->ended) + (s->rest_fields != 0) : 0;
}

static void get_values(const struct process_values *v, struct collect_thing *out)
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

static void get_gone(const struct process_gone *g, struct collect_thing *out)
{
	*out = (struct collect_thing){.number = g->number,
				      .name = g->name,
				      .born_ns = g->born_ns,
				      .has_ended = g->is_final && g->pid};
	get_values(&g->values, out);
}

static void get_rest(const struct state *s, struct collect_thing *out)
{
	*out = (struct collect_thing){
	    .number = s->rest_number,
	    .name = "exited and unattributed",
	    .time_ns = s->rest[PROCESS_CPU_TIME].time_ns,
	    .has = s->rest_fields,
	    .values = s->rest_raw,
	    .is_rest = s->is_rest_whole,
	};
}

static void process_get(const void *state, size_t i, struct collect_thing *out)
{
	const struct state *s = state;
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

	*out = (struct collect_thing){
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
	struct state *s = state;

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
static int check_numbers(struct state *s, struct err *e)
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
		add_absent(s, "%" PRIu32, s->choice.numbers[i]);
		nr_absent++;
	}
	if (!nr_absent || nr_absent < s->choice.nr_numbers || s->choice.nr_globs || s->choice.all)
		return 0;
	return err_set(e, -ENOENT, "pids: there is no process %s", buf_str(&s->absent));
}

static void open_rest(struct state *s)
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

static int open_source(struct state *s, const struct root *root, const struct collect_choice *words,
		       uint32_t wanted, struct err *e)
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

static int process_open(const struct root *root, const struct collect_choice *choice,
			uint32_t wanted, void **state, struct err *e)
{
	struct state *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->root = *root;
	s->reader = &process_proc_reader;
	s->rest[PROCESS_CPU_TIME].fd = s->choice.group = -1;
	buf_init(&s->absent, NOTE_BYTES);
	buf_init(&s->text, NOTE_BYTES);
	rc = open_source(s, root, choice, wanted & ((1u << PROCESS_NR_FIELDS) - 1), e);
	if (rc)
		process_close(s);
	else
		*state = s;
	return rc;
}

/* Why /proc is read. */
static int refuse_tasks(const struct state *s, struct err *why)
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
	struct state *s = state;
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
	const struct state *s = state;
	bool is_by_tasks = s->is_by_tasks && process_tasks_by(s->source) & 1u << field;

	return is_by_tasks ? "BPF: iterator over tasks" : NULL;
}

static int process_follow(void *state, struct err *why)
{
	struct state *s = state;
	struct process_ended *d = &s->ended;
	const struct collect_tree *tree = s->choice.tree;
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
	struct state *s = state;

	s->ended.is_next = true;
	for (size_t i = 0; i < s->nr_things; i++)
		s->things[i]->is_of_before = s->things[i]->has_ended;
}

static void process_settle(const void *state)
{
	const struct state *s = state;

	if (s->ended.exits)
		exits_settle();
}

const struct collect_many_source collect_process_source = {
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
    .note = process_note,
};
