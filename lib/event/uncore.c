/*
 * The hardware rows of misc: Fuchsia's, mapped to what this machine's PMUs publish, and every event
 * that a PMU outside the cores publishes (energy, msr, idle states, uncore).
 */
#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "event/boxes.h"
#include "event/catalogue.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

/* One way to count a row of Fuchsia's: all of events on all of pmus. scale applies if sysfs
 * publishes none. */
struct way {
	const char *pmus, *events;
	double scale;
};

/* Ways in order of preference: those that count all traffic first. Nothing is inferred. Intel's
 * names are published by the kernel, which on servers also scales them by 64 bytes
 * (arch/x86/events/intel/uncore_snb.c, uncore_snbep.c). AMD's terms are umc_cas_cmd.rd and .wr of
 * tools/perf/pmu-events/arch/x86/amdzen4/memory-controller.json, where a CAS transfers 64 bytes.
 * PMUs that count memory traffic in unknown units are listed in others. */
static const struct way read_ways[] = {
    {"uncore_imc", "cas_count_read", 64}, /* Intel servers */
    {"uncore_imc", "cas_count_read_sch0 cas_count_read_sch1", 64},
    {"uncore_imc", "data_reads", 64}, /* Intel clients up to Rocket Lake */
    {"uncore_imc_free_running", "data_read", 64},
    {"uncore_imc_free_running", "read", 64},
    {"amd_umc", "event=0x0a,rdwrmask=0x1", 64}, /* umc_cas_cmd.rd: Zen 4, Linux 6.9 */
};
static const struct way write_ways[] = {
    {"uncore_imc", "cas_count_write", 64},
    {"uncore_imc", "cas_count_write_sch0 cas_count_write_sch1", 64},
    {"uncore_imc", "data_writes", 64},
    {"uncore_imc_free_running", "data_write", 64},
    {"uncore_imc_free_running", "write", 64},
    {"amd_umc", "event=0x0a,rdwrmask=0x2", 64},
};
static const struct way gt_ways[] = {{"uncore_imc", "gt_requests", 1}};
static const struct way ia_ways[] = {{"uncore_imc", "ia_requests", 1}};
static const struct way io_ways[] = {{"uncore_imc", "io_requests", 1}};

/* Memory PMUs that cannot serve as a way: the kernel's source and documents state neither the bytes
 * per event nor which terms cover all reads (amd_df on Zen 4, in amdzen4's data-fabric.json,
 * separates local and remote traffic). A figure in bytes would be a guess. */
static const struct other {
	const char *pmus, *text;
} others[] = {
    {"amd_df", "publishes no event of all reads and writes; needs amd_umc (AMD from Zen 4, Linux "
	       "6.9). Channels by their terms are misc:amd_df/event=...,umask=.../"},
    {"arm_dmc620_*", "publishes no event of reads or of writes alone: both together are "
		     "misc:arm_dmc620/clkdiv2_rdwr/"},
    {"hisi_sccl*_ddrc*", "publishes flux_rd and flux_wr, without their size in bytes: measure "
			 "misc:PMU/flux_rd/ of each PMU"},
    {"ali_drw_*", "publishes hif_rd, hif_wr and hif_rmw, without their size in bytes: measure "
		  "misc:ali_drw/hif_rd/"},
    {"nvidia_scf_pmu_*", "publishes cmem_rd_data, without its size in bytes, and "
			 "cmem_wr_total_bytes: measure misc:nvidia_scf_pmu/cmem_rd_data/"},
    {"arm_cmn_*", "counts the mesh, not the memory: its events are misc:arm_cmn_0/EVENT/"},
};

/* The row to list if no way works, and the ways. */
struct original {
	struct event_row row;
	const struct way *ways;
	size_t nr_ways;
	bool is_of_memory; /* if others matches a PMU here, its text becomes the reason */
};

