/*
 * The report sizes, which follows that of the heap: sampled allocations, and live ones, by size.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sum.h"
#include "numbers.h"
#include "profile/session.h"
#include "reports/reports.h"
#include "samples.h"
#include "sizes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 64, NR_OF_LINE = 3 };

struct sizes {
	struct job *j;
	uint64_t rate;
	struct sizes_sums sums, session; /* of all; of the one that is being read */
	uint64_t all[SIZES_NR_PARTS];
};

static void add_session(struct sizes_sums *to, const struct sizes_sums *from)
{
	for (size_t part = 0; part < SIZES_NR_PARTS; part++) {
		to->has_part[part] |= from->has_part[part];
		for (size_t i = 0; i < SIZES_NR_CLASSES; i++)
			sum_add(&to->of[part][i], from->of[part][i]);
	}
}

static int add_trace(void *arg, const struct profile_trace *t)
{
	struct sizes *s = arg;

	if (t->nr_sizes)
		s->rate = t->events[t->sizes[0].event].rate;
	sizes_add(&s->session, t);
	return 0;
}

static int read_session(struct sizes *s, const struct input *o)
{
	int rc;

	s->session = (struct sizes_sums){.of = {{0}}};
	rc = reports_each_trace(s->j, o, add_trace, s);
	add_session(&s->sums, &s->session);
	return rc;
}

static int read_all(struct sizes *s, struct err *e)
{
	int rc = 0;

	for (size_t i = s->j->first; i < s->j->first + s->j->nr && rc == 0; i++)
		rc = read_session(s, &s->j->inputs->item[i]);
	for (size_t part = 0; part < SIZES_NR_PARTS; part++)
		for (size_t i = 0; i < SIZES_NR_CLASSES; i++)
			sum_add(&s->all[part], s->sums.of[part][i]);
	return rc ? err_set(e, rc, "the sizes cannot be read: %s", strerror(-rc)) : 0;
}

static const char *class_text(char text[CELL_BYTES], uint32_t class)
{
	snprintf(text, CELL_BYTES, class > 1 ? "%s to %s" : "%s", COMMAS(sizes_low(class)),
		 COMMAS(sizes_high(class)));
	return text;
}

/* Whether something of it is left to chance. Of an older version it is not known how much. */
static bool is_estimated(const struct sizes *s)
{
	return s->sums.has_part[SIZES_SQUARES] ? s->all[SIZES_SQUARES] || s->all[SIZES_LIVE_SQUARES]
					       : s->rate > 1;
}

/* Part: that of the calls; bytes and squares follow. Of samples that are taken with a probability
 * by size, in an older version, calls of one size have the variance that samples of their mean size
 * leave. */
static struct interval estimate(const struct sizes *s, unsigned part, uint32_t class)
{
	enum { SQUARE = 1024 };
	const uint64_t calls = s->sums.of[part][class], bytes = s->sums.of[part + 1][class];
	struct interval_weights w = {.sum = (double)bytes};
	double chance;

	if (s->sums.has_part[SIZES_SQUARES]) {
		w.squares = (double)s->sums.of[part + 2][class] * SQUARE;
		return interval_beside(&w, is_estimated(s) ? (double)s->rate : 0);
	}
	if (s->rate > 1 && bytes && calls) {
		chance = -expm1(-w.sum / (double)calls / (double)s->rate);
		w.squares = w.sum * w.sum * (1 - chance) / chance / (double)calls;
	}
	return interval_amount(&w, 0);
}

static struct grid *make_grid(const struct sizes *s)
{
	const enum grid_audience live =
	    s->sums.has_part[SIZES_LIVE_BYTES] ? GRID_ALL : GRID_ONLY_MACHINES;
	const struct grid_column columns[] = {
	    {"size", "bytes of a block", NULL, GRID_TEXT, GRID_ONLY_PEOPLE, 0},
	    {"from", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES, 0},
	    {"to", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES, 0},
	    {"share", "allocated", "%", GRID_PERCENT, GRID_ALL, 3},
	    {"allocated", "", "B", GRID_ESTIMATE, GRID_ALL, 0},
	    {"calls", is_estimated(s) ? "calls, about" : "calls", NULL, GRID_COUNT, GRID_ALL, 2},
	    {"live", NULL, "B", GRID_ESTIMATE, live, 0},
	    {"live_calls", is_estimated(s) ? "blocks, about" : "blocks", NULL, GRID_COUNT, live, 1},
	};

