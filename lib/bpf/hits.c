/*
 * Loading, attaching and reading the programs of hits.bpf.c.
 */
#include "bpf/hits.h"

#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/privilege.h"
#include "base/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hits_shared.h"
#include "bpf/loading.h"

#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/generated/hits.h"

_Static_assert((int)HITS_MAX_EVENTS == (int)BPF_HITS_NR_SLOTS &&
		   (int)HITS_OF_PLACE == (int)BPF_HITS_OF_PLACE &&
		   (int)CPUSET_MAX_CPU == (int)BPF_HITS_MAX_CPUS,
	       "what the programs share");
_Static_assert((int)HITS_MAX_FIELDS == (int)BPF_HITS_MAX_FIELDS &&
		   (int)HITS_STRING == (int)BPF_HITS_STRING &&
		   (int)HITS_RESULT == (int)BPF_HITS_RESULT &&
		   (int)HITS_MAX_TERMS == (int)BPF_HITS_MAX_TERMS &&
		   (int)HITS_TEXT_BYTES == (int)BPF_HITS_TEXT_BYTES - 2 &&
		   (int)HITS_NR_VALUE_KINDS == (int)BPF_HITS_NR_VALUE_KINDS,
	       "values");
_Static_assert((int)offsetof(struct bpf_hits_ended, word) == (int)PERF_ABI_ENDED_WORDS &&
		   (int)offsetof(struct bpf_hits_ended, text) == (int)PERF_ABI_ENDED_TEXTS &&
		   (int)offsetof(struct bpf_hits_ended, returns) == (int)PERF_ABI_ENDED_RETURNS &&
		   (int)BPF_HITS_TEXT_BYTES == (int)PERF_ABI_ENDED_TEXT_BYTES,
	       "raw data of samples");

enum { MAX_SUMS_BYTES = 16 << 20, MAX_BUCKETS_BYTES = 32 << 20, MAX_VALUES = 1 << 14 };

struct mapping {
	void *base;
	size_t len;
};

struct links {
	struct bpf_link **perf; /* owned; each with its breakpoint */
	int *fd;                /* owned; of the bare links */
	size_t nr_perf, nr;
};

struct hits {
	struct hits_bpf *programs; /* owned */
	const struct way *way;
	struct hits_config config;
	struct mapping counts, sums, places, buckets, captures, values, value_sums, whens, patterns;
	uint32_t nr_cpus, nr_blocks, nr_buckets;
	uint32_t *order;      /* owned; the places by file */
	pthread_mutex_t lock; /* of the two that follow, from hits_start on */
	struct links links;
	bool is_stopped;
	struct links rest; /* of hits_leave_out, for hits_leave_rest */
	struct links own;  /* of the functions by which costs are measured */
	struct hits_price price[HITS_NR_KINDS];
	bool is_command;
};

/* --- ways ------------------------------------------------------------------------------------ */

struct way {
	enum hits_way id;
	enum bpf_attach_type attach_type;
	bool is_session, is_perf;
};

/* The best first. */
static const struct way ways[] = {
    {HITS_SESSION, (enum bpf_attach_type)LOADING_UPROBE_SESSION, .is_session = true},
    {HITS_MULTI, (enum bpf_attach_type)LOADING_UPROBE_MULTI},
    {HITS_PERF, (enum bpf_attach_type)0, .is_perf = true},
};

/* --- loading --------------------------------------------------------------------------------- */

/* As many numbers of each function as there is memory for: CPUs that share them wait for each
 * other. */
static void choose_sizes(struct hits *h, size_t nr)
{
	size_t blocks = MAX_SUMS_BYTES / sizeof(struct bpf_hits_sums) / nr;
	uint32_t bits = BPF_HITS_MAX_BITS;

	h->nr_blocks = blocks < h->nr_cpus ? (uint32_t)blocks : h->nr_cpus;
	if (!h->nr_blocks)
		h->nr_blocks = 1;
	while (bits > 1 && nr * BPF_HITS_NR_BUCKETS(bits) * sizeof(uint32_t) > MAX_BUCKETS_BYTES)
		bits--;
	h->nr_buckets = BPF_HITS_NR_BUCKETS(bits);
	h->programs->rodata->bits = bits;
	h->programs->rodata->nr_blocks = h->nr_blocks;
	h->programs->rodata->nr_buckets = h->nr_buckets;
}

