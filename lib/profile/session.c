/*
 * From a manifest to the traces of its session. Must not read frames other than info and events,
 * which are the session's.
 */
#include "profile/session.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"
#include "profile/folder.h"
#include "profile/load.h"
#include "profile/records.h"
#include "profile/samples.h"
#include "profile/segments.h"
#include "profile/session_internal.h"
#include "profile/switches.h"
#include "profile/times.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct profile_session {
	int dirfd;
	const char *base; /* the prefix's last part; in the manifest */
	struct profile_folder folder;
	const struct trace_set *set;       /* borrowed; NULL: there are files */
	struct profile_switches *switches; /* owned; NULL: waits are recorded, or there are none */
	char common_name[NAME_MAX + 1];
	struct profile_faults faults; /* receives the problems */
	struct profile_times **times; /* owned, as they are; by file; NULL: they are not kept */

	char id[33];      /* the session's; "": unknown yet */
	const char *path; /* of the manifest; NULL: there is none */
	bool has_others;  /* files of other sessions have names of this one */
	bool has_head, has_info;
	struct trace_info_owned info;
	struct trace_events events;
	struct profile_facts facts;
};

/* The session's info and events, from the first frames that can be decoded. 0 or -ENOMEM. */
static int read_frame(struct profile_session *s, const struct trace_frame *f)
{
	int rc = 0;

	if (f->kind == TRACE_FRAME_INFO && !s->has_info) {
		rc = trace_decode_info(f, &s->info);
		s->has_info = rc == 0;
	} else if (f->kind == TRACE_FRAME_EVENTS && !s->events.nr) {
		trace_events_fini(&s->events); /* a frame without events */
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
	char id[33];

	str_hex16(head->session_id, id);
	return strcmp(id, s->id) == 0;
}

static int read_trace(struct profile_session *s, struct trace_reader *r)
{
	const struct trace_head *head = trace_reader_head(r);
	struct trace_frame f;
	int rc = 0;

	if (!*s->id)
		str_hex16(head->session_id, s->id);
	if (!is_of_session(s, head)) {
		s->has_others = true;
		return 0;
	}
	if (!s->has_head)
		s->facts.head = *head;
	s->has_head = true;
	while (rc == 0 && !(s->has_info && s->events.nr)) {
		int got = trace_reader_next(r, &f, NULL);

		if (got == 1)
			rc = read_frame(s, &f);
		else if (got != -EILSEQ)
			return got == -ENOMEM ? got : 0;
	}
	return rc;
}

static void name_file(const struct profile_session *s, const struct profile_file *file,
		      char name[NAME_MAX + 1])
{
	if (s->set)
		snprintf(name, NAME_MAX + 1, "%s", s->set->name);
	else
		profile_file_name(s->base, file, name);
}

static int open_part(const struct profile_session *s, const struct profile_file *file,
		     const char *name, struct trace_reader **out, struct err *e)
{
	const struct trace_part part = {.iteration = file->iteration,
					.head_bytes = file->head_bytes,
					.from = file->from,
					.to = file->to};
	struct trace_reader *r;
	int rc = trace_reader_open(s->dirfd, name, &r, e);

	if (rc)
		return rc;
	rc = trace_reader_select(r, &part, e);
	if (rc)
		trace_reader_close(r);
	else
		*out = r;
	return rc;
}

static int open_reader(const struct profile_session *s, const struct profile_file *file,
		       const char *name, struct trace_reader **out, struct err *e)
{
	size_t number = file->trace == TRACE_COMMON ? s->folder.nr : file->trace;

	if (s->set)
		return s->set->open(s->set->arg, number, out, e);
	return file->to ? open_part(s, file, name, out, e)
			: trace_reader_open(s->dirfd, name, out, e);
}

static int open_file(const struct profile_session *s, size_t i, struct trace_reader **out,
		     struct err *e)
{
	char name[NAME_MAX + 1];

	name_file(s, &s->folder.file[i], name);
	return open_reader(s, &s->folder.file[i], name, out, e);
}

static size_t nr_sampled(const struct trace_events *events)
{
	size_t nr = 0;

	for (size_t i = 0; i < events->nr; i++)
		nr += events->item[i].rate || events->item[i].frequency;
	return nr;
}

/* Reads files, in order, until the session's info and events are known. What cannot be read is
 * reported when it is printed. */
static int read_facts(struct profile_session *s)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->folder.nr && !(s->has_info && s->events.nr); i++) {
		struct trace_reader *r;

		rc = open_file(s, i, &r, NULL);
		if (rc) {
			rc = rc == -ENOMEM ? rc : 0;
			continue;
		}
		rc = read_trace(s, r);
		trace_reader_close(r);
	}
	s->facts.info = s->has_info ? &s->info.info : NULL;
	s->facts.events = s->events.item;
	s->facts.nr_events = s->events.nr;
	s->facts.is_sampling = nr_sampled(&s->events) > 0;
	s->facts.has_paces = ARRAY_ANY(ev, s->events.item, s->events.nr, ev->every_ns > 0);
	s->facts.has_memory =
	    s->has_info && strstr(s->info.info.spec_json, "\"memory_map\":true") != NULL;
	s->facts.has_regions =
	    s->has_info && strstr(s->info.info.spec_json, "\"regions\":") != NULL;
	return rc;
}

