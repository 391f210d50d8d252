/*
 * Files of traces.
 */
#include "session/traces.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "spec/spec.h"
#include "trace/file.h"
#include "trace/name.h"
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PLAIN_ITERATIONS = 100 }; /* a tally of more has segments */

static const char hint[] = "--output-path-prefix=PATH (or output_path_prefix in the spec) changes "
			   "it; an empty prefix saves no traces";

/* number: of the iteration, or of the segment. */
static int make_name(const struct traces *t, uint32_t number, uint32_t trace,
		     char name[NAME_MAX + 1], char path[PATH_MAX], struct err *e)
{
	const struct trace_name n = {number, trace, t->is_segmented};

	if (!trace_name_format(t->place.name, &n, name, NAME_MAX + 1) ||
	    !trace_name_format(t->place.path, &n, path, PATH_MAX))
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", t->place.path);
	return 0;
}

struct search {
	const struct traces *traces;
	uint64_t nr_iterations;
	struct err *e;
	int rc; /* the error for the conflicting name */
};

/* True for a name that the session may use. The first ones are removed in both forms. */
static bool could_use(const struct search *s, const struct trace_name *n)
{
	if (n->trace == TRACE_COMMON)
		return true;
	return n->number < s->nr_iterations && n->trace < s->traces->nr_traces &&
	       (n->is_segment == s->traces->is_segmented || n->number == 0);
}

static int check_one(const char *name, void *arg)
{
	struct search *s = arg;
	const struct place *p = &s->traces->place;
	char path[PATH_MAX + NAME_MAX];
	struct trace_name n;

	if (!trace_name_parse(p->name, name, &n) || !could_use(s, &n))
		return 0;
	snprintf(path, sizeof(path), "%.*s%s", (int)(p->name - p->path), p->path, name);
	s->rc = io_check_replaceable(p->dirfd, name, path, trace_is_trace, s->e);
	return s->rc;
}

/* Checks all names that the session may use, so that conflicts are found before anything is
 * measured; also whether the longest one is too long. */
static int check_names(const struct traces *t, uint64_t nr_iterations, struct err *e)
{
	struct search search = {.traces = t, .nr_iterations = nr_iterations, .e = e};
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(t, (uint32_t)nr_iterations - 1, t->nr_traces - 1, name, path, e);

	if (rc)
		return rc;
	rc = io_each_name(t->place.dirfd, check_one, &search);
	if (rc && !search.rc)
		err_set(e, rc, "%s: its folder cannot be read: %s", t->place.path, strerror(-rc));
	return rc;
}

int traces_open(struct traces *t, const char *prefix, const struct spec *spec, uint32_t nr_traces,
		struct err *e)
{
	int rc;

	*t = (struct traces){.nr_traces = nr_traces,
			     .is_sampling = spec_is_sampling(spec),
			     .is_segmented = !spec_is_sampling(spec) &&
					     spec_max_iterations(spec) > MAX_PLAIN_ITERATIONS};
	rc = place_open(&t->place, prefix, ".traces.lock", e);
	if (rc == 0 && t->place.dirfd >= 0 && t->is_segmented) {
		t->segments = mem_calloc(nr_traces, sizeof(struct trace_file *));
		if (!t->segments)
			rc = err_set(e, -ENOMEM, "out of memory");
	}
	if (rc == 0 && t->place.dirfd >= 0)
		rc = check_names(t, spec_max_iterations(spec), e);
	if (rc) {
		traces_close(t);
		err_hint(e, "%s", hint);
	}
	return rc;
}

void traces_close(struct traces *t)
{
	for (uint32_t k = 0; t->segments && k < t->nr_traces; k++)
		trace_file_abandon(t->segments[k]);
	mem_free(t->segments);
	t->segments = NULL;
	place_close(&t->place);
}

/* Readers that do not compare ids identify a session by its first iteration and its common file. */
int traces_remove_first(const struct traces *t, struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = 0;

	for (uint32_t k = 0; k <= t->nr_traces && rc == 0; k++) {
		rc = make_name(t, 0, k < t->nr_traces ? k : TRACE_COMMON, name, path, e)
			 ?: sys()->unlinkat(t->place.dirfd, name, 0);
		if (rc == -ENOENT)
			rc = 0;
		if (rc)
			err_set(e, rc, "%s: an older trace cannot be removed: %s", path,
				strerror(-rc));
	}
	if (rc)
		err_hint(e, "%s", hint);
	return rc;
}

static int sync_error(const char *path, int rc, struct err *e)
{
	return err_set(e, rc, "%s: cannot be synced to disk: %s", path, strerror(-rc));
}

/* Syncs a file; one that is missing, or not this session's, is skipped. */
static int sync_file(const struct traces *t, uint32_t number, uint32_t trace, struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(t, number, trace, name, path, e), fd;

	if (rc)
		return rc;
	fd = sys()->openat(t->place.dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd == -ENOENT || fd == -EACCES || fd == -ELOOP || fd == -ENXIO)
		return 0;
	rc = fd < 0 ? fd : io_sync(fd);
	io_close(&fd);
	return rc ? sync_error(path, rc, e) : 0;
}

