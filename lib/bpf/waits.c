/*
 * Loading and reading the programs of waits.bpf.c.
 */
#include "bpf/waits.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/root.h"

#include <errno.h>
#include <string.h>

#include "bpf/aggregate_tables.h"
#include "bpf/btf_types.h"
#include "bpf/interpreted.h"
#include "bpf/lasting.h"
#include "bpf/loading.h"
#include "bpf/wait_steps.h"
#include "bpf/waits_shared.h"

#include <asm/perf_regs.h>
#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/generated/waits.h"

struct waits {
	struct waits_bpf *programs;      /* owned */
	struct waits_bpf *interpreting;  /* owned; has the last on_exit; NULL: that of programs */
	struct waits_bpf *lasting;       /* owned; has sample_tasks; NULL: not needed yet */
	struct interpreted *interpreted; /* borrowed; NULL: nothing */
	struct interpreted_user user;
	struct bpf_waits_sums *sums; /* mapped; nr_cpus of them */
	size_t map_bytes;
	uint32_t nr_cpus;
	uint32_t first_table[BPF_NR_WAITS]; /* of those that are added up */
	bool is_command, is_started;
	waits_fn *on_lasting;
	void *arg;
};

/* What unwinding needs of a waker: registers by their bit in samples, ascending. */
static const struct {
	uint8_t bit;
	uint16_t at; /* in struct pt_regs */
} regs[] = {
#if defined(__x86_64__)
    {PERF_REG_X86_BX, offsetof(struct pt_regs, rbx)},
    {PERF_REG_X86_BP, offsetof(struct pt_regs, rbp)},
    {PERF_REG_X86_SP, offsetof(struct pt_regs, rsp)},
    {PERF_REG_X86_IP, offsetof(struct pt_regs, rip)},
    {PERF_REG_X86_R12, offsetof(struct pt_regs, r12)},
    {PERF_REG_X86_R13, offsetof(struct pt_regs, r13)},
    {PERF_REG_X86_R14, offsetof(struct pt_regs, r14)},
    {PERF_REG_X86_R15, offsetof(struct pt_regs, r15)},
#elif defined(__aarch64__) /* struct pt_regs begins with struct user_pt_regs */
    {PERF_REG_ARM64_X19, offsetof(struct user_pt_regs, regs[19])},
    {PERF_REG_ARM64_X20, offsetof(struct user_pt_regs, regs[20])},
    {PERF_REG_ARM64_X21, offsetof(struct user_pt_regs, regs[21])},
    {PERF_REG_ARM64_X22, offsetof(struct user_pt_regs, regs[22])},
    {PERF_REG_ARM64_X23, offsetof(struct user_pt_regs, regs[23])},
    {PERF_REG_ARM64_X24, offsetof(struct user_pt_regs, regs[24])},
    {PERF_REG_ARM64_X25, offsetof(struct user_pt_regs, regs[25])},
    {PERF_REG_ARM64_X26, offsetof(struct user_pt_regs, regs[26])},
    {PERF_REG_ARM64_X27, offsetof(struct user_pt_regs, regs[27])},
    {PERF_REG_ARM64_X28, offsetof(struct user_pt_regs, regs[28])},
    {PERF_REG_ARM64_X29, offsetof(struct user_pt_regs, regs[29])},
    {PERF_REG_ARM64_LR, offsetof(struct user_pt_regs, regs[30])},
    {PERF_REG_ARM64_SP, offsetof(struct user_pt_regs, sp)},
    {PERF_REG_ARM64_PC, offsetof(struct user_pt_regs, pc)},
#endif
};
_Static_assert(ARRAY_NR(regs) <= BPF_WAKER_AGO, "all have a place");
#if defined(__aarch64__)
enum { SP_BIT = PERF_REG_ARM64_SP };
#elif defined(__x86_64__)
enum { SP_BIT = PERF_REG_X86_SP };
#else
enum { SP_BIT };
#endif

/* A system call in struct pt_regs: its number, of which 4 bytes suffice, its arguments, and the
 * segment of code, or the state, of which a bit is mode_64 in programs of 64 bits. */
static const struct {
	uint16_t call_at, argument_at[3], mode_at;
	uint32_t mode_64;
} call = {
#if defined(__x86_64__)
    offsetof(struct pt_regs, orig_rax),
    {offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdx)},
    offsetof(struct pt_regs, cs),
    0x10,                  /* 0x33, where programs of 32 bits have 0x23 */
