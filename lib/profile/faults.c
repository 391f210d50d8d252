/*
 * Reports the faults of one file in few lines.
 */
#include "profile/faults.h"

#include "base/err.h"
#include "base/str.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>

enum { MAX_LISTED = 8 };

void profile_faults_report(void *faults, bool is_loss, const struct err *e)
{
	const struct profile_faults *f = faults;

	if (!f->is_growing || e->code != -ENODATA)
		f->problem(f->arg, is_loss, e);
}

void profile_faults_add(struct profile_faults *f, const struct err *e)
{
	if (f->nr++ < MAX_LISTED)
		profile_faults_report(f, true, e);
}

void profile_faults_add_frame(struct profile_faults *f, const struct trace_frame *frame)
{
	struct err e = {0};

	err_set_at(&e, -EINVAL, f->name, 0, 0,
		   "the frame at offset %" PRIu64 " (kind %u) cannot be decoded: skipped",
		   frame->offset, (unsigned)frame->kind);
	profile_faults_add(f, &e);
}

void profile_faults_lose(const struct profile_faults *f, int code, const char *what)
{
	struct err e = {0};

	err_set_at(&e, code, f->name, 0, 0, "%s", what);
	profile_faults_report((void *)f, true, &e);
}

void profile_faults_count(const struct profile_faults *f, bool is_loss, uint64_t nr,
			  const char *one, const char *many)
{
	struct err e = {0};

	if (!nr)
		return;
	err_set_at(&e, -EINVAL, f->name, 0, 0, "%" PRIu64 " %s", nr, str_plural(nr, one, many));
	profile_faults_report((void *)f, is_loss, &e);
}

void profile_faults_records(const struct profile_faults *f, uint64_t nr_invalid,
			    uint64_t nr_foreign)
{
	const char *invalid =
	    str_plural(nr_invalid, "record is invalid: skipped", "records are invalid: skipped");
	const char *foreign =
	    str_plural(nr_foreign, "record of unknown events", "records of unknown events");
	struct err e = {0};

	if (!nr_invalid || !nr_foreign) {
		profile_faults_count(f, true, nr_invalid, invalid, invalid);
		profile_faults_count(f, true, nr_foreign, foreign, foreign);
		return;
	}
	err_set_at(&e, -EINVAL, f->name, 0, 0, "%" PRIu64 " %s; %" PRIu64 " %s", nr_invalid,
		   invalid, nr_foreign, foreign);
	profile_faults_report((void *)f, true, &e);
}

void profile_faults_short(const struct profile_faults *f)
{
	profile_faults_lose(
	    f, -ENOSPC,
	    "incomplete: the disk was full or a limit was reached; the last data is "
	    "missing");
}

void profile_faults_end(const struct profile_faults *f, bool is_whole)
{
	struct err e = {0};

	if (f->nr > MAX_LISTED) {
		err_set_at(&e, -EILSEQ, f->name, 0, 0, "%zu more damaged %s", f->nr - MAX_LISTED,
			   str_plural(f->nr - MAX_LISTED, "place", "places"));
		profile_faults_report((void *)f, true, &e);
	}
	if (!is_whole && !f->nr)
		profile_faults_lose(f, -ENODATA, "truncated: its end is missing");
}
