/*
 * Processes of NVIDIA's GPUs in the source of GPU processes, by the stand-in for the library.
 */
#include "kit.h"
#include "test_nvml.h"
#include "test_things_many.h"

#include "gpu/process.h"

#define FIRST  "0000:01:00.0"
#define BEGIN  "0 device " FIRST "\n1 device 0000:02:00.0\n"
#define MEMORY (1u << GPU_PROCESS_MEMORY)
#define BUSY   (1u << GPU_PROCESS_BUSY)
#define WANTED (MEMORY | BUSY | 1u << GPU_PROCESS_CLIENTS)

static void make(struct standin *s, const char *script)
{
	standin_make(s, "new", script);
	standin_add_gpu(s, "0000:02:00.0", 1);
	tree_text(&s->root, "/proc/70/stat",
		  "70 (solve) S 1 70 70 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
	tree_text(&s->root, "/proc/70/comm", "solve\n");
}

/* Without its name, which the stand-in's tree may lack. */
static struct things_one of_pid(const struct many *m, uint32_t pid)
{
	static const uint64_t none[THINGS_MAX_FIELDS];
	struct things_one t = {.values = none};

	for (size_t i = 0; i < m->source->nr(m->state); i++) {
		m->source->get(m->state, i, &t);
		if ((uint32_t)strtoul(t.name, NULL, 10) == pid)
			return t;
	}
	fail_msg("no process %u", pid);
	return t;
}

TEST(processes)
{
	struct things_one t;
	struct standin s;
	struct many m;
	uint32_t number;

	make(
	    &s, BEGIN
	    "0 compute 70:100 8:5\n1 graphics 70:20\n0 samples 70:1000:30\n1 samples 70:1000:40\n");
	many_open(&m, &gpu_process_source, &s.root, "", WANTED);
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 2);
	t = of_pid(&m, 70);
	number = t.number;
	assert_int_equal(t.has, WANTED);
	assert_int_equal(t.values[GPU_PROCESS_MEMORY], 120);
	assert_int_equal(t.values[GPU_PROCESS_BUSY], 70);
	assert_int_equal(t.values[GPU_PROCESS_CLIENTS], 2);
	t = of_pid(&m, 8);
	assert_int_equal(t.has, WANTED & ~BUSY);
	assert_int_equal(t.absent, BUSY);
	assert_int_equal(t.values[GPU_PROCESS_MEMORY], 5);
	/* one ends, one begins, with a lower number */
	standin_script(&s, BEGIN "0 compute 7:1 70:90\n");
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 2);
	t = of_pid(&m, 70);
	assert_int_equal(t.number, number);
	assert_int_equal(t.nr_missed, 1); /* that of the other GPU, which ended */
	assert_int_equal(t.values[GPU_PROCESS_MEMORY], 90);
	t = of_pid(&m, 7);
	assert_int_equal(t.nr_missed, 0);
	many_expect_note(&m, NULL);
	many_close(&m);
	standin_remove(&s);
}

/* One that cannot be read keeps its processes, which have the reason; one that is lost has none. */
TEST(failures)
{
	struct standin s;
	struct many m;
	struct things_one t;

	make(&s, BEGIN "0 compute 70:100\n1 compute 71:1\n");
	many_open(&m, &gpu_process_source, &s.root, "", MEMORY);
	many_read(&m);
	standin_script(&s, BEGIN "0 compute !999\n1 compute !15\n");
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 1);
	t = of_pid(&m, 70);
	assert_int_equal(t.failed, MEMORY);
	many_expect_note(&m, "GPU nvidia1 is not read any more: the GPU is lost");
	standin_script(&s, BEGIN "0 compute 70:50\n");
	many_read(&m);
	t = of_pid(&m, 70);
	assert_int_equal(t.has, MEMORY);
	assert_int_equal(t.values[GPU_PROCESS_MEMORY], 50);
	many_close(&m);
	standin_remove(&s);
}

TEST(asleep)
{
	struct standin s;
	struct many m;

	make(&s, BEGIN "0 compute 70:100\n1 compute 71:1\n");
	standin_power_state(&s, FIRST, "suspended\n");
	many_open(&m, &gpu_process_source, &s.root, "", MEMORY);
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 1);
	assert_int_equal(of_pid(&m, 71).values[GPU_PROCESS_MEMORY], 1);
	assert_int_equal(standin_calls(&s, "compute 0"), 0);
	many_close(&m);
	standin_remove(&s);
}

static int open_and_read(void *arg)
{
	struct standin *s = arg;
	struct many m;
	int rc = many_try_open(&m, &gpu_process_source, &s->root, "", WANTED);

	if (rc)
		return rc;
	rc = m.source->read(m.state);
	many_close(&m);
	return rc;
}

TEST(no_memory)
{
	struct standin s;

	make(&s, BEGIN "0 compute 70:100\n1 compute 71:1\n");
	for (unsigned n = 1, rc = 0; n == 1 || inject.fired; n++) {
		inject_mem(n);
		rc = (unsigned)open_and_read(&s);
		inject_stop();
		assert_true(rc == 0 || inject.fired);
		assert_int_equal(inject.nr_live, 0);
	}
	standin_remove(&s);
}
