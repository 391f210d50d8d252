/*
 * Takes records apart, field by field, in the order of enum perf_event_type in linux/perf_event.h.
 * Fields and kinds are rows of tables. Reads through a bounded cursor; what does not come out
 * even makes no sense. Must not know which event a record is of, nor where it came from.
 */
#include "trace/record.h"

#include "base/cursor.h"

#include <errno.h>
#include <string.h>

enum { HEADER_BYTES = 8, WORD_BYTES = 8, BRANCH_WORDS = 3, CPUMODE_MASK = 7 };
enum { MAX_MINOR = (1 << 20) - 1 }; /* of a device: MINORBITS in linux/kdev_t.h */

/* enum perf_event_sample_format */
enum {
	SAMPLE_IP = 1 << 0,
	SAMPLE_TID = 1 << 1,
	SAMPLE_TIME = 1 << 2,
	SAMPLE_ADDR = 1 << 3,
	SAMPLE_READ = 1 << 4,
	SAMPLE_CALLCHAIN = 1 << 5,
	SAMPLE_ID = 1 << 6,
	SAMPLE_CPU = 1 << 7,
	SAMPLE_PERIOD = 1 << 8,
	SAMPLE_STREAM_ID = 1 << 9,
	SAMPLE_RAW = 1 << 10,
	SAMPLE_BRANCH_STACK = 1 << 11,
	SAMPLE_REGS_USER = 1 << 12,
	SAMPLE_STACK_USER = 1 << 13,
	SAMPLE_WEIGHT = 1 << 14,
	SAMPLE_DATA_SRC = 1 << 15,
	SAMPLE_IDENTIFIER = 1 << 16,
	SAMPLE_TRANSACTION = 1 << 17,
	SAMPLE_REGS_INTR = 1 << 18,
	SAMPLE_PHYS_ADDR = 1 << 19,
	SAMPLE_AUX = 1 << 20,
	SAMPLE_CGROUP = 1 << 21,
	SAMPLE_DATA_PAGE_SIZE = 1 << 22,
	SAMPLE_CODE_PAGE_SIZE = 1 << 23,
	SAMPLE_WEIGHT_STRUCT = 1 << 24,
	SAMPLE_KNOWN = (1 << 25) - 1,
};

/* enum perf_event_read_format */
enum {
	READ_ENABLED = 1 << 0,
	READ_RUNNING = 1 << 1,
	READ_ID = 1 << 2,
	READ_GROUP = 1 << 3,
	READ_LOST = 1 << 4,
	READ_KNOWN = (1 << 5) - 1,
};

/* enum perf_branch_sample_type; the counters are of Linux 6.8 */
enum {
	BRANCH_HW_INDEX = 1 << 17,
	BRANCH_COUNTERS = 1 << 19,
	BRANCH_KNOWN = (1 << 20) - 1,
};

/* struct perf_event_attr: places of its fields, and of two of its bits */
enum {
	ATTR_MIN_BYTES = 64,
	ATTR_BRANCH_AT = 72,
	ATTR_USER_REGS_AT = 80,
	ATTR_INTR_REGS_AT = 96,
	ATTR_FREQ = 1 << 10,
	ATTR_SAMPLE_ID_ALL = 1 << 18,
};
#define ATTR_BUILD_ID (UINT64_C(1) << 34)

/* The word at a place; 0 behind the end: an older attr is shorter. */
static uint64_t attr_word(const uint8_t *attr, size_t size, size_t at)
{
	struct cursor c;

	cursor_init(&c, attr, size);
	cursor_skip(&c, at);
	return cursor_le64(&c);
}

static bool is_known(const struct trace_layout *l)
{
	return !(l->sample_type & ~(uint64_t)SAMPLE_KNOWN) &&
	       !(l->read_format & ~(uint64_t)READ_KNOWN) &&
	       !(l->branch_sample_type & ~(uint64_t)BRANCH_KNOWN);
}

