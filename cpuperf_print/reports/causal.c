/*
 * The report causal: what cpuperf --causal found out by experiments, beside what a replay of the
 * recorded run of the same session says (reports/what_if_graph.h). Where both differ by more than
 * their intervals, one of them does not see what the program waits for: which one, a line says.
 *
 * Without experiments, as of a program that loads no agent, the replay stands alone.
 */
#include "reports/causal.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "estimate/chance.h"
#include "numbers.h"
#include "report/functions.h"
#include "report/waker.h"
#include "reports/reports.h"
#include "reports/what_if_graph.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
	TOP = 10,
	CANDIDATES = 200,
	LINE_BYTES = 4096,
	CELL_BYTES = 64,
	USUAL_PERCENT = 50,
	NAME_COLUMNS = 60
};
#define SOME  0.05 /* from which it matters */
#define ERROR 0.05
#define MANY  1e6 /* degrees of freedom: as a normal distribution */

struct report {
	struct job *j;
	const struct cpsession_experiments *made;
	struct what_if *w;  /* owned; NULL: there is no replay */
	struct err why_not; /* then */
	double unexplained; /* part of the longest path */
	struct causal_row *row;
	size_t nr, room;
};

/* --- both answers */

static double part_of(const struct metric_limit *percent)
{
	return percent->text ? percent->value / 100 : NAN;
}

static bool is_meant(const void *arg, const struct report_function *f)
{
	const struct causal_row *row = arg;

	if (row->is)
		return f == row->is;
	return (strcmp(f->name, row->function) == 0 ||
		strcmp(f->linkage_name, row->linkage_name) == 0) &&
	       strcmp(str_base_name(f->object), str_base_name(row->object)) == 0;
}

/* NAN: it is not known. */
static double replay_row(struct report *r, const struct causal_row *row)
{
	const struct what_if_region *in;

	if (!*row->region)
		return what_if_saved_by(r->w, is_meant, row, row->faster, false);
	in = what_if_find_region(r->w, row->region);
	return in ? what_if_saved_in(r->w, in, row->faster) : NAN;
}

/* Of experiments on lines and on progress points it says nothing. */
static void replay(struct report *r, struct causal_row *row)
{
	const double saved = r->w && row->is_wall && !row->line ? replay_row(r, row) : NAN;

	row->replayed = isfinite(saved) ? what_if_share(r->w, saved, row->faster)
					: (struct interval){NAN, NAN, NAN};
}

/* Intervals of experiments hold together: so must those of the replay. */
static double correction(size_t nr)
{
	return chance_student_inverse(ERROR / (double)nr, MANY) /
	       chance_student_inverse(ERROR, MANY);
}

/* The recorded run is one, and runs differ, so intervals that are apart, and no less. */
static bool differs(const struct causal_row *row, size_t nr)
{
	const double wider = correction(nr), low = row->replayed.share - row->replayed.low,
		     high = row->replayed.high - row->replayed.share;

	return row->low > row->replayed.share + wider * high ||
	       row->high < row->replayed.share - wider * low;
}

static int add_row(struct report *r, struct causal_row row)
{
	struct causal_row *to = MEM_ADD(r->row, r->nr, r->room);

	if (!to)
		return -ENOMEM;
	replay(r, &row);
	*to = row;
	return 0;
}

static int add_experiments(struct report *r)
{
	size_t nr;
	const struct cpsession_experiment *x =
	    cpsession_experiments(&job_input(r->j)->manifest, &nr);
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = add_row(
		    r, (struct causal_row){.function = x[i].function,
					   .linkage_name = x[i].linkage_name,
					   .object = x[i].object,
					   .source = x[i].source,
					   .line = x[i].line,
					   .region = x[i].region,
					   .quantity = x[i].quantity,
					   .point = x[i].point,
					   .is_wall = strcmp(x[i].quantity, CPSESSION_WALL) == 0,
					   .on_cpu = part_of(&x[i].on_cpu),
					   .faster = (double)x[i].speedup / 100,
					   .saves = part_of(&x[i].saves),
					   .low = part_of(&x[i].low),
					   .high = part_of(&x[i].high),
					   .rounds = x[i].rounds});
	return rc;
}

static int by_own(const void *a, const void *b)
{
	const struct what_if_function *x = a, *y = b;

	return order_u64(y->ns, x->ns) ?: x->ns ? report_function_compare(x->is, y->is) : 0;
}

