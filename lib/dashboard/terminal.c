/*
 * A terminal that shows a canvas, through ncurses. ncurses writes into a file in memory, never to
 * the terminal: its writes would block on a terminal that accepts no output (^S, a stalled
 * connection). For the same reason the terminal's modes are set here.
 */
#include "dashboard/terminal.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "dashboard/canvas.h"
#include "dashboard/key.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <ncurses.h>
#include <term.h>

enum {
	MAX_PENDING_BYTES = 16 << 20,
	PIECE_BYTES = 256, /* a writable terminal accepts this much at once */
	MAX_LEAVE_BYTES = 256,
	DEFAULT_WIDTH = 80,
	DEFAULT_HEIGHT = 24,
	ESCAPE_MS = 25,
};

struct terminal {
	int fd;                /* owned; the terminal, read-write */
	bool is_blocking;      /* reopening failed: the description is shared */
	FILE *memory, *keys;   /* owned; ncurses writes to one and reads from the other */
	SCREEN *screen;        /* owned */
	struct termios before; /* the original modes */
	bool is_entered, is_utf8;
	unsigned width, height;
	struct canvas shown;
	bool wants_all;
	attr_t attrs[CANVAS_NR_STYLES];
	struct buf pending; /* unsent bytes begin at sent */
	size_t sent;
	uint64_t nr_bytes;
};

/* For terminal_restore. */
static struct {
	volatile sig_atomic_t is_set;
	int fd;
	struct termios before;
	char text[MAX_LEAVE_BYTES];
	size_t len;
} emergency;

/* Signals without a handler: ncurses would install its own, which end or stop the process. */
static const int default_signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
enum { NR_DEFAULT_SIGNALS = sizeof(default_signals) / sizeof(default_signals[0]) };

/* --- from ncurses to the terminal ----------------------------------------------------------------
 */

static void collect_output(struct terminal *t)
{
	int fd = fileno(t->memory);
	off_t len = lseek(fd, 0, SEEK_CUR);
	char *to;

	if (t->sent == t->pending.len) {
		buf_reset(&t->pending);
		t->sent = 0;
	}
	to = len > 0 ? buf_reserve(&t->pending, (size_t)len) : NULL;
	if (to && sys()->pread(fd, to, (size_t)len, 0) == len)
		buf_use(&t->pending, (size_t)len);
	else if (len > 0) /* the screen is not what was drawn */
		t->wants_all = true;
	(void)lseek(fd, 0, SEEK_SET); /* the memory behind is reused */
}

bool terminal_is_behind(const struct terminal *t)
{
	return t->sent < t->pending.len;
}

static bool can_write(const struct terminal *t, int wait_ms)
{
	struct pollfd p = {.fd = t->fd, .events = POLLOUT};

	return poll(&p, 1, wait_ms) == 1 && p.revents;
}

int terminal_flush(struct terminal *t)
{
	while (terminal_is_behind(t)) {
		size_t left = t->pending.len - t->sent;
		ssize_t n;

		if (t->is_blocking && !can_write(t, 0))
			return 0;
		n = sys()->write(t->fd, t->pending.data + t->sent,
				 t->is_blocking && left > PIECE_BYTES ? PIECE_BYTES : left);
		if (n == -EAGAIN || n == 0)
			return 0;
		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		t->sent += (size_t)n;
		t->nr_bytes += (uint64_t)n;
	}
	return 0;
}

uint64_t terminal_nr_bytes(const struct terminal *t)
{
	return t->nr_bytes;
}

/* Writes until all is sent or the terminal is gone; false on timeout. */
static bool drain(struct terminal *t, unsigned wait_ms)
{
	while (terminal_flush(t) == 0 && terminal_is_behind(t))
		if (!can_write(t, (int)wait_ms))
			return false;
	return true;
}

/* --- modes ----------------------------------------------------------------------------------- */

/* Works from the background too, where SIGTTOU would stop the process. */
static int set_mode(int fd, const struct termios *mode)
{
	sigset_t set, old;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	rc = tcsetattr(fd, TCSANOW, mode);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/* No echo, no line editing. ^C, ^Z, ^S and ^Q work as ever; ^\ is off because it would end the
 * process without restoring the terminal. */
static int set_keys(const struct terminal *t)
{
	struct termios mode = t->before;

	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL);
	mode.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	mode.c_cc[VQUIT] = _POSIX_VDISABLE;
	return set_mode(t->fd, &mode);
}

