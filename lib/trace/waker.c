/*
 * The layout is struct bpf_waits_waker, described in schemas/trace-format.md. Unused places at the
 * end of its lists are not read.
 */
#include "trace/waker.h"

#include "base/cursor.h"

#include <string.h>

enum { VERSION = 1, MAX_REGS = 16, MAX_KERNEL = 64 };
enum { NR_USER_AT = 28, STACK_BYTES_AT = 52, AGO = 14 };
_Static_assert(2 + MAX_KERNEL + TRACE_WAKER_MAX_USER <= TRACE_WAKER_MAX_WORDS,
	       "all words have room");

/* Appends nr of the max addresses that follow, after the mark of their context. */
static void add(struct trace_waker *w, struct cursor *c, uint64_t context, uint32_t nr,
		uint32_t max)
{
	const uint8_t *addresses = cursor_bytes(c, (size_t)max * sizeof(uint64_t));
	uint64_t mark = htole64(context);

	if (!addresses || !nr)
		return;
	w->words[w->record.nr_callchain++] = mark;
	memcpy(w->words + w->record.nr_callchain, addresses, nr * sizeof(uint64_t));
	w->record.nr_callchain += nr;
}

static void set_stack(struct trace_waker *w, struct cursor *c, uint32_t bytes, uint64_t reg_bits,
		      uint32_t nr_regs)
{
	w->record.stack = cursor_bytes(c, bytes);
	w->record.stack_len = bytes;
	w->record.nr_regs = nr_regs;
	w->record.regs_abi = PERF_SAMPLE_REGS_ABI_64;
	w->record.has |= TRACE_HAS_USER_REGS | TRACE_HAS_USER_STACK;
	w->layout.user_regs = reg_bits;
	w->layout.nr_user_regs = nr_regs;
}

/* A process may have executed another program since it woke the task. Older recorders wrote 0. */
static uint64_t time_of(const struct trace_record *sample, const uint8_t *regs, uint32_t nr_regs)
{
	const uint64_t ago = nr_regs <= AGO ? trace_word(regs, AGO) : 0;

	return ago < sample->time_ns ? sample->time_ns - ago : sample->time_ns;
}

bool trace_waker_lasts(const struct trace_layout *l, const struct trace_record *sample)
{
	struct cursor c;

	if (!l->has_waker || !(sample->has & TRACE_HAS_RAW))
		return false;
	cursor_init(&c, sample->raw, sample->raw_len);
	cursor_skip(&c, sizeof(uint64_t)); /* the wait */
	return cursor_le32(&c) == TRACE_WAKER_LASTS;
}

bool trace_waker_decode(const struct trace_layout *l, const struct trace_record *sample,
			struct trace_waker *out)
{
	uint32_t nr_kernel, nr_user, nr_regs, bytes;
	const uint8_t *comm;
	uint64_t reg_bits;
	struct cursor c;

	if (!l->has_waker || !(sample->has & TRACE_HAS_RAW))
		return false;
	cursor_init(&c, sample->raw, sample->raw_len);
	cursor_skip(&c, sizeof(uint64_t)); /* the wait */
	if (cursor_le32(&c) != VERSION)
		return false;
	cursor_skip(&c, sizeof(uint32_t));
	out->layout = (struct trace_layout){.max_stack = UINT16_MAX};
	out->record = (struct trace_record){.kind = PERF_RECORD_SAMPLE,
					    .cpumode = PERF_RECORD_MISC_KERNEL,
					    .has = TRACE_HAS_TID | TRACE_HAS_CALLCHAIN,
					    .cpu = TRACE_UNKNOWN,
					    .callchain = (const uint8_t *)out->words};
	out->record.pid = cursor_le32(&c);
	out->record.tid = cursor_le32(&c);
	nr_kernel = cursor_le32(&c);
	nr_user = cursor_le32(&c);
	comm = cursor_bytes(&c, sizeof(out->comm));
	nr_regs = cursor_le32(&c);
	bytes = cursor_le32(&c);
	reg_bits = cursor_le64(&c);
	out->record.regs = cursor_bytes(&c, MAX_REGS * sizeof(uint64_t));
	if (c.underflow || nr_kernel > MAX_KERNEL || nr_user > TRACE_WAKER_MAX_USER ||
	    nr_regs > MAX_REGS)
		return false;
	out->record.time_ns = time_of(sample, out->record.regs, nr_regs);
	add(out, &c, PERF_CONTEXT_KERNEL, nr_kernel, MAX_KERNEL);
	if (nr_user)
		add(out, &c, PERF_CONTEXT_USER, nr_user, TRACE_WAKER_MAX_USER);
	if (nr_user && bytes && nr_regs)
		set_stack(out, &c, bytes, reg_bits, nr_regs);
	if (c.underflow)
		return false;
	memcpy(out->comm, comm, sizeof(out->comm));
	out->comm[sizeof(out->comm) - 1] = '\0';
	return true;
}

void trace_waker_set_user(uint8_t *raw, uint32_t nr)
{
	nr = htole32(nr);
	memcpy(raw + NR_USER_AT, &nr, sizeof(nr));
}

void trace_waker_set_stack(uint8_t *raw, uint32_t bytes)
{
	bytes = htole32(bytes);
	memcpy(raw + STACK_BYTES_AT, &bytes, sizeof(bytes));
}
