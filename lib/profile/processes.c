/*
 * From the records of a common file to the tables: gathers what each tells, then has each part
 * made of it. Must not look into the tables.
 */
#include "profile/processes.h"

#include "base/mem.h"
#include "profile/processes_internal.h"
#include "profile/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROT_EXECUTE = 4,
	KSYMBOL_UNREGISTER = 1,
	KSYMBOL_MAX_BYTES = 512,
	MAX_LOOK_NS = 1000000000, /* the survey does not look at one process for longer */
};

struct load {
	struct profile_processes *p;
	struct profile_gathered g;
	uint32_t place;
};

static int add_change(struct load *l, const struct profile_item *it, enum profile_change_kind kind,
		      uint32_t what)
{
	struct profile_gathered *g = &l->g;
	void *grown;

	if (g->nr_changes == PROFILE_MAX_CHANGES) {
		l->p->has_left_out = true;
		return 0;
	}
	grown = mem_grow(g->changes, g->nr_changes, &g->changes_room, sizeof(*g->changes));
	if (!grown)
		return -ENOMEM;
	g->changes = grown;
	g->changes[g->nr_changes++] = (struct profile_change){
	    .time_ns = it->time_ns,
	    .pid = it->record.pid,
	    .tid = it->record.tid,
	    .what = what,
	    .other = it->record.ptid,
	    .place = l->place++,
	    .kind = (uint8_t)kind,
	    .is_made = it->ring == TRACE_RING_MADE,
	};
	return 0;
}

/* When the survey looked at a process, or at the kernel: its records have that time. */
static int add_looked(struct load *l, uint64_t time_ns)
{
	struct profile_gathered *g = &l->g;
	void *grown;

	if (g->nr_looked && g->looked_ns[g->nr_looked - 1] == time_ns)
		return 0;
	grown = mem_grow(g->looked_ns, g->nr_looked, &g->looked_room, sizeof(*g->looked_ns));
	if (!grown)
		return -ENOMEM;
	g->looked_ns = grown;
	g->looked_ns[g->nr_looked++] = time_ns;
	return 0;
}

static int take_fork(struct load *l, const struct profile_item *it)
{
	int rc = it->ring == TRACE_RING_MADE ? add_looked(l, it->time_ns) : 0;

	return rc ? rc : add_change(l, it, PROFILE_FORK, it->record.ppid);
}

static int take_exit(struct load *l, const struct profile_item *it)
{
	return add_change(l, it, PROFILE_EXIT, 0);
}

static int take_comm(struct load *l, const struct profile_item *it)
{
	bool is_exec = it->record.misc & TRACE_MISC_EXEC && it->ring != TRACE_RING_MADE;
	uint32_t comm = PROFILE_COMM_UNKNOWN;
	int rc = profile_comms_add(&l->p->comms, it->record.name, &comm);

	if (rc && rc != -EFBIG)
		return rc;
	return add_change(l, it, is_exec ? PROFILE_EXEC : PROFILE_COMM, comm);
}

static struct profile_mapping make_mapping(const struct profile_item *it)
{
	const struct trace_record *r = &it->record;
	struct profile_mapping m = {
	    .start = r->start,
	    .end = r->length > UINT64_MAX - r->start ? UINT64_MAX : r->start + r->length,
	    .offset = r->offset,
	    .from_ns = it->time_ns,
	    .prot = r->kind == TRACE_RECORD_MMAP2 ? r->prot : PROT_EXECUTE,
	    .pid = r->pid,
	};

	return m;
}

static int add_told(struct load *l, const struct profile_item *it, const struct profile_mapping *m)
{
	struct profile_gathered *g = &l->g;
	void *grown = mem_grow(g->told, g->nr_told, &g->told_room, sizeof(*g->told));

	if (!grown)
		return -ENOMEM;
	g->told = grown;
	g->told[g->nr_told] =
	    (struct profile_told){.mapping = *m, .is_made = it->ring == TRACE_RING_MADE};
	return add_change(l, it, PROFILE_MAP, (uint32_t)g->nr_told++);
}