static void add_text(const char *text)
{
	size_t len = strlen(text);

	if (len > sizeof(emergency.text) - emergency.len)
		return;
	memcpy(emergency.text + emergency.len, text, len);
	emergency.len += len;
}

static void add_leave(const char *name)
{
	const char *text = tigetstr(name);

	if (text && text != (const char *)-1 && !strstr(text, "$<"))
		add_text(text);
}

static void prepare_restore(const struct terminal *t)
{
	emergency.fd = t->fd;
	emergency.before = t->before;
	emergency.len = 0;
	add_leave("sgr0");
	add_leave("rmkx");
	add_leave("cnorm");
	if (key_mouse)
		add_text("\033[?1000l\033[?1006l");
	add_leave("rmcup");
}

void terminal_restore(void)
{
	if (!emergency.is_set)
		return;
	emergency.is_set = 0;
	(void)!write(emergency.fd, emergency.text, emergency.len);
	(void)tcsetattr(emergency.fd, TCSANOW, &emergency.before);
}

/* --- opening --------------------------------------------------------------------------------- */

/* Reopened, so that O_NONBLOCK is not shared with the parent shell. */
static int open_tty(struct terminal *t, int fd)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	t->fd = sys()->openat(AT_FDCWD, name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (t->fd >= 0)
		return 0;
	t->is_blocking = true;
	t->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return t->fd < 0 ? -errno : 0;
}

/* Closes fd on failure; fd -1: NULL. */
static FILE *open_stream(int fd, const char *mode)
{
	FILE *file = fd < 0 ? NULL : fdopen(fd, mode);

	if (!file)
		io_close(&fd);
	return file;
}

static SCREEN *new_screen(FILE *memory, FILE *keys)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old[NR_DEFAULT_SIGNALS];
	SCREEN *screen;

	use_env(FALSE);
	for (size_t i = 0; i < NR_DEFAULT_SIGNALS; i++)
		sigaction(default_signals[i], &ignore, &old[i]);
	screen = newterm(NULL, memory, keys);
	if (!screen) { /* some types report no size (linux) */
		use_env(TRUE);
		screen = newterm(NULL, memory, keys);
	}
	for (size_t i = 0; i < NR_DEFAULT_SIGNALS; i++)
		sigaction(default_signals[i], &old[i], NULL);
	return screen;
}

/* Colours with 256, with 8, and attributes without colour. -1: the terminal's default. */
static const struct look {
	short many, few;
	attr_t attr, mono;
} looks[CANVAS_NR_STYLES] = {
    [CANVAS_PLAIN] = {-1, -1, A_NORMAL, A_NORMAL},
    [CANVAS_DIM] = {244, -1, A_NORMAL, A_DIM},
    [CANVAS_BOLD] = {-1, -1, A_BOLD, A_BOLD},
    [CANVAS_BAR] = {-1, -1, A_REVERSE, A_REVERSE},
    [CANVAS_TITLE] = {-1, -1, A_BOLD, A_BOLD},
    [CANVAS_GOOD] = {77, COLOR_GREEN, A_NORMAL, A_NORMAL},
    [CANVAS_WARN] = {220, COLOR_YELLOW, A_BOLD, A_UNDERLINE},
    [CANVAS_BAD] = {203, COLOR_RED, A_BOLD, A_BOLD | A_UNDERLINE},
    [CANVAS_CHART] = {75, COLOR_CYAN, A_NORMAL, A_NORMAL},
    [CANVAS_HEAT] = {246, -1, A_NORMAL, A_DIM},
    [CANVAS_HEAT + 1] = {110, COLOR_CYAN, A_NORMAL, A_NORMAL},
    [CANVAS_HEAT + 2] = {79, COLOR_GREEN, A_NORMAL, A_NORMAL},
    [CANVAS_HEAT + 3] = {186, COLOR_YELLOW, A_NORMAL, A_NORMAL},
    [CANVAS_HEAT + 4] = {215, COLOR_YELLOW, A_BOLD, A_BOLD},
};

