/*
 * Rows made of parts.
 */
#include "event/parts.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/perf_abi.h"
#include "event/model.h"
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Since Linux 5.13 the upper half of a generic event's config is the type of the core PMU
 * (PERF_PMU_TYPE_SHIFT, which older headers do not have). */
enum { HW_PMU_TYPE_SHIFT = 32 };

size_t parts_nr_core_pmus(const struct host *h)
{
	size_t nr = 0;

	for (size_t i = 0; i < h->nr_pmus; i++)
		nr += h->pmus[i].is_core;
	return nr;
}

const char *parts_foreign_reason(const struct catalogue *c)
{
	char cpu[128];

	event_model_describe_host(c->host, cpu, sizeof(cpu));
	return arena_printf(c->arena, "of another CPU model (this is %s)", cpu);
}

static const char *spell(const struct catalogue *c, const struct event_part *parts, uint32_t nr)
{
	BUF_AUTO(text, 4096);

	for (uint32_t i = 0; i < nr; i++) {
		const struct event_part *p = &parts[i];

		buf_printf(&text, "%s%s/config=0x%" PRIx64, i ? " " : "", *p->pmu ? p->pmu : "cpu",
			   p->config);
		if (p->config1)
			buf_printf(&text, ",config1=0x%" PRIx64, p->config1);
		if (p->config2)
			buf_printf(&text, ",config2=0x%" PRIx64, p->config2);
		buf_addc(&text, '/');
	}
	return buf_error(&text) ? NULL : arena_strdup(c->arena, buf_str(&text));
}

struct event_row *parts_row(const struct catalogue *c, const char *name,
			    const struct event_part *parts, uint32_t nr_parts)
{
	struct event_row *row = arena_alloc(c->arena, sizeof(*row));
	struct event_part *copy = arena_calloc(c->arena, nr_parts, sizeof(*copy));

	if (!row || !copy)
		return NULL;
	memcpy(copy, parts, nr_parts * sizeof(*copy));
	*row = (struct event_row){.name = arena_strdup(c->arena, name),
				  .kind = EVENT_COUNT,
				  .scope = EVENT_SCOPE_CPU,
				  .alone = EVENT_ALONE_OS | EVENT_ALONE_USER,
				  .unit = "events",
				  .source = spell(c, parts, nr_parts),
				  .perf_type = parts->type,
				  .perf_config = parts->config,
				  .parts = copy,
				  .nr_parts = nr_parts};
	return row->name && row->source ? row : NULL;
}

int parts_spread(const struct catalogue *c, const struct event_row *row,
		 const struct event_row **out)
{
	bool is_generic =
	    row->perf_type == PERF_TYPE_HARDWARE || row->perf_type == PERF_TYPE_HW_CACHE;
	size_t nr = c->host ? parts_nr_core_pmus(c->host) : 0;
	struct event_part *parts;
	struct event_row *copy;
	const char *spelled = "";

	if (!is_generic || row->nr_parts || nr < 2) {
		*out = row;
		return 0;
	}
	copy = arena_alloc(c->arena, sizeof(*copy));
	parts = arena_calloc(c->arena, nr, sizeof(*parts));
	if (!copy || !parts)
		return -ENOMEM;
	*copy = *row;
	copy->parts = parts;
	for (size_t i = 0; i < c->host->nr_pmus && spelled; i++) {
		const struct host_pmu *pmu = &c->host->pmus[i];
		/* On x86 config must name the PMU, else the kernel uses the P-cores' for all. On
		 * ARM the kernel finds the PMU by the CPU that the event is opened on. */
		uint64_t type = strncmp(pmu->name, "cpu_", 4) == 0 ? pmu->type : 0;

		if (!pmu->is_core)
			continue;
		/* "cpu_atom:PERF_COUNT_HW_INSTRUCTIONS cpu_core:PERF_COUNT_HW_INSTRUCTIONS": names
		 * each PMU whose counts are summed */
		spelled = arena_printf(c->arena, "%s%s%s:%s", spelled, copy->nr_parts ? " " : "",
				       pmu->name, row->source);
		parts[copy->nr_parts++] =
		    (struct event_part){.pmu = pmu->name,
					.type = row->perf_type,
					.config = row->perf_config | type << HW_PMU_TYPE_SHIFT,
					.cpus = &pmu->cpus};
	}
	copy->source = spelled;
	if (!copy->source)
		return -ENOMEM;
	*out = copy;
	return 0;
}