enum { UNREADABLE = 2 };

/* 1: a trace of this session; 0: it is not; UNREADABLE; -ENOMEM. */
static int is_own(struct profile_session *s, size_t i)
{
	struct trace_reader *r;
	int rc = open_file(s, i, &r, NULL);

	if (rc)
		return rc == -ENOMEM ? rc : UNREADABLE;
	rc = is_of_session(s, trace_reader_head(r));
	trace_reader_close(r);
	return rc;
}

/* Whether the file extends the session. Its header names its session; iterations of a listed
 * segment are the session's. */
static int is_later(struct profile_session *s, size_t i)
{
	const struct profile_file *file = &s->folder.file[i];
	int own;

	if (file->iteration < s->folder.nr_iterations || (file->segment && !file->to))
		return 0;
	own = file->to ? 1 : is_own(s, i);
	return own == UNREADABLE ? 0 : own;
}

static void report_unfinished(struct profile_session *s, const struct profile_manifest *m)
{
	struct err e = {0};

	if (m->is_in_progress) {
		err_set_at(&e, -EAGAIN, m->path, 0, 0,
			   "in progress: what is recorded so far is used");
	} else {
		err_set_at(&e, -ENOENT, m->path, 0, 0,
			   "the session did not end: it was killed, or is still running");
		err_hint(&e, "all iterations found are used");
	}
	profile_faults_report(&s->faults, !m->is_in_progress, &e);
}

/* "iterations 0 to 4,311 were removed (retain): … to …" */
static void describe_removed(struct profile_session *s, const struct profile_manifest *m)
{
	struct buf text = {.data = s->facts.removed,
			   .cap = sizeof(s->facts.removed),
			   .max_bytes = sizeof(s->facts.removed) - 1};
	struct err e = {0};

	if (!m->nr_removed)
		return;
	s->facts.nr_removed =
	    m->nr_removed < s->folder.nr_iterations ? m->nr_removed : s->folder.nr_iterations;
	buf_adds(&text, m->nr_removed == 1 ? "iteration 0" : "iterations 0 to ");
	if (m->nr_removed > 1)
		buf_u64_commas(&text, m->nr_removed - 1);
	buf_printf(&text, " %s removed (retain)", str_plural(m->nr_removed, "was", "were"));
	if (m->removed_begin && *m->removed_begin && m->removed_end && *m->removed_end)
		buf_printf(&text, ": %s to %s", m->removed_begin, m->removed_end);
	err_set_at(&e, -ENOENT, m->path, 0, 0, "%s", s->facts.removed);
	profile_faults_report(&s->faults, false, &e);
}

