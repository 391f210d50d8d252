/*
 * Sessions of programs: each in a thread of its own, which opens, runs and closes it.
 */
#include "api/running.h"

#include "api/described.h"
#include "api/image.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "spec/cpsession.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

/* --- in the session's thread --------------------------------------------------------------------
 */

static int fail_with(struct cpuperf_session *s, const struct err *e)
{
	return api_fail(&s->result, e);
}

/* A session in memory has its files in a private folder. */
static int choose_files(struct cpuperf_session *s)
{
	struct err e = {0};

	s->own = s->shared->spec; /* strings stay those of the shared spec */
	if (!s->is_in_memory)
		return 0;
	s->own.output_path_prefix = s->own.session_result_spec_path = "";
	if (!spec_is_sampling(&s->own))
		return 0;
	if (held_open(&s->held, &e))
		return fail_with(s, &e);
	snprintf(s->prefix, sizeof(s->prefix), "%s/" CPSESSION_FOLDER_PREFIX, s->held.path);
	snprintf(s->manifest, sizeof(s->manifest), "%s/" CPSESSION_FOLDER_MANIFEST, s->held.path);
	s->own.output_path_prefix = s->prefix;
	s->own.session_result_spec_path = s->manifest;
	return 0;
}

static int limit_cpus(struct cpuperf_session *s)
{
	struct cpuset cpus;
	struct err e = {0};

	if (s->whom.scope != CPUPERF_CPU)
		return 0;
	cpuset_clear(&cpus);
	cpuset_add(&cpus, (unsigned)s->whom.id);
	return plan_limit_cpus(&s->plan, &cpus, &e) ? fail_with(s, &e) : 0;
}

static void set_state(struct cpuperf_session *s, enum running_state state)
{
	pthread_mutex_lock(&s->lock);
	s->state = state;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* Waits until the state is at least that. Returns it. */
static enum running_state wait_state(struct cpuperf_session *s, enum running_state least)
{
	enum running_state state;

	pthread_mutex_lock(&s->lock);
	while (s->state < least)
		pthread_cond_wait(&s->changed, &s->lock);
	state = s->state;
	pthread_mutex_unlock(&s->lock);
	return state;
}

static int on_iteration(const struct session_iteration *it, void *arg)
{
	struct cpuperf_session *s = arg;

	if (held_is_full(&s->held)) {
		s->is_full = true;
		session_stop(s->session);
	}
	api_table_fill(s->table, s->session, it);
	return api_feed_pass(&s->feed);
}

static void on_progress(const struct session_progress *p, void *arg)
{
	struct cpuperf_session *s = arg;

	(void)p;
	if (!held_is_full(&s->held))
		return;
	s->is_full = true;
	session_stop(s->session);
}

static int on_start(void *arg, struct err *e)
{
	(void)e;
	set_state(arg, RUNNING_COUNTING);
	return 0;
}

static bool is_group(const struct api_whom *w)
{
	return (int)w->scope == CPUPERF_CGROUP;
}

static void describe_group(int fd, struct trace_target *out)
{
	static const char what[] = "cgroup ";
	const size_t len = sizeof(what) - 1;
	char link[64];
	ssize_t n;

	*out = (struct trace_target){.pid = 0};
	memcpy(out->text, what, len);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out->text + len, sizeof(out->text) - len - 1);
	out->text[len + (n > 0 ? (size_t)n : 0)] = '\0';
	str_disarm(out->text);
}

static void on_target(void *arg, struct trace_target *out)
{
	const struct cpuperf_session *s = arg;

	if (is_group(&s->whom)) {
		describe_group(s->whom.id, out);
		return;
	}
	*out = (struct trace_target){.pid = (uint32_t)s->whom.id};
	snprintf(out->text, sizeof(out->text), "%s %d",
		 s->whom.scope == CPUPERF_THREAD ? "thread" : "process", s->whom.id);
}