/* The kernel maps nothing for itself that it would tell here. */
static int take_map(struct load *l, const struct profile_item *it)
{
	struct profile_mapping m = make_mapping(it);
	bool is_user =
	    it->record.cpumode == TRACE_MODE_USER || it->record.cpumode == TRACE_MODE_UNKNOWN;
	int rc = 0;

	if (m.start >= m.end || !is_user)
		return 0;
	if (l->g.nr_told == PROFILE_MAX_MAPPINGS)
		rc = -EFBIG;
	if (rc == 0)
		rc = profile_objects_add(&l->p->objects, &it->record, &m.object);
	l->p->has_left_out |= rc == -EFBIG;
	if (rc)
		return rc == -EFBIG ? 0 : rc;
	return add_told(l, it, &m);
}

static const char *copy_name(struct load *l, const char *name)
{
	char *copy = arena_strndup(&l->p->ksymbol_names, name, strnlen(name, KSYMBOL_MAX_BYTES));

	if (copy)
		profile_clean(copy);
	return copy;
}

static int take_ksymbol(struct load *l, const struct profile_item *it)
{
	struct profile_gathered *g = &l->g;
	const struct trace_record *r = &it->record;
	void *grown;

	if (it->ring == TRACE_RING_MADE && add_looked(l, it->time_ns))
		return -ENOMEM;
	if (g->nr_ksymbols == PROFILE_MAX_KSYMBOLS ||
	    l->p->ksymbol_names.used_bytes > (size_t)PROFILE_TEXT_MAX_BYTES - 4096) {
		l->p->has_left_out = true;
		return 0;
	}
	grown = mem_grow(g->ksymbols, g->nr_ksymbols, &g->ksymbols_room, sizeof(*g->ksymbols));
	if (!grown)
		return -ENOMEM;
	g->ksymbols = grown;
	g->ksymbols[g->nr_ksymbols] = (struct profile_ksymbol_told){
	    .start = r->start,
	    .len = (uint32_t)r->length,
	    .time_ns = it->time_ns,
	    .name = copy_name(l, r->name),
	    .place = l->place++,
	    .is_made = it->ring == TRACE_RING_MADE,
	    .is_gone = r->flags & KSYMBOL_UNREGISTER,
	};
	return g->ksymbols[g->nr_ksymbols++].name ? 0 : -ENOMEM;
}

static int (*const take[])(struct load *l, const struct profile_item *it) = {
    [TRACE_RECORD_MMAP] = take_map,  [TRACE_RECORD_COMM] = take_comm,
    [TRACE_RECORD_EXIT] = take_exit, [TRACE_RECORD_FORK] = take_fork,
    [TRACE_RECORD_MMAP2] = take_map, [TRACE_RECORD_KSYMBOL] = take_ksymbol,
};

static int take_item(struct load *l, const struct profile_item *it)
{
	uint32_t kind = it->record.kind;

	if (it->kind != PROFILE_RECORD || it->ring == TRACE_RING_SAMPLES)
		return 0;
	if (kind >= sizeof(take) / sizeof(take[0]) || !take[kind])
		return 0;
	return take[kind](l, it);
}

