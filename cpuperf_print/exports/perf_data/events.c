/*
 * Attrs are written as opened, but all with id and CPU. An event that is only counted in the
 * samples of another (a sibling of a timebase) gets that event's layout: readers find its counts
 * there by id.
 */
#include "exports/perf_data/events.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_IDS = 4 << 20,
	MAX_FORMAT_BYTES = 256 << 10,
};

void events_init(struct events *x, const struct profile_facts *facts)
{
	*x = (struct events){.facts = facts,
			     .has_periods = ARRAY_ANY(ev, facts->events, facts->nr_events,
						      ev->flags & TRACE_EVENT_IS_DIVIDED)};
	dict_init(&x->ids, sizeof(struct events_id), DICT_KEY(struct events_id, id), MAX_IDS);
}

void events_fini(struct events *x)
{
	for (size_t i = 0; i < x->nr; i++)
		buf_fini(&x->one[i].format);
	mem_free(x->one);
	dict_fini(&x->ids);
	mem_free(x->group);
	mem_free(x->sorted);
	mem_free(x->list);
	*x = (struct events){0};
}

struct perf_layout events_layout(const struct events *x, const struct trace_layout *l)
{
	return (struct perf_layout){l->sample_type, l->read_format, l->has_sample_id,
				    l->is_wait || x->has_periods};
}

/* For "REC->name": numbers by size and sign, text as text. NULL: printf has no conversion. */
static const char *conversion(const struct profile_field *f)
{
	if (f->is_char)
		return "%s";
	if (f->is_array || f->is_placed || f->is_relative || f->size > 8)
		return NULL;
	if (f->size == 8)
		return f->is_signed ? "%lld" : "%llu";
	return f->is_signed ? "%d" : "%u";
}

static bool is_common(const struct profile_field *f)
{
	return f->name_len >= 7 && memcmp(f->name, "common_", 7) == 0;
}

static void put_argument(struct buf *b, const struct profile_field *f)
{
	const char *how = f->is_relative ? "__get_rel_str(" : f->is_placed ? "__get_str(" : "REC->";

	buf_adds(b, ", ");
	buf_adds(b, how);
	buf_add(b, f->name, f->name_len);
	buf_adds(b, how[0] == '_' ? ")" : "");
}

static void put_print_format(struct buf *b, const char *format)
{
	struct profile_field f;
	const char *at = format, *space = "";

	buf_adds(b, "\nprint fmt: \"");
	while (profile_field_next(&at, &f)) {
		if (is_common(&f) || !conversion(&f))
			continue;
		buf_adds(b, space);
		buf_add(b, f.name, f.name_len);
		buf_addc(b, '=');
		buf_adds(b, conversion(&f));
		space = " ";
	}
	buf_addc(b, '"');
	at = format;
	while (profile_field_next(&at, &f))
		if (!is_common(&f) && conversion(&f))
			put_argument(b, &f);
	buf_addc(b, '\n');
}

/* Lines of fields: the common ones, an empty line, the others. */
static void put_fields(struct buf *b, const char *format, bool of_common)
{
	struct profile_field f;
	const char *at = format;

	while (profile_field_next(&at, &f)) {
		const char *line;

		if (is_common(&f) != of_common)
			continue;
		line = f.name;
		while (line > format && line[-1] != '\n')
			line--;
		buf_add(b, line, strcspn(line, "\n"));
		buf_addc(b, '\n');
	}
	if (of_common)
		buf_addc(b, '\n');
}

/* A format file as in tracefs. */
static void put_format(struct buf *b, const struct trace_event *e, uint64_t number)
{
	const char *name = strchr(e->name, ':');

	buf_adds(b, "name: ");
	buf_adds(b, name ? name + 1 : e->name);
	buf_adds(b, "\nID: ");
	buf_u64(b, number);
	buf_adds(b, "\nformat:\n");
	put_fields(b, e->format, true);
	put_fields(b, e->format, false);
	put_print_format(b, e->format);
}

