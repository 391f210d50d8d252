/*
 * The report memory: what the processes of a target have mapped, by kind and object.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "memory_maps.h"
#include "numbers.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_FOR_PEOPLE = 20, LINE_BYTES = 512, CELL_BYTES = 64, UNKNOWN = MAPPING_NR_KINDS };

struct report {
	struct job *j;
	struct memory_maps maps;
	struct memory_at kinds[UNKNOWN + 1][MEMORY_NR_MOMENTS];
	uint64_t nr_rows[UNKNOWN + 1];
	bool has_swapped, has_huge;
};

/* What a row has at a moment, in the order of the columns. */
static const struct {
	const char *name;
	size_t offset;
} amounts[] = {
    {"mappings", offsetof(struct memory_at, nr)},
    {"size", offsetof(struct memory_at, sums.size)},
    {"resident", offsetof(struct memory_at, sums.resident)},
    {"proportional", offsetof(struct memory_at, sums.proportional)},
    {"dirty", offsetof(struct memory_at, sums.dirty)},
    {"swapped", offsetof(struct memory_at, sums.swapped)},
    {"huge", offsetof(struct memory_at, sums.huge)},
};

static uint64_t amount(const struct memory_at *at, size_t i)
{
	uint64_t v;

	memcpy(&v, (const char *)at + amounts[i].offset, sizeof(v));
	return v;
}

#define MACHINES(name, unit)                                                                       \
	{name "_begin", NULL, unit, GRID_AMOUNT, GRID_ONLY_MACHINES},                              \
	    {name "_peak", NULL, unit, GRID_AMOUNT, GRID_ONLY_MACHINES},                           \
	    {name "_end", NULL, unit, GRID_AMOUNT, GRID_ONLY_MACHINES},                            \
	{                                                                                          \
		name "_change", NULL, unit, GRID_INTEGER, GRID_ONLY_MACHINES                       \
	}

