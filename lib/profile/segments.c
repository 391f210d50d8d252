/*
 * Replaces segments by their iterations. Must not trust a name, an order or an offset from a file.
 */
#include "profile/segments.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct list {
	struct profile_folder *folder;
	int dirfd;
	const char *base;
	char id[33]; /* "": unknown yet */
	profile_problem_fn *problem;
	void *arg;
};

static void report_damage(const struct list *l, const char *name, const struct trace_parts *parts)
{
	struct err e = {0};

	if (parts->index_is_damaged) {
		err_set_at(
		    &e, -EILSEQ, name, 0, 0,
		    "its index is truncated or damaged: its iterations are found without it");
		l->problem(l->arg, false, &e);
	}
	if (!parts->strays)
		return;
	err_set_at(&e, parts->has_stray_end ? -ENODATA : -EILSEQ, name, 0, 0,
		   "%" PRIu64 " bytes from offset %" PRIu64
		   " on are damaged, or belong to no known iteration: skipped",
		   parts->strays, parts->first_stray);
	l->problem(l->arg, true, &e);
}

static int add_parts(const struct list *l, const struct profile_file *file,
		     const struct trace_parts *parts)
{
	return ARRAY_RUN(i, parts->nr,
			 profile_folder_add(l->folder, &(struct profile_file){
							   .iteration = parts->item[i].iteration,
							   .trace = file->trace,
							   .segment = file->segment,
							   .head_bytes = parts->item[i].head_bytes,
							   .from = parts->item[i].from,
							   .to = parts->item[i].to}));
}

/* NULL, or why the file does not match its name. */
static const char *fault(const struct profile_file *file, const struct trace_reader *r)
{
	if (!trace_reader_is_segment(r))
		return "is not a segment, despite its name: ignored";
	if (trace_reader_head(r)->trace != file->trace)
		return "its header names another trace: ignored";
	return NULL;
}

static bool is_own(struct list *l, const struct trace_head *head)
{
	char id[33];

	str_hex16(head->session_id, id);
	if (!*l->id)
		memcpy(l->id, id, sizeof(id));
	return strcmp(l->id, id) == 0;
}

/* 1: its iterations were added; 0: it is not of this session; -EFBIG, -ENOMEM. */
static int list_reader(struct list *l, const struct profile_file *file, const char *name,
		       struct trace_reader *r)
{
	const char *why = fault(file, r);
	struct trace_parts parts;
	struct err e = {0};
	int rc;

	if (!is_own(l, trace_reader_head(r)))
		return 0;
	if (why) {
		err_set_at(&e, -EINVAL, name, 0, 0, "%s", why);
		l->problem(l->arg, true, &e);
		return 1;
	}
	rc = trace_reader_parts(r, &parts);
	if (rc == -EFBIG) {
		err_set_at(&e, rc, name, 0, 0,
			   "contains more iterations than a segment can: skipped");
		l->problem(l->arg, true, &e);
		return 1;
	}
	if (rc)
		return rc;
	report_damage(l, name, &parts);
	rc = add_parts(l, file, &parts);
	trace_parts_fini(&parts);
	return rc ? rc : 1;
}

static int list_segment(struct list *l, const struct profile_file *file)
{
	char name[NAME_MAX + 1];
	struct trace_reader *r;
	struct err e = {0};
	int rc;

	profile_file_name(l->base, file, name);
	rc = trace_reader_open(l->dirfd, name, &r, &e);
	if (rc == -ENOMEM)
		return rc;
	if (rc == -ENOENT) /* its session removed it meanwhile */
		return 1;
	if (rc && *l->id)
		return 0; /* its session is unknown; missing iterations are reported anyway */
	if (rc) {
		l->problem(l->arg, true, &e);
		return 1;
	}
	rc = list_reader(l, file, name, r);
	trace_reader_close(r);
	return rc;
}

/* A session removes an older one's files of the first iteration, so those found are its own. */
static bool has_first(const struct profile_folder *f)
{
	return ARRAY_ANY(x, f->file, f->nr_all, !x->segment && x->iteration == 0);
}

/* Segments are first in the list; their iterations are appended. */
int profile_segments_list(struct profile_folder *f, int dirfd, const char *base, const char *id,
			  profile_problem_fn *problem, void *arg)
{
	struct list l = {.folder = f, .dirfd = dirfd, .base = base, .problem = problem, .arg = arg};
	size_t nr = f->nr_all, nr_left = 0;
	int rc = 0;

	if (!*id && has_first(f))
		return 0;
	snprintf(l.id, sizeof(l.id), "%s", id);
	for (size_t i = 0; i < nr && rc >= 0; i++) {
		const struct profile_file file = f->file[i];

		rc = file.segment ? list_segment(&l, &file) : 0;
		if (rc == 0)
			f->file[nr_left++] = file;
	}
	if (rc < 0 || nr_left == nr)
		return rc < 0 ? rc : 0;
	memmove(f->file + nr_left, f->file + nr, (f->nr_all - nr) * sizeof(*f->file));
	f->nr_all -= nr - nr_left;
	return 0;
}

bool profile_segments_are_others(const struct profile_folder *f)
{
	for (size_t i = f->nr; i < f->nr_all; i++)
		if (f->file[i].segment && !f->file[i].to)
			return true;
	return false;
}
