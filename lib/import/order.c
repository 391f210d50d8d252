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

static uint8_t *skip_words(struct turn *t, uint64_t nr)
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
	const uint8_t *p = skip_words(t, 1);

	return p ? get(p) : 0;
}

static void bytes(struct turn *t, uint64_t nr)
{
	uint8_t *p = skip_words(t, nr);

	if (p)
		turn_words(p, (size_t)nr);
}

/* A length of 32 bits, and so many bytes: together whole words. */
static void raw(struct turn *t)
{
	uint8_t *p = t->p;
	uint64_t len;

	if (!skip_words(t, 1))
		return;
	len = get(p) >> 32;
	t->is_bad |= (len + 4) % WORD || (len + 4) / WORD - 1 > t->left;
	if (t->is_bad)
		return;
	bytes(t, (len + 4) / WORD - 1);
	turn_words(p, 1);
	memcpy(p, &(uint32_t){htole32((uint32_t)len)}, 4);
}

/* struct perf_branch_entry: in the other order its first bit is the highest. */
static uint64_t branch_flags(uint64_t v)
{
	uint64_t out = 0;

	for (size_t i = 0; i < PERF_ABI_NR_BRANCH_FLAGS; i++) {
		const struct perf_abi_bits *b = &perf_abi_branch_flags[i];

		out |= (v >> (64 - b->from - b->nr) & ((UINT64_C(1) << b->nr) - 1)) << b->from;
	}
	return out;
}

