/*
 * Where the numbers are, by version; and their reading. All are unsigned and of the machine's byte
 * order, at their natural alignment.
 */
#include "gpu/metrics.h"

#include "base/array.h"
#include "base/buf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BIT(f) (1u << (f))

enum { HEADER_BYTES = 4, SIZE_AT = 0, FORMAT_AT = 2, CONTENT_AT = 3 };

/* How a value is made of the number. */
enum kind {
	SCALED, /* times scale */
	CENTI,  /* the number is in hundredths: divided by 100 */
	ENERGY, /* 2^-16 J as microjoules */
	FLAG,   /* 1 if any bit is set */
};

/* One number, or the largest of several: nr beside each other, in each of groups. */
struct place {
	uint8_t field;
	uint8_t width; /* bytes */
	uint8_t kind;
	uint16_t at;
	uint32_t scale;
	uint16_t nr, groups; /* 0: 1 */
	uint16_t group_bytes;
};

struct version {
	uint8_t format, content;
	uint16_t size; /* the kernel's own struct, with its padding */
	const struct place *places;
	size_t nr_places;
};

enum { MILLI = 1000, MEGA = 1000000, DECI_GIGA = 100000000 };

#define ONE(field_, at_, width_, kind_, scale_)                                                    \
	{                                                                                          \
		.field = field_, .width = width_, .kind = kind_, .at = at_, .scale = scale_        \
	}
#define DEGREES(field, at)    ONE(field, at, 2, SCALED, MILLI)
#define PERCENT(field, at)    ONE(field, at, 2, SCALED, 1)
#define WATTS(at)             ONE(GPU_POWER, at, 2, SCALED, MEGA)
#define MILLIWATTS(at, width) ONE(GPU_POWER, at, width, SCALED, MILLI)
#define MEGAHERTZ(field, at)  ONE(field, at, 2, SCALED, MEGA)
#define THROTTLED(at)         ONE(GPU_THROTTLED, at, 4, FLAG, 0)
#define LINK_SPEED(at, width) ONE(GPU_LINK_SPEED, at, width, SCALED, DECI_GIGA)
#define ENERGY_AT(at)         ONE(GPU_ENERGY, at, 8, ENERGY, 0)
#define MOST(field_, at_, nr_, scale_)                                                             \
	{                                                                                          \
		.field = field_, .width = 2, .at = at_, .scale = scale_, .nr = nr_                 \
	}
#define MOST_OF_GROUPS(field_, at_, nr_, groups_, group_bytes_)                                    \
	{                                                                                          \
		.field = field_, .width = 2, .at = at_, .scale = 1, .nr = nr_, .groups = groups_,  \
		.group_bytes = group_bytes_                                                        \
	}

static const struct place of_1_0[] = {
    DEGREES(GPU_TEMPERATURE, 16),
    DEGREES(GPU_HOTSPOT, 18),
    DEGREES(GPU_MEMORY_TEMPERATURE, 20),
    PERCENT(GPU_BUSY, 28),
    PERCENT(GPU_MEMORY_BUSY, 30),
    PERCENT(GPU_MEDIA_BUSY, 32),
    WATTS(34),
    MEGAHERTZ(GPU_FREQUENCY, 54),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 58),
    THROTTLED(68),
    LINK_SPEED(75, 1),
};
/* 1.1 to 1.3 */
static const struct place of_1_1[] = {
    DEGREES(GPU_TEMPERATURE, 4),
    DEGREES(GPU_HOTSPOT, 6),
    DEGREES(GPU_MEMORY_TEMPERATURE, 8),
    PERCENT(GPU_BUSY, 16),
    PERCENT(GPU_MEMORY_BUSY, 18),
    PERCENT(GPU_MEDIA_BUSY, 20),
    WATTS(22),
    MEGAHERTZ(GPU_FREQUENCY, 54),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 58),
    THROTTLED(68),
    LINK_SPEED(76, 2),
};

