/*
 * How a target ended, and how its runs did.
 */
#include "base/buf.h"
#include "numbers.h"
#include "summary/target.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static void put_status(struct buf *out, int status)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

	if (WIFSIGNALED(status))
		buf_printf(out, "killed by signal %d%s%s", WTERMSIG(status), name ? ", SIG" : "",
			   name ? name : "");
	else
		buf_printf(out, "exit status %d", WEXITSTATUS(status));
}

uint64_t summary_target_nr_runs(const struct summary *s)
{
	return s->facts->info ? s->facts->info->num_iterations : s->runs.nr;
}

/* "3 of 5 runs, 1 failed, the first: exit status 7" */
static void put_runs(struct summary *s)
{
	const struct summary_runs *r = &s->runs;

	buf_printf(s->out, "%" PRIu64, r->nr);
	if (summary_target_nr_runs(s) > r->nr)
		buf_printf(s->out, " of %" PRIu64, summary_target_nr_runs(s));
	buf_adds(s->out, " runs, ");
	if (r->nr_failed)
		buf_printf(s->out, "%" PRIu64 " failed, the first: ", r->nr_failed);
	put_status(s->out, (int)r->failed);
	/* a run that is killed is the last one, and in no mean */
	if (WIFSIGNALED(s->target.status))
		buf_printf(s->out, "; %s of the %s before it",
			   r->wall.nr > 1 ? "means ± 95 %" : "numbers",
			   r->wall.nr > 1 ? "runs" : "run");
	else if (r->wall.nr > 1)
		buf_adds(s->out, "; means ± 95 %");
	buf_addc(s->out, '\n');
}

/* A long command line is cut if the answer must be short. */
static void put_text(struct summary *s)
{
	enum { OTHERS = sizeof(": exit status 127") };
	unsigned columns = job_columns(s->j);
	const char *text = s->target.text;
	size_t at = 0;

	if (!s->j->selection->rows || columns <= 2 * OTHERS ||
	    screen_width(text) + OTHERS <= columns) {
		buf_printf(s->out, "%s: ", text);
		return;
	}
	for (unsigned width = 0; text[at] && width + OTHERS < columns; width++)
		while (((unsigned char)text[++at] & 0xc0) == 0x80)
			;
	buf_printf(s->out, "%.*s…: ", (int)at, text);
}

static void put_gap(struct summary *s)
{
	uint64_t nr = s->totals->nr_iterations;

	buf_printf(s->out, "  measured for %s, in %" PRIu64 " iteration%s\n",
		   HUMAN((double)s->totals->measured_ns, "ns"), nr, nr == 1 ? "" : "s");
	buf_printf(s->out, "  not measured for %s before %s\n",
		   HUMAN((double)s->totals->gap_ns, "ns"), nr == 1 ? "it" : "them");
}

void summary_target_put_end(struct summary *s, bool are_runs)
{
	put_text(s);
	if (are_runs) {
		put_runs(s);
		return;
	}
	if (s->target.flags & TRACE_TARGET_IS_EMPTY)
		buf_adds(s->out, "no process entered it");
	else if (!(s->target.flags & TRACE_TARGET_HAS_ENDED))
		buf_adds(s->out, "still running when the measuring ended");
	else if (s->target.flags & TRACE_TARGET_IS_ATTACHED)
		buf_adds(s->out, "ended");
	else
		put_status(s->out, (int)s->target.status);
	buf_addc(s->out, '\n');
	if (s->totals->gap_ns)
		put_gap(s);
}