bool trace_layout_init(struct trace_layout *l, const void *attr, size_t len)
{
	struct trace_layout v = {0};
	uint64_t bits, period;
	struct cursor c;
	uint32_t size;

	cursor_init(&c, attr, len);
	v.type = cursor_le32(&c);
	size = cursor_le32(&c);
	if (size < ATTR_MIN_BYTES || size > len)
		return false;
	v.config = cursor_le64(&c);
	period = cursor_le64(&c);
	v.sample_type = cursor_le64(&c);
	v.read_format = cursor_le64(&c);
	bits = cursor_le64(&c);
	v.is_freq = bits & ATTR_FREQ && period;
	v.period = v.is_freq ? 0 : period;
	v.has_sample_id = bits & ATTR_SAMPLE_ID_ALL;
	v.has_build_id = bits & ATTR_BUILD_ID;
	v.branch_sample_type = attr_word(attr, size, ATTR_BRANCH_AT);
	v.user_regs = attr_word(attr, size, ATTR_USER_REGS_AT);
	v.nr_user_regs = (unsigned)__builtin_popcountll(v.user_regs);
	v.nr_intr_regs = (unsigned)__builtin_popcountll(attr_word(attr, size, ATTR_INTR_REGS_AT));
	if (!is_known(&v))
		return false;
	*l = v;
	return true;
}

void trace_layout_side_band(struct trace_layout *l)
{
	*l = (struct trace_layout){
	    .sample_type = SAMPLE_TID | SAMPLE_TIME, .has_sample_id = true, .has_build_id = true};
}

bool trace_layout_is_sampled(const struct trace_layout *l)
{
	return l->period || l->is_freq;
}

bool trace_layout_shares_data(const struct trace_layout *l)
{
	enum { SOFTWARE = 1, TRACEPOINT = 2, CPU_CLOCK = 0, TASK_CLOCK = 1 };

	return l->type == TRACEPOINT ||
	       (l->type == SOFTWARE && l->config != CPU_CLOCK && l->config != TASK_CLOCK);
}

bool trace_layout_has_id(const struct trace_layout *l)
{
	return l->sample_type & (SAMPLE_IDENTIFIER | SAMPLE_ID);
}

static unsigned nr_fields(const struct trace_layout *l, uint64_t of)
{
	return (unsigned)__builtin_popcountll(l->sample_type & of);
}

/* An identifier, where it is asked for, is the first word of samples and the last of others: the
 * same for all layouts. */
void trace_layout_id_place(const struct trace_layout *l, struct trace_place *out)
{
	enum {
		BEFORE = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR,
		BEHIND = SAMPLE_STREAM_ID | SAMPLE_CPU
	};

	*out = (struct trace_place){.of_other = 1, .is_there = trace_layout_has_id(l)};
	if (l->sample_type & SAMPLE_IDENTIFIER)
		return;
	out->of_sample = nr_fields(l, BEFORE);
	out->of_other = 1 + nr_fields(l, BEHIND);
}

void trace_layout_time_place(const struct trace_layout *l, struct trace_place *out)
{
	enum {
		BEFORE = SAMPLE_IDENTIFIER | SAMPLE_IP | SAMPLE_TID,
		BEHIND = SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_IDENTIFIER
	};

	*out = (struct trace_place){.of_sample = nr_fields(l, BEFORE),
				    .of_other = 1 + nr_fields(l, BEHIND),
				    .is_there = l->sample_type & SAMPLE_TIME};
}

struct decoder {
	const struct trace_layout *l;
	struct cursor c;
	struct trace_record *r;
	bool no_hw_index; /* of this sample, whatever the layout says */
};

/* nr times stride words. */
static const uint8_t *take_words(struct decoder *d, uint64_t nr, unsigned stride)
{
	size_t bytes = (size_t)stride * WORD_BYTES;

	d->c.underflow |= nr > d->c.left / bytes;
	return d->c.underflow ? NULL : cursor_bytes(&d->c, (size_t)nr * bytes);
}

static uint64_t *field_at(struct trace_record *r, size_t at)
{
	return (uint64_t *)(void *)((char *)r + at);
}

static void skip_word(struct decoder *d)
{
	cursor_skip(&d->c, WORD_BYTES);
}

