/*
 * Any text as the fdinfo of a GPU's client: cut at lines of "%", what one open file says at one
 * reading after the other. Counters never go back, and what is read is written and read as the
 * same.
 */
#include "base/err.h"
#include "base/str.h"
#include "base/sys.h"
#include "gpu/clients.h"
#include "gpu/fdinfo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_READINGS = 8, MAX_ENGINES = 64 };

static void require(int holds)
{
	if (!holds)
		abort();
}

/* Engines and regions, written as drivers do. */
static void write_text(const struct gpu_fdinfo *f, FILE *out)
{
	static const struct {
		const char *key, *unit;
	} of_engine[GPU_FDINFO_NR_OF_ENGINE] = {{"engine", "ns"},     {"cycles", ""},
						{"total-cycles", ""}, {"maxfreq", "Hz"},
						{"curfreq", "Hz"},    {"engine-capacity", ""}};
	static const char *const of_region[GPU_FDINFO_NR_OF_REGION] = {
	    "resident", "memory", "total", "shared", "purgeable", "active"};

	fprintf(out, "drm-driver:\t%s\ndrm-client-id:\t%" PRIu64 "\n", f->driver, f->client);
	if (f->pdev[0])
		fprintf(out, "drm-pdev:\t%s\n", f->pdev);
	for (size_t i = 0; i < f->nr_engines; i++)
		for (int k = 0; k < GPU_FDINFO_NR_OF_ENGINE; k++)
			if (f->engines[i].has & 1u << k)
				fprintf(out, "drm-%s-%s:\t%" PRIu64 " %s\n", of_engine[k].key,
					f->engines[i].name, f->engines[i].of[k], of_engine[k].unit);
	for (size_t i = 0; i < f->nr_regions; i++)
		for (int k = 0; k < GPU_FDINFO_NR_OF_REGION; k++)
			if (f->regions[i].has & 1u << k)
				fprintf(out, "drm-%s-%s:\t%" PRIu64 "\n", of_region[k],
					f->regions[i].name, f->regions[i].of[k]);
}

static void check_again(const struct gpu_fdinfo *f)
{
	struct gpu_fdinfo again;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	require(out != NULL);
	write_text(f, out);
	fclose(out);
	/* an engine "capacity-x" is written as the capacity of "x" */
	if (gpu_fdinfo_parse(text, len, &again) == 0) {
		require(again.client == f->client);
		require(strcmp(again.driver, f->driver) == 0 && strcmp(again.pdev, f->pdev) == 0);
	}
	free(text);
}

static int check_text(const char *text, size_t len, struct gpu_fdinfo *f)
{
	int rc = gpu_fdinfo_parse(text, len, f);
	uint64_t bytes;

	require(rc == 0 || rc == -ENOENT || rc == -EINVAL || rc == -ERANGE || rc == -E2BIG);
	require(f->nr_engines <= GPU_FDINFO_MAX_ENGINES);
	require(f->nr_regions <= GPU_FDINFO_MAX_REGIONS);
	if (rc)
		return rc;
	for (size_t i = 0; i < f->nr_engines; i++) {
		size_t n = strnlen(f->engines[i].name, GPU_FDINFO_NAME_BYTES);

		require(n && n < GPU_FDINFO_NAME_BYTES);
		require(f->engines[i].of[GPU_FDINFO_CAPACITY] > 0);
	}
	(void)gpu_fdinfo_own_memory(f, &bytes);
	(void)gpu_fdinfo_machine_memory(f, &bytes);
	check_again(f);
	return 0;
}

/* ---- readings: a maker of the fuzzer's own */

static const struct gpu_fdinfo *now; /* NULL: the client is not there */

static int fuzz_open(const struct root *root, void *proc, void **state, struct err *e)
{
	(void)root;
	(void)proc;
	(void)e;
	*state = &now;
	return 0;
}

static void fuzz_close(void *state)
{
	(void)state;
}

static int fuzz_read(void *state, struct gpu_clients *c)
{
	(void)state;
	if (!now)
		return gpu_clients_fail(c, 1, 1, 3, -EINVAL);
	return gpu_clients_add(
	    c, &(struct gpu_client){.device = now->pdev[0] ? now->pdev : now->driver,
				    .id = now->client,
				    .process = 1,
				    .pid = 1,
				    .place = 3,
				    .engines = now->engines,
				    .nr_engines = now->nr_engines});
}

static const struct gpu_client_maker fuzz_maker = {
    .open = fuzz_open, .close = fuzz_close, .read = fuzz_read};

static const struct gpu_client_maker *const makers[] = {&fuzz_maker};

/* Values of engines that were there before are no smaller. */
static void check_engines(const struct gpu_clients *c, struct gpu_engine *last, size_t nr_last)
{
	static const enum gpu_engine_field counters[] = {
	    GPU_ENGINE_BUSY_TIME, GPU_ENGINE_BUSY, GPU_ENGINE_BUSY_CYCLES, GPU_ENGINE_TOTAL_CYCLES};

	require(gpu_clients_nr_engines(c) >= nr_last);
	for (size_t i = 0; i < nr_last; i++) {
		const struct gpu_engine *e = gpu_clients_engine(c, i);

		require(strcmp(e->name, last[i].name) == 0);
		require(e->nr_missed >= last[i].nr_missed);
		require(e->wholes[GPU_ENGINE_BUSY] >= last[i].wholes[GPU_ENGINE_BUSY]);
		for (size_t k = 0; k < sizeof(counters) / sizeof(counters[0]); k++)
			require(e->values[counters[k]] >= last[i].values[counters[k]]);
	}
}

/* The next part of the text, up to a line of "%" or the end. */
static size_t next_part(const char **text, const char *end)
{
	const char *start = *text, *line, *stop;
	size_t len = 0;

	while ((line = str_next_line(text, end, &stop)) && !(stop - line == 1 && *line == '%'))
		len = (size_t)(*text - start);
	return len;
}

static void check_readings(const char *text, const char *end)
{
	struct gpu_engine last[MAX_ENGINES];
	struct gpu_clients *c;
	struct err e = {0};
	uint64_t round = 0;
	size_t nr_last = 0;

	require(gpu_clients_open_with(&root_live, makers, 1, &c, &e) == 0);
	for (int i = 0; i < MAX_READINGS && text != end; i++) {
		static struct gpu_fdinfo f;
		const char *part = text;

		now = check_text(part, next_part(&text, end), &f) ? NULL : &f;
		require(gpu_clients_read(c, &round) == 0);
		check_engines(c, last, nr_last);
		nr_last = gpu_clients_nr_engines(c);
		nr_last = nr_last < MAX_ENGINES ? nr_last : MAX_ENGINES;
		for (size_t k = 0; k < nr_last; k++)
			last[k] = *gpu_clients_engine(c, k);
	}
	gpu_clients_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpu_fdinfo f;

	(void)check_text((const char *)data, size, &f);
	check_readings((const char *)data, (const char *)data + size);
	return 0;
}
