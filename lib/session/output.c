/*
 * The files of a session.
 */
#include "session/output.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"
#include "session/lock.h"
#include "session/segments.h"
#include "session/syncer.h"
#include "spec/cpsession.h"
#include "spec/spec.h"
#include "trace/file.h"
#include "trace/name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum {
	MAX_MANIFEST_BYTES = 65536,
	MANIFEST_PERIOD_NS = 1000000000, /* where nothing is synced */
	MAX_PLAIN_ITERATIONS = 100,      /* a tally of more has segments */
};

/* A name in a folder that no other session uses meanwhile. */
struct place {
	const char *path, *name; /* as the spec gives it; name is its last part */
	int dirfd;               /* -1: nothing is saved here */
	struct lock lock;
};

struct session_output {
	struct place traces, manifest;
	struct cpsession session;
	char id[33]; /* of the session */
	bool is_segmented;
	struct segments segments;
	bool is_synced, is_sampling;
	uint64_t num_iterations, nr_recorded;
	struct syncer syncer;     /* its thread alone uses the rest while it runs */
	char draft[NAME_MAX + 1]; /* of the manifest, without its name; "": there is none */
	struct err taken;         /* why the manifest is not what it should be */
	uint64_t manifest_says;   /* num_iterations as written; 0: not written yet */
	bool manifest_says_end;
	struct buf text;
	int reserve_fd; /* a file without a name; -1: none */
	/* of a session that moved */
	char folder[PATH_MAX], prefix[PATH_MAX], manifest_path[PATH_MAX];
	char moved[2 * PATH_MAX]; /* what to say of it */
};

static const char trace_suffix[] = ".cpuperf";
static const char traces_hint[] = "--output-path-prefix=PATH (or output_path_prefix in the spec) "
				  "puts the traces elsewhere; an empty one saves none";
static const char manifest_hint[] =
    "--session-result-spec-path=PATH (or session_result_spec_path "
    "in the spec) puts the manifest elsewhere; an empty one saves none";

/* The suffixes differ: a prefix and a manifest of the same name do not meet. */
static const char traces_lock[] = ".traces.lock", manifest_lock[] = ".lock";

