/*
 * What reports of samples share: headings, shares, limits, notes on stacks.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "numbers.h"
#include "options.h"
#include "profile/iterator.h"
#include "registry.h"
#include "report/flat.h"
#include "report/functions.h"
#include "report/states.h"
#include "reports/reports.h"
#include "samples.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1024 };

bool reports_has_callers(const struct job *j)
{
	for (uint32_t i = 0; i < job_input(j)->facts->nr_events; i++)
		if (job_event(j, i)->flags & (TRACE_EVENT_CALLCHAIN | TRACE_EVENT_USER_STACK))
			return true;
	return false;
}

void reports_put_ns(struct grid *g, double ns)
{
	if (isfinite(ns))
		grid_count(g, (uint64_t)(ns + 0.5));
	else
		grid_none(g);
}

int reports_each_trace(const struct job *j, const struct input *o,
		       int (*fn)(void *arg, const struct profile_trace *t), void *arg)
{
	struct profile_iterator *it = profile_iterator_new(o->session);
	struct profile_trace t;
	int rc;

	while ((rc = profile_iterator_next(it, &t)) == 1) {
		if (!profile_ranges_has(&job_filter(j, o)->iterations, t.head.iteration))
			continue;
		rc = fn(arg, &t);
		if (rc)
			break;
	}
	profile_iterator_free(it);
	return rc;
}

bool reports_is_part(const struct profile_filter *f)
{
	return f->comms.nr || f->regions.nr || f->cmdlines.nr || f->pids.nr || f->tids.nr ||
	       f->cpus.nr || f->trees.nr || f->from_ns || f->to_ns;
}

bool reports_is_wanted(const struct job *j, const struct report_function *fn)
{
	const struct opt_strings *globs = &j->inputs->options->functions;

	return !globs->nr || ARRAY_ANY(glob, globs->item, globs->nr, str_glob(*glob, fn->name));
}

/* The nearest name, else the first ones. */
static void add_names(const char *wanted, reports_name_fn *name_at, const void *arg, size_t nr,
		      struct buf *out)
{
	enum { NR_NAMES = 5 };
	const char *nearest = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < nr; i++)
		str_nearest_offer(wanted, name_at(arg, i), &nearest, &distance);
	if (nearest) {
		buf_printf(out, "did you mean %s?", nearest);
		return;
	}
	buf_adds(out, "there are ");
	for (size_t i = 0; i < nr && i < NR_NAMES; i++)
		buf_printf(out, "%s%s", i ? ", " : "", name_at(arg, i));
	buf_adds(out, nr > NR_NAMES ? " …" : "");
}

void reports_no_function(struct job *j, const char *what, reports_name_fn *name_at, const void *arg,
			 size_t nr)
{
	BUF_AUTO(names, LINE_BYTES);
	BUF_AUTO(line, LINE_BYTES);
	struct err e = {0};

	add_names(j->inputs->options->functions.item[0], name_at, arg, nr, &names);
	if (j->output->form == GRID_PEOPLE) {
		buf_printf(&line, "No %s matches --function: %s", what, buf_str(&names));
		buf_addc(&j->output->text, '\n');
		reports_headline(j, &line);
		return;
	}
	err_set(&e, -ENOENT, "no %s matches --function", what);
	err_hint(&e, "%s", buf_str(&names));
	problems_add(&j->output->problems, false, &e);
}

/* Rows by function, and their names. */
struct named {
	const struct job *j;
	const struct report_flat_row *rows;
};

static const struct report_function *function_at(const struct named *n, size_t i)
{
	return report_functions_at(n->j->inputs->functions, n->rows[i].column[REPORT_FUNCTION]);
}

static const char *name_at(const void *named, size_t i)
{
	return function_at(named, i)->name;
}

bool reports_check_functions(struct job *j, const struct report_flat_row *rows, size_t nr)
{
	const struct named named = {j, rows};

	if (!nr || !j->inputs->options->functions.nr)
		return true;
	for (size_t i = 0; i < nr; i++)
		if (reports_is_wanted(j, function_at(&named, i)))
			return true;
	reports_no_function(j, "function", name_at, &named, nr);
	return j->output->form != GRID_PEOPLE;
}

static double scale_of(const struct trace_event *e)
{
	return e->scale > 0 ? e->scale : 1;
}

