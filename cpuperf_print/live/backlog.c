/*
 * A reader that is too slow reads the newest, and no more of what nobody sees as the last seconds.
 */
#include "live/backlog.h"

#include <string.h>

static struct backlog_range *newest(struct backlog *b)
{
	return b->nr_waiting ? &b->waiting[b->nr_waiting - 1] : NULL;
}

bool backlog_is_full(const struct backlog *b)
{
	return b->nr_waiting == BACKLOG_MAX_RANGES;
}

void backlog_add(struct backlog *b, uint32_t first, uint32_t end, uint64_t begun_ns)
{
	struct backlog_range *r = newest(b);

	if (first < end && r && r->end == first)
		r->end = end;
	else if (first < end)
		b->waiting[b->nr_waiting++] = (struct backlog_range){first, end, begun_ns};
	b->end = end;
}

uint32_t backlog_take(struct backlog *b, uint32_t most, uint32_t *first)
{
	struct backlog_range *r = newest(b);
	uint32_t nr;

	if (!r)
		return 0;
	nr = r->end - r->first < most ? r->end - r->first : most;
	r->end -= nr;
	*first = r->end;
	b->nr_waiting -= r->first == r->end;
	b->nr_read += nr;
	for (uint32_t i = *first; i < *first + nr; i++)
		if (b->last[i % BACKLOG_LAST] <= i)
			b->last[i % BACKLOG_LAST] = i + 1;
	return nr;
}

static bool is_too_slow(const struct backlog *b, uint32_t from)
{
	for (size_t i = 0; i < b->nr_waiting; i++) {
		const struct backlog_range *r = &b->waiting[i];
		const uint32_t first = r->first > b->history ? r->first : b->history;

		if (first < r->end && first < from)
			return true;
	}
	return false;
}

void backlog_drop(struct backlog *b, uint32_t from)
{
	size_t nr = 0;

	if (!is_too_slow(b, from))
		return;
	for (size_t i = 0; i < b->nr_waiting; i++) {
		struct backlog_range r = b->waiting[i];
		const uint32_t first = r.first > from ? r.first : from;

		b->nr_dropped += (first < r.end ? first : r.end) - r.first;
		r.first = first;
		if (r.first < r.end)
			b->waiting[nr++] = r;
	}
	b->nr_waiting = nr;
}

uint32_t backlog_nr_waiting(const struct backlog *b)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < b->nr_waiting; i++)
		nr += b->waiting[i].end - b->waiting[i].first;
	return nr;
}

uint32_t backlog_recent_from(const struct backlog *b, uint32_t nr)
{
	const uint32_t from = b->end > nr ? b->end - nr : 0;
	uint32_t after = 0;

	for (size_t i = 0; i < BACKLOG_LAST; i++)
		after = b->last[i] > after ? b->last[i] : after;
	return after && after - 1 < from ? after - 1 : from;
}

uint32_t backlog_nr_read_from(const struct backlog *b, uint32_t from)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < BACKLOG_LAST; i++)
		nr += b->last[i] > from;
	return nr;
}