static int open_once(struct cpuperf_session *s)
{
	bool has_tasks = s->whom.scope == CPUPERF_THREAD || s->whom.scope == CPUPERF_PROCESS;
	bool has_target = has_tasks || is_group(&s->whom);
	const struct session_config config = {.plan = &s->plan,
					      .tool = "libcpuperf " CPUPERF_VERSION,
					      .folder = *s->held.path ? s->held.path : NULL,
					      .on_iteration = on_iteration,
					      .on_progress = on_progress,
					      .on_start = on_start,
					      .on_target = has_target ? on_target : NULL,
					      .arg = s};
	struct err e = {0};

	if (has_target && api_whom_list(&s->whom, &e))
		return fail_with(s, &e);
	s->plan.target =
	    (struct plan_target){.ids = s->whom.ids,
				 .nr_ids = s->whom.nr_ids,
				 .is_process_only = api_whom_stays_in_process(&s->whom),
				 .is_cgroup = is_group(&s->whom),
				 .is_user_only = has_tasks && s->whom.is_user_only};
	return session_open(&config, &s->session, &e) ? fail_with(s, &e) : 0;
}

/* Threads that were created while the events were opened may not be measured. */
static int open_events(struct cpuperf_session *s)
{
	enum { NR_TRIES = 10 };
	struct err e = {0};

	for (unsigned i = 0; i < NR_TRIES; i++) {
		int rc = open_once(s);

		if (rc || !api_whom_has_new(&s->whom))
			return rc;
		session_close(s->session);
		s->session = NULL;
	}
	err_set(&e, -EAGAIN, "process %d creates threads faster than events are opened",
		s->whom.id);
	return fail_with(s, &e);
}

static int describe(struct cpuperf_session *s)
{
	struct err e = {0};

	s->events = mem_calloc(s->plan.nr_events, sizeof(*s->events));
	if (!s->events)
		return api_fail_memory(&s->result);
	for (size_t i = 0; i < s->plan.nr_events; i++)
		api_described(&s->plan.events[i].event, s->plan.events[i].label,
			      &session_event(s->session, i)->support, &s->events[i]);
	if (session_nr_working(s->session))
		return 0;
	err_set(&e, -ENOTSUP, "none of the %zu event(s) can be measured here: %s",
		s->plan.nr_events, session_event(s->session, 0)->support.reason);
	if (*session_event(s->session, 0)->support.hint)
		err_hint(&e, "%s", session_event(s->session, 0)->support.hint);
	return fail_with(s, &e);
}

static int make_table(struct cpuperf_session *s)
{
	struct err e = {0};

	if (api_table_new(s->session, &s->table, &e))
		return fail_with(s, &e);
	return api_feed_init(&s->feed, s->table, plan_nr_traces(&s->plan))
		   ? api_fail_memory(&s->result)
		   : 0;
}

static int open_session(struct cpuperf_session *s)
{
	int rc;

	s->whom.except = gettid();
	rc = choose_files(s) ?: api_spec_plan_of(s->shared, &s->own, &s->plan, &s->result);
	s->has_plan = rc == 0;
	return rc ?: limit_cpus(s) ?: open_events(s) ?: describe(s) ?: make_table(s);
}

static int run_session(struct cpuperf_session *s)
{
	struct err e = {0};
	int rc;

	api_fail_clear(&s->result);
	rc = session_run(s->session, &e);
	if (rc == 0 && s->is_full) {
		rc = err_set(&e, -ENOSPC,
			     "measuring ended early: half of the memory in which the session is "
			     "held is used");
		err_hint(&e, "sample less often, or save it: an output_path_prefix in the spec");
	}
	return rc ? fail_with(s, &e) : 0;
}

static void close_all(struct cpuperf_session *s)
{
	session_close(s->session);
	s->session = NULL;
	api_feed_fini(&s->feed);
	table_free(s->table);
	if (s->has_plan)
		plan_fini(&s->plan);
	held_close(&s->held);
}

static void *measure(void *arg)
{
	struct cpuperf_session *s = arg;

	s->rc = open_session(s);
	set_state(s, s->rc ? RUNNING_ENDED : RUNNING_OPEN);
	if (s->rc == 0 && wait_state(s, RUNNING_STARTED) == RUNNING_STARTED) {
		s->rc = run_session(s);
		set_state(s, RUNNING_ENDED);
	}
	wait_state(s, RUNNING_CLOSING);
	close_all(s);
	return NULL;
}

