/*
 * Fuzzes the reader of perf.data: any bytes, opened as a file, then read as every report does: the
 * tables of tasks, all samples as they stand, all records in order. What it asserts holds for every
 * input. Must not know more of the format than import.h says.
 */
#include "base/err.h"
#include "import/import.h"
#include "profile/merged.h"
#include "profile/processes.h"
#include "profile/samples.h"
#include "profile/session.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint32_t touched; /* so that reading is not optimised away */

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void check_text(const char *s)
{
	for (; *s; s++)
		require((unsigned char)*s >= 0x20 && *s != 0x7f);
}

static void problem(void *arg, bool is_loss, const struct err *e)
{
	(void)arg;
	(void)is_loss;
	require(e->code < 0);
	check_text(e->msg);
}

static void check_facts(const struct import_facts *f)
{
	const char *const texts[] = {f->host,      f->machine, f->kernel,  f->perf_version,
				     f->cpu_model, f->cpu_id,  f->command, f->kernel_symbol};
	uint64_t nr = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_text(texts[i]);
	require(f->nr_events > 0 && f->nr_events <= IMPORT_MAX_EVENTS);
	require(f->kernel_build_id_len <= IMPORT_BUILD_ID_BYTES);
	for (size_t i = 0; i < f->nr_events; i++) {
		check_text(f->events[i].name);
		nr += f->events[i].nr_samples;
	}
	require(nr <= f->nr_samples && f->nr_samples <= IMPORT_MAX_PARTS * f->nr_records);
}

static void touch(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 64)
		touched ^= p[i];
	if (len)
		touched ^= p[len - 1];
}

/* No more samples than were counted: none stands in two slices. */
static void read_samples(struct profile_session *s, uint64_t max)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < profile_session_nr_files(s); i++) {
		struct profile_samples *samples;
		struct profile_sample sample;

		if (profile_samples_open(s, i, problem, NULL, &samples) != 1)
			continue;
		while (profile_samples_next(samples, &sample) == 1) {
			touch(sample.record.bytes, sample.record.len);
			require(sample.id->event < profile_session_facts(s)->nr_events);
			nr++;
		}
		profile_samples_close(samples);
	}
	require(nr <= max);
}

static void read_records(struct profile_session *s)
{
	struct profile_merged_item item;
	struct profile_merged *m;

	if (profile_merged_open(s, problem, NULL, &m))
		return;
	while (profile_merged_next(m, &item) == 1)
		if (item.item->kind == PROFILE_RECORD)
			touch(item.item->record.bytes, item.item->record.len);
	profile_merged_close(m);
}

static void read_all(struct import *im)
{
	struct profile_processes *processes;
	struct profile_session *s;

	check_facts(import_facts(im));
	if (profile_session_open_set(import_set(im), problem, NULL, &s, NULL))
		return;
	if (profile_processes_load(s, NULL, NULL, &processes) == 0)
		profile_processes_free(processes);
	read_samples(s, import_facts(im)->nr_samples);
	read_records(s);
	profile_session_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);
	struct import *im;
	struct err e = {0};
	char path[64];
	int rc;

	require(fd >= 0);
	require(write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = import_open(path, problem, NULL, NULL, &im, &e);
	require(rc == 0 || e.code == rc);
	if (rc == 0) {
		require(import_is_perf_data(path));
		read_all(im);
		import_close(im);
	}
	close(fd);
	return 0;
}
