/*
 * The sentence is the first of a table that holds. Shares of time are exact where the kernel counts
 * them; those of a reason are of samples, and their lower limit decides.
 */
#include "conclusion.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "job.h"
#include "numbers.h"
#include "registry.h"
#include "report/flat.h"
#include "report/functions.h"
#include "report/locks.h"
#include "report/states.h"
#include "reports/reports.h"
#include "samples.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_REASONS = 32 };
enum { FEW_PROCESSES = 8 }; /* fewer have their names in the answer */
static const double most = 0.9, half = 0.5;
static const double least_ns = 1e8; /* else beginning and ending are much of it */

void conclusion_begin(struct job *j)
{
	struct conclusion *c = &j->output->conclusion;

	if (!j->is_brief || j->output->is_held || j->nr != 1 || j->inputs->nr != 1 ||
	    j->output->format->is_markdown)
		return;
	*c = (struct conclusion){.is_open = true, .at = j->output->text.len};
	if (output_is_answer(j->output))
		c->at = SIZE_MAX; /* it has a field */
	else
		buf_addc(&j->output->text, '\n');
}

/* --- waits ----------------------------------------------------------------------------------- */

struct reason {
	uint32_t text;
	struct report_weight weight, largest;
	uint32_t function; /* of the largest row */
};

static struct reason *find_reason(struct reason *list, size_t *nr, uint32_t text)
{
	for (size_t i = 0; i < *nr; i++)
		if (list[i].text == text)
			return &list[i];
	if (*nr == MAX_REASONS)
		return NULL;
	list[*nr].text = text;
	return &list[(*nr)++];
}

static void set_waits(struct conclusion *c, const struct job *j, const struct reason *r,
		      const struct report_weight *all)
{
	const struct report_functions *f = j->inputs->functions;
	const struct interval share = reports_share_of(&r->weight, all);
	const char *function = report_functions_at(f, r->function)->name;
	bool is_most = 2 * r->largest.weight >= r->weight.weight && *function != '[' &&
		       strlen(function) < sizeof(c->function);

	c->waits = share.share;
	c->least_waits = share.low;
	snprintf(c->reason, sizeof(c->reason), "%s", report_functions_text(f, r->text));
	snprintf(c->function, sizeof(c->function), "%s", is_most ? function : "");
}

/* The parts of the two kinds of waits for a child add up. */
static double least_of_children(const struct job *j, const struct reason *list, size_t nr,
				const struct report_weight *all)
{
	static const char *const kinds[] = {"child", "vfork"};
	struct report_weight sum = {0};

	for (size_t i = 0; i < nr; i++) {
		const char *text = report_functions_text(j->inputs->functions, list[i].text);

		if (ARRAY_ANY(kind, kinds, ARRAY_NR(kinds), strcmp(text, *kind) == 0))
			report_weight_add(&sum, &list[i].weight);
	}
	return sum.samples ? reports_share_of(&sum, all).low : 0;
}

/* Of a name that several threads have, one is not known without its number. */
static void set_holder(struct conclusion *c, const struct job *j, const struct report_locks *locks,
		       const struct report_lock *l)
{
	const char *name = report_functions_text(j->inputs->functions, l->holder.text);
	struct report_holder_task task;

	report_locks_holder_task(locks, l, &task);
	if (!task.all.samples)
		return;
	c->least_used = reports_share_of(&task.used, &task.all).low;
	snprintf(c->holder, sizeof(c->holder), "%s", name);
	if (l->holder.has_namesake)
		snprintf(c->holder, sizeof(c->holder), "%s (tid %" PRIu32 ")", name, l->holder.tid);
}

static void set_lock(struct conclusion *c, const struct job *j, const struct report_locks *locks,
		     const struct report_lock *l, const struct report_weight *all)
{
	const struct interval share = reports_share_of(&l->weight, all);
	const struct report_holder *h = &l->holder;

	c->lock = share.share;
	c->least_lock = share.low;
	if (h->weight.samples && reports_share_of(&h->weight, &l->weight).low >= most)
		set_holder(c, j, locks, l);
}

/* That of the most time. all: of what is blocked. What fails here leaves a sentence that says less.
 */
