/*
 * The dashboard of a session that is being measured.
 */
#include "dashboard/dashboard.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/thread.h"
#include "dashboard/ui.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { NR_TABLES = 4, NR_NOTES = 16, CLOSE_MS = 1000, JOIN_S = 4, PROFILE_MS = 100 };

struct dashboard {
	struct dashboard_config config;
	struct dashboard_ui *ui;
	sigset_t old_mask;
	pthread_t thread;
	int wake_fd;
	atomic_bool is_closing;
	bool is_restored; /* valid when the thread has ended */

	pthread_mutex_t lock; /* guards what follows; held for a few instructions */
	struct table *queued[NR_TABLES], *idle[NR_TABLES];
	size_t nr_queued, nr_idle;
	char notes[NR_NOTES][MODEL_NOTE_BYTES];
	size_t nr_notes;
	uint64_t nr_missed, nr_notes_missed;
};

static void wake(const struct dashboard *d)
{
	const uint64_t one = 1;

	(void)sys()->write(d->wake_fd, &one, sizeof(one));
}

/* --- the measuring thread ----------------------------------------------------------------------
 */

static struct table *take_oldest(struct dashboard *d)
{
	struct table *t = d->queued[0];

	memmove(&d->queued[0], &d->queued[1], --d->nr_queued * sizeof(d->queued[0]));
	return t;
}

void dashboard_iteration(struct dashboard *d, const struct table *t)
{
	struct table *copy;

	pthread_mutex_lock(&d->lock);
	if (d->nr_idle) {
		copy = d->idle[--d->nr_idle];
	} else {
		copy = take_oldest(d); /* the drawing thread holds one table at most */
		d->nr_missed++;
	}
	pthread_mutex_unlock(&d->lock);
	(void)table_copy_events(copy, t);
	pthread_mutex_lock(&d->lock);
	d->queued[d->nr_queued++] = copy;
	pthread_mutex_unlock(&d->lock);
	wake(d);
}

void dashboard_note(struct dashboard *d, const char *text)
{
	pthread_mutex_lock(&d->lock);
	if (d->nr_notes < NR_NOTES)
		snprintf(d->notes[d->nr_notes++], MODEL_NOTE_BYTES, "%s", text);
	else
		d->nr_notes_missed++;
	pthread_mutex_unlock(&d->lock);
	wake(d);
}

/* --- the drawing thread ------------------------------------------------------------------------
 */

/* Passes queued tables and notes to the model. */
static void update_model(struct dashboard *d)
{
	struct model *m = dashboard_ui_model(d->ui);

	pthread_mutex_lock(&d->lock);
	while (d->nr_queued) {
		struct table *t = take_oldest(d);

		pthread_mutex_unlock(&d->lock);
		model_add(m, &t);
		dashboard_ui_redraw(d->ui);
		pthread_mutex_lock(&d->lock);
		d->idle[d->nr_idle++] = t;
	}
	for (size_t i = 0; i < d->nr_notes; i++)
		model_note(m, d->notes[i]);
	m->nr_notes += d->nr_notes_missed;
	m->nr_missed = d->nr_missed;
	if (d->nr_notes)
		dashboard_ui_redraw(d->ui);
	d->nr_notes = 0;
	d->nr_notes_missed = 0;
	pthread_mutex_unlock(&d->lock);
}

/* --- a profile of a process --------------------------------------------------------------------
 */

static void say(struct dashboard *d, const char *text)
{
	struct model *m = dashboard_ui_model(d->ui);

	snprintf(m->message, sizeof(m->message), "%.*s", (int)sizeof(m->message) - 1, text);
	dashboard_ui_redraw(d->ui);
}

static void end_profile(struct dashboard *d, const char *why)
{
	struct model *m = dashboard_ui_model(d->ui);

	d->config.profiler.stop(d->config.profiler.arg);
	m->is_profiling = m->wants_no_profile = false;
	dashboard_ui_lend(d->ui, false);
	say(d, why);
}

static void start_profile(struct dashboard *d)
{
	struct model *m = dashboard_ui_model(d->ui);
	struct err e = {0};

	m->is_profiling = d->config.profiler.start(d->config.profiler.arg, m->wanted_pid, &e) == 0;
	m->profiled_pid = m->wanted_pid;
	m->wanted_pid = 0;
	m->wants_no_profile = false;
	if (!m->is_profiling)
		say(d, e.msg);
}

static void show_profile(struct dashboard *d)
{
	struct err e = {0};

	dashboard_ui_lend(d->ui, true);
	if (d->config.profiler.show(d->config.profiler.arg, &e))
		end_profile(d, e.msg);
}

