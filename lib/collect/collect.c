/*
 * Reads the collectors in use: files of many values, files of one, and sources of many things.
 * rows.c lists them.
 */
#include "collect/collect.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "collect/rows.h"
#include "collect/value_file.h"
#include "things/reread.h"

#include <errno.h>
#include <string.h>

/* One file in use. */
struct open_source {
	int fd;     /* -1: not in use, or it could not be opened */
	int status; /* of the last read: 0 or -errno */
	uint64_t time_ns;
	void *state, *next;    /* owned; of the last text that was read, and room for another */
	const char *decreased; /* a counter that did and is not noted yet */
	bool has_noted;
};

/* A source of many things in use, with one choice of things: for all events that share both. */
struct open_many {
	const struct things_source *source;
	const struct things_choice *choice;   /* borrowed from the first of its events */
	uint32_t wanted;                      /* bits of fields */
	const char *names[THINGS_MAX_FIELDS]; /* of a source whose fields have names */
	double scales[THINGS_MAX_FIELDS];
	uint64_t every_ns;
	void *state;    /* owned; NULL: it could not be opened */
	int status;     /* of open, or of the last read: 0 or -errno */
	bool is_due;    /* this reading reads it */
	struct err why; /* of open */
};

enum { NO_MANY = UINT32_MAX };

struct collect {
	struct root root;
	const struct event *events;
	size_t nr_events;
	uint32_t nr_cpus;
	struct buf text;
	struct open_source open[COLLECT_NR_SOURCES];
	struct value_files *values; /* by event, zeroes if it has none; owned */
	struct open_many *many;     /* owned */
	size_t nr_many;
	uint32_t *many_of;  /* by event: its index in many, or NO_MANY; owned */
	uint16_t *field_of; /* by event of many things: its field; owned */
};

/* More than /proc/stat of 8,192 CPUs and their interrupts. */
enum { MAX_TEXT_BYTES = 16 << 20 };

static size_t state_bytes(const struct collect *c, const struct collect_source *s)
{
	return s->state_bytes + (size_t)c->nr_cpus * s->cpu_bytes;
}

static int open_source(struct collect *c, size_t which)
{
	struct open_source *o = &c->open[which];

	if (o->state)
		return o->status;
	o->state = mem_zalloc(state_bytes(c, collect_sources[which]));
	o->next = mem_zalloc(state_bytes(c, collect_sources[which]));
	if (!o->state || !o->next)
		return -ENOMEM;
	o->fd = root_open(&c->root, collect_sources[which]->path);
	o->status = o->fd < 0 ? o->fd : 0;
	if (o->fd < 0)
		o->fd = -1;
	return o->status;
}

static bool is_per_cpu(const struct event_row *row)
{
	return row->scope == EVENT_SCOPE_CPU;
}

static int open_event(struct collect *c, size_t i)
{
	const struct event_row *row = c->events[i].row;

	if (row->missing)
		return -ENODEV;
	if (collect_is_many(&c->events[i]))
		return c->field_of[i] < THINGS_MAX_FIELDS ? c->many[c->many_of[i]].status : -E2BIG;
	if (row->collector < COLLECT_NR_SOURCES)
		return open_source(c, row->collector);
	return value_files_open(&c->root, row->source, row->field, is_per_cpu(row) ? c->nr_cpus : 0,
				&c->values[i]);
}

static uint32_t count_possible_cpus(const struct root *root)
{
	struct cpuset set;
	BUF_AUTO(text, 65536);
	uint32_t nr = 0;

	if (root_load(root, "/sys/devices/system/cpu/possible", &text) == 0 &&
	    cpuset_parse(buf_str(&text), text.len, &set) == 0)
		for (int cpu = cpuset_next(&set, 0); cpu >= 0; cpu = cpuset_next(&set, nr))
			nr = (uint32_t)cpu + 1;
	return nr ? nr : CPUSET_MAX_CPU;
}

static bool same_choice(const struct things_choice *a, const struct things_choice *b)
{
	if (a->nr != b->nr || a->tree != b->tree)
		return false;
	for (size_t i = 0; i < a->nr; i++)
		if (strcmp(a->words[i], b->words[i]) != 0)
			return false;
	return true;
}