static int by_replayed(const void *a, const void *b)
{
	const struct causal_row *x = a, *y = b;

	return order_reals(&y->replayed.share, &x->replayed.share)
		   ?: x->is ? report_function_compare(x->is, y->is)
			    : strcmp(x->region, y->region);
}

static double all_ran(const struct report *r)
{
	size_t nr;
	const struct what_if_function *f = what_if_functions(r->w, &nr);
	double ran = 0;

	for (size_t i = 0; i < nr; i++)
		ran += (double)f[i].ns;
	return ran;
}

static int add_alone(struct report *r, struct causal_row row)
{
	row.quantity = CPSESSION_WALL;
	row.source = row.point = "";
	row.is_wall = true;
	row.faster = USUAL_PERCENT / 100.0;
	row.saves = row.low = row.high = NAN;
	return add_row(r, row);
}

/* Without experiments: of the functions that ran most. */
static int add_functions(struct report *r)
{
	size_t nr;
	const struct what_if_function *all = what_if_functions(r->w, &nr);
	MEM_AUTO struct what_if_function *f = mem_calloc(nr + 1, sizeof(*f));
	const double ran = all_ran(r);
	int rc = f ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && rc == 0; i++)
		f[i] = all[i];
	if (rc == 0)
		order_sort(f, nr, sizeof(*f), by_own);
	for (size_t i = 0; rc == 0 && i < nr && i < CANDIDATES && f[i].ns; i++)
		rc = add_alone(r, (struct causal_row){.is = f[i].is,
						      .function = f[i].is->name,
						      .linkage_name = f[i].is->linkage_name,
						      .object = f[i].is->object,
						      .region = "",
						      .on_cpu = (double)f[i].ns / ran});
	return rc;
}

/* The same of regions: they are recorded if these are tried. */
static int add_regions(struct report *r)
{
	size_t nr;
	const struct what_if_region *all = what_if_regions(r->w, &nr);
	const double ran = all_ran(r);
	int rc = 0;

	for (size_t i = 0; i < nr && i < CANDIDATES && rc == 0; i++)
		if (all[i].ns)
			rc = add_alone(r, (struct causal_row){.function = "",
							      .linkage_name = "",
							      .object = "",
							      .region = all[i].name,
							      .on_cpu = (double)all[i].ns / ran});
	return rc;
}

/* All are of one kind. */
static int add_replayed(struct report *r)
{
	int rc = add_regions(r);

	if (rc == 0 && !r->nr)
		rc = add_functions(r);
	if (rc == 0)
		order_sort(r->row, r->nr, sizeof(*r->row), by_replayed);
	return rc;
}

/* By how much the end moves if a little of all that is explained is cut. */
static double find_unexplained(struct what_if *w)
{
	const double little = 1e-3;
	const struct causal_cut all = {.ran_all = little, .queued = little, .later = little};

	return fmax(0, 1 - what_if_saved(w, &all) / (little * what_if_run_ns(w)));
}

static int make(struct report *r, struct err *e)
{
	int rc = what_if_new(r->j, &r->w, &r->why_not);

	if (rc && rc != -ENODATA && !(rc == -EFBIG && r->made->row.nr)) {
		*e = r->why_not;
		return rc;
	}
	if (r->w)
		r->unexplained = find_unexplained(r->w);
	rc = add_experiments(r);
	for (size_t i = 0; i < r->nr; i++)
		r->row[i].differs = differs(&r->row[i], r->nr);
	if (rc == 0 && r->w && !r->nr)
		rc = add_replayed(r);
	return rc ? err_set(e, rc, "--report=causal: %s", strerror(-rc)) : 0;
}

/* --- words */

/* Not "-0". */
static double rounded(double x, int digits)
{
	const double step = digits ? 0.1 : 1;

	return round(x / step) * step + 0.0;
}

static int digits_of(const struct causal_row *row)
{
	return 100 * (row->high - row->low) / 2 < 1 ? 1 : 0;
}

/* "23.1 % [22.4, 23.8]" */
static void put_saved(const struct causal_row *row, struct buf *out)
{
	const int digits = digits_of(row);

	buf_printf(out, "%.*f %% ", digits, rounded(100 * row->saves, digits));
	if (isfinite(row->low) && isfinite(row->high))
		buf_printf(out, "[%.*f, %.*f]", digits, rounded(100 * row->low, digits), digits,
			   rounded(100 * row->high, digits));
	else
		buf_adds(out, "[?]");
}