static void follow_profile(struct dashboard *d)
{
	struct model *m = dashboard_ui_model(d->ui);
	struct err e = {0};
	char text[MODEL_NOTE_BYTES];
	unsigned left_s;

	if (m->wanted_pid && d->config.profiler.start)
		start_profile(d);
	if (!m->is_profiling)
		return;
	if (m->wants_no_profile) {
		end_profile(d, "the profile was stopped");
		return;
	}
	switch (d->config.profiler.step(d->config.profiler.arg, &left_s, &e)) {
	case DASHBOARD_PROFILE_RECORDING:
		snprintf(text, sizeof(text), "profiling process %u: %u s left  Esc stops it",
			 m->profiled_pid, left_s);
		if (!*m->message || strncmp(m->message, "profiling ", 10) == 0)
			say(d, text);
		break;
	case DASHBOARD_PROFILE_READY:
		show_profile(d);
		break;
	case DASHBOARD_PROFILE_SHOWN:
		break;
	case DASHBOARD_PROFILE_ENDED:
		end_profile(d, e.msg);
		break;
	}
}

static void *draw(void *arg)
{
	struct dashboard *d = arg;
	uint64_t woken;

	while (!atomic_load(&d->is_closing)) {
		bool was_gone = dashboard_ui_is_gone(d->ui);

		/* after a timeout of close nobody can be asked any more */
		int wait_ms = dashboard_ui_model(d->ui)->is_profiling ? PROFILE_MS : -1;

		if (dashboard_ui_turn(d->ui, d->wake_fd, wait_ms) && !atomic_load(&d->is_closing)) {
			dashboard_ui_end(d->ui);
			d->config.quit(d->config.arg);
		}
		follow_profile(d);
		if (sys()->read(d->wake_fd, &woken, sizeof(woken)) < 0 && was_gone)
			continue;
		update_model(d);
	}
	if (dashboard_ui_model(d->ui)->is_profiling)
		end_profile(d, "");
	d->is_restored = dashboard_ui_close(d->ui, CLOSE_MS);
	return NULL;
}

/* --- beginning and end -------------------------------------------------------------------------
 */

static void free_dashboard(struct dashboard *d)
{
	for (size_t i = 0; i < d->nr_queued; i++)
		table_free(d->queued[i]);
	for (size_t i = 0; i < d->nr_idle; i++)
		table_free(d->idle[i]);
	io_close(&d->wake_fd);
	pthread_mutex_destroy(&d->lock);
	mem_free(d);
}

static int start_thread(struct dashboard *d)
{
	for (; d->nr_idle < NR_TABLES; d->nr_idle++) {
		d->idle[d->nr_idle] = model_new_table(dashboard_ui_model(d->ui));
		if (!d->idle[d->nr_idle])
			return -ENOMEM;
	}
	d->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (d->wake_fd < 0)
		return -errno;
	return thread_start_blocked(&d->thread, draw, d);
}

int dashboard_start(const struct dashboard_config *config, struct dashboard **out, struct err *e)
{
	const struct dashboard_ui_config ui = {.fd = config->fd, .facts = config->facts};
	struct dashboard *d = mem_zalloc(sizeof(*d));
	int rc;

	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	d->config = *config;
	d->wake_fd = -1;
	pthread_mutex_init(&d->lock, NULL);
	dashboard_ui_block(NULL, &d->old_mask);
	rc = dashboard_ui_open(&ui, &d->ui, e);
	if (rc == 0) {
		rc = start_thread(d);
		if (rc) {
			(void)dashboard_ui_close(d->ui, 0);
			err_set(e, rc, "the dashboard: %s", strerror(-rc));
		}
	}
	if (rc == 0) {
		*out = d;
		return 0;
	}
	pthread_sigmask(SIG_SETMASK, &d->old_mask, NULL);
	free_dashboard(d);
	return rc;
}

/* A thread that is blocked by its terminal is abandoned, with its memory. */
int dashboard_stop(struct dashboard *d)
{
	struct timespec until;
	bool is_restored;
	sigset_t old;

	if (!d)
		return 0;
	old = d->old_mask;
	atomic_store(&d->is_closing, true);
	wake(d);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += JOIN_S;
	if (pthread_timedjoin_np(d->thread, NULL, &until)) {
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		return -EBUSY;
	}
	is_restored = d->is_restored;
	free_dashboard(d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return is_restored ? 0 : -ETIMEDOUT;
}