static void set_looks(struct terminal *t)
{
	const char *no_color = getenv("NO_COLOR"); /* any non-empty value: no-color.org */
	bool has_color = (!no_color || !*no_color) && has_colors() && start_color() == OK;
	bool has_own = has_color && use_default_colors() == OK;

	for (unsigned i = 0; i < CANVAS_NR_STYLES; i++) {
		const struct look *l = &looks[i];
		short color = COLORS >= 256 ? l->many : l->few, pair = (short)(i + 1);

		t->attrs[i] = has_color ? l->attr : l->mono;
		if (!has_color || color < 0)
			continue;
		init_pair(pair, color, has_own ? -1 : COLOR_BLACK);
		t->attrs[i] |= (attr_t)COLOR_PAIR(pair);
	}
}

static int start_screen(struct terminal *t, struct err *e)
{
	const char *type = getenv("TERM"), *move;

	t->memory = open_stream(memfd_create("cpuperf screen", MFD_CLOEXEC), "w");
	t->keys = open_stream(fcntl(t->fd, F_DUPFD_CLOEXEC, 3), "r");
	if (!t->memory || !t->keys)
		return err_set(e, -ENOMEM, "the terminal cannot be opened: %s", strerror(errno));
	t->screen = type && *type ? new_screen(t->memory, t->keys) : NULL;
	move = t->screen ? tigetstr("cup") : NULL;
	if (!move || move == (const char *)-1) {
		err_set(e, -ENOTTY, "the terminal (TERM=%s) cannot show a full screen",
			type ? type : "");
		err_hint(e, "set TERM correctly, or omit --live");
		return -ENOTTY;
	}
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	typeahead(-1);
	set_escdelay(ESCAPE_MS);
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	(void)curs_set(0);
	set_looks(t);
	return 0;
}

