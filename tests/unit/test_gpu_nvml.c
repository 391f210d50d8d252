/*
 * NVIDIA's GPUs by stand-ins for their library: values, those of old drivers, errors, GPUs that are
 * lost, asleep, divided or silent, and how often the library is called. No real one was at hand.
 */
#include "kit.h"
#include "test_nvml.h"
#include "test_things_many.h"

#include "base/clock.h"
#include "gpu/engine.h"
#include "gpu/gpm.h"
#include "gpu/gpu.h"
#include "gpu/nvml_gpu.h"
#include "gpu/process.h"

#define ALL   ((1u << GPU_NR_FIELDS) - 1)
#define BUSY  (1u << GPU_BUSY)
#define POWER (1u << GPU_POWER)
#define AWAKE (1u << GPU_AWAKE)
#define FIRST "0000:01:00.0"
#define CARD  "/sys/class/drm/card0/device/"

/* Of the fields that the library has; the rest no file here has. */
#define OF_LIBRARY nvml_gpu_way.fields

static const char whole[] = "0 device 0000:01:00.0\n"
			    "0 utilization 37 12\n"
			    "0 memory 85899345920 536870912 1073741824\n"
			    "0 power 117000\n"
			    "0 power_limit 700000\n"
			    "0 temperature 41\n"
			    "0 clock.gr 1\n"
			    "0 clock.sm 1980\n"
			    "0 clock.mem 2619\n"
			    "0 fan 1420\n"
			    "0 encoder 5\n"
			    "0 decoder 6\n"
			    "0 reasons 5\n"
			    "0 energy 5000\n"
			    "0 violation.power 7\n"
			    "0 violation.thermal 8\n"
			    "0 replays 9\n"
			    "0 field.83 6000\n"
			    "0 field.74 11\n"
			    "0 field.75 12\n"
			    "0 field.94 13 1\n"
			    "0 field.82 55 1\n"
			    "0 pcie.rx 2000\n"
			    "0 pcie.tx 3000\n";

TEST(values)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", whole);
	standin_power_state(&s, FIRST, "active\n");
	many_open(&m, &gpu_source, &s.root, "", ALL);
	many_read(&m);
	many_expect(&m, "0 nvidia0 0=1 1=37 2=12 3=1073741824 4=85899345920 6=117000000 7=6000000 "
			"8=41000 9=1980000000 10=2619000000 12=1420 14=55000 16=1 19=5 20=6 "
			"21=700000000 22=11 23=12 24=2000000 25=3000000 26=13\n");
	many_expect_fields(&m, "nvidia0", OF_LIBRARY | AWAKE, 0, ALL & ~(OF_LIBRARY | AWAKE), 0);
	many_expect_note(&m, NULL);
	many_close(&m);
	standin_remove(&s);
}

/* Calls have other names, or are missing: one for each value then, and no version 2. */
TEST(old_driver)
{
	const uint32_t newer = 1u << GPU_FAN | 1u << GPU_MEMORY_TEMPERATURE;
	struct standin s;
	struct many m;

	standin_make(&s, "old", whole);
	many_open(&m, &gpu_source, &s.root, "", OF_LIBRARY);
	many_read(&m);
	many_expect(&m, "0 nvidia0 1=37 2=12 3=1610612736 4=85899345920 6=117000000 7=5000000 "
			"8=41000 9=1980000000 10=2619000000 16=1 19=5 20=6 21=700000000 22=7 23=8 "
			"24=2000000 25=3000000 26=9\n");
	many_expect_fields(&m, "nvidia0", OF_LIBRARY & ~newer, 0, newer, 0);
	many_expect_note(&m, NULL);
	many_close(&m);
	standin_remove(&s);
}

/* Fields that a driver does not know are asked for by their functions; types differ. */
TEST(field_values)
{
	static const struct {
		const char *script, *expected;
	} cases[] = {
	    {"0 field.83 1 3\n0 energy 2\n", "0 nvidia0 7=1000\n"},
	    {"0 energy 2\n", "0 nvidia0\n"}, /* the new library has no such function */
	    {"0 fields !3\n0 replays 4\n0 violation.power 5\n", "0 nvidia0 22=5 26=4\n"},
	    {"0 field.94 !3\n0 replays 4\n", "0 nvidia0 26=4\n"},
	    {"0 field.94 7 2\n0 field.82 8 6\n0 field.74 9 4\n", "0 nvidia0 14=8000 22=9 26=7\n"},
	    {"0 field.94 -7 5\n0 field.74 -7 4\n0 field.82 40 5\n", "0 nvidia0 14=40000\n"},
	    {"0 field.83 1.5 0\n0 field.94 1 7\n", "0 nvidia0\n"},
	    {"0 field.83 18446744073709551615\n", "0 nvidia0\n"},
	};
	struct standin s;

	standin_make(&s, "new", "");
	for (size_t i = 0; i < NR(cases); i++) {
		char script[300];
		struct many m;

		snprintf(script, sizeof(script), "0 device " FIRST "\n%s", cases[i].script);
		standin_script(&s, script);
		many_open(&m, &gpu_source, &s.root, "", OF_LIBRARY);
		many_read(&m);
		many_expect(&m, cases[i].expected);
		many_close(&m);
	}
	standin_remove(&s);
}

