/*
 * Processes of NVIDIA's GPUs, by stand-ins for the library: lists of each version, processes that
 * are in both or in parts, samples, errors.
 */
#include "kit.h"
#include "test_nvml.h"

#include "gpu/nvml_processes.h"

#define FIRST "0000:01:00.0"

struct gpu {
	struct standin standin;
	struct nvml nvml;
	void *device;
	struct nvml_processes processes;
};

static void script(const struct gpu *g, const char *text)
{
	char whole[30000];

	snprintf(whole, sizeof(whole), "0 device " FIRST "\n%s", text);
	standin_script(&g->standin, whole);
}

static void start(struct gpu *g, const char *kind)
{
	struct err e = {0};

	memset(g, 0, sizeof(*g));
	standin_make(&g->standin, kind, "");
	script(g, "");
	assert_int_equal(nvml_load(&g->standin.root, &g->nvml, &e), 0);
	assert_int_equal(nvml_init(&g->nvml), NVML_SUCCESS);
	assert_int_equal(g->nvml.find ? g->nvml.find(FIRST, &g->device)
				      : g->nvml.find_v1(FIRST, &g->device),
			 NVML_SUCCESS);
}

static void stop(struct gpu *g)
{
	nvml_processes_fini(&g->processes);
	standin_remove(&g->standin);
}

/* "pid memory busy;" of each; "-": there is no value. */
static void expect(struct gpu *g, int result, const char *expected)
{
	BUF_AUTO(text, 1 << 20);

	assert_int_equal(nvml_processes_read(&g->nvml, g->device, &g->processes), result);
	for (size_t i = 0; i < g->processes.nr; i++) {
		const struct nvml_process_use *use = &g->processes.list[i];

		buf_printf(&text, "%u ", use->pid);
		if (use->has_memory)
			buf_printf(&text, "%llu ", (unsigned long long)use->memory);
		else
			buf_printf(&text, "- ");
		if (use->has_busy)
			buf_printf(&text, "%u;", use->busy);
		else
			buf_printf(&text, "-;");
	}
	assert_string_equal(buf_str(&text), expected);
}

static const struct {
	const char *script, *expected;
	int result;
} cases[] = {
    {"0 compute 7:100 5:200\n0 graphics 6:300\n", "5 200 -;6 300 -;7 100 -;", 0},
    {"0 compute 7:100\n", "7 100 -;", 0},
    {"0 graphics 7:100\n", "7 100 -;", 0},
    {"0 compute\n0 graphics\n", "", 0},
    {"", "", NVML_ERROR_NOT_SUPPORTED},
    /* in both: once; in parts: their sum */
    {"0 compute 7:100\n0 graphics 7:100 8:1\n", "7 100 -;8 1 -;", 0},
    {"0 compute 7:100\n0 graphics 7:99\n", "7 100 -;", 0},
    {"0 compute 7:100 7:20 8:1 7:3\n", "7 123 -;8 1 -;", 0},
    {"0 compute 7\n", "7 - -;", 0},
    {"0 compute 7 7:5\n", "7 5 -;", 0},
    {"0 compute 7\n0 graphics 7:9\n", "7 9 -;", 0},
    {"0 compute 7:18446744073709551614 7:3\n", "7 - -;", 0},
    {"0 compute !4\n0 graphics 7:1\n", "", NVML_ERROR_NO_PERMISSION},
    {"0 compute 7:1\n0 graphics !15\n", "", NVML_ERROR_GPU_IS_LOST},
    {"0 compute 7:1\n0 graphics !13\n", "7 1 -;", 0},
};

TEST(lists)
{
	static const char *const kinds[] = {"new", "old"};

	for (size_t k = 0; k < NR(kinds); k++)
		for (size_t i = 0; i < NR(cases); i++) {
			struct gpu g;

			print_message("%s: %s", kinds[k], cases[i].script);
			start(&g, kinds[k]);
			script(&g, cases[i].script);
			expect(&g, cases[i].result, cases[i].expected);
			stop(&g);
		}
}

/* More than there was room for. */
TEST(many)
{
	static const char *const kinds[] = {"new", "old"};

	for (size_t k = 0; k < NR(kinds); k++) {
		char text[20000] = "0 compute", expected[20000] = "";
		struct gpu g;

		for (int i = 1; i <= 300; i++) {
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d:%d", i,
				 2 * i);
			snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
				 "%d %d -;", i, 2 * i);
		}
		strcat(text, "\n");
		start(&g, kinds[k]);
		script(&g, text);
		expect(&g, NVML_SUCCESS, expected);
		script(&g, "0 compute 1:1\n");
		expect(&g, NVML_SUCCESS, "1 1 -;");
		stop(&g);
	}
}

TEST(samples)
{
	struct gpu g;

	start(&g, "new");
	script(&g, "0 compute 7:1 8:2\n0 samples 7:1000:30 7:3000:50 7:2000:40 9:4000:5\n");
	expect(&g, NVML_SUCCESS, "7 1 50;8 2 -;");
	expect(&g, NVML_SUCCESS, "7 1 -;8 2 -;"); /* none since */
	script(&g, "0 compute 7:1 8:2\n0 samples 7:3000:50 8:5000:100 7:5000:101\n");
	expect(&g, NVML_SUCCESS, "7 1 -;8 2 100;");
	script(&g, "0 compute 7:1\n0 samples !4\n");
	expect(&g, NVML_SUCCESS, "7 1 -;");
	script(&g, "0 compute 7:1\n0 samples !15\n");
	expect(&g, NVML_ERROR_GPU_IS_LOST, "");
	stop(&g);
}

static int read_once(void *arg)
{
	struct gpu *g = arg;
	int rc = nvml_processes_read(&g->nvml, g->device, &g->processes);

	nvml_processes_fini(&g->processes);
	return rc == NVML_ERROR_MEMORY ? -ENOMEM : -rc;
}

TEST(no_memory)
{
	struct gpu g;

	start(&g, "new");
	script(&g, "0 compute 7:1 8:2\n0 samples 7:1000:30\n");
	inject_every(read_once, &g, 3, 0);
	stop(&g);
}
