/*
 * Converts records from the other byte order. All words of a record are swapped first; then fields
 * that are not words are corrected: the two numbers of a pair are exchanged, and bytes are swapped
 * back. Source for bit fields: tools/perf/util/evsel.c. Must not trust a number of the record.
 */
#include "import/internal.h"

#include <endian.h>

enum { WORD = PERF_ABI_WORD_BYTES };

/* The words that are still to be corrected. */
struct turn {
	uint8_t *p;
	size_t left; /* words */
	bool is_bad;
};

static uint64_t get(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static void set(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static void turn_words(uint8_t *p, size_t nr)
{
	for (; nr; nr--, p += WORD) {
		uint64_t v;

		memcpy(&v, p, sizeof(v));
		v = __builtin_bswap64(v);
		memcpy(p, &v, sizeof(v));
	}
}

static uint8_t *take(struct turn *t, uint64_t nr)
{
	uint8_t *p = t->p;

	t->is_bad |= nr > t->left;
	if (t->is_bad)
		return NULL;
	t->p += nr * WORD;
	t->left -= (size_t)nr;
	return p;
}

static uint64_t word(struct turn *t)
{
	const uint8_t *p = take(t, 1);

	return p ? get(p) : 0;
}

static void words(struct turn *t, uint64_t nr)
{
	take(t, nr);
}

/* Two numbers of 32 bits. */
static void pair(struct turn *t)
{
	uint8_t *p = take(t, 1);

	if (p)
		set(p, get(p) << 32 | get(p) >> 32);
}

static void bytes(struct turn *t, uint64_t nr)
{
	uint8_t *p = take(t, nr);

	if (p)
		turn_words(p, (size_t)nr);
}

static void rest(struct turn *t)
{
	bytes(t, t->left);
}

/* A length of 32 bits, and so many bytes: together whole words. */
static void raw(struct turn *t)
{
	uint8_t *p = t->p;
	uint64_t len;

	if (!take(t, 1))
		return;
	len = get(p) >> 32;
	t->is_bad |= (len + 4) % WORD || (len + 4) / WORD - 1 > t->left;
	if (t->is_bad)
		return;
	bytes(t, (len + 4) / WORD - 1);
	turn_words(p, 1);
	memcpy(p, &(uint32_t){htole32((uint32_t)len)}, 4);
}

static uint64_t reverse_bits(uint64_t v, unsigned from, unsigned nr)
{
	return v >> (64 - from - nr) & ((UINT64_C(1) << nr) - 1);
}

/* struct perf_branch_entry: in the other order its first bit is the highest. */
static uint64_t branch_flags(uint64_t v)
{
	uint64_t out = 0;

	for (size_t i = 0; i < PERF_ABI_NR_BRANCH_FLAGS; i++) {
		const struct perf_abi_bits *b = &perf_abi_branch_flags[i];

		out |= reverse_bits(v, b->from, b->nr) << b->from;
	}
	return out;
}

static void branches(struct turn *t, const struct trace_layout *l)
{
	uint64_t nr = word(t);

	if (l->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		words(t, 1);
	t->is_bad |= nr > t->left;
	for (uint64_t i = 0; i < nr && !t->is_bad; i++) {
		uint8_t *p = take(t, PERF_ABI_BRANCH_WORDS);

		if (p)
			set(p + 2 * WORD, branch_flags(get(p + 2 * WORD)));
	}
	if (l->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
		words(t, nr);
}

static void read_values(struct turn *t, const struct trace_layout *l)
{
	const uint64_t of_all = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	const uint64_t of_each = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	uint64_t times = (uint64_t)__builtin_popcountll(l->read_format & of_all);
	uint64_t each = 1 + (uint64_t)__builtin_popcountll(l->read_format & of_each);
	uint64_t nr = 1;

	if (l->read_format & PERF_FORMAT_GROUP)
		nr = word(t);
	t->is_bad |= nr > t->left;
	if (!t->is_bad)
		words(t, times + nr * each);
}

static void regs(struct turn *t, unsigned nr)
{
	if (word(t))
		words(t, nr);
}

/* How many bytes, whole words; how many of them are good. */
static void stack(struct turn *t)
{
	uint64_t len = word(t);

	t->is_bad |= len % WORD != 0;
	bytes(t, len / WORD);
	words(t, len != 0);
}

static void aux(struct turn *t)
{
	uint64_t len = word(t);

	t->is_bad |= len % WORD != 0;
	bytes(t, len / WORD);
}

static void list(struct turn *t, const struct trace_layout *l, enum perf_abi_field f)
{
	switch (f) {
	case PERF_ABI_READ:
		read_values(t, l);
		break;
	case PERF_ABI_CALLCHAIN:
		words(t, word(t));
		break;
	case PERF_ABI_RAW:
		raw(t);
		break;
	case PERF_ABI_BRANCH_STACK:
		branches(t, l);
		break;
	case PERF_ABI_REGS_USER:
		regs(t, l->nr_user_regs);
		break;
	case PERF_ABI_REGS_INTR:
		regs(t, l->nr_intr_regs);
		break;
	case PERF_ABI_STACK_USER:
		stack(t);
		break;
	default: /* PERF_ABI_AUX */
		aux(t);
		break;
	}
}

static void field(struct turn *t, const struct trace_layout *l, enum perf_abi_field f)
{
	if (!perf_abi_has(l->sample_type, f))
		return;
	if (perf_abi_fields[f].shape == PERF_ABI_WORD)
		words(t, 1);
	else if (perf_abi_fields[f].shape == PERF_ABI_PAIR)
		pair(t);
	else
		list(t, l, f);
}

static void sample(struct turn *t, const struct trace_layout *l)
{
	for (unsigned f = 0; f < PERF_ABI_NR_FIELDS; f++)
		field(t, l, (enum perf_abi_field)f);
}

static void sample_id(struct turn *t, const struct trace_layout *l)
{
	for (unsigned i = 0; i < PERF_ABI_NR_ID_FIELDS; i++)
		field(t, l, perf_abi_id_fields[i]);
}

/* The address; a length of 32 bits, and two numbers of 16. */
static void ksymbol(struct turn *t)
{
	uint8_t *p;
	uint64_t v;

	words(t, 1);
	p = take(t, 1);
	v = p ? get(p) : 0;
	if (p)
		set(p, v >> 32 | (v & 0xffff0000) << 16 | v << 48);
	rest(t);
}

/* Two numbers of 16 bits and one of 32; bytes. */
static void bpf(struct turn *t)
{
	uint8_t *p = take(t, 1);
	uint64_t v = p ? get(p) : 0;

	if (p)
		set(p, v >> 48 | (v >> 16 & 0xffff0000) | v << 32);
	rest(t);
}

static void mmap2(struct turn *t, bool has_build_id)
{
	pair(t);
	words(t, 3);
	if (has_build_id) {
		bytes(t, 3);
	} else {
		pair(t);
		words(t, 2);
	}
	pair(t);
	rest(t);
}

static void text_poke(struct turn *t)
{
	words(t, 1);
	rest(t); /* nothing reads it */
}

/* p: a pair, w: a word, s: bytes to the end; the rest are words. */
static const char *const shapes[] = {
    [PERF_RECORD_MMAP] = "pwwws",
    [PERF_RECORD_COMM] = "ps",
    [PERF_RECORD_EXIT] = "pp",
    [PERF_RECORD_FORK] = "pp",
    [PERF_RECORD_READ] = "p",
    [PERF_RECORD_ITRACE_START] = "p",
    [PERF_RECORD_SWITCH_CPU_WIDE] = "p",
    [PERF_RECORD_NAMESPACES] = "p",
    [PERF_RECORD_CGROUP] = "ws",
};

static void shaped(struct turn *t, const char *shape)
{
	for (; shape && *shape; shape++) {
		if (*shape == 'p')
			pair(t);
		else if (*shape == 'w')
			words(t, 1);
		else
			rest(t);
	}
}

static void body(struct turn *t, const struct import_record *r, bool has_build_id)
{
	if (r->type == PERF_RECORD_MMAP2)
		mmap2(t, has_build_id && r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
	else if (r->type == PERF_RECORD_KSYMBOL)
		ksymbol(t);
	else if (r->type == PERF_RECORD_BPF_EVENT)
		bpf(t);
	else if (r->type == PERF_RECORD_TEXT_POKE)
		text_poke(t);
	else if (r->type < sizeof(shapes) / sizeof(shapes[0]))
		shaped(t, shapes[r->type]);
}

static void turn_header(const struct import_record *r)
{
	const uint32_t type = htole32(r->type);
	const uint16_t misc = htole16(r->misc), size = htole16((uint16_t)r->size);

	memcpy(r->p, &type, sizeof(type));
	memcpy(r->p + 4, &misc, sizeof(misc));
	memcpy(r->p + 6, &size, sizeof(size));
}

bool import_swap(struct import *im, const struct import_record *r)
{
	struct turn t = {r->p + WORD, r->size / WORD - 1, false}, end = t;
	const struct import_event *ev;
	size_t id_words;

	turn_header(r);
	turn_words(t.p, t.left);
	ev = import_layout_of(im, r->p, r->size);
	if (r->type == PERF_RECORD_SAMPLE) {
		if (ev)
			sample(&t, &ev->layout);
		return !t.is_bad;
	}
	if (!trace_record_kind_name(r->type))
		return true; /* nothing reads it */
	id_words = ev ? trace_layout_id_bytes(&ev->layout) / WORD : 0;
	if (id_words > t.left)
		return false;
	end.p += (t.left - id_words) * WORD;
	end.left = id_words;
	t.left -= id_words;
	body(&t, r, ev && ev->layout.has_build_id);
	if (id_words)
		sample_id(&end, &ev->layout);
	return !t.is_bad && !end.is_bad;
}

static uint8_t reverse_byte(uint8_t b)
{
	uint8_t out = 0;

	for (int i = 0; i < 8; i++)
		out |= (uint8_t)((b >> i & 1) << (7 - i));
	return out;
}

#define ATTR_AT(field) offsetof(struct perf_event_attr, field)

/* struct perf_event_attr: words, except pairs, and the flags, whose bits count from the other end
 * of each byte. */
void import_swap_attr(uint8_t *attr, size_t len)
{
	enum { FLAGS_AT = PERF_ABI_ATTR_BITS_AT };
	static const uint8_t pairs[] = {ATTR_AT(type), ATTR_AT(wakeup_events),
					ATTR_AT(sample_stack_user), ATTR_AT(aux_watermark),
					ATTR_AT(aux_sample_size)};
	struct turn t = {attr, len / WORD, false};
	uint8_t flags[WORD];

	memcpy(flags, attr + FLAGS_AT, WORD);
	turn_words(attr, t.left);
	for (size_t i = 0; i < WORD; i++)
		attr[FLAGS_AT + i] = reverse_byte(flags[i]);
	for (size_t i = 0; i < sizeof(pairs); i++) {
		struct turn at = {attr + pairs[i], pairs[i] < len, false};

		pair(&at);
	}
	if (len >= ATTR_AT(sample_max_stack) + WORD / 2) { /* halves of what is by now a number */
		uint16_t halves[2];

		memcpy(halves, attr + ATTR_AT(sample_max_stack), sizeof(halves));
		memcpy(attr + ATTR_AT(sample_max_stack), &halves[1], sizeof(halves[1]));
		memcpy(attr + ATTR_AT(sample_max_stack) + 2, &halves[0], sizeof(halves[0]));
	}
}
