#include "hooks/undo.h"

#include "attach/space.h"
#include "attach/still.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "patch/move.h"
#include "wire/functions.h"
#include "wire/functions_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

enum { INT3 = 0xcc, PLACING_NS = 1000000000, PAUSE_NS = 200000 };

/* A place in the process. */
struct site {
	const struct wire_functions_place *place; /* borrowed */
	uint64_t address;
};

enum kind { AS_BEFORE, REPLACED, BREAKPOINT, OTHER, NR_KINDS };

struct undo {
	struct attach_space space;
	struct site *site; /* owned */
	size_t nr, room;
	size_t seen[NR_KINDS];
	size_t written;
};

/* --- where */

/* Devices of some file systems have another number in mappings than stat(2) says. */
static bool is_mapped(const struct wire_functions_file *f, const struct attach_mapping *m)
{
	return m->is_executable && f->inode == m->inode &&
	       ((f->major == m->major && f->minor == m->minor) || strcmp(f->path, m->name) == 0);
}

static int add_sites(struct undo *u, const struct wire_functions_file *f,
		     const struct attach_mapping *m)
{
	const uint64_t bytes = m->end - m->start;

	for (size_t i = 0; i < f->nr; i++) {
		const struct wire_functions_place *p = &f->place[i];
		const uint64_t distance = p->site - m->offset;
		struct site *s;

		if (!p->len || p->len > PATCH_SITE_BYTES || p->moved_len > PATCH_MOVED_BYTES ||
		    distance >= bytes || bytes - distance < p->len)
			continue;
		s = MEM_ADD(u->site, u->nr, u->room);
		if (!s)
			return -ENOMEM;
		*s = (struct site){p, m->start + distance};
	}
	return 0;
}

static int find_sites(struct undo *u, const struct wire_functions_file *files, size_t nr)
{
	int rc = 0;

	for (size_t i = 0; i < u->space.nr && rc == 0; i++) {
		const struct wire_functions_file *f =
		    ARRAY_FIND(x, files, nr, is_mapped(x, &u->space.mapping[i]));

		rc = f ? add_sites(u, f, &u->space.mapping[i]) : 0;
	}
	return rc;
}

/* --- what is there */

static struct patch_plan plan_of(const struct site *s)
{
	struct patch_plan plan = {
	    .address = s->address, .len = s->place->len, .moved_len = s->place->moved_len};

	memcpy(plan.old, s->place->old, sizeof(plan.old));
	return plan;
}

static bool is_replaced(const struct undo *u, const struct site *s, const uint8_t *bytes)
{
	const struct patch_plan plan = plan_of(s);
	const uint64_t to = patch_leads_to(&plan, bytes);
	uint8_t code[PATCH_TRAMPOLINE_BYTES];

	return to && attach_space_read(&u->space, to, code, sizeof(code)) &&
	       patch_is_moved(&plan, bytes, code, to);
}

static enum kind look(const struct undo *u, const struct site *s)
{
	uint8_t bytes[PATCH_SITE_BYTES] = {0};

	if (!attach_space_read(&u->space, s->address, bytes, s->place->len))
		return OTHER;
	if (memcmp(bytes, s->place->old, s->place->len) == 0)
		return AS_BEFORE;
	if (memchr(bytes, INT3, s->place->len) && !is_replaced(u, s, bytes))
		return BREAKPOINT;
	return is_replaced(u, s, bytes) ? REPLACED : OTHER;
}

static void look_at_all(struct undo *u)
{
	memset(u->seen, 0, sizeof(u->seen));
	for (size_t i = 0; i < u->nr; i++)
		u->seen[look(u, &u->site[i])]++;
}

/* No thread runs. */
static void put_back(void *arg)
{
	struct undo *u = arg;

	look_at_all(u);
	for (size_t i = 0; i < u->nr; i++)
		u->written += look(u, &u->site[i]) == REPLACED &&
			      attach_space_write(&u->space, u->site[i].address,
						 u->site[i].place->old, u->site[i].place->len);
}

/* --- the agent's memories, where no recorder is */

/* What begins as one. */
static bool is_memory(const struct attach_space *s, const struct attach_mapping *m)
{
	uint32_t begin[2] = {0};

	return m->is_writable && !m->is_executable && !m->offset &&
	       attach_space_read(s, m->start, begin, sizeof(begin)) &&
	       begin[0] == FUNCTIONS_MEMORY_MAGIC && begin[1] == FUNCTIONS_MEMORY_VERSION;
}

static bool is_placing(const struct attach_space *s, const struct attach_mapping *m)
{
	uint32_t is = 0;

	return attach_space_read(s, m->start + offsetof(struct functions_header, is_placing), &is,
				 sizeof(is)) &&
	       is;
}

/* After it nothing more is replaced: who begins sees the word. */
static bool end_memory(const struct attach_space *s, const struct attach_mapping *m)
{
	const struct timespec pause = {0, PAUSE_NS};
	const uint64_t start = clock_monotonic_ns();
	const uint32_t is = 1;

	if (!attach_space_write(s, m->start + offsetof(struct functions_header, is_closed), &is,
				sizeof(is)))
		return false;
	while (is_placing(s, m) && clock_monotonic_ns() - start < PLACING_NS)
		nanosleep(&pause, NULL);
	return !is_placing(s, m);
}

bool hooks_undo_ends(const struct attach_space *s)
{
	size_t nr = 0, ended = 0;

	for (size_t i = 0; i < s->nr; i++)
		if (is_memory(s, &s->mapping[i])) {
			nr++;
			ended += end_memory(s, &s->mapping[i]);
		}
	return nr && ended == nr;
}

/* --- the whole */

/* is_left: by the recorder, which has said nothing to the process. */
static int undo(struct undo *u, pid_t pid, bool is_left)
{
	int rc;

	look_at_all(u);
	if (!u->seen[REPLACED])
		return 0;
	if (is_left && !hooks_undo_ends(&u->space))
		return -EAGAIN;
	rc = is_left ? attach_while_still_here(pid, put_back, u)
		     : attach_while_still(pid, put_back, u);
	return rc ?: u->written < u->seen[REPLACED] ? -EIO : 0;
}

static int undo_process(const struct wire_functions_file *files, size_t nr, pid_t pid, bool is_left,
			struct hooks_undone *out)
{
	struct undo u = {.nr = 0};
	int rc = attach_space_open(&u.space, pid);

	if (rc)
		return rc == -EACCES ? -EPERM : rc;
	rc = find_sites(&u, files, nr) ?: undo(&u, pid, is_left);
	out->nr += u.written;
	out->breakpoints += u.seen[BREAKPOINT];
	out->others += u.seen[OTHER];
	mem_free(u.site);
	attach_space_close(&u.space);
	return rc;
}

int hooks_undo(const struct wire_functions_file *files, size_t nr, pid_t pid,
	       struct hooks_undone *out)
{
	return undo_process(files, nr, pid, false, out);
}

int hooks_undo_left(const struct wire_functions_file *files, size_t nr, pid_t pid,
		    struct hooks_undone *out)
{
	return undo_process(files, nr, pid, true, out);
}
