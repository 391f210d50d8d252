/*
 * A sequence of sections, most of them empty. Each event is written as a system of its own: a
 * system may appear several times.
 */
#include "export/perf_tracing.h"

#include "base/array.h"
#include "base/buf.h"

#include <string.h>

static void put_text(struct buf *b, const char *s, size_t len)
{
	buf_add(b, s, len);
	buf_addc(b, '\0');
}

/* tracefs's events/header_page, from which readers learn the size of a long. */
static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

static void put_headers(struct buf *b, uint32_t page_bytes)
{
	enum { DEFAULT_PAGE_BYTES = 4096, LONG_BYTES = 8 };

	buf_add(b, "\x17\x08\x44tracing", 10);
	put_text(b, "0.6", 3);
	buf_addc(b, 0); /* little-endian */
	buf_addc(b, LONG_BYTES);
	buf_le32(b, page_bytes ? page_bytes : DEFAULT_PAGE_BYTES);
	put_text(b, "header_page", 11);
	buf_le64(b, sizeof(header_page) - 1);
	buf_add(b, header_page, sizeof(header_page) - 1);
	put_text(b, "header_event", 12);
	buf_le64(b, 0);
	buf_le32(b, 0); /* ftrace's own events */
}

static bool is_new(const struct perf_data_event *events, size_t i)
{
	return !ARRAY_ANY(ev, events, i,
			  ev->tracepoint && ev->tracepoint_id == events[i].tracepoint_id);
}

static void put_event(struct buf *b, const struct perf_data_event *e)
{
	size_t len = strlen(e->format);

	put_text(b, e->tracepoint, strcspn(e->tracepoint, ":"));
	buf_le32(b, 1);
	buf_le64(b, len);
	buf_add(b, e->format, len);
}

void perf_tracing_add(struct buf *b, const struct perf_data_event *events, size_t nr,
		      uint32_t page_bytes)
{
	uint32_t nr_systems = 0;

	for (size_t i = 0; i < nr; i++)
		nr_systems += events[i].tracepoint && is_new(events, i);
	put_headers(b, page_bytes);
	buf_le32(b, nr_systems);
	for (size_t i = 0; i < nr; i++)
		if (events[i].tracepoint && is_new(events, i))
			put_event(b, &events[i]);
	buf_le32(b, 0); /* kallsyms */
	buf_le32(b, 0); /* formats of trace_printk */
	buf_le64(b, 0); /* names of tasks */
}