/* From 1.4 on (Instinct) there are several clocks and decoders. */
enum { NR_CLOCKS = 8, NR_DECODERS = 4, NR_PARTITIONS = 8 };
#define INSTINCT                                                                                   \
	DEGREES(GPU_HOTSPOT, 4), DEGREES(GPU_MEMORY_TEMPERATURE, 6), WATTS(10),                    \
	    PERCENT(GPU_BUSY, 12), PERCENT(GPU_MEMORY_BUSY, 14)

static const struct place of_1_4[] = {
    INSTINCT,
    MOST(GPU_MEDIA_BUSY, 16, NR_DECODERS, 1),
    ENERGY_AT(24),
    THROTTLED(40),
    LINK_SPEED(50, 2),
    MOST(GPU_FREQUENCY, 240, NR_CLOCKS, MEGA),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 280),
};
static const struct place of_1_5[] = {
    INSTINCT,
    MOST(GPU_MEDIA_BUSY, 16, NR_DECODERS, 1),
    ENERGY_AT(88),
    THROTTLED(104),
    LINK_SPEED(114, 2),
    MOST(GPU_FREQUENCY, 312, NR_CLOCKS, MEGA),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 352),
};
/* Until it got partitions, in the same version. */
static const struct place of_1_6_early[] = {
    INSTINCT,
    MOST(GPU_MEDIA_BUSY, 16, NR_DECODERS, 1),
    ENERGY_AT(88),
    THROTTLED(128),
    LINK_SPEED(138, 2),
    MOST(GPU_FREQUENCY, 336, NR_CLOCKS, MEGA),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 376),
};
static const struct place of_1_6[] = {
    INSTINCT,
    ENERGY_AT(16),
    LINK_SPEED(62, 2),
    MOST(GPU_FREQUENCY, 264, NR_CLOCKS, MEGA),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 304),
    MOST_OF_GROUPS(GPU_MEDIA_BUSY, 312 + 96, NR_DECODERS, NR_PARTITIONS, 168),
};
#define FROM_1_7                                                                                   \
	INSTINCT, ENERGY_AT(24), LINK_SPEED(70, 2), MOST(GPU_FREQUENCY, 296, NR_CLOCKS, MEGA),     \
	    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 336)
static const struct place of_1_7[] = {
    FROM_1_7,
    MOST_OF_GROUPS(GPU_MEDIA_BUSY, 344 + 96, NR_DECODERS, NR_PARTITIONS, 232),
};
static const struct place of_1_8[] = {
    FROM_1_7,
    MOST_OF_GROUPS(GPU_MEDIA_BUSY, 344 + 112, NR_DECODERS, NR_PARTITIONS, 440),
};

/* Processors with graphics. */
static const struct place of_2_0[] = {THROTTLED(112)};
static const struct place of_2_1[] = {THROTTLED(108)}; /* to 2.3 */
static const struct place of_2_4[] = {
    {.field = GPU_TEMPERATURE, .width = 2, .kind = SCALED, .at = 4, .scale = 10},
    {.field = GPU_BUSY, .width = 2, .kind = CENTI, .at = 28},
    {.field = GPU_MEDIA_BUSY, .width = 2, .kind = CENTI, .at = 30},
    MILLIWATTS(40, 2),
    MEGAHERTZ(GPU_FREQUENCY, 76),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 80),
    THROTTLED(108),
};
static const struct place of_3_0[] = {
    MILLIWATTS(112, 4),
    MEGAHERTZ(GPU_FREQUENCY, 174),
    MEGAHERTZ(GPU_MEMORY_FREQUENCY, 186),
};

#define PLACES(of) .places = of, .nr_places = ARRAY_NR(of)