static void take_tid(struct decoder *d)
{
	d->r->pid = cursor_le32(&d->c);
	d->r->tid = cursor_le32(&d->c);
}

static void take_cpu(struct decoder *d)
{
	d->r->cpu = cursor_le32(&d->c);
	cursor_skip(&d->c, 4);
}

static void take_read_times(struct decoder *d)
{
	if (d->l->read_format & READ_ENABLED)
		d->r->read_enabled_ns = cursor_le64(&d->c);
	if (d->l->read_format & READ_RUNNING)
		d->r->read_running_ns = cursor_le64(&d->c);
}

/* Words that follow the count of each. */
static unsigned read_extras(const struct trace_layout *l)
{
	return !!(l->read_format & READ_ID) + !!(l->read_format & READ_LOST);
}

static void take_read_group(struct decoder *d)
{
	d->r->nr_read = cursor_le64(&d->c);
	take_read_times(d);
	d->r->read_stride = 1 + read_extras(d->l);
	d->r->read_values = take_words(d, d->r->nr_read, d->r->read_stride);
}

static void take_read_one(struct decoder *d)
{
	const uint8_t *start = d->c.at;

	skip_word(d);
	take_read_times(d);
	take_words(d, read_extras(d->l), 1);
	d->r->nr_read = 1;
	d->r->read_stride = (unsigned)(d->c.at - start) / WORD_BYTES;
	d->r->read_values = start;
}

static void take_read(struct decoder *d)
{
	if (d->l->read_format & READ_GROUP)
		take_read_group(d);
	else
		take_read_one(d);
}

static void take_callchain(struct decoder *d)
{
	d->r->nr_callchain = cursor_le64(&d->c);
	d->r->callchain = take_words(d, d->r->nr_callchain, 1);
}

static void take_raw(struct decoder *d)
{
	d->r->raw_len = cursor_le32(&d->c);
	d->r->raw = cursor_bytes(&d->c, d->r->raw_len);
}

static void take_branches(struct decoder *d)
{
	struct trace_record *r = d->r;

	r->nr_branches = cursor_le64(&d->c);
	r->hw_index = UINT64_MAX;
	if (d->l->branch_sample_type & BRANCH_HW_INDEX && !d->no_hw_index) {
		r->hw_index = cursor_le64(&d->c);
		r->has |= TRACE_HAS_HW_INDEX;
	}
	r->branches = take_words(d, r->nr_branches, BRANCH_WORDS);
	if (d->l->branch_sample_type & BRANCH_COUNTERS)
		take_words(d, r->nr_branches, 1);
}

static void take_user_regs(struct decoder *d)
{
	d->r->regs_abi = cursor_le64(&d->c);
	if (!d->r->regs_abi)
		return;
	d->r->nr_regs = d->l->nr_user_regs;
	d->r->regs = take_words(d, d->r->nr_regs, 1);
}

static void skip_intr_regs(struct decoder *d)
{
	if (cursor_le64(&d->c))
		take_words(d, d->l->nr_intr_regs, 1);
}

/* The kernel reserves size bytes and says behind them how many it could copy. */
static void take_user_stack(struct decoder *d)
{
	uint64_t size = cursor_le64(&d->c);

	if (!size)
		return;
	d->r->stack = cursor_bytes(&d->c, size);
	d->r->stack_len = cursor_le64(&d->c);
	d->c.underflow |= d->r->stack_len > size;
}

static void take_weight(struct decoder *d)
{
	if (d->l->sample_type & SAMPLE_WEIGHT) {
		d->r->weight = cursor_le64(&d->c);
		return;
	}
	d->r->weight = cursor_le32(&d->c);
	d->r->weight2 = cursor_le16(&d->c);
	d->r->weight3 = cursor_le16(&d->c);
}

static void skip_aux(struct decoder *d)
{
	cursor_skip(&d->c, cursor_le64(&d->c));
}

/* A field is there if a bit of asked is in the layout's sample type. Without a function it is one
 * word that goes to the place at. */
struct field {
	uint32_t asked, has;
	size_t at;
	void (*take)(struct decoder *d);
};