static int choose_programs(struct hits *h)
{
	struct hits_bpf *b = h->programs;
	bool is_session = h->way->is_session;

	if (!is_session) {
		bpf_program__set_expected_attach_type(b->progs.on_entry, h->way->attach_type);
		bpf_program__set_expected_attach_type(b->progs.on_return, h->way->attach_type);
	}
	return bpf_program__set_autoload(b->progs.on_session, is_session)
	       ?: bpf_program__set_autoload(b->progs.on_entry, !is_session)
	       ?: bpf_program__set_autoload(b->progs.on_return, !is_session)
	       ?: bpf_program__set_autoload(b->progs.on_switch, true)
	       ?: bpf_program__set_autoload(b->progs.on_new_program, true);
}

/* Without captures their memory is that of one value. */
static int size_values(struct hits *h)
{
	struct hits_bpf *b = h->programs;
	uint32_t nr = h->config.nr_captures ? MAX_VALUES : 1;

	b->rodata->max_values = h->config.nr_captures ? nr : 0;
	return bpf_map__set_max_entries(b->maps.captures, (uint32_t)h->config.nr_captures ?: 1)
		   ?: bpf_map__set_max_entries(b->maps.numbers, nr)
		   ?: bpf_map__set_max_entries(b->maps.values, nr)
		   ?: bpf_map__set_max_entries(b->maps.value_sums, nr);
}

