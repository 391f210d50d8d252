/*
 * The dashboard on a terminal.
 */
#include "dashboard/ui.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "dashboard/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_MS = 1000000,
	DRAW_EVERY_MS = 40,    /* at most one screen in this time */
	CLOCK_EVERY_MS = 1000, /* to update the times at the top */
	AWAY_MS = 300,         /* how often to check whether we are in the foreground again */
	LEAVE_MS = 300,
	MAX_SCREEN_BYTES = 4 << 20,
	MAX_SAVED = 100, /* screens per second */
};

struct dashboard_ui {
	struct dashboard_ui_view view;
	struct model model; /* of a tally; else zeroes */
	struct canvas canvas;
	struct terminal *terminal; /* NULL: the terminal is gone */
	struct paint_state state;
	int signal_fd;
	bool is_touched, wants_quit;
	bool is_lent; /* the terminal, to another program */
	uint64_t drawn_ns, nr_drawn, nr_bytes;
};

static const int handled[] = {SIGTSTP, SIGCONT, SIGWINCH, 0};

static void add_signals(sigset_t *set, const int *numbers)
{
	for (; numbers && *numbers; numbers++) {
		struct sigaction action;

		if (sigaction(*numbers, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(set, *numbers);
	}
}

static void signals_of(const int *ends, sigset_t *set)
{
	sigemptyset(set);
	add_signals(set, handled);
	add_signals(set, ends);
}

void dashboard_ui_block(const int *ends, sigset_t *old)
{
	sigset_t set;

	signals_of(ends, &set);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

static bool enter(struct dashboard_ui *s)
{
	return !s->is_lent && terminal_enter(s->terminal);
}

static void paint_tally(void *arg, const struct paint_state *s, struct canvas *c)
{
	paint(arg, s, c);
}

static enum model_action key_of_tally(void *arg, const struct key *key)
{
	return model_key(arg, key);
}

static int open_tally(struct dashboard_ui *s, const struct model_facts *facts)
{
	s->view = (struct dashboard_ui_view){.paint = paint_tally,
					     .key = key_of_tally,
					     .message = s->model.message,
					     .arg = &s->model};
	return model_init(&s->model, facts);
}

static int fit_canvas(struct dashboard_ui *s)
{
	unsigned width, height;
	struct canvas canvas;

	terminal_size(s->terminal, &width, &height);
	if (s->canvas.cells && s->canvas.width == width && s->canvas.height == height)
		return 0;
	if (canvas_init(&canvas, width, height, terminal_is_utf8(s->terminal)))
		return -ENOMEM;
	canvas_fini(&s->canvas);
	s->canvas = canvas;
	return 0;
}

static int open_all(struct dashboard_ui *s, const struct dashboard_ui_config *config, struct err *e)
{
	sigset_t set;
	int rc;

	signals_of(config->ends, &set);
	s->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->signal_fd < 0)
		return err_set(e, -errno, "signals: %s", strerror(errno));
	if (config->view)
		s->view = *config->view;
	rc = config->view ? 0 : open_tally(s, config->facts);
	if (rc)
		return err_set(e, rc, "the dashboard: %s", strerror(-rc));
	rc = terminal_open(config->fd, &s->terminal, e);
	if (rc == 0 && fit_canvas(s))
		rc = err_set(e, -ENOMEM, "out of memory");
	return rc;
}

int dashboard_ui_open(const struct dashboard_ui_config *config, struct dashboard_ui **out,
		      struct err *e)
{
	struct dashboard_ui *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->signal_fd = -1;
	s->is_touched = true;
	rc = open_all(s, config, e);
	if (rc)
		(void)dashboard_ui_close(s, 0);
	else
		*out = s;
	return rc;
}

bool dashboard_ui_close(struct dashboard_ui *s, unsigned wait_ms)
{
	bool is_restored;

	if (!s)
		return true;
	is_restored = terminal_close(s->terminal, wait_ms);
	if (s->view.arg == &s->model)
		model_fini(&s->model);
	canvas_fini(&s->canvas);
	io_close(&s->signal_fd);
	mem_free(s);
	return is_restored;
}

struct model *dashboard_ui_model(struct dashboard_ui *s)
{
	return &s->model;
}

void dashboard_ui_lend(struct dashboard_ui *s, bool is_lent)
{
	if (s->is_lent == is_lent)
		return;
	s->is_lent = is_lent;
	s->is_touched = true;
	if (s->terminal && is_lent)
		(void)terminal_leave(s->terminal, LEAVE_MS);
	else if (s->terminal)
		enter(s);
}

void dashboard_ui_redraw(struct dashboard_ui *s)
{
	s->is_touched = true;
}

void dashboard_ui_set_read(struct dashboard_ui *s, uint64_t nr)
{
	s->state.nr_read = nr;
}

void dashboard_ui_end(struct dashboard_ui *s)
{
	s->state.is_ended = true;
	s->is_touched = true;
}

bool dashboard_ui_is_gone(const struct dashboard_ui *s)
{
	return !s->terminal;
}

uint64_t dashboard_ui_nr_bytes(const struct dashboard_ui *s)
{
	return s->terminal ? terminal_nr_bytes(s->terminal) : s->nr_bytes;
}

uint64_t dashboard_ui_nr_drawn(const struct dashboard_ui *s)
{
	return s->nr_drawn;
}

static void lose_terminal(struct dashboard_ui *s)
{
	s->nr_bytes = terminal_nr_bytes(s->terminal);
	(void)terminal_close(s->terminal, 0);
	s->terminal = NULL;
}

/* --- drawing -----------------------------------------------------------------------------------
 */

static uint64_t next_draw_ns(const struct dashboard_ui *s)
{
	return s->drawn_ns + (uint64_t)(s->is_touched ? DRAW_EVERY_MS : CLOCK_EVERY_MS) * NS_PER_MS;
}

static void draw(struct dashboard_ui *s)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!terminal_is_entered(s->terminal) || terminal_is_behind(s->terminal) ||
	    now_ns < next_draw_ns(s) || fit_canvas(s))
		return;
	s->state.now_ns = now_ns;
	s->view.paint(s->view.arg, &s->state, &s->canvas);
	terminal_draw(s->terminal, &s->canvas);
	s->drawn_ns = now_ns;
	s->nr_drawn++;
	s->is_touched = false;
}