static void add_lock(struct job *j, const struct report_weight *all)
{
	struct report_locks *locks = report_locks_new(j->inputs->functions, false);
	const uint64_t nr_records = j->output->nr_records;
	const struct report_lock *rows = NULL;
	struct report_stats stats;
	struct err e = {.code = 0};
	size_t nr = 0;

	if (!locks)
		return;
	if (samples_read(j, j->first, j->nr, report_locks_sink(locks), &stats, &e) == 0)
		rows = report_locks_rows(locks, &nr);
	for (size_t i = 0; rows && i < nr; i++)
		if (report_lock_is_held(&rows[i])) {
			set_lock(&j->output->conclusion, j, locks, &rows[i], all);
			break;
		}
	j->output->nr_records = nr_records;
	report_stats_fini(&stats);
	report_locks_free(locks);
}

/* A part of the time of all threads but their waits for work. Where little is left of it, that is
 * not what limits the command: 0. */
static double share_of_busy(const struct conclusion *c, double ns)
{
	const double idle_ns = c->idle_ns < c->blocked_ns ? c->idle_ns : c->blocked_ns;
	const double busy_ns = c->all_ns - idle_ns;

	return busy_ns > 0 && (idle_ns <= 0 || busy_ns >= half * c->wall_ns) ? ns / busy_ns : 0;
}

static double blocked_share(const struct conclusion *c)
{
	return c->blocked_ns > c->idle_ns ? share_of_busy(c, c->blocked_ns - c->idle_ns) : 0;
}

double conclusion_queue_share(const struct conclusion *c)
{
	return share_of_busy(c, c->queue_ns);
}

/* Whether so much of the threads' time may be a sentence. */
static bool is_half(const struct conclusion *c, double least)
{
	return blocked_share(c) * least >= half;
}

bool conclusion_is_of_waits(const struct conclusion *c)
{
	return is_half(c, c->least_waits);
}

void conclusion_add_waits(struct job *j, const struct report_flat_row *rows, size_t nr)
{
	struct reason list[MAX_REASONS] = {0}, *most_of = NULL;
	struct report_weight all = {0};
	size_t nr_reasons = 0;

	for (size_t i = 0; i < nr && j->output->conclusion.is_open; i++) {
		const struct report_flat_row *row = &rows[i];
		struct reason *r;

		if (row->column[REPORT_STATE] != REPORT_BLOCKED || !row->self.samples)
			continue;
		report_weight_add(&all, &row->self);
		r = find_reason(list, &nr_reasons, row->column[REPORT_REASON]);
		if (!r)
			return;
		report_weight_add(&r->weight, &row->self);
		if (row->self.weight > r->largest.weight) {
			r->largest = row->self;
			r->function = row->column[REPORT_FUNCTION];
		}
		if (!most_of || r->weight.weight > most_of->weight.weight)
			most_of = r;
	}
	if (!most_of)
		return;
	set_waits(&j->output->conclusion, j, most_of, &all);
	j->output->conclusion.least_child = least_of_children(j, list, nr_reasons, &all);
	if (strcmp(j->output->conclusion.reason, "futex") == 0 &&
	    blocked_share(&j->output->conclusion) >= half)
		add_lock(j, &all);
}

/* --- on a CPU -------------------------------------------------------------------------------- */

static bool is_of_faults(const char *function)
{
	static const char *const names[] = {"exc_page_fault", "do_user_addr_fault", "do_page_fault",
					    "do_mem_abort"};

	return ARRAY_ANY(name, names, ARRAY_NR(names), strcmp(function, *name) == 0);
}

static void set_part(double least, const char *name, double *part, char *of)
{
	if (least <= *part || strlen(name) >= CONCLUSION_NAME_BYTES)
		return;
	*part = least;
	snprintf(of, CONCLUSION_NAME_BYTES, "%s", name);
}

void conclusion_add_function(struct job *j, const struct report_flat_row *row,
			     const struct report_weight *all)
{
	const struct report_function *f =
	    report_functions_at(j->inputs->functions, row->column[REPORT_FUNCTION]);
	struct conclusion *c = &j->output->conclusion;

	if (f->is_kernel && is_of_faults(f->name))
		set_part(reports_share_of(&row->total, all).low, f->name, &c->least_faults,
			 c->faults);
	else if (!f->is_kernel && f->is_known && row->self.samples &&
		 !reports_is_made_at_run_time(f->object))
		set_part(reports_share_of(&row->self, all).low, f->name, &c->least_hot, c->hot);
}

