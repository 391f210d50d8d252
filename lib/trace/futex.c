/*
 * The layouts are struct bpf_waits_sample and bpf_waits_waker, described in
 * schemas/trace-format.md.
 */
#include "trace/futex.h"

#include "base/cursor.h"
#include "trace/waker.h"

#include <stddef.h>

enum { ENDED = 3, WITH_WAKER = 1, MAX_REGS = 15, REGS_AT = 64 };

static uint64_t behind_registers(struct cursor c, const struct trace_record *sample)
{
	enum { NUMBERS_BYTES = 4 * sizeof(uint32_t) + 16 };

	cursor_skip(&c, NUMBERS_BYTES); /* of the waker, with its name */
	if (cursor_le32(&c) > MAX_REGS)
		return 0;
	cursor_init(&c, sample->raw, sample->raw_len);
	cursor_skip(&c, REGS_AT + MAX_REGS * sizeof(uint64_t));
	return cursor_le64(&c);
}

bool trace_futex_decode(const struct trace_layout *l, const struct trace_record *sample,
			struct trace_futex *out)
{
	struct trace_futex f = {.address = 0};
	struct cursor c;
	uint32_t version;

	if (!l->is_wait || l->is_by_switches || !(sample->has & TRACE_HAS_RAW))
		return false;
	cursor_init(&c, sample->raw, sample->raw_len);
	cursor_skip(&c, sizeof(uint64_t)); /* the wait */
	version = cursor_le32(&c);
	f.owner = cursor_le32(&c);
	f.lasts = version == TRACE_WAKER_LASTS;
	if (version == ENDED || f.lasts)
		f.address = cursor_le64(&c);
	else if (version == WITH_WAKER && l->has_waker)
		f.address = behind_registers(c, sample);
	if (c.underflow || !f.address)
		return false;
	*out = f;
	return true;
}
