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

static bool decode_all(const struct patch_code *code)
{
	struct patch_instruction i;
	size_t at = 0;

	while (at < code->len && patch_decode(code->bytes + at, code->len - at, &i))
		at += i.len;
	return at == code->len;
}

/* At each step, or at each byte. */
static void mark_all(const struct patch_code *code, bool each_byte, struct patch_span *spans,
		     size_t nr)
{
	struct patch_instruction i;

	for (size_t at = 0; at < code->len; at += each_byte ? 1 : i.len)
		if (patch_decode(code->bytes + at, code->len - at, &i) && patch_has_target(&i))
			patch_scan_mark(spans, nr,
					code->address + at + i.len + (uint64_t)(int64_t)i.relative);
}

bool patch_scan(const struct patch_code *code, struct patch_span *spans, size_t nr)
{
	bool is_known = decode_all(code);

	mark_all(code, !is_known, spans, nr);
	return is_known;
}
