#include "functions/breakpoints.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/root.h"
#include "functions/functions.h"
#include "proc/list.h"
#include "proc/maps.h"
#include "proc/memory.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MAPS_BYTES = 64 << 20, MAX_NAME_BYTES = 64, MAX_BYTES = 4 };

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

/* --- patched entries */

enum { BEFORE = 4, BEHIND = 6 }; /* bytes of a breakpoint that a jump may have */

struct patched {
	uint32_t pid;
	const char *path; /* of the file that is open; NULL: none */
	int file;
};

static bool open_file(struct patched *p, const char *path)
{
	if (p->path && strcmp(p->path, path) == 0)
		return p->file >= 0;
	io_close(&p->file);
	p->path = path;
	p->file = open(path, O_RDONLY | O_CLOEXEC);
	return p->file >= 0;
}

/* A breakpoint is no difference. */
static bool is_changed(struct patched *p, const struct functions_place *place,
		       const struct proc_mapping *m)
{
	const uint64_t at = place->offset - m->offset, first = at < BEFORE ? 0 : at - BEFORE;
	uint8_t own[BEFORE + BEHIND] = {0}, its[BEFORE + BEHIND] = {0};
	const size_t len = (size_t)(at - first) + BEHIND;

	if (!open_file(p, place->path) ||
	    pread(p->file, its, len, (off_t)(m->offset + first)) != (ssize_t)len ||
	    !proc_memory_read(p->pid, m->start + first, own, len) ||
	    has_sign(p->pid, m->start + at, place->entry))
		return false;
	return memcmp(own, its, len) != 0;
}

static bool has_agent(const char *at, const char *end)
{
	static const char name[] = "/libcpuperf-functions.so";

	return memmem(at, (size_t)(end - at), name, sizeof(name) - 1);
}

/* *first: the number of the place. False also if the process may not be read. */
static bool has_patched(uint32_t pid, const struct functions_place *const *places, size_t nr,
			size_t *first)
{
	struct patched p = {.pid = pid, .file = -1};
	BUF_AUTO(text, MAX_MAPS_BYTES);
	const char *at, *end;
	struct proc_mapping m;
	bool is = false;

	if (proc_load(PROC(&root_live, pid), "maps", &text))
		return false;
	at = buf_str(&text);
	end = at + text.len;
	if (!has_agent(at, end))
		return false;
	while (!is && proc_maps_next(&at, end, &m))
		for (size_t i = 0; i < nr && !is; i++) {
			is = is_of(places[i], &m) && is_changed(&p, places[i], &m);
			*first = is ? i : *first;
		}
	io_close(&p.file);
	return is;
}

struct wanted {
	const struct functions_place *const *places;
	size_t nr;
	struct err *e;
};

static int refuse_patched(uint32_t pid, void *arg)
{
	const struct wanted *w = arg;
	BUF_AUTO(name, MAX_NAME_BYTES);
	size_t first = 0;

	if (!has_patched(pid, w->places, w->nr, &first))
		return 0;
	proc_add_name(PROC(&root_live, pid), &name);
	return err_set(
	    w->e, -ENOTSUP,
	    "process %s has a patched entry of %.100s, of another session or one that was "
	    "killed: a breakpoint there would end it",
	    buf_str(&name), w->places[first]->name);
}

int functions_check_patched(uint32_t pid, const struct functions_place *const *places, size_t nr,
			    struct err *e)
{
	struct wanted w = {places, nr, e};
	const int rc = pid ? refuse_patched(pid, &w) : proc_each(&root_live, refuse_patched, &w);

	return rc && !e->code ? err_set(e, rc, "/proc: %s", strerror(-rc)) : rc;
}

/* --- breakpoints */

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
