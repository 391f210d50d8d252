/*
 * Parses file names, and finds the gaps in their numbers. Must not open a trace.
 */
#include "profile/folder.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "trace/name.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The most that is listed before "and more". */
enum { MAX_RANGES = 16, MAX_GAPS = 16, MAX_LIST_BYTES = 400 };

void profile_file_name(const char *base, const struct profile_file *file, char name[NAME_MAX + 1])
{
	const struct trace_name n = {.number = file->segment ? file->segment - 1 : file->iteration,
				     .trace = file->trace,
				     .is_segment = file->segment};

	(void)trace_name_format(base, &n, name, NAME_MAX + 1);
}

int profile_folder_add(struct profile_folder *f, const struct profile_file *file)
{
	struct profile_file *added;

	if (f->nr_all == PROFILE_MAX_FILES)
		return -EFBIG;
	added = MEM_ADD(f->file, f->nr_all, f->cap);
	if (!added)
		return -ENOMEM;
	*added = *file;
	return 0;
}

struct scan {
	const char *base;
	struct profile_folder *folder;
};

/* The iterations of a segment are unknown until it is opened: it is sorted last. */
static int add_name(const char *name, void *arg)
{
	const struct scan *s = arg;
	struct profile_file file = {0};
	struct trace_name n;

	if (!trace_name_parse(s->base, name, &n) || n.trace == TRACE_COMMON)
		return 0;
	file.trace = n.trace;
	file.segment = n.is_segment ? n.number + 1 : 0;
	file.iteration = n.is_segment ? TRACE_COMMON - 1 : n.number;
	return profile_folder_add(s->folder, &file);
}

/* The iterations of segments come first: their files were opened. */
static int compare(const void *a, const void *b)
{
	const struct profile_file *x = a, *y = b;

	return order_u64(x->iteration, y->iteration)
		   ?: order_u64(x->trace, y->trace)
		   ?: order_u64(!x->segment, !y->segment)
		   ?: order_u64(x->segment, y->segment);
}

static bool is_within(const struct profile_folder *f, const struct profile_file *file)
{
	return file->iteration >= f->nr_removed &&
	       (!f->nr_iterations || file->iteration < f->nr_iterations) &&
	       (!f->nr_traces || file->trace < f->nr_traces) && file->trace < PROFILE_MAX_TRACES &&
	       !file->segment == !file->to;
}

static bool is_again(const struct profile_folder *f, const struct profile_file *file)
{
	const struct profile_file *last = f->nr ? &f->file[f->nr - 1] : NULL;

	return last && last->iteration == file->iteration && last->trace == file->trace;
}

/* Moves the session's files before the strays; a stable partition. */
static void divide(struct profile_folder *f, struct profile_file *strays)
{
	size_t nr_strays = 0;

	for (size_t i = 0; i < f->nr_all; i++)
		if (is_within(f, &f->file[i]) && !is_again(f, &f->file[i]))
			f->file[f->nr++] = f->file[i];
		else
			strays[nr_strays++] = f->file[i];
	if (nr_strays)
		memcpy(f->file + f->nr, strays, nr_strays * sizeof(*strays));
}

/* Numbers missing from the manifest are set to those found. */
static void count(struct profile_folder *f)
{
	uint32_t max_trace = 0;
	size_t rows = 0;

	for (size_t i = 0; i < f->nr; i++) {
		rows = i && f->file[i].iteration == f->file[i - 1].iteration ? rows + 1 : 1;
		if (rows > f->max_rows)
			f->max_rows = rows;
		if (f->file[i].trace > max_trace)
			max_trace = f->file[i].trace;
	}
	if (!f->nr)
		return;
	if (!f->nr_iterations)
		f->nr_iterations = (uint64_t)f->file[f->nr - 1].iteration + 1;
	if (!f->nr_traces)
		f->nr_traces = (uint64_t)max_trace + 1;
}

int profile_folder_order(struct profile_folder *f)
{
	struct profile_file *strays;

	f->nr = f->max_rows = 0;
	if (!f->nr_all)
		return 0;
	strays = mem_calloc(f->nr_all, sizeof(*strays));
	if (!strays)
		return -ENOMEM;
	order_sort(f->file, f->nr_all, sizeof(*f->file), compare);
	divide(f, strays);
	mem_free(strays);
	count(f);
	return 0;
}

int profile_folder_scan(int dirfd, const char *base, const struct profile_manifest *m,
			struct profile_folder *out)
{
	struct profile_folder f = {.nr_iterations = m->num_iterations,
				   .nr_listed = m->num_iterations,
				   .nr_traces = m->num_traces,
				   .nr_removed = m->nr_removed};
	int rc = io_each_name(dirfd, add_name, &(struct scan){base, &f});

	if (rc) {
		profile_folder_fini(&f);
		return rc;
	}
	*out = f;
	return 0;
}

void profile_folder_fini(struct profile_folder *f)
{
	mem_free(f->file);
	*f = (struct profile_folder){0};
}

