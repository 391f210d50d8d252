/*
 * The parser of DRM's fdinfo: texts of drivers, and hostile ones.
 */
#include "test_gpu_fdinfo.h"
#include "kit.h"
#include "test_things_many.h"

#include "gpu/fdinfo.h"

#include <inttypes.h>

static int parse(const char *text, size_t len, struct gpu_fdinfo *out)
{
	char *exact = many_exact(text, len);
	int rc = gpu_fdinfo_parse(exact, len, out);

	free(exact);
	return rc;
}

/* Engines as " name index=value …" and regions the same, then both memories. */
static void print(const struct gpu_fdinfo *f, struct buf *b)
{
	uint64_t bytes;

	buf_reset(b);
	buf_printf(b, "%s %s %" PRIu64, f->driver, f->pdev, f->client);
	for (size_t i = 0; i < f->nr_engines; i++) {
		buf_printf(b, " %s", f->engines[i].name);
		for (int k = 0; k < GPU_FDINFO_NR_OF_ENGINE; k++)
			if (f->engines[i].has & 1u << k)
				buf_printf(b, " %d=%" PRIu64, k, f->engines[i].of[k]);
	}
	if (gpu_fdinfo_own_memory(f, &bytes))
		buf_printf(b, " own %" PRIu64, bytes);
	if (gpu_fdinfo_machine_memory(f, &bytes))
		buf_printf(b, " machine %" PRIu64, bytes);
}

TEST(of_drivers)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
	    {FDINFO_I915("7", "9288864723", "2035"),
	     "i915 0000:00:02.0 7 render 0=9288864723 copy 0=0 video 0=2035 5=2 video-enhance 0=0"
	     " machine 31457280"},
	    {FDINFO_XE("42", "28257900", "7655183225"),
	     "xe 0000:03:00.0 42 rcs 1=28257900 2=7655183225 vcs 1=0 2=7655183225 5=2"
	     " own 24633344 machine 196608"},
	    {FDINFO_AMDGPU("8", "1146600"),
	     "amdgpu 0000:0c:00.0 8 gfx 0=1146600 own 10485760 machine 2097152"},
	    {FDINFO_AMDGPU_OLD, "amdgpu 0000:0c:00.0 7 gfx 0=8439024581 compute 0=10 own 73207808"
				" machine 8192"},
	    {FDINFO_PANFROST("9", "481941638", "60243117"),
	     "panfrost  9 fragment 0=481941638 1=60243117 3=799999987 4=799999987 vertex-tiler "
	     "0=500"
	     " 1=40 3=799999987 4=799999987 machine 4096000"},
	    {FDINFO_MSM("3", "4093522000"),
	     "msm  3 gpu 0=4093522000 1=24218 3=710000000 machine 32505856"},
	    /* v3d has a blank before the tab; xe of a GPU in the processor has no vram */
	    {"drm-driver:\tv3d\ndrm-client-id:\t1\ndrm-engine-bin: \t17 ns\n", "v3d  1 bin 0=17"},
	    {"drm-driver:\txe\ndrm-client-id:\t1\ndrm-resident-stolen:\t4 KiB\n",
	     "xe  1 machine 4096"},
	    {"drm-driver:\tx\ndrm-client-id:\t1\ndrm-maxfreq-a:\t3 MHz\ndrm-curfreq-a:\t2KHz\n"
	     "drm-resident-vram:\t1 GiB\ndrm-resident-elsewhere:\t7",
	     "x  1 a 3=3000000 4=2000 own 1073741824"},
	};
	struct gpu_fdinfo f;
	struct buf b;

	buf_init(&b, 1 << 16);
	for (size_t i = 0; i < NR(cases); i++) {
		assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &f), 0);
		print(&f, &b);
		assert_string_equal(buf_str(&b), cases[i].expected);
	}
	buf_fini(&b);
}