/* The last places are those of functions of ours. */
static int configure(struct hits *h, struct err *e)
{
	const struct hits_config *c = &h->config;
	struct hits_bpf *b = h->programs;
	bool follows = c->follow.has_target || c->follow.has_cgroup;
	uint32_t nr = (uint32_t)c->nr_places + HITS_NR_KINDS;
	uint32_t nr_counts = (uint32_t)(c->nr_events ? c->nr_events : 1) * h->nr_cpus;

	if (!loading_has_trace("sched_switch"))
		return err_set(e, -ENOTSUP, "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	b->rodata->nr_cpus = h->nr_cpus;
	choose_sizes(h, nr);
	for (size_t i = 0; i < c->nr_events; i++)
		b->rodata->rates[i] = c->rates[i];
	b->rodata->ended_events = c->ended;
	b->rodata->has_target = c->follow.has_target;
	b->rodata->has_children = c->follow.has_children;
	b->rodata->is_followed = c->follow.is_command;
	b->rodata->has_returns = c->has_returns;
	b->rodata->has_cpus = c->cpus;
	if (c->cpus)
		memcpy(b->rodata->measured_cpus, c->cpus->bits, sizeof(b->rodata->measured_cpus));
	return loading_follow(b->obj, &c->follow, follows, &b->rodata->cgroup_id, e)
		   ?: choose_programs(h)
		   ?: bpf_map__set_max_entries(b->maps.counts, nr_counts)
		   ?: bpf_map__set_max_entries(b->maps.outputs, nr_counts)
		   ?: bpf_map__set_max_entries(b->maps.places, nr)
		   ?: bpf_map__set_max_entries(b->maps.whens, (uint32_t)c->nr_whens ?: 1)
		   ?: bpf_map__set_max_entries(b->maps.patterns, (uint32_t)c->nr_patterns ?: 1)
		   ?: bpf_map__set_max_entries(b->maps.sums, nr * h->nr_blocks)
		   ?: bpf_map__set_max_entries(b->maps.buckets, nr) ?: size_values(h)
		   ?: bpf_map__set_value_size(b->maps.buckets,
					      h->nr_buckets * (uint32_t)sizeof(uint32_t));
}

static int map_memory(const struct bpf_map *map, int protection, struct mapping *out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *base;

	len = (len + page - 1) & ~(page - 1);
	base = mmap(NULL, len, protection, MAP_SHARED, bpf_map__fd(map), 0);
	if (base == MAP_FAILED)
		return -errno;
	*out = (struct mapping){base, len};
	return 0;
}

static void unmap(struct mapping *m)
{
	if (m->base)
		munmap(m->base, m->len);
	*m = (struct mapping){0};
}

static int map_all(struct hits *h)
{
	return map_memory(h->programs->maps.counts, PROT_READ, &h->counts)
		   ?: map_memory(h->programs->maps.sums, PROT_READ, &h->sums)
		   ?: map_memory(h->programs->maps.buckets, PROT_READ, &h->buckets)
		   ?: map_memory(h->programs->maps.places, PROT_READ | PROT_WRITE, &h->places)
		   ?: map_memory(h->programs->maps.captures, PROT_READ | PROT_WRITE, &h->captures)
		   ?: map_memory(h->programs->maps.whens, PROT_READ | PROT_WRITE, &h->whens)
		   ?: map_memory(h->programs->maps.patterns, PROT_READ | PROT_WRITE, &h->patterns)
		   ?: map_memory(h->programs->maps.values, PROT_READ, &h->values)
		   ?: map_memory(h->programs->maps.value_sums, PROT_READ, &h->value_sums);
}

/* Of struct pt_regs, by the calling convention. */
#if defined(__x86_64__)
#define OFFSET(name) (uint32_t) offsetof(struct pt_regs, name)
static const uint32_t arguments[] = {OFFSET(rdi), OFFSET(rsi), OFFSET(rdx),
				     OFFSET(rcx), OFFSET(r8),  OFFSET(r9)};
enum { RESULT = offsetof(struct pt_regs, rax), STACK = 8 }; /* the return address */
#elif defined(__aarch64__)
static const uint32_t arguments[] = {0, 8, 16, 24, 32, 40, 48, 56};
enum { RESULT = 0, STACK = 0 };
#endif

static struct bpf_hits_field describe_field(const struct hits_field *f, uint32_t text)
{
	struct bpf_hits_field to = {.type = (uint8_t)f->type,
				    .where = (uint8_t)f->where,
				    .shift = (uint8_t)(64 - 8 * f->bytes),
				    .text = (uint8_t)text,
				    .offset = RESULT};

	if (f->where == HITS_REGISTER)
		to.offset = arguments[f->number];
	if (f->where == HITS_STACK)
		to.offset = STACK + 8 * f->number;
	return to;
}

static void describe_captures(struct hits *h)
{
	struct bpf_hits_capture *to = h->captures.base;

	for (size_t i = 0; i < h->config.nr_captures; i++) {
		const struct hits_capture *from = &h->config.captures[i];

		to[i] = (struct bpf_hits_capture){.events = from->events,
						  .wanted = from->events | from->wanted,
						  .nr = (uint32_t)from->nr};
		for (size_t k = 0; k < from->nr; k++) {
			to[i].field[k] = describe_field(&from->field[k], to[i].nr_texts);
			to[i].nr_texts += from->field[k].type == HITS_STRING;
		}
	}
}

static void describe_when(const struct hits_when *from, struct bpf_hits_when *to)
{
	*to = (struct bpf_hits_when){.nr = (uint32_t)from->nr};
	for (size_t i = 0; i < from->nr; i++) {
		const struct hits_term *t = &from->term[i];

		to->term[i] = (struct bpf_hits_term){
		    .event = (uint8_t)t->event,
		    .field = (uint8_t)t->field,
		    .next = {t->next[0], t->next[1]},
		    .is_result = t->is_result,
		    .pattern = (uint16_t)t->pattern,
		    .range = {t->range.low, t->range.span},
		};
		to->nr_patterns += t->pattern != 0;
	}
}

/* The 0 behind a text that is meant whole is compared, too. */
static void describe_pattern(const struct hits_pattern *from, struct bpf_hits_pattern *to)
{
	*to = (struct bpf_hits_pattern){.mask = {0}};
	memcpy(to->word, from->text, from->len);
	memset(to->mask, 0xff, from->len + !from->is_begin);
}

static void describe_whens(struct hits *h)
{
	for (size_t i = 0; i < h->config.nr_whens; i++)
		describe_when(&h->config.whens[i], (struct bpf_hits_when *)h->whens.base + i);
	for (size_t i = 0; i < h->config.nr_patterns; i++)
		describe_pattern(&h->config.patterns[i],
				 (struct bpf_hits_pattern *)h->patterns.base + i);
}

static void describe_places(struct hits *h)
{
	struct bpf_hits_place *to = h->places.base;

	for (size_t i = 0; i < h->config.nr_places; i++) {
		const struct hits_place *from = &h->config.places[i];

		to[i] = (struct bpf_hits_place){.events = from->events,
						.is_timed = from->is_timed,
						.cost_ns = from->cost_ns,
						.capture = from->capture,
						.when = from->when};
	}
	for (size_t i = 0; i < HITS_NR_KINDS; i++)
		to[h->config.nr_places + i] = (struct bpf_hits_place){.is_timed = 1, .is_own = 1};
}

static int load(struct hits *h, struct err *e)
{
	int rc = loading_open(&hits_programs, &h->programs);

	rc = rc ?: configure(h, e);
	rc = rc ?: loading_load(h->programs->skeleton) ?: map_all(h);
	if (rc == 0) {
		describe_places(h);
		describe_captures(h);
		describe_whens(h);
	}
	return rc;
}

static void unload(struct hits *h)
{
	unmap(&h->counts);
	unmap(&h->sums);
	unmap(&h->places);
	unmap(&h->buckets);
	unmap(&h->captures);
	unmap(&h->whens);
	unmap(&h->patterns);
	unmap(&h->values);
	unmap(&h->value_sums);
	loading_close(h->programs);
	h->programs = NULL;
}

/* --- breakpoints ----------------------------------------------------------------------------- */

/* Links that several threads close. */
struct closing {
	struct links *links;
	atomic_size_t next;
};

static void *close_some(void *arg)
{
	struct closing *c = arg;
	struct links *l = c->links;

	for (size_t i = atomic_fetch_add(&c->next, 1); i < l->nr + l->nr_perf;
	     i = atomic_fetch_add(&c->next, 1)) {
		if (i < l->nr)
			close(l->fd[i]);
		else
			(void)bpf_link__destroy(l->perf[i - l->nr]);
	}
	return NULL;
}

/* The kernel waits at each until nobody runs its programs, 20 to 100 ms: together that is as long
 * as for one. */
static void close_links(struct links *l)
{
	enum { THREADS = 16 };
	struct closing c = {.links = l};
	pthread_t thread[THREADS];
	size_t nr = 0;

	while (nr < THREADS && nr + 1 < l->nr + l->nr_perf &&
	       thread_start_blocked(&thread[nr], close_some, &c) == 0)
		nr++;
	close_some(&c);
	while (nr)
		pthread_join(thread[--nr], NULL);
	mem_free(l->perf);
	mem_free(l->fd);
	*l = (struct links){0};
}

/* Each file has two links, or each place has two; and there is room for our own. */
static int init_links(struct links *l, const struct way *way, size_t nr_places)
{
	if (way->is_perf)
		l->perf = mem_calloc(2 * (nr_places + HITS_NR_KINDS), sizeof(*l->perf));
	else
		l->fd = mem_calloc(2 * (nr_places + HITS_NR_KINDS), sizeof(*l->fd));
	return l->perf || l->fd ? 0 : -ENOMEM;
}

/* Places of one file. */
struct batch {
	const char *path;
	uint64_t *offset, *cookie;
	uint32_t nr;
	pid_t process;
};

/* bpf_attr of BPF_LINK_CREATE, which the headers of old kernels lack. */
struct link_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t nr, multi_flags, process, unused;
};

