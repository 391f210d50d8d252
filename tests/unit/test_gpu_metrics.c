/*
 * The table of metrics of amdgpu, in each version: tables that are made for it, from the members of
 * the kernel's structs in their order. None of them was captured. What is not there, versions and
 * sizes that are not known, truncated tables; and which files come before the table.
 */
#include "kit.h"
#include "test_things_many.h"

#include "gpu/metrics.h"

#include <ctype.h>

enum { MAX_BYTES = 4096 };

/* A struct as a compiler lays it out: "name:bytes*nr" in order, "|" where an inner struct begins.
 */
#define HEAD             "size:2 format:1 content:1 "
#define SIX              "edge:2 hot:2 mem:2 vrgfx:2 vrsoc:2 vrmem:2 gfx:2 umc:2 media:2 power:2 "
#define CLKS             "average:2*7 gfxclk:2 socclk:2 uclk:2 vclks:2*4 throttle:4 fan:2 "
#define V1_1             HEAD SIX "energy:8 clock:8 " CLKS "width:2 speed:2 pad:2 accs:4*2 hbm:2*4 "
#define THREE            "hot:2 mem:2 vrsoc:2 power:2 gfx:2 umc:2 "
#define LINK             "width:2 speed:2 xgmi:2*2 accs:4*2 pcie:8*2 l0:8 replay:8*2 "
#define ENDS             "xgmi_data:8*16 "
#define TIMES            "firmware:8 gfxclk:2*8 socclk:2*4 vclk:2*4 dclk:2*4 uclk:2 last:2 "
#define RESID            "count:4 residency:4*5 "
#define JPEG             "jpeg:2*32 "
#define EIGHT(x)         x x x x x x x x
#define PART(jpeg, accs) EIGHT("| busy:4*8 jpeg:2*" jpeg " media:2*4 accs:8*" accs " ") "rest:4"
#define APU              "gfx_t:2 soc_t:2 core_t:2*8 l3_t:2*2 gfx:2 media:2 "
#define APU_2                                                                                      \
	"power:2 powers:2*3 core_power:2*8 average:2*6 gfxclk:2 socclk:2 uclk:2 clks:2*3 "         \
	"core:2*8 l3:2*2 throttle:4 fan:2 "
#define V2_1 HEAD APU "clock:8 " APU_2 "pad:2*3 "

