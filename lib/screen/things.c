/*
 * Things (disks, processes …) as text: a table for each kind, the most active things first, as
 * rates and shares of time.
 */
#include "screen/things.h"
#include "base/mem.h"
#include "screen/number.h"
#include "screen/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_WIDTH = 24,
	COLUMN_WIDTH = 11,
	STATE_WIDTH = 13 /* "no permission" */,
	SHORT_WIDTH = 17 /* "100.0 % (partial)" */,
};

/* Of an event's name: "disk" of disk_read_bytes. */
static size_t prefix_len(const char *name)
{
	const char *end = strchr(name, '_');

	return end ? (size_t)(end - name) : strlen(name);
}

/* Names of misc begin with their kind, and so do those of gpu that are not of the GPUs themselves.
 */
static bool has_prefix(const struct table_column *c)
{
	return strcmp(c->group, "gpu") != 0 || strncmp(c->name, "engine_", 7) == 0 ||
	       strncmp(c->name, "process_", 8) == 0;
}

static const char *kind_of(const struct table_column *c, size_t *len)
{
	*len = has_prefix(c) ? prefix_len(c->name) : strlen(c->group);
	return has_prefix(c) ? c->name : c->group;
}

static bool is_of_kind(const struct table *t, size_t column, size_t first)
{
	size_t len, of_len;
	const char *kind = kind_of(&t->columns[column], &len);
	const char *of = kind_of(&t->columns[first], &of_len);

	return t->columns[column].scope == EVENT_SCOPE_THINGS && len == of_len &&
	       memcmp(kind, of, len) == 0;
}

