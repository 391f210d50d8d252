/*
 * Facts of sessions as JSON, and as a title.
 */
#include "exports/facts.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "exports/lines.h"
#include "samples.h"
#include "screen/number.h"

#include <string.h>

static void put_id(struct json_writer *out, const char *key, const uint8_t id[16])
{
	char hex[33];

	str_hex16(id, hex);
	jsonw_text(out, key, hex);
}

void export_facts_put(struct json_writer *out, const struct input *o)
{
	const struct trace_head *head = &o->facts->head;
	const struct trace_info *info = o->facts->info;

	jsonw_text(out, "session", o->config_name);
	jsonw_text(out, "host", head->host);
	jsonw_text(out, "machine", head->machine);
	if (info) {
		jsonw_text(out, "cpu_model", info->cpu_model);
		jsonw_text(out, "kernel", info->kernel);
		jsonw_text(out, "recorder", info->tool);
	}
	put_id(out, "session_id", head->session_id);
	put_id(out, "boot_id", head->boot_id);
	jsonw_u64(out, "start_monotonic_ns", o->start_ns);
}

/* Appends before, the event and what is missing of its samples; nothing if they are complete. */
static void add_losses(struct buf *b, const char *before, const struct job *j,
		       const struct report_stats *stats, uint32_t event)
{
	const struct report_event_stats *s = &stats->event[event];
	BUF_AUTO(text, EXPORT_NAME_BYTES);

	buf_printf(&text, "%s%s: ", before, job_event(j, event)->label);
	if (s->counted.samples + s->omitted.samples)
		samples_add_missing(j, b, buf_str(&text), stats, event);
}

static void put_unread(void *arg, const char *line)
{
	jsonw_text(arg, NULL, line);
}

void export_facts_put_losses(struct json_writer *out, const struct job *j,
			     const struct report_stats *stats)
{
	BUF_AUTO(text, EXPORT_NAME_BYTES);

	JSONW_ARRAY(out, "losses") {
		for (uint32_t i = 0; i < stats->nr_events; i++) {
			buf_reset(&text);
			add_losses(&text, "", j, stats, i);
			if (text.len)
				jsonw_text(out, NULL, buf_str(&text));
		}
		samples_stack_lines(j, stats, put_unread, out);
		export_unread_lines(j, put_unread, out);
	}
}

void export_facts_put_weight(struct json_writer *out, const char *key, const struct trace_event *e,
			     uint64_t weight)
{
	double scale = e->scale > 0 ? e->scale : 1, shown = (double)weight * scale;

	jsonw_key(out, key);
	if (scale == 1)
		buf_u64(out->out, weight);
	else if (scale == (double)(uint32_t)scale && shown < 1.8e19)
		buf_u64(out->out, weight * (uint32_t)scale);
	else
		screen_real(out->out, shown);
}

void export_facts_title(struct buf *b, const struct job *j, const struct report_stats *stats)
{
	const struct input *o = job_input(j);

	buf_adds(b, *o->config_name ? o->config_name : o->path);
	if (j->nr > 1)
		buf_printf(b, " and %zu more", j->nr - 1);
	if (j->output->problems.nr_losses)
		buf_adds(b, "; some of it could not be read");
	for (uint32_t i = 0; i < stats->nr_events; i++)
		add_losses(b, "; ", j, stats, i);
}