static const struct {
	uint8_t format, content;
	const char *members;
	const char *expected; /* of the numbers below */
} versions[] = {
    {1, 0, HEAD "clock:8 " SIX "energy:4 " CLKS "width:1 speed:1",
     "busy=74 memory=31 power=107000000 hot=52000 edge=41000 ram=63000 clock=1700 ram_clock=900 "
     "media=22 throttled=1 link=16000000000"},
    {1, 1, V1_1,
     "busy=74 memory=31 power=107000000 hot=52000 edge=41000 ram=63000 clock=1700 ram_clock=900 "
     "media=22 throttled=1 link=16000000000"},
    {1, 2, V1_1 "firmware:8",
     "busy=74 memory=31 power=107000000 hot=52000 edge=41000 ram=63000 clock=1700 ram_clock=900 "
     "media=22 throttled=1 link=16000000000"},
    {1, 3, V1_1 "firmware:8 volts:2*3 pad:2 indep:8",
     "busy=74 memory=31 power=107000000 hot=52000 edge=41000 ram=63000 clock=1700 ram_clock=900 "
     "media=22 throttled=1 link=16000000000"},
    {1, 4, HEAD THREE "media:2*4 energy:8 clock:8 throttle:4 lock:4 " LINK ENDS TIMES,
     "busy=74 memory=31 power=107000000 energy=2000015 hot=52000 ram=63000 clock=1700 "
     "ram_clock=900 media=22 throttled=1 link=16000000000"},
    {1, 5,
     HEAD THREE "media:2*4 " JPEG "energy:8 clock:8 throttle:4 lock:4 " LINK "nak:4*2 " ENDS TIMES,
     "busy=74 memory=31 power=107000000 energy=2000015 hot=52000 ram=63000 clock=1700 "
     "ram_clock=900 media=22 throttled=1 link=16000000000"},
    {1, 6,
     HEAD THREE "media:2*4 " JPEG "energy:8 clock:8 " RESID "throttle:4 lock:4 " LINK
		"nak:4*2 " ENDS TIMES,
     "busy=74 memory=31 power=107000000 energy=2000015 hot=52000 ram=63000 clock=1700 "
     "ram_clock=900 media=22 throttled=1 link=16000000000"},
    {1, 6,
     HEAD THREE "energy:8 clock:8 " RESID "lock:4 " LINK "nak:4*2 " ENDS TIMES PART("32", "8"),
     "busy=74 memory=31 power=107000000 energy=2000015 hot=52000 ram=63000 clock=1700 "
     "ram_clock=900 media=22 link=16000000000"},
    {1, 7,
     HEAD THREE "band:8 energy:8 clock:8 " RESID "lock:4 " LINK "nak:4*2 " ENDS
		"state:2*8 pad:2 " TIMES PART("32", "16"),
     "busy=74 memory=31 power=107000000 energy=2000015 hot=52000 ram=63000 clock=1700 "
     "ram_clock=900 media=22 link=16000000000"},
    {1, 8,
     HEAD THREE "band:8 energy:8 clock:8 " RESID "lock:4 " LINK "nak:4*2 " ENDS
		"state:2*8 pad:2 " TIMES PART("40", "40"),
     "busy=74 memory=31 power=107000000 energy=2000015 hot=52000 ram=63000 clock=1700 "
     "ram_clock=900 media=22 link=16000000000"},
    /* no units but those of the throttling */
    {2, 0, HEAD "clock:8 " APU APU_2 "pad:2", "throttled=1"},
    {2, 1, V2_1, "throttled=1"},
    {2, 2, V2_1 "indep:8", "throttled=1"},
    {2, 3, V2_1 "indep:8 temperatures:2*12", "throttled=1"},
    {2, 4, V2_1 "indep:8 temperatures:2*12 volts:2*3 amperes:2*3",
     "busy=0 power=107000 edge=390 clock=1700 ram_clock=900 media=0 throttled=1"},
    {3, 0,
     HEAD "gfx_t:2 soc_t:2 core_t:2*16 skin:2 gfx:2 media:2 ipu:2*8 c0:2*16 dram:2*4 clock:8 "
	  "power:4 ipu_power:2 powers:4*4 core_power:2*16 system:2 limits:2*2 gfxclk:2 socclk:2 "
	  "vpe:2 ipuclk:2 fclk:2 vclk:2 uclk:2 mpipu:2 core:2*16 most:2*2 residency:4*7 alpha:4",
     "power=107000 clock=1700 ram_clock=900"},
};

static const struct {
	const char *name;
	uint64_t value;
} numbers[] = {
    {"edge", 41},  {"gfx_t", 39},         {"hot", 52},    {"mem", 63},        {"gfx", 74},
    {"umc", 31},   {"media", 22},         {"power", 107}, {"energy", 131073}, {"gfxclk", 1700},
    {"uclk", 900}, {"throttle", 1 << 19}, {"width", 8},   {"speed", 160},
};

/* A table, in which a member is found by its name. */
struct table {
	char bytes[MAX_BYTES];
	size_t len;
	const char *members;
};

struct member {
	char name[16];
	size_t at, bytes, nr;
};

static const char *next_member(const char *s, size_t *at, struct member *m)
{
	while (*s == ' ' || *s == '|') {
		if (*s++ == '|')
			*at = (*at + 7) / 8 * 8;
	}
	if (!*s)
		return NULL;
	*m = (struct member){.nr = 1};
	for (size_t i = 0; *s != ':'; i++)
		m->name[i] = *s++;
	m->bytes = strtoul(s + 1, (char **)&s, 10);
	if (*s == '*')
		m->nr = strtoul(s + 1, (char **)&s, 10);
	m->at = (*at + m->bytes - 1) / m->bytes * m->bytes;
	*at = m->at + m->nr * m->bytes;
	return s;
}

/* Sets one of the members of that name: all members counted on, from 0. */
static void set(struct table *t, const char *name, size_t index, uint64_t value)
{
	const char *s = t->members;
	struct member m;
	size_t at = 0;

	while ((s = next_member(s, &at, &m))) {
		if (strcmp(m.name, name) != 0)
			continue;
		if (index < m.nr) { /* little-endian, as every machine that is tested */
			memcpy(t->bytes + m.at + index * m.bytes, &value, m.bytes);
			return;
		}
		index -= m.nr;
	}
	fail_msg("no %s", name);
}