/* --- in the program's threads -------------------------------------------------------------------
 */

static int check(const struct cpuperf_session *s, struct cpuperf_error *e)
{
	api_fail_clear(e);
	if (!s) {
		(void)api_fail_use(e, -EINVAL, "there is no session: the pointer is NULL",
				   "open one with cpuperf_session_open");
		return -EINVAL;
	}
	if (!api_image_is_current(s->image))
		return api_fail_use(e, -ECHILD, "this session is of the parent process",
				    "open another one after fork");
	if (pthread_equal(s->thread, pthread_self()))
		return api_fail_use(e, -EDEADLK, "this is the session's own thread",
				    "from within fn, call cpuperf_session_stop or "
				    "cpuperf_session_cut");
	return 0;
}

static int check_spec(const struct spec *spec, struct cpuperf_error *e)
{
	if (spec_has_target(spec) || *spec->target.cpus)
		return api_fail_use(e, -ENOTSUP,
				    "the spec has the key \"target\": what a session of a program "
				    "measures is a parameter",
				    "remove the key, and pass a scope and an id; a command is its "
				    "pid, with CPUPERF_CHILDREN, before it calls exec");
	return 0;
}

/* Makes the descriptor the session's own. */
static int check_group(struct api_whom *w, const struct spec *spec, struct cpuperf_error *e)
{
	enum { CGROUP2 = 0x63677270 };
	struct statfs fs;

	if (w->flags)
		return api_fail_use(e, -EINVAL, "flags: a control group has no children", NULL);
	if (spec->regions.is_wanted)
		return api_fail_use(e, -EINVAL, "regions of a control group cannot be received",
				    "measure its processes");
	if (fstatfs(w->id, &fs) || fs.f_type != CGROUP2)
		return api_fail_use(e, -EINVAL,
				    "id is not the descriptor of a control group (cgroup2)",
				    "open the group's folder, below /sys/fs/cgroup");
	w->id = fcntl(w->id, F_DUPFD_CLOEXEC, 3);
	return w->id < 0 ? api_fail_use(e, -errno, "the descriptor cannot be copied", NULL) : 0;
}

static void free_session(struct cpuperf_session *s)
{
	if (is_group(&s->whom))
		close(s->whom.id);
	api_whom_fini(&s->whom);
	cpuperf_spec_free(s->shared);
	mem_free(s->events);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

static int start_thread(struct cpuperf_session *s, struct cpuperf_error *error)
{
	struct err e = {0};
	int rc = api_image_enter(&s->image) ?: thread_start_blocked(&s->thread, measure, s);

	if (rc) {
		err_set(&e, rc, "a thread cannot be started: %s", strerror(-rc));
		api_fail(error, &e);
		free_session(s);
		return rc;
	}
	if (wait_state(s, RUNNING_OPEN) == RUNNING_OPEN)
		return 0;
	rc = s->rc;
	api_fail_copy(error, &s->result);
	cpuperf_session_close(s);
	return rc;
}

static int make(struct cpuperf_session **out, const struct cpuperf_spec *spec,
		const struct api_whom *whom, bool is_in_memory, struct cpuperf_error *e)
{
	struct cpuperf_session *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s) {
		if (is_group(whom))
			close(whom->id);
		return api_fail_memory(e);
	}
	*s = (struct cpuperf_session){.shared = api_spec_share(spec),
				      .whom = *whom,
				      .is_in_memory = is_in_memory,
				      .held = HELD_NONE,
				      .result = CPUPERF_ERROR_INIT};
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	rc = start_thread(s, e);
	if (rc == 0)
		*out = s;
	return rc;
}

