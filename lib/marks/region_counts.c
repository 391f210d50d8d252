/*
 * Groups of a thread: pinned, so that a count is never an estimate.
 */
#include "marks/region_counts.h"

#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/reading.h"
#include "plan/plan.h"
#include "pmu/user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct group {
	int fds[REGION_COUNTS_MAX]; /* the leader first */
	uint32_t nr;
};

static bool has_name(const struct plan_event *p, const char *name)
{
	const char *colon = strchr(name, ':');
	size_t len = colon ? (size_t)(colon - name) : 0;

	if (colon && (strncmp(name, p->asked->group_name, len) != 0 || p->asked->group_name[len]))
		return false;
	return strcmp(p->asked->event_name, colon ? colon + 1 : name) == 0;
}

static int open_one(const struct region_counts *c, uint32_t i, uint32_t tid, int leader)
{
	const struct plan_event *p = c->events[i];
	const struct event_use use = {.flags = plan_flags(c->plan, p) & (SPEC_OS | SPEC_USER)};
	struct perf_event_attr *attr = event_attr_new(&c->plan->parts[p->first_part].part, &use);
	int fd;

	if (!attr)
		return -ENOMEM;
	attr->read_format = PERF_FORMAT_GROUP;
	attr->pinned = leader < 0;
	attr->disabled = 0;
	attr->sample_type = 0;
	fd = pmu_user_open(&pmu_kernel_ops, attr, (pid_t)tid, leader);
	mem_free(attr);
	return fd;
}

static void leave_out(struct region_counts *c, const struct plan_event *p,
		      const struct event_support *why)
{
	char *note = c->notes[c->nr_notes++];

	snprintf(note, REGION_COUNTS_NOTE_BYTES, "regions have no counts of %s: %s%s%s", p->label,
		 reading_state_name(why->state), why->reason[0] ? ": " : "", why->reason);
}

/* Opened in user mode alone, it would count too little or nothing, and that would look exact. */
static void leave_out_refused(struct region_counts *c, const struct plan_event *p)
{
	static const struct event_support why = {
	    .state = READING_NO_PERMISSION,
	    .reason = "it happens in the kernel, which this user may not measure"};

	leave_out(c, p, &why);
}

/* Tries the event in the calling thread, in a group with those before: one that cannot be opened
 * would leave the others uncounted, too. */
static void add_event(struct region_counts *c, const struct plan_event *p, struct group *trial)
{
	struct event_support why = {.state = READING_OK};
	int fd;

	c->names[c->nr] = p->label;
	c->events[c->nr] = p;
	fd = open_one(c, c->nr, 0, c->nr ? trial->fds[0] : -1);
	if (fd < 0) {
		event_support_explain_use(c->plan->host, &p->event, p->asked->flags, -fd, &why);
		leave_out(c, p, &why);
		return;
	}
	trial->fds[trial->nr++] = fd;
	c->nr++;
}

static int find_event(struct region_counts *c, const char *name, struct group *trial, struct err *e)
{
	const struct spec_pos *pos = &c->plan->spec->regions.counts_pos; /* none, of an option */
	const char *source = pos->line ? c->plan->spec->source : "";
	for (size_t i = 0; i < c->plan->nr_events; i++) {
		const struct plan_event *p = &c->plan->events[i];

		if (!has_name(p, name))
			continue;
		if (p->set == PLAN_NO_SET && p->support.state == READING_NOT_SUPPORTED) {
			leave_out(c, p, &p->support);
			return 0;
		}
		if (p->set == PLAN_NO_SET || p->set == PLAN_ALONE)
			return err_set_at(e, -EINVAL, source, pos->line, pos->column,
					  "regions.counts: \"%s\" does not count a thread", name);
		if (plan_is_refused(c->plan, p))
			leave_out_refused(c, p);
		else
			add_event(c, p, trial);
		return 0;
	}
	err_set_at(e, -EINVAL, source, pos->line, pos->column,
		   "regions.counts: no event of the session is \"%s\"", name);
	err_hint(e, "name it in events, too: its counts are those of the whole session");
	return -EINVAL;
}

/* By its name alone, or with that of its group. */
static int check_twice(const struct region_counts *c, size_t at, struct err *e)
{
	const struct spec_regions *r = &c->plan->spec->regions;
	const char *const *names = r->counts.item;

	for (size_t i = 0; i < c->plan->nr_events; i++) {
		const struct plan_event *p = &c->plan->events[i];

		for (size_t k = 0; k < at && has_name(p, names[at]); k++)
			if (has_name(p, names[k]))
				return err_set_at(
				    e, -EINVAL, r->counts_pos.line ? c->plan->spec->source : "",
				    r->counts_pos.line, r->counts_pos.column,
				    "regions.counts: the event \"%s\" appears twice", names[at]);
	}
	return 0;
}

static void close_group(struct group *g)
{
	while (g->nr)
		pmu_kernel_ops.close(g->fds[--g->nr]);
}

int region_counts_init(struct region_counts *c, const struct plan *plan, struct err *e)
{
	const struct spec_list *list = &plan->spec->regions.counts;
	struct group trial = {.nr = 0};
	int rc = 0;

	*c = (struct region_counts){.plan = plan};
	for (size_t i = 0; i < list->nr && i < REGION_COUNTS_MAX && rc == 0; i++)
		rc = check_twice(c, i, e) ?: find_event(c, list->item[i], &trial, e);
	close_group(&trial);
	return rc;
}

void *region_counts_open(struct region_counts *c, uint32_t tid, int *fds)
{
	struct group *g = mem_zalloc(sizeof(*g));
	int one = g ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < c->nr && one >= 0; i++) {
		one = open_one(c, i, tid, i ? g->fds[0] : -1);
		if (one >= 0)
			g->fds[g->nr++] = one;
	}
	if (one < 0) {
		c->error = c->error ?: -one;
		c->nr_failed++;
		region_counts_close(g);
		return NULL;
	}
	memcpy(fds, g->fds, g->nr * sizeof(*fds));
	return g;
}

void region_counts_close(void *group)
{
	struct group *g = group;

	if (!g)
		return;
	close_group(g);
	mem_free(g);
}
