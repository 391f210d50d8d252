/*
 * The head of the page: facts of the sessions, and warnings about their numbers.
 */
#include "base/cause.h"
#include "base/err.h"
#include "base/str.h"
#include "counts/lines.h"
#include "exports/lines.h"
#include "numbers.h"
#include "page/page.h"
#include "samples.h"
#include "title.h"
#include "trace/record.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 4096, MAX_SPEC_BYTES = 64 << 10 };

void page_head_add(void *arg, const struct profile_trace *trace)
{
	struct page *h = arg;

	profile_about_add(&h->about, trace);
	h->are_runs |= trace->cause == CAUSE_RUN;
	if (trace->target)
		snprintf(h->command, sizeof(h->command), "%s", trace->target->text);
	if (trace->head.iteration == h->facts->nr_removed + h->nr_iterations &&
	    h->nr_iterations < PAGE_MAX_ITERATIONS && trace->start_ns)
		h->iteration_ns[h->nr_iterations++] =
		    trace->start_ns > h->about.start_ns ? trace->start_ns - h->about.start_ns : 0;
}

/* Refused mappings are a warning only if many samples lie in unknown ones. */
static int kind_of(const char *note, const struct report_stats *s)
{
	bool is_of_mappings =
	    strncmp(note, "not surveyed: mappings of ", 26) == 0 && !strstr(note, "; ");

	return is_of_mappings && s->nr_unmapped <= s->nr_user / 20 ? PAGE_NOTE : PAGE_WARNING;
}

static void note_about(struct page *h, const struct profile_about *about, bool is_in_progress,
		       unsigned side)
{
	const char *note, *whose = side == PAGE_NOW ? "" : "Before: ";

	for (size_t at = 0; (note = profile_about_note(about, &at));)
		page_note(h, kind_of(note, &h->stats[side]), "%s%s", whose, note);
	if (about->is_cut)
		page_note(h, PAGE_WARNING, "%sThe session was %s in iteration %" PRIu32 ".", whose,
			  is_in_progress ? "still" : "stopped", about->cut_iteration);
}

struct whose {
	struct page *page;
	const char *text;
};

static void note_stacks(void *arg, const char *line)
{
	const struct whose *w = arg;

	page_note(w->page, PAGE_WARNING, "%s%c%s.", w->text, toupper((unsigned char)*line),
		  line + 1);
}

static void note_samples(struct page *h, unsigned side, const char *whose)
{
	const struct report_stats *s = &h->stats[side];
	BUF_AUTO(b, LINE_BYTES);

	for (uint32_t i = 0; i < s->nr_events; i++) {
		buf_reset(&b);
		if (s->event[i].counted.samples + s->event[i].omitted.samples &&
		    samples_add_missing(h->j, &b, "", s, i))
			page_note(h, PAGE_WARNING, "%s%s: samples: %s.", whose,
				  job_event(h->j, i)->label, buf_str(&b));
	}
	samples_stack_lines(h->j, s, note_stacks, &(struct whose){h, whose});
}

