/*
 * Builds a perf_event_attr from an event and its use. Source: perf_copy_attr() and
 * perf_event_open() in kernel/events/core.c.
 */
#include "base/mem.h"
#include "base/perf_abi.h"
#include "event/event.h"
#include "spec/spec.h"

#include <asm/perf_regs.h>
#include <time.h>

/* All general registers that perf_reg_validate() accepts on this architecture; stack unwinding may
 * need any of them. 0: the kernel would refuse them all. */
#if defined(__x86_64__)
static const uint64_t user_regs =
    ((1ull << PERF_REG_X86_64_MAX) - 1) & ~(1ull << PERF_REG_X86_DS | 1ull << PERF_REG_X86_ES |
					    1ull << PERF_REG_X86_FS | 1ull << PERF_REG_X86_GS);
#elif defined(__aarch64__)
static const uint64_t user_regs = (1ull << (PERF_REG_ARM64_PC + 1)) - 1;
#else
static const uint64_t user_regs = 0;
#endif

/* A sample has at most 64 KiB; the rest is for its other fields. */
enum { MAX_STACK = 8000 };

/* The sample contents that each flag requests. */
static const struct {
	unsigned flag;
	uint64_t sample_type;
} contents[] = {
    {SPEC_PC, PERF_SAMPLE_IP},
    {SPEC_CALLCHAIN, PERF_SAMPLE_CALLCHAIN},
    {SPEC_USER_STACK, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER},
    {SPEC_LAST_BRANCH, PERF_SAMPLE_BRANCH_STACK},
    {SPEC_ADAPTIVE, PERF_SAMPLE_RAW}, /* the rate of each sample */
};

/* Indexed by enum spec_branch. */
static const uint64_t branches[] = {
    PERF_SAMPLE_BRANCH_ANY,      PERF_SAMPLE_BRANCH_ANY_CALL,   PERF_SAMPLE_BRANCH_ANY_RETURN,
    PERF_SAMPLE_BRANCH_IND_CALL, PERF_SAMPLE_BRANCH_IND_JUMP,   PERF_SAMPLE_BRANCH_COND,
    PERF_SAMPLE_BRANCH_CALL,     PERF_SAMPLE_BRANCH_CALL_STACK,
};

static struct perf_event_attr *new_attr(uint32_t type, uint64_t config)
{
	struct perf_event_attr *a = mem_zalloc(sizeof(*a));

	if (!a)
		return NULL;
	a->size = sizeof(*a);
	a->type = type;
	a->config = config;
	return a;
}

static void set_clock(struct perf_event_attr *a)
{
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
}

/* Every record has time and task; the reader is woken after so many bytes. */
static void set_records(struct perf_event_attr *a, uint64_t sample_type, uint32_t wakeup_bytes)
{
	a->sample_type = sample_type | PERF_SAMPLE_TIME | PERF_SAMPLE_TID;
	a->sample_id_all = 1;
	a->watermark = 1;
	a->wakeup_watermark = wakeup_bytes;
	set_clock(a);
}

static void set_exclusions(struct perf_event_attr *a, unsigned flags)
{
	unsigned modes = flags & (SPEC_OS | SPEC_USER), side = flags & (SPEC_GUEST | SPEC_HOST);

	a->exclude_kernel = modes == SPEC_USER;
	a->exclude_user = modes == SPEC_OS;
	/* where hardware separates the hypervisor, count it with the kernel */
	a->exclude_hv = a->exclude_kernel;
	a->exclude_host = side == SPEC_GUEST;
	a->exclude_guest = side == SPEC_HOST;
	a->exclude_idle = (flags & SPEC_NO_IDLE) != 0;
}

/* Of tracepoints, and of software events that several may sample at once, Linux fills a sample in
 * once for all of them. PMUs of other types are not tried. */
static bool has_own_samples(const struct event_part *part)
{
	return (part->type == PERF_TYPE_SOFTWARE &&
		!perf_abi_shares_data(part->type, part->config)) ||
	       part->type == PERF_TYPE_HARDWARE || part->type == PERF_TYPE_HW_CACHE ||
	       part->type == PERF_TYPE_RAW;
}