uint64_t reports_amount(const struct job *j, uint32_t event, uint64_t weight)
{
	double shown;

	if (j->output->form != GRID_PEOPLE)
		return weight;
	shown = round((double)weight * scale_of(job_event(j, event)));
	return shown < 1.8e19 ? (uint64_t)shown : UINT64_MAX;
}

void reports_headline(struct job *j, const struct buf *line)
{
	struct buf *b = &j->output->text;

	screen_wrap(b, buf_str(line), line->len, output_columns(j->output));
	buf_addc(b, '\n');
}

struct interval reports_share_of(const struct report_weight *part, const struct report_weight *all)
{
	const struct interval_weights whole = {all->random, (double)all->weight, all->squares,
					       &all->rows};
	const struct interval_weights own = {part->random, (double)part->weight, part->squares,
					     &part->rows};
	struct interval share = interval_part(&own, &whole), amount;

	if (all->unit && part->weight) { /* what is certain may have more that no sample is of */
		amount = interval_beside(&own, (double)all->unit);
		share.high = fmax(share.high, fmin(amount.high / whole.sum, 1));
	}
	return share;
}

struct interval reports_estimate(const struct report_weight *w, double unit)
{
	const struct interval_weights own = {w->random, (double)w->weight, w->squares, NULL};

	return interval_amount(&own, unit);
}

struct interval reports_estimate_among(const struct report_weight *w,
				       const struct report_weight *all, uint64_t rate)
{
	const struct interval_weights own = {w->random, (double)w->weight, w->squares, NULL};

	if (all->unit)
		return interval_beside(&own, (double)all->unit);
	return reports_estimate(w, all->random ? (double)rate : 0);
}

struct interval reports_share(const struct report_stats *stats, uint32_t event,
			      const struct report_weight *part)
{
	return reports_share_of(part, &stats->event[event].counted);
}

bool reports_is_exactly_none(const struct report_weight *self, const struct report_weight *total)
{
	return !self->samples && total->samples && !total->random;
}

struct interval reports_self_share(const struct report_weight *self,
				   const struct report_weight *total,
				   const struct report_weight *all)
{
	return reports_is_exactly_none(self, total) ? (struct interval){0, 0, 0}
						    : reports_share_of(self, all);
}

uint64_t reports_top(const struct job *j, uint64_t for_people)
{
	if (j->fitted_top)
		return j->fitted_top;
	if (j->selection->top == UINT64_MAX)
		return j->output->form == GRID_PEOPLE ? for_people : UINT64_MAX;
	return j->selection->top ? j->selection->top : UINT64_MAX;
}

double reports_min_share(const struct job *j, double for_people_percent)
{
	if (j->selection->min_percent >= 0)
		return j->selection->min_percent / 100;
	return j->output->form == GRID_PEOPLE ? for_people_percent / 100 : 0;
}

static bool has_column(const struct grid_column *columns, size_t nr, const char *name)
{
	return ARRAY_ANY(x, columns, nr, strcmp(x->name, name) == 0);
}

/* Columns that may leave do in a wider table of text. Without a terminal, names may make it wider:
 * they are searched for. */
static unsigned table_columns(const struct job *j)
{
	enum { WITHOUT_TERMINAL = 100 };

	return j->output->width ? j->output->width : WITHOUT_TERMINAL;
}

struct grid *reports_grid(struct job *j, const struct grid_column *columns, size_t nr)
{
	struct grid_column *own = arena_calloc(&j->output->columns, nr, sizeof(*own));
	const struct grid_options options = {
	    .form = j->output->form,
	    .width = j->selection->rows ? job_columns(j) : j->output->width,
	    .fit = j->is_brief && j->selection->rows ? job_columns(j) : table_columns(j),
	    .has_color = j->output->has_color,
	    .is_markdown = j->output->format->is_markdown,
	    .report = j->row->name,
	    .session = has_column(columns, nr, "session") ? NULL : j->session,
	    .host = has_column(columns, nr, "host") ? NULL : j->host,
	    .rank = j->rank,
	    .is_continued = j->output->has_header};

