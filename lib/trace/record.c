/*
 * Decodes records field by field, in the order of base/perf_abi.h. Fields and kinds are rows of
 * tables. Reads through a bounded cursor; a record whose length does not match its content is
 * invalid. Must not know which event a record belongs to, nor where it came from.
 */
#include "trace/record.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/wait_weight.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

enum {
	CPUMODE_MASK = PERF_RECORD_MISC_CPUMODE_MASK,
	MAX_MINOR = (1 << 20) - 1, /* of a device: MINORBITS in linux/kdev_t.h */
	HEADER_BYTES = PERF_ABI_HEADER_BYTES,
	WORD_BYTES = PERF_ABI_WORD_BYTES,
};
static const uint64_t MAX_INODE = ((uint64_t)1 << 48) - 1; /* seen on file systems of disks */

#define ATTR_AT(field) offsetof(struct perf_event_attr, field)

/* The word at an offset; 0 beyond the end: older attrs are shorter. */
static uint64_t attr_word(const uint8_t *attr, size_t size, size_t at)
{
	struct cursor c;

	cursor_init(&c, attr, size);
	cursor_skip(&c, at);
	return cursor_le64(&c);
}

bool trace_layout_init(struct trace_layout *l, const void *attr, size_t len)
{
	struct trace_layout v = {0};
	uint64_t bits, period, config1, config2;
	struct cursor c;
	bool is_of_calls;
	uint32_t size;
	int heap;

	cursor_init(&c, attr, len);
	v.type = cursor_le32(&c);
	size = cursor_le32(&c);
	if (size < PERF_ATTR_SIZE_VER0 || size > len)
		return false;
	v.config = cursor_le64(&c);
	period = cursor_le64(&c);
	v.sample_type = cursor_le64(&c);
	v.read_format = cursor_le64(&c);
	bits = cursor_le64(&c);
	v.is_freq = bits & PERF_ABI_ATTR_FREQ && period;
	v.period = v.is_freq ? 0 : period;
	v.is_inherited = bits & PERF_ABI_ATTR_INHERIT;
	v.excludes_kernel = bits & PERF_ABI_ATTR_EXCLUDE_KERNEL;
	v.stays_in_process = bits & PERF_ABI_ATTR_INHERIT_THREAD;
	v.has_sample_id = bits & PERF_ABI_ATTR_SAMPLE_ID_ALL;
	v.has_build_id = bits & PERF_ABI_ATTR_BUILD_ID;
	config1 = attr_word(attr, size, ATTR_AT(config1));
	config2 = attr_word(attr, size, ATTR_AT(config2));
	is_of_calls = config1 == PERF_ABI_PROBE && v.sample_type & PERF_SAMPLE_RAW;
	v.is_selected = perf_abi_is_selected(v.type, v.config, config1);
	v.is_completed = perf_abi_is_completed(v.type, v.config, config1);
	v.is_wait = perf_abi_wait(v.type, v.config, config1) >= 0;
	heap = perf_abi_heap(v.type, v.config, config1);
	v.is_heap = heap >= 0;
	v.is_sampled_time = perf_abi_heap_is_time(heap);
	v.is_maximum = perf_abi_heap_is_maximum(heap);
	v.has_waker = v.is_wait && config2 == PERF_ABI_WAKER;
	v.is_of_ended = is_of_calls && config2 == PERF_ABI_ENDED;
	v.has_returns = is_of_calls && (v.is_of_ended || config2 == PERF_ABI_RETURNS);
	v.is_by_switches = v.is_wait && config1 & PERF_ABI_WAIT_BY_SWITCHES;
	v.branch_sample_type = attr_word(attr, size, ATTR_AT(branch_sample_type));
	v.user_regs = attr_word(attr, size, ATTR_AT(sample_regs_user));
	v.nr_user_regs = (unsigned)__builtin_popcountll(v.user_regs);
	v.intr_regs = attr_word(attr, size, ATTR_AT(sample_regs_intr));
	v.nr_intr_regs = (unsigned)__builtin_popcountll(v.intr_regs);
	if (size >= ATTR_AT(sample_max_stack) + sizeof(v.max_stack)) {
		cursor_init(&c, attr, size);
		cursor_skip(&c, ATTR_AT(sample_max_stack));
		v.max_stack = cursor_le16(&c);
	}
	if (v.sample_type & ~(uint64_t)PERF_ABI_SAMPLE_KNOWN ||
	    v.read_format & ~(uint64_t)PERF_ABI_READ_KNOWN ||
	    v.branch_sample_type & ~(uint64_t)PERF_ABI_BRANCH_KNOWN)
		return false;
	*l = v;
	return true;
}

