#include "functions/breakpoints.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/root.h"
#include "functions/functions.h"
#include "proc/maps.h"
#include "proc/memory.h"
#include "proc/proc.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_MAPS_BYTES = 64 << 20, MAX_BYTES = 4 };

struct sign {
	size_t len;
	uint8_t bytes[MAX_BYTES];
};

/* As the kernel has it, by the kind of the instruction. */
static const struct sign signs[] = {
#if defined(__x86_64__)
    [FUNCTIONS_NOP5] = {1, {0xe8}}, /* a call, once it was hit */
    [FUNCTIONS_CHEAP] = {1, {0xcc}},
#else
    [FUNCTIONS_NOP5] = {4, {0xa0, 0x00, 0x20, 0xd4}},
    [FUNCTIONS_CHEAP] = {4, {0xa0, 0x00, 0x20, 0xd4}},
#endif
};

static bool has_sign(uint32_t pid, uint64_t address, enum functions_entry entry)
{
	const struct sign *breakpoint = &signs[FUNCTIONS_CHEAP], *sign = &signs[entry];
	uint8_t bytes[MAX_BYTES];

	if (entry != FUNCTIONS_NOP5)
		sign = breakpoint;
	return proc_memory_read(pid, address, bytes, breakpoint->len) &&
	       (memcmp(bytes, breakpoint->bytes, breakpoint->len) == 0 ||
		memcmp(bytes, sign->bytes, sign->len) == 0);
}

static bool is_of(const struct functions_place *p, const struct proc_mapping *m)
{
	return m->prot & PROC_MAPS_EXEC && m->inode && p->offset >= m->offset &&
	       p->offset - m->offset < m->end - m->start && strlen(p->path) == m->name_len &&
	       memcmp(p->path, m->name, m->name_len) == 0;
}

size_t functions_find_breakpoints(uint32_t pid, const struct functions_place *const *places,
				  size_t nr, size_t *first)
{
	BUF_AUTO(text, MAX_MAPS_BYTES);
	const char *at, *end;
	struct proc_mapping m;
	size_t found = 0;

	if (proc_load(PROC(&root_live, pid), "maps", &text))
		return 0;
	at = buf_str(&text);
	end = at + text.len;
	while (proc_maps_next(&at, end, &m))
		for (size_t i = 0; i < nr; i++) {
			if (!is_of(places[i], &m) ||
			    !has_sign(pid, m.start + (places[i]->offset - m.offset),
				      places[i]->entry))
				continue;
			*first = found && *first < i ? *first : i;
			found++;
		}
	return found;
}
