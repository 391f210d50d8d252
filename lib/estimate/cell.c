/* In integers as far as possible: a counter has 64 bits, a double 53. */
#include "estimate/cell.h"

#include "estimate/running.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const struct {
	const char *name;
	bool has_value;
} states[CELL_NR_STATES] = {
    [CELL_NONE] = {"", false},
    [CELL_OK] = {"ok", true},
    [CELL_NOT_COUNTED] = {"not counted", false},
    [CELL_OFFLINE] = {"offline", true},
    [CELL_NOT_SUPPORTED] = {"not supported", false},
    [CELL_NO_PERMISSION] = {"no permission", false},
    [CELL_LIMIT] = {"limit reached", false},
    [CELL_FAILED] = {"failed", false},
    [CELL_DISABLED] = {"disabled", false},
    [CELL_NA] = {"n/a", false},
};

const char *cell_state_name(enum cell_state s)
{
	return s < CELL_NR_STATES ? states[s].name : "unknown state";
}

const char *cell_state_text(const struct cell *c, char out[CELL_STATE_BYTES])
{
	if (c->state != CELL_OK || !cell_is_short(c))
		return cell_state_name(c->state);
	if (c->is_over)
		return "more than possible";
	if (!c->nr_with || !c->nr_without)
		return "partial";
	snprintf(out, CELL_STATE_BYTES, "partial: %" PRIu32 " of %" PRIu64, c->nr_with,
		 (uint64_t)c->nr_with + c->nr_without);
	return out;
}

enum cell_state cell_state_of_reading(uint32_t reading_state)
{
	static const enum cell_state of[READING_NR_STATES] = {
	    [READING_NONE] = CELL_NONE,
	    [READING_OK] = CELL_OK,
	    [READING_OFFLINE] = CELL_OFFLINE,
	    [READING_NOT_SUPPORTED] = CELL_NOT_SUPPORTED,
	    [READING_NO_PERMISSION] = CELL_NO_PERMISSION,
	    [READING_LIMIT] = CELL_LIMIT,
	    [READING_FAILED] = CELL_FAILED,
	};

	return reading_state < READING_NR_STATES ? of[reading_state] : CELL_FAILED;
}

bool cell_has_value(const struct cell *c)
{
	return c->state < CELL_NR_STATES && states[c->state].has_value;
}

bool cell_is_partial(const struct cell *c)
{
	return cell_has_value(c) && (c->state == CELL_OFFLINE || cell_is_short(c));
}

bool cell_is_short(const struct cell *c)
{
	return cell_has_value(c) && (c->nr_without || c->is_short || c->is_over);
}

bool cell_is_shorter(const struct cell *c, const struct cell *than)
{
	return cell_is_short(c) && (!cell_is_short(than) || c->nr_without > than->nr_without);
}

double cell_running_share(const struct cell *c)
{
	return running_share(c->enabled_ns, c->running_ns);
}

void cell_quality_add(struct cell_quality *q, const struct cell *c)
{
	double running = cell_running_share(c);

	if (!cell_has_value(c)) {
		q->nr_without++;
		q->state = c->state;
		return;
	}
	q->nr_with++;
	q->running = running < q->running ? running : q->running;
	if (cell_is_shorter(c, &q->least))
		q->least = *c;
}

double cell_rate(const struct cell *c)
{
	if (!cell_has_value(c) || !c->span_ns)
		return 0;
	return c->value * 1e9 / (double)c->span_ns;
}

static enum cell_state difference(enum event_kind kind, const struct reading *a,
				  const struct reading *b, struct cell *c)
{
	bool backwards = __builtin_sub_overflow(b->raw, a->raw, &c->raw);

	backwards |= __builtin_sub_overflow(b->enabled_ns, a->enabled_ns, &c->enabled_ns);
	backwards |= __builtin_sub_overflow(b->running_ns, a->running_ns, &c->running_ns);
	backwards |= __builtin_sub_overflow(b->base, a->base, &c->base);
	backwards |= __builtin_sub_overflow(b->time_ns, a->time_ns, &c->span_ns);
	if (backwards) /* iowait and idle of /proc/stat may decrease a little: that is no failure */
		return kind == EVENT_SHARE ? CELL_NOT_COUNTED : CELL_FAILED;
	c->is_perf = a->enabled_ns || b->enabled_ns || a->running_ns || b->running_ns;
	if (kind == EVENT_SHARE && !c->base)
		return CELL_NOT_COUNTED;
	if (kind == EVENT_SHARE) {
		c->is_real = true;
		c->value = 100.0 * (double)c->raw / (double)c->base;
		return c->state;
	}
	c->is_short = c->base != 0;
	c->base = 0;
	if (c->is_perf && !c->running_ns)
		return CELL_NOT_COUNTED;
	if (!running_scale(c->raw, c->enabled_ns, c->running_ns, &c->count))
		return CELL_FAILED;
	c->value = (double)c->count;
	return c->state;
}