int traces_sync(const struct traces *t, uint64_t first, uint64_t end, struct err *e)
{
	int rc = 0;

	for (uint64_t i = first; i < end && rc == 0; i++)
		for (uint32_t k = 0; k < t->nr_traces && rc == 0; k++)
			rc = sync_file(t, (uint32_t)i, k, e);
	if (rc == 0 && t->is_sampling)
		rc = sync_file(t, 0, TRACE_COMMON, e);
	if (rc)
		return rc;
	rc = io_sync(t->place.dirfd);
	return rc ? sync_error(t->place.path, rc, e) : 0;
}

uint64_t traces_bytes(const struct traces *t, uint32_t number)
{
	bool is_common = number == TRACE_COMMON;
	char name[NAME_MAX + 1], path[PATH_MAX];
	uint64_t bytes = 0;
	struct stat st;

	for (uint32_t k = 0; k < (is_common ? 1 : t->nr_traces); k++)
		if (make_name(t, number, is_common ? TRACE_COMMON : k, name, path, NULL) == 0 &&
		    sys()->fstatat(t->place.dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size;
	return bytes;
}

/* A file that is missing or not this session's is skipped. */
static int remove_file(const struct traces *t, const uint8_t id[16], uint32_t number,
		       uint32_t trace, struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	struct stat st;
	int rc = make_name(t, number, trace, name, path, e), fd;

	if (rc)
		return rc;
	fd = io_open_regular(t->place.dirfd, name, O_NOFOLLOW, &st);
	if (fd >= 0 && trace_is_of_session(fd, id) == 1)
		rc = sys()->unlinkat(t->place.dirfd, name, 0);
	io_close(&fd);
	return rc ? err_set(e, rc, "%s: cannot be removed: %s", path, strerror(-rc)) : 0;
}

int traces_remove(const struct traces *t, const uint8_t id[16], uint64_t first, uint64_t end,
		  struct err *e)
{
	int rc = 0;

	for (uint64_t i = first; i < end && rc == 0; i++)
		for (uint32_t k = 0; k < t->nr_traces && rc == 0; k++)
			rc = remove_file(t, id, (uint32_t)i, k, e);
	return rc;
}

int traces_common(const struct traces *t, struct traces_common *out)
{
	int rc = make_name(t, TRACE_COMMON, TRACE_COMMON, out->name, out->path, NULL);

	if (rc == 0 && snprintf(out->temporary, sizeof(out->temporary), ".%s.tmp", out->name) >=
			   (int)sizeof(out->temporary))
		rc = -ENAMETOOLONG;
	return rc;
}

/* Creates the next segment of the trace, with the common part of its iterations. */
static int create_segment(struct traces *t, struct trace_writer *w, const struct trace_head *head,
			  struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(t, t->number, head->trace, name, path, e);

	if (rc)
		return rc;
	rc = trace_writer_begin(w, head);
	if (rc)
		return err_set(e, rc, "a trace cannot be written: %s", strerror(-rc));
	return trace_segment_create(w, t->place.dirfd, name, path, &t->segments[head->trace], e);
}

/* True if the iteration goes into new segments. */
static bool are_full(const struct traces *t)
{
	for (uint32_t k = 0; k < t->nr_traces; k++)
		if (t->segments[k] && trace_segment_is_full(t->segments[k]))
			return true;
	return t->wants_next;
}

int traces_begin(struct traces *t, struct trace_writer *w, const struct trace_head *head,
		 struct err *e)
{
	int rc = 0;

	if (!t->is_segmented) {
		rc = trace_writer_begin(w, head);
		return rc ? err_set(e, rc, "a trace cannot be written: %s", strerror(-rc)) : 0;
	}
	if (head->trace == 0 && are_full(t))
		rc = traces_finish(t, w, e);
	if (rc == 0 && !t->segments[head->trace])
		rc = create_segment(t, w, head, e);
	if (io_is_taken(rc))
		t->wants_next = true;
	if (rc)
		err_hint(e, "%s", hint);
	else
		trace_writer_iteration(w, head->iteration);
	return rc;
}

int traces_commit(struct traces *t, struct trace_writer *w, uint32_t iteration, uint32_t trace,
		  const struct trace_totals *totals, struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc;

	if (t->is_segmented) {
		rc = trace_segment_add(t->segments[trace], w, iteration, totals, e);
	} else {
		rc = make_name(t, iteration, trace, name, path, e);
		rc = rc ? rc : trace_writer_commit(w, t->place.dirfd, name, path, totals, e);
	}
	if (rc)
		err_hint(e, "%s", hint);
	return rc;
}

int traces_finish(struct traces *t, struct trace_writer *w, struct err *e)
{
	int rc = 0;

	for (uint32_t k = 0; k < t->nr_traces; k++) {
		struct err further = {0};
		int one = 0;

		if (t->segments[k])
			one = trace_segment_finish(t->segments[k], w, rc ? &further : e);
		t->segments[k] = NULL;
		rc = rc ? rc : one;
	}
	t->number++;
	t->wants_next = false;
	return rc;
}

int traces_create(const struct traces *t, struct trace_writer *w, uint32_t iteration,
		  uint32_t trace, struct trace_packer *packer, struct trace_file **out,
		  struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(t, iteration, trace, name, path, e);

	if (rc)
		return rc;
	rc = trace_file_create(w, t->place.dirfd, name, path, packer, out, e);
	if (rc)
		err_hint(e, "%s", hint);
	return rc;
}
