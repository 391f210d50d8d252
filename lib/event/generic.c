/*
 * What the kernel counts for a generic event, described from the tables of generic_cpus.c.
 */
#include "event/generic.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "base/str.h"
#include "event/generic_cpus.h"
#include "event/model.h"
#include "event/parts.h"
#include "event/sysfs.h"
#include "host/host.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME_BYTES = 64 };

static const struct generic_counter *counter_of(const struct generic_map *map, int slot)
{
	while (map && !map->on[slot].name)
		map = map->base;
	return map && map->on[slot].name[0] ? &map->on[slot] : NULL;
}

/* -1: none. On a hybrid CPU the upper half of config is the PMU. */
static int slot_of(const struct event *ev)
{
	struct event_part part;

	event_part(ev, 0, &part);
	for (int i = 0; i < GENERIC_NR_SLOTS && event_is_perf(ev); i++)
		if (generic_slots[i].type == part.type &&
		    generic_slots[i].config == (uint32_t)part.config)
			return i;
	return -1;
}

static void add_counter(struct buf *out, const struct generic_counter *k)
{
	buf_printf(out, "%s (0x%04" PRIx64 ")%s%s", k->name, k->code, k->counts ? ": " : "",
		   k->counts ? k->counts : "");
}

/* 1: the core implements the event; 0: it does not; -1: its PMU does not publish which. */
static int implements(const struct host *h, const struct host_pmu *pmu,
		      const struct generic_counter *k)
{
	char name[MAX_NAME_BYTES];
	struct sysfs_event ev;
	size_t i;

	if (k->code >= 0x40 || !pmu) /* only common events are published */
		return -1;
	for (i = 0; k->name[i] && i < sizeof(name) - 1; i++)
		name[i] = (char)tolower((unsigned char)k->name[i]);
	name[i] = '\0';
	if (sysfs_find_event(h, pmu, name, &ev) == 0)
		return 1;
	return sysfs_find_event(h, pmu, "cpu_cycles", &ev) == 0 ? 0 : -1;
}

/* pmu: of the host; NULL: not known, or not of this machine. */
static void add_cpu(struct buf *out, const char *label, const struct generic_cpu *cpu, int slot,
		    const struct host *h, const struct host_pmu *pmu)
{
	const struct generic_counter *k = counter_of(cpu->map, slot);
	const struct generic_counter *other = counter_of(cpu->otherwise, slot);
	int has = k && !cpu->vendor ? implements(h, pmu, k) : 1;

	if (has == 0 && other && implements(h, pmu, other) != 0) {
		k = other;
		has = 1;
	}
	buf_printf(out, "%s: ", label);
	if (!k) {
		buf_adds(out, "none: the kernel refuses this event\n");
		return;
	}
	if (has == 0) {
		buf_printf(out, "none: the core does not implement %s (0x%04" PRIx64 ")\n", k->name,
			   k->code);
		return;
	}
	add_counter(out, k);
	if (has < 0)
		buf_adds(out, "; where the core implements it");
	if (has < 0 && other) {
		buf_adds(out, ", else ");
		add_counter(out, other);
	}
	buf_addc(out, '\n');
}

static bool is_listed(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (; *names; names += strcspn(names, " "), names += *names == ' ')
		if (strncasecmp(names, name, len) == 0 && (!names[len] || names[len] == ' '))
			return true;
	return false;
}

static bool has_numbers_of(const struct generic_cpu *cpu, const struct host *h)
{
	if (!cpu->vendor || !is_listed(cpu->vendor, h->cpu_vendor))
		return false;
	for (size_t i = 0; i < GENERIC_MAX_IDS && cpu->ids[i].family; i++)
		if (cpu->ids[i].family == h->cpu_family && h->cpu_model_nr >= cpu->ids[i].first &&
		    h->cpu_model_nr <= cpu->ids[i].last)
			return true;
	return false;
}

static bool is_pmu_of(const struct generic_cpu *cpu, const struct host *h, const char *pmu)
{
	bool is_named =
	    strchr(cpu->pmu, '*') ? str_glob(cpu->pmu, pmu) : strcmp(cpu->pmu, pmu) == 0;

	return is_named && (!cpu->vendor || has_numbers_of(cpu, h));
}

