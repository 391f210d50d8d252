/*
 * GPUs of drivers' folders that are made for it, from the kernel's documents and sources: amdgpu,
 * i915 of old and new kernels, xe, panfrost. None of them was captured. And every failure in turn.
 */
#include "kit.h"
#include "test_things_many.h"

#include "gpu/gpu.h"

#define ALL     ((1u << GPU_NR_FIELDS) - 1)
#define BUSY    (1u << GPU_BUSY)
#define HOT     (1u << GPU_TEMPERATURE)
#define DRM     "/sys/class/drm/"
#define CARD    DRM "card0/"
#define SENSORS CARD "device/hwmon/hwmon3/"

struct text {
	const char *path, *text;
};

static const struct text amdgpu[] = {
    {CARD "device/power/runtime_status", "active\n"},
    {CARD "device/gpu_busy_percent", "37\n"},
    {CARD "device/mem_busy_percent", "12\n"},
    {CARD "device/mem_info_vram_used", "1234567168\n"},
    {CARD "device/mem_info_vram_total", "17163091968\n"},
    {CARD "device/mem_info_gtt_used", "98304000\n"},
    {SENSORS "freq1_input", "2124000000\n"},
    {SENSORS "freq2_input", "1000000000\n"},
    {SENSORS "power1_average", "117000000\n"},
    {SENSORS "power1_input", "1\n"}, /* not the mean */
    {SENSORS "temp1_input", "-1500\n"},
    {SENSORS "temp2_input", "63000\n"}, /* the junction's, which is hotter */
    {SENSORS "fan1_input", "1420\n"},
    {CARD "device/hwmon/hwmon4/temp1_input", "7\n"}, /* of the second */
    {CARD "device/hwmon/name", "no sensor\n"},
    {DRM "card0-DP-1/status", "connected\n"},
    {DRM "card0-DP-1/device/power/runtime_status", "unsupported\n"},
    {DRM "renderD128/device/gpu_busy_percent", "99\n"},
    {DRM "version", "drm 1.1.0 20060810\n"},
};
static const struct text i915_old[] = {
    {CARD "gt_act_freq_mhz", "350\n"},
    {CARD "gt_cur_freq_mhz", "500\n"},
    {CARD "power/rc6_residency_ms", "4000000000\n"},
};
static const struct text i915_new[] = {
    {CARD "device/power/runtime_status", "active\n"},
    {CARD "gt_act_freq_mhz", "1\n"}, /* of the whole device; that of its first part is asked */
    {CARD "gt/gt0/rps_act_freq_mhz", "2050\n"},
    {CARD "gt_cur_freq_mhz", "2\n"}, /* the same */
    {CARD "gt/gt0/rps_cur_freq_mhz", "2250\n"},
    {CARD "gt/gt0/throttle_reason_status", "1\n"},
    {CARD "gt/gt0/rc6_residency_ms", "12\n"},
    {CARD "power/rc6_residency_ms", "1\n"},
    {SENSORS "energy1_input", "18446744073709551615\n"},
};
static const struct text xe[] = {
    {CARD "device/power/runtime_status", "active\n"},
    {CARD "device/tile0/gt0/freq0/act_freq", "2400\n"},
    {CARD "device/tile0/gt0/freq0/cur_freq", "2450\n"},
    {CARD "device/tile0/gt0/freq0/throttle/status", "0\n"},
    {CARD "device/tile0/gt0/gtidle/idle_residency_ms", "77\n"},
    {SENSORS "energy1_input", "5000\n"},
    {SENSORS "temp2_input", "41000\n"},
    {SENSORS "temp3_input", "43000\n"},
};
static const struct text panfrost[] = {
    {CARD "device/power/runtime_status", "unsupported\n"},
    {CARD "device/devfreq/fde60000.gpu/cur_freq", "800000000\n"},
};
static const struct {
	const char *what;
	const struct text *text;
	size_t nr;
	const char *expected;
} drivers[] = {
    {"amdgpu", amdgpu, NR(amdgpu),
     "0 card0 0=1 1=37 2=12 3=1234567168 4=17163091968 5=98304000 6=117000000 "
     "8=18446744073709550116 9=2124000000 10=1000000000 12=1420\n"},
    {"i915 of Linux 4.14", i915_old, NR(i915_old),
     "0 card0 9=350000000 11=4000000000000000 17=500000000\n"},
    {"i915", i915_new, NR(i915_new),
     "0 card0 0=1 7=18446744073709551615 9=2050000000 11=12000000 16=1 17=2250000000\n"},
    {"xe", xe, NR(xe),
     "0 card0 0=1 7=5000 8=41000 9=2400000000 11=77000000 14=43000 16=0 17=2450000000\n"},
    {"panfrost", panfrost, NR(panfrost), "0 card0 0=1 9=800000000\n"},
};