#define WORD(asked, has, member)                                                                   \
	{                                                                                          \
		asked, has, offsetof(struct trace_record, member), NULL                            \
	}

static const struct field sample_fields[] = {
    WORD(SAMPLE_IDENTIFIER, TRACE_HAS_ID, id),
    WORD(SAMPLE_IP, TRACE_HAS_IP, ip),
    {SAMPLE_TID, TRACE_HAS_TID, 0, take_tid},
    WORD(SAMPLE_TIME, TRACE_HAS_TIME, time_ns),
    WORD(SAMPLE_ADDR, TRACE_HAS_ADDR, addr),
    WORD(SAMPLE_ID, TRACE_HAS_ID, id),
    {SAMPLE_STREAM_ID, 0, 0, skip_word},
    {SAMPLE_CPU, TRACE_HAS_CPU, 0, take_cpu},
    WORD(SAMPLE_PERIOD, TRACE_HAS_PERIOD, period),
    {SAMPLE_READ, TRACE_HAS_READ, 0, take_read},
    {SAMPLE_CALLCHAIN, TRACE_HAS_CALLCHAIN, 0, take_callchain},
    {SAMPLE_RAW, TRACE_HAS_RAW, 0, take_raw},
    {SAMPLE_BRANCH_STACK, TRACE_HAS_BRANCHES, 0, take_branches},
    {SAMPLE_REGS_USER, TRACE_HAS_USER_REGS, 0, take_user_regs},
    {SAMPLE_STACK_USER, TRACE_HAS_USER_STACK, 0, take_user_stack},
    {SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT, TRACE_HAS_WEIGHT, 0, take_weight},
    WORD(SAMPLE_DATA_SRC, TRACE_HAS_DATA_SRC, data_src),
    {SAMPLE_TRANSACTION, 0, 0, skip_word},
    {SAMPLE_REGS_INTR, 0, 0, skip_intr_regs},
    WORD(SAMPLE_PHYS_ADDR, TRACE_HAS_PHYS_ADDR, phys_addr),
    {SAMPLE_CGROUP, 0, 0, skip_word},
    {SAMPLE_DATA_PAGE_SIZE, 0, 0, skip_word},
    {SAMPLE_CODE_PAGE_SIZE, 0, 0, skip_word},
    {SAMPLE_AUX, 0, 0, skip_aux},
};

/* struct sample_id, which ends all other records. */
static const struct field id_fields[] = {
    {SAMPLE_TID, TRACE_HAS_TID, 0, take_tid}, WORD(SAMPLE_TIME, TRACE_HAS_TIME, time_ns),
    WORD(SAMPLE_ID, TRACE_HAS_ID, id),        {SAMPLE_STREAM_ID, 0, 0, skip_word},
    {SAMPLE_CPU, TRACE_HAS_CPU, 0, take_cpu}, WORD(SAMPLE_IDENTIFIER, TRACE_HAS_ID, id),
};

#define NR(table) (sizeof(table) / sizeof((table)[0]))

static void take_fields(struct decoder *d, const struct field *fields, size_t nr)
{
	for (const struct field *f = fields; f < fields + nr; f++) {
		if (!(d->l->sample_type & f->asked))
			continue;
		d->r->has |= f->has;
		if (f->take)
			f->take(d);
		else
			*field_at(d->r, f->at) = cursor_le64(&d->c);
	}
}

static bool take_sample(struct decoder *d)
{
	d->r->period = d->l->period;
	take_fields(d, sample_fields, NR(sample_fields));
	return cursor_ok(&d->c) && d->c.left == 0;
}

size_t trace_layout_id_bytes(const struct trace_layout *l)
{
	size_t nr = 0;

	for (size_t i = 0; l->has_sample_id && i < NR(id_fields); i++)
		nr += !!(l->sample_type & id_fields[i].asked);
	return nr * WORD_BYTES;
}

/* Text up to its NUL; what is behind it fills up to a multiple of 8. */
static void take_name(struct decoder *d)
{
	const uint8_t *p = d->c.at;

	d->c.underflow |= !d->c.left || !memchr(p, '\0', d->c.left);
	if (!d->c.underflow)
		d->r->name = (const char *)p;
}