static bool has_member(const struct table *t, const char *name)
{
	const char *s = t->members;
	struct member m;
	size_t at = 0;

	while ((s = next_member(s, &at, &m)))
		if (strcmp(m.name, name) == 0)
			return true;
	return false;
}

/* A table without any number. */
static void make(struct table *t, uint8_t format, uint8_t content, const char *members)
{
	size_t at = 0, most = 0;
	const char *s = members;
	struct member m;

	*t = (struct table){.members = members};
	while ((s = next_member(s, &at, &m)))
		most = m.bytes > most ? m.bytes : most;
	t->len = (at + most - 1) / most * most;
	assert_true(t->len <= MAX_BYTES);
	memset(t->bytes, 0xff, sizeof(t->bytes));
	set(t, "size", 0, t->len);
	set(t, "format", 0, format);
	set(t, "content", 0, content);
}

static void make_full(struct table *t, size_t version)
{
	make(t, versions[version].format, versions[version].content, versions[version].members);
	for (size_t i = 0; i < NR(numbers); i++)
		if (has_member(t, numbers[i].name))
			set(t, numbers[i].name, 0, numbers[i].value);
}

static void print_values(const uint64_t *values, uint32_t has, struct buf *out)
{
	static const struct {
		const char *name;
		uint8_t field;
		uint32_t scale;
	} fields[] = {
	    {"busy", GPU_BUSY, 1},
	    {"memory", GPU_MEMORY_BUSY, 1},
	    {"power", GPU_POWER, 1},
	    {"energy", GPU_ENERGY, 1},
	    {"hot", GPU_HOTSPOT, 1},
	    {"edge", GPU_TEMPERATURE, 1},
	    {"ram", GPU_MEMORY_TEMPERATURE, 1},
	    {"clock", GPU_FREQUENCY, 1000000},
	    {"ram_clock", GPU_MEMORY_FREQUENCY, 1000000},
	    {"media", GPU_MEDIA_BUSY, 1},
	    {"throttled", GPU_THROTTLED, 1},
	    {"link", GPU_LINK_SPEED, 1},
	};

	buf_reset(out);
	assert_int_equal(has & ~(uint32_t)GPU_METRICS_FIELDS, 0);
	for (size_t i = 0; i < NR(fields); i++)
		if (has >> fields[i].field & 1)
			buf_printf(out, "%s%s=%llu", out->len ? " " : "", fields[i].name,
				   (unsigned long long)values[fields[i].field] / fields[i].scale);
}

static void expect(const struct table *t, const char *what)
{
	char *exact = many_exact(t->bytes, t->len);
	uint64_t values[GPU_NR_FIELDS] = {0};
	uint32_t has = 0;
	struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(gpu_metrics_parse(exact, t->len, values, &has), 0);
	print_values(values, has, &b);
	assert_string_equal(buf_str(&b), what);
	buf_fini(&b);
	free(exact);
}

static void expect_explained(const struct table *t, const char *what)
{
	struct buf b;

	buf_init(&b, 4096);
	gpu_metrics_explain(t->bytes, t->len, &b);
	assert_string_equal(buf_str(&b), what);
	buf_fini(&b);
}

TEST(versions)
{
	struct table t;

	for (size_t i = 0; i < NR(versions); i++) {
		make_full(&t, i);
		print_message("%u.%u: %zu bytes\n", versions[i].format, versions[i].content, t.len);
		expect(&t, versions[i].expected);
		expect_explained(&t, "");
	}
}

/* All ones is no number, whatever the version. */
TEST(nothing_there)
{
	struct table t;

	for (size_t i = 0; i < NR(versions); i++) {
		make(&t, versions[i].format, versions[i].content, versions[i].members);
		expect(&t, "");
		expect_explained(&t, "");
	}
}

/* A number that is almost all ones is one; so is 0. */
TEST(edges)
{
	struct table t;

	make(&t, 1, 3, versions[3].members);
	set(&t, "gfx", 0, 0);
	set(&t, "throttle", 0, 0);
	set(&t, "hot", 0, 0xfffe);
	set(&t, "gfxclk", 0, 0xfffe);
	expect(&t, "busy=0 hot=65534000 clock=65534 throttled=0");
	make(&t, 3, 0, versions[NR(versions) - 1].members);
	set(&t, "power", 0, 0xfffffffe);
	expect(&t, "power=4294967294000");
}