	if (!own)
		return NULL;
	if (j->output->about && !j->output->has_header)
		(j->output->document ? grid_describe_fields
				     : grid_describe)(columns, nr, options.form, j->output->about);
	j->output->has_header = true;
	memcpy(own, columns, nr * sizeof(*own));
	return grid_new(own, nr, &options);
}

/* On a line of its own where the line is too long. */
static void add_missing(const struct job *j, const struct report_stats *stats, uint32_t event,
			size_t start, struct buf *b)
{
	BUF_AUTO(text, LINE_BYTES);

	if (samples_add_missing(j, &text, "", stats, event)) {
		unsigned width = screen_width(buf_str(b) + start) + screen_width("; ") +
				 screen_width(buf_str(&text));

		buf_adds(b, width > output_columns(j->output) ? "\n  " : "; ");
		buf_adds(b, buf_str(&text));
	}
}

/* Of exact waits: else each of them is a sample. */
static bool is_by_switches(const struct job *j)
{
	for (size_t i = 0; i < j->nr; i++)
		if (profile_session_waits(j->inputs->item[j->first + i].session))
			return true;
	return false;
}

void reports_wrap(struct job *j, size_t start)
{
	screen_wrap_lines(&j->output->text, start, output_columns(j->output));
}

static bool is_path_peak(const struct trace_event *e)
{
	return strcmp(e->group, "heap") == 0 && strcmp(e->name, "path_peak") == 0;
}

const char *reports_of_largest(const struct trace_event *ev)
{
	if (ev->rate <= 1)
		return "largest ";
	return is_path_peak(ev) ? "largest estimated " : "largest sampled ";
}

uint64_t reports_nr_samples(const struct job *j, const struct report_stats *stats, uint32_t event,
			    const struct report_weight *w)
{
	return samples_are_of_states(j, event) ? w->samples : samples_nr(&stats->event[event], w);
}

void reports_heading(struct job *j, const struct report_stats *stats, uint32_t event)
{
	const struct report_event_stats *s = &stats->event[event];
	const struct trace_event *ev = job_event(j, event);
	struct buf *b = &j->output->text;
	bool has_samples = !s->counted.samples || s->counted.random || !is_by_switches(j);
	const uint64_t nr = samples_nr(s, &s->counted);
	size_t start;

	if (j->output->form != GRID_PEOPLE)
		return;
	if (!job_is_tight(j))
		buf_addc(b, '\n');
	start = b->len;
	buf_printf(b, "%s: ", ev->label);
	if (has_samples)
		buf_printf(b, "%s %s%s, ", COMMAS(nr), str_plural(nr, "sample", "samples"),
			   s->unsampled_ns && j->sum == REPORT_SUM_STATES
			       ? " and records of switches"
			       : "");
	if (s->counted.is_maximum)
		buf_adds(b, reports_of_largest(ev));
	buf_adds(b, HUMAN((double)s->counted.weight * scale_of(ev), ev->unit));
	if (!has_samples)
		buf_adds(b, " by records of switches");
	if (s->is_of_last)
		buf_adds(b, " in the last iteration");
	if (s->idle.samples)
		buf_printf(b, "; without %s of the idle loop",
			   HUMAN((double)s->idle.weight * scale_of(ev), ev->unit));
	if (samples_nr(s, &s->omitted))
		buf_printf(b, "; %s more are omitted", COMMAS(samples_nr(s, &s->omitted)));
	add_missing(j, stats, event, start, b);
	buf_addc(b, '\n');
	reports_wrap(j, start);
}

static const char short_tasks[] =
    "Tasks that end before their first sample are missed: for root, cpuperf "
    "--short-tasks samples them; a higher --frequency misses fewer";

static const char not_sampled[] =
    REPORT_NOT_SAMPLED " is time on CPU without a sample, by records of switches: of tasks that "
		       "end before their first one, and of what may not be sampled; a higher "
		       "--frequency leaves less";

/* What to do where tasks end before their first sample; NULL: they do not, or it is no text. */
static const char *short_tasks_note(const struct job *j, const struct report_stats *stats,
				    uint32_t event)
{
	if (j->output->form != GRID_PEOPLE)
		return NULL;
	if (samples_lack_places(&stats->event[event]))
		return not_sampled;
	return samples_miss_short_tasks(j, stats, event) ? short_tasks : NULL;
}

