/*
 * What NVIDIA's library has between two samples, by its stand-in, which accepts two samples of one
 * GPU in the order in which they were taken. Nothing here waits for a time but the source itself.
 */
#include "kit.h"
#include "test_nvml.h"
#include "test_things_many.h"

#include "gpu/gpm.h"

#define ALL   ((1u << GPM_NR_FIELDS) - 1)
#define AWAKE (1u << GPM_AWAKE)
#define SM    (1u << GPM_SM)
#define FIRST "0000:01:00.0"

/* The library's numbers of metrics. */
static const char whole[] =
    "0 device 0000:01:00.0\n0 gpm 1\n"
    "0 gpm.1 99.5\n0 gpm.2 50.25\n0 gpm.3 12.0004\n0 gpm.4 4\n0 gpm.5 37.125\n"
    "0 gpm.10 61\n0 gpm.11 11\n0 gpm.12 12\n0 gpm.13 13\n"
    "0 gpm.20 2\n0 gpm.21 1.5\n0 gpm.60 3\n0 gpm.61 4\n";

/* Readings that took no sample yet have the values of the one before. */
static void read_again(struct many *m, const struct standin *s)
{
	unsigned nr = standin_calls(s, "gpm_metrics 0");

	while (standin_calls(s, "gpm_metrics 0") == nr)
		many_read(m);
}

TEST(values)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", whole);
	standin_power_state(&s, FIRST, "active\n");
	many_open(&m, &gpm_source, &s.root, "", ALL);
	many_read(&m);
	many_expect(&m, "0 nvidia0 0=1 1=99500 2=50250 3=12000 4=4000 5=37125 6=11000 7=12000 "
			"8=13000 9=61000 10=1572864 11=2097152 12=3145728 13=4194304\n");
	assert_int_equal(standin_calls(&s, "gpm_sample 0"), 2);
	assert_int_equal(standin_calls(&s, "gpm_metrics 0"), 1);
	standin_script(&s, "0 gpm.2 70\n");
	read_again(&m, &s);
	many_expect(&m, "0 nvidia0 0=1 2=70000\n");
	many_expect_fields(&m, "nvidia0", AWAKE | SM, 0, ALL & ~(AWAKE | SM), 0);
	many_expect_note(&m, NULL);
	many_close(&m);
	assert_int_equal(standin_calls(&s, "gpm_alloc -1"), 2);
	assert_int_equal(standin_calls(&s, "gpm_free -1"), 2);
	standin_remove(&s);
}

/* Two readings right after each other. */
TEST(soon)
{
	struct things_one first, second;
	struct standin s;
	struct many m;
	unsigned nr;

	standin_make(&s, "new", whole);
	many_open(&m, &gpm_source, &s.root, "", SM);
	do {
		many_read(&m);
		first = many_get(&m, "nvidia0");
		nr = standin_calls(&s, "gpm_sample 0");
		many_read(&m);
		second = many_get(&m, "nvidia0");
	} while (standin_calls(&s, "gpm_sample 0") != nr); /* the machine was slow */
	many_expect(&m, "0 nvidia0 2=50250\n");
	assert_true(first.time_ns == second.time_ns);
	many_close(&m);
	standin_remove(&s);
}

TEST(asleep)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", whole);
	standin_power_state(&s, FIRST, "suspended\n");
	many_open(&m, &gpm_source, &s.root, "", SM);
	many_read(&m);
	many_expect_fields(&m, "nvidia0", 0, 0, SM, 0);
	assert_int_equal(standin_calls(&s, ""), 0);
	standin_power_state(&s, FIRST, "active\n");
	many_read(&m); /* nothing to compare with */
	many_expect_fields(&m, "nvidia0", 0, 0, 0, 0);
	read_again(&m, &s);
	many_expect(&m, "0 nvidia0 2=50250\n");
	standin_power_state(&s, FIRST, "suspended\n");
	many_read(&m);
	many_expect_fields(&m, "nvidia0", 0, 0, SM, 0);
	standin_power_state(&s, FIRST, "active\n");
	many_read(&m);
	many_expect_fields(&m, "nvidia0", 0, 0, 0, 0);
	many_close(&m);
	standin_remove(&s);
}