static int set_tracepoint(struct events_one *one, const struct trace_event *e,
			  const struct trace_layout *l)
{
	if (l->type != PERF_TYPE_TRACEPOINT)
		return 0;
	put_format(&one->format, e, l->config);
	one->out.tracepoint = e->name;
	one->out.tracepoint_id = l->config;
	return buf_error(&one->format);
}

/* Returns the place in the list; -ENOENT: the format cannot contain the event. of: the event whose
 * samples contain its counts; NULL: it has samples of its own. */
static int add_event(struct events *x, uint32_t event, uint32_t attr, const struct trace_layout *of)
{
	const struct trace_event *e = &x->facts->events[event];
	struct events_one *grown = mem_grow(x->one, x->nr, &x->room, sizeof(*grown)), *one;
	struct trace_layout own;
	struct perf_layout told;
	const uint8_t *p;
	uint32_t size;
	int rc;

	if (!grown)
		return -ENOMEM;
	x->one = grown;
	one = &x->one[x->nr];
	*one = (struct events_one){.event = event, .attr = attr};
	p = trace_layout_nth(e, attr, &size, &own);
	if (!p || (!of && !trace_layout_is_sampled(&own)))
		return -ENOENT;
	told = events_layout(x, of ? of : &own);
	told = perf_layout_written(&told);
	if (!perf_data_attr_init(&one->out.attr, p, size, told.sample_type, told.read_format))
		return -ENOENT;
	one->out.name = *e->label ? e->label : e->name;
	buf_init(&one->format, MAX_FORMAT_BYTES);
	rc = set_tracepoint(one, e, &own);
	if (rc) {
		buf_fini(&one->format);
		return rc == -EFBIG ? -ENOENT : rc;
	}
	x->has_branches |= (told.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
	return (int)x->nr++;
}

/* Linear search: a session has tens of events at most. */
static int find_event(const struct events *x, uint32_t event, uint32_t attr)
{
	for (size_t i = 0; i < x->nr; i++)
		if (x->one[i].event == event && x->one[i].attr == attr)
			return (int)i;
	return -ENOENT;
}

static int ensure_event(struct events *x, uint32_t event, uint32_t attr,
			const struct trace_layout *of)
{
	int i = find_event(x, event, attr);

	return i == -ENOENT && event < x->facts->nr_events ? add_event(x, event, attr, of) : i;
}

uint64_t events_id(const struct trace_id *id)
{
	return id->id ? id->id : EVENTS_ONLY_ID;
}

static bool is_known(const struct events *x, uint64_t id)
{
	return dict_find(&x->ids, &id) != DICT_NONE;
}

static int add_id(struct events *x, uint64_t id, uint32_t event)
{
	struct events_id *new;

	if (x->ids.nr == MAX_IDS || is_known(x, id))
		return 0;
	new = dict_get(&x->ids, &id);
	if (!new)
		return -ENOMEM;
	new->event = event;
	return 0;
}

static int add_group(struct events *x, uint32_t leader, uint32_t nr)
{
	struct perf_data_group *grown;

	if (nr < 2)
		return 0;
	for (size_t i = 0; i < x->nr_groups; i++)
		if (x->group[i].leader == leader)
			return 0;
	grown = mem_grow(x->group, x->nr_groups, &x->groups_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	x->group = grown;
	x->group[x->nr_groups++] = (struct perf_data_group){leader, nr};
	return 0;
}

static bool find_layout(const struct events *x, const struct trace_id *id, struct trace_layout *out)
{
	uint32_t size;

	return id->event < x->facts->nr_events &&
	       trace_layout_nth(&x->facts->events[id->event], id->attr, &size, out);
}

/* Adds the ids of one group. */
static int meet_group(struct events *x, const struct trace_id *ids, size_t nr)
{
	struct trace_layout leader = {0};
	bool is_read = find_layout(x, &ids[0], &leader) && leader.sample_type & PERF_SAMPLE_READ;
	size_t before = x->nr;
	int first = -ENOENT;

	for (size_t i = 0; i < nr; i++) {
		int place =
		    ensure_event(x, ids[i].event, ids[i].attr, is_read && i ? &leader : NULL);
		int rc = place < 0 ? place : add_id(x, events_id(&ids[i]), (uint32_t)place);

		if (rc == -ENOMEM)
			return rc;
		if (i == 0)
			first = place;
	}
	/* in perf.data the members of a group must be adjacent */
	if (!is_read || first < 0 || (size_t)first != before || x->nr - before != nr)
		return 0;
	return add_group(x, (uint32_t)first, (uint32_t)nr);
}

uint64_t events_count(struct events *x, uint64_t id, uint64_t count, bool is_left_out)
{
	struct events_id *one = dict_at(&x->ids, dict_find(&x->ids, &id));

	if (!one)
		return count;
	if (!is_left_out)
		one->told += count - one->count;
	one->count = count;
	return one->told;
}

uint64_t events_add(struct events *x, uint64_t id, uint64_t count)
{
	struct events_id *one = dict_at(&x->ids, dict_find(&x->ids, &id));

	return one ? one->told += count : count;
}

int events_meet(struct events *x, const struct profile_trace *t, const struct trace_id *id)
{
	size_t i = 0, end;
	int rc = 0;

	if (is_known(x, events_id(id)))
		return 0;
	for (; i < t->nr_ids && rc == 0; i = end) {
		for (end = i + 1; end < t->nr_ids && t->ids[end].group == t->ids[i].group;)
			end++;
		rc = meet_group(x, &t->ids[i], end - i);
	}
	return rc == 0 && !is_known(x, events_id(id)) ? meet_group(x, id, 1) : rc;
}

int events_meet_counted(struct events *x, const struct trace_id *id, const struct trace_layout *of)
{
	int place;

	if (is_known(x, events_id(id)))
		return 0;
	place = ensure_event(x, id->event, id->attr, of);
	if (place >= 0)
		place = add_id(x, events_id(id), (uint32_t)place);
	return place == -ENOMEM ? place : 0;
}

static int add_rest(struct events *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->facts->nr_events && rc != -ENOMEM; i++)
		for (uint32_t attr = 0; rc != -ENOMEM; attr++) {
			struct trace_layout l;
			struct trace_id id = {.event = i, .attr = attr};

			if (!find_layout(x, &id, &l))
				break;
			rc = ensure_event(x, i, attr, NULL);
		}
	return rc == -ENOMEM ? rc : 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct events_id *x = a, *y = b;

	return order_u64(x->event, y->event) ?: order_u64(x->id, y->id);
}

/* Lists events with their ids, and the side band's. */
static void fill_list(struct events *x)
{
	static const uint64_t side_band_id = EVENTS_SIDE_BAND_ID;
	struct perf_data_event *last = &x->list[x->nr];

	for (size_t i = 0; i < x->nr; i++) {
		x->list[i] = x->one[i].out;
		if (x->list[i].tracepoint)
			x->list[i].format = buf_str(&x->one[i].format);
	}
	for (size_t i = 0; i < x->ids.nr; i++) {
		const struct events_id *id = (const struct events_id *)x->ids.items + i;
		struct perf_data_event *e = &x->list[id->event];

		x->sorted[i] = id->id;
		if (!e->nr_ids++)
			e->ids = &x->sorted[i];
	}
	*last = (struct perf_data_event){.name = "dummy", .ids = &side_band_id, .nr_ids = 1};
	perf_data_attr_side_band(&last->attr);
}

int events_finish(struct events *x)
{
	int rc = add_rest(x);

	if (rc)
		return rc;
	x->sorted = mem_calloc(x->ids.nr + 1, sizeof(*x->sorted));
	x->list = mem_calloc(x->nr + 1, sizeof(*x->list));
	if (!x->sorted || !x->list)
		return -ENOMEM;
	if (x->ids.nr) /* ids are not looked up after this */
		qsort(x->ids.items, x->ids.nr, sizeof(struct events_id), compare_ids);
	fill_list(x);
	return 0;
}