void conclusion_set_program(struct conclusion *c, const char *name, uint64_t nr_processes,
			    const struct report_weight *its, const struct report_weight *all)
{
	c->nr_of_program = nr_processes;
	c->least_program = reports_share_of(its, all).low;
	snprintf(c->program, sizeof(c->program), "%s", name);
}

/* -j, also behind other letters. */
static bool tells_jobs(const char *arguments)
{
	static const char option[] = "--jobs";
	const char *at = arguments;

	while (*(at += strspn(at, " "))) {
		const size_t len = strcspn(at, " ");

		if (strncmp(at, option, sizeof(option) - 1) == 0 ||
		    (at[0] == '-' && at[1] != '-' && memchr(at, 'j', len)))
			return true;
		at += len;
	}
	return false;
}

bool conclusion_is_make(const char *command)
{
	static const char *const names[] = {"make", "gmake"};
	const char *slash = command + strcspn(command, " "), *name = slash;

	while (name > command && name[-1] != '/')
		name--;
	if (!ARRAY_ANY(x, names, ARRAY_NR(names),
		       strlen(*x) == (size_t)(slash - name) && strncmp(name, *x, strlen(*x)) == 0))
		return false;
	return !tells_jobs(slash);
}

/* --- sentences ------------------------------------------------------------------------------- */

/* What is waited for; NULL: nothing that limits a program of several threads. */
static const char *wait_text(const struct conclusion *c)
{
	static const struct {
		const char *reason, *text;
		bool is_usual; /* of a thread that has others work for it */
	} texts[] = {
	    {"disk", "for the disk", false},
	    {"sleep", "in sleep", true},
	    {"futex", "for another thread or a lock (futex)", false},
	    {"child", "for a child", true},
	    {"vfork", "for a child", true},
	    {"socket", "for a socket", false},
	    {"pipe", "for a pipe", true},
	    {"file lock", "for a file lock", false},
	    {"kernel lock", "for a lock of the kernel", false},
	    {"page fault", "for page faults", false},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(texts[i].reason, c->reason) == 0)
			return c->nr_threads > 1 && texts[i].is_usual ? NULL : texts[i].text;
	return NULL;
}

static void put_share(struct buf *out, double share, const char *of)
{
	buf_printf(out, "%s %% of %s", DECIMAL(100 * (share < 1 ? share : 1), 0), of);
}

static bool put_one_on_cpu(const struct conclusion *c, struct buf *out)
{
	const double share = c->used_ns / c->wall_ns;

	if (c->nr_threads != 1 || share < most)
		return false;
	put_share(out, share, "the wall time is one thread on CPU");
	return true;
}

/* No process has half of it. */
static bool has_processes(const struct conclusion *c)
{
	return c->nr_tree >= FEW_PROCESSES && c->nr_processes >= FEW_PROCESSES;
}

static bool has_program(const struct conclusion *c)
{
	return has_processes(c) && c->nr_of_program > 1 && c->least_program >= half;
}

static bool put_all_cpus(const struct conclusion *c, struct buf *out)
{
	const double share = c->used_ns / c->wall_ns / (double)c->nr_cpus;

	if (c->nr_cpus < 2 || c->nr_threads < 2 || share < most)
		return false;
	put_share(out, share, "");
	buf_printf(out, "the time of all %s CPUs is used by %s %s", COMMAS(c->nr_cpus),
		   COMMAS(has_processes(c) ? c->nr_tree : c->nr_threads),
		   has_processes(c) ? "processes" : "threads");
	if (has_program(c))
		buf_printf(out, ", most of it by %s of %s", COMMAS(c->nr_of_program), c->program);
	return true;
}

/* Whether parents may have run beside their children: what of their time is not known to be a wait
 * for them is at most a little. */
static bool are_parents_waiting(const struct conclusion *c)
{
	const double blocked_ns = c->blocked_ns > c->idle_ns ? c->blocked_ns - c->idle_ns : 0;

	return c->parents_ns - blocked_ns * c->least_child <= (1 - most) * c->wall_ns;
}

static bool put_in_turn(const struct conclusion *c, struct buf *out)
{
	const double share = c->used_ns / c->wall_ns;

	if (!has_processes(c) || c->nr_leaves < FEW_PROCESSES || share < half || share > 1 ||
	    c->alone_ns < most * c->wall_ns || !are_parents_waiting(c))
		return false;
	put_share(out, share, "the wall time is one CPU, used by ");
	buf_printf(out, "%s processes one after the other%s", COMMAS(c->nr_tree),
		   c->is_make && c->nr_cpus > 1 ? " (make -j runs several at a time)" : "");
	return true;
}

