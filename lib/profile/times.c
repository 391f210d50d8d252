#include "profile/times.h"

#include "base/mem.h"
#include "base/order.h"
#include "profile/samples.h"
#include "trace/reader.h"

/* A part of the time reads up to two runs more than it needs. */
enum { RUN_BYTES = 1 << 20, MAX_SUMS = 1 << 20 };

struct profile_times *profile_times_new(size_t nr_events)
{
	struct profile_times *t = mem_zalloc(sizeof(*t));

	if (t)
		t->nr_events = nr_events;
	return t;
}

void profile_times_free(struct profile_times *t)
{
	if (!t)
		return;
	mem_free(t->run);
	mem_free(t->sum);
	mem_free(t);
}

static struct profile_times_run *last(struct profile_times *t)
{
	return &t->run[t->nr - 1];
}

static bool begin_run(struct profile_times *t, uint64_t at)
{
	const size_t nr_sums = t->nr * t->nr_events;
	size_t room = t->room;
	struct profile_times_sum *sum;

	if (nr_sums + t->nr_events > MAX_SUMS || !MEM_ADD(t->run, t->nr, t->room))
		return false;
	if (t->room != room) {
		sum = mem_resize(t->sum, (t->room * t->nr_events + 1) * sizeof(*sum));
		if (!sum)
			return false;
		t->sum = sum;
	}
	for (size_t i = 0; i < t->nr_events; i++)
		t->sum[nr_sums + i] = (struct profile_times_sum){0};
	*last(t) = (struct profile_times_run){.from = at, .first_ns = UINT64_MAX};
	t->is_open = true;
	return true;
}

bool profile_times_frame(struct profile_times *t, uint64_t at)
{
	if (t->is_open && at - last(t)->from >= RUN_BYTES)
		profile_times_end(t, at);
	if (!t->is_open && !begin_run(t, at))
		return false;
	last(t)->nr_frames++;
	return true;
}

void profile_times_add(struct profile_times *t, const struct profile_sample *s)
{
	struct profile_times_run *run = last(t);
	struct profile_times_sum *sum = &t->sum[(t->nr - 1) * t->nr_events + s->id->event];
	const uint64_t wait_ns = s->record.wait_ns;
	const uint64_t from_ns = s->time_ns > wait_ns ? s->time_ns - wait_ns : 0;

	run->first_ns = from_ns < run->first_ns ? from_ns : run->first_ns;
	run->last_ns = s->end_ns > run->last_ns ? s->end_ns : run->last_ns;
	run->is_needed |= s->layout->is_maximum;
	sum->samples += s->samples;
	sum->weight += s->weight;
}

void profile_times_need(struct profile_times *t)
{
	if (t->is_open)
		last(t)->is_needed = true;
}

void profile_times_end(struct profile_times *t, uint64_t at)
{
	if (t->is_open)
		last(t)->to = at;
	t->is_open = false;
}

const struct profile_times_run *profile_times_other(const struct profile_times *t, uint64_t at,
						    uint64_t first_ns, uint64_t last_ns)
{
	size_t i = ORDER_FIRST(k, t->nr, t->run[k].from >= at);
	const struct profile_times_run *run = i < t->nr ? &t->run[i] : NULL;

	if (!run || run->from != at || run->is_needed)
		return NULL;
	return run->last_ns < first_ns || run->first_ns > last_ns ? run : NULL;
}

const struct profile_times_run *profile_times_pass(const struct profile_times *t,
						   struct trace_reader *r, uint64_t first_ns,
						   uint64_t last_ns)
{
	const struct profile_times_run *run =
	    t ? profile_times_other(t, trace_reader_offset(r), first_ns, last_ns) : NULL;

	return run && trace_reader_pass_to(r, run->to, run->nr_frames) ? run : NULL;
}

const struct profile_times_sum *profile_times_sums(const struct profile_times *t,
						   const struct profile_times_run *run)
{
	return &t->sum[(size_t)(run - t->run) * t->nr_events];
}