static int add_multi(struct links *l, const struct way *way, const struct bpf_program *program,
		     const struct batch *b, bool is_return)
{
	enum { RETURN = 1 }; /* BPF_F_UPROBE_MULTI_RETURN */
	struct link_attr attr = {.program = (uint32_t)bpf_program__fd(program),
				 .attach_type = way->attach_type,
				 .path = (uintptr_t)b->path,
				 .offsets = (uintptr_t)b->offset,
				 .cookies = (uintptr_t)b->cookie,
				 .nr = b->nr,
				 .multi_flags = is_return ? RETURN : 0,
				 .process = (uint32_t)b->process};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return -errno;
	l->fd[l->nr++] = (int)fd;
	return 0;
}

/* One for all processes: on one CPU, since the breakpoint is the same on all. */
static int add_perf(struct links *l, const struct hits *h, const struct bpf_program *program,
		    const struct batch *b, bool is_return)
{
	for (uint32_t i = 0; i < b->nr; i++) {
		DECLARE_LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = b->cookie[i]);
		struct perf_event_attr attr = {.type = h->config.pmu,
					       .size = sizeof(attr),
					       .config = is_return,
					       .config1 = (uintptr_t)b->path,
					       .config2 = b->offset[i]};
		long fd = syscall(SYS_perf_event_open, &attr, -1, (int)h->config.cpu, -1,
				  PERF_FLAG_FD_CLOEXEC);
		struct bpf_link *link;

		if (fd < 0)
			return -errno;
		link = bpf_program__attach_perf_event_opts(program, (int)fd, &opts);
		if (!link) {
			int rc = -errno;

			close((int)fd);
			return rc;
		}
		l->perf[l->nr_perf++] = link; /* it owns fd */
	}
	return 0;
}