/* The state before any arithmetic: the end's, or the start's if the start has no number. */
static enum cell_state state_of(enum event_kind kind, const struct reading *start,
				const struct reading *end)
{
	struct cell at_end = {.state = end ? cell_state_of_reading(end->state) : CELL_NONE};
	struct cell at_start = {.state = CELL_NONE};

	if (kind == EVENT_VALUE || !cell_has_value(&at_end))
		return at_end.state;
	if (start)
		at_start.state = cell_state_of_reading(start->state);
	if (at_start.state == CELL_NONE)
		return CELL_FAILED;
	if (end && end->flags & READING_DISABLED)
		return CELL_DISABLED;
	return cell_has_value(&at_start) ? at_end.state : at_start.state;
}

void cell_make(enum event_kind kind, const struct reading *start, const struct reading *end,
	       struct cell *out)
{
	struct cell c = {.state = state_of(kind, start, end)};

	if (cell_has_value(&c) && kind == EVENT_VALUE) {
		c.raw = c.count = end->raw;
		c.value = (double)c.count;
	} else if (cell_has_value(&c)) {
		c.state = difference(kind, start, end, &c);
	}
	if (!cell_has_value(&c)) /* clear all numbers but the time enabled */
		c = (struct cell){.state = c.state,
				  .is_perf = c.is_perf,
				  .enabled_ns = c.state == CELL_NOT_COUNTED ? c.enabled_ns : 0};
	if (end)
		c.time_ns = end->time_ns;
	*out = c;
}

static bool is_whole(double scale)
{
	return scale >= 1 && scale < 0x1p53 && scale == floor(scale);
}

void cell_scale(enum event_kind kind, double scale, struct cell *c)
{
	if (!cell_has_value(c) || kind == EVENT_SHARE || scale == 0 || scale == 1)
		return;
	if (is_whole(scale)) {
		if (__builtin_mul_overflow(c->count, (uint64_t)scale, &c->count))
			*c = (struct cell){.state = CELL_FAILED, .time_ns = c->time_ns};
		c->value = (double)c->count;
		return;
	}
	c->is_real = true;
	c->value = (kind == EVENT_VALUE ? (double)(int64_t)c->count : (double)c->count) * scale;
	c->count = 0;
}

static void add(uint64_t *to, uint64_t n, bool *overflow)
{
	*overflow |= __builtin_add_overflow(*to, n, to);
}

static void add_numbers(enum event_kind kind, struct cell *total, const struct cell *c)
{
	bool overflow = false;

	add(&total->count, c->count, &overflow);
	add(&total->raw, c->raw, &overflow);
	add(&total->enabled_ns, c->enabled_ns, &overflow);
	add(&total->running_ns, c->running_ns, &overflow);
	add(&total->base, c->base, &overflow);
	total->is_perf |= c->is_perf;
	total->is_short |= c->is_short;
	total->is_over |= c->is_over;
	if (c->time_ns > total->time_ns)
		total->time_ns = c->time_ns;
	if (c->span_ns > total->span_ns)
		total->span_ns = c->span_ns;
	if (c->state == CELL_OFFLINE)
		total->state = CELL_OFFLINE;
	if (overflow)
		total->state = CELL_FAILED;
	if (kind == EVENT_SHARE)
		total->value = total->base ? 100.0 * (double)total->raw / (double)total->base : 0;
	else
		total->value = c->is_real ? total->value + c->value : (double)total->count;
	total->is_real |= c->is_real;
}

void cell_join(enum event_kind kind, struct cell *c, const struct cell *part)
{
	if (!cell_has_value(c) || part->state == CELL_NONE)
		return;
	if (cell_has_value(part)) {
		add_numbers(kind, c, part);
		return;
	}
	*c = (struct cell){.state = part->state, .is_perf = c->is_perf, .time_ns = c->time_ns};
}

/* Counts the cell, or its parts if it is a sum. */
static void add_parts(struct cell *total, const struct cell *c)
{
	bool is_sum = c->nr_with || c->nr_without, has_value = cell_has_value(c);

	total->nr_with += is_sum ? c->nr_with : has_value;
	total->nr_without += is_sum ? c->nr_without : !has_value;
}

void cell_total(enum event_kind kind, struct cell *total, const struct cell *c)
{
	if (c->state == CELL_NONE)
		return;
	if (!total->nr_with && (cell_has_value(c) || !total->nr_without))
		total->state = c->state;
	else if (cell_has_value(c) && kind == EVENT_VALUE)
		total->state = CELL_NONE;
	if (cell_has_value(c) && cell_has_value(total)) /* not after an overflow */
		add_numbers(kind, total, c);
	add_parts(total, c);
}