/* During a session the manifest lags behind its traces: adds those with its id. 0 or -ENOMEM. */
static int add_later(struct profile_session *s, const struct profile_manifest *m)
{
	uint64_t nr = s->folder.nr_iterations;

	if (!*s->id || !m->num_iterations)
		return 0;
	for (size_t i = s->folder.nr; i < s->folder.nr_all; i++) {
		int rc = is_later(s, i);

		if (rc < 0)
			return rc;
		if (rc && s->folder.file[i].iteration >= nr)
			nr = (uint64_t)s->folder.file[i].iteration + 1;
	}
	if (m->is_recording || nr > s->folder.nr_iterations)
		report_unfinished(s, m);
	if (nr == s->folder.nr_iterations)
		return 0;
	s->folder.nr_iterations = nr;
	return profile_folder_order(&s->folder);
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
	rc = profile_folder_scan(s->dirfd, s->base, m, &s->folder);
	rc = rc
		 ?: profile_segments_list(&s->folder, s->dirfd, s->base, s->id,
					  profile_faults_report, &s->faults);
	rc = rc ?: profile_folder_order(&s->folder) ?: add_later(s, m);
	describe_removed(s, m);
	s->has_others = profile_segments_are_others(&s->folder);
	if (rc)
		return err_set_at(e, rc, m->path, 0, 0, "its folder cannot be read: %s",
				  strerror(-rc));
	if (s->folder.nr_all || m->is_in_progress || m->has_results)
		return 0;
	err_set_at(e, -ENOENT, m->path, 0, 0, "no trace such as %s.0.0.cpuperf is in its folder",
		   s->base);
	err_hint(e, "put the traces into the session file's folder");
	return -ENOENT;
}

/* Of a listed segment of this session: a power cut left it. */
static bool is_removed(const struct profile_session *s, size_t i)
{
	const struct profile_file *file = &s->folder.file[i];

	return file->to && file->iteration < s->folder.nr_removed;
}

static int report_strays(struct profile_session *s)
{
	struct profile_strays strays[2] = {0};

	for (size_t i = s->folder.nr; i < s->folder.nr_all; i++) {
		int own = is_removed(s, i) ? 1 : is_own(s, i);

		if (own < 0)
			return own;
		if (own && s->folder.file[i].iteration < s->folder.nr_removed)
			continue;
		if (own == UNREADABLE && s->facts.is_in_progress) /* just created */
			continue;
		own = own == 1;
		if (!strays[own].nr++)
			strays[own].first = i;
		strays[own].last = i;
	}
	for (int own = 1; own >= 0; own--)
		profile_folder_report_strays(&s->folder, s->base, &strays[own], own,
					     profile_faults_report, &s->faults);
	return 0;
}

static int list_set(struct profile_session *s, struct err *e)
{
	struct profile_folder *f = &s->folder;

	f->file = mem_calloc(s->set->nr + 1, sizeof(*f->file));
	if (!f->file)
		return err_set(e, -ENOMEM, "cannot read %s: out of memory", s->set->name);
	for (; f->nr < s->set->nr; f->nr++)
		f->file[f->nr].trace = (uint32_t)f->nr;
	f->nr_all = f->cap = f->nr_traces = f->max_rows = f->nr;
	f->nr_iterations = 1;
	return 0;
}

/* Refuses a session all of whose files belong to another. */
static int refuse_others(const struct profile_session *s, const struct profile_manifest *m,
			 struct err *e)
{
	err_set_at(e, -ENOENT, m->path, 0, 0,
		   "no trace of this session is in its folder: those of %s belong to "
		   "another session",
		   s->base);
	err_hint(e, "a later session with the same prefix replaced them, or this one ended "
		    "before it wrote any");
	return -ENOENT;
}

