/*
 * Loading the program of aggregate.bpf.c, and reading tables of samples in shared memory: without
 * system calls, during which the kernel would skip samples of this CPU.
 */
#include "bpf/aggregate.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>

#include "bpf/aggregate_tables.h"
#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/generated/aggregate.h"

enum {
	LINE_BYTES = sizeof(union bpf_aggregate_line),
	FIRST_STACK = 1 + AGGREGATE_SLOTS,
	PID_NAMESPACE_INODE = 0xeffffffc, /* PROC_PID_INIT_INO: of the first one */
	HOLD_NS = 20000,
	MAX_HOLDS = 50000,
};

_Static_assert(AGGREGATE_MAX_STACK + 2 < BPF_AGGREGATE_STACK_WORDS, "two marks, and room");
_Static_assert(PLACE_SUMS % BPF_AGGREGATE_LINE_SUMS == 0, "sums fill their lines");
_Static_assert(LINE_BYTES == 8 * BPF_AGGREGATE_LINE_WORDS, "head and slot are a line each");

struct aggregate {
	struct aggregate_bpf *programs;  /* owned; NULL: other programs use the tables */
	union bpf_aggregate_line *lines; /* mapped; of all tables */
	size_t map_bytes;
	bool has_places;
};

static union bpf_aggregate_line *table_of(const struct aggregate *a, uint32_t table)
{
	return a->lines + (size_t)table * AGGREGATE_LINES;
}

int aggregate_check_namespace(struct err *e)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == PID_NAMESPACE_INODE)
		return 0;
	return err_set(e, -ENOTSUP,
		       "samples are not added up in a PID namespace: the kernel's program "
		       "sees other numbers of processes");
}

int aggregate_size(struct bpf_map *lines, struct bpf_map *tables, uint32_t nr_tables,
		   uint32_t nr_keys)
{
	return bpf_map__set_max_entries(lines, nr_tables * AGGREGATE_LINES)
		   ?: bpf_map__set_max_entries(tables, nr_keys);
}

static int configure(struct aggregate_bpf *p, const struct aggregate_config *c, struct err *e)
{
	int nr_cpus = libbpf_num_possible_cpus();
	int rc = aggregate_check_namespace(e);

	if (rc || nr_cpus < 0)
		return rc ? rc : nr_cpus;
	p->rodata->nr_lines = AGGREGATE_LINES;
	p->rodata->nr_slots = AGGREGATE_SLOTS;
	p->rodata->in_step = c->in_step;
	p->rodata->has_own_clocks = c->has_own_clocks;
	p->rodata->max_stack = 2 * BPF_AGGREGATE_STACK_WORDS; /* the event has it */
	return aggregate_size(p->maps.lines, p->maps.tables, c->nr_cpus, (uint32_t)nr_cpus);
}

static int map_lines(struct aggregate *a, const struct bpf_map *lines, uint32_t first, uint32_t nr)
{
	void *base;

	a->map_bytes = (size_t)nr * AGGREGATE_TABLE_BYTES;
	base = mmap(NULL, a->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(lines),
		    (off_t)first * AGGREGATE_TABLE_BYTES);
	if (base == MAP_FAILED)
		return -errno;
	a->lines = base;
	return 0;
}

/* The program looks for its table by the CPU's number. */
static int name_tables(const struct bpf_map *tables, const struct aggregate_config *c,
		       uint32_t first, uint32_t first_key)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->nr_cpus && rc == 0; i++) {
		uint32_t table = first + i + 1, key = first_key + c->cpus[i];

		rc = bpf_map_update_elem(bpf_map__fd(tables), &key, &table, BPF_ANY);
	}
	return rc;
}