/* Each with its reason, and the others as they are. */
TEST(errors)
{
	const uint32_t wanted = BUSY | POWER | 1u << GPU_TEMPERATURE | 1u << GPU_FREQUENCY;
	struct standin s;
	struct many m;

	standin_make(&s, "new",
		     "0 device " FIRST "\n0 utilization !4\n0 power !999\n0 temperature !3\n"
		     "0 clock.sm 100\n");
	many_open(&m, &gpu_source, &s.root, "", wanted);
	for (int i = 0; i < 3; i++) {
		many_read(&m);
		many_expect_fields(&m, "nvidia0", 1u << GPU_FREQUENCY, BUSY, 1u << GPU_TEMPERATURE,
				   POWER);
	}
	many_expect_note(&m, NULL);
	/* what it does not have, by either function, is asked for once */
	assert_int_equal(standin_calls(&s, "temperature 0"), 2);
	assert_int_equal(standin_calls(&s, "power 0"), 3);
	standin_script(&s, "0 device " FIRST "\n0 power !16\n0 clock.sm 100\n");
	many_read(&m);
	many_expect_note(&m, "GPU nvidia0 cannot be read: the GPU needs a reset");
	many_read(&m);
	many_expect_note(&m, NULL);
	many_expect_fields(&m, "nvidia0", 1u << GPU_FREQUENCY, 0, BUSY | 1u << GPU_TEMPERATURE,
			   POWER);
	many_close(&m);
	standin_remove(&s);
}

/* Only what is wanted is asked, and what needs 20 ms only if it is named. */
TEST(wanted)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", whole);
	many_open(&m, &gpu_source, &s.root, "", POWER);
	many_read(&m);
	many_read(&m);
	many_expect(&m, "0 nvidia0 6=117000000\n");
	assert_int_equal(standin_calls(&s, "power 0"), 2);
	assert_int_equal(standin_calls(&s, "init -1"), 1);
	assert_int_equal(standin_calls(&s, "find 0"), 1);
	assert_int_equal(standin_calls(&s, "mig 0"), 1);
	assert_int_equal(standin_calls(&s, ""), 5);
	many_close(&m);
	standin_remove(&s);
}

/* It is not called again; it is found anew when its driver has it back. */
TEST(lost)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new",
		     "0 device " FIRST
		     "\n1 device 0000:02:00.0\n* power 1000\n* utilization 7 8\n");
	standin_add_gpu(&s, "0000:02:00.0", 1);
	many_open(&m, &gpu_source, &s.root, "", BUSY | POWER);
	many_read(&m);
	many_expect(&m, "0 nvidia0 1=7 6=1000000\n1 nvidia1 1=7 6=1000000\n");
	standin_script(&s, "0 utilization !15\n* power 1000\n* utilization 7 8\n");
	standin_forget_calls(&s);
	many_read(&m);
	many_expect(&m, "1 nvidia1 1=7 6=1000000\n");
	many_expect_note(&m, "GPU nvidia0 is not read any more: the GPU is lost");
	many_read(&m);
	many_expect_note(&m, NULL);
	assert_int_equal(standin_calls(&s, "utilization 0"), 1);
	assert_int_equal(standin_calls(&s, "power 0"), 0);
	assert_int_equal(standin_calls(&s, "power 1"), 2);
	standin_drop_gpu(&s, FIRST);
	many_read(&m);
	standin_script(&s, "0 device " FIRST "\n* power 2000\n");
	standin_add_gpu(&s, FIRST, 0);
	many_read(&m);
	many_expect(&m, "1 nvidia1 6=2000000\n2 nvidia0 6=2000000\n");
	many_close(&m);
	standin_remove(&s);
}