/* The event's field: of its row, or the place of its name among those of the source.
 * THINGS_MAX_FIELDS: there are too many. */
static uint16_t add_field(struct open_many *m, const struct event_row *row)
{
	uint16_t f = 0;

	if (!m->source->open_named)
		return row->field;
	while (f < THINGS_MAX_FIELDS && m->names[f] && strcmp(m->names[f], row->source) != 0)
		f++;
	if (f < THINGS_MAX_FIELDS) {
		m->names[f] = row->source;
		m->scales[f] = row->scale;
	}
	return f;
}

/* Events of one source and one choice share an open_many, and with it the numbers of things. */
static void add_to_many(struct collect *c, size_t i, const struct things_choice *choice)
{
	const struct event_row *row = c->events[i].row;
	const struct things_source *source = collect_many_sources[row->collector - COLLECT_MANY];
	size_t k = 0;

	while (k < c->nr_many &&
	       (c->many[k].source != source || !same_choice(c->many[k].choice, choice)))
		k++;
	if (k == c->nr_many)
		c->many[c->nr_many++] = (struct open_many){.source = source, .choice = choice};
	c->many_of[i] = (uint32_t)k;
	c->field_of[i] = add_field(&c->many[k], row);
	if (c->field_of[i] < THINGS_MAX_FIELDS)
		c->many[k].wanted |= 1u << c->field_of[i];
	if (choice->every_ns && (!c->many[k].every_ns || choice->every_ns < c->many[k].every_ns))
		c->many[k].every_ns = choice->every_ns;
}

static int open_one_of_many(const struct collect *c, struct open_many *m)
{
	struct things_named named = {.names = m->names,
				     .scales = m->scales,
				     .every_ns = m->every_ns ? m->every_ns : m->source->every_ns};

	if (!m->source->open_named)
		return m->source->open(&c->root, m->choice, m->wanted, &m->state, &m->why);
	while (named.nr < THINGS_MAX_FIELDS && m->names[named.nr])
		named.nr++;
	return m->source->open_named(&c->root, m->choice, &named, &m->state, &m->why);
}

/* With the first one that reads the same. */
static void join_many(struct collect *c, size_t k)
{
	struct open_many *m = &c->many[k];

	for (size_t j = 0; j < k && m->state && m->source->join; j++)
		if (c->many[j].state && c->many[j].source->join == m->source->join) {
			m->source->join(m->state, c->many[j].state);
			return;
		}
}

static int open_many(struct collect *c, const struct things_choice *choices)
{
	static const struct things_choice everything;

	for (size_t i = 0; i < c->nr_events; i++) {
		c->many_of[i] = NO_MANY;
		if (collect_is_many(&c->events[i]) && !c->events[i].row->missing)
			add_to_many(c, i, choices ? &choices[i] : &everything);
	}
	for (size_t k = 0; k < c->nr_many; k++) {
		struct open_many *m = &c->many[k];

		m->status = open_one_of_many(c, m);
		if (m->status == -ENOMEM)
			return -ENOMEM;
		join_many(c, k);
	}
	return 0;
}

static struct collect *collect_new(const struct root *root, const struct event *events, size_t nr)
{
	struct collect *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	buf_init(&c->text, MAX_TEXT_BYTES);
	for (size_t i = 0; i < COLLECT_NR_SOURCES; i++)
		c->open[i].fd = -1;
	c->root = *root;
	c->events = events;
	c->values = mem_calloc(nr ? nr : 1, sizeof(*c->values));
	c->many = mem_calloc(nr ? nr : 1, sizeof(*c->many));
	c->many_of = mem_calloc(nr ? nr : 1, sizeof(*c->many_of));
	c->field_of = mem_calloc(nr ? nr : 1, sizeof(*c->field_of));
	if (!c->values || !c->many || !c->many_of || !c->field_of) {
		collect_close(c);
		return NULL;
	}
	c->nr_events = nr;
	if (nr)
		c->nr_cpus = count_possible_cpus(root);
	return c;
}

