/*
 * The files of a session: where they go, and when they are synced.
 */
#include "session/output.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"
#include "session/folder.h"
#include "session/manifest.h"
#include "session/session.h"
#include "session/syncer.h"
#include "session/traces.h"
#include "spec/spec.h"
#include "trace/shorten.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

enum {
	MANIFEST_PERIOD_NS = 1000000000, /* used if nothing is synced */
	RESERVE_BYTES = 16 << 10,        /* per file, for its end on a full disk */
};
/* The common file keeps tasks that ended so long before an iteration, or began after a snapshot. */
#define BEFORE_NS UINT64_C(1000000000)
#define AFTER_NS  UINT64_C(10000000000)

struct session_output {
	struct traces traces;
	struct manifest manifest; /* used only by the syncer's thread while that runs */
	uint8_t id[16];           /* of the session */
	char id_text[33];         /* the same */
	bool is_synced, is_limited;
	uint64_t num_iterations, nr_recorded;
	pthread_mutex_t retain_lock;
	struct retain retain; /* changed by the session's thread, under the lock */
	uint64_t held_ns;     /* a flight recorder's next samples are later; locked */
	void (*shorten)(void *arg, struct trace_shorten *how); /* may be NULL */
	void *shorten_arg;
	const struct spec_flight *flight; /* borrowed from the spec */
	uint64_t common_bytes;            /* of the common file, if retain limits bytes */
	uint64_t nr_removed;              /* numbers whose files are removed; the syncer's thread */
	struct syncer syncer;
	struct err taken; /* why the manifest is out of date */
	int reserve_fd;   /* a file without a name; -1: none */
	/* if files are not where the spec says */
	char folder[PATH_MAX], prefix[PATH_MAX], manifest_path[PATH_MAX];
	char moved[2 * PATH_MAX]; /* where they are and why; "": where the spec says */
};

static int open_places(struct session_output *o, const struct session_output_config *c,
		       const char *prefix, const char *manifest, struct err *e)
{
	int rc = traces_open(&o->traces, prefix, c->spec, c->nr_traces, e);

	return rc ? rc : manifest_open(&o->manifest, manifest, e);
}

/* The path of the same name in the folder; "" stays so. */
static int move_path(const struct session_output *o, const char *path, char moved[PATH_MAX],
		     struct err *e)
{
	*moved = '\0';
	if (*path && snprintf(moved, PATH_MAX, "%s/%s", o->folder, str_base_name(path)) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", o->folder);
	return 0;
}

static void describe_move(struct session_output *o, const char *why)
{
	int len = snprintf(o->moved, sizeof(o->moved), "%s: ", why);

	if (*o->folder)
		len += snprintf(o->moved + len, sizeof(o->moved) - (size_t)len,
				"the files of this session are in %s%s", o->folder,
				*o->manifest_path ? "; " : "");
	if (*o->manifest_path)
		snprintf(o->moved + len, sizeof(o->moved) - (size_t)len,
			 "cpuperf_print --session=%s shows %s", o->manifest_path,
			 *o->folder ? "them" : "this session");
}

/* The path may lead elsewhere by now, if another user may rename the folder. */
static int check_folder(const struct place *p, const struct stat *folder, struct err *e)
{
	struct stat st;
	int rc;

	if (!folder || p->dirfd < 0)
		return 0;
	rc = sys()->fstatat(p->dirfd, "", &st, AT_EMPTY_PATH);
	if (rc == 0 && (folder->st_dev != st.st_dev || folder->st_ino != st.st_ino))
		rc = -ESTALE;
	if (rc)
		err_set_at(e, rc, p->path, 0, 0,
			   "was moved to another folder; others may rename entries of its parent");
	return rc;
}

static int check_folders(const struct session_output *o, const struct stat *folder, struct err *e)
{
	return check_folder(&o->traces.place, folder, e)
		   ?: check_folder(&o->manifest.place, folder, e);
}

/* In a public folder anybody can take a name: moves the files into a private one, or one beside
 * that of another session. The manifest goes there too, because readers look for traces beside it.
 */
static int open_moved(struct session_output *o, const struct session_output_config *c,
		      struct err *e)
{
	IO_AUTO_FD int fd = -1;
	struct stat st;
	struct err ignored = {0};
	int rc = c->busy ? session_folder_make_beside(c->busy, o->folder, &fd, &ignored) : -EBUSY;

	if (rc)
		rc = session_folder_make_private(o->folder, &fd, e);

