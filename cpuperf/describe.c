/*
 * --describe-event: everything known about one event.
 */
#include "api/works.h"
#include "base/log.h"
#include "collect/collect.h"
#include "events_text.h"
#include "program.h"

#include <errno.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 16 << 20 };

/* Whether each process has a line. */
static void add_ends(const struct host *h, const struct event *ev, struct buf *out)
{
	struct err why = {0};
	int rc = collect_is_many(ev) ? collect_check_follow(h, ev, &why) : -ENODATA;

	if (rc == -ENODATA)
		return;
	buf_adds(out, out->len ? "\n" : "");
	if (rc == 0)
		buf_adds(out, "a process that ends has a line with all that it used, however short "
			      "it lived");
	else
		buf_printf(out, "a process that ends has no line: %s", why.msg);
}

/* How the clients of GPUs are found. */
static void add_way_of_gpu(const struct event *ev, const char *way, const char *why,
			   struct buf *out)
{
	if (way)
		buf_printf(out, "the open files of GPUs are found at once (%s), and read from %s",
			   way, ev->row->source);
	else
		buf_printf(out,
			   "the open files of GPUs are found by the links of /proc/*/fd, and read "
			   "from %s%s%s",
			   ev->row->source, *why ? ": " : "", why);
}

/* How each process is read. */
static void add_way(const struct host *h, const struct event *ev, struct buf *out)
{
	struct err why = {0};
	const char *way = NULL;
	int rc = collect_is_many(ev) ? collect_check_kernel(h, ev, &way, &why) : -ENODATA;

	if (rc == -ENODATA)
		return;
	buf_adds(out, out->len ? "\n" : "");
	if (ev->group->id == EVENT_GROUP_GPU)
		add_way_of_gpu(ev, rc == 0 ? way : NULL, rc ? why.msg : "", out);
	else if (rc == 0 && way)
		buf_printf(out, "processes are read at once (%s), those chosen by number from %s",
			   way, ev->row->source);
	else
		buf_printf(out, "processes are read from %s%s%s", ev->row->source, rc ? ": " : "",
			   rc ? why.msg : "");
}

int describe_event(const struct options *o, const struct catalogue *c)
{
	struct event_facts facts;
	struct api_works works;
	struct err e = {0};
	struct event ev;
	struct buf out;
	int status, rc = catalogue_find_spelled(c, o->describe_event, &ev, &e);

	if (rc)
		return fail(rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED, &e);
	if (api_works_init(&works, c->host)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	buf_init(&out, MAX_TEXT_BYTES);
	event_facts_init(&facts, &ev);
	facts.way = api_works_check(&works, &ev, &facts.support);
	event_facts_complete(&facts, c);
	add_way(c->host, &ev, &facts.detail);
	add_ends(c->host, &ev, &facts.detail);
	if (strcmp(o->output_format, "csv") == 0) {
		screen_write_csv_header(&out, event_fields, EVENT_NR_FIELDS);
		screen_write_csv(&out, event_fields, EVENT_NR_FIELDS, &facts);
	} else if (strcmp(o->output_format, "ndjson") == 0) {
		screen_write_json(&out, event_fields, EVENT_NR_FIELDS, &facts);
	} else {
		event_add_text(&facts, &out);
	}
	status = print_result(&out);
	event_facts_fini(&facts);
	buf_fini(&out);
	api_works_fini(&works);
	return status;
}