static uint64_t sample_type(const struct event_part *part, const struct event_use *use)
{
	uint64_t type = 0;

	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++)
		if (use->flags & contents[i].flag)
			type |= contents[i].sample_type;
	if (use->shares_ring)
		type |= PERF_SAMPLE_IDENTIFIER;
	if (use->tells_clock && has_own_samples(part))
		type |= PERF_SAMPLE_STREAM_ID;
	if (use->frequency || use->is_completed)
		type |= PERF_SAMPLE_PERIOD;
	if (use->reads_group)
		type |= PERF_SAMPLE_READ;
	if (part->type == PERF_TYPE_TRACEPOINT ||
	    perf_abi_wait(part->type, part->config, part->config1) >= 0)
		type |= PERF_SAMPLE_RAW;
	if (use->is_of_ended || (part->config2 == PERF_ABI_RETURNS && use->flags & SPEC_USER_STACK))
		type |= PERF_SAMPLE_RAW;
	return type;
}

/* Records branches in the modes that are sampled. */
static uint64_t branch_type(const struct perf_event_attr *a, unsigned filter)
{
	uint64_t type = 0;

	for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
		if (filter >> i & 1)
			type |= branches[i];
	if (!type)
		type = PERF_SAMPLE_BRANCH_ANY;
	if (!a->exclude_user)
		type |= PERF_SAMPLE_BRANCH_USER;
	if (!a->exclude_kernel)
		type |= PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
	return type;
}

/* Without PERF_FORMAT_LOST for READ of a group, to which it would add 8 bytes per member and
 * sample. */
static void set_sampling(struct perf_event_attr *a, const struct event_part *part,
			 const struct event_use *use)
{
	set_records(a, sample_type(part, use), use->wakeup_bytes);
	a->freq = use->frequency != 0;
	if (a->freq)
		a->sample_freq = use->frequency;
	else
		a->sample_period = use->period;
	if (use->flags & SPEC_CALLCHAIN) {
		a->sample_max_stack =
		    (uint16_t)(use->max_stack < MAX_STACK ? use->max_stack : MAX_STACK);
		a->exclude_callchain_kernel = a->exclude_kernel;
		a->exclude_callchain_user = a->exclude_user;
	}
	if (use->flags & SPEC_USER_STACK) {
		a->sample_regs_user = user_regs;
		a->sample_stack_user = use->stack_bytes;
	}
	if (use->flags & SPEC_LAST_BRANCH)
		a->branch_sample_type = branch_type(a, use->branch_filter);
	if (use->flags & SPEC_PRECISE)
		a->precise_ip = 2; /* zero skid, if the CPU supports it */
	a->write_backward = use->is_overwritten;
	if (use->has_lost && !use->reads_group)
		a->read_format |= PERF_FORMAT_LOST;
}

struct perf_event_attr *event_attr_new(const struct event_part *part, const struct event_use *use)
{
	struct perf_event_attr *a = new_attr(part->type, part->config);

	if (!a)
		return NULL;
	a->config1 = part->config1;
	a->config2 = use->is_of_ended ? PERF_ABI_ENDED : part->config2;
	a->read_format =
	    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->pinned = (use->flags & SPEC_PINNED) != 0;
	a->inherit = use->is_inherited;
	a->inherit_thread = use->is_inherited && use->stays_in_process;
	a->config1 |= use->is_by_switches ? PERF_ABI_WAIT_BY_SWITCHES : 0;
	a->config1 |= use->is_selected ? PERF_ABI_CLOCK_SELECTED : 0;
	a->config1 |= use->is_completed ? PERF_ABI_CLOCK_COMPLETED : 0;
	if (use->flags & SPEC_WAKER && !use->is_by_switches)
		a->config2 = PERF_ABI_WAKER;
	a->context_switch = use->has_switches;
	set_exclusions(a, use->flags);
	if (use->period || use->frequency)
		set_sampling(a, part, use);
	else if (use->shares_clock)
		set_clock(a);
	return a;
}