static int add_links(struct links *l, const struct hits *h, const struct batch *b, bool is_return)
{
	const struct bpf_program *p = is_return            ? h->programs->progs.on_return
				      : h->way->is_session ? h->programs->progs.on_session
							   : h->programs->progs.on_entry;

	if (!b->nr)
		return 0;
	return h->way->is_perf ? add_perf(l, h, p, b, is_return)
			       : add_multi(l, h->way, p, b, is_return);
}

static uint64_t cookie_of(size_t place, uint32_t generation)
{
	return (uint64_t)generation << 32 | place;
}

/* Where return addresses are not replaced, a session's program says so at each call: others have
 * no breakpoint for the return. Returns come first: an entry without return would stay open. */
static int attach_file(struct links *l, const struct hits *h, const uint32_t *order, size_t nr,
		       const bool *is_out, uint32_t generation, struct batch *b)
{
	int rc = 0;

	b->path = h->config.places[order[0]].path;
	for (int is_return = !h->way->is_session; is_return >= 0 && rc == 0; is_return--) {
		b->nr = 0;
		for (size_t i = 0; i < nr; i++) {
			const struct hits_place *p = &h->config.places[order[i]];

			if ((is_out && is_out[order[i]]) || (is_return && !p->is_timed))
				continue;
			b->offset[b->nr] = p->offset;
			b->cookie[b->nr++] = cookie_of(order[i], generation);
		}
		rc = add_links(l, h, b, is_return);
	}
	return rc;
}

static int attach_all(struct links *l, const struct hits *h, const bool *is_out,
		      uint32_t generation, struct batch *b)
{
	size_t nr_places = h->config.nr_places;
	int rc = init_links(l, h->way, nr_places);

	for (size_t i = 0, nr = 0; i < nr_places && rc == 0; i += nr) {
		const struct hits_place *p = h->config.places;

		for (nr = 1; i + nr < nr_places &&
			     strcmp(p[h->order[i]].path, p[h->order[i + nr]].path) == 0;)
			nr++;
		rc = attach_file(l, h, h->order + i, nr, is_out, generation, b);
	}
	if (rc)
		close_links(l);
	return rc;
}

/* The kernel knows no thread as the process in which alone the breakpoints are: then in all. */
static int attach(struct links *l, const struct hits *h, const bool *is_out, uint32_t generation,
		  struct err *e)
{
	size_t nr_places = h->config.nr_places;
	MEM_AUTO uint64_t *offset = mem_calloc(nr_places + 1, sizeof(*offset));
	MEM_AUTO uint64_t *cookie = mem_calloc(nr_places + 1, sizeof(*cookie));
	struct batch b = {.offset = offset, .cookie = cookie, .process = h->config.process};
	int rc = offset && cookie ? attach_all(l, h, is_out, generation, &b) : -ENOMEM;

	if (rc == -ESRCH && b.process) {
		b.process = 0;
		rc = attach_all(l, h, is_out, generation, &b);
	}
	if (rc == -EPERM || rc == -EACCES)
		err_set(e, -EPERM, "probing programs (uprobes) is not permitted");
	else if (rc && rc != -ENOMEM)
		err_set(e, -ENOTSUP, "the kernel sets no breakpoints in %.150s: %s", b.path,
			strerror(-rc));
	return rc;
}

/* --- what a call costs ----------------------------------------------------------------------- */

/* Functions that do nothing, and begin with an instruction of each kind. */
#if defined(__x86_64__)
#define OWN_TYPE    "@function"
#define OWN_CHEAP   "push %rbp\npop %rbp\nret\n"
#define OWN_STEPPED "mov %rdi,%rax\nret\n"
#elif defined(__aarch64__)
#define OWN_TYPE    "%function"
#define OWN_CHEAP   "nop\nret\n"
#define OWN_STEPPED "mov x0,x0\nret\n"
#endif
#define OWN(name, code)                                                                            \
	__asm__(".pushsection .text\n.p2align 4\n.type " name "," OWN_TYPE "\n" name ": " code     \
		".size " name ",.-" name "\n.popsection")