/* True if the session goes on, and removes its oldest traces. */
static bool is_retaining(const struct profile_session *s)
{
	return s->facts.is_in_progress && s->has_info &&
	       strstr(s->info.info.spec_json, "\"retain\":{");
}

/* Equal problems are reported once. */
static void report_vanished(const struct profile_session *s, const struct profile_faults *f)
{
	struct err e = {0};

	err_set_at(&e, -ENOENT, s->path, 0, 0,
		   "iterations were removed (retain) while they were read");
	profile_faults_report((void *)f, false, &e);
}

/* The first iteration with all its traces; those before are being removed. */
static uint64_t first_whole(const struct profile_folder *f)
{
	size_t from = 0;

	for (size_t i = 0; i < f->nr; i++) {
		if (f->file[i].iteration != f->file[from].iteration)
			from = i;
		if (i + 1 - from == f->nr_traces)
			return f->file[from].iteration;
	}
	return f->nr_removed;
}

/* Skips what was removed after the manifest was read. 0 or -ENOMEM. */
static int skip_vanished(struct profile_session *s)
{
	uint64_t first = is_retaining(s) ? first_whole(&s->folder) : s->folder.nr_removed;

	if (first == s->folder.nr_removed)
		return 0;
	report_vanished(s, &s->faults);
	s->folder.nr_removed = s->facts.nr_removed = first;
	return profile_folder_order(&s->folder);
}

static int start(struct profile_session *s, const struct profile_manifest *m, struct err *e)
{
	int rc = m ? find_files(s, m, e) : list_set(s, e);

	if (rc)
		return rc;
	s->facts.nr_iterations = s->folder.nr_iterations;
	s->facts.nr_traces = s->folder.nr_traces;
	s->facts.max_rows = s->folder.max_rows;
	rc = read_facts(s) ?: skip_vanished(s);
	if (rc == 0 && m && s->has_others && !s->has_head && !m->is_in_progress)
		return refuse_others(s, m, e);
	if (rc == 0)
		rc = report_strays(s);
	profile_folder_report(&s->folder, profile_faults_report, &s->faults);
	return rc ? err_set(e, rc, "cannot read the session: %s", strerror(-rc)) : 0;
}

/* Without them, the rest of the session is read. 0 or -ENOMEM. */
static int add_waits(struct profile_session *s)
{
	struct err e = {0}, lost = {0};
	int rc = s->set ? 0 : profile_switches_make(s, &s->switches, &e);

	if (!rc || rc == -ENOMEM)
		return rc;
	err_set_at(&lost, rc, s->path, 0, 0, "waits cannot be calculated: %s", e.msg);
	err_hint(&lost, "%s", e.hint);
	profile_faults_report(&s->faults, true, &lost);
	return 0;
}

static const struct profile_file common_file = {TRACE_COMMON, TRACE_COMMON};

static int open_session(const char *base, const struct profile_manifest *m,
			const struct trace_set *set, profile_problem_fn *problem, void *arg,
			struct profile_session **out, struct err *e)
{
	struct profile_session *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "cannot read the session: out of memory");
	s->dirfd = -1;
	s->set = set;
	s->base = base;
	if (m && m->session_id)
		snprintf(s->id, sizeof(s->id), "%s", m->session_id);
	s->path = m ? m->path : NULL;
	s->facts.is_in_progress = m && m->is_in_progress;
	s->facts.is_unfinished = m && m->is_recording;
	s->faults = (struct profile_faults){
	    .problem = problem, .arg = arg, .is_growing = s->facts.is_in_progress};
	name_file(s, &common_file, s->common_name);
	rc = start(s, m, e) ?: add_waits(s);
	if (rc)
		profile_session_close(s);
	else
		*out = s;
	return rc;
}

int profile_session_open(const struct profile_manifest *m, profile_problem_fn *problem, void *arg,
			 struct profile_session **out, struct err *e)
{
	return open_session(str_base_name(m->output_path_prefix), m, NULL, problem, arg, out, e);
}

