/*
 * The rows gpu:pm/METRIC. Names are those of NVIDIA's tools: UNIT__COUNTER.ROLLUP.SUBMETRIC.
 */
#include "gpu/pm.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "base/sys.h"
#include "collect/rows.h"
#include "cupti/message.h"
#include "event/catalogue.h"
#include "host/host.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#define PREFIX "pm/"

/* Numbers are never reused. Which of them a GPU has depends on its generation. */
static const struct known {
	uint16_t number;
	const char *metric, *description;
} knowns[] = {
    {100, "gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
     "Share of time in which the GPU's engine for graphics and computing had work."},
    {101, "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
     "Share of cycles in which a multiprocessor (SM) had at least one warp, over all of them."},
    {102, "sm__throughput.avg.pct_of_peak_sustained_elapsed",
     "How near the busiest part of the multiprocessors came to its highest throughput."},
    {103, "sm__warps_active.avg.pct_of_peak_sustained_elapsed",
     "Warps on the multiprocessors, of the most that fit (occupancy)."},
    {104, "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
     "Instructions that the multiprocessors executed, of the most that they can."},
    {105, "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
     "Instructions of the tensor cores, of the most that they can execute."},
    {106, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
     "Share of cycles in which the pipe of single-precision arithmetic was busy."},
    {107, "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
     "Share of cycles in which the pipe of double-precision arithmetic was busy."},
    {110, "dram__throughput.avg.pct_of_peak_sustained_elapsed",
     "Bandwidth of the GPU's memory that was used, of what it has."},
    {111, "dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
     "Bandwidth of the GPU's memory that reads used, of what it has."},
    {112, "dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
     "Bandwidth of the GPU's memory that writes used, of what it has."},
    {113, "dram__bytes_read.sum.per_second", "Bytes read from the GPU's memory, per second."},
    {114, "dram__bytes_write.sum.per_second", "Bytes written to the GPU's memory, per second."},
    {115, "lts__t_sector_hit_rate.pct", "Share of the sectors asked of the L2 cache that it had."},
    {120, "pcie__read_bytes.sum.per_second", "Bytes that came over PCIe to the GPU, per second."},
    {121, "pcie__write_bytes.sum.per_second", "Bytes that the GPU sent over PCIe, per second."},
    {122, "nvlrx__bytes.sum.per_second", "Bytes that came over NVLink to the GPU, per second."},
    {123, "nvltx__bytes.sum.per_second", "Bytes that the GPU sent over NVLink, per second."},
};

/* What follows from the name: the unit, and how finely values are stored. */
static const struct unit {
	const char *metric; /* a glob */
	const char *unit;
	double scale;
	enum event_total total; /* of several GPUs */
} units[] = {
    {"*pct*", "%", 1e-6, EVENT_TOTAL_MEAN},
    {"*__*bytes*.per_second*", "B/s", 1e-3, EVENT_TOTAL_SUM},
    {"*.per_second*", "1/s", 1e-3, EVENT_TOTAL_SUM},
    {"*.per_cycle*", "per cycle", 1e-6, EVENT_TOTAL_MEAN},
    {"*.ratio*", "", 1e-6, EVENT_TOTAL_MEAN},
    {"*__*bytes*", "B", 1e-3, EVENT_TOTAL_SUM},
    {"*__cycles*", "cycles", 1e-3, EVENT_TOTAL_SUM},
    {"*", "", 1e-3, EVENT_TOTAL_SUM},
};

static int make_row(const struct catalogue *c, const char *metric, const struct known *known,
		    const struct event_row **out)
{
	const struct unit *unit =
	    ARRAY_FIND(x, units, ARRAY_NR(units), fnmatch(x->metric, metric, 0) == 0);
	struct event_row *row = arena_calloc(c->arena, 1, sizeof(*row));

	if (!row)
		return -ENOMEM;
	*row = (struct event_row){
	    .number = known ? known->number : 0,
	    .kind = EVENT_VALUE,
	    .scope = EVENT_SCOPE_THINGS,
	    .unit = unit->unit,
	    .scale = unit->scale,
	    .total = unit->total,
	    .collector = COLLECT_MANY + PM,
	    .choice = "devices",
	    .name = arena_printf(c->arena, PREFIX "%s", metric),
	    .source = arena_strdup(c->arena, metric),
	    .description = known
			       ? known->description
			       : arena_printf(c->arena, "The metric %s of NVIDIA's CUPTI.", metric),
	    .detail = "Sampled by the GPU itself each 10 ms, or as often as the key every says; by "
		      "CUPTI,\nwhich is loaded from the CUDA toolkit (12.6 or later).",
	};
	if (!row->name || !row->source || !row->description)
		return -ENOMEM;
	*out = row;
	return 0;
}

/* UNIT__COUNTER and what follows it. */
static bool is_metric(const char *name)
{
	size_t len = strlen(name);

	return strstr(name, "__") && len < CUPTI_NAME_BYTES &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
		   len;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	const char *metric = name + sizeof(PREFIX) - 1;
	const struct known *known;

	if (strncasecmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return -ENOENT;
	known = ARRAY_FIND(x, knowns, ARRAY_NR(knowns), strcasecmp(x->metric, metric) == 0);
	if (known)
		return make_row(c, known->metric, known, out);
	if (is_metric(metric))
		return make_row(c, metric, NULL, out);
	err_set(e, -ENOENT, "%s: \"%s\" is no name of a metric", name, metric);
	err_hint(e, "as in pm/%s", knowns[1].metric);
	return -ENOENT;
}

static bool has_driver(const struct root *root)
{
	int fd = root_open(root, "/proc/driver/nvidia/version");

	if (fd < 0)
		return false;
	sys()->close(fd);
	return true;
}

static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	const struct event_row *row;
	int rc = 0;

	if (!has_driver(&c->host->root))
		return 0;
	for (size_t i = 0; i < ARRAY_NR(knowns) && rc == 0; i++)
		rc = make_row(c, knowns[i].metric, &knowns[i], &row) ?: fn(row, arg);
	return rc;
}

const struct event_maker collect_pm_maker = {.find = find, .each = each};