int page_head_read(struct page *h, struct err *e)
{
	const struct inputs *in = h->j->inputs;
	int rc = 0;

	for (unsigned side = 0; side < h->nr_sides && h->has_samples; side++)
		note_samples(h, side, side == PAGE_NOW ? "" : "Before: ");
	for (size_t i = 0; i < in->nr + in->nr_diff && rc == 0; i++) {
		unsigned side = i < in->nr ? PAGE_NOW : PAGE_BEFORE;
		struct profile_about other;

		if (i == h->j->first) {
			note_about(h, &h->about, in->item[i].facts->is_in_progress, side);
			continue;
		}
		rc = export_about_read(&in->item[i], NULL, NULL, &other, e);
		if (rc == 0)
			note_about(h, &other, in->item[i].facts->is_in_progress, side);
		profile_about_fini(&other);
	}
	return rc;
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_fact(struct page *h, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	JSONW_ARRAY(&h->json, NULL) {
		jsonw_text(&h->json, NULL, name);
		jsonw_text(&h->json, NULL, value);
	}
}

/* Writes the text of b and resets it. */
static void put_built(struct page *h, const char *name, struct buf *b)
{
	put_fact(h, name, buf_str(b));
	buf_reset(b);
}

static void put_event(struct page *h, uint32_t i, struct buf *b)
{
	const struct trace_event *ev = job_event(h->j, i);
	const struct report_event_stats *s = h->stats[PAGE_NOW].event;

	buf_printf(b, "%s:%s", ev->group, ev->name);
	if (*ev->unit)
		buf_printf(b, " [%s]", ev->unit);
	if (ev->frequency)
		buf_printf(b, ", sampled %" PRIu64 " times a second", ev->frequency);
	else if (ev->rate)
		buf_printf(b, ", sampled each %" PRIu64 "%s", ev->rate,
			   ev->flags & TRACE_EVENT_ADAPTIVE ? " at most, all while that was cheap"
							    : "");
	if (ev->flags & TRACE_EVENT_IS_DIVIDED && h->stats[PAGE_NOW].divisor > 1)
		buf_printf(b, ", at rates divided by up to %" PRIu32 " (max_own_cpu)",
			   h->stats[PAGE_NOW].divisor);
	if (s && s[i].counted.samples)
		buf_printf(b, ": %s samples", COMMAS(samples_nr(&s[i], &s[i].counted)));
	if (s && samples_nr(&s[i], &s[i].omitted))
		buf_printf(b, "; %s more are excluded by the options",
			   COMMAS(samples_nr(&s[i], &s[i].omitted)));
	if (ev->reason && *ev->reason)
		buf_printf(b, "; %s", ev->reason);
	put_built(h, "Event", b);
}

static void put_host(struct page *h, struct buf *b)
{
	const struct trace_head *head = &h->facts->head;
	const struct trace_info *info = h->facts->info;

	buf_printf(b, "%s (%s)", head->host, head->machine);
	put_built(h, "Host", b);
	buf_hex_bytes(b, head->boot_id, sizeof(head->boot_id));
	put_built(h, "Boot", b);
	if (!info)
		return;
	put_fact(h, "CPU", info->cpu_model);
	put_fact(h, "Kernel", info->kernel);
	put_fact(h, "Recorded by", info->tool);
}

static void put_facts(struct page *h)
{
	const struct inputs *in = h->j->inputs;
	BUF_AUTO(b, LINE_BYTES);

	JSONW_ARRAY(&h->json, "facts") {
		for (size_t i = 0; i < in->nr + in->nr_diff; i++) {
			const struct input *o = &in->item[i];

			buf_printf(&b, "%s (%s), %s%s%" PRIu64 " %s%s%s%s", o->path, input_name(o),
				   o->iterations ? o->iterations : "", o->iterations ? " of " : "",
				   o->facts->nr_iterations,
				   i == h->j->first && h->are_runs ? "run" : "iteration",
				   str_plural(o->facts->nr_iterations, "", "s"),
				   *o->facts->removed ? "; " : "", o->facts->removed);
			put_built(h, i < in->nr ? "Session" : "Compared with", &b);
		}
		put_fact(h, "Measured", h->command);
		title_put_date(profile_about_realtime(&h->about, h->about.start_ns), &b);
		put_built(h, "Began", &b);
		put_fact(h, "Time shown", HUMAN((double)counts_lines_span_ns(h->lines), "ns"));
		put_host(h, &b);
		for (uint32_t i = 0; i < h->facts->nr_events; i++)
			put_event(h, i, &b);
		if (h->facts->info && strlen(h->facts->info->spec_json) < MAX_SPEC_BYTES)
			put_fact(h, "Spec", h->facts->info->spec_json);
	}
}

static void put_notes(struct page *h, const char *key, int kind)
{
	char *line = h->notes[kind].data, *end, more[64];

	JSONW_ARRAY(&h->json, key) {
		for (; line && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			jsonw_text(&h->json, NULL, line);
		}
		if (h->nr_more[kind]) {
			snprintf(more, sizeof(more), "… and %zu more like these.",
				 h->nr_more[kind]);
			jsonw_text(&h->json, NULL, more);
		}
	}
}

static void add_part(struct buf *b, const char *text)
{
	buf_adds(b, b->len && *text ? " · " : "");
	buf_adds(b, text);
}

static void put_subtitle(struct page *h)
{
	const struct trace_info *info = h->facts->info;
	struct buf b, part;

	buf_init(&b, LINE_BYTES);
	buf_init(&part, LINE_BYTES);
	if (h->host_of) {
		buf_printf(&b, "%zu %s", h->hosts.nr,
			   input_rank(job_input(h->j)) == TRACE_UNKNOWN ? "hosts" : "ranks");
	} else {
		add_part(&b, h->facts->head.host);
		add_part(&b, info ? info->cpu_model : "");
	}
	title_put_date(profile_about_realtime(&h->about, h->about.start_ns), &part);
	add_part(&b, buf_str(&part));
	add_part(&b, HUMAN((double)counts_lines_span_ns(h->lines), "ns"));
	buf_fini(&part);
	if (h->nr_sides > 1)
		buf_printf(&b, " · compared with %s", h->j->inputs->item[h->j->inputs->nr].path);
	jsonw_text(&h->json, "subtitle", buf_str(&b));
	buf_fini(&b);
}

static void note_unread(void *arg, const char *line)
{
	page_note(arg, PAGE_WARNING, "%s.", line);
}

static void put_title(struct page *h)
{
	const struct input *o = job_input(h->j);
	BUF_AUTO(title, LINE_BYTES);

	if (h->host_of && !o->title)
		buf_adds(&title,
			 *o->config_name ? o->config_name : h->j->inputs->jobs[o->job].path);
	else
		title_put(o, &h->about, &title);
	jsonw_text(&h->json, "title", buf_str(&title));
}

void page_head_put(struct page *h)
{
	put_title(h);
	put_subtitle(h);
	jsonw_text(&h->json, "tool", "cpuperf_print " CPUPERF_VERSION);
	JSONW_ARRAY(&h->json, "sides") {
		for (unsigned i = 0; i < h->nr_sides; i++) {
			jsonw_text(&h->json, NULL, i == PAGE_NOW ? "now" : "before");
		}
	}
	JSONW_ARRAY(&h->json, "iterations") {
		for (size_t i = 0; i < h->nr_iterations; i++)
			jsonw_u64(&h->json, NULL, h->iteration_ns[i]);
	}
	put_facts(h);
	export_unread_lines(h->j, note_unread, h);
	put_notes(h, "warnings", PAGE_WARNING);
	put_notes(h, "notes", PAGE_NOTE);
}