	return reports_grid(s->j, columns, ARRAY_NR(columns));
}

static void put_estimate(const struct sizes *s, struct grid *g, unsigned part, uint32_t class)
{
	const struct interval i = estimate(s, part, class);

	if (s->sums.of[part + 1][class] || s->j->output->form != GRID_PEOPLE)
		grid_estimate(g, 1, &i);
	else
		grid_none(g);
}

static void put_count(const struct sizes *s, struct grid *g, uint64_t nr)
{
	if (nr || s->j->output->form != GRID_PEOPLE)
		grid_count(g, nr);
	else
		grid_none(g);
}

static void put_class(const struct sizes *s, struct grid *g, uint32_t class)
{
	const uint64_t all = s->all[SIZES_BYTES];
	char text[CELL_BYTES];

	grid_row(g);
	grid_text(g, class_text(text, class));
	grid_count(g, sizes_low(class));
	grid_count(g, sizes_high(class));
	grid_percent(g, all ? (double)s->sums.of[SIZES_BYTES][class] / (double)all : 0);
	put_estimate(s, g, SIZES_CALLS, class);
	put_count(s, g, s->sums.of[SIZES_CALLS][class]);
	if (!s->sums.has_part[SIZES_LIVE_BYTES])
		return;
	put_estimate(s, g, SIZES_LIVE_CALLS, class);
	put_count(s, g, s->sums.of[SIZES_LIVE_CALLS][class]);
}

static int put_table(const struct sizes *s, struct err *e)
{
	struct grid *g = make_grid(s);
	bool is_any = false;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < SIZES_NR_CLASSES; i++)
		is_any |= sizes_has_class(&s->sums, i);
	if (s->j->output->form == GRID_PEOPLE && !is_any) {
		buf_adds(&s->j->output->text,
			 "\nNo sizes: the session has no samples of the heap, or is "
			 "of an older version\n");
		grid_free(g);
		return output_flush(s->j->output, e);
	}
	if (s->j->output->form == GRID_PEOPLE)
		buf_addc(&s->j->output->text, '\n');
	for (uint32_t i = 0; i < SIZES_NR_CLASSES; i++)
		if (sizes_has_class(&s->sums, i))
			put_class(s, g, i);
	return reports_end(s->j, g, 0, e);
}

/* Where the rows of text are few: "by size: 58.2 % are blocks of 16 to 31 bytes, …" */
static void put_line(const struct sizes *s)
{
	struct buf *b = &s->j->output->text;
	bool is_put[SIZES_NR_CLASSES] = {false};
	char text[CELL_BYTES];

	for (size_t nr = 0; nr < NR_OF_LINE; nr++) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < SIZES_NR_CLASSES; i++)
			if (!is_put[i] && (is_put[most] || s->sums.of[SIZES_BYTES][i] >
							       s->sums.of[SIZES_BYTES][most]))
				most = i;
		if (is_put[most] || !s->sums.of[SIZES_BYTES][most])
			break;
		is_put[most] = true;
		buf_printf(b, "%s%s %% %s", nr ? ", " : "allocated by size: ",
			   DECIMAL(100 * (double)s->sums.of[SIZES_BYTES][most] /
				       (double)s->all[SIZES_BYTES],
				   0),
			   class_text(text, most));
		buf_adds(b, nr ? "" : " bytes");
	}
	if (s->all[SIZES_BYTES])
		buf_addc(b, '\n');
}

int reports_sizes(struct job *j, struct err *e)
{
	struct sizes s = {.j = j};

	return read_all(&s, e) ?: put_table(&s, e);
}

int reports_heap_sizes(struct job *j, struct err *e)
{
	struct sizes s = {.j = j};
	int rc;

	if (j->output->form != GRID_PEOPLE)
		return 0;
	rc = read_all(&s, e);
	if (rc || !s.all[SIZES_CALLS])
		return rc;
	if (!j->selection->rows)
		return put_table(&s, e);
	put_line(&s);
	return output_flush(j->output, e);
}
