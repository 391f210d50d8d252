/*
 * Line prefixes of all records of the raw format, and lines of counts.
 */
#include "base/digits.h"
#include "summary/raw.h"

void raw_start(struct summary *s, uint64_t offset)
{
	char digits[DIGITS_ROOM];
	size_t nr = (size_t)(digits_hex(digits, offset) - digits);

	if (nr < 4)
		buf_fill(s->out, '0', 4 - nr);
	buf_add(s->out, digits, nr);
	buf_adds(s->out, ": ");
}

void raw_line(struct summary *s, uint64_t offset, const char *kind)
{
	raw_start(s, offset);
	buf_adds(s->out, kind);
	buf_adds(s->out, ": ");
}

void raw_event(struct summary *s, const struct trace_event *event)
{
	buf_adds(s->out, event ? "Event 0x" : "Event unknown");
	if (event)
		buf_hex(s->out, event->id);
}

void raw_event_line(struct summary *s, uint64_t offset, const char *kind,
		    const struct trace_event *event)
{
	raw_line(s, offset, kind);
	raw_event(s, event);
}

void raw_time_line(struct summary *s, uint64_t offset, uint64_t time_ns)
{
	if (s->raw->has_time && s->raw->time_ns == time_ns)
		return;
	raw_line(s, offset, "Time");
	buf_u64(s->out, time_ns);
	buf_addc(s->out, '\n');
	s->raw->has_time = true;
	s->raw->time_ns = time_ns;
}

void raw_add(struct summary *s, uint32_t event, const struct raw_amount *amount)
{
	s->raw->printed[event].raw += amount->raw;
	s->raw->printed[event].base += amount->base;
}

struct raw_amount raw_less(const struct raw_amount *a, const struct raw_amount *b)
{
	return (struct raw_amount){a->raw - b->raw, a->base - b->base};
}

/* A residual can be negative. */
static void add_signed(struct buf *out, uint64_t n)
{
	buf_adds(out, (int64_t)n < 0 ? "-" : "");
	buf_u64(out, (int64_t)n < 0 ? -n : n);
}

struct raw_last *raw_last(struct summary *s, uint32_t event, uint32_t instance)
{
	return &s->raw->last[(size_t)event * PROFILE_MAX_PARTS + instance];
}

void raw_count_line(struct summary *s, uint64_t offset, uint32_t event,
		    const struct raw_amount *count)
{
	raw_event_line(s, offset, "Count", &s->facts->events[event]);
	buf_adds(s->out, ", ");
	add_signed(s->out, count->raw);
	if (s->facts->events[event].kind == EVENT_SHARE) {
		buf_adds(s->out, " of ");
		add_signed(s->out, count->base);
	}
	buf_addc(s->out, '\n');
}

void raw_count(struct summary *s, uint64_t offset, uint32_t event, uint32_t instance,
	       const struct raw_amount *at)
{
	struct raw_last *last = raw_last(s, event, instance);
	struct raw_amount count = raw_less(at, &last->at);

	if (last->is_there) {
		raw_add(s, event, &count);
		raw_count_line(s, offset, event, &count);
	}
	*last = (struct raw_last){true, *at};
}