void reports_without_samples(struct job *j, const struct report_stats *stats, uint32_t event)
{
	const char *note = short_tasks_note(j, stats, event);

	reports_heading(j, stats, event);
	if (note)
		buf_printf(&j->output->text, "%s\n", note);
}

/* Skipped files and events are not counted. */
void reports_nothing(struct job *j, const struct report_stats *stats, const char *what)
{
	const struct profile_filter *f = &j->selection->filter;
	const struct {
		bool is_given;
		const char *name;
	} options[] = {
	    {f->events.nr, "--event"}, {f->cpus.nr, "--cpu"}, {f->iterations.nr, "--iteration"}};
	const char *separator = "; not counted: samples excluded by ";
	struct buf *b = &j->output->text;
	const size_t start = b->len;
	uint64_t left = 0, idle = 0;

	if (j->output->form != GRID_PEOPLE)
		return;
	for (size_t i = 0; i < stats->nr_events; i++) {
		left += stats->event[i].omitted.samples;
		idle += stats->event[i].idle.samples;
	}
	buf_printf(b, "%sNo %s%s", job_is_tight(j) ? "" : "\n", what,
		   idle ? " but those of the idle loop" : "");
	if (left)
		buf_printf(b, ": %s %s", COMMAS(left),
			   left == 1 ? "sample is omitted" : "samples are omitted");
	for (size_t i = 0; i < ARRAY_NR(options); i++) {
		if (!options[i].is_given)
			continue;
		buf_printf(b, "%s%s", separator, options[i].name);
		separator = ", ";
	}
	buf_addc(b, '\n');
	for (uint32_t i = 0; i < stats->nr_events; i++)
		if (samples_miss_short_tasks(j, stats, i))
			buf_printf(b, "%s\n", short_tasks);
	reports_wrap(j, start);
}

void reports_rest_add(struct reports_rest *r, const struct report_weight *w, bool is_beyond_top,
		      bool is_small)
{
	report_weight_add(&r->weight, w);
	r->nr++;
	r->is_beyond_top |= is_beyond_top;
	r->is_small |= is_small;
}

void reports_rest_put(const struct job *j, const struct reports_rest *r,
		      const struct interval *share, struct grid *g)
{
	const char *how = !r->is_small        ? "--top=0 shows all"
			  : !r->is_beyond_top ? "--min-percent=0 shows all"
					      : "--top=0 --min-percent=0 shows all";
	char line[LINE_BYTES];

	if (j->output->form != GRID_PEOPLE || !r->nr)
		return;
	snprintf(line, sizeof(line), "… %zu more%s%s%s (%s)", r->nr, share ? ": " : "",
		 share ? DECIMAL(100 * share->share, 1) : "", share ? " %" : "", how);
	grid_line(g, line);
}

static void put_stack_line(void *arg, const char *line)
{
	BUF_AUTO(b, LINE_BYTES);

	buf_adds(&b, line);
	if (b.len)
		b.data[0] = (char)toupper((unsigned char)b.data[0]);
	grid_line(arg, buf_str(&b));
}

/* Weights are exact; what else is not. */
static void put_by_switches(const struct job *j, struct grid *g)
{
	uint64_t all_ns = 0, seen_ns = 0;
	char line[LINE_BYTES];

	for (size_t i = 0; i < j->nr; i++) {
		const struct profile_waits *w =
		    profile_session_waits(j->inputs->item[j->first + i].session);

		all_ns += w ? w->blocked_ns + w->both_ns + w->unknown_ns : 0;
		seen_ns += w ? w->seen_ns : 0;
	}
	snprintf(
	    line, sizeof(line),
	    "Waits are exact, by records of switches. Stack and reason of %s %% of the blocked "
	    "time were read while the thread was blocked; other waits have no reason, and the "
	    "stack that their thread had last before",
	    DECIMAL(all_ns ? 100 * (double)seen_ns / (double)all_ns : 0, 1));
	grid_line(g, line);
	grid_line(g, "The kernel's work at a switch, about 1 us, is in the wait and in the time on "
		     "CPU: with many short waits, states add up to more than the time");
	grid_line(g, "How much of a wait was for a CPU is exact by thread, and shared equally "
		     "among its waits between two readings of schedstat");
}