/* The library is not even begun while all sleep. */
TEST(asleep)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", whole);
	standin_power_state(&s, FIRST, "suspended\n");
	many_open(&m, &gpu_source, &s.root, "", AWAKE | POWER);
	many_read(&m);
	many_expect(&m, "0 nvidia0 0=0\n");
	many_expect_fields(&m, "nvidia0", AWAKE, 0, POWER, 0);
	assert_int_equal(standin_calls(&s, ""), 0);
	standin_power_state(&s, FIRST, "active\n");
	many_read(&m);
	many_expect(&m, "0 nvidia0 0=1 6=117000000\n");
	standin_power_state(&s, FIRST, "suspending\n");
	standin_forget_calls(&s);
	many_read(&m);
	many_expect(&m, "0 nvidia0 0=0\n");
	assert_int_equal(standin_calls(&s, ""), 0);
	many_close(&m);
	standin_remove(&s);
}

TEST(divided)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", "0 device " FIRST "\n0 mig 1\n0 utilization !3\n0 memory 9 1 2\n");
	many_open(&m, &gpu_source, &s.root, "", BUSY | 1u << GPU_MEMORY_USED);
	many_read(&m);
	many_expect(&m, "0 nvidia0 3=2\n");
	many_expect_fields(&m, "nvidia0", 1u << GPU_MEMORY_USED, 0, BUSY, 0);
	many_expect_note(&m, "GPU nvidia0 is divided (MIG)");
	many_read(&m);
	many_expect_note(&m, NULL);
	many_close(&m);
	standin_remove(&s);
}

/* Values are missing until it answers; nothing is asked meanwhile. */
TEST(silent)
{
	struct standin s;
	struct many m, other;
	uint64_t begin_ns;

	standin_make(&s, "new", "0 device " FIRST "\n0 power 1000\n0 utilization 7 8\n");
	inject_mem(0);
	many_open(&m, &gpu_source, &s.root, "", BUSY | POWER);
	many_read(&m);
	standin_script(&s, "0 power hang\n0 utilization 7 8\n");
	standin_forget_calls(&s);
	for (int i = 0; i < 3; i++) {
		many_read(&m);
		many_expect(&m, "0 nvidia0\n");
		many_expect_fields(&m, "nvidia0", 0, 0, 0, BUSY | POWER);
		many_expect_note(&m, i ? NULL : "NVIDIA's driver has not answered for 2 s");
	}
	assert_int_equal(standin_calls(&s, "power 0"), 1);
	/* another source does not wait in vain as long as for a driver that begins */
	standin_script(&s, "* init hang\n0 power hang\n");
	begin_ns = clock_monotonic_ns();
	many_open(&other, &gpm_source, &s.root, "", 1u << GPM_SM);
	assert_true(clock_monotonic_ns() - begin_ns < UINT64_C(5000000000));
	many_close(&other);
	standin_script(&s, "0 power 3000\n0 utilization 9 8\n");
	do
		many_read(&m);
	while (!many_get(&m, "nvidia0").has);
	many_expect(&m, "0 nvidia0 1=9 6=3000000\n");
	/* closed while it is silent */
	standin_script(&s, "0 power hang\n");
	many_read(&m);
	many_close(&m);
	standin_script(&s, "0 power 1\n");
	while (inject.nr_live)
		usleep(1000);
	inject_stop();
	standin_remove(&s);
}

TEST(libraries)
{
	static const struct {
		const char *kind, *script, *expected, *note;
		uint32_t denied, absent, failed;
	} cases[] = {
	    {"bare", whole, "0 nvidia0 0=1\n", NULL, 0, POWER, 0},
	    {NULL, whole, "0 card0 0=1\n", "NVIDIA's GPUs are not read by its library: ", 0, POWER,
	     0},
	    {"new", "* init !9\n", "0 nvidia0 0=1\n",
	     "GPU nvidia0 cannot be read: NVIDIA's driver is not loaded", 0, 0, POWER},
	    {"new", "* init !18\n", "0 nvidia0 0=1\n",
	     "GPU nvidia0 cannot be read: the library and the driver differ in version", 0, 0,
	     POWER},
	    {"new", "* init !4\n", "0 nvidia0 0=1\n",
	     "GPU nvidia0 cannot be read: this user has no permission", POWER, 0, 0},
	    {"new", "0 device " FIRST "\n0 find !17\n", "0 nvidia0 0=1\n",
	     "GPU nvidia0 cannot be read: the system has blocked the GPU", POWER, 0, 0},
	    {"new", "", "0 nvidia0 0=1\n", "GPU nvidia0 cannot be read: it is not found", 0, 0,
	     POWER},
	    {"new", "0 device " FIRST "\n0 find !777\n", "0 nvidia0 0=1\n",
	     "GPU nvidia0 cannot be read: an unknown error of the driver", 0, 0, POWER},
	};
	for (size_t i = 0; i < NR(cases); i++) {
		const char *name = cases[i].kind ? "nvidia0" : "card0";
		struct standin s;
		struct many m;

		standin_make(&s, cases[i].kind, cases[i].script);
		standin_power_state(&s, FIRST, "active\n");
		tree_text(&s.root, CARD "power/runtime_status", "active\n");
		tree_text(&s.root, CARD "uevent", "DRIVER=nvidia\nPCI_CLASS=30200\n");
		many_open(&m, &gpu_source, &s.root, "", AWAKE | POWER);
		many_read(&m);
		many_expect(&m, cases[i].expected);
		many_expect_fields(&m, name, AWAKE, cases[i].denied, cases[i].absent,
				   cases[i].failed);
		many_expect_note(&m, cases[i].note);
		many_read(&m);
		many_expect_note(&m, NULL);
		many_close(&m);
		standin_remove(&s);
	}
}