TEST(reasons)
{
	static const struct {
		const char *kind, *script;
		uint32_t has, denied, absent, failed;
	} cases[] = {
	    {"old", whole, 0, 0, SM, 0},
	    {"new", "0 device " FIRST "\n", 0, 0, SM, 0},
	    {"new", "0 device " FIRST "\n0 gpm 0\n0 gpm.2 1\n", 0, 0, SM, 0},
	    {"new", "0 device " FIRST "\n0 gpm 1\n", 0, 0, SM, 0},
	    {"new", "0 device " FIRST "\n0 gpm !4\n", 0, SM, 0, 0},
	    {"new", "0 device " FIRST "\n0 gpm !999\n", 0, 0, 0, SM},
	    {"new", "0 device " FIRST "\n0 gpm 1\n0 gpm_sample !999\n", 0, 0, 0, SM},
	    {"new", "0 device " FIRST "\n0 gpm 1\n0 gpm.2 !999\n", 0, 0, 0, SM},
	    {"new", "0 device " FIRST "\n0 gpm 1\n0 gpm.2 nan\n", 0, 0, 0, SM},
	    {"new", "0 device " FIRST "\n0 gpm 1\n0 gpm.2 inf\n", 0, 0, 0, SM},
	    {"new", "0 device " FIRST "\n0 gpm 1\n0 gpm.2 -0.5\n", 0, 0, 0, SM},
	    {"new", "0 device " FIRST "\n0 gpm 1\n0 gpm.2 0\n", SM, 0, 0, 0},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct standin s;
		struct many m;

		print_message("%s: %s", cases[i].kind, cases[i].script);
		standin_make(&s, cases[i].kind, cases[i].script);
		many_open(&m, &gpm_source, &s.root, "", SM);
		for (int k = 0; k < 2; k++) {
			many_read(&m);
			many_expect_fields(&m, "nvidia0", cases[i].has, cases[i].denied,
					   cases[i].absent, cases[i].failed);
		}
		many_close(&m);
		assert_int_equal(standin_calls(&s, "gpm_alloc -1"),
				 standin_calls(&s, "gpm_free -1"));
		standin_remove(&s);
	}
}

TEST(lost)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", whole);
	many_open(&m, &gpm_source, &s.root, "", SM);
	many_read(&m);
	standin_script(&s, "0 gpm_sample !15\n");
	while (m.source->nr(m.state))
		many_read(&m);
	many_expect_note(&m, "GPU nvidia0 is not read any more: the GPU is lost");
	standin_forget_calls(&s);
	many_read(&m);
	assert_int_equal(standin_calls(&s, ""), 0);
	standin_drop_gpu(&s, FIRST);
	many_read(&m);
	standin_script(&s, whole);
	standin_add_gpu(&s, FIRST, 0);
	read_again(&m, &s);
	many_expect(&m, "1 nvidia0 2=50250\n");
	many_close(&m);
	standin_remove(&s);
}

TEST(none)
{
	struct standin s;
	struct many m;

	standin_make(&s, NULL, whole);
	assert_int_equal(many_try_open(&m, &gpm_source, &s.root, "", SM), -ENOTSUP);
	assert_non_null(strstr(m.e.msg, "libnvidia-ml.so.1"));
	standin_drop_gpu(&s, FIRST);
	tree_drop(&s.root, "/proc/driver/nvidia/gpus");
	assert_int_equal(many_try_open(&m, &gpm_source, &s.root, "", SM), -ENOENT);
	assert_string_equal(m.e.msg, "there is no GPU with NVIDIA's own driver");
	standin_remove(&s);
}

static int open_and_read(void *arg)
{
	struct standin *s = arg;
	struct many m;
	int rc = many_try_open(&m, &gpm_source, &s->root, "", SM);

	assert_null(strstr(m.e.msg, "(null)"));
	if (rc)
		return rc;
	rc = m.source->read(m.state);
	many_close(&m);
	return rc;
}

TEST(every_failure)
{
	struct standin s;

	standin_make(&s, "new", whole);
	inject_every(open_and_read, &s, 6, 3);
	standin_remove(&s);
}