static void branches(struct turn *t, const struct trace_layout *l)
{
	uint64_t nr = word(t);

	if (l->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		skip_words(t, 1);
	t->is_bad |= nr > t->left;
	for (uint64_t i = 0; i < nr && !t->is_bad; i++) {
		uint8_t *p = skip_words(t, PERF_ABI_BRANCH_WORDS);

		if (p)
			set(p + 2 * WORD, branch_flags(get(p + 2 * WORD)));
	}
	if (l->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
		skip_words(t, nr);
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
		skip_words(t, times + nr * each);
}

static void regs(struct turn *t, unsigned nr)
{
	if (word(t))
		skip_words(t, nr);
}

/* A number of bytes, which are whole words. */
static uint64_t counted_bytes(struct turn *t)
{
	uint64_t len = word(t);

	t->is_bad |= len % WORD != 0;
	bytes(t, len / WORD);
	return len;
}

static void list(struct turn *t, const struct trace_layout *l, enum perf_abi_field f)
{
	switch (f) {
	case PERF_ABI_READ:
		read_values(t, l);
		break;
	case PERF_ABI_CALLCHAIN:
		skip_words(t, word(t));
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
		skip_words(t, counted_bytes(t) != 0); /* how many of them are good */
		break;
	default: /* PERF_ABI_AUX */
		counted_bytes(t);
		break;
	}
}

/* p: a pair; w: a word; b: a word of bytes; s: bytes to the end; k: 32 bits and two numbers of 16;
 * f: two numbers of 16 bits and one of 32; t: two numbers of 16 and 4 bytes. The rest are words. */
static const char *const shapes[] = {
    [PERF_RECORD_MMAP] = "pwwws",     [PERF_RECORD_COMM] = "ps",
    [PERF_RECORD_EXIT] = "pp",        [PERF_RECORD_FORK] = "pp",
    [PERF_RECORD_READ] = "p",         [PERF_RECORD_MMAP2] = "pwwwpwwps",
    [PERF_RECORD_ITRACE_START] = "p", [PERF_RECORD_SWITCH_CPU_WIDE] = "p",
    [PERF_RECORD_NAMESPACES] = "p",   [PERF_RECORD_KSYMBOL] = "wks",
    [PERF_RECORD_BPF_EVENT] = "fs",   [PERF_RECORD_CGROUP] = "ws",
    [PERF_RECORD_TEXT_POKE] = "wws", /* the second: turn_lengths */
};
static const char identified_mmap2[] = "pwwwbbbps", short_mmap2[] = "pwwwpwws";

static void shaped(struct turn *t, const char *shape)
{
	for (; shape && *shape; shape++) {
		uint8_t *p = t->p;
		uint64_t v;

		if (*shape == 's') {
			bytes(t, t->left);
			continue;
		}
		v = word(t);
		if (t->is_bad)
			return;
		if (*shape == 'p')
			set(p, v << 32 | v >> 32);
		else if (*shape == 'b')
			turn_words(p, 1);
		else if (*shape == 'k')
			set(p, v >> 32 | (v & 0xffff0000) << 16 | v << 48);
		else if (*shape == 'f')
			set(p, v >> 48 | (v >> 16 & 0xffff0000) | v << 32);
		else if (*shape == 't')
			set(p, v >> 48 | (v >> 16 & 0xffff0000) |
				   (uint64_t)__builtin_bswap32((uint32_t)v) << 32);
	}
}

static void field(struct turn *t, const struct trace_layout *l, enum perf_abi_field f)
{
	if (!perf_abi_has(l->sample_type, f))
		return;
	if (perf_abi_fields[f].shape == PERF_ABI_WORD)
		skip_words(t, 1);
	else if (perf_abi_fields[f].shape == PERF_ABI_PAIR)
		shaped(t, "p");
	else
		list(t, l, f);
}

/* The type, two numbers of 16 bits. */
static void turn_header(const struct import_record *r)
{
	const uint32_t type = htole32(r->type);
	const uint16_t misc = htole16(r->misc), size = htole16((uint16_t)r->size);

	memcpy(r->p, &type, sizeof(type));
	memcpy(r->p + 4, &misc, sizeof(misc));
	memcpy(r->p + 6, &size, sizeof(size));
}

/* Where the id is depends on them (perf_abi_body_bytes), and what the id is on where it is. A name
 * ends in the same word in both orders. */
static void turn_lengths(const struct import_record *r)
{
	struct turn t = {r->p + WORD, r->size / WORD - 1, false};

	if (r->type == PERF_RECORD_TEXT_POKE)
		shaped(&t, "wt");
}

bool import_swap(struct import *im, const struct import_record *r)
{
	struct turn t = {r->p + WORD, r->size / WORD - 1, false}, end = t;
	const bool is_short = import_is_short_mmap2(r);
	const struct import_event *ev;
	bool is_identified;
	size_t id_words;

	turn_header(r);
	turn_words(t.p, t.left);
	turn_lengths(r);
	ev = import_layout_of(im, r->p, r->size);
	if (r->type == PERF_RECORD_SAMPLE) {
		for (unsigned f = 0; f < PERF_ABI_NR_FIELDS && ev; f++)
			field(&t, &ev->layout, (enum perf_abi_field)f);
		return !t.is_bad;
	}
	if (!trace_record_kind_name(r->type))
		return true; /* nothing reads it */
	id_words = ev ? trace_layout_id_bytes(&ev->layout) / WORD : 0;
	if (id_words > t.left)
		return false;
	t.left = perf_abi_body_bytes(r->p, r->size, id_words * WORD) / WORD - 1;
	end.p += t.left * WORD;
	end.left = id_words;
	is_identified = r->type == PERF_RECORD_MMAP2 && ev && ev->layout.has_build_id &&
			r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
	if (r->type < sizeof(shapes) / sizeof(shapes[0]))
		shaped(&t, is_short        ? short_mmap2
			   : is_identified ? identified_mmap2
					   : shapes[r->type]);
	for (unsigned i = 0; i < PERF_ABI_NR_ID_FIELDS && id_words; i++)
		field(&end, &ev->layout, perf_abi_id_fields[i]);
	return !t.is_bad && !end.is_bad;
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
		for (unsigned k = 0; k < 8; k++) {
			attr[FLAGS_AT + i] = (uint8_t)(attr[FLAGS_AT + i] << 1 | (flags[i] & 1));
			flags[i] >>= 1;
		}
	for (size_t i = 0; i < sizeof(pairs); i++) {
		struct turn at = {attr + pairs[i], pairs[i] < len, false};

		shaped(&at, "p");
	}
	if (len >= ATTR_AT(sample_max_stack) + WORD / 2) { /* swapped as one */
		uint16_t halves[2];

		memcpy(halves, attr + ATTR_AT(sample_max_stack), sizeof(halves));
		memcpy(attr + ATTR_AT(sample_max_stack), &halves[1], sizeof(halves[1]));
		memcpy(attr + ATTR_AT(sample_max_stack) + 2, &halves[0], sizeof(halves[0]));
	}
}