/* Cards of other drivers are beside them. Words select by name. */
TEST(beside_cards)
{
	static const struct {
		const char *words, *expected, *note;
	} cases[] = {
	    {"", "0 card1 1=5\n1 nvidia0 1=37\n", NULL},
	    {"all", "0 card1 1=5\n1 nvidia0 1=37\n", NULL},
	    {"card*", "0 card1 1=5\n", NULL},
	    {"nvidia*", "0 nvidia0 1=37\n", NULL},
	    {"nvidia0 card1", "0 card1 1=5\n1 nvidia0 1=37\n", NULL},
	    {"nvidia7", "", "there is no GPU \"nvidia7\""},
	};
	struct standin s;

	standin_make(&s, "new", whole);
	tree_text(&s.root, "/sys/class/drm/card0/device/uevent",
		  "DRIVER=nvidia\nPCI_CLASS=30200\n");
	tree_text(&s.root, "/sys/class/drm/card0/device/gpu_busy_percent", "99\n");
	tree_text(&s.root, "/sys/class/drm/card1/device/uevent", "DRIVER=amdgpu\n");
	tree_text(&s.root, "/sys/class/drm/card1/device/gpu_busy_percent", "5\n");
	for (size_t i = 0; i < NR(cases); i++) {
		struct many m;

		print_message("%s\n", cases[i].words);
		many_open(&m, &gpu_source, &s.root, cases[i].words, BUSY);
		many_read(&m);
		many_expect(&m, cases[i].expected);
		many_expect_note(&m, cases[i].note);
		many_close(&m);
	}
	standin_remove(&s);
}

/* Its driver without its library, and no card: all sources give one reason. */
TEST(no_library)
{
	static const struct things_source *const sources[] = {
	    &gpu_source, &gpm_source, &gpu_engine_source, &gpu_process_source};
	char first[sizeof(((struct err *)NULL)->msg)] = "";
	struct standin s;
	struct many m;

	standin_make(&s, NULL, whole);
	for (size_t i = 0; i < NR(sources); i++) {
		assert_int_equal(many_try_open(&m, sources[i], &s.root, "", 1), -ENOTSUP);
		assert_non_null(strstr(m.e.msg, "libnvidia-ml.so.1"));
		if (i == 0)
			memcpy(first, m.e.msg, sizeof(first));
		assert_string_equal(m.e.msg, first);
	}
	standin_remove(&s);
}

/* Without its driver nothing is loaded, and nothing is said. */
TEST(no_driver)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", whole);
	standin_drop_gpu(&s, FIRST);
	tree_drop(&s.root, "/proc/driver/nvidia/gpus");
	tree_text(&s.root, "/sys/class/drm/card1/device/gpu_busy_percent", "5\n");
	many_open(&m, &gpu_source, &s.root, "", BUSY);
	many_read(&m);
	many_expect(&m, "0 card1 1=5\n");
	many_expect_note(&m, NULL);
	assert_int_equal(standin_calls(&s, ""), 0);
	many_close(&m);
	standin_remove(&s);
}