static struct root make(const struct text *text, size_t nr)
{
	struct root r = tree_make();

	for (size_t i = 0; i < nr; i++)
		tree_text(&r, text[i].path, text[i].text);
	return r;
}

/* What a driver does not have is no failure. */
static void expect_rest_absent(const struct many *m)
{
	struct things_one t = many_get(m, "card0");

	many_expect_fields(m, "card0", t.has, 0, ALL & ~t.has, 0);
}

TEST(of_drivers)
{
	for (size_t i = 0; i < NR(drivers); i++) {
		struct root r = make(drivers[i].text, drivers[i].nr);
		struct many m;

		print_message("%s\n", drivers[i].what);
		many_open(&m, &gpu_source, &r, "", ALL);
		many_read(&m);
		many_expect(&m, drivers[i].expected);
		expect_rest_absent(&m);
		many_expect_note(&m, NULL);
		many_close(&m);
	}
}

/* A GPU that sleeps is not asked, and is again once it has woken; a wrapped counter goes on. */
TEST(asleep)
{
	struct root r = make(amdgpu, NR(amdgpu));
	struct many m;

	many_open(&m, &gpu_source, &r, "card*", BUSY);
	many_read(&m);
	many_expect(&m, "0 card0 1=37\n");
	tree_text(&r, CARD "device/power/runtime_status", "suspended\n");
	many_read(&m);
	many_expect(&m, "0 card0\n");
	many_expect_fields(&m, "card0", 0, 0, BUSY, 0);
	tree_text(&r, CARD "device/power/runtime_status", "active\n");
	tree_text(&r, CARD "device/gpu_busy_percent", "99\n");
	many_read(&m);
	many_expect(&m, "0 card0 1=99\n");
	many_close(&m);
}

TEST(wraps)
{
	struct root r = make(i915_old, NR(i915_old));
	struct many m;

	many_open(&m, &gpu_source, &r, "", 1u << GPU_IDLE_TIME);
	many_read(&m);
	tree_text(&r, CARD "power/rc6_residency_ms", "1000\n");
	many_read(&m);
	many_expect(&m, "0 card0 11=4294968296000000\n");
	many_close(&m);
}

/* Damaged values are failures of their own; the others stay. */
TEST(damaged)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
	    {"", "0 card0 8=18446744073709550116\n"},
	    {"x", "0 card0 8=18446744073709550116\n"},
	    {"5%", "0 card0 8=18446744073709550116\n"},
	    {"-", "0 card0 8=18446744073709550116\n"},
	    {"18446744073709551616", "0 card0 8=18446744073709550116\n"},
	    {"-9223372036854775808", "0 card0 8=18446744073709550116\n"},
	    {"100", "0 card0 1=100 8=18446744073709550116\n"},
	};
	struct root r = make(amdgpu, NR(amdgpu));

	for (size_t i = 0; i < NR(cases); i++) {
		struct many m;

		tree_text(&r, CARD "device/gpu_busy_percent", cases[i].text);
		many_open(&m, &gpu_source, &r, "", BUSY | HOT);
		many_read(&m);
		many_expect(&m, cases[i].expected);
		if (!strstr(cases[i].expected, " 1="))
			many_expect_fields(&m, "card0", HOT, 0, 0, BUSY);
		many_close(&m);
	}
}

TEST(none)
{
	struct root r = tree_make();
	struct many m;

	assert_int_equal(many_try_open(&m, &gpu_source, &r, "", BUSY), -ENOENT);
	assert_string_equal(m.e.msg, "there is no GPU with a driver of the kernel's (DRM)");
	tree_text(&r, DRM "version", "drm\n");
	many_open(&m, &gpu_source, &r, "", BUSY);
	many_read(&m);
	many_expect_note(&m, "there is no GPU with a driver of the kernel's");
	many_expect(&m, "");
	/* it comes, and goes */
	tree_text(&r, CARD "device/gpu_busy_percent", "7\n");
	tree_text(&r, CARD "device/power/runtime_status", "active\n");
	many_read(&m);
	many_expect(&m, "0 card0 1=7\n");
	tree_drop(&r, CARD "device/gpu_busy_percent");
	tree_drop(&r, CARD "device/power/runtime_status");
	tree_drop(&r, CARD "device/power");
	tree_drop(&r, CARD "device");
	tree_drop(&r, DRM "card0");
	many_read(&m);
	many_expect(&m, "");
	many_close(&m);
	many_open(&m, &gpu_source, &r, "card1", BUSY);
	many_expect_note(&m, "there is no GPU \"card1\"");
	many_close(&m);
}