static int place_lock(struct place *p, const char *suffix, struct err *e)
{
	char name[NAME_MAX + 16], path[PATH_MAX + 16];

	if (snprintf(name, sizeof(name), "%s%s", p->name, suffix) > NAME_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", p->path);
	snprintf(path, sizeof(path), "%s%s", p->path, suffix);
	return lock_take(&p->lock, p->dirfd, name, path, e);
}

static int place_open(struct place *p, const char *path, const char *suffix, const char *hint,
		      struct err *e)
{
	int rc;

	*p = (struct place){.path = path, .dirfd = -1, .lock = {.fd = -1}};
	if (!*path)
		return 0;
	rc = io_open_folder(path, &p->dirfd, &p->name, e);
	if (rc == 0)
		rc = place_lock(p, suffix, e);
	if (rc)
		err_hint(e, "%s", hint);
	return rc;
}

static void place_close(struct place *p)
{
	lock_release(&p->lock);
	io_close(&p->dirfd);
}

/* An io_may_replace_fn: 1 if the file is a manifest. */
static int is_manifest(int fd)
{
	char text[MAX_MANIFEST_BYTES];
	struct cpsession s;
	struct err_list errs = {0};
	ssize_t n = io_read_full(fd, text, sizeof(text));
	bool is_ours;
	int rc;

	if (n < 0)
		return (int)n;
	cpsession_init(&s);
	rc = cpsession_parse(text, (size_t)n, "", &s, &errs);
	is_ours = s.num_iterations && s.num_traces; /* every manifest of ours says both */
	cpsession_fini(&s);
	return rc == -ENOMEM ? rc : rc == 0 && is_ours;
}

/* number: of the iteration, or of the segment. */
static int make_name(const struct session_output *o, uint32_t number, uint32_t trace,
		     char name[NAME_MAX + 1], char path[PATH_MAX], struct err *e)
{
	const struct trace_name n = {number, trace, o->is_segmented};

	if (!trace_name_format(o->traces.name, &n, name, NAME_MAX + 1) ||
	    !trace_name_format(o->traces.path, &n, path, PATH_MAX))
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", o->traces.path);
	return 0;
}

/* Behind the first iteration's traces comes the common file. */
static uint32_t first_trace(uint32_t t, uint32_t nr_traces)
{
	return t < nr_traces ? t : TRACE_COMMON;
}

struct search {
	const struct session_output *output;
	uint64_t nr_iterations;
	uint32_t nr_traces;
	struct err *e;
	int rc; /* of what is in the way */
};

/* A name that the session could use. The first ones are removed in both forms. */
static bool could_use(const struct search *s, const struct trace_name *n)
{
	if (n->trace == TRACE_COMMON)
		return true;
	return n->number < s->nr_iterations && n->trace < s->nr_traces &&
	       (n->is_segment == s->output->is_segmented || n->number == 0);
}

static int check_trace(const char *name, void *arg)
{
	struct search *s = arg;
	const struct place *p = &s->output->traces;
	char path[PATH_MAX + NAME_MAX];
	struct trace_name n;

	if (!trace_name_parse(p->name, name, &n) || !could_use(s, &n))
		return 0;
	snprintf(path, sizeof(path), "%.*s%s", (int)(p->name - p->path), p->path, name);
	s->rc = io_check_replaceable(p->dirfd, name, path, trace_is_trace, s->e);
	return s->rc;
}

/* All names that the session could use, so that conflicts show before anything is measured; and
 * whether the longest one is too long. */
static int check_traces(const struct session_output *o, const struct session_output_config *c,
			struct err *e)
{
	struct search search = {.output = o,
				.nr_iterations = c->spec->num_iterations,
				.nr_traces = c->nr_traces,
				.e = e};
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc =
	    make_name(o, (uint32_t)c->spec->num_iterations - 1, c->nr_traces - 1, name, path, e);

	if (rc)
		return rc;
	rc = io_each_name(o->traces.dirfd, check_trace, &search);
	if (rc && !search.rc)
		err_set(e, rc, "%s: its folder cannot be read: %s", o->traces.path, strerror(-rc));
	return rc;
}

/* Readers who do not compare ids know a session by its first iteration and its common file. */
static int remove_first_traces(const struct session_output *o, struct err *e)
{
	uint32_t nr_traces = (uint32_t)o->session.num_traces;
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = 0;

	for (uint32_t t = 0; t <= nr_traces && rc == 0; t++) {
		rc = make_name(o, 0, first_trace(t, nr_traces), name, path, e);
		if (rc == 0)
			rc = sys()->unlinkat(o->traces.dirfd, name, 0);
		if (rc == -ENOENT)
			rc = 0;
		if (rc)
			err_set(e, rc, "%s: an older trace cannot be removed: %s", path,
				strerror(-rc));
	}
	return rc;
}

/* The manifest must not stand where a trace will. */
static int check_manifest_name(const struct place *p, struct err *e)
{
	size_t len = strlen(p->name), tail = sizeof(trace_suffix) - 1;

	if (len < tail || strcmp(p->name + len - tail, trace_suffix) != 0)
		return 0;
	return err_set(e, -EINVAL, "%s: a manifest must not have the name of a trace (%s)", p->path,
		       trace_suffix);
}

static int check_manifest(const struct place *p, struct err *e)
{
	int rc = check_manifest_name(p, e);

	if (rc == 0)
		rc = io_check_replaceable(p->dirfd, p->name, p->path, is_manifest, e);
	if (rc)
		err_hint(e, "%s", manifest_hint);
	return rc;
}

static int open_manifest(struct session_output *o, const char *path, struct err *e)
{
	int rc = place_open(&o->manifest, path, manifest_lock, manifest_hint, e);

	return rc || o->manifest.dirfd < 0 ? rc : check_manifest(&o->manifest, e);
}

static bool is_sampling(const struct spec *spec)
{
	for (size_t i = 0; i < spec->nr_events; i++)
		if (spec_event_is_sampled(&spec->events[i]))
			return true;
	return false;
}

bool session_output_is_segmented(const struct spec *spec)
{
	return !is_sampling(spec) && spec->num_iterations > MAX_PLAIN_ITERATIONS;
}

static int open_traces(struct session_output *o, const struct session_output_config *c,
		       const char *prefix, struct err *e)
{
	int rc = place_open(&o->traces, prefix, traces_lock, traces_hint, e);

	if (rc || !session_output_has_traces(o))
		return rc;
	o->is_segmented = session_output_is_segmented(c->spec);
	if (o->is_segmented && segments_init(&o->segments, c->nr_traces))
		return err_set(e, -ENOMEM, "out of memory");
	rc = check_traces(o, c, e);
	if (rc)
		err_hint(e, "%s", traces_hint);
	return rc;
}

static int open_places(struct session_output *o, const struct session_output_config *c,
		       const char *prefix, const char *manifest, struct err *e)
{
	int rc = open_traces(o, c, prefix, e);

	return rc ? rc : open_manifest(o, manifest, e);
}

static void close_places(struct session_output *o)
{
	segments_fini(&o->segments);
	place_close(&o->traces);
	place_close(&o->manifest);
}

static int make_folder(struct session_output *o, const char *beside, struct err *e)
{
	const char *slash = strrchr(beside, '/');
	char random[IO_RANDOM_NAME_BYTES], folder[PATH_MAX];
	int rc = io_random_name(random);

	/* behind the dot: a folder for a person to see */
	if (snprintf(folder, sizeof(folder), "%.*s%s", slash ? (int)(slash - beside) + 1 : 0,
		     beside, random + 1) >= (int)sizeof(folder))
		rc = -ENAMETOOLONG;
	rc = rc ? rc : sys()->mkdirat(AT_FDCWD, folder, 0700);
	if (rc)
		return err_set(e, rc, "%s: no folder can be made there: %s", beside, strerror(-rc));
	snprintf(o->folder, sizeof(o->folder), "%s", folder);
	return 0;
}

/* The path of the same name in the folder; "" stays so. */
static int move_path(const struct session_output *o, const char *path, char moved[PATH_MAX],
		     struct err *e)
{
	const char *slash = strrchr(path, '/');

	*moved = '\0';
	if (*path &&
	    snprintf(moved, PATH_MAX, "%s/%s", o->folder, slash ? slash + 1 : path) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", o->folder);
	return 0;
}

static void say_moved(struct session_output *o, const struct err *why)
{
	int len = snprintf(o->moved, sizeof(o->moved), "%s: the files of this session are in %s",
			   why->msg, o->folder);

	if (*o->manifest_path)
		snprintf(o->moved + len, sizeof(o->moved) - (size_t)len,
			 "; cpuperf_print --session=%s shows them", o->manifest_path);
}

/* Anybody can take a name in a public folder: the files go where nobody else can. The manifest goes
 * with the traces, because a reader looks for those beside it. */
static int open_moved(struct session_output *o, const struct session_output_config *c,
		      const struct err *why, struct err *e)
{
	const char *prefix = c->spec->output_path_prefix,
		   *manifest = c->spec->session_result_spec_path;
	int rc = make_folder(o, *prefix ? prefix : manifest, e);

	if (rc == 0)
		rc = move_path(o, prefix, o->prefix, e);
	if (rc == 0)
		rc = move_path(o, manifest, o->manifest_path, e);
	if (rc == 0)
		rc = open_places(o, c, o->prefix, o->manifest_path, e);
	if (rc == 0)
		say_moved(o, why);
	return rc;
}

static int open_anywhere(struct session_output *o, const struct session_output_config *c,
			 struct err *e)
{
	struct err why = {0};
	int rc =
	    open_places(o, c, c->spec->output_path_prefix, c->spec->session_result_spec_path, &why);

	if (rc == -EPERM && c->may_move) {
		close_places(o);
		return open_moved(o, c, &why, e);
	}
	if (rc && e)
		*e = why;
	return rc;
}

/* Written, and on the disk if that is asked for, but not under its name. */
static int draft_manifest(struct session_output *o, uint64_t num_iterations, bool is_end,
			  struct err *e)
{
	const struct place *p = &o->manifest;
	int rc;

	o->session.num_iterations = num_iterations;
	o->session.state = is_end ? "" : CPSESSION_RECORDING;
	buf_reset(&o->text);
	cpsession_to_json(&o->session, &o->text);
	if (buf_error(&o->text))
		return err_set(e, buf_error(&o->text), "%s: cannot be made", p->path);
	rc = io_write_temporary(p->dirfd, p->name, p->path, o->text.data, o->text.len, o->is_synced,
				o->draft, e);
	if (rc)
		*o->draft = '\0';
	return rc;
}

static void drop_draft(struct session_output *o)
{
	if (*o->draft)
		sys()->unlinkat(o->manifest.dirfd, o->draft, 0);
	*o->draft = '\0';
}

int session_output_open(const struct session_output_config *c, struct session_output **out,
			struct err *e)
{
	struct session_output *o = mem_zalloc(sizeof(*o));
	int rc;

	if (!o)
		return err_set(e, -ENOMEM, "out of memory");
	o->traces = o->manifest = (struct place){.dirfd = -1, .lock = {.fd = -1}};
	o->reserve_fd = -1;
	cpsession_init(&o->session);
	str_hex16(c->id, o->id);
	o->session.config_name = c->spec->config_name;
	o->session.model_name = c->model_name;
	o->session.num_traces = c->nr_traces;
	o->session.session_id = o->id;
	o->is_sampling = is_sampling(c->spec);
	o->is_synced = c->spec->sync_period_ns;
	o->syncer.period_ns = o->is_synced ? c->spec->sync_period_ns : MANIFEST_PERIOD_NS;
	buf_init(&o->text, MAX_MANIFEST_BYTES);
	rc = open_anywhere(o, c, e);
	if (rc) {
		session_output_close(o);
		return rc;
	}
	o->session.output_path_prefix = o->traces.path;
	if (o->manifest.dirfd >= 0)
		rc = draft_manifest(o, 1, false, e);
	if (rc) {
		err_hint(e, "%s", manifest_hint);
		session_output_close(o);
		return rc;
	}
	*out = o;
	return 0;
}

/* The last round says in the manifest that the session has ended. */
static int stop_syncer(struct session_output *o, struct err *e)
{
	if (o->syncer.is_running)
		(void)syncer_post(&o->syncer,
				  &(struct sync_work){.num_iterations = o->num_iterations,
						      .nr_recorded = o->nr_recorded,
						      .is_last = true,
						      SYNC_NOTHING},
				  NULL);
	return syncer_stop(&o->syncer, e);
}

void session_output_close(struct session_output *o)
{
	if (!o)
		return;
	segments_fini(&o->segments);
	(void)stop_syncer(o, NULL);
	drop_draft(o);
	session_output_release(o);
	close_places(o);
	if (*o->folder) /* stays, if there is anything in it */
		sys()->unlinkat(AT_FDCWD, o->folder, AT_REMOVEDIR);
	cpsession_fini(&o->session);
	buf_fini(&o->text);
	mem_free(o);
}

void session_output_reserve(struct session_output *o, uint64_t bytes)
{
	int fd = sys()->openat(o->traces.dirfd, ".", O_WRONLY | O_TMPFILE, 0600);

	o->reserve_fd = fd < 0 ? -1 : fd;
	if (fd >= 0 && sys()->fallocate(fd, 0, 0, (off_t)bytes))
		session_output_release(o);
}

void session_output_release(struct session_output *o)
{
	io_close(&o->reserve_fd);
}

const char *session_output_moved(const struct session_output *o)
{
	return *o->moved ? o->moved : NULL;
}

bool session_output_has_traces(const struct session_output *o)
{
	return o->traces.dirfd >= 0;
}

/* Only the first takes the place of another session's. */
static int publish_manifest(struct session_output *o, struct err *e)
{
	const struct place *p = &o->manifest;
	int rc = io_publish(p->dirfd, o->draft, p->name, p->path,
			    o->manifest_says ? NULL : is_manifest, e);

	if (rc)
		drop_draft(o);
	else
		o->manifest_says = o->session.num_iterations;
	o->manifest_says_end = !rc && !*o->session.state;
	*o->draft = '\0';
	return rc;
}

static int write_manifest(struct session_output *o, uint64_t num_iterations, bool is_end,
			  struct err *e)
{
	int rc = 0;

	if (o->manifest.dirfd < 0 ||
	    (o->manifest_says == num_iterations && o->manifest_says_end == is_end))
		return 0;
	if (!*o->draft)
		rc = draft_manifest(o, num_iterations, is_end, e);
	if (rc == 0)
		rc = publish_manifest(o, e);
	if (rc)
		err_hint(e, "%s", manifest_hint);
	return rc;
}

static int begin_places(struct session_output *o, struct err *e)
{
	int rc = write_manifest(o, 1, false, e);

	if (rc || !session_output_has_traces(o))
		return rc;
	rc = remove_first_traces(o, e);
	if (rc)
		err_hint(e, "%s", traces_hint);
	return rc;
}

static int sync_error(const char *path, int rc, struct err *e)
{
	return err_set(e, rc, "%s: cannot be brought to the disk: %s", path, strerror(-rc));
}

/* A file that is not there any more, or was never ours, needs nothing. */
static int sync_file(const struct session_output *o, uint32_t number, uint32_t trace, struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(o, number, trace, name, path, e), fd;

	if (rc)
		return rc;
	fd = sys()->openat(o->traces.dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd == -ENOENT || fd == -EACCES || fd == -ELOOP || fd == -ENXIO)
		return 0;
	rc = fd < 0 ? fd : io_sync(fd);
	io_close(&fd);
	return rc ? sync_error(path, rc, e) : 0;
}

static int sync_traces(const struct session_output *o, const struct sync_work *work, struct err *e)
{
	int rc = 0;

	for (uint64_t i = work->first; i < work->end && rc == 0; i++)
		for (uint32_t t = 0; t < o->session.num_traces && rc == 0; t++)
			rc = sync_file(o, (uint32_t)i, t, e);
	if (rc == 0 && o->is_sampling)
		rc = sync_file(o, 0, TRACE_COMMON, e);
	if (rc)
		return rc;
	rc = io_sync(o->traces.dirfd);
	return rc ? sync_error(o->traces.path, rc, e) : 0;
}

/* A name that somebody has taken since does not end the session, but is told at its end. */
static int update_manifest(struct session_output *o, const struct sync_work *work, struct err *e)
{
	struct err why = {0};
	int rc = write_manifest(o, work->num_iterations, work->is_last, &why);

	if (io_is_taken(rc)) {
		o->taken = why;
		return 0;
	}
	o->taken = (struct err){0};
	if (rc)
		*e = why;
	return rc;
}

/* What the manifest says is there before it says so. */
static int sync_round(void *arg, const struct sync_work *work, struct err *e)
{
	struct session_output *o = arg;
	int rc = 0;

	if (o->is_synced && session_output_has_traces(o))
		rc = sync_traces(o, work, e);
	if (rc == 0)
		rc = update_manifest(o, work, e);
	if (rc == 0 && o->is_synced && o->manifest.dirfd >= 0) {
		rc = io_sync(o->manifest.dirfd);
		if (rc)
			return sync_error(o->manifest.path, rc, e);
	}
	if (rc == 0 && o->is_synced)
		log_verbose(1, "on the disk: the first %llu iterations",
			    (unsigned long long)work->nr_recorded);
	return rc;
}

/* Files of these numbers were written to. */
static int post(struct session_output *o, uint64_t first, uint64_t end, struct err *e)
{
	if (!o->syncer.is_running)
		return 0;
	return syncer_post(&o->syncer,
			   &(struct sync_work){.num_iterations = o->num_iterations,
					       .nr_recorded = o->nr_recorded,
					       .first = first,
					       .end = end},
			   e);
}

int session_output_begin(struct session_output *o, struct err *e)
{
	int rc = begin_places(o, e);

	if (rc || (o->traces.dirfd < 0 && o->manifest.dirfd < 0))
		return rc;
	o->syncer.round = sync_round;
	o->syncer.arg = o;
	o->syncer.is_steady = o->is_synced && o->is_sampling;
	rc = syncer_start(&o->syncer);
	if (rc)
		return err_set(e, rc, "no thread that syncs files: %s", strerror(-rc));
	o->num_iterations = 1;
	return post(o, UINT64_MAX, 0, e);
}

/* What grows while the iteration lasts has the number of the iteration. */
int session_output_manifest(struct session_output *o, uint64_t num_iterations, struct err *e)
{
	bool is_new = o->num_iterations != num_iterations;

	o->num_iterations = num_iterations;
	if (!is_new)
		return 0;
	return o->is_sampling ? post(o, num_iterations - 1, num_iterations, e)
			      : post(o, UINT64_MAX, 0, e);
}

void session_output_recorded(struct session_output *o, uint32_t iteration)
{
	uint64_t number = o->is_segmented ? o->segments.number : iteration;

	o->nr_recorded = (uint64_t)iteration + 1;
	(void)post(o, number, number + 1, NULL); /* the next one tells an error */
}

uint64_t session_output_sync_ns(struct session_output *o)
{
	return o->syncer.is_running ? syncer_slowest_ns(&o->syncer) : 0;
}

/* The next segment of the trace, with what its iterations have in common. */
static int create_segment(struct session_output *o, struct trace_writer *w,
			  const struct trace_head *head, struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(o, o->segments.number, head->trace, name, path, e);

	if (rc)
		return rc;
	rc = trace_writer_begin(w, head);
	if (rc)
		return err_set(e, rc, "a trace cannot be made: %s", strerror(-rc));
	return trace_segment_create(w, o->traces.dirfd, name, path, &o->segments.file[head->trace],
				    e);
}

/* Their indexes go to the disk, too. */
static int finish_segments(struct session_output *o, struct trace_writer *w, struct err *e)
{
	uint32_t number = o->segments.number;
	int rc = segments_finish(&o->segments, w, e);

	return rc ? rc : post(o, number, number + 1, e);
}

static int begin_part(struct session_output *o, struct trace_writer *w,
		      const struct trace_head *head, struct err *e)
{
	int rc = 0;

	if (head->trace == 0 && segments_are_full(&o->segments))
		rc = finish_segments(o, w, e);
	if (rc == 0 && !o->segments.file[head->trace])
		rc = create_segment(o, w, head, e);
	if (io_is_taken(rc))
		o->segments.is_spoilt = true;
	if (rc)
		err_hint(e, "%s", traces_hint);
	else
		trace_writer_iteration(w, head->iteration);
	return rc;
}

int session_output_begin_trace(struct session_output *o, struct trace_writer *w,
			       const struct trace_head *head, struct err *e)
{
	int rc;

	if (o->is_segmented)
		return begin_part(o, w, head, e);
	rc = trace_writer_begin(w, head);
	return rc ? err_set(e, rc, "a trace cannot be made: %s", strerror(-rc)) : 0;
}

int session_output_finish(struct session_output *o, struct trace_writer *w, struct err *e)
{
	struct err further = {0};
	int rc = o->is_segmented && w ? finish_segments(o, w, e) : 0, synced;

	synced = stop_syncer(o, rc ? &further : e);
	if (rc == 0 && synced == 0 && o->taken.code) {
		synced = o->taken.code;
		*e = o->taken;
	}
	return rc ? rc : synced;
}

static int commit_trace(struct session_output *o, struct trace_writer *w, uint32_t iteration,
			uint32_t trace, const struct trace_totals *totals, struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(o, iteration, trace, name, path, e);

	return rc ? rc : trace_writer_commit(w, o->traces.dirfd, name, path, totals, e);
}

int session_output_trace(struct session_output *o, struct trace_writer *w, uint32_t iteration,
			 uint32_t trace, const struct trace_totals *totals, struct err *e)
{
	int rc = o->is_segmented
		     ? trace_segment_add(o->segments.file[trace], w, iteration, totals, e)
		     : commit_trace(o, w, iteration, trace, totals, e);

	if (rc)
		err_hint(e, "%s", traces_hint);
	return rc;
}

int session_output_create(struct session_output *o, struct trace_writer *w, uint32_t iteration,
			  uint32_t trace, struct trace_packer *packer, struct trace_file **out,
			  struct err *e)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	int rc = make_name(o, iteration, trace, name, path, e);

	if (rc)
		return rc;
	rc = trace_file_create(w, o->traces.dirfd, name, path, packer, out, e);
	if (rc)
		err_hint(e, "%s", traces_hint);
	return rc;
}