static void take_range(struct decoder *d)
{
	d->r->start = cursor_le64(&d->c);
	d->r->length = cursor_le64(&d->c);
	d->r->offset = cursor_le64(&d->c);
}

static void take_mmap(struct decoder *d)
{
	take_tid(d);
	take_range(d);
	take_name(d);
}

static void take_build_id(struct decoder *d)
{
	unsigned len = cursor_u8(&d->c);
	const uint8_t *id;

	cursor_skip(&d->c, 3);
	id = cursor_bytes(&d->c, TRACE_MAX_BUILD_ID_BYTES);
	d->c.underflow |= len > TRACE_MAX_BUILD_ID_BYTES;
	if (!id || d->c.underflow)
		return;
	memcpy(d->r->build_id, id, len);
	d->r->build_id_len = len;
}

static void take_inode(struct decoder *d)
{
	d->r->major = cursor_le32(&d->c);
	d->r->minor = cursor_le32(&d->c);
	d->r->inode = cursor_le64(&d->c);
	d->r->inode_generation = cursor_le64(&d->c);
}

/* The kernel leaves the bit of one listener in the records of all who come after it, also of those
 * that asked for device and inode and have these (Linux 5.12 to 6.18: perf_event_mmap_output in
 * kernel/events/core.c). Programs that rewrite records put build-ids into those of events that did
 * not ask: no device has so great a number as four bytes of theirs. */
static bool holds_build_id(const struct decoder *d)
{
	struct cursor c = d->c;
	uint32_t len = cursor_le32(&c), minor = cursor_le32(&c);

	if (!(d->r->misc & TRACE_MISC_BUILD_ID))
		return false;
	return d->l->has_build_id ||
	       (cursor_ok(&c) && len <= TRACE_MAX_BUILD_ID_BYTES && minor > MAX_MINOR);
}

static void take_mmap2(struct decoder *d)
{
	take_tid(d);
	take_range(d);
	if (!holds_build_id(d))
		d->r->misc &= (uint16_t)~TRACE_MISC_BUILD_ID;
	if (d->r->misc & TRACE_MISC_BUILD_ID)
		take_build_id(d);
	else
		take_inode(d);
	d->r->prot = cursor_le32(&d->c);
	d->r->flags = cursor_le32(&d->c);
	take_name(d);
}

static void take_lost_samples(struct decoder *d)
{
	d->r->lost = cursor_le64(&d->c);
}

/* The id that a record names in its own fields. */
static void take_own_id(struct decoder *d)
{
	d->r->id = cursor_le64(&d->c);
	d->r->has |= TRACE_HAS_ID;
}

static void take_own_time(struct decoder *d)
{
	d->r->time_ns = cursor_le64(&d->c);
	d->r->has |= TRACE_HAS_TIME;
}

static void take_lost(struct decoder *d)
{
	take_own_id(d);
	take_lost_samples(d);
}

static void take_comm(struct decoder *d)
{
	take_tid(d);
	take_name(d);
}

static void take_task(struct decoder *d)
{
	d->r->pid = cursor_le32(&d->c);
	d->r->ppid = cursor_le32(&d->c);
	d->r->tid = cursor_le32(&d->c);
	d->r->ptid = cursor_le32(&d->c);
	take_own_time(d);
}

static void take_throttle(struct decoder *d)
{
	take_own_time(d);
	take_own_id(d);
	skip_word(d); /* stream id */
}

static void take_counts(struct decoder *d)
{
	take_tid(d);
	take_read(d);
	d->r->has |= TRACE_HAS_READ;
}

static void take_aux(struct decoder *d)
{
	d->r->offset = cursor_le64(&d->c);
	d->r->length = cursor_le64(&d->c);
	d->r->flags = (uint32_t)cursor_le64(&d->c);
}

static void take_nothing(struct decoder *d)
{
	(void)d;
}

static void take_namespaces(struct decoder *d)
{
	take_tid(d);
	take_words(d, cursor_le64(&d->c), 2);
}