int collect_open(const struct root *root, const struct event *events,
		 const struct things_choice *choices, size_t nr, struct collect **out, int *states)
{
	struct collect *c = collect_new(root, events, nr);
	int rc;

	if (!c)
		return -ENOMEM;
	rc = open_many(c, choices);
	for (size_t i = 0; i < nr && rc == 0; i++) {
		states[i] = open_event(c, i);
		if (states[i] == -ENOMEM)
			rc = -ENOMEM;
	}
	if (rc)
		collect_close(c);
	else
		*out = c;
	return rc;
}

void collect_close(struct collect *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < COLLECT_NR_SOURCES; i++) {
		io_close(&c->open[i].fd);
		mem_free(c->open[i].state);
		mem_free(c->open[i].next);
	}
	for (size_t i = 0; i < c->nr_events; i++)
		value_files_close(&c->values[i]);
	for (size_t k = 0; k < c->nr_many; k++)
		if (c->many[k].state)
			c->many[k].source->close(c->many[k].state);
	mem_free(c->values);
	mem_free(c->many);
	mem_free(c->many_of);
	mem_free(c->field_of);
	buf_fini(&c->text);
	mem_free(c);
}

static void read_source(struct collect *c, size_t which)
{
	const struct collect_source *source = collect_sources[which];
	struct open_source *o = &c->open[which];
	void *before = o->state;

	if (o->fd < 0)
		return;
	o->status = reread(o->fd, false, &c->text);
	o->time_ns = clock_monotonic_ns();
	memset(o->next, 0, state_bytes(c, source));
	if (o->status == 0)
		o->status = source->parse(buf_str(&c->text), c->text.len, o->next, c->nr_cpus);
	if (o->status)
		return;
	if (source->hold)
		o->decreased = source->hold(o->next, before, c->nr_cpus) ?: o->decreased;
	o->state = o->next;
	o->next = before;
}

/* Those that are due. */
static void read_many(struct collect *c)
{
	for (size_t k = 0; k < c->nr_many; k++)
		if (c->many[k].is_due && c->many[k].state && c->many[k].source->begin)
			c->many[k].source->begin(c->many[k].state);
	for (size_t k = 0; k < c->nr_many; k++)
		if (c->many[k].is_due && c->many[k].state)
			c->many[k].status = c->many[k].source->read(c->many[k].state);
}

void collect_read(struct collect *c)
{
	for (size_t i = 0; i < COLLECT_NR_SOURCES; i++)
		read_source(c, i);
	for (size_t i = 0; i < c->nr_events; i++)
		value_files_read(&c->values[i]);
	for (size_t k = 0; k < c->nr_many; k++)
		c->many[k].is_due = true;
	read_many(c);
}

void collect_read_some(struct collect *c, const bool *is_wanted)
{
	bool is_read[COLLECT_NR_SOURCES] = {false};

	for (size_t k = 0; k < c->nr_many; k++)
		c->many[k].is_due = false;
	for (size_t i = 0; i < c->nr_events; i++) {
		const uint16_t source = c->events[i].row->collector;

		if (!is_wanted[i] || c->events[i].row->missing)
			continue;
		if (c->many_of[i] != NO_MANY) {
			c->many[c->many_of[i]].is_due = true;
		} else if (source >= COLLECT_NR_SOURCES) {
			value_files_read(&c->values[i]);
		} else if (!is_read[source]) {
			is_read[source] = true;
			read_source(c, source);
		}
	}
	read_many(c);
}

int collect_use_kernel(struct collect *c, struct err *why)
{
	int rc = -ENODATA;

	for (size_t k = 0; k < c->nr_many; k++) {
		const struct open_many *m = &c->many[k];

		if (m->state && m->source->use_kernel)
			rc = m->source->use_kernel(m->state, why);
	}
	return rc;
}

const char *collect_way(const struct collect *c, size_t i)
{
	uint32_t k = c->many_of[i];
	const struct open_many *m = k == NO_MANY ? NULL : &c->many[k];

	return m && m->state && m->source->way ? m->source->way(m->state, c->field_of[i]) : NULL;
}

int collect_follow(struct collect *c, struct err *why)
{
	int rc = -ENODATA;

	for (size_t k = 0; k < c->nr_many; k++) {
		const struct open_many *m = &c->many[k];

		if (m->state && m->source->follow)
			rc = m->source->follow(m->state, why);
	}
	return rc;
}

