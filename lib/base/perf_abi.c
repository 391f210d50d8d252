/*
 * The tables of the perf ABI. Source: perf_output_sample() and __perf_event__output_id_sample() in
 * kernel/events/core.c.
 */
#include "base/perf_abi.h"

#include "base/array.h"

#include <endian.h>
#include <string.h>

const struct perf_abi_row perf_abi_fields[PERF_ABI_NR_FIELDS] = {
    [PERF_ABI_IDENTIFIER] = {PERF_SAMPLE_IDENTIFIER, PERF_ABI_WORD},
    [PERF_ABI_IP] = {PERF_SAMPLE_IP, PERF_ABI_WORD},
    [PERF_ABI_TID] = {PERF_SAMPLE_TID, PERF_ABI_PAIR},
    [PERF_ABI_TIME] = {PERF_SAMPLE_TIME, PERF_ABI_WORD},
    [PERF_ABI_ADDR] = {PERF_SAMPLE_ADDR, PERF_ABI_WORD},
    [PERF_ABI_ID] = {PERF_SAMPLE_ID, PERF_ABI_WORD},
    [PERF_ABI_STREAM_ID] = {PERF_SAMPLE_STREAM_ID, PERF_ABI_WORD},
    [PERF_ABI_CPU] = {PERF_SAMPLE_CPU, PERF_ABI_PAIR},
    [PERF_ABI_PERIOD] = {PERF_SAMPLE_PERIOD, PERF_ABI_WORD},
    [PERF_ABI_READ] = {PERF_SAMPLE_READ, PERF_ABI_LIST},
    [PERF_ABI_CALLCHAIN] = {PERF_SAMPLE_CALLCHAIN, PERF_ABI_LIST},
    [PERF_ABI_RAW] = {PERF_SAMPLE_RAW, PERF_ABI_LIST},
    [PERF_ABI_BRANCH_STACK] = {PERF_SAMPLE_BRANCH_STACK, PERF_ABI_LIST},
    [PERF_ABI_REGS_USER] = {PERF_SAMPLE_REGS_USER, PERF_ABI_LIST},
    [PERF_ABI_STACK_USER] = {PERF_SAMPLE_STACK_USER, PERF_ABI_LIST},
    [PERF_ABI_WEIGHT] = {PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, PERF_ABI_WORD},
    [PERF_ABI_DATA_SRC] = {PERF_SAMPLE_DATA_SRC, PERF_ABI_WORD},
    [PERF_ABI_TRANSACTION] = {PERF_SAMPLE_TRANSACTION, PERF_ABI_WORD},
    [PERF_ABI_REGS_INTR] = {PERF_SAMPLE_REGS_INTR, PERF_ABI_LIST},
    [PERF_ABI_PHYS_ADDR] = {PERF_SAMPLE_PHYS_ADDR, PERF_ABI_WORD},
    [PERF_ABI_CGROUP] = {PERF_SAMPLE_CGROUP, PERF_ABI_WORD},
    [PERF_ABI_DATA_PAGE_SIZE] = {PERF_SAMPLE_DATA_PAGE_SIZE, PERF_ABI_WORD},
    [PERF_ABI_CODE_PAGE_SIZE] = {PERF_SAMPLE_CODE_PAGE_SIZE, PERF_ABI_WORD},
    [PERF_ABI_AUX] = {PERF_SAMPLE_AUX, PERF_ABI_LIST},
};

const enum perf_abi_field perf_abi_id_fields[PERF_ABI_NR_ID_FIELDS] = {
    PERF_ABI_TID, PERF_ABI_TIME, PERF_ABI_ID, PERF_ABI_STREAM_ID, PERF_ABI_CPU, PERF_ABI_IDENTIFIER,
};

unsigned perf_abi_sample_place(uint64_t sample_type, enum perf_abi_field f)
{
	unsigned place = 0;

	for (unsigned i = 0; i < f; i++)
		place += perf_abi_has(sample_type, (enum perf_abi_field)i);
	return place;
}

unsigned perf_abi_id_place(uint64_t sample_type, enum perf_abi_field f)
{
	unsigned i = PERF_ABI_NR_ID_FIELDS, place = 1;

	while (i && perf_abi_id_fields[--i] != f)
		place += perf_abi_has(sample_type, perf_abi_id_fields[i]);
	return place;
}

unsigned perf_abi_id_words(uint64_t sample_type)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < PERF_ABI_NR_ID_FIELDS; i++)
		nr += perf_abi_has(sample_type, perf_abi_id_fields[i]);
	return nr;
}

/* The end of a name with its padding; len: it has none. */
static size_t name_end(const uint8_t *p, size_t at, size_t len)
{
	const uint8_t *nul = at < len ? memchr(p + at, '\0', len - at) : NULL;
	const size_t end = nul ? (size_t)(nul - p) + 1 : len;

	return (end + 7) & ~(size_t)7;
}

