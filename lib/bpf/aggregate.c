/*
 * Loading the program of aggregate.bpf.c, and reading its tables in shared memory: without system
 * calls, during which the kernel would skip samples of this CPU.
 */
#include "bpf/aggregate.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>

#ifdef CPUPERF_HAS_BPF

#include "bpf/aggregate_shared.h"
#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/aggregate.skel.h"

enum {
	LINE_BYTES = sizeof(union bpf_aggregate_line),
	NR_LINES = AGGREGATE_TABLE_BYTES / LINE_BYTES, /* of a table */
	NR_SLOTS = NR_LINES / 4,
	FIRST_STACK = 1 + NR_SLOTS,
	PID_NAMESPACE_INODE = 0xeffffffc, /* PROC_PID_INIT_INO: of the first one */
	HOLD_NS = 20000,
	MAX_HOLDS = 50000,
};

_Static_assert(AGGREGATE_MAX_STACK + 2 < BPF_AGGREGATE_STACK_WORDS, "two marks, and room");
_Static_assert(LINE_BYTES == 8 * BPF_AGGREGATE_LINE_WORDS, "head and slot are a line each");

struct aggregate {
	struct aggregate_bpf *programs;  /* owned */
	union bpf_aggregate_line *lines; /* mapped; of all tables */
	size_t map_bytes;
	uint32_t nr_tables;
};

static union bpf_aggregate_line *table_of(const struct aggregate *a, uint32_t table)
{
	return a->lines + (size_t)table * NR_LINES;
}

/* The program sees processes by their numbers in the first namespace. */
static bool is_in_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != PID_NAMESPACE_INODE;
}

static int configure(struct aggregate *a, struct err *e)
{
	struct aggregate_bpf *p = a->programs;
	int nr_cpus = libbpf_num_possible_cpus();

	if (is_in_namespace())
		return err_set(e, -ENOTSUP,
			       "samples are not added up in a PID namespace: the kernel's program "
			       "sees other numbers of processes");
	if (nr_cpus < 0)
		return nr_cpus;
	p->rodata->nr_lines = NR_LINES;
	p->rodata->nr_slots = NR_SLOTS;
	return bpf_map__set_max_entries(p->maps.lines, a->nr_tables * NR_LINES)
		   ?: bpf_map__set_max_entries(p->maps.tables, (uint32_t)nr_cpus);
}

static int map_lines(struct aggregate *a)
{
	void *base;

	a->map_bytes = (size_t)a->nr_tables * AGGREGATE_TABLE_BYTES;
	base = mmap(NULL, a->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		    bpf_map__fd(a->programs->maps.lines), 0);
	if (base == MAP_FAILED)
		return -errno;
	a->lines = base;
	return 0;
}

/* The program looks for its table by the CPU's number. */
static int name_tables(const struct aggregate *a, const struct aggregate_config *c)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->nr_cpus && rc == 0; i++) {
		uint32_t table = i + 1;

		rc = bpf_map_update_elem(bpf_map__fd(a->programs->maps.tables), &c->cpus[i], &table,
					 BPF_ANY);
	}
	return rc;
}

static int load(struct aggregate *a, const struct aggregate_config *config, struct err *e)
{
	int rc;

	a->programs = aggregate_bpf__open();
	rc = a->programs ? configure(a, e) : -errno;
	return rc ?: aggregate_bpf__load(a->programs) ?: map_lines(a) ?: name_tables(a, config);
}

int aggregate_open(const struct aggregate_config *config, struct aggregate **out, struct err *e)
{
	struct aggregate *a = mem_zalloc(sizeof(*a));
	int rc;

	if (!a)
		return err_set(e, -ENOMEM, "out of memory");
	a->nr_tables = config->nr_cpus;
	loading_begin();
	rc = load(a, config, e);
	loading_end();
	if (rc) {
		aggregate_close(a);
		return e->code ? e->code : loading_refuse(rc, e);
	}
	*out = a;
	return 0;
}

void aggregate_close(struct aggregate *a)
{
	if (!a)
		return;
	if (a->lines)
		munmap(a->lines, a->map_bytes);
	aggregate_bpf__destroy(a->programs);
	mem_free(a);
}

int aggregate_program(const struct aggregate *a)
{
	return bpf_program__fd(a->programs->progs.aggregate);
}

/* The program sets is_busy before it reads is_on. It runs in an interrupt, so it ends soon. */
void aggregate_hold(struct aggregate *a, uint32_t table)
{
	struct bpf_aggregate_head *head = &table_of(a, table)->head;
	const struct timespec nap = {.tv_nsec = HOLD_NS};

	__atomic_store_n(&head->is_on, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < MAX_HOLDS && __atomic_load_n(&head->is_busy, __ATOMIC_SEQ_CST); i++)
		(void)nanosleep(&nap, NULL);
}

void aggregate_resume(struct aggregate *a, uint32_t table)
{
	union bpf_aggregate_line *t = table_of(a, table);

	memset(t + 1, 0, (size_t)NR_SLOTS * LINE_BYTES);
	t->head.nr_lines = 0;
	t->head.nr_samples = t->head.nr_full = t->head.nr_failed = 0;
	__atomic_store_n(&t->head.is_on, 1, __ATOMIC_SEQ_CST);
}

bool aggregate_next(const struct aggregate *a, uint32_t table, uint32_t *at,
		    struct aggregate_stack *out)
{
	const union bpf_aggregate_line *t = table_of(a, table);
	const struct bpf_aggregate_slot *s;
	uint32_t kernel;

	while (*at < NR_SLOTS && !t[1 + *at].slot.hash)
		++*at;
	if (*at == NR_SLOTS)
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
	return true;
}

struct aggregate_counts aggregate_counts(const struct aggregate *a, uint32_t table)
{
	const struct bpf_aggregate_head *head = &table_of(a, table)->head;

	return (struct aggregate_counts){head->nr_samples, head->nr_full, head->nr_failed};
}

#else

int aggregate_open(const struct aggregate_config *config, struct aggregate **out, struct err *e)
{
	(void)config;
	(void)out;
	return err_set(e, -ENOTSUP, "this cpuperf was built without libbpf");
}

void aggregate_close(struct aggregate *a)
{
	(void)a;
}

int aggregate_program(const struct aggregate *a)
{
	(void)a;
	return -1;
}

void aggregate_hold(struct aggregate *a, uint32_t table)
{
	(void)a;
	(void)table;
}

void aggregate_resume(struct aggregate *a, uint32_t table)
{
	(void)a;
	(void)table;
}

bool aggregate_next(const struct aggregate *a, uint32_t table, uint32_t *at,
		    struct aggregate_stack *out)
{
	(void)a;
	(void)table;
	(void)at;
	(void)out;
	return false;
}

struct aggregate_counts aggregate_counts(const struct aggregate *a, uint32_t table)
{
	(void)a;
	(void)table;
	return (struct aggregate_counts){0};
}

#endif