	if (rc) {
		*o->folder = '\0';
		return rc;
	}
	rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH)
		 ?: move_path(o, c->spec->output_path_prefix, o->prefix, e)
		 ?: move_path(o, c->spec->session_result_spec_path, o->manifest_path, e)
		 ?: open_places(o, c, o->prefix, o->manifest_path, e)
		 ?: check_folders(o, &st, e);
	return rc ? err_set_at(e, rc, o->folder, 0, 0, "%s", strerror(-rc)) : 0;
}

/* The default manifest path must not refuse traces whose path was chosen. */
static int open_beside_traces(struct session_output *o, const struct session_output_config *c,
			      struct err *e)
{
	const char *prefix = c->spec->output_path_prefix;

	if (snprintf(o->manifest_path, PATH_MAX, "%s.cpsession", prefix) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", prefix);
	return manifest_open(&o->manifest, o->manifest_path, e);
}

static int open_anywhere(struct session_output *o, const struct session_output_config *c,
			 struct err *e)
{
	const struct spec *spec = c->spec;
	struct err why = {0};
	int rc;

	if (c->why_moved) {
		rc = open_moved(o, c, e);
		describe_move(o, c->why_moved);
		return rc;
	}
	rc = traces_open(&o->traces, spec->output_path_prefix, spec, c->nr_traces, &why)
		 ?: manifest_open(&o->manifest, spec->session_result_spec_path, &why);

	if (rc != -EPERM || !c->may_move_manifest ||
	    (!session_output_has_traces(o) && !c->may_move_traces)) {
		if (rc && e)
			*e = why;
		return rc;
	}
	if (c->may_move_traces) {
		traces_close(&o->traces);
		rc = open_moved(o, c, e);
	} else {
		rc = open_beside_traces(o, c, e);
	}
	if (rc == 0)
		describe_move(o, why.msg);
	return rc;
}

int session_output_open(const struct session_output_config *c, struct session_output **out,
			struct err *e)
{
	struct session_output *o = mem_zalloc(sizeof(*o));
	struct cpsession *content;
	int rc;