void profile_folder_report_strays(const struct profile_folder *f, const char *base,
				  const struct profile_strays *s, bool is_own,
				  profile_problem_fn *problem, void *arg)
{
	const char *what =
	    is_own ? "belongs to this session, but exceeds the counts in its session file"
		   : "not of this session";
	char first[NAME_MAX + 1], last[NAME_MAX + 1];
	struct err e = {0};

	if (!s->nr)
		return;
	profile_file_name(base, &f->file[s->first], first);
	profile_file_name(base, &f->file[s->last], last);
	if (s->nr == 1)
		err_set_at(&e, -EEXIST, first, 0, 0, "%s: ignored", what);
	else
		err_set_at(&e, -EEXIST, first, 0, 0, "%s: ignored, as %s %zu more %s up to %s",
			   what, str_plural(s->nr - 1, "is", "are"), s->nr - 1,
			   str_plural(s->nr - 1, "file", "files"), last);
	err_hint(&e, is_own ? "the session file is an older copy, or the session is still running"
			    : "another session with the same prefix left them");
	problem(arg, false, &e);
}

/* "3, 5-9": a list of ranges that ends in "…" when it becomes long. */
struct ranges {
	struct buf text;
	size_t nr;
};

static void add_range(struct ranges *r, uint64_t from, uint64_t to)
{
	if (r->nr++ >= MAX_RANGES)
		return;
	buf_adds(&r->text, r->nr > 1 ? ", " : "");
	buf_u64(&r->text, from);
	if (to > from) {
		buf_addc(&r->text, '-');
		buf_u64(&r->text, to);
	}
	if (r->nr == MAX_RANGES)
		buf_adds(&r->text, ", …");
}

static bool is_last(const struct profile_folder *f, uint64_t iteration)
{
	return iteration + 1 == f->nr_iterations;
}

int profile_folder_gap_code(const struct profile_folder *f, uint64_t iteration)
{
	bool is_listed = !f->nr_listed || iteration + 1 < f->nr_listed;

	return is_listed && !is_last(f, iteration) ? -ENOENT : -ENODATA;
}

static void hint_if_last(const struct profile_folder *f, uint64_t iteration, struct err *e)
{
	if (is_last(f, iteration))
		err_hint(e, "it is the last one: the session was killed, ran out of disk space, or "
			    "is still running");
}

/* Iterations without any file. */
static void report_empty(const struct profile_folder *f, profile_problem_fn *problem, void *arg)
{
	struct ranges r = {0};
	struct err e = {0};
	uint64_t next = f->nr_removed, gap = 0;

	buf_init(&r.text, MAX_LIST_BYTES);
	for (size_t i = 0; i <= f->nr; i++) {
		uint64_t at = i < f->nr ? f->file[i].iteration : f->nr_iterations;

		if (at > next) {
			add_range(&r, next, at - 1);
			gap = next;
		}
		next = at + 1;
	}
	if (r.nr) {
		err_set(&e, r.nr > 1 ? -ENOENT : profile_folder_gap_code(f, gap),
			"no traces of iteration %s (of %" PRIu64 "-%" PRIu64 ")", buf_str(&r.text),
			f->nr_removed, f->nr_iterations - 1);
		hint_if_last(f, gap, &e);
		problem(arg, true, &e);
	}
	buf_fini(&r.text);
}

/* Reports the gaps between traces [from, to), the files of one iteration. */
static bool report_gap(const struct profile_folder *f, size_t from, size_t to,
		       profile_problem_fn *problem, void *arg)
{
	struct ranges r = {0};
	struct err e = {0};
	uint64_t next = 0;

	if (to - from >= f->nr_traces)
		return false;
	buf_init(&r.text, MAX_LIST_BYTES);
	for (size_t i = from; i <= to; i++) {
		uint64_t at = i < to ? f->file[i].trace : f->nr_traces;

		if (at > next)
			add_range(&r, next, at - 1);
		next = at + 1;
	}
	err_set(&e, profile_folder_gap_code(f, f->file[from].iteration),
		"iteration %" PRIu32 " has no trace %s (of 0-%" PRIu64 ")", f->file[from].iteration,
		buf_str(&r.text), f->nr_traces - 1);
	hint_if_last(f, f->file[from].iteration, &e);
	problem(arg, true, &e);
	buf_fini(&r.text);
	return true;
}

static void ignore(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg, (void)is_loss, (void)problem;
}

static void report_gaps(const struct profile_folder *f, profile_problem_fn *problem, void *arg)
{
	struct err e = {0};
	size_t nr = 0;

	for (size_t from = 0, to; from < f->nr; from = to) {
		for (to = from; to < f->nr && f->file[to].iteration == f->file[from].iteration;)
			to++;
		nr += report_gap(f, from, to, nr < MAX_GAPS ? problem : ignore, arg);
	}
	if (nr <= MAX_GAPS)
		return;
	err_set(&e, -ENOENT, "traces are missing from %zu more %s", nr - MAX_GAPS,
		str_plural(nr - MAX_GAPS, "iteration", "iterations"));
	problem(arg, true, &e);
}

void profile_folder_report(const struct profile_folder *f, profile_problem_fn *problem, void *arg)
{
	report_empty(f, problem, arg);
	report_gaps(f, problem, arg);
}