static void put_time_of_threads(const struct conclusion *c, struct buf *out, double share)
{
	put_share(out, share, c->nr_threads == 1 ? "the wall time" : "");
	if (c->nr_threads > 1)
		buf_printf(out, "the time of %s threads%s", COMMAS(c->nr_threads),
			   c->idle_ns > 0 ? ", idle time excluded," : "");
}

static bool put_queue(const struct conclusion *c, struct buf *out)
{
	const double share = conclusion_queue_share(c);

	if (share < half)
		return false;
	put_time_of_threads(c, out, share);
	buf_adds(out, " is waiting for a CPU");
	return true;
}

static bool uses_cpus(const struct conclusion *c)
{
	return (c->used_ns + c->queue_ns) / c->wall_ns >= half;
}

/* Most wait for one lock, of which it is known who has it. */
static bool is_held(const struct conclusion *c)
{
	return is_half(c, c->least_lock) && *c->holder;
}

/* Threads without work queue at a lock, too, whose holder waits for work: only if that one is
 * mostly busy, it is the lock that they wait for. */
bool conclusion_is_lock(const struct conclusion *c)
{
	return is_held(c) && c->least_used >= half && uses_cpus(c);
}

double conclusion_lock_share(const struct conclusion *c)
{
	return blocked_share(c) * c->least_lock;
}

static bool put_lock(const struct conclusion *c, struct buf *out)
{
	if (!conclusion_is_lock(c))
		return false;
	put_time_of_threads(c, out, blocked_share(c) * c->lock);
	buf_printf(out, " is waiting for one lock, held by %s", c->holder);
	return true;
}

bool conclusion_may_be_for_idle(const struct conclusion *c)
{
	static const char *const reasons[] = {"futex", "child"};

	return c->idle_ns > 0 && !is_half(c, c->least_lock) &&
	       ARRAY_ANY(reason, reasons, ARRAY_NR(reasons), strcmp(c->reason, *reason) == 0);
}

static bool put_blocked(const struct conclusion *c, struct buf *out)
{
	const char *text = wait_text(c);
	/* others may wait for work, of which the one on a CPU has none for them */
	const bool has_busy = c->nr_threads > 1 && uses_cpus(c);
	const bool has_idle_holder = is_held(c) && c->least_used < half;

	if (!text || has_busy || has_idle_holder || conclusion_may_be_for_idle(c) ||
	    !conclusion_is_of_waits(c))
		return false;
	put_time_of_threads(c, out, blocked_share(c) * c->waits);
	buf_printf(out, " is waiting %s%s%s", text, *c->function ? ", most of it in " : "",
		   c->function);
	return true;
}

/* Where nothing limits the command that much: what most of it is. */
static bool put_program(const struct conclusion *c, struct buf *out)
{
	const double used = c->used_ns / c->wall_ns;

	if (!has_program(c) || used < half)
		return false;
	buf_printf(out,
		   "at least %s %% of the time on CPU is %s processes of %s; %s of %s CPUs are "
		   "used on average",
		   DECIMAL(floor(100 * c->least_program), 0), COMMAS(c->nr_of_program), c->program,
		   DECIMAL(used, 1), COMMAS(c->nr_cpus));
	return true;
}

static bool put_sentence(const struct conclusion *c, struct buf *out)
{
	return c->all_ns > 0 && c->wall_ns >= least_ns &&
	       (put_one_on_cpu(c, out) || put_all_cpus(c, out) || put_in_turn(c, out) ||
		put_queue(c, out) || put_lock(c, out) || put_blocked(c, out) ||
		put_program(c, out));
}

void conclusion_put(const struct conclusion *c, struct buf *out)
{
	put_sentence(c, out);
}

void conclusion_end(struct conclusion *c, struct buf *text)
{
	BUF_AUTO(rest, text->max_bytes);
	bool is_found;

	if (!c->is_open || buf_error(text) || c->at >= text->len)
		return;
	c->is_open = false;
	buf_add(&rest, text->data + c->at, text->len - c->at);
	buf_cut(text, c->at);
	is_found = put_sentence(c, text);
	buf_adds(text, buf_str(&rest) + !is_found);
}