	if (!o)
		return err_set(e, -ENOMEM, "out of memory");
	o->traces.place = PLACE_NONE;
	o->reserve_fd = -1;
	o->is_synced = c->spec->sync_period_ns;
	o->is_limited = spec_has_retain(c->spec) || c->spec->flight.span_ns;
	o->syncer.period_ns = o->is_synced ? c->spec->sync_period_ns : MANIFEST_PERIOD_NS;
	memcpy(o->id, c->id, sizeof(o->id));
	str_hex16(c->id, o->id_text);
	(void)pthread_mutex_init(&o->retain_lock, NULL); /* never fails on Linux */
	retain_init(&o->retain, &c->spec->retain);
	o->flight = &c->spec->flight;
	manifest_init(&o->manifest);
	o->manifest.is_synced = o->is_synced;
	o->manifest.is_strict = spec_has_strict_manifest(c->spec);
	content = &o->manifest.content;
	content->config_name = c->spec->config_name;
	content->model_name = c->model_name;
	content->num_traces = c->nr_traces;
	content->session_id = o->id_text;
	rc = open_anywhere(o, c, e) ?: check_folders(o, c->folder, e);
	if (rc == 0) {
		content->output_path_prefix = o->traces.place.path;
		rc = manifest_draft(&o->manifest, 1, false, e);
	}
	if (rc) {
		session_output_close(o);
		return rc;
	}
	*out = o;
	return 0;
}

/* The last round writes the end of the session into the manifest. */
static int stop_syncer(struct session_output *o, struct err *e)
{
	if (o->syncer.is_running)
		(void)syncer_post(&o->syncer,
				  &(struct sync_work){.num_iterations = o->num_iterations,
						      .nr_recorded = o->nr_recorded,
						      .removed = o->retain.removed,
						      .is_last = true,
						      SYNC_NOTHING},
				  NULL);
	return syncer_stop(&o->syncer, e);
}

void session_output_close(struct session_output *o)
{
	if (!o)
		return;
	(void)stop_syncer(o, NULL); /* may use the reserve */
	session_output_release(o);
	traces_close(&o->traces);
	manifest_fini(&o->manifest);
	retain_fini(&o->retain);
	pthread_mutex_destroy(&o->retain_lock);
	if (*o->folder) /* not removed unless it is empty */
		sys()->unlinkat(AT_FDCWD, o->folder, AT_REMOVEDIR);
	mem_free(o);
}

/* The traces of a sampling session and its common file grow. A tally's last manifest must fit:
 * without it the session would look as if it had been killed. */
static void reserve(struct session_output *o)
{
	uint64_t nr = o->traces.is_sampling ? o->manifest.content.num_traces + 1 : 1;
	const struct place *p =
	    session_output_has_traces(o) ? &o->traces.place : &o->manifest.place;
	int fd = sys()->openat(p->dirfd, ".", O_WRONLY | O_TMPFILE, 0600);

	o->reserve_fd = fd < 0 ? -1 : fd;
	if (fd >= 0 && sys()->fallocate(fd, 0, 0, (off_t)(nr * RESERVE_BYTES)))
		session_output_release(o);
}

void session_output_release(struct session_output *o)
{
	/* A child that was just forked may hold the file open for a moment after it is closed here.
	 */
	if (o->reserve_fd >= 0)
		(void)sys()->ftruncate(o->reserve_fd, 0);
	io_close(&o->reserve_fd);
}

const char *session_output_moved(const struct session_output *o)
{
	return *o->moved ? o->moved : NULL;
}

const char *session_output_folder(const struct session_output *o)
{
	return *o->folder ? o->folder : NULL;
}

const char *session_output_manifest_path(const struct session_output *o)
{
	return o->manifest.place.path;
}

bool session_output_has_traces(const struct session_output *o)
{
	return o->traces.place.dirfd >= 0;
}

/* If somebody took the name since, the session continues and reports that at its end. */
static int update_manifest(struct session_output *o, const struct sync_work *work, struct err *e)
{
	struct err why = {0};
	int rc;

	manifest_set_removed(&o->manifest, &work->removed);
	rc = manifest_write(&o->manifest, work->num_iterations, work->is_last, &why);

	if (rc == -ENOSPC && !o->traces.is_sampling && o->reserve_fd >= 0) {
		session_output_release(o);
		why = (struct err){0};
		rc = manifest_write(&o->manifest, work->num_iterations, work->is_last, &why);
	}
	if (io_is_taken(rc)) {
		o->taken = why;
		return 0;
	}
	o->taken = (struct err){0};
	if (rc)
		*e = why;
	return rc;
}

static uint64_t earlier(uint64_t ns, uint64_t by_ns)
{
	return ns > by_ns ? ns - by_ns : 0;
}

/* The times of the samples that remain: all from the oldest iteration on; of a flight recorder,
 * those of each snapshot, and those in its rings. Owned by the caller; NULL without memory. */
static struct trace_period *list_remaining(const struct session_output *o, size_t *nr)
{
	const struct retain *r = &o->retain;
	size_t nr_parts = r->nr - r->first;
	struct trace_period *p = mem_calloc(nr_parts + 1, sizeof(*p));