void collect_next(struct collect *c)
{
	for (size_t k = 0; k < c->nr_many; k++) {
		const struct open_many *m = &c->many[k];

		if (m->state && m->source->next)
			m->source->next(m->state);
	}
}

void collect_settle(const struct collect *c)
{
	for (size_t k = 0; k < c->nr_many; k++)
		if (c->many[k].state && c->many[k].source->settle)
			c->many[k].source->settle(c->many[k].state);
}

static void get_from_source(const struct collect *c, const struct event_row *row, uint32_t cpu,
			    struct reading *out)
{
	const struct open_source *o = &c->open[row->collector];
	bool per_cpu = is_per_cpu(row);
	struct collect_value v = {0};

	out->state = READING_FAILED;
	out->time_ns = o->time_ns;
	out->raw = out->base = 0;
	if (o->fd < 0 || o->status || (per_cpu && cpu >= c->nr_cpus))
		return;
	if (!collect_sources[row->collector]->get(o->state, row->field, per_cpu ? cpu : 0, &v)) {
		/* an offline CPU has no line in /proc/stat */
		out->state = per_cpu ? READING_NONE : READING_FAILED;
		return;
	}
	out->state = READING_OK;
	out->raw = v.raw;
	out->base = v.base;
}

void collect_get(const struct collect *c, size_t i, uint32_t cpu, struct reading *out)
{
	const struct event_row *row = c->events[i].row;
	uint32_t k = c->many_of[i];

	if (collect_is_many(&c->events[i])) { /* its things have the readings */
		bool is_read = k != NO_MANY && c->many[k].state && !c->many[k].status;

		out->state = is_read ? READING_NONE : READING_FAILED;
		out->raw = out->base = 0;
	} else if (row->collector < COLLECT_NR_SOURCES && !row->missing)
		get_from_source(c, row, cpu, out);
	else
		value_files_get(&c->values[i], is_per_cpu(row) ? cpu : 0, out);
}

/* The whole of a share; of a counter, how often something ended unread. */
static uint64_t base_of_field(const struct things_one *thing, uint16_t field)
{
	if (thing->shares >> field & 1)
		return thing->wholes[field];
	return thing->missed >> field & 1 ? thing->nr_missed : 0;
}

static enum reading_state state_of_field(const struct things_one *thing, uint16_t field)
{
	const struct {
		uint32_t fields;
		enum reading_state state;
	} states[] = {{thing->has, READING_OK},
		      {thing->denied, READING_NO_PERMISSION},
		      {thing->absent, READING_NOT_SUPPORTED},
		      {thing->failed, READING_FAILED}};

	for (size_t k = 0; k < sizeof(states) / sizeof(states[0]); k++)
		if (states[k].fields >> field & 1)
			return states[k].state;
	return READING_NONE;
}

/* The best status that the event's field has among all things of its source. */
static int status_of_many(const struct collect *c, size_t i)
{
	static const struct {
		enum reading_state state;
		int status;
	} order[] = {{READING_OK, 0}, {READING_NO_PERMISSION, -EACCES}, {READING_FAILED, -EIO}};
	const struct open_many *m = &c->many[c->many_of[i]];
	size_t nr = collect_nr_things(c, c->many_of[i]), best = sizeof(order) / sizeof(order[0]);
	struct things_one thing;

	if (m->status)
		return m->status;
	if (nr == 0 && (m->choice->nr || m->source->may_be_none))
		return 0;
	for (size_t k = 0; k < nr && best; k++) {
		enum reading_state state;

		collect_get_thing(c, c->many_of[i], k, &thing);
		state = state_of_field(&thing, c->field_of[i]);
		for (size_t o = 0; o < best; o++)
			if (order[o].state == state)
				best = o;
	}
	return best < sizeof(order) / sizeof(order[0]) ? order[best].status : -ENODATA;
}

int collect_status(const struct collect *c, size_t i)
{
	const struct event_row *row = c->events[i].row;
	struct reading r = {.state = READING_FAILED};

	if (collect_is_many(&c->events[i]))
		return status_of_many(c, i);
	for (uint32_t cpu = 0; cpu < (is_per_cpu(row) ? c->nr_cpus : 1); cpu++) {
		collect_get(c, i, cpu, &r);
		if (r.state == READING_OK)
			return 0;
	}
	if (row->collector < COLLECT_NR_SOURCES)
		return c->open[row->collector].status ?: -ENODATA;
	return value_files_status(&c->values[i]) ?: -ENODATA;
}

