/*
 * The table of output formats, and their state. A new format is a row here and a file of its own.
 */
#include "screen/format.h"

#include "base/array.h"
#include "base/mem.h"
#include "screen/state.h"

#include <string.h>

enum { CELL_MAX_BYTES = 256 };

static void begin_nothing(struct screen_state *s, const struct table *t, struct buf *out)
{
	(void)s, (void)t, (void)out;
}

static void summary_nothing(struct screen_state *s, const struct table *t,
			    const struct table_summary *sum, struct buf *out)
{
	(void)s, (void)t, (void)sum, (void)out;
}

const struct screen_format screen_formats[] = {
    {"text", "a table per iteration and a summary, for people", true, begin_nothing,
     screen_text_iteration, screen_text_gap, screen_text_summary},
    {"csv", "a line per number, with a header", false, screen_csv_begin, screen_csv_iteration,
     screen_csv_gap, summary_nothing},
    {"ndjson", "a JSON object per number, and per event at the end", false, begin_nothing,
     screen_ndjson_iteration, screen_ndjson_gap, screen_ndjson_summary},
};
const size_t screen_nr_formats = ARRAY_NR(screen_formats);

const struct screen_format *screen_format_find(const char *name)
{
	return ARRAY_FIND(x, screen_formats, screen_nr_formats, strcmp(x->name, name) == 0);
}

struct screen_state *screen_state_new(size_t nr_columns, const struct screen_options *options)
{
	struct screen_state *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->options = *options;
	buf_init(&s->scratch, CELL_MAX_BYTES);
	s->columns = mem_calloc(nr_columns + 1, sizeof(*s->columns));
	s->largest = mem_calloc(nr_columns + 1, sizeof(*s->largest));
	layout_init(&s->layout, s->columns, 0);
	if (!s->columns || !s->largest || !buf_reserve(&s->scratch, CELL_MAX_BYTES - 1)) {
		screen_state_free(s);
		return NULL;
	}
	return s;
}

void screen_state_free(struct screen_state *s)
{
	if (!s)
		return;
	buf_fini(&s->scratch);
	layout_fini(&s->layout);
	mem_free(s->columns);
	mem_free(s->largest);
	mem_free(s);
}