struct perf_event_attr event_attr_counting(const struct perf_event_attr *attr)
{
	return (struct perf_event_attr){
	    .size = attr->size,
	    .type = attr->type,
	    .config = attr->config,
	    .config2 = attr->config2,
	    .read_format = attr->read_format & ~(uint64_t)PERF_FORMAT_LOST,
	    .pinned = attr->pinned,
	    .inherit = attr->inherit,
	    .inherit_thread = attr->inherit_thread,
	    .exclude_user = attr->exclude_user,
	    .exclude_kernel = attr->exclude_kernel,
	    .exclude_hv = attr->exclude_hv,
	    .exclude_host = attr->exclude_host,
	    .exclude_guest = attr->exclude_guest,
	    .exclude_idle = attr->exclude_idle,
	};
}

struct perf_event_attr event_attr_sampling(const struct perf_event_attr *attr)
{
	struct perf_event_attr a = *attr;

	a.config1 = 0;
	a.inherit = a.inherit_thread = 0;
	return a;
}

bool event_attr_is_selected(const struct perf_event_attr *attr)
{
	return perf_abi_is_selected(attr->type, attr->config, attr->config1);
}

/* What each level requests, newest kernel first. Build-ids (5.12) are never requested: the kernel
 * would set MMAP_BUILD_ID on the records of other listeners too, which then misread them. */
static const struct {
	bool symbols; /* ksymbol and bpf_event: Linux 5.1 */
} side_bands[] = {{true}, {false}};

struct perf_event_attr *event_attr_side_band(unsigned level, bool is_inherited, bool is_user_only,
					     uint32_t wakeup_bytes)
{
	struct perf_event_attr *a;

	if (level >= sizeof(side_bands) / sizeof(side_bands[0]))
		return NULL;
	a = new_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	if (!a)
		return NULL;
	set_records(a, 0, wakeup_bytes);
	a->inherit = is_inherited;
	a->exclude_kernel = is_user_only;
	a->mmap = 1;
	a->mmap2 = 1;
	a->comm = 1;
	a->comm_exec = 1;
	a->task = 1;
	a->ksymbol = side_bands[level].symbols;
	a->bpf_event = side_bands[level].symbols;
	return a;
}

struct perf_event_attr *event_attr_interpreted(bool is_overwritten, uint32_t wakeup_bytes)
{
	struct perf_event_attr *a = new_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT);

	if (!a)
		return NULL;
	set_records(a, PERF_SAMPLE_RAW | PERF_SAMPLE_IDENTIFIER, wakeup_bytes);
	a->sample_period = 1;
	a->write_backward = is_overwritten;
	return a;
}

uint32_t event_attr_bytes(const struct perf_event_attr *attr)
{
	return attr->size;
}

bool event_is_clock(const struct event *ev)
{
	struct event_part part;

	event_part(ev, 0, &part);
	return event_is_perf(ev) && part.type == PERF_TYPE_SOFTWARE &&
	       (part.config == PERF_COUNT_SW_CPU_CLOCK || part.config == PERF_COUNT_SW_TASK_CLOCK);
}

int event_wait(const struct event *ev)
{
	struct event_part part;

	if (ev->group->id != EVENT_GROUP_SCHED)
		return -1;
	event_part(ev, 0, &part);
	return perf_abi_wait(part.type, part.config, part.config1);
}

bool event_may_be_fixed(const struct event *ev)
{
	const struct event_row *r = ev->row;

	return (ev->group->id == EVENT_GROUP_FIXED || ev->group->id == EVENT_GROUP_ARCH) &&
	       r->perf_type == PERF_TYPE_HARDWARE &&
	       (r->perf_config == PERF_COUNT_HW_INSTRUCTIONS ||
		r->perf_config == PERF_COUNT_HW_CPU_CYCLES ||
		r->perf_config == PERF_COUNT_HW_REF_CPU_CYCLES);
}