static const struct grid_column columns[] = {
    {"memory", NULL, NULL, GRID_TEXT, GRID_ONLY_PEOPLE},
    {"begin", NULL, "B", GRID_AMOUNT, GRID_ONLY_PEOPLE},
    {"peak", NULL, "B", GRID_AMOUNT, GRID_ONLY_PEOPLE},
    {"end", NULL, "B", GRID_AMOUNT, GRID_ONLY_PEOPLE},
    {"change", NULL, NULL, GRID_TEXT, GRID_ONLY_PEOPLE, 2},
    {"size", NULL, "B", GRID_AMOUNT, GRID_ONLY_PEOPLE},
    {"dirty", NULL, "B", GRID_AMOUNT, GRID_ONLY_PEOPLE},
    {"swapped", NULL, "B", GRID_AMOUNT, GRID_ONLY_PEOPLE},
    {"huge", NULL, "B", GRID_AMOUNT, GRID_ONLY_PEOPLE},
    {"mappings", NULL, NULL, GRID_COUNT, GRID_ONLY_PEOPLE, 1},
    {"kind", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    MACHINES("mappings", ""),
    MACHINES("size", "B"),
    MACHINES("resident", "B"),
    MACHINES("proportional", "B"),
    MACHINES("dirty", "B"),
    MACHINES("swapped", "B"),
    MACHINES("huge", "B"),
};

/* --- sums */

static void add_kinds(struct report *r)
{
	for (uint32_t i = 0; i < r->maps.rows.nr; i++) {
		const struct memory_maps_row *row = dict_at(&r->maps.rows, i);

		r->nr_rows[row->kind]++;
		for (int m = 0; m < MEMORY_NR_MOMENTS; m++)
			memory_at_add(&r->kinds[row->kind][m], &row->at[m]);
	}
	for (int m = 0; m < MEMORY_NR_MOMENTS; m++) {
		r->has_swapped |= r->maps.all[m].sums.swapped != 0;
		r->has_huge |= r->maps.all[m].sums.huge != 0;
	}
}

/* --- rows */

/* For people, who see kinds too, a row of its own would say nothing new: of the heap, say. */
static bool is_shown(const struct report *r, const struct memory_maps_row *row)
{
	return r->j->output->form != GRID_PEOPLE || r->nr_rows[row->kind] > 1 ||
	       (*row->object && *row->object != '[');
}

/* NULL without memory. */
static const struct memory_maps_row **select_rows(const struct report *r, size_t *nr)
{
	const struct memory_maps_row **rows = memory_maps_sorted(&r->maps);

	*nr = 0;
	for (uint32_t i = 0; rows && i < r->maps.rows.nr; i++)
		if (is_shown(r, rows[i]))
			rows[(*nr)++] = rows[i];
	return rows;
}

/* --- cells */

static void put_change(struct grid *g, uint64_t from, uint64_t to)
{
	char text[CELL_BYTES];

	snprintf(text, sizeof(text), "%s%s",
		 to > from   ? "+"
		 : to < from ? "-"
			     : "",
		 HUMAN((double)(to > from ? to - from : from - to), "B"));
	grid_text(g, text);
}

static void put_cells(struct grid *g, const struct memory_at at[MEMORY_NR_MOMENTS])
{
	const struct memory_at *peak = &at[MEMORY_PEAK];

	for (int m = 0; m < MEMORY_NR_MOMENTS; m++)
		grid_count(g, at[m].sums.resident);
	put_change(g, at[MEMORY_BEGIN].sums.resident, at[MEMORY_END].sums.resident);
	grid_count(g, peak->sums.size);
	grid_count(g, peak->sums.dirty);
	grid_count(g, peak->sums.swapped);
	grid_count(g, peak->sums.huge);
	grid_count(g, peak->nr);
}

static void put_machine_cells(struct grid *g, const struct memory_maps_row *row)
{
	grid_text(g, mapping_kind_name(row->kind));
	grid_text(g, row->object);
	for (size_t i = 0; i < ARRAY_NR(amounts); i++) {
		for (int m = 0; m < MEMORY_NR_MOMENTS; m++)
			grid_count(g, amount(&row->at[m], i));
		grid_integer(g, (int64_t)(amount(&row->at[MEMORY_END], i) -
					  amount(&row->at[MEMORY_BEGIN], i)));
	}
}

/* Of a path the last component, which tells more than its beginning. */
static const char *short_name(const struct memory_maps_row *row)
{
	const char *slash = strrchr(row->object, '/');

	return !*row->object ? "without a name" : slash && slash[1] ? slash + 1 : row->object;
}

static void put_row(const struct report *r, struct grid *g, const struct memory_maps_row *row)
{
	grid_row(g);
	grid_tree(g, 1, short_name(row));
	put_cells(g, row->at);
	if (r->j->output->form != GRID_PEOPLE)
		put_machine_cells(g, row);
}

static void put_sum(struct grid *g, const char *name, const struct memory_at at[MEMORY_NR_MOMENTS])
{
	grid_row(g);
	grid_text(g, name);
	put_cells(g, at);
}

/* Those of one kind, among the first of all. */
static void put_kind(const struct report *r, struct grid *g, uint32_t kind,
		     const struct memory_maps_row *const *rows, size_t nr, uint64_t top)
{
	put_sum(g, mapping_kind_name(kind), r->kinds[kind]);
	for (size_t i = 0; i < nr && i < top; i++)
		if (rows[i]->kind == kind)
			put_row(r, g, rows[i]);
}

static void put_people(const struct report *r, struct grid *g,
		       const struct memory_maps_row *const *rows, size_t nr)
{
	const uint64_t top = reports_top(r->j, ROWS_FOR_PEOPLE);
	const struct reports_rest rest = {.nr = nr > top ? nr - top : 0, .is_beyond_top = true};
	bool is_put[UNKNOWN + 1] = {false};

	for (;;) {
		uint32_t kind = UNKNOWN + 1;

		for (uint32_t i = 0; i <= UNKNOWN; i++)
			if (r->nr_rows[i] && !is_put[i] &&
			    (kind > UNKNOWN || r->kinds[i][MEMORY_PEAK].sums.resident >
						   r->kinds[kind][MEMORY_PEAK].sums.resident))
				kind = i;
		if (kind > UNKNOWN)
			break;
		is_put[kind] = true;
		put_kind(r, g, kind, rows, nr, top);
	}
	put_sum(g, "all", r->maps.all);
	reports_rest_put(r->j, &rest, NULL, g);
}

static void put_machines(const struct report *r, struct grid *g,
			 const struct memory_maps_row *const *rows, size_t nr)
{
	const uint64_t top = reports_top(r->j, 0);

	for (size_t i = 0; i < nr && i < top; i++)
		put_row(r, g, rows[i]);
}

/* --- text */

static void add_time(const struct report *r, const char *name, enum memory_moment m, struct buf *b)
{
	const uint64_t at_ns = r->maps.map[m].time_ns;

	buf_printf(b, "%s %s", name,
		   HUMAN(at_ns > r->maps.start_ns ? (double)(at_ns - r->maps.start_ns) : 0, "ns"));
}

static void put_heading(const struct report *r)
{
	const struct mapping_map *map = r->maps.map;
	const uint64_t last_ns = map[MEMORY_END].time_ns;
	BUF_AUTO(b, LINE_BYTES);

	buf_addc(&r->j->output->text, '\n');
	if (!r->maps.has_map) {
		buf_adds(&b, job_input(r->j)->facts->has_memory
				 ? "No map of the memory: no process of the target could be read "
				   "while it lived"
				 : "No map of the memory: it is measured with --memory-map");
	} else {
		buf_printf(&b, "Memory of %" PRIu32 " %s: ", map[MEMORY_PEAK].nr_processes,
			   map[MEMORY_PEAK].nr_processes == 1 ? "process" : "processes");
		add_time(r, "begin", MEMORY_BEGIN, &b);
		add_time(r, ", peak", MEMORY_PEAK, &b);
		add_time(r, ", end", MEMORY_END, &b);
		if (last_ns < r->maps.end_ns)
			buf_printf(&b, ", %s before the end of the measuring",
				   HUMAN((double)(r->maps.end_ns - last_ns), "ns"));
		buf_adds(&b, ". begin, peak, end and change are of resident memory; what follows "
			     "is at the peak");
		if (map[MEMORY_PEAK].nr_unread)
			buf_printf(&b, "; %" PRIu32 " more could not be read",
				   map[MEMORY_PEAK].nr_unread);
	}
	reports_headline(r->j, &b);
}

static struct grid *make_grid(const struct report *r)
{
	struct grid_column own[ARRAY_NR(columns)];

	memcpy(own, columns, sizeof(own));
	for (size_t i = 0; i < ARRAY_NR(own) && r->j->output->form == GRID_PEOPLE; i++)
		if ((strcmp(own[i].name, "swapped") == 0 && !r->has_swapped) ||
		    (strcmp(own[i].name, "huge") == 0 && !r->has_huge))
			own[i].audience = GRID_ONLY_MACHINES;
	return reports_grid(r->j, own, ARRAY_NR(own));
}

static int put_all(struct report *r, struct err *e)
{
	const bool is_text = r->j->output->form == GRID_PEOPLE;
	size_t nr;
	MEM_AUTO const struct memory_maps_row **rows = select_rows(r, &nr);
	struct grid *g;

	if (is_text)
		put_heading(r);
	if (is_text && !r->maps.has_map)
		return output_flush(r->j->output, e);
	g = make_grid(r);
	if (!g || !rows) {
		grid_free(g);
		return err_set(e, -ENOMEM, "out of memory");
	}
	if (is_text)
		put_people(r, g, rows, nr);
	else
		put_machines(r, g, rows, nr);
	return reports_end(r->j, g, 0, e);
}

int reports_memory(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	int rc = 0;

	memory_maps_init(&r.maps);
	if (job_input(j)->session)
		rc = memory_maps_read(&r.maps, job_input(j)->session,
				      &job_filter(j, job_input(j))->iterations);
	if (rc) {
		err_set(e, rc, "the map of the memory cannot be read: %s", strerror(-rc));
	} else {
		add_kinds(&r);
		rc = put_all(&r, e);
	}
	memory_maps_fini(&r.maps);
	return rc;
}