/* "22.8 % ± 1.1" */
static void put_replayed(const struct causal_row *row, struct buf *out)
{
	const double half = 100 * (row->replayed.high - row->replayed.low) / 2;
	const int digits = half < 1 ? 1 : 0;

	buf_printf(out, "%.*f %% ± %.*f", digits, rounded(100 * row->replayed.share, digits),
		   digits, rounded(half, digits));
}

static void put_function(const struct causal_row *row, struct buf *out)
{
	if (*row->region)
		buf_adds(out, row->region);
	else if (row->line)
		buf_printf(out, "%s:%" PRIu64, str_base_name(row->source), row->line);
	else
		buf_adds(out, row->function);
}

/* The largest of several estimates is too large by chance: so that of which the least is most. */
static const struct causal_row *find_most(const struct report *r)
{
	const struct causal_row *best = NULL;

	for (size_t i = 0; i < r->nr; i++)
		if (r->row[i].low > (best ? best->low : 0))
			best = &r->row[i];
	return best;
}

static bool is_throughput(const struct causal_row *row)
{
	return strcmp(row->quantity, CPSESSION_THROUGHPUT) == 0;
}

static bool is_latency(const struct causal_row *row)
{
	return strcmp(row->quantity, CPSESSION_LATENCY) == 0;
}

static bool has_regions(const struct report *r)
{
	return r->nr && *r->row[0].region; /* all are, or none is */
}

/* Of what it is a part. */
static void put_what(const struct causal_row *row, const struct report *r, struct buf *out)
{
	const struct cpsession_experiments *x = r->made;

	if (row->is_wall && !x->wall_ns)
		buf_adds(out, "time");
	else if (row->is_wall)
		buf_printf(out, "of %s", HUMAN((double)x->wall_ns, "ns"));
	else if (is_throughput(row))
		buf_printf(out, "more %s, of %.4g/s", row->point, x->rate.value);
	else
		buf_printf(out, "of %s of %s", HUMAN((double)x->latency_ns, "ns"), row->point);
}

static void put_name(const struct report *r, struct buf *out)
{
	const char *name = *r->made->command ? r->made->command : input_name(job_input(r->j));

	buf_shown(out, name, strlen(name));
	if (out->len > NAME_COLUMNS)
		screen_cut(out, 0, NAME_COLUMNS);
}

static void put_head(const struct report *r)
{
	const struct cpsession_experiments *x = r->made;
	const struct causal_row *best = find_most(r);
	BUF_AUTO(b, LINE_BYTES);

	put_name(r, &b);
	buf_adds(&b, ": ");
	if (!x->row.nr) {
		buf_printf(&b, "no experiments: %s%s", x->why_none,
			   r->nr ? ". By the recorded run alone:" : "");
		reports_headline(r->j, &b);
		return;
	}
	if (best) {
		put_function(best, &b);
		buf_printf(&b, " in %.0f %% less time would %s ", 100 * best->faster,
			   is_throughput(best) ? "bring" : "save");
		put_saved(best, &b);
		buf_addc(&b, ' ');
	} else {
		buf_printf(&b, "no %s is known to %s any ", has_regions(r) ? "region" : "function",
			   is_throughput(&r->row[0]) ? "bring" : "save");
	}
	put_what(best ?: &r->row[0], r, &b);
	buf_printf(&b, " (%" PRIu64 " %s of %zu experiment%s in %s)", x->rounds,
		   str_plural(x->rounds, "round", "rounds"), r->nr, str_plural(r->nr, "", "s"),
		   HUMAN((double)x->spent_ns, "ns"));
	reports_headline(r->j, &b);
}

#define NOTE(g, ...)                                                                               \
	do {                                                                                       \
		BUF_AUTO(note_, LINE_BYTES);                                                       \
		buf_printf(&note_, __VA_ARGS__);                                                   \
		grid_line(g, buf_str(&note_));                                                     \
	} while (0)

/* Where it is waited most, for nobody knows whom. */
static void put_unexplained(const struct report *r, struct buf *out)
{
	size_t nr;
	const struct what_if_function *f = what_if_functions(r->w, &nr), *most = NULL;

	for (size_t i = 0; i < nr; i++)
		if (f[i].unknown_ns > (most ? most->unknown_ns : 0))
			most = &f[i];
	if (most)
		buf_printf(out, "; most wait in %s", most->is->name);
}