static const struct version versions[] = {
    {1, 0, 80, PLACES(of_1_0)},        {1, 1, 96, PLACES(of_1_1)},   {1, 2, 104, PLACES(of_1_1)},
    {1, 3, 120, PLACES(of_1_1)},       {1, 4, 288, PLACES(of_1_4)},  {1, 5, 360, PLACES(of_1_5)},
    {1, 6, 384, PLACES(of_1_6_early)}, {1, 6, 1664, PLACES(of_1_6)}, {1, 7, 2208, PLACES(of_1_7)},
    {1, 8, 3872, PLACES(of_1_8)},      {2, 0, 120, PLACES(of_2_0)},  {2, 1, 120, PLACES(of_2_1)},
    {2, 2, 128, PLACES(of_2_1)},       {2, 3, 152, PLACES(of_2_1)},  {2, 4, 168, PLACES(of_2_4)},
    {3, 0, 264, PLACES(of_3_0)},
};

/* From 1.9 on a table says itself what it has: their number, then for each a code and its values,
 * packed. The energy has no unit there. */
enum { SELF_FORMAT = 1, SELF_CONTENT = 9, NR_AT = HEADER_BYTES, FIRST_AT = NR_AT + 4 };
enum { CODE_BYTES = 8, UNIT_SHIFT = 24, TYPE_SHIFT = 20, ID_SHIFT = 10 };
enum { UNIT_MASK = 0xff, TYPE_MASK = 0xf, ID_MASK = 0x3ff, NR_MASK = 0x3ff };
enum { TYPE_SIGNED = 1, NR_TYPES = 8 }; /* bit 0; above it the power of two of the width */
enum { UNIT_MHZ = 1, UNIT_CELSIUS = 2, UNIT_WATT = 3, UNIT_DECI_GT = 7, UNIT_PERCENT = 10 };

/* By the numbers of the kernel's enum amdgpu_metrics_attr_id. */
static const struct attribute {
	uint16_t id;
	uint8_t unit, field;
	uint32_t scale;
} attributes[] = {
    {0, UNIT_CELSIUS, GPU_HOTSPOT, MILLI}, {1, UNIT_CELSIUS, GPU_MEMORY_TEMPERATURE, MILLI},
    {3, UNIT_WATT, GPU_POWER, MEGA},       {4, UNIT_PERCENT, GPU_BUSY, 1},
    {5, UNIT_PERCENT, GPU_MEMORY_BUSY, 1}, {17, UNIT_DECI_GT, GPU_LINK_SPEED, DECI_GIGA},
    {33, UNIT_MHZ, GPU_FREQUENCY, MEGA},   {37, UNIT_MHZ, GPU_MEMORY_FREQUENCY, MEGA},
    {42, UNIT_PERCENT, GPU_MEDIA_BUSY, 1},
};

/* False: all bits are ones. */
static bool read_number(const char *at, uint8_t width, uint64_t *out)
{
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} n;

	memcpy(&n, at, width);
	*out = width == 1 ? n.u8 : width == 2 ? n.u16 : width == 4 ? n.u32 : n.u64;
	return *out != UINT64_MAX >> (64 - 8 * width);
}

/* The largest of those that there are. False: there is none. */
static bool read_place(const char *table, const struct place *p, uint64_t *out)
{
	unsigned nr = p->nr ? p->nr : 1, groups = p->groups ? p->groups : 1;
	bool has_any = false;
	uint64_t most = 0;

	for (unsigned i = 0; i < nr * groups; i++) {
		const char *at = table + p->at + i / nr * p->group_bytes + i % nr * p->width;
		uint64_t n;

		if (!read_number(at, p->width, &n))
			continue;
		has_any = true;
		most = n > most ? n : most;
	}
	*out = most;
	return has_any;
}

