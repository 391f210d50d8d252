/*
 * The status line on stderr.
 */
#include "status.h"

#include "base/buf.h"
#include "output.h"
#include "session/session.h"

#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_LINE_BYTES = 256, DEFAULT_WIDTH = 80, NS_PER_S = 1000000000 };

#define ERASE "\r\033[K"

void status_init(struct status *s, struct output *out, bool is_wanted)
{
	*s = (struct status){.out = out, .is_wanted = is_wanted && isatty(STDERR_FILENO)};
}

/* Columns of the terminal but one: a line that fills the last may wrap. */
static size_t room(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return DEFAULT_WIDTH - 1;
	return size.ws_col - 1u;
}

static void add_line(struct buf *out, const struct status *s, const struct session_progress *p)
{
	uint64_t tenths = (uint64_t)((unsigned __int128)p->bytes_written * 10 >> 20);
	uint64_t samples = p->samples - s->samples, ns = p->elapsed_ns - s->elapsed_ns;

	buf_u64_commas(out, ns ? (uint64_t)((unsigned __int128)samples * NS_PER_S / ns) : 0);
	buf_adds(out, " samples/s, ");
	buf_u64_commas(out, p->lost);
	buf_adds(out, " lost, ");
	buf_u64_commas(out, tenths / 10);
	buf_addc(out, '.');
	buf_u64(out, tenths % 10);
	buf_adds(out, " MiB written");
	if (p->left_ns == UINT64_MAX)
		return;
	buf_adds(out, ", ");
	buf_u64_commas(out, p->left_ns / NS_PER_S + (p->left_ns % NS_PER_S != 0));
	buf_adds(out, " s left");
}

void status_show(struct status *s, const struct session_progress *p)
{
	struct buf line, out;

	if (!s->is_wanted)
		return;
	buf_init(&line, MAX_LINE_BYTES);
	buf_init(&out, MAX_LINE_BYTES);
	add_line(&line, s, p);
	buf_adds(&out, ERASE);
	buf_add(&out, buf_str(&line), line.len < room() ? line.len : room());
	s->samples = p->samples;
	s->elapsed_ns = p->elapsed_ns;
	if (!output_is_behind(s->out)) /* else it would be outdated when it is written */
		s->is_shown = output_status(s->out, buf_str(&out), out.len);
	buf_fini(&line);
	buf_fini(&out);
}

void status_erase(struct status *s)
{
	if (s->is_shown)
		(void)output_status(s->out, ERASE, sizeof(ERASE) - 1);
	s->is_shown = false;
}