TEST(capacity_is_one)
{
	struct gpu_fdinfo f;
	const char *text = FDINFO_MSM("3", "1");

	assert_int_equal(parse(text, strlen(text), &f), 0);
	assert_int_equal(f.engines[0].of[GPU_FDINFO_CAPACITY], 1);
	assert_false(f.engines[0].has & 1u << GPU_FDINFO_CAPACITY);
}

#define CLIENT "drm-driver:\tx\ndrm-client-id:\t1\n"

TEST(damaged)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
	    {"", -ENOENT},
	    {FDINFO_FILE, -ENOENT},
	    {"drm-driver:\tnouveau\n", -ENOENT}, /* without a client nobody can count once */
	    {"drm-client-id:\t1\n", -ENOENT},
	    {"drm-driver\n", -ENOENT},
	    {CLIENT "drm-\ndrm-engine\n:\n::\n\tdrm-engine-x: 3\n", 0},
	    {CLIENT "drm-engine-:\t1 ns\n", -EINVAL},
	    {CLIENT "drm-engine-a b:\t1 ns\n", -EINVAL},
	    {CLIENT "drm-engine-a\x1b:\t1 ns\n", -EINVAL},
	    {CLIENT "drm-engine-a:\t1\n", -EINVAL},
	    {CLIENT "drm-engine-a:\t1 us\n", -EINVAL},
	    {CLIENT "drm-engine-a:\t-1 ns\n", -EINVAL},
	    {CLIENT "drm-engine-a:\t\n", -EINVAL},
	    {CLIENT "drm-engine-a:\t18446744073709551616 ns\n", -ERANGE},
	    {CLIENT "drm-engine-a:\t18446744073709551615 ns\n", 0},
	    {CLIENT "drm-engine-capacity-a:\t0\n", -EINVAL},
	    {CLIENT "drm-engine-capacity-a:\t4294967296\n", -EINVAL},
	    {CLIENT "drm-cycles-a:\t1 ns\n", -EINVAL},
	    {CLIENT "drm-memory-vram:\t18014398509481984 KiB\n", -ERANGE},
	    {CLIENT "drm-memory-vram:\t1 kB\n", -EINVAL},
	    {CLIENT "drm-engine-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:\t1 ns\n", -EINVAL},
	    {CLIENT "drm-engine-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:\t1 ns\n", 0},
	    {CLIENT "drm-pdev:\t\n", -EINVAL},
	    {"drm-driver:\tx y\ndrm-client-id:\t1\n", -EINVAL},
	    {"drm-driver:\tx\ndrm-client-id:\tone\n", -EINVAL},
	};
	struct gpu_fdinfo f;

	for (size_t i = 0; i < NR(cases); i++) {
		print_message("%s\n", cases[i].text);
		assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &f), cases[i].rc);
	}
	assert_int_equal(parse(CLIENT "drm-engine-\0:\t1 ns\n", sizeof(CLIENT) + 18, &f), -EINVAL);
}

/* As many as there is room for, and one more. */
TEST(too_many)
{
	static const struct {
		const char *key, *value;
		size_t max;
	} kinds[] = {{"drm-engine-e", "1 ns", GPU_FDINFO_MAX_ENGINES},
		     {"drm-memory-vram", "18446744073709551615", GPU_FDINFO_MAX_REGIONS}};
	struct gpu_fdinfo f;
	uint64_t bytes;
	struct buf b;

	buf_init(&b, 1 << 16);
	for (size_t k = 0; k < NR(kinds); k++) {
		buf_reset(&b);
		buf_adds(&b, CLIENT);
		for (size_t i = 0; i <= kinds[k].max; i++) {
			assert_int_equal(parse(b.data, b.len, &f), 0);
			buf_printf(&b, "%s%zu:\t%s\n", kinds[k].key, i, kinds[k].value);
		}
		assert_int_equal(parse(b.data, b.len, &f), -E2BIG);
	}
	/* a sum beyond 64 bits is the most that there is */
	assert_int_equal(f.nr_regions, GPU_FDINFO_MAX_REGIONS);
	assert_true(gpu_fdinfo_own_memory(&f, &bytes));
	assert_true(bytes == UINT64_MAX);
	buf_fini(&b);
}