/* Its files are as hostile as any. */
TEST(damaged)
{
	static const struct {
		const char *information, *expected;
	} cases[] = {
	    {"Device Minor: 3", "0 nvidia3 1=37\n"},
	    {"Device Minor:\t\t255\n", "0 nvidia255 1=37\n"},
	    {"Device Minor: x\n", "0 0000:01:00.0 1=37\n"},
	    {"Device Minor: 99999999999\n", "0 0000:01:00.0 1=37\n"},
	    {"Device Minor:", "0 0000:01:00.0 1=37\n"},
	    {"", "0 0000:01:00.0 1=37\n"},
	};
	struct standin s;

	standin_make(&s, "new", whole);
	tree_text(&s.root, "/proc/driver/nvidia/gpus/by name/information", "Device Minor: 4\n");
	for (size_t i = 0; i < NR(cases); i++) {
		struct many m;

		tree_text(&s.root, "/proc/driver/nvidia/gpus/" FIRST "/information",
			  cases[i].information);
		many_open(&m, &gpu_source, &s.root, "", BUSY);
		many_read(&m);
		many_expect(&m, cases[i].expected);
		many_close(&m);
	}
	standin_remove(&s);
}

TEST(too_many)
{
	struct standin s;
	struct many m;

	standin_make(&s, "new", "* power 1\n");
	for (unsigned i = 1; i <= NVML_DEVICES_MAX; i++) {
		char address[32];

		snprintf(address, sizeof(address), "0000:%02x:01.0", i);
		standin_add_gpu(&s, address, i);
	}
	many_open(&m, &gpu_source, &s.root, "", POWER);
	many_read(&m);
	many_expect_note(&m, "there are more than 64 of NVIDIA's GPUs");
	assert_int_equal(m.source->nr(m.state), NVML_DEVICES_MAX);
	many_close(&m);
	standin_remove(&s);
}

/* Calls of one reading of these fields. */
static unsigned count_calls(const struct standin *s, uint32_t wanted, unsigned nr_values)
{
	struct many m;
	unsigned nr;

	many_open(&m, &gpu_source, &s->root, "", wanted);
	standin_forget_calls(s);
	many_read(&m);
	nr = standin_calls(s, "");
	assert_int_equal(m.source->nr(m.state), 8);
	for (unsigned i = 0; i < 8; i++) {
		char name[16];

		snprintf(name, sizeof(name), "nvidia%u", i);
		assert_int_equal(__builtin_popcount(many_get(&m, name).has), nr_values);
	}
	many_close(&m);
	return nr;
}

/* Eight GPUs, all values: how many calls a reading makes, at once and one value after the other. */
TEST(calls)
{
	unsigned nr_values = (unsigned)__builtin_popcount(OF_LIBRARY), together, alone = 0;
	char script[4096] = "";
	struct standin s;

	standin_make(&s, "new", "");
	for (unsigned i = 0; i < 8; i++) {
		char address[32];

		snprintf(address, sizeof(address), "0000:%02x:00.0", i + 1);
		standin_add_gpu(&s, address, i);
		snprintf(script + strlen(script), sizeof(script) - strlen(script), "%u device %s\n",
			 i, address);
	}
	/* the lines but the first, of any GPU */
	for (const char *line = strchr(whole, '\n'); line[1]; line = strchr(line + 1, '\n'))
		snprintf(script + strlen(script), sizeof(script) - strlen(script), "*%.*s\n",
			 (int)strcspn(line + 2, "\n"), line + 2);
	standin_script(&s, script);
	together = count_calls(&s, OF_LIBRARY, nr_values);
	for (unsigned f = 0; f < GPU_NR_FIELDS; f++)
		if (OF_LIBRARY & 1u << f)
			alone += count_calls(&s, 1u << f, 1);
	print_message("8 GPUs x %u values: %u calls a reading; each value on its own: %u\n",
		      nr_values, together, alone);
	assert_int_equal(nr_values, 20);
	assert_int_equal(alone, 8 * 20);
	assert_int_equal(together, 8 * 14);
	standin_remove(&s);
}

static int open_and_read(void *arg)
{
	struct standin *s = arg;
	struct many m;
	int rc = many_try_open(&m, &gpu_source, &s->root, "", OF_LIBRARY | AWAKE);

	if (rc)
		return rc;
	rc = m.source->read(m.state);
	for (size_t i = 0; i < m.source->nr(m.state); i++) {
		struct things_one t;

		m.source->get(m.state, i, &t);
		assert_int_equal(t.has & (t.denied | t.absent | t.failed), 0);
	}
	many_close(&m);
	return rc;
}

TEST(every_failure)
{
	struct standin s;

	standin_make(&s, "new", whole);
	standin_power_state(&s, FIRST, "active\n");
	tree_text(&s.root, "/sys/class/drm/card0/device/uevent", "DRIVER=nvidia\n");
	tree_text(&s.root, "/sys/class/drm/card1/device/gpu_busy_percent", "5\n");
	inject_every(open_and_read, &s, 8, 8);
	standin_remove(&s);
}