const uint8_t *trace_layout_nth(const struct trace_event *e, uint32_t nr, uint32_t *size,
				struct trace_layout *l)
{
	const uint8_t *p = e->attr;
	uint32_t left = e->attr_bytes;

	for (; left >= 8; p += *size, left -= *size) {
		memcpy(size, p + 4, sizeof(*size)); /* struct perf_event_attr: type, size */
		if (*size < 8 || *size > left)
			return NULL;
		if (nr-- == 0)
			return trace_layout_init(l, p, *size) ? p : NULL;
	}
	return NULL;
}

void trace_layout_side_band(struct trace_layout *l, bool is_made)
{
	*l = (struct trace_layout){.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
				   .has_sample_id = true,
				   .has_build_id = is_made};
}

bool trace_layout_is_sampled(const struct trace_layout *l)
{
	return l->period || l->is_freq;
}

bool trace_layout_shares_data(const struct trace_layout *l)
{
	return perf_abi_shares_data(l->type, l->config);
}

bool trace_layout_has_id(const struct trace_layout *l)
{
	return l->sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID);
}

void trace_layout_place(const struct trace_layout *l, enum perf_abi_field f,
			struct trace_place *out)
{
	*out = (struct trace_place){.of_sample = perf_abi_sample_place(l->sample_type, f),
				    .of_other = perf_abi_id_place(l->sample_type, f),
				    .id_bytes = trace_layout_id_bytes(l),
				    .is_there = perf_abi_has(l->sample_type, f)};
}

/* The identifier is at the same place in all layouts: the first word of samples and the last of
 * other records. */
void trace_layout_id_place(const struct trace_layout *l, struct trace_place *out)
{
	trace_layout_place(l,
			   perf_abi_has(l->sample_type, PERF_ABI_IDENTIFIER) ? PERF_ABI_IDENTIFIER
									     : PERF_ABI_ID,
			   out);
}

struct decoder {
	const struct trace_layout *l;
	struct cursor c;
	struct trace_record *r;
	bool no_hw_index; /* of this sample, against its layout */
};

/* nr times stride words. */
static const uint8_t *decode_words(struct decoder *d, uint64_t nr, unsigned stride)
{
	size_t bytes = (size_t)stride * WORD_BYTES;

	d->c.underflow |= nr > d->c.left / bytes;
	return d->c.underflow ? NULL : cursor_bytes(&d->c, (size_t)nr * bytes);
}

static void skip_word(struct decoder *d)
{
	cursor_skip(&d->c, WORD_BYTES);
}

static void decode_tid(struct decoder *d)
{
	d->r->pid = cursor_le32(&d->c);
	d->r->tid = cursor_le32(&d->c);
}

static void decode_cpu(struct decoder *d)
{
	d->r->cpu = cursor_le32(&d->c);
	cursor_skip(&d->c, 4);
}