static int by_name(const void *a, const void *b)
{
	const struct table_thing *x = *(const struct table_thing *const *)a;
	const struct table_thing *y = *(const struct table_thing *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->column < y->column ? -1 : x->column > y->column;
}

/* The most active first, those without a first number last; then by name. */
static int by_weight(const void *a, const void *b)
{
	const struct screen_thing *x = a, *y = b;

	if ((x->missing == CELL_NONE) != (y->missing == CELL_NONE))
		return x->missing == CELL_NONE ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp((*x->first)->name, (*y->first)->name);
}

/* Makes a line of all numbers of a thing, which are consecutive. */
static size_t make_lines(const struct screen_kind *k, const struct table_thing *const *things,
			 size_t nr, struct screen_thing *out)
{
	size_t nr_lines = 0;

	for (size_t i = 0, end; i < nr; i = end) {
		const struct table_thing *first = things[i];
		struct screen_thing *line = &out[nr_lines++];

		for (end = i + 1; end < nr && strcmp(first->name, things[end]->name) == 0;)
			end++;
		*line = (struct screen_thing){
		    .first = &things[i],
		    .nr = end - i,
		    .missing = cell_has_value(&first->cell) ? CELL_NONE : first->cell.state};
		if (first->column == k->column[0]) /* as shown */
			line->weight = k->t->columns[first->column].kind == EVENT_VALUE
					   ? first->cell.value
					   : cell_rate(&first->cell);
	}
	qsort(out, nr_lines, sizeof(*out), by_weight);
	return nr_lines;
}

const char *screen_kind_heading(const struct screen_kind *k, size_t i)
{
	const struct table_column *c = &k->t->columns[k->column[i]];
	size_t len = has_prefix(c) ? prefix_len(c->name) : 0, group = strlen(c->group);
	bool has_group = strncmp(c->label, c->group, group) == 0 && c->label[group] == ':';

	if (strcmp(has_group ? c->label + group + 1 : c->label, c->name) != 0)
		return c->label;
	return len && c->name[len] ? c->name + len + 1 : c->name;
}

unsigned screen_kind_width(const struct screen_kind *k, size_t i)
{
	unsigned width = screen_width(screen_kind_heading(k, i));
	const struct cell *sum = table_cell(k->t, 0, k->column[i]);
	unsigned least = sum->is_short ? SHORT_WIDTH : sum->nr_without ? STATE_WIDTH : COLUMN_WIDTH;

	return width < least ? least : width;
}

bool screen_kind_next(const struct table *t, size_t *i, struct screen_kind *out)
{
	while (*i < t->nr_events) {
		size_t first = (*i)++, before = 0;

		if (t->columns[first].scope != EVENT_SCOPE_THINGS)
			continue;
		while (before < first && !is_of_kind(t, before, first))
			before++;
		if (before < first)
			continue;
		*out = (struct screen_kind){.t = t};
		out->name = kind_of(&t->columns[first], &out->name_len);
		for (size_t k = first;
		     k < t->nr_events && out->nr_columns < SCREEN_KIND_MAX_COLUMNS; k++)
			if (is_of_kind(t, k, first))
				out->column[out->nr_columns++] = k;
		return true;
	}
	return false;
}

int screen_things_find(const struct screen_kind *k, struct screen_things *out)
{
	const struct table_thing **cells = mem_calloc(k->t->nr_things + 1, sizeof(*cells));
	struct screen_thing *item = mem_calloc(k->t->nr_things + 1, sizeof(*item));
	size_t nr = 0;

	if (!cells || !item) {
		mem_free(cells);
		mem_free(item);
		return -ENOMEM;
	}
	for (size_t i = 0; i < k->t->nr_things; i++)
		if (is_of_kind(k->t, k->t->things[i].column, k->column[0]))
			cells[nr++] = &k->t->things[i];
	qsort(cells, nr, sizeof(*cells), by_name);
	*out = (struct screen_things){cells, item, make_lines(k, cells, nr, item)};
	return 0;
}

void screen_things_drop(struct screen_things *things)
{
	mem_free(things->cells);
	mem_free(things->item);
}

const struct cell *screen_thing_find(const struct screen_kind *k, const struct screen_thing *thing,
				     size_t i)
{
	for (size_t n = 0; n < thing->nr; n++)
		if (thing->first[n]->column == k->column[i])
			return &thing->first[n]->cell;
	return NULL;
}

void screen_thing_cell(const struct screen_kind *k, const struct screen_thing *thing, size_t i,
		       struct buf *out)
{
	const struct table_column *c = &k->t->columns[k->column[i]];
	const struct cell *cell = screen_thing_find(k, thing, i);

	if (cell)
		screen_cell_human(out, c->kind, c->unit, cell);
}

/* The first NAME_WIDTH characters. */
static void add_name(struct buf *out, const char *name, size_t len)
{
	size_t end = 0;

	for (size_t width = 0; end < len && width < NAME_WIDTH; width++)
		do
			end++;
		while (end < len && (name[end] & 0xc0) == 0x80);
	buf_add(out, name, end);
}

/* "and 101 more (96: no permission)" */
static void put_rest(const struct screen_thing *lines, size_t nr, struct buf *out)
{
	enum cell_state why = lines[nr - 1].missing;
	size_t nr_missing = 0;

	for (size_t i = 0; i < nr; i++)
		nr_missing += why != CELL_NONE && lines[i].missing == why;
	buf_adds(out, "and ");
	buf_u64(out, nr);
	buf_adds(out, " more");
	if (nr_missing) {
		buf_adds(out, " (");
		if (nr_missing < nr) {
			buf_u64(out, nr_missing);
			buf_adds(out, ": ");
		}
		buf_adds(out, cell_state_name(why));
		buf_addc(out, ')');
	}
	buf_addc(out, '\n');
}

static bool find_number(const struct screen_kind *k, const struct screen_thing *thing, size_t i,
			double *out)
{
	const struct table_column *c = &k->t->columns[k->column[i]];
	const struct cell *cell = screen_thing_find(k, thing, i);

	return cell && unit_number(c->kind, c->unit, cell, out);
}

struct order {
	const struct screen_kind *kind;
	size_t column;
	bool is_up;
};

static int by_number(const void *a, const void *b, void *arg)
{
	const struct screen_thing *x = a, *y = b;
	const struct order *o = arg;
	double n = 0, other = 0;
	bool has = find_number(o->kind, x, o->column, &n);

	if (has != find_number(o->kind, y, o->column, &other))
		return has ? -1 : 1;
	if (n != other)
		return (n < other) == o->is_up ? -1 : 1;
	return strcmp((*x->first)->name, (*y->first)->name);
}

void screen_things_sort(const struct screen_kind *k, struct screen_things *things, size_t i,
			bool is_up)
{
	qsort_r(things->item, things->nr, sizeof(*things->item), by_number,
		&(struct order){k, i, is_up});
}

/* Of a column, for its colours; of what is a percentage 100; of one number 0. */
static double largest(const struct screen_kind *k, const struct screen_thing *lines, size_t nr,
		      size_t i)
{
	const struct table_column *c = &k->t->columns[k->column[i]];
	double max = 0, x;
	size_t nr_numbers = 0;

	if (unit_is_percent(c->kind, c->unit))
		return 100;
	for (size_t n = 0; n < nr; n++) {
		if (!find_number(k, &lines[n], i, &x))
			continue;
		max = x > max ? x : max;
		nr_numbers++;
	}
	return nr_numbers > 1 ? max : 0;
}

static void put_lines(const struct screen_state *s, const struct screen_kind *k,
		      const struct screen_thing *lines, size_t nr, struct buf *out)
{
	size_t shown =
	    s->options.nr_things && nr > s->options.nr_things ? s->options.nr_things : nr;
	struct layout_column columns[1 + SCREEN_KIND_MAX_COLUMNS] = {
	    {.width = NAME_WIDTH, .is_left = true, .is_fixed = true}};
	double max[SCREEN_KIND_MAX_COLUMNS], x;
	struct layout l;

	layout_init(&l, columns, 1 + k->nr_columns);
	l.has_color = s->options.has_color;
	layout_row(&l);
	add_name(&l.text, k->name, k->name_len);
	layout_cell(&l, 0);
	for (size_t i = 0; i < k->nr_columns; i++) {
		columns[1 + i] = (struct layout_column){
		    .width = screen_kind_width(k, i), .gap = 1, .is_fixed = true};
		layout_text(&l, 1 + i, screen_kind_heading(k, i));
		max[i] = largest(k, lines, shown, i);
	}
	for (size_t n = 0; n < shown; n++) {
		const char *name = (*lines[n].first)->name;

		layout_row(&l);
		add_name(&l.text, name, strlen(name));
		layout_cell(&l, 0);
		for (size_t i = 0; i < k->nr_columns; i++) {
			screen_thing_cell(k, &lines[n], i, &l.text);
			layout_cell(&l, 1 + i);
			if (find_number(k, &lines[n], i, &x))
				layout_heat(&l, x, max[i]);
		}
	}
	layout_write_blocks(&l, screen_columns(s->options.width), out);
	layout_fini(&l);
	if (shown < nr)
		put_rest(lines + shown, nr - shown, out);
}

/* False if there are things, of which none can have the event's number. */
static bool is_supported(const struct table *t, size_t column)
{
	bool is_unsupported = false;

	for (size_t i = 0; i < t->nr_things; i++) {
		if (t->things[i].column != column)
			continue;
		if (t->things[i].cell.state != CELL_NOT_SUPPORTED)
			return true;
		is_unsupported = true;
	}
	return !is_unsupported;
}

/* What no thing has is in the line of sums, once. */
static void drop_unsupported(struct screen_kind *k)
{
	size_t nr = 0;

	for (size_t i = 0; i < k->nr_columns; i++)
		if (is_supported(k->t, k->column[i]))
			k->column[nr++] = k->column[i];
	k->nr_columns = nr ? nr : k->nr_columns;
}

void screen_things(const struct screen_state *s, const struct table *t, struct buf *out)
{
	struct screen_kind k;

	for (size_t i = 0; t->nr_things && screen_kind_next(t, &i, &k);) {
		struct screen_things things;

		drop_unsupported(&k);
		if (screen_things_find(&k, &things))
			continue;
		if (things.nr)
			put_lines(s, &k, things.item, things.nr, out);
		screen_things_drop(&things);
	}
}