/* Of several clocks and decoders the largest, also in the last partition. */
TEST(largest)
{
	struct table t;

	make(&t, 1, 4, versions[4].members);
	set(&t, "gfxclk", 7, 2100);
	set(&t, "gfxclk", 2, 132);
	set(&t, "media", 1, 5);
	set(&t, "media", 2, 90);
	set(&t, "media", 3, 40);
	expect(&t, "clock=2100 media=90");
	for (size_t i = 7; i < 10; i++) { /* 1.6 to 1.8 */
		make(&t, versions[i].format, versions[i].content, versions[i].members);
		set(&t, "media", 31, 44);
		set(&t, "media", 3, 7);
		set(&t, "gfxclk", 7, 2100);
		expect(&t, "clock=2100 media=44");
	}
	make(&t, 2, 4, versions[14].members);
	set(&t, "gfx", 0, 9950);
	set(&t, "media", 0, 350);
	set(&t, "gfx_t", 0, 6512);
	expect(&t, "busy=99 edge=65120 media=3");
}

/* 2^-16 J each: no digit is lost while the sum fits, and then there is none. */
TEST(energy)
{
	static const struct {
		uint64_t counts;
		int rc;
		uint64_t microjoules;
	} cases[] = {
	    {0, 0, 0},
	    {1, 0, 15},
	    {65536, 0, 1000000},
	    {65537, 0, 1000015},
	    {UINT64_C(1) << 40, 0, UINT64_C(16777216000000)},
	    {(UINT64_C(1) << 40) + 1023, 0, UINT64_C(16777216015609)},
	    {UINT64_C(1208925819614629174), 0, UINT64_C(18446744073709551605)},
	    {UINT64_C(1208925819614629175), -ERANGE, 0},
	    {UINT64_MAX - 1, -ERANGE, 0},
	};
	struct table t;

	for (size_t i = 0; i < NR(cases); i++) {
		uint64_t values[GPU_NR_FIELDS] = {0};
		uint32_t has = 0;

		make(&t, 1, 4, versions[4].members);
		set(&t, "energy", 0, cases[i].counts);
		assert_int_equal(gpu_metrics_parse(t.bytes, t.len, values, &has), cases[i].rc);
		if (cases[i].rc == 0)
			assert_true(values[GPU_ENERGY] == cases[i].microjoules);
	}
}

enum { U8, S8, U16, S16, U32, S32, U64, S64, ODD_TYPE };
enum { NONE, MHZ, CELSIUS, WATT, DECI_GT = 7, PERCENT = 10 };

/* Adds values to a table that describes itself. */
static void add_values(struct table *t, unsigned unit, unsigned type, unsigned id, unsigned nr,
		       const uint64_t *values)
{
	uint64_t code = (uint64_t)unit << 24 | type << 20 | id << 10 | nr;
	uint32_t nr_before;

	memcpy(&nr_before, t->bytes + 4, 4);
	nr_before++;
	memcpy(t->bytes + 4, &nr_before, 4);
	memcpy(t->bytes + t->len, &code, 8);
	t->len += 8;
	for (unsigned i = 0; i < nr; i++, t->len += 1u << type / 2)
		memcpy(t->bytes + t->len, &values[i], type < ODD_TYPE ? 1u << type / 2 : 8);
	memcpy(t->bytes, &(uint16_t){(uint16_t)t->len}, 2);
}

static void add_value(struct table *t, unsigned unit, unsigned type, unsigned id, uint64_t value)
{
	add_values(t, unit, type, id, 1, &value);
}

static void make_itself(struct table *t)
{
	*t = (struct table){.len = 8};
	t->bytes[2] = 1;
	t->bytes[3] = 9;
	memcpy(t->bytes, &(uint16_t){8}, 2);
}