static int take_all(struct load *l, struct profile_records *r, profile_kallsyms_fn *kallsyms,
		    void *arg)
{
	struct profile_item it;
	int rc;

	while ((rc = profile_records_next(r, &it)) == 1) {
		if (it.kind == PROFILE_KALLSYMS)
			rc = kallsyms ? kallsyms(arg, it.text, it.text_len) : 0;
		else
			rc = take_item(l, &it);
		if (rc)
			return rc;
	}
	return rc;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t profile_looked_until(const struct profile_gathered *g, uint64_t time_ns)
{
	size_t from = 0, to = g->nr_looked;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (g->looked_ns[middle] <= time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < g->nr_looked && g->looked_ns[from] - time_ns < MAX_LOOK_NS)
		return g->looked_ns[from];
	return time_ns < UINT64_MAX - MAX_LOOK_NS ? time_ns + MAX_LOOK_NS : UINT64_MAX;
}

static int make_all(struct load *l)
{
	int rc;

	if (l->g.nr_looked)
		qsort(l->g.looked_ns, l->g.nr_looked, sizeof(*l->g.looked_ns), compare_ns);
	rc = profile_lives_make(l->p, &l->g);
	if (rc == 0)
		rc = profile_spaces_make(l->p, &l->g);
	if (rc == 0)
		rc = profile_begins_make(l->p);
	if (rc == 0)
		rc = profile_namings_make(l->p, &l->g);
	return rc ? rc : profile_ksymbols_make(l->p, &l->g);
}

static struct profile_processes *processes_new(void)
{
	struct profile_processes *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	profile_objects_init(&p->objects);
	arena_init(&p->ksymbol_names, PROFILE_TEXT_MAX_BYTES);
	p->strangers = profile_strangers_new();
	if (p->strangers && profile_comms_init(&p->comms) == 0)
		return p;
	profile_processes_free(p);
	return NULL;
}

void profile_processes_free(struct profile_processes *p)
{
	if (!p)
		return;
	profile_objects_fini(&p->objects);
	profile_comms_fini(&p->comms);
	profile_trees_fini(p);
	profile_strangers_free(p->strangers);
	arena_fini(&p->ksymbol_names);
	mem_free(p->lives);
	mem_free(p->mappings);
	mem_free(p->begins);
	mem_free(p->clusters);
	mem_free(p->namings);
	mem_free(p->ksymbols);
	mem_free(p);
}

static void drop_gathered(struct profile_gathered *g)
{
	mem_free(g->changes);
	mem_free(g->told);
	mem_free(g->ksymbols);
	mem_free(g->looked_ns);
	mem_free(g->of_lives);
}

int profile_processes_read(struct profile_records *r, profile_kallsyms_fn *kallsyms, void *arg,
			   struct profile_processes **out)
{
	struct load l = {.p = processes_new()};
	int rc;

	if (!l.p)
		return -ENOMEM;
	rc = r ? take_all(&l, r, kallsyms, arg) : 0;
	if (rc == 0)
		rc = make_all(&l);
	drop_gathered(&l.g);
	if (rc)
		profile_processes_free(l.p);
	else
		*out = l.p;
	return rc;
}

bool profile_processes_left_out(const struct profile_processes *p)
{
	return p->has_left_out || p->objects.is_full || p->comms.is_full;
}

int profile_processes_load(struct profile_session *s, profile_kallsyms_fn *kallsyms, void *arg,
			   struct profile_processes **out)
{
	struct profile_records *r = NULL;
	int rc = profile_session_common(s, &r);

	if (rc < 0)
		return rc;
	rc = profile_processes_read(r, kallsyms, arg, out);
	profile_records_close(r);
	if (rc == 0 && profile_processes_left_out(*out))
		profile_session_lose_common(s, -EFBIG,
					    "has more tasks, mappings or symbols than are kept: "
					    "the rest is left out");
	return rc;
}

size_t profile_nr_objects(const struct profile_processes *p)
{
	return p->objects.nr;
}

const struct profile_object *profile_object(const struct profile_processes *p, uint32_t number)
{
	return p->objects.item[number];
}

size_t profile_nr_processes(const struct profile_processes *p)
{
	return p->nr_lives + 1; /* the strangers */
}

size_t profile_nr_comms(const struct profile_processes *p)
{
	return p->comms.nr;
}

const struct profile_comm *profile_comm(const struct profile_processes *p, uint32_t number)
{
	return p->comms.item[number];
}

size_t profile_nr_ksymbols(const struct profile_processes *p)
{
	return p->nr_ksymbols;
}

const struct profile_ksymbol *profile_ksymbol(const struct profile_processes *p, size_t i)
{
	return &p->ksymbols[i];
}
