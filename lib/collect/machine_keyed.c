/*
 * Files of named numbers: the names that are used of each, and the fields computed from them.
 */
#include "collect/machine_keyed.h"

#include "things/keyed.h"

enum { TOTAL, FREE, BUFFERS, CACHED, AVAILABLE, DIRTY, SWAP_TOTAL, SWAP_FREE, SHMEM };

#define BIT(i) (1u << (i))

/* A field is one value minus others, by their names in the file. */
static const struct {
	uint32_t of, less;
} meminfo_fields[] = {
    [MACHINE_MEMINFO_USED] = {TOTAL, BIT(FREE) | BIT(BUFFERS) | BIT(CACHED)},
    [MACHINE_MEMINFO_AVAILABLE] = {AVAILABLE, 0},
    [MACHINE_MEMINFO_TOTAL] = {TOTAL, 0},
    [MACHINE_MEMINFO_FREE] = {FREE, 0},
    [MACHINE_MEMINFO_BUFFERS] = {BUFFERS, 0},
    [MACHINE_MEMINFO_CACHED] = {CACHED, 0},
    [MACHINE_MEMINFO_DIRTY] = {DIRTY, 0},
    [MACHINE_MEMINFO_SWAP_USED] = {SWAP_TOTAL, BIT(SWAP_FREE)},
    [MACHINE_MEMINFO_UNAVAILABLE] = {TOTAL, BIT(AVAILABLE)},
    [MACHINE_MEMINFO_SHARED] = {SHMEM, 0},
    [MACHINE_MEMINFO_SWAP_TOTAL] = {SWAP_TOTAL, 0},
};

static int meminfo_parse(const char *text, size_t len, void *state, uint32_t nr_cpus)
{
	static const char *const names[] = {"MemTotal",     "MemFree", "Buffers",   "Cached",
					    "MemAvailable", "Dirty",   "SwapTotal", "SwapFree",
					    "Shmem",        NULL};

	(void)nr_cpus;
	return keyed_parse(text, len, names, state);
}

/* "kB" in the file means KiB. */
static bool meminfo_get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct keyed *k = state;
	uint32_t of = meminfo_fields[field].of, less = meminfo_fields[field].less;
	uint64_t kib = k->value[of];

	(void)cpu;
	if (!keyed_has(k, BIT(of) | less))
		return false;
	for (unsigned i = 0; i < KEYED_MAX; i++)
		if (less & BIT(i) && __builtin_sub_overflow(kib, k->value[i], &kib))
			return false;
	*out = (struct collect_value){.raw = kib * 1024};
	return kib <= UINT64_MAX / 1024;
}

const struct collect_source machine_meminfo_source = {
    .path = "/proc/meminfo",
    .state_bytes = sizeof(struct keyed),
    .parse = meminfo_parse,
    .get = meminfo_get,
};

static int vmstat_parse(const char *text, size_t len, void *state, uint32_t nr_cpus)
{
	static const char *const names[] = {
	    [MACHINE_VMSTAT_PGFAULT] = "pgfault", [MACHINE_VMSTAT_PGMAJFAULT] = "pgmajfault",
	    [MACHINE_VMSTAT_PGPGIN] = "pgpgin",   [MACHINE_VMSTAT_PGPGOUT] = "pgpgout",
	    [MACHINE_VMSTAT_PSWPIN] = "pswpin",   [MACHINE_VMSTAT_PSWPOUT] = "pswpout",
	    [MACHINE_VMSTAT_PSWPOUT + 1] = NULL};

	(void)nr_cpus;
	return keyed_parse(text, len, names, state);
}

static bool vmstat_get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct keyed *k = state;

	(void)cpu;
	*out = (struct collect_value){.raw = k->value[field]};
	return keyed_has(k, BIT(field));
}

const struct collect_source machine_vmstat_source = {
    .path = "/proc/vmstat",
    .state_bytes = sizeof(struct keyed),
    .parse = vmstat_parse,
    .get = vmstat_get,
};