/* What one of both does not see. */
static void put_difference(const struct report *r, const struct causal_row *row, struct grid *g)
{
	BUF_AUTO(b, LINE_BYTES);

	put_function(row, &b);
	buf_printf(&b, " %.0f %% faster: experiments save ", 100 * row->faster);
	put_saved(row, &b);
	buf_adds(&b, ", the recorded run says ");
	put_replayed(row, &b);
	if (row->saves > row->replayed.share) {
		buf_printf(&b,
			   ": it has waits that it does not explain (%.0f %% of its longest path",
			   100 * r->unexplained);
		put_unexplained(r, &b);
		buf_adds(&b, "), or others that would not happen");
	} else
		buf_adds(&b, ": threads wait in a way that experiments do not see, or something "
			     "else would be waited for");
	grid_line(g, buf_str(&b));
}

/* Halves of intervals shrink by the root of the time. NAN: some are not known at all. */
static double seconds_needed(const struct report *r)
{
	const double until = part_of(&r->made->until);
	double most = 0;

	for (size_t i = 0; i < r->nr; i++) {
		const double half = (r->row[i].high - r->row[i].low) / 2;

		most = isfinite(half) ? fmax(most, half) : NAN;
		if (isnan(most))
			return NAN;
	}
	return (double)r->made->spent_ns / 1e9 * (most / until) * (most / until);
}

/* How long it would take until each is known, as --at-most has it. */
static void put_more_time(const struct report *r, struct buf *out)
{
	enum { MINUTE = 60, HOUR = 3600, SOON = 100, MOST = 48 };
	const double needed = seconds_needed(r);

	buf_adds(out, "in the time that it had; ");
	if (!isfinite(needed))
		buf_adds(out, "allow more time: --at-most");
	else if (needed > (double)MOST * HOUR)
		buf_adds(out, "nor would it be in two days as it runs here");
	else if (needed > (double)SOON * MINUTE)
		buf_printf(out, "about so much would do: --at-most=%.0fh", ceil(needed / HOUR));
	else
		buf_printf(out, "about so much would do: --at-most=%.0fm", ceil(needed / MINUTE));
}

static void put_unknown(const struct report *r, struct grid *g)
{
	BUF_AUTO(b, LINE_BYTES);

	buf_printf(&b, "Not each is known within %g %% ", r->made->until.value);
	if (r->made->is_cut)
		buf_adds(&b, "as it was stopped");
	else
		put_more_time(r, &b);
	grid_line(g, buf_str(&b));
}

#define NOT_USED "are not used: threads waited for a CPU for more than %.0f %% of the time"

static void put_doubts(const struct report *r, struct grid *g)
{
	const struct cpsession_experiments *x = r->made;
	const double queued = part_of(&x->queued);

	if (x->row.nr && !x->is_known)
		put_unknown(r, g);
	if (x->unused && r->nr && r->row[0].is_wall)
		NOTE(g, "%" PRIu64 " of %" PRIu64 " runs " NOT_USED, x->unused,
		     x->rounds * (r->nr + 1), 100 * SOME);
	else if (x->unused)
		NOTE(g, "%" PRIu64 " more rounds " NOT_USED, x->unused, 100 * SOME);
	if (x->untimed)
		NOTE(g, "The latency is not known in %" PRIu64 " rounds: cpuperf waited for a CPU",
		     x->untimed);
	if (x->is_by_looks && ARRAY_ANY(row, r->row, r->nr, is_latency(row)))
		NOTE(g,
		     "The latency is by how many are under way, as if delays lay evenly within "
		     "all that goes on: it is wrong where threads wait before or behind %s, and "
		     "not in it. Of a region of cpuperf/mark.h each is measured",
		     r->row[0].point);
	if (x->unslowed)
		NOTE(g, "%" PRIu64 " threads could not be slowed down: what is saved is uncertain",
		     x->unslowed);
	if (queued > SOME)
		NOTE(g,
		     "Threads waited for a CPU for %.0f %% of their time: on a machine with free "
		     "CPUs "
		     "it is known sooner",
		     100 * queued);
}

/* Why there is no replay. */
static void put_alone(const struct report *r, struct buf *out)
{
	const struct profile_facts *f = job_input(r->j)->facts;
	const char *why = strstr(r->why_not.msg, ": ");

	buf_adds(out, r->nr ? "By experiments alone: " : "Nor does the recorded run say it: ");
	if (!f->nr_events)
		buf_adds(out, "no run was recorded");
	else
		buf_adds(out, why ? why + 2 : r->why_not.msg);
	if (f->nr_events && !ARRAY_ANY(ev, f->events, f->nr_events, report_has_waker(ev)))
		buf_adds(out, "; as root, --causal records it");
}