static void take_ksymbol(struct decoder *d)
{
	d->r->start = cursor_le64(&d->c);
	d->r->length = cursor_le32(&d->c);
	d->r->type = cursor_le16(&d->c);
	d->r->flags = cursor_le16(&d->c);
	take_name(d);
}

static void take_bpf(struct decoder *d)
{
	d->r->type = cursor_le16(&d->c);
	d->r->flags = cursor_le16(&d->c);
	d->r->object = cursor_le32(&d->c);
	skip_word(d); /* tag */
}

static void take_object(struct decoder *d)
{
	d->r->object = cursor_le64(&d->c);
}

static void take_cgroup(struct decoder *d)
{
	take_object(d);
	take_name(d);
}

static void take_text_poke(struct decoder *d)
{
	uint32_t old_len, new_len;

	d->r->start = cursor_le64(&d->c);
	old_len = cursor_le16(&d->c);
	new_len = cursor_le16(&d->c);
	cursor_skip(&d->c, old_len + new_len);
	d->r->length = new_len;
}

static const struct {
	const char *name;
	void (*take)(struct decoder *d); /* NULL: a sample */
} kinds[] = {
    [TRACE_RECORD_MMAP] = {"mmap", take_mmap},
    [TRACE_RECORD_LOST] = {"lost", take_lost},
    [TRACE_RECORD_COMM] = {"comm", take_comm},
    [TRACE_RECORD_EXIT] = {"exit", take_task},
    [TRACE_RECORD_THROTTLE] = {"throttle", take_throttle},
    [TRACE_RECORD_UNTHROTTLE] = {"unthrottle", take_throttle},
    [TRACE_RECORD_FORK] = {"fork", take_task},
    [TRACE_RECORD_READ] = {"read", take_counts},
    [TRACE_RECORD_SAMPLE] = {"sample", NULL},
    [TRACE_RECORD_MMAP2] = {"mmap2", take_mmap2},
    [TRACE_RECORD_AUX] = {"aux", take_aux},
    [TRACE_RECORD_ITRACE_START] = {"itrace_start", take_tid},
    [TRACE_RECORD_LOST_SAMPLES] = {"lost_samples", take_lost_samples},
    [TRACE_RECORD_SWITCH] = {"switch", take_nothing},
    [TRACE_RECORD_SWITCH_CPU_WIDE] = {"switch_cpu_wide", take_tid},
    [TRACE_RECORD_NAMESPACES] = {"namespaces", take_namespaces},
    [TRACE_RECORD_KSYMBOL] = {"ksymbol", take_ksymbol},
    [TRACE_RECORD_BPF_EVENT] = {"bpf_event", take_bpf},
    [TRACE_RECORD_CGROUP] = {"cgroup", take_cgroup},
    [TRACE_RECORD_TEXT_POKE] = {"text_poke", take_text_poke},
    [TRACE_RECORD_AUX_OUTPUT_HW_ID] = {"aux_output_hw_id", take_object},
};

const char *trace_record_kind_name(uint32_t kind)
{
	return kind < NR(kinds) ? kinds[kind].name : NULL;
}

/* The id at the end first: what the record itself says of pid, id and time goes before it. */
static bool take_other(struct decoder *d)
{
	size_t id_len = trace_layout_id_bytes(d->l);
	struct cursor body = d->c;

	if (id_len > d->c.left)
		return false;
	cursor_skip(&d->c, d->c.left - id_len);
	take_fields(d, id_fields, d->l->has_sample_id ? NR(id_fields) : 0);
	d->c = body;
	d->c.left -= id_len;
	kinds[d->r->kind].take(d);
	return cursor_ok(&d->c);
}

static bool take_record(const struct trace_layout *l, struct trace_record *r, bool no_hw_index)
{
	struct decoder d = {.l = l, .r = r, .no_hw_index = no_hw_index};

	cursor_init(&d.c, r->bytes + HEADER_BYTES, r->len - HEADER_BYTES);
	if (r->kind == TRACE_RECORD_SAMPLE)
		return take_sample(&d);
	return !trace_record_kind_name(r->kind) || take_other(&d);
}