static void ask_size(struct terminal *t)
{
	struct winsize size;

	if (ioctl(t->fd, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		size = (struct winsize){.ws_col = DEFAULT_WIDTH, .ws_row = DEFAULT_HEIGHT};
	t->width = size.ws_col < CANVAS_MAX_WIDTH ? size.ws_col : CANVAS_MAX_WIDTH;
	t->height = size.ws_row < CANVAS_MAX_HEIGHT ? size.ws_row : CANVAS_MAX_HEIGHT;
}

static void free_terminal(struct terminal *t)
{
	emergency.is_set = 0;
	if (t->screen)
		delscreen(t->screen);
	if (t->memory)
		fclose(t->memory);
	if (t->keys)
		fclose(t->keys);
	io_close(&t->fd);
	canvas_fini(&t->shown);
	buf_fini(&t->pending);
	mem_free(t);
}

/* For other characters than those of UTF-8 the C library loads modules of this machine, which the
 * static programs must not (linked/linked.c). */
static bool may_set_locale(void)
{
#ifdef CPUPERF_STATIC
	const char *name = getenv("LC_ALL");

	name = name && *name ? name : getenv("LC_CTYPE");
	name = name && *name ? name : getenv("LANG");
	return name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8"));
#else
	return true;
#endif
}

static int open_all(struct terminal *t, int fd, struct err *e)
{
	int rc = isatty(fd) ? open_tty(t, fd) : -ENOTTY;

	if (rc || tcgetattr(t->fd, &t->before))
		return err_set(e, rc ? rc : -errno, "not a terminal: %s",
			       strerror(rc ? -rc : errno));
	if (may_set_locale())
		setlocale(LC_CTYPE, "");
	t->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	rc = start_screen(t, e);
	if (rc)
		return rc;
	ask_size(t);
	resizeterm((int)t->height, (int)t->width);
	prepare_restore(t);
	return canvas_init(&t->shown, t->width, t->height, t->is_utf8);
}

int terminal_open(int fd, struct terminal **out, struct err *e)
{
	struct terminal *t = mem_zalloc(sizeof(*t));
	int rc;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->fd = -1;
	buf_init(&t->pending, MAX_PENDING_BYTES);
	rc = open_all(t, fd, e);
	if (rc) {
		free_terminal(t);
		return rc;
	}
	if (terminal_enter(t)) {
		*out = t;
		return 0;
	}
	free_terminal(t);
	return err_set(e, -EAGAIN, "cpuperf runs in the background");
}

bool terminal_close(struct terminal *t, unsigned wait_ms)
{
	bool is_restored = !t || terminal_leave(t, wait_ms);

	if (t)
		free_terminal(t);
	return is_restored;
}

/* --- taking and restoring ------------------------------------------------------------------------
 */

bool terminal_is_entered(const struct terminal *t)
{
	return t->is_entered;
}

bool terminal_enter(struct terminal *t)
{
	pid_t foreground = tcgetpgrp(t->fd);

	/* -1: not our controlling terminal */
	if (t->is_entered || (foreground >= 0 && foreground != getpgrp()))
		return t->is_entered;
	if (set_keys(t))
		return false;
	emergency.is_set = 1;
	t->is_entered = true;
	terminal_resize(t);
	terminal_redraw(t);
	return true;
}

bool terminal_leave(struct terminal *t, unsigned wait_ms)
{
	struct termios mode = t->before;
	bool is_restored;

	if (!t->is_entered)
		return true;
	endwin();
	collect_output(t);
	is_restored = drain(t, wait_ms);
	if (!is_restored) {
		/* even a terminal held by ^S: clearing IXON releases it (drivers/tty/n_tty.c,
		 * n_tty_set_termios) */
		mode.c_iflag &= ~(tcflag_t)IXON;
		(void)set_mode(t->fd, &mode);
		is_restored = drain(t, wait_ms);
	}
	(void)set_mode(t->fd, &t->before);
	t->is_entered = false;
	emergency.is_set = 0;
	return is_restored;
}

bool terminal_is_utf8(const struct terminal *t)
{
	return t->is_utf8;
}

void terminal_size(const struct terminal *t, unsigned *width, unsigned *height)
{
	*width = t->width;
	*height = t->height;
}

void terminal_resize(struct terminal *t)
{
	unsigned width = t->width, height = t->height;
	struct canvas shown;

	ask_size(t);
	if (t->width == width && t->height == height)
		return;
	if (canvas_init(&shown, t->width, t->height, t->is_utf8)) { /* out of memory: unchanged */
		t->width = width;
		t->height = height;
		return;
	}
	canvas_fini(&t->shown);
	t->shown = shown;
	resizeterm((int)t->height, (int)t->width);
	terminal_redraw(t);
}

int terminal_fd(const struct terminal *t)
{
	return t->fd;
}

/* --- drawing --------------------------------------------------------------------------------- */

void terminal_redraw(struct terminal *t)
{
	t->wants_all = true;
}

static attr_t attr_of(const struct terminal *t, uint8_t style)
{
	attr_t attr = t->attrs[(style & ~CANVAS_SELECTED) % CANVAS_NR_STYLES];

	return attr ^ (style & CANVAS_SELECTED ? A_REVERSE : 0);
}

static bool is_ascii(const struct canvas_cell *cell)
{
	return *cell->text && (uint8_t)*cell->text < 0x80;
}

/* Blanks look the same in these styles: keep the previous one, which saves two changes of style. */
static bool is_flat(attr_t attr)
{
	return !(attr & (A_REVERSE | A_UNDERLINE));
}

/* Counts ASCII characters from x up to end, of any style. */
static unsigned draw_ascii(const struct terminal *t, const struct canvas_cell *line, unsigned x,
			   unsigned y, unsigned end)
{
	chtype text[CANVAS_MAX_WIDTH];
	attr_t before = A_NORMAL;
	unsigned i = x;

	for (; i < end && is_ascii(&line[i]); i++) {
		attr_t attr = attr_of(t, line[i].style);

		if (*line[i].text == ' ' && is_flat(attr) && is_flat(before))
			attr = before;
		text[i - x] = (chtype)(uint8_t)*line[i].text | attr;
		before = attr;
	}
	(void)mvaddchnstr((int)y, (int)x, text, (int)(i - x));
	return i - x;
}

/* Counts other characters of one style from x on. */
static unsigned draw_run(const struct terminal *t, const struct canvas_cell *line, unsigned x,
			 unsigned y, unsigned end)
{
	char text[CANVAS_MAX_WIDTH * 4];
	uint8_t style = line[x].style;
	size_t len = 0;
	unsigned i = x;

	for (; i < end && line[i].style == style && !is_ascii(&line[i]); i++) {
		size_t n = strlen(line[i].text);

		memcpy(text + len, line[i].text, n);
		len += n;
	}
	(void)attrset((int)attr_of(t, style));
	(void)mvaddnstr((int)y, (int)x, text, (int)len);
	return i - x;
}

/* Draws from the first changed cell to the last; wide characters stay whole. */
static void draw_line(struct terminal *t, const struct canvas *c, unsigned y)
{
	const struct canvas_cell *new = &c->cells[(size_t)y * c->width];
	struct canvas_cell *old = &t->shown.cells[(size_t)y * c->width];
	unsigned x = 0, end = c->width;

	if (!t->wants_all) {
		if (memcmp(new, old, c->width * sizeof(*new)) == 0)
			return;
		while (x < end && memcmp(&new[x], &old[x], sizeof(*new)) == 0)
			x++;
		while (end > x && memcmp(&new[end - 1], &old[end - 1], sizeof(*new)) == 0)
			end--;
		while (x && (!*new[x].text || !*old[x].text))
			x--;
	}
	while (x < end)
		x +=
		    is_ascii(&new[x]) ? draw_ascii(t, new, x, y, end) : draw_run(t, new, x, y, end);
	memcpy(old, new, c->width * sizeof(*new));
}

void terminal_draw(struct terminal *t, const struct canvas *c)
{
	if (!t->is_entered || c->width != t->width || c->height != t->height)
		return;
	if (t->wants_all)
		(void)clearok(curscr, TRUE);
	for (unsigned y = 0; y < c->height; y++)
		draw_line(t, c, y);
	t->wants_all = false;
	(void)wnoutrefresh(stdscr);
	(void)doupdate();
	collect_output(t);
}

/* --- keys ------------------------------------------------------------------------------------ */

static const struct {
	int theirs, ours;
} keys[] = {
    {KEY_UP, KEY_CODE_UP},
    {KEY_DOWN, KEY_CODE_DOWN},
    {KEY_LEFT, KEY_CODE_LEFT},
    {KEY_RIGHT, KEY_CODE_RIGHT},
    {KEY_PPAGE, KEY_CODE_PAGE_UP},
    {KEY_NPAGE, KEY_CODE_PAGE_DOWN},
    {KEY_HOME, KEY_CODE_HOME},
    {KEY_END, KEY_CODE_END},
    {KEY_F(1), '?'},
    {KEY_RESIZE, KEY_CODE_NONE},
    {KEY_ENTER, '\r'},
    {KEY_BACKSPACE, KEY_CODE_BACKSPACE},
};

static void decode_mouse(struct key *out)
{
	MEVENT m;

	if (getmouse(&m) != OK)
		return;
	out->x = m.x > 0 ? (unsigned)m.x : 0;
	out->y = m.y > 0 ? (unsigned)m.y : 0;
	if (m.bstate & BUTTON4_PRESSED)
		out->code = KEY_CODE_WHEEL_UP;
	else if (m.bstate & BUTTON5_PRESSED)
		out->code = KEY_CODE_WHEEL_DOWN;
	else if (m.bstate & BUTTON1_PRESSED)
		out->code = KEY_CODE_CLICK;
}

int terminal_key(struct terminal *t, struct key *out)
{
	int code = t->is_entered ? getch() : ERR;
	struct pollfd p = {.fd = t->fd, .events = POLLIN};

	if (code == ERR) /* nothing was typed, or the terminal is gone */
		return poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR | POLLNVAL) ? -EIO : 0;
	*out = (struct key){.code = code < 128 ? code : KEY_CODE_NONE};
	if (code == KEY_MOUSE)
		decode_mouse(out);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].theirs == code)
			out->code = keys[i].ours;
	return 1;
}

/* --- lent to another process ------------------------------------------------------------------ */

void terminal_lend(int fd, struct terminal_lent *out)
{
	out->fd = fd;
	out->has_mode = tcgetattr(fd, &out->mode) == 0;
}

void terminal_take_back(const struct terminal_lent *lent)
{
	static const char leave[] = "\033[?1000l\033[?1006l\033[?1049l\033[?25h\033[0m\r";

	if (lent->has_mode)
		(void)set_mode(lent->fd, &lent->mode);
	(void)io_write_full(lent->fd, leave, sizeof(leave) - 1);
}
