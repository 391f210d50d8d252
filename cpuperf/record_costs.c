/*
 * What breakpoints and prepared functions cost, said before they are set.
 */
#include "base/log.h"
#include "event/usdt.h"
#include "functions/functions.h"
#include "plan/plan.h"
#include "plan/source.h"
#include "recorder.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_SINGLE = 3, NAME_BYTES = 256 }; /* more events are summed up */

/* Of the functions of an event, or of several. */
struct costs {
	uint64_t least_ns, most_ns;
	uint32_t nr, nr_untimed, nr_prepared;
	const char *reason; /* why one has no times */
};

static void add_costs(struct costs *c, const struct event_row *row)
{
	for (uint32_t i = 0; i < row->nr_functions; i++) {
		const struct functions_place *p = &row->functions[i];
		uint64_t ns = functions_hit_ns(p);

		c->least_ns = !c->nr++ || ns < c->least_ns ? ns : c->least_ns;
		c->most_ns = ns > c->most_ns ? ns : c->most_ns;
		c->nr_untimed += p->ret == FUNCTIONS_RETURN_NONE;
		c->nr_prepared += p->prepared != FUNCTIONS_PREPARED_NOT && !p->signature;
		c->reason = c->reason ?: p->reason;
	}
}

/* The cheapest and the dearest call, and how many have no times. */
static void log_costs(const struct costs *c, const char *name, bool is_command)
{
	char from[32] = "";

	if (c->most_ns > c->least_ns)
		snprintf(from, sizeof(from), "%.1f to ", (double)c->least_ns / 1e3);
	log_info("%s: %u function%s; each call costs about %s%.1f us, in every process that maps "
		 "the file",
		 name, c->nr, c->nr == 1 ? "" : "s", from, (double)c->most_ns / 1e3);
	if (c->nr_untimed)
		log_info("%s: %u of them have no times: %s", name, c->nr_untimed, c->reason ?: "");
	if (is_command && c->nr_prepared && c->nr_prepared < c->nr)
		log_info("%s: the compiler has prepared %u of them, which cost far less with "
			 "--function-way=program",
			 name, c->nr_prepared);
}

/* Of what the agent measures, which costs the command alone. */
static void log_prepared_costs(const struct event_row *row)
{
	uint64_t most = 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < row->nr_functions; i++) {
		uint64_t ns = functions_prepared_ns(row->functions[i].prepared);

		most = ns > most ? ns : most;
		nr += ns != 0;
	}
	if (nr)
		log_info("function:%s: %u function%s, by what the compiler has put there; each "
			 "call costs at most about %" PRIu64 " ns",
			 row->name, nr, nr == 1 ? "" : "s", most);
}

static void log_probe_costs(const struct event_row *row)
{
	enum elf_probe_code worst = ELF_PROBE_NOP;

	for (uint32_t k = 0; k < row->nr_probes; k++)
		if (row->probes[k].code > worst)
			worst = row->probes[k].code;
	log_info("usdt:%s: each hit costs %s, in every process that maps the file; how many there "
		 "will be is not known",
		 row->name, event_probe_cost(worst));
}

static bool has_breakpoints(const struct plan_event *p)
{
	return event_is_function(&p->event) && !p->source->is_in_target &&
	       p->event.row->nr_functions;
}

static void log_functions(const struct plan *plan, const struct plan_event *p, bool is_single)
{
	const struct event_row *row = p->event.row;
	struct costs c = {.nr = 0};
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "function:%.200s", row->name);
	if (is_single && has_breakpoints(p)) {
		add_costs(&c, row);
		log_costs(&c, name, plan->target.is_command);
	} else if (p->source->is_in_target) {
		log_prepared_costs(row);
	}
	if (row->omitted)
		log_info("%s: %s", name, row->omitted);
}

void recorder_log_costs(const struct plan *plan)
{
	struct costs all = {.nr = 0};
	size_t nr = 0;
	char name[NAME_BYTES];

	for (size_t i = 0; i < plan->nr_events; i++) {
		if (!has_breakpoints(&plan->events[i]))
			continue;
		add_costs(&all, plan->events[i].event.row);
		nr++;
	}
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct event *ev = &plan->events[i].event;

		if (event_is_function(ev))
			log_functions(plan, &plan->events[i], nr <= MAX_SINGLE);
		else if (event_is_probe(ev) && ev->row->nr_probes)
			log_probe_costs(ev->row);
	}
	snprintf(name, sizeof(name), "%zu events of the group function", nr);
	if (nr > MAX_SINGLE)
		log_costs(&all, name, plan->target.is_command);
}
