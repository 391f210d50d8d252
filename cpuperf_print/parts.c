/*
 * Which parts a job has, which of them are meant, and what became of the others.
 */
#include "parts.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "base/sys.h"
#include "inputs.h"
#include "output.h"
#include "profile/iterator.h"
#include "selection.h"
#include "trace/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_LINES = 20 };

int parts_list(const char *path, struct hosts_list *out, struct err *e)
{
	IO_AUTO_FD int fd = sys()->openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	int rc;

	if (fd < 0)
		return 0; /* whatever it is, it is no job */
	rc = hosts_list_read(fd, path, out, e);
	return rc ? rc : out->nr > 0;
}

void parts_job_fini(struct parts_job *job)
{
	hosts_list_fini(&job->list);
}

bool parts_is_selected(const struct selection *s, const char *host, int64_t rank)
{
	return profile_globs_match(&s->hosts, host) &&
	       (!s->ranks.nr || (rank >= 0 && profile_ranges_has(&s->ranks, (uint64_t)rank)));
}

void parts_set_failed(struct hosts_part *part, const struct err *e)
{
	part->status = HOSTS_FAILED;
	snprintf(part->reason, sizeof(part->reason), "%.500s",
		 e->code ? e->msg : "it cannot be read");
	str_disarm(part->reason);
}

void parts_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

const char *input_host(const struct input *o)
{
	return o->part ? o->part->host : o->facts->head.host;
}

uint32_t input_rank(const struct input *o)
{
	return o->part && o->part->rank >= 0 ? (uint32_t)o->part->rank : TRACE_UNKNOWN;
}

static const char *name_part(const struct hosts_part *part, char text[PARTS_NAME_BYTES])
{
	if (part->rank >= 0)
		snprintf(text, PARTS_NAME_BYTES, "%s rank %" PRId64, part->host, part->rank);
	else
		snprintf(text, PARTS_NAME_BYTES, "%s", part->host);
	return text;
}

const char *input_shown(const struct input *o, char text[PARTS_NAME_BYTES])
{
	return o->part ? name_part(o->part, text) : o->path;
}

size_t parts_of_host(const struct inputs *in, size_t first, size_t nr)
{
	const struct input *o = &in->item[first];
	size_t i = first + 1;

	while (o->part && i < nr && in->item[i].part && in->item[i].job == o->job &&
	       strcmp(in->item[i].part->host, o->part->host) == 0)
		i++;
	return i - first;
}

bool parts_are_job(const struct inputs *in)
{
	return in->nr > 1 && in->item[0].part &&
	       !ARRAY_ANY(x, in->item, in->nr, !x->part || x->job != in->item[0].job);
}

/* All traces of the first iteration begin at about the same time. */
int parts_clock_read(const struct input *o, struct parts_clock *out, struct err *e)
{
	struct profile_iterator *it = profile_iterator_new(o->session);
	const bool is_compared = o->part && o->part->clock_offset_ns != HOSTS_ABSENT;
	struct parts_clock clock = {.is_compared = is_compared};
	struct profile_trace trace;
	uint32_t first = UINT32_MAX;
	uint64_t to_ns = 0;
	int rc;

	while ((rc = profile_iterator_next(it, &trace)) == 1) {
		first = first == UINT32_MAX ? trace.head.iteration : first;
		if (trace.head.iteration != first && clock.is_known)
			break;
		if (trace.start_ns && (!clock.start_ns || trace.start_ns < clock.start_ns))
			clock.start_ns = trace.start_ns;
		if (trace.has_clocks && !clock.is_known) {
			clock.is_known = true;
			to_ns = trace.clocks.realtime_ns - trace.clocks.monotonic_ns;
		}
	}
	profile_iterator_free(it);
	if (rc < 0)
		return err_set(e, rc, "traces cannot be read: %s", strerror(-rc));
	if (is_compared)
		to_ns -= (uint64_t)o->part->clock_offset_ns;
	clock.to_starter_ns = (int64_t)to_ns;
	*out = clock;
	return 0;
}

static bool has_fault(const struct selection *s, const struct hosts_part *part)
{
	return part->status != HOSTS_OK && parts_is_selected(s, part->host, part->rank);
}

static void put_fault(const struct parts_job *job, const struct hosts_part *part,
		      struct output *out)
{
	const char *reason = *part->reason ? part->reason : "for a reason that was not stored";
	char name[PARTS_NAME_BYTES];
	struct err problem = {0};

	name_part(part, name);
	if (out->form == GRID_PEOPLE) {
		buf_printf(&out->text, "  %s: %s: %s\n", name, hosts_status_name(part->status),
			   reason);
		return;
	}
	err_set_at(&problem, -ENODATA, job->path, 0, 0, "%s: %s: %s", name,
		   hosts_status_name(part->status), reason);
	problems_add(&out->problems, false, &problem);
}

static void put_job(struct parts_job *job, const struct selection *s, struct output *out)
{
	const bool is_text = out->form == GRID_PEOPLE;
	size_t nr = 0, nr_put = 0;

	for (size_t i = 0; i < job->list.nr; i++)
		nr += has_fault(s, &job->list.entry[i].part);
	if (nr && is_text)
		buf_printf(&out->text, "%s: %zu of %zu parts %s not whole:\n", job->path, nr,
			   job->list.nr, str_plural(nr, "is", "are"));
	for (size_t i = 0; i < job->list.nr; i++) {
		if (!has_fault(s, &job->list.entry[i].part))
			continue;
		if (!is_text || nr_put < MAX_LINES || nr == MAX_LINES + 1)
			put_fault(job, &job->list.entry[i].part, out);
		nr_put++;
	}
	if (is_text && nr > MAX_LINES + 1)
		buf_printf(&out->text, "  … %zu more (csv names all)\n", nr - MAX_LINES);
}

void parts_put_faults(const struct inputs *in, const struct selection *s, struct output *out)
{
	for (size_t i = 0; i < in->nr_jobs; i++)
		if (!in->jobs[i].is_put) {
			in->jobs[i].is_put = true;
			put_job(&in->jobs[i], s, out);
		}
}
