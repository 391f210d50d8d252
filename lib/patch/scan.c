#include "patch/scan.h"

#include "patch/decode.h"

void patch_scan_mark(struct patch_span *spans, size_t nr, uint64_t target)
{
	size_t low = 0, high = nr; /* the last one that begins before the target */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans[middle].from < target)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && target < spans[low - 1].to)
		spans[low - 1].is_entered = true;
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
