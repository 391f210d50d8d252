/*
 * The 32 common events of ARMv8 by their architectural names, for the group arch on ARM. An event's
 * code is its index in the table, its row number is 32 more, so ids are stable. Source: Arm
 * Architecture Reference Manual, "Common event numbers"; drivers/perf/arm_pmuv3.c.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/perf_abi.h"
#include "event/catalogue.h"
#include "event/model.h"
#include "event/parts.h"
#include "event/sysfs.h"
#include "host/host.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum {
	FIRST_NUMBER = 32,
	NR_EVENTS = 32,
	MAX_PARTS = 8,
	CPU_CYCLES = 0x11,
	LAST_PUBLISHED = 0x30, /* by each kernel that hides what PMCEID does not list: 4.7 */
};

static const struct {
	const char *name, *unit, *description;
} events[NR_EVENTS] = {
    [0x00] = {"sw_incr", "increments", "Increments that software wrote to PMSWINC_EL0."},
    [0x01] = {"l1i_cache_refill", "refills", "Refills of the level 1 instruction cache."},
    [0x02] = {"l1i_tlb_refill", "refills", "Refills of the level 1 instruction TLB."},
    [0x03] = {"l1d_cache_refill", "refills", "Refills of the level 1 data cache."},
    [0x04] = {"l1d_cache", "accesses", "Accesses to the level 1 data cache."},
    [0x05] = {"l1d_tlb_refill", "refills", "Refills of the level 1 data TLB."},
    [0x06] = {"ld_retired", "instructions", "Load instructions retired."},
    [0x07] = {"st_retired", "instructions", "Store instructions retired."},
    [0x08] = {"inst_retired", "instructions", "Instructions retired."},
    [0x09] = {"exc_taken", "exceptions", "Exceptions taken."},
    [0x0a] = {"exc_return", "instructions", "Exception returns retired."},
    [0x0b] = {"cid_write_retired", "instructions", "Writes to CONTEXTIDR retired."},
    [0x0c] = {"pc_write_retired", "instructions", "Changes of the PC by software: taken branches."},
    [0x0d] = {"br_immed_retired", "branches", "Immediate branches retired, taken or not."},
    [0x0e] = {"br_return_retired", "branches", "Procedure returns retired."},
    [0x0f] = {"unaligned_ldst_retired", "instructions", "Unaligned loads and stores retired."},
    [0x10] = {"br_mis_pred", "branches", "Branches mispredicted or not predicted, speculative."},
    [0x11] = {"cpu_cycles", "cycles", "Core cycles."},
    [0x12] = {"br_pred", "branches", "Predictable branches, executed speculatively."},
    [0x13] = {"mem_access", "accesses", "Data memory accesses."},
    [0x14] = {"l1i_cache", "accesses", "Accesses to the level 1 instruction cache."},
    [0x15] = {"l1d_cache_wb", "lines", "Write-backs of the level 1 data cache."},
    [0x16] = {"l2d_cache", "accesses", "Accesses to the level 2 data or unified cache."},
    [0x17] = {"l2d_cache_refill", "refills", "Refills of the level 2 data or unified cache."},
    [0x18] = {"l2d_cache_wb", "lines", "Write-backs of the level 2 data or unified cache."},
    [0x19] = {"bus_access", "accesses", "Accesses to the bus between the core and the system."},
    [0x1a] = {"memory_error", "errors", "Local memory errors (parity, ECC)."},
    [0x1b] = {"inst_spec", "operations", "Operations executed speculatively."},
    [0x1c] = {"ttbr_write_retired", "instructions", "Writes to the TTBR retired."},
    [0x1d] = {"bus_cycles", "cycles", "Cycles of the bus between the core and the system."},
    [0x1e] = {"chain", "overflows", "Overflows of the counter before: joins two into one."},
    [0x1f] = {"l1d_cache_allocate", "lines",
	      "Lines allocated in the level 1 data cache, unfilled."},
};

static bool is_armv8(const struct host_pmu *pmu)
{
	return strncmp(pmu->name, "armv8_", 6) == 0 || strncmp(pmu->name, "armv9_", 6) == 0;
}

/* Which of two events a PMU publishes. */
struct published {
	const struct host *h;
	const struct host_pmu *pmu;
	uint64_t code;
	bool has_code, has_cycles;
};

static int look(const struct sysfs_event *ev, void *arg)
{
	struct published *p = arg;
	struct event_part part = {.config = 0};
	struct err e = {0};

	if (sysfs_encode(p->h, p->pmu, ev->terms, &part, &e) == 0) {
		p->has_code |= part.config == p->code;
		p->has_cycles |= part.config == CPU_CYCLES;
	}
	return 0;
}

bool event_armv8_lacks(const struct host *h, const struct host_pmu *pmu, uint64_t config)
{
	struct published p = {.h = h, .pmu = pmu, .code = config};

	if (!is_armv8(pmu) || config > LAST_PUBLISHED)
		return false;
	(void)sysfs_each_event(h, pmu, look, &p);
	return p.has_cycles && !p.has_code;
}

static uint32_t get_parts(const struct host *h, uint64_t config, struct event_part parts[MAX_PARTS])
{
	uint32_t nr = 0;

	for (size_t i = 0; i < h->nr_pmus && nr < MAX_PARTS; i++) {
		const struct host_pmu *pmu = &h->pmus[i];

		if (!pmu->is_core || !is_armv8(pmu) || event_armv8_lacks(h, pmu, config))
			continue;
		parts[nr++] = (struct event_part){
		    .pmu = pmu->name, .type = pmu->type, .config = config, .cpus = &pmu->cpus};
	}
	return nr;
}

static int make(const struct catalogue *c, uint64_t config, const struct event_row **out)
{
	static const struct event_part nowhere = {.pmu = "", .type = PERF_TYPE_RAW};
	struct event_part parts[MAX_PARTS] = {nowhere};
	bool is_foreign = event_model_is_foreign(c);
	uint32_t nr = is_foreign ? 0 : get_parts(c->host, config, parts);
	struct event_row *row;

	parts[0].config = config;
	row = parts_row(c, events[config].name, parts, nr ? nr : 1);
	if (!row)
		return -ENOMEM;
	row->number = (uint16_t)(FIRST_NUMBER + config);
	row->unit = events[config].unit;
	row->description = events[config].description;
	if (is_foreign)
		row->missing = "of another CPU model than this machine's";
	else if (!nr && parts_nr_core_pmus(c->host))
		row->missing = EVENT_ARMV8_LACKS;
	*out = row;
	return 0;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	(void)e;
	for (uint64_t i = 0; i < NR_EVENTS && event_model_is_arm(c); i++)
		if (strcasecmp(events[i].name, name) == 0)
			return make(c, i, out);
	return -ENOENT;
}

static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	const struct event_row *row;
	int rc = 0;

	for (uint64_t i = 0; i < NR_EVENTS && rc == 0 && event_model_is_arm(c); i++) {
		rc = make(c, i, &row) ?: fn(row, arg);
	}
	return rc;
}

const struct event_maker event_armv8_maker = {.find = find, .each = each};
