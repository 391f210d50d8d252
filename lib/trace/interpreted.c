/*
 * Must not trust a size or a number of the record.
 */
#include "trace/interpreted.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/perf_abi.h"
#include "trace/trace.h"

#include <errno.h>

enum { IS_ENTRY = 1, MAX_FURTHER = 255, FURTHER_SHIFT = 8 };

const char *trace_language_name(uint32_t language)
{
	static const char *const names[] = {
	    [TRACE_LANGUAGE_PYTHON] = "python", [TRACE_LANGUAGE_JAVASCRIPT] = "javascript",
	    [TRACE_LANGUAGE_PHP] = "php",       [TRACE_LANGUAGE_RUBY] = "ruby",
	    [TRACE_LANGUAGE_PERL] = "perl",     [TRACE_LANGUAGE_GO] = "go",
	    [TRACE_LANGUAGE_JAVA] = "java"};

	return language < ARRAY_NR(names) && names[language] ? names[language] : "interpreted";
}

int trace_interpreted_decode(const uint8_t *p, size_t len, struct trace_interpreted *out)
{
	struct cursor c;
	uint32_t nr, flags;

	cursor_init(&c, p, len);
	cursor_skip(&c, PERF_ABI_HEADER_BYTES + sizeof(uint64_t));
	out->pid = cursor_le32(&c);
	out->tid = cursor_le32(&c);
	out->time_ns = cursor_le64(&c);
	cursor_skip(&c, sizeof(uint32_t)); /* the length of the raw data */
	out->language = cursor_le32(&c);
	nr = cursor_le32(&c);
	out->is_partial = cursor_le32(&c) != 0;
	cursor_skip(&c, sizeof(uint32_t));
	out->loop_begin = cursor_le64(&c);
	out->loop_end = cursor_le64(&c);
	if (!cursor_ok(&c) || nr > TRACE_INTERPRETED_MAX_FRAMES)
		return -EINVAL;
	for (uint32_t i = 0; i < nr; i++) {
		struct trace_interpreted_frame *f = &out->frame[i];

		*f = (struct trace_interpreted_frame){.code = cursor_le64(&c), .instruction = -1};
		if (out->language == TRACE_LANGUAGE_JAVASCRIPT) {
			f->at = cursor_le64(&c);
			continue;
		}
		f->instruction = (int32_t)cursor_le32(&c);
		flags = cursor_le32(&c);
		f->nr_entries = flags & IS_ENTRY ? 1 + (flags >> FURTHER_SHIFT & MAX_FURTHER) : 0;
	}
	out->nr = nr;
	return cursor_ok(&c) ? 0 : -EINVAL;
}

bool trace_interpreted_is_of(const struct trace_interpreted *i, uint32_t pid, uint32_t tid,
			     uint64_t time_ns)
{
	/* kernels differ in whether the sample's time is taken before or after the program ran */
	const uint64_t apart_ns =
	    time_ns > i->time_ns ? time_ns - i->time_ns : i->time_ns - time_ns;

	return i->tid == tid && i->pid == pid && apart_ns < TRACE_INTERPRETED_MAX_NS;
}

uint64_t trace_interpreted_labels(const struct trace_interpreted *i)
{
	return i->language == TRACE_LANGUAGE_GO && i->nr ? i->frame[0].code : 0;
}
