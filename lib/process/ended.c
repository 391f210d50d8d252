/*
 * Things that are gone.
 */
#include "process/ended.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "process/choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BIT(field) (1u << (field))

enum {
	MAX_NEW = 1000,          /* lines of processes that came and went in an iteration */
	MAX_COMMANDS = 1000,     /* lines of commands in a session */
	MAX_WAIT_NS = 2000000000 /* for what a process used at last */
};

uint32_t process_ended_fields(void)
{
	return BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY) | BIT(PROCESS_READ_BYTES) |
	       BIT(PROCESS_WRITE_BYTES) | BIT(PROCESS_MINOR_FAULTS) | BIT(PROCESS_MAJOR_FAULTS) |
	       BIT(PROCESS_FAULTS) | BIT(PROCESS_PEAK_RSS);
}

void process_ended_close(struct process_ended *d)
{
	for (size_t i = 0; i < d->nr; i++)
		mem_free(d->list[i]);
	exits_close(d->exits);
	mem_free(d->list);
	mem_free(d->commands);
}

/* Of a process without memory or files only counters remain, and the peak. */
static uint32_t counters(uint32_t has)
{
	return has & process_ended_fields();
}

/* A value that was read is never above the last one, but for those that the kernel adds up anew. */
static void set(struct process_values *v, uint32_t wanted, enum process_field field, uint64_t value)
{
	if (!(wanted & BIT(field)))
		return;
	if (!(v->has & BIT(field)) || v->of[field] < value)
		v->of[field] = value;
	v->has |= BIT(field);
}

void process_ended_set(uint32_t wanted, const struct bpf_exits_sums *sums, struct process_values *v)
{
	v->has = counters(v->has);
	set(v, wanted, PROCESS_CPU_TIME, sums->cpu_ns);
	set(v, wanted, PROCESS_READ_BYTES, sums->read_bytes);
	set(v, wanted, PROCESS_WRITE_BYTES, sums->write_bytes);
	set(v, wanted, PROCESS_MINOR_FAULTS, sums->minor_faults);
	set(v, wanted, PROCESS_MAJOR_FAULTS, sums->major_faults);
	set(v, wanted, PROCESS_FAULTS, sums->minor_faults + sums->major_faults);
	if (sums->nr_runs)
		set(v, wanted, PROCESS_RUN_DELAY, sums->delay_ns);
	if (sums->peak_pages)
		set(v, wanted, PROCESS_PEAK_RSS,
		    sums->peak_pages * (uint64_t)sysconf(_SC_PAGESIZE));
	v->missed = v->has & BIT(PROCESS_RUN_DELAY);
	v->nr_missed += v->missed && (sums->nr_partial || !sums->nr_runs);
	memset(v->trouble, 0, sizeof(v->trouble));
}

void process_ended_begin(struct process_ended *d)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t nr = 0;

	d->grown_ns = 0;
	if (!d->has_begun)
		d->begin_ns = now_ns;
	for (size_t i = 0; i < process_ended_nr(d);
	     i++) { /* values that wait, and sums, are of now */
		struct process_gone *g = i < d->nr ? d->list[i] : &d->commands[i - d->nr].gone;

		if (!g->is_final || !g->pid)
			g->values.time_ns = now_ns;
	}
	if (!d->is_next)
		return;
	for (size_t i = 0; i < d->nr; i++) {
		struct process_gone *g = d->list[i];

		if (g->is_final || now_ns - g->found_ns > MAX_WAIT_NS)
			mem_free(g);
		else
			d->list[nr++] = g;
	}
	d->nr = nr;
	d->nr_new = 0;
	d->is_next = false;
}

static struct process_gone *add(struct process_ended *d, const struct process_gone *gone)
{
	struct process_gone *copy = mem_zalloc(sizeof(*copy));
	struct process_gone **place = copy ? MEM_ADD(d->list, d->nr, d->room) : NULL;

	if (!place) {
		mem_free(copy);
		d->nr_missing++;
		return NULL;
	}
	*copy = *gone;
	*place = copy;
	return copy;
}

void process_ended_add(struct process_ended *d, const struct process_gone *gone)
{
	struct process_gone *g = add(d, gone);

	if (!g)
		return;
	g->values.has = counters(g->values.has);
	g->found_ns = g->values.time_ns = clock_monotonic_ns();
}

static void set_sums(struct process_ended *d, struct process_gone *g,
		     const struct bpf_exits_sums *sums)
{
	uint64_t before_ns = g->values.of[PROCESS_CPU_TIME];

	process_ended_set(d->wanted, sums, &g->values);
	d->grown_ns += g->values.of[PROCESS_CPU_TIME] - before_ns;
	g->values.time_ns = clock_monotonic_ns();
}