/* Of 1.9: what is known by its number, in the unit that is known, and unsigned. */
TEST(describes_itself)
{
	struct table t;

	make_itself(&t);
	expect(&t, "");
	add_value(&t, CELSIUS, U16, 0, 52);
	add_value(&t, CELSIUS, U16, 1, 63);
	add_value(&t, WATT, U16, 3, 750);
	add_value(&t, PERCENT, U16, 4, 99);
	add_value(&t, PERCENT, U8, 5, 31); /* from here on nothing is aligned */
	add_value(&t, NONE, U64, 7, 131073);
	add_value(&t, DECI_GT, U16, 17, 320);
	add_values(&t, MHZ, U16, 33, 3, (uint64_t[]){0xffff, 2100, 132});
	add_value(&t, MHZ, U32, 37, 1300);
	add_values(&t, PERCENT, U8, 42, 4, (uint64_t[]){3, 0xff, 17, 0});
	add_value(&t, PERCENT, S16, 1000, 1);
	expect_explained(&t, "");
	expect(&t, "busy=99 memory=31 power=750000000 hot=52000 ram=63000 clock=2100 "
		   "ram_clock=1300 media=17 link=32000000000");
	for (size_t size = 8; size < t.len; size++) { /* cut anywhere */
		uint64_t values[GPU_NR_FIELDS] = {0};
		char *exact = many_exact(t.bytes, size);
		uint32_t has = 0;

		memcpy(exact, &size, 2);
		assert_int_equal(gpu_metrics_parse(exact, size, values, &has), -EINVAL);
		free(exact);
	}
}

TEST(describes_itself_wrongly)
{
	uint64_t values[GPU_NR_FIELDS] = {0};
	struct table t;
	uint32_t has = 0;

	make_itself(&t);
	add_value(&t, MHZ, U16, 0, 52);     /* not a temperature */
	add_value(&t, CELSIUS, S16, 1, 63); /* signed */
	add_values(&t, WATT, U16, 3, 0, NULL);
	add_value(&t, PERCENT, U16, 4, 0xffff);
	expect(&t, "");
	add_value(&t, WATT, U64, 3, UINT64_MAX / 1000000 + 1);
	assert_int_equal(gpu_metrics_parse(t.bytes, t.len, values, &has), -ERANGE);
	make_itself(&t);
	add_value(&t, PERCENT, ODD_TYPE, 4, 99);
	assert_int_equal(gpu_metrics_parse(t.bytes, t.len, values, &has), -EINVAL);
	make_itself(&t);
	memset(t.bytes + 4, 0xff, 4); /* so many */
	assert_int_equal(gpu_metrics_parse(t.bytes, t.len, values, &has), -EINVAL);
	memcpy(t.bytes, &(uint16_t){7}, 2);
	assert_int_equal(gpu_metrics_parse(t.bytes, t.len, values, &has), -EINVAL);
}

/* Unknown versions, and known ones of another size, have nothing, and are named. */
TEST(unknown)
{
	static const struct {
		uint8_t format, content;
		uint16_t size;
		const char *says;
	} cases[] = {
	    {1, 10, 8, "version 1.10 of 8 bytes is unknown"},
	    {1, 3, 119, "version 1.3 of 119 bytes is unknown"},
	    {1, 3, 4, "version 1.3 of 4 bytes is unknown"},
	    {1, 3, 0, "version 1.3 of 0 bytes is unknown"},
	    {1, 6, 1663, "version 1.6 of 1663 bytes is unknown"},
	    {0, 0, 4, "version 0.0 of 4 bytes is unknown"},
	    {255, 255, 4096, "version 255.255 of 4096 bytes is unknown"},
	    {3, 1, 264, "version 3.1 of 264 bytes is unknown"},
	};
	struct table t;

	for (size_t i = 0; i < NR(cases); i++) {
		make_full(&t, 3);
		t.len = cases[i].size > 4 ? cases[i].size : 4;
		set(&t, "size", 0, cases[i].size);
		set(&t, "format", 0, cases[i].format);
		set(&t, "content", 0, cases[i].content);
		expect(&t, "");
		expect_explained(&t, cases[i].says);
	}
}

/* No byte behind the end is read. */
TEST(truncated)
{
	struct table t;

	for (size_t i = 0; i < NR(versions); i++) {
		make_full(&t, i);
		for (size_t len = 0; len < t.len; len += len < 8 ? 1 : 61) {
			char *exact = many_exact(t.bytes, len);
			uint64_t values[GPU_NR_FIELDS] = {0};
			uint32_t has = 0;

			assert_int_equal(gpu_metrics_parse(exact, len, values, &has), -EINVAL);
			assert_int_equal(has, 0);
			free(exact);
		}
	}
}

#define CARD    "/sys/class/drm/card0/"
#define SENSORS CARD "device/hwmon/hwmon3/"
#define ALL     ((1u << GPU_NR_FIELDS) - 1)

static void put_table(struct root *r, const struct table *t)
{
	tree_put(r, CARD "device/gpu_metrics", t->bytes, t->len);
}

