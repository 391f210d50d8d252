/*
 * Memory that a hostile program wrote: the input is spread over header, names and slots between two
 * readings. What arrives must be bounded and in order.
 */
#include "base/mem.h"
#include "wire/memory.h"

#define CPUPERF_NO_MARKS
#include "cpuperf/mark.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	uint32_t nr_names;
	uint64_t counts;
} seen;

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void on_name(void *arg, uint32_t number, const char *text)
{
	(void)arg;
	require(number == ++seen.nr_names && *text && strlen(text) <= CPUPERF_MARK_MAX_NAME);
	for (; *text; text++)
		require((unsigned char)*text >= ' ');
}

static void on_marks(void *arg, const struct wire_marks *m)
{
	const struct wire_reader *r = arg;

	for (size_t i = 0; i < m->nr; i++) {
		require(m->mark[i].kind == WIRE_THREAD_END ||
			(m->mark[i].kind && m->mark[i].kind < CPUPERF_MARK_NR_KINDS));
		require(m->mark[i].name <= seen.nr_names);
		require(m->mark[i].time_ns <= r->now.ns);
		require(!i || m->mark[i].time_ns >= m->mark[i - 1].time_ns);
		for (uint32_t k = 0; m->mark[i].counts && k < r->config->nr_counts; k++)
			seen.counts += m->mark[i].counts[k]; /* readable */
	}
}

/* The first bytes of an input choose where the rest goes. */
static void spread(const struct wire_memory *m, const uint8_t *data, size_t size)
{
	const struct cpuperf_mark_header *h = m->shared;
	const size_t places[] = {128,
				 h->names_offset,
				 h->text_offset,
				 h->slots_offset,
				 h->slots_offset + CPUPERF_MARK_SLOT_HEAD_BYTES,
				 h->slots_offset + CPUPERF_MARK_SLOT_BYTES};

	while (size > 2) {
		size_t place = places[data[0] % (sizeof(places) / sizeof(places[0]))];
		size_t len = 1 + data[1] % 64;

		data += 2, size -= 2;
		len = len < size ? len : size;
		memcpy((char *)m->shared + place + len % 8, data, len);
		data += len, size -= len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader r;
	struct wire_config config = {
	    .arg = &r, .name = on_name, .marks = on_marks, .nr_counts = size % 8 / 2};
	const struct wire_memory_config memory = {
	    .pid = 1, .object = 1, .clock = size % 2, .nr_counts = config.nr_counts};
	struct wire_memory m;
	int fd;

	memset(&seen, 0, sizeof(seen));
	require(wire_reader_init(&r, &config) == 0);
	require(wire_memory_init(&m, &memory, &fd) == 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		spread(&m, data + i * (size / 2), size / 2);
		r.before = r.now;
		wire_clocks_now(&r.now);
		wire_memory_drain(&m, &r);
		wire_memory_free_slots(&m, &r);
	}
	wire_memory_close(&m, &r);
	wire_memory_fini(&m);
	wire_reader_fini(&r);
	return 0;
}
