/*
 * From a manifest to the traces of its session, one at a time. Must not read what is in a frame
 * but for the two that are the session's: info and events.
 */
#include "profile/session.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "profile/folder.h"
#include "profile/load.h"

#include <errno.h>
#include <string.h>

struct profile_session {
	int dirfd;
	const char *base; /* of the prefix; in the manifest */
	struct profile_folder folder;
	size_t at; /* next file */
	char name[NAME_MAX + 1];
	profile_problem_fn *problem;
	void *arg;

	bool has_head, has_info;
	struct trace_info_owned info;
	struct trace_events events;
	struct profile_load load;
	struct profile_facts facts;
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The session's info and events, from the first frames that can be decoded. 0 or -ENOMEM. */
static int learn_frame(struct profile_session *s, const struct trace_frame *f)
{
	int rc = 0;

	if (f->kind == TRACE_FRAME_INFO && !s->has_info) {
		rc = trace_decode_info(f, &s->info);
		s->has_info = rc == 0;
	} else if (f->kind == TRACE_FRAME_EVENTS && !s->events.nr) {
		rc = trace_decode_events(f, &s->events);
		if (rc == 0 && s->events.nr > PROFILE_MAX_EVENTS) {
			trace_events_fini(&s->events);
			s->events = (struct trace_events){0};
		}
	}
	return rc == -ENOMEM ? rc : 0;
}

static bool is_of_session(const struct profile_session *s, const struct trace_head *head)
{
	return !memcmp(head->session_id, s->facts.head.session_id, sizeof(head->session_id));
}

static int learn_trace(struct profile_session *s, struct trace_reader *r)
{
	struct trace_frame f;
	int rc = 0;

	if (!s->has_head)
		s->facts.head = *trace_reader_head(r);
	s->has_head = true;
	if (!is_of_session(s, trace_reader_head(r)))
		return 0;
	while (rc == 0 && !(s->has_info && s->events.nr)) {
		int got = trace_reader_next(r, &f, NULL);

		if (got == 1)
			rc = learn_frame(s, &f);
		else if (got != -EILSEQ)
			return got == -ENOMEM ? got : 0;
	}
	return rc;
}

static int open_file(struct profile_session *s, size_t i, struct trace_reader **out, struct err *e)
{
	profile_file_name(s->base, &s->folder.file[i], s->name);
	return trace_reader_open(s->dirfd, s->name, out, e);
}

/* Looks into files, in order, until one has told what the session is. What cannot be read is
 * reported when its turn comes to be printed. */
static int learn(struct profile_session *s)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->folder.nr && !(s->has_info && s->events.nr); i++) {
		struct trace_reader *r;

		rc = open_file(s, i, &r, NULL);
		if (rc) {
			rc = rc == -ENOMEM ? rc : 0;
			continue;
		}
		rc = learn_trace(s, r);
		trace_reader_close(r);
	}
	s->facts.info = s->has_info ? &s->info.info : NULL;
	s->facts.events = s->events.item;
	s->facts.nr_events = s->events.nr;
	return rc;
}

static int find_files(struct profile_session *s, const struct profile_manifest *m, struct err *e)
{
	const char *name;
	int rc;

	if (!*m->output_path_prefix)
		return err_set_at(e, -ENOENT, m->path, 0, 0,
				  "names no output_path_prefix: the session saved no traces");
	rc = io_open_folder(m->path, &s->dirfd, &name, e);
	if (rc)
		return rc;
	rc = profile_folder_scan(s->dirfd, s->base, m->num_iterations, m->num_traces, &s->folder);
	if (rc)
		return err_set_at(e, rc, m->path, 0, 0, "its folder cannot be read: %s",
				  strerror(-rc));
	if (s->folder.nr_all)
		return 0;
	err_set_at(e, -ENOENT, m->path, 0, 0, "no trace %s.0.0.cpuperf or other is beside it",
		   s->base);
	err_hint(e, "put the traces into the folder of the session file");
	return -ENOENT;
}