static bool has_replay(const struct report *r)
{
	return ARRAY_ANY(x, r->row, r->nr, isfinite(x->replayed.share));
}

static void put_reading(const struct report *r, struct grid *g)
{
	const struct cpsession_experiments *x = r->made;

	if (x->row.nr)
		NOTE(g, "%s; together they hold with %g %%. %s",
		     x->has_fixed_rounds
			 ? "Intervals are of a number of rounds that was chosen before"
			 : "Intervals hold at each look, though rounds end when enough "
			   "is known",
		     x->confidence.value,
		     has_regions(r)
			 ? "Of what runs while the region is open on a thread, with what it calls"
			 : "Of the function's own code, without what it calls");
	if (x->row.nr && x->functions > causal_nr_candidates(r->row, r->nr))
		NOTE(g, "%" PRIu64 " more %s ran for less; name them: --causal=%s",
		     x->functions - causal_nr_candidates(r->row, r->nr),
		     has_regions(r) ? "regions" : "functions",
		     has_regions(r) ? "regions:GLOB" : "GLOB,...");
	if (x->seed)
		NOTE(g,
		     "Amounts were drawn by chance in each round, within 10 points of those above "
		     "(--speedup=random:%" PRIu64 ")",
		     x->seed);
	if (r->w && has_regions(r) && !has_replay(r))
		NOTE(g, "By experiments alone: the recorded run has none of these regions");
	if (!r->w) {
		BUF_AUTO(b, LINE_BYTES);

		put_alone(r, &b);
		grid_line(g, buf_str(&b));
	}
}

static void put_notes(const struct report *r, struct grid *g)
{
	bool has_any = false;

	for (size_t i = 0; i < r->nr; i++)
		if (r->row[i].differs) {
			if (!has_any)
				grid_line(g, "");
			has_any = true;
			put_difference(r, &r->row[i], g);
		}
	causal_plot(r->row, r->nr, job_columns(r->j), g);
	grid_line(g, "");
	put_doubts(r, g);
	put_reading(r, g);
}

/* --- rows */