#elif defined(__aarch64__) /* behind struct user_pt_regs: the first argument, the number */
    sizeof(struct user_pt_regs) + sizeof(uint64_t),
    {sizeof(struct user_pt_regs), offsetof(struct user_pt_regs, regs[1]),
     offsetof(struct user_pt_regs, regs[2])},
    offsetof(struct user_pt_regs, pstate),
    0, /* PSR_MODE32_BIT */
#endif
};
#if defined(__x86_64__) || defined(__aarch64__)
enum { FUTEX_CALL = SYS_futex };
#else
enum { FUTEX_CALL };
#endif

/* Samples that are added up have no place for them. */
static void configure_futexes(struct waits_bpf *p, const struct waits_config *c)
{
	const bool is_wanted = c->mean_ns[WAITS_OFF_CPU] && !c->is_added_up[WAITS_OFF_CPU];

	p->rodata->futex_call = is_wanted ? FUTEX_CALL : 0;
	p->rodata->call_at = call.call_at;
	p->rodata->mode_at = call.mode_at;
	p->rodata->mode_64 = call.mode_64;
	for (size_t i = 0; i < ARRAY_NR(call.argument_at); i++)
		p->rodata->argument_at[i] = call.argument_at[i];
}

_Static_assert(offsetof(struct bpf_waits_waker, user) == BPF_WAKER_SHORT, "as read");
_Static_assert(offsetof(struct bpf_waits_waker, stack) == BPF_WAKER_HEAD, "as read");

static int configure_wakers(struct waits_bpf *p, const struct waits_config *c)
{
	const uint32_t wanted = (c->waker_stack_bytes + BPF_WAKER_PIECE - 1) / BPF_WAKER_PIECE,
		       pieces = wanted < BPF_WAKER_PIECES ? wanted : BPF_WAKER_PIECES;
	const size_t head = offsetof(struct bpf_waker_slot, waker) + BPF_WAKER_HEAD;
	int rc;

	bpf_program__set_autoload(p->progs.on_waking, c->has_wakers);
	if (!c->has_wakers)
		return 0;
	p->rodata->has_wakers = true;
	p->rodata->waker_pieces = pieces ? pieces : 1;
	for (size_t i = 0; i < ARRAY_NR(regs); i++) {
		p->rodata->reg_at[i] = regs[i].at;
		p->rodata->reg_bits |= UINT64_C(1) << regs[i].bit;
		if (regs[i].bit == SP_BIT)
			p->rodata->sp_reg = (uint32_t)i;
	}
	p->rodata->nr_regs = ARRAY_NR(regs);
	rc = bpf_map__set_value_size(p->maps.wakers,
				     (uint32_t)head + p->rodata->waker_pieces * BPF_WAKER_PIECE);
	return rc ?: bpf_map__set_max_entries(p->maps.wakers, BPF_WAKER_SLOTS);
}

static int configure_tables(struct waits *w, const struct waits_config *c, struct err *e)
{
	struct waits_bpf *p = w->programs;
	uint32_t nr = 0, nr_cpus = c->tables ? c->tables->nr_cpus : 0;
	int rc;

	for (int kind = 0; kind < BPF_NR_WAITS; kind++) {
		w->first_table[kind] = nr * nr_cpus;
		p->rodata->is_added_up[kind] = c->is_added_up[kind];
		nr += c->is_added_up[kind];
	}
	rc = nr ? aggregate_check_namespace(e) : 0;
	if (rc || !nr)
		return rc;
	wait_steps_fill(p->rodata->weights);
	p->rodata->max_stack = c->max_stack;
	p->rodata->nr_cpus = w->nr_cpus;
	p->rodata->nr_lines = AGGREGATE_LINES;
	p->rodata->nr_slots = AGGREGATE_SLOTS;
	return aggregate_size(p->maps.lines, p->maps.tables, nr * nr_cpus,
			      BPF_NR_WAITS * w->nr_cpus);
}

/* One of these iterators is loaded. The one of samples takes the verifier 3 ms, and the tasks of a
 * command have mostly ended when they are read: it is loaded when they have not. */
static void configure_reading(struct waits_bpf *p, const struct waits_config *c, bool is_sampled)
{
	const bool is_late = is_sampled && c->follow.is_command;
	struct lasting_regs regs_of;

	bpf_program__set_autoload(p->progs.read_tasks, !is_sampled);
	bpf_program__set_autoload(p->progs.sample_tasks, is_sampled && !is_late);
	bpf_program__set_autoload(p->progs.count_waiting, is_late);
	lasting_get_regs(&regs_of);
	p->rodata->regs_bytes = regs_of.bytes;
	p->rodata->frame_reg = regs_of.fp;
	p->rodata->sp_reg_word = regs_of.sp;
	p->rodata->has_callchain = c->has_callchain;
	p->rodata->stack_bytes = c->stack_bytes;
}