/* Of each field the first file that exists, even if it is damaged: the table has the others. */
TEST(files_first)
{
	struct root r = tree_make();
	struct table t;
	struct many m;

	make_full(&t, 3);
	put_table(&r, &t);
	tree_text(&r, CARD "device/gpu_busy_percent", "37\n");
	tree_text(&r, CARD "device/mem_busy_percent", "damaged\n");
	tree_text(&r, SENSORS "temp1_input", "45000\n");
	tree_text(&r, SENSORS "temp3_input", "70000\n");
	many_open(&m, &gpu_source, &r, "", ALL);
	many_read(&m);
	many_expect(&m, "0 card0 1=37 6=107000000 8=45000 9=1700000000 10=900000000 13=52000 "
			"14=70000 15=22 16=1 18=16000000000\n");
	assert_int_equal(many_get(&m, "card0").failed, 1u << GPU_MEMORY_BUSY);
	many_close(&m);
	/* alone it has all of them */
	tree_drop(&r, CARD "device/mem_busy_percent");
	tree_drop(&r, CARD "device/gpu_busy_percent");
	tree_drop(&r, CARD "device/hwmon");
	many_open(&m, &gpu_source, &r, "", ALL);
	many_read(&m);
	many_expect(&m, "0 card0 1=74 2=31 6=107000000 8=41000 9=1700000000 10=900000000 "
			"13=52000 14=63000 15=22 16=1 18=16000000000\n");
	many_close(&m);
	/* and is not read where nobody wants what only it has */
	tree_text(&r, CARD "device/gpu_busy_percent", "37\n");
	many_open(&m, &gpu_source, &r, "", 1u << GPU_BUSY);
	kernel_start(NULL, 0);
	many_read(&m);
	assert_int_equal(kernel.nr_preads, 1);
	kernel_stop();
	many_expect(&m, "0 card0 1=37\n");
	many_close(&m);
	tree_remove(&r);
}

/* An unknown version is absent and noted once; a damaged table has failed. */
TEST(notes)
{
	const uint32_t wanted = 1u << GPU_HOTSPOT | 1u << GPU_BUSY;
	struct root r = tree_make();
	struct table t;
	struct many m;

	make_full(&t, 3);
	set(&t, "content", 0, 77);
	put_table(&r, &t);
	many_open(&m, &gpu_source, &r, "", wanted);
	many_read(&m);
	many_read(&m);
	many_expect_note(&m, "GPU card0: device/gpu_metrics: version 1.77 of 120 bytes is unknown");
	many_expect_note(&m, NULL);
	many_expect_fields(&m, "card0", 0, 0, wanted, 0);
	t.len--;
	put_table(&r, &t);
	many_read(&m);
	many_expect_fields(&m, "card0", 0, 0, 0, wanted);
	t.len = 0;
	put_table(&r, &t);
	many_read(&m);
	many_expect_fields(&m, "card0", 0, 0, 0, wanted);
	many_close(&m);
	tree_remove(&r);
}

/* What cannot be opened is denied. */
TEST(denied)
{
	const uint32_t wanted = 1u << GPU_HOTSPOT | 1u << GPU_BUSY;
	struct root r = tree_make();
	struct table t;
	struct many m;

	make_full(&t, 3);
	put_table(&r, &t);
	kernel_start("gpu_metrics", -EACCES);
	many_open(&m, &gpu_source, &r, "", wanted);
	many_read(&m);
	many_expect_fields(&m, "card0", 0, wanted, 0, 0);
	many_close(&m);
	kernel_stop();
	tree_remove(&r);
}

static int read_once(void *arg)
{
	static const struct things_choice all = {0};
	struct err e = {0};
	void *state;
	int rc = gpu_source.open(arg, &all, ALL, &state, &e);

	if (rc)
		return rc;
	rc = gpu_source.read(state);
	if (rc == 0 && gpu_source.nr(state) == 1) {
		struct things_one thing;

		gpu_source.get(state, 0, &thing);
		/* a file that fails takes its own fields with it */
		if (thing.has == 0)
			rc = -EIO;
	}
	while (gpu_source.note(state))
		continue;
	gpu_source.close(state);
	return rc;
}

TEST(failures)
{
	struct root r = tree_make();
	struct table t;

	make_full(&t, 3);
	put_table(&r, &t);
	tree_text(&r, CARD "device/gpu_busy_percent", "37\n");
	inject_every(read_once, &r, 3, 5);
	tree_remove(&r);
}
