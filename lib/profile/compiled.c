/*
 * Changes in a list, sorted by process and time; each process has a cover of its changes
 * (base/cover.h).
 */
#include "profile/compiled.h"

#include "base/array.h"
#include "base/cover.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/codes.h"
#include "profile/processes_internal.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

enum { MAX_CHANGES = (1 << 22) + (1 << 12) }; /* more than the recorder writes */
/* What a time means changes when there are more changes: an odd number of any one. */
static const uint32_t renewed = 0x9e3779b1;
static const size_t max_name_bytes = (size_t)512 << 20;

struct profile_compiled_process {
	uint32_t pid;
	const struct profile_compiled *first; /* borrowed */
	size_t nr;
	struct cover cover;
	bool has_frames;
};

/* A number that no recorder writes, as it is an address with hashes there. */
static uint64_t number_of(size_t nr)
{
	return UINT64_C(1) << 63 | nr;
}

/* As what an interpreter of scripts interprets. */
static int add_code(struct profile_codes *codes, const struct trace_compiled *c, uint64_t number)
{
	struct trace_code code = {.number = number,
				  .pid = c->pid,
				  .language = TRACE_LANGUAGE_JAVA,
				  .first_line = c->first_line,
				  .table = TRACE_LINES_BYTES,
				  .lines = c->data,
				  .lines_bytes = c->data_bytes};

	if (c->data_bytes > TRACE_CODE_LINES_BYTES)
		code.lines_bytes = 0;
	memcpy(code.name, c->name, strnlen(c->name, sizeof(code.name) - 1));
	memcpy(code.file, c->file, strlen(c->file));
	return profile_codes_add(codes, &code);
}

/* No changes apply from then on. */
static int skip(struct profile_compiled_table *t, const struct trace_compiled *c)
{
	if (!t->is_full || c->time_ns < t->full_ns)
		t->full_ns = c->time_ns;
	t->is_full = true;
	return -EFBIG;
}

static const uint8_t *keep_bytes(struct profile_compiled_table *t, const uint8_t *bytes, size_t len)
{
	return (const uint8_t *)arena_strndup(&t->names, (const char *)bytes, len);
}

/* Of a name or what is beside it. "", NULL: it has none. False: there is no room. */
static bool keep_texts(struct profile_compiled_table *t, const struct trace_compiled *c,
		       struct profile_compiled *to)
{
	const uint32_t nr = c->data_bytes / sizeof(uint32_t);

	to->name = *c->name ? arena_strdup(&t->names, c->name) : "";
	if (nr)
		to->points = keep_bytes(t, c->data, nr * sizeof(uint32_t));
	to->nr_points = nr;
	if (c->scopes_bytes)
		to->scopes = keep_bytes(t, c->scopes, c->scopes_bytes);
	to->scopes_bytes = c->scopes_bytes;
	return to->name && (to->points || !nr) && (to->scopes || !to->scopes_bytes);
}

int profile_compiled_add(struct profile_compiled_table *t, struct profile_codes *codes,
			 const struct trace_compiled *c)
{
	struct profile_compiled draft = {.time_ns = c->time_ns,
					 .start = c->start,
					 .end = c->end,
					 .pid = c->pid,
					 .order = (uint32_t)t->nr,
					 .kind = c->kind,
					 .frame_bytes = c->frame_bytes,
					 .frame_from = c->frame_from,
					 .codes = c->codes,
					 .codes_bytes = c->codes_bytes},
				*to;
	int rc = 0;

	if (!t->names.max_bytes)
		arena_init(&t->names, max_name_bytes);
	if (t->nr == MAX_CHANGES)
		return skip(t, c);
	if (c->kind == TRACE_COMPILED_INTERPRETED) {
		draft.code = number_of(t->nr);
		draft.name = "";
		rc = add_code(codes, c, draft.code);
		if (rc)
			return rc == -EFBIG ? skip(t, c) : rc;
	} else if (!keep_texts(t, c, &draft)) {
		return skip(t, c);
	}
	to = MEM_ADD(t->item, t->nr, t->room);
	if (!to)
		return -ENOMEM;
	*to = draft;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct profile_compiled *x = a, *y = b;

	return order_u64(x->pid, y->pid) ?: order_u64(x->time_ns, y->time_ns)
			  ?: order_u64(x->order, y->order);
}