/* One of the two that end waits is loaded. */
static void configure_exit(struct waits_bpf *p, const struct waits_config *c, bool is_sampled)
{
	bool is_plain = !p->rodata->interprets;

	for (int kind = 0; kind < BPF_NR_WAITS; kind++)
		is_plain &= !c->is_added_up[kind];
	bpf_program__set_autoload(p->progs.on_exit, is_sampled && !is_plain);
	bpf_program__set_autoload(p->progs.on_plain_exit, is_sampled && is_plain);
}

static uint32_t max_in_span(uint64_t max_hz)
{
	const uint64_t nr = max_hz * (UINT64_C(1) << BPF_WAITS_SPAN_BITS) / 1000000000;

	return !max_hz ? 0 : nr < 2 ? 2 : nr < UINT16_MAX ? (uint32_t)nr : UINT16_MAX;
}

static int configure(struct waits *w, const struct waits_config *c, struct err *e)
{
	struct waits_bpf *p = w->programs;
	bool is_sampled = c->mean_ns[WAITS_OFF_CPU] || c->mean_ns[WAITS_RUN_QUEUE];

	if (!loading_has_trace("sched_switch"))
		return err_set(e, -ENOTSUP, "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	if (is_sampled && !loading_has_trace("sched_exit_tp")) {
		return err_set(e, -ENOTSUP,
			       "waits can be counted but not sampled: the kernel has no tracepoint "
			       "sched_exit_tp");
	}
	bpf_program__set_autoload(p->progs.selected, c->selects);
	p->rodata->has_exit = is_sampled;
	w->interpreted = is_sampled ? c->interpreted : NULL;
	p->rodata->languages = w->interpreted ? interpreted_languages(w->interpreted) : 0;
	p->rodata->interprets = p->rodata->languages;
	p->rodata->asks = w->interpreted;
	p->rodata->interprets_asleep = p->rodata->interprets && c->interprets_asleep;
	configure_exit(p, c, is_sampled);
	configure_reading(p, c, is_sampled);
	configure_futexes(p, c);
	p->rodata->mean_ns[BPF_WAIT_OFF_CPU] = c->mean_ns[WAITS_OFF_CPU];
	p->rodata->mean_ns[BPF_WAIT_RUN_QUEUE] = c->mean_ns[WAITS_RUN_QUEUE];
	p->rodata->max_in_span[BPF_WAIT_OFF_CPU] = max_in_span(c->max_hz[WAITS_OFF_CPU]);
	p->rodata->max_in_span[BPF_WAIT_RUN_QUEUE] = max_in_span(c->max_hz[WAITS_RUN_QUEUE]);
	p->rodata->counts_wakeups = c->counts_wakeups;
	p->rodata->has_target = c->follow.has_target;
	p->rodata->has_children = c->follow.has_children;
	p->rodata->is_followed = c->follow.is_command;
	bpf_program__set_autoload(p->progs.on_move, c->follow.has_cgroup);
	p->rodata->has_iter_task =
	    c->follow.has_cgroup && btf_types_have_name(&root_live, "bpf_iter_task_new") > 0;
	for (int i = 0; i < BPF_WAITS_NR_SUMS; i++)
		p->bss->disabled_ns[i] = UINT64_MAX;
	return loading_follow(p->obj, &c->follow, true, &p->rodata->cgroup_id, e)
		   ?: interpreted_share(w->interpreted, p->obj, p->rodata->interprets)
		   ?: bpf_map__set_autocreate(p->maps.lasting_work, p->rodata->interprets_asleep)
		   ?: configure_wakers(p, c)
		   ?: configure_tables(w, c, e)
		   ?: bpf_map__set_max_entries(p->maps.sums, w->nr_cpus)
		   ?: bpf_map__set_max_entries(p->maps.off_cpu, w->nr_cpus)
		   ?: bpf_map__set_max_entries(p->maps.run_queue, w->nr_cpus);
}

static int map_sums(struct waits *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;

	w->map_bytes = (w->nr_cpus * sizeof(*w->sums) + page - 1) & ~(page - 1);
	base =
	    mmap(NULL, w->map_bytes, PROT_READ, MAP_SHARED, bpf_map__fd(w->programs->maps.sums), 0);
	if (base == MAP_FAILED)
		return -errno;
	w->sums = base;
	return 0;
}