static void finish(struct process_ended *d, struct process_gone *g,
		   const struct bpf_exits_sums *sums)
{
	set_sums(d, g, sums);
	g->is_final = true;
}

/* More comes when it is gone: what it missed is counted then. */
static void add_so_far(struct process_ended *d, struct process_gone *g,
		       const struct bpf_exits_sums *sums)
{
	const uint64_t nr_missed = g->values.nr_missed;

	set_sums(d, g, sums);
	g->values.nr_missed = nr_missed;
}

bool process_ended_finish(struct process_ended *d, const struct bpf_exits_process *p)
{
	for (size_t i = 0; i < d->nr; i++) {
		if (d->list[i]->pid != p->pid || d->list[i]->is_final)
			continue;
		if (p->is_whole)
			finish(d, d->list[i], &p->sums);
		else
			add_so_far(d, d->list[i], &p->sums);
		return true;
	}
	return false;
}

/* ---- commands */

static struct process_command *find_command(struct process_ended *d, const char *comm)
{
	struct process_command *c;
	char name[PROCESS_NAME_BYTES];

	snprintf(name, sizeof(name), "%s (ended)", comm);
	str_clean(name, strlen(name));
	for (size_t i = 0; i < d->nr_commands; i++)
		if (strcmp(d->commands[i].gone.name, name) == 0)
			return &d->commands[i];
	c = d->nr_commands < MAX_COMMANDS ? MEM_ADD(d->commands, d->nr_commands, d->commands_room)
					  : NULL;
	if (!c)
		return NULL;
	*c = (struct process_command){
	    .gone = {.number = (*d->nr_numbers)++, .born_ns = clock_monotonic_ns()}};
	memcpy(c->gone.name, name, sizeof(name));
	return c;
}

static void add_sums(struct bpf_exits_sums *to, const struct bpf_exits_sums *from)
{
	to->cpu_ns += from->cpu_ns;
	to->minor_faults += from->minor_faults;
	to->major_faults += from->major_faults;
	to->read_bytes += from->read_bytes;
	to->write_bytes += from->write_bytes;
	to->delay_ns += from->delay_ns;
	to->nr_runs += from->nr_runs;
	to->nr_partial += from->nr_partial;
}

static void show_command(struct process_ended *d, struct process_command *c)
{
	struct bpf_exits_sums all = c->by_kernel;

	add_sums(&all, &c->by_us);
	finish(d, &c->gone, &all);
}

static bool is_chosen(struct process_ended *d, const struct bpf_exits_process *p)
{
	return d->is_target || process_choice_has(d->choice, p->pid, p->comm);
}

void process_ended_add_new(struct process_ended *d, const struct bpf_exits_process *p,
			   uint64_t born_ns)
{
	struct process_gone new = {.pid = p->pid, .born_ns = born_ns}, *g;
	struct process_command *c;
	/* one that is listed, under another name, was not found in this iteration */
	bool had_ended = born_ns && p->start_ns < d->begin_ns;

	if (had_ended || !is_chosen(d, p))
		return;
	if (d->nr_new >= MAX_NEW) {
		c = find_command(d, p->comm);
		if (!c) {
			d->nr_missing++;
			return;
		}
		add_sums(&c->by_us, &p->sums);
		show_command(d, c);
		return;
	}
	snprintf(new.name, sizeof(new.name), "%" PRIu32 " %s", p->pid, p->comm);
	str_clean(new.name, strlen(new.name));
	new.number = *d->nr_numbers;
	g = add(d, &new);
	if (!g)
		return;
	++*d->nr_numbers;
	d->nr_new++;
	finish(d, g, &p->sums);
}

static void add_command(const struct bpf_exits_process *p, void *arg)
{
	struct process_ended *d = arg;
	struct process_command *c = is_chosen(d, p) ? find_command(d, p->comm) : NULL;

	if (!c)
		return;
	c->by_kernel = p->sums;
	show_command(d, c);
}

void process_ended_add_commands(struct process_ended *d)
{
	if (exits_commands(d->exits, add_command, d))
		d->nr_missing++;
}

size_t process_ended_nr(const struct process_ended *d)
{
	return d->nr + d->nr_commands;
}

const struct process_gone *process_ended_get(const struct process_ended *d, size_t i)
{
	return i < d->nr ? d->list[i] : &d->commands[i - d->nr].gone;
}