size_t trace_record_size(const uint8_t *p, size_t len, uint32_t *kind)
{
	struct cursor c;
	uint32_t type;
	size_t size;

	cursor_init(&c, p, len);
	type = cursor_le32(&c);
	cursor_skip(&c, 2);
	size = cursor_le16(&c);
	if (size < HEADER_BYTES || size > len || size % WORD_BYTES)
		return 0;
	*kind = type;
	return size;
}

static uint16_t misc_of(const uint8_t *p)
{
	struct cursor c;

	cursor_init(&c, p + 4, 2);
	return cursor_le16(&c);
}

/* What the header alone says; nothing if no record is there. */
static void begin(const uint8_t *p, size_t len, struct trace_record *r)
{
	*r = (struct trace_record){0};
	r->len = trace_record_size(p, len, &r->kind);
	if (!r->len)
		return;
	r->bytes = p;
	r->misc = misc_of(p);
	r->cpumode = r->misc & CPUMODE_MASK;
	r->is_exact_ip = r->kind == TRACE_RECORD_SAMPLE && r->misc & TRACE_MISC_EXACT_IP;
}

int trace_record_decode(const struct trace_layout *l, const uint8_t *p, size_t len,
			struct trace_record *out)
{
	begin(p, len, out);
	if (!out->len)
		return -EINVAL;
	if (take_record(l, out, false))
		return 0;
	/* a sample for which the PMU gave no branches has their number, 0, and no index behind */
	begin(p, len, out);
	if (take_record(l, out, true) && !out->nr_branches)
		return 0;
	begin(p, len, out);
	return -EINVAL;
}

uint64_t trace_record_word(const struct trace_place *place, const uint8_t *p, size_t len)
{
	uint32_t kind = 0;
	size_t nr = trace_record_size(p, len, &kind) / WORD_BYTES;
	size_t at = kind == TRACE_RECORD_SAMPLE ? 1 + place->of_sample : nr - place->of_other;

	return place->is_there && nr && at && at < nr ? trace_word(p, at) : 0;
}

/* Bits of the flags, by the order of struct perf_branch_entry. */
static uint64_t bits(uint64_t flags, unsigned from, unsigned nr)
{
	return flags >> from & ((1u << nr) - 1);
}

void trace_record_branch(const struct trace_record *r, uint64_t i, struct trace_branch *out)
{
	const uint8_t *p = r->branches + i * BRANCH_WORDS * WORD_BYTES;
	uint64_t flags = trace_word(p, 2);

	*out = (struct trace_branch){
	    .from = trace_word(p, 0),
	    .to = trace_word(p, 1),
	    .mispredicted = bits(flags, 0, 1),
	    .predicted = bits(flags, 1, 1),
	    .in_transaction = bits(flags, 2, 1),
	    .aborted = bits(flags, 3, 1),
	    .cycles = (uint16_t)bits(flags, 4, 16),
	    .type = (uint8_t)bits(flags, 20, 4),
	    .speculation = (uint8_t)bits(flags, 24, 2),
	    .new_type = (uint8_t)bits(flags, 26, 4),
	    .privilege = (uint8_t)bits(flags, 30, 3),
	};
}

/* enum perf_callchain_context */
const char *trace_context_name(uint64_t address)
{
	static const struct {
		int64_t mark;
		const char *name;
	} marks[] = {{-32, "hypervisor"}, {-128, "kernel"},        {-512, "user"},
		     {-2048, "guest"},    {-2176, "guest kernel"}, {-2560, "guest user"}};

	if (address < (uint64_t)-4095)
		return NULL;
	for (size_t i = 0; i < NR(marks); i++)
		if ((int64_t)address == marks[i].mark)
			return marks[i].name;
	return "unknown";
}

bool trace_record_pc(const struct trace_record *r, uint64_t *pc)
{
	*pc = r->ip;
	if (r->has & TRACE_HAS_IP)
		return true;
	for (uint64_t i = 0; i < r->nr_callchain; i++) {
		*pc = trace_word(r->callchain, i);
		if (!trace_context_name(*pc))
			return true;
	}
	return false;
}