OWN("cpuperf_hits_cheap", OWN_CHEAP);
OWN("cpuperf_hits_stepped", OWN_STEPPED);
extern void call_cheap(void) __asm__("cpuperf_hits_cheap");
extern void call_stepped(void) __asm__("cpuperf_hits_stepped");

typedef void own_fn(void);
static own_fn *const own_functions[HITS_NR_KINDS] = {
    [HITS_CHEAP] = call_cheap,
    [HITS_STEPPED] = call_stepped,
};

struct own {
	const char *path;
	uint64_t offset[HITS_NR_KINDS]; /* in the file */
};

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct own *own = arg;
	uint64_t address = (uintptr_t)call_cheap - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || address - p->p_vaddr >= p->p_filesz)
			continue;
		for (size_t k = 0; k < HITS_NR_KINDS; k++)
			own->offset[k] = (uintptr_t)own_functions[k] - info->dlpi_addr -
					 p->p_vaddr + p->p_offset;
		own->path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
		return 1;
	}
	return 0;
}

static uint64_t time_calls(own_fn *fn, int nr)
{
	uint64_t begin = clock_monotonic_ns();

	for (int i = 0; i < nr; i++)
		fn();
	return clock_monotonic_ns() - begin;
}

/* The least of several batches: others may run meanwhile. */
static struct hits_price measure(const struct hits *h, enum hits_kind kind)
{
	enum { BATCHES = 5, CALLS = 40 };
	size_t place = h->config.nr_places + kind;
	struct hits_price least = {0};

	for (int i = 0; i < BATCHES; i++) {
		struct hits_sums before, after;
		uint64_t ns;

		hits_read(h, place, &before);
		ns = time_calls(own_functions[kind], CALLS) / CALLS;
		hits_read(h, place, &after);
		if (after.calls - before.calls != CALLS)
			return (struct hits_price){0};
		if (least.cost_ns && ns >= least.cost_ns)
			continue;
		least.cost_ns = (uint32_t)ns;
		least.inside_ns = (uint32_t)((after.wall_ns - before.wall_ns) / CALLS);
	}
	return least;
}

/* Sets breakpoints in our own functions: 0 if this way works. They stay there until the end, as
 * removing them takes longer than all the rest. */
static int try_own(struct hits *h)
{
	struct own own = {0};
	uint64_t cookie[HITS_NR_KINDS];
	struct batch b = {
	    .offset = own.offset, .cookie = cookie, .nr = HITS_NR_KINDS, .process = getpid()};
	int rc = init_links(&h->own, h->way, HITS_NR_KINDS);

	dl_iterate_phdr(find_own, &own);
	b.path = own.path;
	if (rc || !own.path)
		return rc;
	for (size_t i = 0; i < HITS_NR_KINDS; i++)
		cookie[i] = cookie_of(h->config.nr_places + i, 0);
	for (int is_return = !h->way->is_session; is_return >= 0 && rc == 0; is_return--)
		rc = add_links(&h->own, h, &b, is_return);
	for (int i = 0; i < HITS_NR_KINDS && rc == 0; i++)
		h->price[i] = measure(h, (enum hits_kind)i);
	return rc;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b, void *places)
{
	const struct hits_place *p = places;
	const uint32_t *x = a, *y = b;
	int order = strcmp(p[*x].path, p[*y].path);

	return order ?: p[*x].offset < p[*y].offset ? -1 : p[*x].offset > p[*y].offset;
}

static int sort_places(struct hits *h)
{
	size_t nr = h->config.nr_places;

	h->order = mem_calloc(nr + 1, sizeof(*h->order));
	if (!h->order)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		h->order[i] = (uint32_t)i;
	qsort_r(h->order, nr, sizeof(*h->order), compare_places, (void *)h->config.places);
	return 0;
}