int profile_session_open_set(const struct trace_set *set, profile_problem_fn *problem, void *arg,
			     struct profile_session **out, struct err *e)
{
	return open_session(set->name, NULL, set, problem, arg, out, e);
}

void profile_session_close(struct profile_session *s)
{
	if (!s)
		return;
	profile_switches_free(s->switches);
	for (size_t i = 0; s->times && i < s->folder.nr; i++)
		profile_times_free(s->times[i]);
	mem_free(s->times);
	trace_events_fini(&s->events);
	if (s->has_info)
		trace_info_fini(&s->info);
	profile_folder_fini(&s->folder);
	io_close(&s->dirfd);
	mem_free(s);
}

int profile_session_keep_times(struct profile_session *s)
{
	if (!s->set && !s->times)
		s->times = mem_calloc(s->folder.nr + 1, sizeof(*s->times));
	return s->set || s->times ? 0 : -ENOMEM;
}

struct profile_times **profile_session_times(const struct profile_session *s, size_t i)
{
	return s->times ? &s->times[i] : NULL;
}

const struct profile_facts *profile_session_facts(const struct profile_session *s)
{
	return &s->facts;
}

/* NULL, or why the trace does not match its name. */
static const char *fault(const struct profile_session *s, const struct profile_file *file,
			 const struct trace_reader *r)
{
	const struct trace_head *head = trace_reader_head(r);

	if (!is_of_session(s, head))
		return "a trace of another session: ignored";
	if (head->iteration != file->iteration || head->trace != file->trace)
		return "its header names another iteration or trace: ignored";
	if (trace_reader_is_segment(r) != !!file->to)
		return "holds many iterations, but is not named as a segment: ignored";
	if (!s->events.nr)
		return "no trace describes the events: ignored";
	return NULL;
}

/* 1: *out reads the file; 0: it is another kind of file, or cannot be read (reported to f, with the
 * hint if there is one); -ENOMEM. */
static int open_checked(const struct profile_session *s, const struct profile_file *file,
			const struct profile_faults *f, const char *hint, struct trace_reader **out)
{
	struct trace_reader *r = NULL;
	struct err e = {0};
	const char *why = NULL;
	int rc = open_reader(s, file, f->name, &r, &e);

	if (rc == -ENOMEM)
		return rc;
	if (rc == 0)
		why = fault(s, file, r);
	if (rc == 0 && !why)
		return profile_switches_add(s->switches, r, out) ?: 1;
	if (rc == -ENOENT && is_retaining(s)) {
		report_vanished(s, f);
		return 0;
	}
	if (why)
		err_set_at(&e, -EINVAL, f->name, 0, 0, "%s", why);
	if (hint)
		err_hint(&e, "%s", hint);
	if (rc == -ENOENT) /* its owner may remove it, or has not created it yet */
		e.code = -ENODATA;
	if (r && !is_of_session(s, trace_reader_head(r))) /* of an older one: not replaced yet */
		e.code = profile_folder_gap_code(&s->folder, file->iteration);
	profile_faults_report((void *)f, true, &e);
	trace_reader_close(r);
	return 0;
}

struct profile_faults profile_session_faults(const struct profile_session *s, const char *name)
{
	struct profile_faults f = s->faults;

	f.name = name;
	return f;
}

const struct profile_waits *profile_session_waits(const struct profile_session *s)
{
	return s->switches ? profile_switches_waits(s->switches) : NULL;
}

bool profile_session_has_switches(const struct profile_session *s)
{
	return s->switches;
}

size_t profile_session_nr_files(const struct profile_session *s)
{
	return s->folder.nr;
}

struct profile_trace_file profile_session_file(const struct profile_session *s, size_t i)
{
	const struct profile_file *file = &s->folder.file[i];

	return (struct profile_trace_file){.iteration = file->iteration, .trace = file->trace};
}

