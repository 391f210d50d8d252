#include "patch/scan.h"

#include "base/order.h"
#include "patch/decode.h"

void patch_scan_mark(struct patch_span *spans, size_t nr, uint64_t target)
{
	size_t first = ORDER_FIRST(i, nr, spans[i].from >= target);

	/* the last one that begins before the target */
	if (first > 0 && target < spans[first - 1].to)
		spans[first - 1].is_entered = true;
}

static void mark_target(const struct patch_code *code, size_t at, const struct patch_instruction *i,
			struct patch_span *spans, size_t nr)
{
	if (patch_has_target(i))
		patch_scan_mark(spans, nr,
				code->address + at + i->len + (uint64_t)(int64_t)i->relative);
}

bool patch_scan(const struct patch_code *code, struct patch_span *spans, size_t nr)
{
	struct patch_instruction i;
	size_t at = 0;

	for (; at < code->len && patch_decode(code->bytes + at, code->len - at, &i); at += i.len)
		mark_target(code, at, &i, spans, nr);
	if (at == code->len)
		return true;
	/* Also what was decoded up to there may have begun amid an instruction. */
	for (at = 0; at < code->len; at++)
		if (patch_decode(code->bytes + at, code->len - at, &i))
			mark_target(code, at, &i, spans, nr);
	return false;
}