/* The first way that works. *e: why the last one did not. */
static int find_way(struct hits *h, struct err *e)
{
	int rc = -ENOTSUP;

	for (size_t i = h->config.first_way; i < sizeof(ways) / sizeof(*ways); i++) {
		struct err why = {0};

		if (ways[i].is_perf && !h->config.pmu)
			break;
		if (ways[i].is_perf && h->config.nr_places > HITS_MAX_PERF)
			return err_set(
			    e, -ENOTSUP,
			    "this kernel sets breakpoints one by one (Linux 6.6 sets many "
			    "at once): at most %d functions can be measured",
			    HITS_MAX_PERF);
		h->way = &ways[i];
		rc = load(h, &why) ?: try_own(h);
		if (rc == 0)
			return 0;
		*e = why;
		close_links(&h->own);
		unload(h);
		if (rc == -EPERM || rc == -ENOMEM || why.code)
			break; /* nor do the others */
	}
	return rc;
}

int hits_open(const struct hits_config *config, struct hits **out, struct err *e)
{
	struct hits *h;
	int rc;

	if (config->nr_places > HITS_MAX_PLACES)
		return err_set(e, -ENOTSUP, "at most %d functions can be measured at once",
			       HITS_MAX_PLACES);
	h = mem_zalloc(sizeof(*h));
	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	pthread_mutex_init(&h->lock, NULL);
	h->config = *config;
	h->is_command = config->follow.is_command;
	loading_begin();
	rc = libbpf_num_possible_cpus();
	h->nr_cpus = rc > 0 ? (uint32_t)rc : 0;
	rc = rc > 0 ? sort_places(h) : rc;
	rc = rc ?: find_way(h, e);
	if (rc && !e->code)
		(void)loading_refuse(rc, e);
	loading_end();
	if (rc) {
		hits_close(h);
		return e->code;
	}
	*out = h;
	return 0;
}

/* So that they are closed together. */
static void adopt_own(struct hits *h)
{
	struct links *to = &h->links, *from = &h->own;

	while (from->nr && to->fd)
		to->fd[to->nr++] = from->fd[--from->nr];
	while (from->nr_perf && to->perf)
		to->perf[to->nr_perf++] = from->perf[--from->nr_perf];
}

void hits_close(struct hits *h)
{
	if (!h)
		return;
	adopt_own(h);
	close_links(&h->links);
	close_links(&h->rest);
	close_links(&h->own);
	unload(h);
	pthread_mutex_destroy(&h->lock);
	mem_free(h->order);
	mem_free(h);
}

enum hits_way hits_way(const struct hits *h)
{
	return h->way->id;
}

struct hits_price hits_price(const struct hits *h, enum hits_kind kind)
{
	return h->price[kind];
}

void hits_set_price(struct hits *h, size_t place, struct hits_price price)
{
	struct bpf_hits_place *p = (struct bpf_hits_place *)h->places.base + place;

	p->cost_ns = price.cost_ns;
	p->inside_ns = price.inside_ns;
	p->entry_ns = price.entry_ns;
}

int hits_add_process(struct hits *h, pid_t process)
{
	static const struct bpf_hits_task zero;
	struct bpf_hits_task member = zero;

	member.follow.is_member = h->is_command ? BPF_FOLLOW_STARTS : 1;
	return loading_add_process(h->programs->maps.tasks, process, &member);
}

int hits_add_output(struct hits *h, size_t event, uint32_t cpu, int fd)
{
	uint32_t at = (uint32_t)event * h->nr_cpus + cpu;

	return loading_update(h->programs->maps.outputs, &at, &fd);
}

int hits_start(struct hits *h, struct err *e)
{
	int rc;

	loading_begin();
	rc = loading_attach(h->programs->skeleton);
	if (rc)
		rc = loading_refuse(rc, e);
	rc = rc ?: attach(&h->links, h, NULL, 0, e);
	loading_end();
	return rc;
}

/* Exchanges the links with *links. Once all has been stopped, nothing changes. In either case
 * *links is to be closed then, without the lock, as that may last. */
static void replace_links(struct hits *h, struct links *links, bool stops)
{
	struct links before;

	pthread_mutex_lock(&h->lock);
	before = h->links;
	if (!h->is_stopped) {
		h->links = *links;
		*links = before;
	}
	h->is_stopped |= stops;
	pthread_mutex_unlock(&h->lock);
}