/* Prepares one more object with the same maps, of which no program is loaded yet. */
static int open_again(const struct waits *w, struct waits_bpf **out)
{
	const struct waits_bpf *from = w->programs;
	struct waits_bpf *p = NULL;
	int rc = loading_open(&waits_programs, &p);

	if (rc)
		return rc;
	memcpy(p->rodata, from->rodata, sizeof(*p->rodata));
	for (int i = 0; i < p->skeleton->prog_cnt; i++)
		bpf_program__set_autoload(*p->skeleton->progs[i].prog, false);
	for (int i = 0; i < p->skeleton->map_cnt && rc == 0; i++) {
		const struct bpf_map *of = *from->skeleton->maps[i].map;
		struct bpf_map *to = *p->skeleton->maps[i].map;

		if (to == p->maps.rodata)
			continue;
		rc = bpf_map__fd(of) >= 0 ? bpf_map__reuse_fd(to, bpf_map__fd(of))
					  : bpf_map__set_autocreate(to, false);
	}
	if (rc)
		loading_close(p);
	else
		*out = p;
	return rc;
}

/* on_exit anew, which interprets. The one before stays attached until then: for a moment both are,
 * and the second finds that nothing is due. */
static int load_interpreting(const struct waits *w, struct waits_bpf **out)
{
	struct waits_bpf *p = NULL;
	int rc = open_again(w, &p);

	if (rc)
		return rc;
	p->rodata->interprets = true;
	p->rodata->languages = interpreted_languages(w->interpreted);
	bpf_program__set_autoload(p->progs.on_exit, true);
	rc = interpreted_share(w->interpreted, p->obj, true) ?: loading_load(p->skeleton);
	if (rc == 0 && w->is_started)
		rc = loading_attach(p->skeleton);
	if (rc)
		loading_close(p);
	else
		*out = p;
	return rc;
}

static int load_lasting(struct waits *w)
{
	struct waits_bpf *p = NULL;
	int rc = open_again(w, &p);

	if (rc)
		return rc;
	bpf_program__set_autoload(p->progs.sample_tasks, true);
	rc = loading_load(p->skeleton) ?: loading_attach(p->skeleton);
	if (rc)
		loading_close(p);
	else
		w->lasting = p;
	return rc;
}

static void detach_first(struct waits *w)
{
	struct waits_bpf *p = w->programs;

	bpf_link__destroy(p->links.on_exit);
	bpf_link__destroy(p->links.on_plain_exit);
	p->links.on_exit = p->links.on_plain_exit = NULL;
}

/* What is selected goes on there. */
static int add_walk(const struct waits *w)
{
	const struct waits_bpf *p = w->programs;
	const int fd = interpreted_walk(w->interpreted);
	const uint32_t first = 0;

	return bpf_program__fd(p->progs.selected) < 0
		   ? 0
		   : bpf_map_update_elem(bpf_map__fd(p->maps.next), &first, &fd, BPF_ANY);
}

/* Without it samples lack what is interpreted. */
static void begin_interpreting(struct interpreted_user *u)
{
	struct waits *w = (struct waits *)((char *)u - offsetof(struct waits, user));
	struct waits_bpf *p = NULL;

	loading_begin();
	(void)add_walk(w);
	if (load_interpreting(w, &p) == 0) {
		if (w->is_started)
			detach_first(w);
		loading_close(w->interpreting);
		w->interpreting = p;
	}
	loading_end();
}

int waits_open(const struct waits_config *config, struct waits **out, struct err *e)
{
	struct waits *w = mem_zalloc(sizeof(*w));
	int rc;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->user.begin = begin_interpreting;
	interpreted_lock(config->interpreted);
	loading_begin();
	w->is_command = config->follow.is_command;
	w->on_lasting = config->on_lasting;
	w->arg = config->arg;
	rc = libbpf_num_possible_cpus();
	w->nr_cpus = rc > 0 ? (uint32_t)rc : 0;
	if (rc > 0) {
		rc = loading_open(&waits_programs, &w->programs) ?: configure(w, config, e);
	}
	if (rc == 0)
		rc = loading_load(w->programs->skeleton);
	if (rc == 0)
		rc = map_sums(w);
	if (rc == 0 && w->programs->rodata->interprets)
		(void)add_walk(w);
	loading_end();
	if (rc == 0 && w->interpreted)
		interpreted_add(w->interpreted, &w->user);
	interpreted_unlock(config->interpreted);
	if (rc) {
		waits_close(w);
		return e->code ? e->code : loading_refuse(rc, e);
	}
	*out = w;
	return 0;
}

void waits_close(struct waits *w)
{
	if (!w)
		return;
	interpreted_lock(w->interpreted);
	if (w->interpreted)
		interpreted_remove(w->interpreted, &w->user);
	interpreted_unlock(w->interpreted);
	if (w->sums)
		munmap(w->sums, w->map_bytes);
	loading_close(w->interpreting);
	loading_close(w->lasting);
	loading_close(w->programs);
	mem_free(w);
}

