/*
 * The dashboard of a session that is being measured.
 */
#include "dashboard/show.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "dashboard/stage.h"

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

struct show {
	struct show_config config;
	struct stage *stage;
	sigset_t old_mask;
	pthread_t thread;
	int wake_fd;
	atomic_bool is_closing;
	bool is_given_back; /* when the thread has ended */

	pthread_mutex_t lock; /* of what is below; held for some instructions */
	struct table *come[NR_TABLES], *idle[NR_TABLES];
	size_t nr_come, nr_idle;
	char notes[NR_NOTES][MODEL_NOTE_BYTES];
	size_t nr_notes;
	uint64_t nr_missed, nr_notes_missed;
};

static void wake(const struct show *s)
{
	const uint64_t one = 1;

	(void)sys()->write(s->wake_fd, &one, sizeof(one));
}

/* --- the measuring thread ----------------------------------------------------------------------
 */

static struct table *take_oldest(struct show *s)
{
	struct table *t = s->come[0];

	memmove(&s->come[0], &s->come[1], --s->nr_come * sizeof(s->come[0]));
	return t;
}

/* The one in the drawer's hands is none of these, so that there is always another. */
static struct table *take_idle(struct show *s)
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

void show_iteration(struct show *s, const struct table *t)
{
	struct table *copy = take_idle(s);

	(void)table_copy_events(copy, t);
	pthread_mutex_lock(&s->lock);
	s->come[s->nr_come++] = copy;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

void show_note(struct show *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	if (s->nr_notes < NR_NOTES)
		snprintf(s->notes[s->nr_notes++], MODEL_NOTE_BYTES, "%s", text);
	else
		s->nr_notes_missed++;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

/* --- the thread that draws ---------------------------------------------------------------------
 */

static struct table *take_come(struct show *s)
{
	struct table *t;

	pthread_mutex_lock(&s->lock);
	t = s->nr_come ? take_oldest(s) : NULL;
	pthread_mutex_unlock(&s->lock);
	return t;
}

static void give_idle(struct show *s, struct table *t)
{
	pthread_mutex_lock(&s->lock);
	s->idle[s->nr_idle++] = t;
	pthread_mutex_unlock(&s->lock);
}

static void take_tables(struct show *s)
{
	struct table *t;

	while ((t = take_come(s))) {
		model_add(stage_model(s->stage), &t);
		give_idle(s, t);
		stage_touch(s->stage);
	}
}

static void take_notes(struct show *s)
{
	struct model *m = stage_model(s->stage);

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->nr_notes; i++)
		model_note(m, s->notes[i]);
	m->nr_notes += s->nr_notes_missed;
	m->nr_missed = s->nr_missed;
	if (s->nr_notes)
		stage_touch(s->stage);
	s->nr_notes = 0;
	s->nr_notes_missed = 0;
	pthread_mutex_unlock(&s->lock);
}

static void *draw(void *arg)
{
	struct show *s = arg;
	uint64_t woken;

	while (!atomic_load(&s->is_closing)) {
		bool was_gone = stage_is_gone(s->stage);

		/* who was left behind has nobody to ask any more */
		if (stage_turn(s->stage, s->wake_fd, -1) && !atomic_load(&s->is_closing)) {
			stage_end(s->stage);
			s->config.quit(s->config.arg);
		}
		if (sys()->read(s->wake_fd, &woken, sizeof(woken)) < 0 && was_gone)
			continue;
		take_tables(s);
		take_notes(s);
	}
	s->is_given_back = stage_close(s->stage, CLOSE_MS);
	return NULL;
}

/* --- beginning and end -------------------------------------------------------------------------
 */

static void free_show(struct show *s)
{
	for (size_t i = 0; i < s->nr_come; i++)
		table_free(s->come[i]);
	for (size_t i = 0; i < s->nr_idle; i++)
		table_free(s->idle[i]);
	io_close(&s->wake_fd);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

static int make_tables(struct show *s)
{
	for (; s->nr_idle < NR_TABLES; s->nr_idle++) {
		s->idle[s->nr_idle] = model_new_table(stage_model(s->stage));
		if (!s->idle[s->nr_idle])
			return -ENOMEM;
	}
	s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return s->wake_fd < 0 ? -errno : 0;
}

/* No signal is handled in the thread that draws. */
static int start_thread(struct show *s)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&s->thread, NULL, draw, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int show_start(const struct show_config *config, struct show **out, struct err *e)
{
	const struct stage_config stage = {.fd = config->fd, .facts = config->facts};
	struct show *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->config = *config;
	s->wake_fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	stage_block(NULL, &s->old_mask);
	rc = stage_open(&stage, &s->stage, e);
	if (rc == 0) {
		rc = make_tables(s);
		if (rc == 0)
			rc = start_thread(s);
		if (rc) {
			(void)stage_close(s->stage, 0);
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

/* A thread that waits for its terminal is left behind, with what it holds. */
int show_stop(struct show *s)
{
	struct timespec until;
	bool is_given_back;
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
	is_given_back = s->is_given_back;
	free_show(s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return is_given_back ? 0 : -ETIMEDOUT;
}