static void range_of(const void *arg, size_t i, uint64_t *start, uint64_t *end)
{
	const struct profile_compiled *c = (const struct profile_compiled *)arg + i;

	*start = c->start;
	*end = c->end;
}

static void free_processes(struct profile_compiled_table *t)
{
	for (size_t i = 0; i < t->nr_processes; i++)
		cover_fini(&t->process[i].cover);
	mem_free(t->process);
	t->process = NULL;
	t->nr_processes = 0;
}

static int add_process(struct profile_compiled_table *t, size_t first, size_t nr, size_t *room)
{
	struct profile_compiled_process *p = MEM_ADD(t->process, t->nr_processes, *room);

	if (!p)
		return -ENOMEM;
	*p = (struct profile_compiled_process){
	    .pid = t->item[first].pid, .first = &t->item[first], .nr = nr};
	p->has_frames = ARRAY_ANY(
	    c, p->first, nr, c->kind != TRACE_COMPILED_UNKNOWN && c->kind != TRACE_COMPILED_SCRIPT);
	return cover_make(&p->cover, nr, range_of, p->first);
}

int profile_compiled_make(struct profile_compiled_table *t)
{
	size_t room = 0;
	int rc = 0;

	free_processes(t);
	order_sort(t->item, t->nr, sizeof(*t->item), compare);
	for (size_t i = 0, next; i < t->nr && rc == 0; i = next) {
		const uint32_t pid = t->item[i].pid;

		next = i + 1;
		while (next < t->nr && t->item[next].pid == pid)
			next++;
		rc = add_process(t, i, next - i, &room);
	}
	return rc;
}

void profile_compiled_fini(struct profile_compiled_table *t)
{
	free_processes(t);
	mem_free(t->item);
	arena_fini(&t->names);
	*t = (struct profile_compiled_table){.item = NULL};
}

static const struct profile_compiled_process *find(const struct profile_processes *p, uint32_t pid)
{
	const struct profile_compiled_table *t = &p->compiled;
	const size_t i = ORDER_FIRST(at, t->nr_processes, t->process[at].pid >= pid);

	return i < t->nr_processes && t->process[i].pid == pid ? &t->process[i] : NULL;
}

static bool is_missing(const struct profile_compiled_table *t, uint64_t time_ns)
{
	return t->is_full && time_ns >= t->full_ns;
}

static uint32_t nr_until(const struct profile_compiled_process *of, uint64_t time_ns)
{
	return (uint32_t)ORDER_FIRST(i, of->nr, of->first[i].time_ns > time_ns);
}

const struct profile_compiled *profile_compiled_find(const struct profile_processes *p,
						     uint32_t pid, uint64_t address,
						     uint64_t time_ns)
{
	const struct profile_compiled_process *of = p ? find(p, pid) : NULL;
	uint64_t start, end;
	uint32_t i = of && !is_missing(&p->compiled, time_ns)
			 ? cover_find(&of->cover, nr_until(of, time_ns), address, &start, &end)
			 : COVER_NONE;

	return i == COVER_NONE ? NULL : &of->first[i];
}

bool profile_compiled_has_any(const struct profile_processes *p, uint32_t pid)
{
	return p && find(p, pid);
}

bool profile_compiled_has_frames(const struct profile_processes *p, uint32_t pid)
{
	const struct profile_compiled_process *of = p ? find(p, pid) : NULL;

	return of && of->has_frames;
}

uint32_t profile_compiled_epoch(const struct profile_processes *p, uint32_t pid, uint64_t time_ns)
{
	const struct profile_compiled_process *of = p ? find(p, pid) : NULL;

	if (!of)
		return 0;
	return (is_missing(&p->compiled, time_ns) ? UINT32_MAX : nr_until(of, time_ns)) +
	       (uint32_t)of->nr * renewed;
}