/* 1: a trace of this session; 0: it is not, or cannot be read; -ENOMEM. */
static int is_own(struct profile_session *s, size_t i)
{
	struct trace_reader *r;
	int rc = open_file(s, i, &r, NULL);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = s->has_head && is_of_session(s, trace_reader_head(r));
	trace_reader_close(r);
	return rc;
}

static void add_stray(struct profile_strays *to, size_t i)
{
	if (!to->nr++)
		to->first = i;
	to->last = i;
}

static int report_strays(struct profile_session *s)
{
	struct profile_strays strays[2] = {0};

	for (size_t i = s->folder.nr; i < s->folder.nr_all; i++) {
		int own = is_own(s, i);

		if (own < 0)
			return own;
		add_stray(&strays[own], i);
	}
	for (int own = 1; own >= 0; own--)
		profile_folder_report_strays(&s->folder, s->base, &strays[own], own, s->problem,
					     s->arg);
	return 0;
}

static int start(struct profile_session *s, const struct profile_manifest *m, struct err *e)
{
	int rc = find_files(s, m, e);

	if (rc)
		return rc;
	s->facts.nr_iterations = s->folder.nr_iterations;
	s->facts.nr_traces = s->folder.nr_traces;
	s->facts.max_rows = s->folder.max_rows;
	rc = learn(s);
	if (rc == 0)
		rc = report_strays(s);
	profile_folder_report(&s->folder, s->problem, s->arg);
	if (rc == 0)
		rc = profile_load_init(&s->load, &s->events, s->problem, s->arg);
	return rc ? err_set(e, rc, "cannot read the session: %s", strerror(-rc)) : 0;
}

int profile_session_open(const struct profile_manifest *m, profile_problem_fn *problem, void *arg,
			 struct profile_session **out, struct err *e)
{
	struct profile_session *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "cannot read the session: out of memory");
	s->dirfd = -1;
	s->base = base_of(m->output_path_prefix);
	s->problem = problem;
	s->arg = arg;
	rc = start(s, m, e);
	if (rc)
		profile_session_close(s);
	else
		*out = s;
	return rc;
}

void profile_session_close(struct profile_session *s)
{
	if (!s)
		return;
	profile_load_fini(&s->load);
	trace_events_fini(&s->events);
	if (s->has_info)
		trace_info_fini(&s->info);
	profile_folder_fini(&s->folder);
	io_close(&s->dirfd);
	mem_free(s);
}

const struct profile_facts *profile_session_facts(const struct profile_session *s)
{
	return &s->facts;
}

static void lose(struct profile_session *s, int code, const char *what)
{
	struct err e = {0};

	err_set_at(&e, code, s->name, 0, 0, "%s", what);
	s->problem(s->arg, true, &e);
}

/* NULL, or why the trace is not what its name says. */
static const char *fault(const struct profile_session *s, const struct profile_file *file,
			 const struct trace_head *head)
{
	if (!is_of_session(s, head))
		return "a trace of another session: left out";
	if (head->iteration != file->iteration || head->trace != file->trace)
		return "its header names another iteration or trace: left out";
	if (!s->events.nr)
		return "no trace says what was measured: left out";
	return NULL;
}

static int read_file(struct profile_session *s, size_t i)
{
	struct trace_reader *r;
	struct err e = {0};
	const char *why;
	int rc = open_file(s, i, &r, &e);

	if (rc) {
		if (rc != -ENOMEM)
			s->problem(s->arg, true, &e);
		return rc == -ENOMEM ? rc : 0;
	}
	why = fault(s, &s->folder.file[i], trace_reader_head(r));
	if (why)
		lose(s, -EINVAL, why);
	else
		rc = profile_load_trace(&s->load, r, s->name);
	trace_reader_close(r);
	return rc;
}

int profile_session_next(struct profile_session *s, struct profile_trace *out)
{
	int rc = 0;

	while (rc == 0 && s->at < s->folder.nr)
		rc = read_file(s, s->at++);
	if (rc == 1)
		*out = s->load.trace;
	return rc;
}
