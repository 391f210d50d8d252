/*
 * What cpuperf_print prints of a session at its end.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/log.h"
#include "program.h"
#include "recorder.h"
#include "session/session.h"

#include <string.h>
#include <unistd.h>

enum { MAX_AFTER_BYTES = 256 << 10 };

static bool has_calls(const struct recorder *r)
{
	const struct plan *p = r->plan;

	return ARRAY_ANY(ev, p->events, p->nr_events, ev->id >> 11 == EVENT_GROUP_FUNCTION);
}

/* It takes some ms, and nothing is measured any more. */
static void release(void *arg)
{
	session_release(((struct recorder *)arg)->session);
}

void recorder_answer(struct recorder *r)
{
	bool has_target = r->command || r->attached;
	BUF_AUTO(after, MAX_AFTER_BYTES);
	struct answer a = {.session = session_manifest(r->session),
			   .folder = r->folder,
			   .why = r->why_moved,
			   .is_last = !r->folder || (r->why_moved && r->is_last),
			   .format = r->options->output_format,
			   .fd = has_target && !r->options->output_file ? STDERR_FILENO
									: r->results_fd,
			   .has_samples = spec_has_samples(r->plan->spec),
			   .has_calls = has_calls(r),
			   .is_saved = !r->options->held,
			   .full = r->options->full,
			   .meanwhile = release,
			   .arg = r};

	if (!*a.session || r->options->is_silent)
		return;
	if (r->goes_on)
		buf_addc(&after, '\n');
	recorder_add_ways(r, 0, &after);
	a.after = buf_str(&after);
	r->is_answer_whole = print_answer(&a);
	r->is_answer_lost = !r->is_answer_whole && r->options->output_file;
	if (r->is_answer_lost)
		log_error("%s: the answer is not written", r->options->output_file);
}

/*
 * They are for a person who waits at a terminal: not for services and other programs, nor where
 * less is asked for (--quiet, --live). A flight recorder's snapshots are reported where they are
 * written. After the screen of functions (--top) they are printed, too: it is gone by then.
 */
bool recorder_shows_functions(const struct recorder *r)
{
	const struct options *o = r->options;

	return !r->is_answered && !o->live && !o->part && !o->is_silent && !o->control &&
	       !o->output_file && o->std.min_level <= LOG_INFO && r->format->is_for_people &&
	       (r->plan->is_sampling || has_calls(r)) && !r->plan->spec->flight.span_ns &&
	       session_nr_done(r->session) && *session_manifest(r->session) &&
	       isatty(r->results_fd);
}

void recorder_print_functions(struct recorder *r, const char *summary)
{
	BUF_AUTO(after, MAX_AFTER_BYTES);
	struct answer a = {.session = session_manifest(r->session),
			   .format = r->options->output_format,
			   .report = has_calls(r) ? "functions" : "flat",
			   .fd = r->results_fd};

	buf_printf(&after, "%scpuperf: session ended; saved in %s\n", summary, a.session);
	a.after = buf_str(&after);
	(void)print_answer(&a); /* which says what is wrong */
}
