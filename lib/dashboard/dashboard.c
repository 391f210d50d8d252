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

enum { NR_TABLES = 4, NR_NOTES = 16, CLOSE_MS = 1000, JOIN_S = 4 };

struct dashboard {
	struct dashboard_config config;
	struct dashboard_ui *ui;
	sigset_t old_mask;
	pthread_t thread;
	int wake_fd;
	atomic_bool is_closing;
	bool is_restored; /* valid when the thread has ended */

	pthread_mutex_t lock; /* guards what follows; held for a few instructions */
	struct table *come[NR_TABLES], *idle[NR_TABLES];
	size_t nr_come, nr_idle;
	char notes[NR_NOTES][MODEL_NOTE_BYTES];
	size_t nr_notes;
	uint64_t nr_missed, nr_notes_missed;
};

static void wake(const struct dashboard *s)
{
	const uint64_t one = 1;

	(void)sys()->write(s->wake_fd, &one, sizeof(one));
}

/* --- the measuring thread ----------------------------------------------------------------------
 */

static struct table *take_oldest(struct dashboard *s)
{
	struct table *t = s->come[0];

	memmove(&s->come[0], &s->come[1], --s->nr_come * sizeof(s->come[0]));
	return t;
}

/* Two tables besides the one that the drawing thread holds, so that one is always free. */
static struct table *take_idle(struct dashboard *s)
{
	struct table *t;

	pthread_mutex_lock(&s->lock);
	if (s->nr_idle) {
		t = s->idle[--s->nr_idle];
	} else {
		t = take_oldest(s);
		s->nr_missed++;
	}
	pthread_mutex_unlock(&s->lock);
	return t;
}

void dashboard_iteration(struct dashboard *s, const struct table *t)
{
	struct table *copy = take_idle(s);

	(void)table_copy_events(copy, t);
	pthread_mutex_lock(&s->lock);
	s->come[s->nr_come++] = copy;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

void dashboard_note(struct dashboard *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	if (s->nr_notes < NR_NOTES)
		snprintf(s->notes[s->nr_notes++], MODEL_NOTE_BYTES, "%s", text);
	else
		s->nr_notes_missed++;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

/* --- the drawing thread ------------------------------------------------------------------------
 */

static struct table *take_come(struct dashboard *s)
{
	struct table *t;

	pthread_mutex_lock(&s->lock);
	t = s->nr_come ? take_oldest(s) : NULL;
	pthread_mutex_unlock(&s->lock);
	return t;
}

static void give_idle(struct dashboard *s, struct table *t)
{
	pthread_mutex_lock(&s->lock);
	s->idle[s->nr_idle++] = t;
	pthread_mutex_unlock(&s->lock);
}

static void take_tables(struct dashboard *s)
{
	struct table *t;

	while ((t = take_come(s))) {
		model_add(dashboard_ui_model(s->ui), &t);
		give_idle(s, t);
		dashboard_ui_redraw(s->ui);
	}
}

static void take_notes(struct dashboard *s)
{
	struct model *m = dashboard_ui_model(s->ui);

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->nr_notes; i++)
		model_note(m, s->notes[i]);
	m->nr_notes += s->nr_notes_missed;
	m->nr_missed = s->nr_missed;
	if (s->nr_notes)
		dashboard_ui_redraw(s->ui);
	s->nr_notes = 0;
	s->nr_notes_missed = 0;
	pthread_mutex_unlock(&s->lock);
}

static void *draw(void *arg)
{
	struct dashboard *s = arg;
	uint64_t woken;

	while (!atomic_load(&s->is_closing)) {
		bool was_gone = dashboard_ui_is_gone(s->ui);

		/* after a timeout of close nobody can be asked any more */
		if (dashboard_ui_turn(s->ui, s->wake_fd, -1) && !atomic_load(&s->is_closing)) {
			dashboard_ui_end(s->ui);
			s->config.quit(s->config.arg);
		}
		if (sys()->read(s->wake_fd, &woken, sizeof(woken)) < 0 && was_gone)
			continue;
		take_tables(s);
		take_notes(s);
	}
	s->is_restored = dashboard_ui_close(s->ui, CLOSE_MS);
	return NULL;
}

/* --- beginning and end -------------------------------------------------------------------------
 */

static void free_show(struct dashboard *s)
{
	for (size_t i = 0; i < s->nr_come; i++)
		table_free(s->come[i]);
	for (size_t i = 0; i < s->nr_idle; i++)
		table_free(s->idle[i]);
	io_close(&s->wake_fd);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

static int make_tables(struct dashboard *s)
{
	for (; s->nr_idle < NR_TABLES; s->nr_idle++) {
		s->idle[s->nr_idle] = model_new_table(dashboard_ui_model(s->ui));
		if (!s->idle[s->nr_idle])
			return -ENOMEM;
	}
	s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return s->wake_fd < 0 ? -errno : 0;
}

/* The drawing thread handles no signals. */
static int start_thread(struct dashboard *s)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = thread_start(&s->thread, draw, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int dashboard_start(const struct dashboard_config *config, struct dashboard **out, struct err *e)
{
	const struct dashboard_ui_config ui = {.fd = config->fd, .facts = config->facts};
	struct dashboard *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->config = *config;
	s->wake_fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	dashboard_ui_block(NULL, &s->old_mask);
	rc = dashboard_ui_open(&ui, &s->ui, e);
	if (rc == 0) {
		rc = make_tables(s);
		if (rc == 0)
			rc = start_thread(s);
		if (rc) {
			(void)dashboard_ui_close(s->ui, 0);
			err_set(e, rc, "the dashboard: %s", strerror(-rc));
		}
	}
	if (rc == 0) {
		*out = s;
		return 0;
	}
	pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
	free_show(s);
	return rc;
}

/* A thread that is blocked by its terminal is abandoned, with its memory. */
int dashboard_stop(struct dashboard *s)
{
	struct timespec until;
	bool is_restored;
	sigset_t old;

	if (!s)
		return 0;
	old = s->old_mask;
	atomic_store(&s->is_closing, true);
	wake(s);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += JOIN_S;
	if (pthread_timedjoin_np(s->thread, NULL, &until)) {
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		return -EBUSY;
	}
	is_restored = s->is_restored;
	free_show(s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return is_restored ? 0 : -ETIMEDOUT;
}