static void add_unknown(struct buf *out, const struct host *h)
{
	if (h->cpu_vendor[0])
		buf_printf(out, "unknown for this CPU (%s family %u model %u)\n", h->cpu_vendor,
			   h->cpu_family, h->cpu_model_nr);
	else
		buf_adds(out, "unknown for this CPU\n");
}

static void add_pmu(struct buf *out, const struct host *h, const struct host_pmu *pmu, int slot)
{
	size_t i = 0;

	while (i < generic_nr_cpus && !is_pmu_of(&generic_cpus[i], h, pmu->name))
		i++;
	if (i < generic_nr_cpus) {
		bool is_only = generic_cpus[i].vendor && parts_nr_core_pmus(h) == 1;

		add_cpu(out, is_only ? generic_cpus[i].title : pmu->name, &generic_cpus[i], slot, h,
			pmu);
		return;
	}
	buf_printf(out, "%s: ", pmu->name);
	add_unknown(out, h);
}

/* Without core PMUs (a virtual machine) all core types of the CPU are meant. */
static void add_host(struct buf *out, const struct host *h, int slot)
{
	size_t start = out->len;

	for (size_t i = 0; i < h->nr_pmus; i++)
		if (h->pmus[i].is_core)
			add_pmu(out, h, &h->pmus[i], slot);
	for (size_t i = 0; i < generic_nr_cpus && parts_nr_core_pmus(h) == 0; i++)
		if (has_numbers_of(&generic_cpus[i], h) ||
		    (strcmp(h->machine, "aarch64") == 0 &&
		     is_pmu_of(&generic_cpus[i], h, "armv8_pmuv3_0")))
			add_cpu(out, generic_cpus[i].title, &generic_cpus[i], slot, h, NULL);
	if (out->len == start)
		add_unknown(out, h);
}

void generic_describe(const struct catalogue *c, const struct event *ev, struct buf *out)
{
	const char *model = event_model_canonical(c->model);
	int slot = slot_of(ev);
	size_t start;

	if (slot < 0 || !c->host)
		return;
	buf_adds(out, out->len ? "\n" : "");
	start = out->len;
	for (size_t i = 0; i < generic_nr_cpus && model; i++)
		if (is_listed(generic_cpus[i].names, model))
			add_cpu(out, generic_cpus[i].title, &generic_cpus[i], slot, c->host, NULL);
	if (!model)
		add_host(out, c->host, slot);
	else if (out->len == start)
		buf_printf(out, "unknown for the model %s\n", model);
	buf_adds(out, "by the tables of Linux 6.12; those of the running kernel decide");
}

static bool is_same(const struct generic_counter *a, const struct generic_counter *b)
{
	if (!a || !b)
		return a == b;
	return a->code == b->code && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->counts ? a->counts : "", b->counts ? b->counts : "") == 0;
}

/* The counter of a slot in one of the two maps of a CPU. */
static const struct generic_counter *choice(size_t cpu, bool is_other, int slot)
{
	return counter_of(is_other ? generic_cpus[cpu].otherwise : generic_cpus[cpu].map, slot);
}

/* The row of all CPUs whose counter is that of the first. */
static void add_table_row(struct buf *out, int slot, size_t first, bool is_other)
{
	const struct generic_counter *k = choice(first, is_other, slot);
	const char *separator = "";

	if (k)
		buf_printf(out, "| %s | 0x%04" PRIx64 " | %s | ", k->name, k->code,
			   k->counts ? k->counts : "");
	else
		buf_adds(out, "| none | | | ");
	for (size_t i = first; i < generic_nr_cpus; i++) {
		if (!is_same(k, choice(i, is_other, slot)))
			continue;
		buf_printf(out, "%s%s", separator, generic_cpus[i].title);
		separator = "; ";
	}
	buf_adds(out, is_other ? ", whose core implements no other above |\n" : " |\n");
}

void generic_table(const struct event *ev, struct buf *out)
{
	int slot = slot_of(ev);

	if (slot < 0)
		return;
	for (int is_other = 0; is_other < 2; is_other++)
		for (size_t i = 0; i < generic_nr_cpus; i++) {
			const struct generic_counter *k = choice(i, is_other, slot);
			size_t first = 0;

			while (!is_same(choice(first, is_other, slot), k))
				first++;
			if (first == i && (k || !is_other))
				add_table_row(out, slot, i, is_other);
		}
}
