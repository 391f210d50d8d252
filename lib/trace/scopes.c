/*
 * Each list has records of one size, so ranges are found by halving. A caller is an earlier scope:
 * so callers end, whatever the bytes are.
 */
#include "trace/scopes.h"

#include "base/order.h"

#include <endian.h>
#include <string.h>

enum {
	WORD_BYTES = sizeof(uint32_t),
	HEAD_BYTES = 3 * WORD_BYTES,
	RANGE_BYTES = 2 * WORD_BYTES,
	SCOPE_BYTES = 3 * WORD_BYTES,
	FUNCTION_BYTES = 2 * WORD_BYTES,
};

/* --- writing */

static size_t lists(struct trace_scopes *s, struct buf *list[5])
{
	struct buf *const all[] = {&s->ranges, &s->scopes, &s->functions, &s->texts, &s->all};

	memcpy(list, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

void trace_scopes_fini(struct trace_scopes *s)
{
	struct buf *list[5];

	for (size_t i = lists(s, list); i > 0; i--)
		buf_fini(list[i - 1]);
}

void trace_scopes_begin(struct trace_scopes *s)
{
	struct buf *list[5];

	for (size_t i = lists(s, list); i > 0; i--) {
		list[i - 1]->max_bytes = TRACE_SCOPES_BYTES;
		buf_reset(list[i - 1]);
	}
}

uint32_t trace_scopes_function(struct trace_scopes *s, const char *name, const char *file)
{
	const uint32_t number = (uint32_t)(s->functions.len / FUNCTION_BYTES);

	buf_le32(&s->functions, (uint32_t)s->texts.len);
	buf_add(&s->texts, name, strlen(name) + 1);
	buf_le32(&s->functions, (uint32_t)s->texts.len);
	buf_add(&s->texts, file, strlen(file) + 1);
	return number;
}

uint32_t trace_scopes_add(struct trace_scopes *s, uint32_t function, uint32_t line, uint32_t caller)
{
	buf_le32(&s->scopes, function);
	buf_le32(&s->scopes, line);
	buf_le32(&s->scopes, caller);
	return (uint32_t)(s->scopes.len / SCOPE_BYTES);
}

static uint32_t word(const void *bytes, size_t i)
{
	uint32_t v;

	memcpy(&v, (const char *)bytes + i * WORD_BYTES, sizeof(v));
	return le32toh(v);
}

void trace_scopes_range(struct trace_scopes *s, uint32_t end, uint32_t scope)
{
	struct buf *r = &s->ranges;

	if (r->len && word(r->data, r->len / WORD_BYTES - 1) == scope)
		buf_cut(r, r->len - RANGE_BYTES);
	buf_le32(r, end);
	buf_le32(r, scope);
}

bool trace_scopes_end(struct trace_scopes *s, const uint8_t **out, uint32_t *out_bytes)
{
	struct buf *list[5];
	int error = 0;

	buf_le32(&s->all, (uint32_t)(s->ranges.len / RANGE_BYTES));
	buf_le32(&s->all, (uint32_t)(s->scopes.len / SCOPE_BYTES));
	buf_le32(&s->all, (uint32_t)(s->functions.len / FUNCTION_BYTES));
	for (size_t i = 0, nr = lists(s, list); i < nr; i++) {
		error = error ?: buf_error(list[i]);
		if (list[i] != &s->all)
			buf_add(&s->all, buf_str(list[i]), list[i]->len);
	}
	*out = (const uint8_t *)buf_str(&s->all);
	*out_bytes = (uint32_t)s->all.len;
	return !error && !buf_error(&s->all);
}

/* --- reading */

struct view {
	const uint8_t *ranges, *scopes, *functions;
	uint32_t nr_ranges, nr_scopes, nr_functions;
	const char *texts;
	size_t texts_len;
};

static bool open_view(const uint8_t *bytes, size_t len, struct view *v)
{
	uint64_t behind = HEAD_BYTES;

	if (len < HEAD_BYTES || len > TRACE_SCOPES_BYTES)
		return false;
	*v = (struct view){.nr_ranges = word(bytes, 0),
			   .nr_scopes = word(bytes, 1),
			   .nr_functions = word(bytes, 2)};
	v->ranges = bytes + behind;
	behind += (uint64_t)v->nr_ranges * RANGE_BYTES;
	if (behind > len)
		return false;
	v->scopes = bytes + behind;
	behind += (uint64_t)v->nr_scopes * SCOPE_BYTES;
	if (behind > len)
		return false;
	v->functions = bytes + behind;
	behind += (uint64_t)v->nr_functions * FUNCTION_BYTES;
	if (behind >= len || bytes[len - 1])
		return false;
	v->texts = (const char *)bytes + behind;
	v->texts_len = len - behind;
	return true;
}

static bool read_function(const struct view *v, uint32_t function, uint32_t line,
			  struct trace_scope *out)
{
	uint32_t name, file;

	if (function >= v->nr_functions)
		return false;
	name = word(v->functions + (size_t)function * FUNCTION_BYTES, 0);
	file = word(v->functions + (size_t)function * FUNCTION_BYTES, 1);
	if (name >= v->texts_len || file >= v->texts_len)
		return false;
	*out = (struct trace_scope){v->texts + name, v->texts + file, line, function};
	return true;
}

static bool read_scope(const struct view *v, uint32_t number, struct trace_scope *out,
		       uint32_t *caller)
{
	const uint8_t *scope = v->scopes + (size_t)(number - 1) * SCOPE_BYTES;

	*caller = word(scope, 2);
	return *caller < number && read_function(v, word(scope, 0), word(scope, 1), out);
}

bool trace_scopes_first(const uint8_t *bytes, size_t len, struct trace_scope *out)
{
	struct view v;

	return open_view(bytes, len, &v) && read_function(&v, 0, 0, out);
}

size_t trace_scopes_at(const uint8_t *bytes, size_t len, uint64_t distance,
		       struct trace_scope out[TRACE_SCOPES_MAX_DEPTH])
{
	uint32_t number = 0;
	size_t range, nr = 0;
	struct view v;

	if (!open_view(bytes, len, &v))
		return 0;
	range = ORDER_FIRST(i, v.nr_ranges, word(v.ranges + i * RANGE_BYTES, 0) > distance);
	if (range < v.nr_ranges)
		number = word(v.ranges + range * RANGE_BYTES, 1);
	if (number > v.nr_scopes)
		return 0;
	for (; number; nr++)
		if (nr == TRACE_SCOPES_MAX_DEPTH || !read_scope(&v, number, &out[nr], &number))
			return 0;
	return nr;
}