	*nr = 0;
	if (!p)
		return NULL;
	for (size_t i = r->first; o->flight->span_ns && i < r->nr; i++)
		p[(*nr)++] = (struct trace_period){earlier(r->parts[i].begin_ns, BEFORE_NS),
						   r->parts[i].end_ns + AFTER_NS};
	p[*nr].to_ns = UINT64_MAX;
	if (o->flight->span_ns)
		p[*nr].from_ns = o->held_ns;
	else if (nr_parts)
		p[*nr].from_ns = earlier(r->parts[r->first].begin_ns, BEFORE_NS);
	++*nr;
	return p;
}

static void shorten_common(const struct session_output *o, const struct trace_period *periods,
			   size_t nr)
{
	struct trace_shorten how = {
	    .dirfd = o->traces.place.dirfd, .periods = periods, .nr_periods = nr};
	struct traces_common *names = mem_zalloc(sizeof(*names));

	if (names && periods && traces_common(&o->traces, names) == 0) {
		how.name = names->name;
		how.temporary = names->temporary;
		how.path = names->path;
		o->shorten(o->shorten_arg, &how);
	}
	mem_free(names);
}

/* What remains now may be less than when the work was queued. The samples of all that is not
 * removed in this round remain. */
static struct trace_period *update_work(struct session_output *o, struct sync_work *work,
					size_t *nr_periods)
{
	struct trace_period *periods = NULL;

	pthread_mutex_lock(&o->retain_lock);
	if (o->shorten) {
		periods = list_remaining(o, nr_periods);
		work->removed = o->retain.removed;
	}
	pthread_mutex_unlock(&o->retain_lock);
	if (work->num_iterations <= work->removed.iterations)
		work->num_iterations = work->removed.iterations + 1;
	return periods;
}

/* Syncs files before the manifest that lists them, and removes files after the manifest that names
 * them as removed: readers ignore those that a power cut leaves. While somebody has taken its name,
 * nothing is removed. */
static int sync_files(struct session_output *o, const struct sync_work *work, struct err *e)
{
	const struct place *manifest = &o->manifest.place;
	int rc = 0;

	uint64_t first = work->first > work->removed.numbers ? work->first : work->removed.numbers;

	if (o->is_synced && session_output_has_traces(o))
		rc = traces_sync(&o->traces, first, work->end, e);
	if (rc == 0)
		rc = update_manifest(o, work, e);
	if (rc == 0 && o->is_synced && manifest->dirfd >= 0) {
		rc = io_sync(manifest->dirfd);
		if (rc)
			return err_set(e, rc, "%s: cannot be synced to disk: %s", manifest->path,
				       strerror(-rc));
	}
	if (rc == 0 && o->nr_removed < work->removed.numbers && !o->taken.code) {
		rc = traces_remove(&o->traces, o->id, o->nr_removed, work->removed.numbers, e);
		o->nr_removed = work->removed.numbers;
	}
	if (rc == 0 && o->is_synced)
		log_verbose(1, "on the disk: the first %llu iterations",
			    (unsigned long long)work->nr_recorded);
	return rc;
}

/* The common file loses only what belongs to files that are removed. */
static int sync_round(void *arg, const struct sync_work *work, struct err *e)
{
	struct session_output *o = arg;
	struct sync_work now = *work;
	size_t nr = 0;
	struct trace_period *periods = update_work(o, &now, &nr);
	int rc = sync_files(o, &now, e);

	if (rc == 0 && o->shorten && o->nr_removed == now.removed.numbers)
		shorten_common(o, periods, nr);
	mem_free(periods);
	return rc;
}

/* Queues the files of these numbers for a sync. */
static int post(struct session_output *o, uint64_t first, uint64_t end, struct err *e)
{
	if (!o->syncer.is_running)
		return 0;
	return syncer_post(&o->syncer,
			   &(struct sync_work){.num_iterations = o->num_iterations,
					       .nr_recorded = o->nr_recorded,
					       .removed = o->retain.removed,
					       .first = first,
					       .end = end},
			   e);
}

int session_output_begin(struct session_output *o, struct err *e)
{
	int rc = manifest_write(&o->manifest, 1, false, e);

	if (rc == 0 && session_output_has_traces(o))
		rc = traces_remove_first(&o->traces, e);
	if (rc || (o->traces.place.dirfd < 0 && o->manifest.place.dirfd < 0))
		return rc;
	reserve(o);
	o->syncer.round = sync_round;
	o->syncer.arg = o;
	o->syncer.is_steady = o->is_synced && o->traces.is_sampling;
	rc = syncer_start(&o->syncer);
	if (rc)
		return err_set(e, rc, "cannot start the thread that syncs files: %s",
			       strerror(-rc));
	o->num_iterations = 1;
	return post(o, UINT64_MAX, 0, e);
}

/* A trace that grows during an iteration has the iteration's number. */
int session_output_manifest(struct session_output *o, uint64_t num_iterations, struct err *e)
{
	bool is_new = o->num_iterations != num_iterations;

	o->num_iterations = num_iterations;
	if (!is_new)
		return 0;
	return o->traces.is_sampling ? post(o, num_iterations - 1, num_iterations, e)
				     : post(o, UINT64_MAX, 0, e);
}

/* growing: the number of the iteration in progress, or TRACE_COMMON. */
static bool trim(struct session_output *o, uint32_t growing)
{
	uint64_t further;

	if (o->retain.limits->bytes && o->traces.is_sampling)
		o->common_bytes = traces_bytes(&o->traces, TRACE_COMMON);
	further = o->common_bytes;
	if (growing != TRACE_COMMON)
		further += traces_bytes(&o->traces, growing);
	return retain_trim(&o->retain, further);
}

void session_output_set_shorten(struct session_output *o,
				void (*shorten)(void *arg, struct trace_shorten *how), void *arg)
{
	o->shorten = o->is_limited && session_output_has_traces(o) ? shorten : NULL;
	o->shorten_arg = arg;
}

/* The newest part may have grown after its last iteration: by the index of its segments. */
static void measure_newest(struct session_output *o)
{
	const struct retain_part *part = retain_newest(&o->retain);

	if (o->retain.limits->bytes && part)
		retain_set_bytes(&o->retain, traces_bytes(&o->traces, (uint32_t)part->number));
}

/* The beginning of what an iteration holds; a snapshot is no older than its samples. */
static uint64_t held_from_ns(const struct session_output *o, const struct session_iteration *it)
{
	const struct spec_flight *f = o->flight;
	uint64_t span_ns = f->span_ns + f->after_ns;

	return f->span_ns && it->end_ns - it->start_ns > span_ns ? it->end_ns - span_ns
								 : it->start_ns;
}

static int retain_iteration(struct session_output *o, uint64_t number,
			    const struct session_iteration *it)
{
	int rc;

	measure_newest(o);
	rc = retain_add(&o->retain, number, it->iteration, held_from_ns(o, it), it->end_ns,
			&it->clocks);
	if (rc)
		return rc;
	measure_newest(o);
	o->traces.wants_next |= retain_is_full(&o->retain);
	(void)trim(o, TRACE_COMMON);
	return 0;
}

int session_output_recorded(struct session_output *o, const struct session_iteration *it,
			    struct err *e)
{
	uint64_t number = o->traces.is_segmented ? o->traces.number : it->iteration;
	int rc = 0;