/* --- saving a screen ---------------------------------------------------------------------------
 */

/* Creates a new file in the current folder; never overwrites one. */
static int create(char *name, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32];

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	for (unsigned i = 0; i < MAX_SAVED; i++) {
		int fd;

		snprintf(name, size, i ? "cpuperf-%s-%u.txt" : "cpuperf-%s.txt", when, i);
		fd = sys()->openat(AT_FDCWD, name,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd != -EEXIST)
			return fd;
	}
	return -EEXIST;
}

static int write_screen(const struct canvas *c, char *name, size_t size)
{
	int fd = create(name, size), rc;
	BUF_AUTO(text, MAX_SCREEN_BYTES);

	if (fd < 0)
		return fd;
	canvas_text(c, &text);
	rc = buf_error(&text) ?: io_write_full(fd, buf_str(&text), text.len);
	if (sys()->close(fd) && rc == 0)
		rc = -EIO;
	if (rc)
		sys()->unlinkat(AT_FDCWD, name, 0); /* half a screen */
	return rc;
}

static void save(struct dashboard_ui *s)
{
	char name[64], folder[160], *message = s->view.message;
	int rc;

	s->view.paint(s->view.arg, &s->state, &s->canvas);
	rc = write_screen(&s->canvas, name, sizeof(name));
	if (rc)
		snprintf(message, MODEL_NOTE_BYTES, "the screen could not be saved: %s",
			 strerror(-rc));
	else
		snprintf(message, MODEL_NOTE_BYTES, "saved as %s/%s",
			 getcwd(folder, sizeof(folder)) ? folder : ".", name);
}

/* --- keys and signals --------------------------------------------------------------------------
 */

static void read_keys(struct dashboard_ui *s)
{
	struct key key;
	int rc;

	while ((rc = terminal_key(s->terminal, &key)) == 1) {
		enum model_action action = s->view.key(s->view.arg, &key);

		if (action == MODEL_QUIT)
			s->wants_quit = true;
		else if (action == MODEL_SAVE)
			save(s);
		else if (action == MODEL_REDRAW)
			terminal_redraw(s->terminal);
		s->is_touched = true;
	}
	if (rc < 0)
		lose_terminal(s);
}

/* Stops the whole process, as the default action would. */
static void suspend(struct dashboard_ui *s)
{
	sigset_t set, old;

	if (s->terminal)
		(void)terminal_leave(s->terminal, LEAVE_MS);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	(void)kill(getpid(), SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &set, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void read_signals(struct dashboard_ui *s)
{
	struct signalfd_siginfo info;

	while (sys()->read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			suspend(s);
		else if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGCONT)
			s->wants_quit = true;
	}
	if (!s->terminal)
		return;
	(void)enter(s);
	terminal_resize(s->terminal);
	s->is_touched = true;
}

/* --- one turn ----------------------------------------------------------------------------------
 */

static int wait_for(const struct dashboard_ui *s, int wait_ms)
{
	uint64_t now_ns = clock_monotonic_ns(), due_ns = next_draw_ns(s);
	int due_ms = due_ns > now_ns ? (int)((due_ns - now_ns) / NS_PER_MS) + 1 : 0;

	if (!s->terminal || terminal_is_behind(s->terminal))
		return wait_ms;
	if (!terminal_is_entered(s->terminal))
		due_ms = AWAY_MS;
	return wait_ms >= 0 && wait_ms < due_ms ? wait_ms : due_ms;
}

static bool is_reading(const struct dashboard_ui *s)
{
	return s->terminal && terminal_is_entered(s->terminal);
}

bool dashboard_ui_turn(struct dashboard_ui *s, int wake_fd, int wait_ms)
{
	enum { SIGNAL, WAKE, TERMINAL, NR };
	struct pollfd p[NR] = {[SIGNAL] = {.fd = s->signal_fd, .events = POLLIN},
			       [WAKE] = {.fd = wake_fd, .events = POLLIN},
			       [TERMINAL] = {.fd = -1}};

	if (s->terminal)
		draw(s);
	if (s->terminal && terminal_flush(s->terminal))
		lose_terminal(s);
	if (is_reading(s))
		p[TERMINAL] = (struct pollfd){
		    .fd = terminal_fd(s->terminal),
		    .events = (short)(POLLIN | (terminal_is_behind(s->terminal) ? POLLOUT : 0))};
	if (poll(p, NR, wait_for(s, wait_ms)) < 0)
		return s->wants_quit;
	if (p[SIGNAL].revents)
		read_signals(s);
	else if (s->terminal && !terminal_is_entered(s->terminal) && enter(s))
		s->is_touched = true;
	if (is_reading(s) && p[TERMINAL].revents & ~POLLOUT)
		read_keys(s);
	return s->wants_quit;
}