#define MEMORY_SOURCE    "the memory controllers' PMUs"
#define REQUESTS_SOURCE  "uncore_imc"
#define REGISTERS_SOURCE "MCHBAR"
#define MEMORY_NEEDS                                                                               \
	"needs a PMU of the memory controllers that says what it counts: uncore_imc (Intel, "      \
	"driver intel_uncore) or amd_umc (AMD from Zen 4, Linux 6.9). Other PMUs' events are "     \
	"misc:pmu/event/"
#define REQUESTS_NEEDS                                                                             \
	"needs the PMU uncore_imc of an Intel client CPU, Sandy Bridge to Rocket Lake, and a "     \
	"kernel that publishes this event of it"
#define REGISTERS_NEEDS                                                                            \
	"needs registers of an Intel client CPU's system agent (MCHBAR) that no Linux driver "     \
	"publishes"

#define ROW(number_, name_, kind_, unit_, from_, text)                                             \
	.row = {.name = name_,                                                                     \
		.number = number_,                                                                 \
		.kind = kind_,                                                                     \
		.scope = EVENT_SCOPE_PACKAGE,                                                      \
		.unit = unit_,                                                                     \
		.source = from_##_SOURCE,                                                          \
		.description = text,                                                               \
		.missing = from_##_NEEDS}
#define WAYS(ways_) .ways = ways_, .nr_ways = ARRAY_NR(ways_)

/* clang-format off */
/* Numbers 20 and 21, package_temperature and ia_temperature, are sensors in collect/. */
static const struct original originals[] = {
	{ROW(1, "memory_bytes_read", EVENT_COUNT, "B", MEMORY,
	     "Bytes read from memory, by all of the package."),
	 WAYS(read_ways), .is_of_memory = true},
	{ROW(2, "memory_bytes_written", EVENT_COUNT, "B", MEMORY,
	     "Bytes written to memory, by all of the package."),
	 WAYS(write_ways), .is_of_memory = true},
	{ROW(3, "memory_gt_requests", EVENT_COUNT, "requests", REQUESTS,
	     "Requests of the graphics engine to memory, reads and writes."), WAYS(gt_ways)},
	{ROW(4, "memory_ia_requests", EVENT_COUNT, "requests", REQUESTS,
	     "Requests of the CPU's cores to memory, reads and writes."), WAYS(ia_ways)},
	{ROW(5, "memory_io_requests", EVENT_COUNT, "requests", REQUESTS,
	     "Requests of devices to memory, reads and writes."), WAYS(io_ways)},
	{ROW(6, "all_active_core_cycles", EVENT_COUNT, "cycles", REGISTERS,
	     "Core cycles of all active cores, added up.")},
	{ROW(7, "any_active_core_cycles", EVENT_COUNT, "cycles", REGISTERS,
	     "Cycles in which any core was active.")},
	{ROW(8, "active_gt_cycles", EVENT_COUNT, "cycles", REGISTERS,
	     "Cycles in which the graphics engine was active.")},
	{ROW(9, "active_ia_gt_cycles", EVENT_COUNT, "cycles", REGISTERS,
	     "Cycles in which a core and the graphics engine were active together.")},
	{ROW(10, "active_gt_slice_cycles", EVENT_COUNT, "cycles", REGISTERS,
	     "Cycles in which slices of the graphics engine were active.")},
	{ROW(11, "active_gt_engine_cycles", EVENT_COUNT, "cycles", REGISTERS,
	     "Cycles in which engines of the graphics unit were active.")},
	{ROW(12, "peci_thermal_margin", EVENT_VALUE, "°C", REGISTERS,
	     "Degrees that the package is below its throttling temperature.")},
	{ROW(13, "rapl_performance_status", EVENT_VALUE, "status", REGISTERS,
	     "Whether and why the power limit holds performance back.")},
	{ROW(14, "ia_frequency_clamping", EVENT_VALUE, "status", REGISTERS,
	     "Why the cores run below the requested frequency.")},
	{ROW(15, "gt_frequency_clamping", EVENT_VALUE, "status", REGISTERS,
	     "Why the graphics engine runs below the requested frequency.")},
	{ROW(16, "fp_gt_slice_freq", EVENT_VALUE, "Hz", REGISTERS,
	     "Frequency of the graphics slices.")},
	{ROW(17, "rp_gt_unslice_freq", EVENT_VALUE, "Hz", REGISTERS,
	     "Frequency of the graphics engine's parts beside the slices.")},
	{ROW(18, "rp_gt_voltage", EVENT_VALUE, "V", REGISTERS,
	     "Voltage of the graphics engine.")},
	{ROW(19, "edram_temperature", EVENT_VALUE, "°C", REGISTERS,
	     "Temperature of the package's own DRAM.")},
	{ROW(22, "gt_temperature", EVENT_VALUE, "°C", REGISTERS,
	     "Temperature of the graphics engine.")},
};
/* clang-format on */

/* PMUs whose events get short names: misc:energy_pkg, misc:cstate_core_c6_residency. */
static const struct named_pmu {
	const char *pmu, *prefix;
} named_pmus[] = {
    {"cstate_core", "cstate_core_"},
    {"cstate_module", "cstate_module_"},
    {"cstate_pkg", "cstate_pkg_"},
    {"msr", "msr_"},
    {"power", ""},
    {"power_core", ""},
};

/* Descriptions of common events (globs); unit applies if sysfs publishes none. */
static const struct known {
	const char *pmu, *event, *unit, *text;
} knowns[] = {
    {"power", "energy-cores", "J", "Energy that the cores of the package used"},
    {"power", "energy-gpu", "J", "Energy that the graphics engine used"},
    {"power", "energy-pkg", "J", "Energy that the package used"},
    {"power", "energy-psys", "J", "Energy that the whole platform used"},
    {"power", "energy-ram", "J", "Energy that the memory of the package used"},
    {"power_core", "energy-core", "J", "Energy that the core used"},
    {"cstate_core", "c?-residency", "ticks",
     "Time that the core was in this idle state, in ticks of the time stamp counter"},
    {"cstate_pkg", "c*-residency", "ticks",
     "Time that the package was in this idle state, in ticks of the time stamp counter"},
    {"msr", "aperf", "cycles", "Cycles at the actual frequency, while not halted"},
    {"msr", "cpu_thermal_margin", "°C", "Degrees below the throttling temperature"},
    {"msr", "irperf", "instructions", "Instructions retired"},
    {"msr", "mperf", "cycles", "Cycles at the base frequency, while not halted"},
    {"msr", "pperf", "cycles", "Cycles at the actual frequency that were productive"},
    {"msr", "ptsc", "ticks", "Ticks of the performance time stamp counter"},
    {"msr", "smi", "interrupts", "System management interrupts"},
    {"msr", "tsc", "ticks", "Ticks of the time stamp counter"},
    {"uncore_imc*", "cas_count_read*", "bursts", "Reads from memory"},
    {"uncore_imc*", "cas_count_write*", "bursts", "Writes to memory"},
    {"*", "clockticks", "ticks", "Ticks of the unit's clock"},
};

static const struct known *find_known(const char *pmu, const char *event)
{
	return ARRAY_FIND(x, knowns, ARRAY_NR(knowns),
			  fnmatch(x->pmu, pmu, 0) == 0 && fnmatch(x->event, event, 0) == 0);
}

static char *describe(struct arena *a, const char *pmus, const struct boxes *b)
{
	const struct known *k = find_known(b->first->name, b->event.name);
	const char *sum = b->nr_parts > 1 ? ", summed over its boxes" : "";

	if (k)
		return arena_printf(a, "%s%s.", k->text, sum);
	if (strchr(b->event.name, '=')) /* no published name contains one */
		return arena_printf(a, "An event of the PMU %s by its terms: %s%s.", pmus,
				    b->event.name, sum);
	return arena_printf(a, "The event %s of the PMU %s, as the kernel publishes it%s.",
			    b->event.name, pmus, sum);
}

/* Makes the row. The caller checks for strings that are NULL: out of memory. */
static void fill_row(struct event_row *row, const struct boxes *b)
{
	row->kind = b->event.is_snapshot ? EVENT_VALUE : EVENT_COUNT;
	row->scope = b->first->has_cpumask ? EVENT_SCOPE_PACKAGE : EVENT_SCOPE_CPU;
	row->scale = b->event.scale;
	row->parts = b->parts;
	row->nr_parts = b->nr_parts;
}

static bool is_whole(const struct event_row *row)
{
	return row->name && row->unit && row->source && row->description;
}

/* pmus: the name of one PMU, or the base name of boxes. name: NULL means "pmus/event/". */
static int make_published(const struct catalogue *c, const char *pmus, const struct boxes *b,
			  const char *name, const struct event_row **out)
{
	const struct known *k = find_known(b->first->name, b->event.name);
	struct event_row *row = arena_calloc(c->arena, 1, sizeof(*row));

	if (!row)
		return -ENOMEM;
	fill_row(row, b);
	row->source = arena_printf(c->arena, "%s/%s/", pmus, b->event.name);
	row->name = name ? name : row->source;
	if (b->event.unit[0])
		row->unit =
		    strcmp(b->event.unit, "C") == 0 ? "°C" : arena_strdup(c->arena, b->event.unit);
	else
		row->unit = k ? k->unit : "events";
	row->description = describe(c->arena, pmus, b);
	if (!is_whole(row))
		return -ENOMEM;
	*out = row;
	return 0;
}

/* Published events that cannot be opened are listed with the reason. */
static int make_unusable(const struct catalogue *c, const struct host_pmu *pmu,
			 const struct sysfs_event *ev, const char *name, const struct err *why,
			 const struct event_row **out)
{
	struct boxes b = {.first = pmu, .event = *ev};
	struct event_row *row;
	int rc = make_published(c, pmu->name, &b, name, out);

	if (rc)
		return rc;
	row = (struct event_row *)*out;
	row->missing = arena_strdup(c->arena, why->msg);
	return row->missing ? 0 : -ENOMEM;
}

/* Makes the row of one event of one PMU: "pmu/event/" or its short name. */
static int make_single(const struct catalogue *c, const struct host_pmu *pmu,
		       const struct sysfs_event *ev, const struct event_row **out)
{
	const struct named_pmu *named = named_pmus;
	char *name = NULL;
	struct err why = {0};
	struct boxes b;
	int rc;

	while (named < named_pmus + ARRAY_NR(named_pmus) && strcmp(named->pmu, pmu->name) != 0)
		named++;
	if (named < named_pmus + ARRAY_NR(named_pmus)) {
		/* "msr_" and "cpu-thermal-margin" become "msr_cpu_thermal_margin" */
		name = arena_printf(c->arena, "%s%s", named->prefix, ev->name);
		if (!name)
			return -ENOMEM;
		for (char *p = name; *p; p++)
			*p = *p == '-' ? '_' : *p;
	}
	rc = boxes_of_event(c->host, c->arena, pmu, ev, &b, &why);
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return make_unusable(c, pmu, ev, name, &why, out);
	return make_published(c, pmu->name, &b, name, out);
}

static int make_way(const struct catalogue *c, const struct original *o, const struct way *w,
		    const struct boxes *b, const struct event_row **out)
{
	struct event_row *row = arena_calloc(c->arena, 1, sizeof(*row));
	bool published = strcmp(b->event.unit, o->row.unit) == 0;
	int len = (int)strcspn(w->events, " "); /* the first of them names the way */

	if (!row)
		return -ENOMEM;
	*row = o->row;
	fill_row(row, b);
	row->scale = published ? b->event.scale : w->scale;
	row->missing = NULL;
	row->source = arena_printf(c->arena, "%s/%.*s/%s", w->pmus, len, w->events,
				   w->events[len] ? " …" : "");
	if (!is_whole(row))
		return -ENOMEM;
	*out = row;
	return 0;
}

/* No way works: the row's reason names what the machine has instead. */
static int make_absent(const struct catalogue *c, const struct original *o,
		       const struct event_row **out)
{
	const struct host *h = c->host;
	const struct host_pmu *pmu = NULL;
	const struct other *other = others;
	struct event_row *row;

	for (; o->is_of_memory && other < others + ARRAY_NR(others); other++) {
		for (size_t i = 0; i < h->nr_pmus && !pmu; i++)
			if (fnmatch(other->pmus, h->pmus[i].name, 0) == 0 &&
			    boxes_may_count(&h->pmus[i]))
				pmu = &h->pmus[i];
		if (pmu)
			break;
	}
	if (!pmu) {
		*out = &o->row;
		return 0;
	}
	row = arena_alloc(c->arena, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = o->row;
	row->missing = arena_printf(c->arena, "the PMU %s %s", pmu->name, other->text);
	if (!row->missing)
		return -ENOMEM;
	*out = row;
	return 0;
}

static int make_original(const struct catalogue *c, const struct original *o,
			 const struct event_row **out)
{
	struct boxes b;

	for (size_t i = 0; i < o->nr_ways; i++) {
		const struct way *w = &o->ways[i];
		int rc = boxes_find(c->host, c->arena, w->pmus, w->events, &b, NULL);

		if (rc == 0)
			return make_way(c, o, w, &b, out);
		if (rc == -ENOMEM)
			return rc;
	}
	return make_absent(c, o, out);
}

/* Finds an event by its short name: "energy_pkg". */
struct named_search {
	const struct catalogue *c;
	const struct host_pmu *pmu;
	const char *rest; /* after the prefix */
	const struct event_row **out;
};

enum { FOUND = 1 };

static bool is_same_name(const char *event, const char *name)
{
	for (; *event && *name; event++, name++) {
		char ours = *event == '-' ? '_' : *event;

		if (strncasecmp(&ours, name, 1) != 0)
			return false;
	}
	return *event == *name;
}

static int try_named(const struct sysfs_event *ev, void *arg)
{
	const struct named_search *s = arg;

	if (!is_same_name(ev->name, s->rest))
		return 0;
	return make_single(s->c, s->pmu, ev, s->out) ?: FOUND;
}

static int find_named_row(const struct catalogue *c, const char *name, const struct event_row **out)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(named_pmus) && rc == 0; i++) {
		size_t len = strlen(named_pmus[i].prefix);
		struct named_search s = {c, host_find_pmu(c->host, named_pmus[i].pmu), name + len,
					 out};

		if (s.pmu && strncasecmp(name, named_pmus[i].prefix, len) == 0)
			rc = sysfs_each_event(c->host, s.pmu, try_named, &s);
	}
	return rc == FOUND ? 0 : rc == 0 ? -ENOENT : rc;
}