int aggregate_map(const struct bpf_map *lines, const struct bpf_map *tables,
		  const struct aggregate_config *config, uint32_t first, uint32_t first_key,
		  struct aggregate **out)
{
	struct aggregate *a = mem_zalloc(sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	rc = map_lines(a, lines, first, config->nr_cpus)
		 ?: name_tables(tables, config, first, first_key);
	if (rc)
		aggregate_close(a);
	else
		*out = a;
	return rc;
}

static int load(struct aggregate_bpf *p, const struct aggregate_config *config,
		struct aggregate **out, struct err *e)
{
	return configure(p, config, e)
		   ?: loading_load(p->skeleton)
		   ?: aggregate_map(p->maps.lines, p->maps.tables, config, 0, 0, out);
}

int aggregate_open(const struct aggregate_config *config, struct aggregate **out, struct err *e)
{
	struct aggregate_bpf *p = NULL;
	int rc;

	loading_begin();
	rc = loading_open(&aggregate_programs, &p) ?: load(p, config, out, e);
	loading_end();
	if (rc) {
		loading_close(p);
		return e->code ? e->code : loading_refuse(rc, e);
	}
	(*out)->programs = p;
	(*out)->has_places = true;
	return 0;
}

void aggregate_close(struct aggregate *a)
{
	if (!a)
		return;
	if (a->lines)
		munmap(a->lines, a->map_bytes);
	loading_close(a->programs);
	mem_free(a);
}

int aggregate_program(const struct aggregate *a)
{
	return a->programs ? bpf_program__fd(a->programs->progs.aggregate) : -1;
}

/* The program sets is_busy before it reads is_on. It runs in an interrupt, so it ends soon. */
void aggregate_hold(struct aggregate *a, uint32_t table)
{
	struct bpf_aggregate_head *head = &table_of(a, table)->head;
	const struct timespec nap = {.tv_nsec = HOLD_NS};

	__atomic_store_n(&head->is_on, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < MAX_HOLDS && __atomic_load_n(&head->is_busy, __ATOMIC_SEQ_CST);
	     i++)
		(void)nanosleep(&nap, NULL);
}

void aggregate_resume(struct aggregate *a, uint32_t table)
{
	union bpf_aggregate_line *t = table_of(a, table);

	memset(t + 1, 0, (size_t)AGGREGATE_SLOTS * LINE_BYTES);
	t->head.nr_lines = 0;
	t->head.nr_samples = t->head.nr_full = t->head.nr_failed = 0;
	__atomic_store_n(&t->head.is_on, 1, __ATOMIC_SEQ_CST);
}

/* False: there was no room for the sums. */
static bool read_places(const union bpf_aggregate_line *t, const struct bpf_aggregate_slot *s,
			int16_t sums[PLACE_SUMS])
{
	if (s->samples > PLACE_FEW) {
		if (s->places)
			memcpy(sums, t[FIRST_STACK + s->places - 1].sums,
			       PLACE_SUMS * sizeof(*sums));
		return s->places;
	}
	place_count_few(sums, s->places, s->samples);
	return true;
}

bool aggregate_next(const struct aggregate *a, uint32_t table, uint32_t *at,
		    struct aggregate_stack *out)
{
	const union bpf_aggregate_line *t = table_of(a, table);
	const struct bpf_aggregate_slot *s;
	uint32_t kernel;

	while (*at < AGGREGATE_SLOTS && !t[1 + *at].slot.hash)
		++*at;
	if (*at == AGGREGATE_SLOTS)
		return false;
	s = &t[1 + (*at)++].slot;
	kernel = (s->nr_kernel + BPF_AGGREGATE_LINE_WORDS - 1u) / BPF_AGGREGATE_LINE_WORDS;
	*out = (struct aggregate_stack){
	    .pid = s->pid,
	    .tid = s->tid,
	    .samples = s->samples,
	    .weight = s->weight,
	    .begin_ns = s->begin_ns,
	    .end_ns = s->end_ns,
	    .kernel = (const uint64_t *)t[FIRST_STACK + s->line].words,
	    .user = (const uint64_t *)t[FIRST_STACK + s->line + kernel].words,
	    .nr_kernel = s->nr_kernel,
	    .nr_user = s->nr_user,
	};
	out->has_places = a->has_places && read_places(t, s, out->sums);
	return true;
}

struct aggregate_counts aggregate_counts(const struct aggregate *a, uint32_t table)
{
	const struct bpf_aggregate_head *head = &table_of(a, table)->head;

	return (struct aggregate_counts){head->nr_samples, head->nr_full, head->nr_failed};
}
