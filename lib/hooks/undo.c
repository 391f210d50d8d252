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

enum { INT3 = 0xcc, PAUSE_NS = 200000 };

/* What is replaced, in the process: where a place begins, or ends. */
struct site {
	const struct wire_functions_site *is; /* borrowed */
	uint64_t address;
	enum patch_kind kind;
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

static int add_site(struct undo *u, const struct attach_mapping *m,
		    const struct wire_functions_site *from, enum patch_kind kind)
{
	const uint64_t bytes = m->end - m->start, distance = from->offset - m->offset;
	struct site *s;

	if (!from->len || from->len > PATCH_SITE_BYTES || from->moved_len > PATCH_MOVED_BYTES ||
	    distance >= bytes || bytes - distance < from->len)
		return 0;
	s = MEM_ADD(u->site, u->nr, u->room);
	if (!s)
		return -ENOMEM;
	*s = (struct site){from, m->start + distance, kind};
	return 0;
}

static int add_sites(struct undo *u, const struct wire_functions_file *f,
		     const struct attach_mapping *m)
{
	int rc = 0;

	for (size_t i = 0; i < f->nr && rc == 0; i++) {
		const struct wire_functions_place *p = &f->place[i];

		rc = add_site(u, m, &p->begin, p->nr_exits ? PATCH_BEGINS : PATCH_COUNTS)
			 ?: ARRAY_RUN(k, p->nr_exits, add_site(u, m, &p->exit[k], PATCH_ENDS));
	}
	return rc;
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
	struct patch_plan plan = {.address = s->address,
				  .len = s->is->len,
				  .moved_len = s->is->moved_len,
				  .kind = (uint8_t)s->kind,
				  .depth = s->is->depth};

	memcpy(plan.old, s->is->old, sizeof(plan.old));
	return plan;
}

static bool is_replaced(const struct undo *u, const struct site *s, const uint8_t *bytes)
{
	struct patch_plan plan = plan_of(s);
	const uint64_t to = patch_leads_to(&plan, bytes);
	uint8_t code[PATCH_TRAMPOLINE_BYTES];

	if (!to || !attach_space_read(&u->space, to, code, sizeof(code)))
		return false;
	if (patch_is_moved(&plan, bytes, code, to))
		return true;
	plan.kind = PATCH_COUNTS; /* if an end could not be, its begin alone was */
	return s->kind == PATCH_BEGINS && patch_is_moved(&plan, bytes, code, to);
}

static enum kind look(const struct undo *u, const struct site *s)
{
	uint8_t bytes[PATCH_SITE_BYTES] = {0};

	if (!attach_space_read(&u->space, s->address, bytes, s->is->len))
		return OTHER;
	if (memcmp(bytes, s->is->old, s->is->len) == 0)
		return AS_BEFORE;
	if (memchr(bytes, INT3, s->is->len) && !is_replaced(u, s, bytes))
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
			      attach_space_write(&u->space, u->site[i].address, u->site[i].is->old,
						 u->site[i].is->len);
}

/* --- the agent's memories */

/* Nothing else is read: that may be a device. */
static bool is_memory(const struct attach_space *s, const struct attach_mapping *m,
		      struct functions_header *out)
{
	static const char name[] = "/memfd:" WIRE_FUNCTIONS_FILE;

	return m->is_writable && !m->offset && strncmp(m->name, name, sizeof(name) - 1) == 0 &&
	       attach_space_read(s, m->start, out, sizeof(*out)) &&
	       out->magic == FUNCTIONS_MEMORY_MAGIC && out->version == FUNCTIONS_MEMORY_VERSION;
}

static bool is_placing(const struct attach_space *s, const struct attach_mapping *m)
{
	uint32_t is = 0;

	return attach_space_read(s, m->start + offsetof(struct functions_header, is_placing), &is,
				 sizeof(is)) &&
	       is;
}

/* After it nothing more is replaced: who begins sees the word. */
static bool end_memory(const struct attach_space *s, const struct attach_mapping *m,
		       uint64_t wait_ns)
{
	const struct timespec pause = {0, PAUSE_NS};
	const uint64_t start = clock_monotonic_ns();
	const uint32_t is = 1;

	if (!attach_space_write(s, m->start + offsetof(struct functions_header, is_closed), &is,
				sizeof(is)))
		return false;
	while (is_placing(s, m) && clock_monotonic_ns() - start < wait_ns)
		nanosleep(&pause, NULL);
	return !is_placing(s, m);
}

/* A process may have the memory of another recorder, or be one, which has those of others. */
struct memories {
	size_t own, others;
};

/* is_left: each of the recorder's own is told. -EAGAIN: one did not end within wait_ns. */
static int find_memories(const struct attach_space *s, uint32_t recorder, bool is_left,
			 uint64_t wait_ns, struct memories *out)
{
	struct functions_header h;
	int rc = 0;

	*out = (struct memories){0};
	for (size_t i = 0; i < s->nr; i++) {
		if (!is_memory(s, &s->mapping[i], &h))
			continue;
		out->own += h.recorder == recorder;
		out->others += h.recorder != recorder;
		if (is_left && h.recorder == recorder && !end_memory(s, &s->mapping[i], wait_ns))
			rc = -EAGAIN;
	}
	return rc;
}

/* --- the whole */

/* is_left: by the recorder, which has said nothing to the process. */
static int undo(struct undo *u, pid_t pid, bool is_left)
{
	int rc;

	look_at_all(u);
	if (!u->seen[REPLACED])
		return 0;
	rc = is_left ? attach_while_still_here(pid, put_back, u)
		     : attach_while_still(pid, put_back, u);
	return rc ?: u->written < u->seen[REPLACED] ? -EIO : 0;
}

static int undo_process(const struct hooks_replaced *what, pid_t pid, bool is_left,
			uint64_t wait_ns, struct hooks_undone *out)
{
	struct undo u = {.nr = 0};
	struct memories found;
	int rc = attach_space_open(&u.space, pid);

	if (rc)
		return rc == -EACCES ? -EPERM : rc;
	rc = find_memories(&u.space, what->recorder, is_left, wait_ns, &found);
	if (rc == 0 && (found.own || !(found.others || is_left)))
		rc = find_sites(&u, what->files, what->nr) ?: undo(&u, pid, is_left);
	out->nr += u.written;
	out->breakpoints += u.seen[BREAKPOINT];
	out->others += u.seen[OTHER];
	mem_free(u.site);
	attach_space_close(&u.space);
	return rc;
}

int hooks_undo(const struct hooks_replaced *what, pid_t pid, struct hooks_undone *out)
{
	return undo_process(what, pid, false, 0, out);
}

int hooks_undo_left(const struct hooks_replaced *what, pid_t pid, uint64_t wait_ns,
		    struct hooks_undone *out)
{
	return undo_process(what, pid, true, wait_ns, out);
}
