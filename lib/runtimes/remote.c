/*
 * A page has one place, by its address.
 */
#include "runtimes/remote.h"

#include "proc/memory.h"

#include <string.h>

/* NULL: it cannot be read. */
static const struct remote_page *find_page(struct remote *r, uint64_t address)
{
	struct remote_page *p = &r->page[address / REMOTE_PAGE_BYTES % REMOTE_NR_PAGES];

	if (p->is_kept && p->address == address)
		return p;
	p->address = address;
	p->is_kept = proc_memory_read(r->pid, address, p->bytes, REMOTE_PAGE_BYTES);
	return p->is_kept ? p : NULL;
}

void remote_forget(struct remote *r)
{
	for (size_t i = 0; i < REMOTE_NR_PAGES; i++)
		r->page[i].is_kept = false;
}

bool remote_copy(struct remote *r, uint64_t address, void *to, size_t bytes)
{
	uint8_t *out = to;

	while (bytes) {
		const size_t at = address % REMOTE_PAGE_BYTES;
		const size_t n = bytes < REMOTE_PAGE_BYTES - at ? bytes : REMOTE_PAGE_BYTES - at;
		const struct remote_page *p = find_page(r, address - at);

		if (!p)
			return false;
		memcpy(out, p->bytes + at, n);
		out += n;
		address += n;
		bytes -= n;
	}
	return true;
}

bool remote_text(struct remote *r, uint64_t address, char *to, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!remote_copy(r, address + i, &to[i], 1))
			return false;
		if (!to[i])
			return true;
	}
	return false;
}
