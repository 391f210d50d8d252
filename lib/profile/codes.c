/*
 * Codes in a list, sorted by number. The same number twice is the same code.
 */
#include "profile/codes.h"

#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_CODES = 1 << 22,
	PLACE_SHIFT = 32, /* in an address: the place in the list from 1; below, the instruction */
};
static const uint64_t max_bytes = UINT64_C(1) << 30;

int profile_codes_add(struct profile_codes *c, const struct trace_code *code)
{
	const size_t name_bytes = strlen(code->name) + 1, file_bytes = strlen(code->file) + 1;
	const size_t bytes = name_bytes + file_bytes + code->lines_bytes;
	struct profile_code *to;
	char *text;

	if (c->nr == MAX_CODES || c->bytes + bytes > max_bytes)
		return -EFBIG;
	text = mem_calloc(1, bytes);
	to = text ? MEM_ADD(c->item, c->nr, c->room) : NULL;
	if (!to) {
		mem_free(text);
		return -ENOMEM;
	}
	c->bytes += bytes;
	memcpy(text, code->name, name_bytes);
	memcpy(text + name_bytes, code->file, file_bytes);
	if (code->lines_bytes)
		memcpy(text + name_bytes + file_bytes, code->lines, code->lines_bytes);
	*to = (struct profile_code){.number = code->number,
				    .pid = code->pid,
				    .language = code->language,
				    .first_line = code->first_line,
				    .table = code->table,
				    .owner = code->owner,
				    .name = text,
				    .file = text + name_bytes,
				    .lines = (const uint8_t *)text + name_bytes + file_bytes,
				    .lines_bytes = code->lines_bytes};
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct profile_code *x = a, *y = b;

	return order_u64(x->number, y->number);
}

void profile_codes_sort(struct profile_codes *c)
{
	order_sort(c->item, c->nr, sizeof(*c->item), compare);
}

void profile_codes_fini(struct profile_codes *c)
{
	for (size_t i = 0; i < c->nr; i++)
		mem_free((char *)c->item[i].name);
	mem_free(c->item);
	*c = (struct profile_codes){.item = NULL};
}

uint64_t profile_code_address(const struct profile_processes *p, uint32_t language, uint64_t number,
			      int32_t instruction)
{
	const struct profile_code *found =
	    p->codes.nr ? bsearch(&(struct profile_code){.number = number}, p->codes.item,
				  p->codes.nr, sizeof(*p->codes.item), compare)
			: NULL;

	if (!found)
		return PROFILE_CODE_ADDRESSES | language;
	return PROFILE_CODE_ADDRESSES | ((uint64_t)(found - p->codes.item) + 1) << PLACE_SHIFT |
	       (uint32_t)(instruction + 1);
}

const struct profile_code *profile_code_at(const struct profile_processes *p, uint64_t address)
{
	const uint64_t place = (address ^ PROFILE_CODE_ADDRESSES) >> PLACE_SHIFT;

	return place && place <= p->codes.nr ? &p->codes.item[place - 1] : NULL;
}