static uint64_t bytes_of(const struct profile_session *s, const struct profile_file *file)
{
	char name[NAME_MAX + 1];
	struct stat st;

	if (file->to)
		return file->to - file->from;
	profile_file_name(s->base, file, name);
	return sys()->fstatat(s->dirfd, name, &st, 0) == 0 ? (uint64_t)st.st_size : 0;
}

uint32_t profile_session_writer(const struct profile_session *s, uint32_t uid)
{
	char name[NAME_MAX + 1];
	struct stat st;

	for (size_t i = 0; i < s->folder.nr && !s->set; i++) {
		name_file(s, &s->folder.file[i], name);
		if (sys()->fstatat(s->dirfd, name, &st, 0) == 0)
			uid = io_writer_of_both(uid, st.st_uid);
	}
	return uid;
}

uint64_t profile_session_bytes(const struct profile_session *s)
{
	uint64_t bytes = 0;

	if (s->set)
		return s->set->bytes;
	for (size_t i = 0; i < s->folder.nr; i++)
		bytes += bytes_of(s, &s->folder.file[i]);
	return bytes;
}

uint64_t profile_session_iteration_bytes(const struct profile_session *s, uint32_t iteration)
{
	uint64_t bytes = 0;

	if (s->set)
		return iteration ? 0 : s->set->bytes;
	for (size_t i = 0; i < s->folder.nr; i++)
		if (s->folder.file[i].iteration == iteration)
			bytes += bytes_of(s, &s->folder.file[i]);
	return bytes;
}

int profile_session_open_file(const struct profile_session *s, size_t i,
			      const struct profile_faults *f, char name[NAME_MAX + 1],
			      struct trace_reader **out)
{
	struct profile_faults faults = *f;

	name_file(s, &s->folder.file[i], name);
	faults.name = name;
	return open_checked(s, &s->folder.file[i], &faults, NULL, out);
}

int profile_session_records(const struct profile_session *s, size_t i, const struct profile_load *l,
			    struct profile_records **out)
{
	const struct profile_trace *t = &l->trace;
	/* Events that are not sampled may be read by another thread, which widens the window. */
	uint64_t window_ns =
	    nr_sampled(&s->events) < s->events.nr ? PROFILE_WINDOW_BY_TURNS_NS : PROFILE_WINDOW_NS;
	struct profile_records_config config = {
	    .events = t->events,
	    .nr_events = s->events.nr,
	    .ids = t->ids,
	    .nr_ids = t->nr_ids,
	    .window_ns = s->set ? s->set->window_ns : window_ns,
	    .faults = {.name = t->name,
		       .problem = l->faults.problem,
		       .arg = l->faults.arg,
		       .is_growing = l->faults.is_growing},
	    .is_read_twice = true,
	};
	char name[NAME_MAX + 1];
	struct trace_reader *r;
	int rc = profile_session_open_file(s, i, &config.faults, name, &r);

	if (rc != 1)
		return rc;
	/* All samples that profile/switches.h made stand before the records of the file. */
	if (s->switches && trace_reader_head(r)->cpu == TRACE_ANY_CPU) {
		config.window_ns = UINT64_MAX;
		config.late = "records out of order: of calculated waits, 64 MiB are sorted";
	}
	return profile_records_open(r, &config, out) ?: 1;
}

int profile_session_open_common(const struct profile_session *s, struct profile_faults *faults,
				struct trace_reader **out)
{
	*faults = profile_session_faults(s, s->common_name);
	return open_checked(
	    s, &common_file, faults,
	    "without it there are only addresses: tasks and functions have no names", out);
}

int profile_session_common(const struct profile_session *s, bool has_kallsyms,
			   struct profile_records **out)
{
	struct profile_records_config config = {.window_ns = PROFILE_WINDOW_BY_TURNS_NS,
						.has_kallsyms = has_kallsyms};
	struct trace_reader *r;
	int rc = profile_session_open_common(s, &config.faults, &r);

	if (rc != 1)
		return rc;
	return profile_records_open(r, &config, out) ?: 1;
}