	o->nr_recorded = (uint64_t)it->iteration + 1;
	pthread_mutex_lock(&o->retain_lock);
	if (o->is_limited && session_output_has_traces(o))
		rc = retain_iteration(o, number, it);
	pthread_mutex_unlock(&o->retain_lock);
	(void)post(o, number, number + 1, NULL); /* the next one reports an error */
	return rc ? err_set(e, rc, "no memory for the list of files") : 0;
}

void session_output_grown(struct session_output *o, bool is_common_due)
{
	bool has_work = is_common_due && o->shorten;

	pthread_mutex_lock(&o->retain_lock);
	o->held_ns =
	    earlier(clock_monotonic_ns(), o->flight->span_ns + o->flight->after_ns + BEFORE_NS);
	if (o->retain.limits->bytes && session_output_has_traces(o))
		has_work |= trim(o, (uint32_t)o->num_iterations - 1);
	pthread_mutex_unlock(&o->retain_lock);
	if (has_work)
		(void)post(o, UINT64_MAX, 0, NULL);
}

uint64_t session_output_large_common(const struct session_output *o)
{
	return o->common_bytes > o->retain.limits->bytes / 2 ? o->common_bytes : 0;
}

uint64_t session_output_sync_ns(struct session_output *o)
{
	return o->syncer.is_running ? syncer_slowest_ns(&o->syncer) : 0;
}

int session_output_begin_trace(struct session_output *o, struct trace_writer *w,
			       const struct trace_head *head, struct err *e)
{
	uint32_t number = o->traces.number;
	int rc = traces_begin(&o->traces, w, head, e), posted = 0;

	/* full segments have ended: their indexes must be synced too */
	if (o->traces.number != number)
		posted = post(o, number, number + 1, rc ? NULL : e);
	return rc ? rc : posted;
}

int session_output_trace(struct session_output *o, struct trace_writer *w, uint32_t iteration,
			 uint32_t trace, const struct trace_totals *totals, struct err *e)
{
	return traces_commit(&o->traces, w, iteration, trace, totals, e);
}

int session_output_create(struct session_output *o, struct trace_writer *w, uint32_t iteration,
			  uint32_t trace, struct trace_packer *packer, struct trace_file **out,
			  struct err *e)
{
	return traces_create(&o->traces, w, iteration, trace, packer, out, e);
}

int session_output_finish(struct session_output *o, struct trace_writer *w, struct err *e)
{
	uint32_t number = o->traces.number;
	struct err further = {0};
	int rc = 0, synced;

	if (o->traces.is_segmented && w) {
		rc = traces_finish(&o->traces, w, e);
		rc = rc ? rc : post(o, number, number + 1, e);
	}
	if (session_output_has_traces(o)) {
		pthread_mutex_lock(&o->retain_lock);
		measure_newest(o);
		(void)trim(o, TRACE_COMMON);
		pthread_mutex_unlock(&o->retain_lock);
	}
	synced = stop_syncer(o, rc ? &further : e);
	if (rc == 0 && synced == 0 && o->taken.code) {
		synced = o->taken.code;
		*e = o->taken;
	}
	return rc ? rc : synced;
}