int hits_leave_out(struct hits *h, const bool *is_out)
{
	uint32_t generation = h->programs->bss->generation + 1;
	struct links links = {0};
	struct err e = {0};
	int rc;

	privilege_raise();
	rc = attach(&links, h, is_out, generation, &e);
	if (rc == 0) {
		__atomic_store_n(&h->programs->bss->generation, generation, __ATOMIC_RELEASE);
		replace_links(h, &links, false);
		h->rest = links;
	}
	privilege_lower();
	return rc;
}

void hits_leave_rest(struct hits *h)
{
	privilege_raise();
	close_links(&h->rest);
	privilege_lower();
}

void hits_stop(struct hits *h)
{
	struct links links = {0};

	replace_links(h, &links, true);
	privilege_raise();
	close_links(&links);
	privilege_lower();
}

void hits_switch(struct hits *h, size_t event, bool is_enabled)
{
	uint64_t bit = 1ULL << event;

	if (is_enabled)
		__atomic_fetch_and(&h->programs->bss->disabled, ~bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_or(&h->programs->bss->disabled, bit, __ATOMIC_RELEASE);
}

uint64_t hits_count(const struct hits *h, size_t event, uint32_t cpu, uint64_t *lost)
{
	const volatile struct bpf_hits_counts *c = h->counts.base;

	*lost = 0;
	if (cpu >= h->nr_cpus || event >= h->config.nr_events)
		return 0;
	c += event * h->nr_cpus + cpu;
	*lost = c->lost;
	return c->hits;
}

static const volatile struct bpf_hits_sums *sums_of(const struct hits *h, size_t place)
{
	return (const volatile struct bpf_hits_sums *)h->sums.base + place * h->nr_blocks;
}

uint64_t hits_calls(const struct hits *h, size_t place)
{
	const volatile struct bpf_hits_sums *from = sums_of(h, place);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < h->nr_blocks; i++)
		sum += from[i].calls;
	return sum;
}

void hits_read(const struct hits *h, size_t place, struct hits_sums *out)
{
	const volatile struct bpf_hits_sums *from = sums_of(h, place);

	*out = (struct hits_sums){0};
	for (uint32_t i = 0; i < h->nr_blocks; i++) {
		uint64_t max_ns = from[i].max_ns;

		out->calls += from[i].calls;
		out->wall_ns += from[i].wall_ns;
		out->self_ns += from[i].self_ns;
		out->cpu_ns += from[i].cpu_ns;
		out->cost_ns += from[i].cost_ns;
		out->skipped += from[i].skipped;
		out->left += from[i].left;
		out->max_ns = max_ns > out->max_ns ? max_ns : out->max_ns;
	}
}

const volatile uint32_t *hits_buckets(const struct hits *h, size_t place)
{
	return (const volatile uint32_t *)h->buckets.base + place * h->nr_buckets;
}

uint32_t hits_bits(const struct hits *h)
{
	return h->programs->rodata->bits;
}

uint32_t hits_nr_buckets(const struct hits *h)
{
	return h->nr_buckets;
}

size_t hits_nr_values(const struct hits *h)
{
	uint32_t nr = __atomic_load_n(&h->programs->bss->nr_values, __ATOMIC_ACQUIRE);
	uint32_t most = h->programs->rodata->max_values;

	return nr < most ? nr : most;
}

bool hits_value(const struct hits *h, size_t number, struct hits_value *out)
{
	const struct bpf_hits_value *v = (const struct bpf_hits_value *)h->values.base + number;
	const volatile struct bpf_hits_value_sums *s = h->value_sums.base;
	uint64_t calls = s[number].calls;

	if (!calls)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	*out = (struct hits_value){.capture = v->capture,
				   .field = v->field,
				   .kind = (enum hits_value_kind)v->kind,
				   .text = "",
				   .calls = calls,
				   .timed = s[number].timed,
				   .wall_ns = s[number].wall_ns,
				   .max_ns = s[number].max_ns,
				   .sum = s[number].sum};
	if (out->kind == HITS_VALUE_NUMBER || out->kind == HITS_VALUE_RANGE)
		memcpy(&out->number, v->text, sizeof(out->number));
	else
		out->text = v->text; /* ends with a 0 */
	return true;
}

uint64_t hits_values_lost(const struct hits *h)
{
	return h->programs->bss->values_lost;
}