/* Finds events of all boxes, or terms: "uncore_imc/cas_count_read/",
 * "amd_df/event=0x7,umask=0x38/". */
static int find_sum(const struct catalogue *c, const char *pmus, const char *event,
		    const struct event_row **out, struct err *e)
{
	struct boxes b;
	char *spelled;
	bool is_one;
	int rc = -ENOENT;

	if (!strpbrk(pmus, "*?[\\")) /* a glob would add up different events */
		rc = boxes_find(c->host, c->arena, pmus, event, &b, e);
	if (rc)
		return rc == -ENOMEM ? rc : -ENOENT;
	/* as the kernel spells it: the name of one PMU, or the base name of boxes */
	is_one = strcasecmp(pmus, b.first->name) == 0;
	spelled = arena_strndup(c->arena, b.first->name,
				is_one ? strlen(b.first->name) : boxes_base_len(b.first->name));
	return spelled ? make_published(c, spelled, &b, NULL, out) : -ENOMEM;
}

static int find_row_slashed(const struct catalogue *c, const char *name,
			    const struct event_row **out, struct err *e)
{
	const char *slash = strchr(name, '/'), *end = strchr(slash + 1, '/');
	const struct host_pmu *pmu;
	struct sysfs_event ev;
	char *pmus, *event;

	if (!end || end[1] || end == slash + 1 || strchr(name, ' '))
		return -ENOENT;
	pmus = arena_strndup(c->arena, name, (size_t)(slash - name));
	event = arena_strndup(c->arena, slash + 1, (size_t)(end - slash - 1));
	if (!pmus || !event)
		return -ENOMEM;
	pmu = boxes_find_pmu(c->host, pmus);
	if (pmu && pmu->is_core)
		return err_set(e, -ENOENT, "the PMU %s counts in the group model", pmu->name);
	if (pmu && boxes_may_count(pmu) && sysfs_find_event(c->host, pmu, event, &ev) == 0)
		return make_single(c, pmu, &ev, out);
	return find_sum(c, pmus, event, out, e);
}