/* Peaks of stacks are at times of their own: nobody knows what they had together. */
static void put_path_peaks(struct job *j, const struct report_stats *stats, struct grid *g)
{
	for (uint32_t i = 0; i < stats->nr_events; i++) {
		const struct trace_event *ev = job_event(j, i);

		if (!is_path_peak(ev) || !stats->event[i].counted.samples)
			continue;
		grid_line(g,
			  "A path peak is that of one place that allocates, with its callers. A "
			  "row with several has the largest: together they may have had more at a "
			  "time");
		if (ev->rate > 1)
			grid_line(g, "Path peaks are the largest of estimates: too large where "
				     "samples are few");
		return;
	}
}

void reports_stack_notes(struct job *j, const struct report_stats *stats, struct grid *g)
{
	if (j->output->form != GRID_PEOPLE)
		return;
	samples_stack_lines(j, stats, put_stack_line, g);
	put_path_peaks(j, stats, g);
	for (size_t i = 0; i < stats->nr_events && is_by_switches(j) && !j->selection->rows; i++)
		if (stats->event[i].counted.random < stats->event[i].counted.samples) {
			put_by_switches(j, g);
			return;
		}
}

int reports_end(struct job *j, struct grid *g, int rc, struct err *e)
{
	if (rc == 0) {
		output_end_text(j->output);
		rc = grid_write(g, &j->output->text);
		output_end_table(j->output);
		if (rc)
			err_set(e, rc, "cannot be printed: %s", strerror(-rc));
	}
	grid_free(g);
	return rc ?: output_flush(j->output, e);
}

/* The table of the event at *at, which steps to the next one. */
static int put_table(struct job *j, const struct report_stats *stats,
		     const struct reports_tables *tables, void *report, size_t *at, struct grid **g,
		     struct err *e)
{
	uint32_t event = tables->event_at(report, *at);
	const char *note;

	*g = *g ? *g : tables->make_grid(report, event);
	if (!*g)
		return err_set(e, -ENOMEM, "out of memory");
	reports_heading(j, stats, event);
	*at = tables->put_event(report, *g, *at);
	note = short_tasks_note(j, stats, event);
	if (note)
		grid_line(*g, note);
	if (*at == REPORTS_END)
		reports_stack_notes(j, stats, *g);
	return 0;
}

/* Writes the text with the fewest rows, and divides what is left of the screen among the tables. */
static void fit(struct job *j, const struct report_stats *stats,
		const struct reports_tables *tables, void *report, size_t at)
{
	enum { MIN_TOP = 2, MAX_TOP = 40 };
	const uint64_t rows = j->selection->rows;
	struct buf *text = &j->output->text;
	const size_t len = text->len;
	struct err ignored = {0};
	uint64_t used, nr = 0;
	int rc = 0;

	j->fitted_top = MIN_TOP;
	for (; at != REPORTS_END && rc == 0; nr++) {
		struct grid *g = NULL;

		rc = put_table(j, stats, tables, report, &at, &g, &ignored);
		if (rc == 0)
			rc = grid_write(g, text);
		grid_free(g);
	}
	used = rc ? rows : screen_rows(buf_str(text), job_columns(j));
	buf_cut(text, len);
	if (nr && used < rows)
		j->fitted_top += (rows - used) / nr;
	if (j->fitted_top > MAX_TOP)
		j->fitted_top = MAX_TOP;
}

int reports_put_tables(struct job *j, const struct report_stats *stats,
		       const struct reports_tables *tables, void *report, size_t at, struct err *e)
{
	const bool is_text = j->output->form == GRID_PEOPLE;
	struct grid *g = NULL;
	int rc = 0;

	if (at == REPORTS_END) {
		reports_nothing(j, stats, "samples");
		if (is_text || !stats->nr_events)
			return 0;
		g = tables->make_grid(report, 0); /* csv has a header */
		return g ? reports_end(j, g, 0, e) : err_set(e, -ENOMEM, "out of memory");
	}
	if (is_text && j->selection->rows)
		fit(j, stats, tables, report, at);
	while (at != REPORTS_END && rc == 0) {
		rc = put_table(j, stats, tables, report, &at, &g, e);
		if (rc)
			return rc;
		if (is_text || at == REPORTS_END) {
			rc = reports_end(j, g, 0, e);
			g = NULL;
		}
	}
	return rc;
}