static struct grid *make_grid(const struct report *r)
{
	const enum grid_audience made = r->made->row.nr ? GRID_ONLY_PEOPLE : GRID_ONLY_MACHINES,
				 replayed = has_replay(r) ? GRID_ONLY_PEOPLE : GRID_ONLY_MACHINES;
	const bool is_people = r->j->output->form == GRID_PEOPLE;
	const bool has_points = ARRAY_ANY(x, r->row, r->nr, !x->is_wall);
	const struct grid_column columns[] = {
	    {.name = "function",
	     .header = has_regions(r) && is_people ? "region" : NULL,
	     .kind = GRID_TEXT},
	    {.name = "linkage_name", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
	    {.name = "object", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
	    {.name = "source", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
	    {.name = "line", .kind = GRID_NUMBER, .audience = GRID_ONLY_MACHINES},
	    {.name = "quantity",
	     .header = "of",
	     .kind = GRID_TEXT,
	     .audience = has_points ? GRID_ALL : GRID_ONLY_MACHINES},
	    {.name = "point",
	     .kind = GRID_TEXT,
	     .audience = has_points ? GRID_ALL : GRID_ONLY_MACHINES},
	    {.name = "on_cpu", .header = "on CPU", .unit = "%", .kind = GRID_PERCENT, .leaves = 1},
	    {.name = "speedup", .header = "faster by", .unit = "%", .kind = GRID_PERCENT},
	    {.name = "saves_text",
	     .header = has_points ? "brings" : "saves",
	     .kind = GRID_TEXT,
	     .audience = is_people ? made : GRID_ONLY_PEOPLE},
	    {.name = "recorded_text",
	     .header = "by the recorded run",
	     .kind = GRID_TEXT,
	     .audience = is_people ? replayed : GRID_ONLY_PEOPLE},
	    {.name = "saves", .unit = "%", .kind = GRID_PERCENT, .audience = GRID_ONLY_MACHINES},
	    {.name = "saves_low",
	     .unit = "%",
	     .kind = GRID_PERCENT,
	     .audience = GRID_ONLY_MACHINES},
	    {.name = "saves_high",
	     .unit = "%",
	     .kind = GRID_PERCENT,
	     .audience = GRID_ONLY_MACHINES},
	    {.name = "rounds", .kind = GRID_COUNT, .audience = GRID_ONLY_MACHINES},
	    {.name = "wall_ns", .unit = "ns", .kind = GRID_AMOUNT, .audience = GRID_ONLY_MACHINES},
	    {.name = "rate", .unit = "/s", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
	    {.name = "latency_ns",
	     .unit = "ns",
	     .kind = GRID_AMOUNT,
	     .audience = GRID_ONLY_MACHINES},
	    {.name = "recorded", .unit = "%", .kind = GRID_PERCENT, .audience = GRID_ONLY_MACHINES},
	    {.name = "recorded_low",
	     .unit = "%",
	     .kind = GRID_PERCENT,
	     .audience = GRID_ONLY_MACHINES},
	    {.name = "recorded_high",
	     .unit = "%",
	     .kind = GRID_PERCENT,
	     .audience = GRID_ONLY_MACHINES},
	    {.name = "differs", .kind = GRID_FLAG, .audience = GRID_ONLY_MACHINES},
	    {.name = "rounds_without_latency", .kind = GRID_COUNT, .audience = GRID_ONLY_MACHINES},
	    {.name = "region", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
	};

	return reports_grid(r->j, columns, ARRAY_NR(columns));
}

static void put_percent(struct grid *g, double part)
{
	if (isfinite(part))
		grid_percent(g, part);
	else
		grid_none(g);
}

static void put_text(struct grid *g, const struct causal_row *row, bool is_known,
		     void (*put)(const struct causal_row *row, struct buf *out))
{
	BUF_AUTO(text, CELL_BYTES);

	if (is_known)
		put(row, &text);
	grid_text(g, buf_str(&text));
}

static void put_row(const struct report *r, const struct causal_row *row, struct grid *g)
{
	BUF_AUTO(name, LINE_BYTES);

	put_function(row, &name);
	grid_row(g);
	grid_text(g, r->j->output->form == GRID_PEOPLE ? buf_str(&name) : row->function);
	grid_text(g, row->linkage_name);
	grid_text(g, row->object);
	grid_text(g, row->source);
	row->line ? grid_count(g, row->line) : grid_none(g);
	grid_text(g, row->quantity);
	grid_text(g, row->point);
	put_percent(g, row->on_cpu);
	grid_percent(g, row->faster);
	put_text(g, row, isfinite(row->saves), put_saved);
	put_text(g, row, isfinite(row->replayed.share), put_replayed);
	put_percent(g, row->saves);
	put_percent(g, row->low);
	put_percent(g, row->high);
	row->rounds ? grid_count(g, row->rounds) : grid_none(g);
	r->made->wall_ns ? grid_count(g, r->made->wall_ns) : grid_none(g);
	r->made->rate.text ? grid_real(g, r->made->rate.value) : grid_none(g);
	r->made->latency_ns ? grid_count(g, r->made->latency_ns) : grid_none(g);
	put_percent(g, row->replayed.share);
	put_percent(g, row->replayed.low);
	put_percent(g, row->replayed.high);
	grid_flag(g, row->differs);
	grid_count(g, r->made->untimed);
	grid_text(g, row->region);
}

/* For people, without a row. */
static int put_nothing(const struct report *r, struct err *e)
{
	BUF_AUTO(b, LINE_BYTES);

	put_head(r);
	put_alone(r, &b);
	reports_headline(r->j, &b);
	return output_flush(r->j->output, e);
}

static int put_rows(const struct report *r, struct err *e)
{
	const uint64_t top = r->made->row.nr ? UINT64_MAX : reports_top(r->j, TOP);
	struct grid *g = make_grid(r);

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (r->j->output->form == GRID_PEOPLE)
		put_head(r);
	for (size_t i = 0; i < r->nr && i < top; i++)
		put_row(r, &r->row[i], g);
	if (r->j->output->form == GRID_PEOPLE)
		put_notes(r, g);
	return reports_end(r->j, g, 0, e);
}

int reports_causal(struct job *j, struct err *e)
{
	struct report r = {.j = j, .made = &job_input(j)->manifest.experiments};
	int rc = 0;

	if (!cpsession_is_causal(&job_input(j)->manifest)) {
		rc = err_set(e, -ENODATA, "--report=causal: the session has no experiments");
		err_hint(e, "cpuperf --causal -- PROGRAM; or --report=what-if");
		return rc;
	}
	rc = make(&r, e);
	if (rc == 0)
		rc = r.nr || j->output->form != GRID_PEOPLE ? put_rows(&r, e) : put_nothing(&r, e);
	what_if_free(r.w);
	mem_free(r.row);
	return rc;
}