static int find_row(const struct catalogue *c, const char *name, const struct event_row **out,
		    struct err *e)
{
	for (size_t i = 0; i < ARRAY_NR(originals); i++)
		if (strcasecmp(originals[i].row.name, name) == 0)
			return make_original(c, &originals[i], out);
	if (strchr(name, '/'))
		return find_row_slashed(c, name, out, e);
	return find_named_row(c, name, out);
}

/* State of a listing, and the PMU in hand. */
struct listing {
	const struct catalogue *c;
	const struct host_pmu *pmu;
	int (*fn)(const struct event_row *row, void *arg);
	void *arg;
};

static int list_single(const struct sysfs_event *ev, void *arg)
{
	const struct listing *l = arg;
	const struct event_row *row;
	int rc = make_single(l->c, l->pmu, ev, &row);

	return rc ? rc : l->fn(row, l->arg);
}

/* The first box lists the sum over all boxes. Boxes that cannot be summed have only their own rows.
 */
static int list_sum(const struct sysfs_event *ev, void *arg)
{
	const struct listing *l = arg;
	const struct event_row *row;
	struct err e = {0};
	char base[sizeof(l->pmu->name)];
	int rc;

	memcpy(base, l->pmu->name, sizeof(base));
	base[boxes_base_len(base)] = '\0';
	rc = find_sum(l->c, base, ev->name, &row, &e);
	if (rc == -ENOENT || (rc == 0 && row->nr_parts < 2))
		return 0;
	return rc ? rc : l->fn(row, l->arg);
}

static bool is_first_box(const struct host *h, const struct host_pmu *pmu)
{
	size_t len = boxes_base_len(pmu->name);

	if (!pmu->name[len])
		return false;
	for (const struct host_pmu *p = h->pmus; p < pmu; p++)
		if (boxes_may_count(p) && boxes_base_len(p->name) == len &&
		    memcmp(p->name, pmu->name, len) == 0)
			return false;
	return true;
}

static int each_row(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		    void *arg)
{
	struct listing l = {.c = c, .fn = fn, .arg = arg};
	const struct event_row *row;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(originals) && rc == 0; i++) {
		rc = make_original(c, &originals[i], &row);
		rc = rc ? rc : fn(row, arg);
	}
	for (size_t i = 0; i < c->host->nr_pmus && rc == 0; i++) {
		l.pmu = &c->host->pmus[i];
		if (!boxes_may_count(l.pmu))
			continue;
		rc = sysfs_each_event(c->host, l.pmu, list_single, &l);
		if (rc == 0 && is_first_box(c->host, l.pmu))
			rc = sysfs_each_event(c->host, l.pmu, list_sum, &l);
	}
	return rc;
}

const struct event_maker event_uncore_maker = {
    .find = find_row,
    .each = each_row,
};