static void decode_read_times(struct decoder *d)
{
	if (d->l->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		d->r->read_enabled_ns = cursor_le64(&d->c);
	if (d->l->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		d->r->read_running_ns = cursor_le64(&d->c);
}

/* Words that follow each count. */
static unsigned read_extras(const struct trace_layout *l)
{
	return !!(l->read_format & PERF_FORMAT_ID) + !!(l->read_format & PERF_FORMAT_LOST);
}

static void decode_read(struct decoder *d)
{
	unsigned extras = read_extras(d->l);
	const uint8_t *start = d->c.at;

	if (d->l->read_format & PERF_FORMAT_GROUP) {
		d->r->nr_read = cursor_le64(&d->c);
		decode_read_times(d);
		d->r->read_stride = 1 + extras;
		d->r->read_values = decode_words(d, d->r->nr_read, d->r->read_stride);
		return;
	}
	skip_word(d);
	decode_read_times(d);
	decode_words(d, extras, 1);
	d->r->nr_read = 1;
	d->r->read_stride = (unsigned)(d->c.at - start) / WORD_BYTES;
	d->r->read_values = start;
}

static void decode_callchain(struct decoder *d)
{
	d->r->nr_callchain = cursor_le64(&d->c);
	d->r->callchain = decode_words(d, d->r->nr_callchain, 1);
}

static void set_wait(struct trace_record *r, uint32_t word)
{
	uint32_t reason = word >> 8 & 0xff;

	r->wait = word & 0xff;
	r->wait_reason = reason < TRACE_NR_REASONS ? reason : TRACE_REASON_NONE;
	r->is_seen = word >> 16 & 1;
}

static void decode_raw(struct decoder *d)
{
	uint64_t word;

	d->r->raw_len = cursor_le32(&d->c);
	d->r->raw = cursor_bytes(&d->c, d->r->raw_len);
	d->r->returns_at = d->l->is_of_ended ? PERF_ABI_ENDED_RETURNS : 0;
	if (!d->l->is_wait || !d->r->raw || d->r->raw_len < WORD_BYTES)
		return;
	word = trace_word(d->r->raw, 0);
	d->r->wait_ns = wait_word_ns(word);
	d->r->period = wait_word_weight(word, d->l->is_by_switches ? 0 : d->l->period);
	d->r->has |= TRACE_HAS_PERIOD;
	if (d->l->is_by_switches && d->r->raw_len >= WORD_BYTES + sizeof(d->r->wait)) {
		memcpy(&d->r->wait, d->r->raw + WORD_BYTES, sizeof(d->r->wait));
		set_wait(d->r, le32toh(d->r->wait));
	}
}

static void decode_branches(struct decoder *d)
{
	struct trace_record *r = d->r;

	r->nr_branches = cursor_le64(&d->c);
	r->hw_index = UINT64_MAX;
	if (d->l->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX && !d->no_hw_index) {
		r->hw_index = cursor_le64(&d->c);
		r->has |= TRACE_HAS_HW_INDEX;
	}
	r->branches = decode_words(d, r->nr_branches, PERF_ABI_BRANCH_WORDS);
	if (d->l->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
		decode_words(d, r->nr_branches, 1);
}

/* An ABI and that many words; no words if the ABI is 0. */
static void decode_regs(struct decoder *d, unsigned wanted, uint64_t *abi, unsigned *nr,
			const uint8_t **regs)
{
	*abi = cursor_le64(&d->c);
	if (!*abi)
		return;
	*nr = wanted;
	*regs = decode_words(d, wanted, 1);
}

static void decode_user_regs(struct decoder *d)
{
	decode_regs(d, d->l->nr_user_regs, &d->r->regs_abi, &d->r->nr_regs, &d->r->regs);
}

static void decode_intr_regs(struct decoder *d)
{
	decode_regs(d, d->l->nr_intr_regs, &d->r->intr_regs_abi, &d->r->nr_intr_regs,
		    &d->r->intr_regs);
}

/* The kernel reserves size bytes, and writes after them how many it could copy. */
static void decode_user_stack(struct decoder *d)
{
	uint64_t size = cursor_le64(&d->c);

	if (!size)
		return;
	d->r->stack = cursor_bytes(&d->c, size);
	d->r->stack_len = cursor_le64(&d->c);
	d->c.underflow |= d->r->stack_len > size;
}

static void decode_weight(struct decoder *d)
{
	if (d->l->sample_type & PERF_SAMPLE_WEIGHT) {
		d->r->weight = cursor_le64(&d->c);
		return;
	}
	d->r->weight = cursor_le32(&d->c);
	d->r->weight2 = cursor_le16(&d->c);
	d->r->weight3 = cursor_le16(&d->c);
	d->r->has |= TRACE_HAS_WEIGHT_PARTS;
}

static void decode_sampled_aux(struct decoder *d)
{
	d->r->aux_len = cursor_le64(&d->c);
	d->c.underflow |= d->r->aux_len > d->c.left;
	if (!d->c.underflow)
		cursor_skip(&d->c, (size_t)d->r->aux_len);
}

/* Where a field goes. Without a function it is one word, stored in a member of the record. */
struct target {
	uint32_t has;
	size_t at;
	void (*decode)(struct decoder *d);
};

#define WORD(has, member)                                                                          \
	{                                                                                          \
		has, offsetof(struct trace_record, member), NULL                                   \
	}

static const struct target targets[PERF_ABI_NR_FIELDS] = {
    [PERF_ABI_IDENTIFIER] = WORD(TRACE_HAS_ID, id),
    [PERF_ABI_IP] = WORD(TRACE_HAS_IP, ip),
    [PERF_ABI_TID] = {TRACE_HAS_TID, 0, decode_tid},
    [PERF_ABI_TIME] = WORD(TRACE_HAS_TIME, time_ns),
    [PERF_ABI_ADDR] = WORD(TRACE_HAS_ADDR, addr),
    [PERF_ABI_ID] = WORD(TRACE_HAS_ID, id),
    [PERF_ABI_STREAM_ID] = WORD(TRACE_HAS_STREAM, stream),
    [PERF_ABI_CPU] = {TRACE_HAS_CPU, 0, decode_cpu},
    [PERF_ABI_PERIOD] = WORD(TRACE_HAS_PERIOD, period),
    [PERF_ABI_READ] = {TRACE_HAS_READ, 0, decode_read},
    [PERF_ABI_CALLCHAIN] = {TRACE_HAS_CALLCHAIN, 0, decode_callchain},
    [PERF_ABI_RAW] = {TRACE_HAS_RAW, 0, decode_raw},
    [PERF_ABI_BRANCH_STACK] = {TRACE_HAS_BRANCHES, 0, decode_branches},
    [PERF_ABI_REGS_USER] = {TRACE_HAS_USER_REGS, 0, decode_user_regs},
    [PERF_ABI_STACK_USER] = {TRACE_HAS_USER_STACK, 0, decode_user_stack},
    [PERF_ABI_WEIGHT] = {TRACE_HAS_WEIGHT, 0, decode_weight},
    [PERF_ABI_DATA_SRC] = WORD(TRACE_HAS_DATA_SRC, data_src),
    [PERF_ABI_TRANSACTION] = WORD(TRACE_HAS_TRANSACTION, transaction),
    [PERF_ABI_REGS_INTR] = {TRACE_HAS_INTR_REGS, 0, decode_intr_regs},
    [PERF_ABI_PHYS_ADDR] = WORD(TRACE_HAS_PHYS_ADDR, phys_addr),
    [PERF_ABI_CGROUP] = WORD(TRACE_HAS_CGROUP, cgroup),
    [PERF_ABI_DATA_PAGE_SIZE] = WORD(TRACE_HAS_DATA_PAGE, data_page_bytes),
    [PERF_ABI_CODE_PAGE_SIZE] = WORD(TRACE_HAS_CODE_PAGE, code_page_bytes),
    [PERF_ABI_AUX] = {TRACE_HAS_AUX, 0, decode_sampled_aux},
};

static void decode_field(struct decoder *d, enum perf_abi_field f)
{
	const struct target *t = &targets[f];

	if (!perf_abi_has(d->l->sample_type, f))
		return;
	d->r->has |= t->has;
	if (t->decode)
		t->decode(d);
	else
		*(uint64_t *)(void *)((char *)d->r + t->at) = cursor_le64(&d->c);
}

size_t trace_layout_id_bytes(const struct trace_layout *l)
{
	return l->has_sample_id ? perf_abi_id_words(l->sample_type) * WORD_BYTES : 0;
}

/* Text up to its NUL, padded to a multiple of 8. */
static void decode_name(struct decoder *d)
{
	const uint8_t *p = d->c.at;

	d->c.underflow |= !d->c.left || !memchr(p, '\0', d->c.left);
	if (!d->c.underflow)
		d->r->name = (const char *)p;
}

static void decode_range(struct decoder *d)
{
	d->r->start = cursor_le64(&d->c);
	d->r->length = cursor_le64(&d->c);
	d->r->offset = cursor_le64(&d->c);
}

/* The kernel leaves the bit of one listener in the records of all listeners after it, also of those
 * that asked for device and inode and get these (Linux 5.12 to 6.18: perf_event_mmap_output in
 * kernel/events/core.c). Programs that rewrite records put build-ids into those of events that did
 * not ask: they are recognised because no device and inode have as high numbers as the bytes of a
 * build-id.
 */
static bool holds_build_id(const struct decoder *d)
{
	struct cursor c = d->c;
	uint32_t len = cursor_le32(&c), minor = cursor_le32(&c);
	uint64_t inode = cursor_le64(&c);

	if (!(d->r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		return false;
	return d->l->has_build_id || (cursor_ok(&c) && len <= TRACE_MAX_BUILD_ID_BYTES &&
				      (minor > MAX_MINOR || inode > MAX_INODE));
}

/* A build-id or device and inode; protection. */
static void decode_file(struct decoder *d)
{
	const uint8_t *id;
	unsigned len;

	if (holds_build_id(d)) {
		len = cursor_u8(&d->c);
		cursor_skip(&d->c, 3);
		id = cursor_bytes(&d->c, TRACE_MAX_BUILD_ID_BYTES);
		d->c.underflow |= len > TRACE_MAX_BUILD_ID_BYTES;
		if (!d->c.underflow) {
			memcpy(d->r->build_id, id, len);
			d->r->build_id_len = len;
		}
	} else {
		d->r->misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
		d->r->major = cursor_le32(&d->c);
		d->r->minor = cursor_le32(&d->c);
		d->r->inode = cursor_le64(&d->c);
		d->r->inode_generation = cursor_le64(&d->c);
	}
	d->r->prot = cursor_le32(&d->c);
	d->r->flags = cursor_le32(&d->c);
}

static void decode_lost(struct decoder *d)
{
	d->r->lost = cursor_le64(&d->c);
}

/* The id in a record's own fields. */
static void decode_own_id(struct decoder *d)
{
	d->r->id = cursor_le64(&d->c);
	d->r->has |= TRACE_HAS_ID;
}

static void decode_own_time(struct decoder *d)
{
	d->r->time_ns = cursor_le64(&d->c);
	d->r->has |= TRACE_HAS_TIME;
}

static void decode_task(struct decoder *d)
{
	d->r->pid = cursor_le32(&d->c);
	d->r->ppid = cursor_le32(&d->c);
	d->r->tid = cursor_le32(&d->c);
	d->r->ptid = cursor_le32(&d->c);
}

static void decode_counts(struct decoder *d)
{
	decode_read(d);
	d->r->has |= TRACE_HAS_READ;
}

static void decode_aux(struct decoder *d)
{
	d->r->offset = cursor_le64(&d->c);
	d->r->length = cursor_le64(&d->c);
	d->r->flags = (uint32_t)cursor_le64(&d->c);
}

/* Its pid and tid are at the end: these are the other task's. */
static void decode_switch(struct decoder *d)
{
	d->r->ppid = cursor_le32(&d->c);
	d->r->ptid = cursor_le32(&d->c);
}

static void decode_namespaces(struct decoder *d)
{
	d->r->nr_namespaces = cursor_le64(&d->c);
	d->r->namespaces = decode_words(d, d->r->nr_namespaces, 2);
}

static void decode_ksymbol(struct decoder *d)
{
	d->r->start = cursor_le64(&d->c);
	d->r->length = cursor_le32(&d->c);
	d->r->type = cursor_le16(&d->c);
	d->r->flags = cursor_le16(&d->c);
}

static void decode_bpf(struct decoder *d)
{
	d->r->type = cursor_le16(&d->c);
	d->r->flags = cursor_le16(&d->c);
	d->r->object = cursor_le32(&d->c);
}

static void decode_object(struct decoder *d)
{
	d->r->object = cursor_le64(&d->c);
}

static void decode_text_poke(struct decoder *d)
{
	uint32_t old_len, new_len;

	d->r->start = cursor_le64(&d->c);
	old_len = cursor_le16(&d->c);
	new_len = cursor_le16(&d->c);
	cursor_skip(&d->c, old_len + new_len);
	d->r->length = new_len;
}

/* Kinds, and their fields up to the id at the end. */
static const struct {
	const char *name;
	void (*decode[5])(struct decoder *d); /* up to NULL */
} kinds[] = {
    [PERF_RECORD_MMAP] = {"mmap", {decode_tid, decode_range, decode_name}},
    [PERF_RECORD_LOST] = {"lost", {decode_own_id, decode_lost}},
    [PERF_RECORD_COMM] = {"comm", {decode_tid, decode_name}},
    [PERF_RECORD_EXIT] = {"exit", {decode_task, decode_own_time}},
    [PERF_RECORD_THROTTLE] = {"throttle", {decode_own_time, decode_own_id, skip_word}},
    [PERF_RECORD_UNTHROTTLE] = {"unthrottle", {decode_own_time, decode_own_id, skip_word}},
    [PERF_RECORD_FORK] = {"fork", {decode_task, decode_own_time}},
    [PERF_RECORD_READ] = {"read", {decode_tid, decode_counts}},
    [PERF_RECORD_SAMPLE] = {"sample", {NULL}}, /* see decode_record */
    [PERF_RECORD_MMAP2] = {"mmap2", {decode_tid, decode_range, decode_file, decode_name}},
    [PERF_RECORD_AUX] = {"aux", {decode_aux}},
    [PERF_RECORD_ITRACE_START] = {"itrace_start", {decode_tid}},
    [PERF_RECORD_LOST_SAMPLES] = {"lost_samples", {decode_lost}},
    [PERF_RECORD_SWITCH] = {"switch", {NULL}},
    [PERF_RECORD_SWITCH_CPU_WIDE] = {"switch_cpu_wide", {decode_switch}},
    [PERF_RECORD_NAMESPACES] = {"namespaces", {decode_tid, decode_namespaces}},
    [PERF_RECORD_KSYMBOL] = {"ksymbol", {decode_ksymbol, decode_name}},
    [PERF_RECORD_BPF_EVENT] = {"bpf_event", {decode_bpf, skip_word}}, /* its tag */
    [PERF_RECORD_CGROUP] = {"cgroup", {decode_object, decode_name}},
    [PERF_RECORD_TEXT_POKE] = {"text_poke", {decode_text_poke}},
    [PERF_RECORD_AUX_OUTPUT_HW_ID] = {"aux_output_hw_id", {decode_object}},
    [PERF_ABI_RECORD_CALLCHAIN_DEFERRED] = {"callchain_deferred",
					    {decode_object, decode_callchain}},
};

const char *trace_record_kind_name(uint32_t kind)
{
	return kind < ARRAY_NR(kinds) ? kinds[kind].name : NULL;
}

static bool decode_record(const struct trace_layout *l, struct trace_record *r, bool no_hw_index)
{
	struct decoder d = {.l = l, .r = r, .no_hw_index = no_hw_index};
	struct cursor body;
	size_t id_len;

	cursor_init(&d.c, r->bytes + HEADER_BYTES, r->len - HEADER_BYTES);
	if (r->kind == PERF_RECORD_SAMPLE) {
		r->period = l->period;
		for (unsigned f = 0; f < PERF_ABI_NR_FIELDS; f++)
			decode_field(&d, (enum perf_abi_field)f);
		return cursor_ok(&d.c) && (d.c.left == 0 || trace_layout_shares_data(l));
	}
	if (!trace_record_kind_name(r->kind))
		return true;
	id_len = trace_layout_id_bytes(l);
	if (id_len > d.c.left)
		return false;
	/* the id at the end first: the record's own pid, id and time override it */
	body = d.c;
	body.left = perf_abi_body_bytes(r->bytes, r->len, id_len) - HEADER_BYTES;
	cursor_skip(&d.c, body.left);
	for (unsigned i = 0; l->has_sample_id && i < PERF_ABI_NR_ID_FIELDS; i++)
		decode_field(&d, perf_abi_id_fields[i]);
	d.c = body;
	for (size_t i = 0; kinds[r->kind].decode[i]; i++)
		kinds[r->kind].decode[i](&d);
	return cursor_ok(&d.c);
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

/* Decodes the header alone; r->len is 0 if there is no record. */
static void begin(const uint8_t *p, size_t len, struct trace_record *r)
{
	uint16_t misc;

	*r = (struct trace_record){.pid = TRACE_UNKNOWN, .tid = TRACE_UNKNOWN};
	r->len = trace_record_size(p, len, &r->kind);
	if (!r->len)
		return;
	r->bytes = p;
	memcpy(&misc, p + 4, sizeof(misc));
	r->misc = le16toh(misc);
	r->cpumode = r->misc & CPUMODE_MASK;
	r->is_exact_ip = r->kind == PERF_RECORD_SAMPLE && r->misc & PERF_RECORD_MISC_EXACT_IP;
}

int trace_record_decode(const struct trace_layout *l, const uint8_t *p, size_t len,
			struct trace_record *out)
{
	begin(p, len, out);
	if (!out->len)
		return -EINVAL;
	if (decode_record(l, out, false))
		return 0;
	/* a sample without branches from the PMU has their number, 0, and no index after it */
	begin(p, len, out);
	if (decode_record(l, out, true) && !out->nr_branches)
		return 0;
	begin(p, len, out);
	return -EINVAL;
}

uint64_t trace_record_word(const struct trace_place *place, const uint8_t *p, size_t len)
{
	uint32_t kind = 0;
	size_t size = trace_record_size(p, len, &kind), at = 1 + place->of_sample;

	if (kind != PERF_RECORD_SAMPLE) {
		const size_t body = perf_abi_body_bytes(p, size, place->id_bytes);

		at = (body + place->id_bytes) / WORD_BYTES - place->of_other;
	}
	return place->is_there && at && at < size / WORD_BYTES ? trace_word(p, at) : 0;
}

static uint64_t branch_flag(uint64_t flags, enum perf_abi_branch_flag f)
{
	const struct perf_abi_bits *b = &perf_abi_branch_flags[f];

	return flags >> b->from & ((1u << b->nr) - 1);
}

void trace_record_branch(const struct trace_record *r, uint64_t i, struct trace_branch *out)
{
	const uint8_t *p = r->branches + i * PERF_ABI_BRANCH_WORDS * WORD_BYTES;
	uint64_t flags = trace_word(p, 2);

	*out = (struct trace_branch){
	    .from = trace_word(p, 0),
	    .to = trace_word(p, 1),
	    .mispredicted = branch_flag(flags, PERF_ABI_BRANCH_MISPREDICTED),
	    .predicted = branch_flag(flags, PERF_ABI_BRANCH_PREDICTED),
	    .in_transaction = branch_flag(flags, PERF_ABI_BRANCH_IN_TX),
	    .aborted = branch_flag(flags, PERF_ABI_BRANCH_ABORT),
	    .cycles = (uint16_t)branch_flag(flags, PERF_ABI_BRANCH_CYCLES),
	    .type = (uint8_t)branch_flag(flags, PERF_ABI_BRANCH_TYPE),
	    .speculation = (uint8_t)branch_flag(flags, PERF_ABI_BRANCH_SPEC),
	    .new_type = (uint8_t)branch_flag(flags, PERF_ABI_BRANCH_NEW_TYPE),
	    .privilege = (uint8_t)branch_flag(flags, PERF_ABI_BRANCH_PRIV),
	};
}

/* enum perf_callchain_context */
const char *trace_context_name(uint64_t address)
{
	static const struct {
		uint64_t mark;
		const char *name;
	} marks[] = {{PERF_CONTEXT_HV, "hypervisor"},
		     {PERF_CONTEXT_KERNEL, "kernel"},
		     {PERF_CONTEXT_USER, "user"},
		     {PERF_ABI_CONTEXT_USER_DEFERRED, "user deferred"},
		     {PERF_CONTEXT_GUEST, "guest"},
		     {PERF_CONTEXT_GUEST_KERNEL, "guest kernel"},
		     {PERF_CONTEXT_GUEST_USER, "guest user"}};

	if (address < PERF_CONTEXT_MAX)
		return NULL;
	for (size_t i = 0; i < ARRAY_NR(marks); i++)
		if (address == marks[i].mark)
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
		i += *pc == PERF_ABI_CONTEXT_USER_DEFERRED; /* its cookie */
	}
	return false;
}

bool trace_record_ended(const struct trace_layout *l, const struct trace_record *r,
			uint64_t *address)
{
	if (!l->is_of_ended || !(r->has & TRACE_HAS_RAW) || r->raw_len < PERF_ABI_ENDED_WORDS)
		return false;
	*address = trace_word(r->raw, 1);
	return true;
}

/* The layout is struct bpf_hits_returns: what was written, a number, and so many pairs of a place
 * and what was there. */
bool trace_returns_find(const struct trace_record *sample, uint64_t written, uint64_t sp,
			uint64_t *out)
{
	enum { HEAD = 2, PAIR = 2, WORD = sizeof(uint64_t) };
	const uint32_t at_least = sample->returns_at + HEAD * WORD;
	const uint8_t *raw;
	uint64_t nr, room;

	if (!(sample->has & TRACE_HAS_RAW) || sample->raw_len < at_least)
		return false;
	raw = sample->raw + sample->returns_at;
	if (!trace_word(raw, 0) || trace_word(raw, 0) != written)
		return false;
	nr = trace_word(raw, 1);
	room = (sample->raw_len - at_least) / WORD / PAIR;
	for (uint64_t i = nr < room ? nr : room; i--;) {
		uint64_t at = trace_word(raw, HEAD + i * PAIR);

		if (at != sp && at != sp - WORD)
			continue;
		*out = trace_word(raw, HEAD + i * PAIR + 1);
		return true;
	}
	return false;
}