bool collect_is_many(const struct event *ev)
{
	uint16_t k = ev->row->collector;

	return !event_is_perf(ev) && k >= COLLECT_MANY && k < COLLECT_MANY + COLLECT_NR_MANY;
}

const struct err *collect_why(const struct collect *c, size_t i)
{
	uint32_t k = c->many_of[i];

	return k == NO_MANY || !c->many[k].why.code ? NULL : &c->many[k].why;
}

uint32_t collect_set(const struct collect *c, size_t i)
{
	return c->many_of[i];
}

uint32_t collect_nr_sets(const struct collect *c)
{
	return (uint32_t)c->nr_many;
}

size_t collect_nr_things(const struct collect *c, uint32_t set)
{
	const struct open_many *m = &c->many[set];

	return m->state && m->status == 0 ? m->source->nr(m->state) : 0;
}

void collect_get_thing(const struct collect *c, uint32_t set, size_t k, struct things_one *out)
{
	c->many[set].source->get(c->many[set].state, k, out);
}

bool collect_get_of_thing(const struct collect *c, size_t i, const struct things_one *thing,
			  struct reading *out)
{
	uint16_t field = c->field_of[i];
	enum reading_state state =
	    field < THINGS_MAX_FIELDS ? state_of_field(thing, field) : READING_FAILED;

	if (state == READING_NONE)
		return false;
	*out = (struct reading){.instance = thing->number,
				.state = state,
				.time_ns = thing->time_ns,
				.raw = state == READING_OK ? thing->values[field] : 0,
				.base = base_of_field(thing, field)};
	return true;
}

uint64_t collect_every_ns(const struct collect *c, uint32_t set)
{
	const struct open_many *m = &c->many[set];

	return m->every_ns ? m->every_ns : m->source->every_ns;
}

bool collect_has_samples(const struct collect *c, uint32_t set)
{
	return c->many[set].state && c->many[set].source->sample;
}

void collect_flush(struct collect *c)
{
	for (size_t k = 0; k < c->nr_many; k++)
		if (c->many[k].state && c->many[k].source->flush)
			c->many[k].source->flush(c->many[k].state);
}

bool collect_sample(struct collect *c, uint32_t set, uint64_t until_ns, struct things_sample *out)
{
	return c->many[set].source->sample(c->many[set].state, until_ns, out);
}

bool collect_clock(struct collect *c, uint32_t set, uint64_t until_ns, struct things_clock *out)
{
	return c->many[set].source->clock(c->many[set].state, until_ns, out);
}

bool collect_get_of_sample(const struct collect *c, size_t i, const struct things_sample *sample,
			   struct reading *out)
{
	uint16_t field = c->field_of[i];

	if (field >= THINGS_MAX_FIELDS || !(sample->has >> field & 1))
		return false;
	*out = (struct reading){.instance = sample->number,
				.state = READING_OK,
				.flags = READING_OLD,
				.time_ns = sample->time_ns,
				.raw = sample->values[field]};
	return true;
}

/* Its text replaces that of the last file read. */
static const char *note_decrease(struct collect *c)
{
	for (size_t i = 0; i < COLLECT_NR_SOURCES; i++) {
		struct open_source *o = &c->open[i];

		if (!o->decreased || o->has_noted)
			continue;
		o->has_noted = true;
		buf_reset(&c->text);
		buf_printf(&c->text, "%s: %s decreased: counted as 0 whenever it does",
			   collect_sources[i]->path, o->decreased);
		return buf_str(&c->text);
	}
	return NULL;
}

const char *collect_note(struct collect *c)
{
	const char *decrease = note_decrease(c);

	if (decrease)
		return decrease;
	for (size_t k = 0; k < c->nr_many; k++) {
		const char *note =
		    c->many[k].state ? c->many[k].source->note(c->many[k].state) : NULL;

		if (note)
			return note;
	}
	return NULL;
}