int waits_open_aggregate(struct waits *w, enum waits_kind kind,
			 const struct aggregate_config *config, struct aggregate **out,
			 struct err *e)
{
	int rc;

	loading_begin();
	rc = aggregate_map(w->programs->maps.lines, w->programs->maps.tables, config,
			   w->first_table[kind], (uint32_t)kind * w->nr_cpus, out);
	loading_end();
	return rc ? loading_refuse(rc, e) : 0;
}

struct selected_program waits_selected(const struct waits *w)
{
	const struct bpf_program *p = w->programs->progs.selected;

	return (struct selected_program){bpf_program__autoload(p) ? bpf_program__fd(p) : -1,
					 bpf_map__fd(w->programs->maps.next),
					 w->programs->rodata->asks};
}

int waits_add_process(struct waits *w, pid_t process)
{
	struct bpf_waits_task member = {.follow.is_member = w->is_command ? BPF_FOLLOW_STARTS : 1};

	return loading_add_process(w->programs->maps.tasks, process, &member);
}

int waits_add_output(struct waits *w, enum waits_kind kind, uint32_t cpu, int fd)
{
	const struct bpf_map *const maps[] = {[WAITS_OFF_CPU] = w->programs->maps.off_cpu,
					      [WAITS_RUN_QUEUE] = w->programs->maps.run_queue};

	if (kind >= ARRAY_NR(maps))
		return 0;
	return loading_update(maps[kind], &cpu, &fd);
}

int waits_start(struct waits *w, struct err *e)
{
	int rc = 0;

	interpreted_lock(w->interpreted);
	loading_begin();
	if (!w->is_started)
		rc = loading_attach(w->programs->skeleton);
	if (rc == 0 && !w->is_started && w->interpreting) {
		rc = loading_attach(w->interpreting->skeleton);
		if (rc == 0)
			detach_first(w);
	}
	loading_end();
	w->is_started |= rc == 0;
	interpreted_unlock(w->interpreted);
	return rc ? loading_refuse(rc, e) : 0;
}

static void ignore(const struct waits_lasting *l, void *arg)
{
	(void)l;
	(void)arg;
}

static int run_iterator(const struct bpf_link *link)
{
	int fd;

	privilege_raise();
	fd = bpf_iter_create(bpf_link__fd(link));
	privilege_lower();
	return fd;
}

/* Of a command: has what reads waits that last loaded if there are any. 1: there are none. */
static int find_lasting(struct waits *w)
{
	int rc;

	if (w->lasting)
		return 0;
	w->programs->bss->nr_waiting = 0;
	rc = loading_run(run_iterator(w->programs->links.count_waiting));
	if (rc || !w->programs->bss->nr_waiting)
		return rc ? rc : 1;
	loading_begin();
	rc = load_lasting(w);
	loading_end();
	return rc;
}

int waits_settle(struct waits *w)
{
	const struct waits_bpf *p = w->programs;
	int rc = 0;

	if (p->links.read_tasks)
		return loading_run(run_iterator(p->links.read_tasks));
	if (p->links.count_waiting)
		rc = find_lasting(w);
	if (rc)
		return rc < 0 ? rc : 0;
	return lasting_read(
	    run_iterator(w->lasting ? w->lasting->links.sample_tasks : p->links.sample_tasks),
	    w->on_lasting ? w->on_lasting : ignore, w->arg);
}

void waits_switch(struct waits *w, enum waits_kind kind, bool is_enabled)
{
	struct waits_bpf__bss *p = w->programs->bss;
	uint64_t now_ns = clock_monotonic_ns();

	if ((p->disabled_ns[kind] == UINT64_MAX) == is_enabled)
		return;
	/* a program may run between the two lines: then the span is empty, or as before */
	if (is_enabled)
		__atomic_store_n(&p->enabled_ns[kind], now_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&p->disabled_ns[kind], is_enabled ? UINT64_MAX : now_ns, __ATOMIC_RELEASE);
	if (!is_enabled && w->is_started)
		(void)waits_settle(w); /* what it does not add up is missing */
}

uint64_t waits_sum(const struct waits *w, enum waits_kind kind, uint32_t cpu)
{
	const volatile struct bpf_waits_sums *s;

	if (cpu >= w->nr_cpus)
		return 0;
	s = &w->sums[cpu];
	return kind == WAITS_WAKEUPS ? s->wakeups : s->ns[kind] + s->settled[kind];
}