static int convert(const struct place *p, uint64_t n, uint64_t *out)
{
	/* 10^6 / 2^16 = 15625 / 1024, in steps that keep all digits */
	enum { NUMERATOR = 15625, DENOMINATOR = 1024 };
	uint64_t whole;

	switch (p->kind) {
	case CENTI:
		*out = n / 100;
		return 0;
	case FLAG:
		*out = n != 0;
		return 0;
	case ENERGY:
		if (__builtin_mul_overflow(n / DENOMINATOR, (uint64_t)NUMERATOR, &whole))
			return -ERANGE;
		return __builtin_add_overflow(whole, n % DENOMINATOR * NUMERATOR / DENOMINATOR, out)
			   ? -ERANGE
			   : 0;
	default:
		return __builtin_mul_overflow(n, (uint64_t)p->scale, out) ? -ERANGE : 0;
	}
}

static int take(const char *table, const struct place *p, uint64_t *values, uint32_t *has)
{
	uint64_t n;

	if (!read_place(table, p, &n))
		return 0;
	if (convert(p, n, &values[p->field]))
		return -ERANGE;
	*has |= BIT(p->field);
	return 0;
}

/* A value that is unsigned and in the expected unit. */
static const struct attribute *find_attribute(uint64_t code)
{
	uint64_t id = code >> ID_SHIFT & ID_MASK, unit = code >> UNIT_SHIFT & UNIT_MASK;

	if (code >> TYPE_SHIFT & TYPE_SIGNED)
		return NULL;
	return ARRAY_FIND(x, attributes, ARRAY_NR(attributes), x->id == id && x->unit == unit);
}

static int parse_attributes(const char *table, uint16_t size, uint64_t *values, uint32_t *has)
{
	uint64_t nr, code;
	size_t at = FIRST_AT, bytes;
	int rc = 0;

	if (size < FIRST_AT)
		return -EINVAL;
	(void)read_number(table + NR_AT, 4, &nr);
	for (; nr && rc == 0; nr--, at += bytes) {
		const struct attribute *a;
		struct place p;
		unsigned type;

		if (size - at < CODE_BYTES)
			return -EINVAL;
		(void)read_number(table + at, CODE_BYTES, &code);
		at += CODE_BYTES;
		type = code >> TYPE_SHIFT & TYPE_MASK;
		p = (struct place){.width = (uint8_t)(1u << type / 2),
				   .kind = SCALED,
				   .at = (uint16_t)at,
				   .nr = code & NR_MASK};
		bytes = (size_t)p.nr * p.width;
		if (type >= NR_TYPES || bytes > size - at)
			return -EINVAL;
		a = p.nr ? find_attribute(code) : NULL;
		if (!a)
			continue;
		p.field = a->field;
		p.scale = a->scale;
		rc = take(table, &p, values, has);
	}
	return rc;
}

static uint16_t size_of(const char *table)
{
	uint64_t size;

	(void)read_number(table + SIZE_AT, 2, &size);
	return (uint16_t)size;
}

static bool describes_itself(const char *table)
{
	return table[FORMAT_AT] == SELF_FORMAT && table[CONTENT_AT] == SELF_CONTENT;
}

static const struct version *find_version(const char *table)
{
	uint8_t format = (uint8_t)table[FORMAT_AT], content = (uint8_t)table[CONTENT_AT];
	uint16_t size = size_of(table);

	return ARRAY_FIND(v, versions, ARRAY_NR(versions),
			  v->format == format && v->content == content && v->size == size);
}

int gpu_metrics_parse(const char *table, size_t len, uint64_t *values, uint32_t *has)
{
	const struct version *v;

	if (len < HEADER_BYTES || len < size_of(table))
		return -EINVAL;
	if (describes_itself(table))
		return parse_attributes(table, size_of(table), values, has);
	v = find_version(table);
	return v ? ARRAY_RUN(i, v->nr_places, take(table, &v->places[i], values, has)) : 0;
}

void gpu_metrics_explain(const char *table, size_t len, struct buf *out)
{
	if (len >= HEADER_BYTES && !describes_itself(table) && !find_version(table))
		buf_printf(out, "version %u.%u of %u bytes is unknown",
			   (unsigned)(uint8_t)table[FORMAT_AT],
			   (unsigned)(uint8_t)table[CONTENT_AT], (unsigned)size_of(table));
}