static size_t ksymbol_end(const uint8_t *p, size_t len)
{
	return name_end(p, 24, len);
}

static size_t bpf_event_end(const uint8_t *p, size_t len)
{
	(void)p;
	return len < 24 ? len : 24;
}

static size_t text_poke_end(const uint8_t *p, size_t len)
{
	uint16_t bytes[2];

	if (len < 20)
		return len;
	memcpy(bytes, p + 16, sizeof(bytes));
	return (20 + (size_t)le16toh(bytes[0]) + le16toh(bytes[1]) + 7) & ~(size_t)7;
}

/* The kernel adds the size of a listener's id to the length in these records' header, and leaves it
 * there for all listeners after it: theirs are followed by what the ring had before (Linux 5.1 to
 * 6.18: perf_event_ksymbol_output() and those beside it). */
size_t perf_abi_body_bytes(const uint8_t *p, size_t len, size_t id_bytes)
{
	static const struct {
		uint32_t kind;
		size_t (*end)(const uint8_t *p, size_t len);
	} kinds[] = {{PERF_RECORD_KSYMBOL, ksymbol_end},
		     {PERF_RECORD_BPF_EVENT, bpf_event_end},
		     {PERF_RECORD_TEXT_POKE, text_poke_end}};
	uint32_t kind = 0;
	size_t end = len;

	if (len >= sizeof(kind))
		memcpy(&kind, p, sizeof(kind));
	for (size_t i = 0; i < ARRAY_NR(kinds); i++)
		if (le32toh(kind) == kinds[i].kind)
			end = kinds[i].end(p, len);
	if (end <= len && len - end >= id_bytes)
		return end;
	return len > id_bytes ? len - id_bytes : 0;
}

bool perf_abi_shares_data(uint32_t type, uint64_t config)
{
	return type == PERF_TYPE_TRACEPOINT ||
	       (type == PERF_TYPE_SOFTWARE && config != PERF_COUNT_SW_CPU_CLOCK &&
		config != PERF_COUNT_SW_TASK_CLOCK);
}

const struct perf_abi_bits perf_abi_branch_flags[PERF_ABI_NR_BRANCH_FLAGS] = {
    [PERF_ABI_BRANCH_MISPREDICTED] = {0, 1}, [PERF_ABI_BRANCH_PREDICTED] = {1, 1},
    [PERF_ABI_BRANCH_IN_TX] = {2, 1},        [PERF_ABI_BRANCH_ABORT] = {3, 1},
    [PERF_ABI_BRANCH_CYCLES] = {4, 16},      [PERF_ABI_BRANCH_TYPE] = {20, 4},
    [PERF_ABI_BRANCH_SPEC] = {24, 2},        [PERF_ABI_BRANCH_NEW_TYPE] = {26, 4},
    [PERF_ABI_BRANCH_PRIV] = {30, 3},
};

static bool is_clock(uint32_t type, uint64_t config)
{
	return type == PERF_TYPE_SOFTWARE &&
	       (config == PERF_COUNT_SW_CPU_CLOCK || config == PERF_COUNT_SW_TASK_CLOCK);
}

bool perf_abi_is_selected(uint32_t type, uint64_t config, uint64_t config1)
{
	return is_clock(type, config) && config1 == PERF_ABI_CLOCK_SELECTED;
}

bool perf_abi_is_completed(uint32_t type, uint64_t config, uint64_t config1)
{
	return is_clock(type, config) && config1 == PERF_ABI_CLOCK_COMPLETED;
}

int perf_abi_wait(uint32_t type, uint64_t config, uint64_t config1)
{
	uint64_t kind = (config1 & ~(uint64_t)PERF_ABI_WAIT_BY_SWITCHES) - PERF_ABI_WAIT;

	if (type != PERF_TYPE_SOFTWARE || config != PERF_COUNT_SW_BPF_OUTPUT ||
	    kind >= PERF_ABI_NR_WAITS)
		return -1;
	return (int)kind;
}

const char *const perf_abi_lives[PERF_ABI_NR_LIVES] = {
    "[lived less than 1 us]", "[lived 1 us to 10 us]", "[lived 10 us to 100 us]",
    "[lived 100 us to 1 ms]", "[lived 1 ms to 10 ms]", "[lived 10 ms to 100 ms]",
    "[lived 100 ms to 1 s]",  "[lived 1 s or longer]",
};

int perf_abi_heap(uint32_t type, uint64_t config, uint64_t config1)
{
	bool is_heap = type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_DUMMY &&
		       config1 >= PERF_ABI_HEAP && config1 < PERF_ABI_HEAP + PERF_ABI_NR_HEAPS;

	return is_heap ? (int)(config1 - PERF_ABI_HEAP) : -1;
}