int cpuperf_session_open(struct cpuperf_session **out, const struct cpuperf_spec *spec, int scope,
			 int id, unsigned flags, struct cpuperf_error *error)
{
	struct api_whom whom = {.scope = (enum cpuperf_scope)scope,
				.id = id,
				.flags = flags & ~(unsigned)CPUPERF_IN_MEMORY};
	struct err e = {0};
	int rc;

	api_fail_clear(error);
	if (out)
		*out = NULL;
	if (!out || !spec)
		return api_fail_use(error, -EINVAL, "a parameter is NULL", NULL);
	rc = check_spec(&spec->spec, error);
	if (rc)
		return rc;
	if (scope == CPUPERF_CGROUP)
		rc = check_group(&whom, &spec->spec, error);
	if (rc)
		return rc;
	if (scope != CPUPERF_MACHINE && scope != CPUPERF_CGROUP &&
	    api_whom_check(&whom, &spec->host, &e))
		return api_fail(error, &e);
	if (scope == CPUPERF_MACHINE && (id || whom.flags))
		return api_fail_use(error, -EINVAL, "the machine has no id and no children", NULL);
	if (scope == CPUPERF_THREAD && !id)
		whom.id = gettid(); /* the session's thread opens the events */
	return make(out, spec, &whom, flags & CPUPERF_IN_MEMORY, error);
}

void cpuperf_session_close(struct cpuperf_session *s)
{
	if (!s || check(s, NULL)) /* of a parent: its thread is not here */
		return;
	cpuperf_session_stop(s);
	pthread_mutex_lock(&s->lock);
	while (s->state == RUNNING_STARTED || s->state == RUNNING_COUNTING)
		pthread_cond_wait(&s->changed, &s->lock);
	s->state = RUNNING_CLOSING;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	free_session(s);
}

size_t cpuperf_session_nr_events(const struct cpuperf_session *s)
{
	return s ? s->plan.nr_events : 0;
}

const struct cpuperf_event *cpuperf_session_event(const struct cpuperf_session *s, size_t i)
{
	return i < cpuperf_session_nr_events(s) ? &s->events[i] : NULL;
}

int cpuperf_session_start(struct cpuperf_session *s, cpuperf_iteration_fn *fn, void *arg,
			  struct cpuperf_error *e)
{
	int rc = check(s, e);

	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	if (s->state != RUNNING_OPEN) {
		rc = -EALREADY;
	} else {
		s->feed.fn = fn;
		s->feed.arg = arg;
		s->state = RUNNING_STARTED;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc)
		return api_fail_use(e, rc, "the session was started before",
				    "open another one with the same spec");
	if (wait_state(s, RUNNING_COUNTING) == RUNNING_COUNTING || s->rc == 0)
		return 0;
	api_fail_copy(e, &s->result);
	return s->rc;
}

void cpuperf_session_cut(struct cpuperf_session *s)
{
	if (s && api_image_is_current(s->image))
		session_request(s->session, CAUSE_REQUEST, false);
}

void cpuperf_session_stop(struct cpuperf_session *s)
{
	if (s && s->session && api_image_is_current(s->image))
		session_stop(s->session);
}

int cpuperf_session_wait(struct cpuperf_session *s, struct cpuperf_error *e)
{
	int rc = check(s, e);
	bool was_started;

	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	was_started = s->state != RUNNING_OPEN;
	pthread_mutex_unlock(&s->lock);
	if (!was_started)
		return api_fail_use(e, -EINVAL, "the session was not started", NULL);
	wait_state(s, RUNNING_ENDED);
	if (s->rc)
		api_fail_copy(e, &s->result);
	return s->rc;
}

int api_running_check_ended(struct cpuperf_session *s, struct cpuperf_error *e)
{
	int rc = check(s, e);
	bool has_ended;

	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	has_ended = s->state >= RUNNING_ENDED;
	pthread_mutex_unlock(&s->lock);
	return has_ended ? cpuperf_session_wait(s, e)
			 : api_fail_use(e, -EBUSY, "the session has not ended",
					"call cpuperf_session_stop and cpuperf_session_wait");
}

int cpuperf_record(const char *spec_path, cpuperf_iteration_fn *fn, void *arg,
		   struct cpuperf_error *e)
{
	struct cpuperf_spec *spec;
	struct cpuperf_session *s = NULL;
	int rc = cpuperf_spec_load(&spec, spec_path, e);

	if (rc)
		return rc;
	rc = cpuperf_session_open(&s, spec, CPUPERF_MACHINE, 0, 0, e)
		 ?: cpuperf_session_start(s, fn, arg, e) ?: cpuperf_session_wait(s, e);
	cpuperf_session_close(s);
	cpuperf_spec_free(spec);
	return rc;
}
