/*
 * The iterations of a segment: by its index, or by a scan of its frames.
 */
#include "base/mem.h"
#include "trace/fields.h"
#include "trace/format.h"
#include "trace/reader_internal.h"

#include <errno.h>
#include <string.h>

void trace_parts_fini(struct trace_parts *p)
{
	mem_free(p->item);
	*p = (struct trace_parts){0};
}

/* The items are in order, from the frame after the shared ones to the index. 1; 0: they are
 * invalid; -ENOMEM. */
static int decode_index(const struct trace_frame *f, struct trace_parts *out)
{
	uint64_t least = TRACE_HEADER_BYTES;
	struct cursor c;
	void *items;
	int rc;

	cursor_init(&c, f->payload, f->length);
	rc = trace_decode_list(&c, &trace_index_list, &items, &out->nr);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	out->item = items;
	for (size_t i = 0; i < out->nr; i++) {
		struct trace_part *p = &out->item[i];

		if (p->from < least || p->from >= f->offset || p->from % 8 ||
		    out->item[0].from > UINT32_MAX || (i && p[-1].iteration >= p->iteration))
			return 0;
		p->head_bytes = (uint32_t)out->item[0].from;
		p->to = f->offset;
		if (i)
			p[-1].to = p->from;
		least = p->from + 8;
	}
	return 1;
}

/* The index is the last frame, and its last 8 bytes are its own offset. 1: *out is filled; 0: there
 * is no valid index; -ENOMEM. */
static int read_index(struct trace_reader *r, struct trace_parts *out)
{
	struct trace_frame f = {0};
	const char *ignored;
	const uint8_t *p;
	uint64_t at, end = 0;
	struct cursor c;
	int rc = trace_reader_view(r, r->file_bytes - 8, 8, &p);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	cursor_init(&c, p, 8);
	at = cursor_le64(&c);
	if (at % 8 || at < r->header_bytes || at >= r->file_bytes)
		return 0;
	rc = trace_reader_check(r, at, &f, &end, &ignored);
	if (rc != 1)
		return rc == -ENOMEM ? rc : 0;
	if (f.kind != TRACE_FRAME_INDEX || end != r->file_bytes)
		return 0;
	rc = decode_index(&f, out);
	if (rc != 1)
		trace_parts_fini(out);
	return rc;
}

/* The scan of a segment. */
struct part_scan {
	struct trace_parts *out;
	size_t room;
	uint64_t head_bytes;
	bool is_head, is_open; /* still in the shared frames; the last iteration has not ended */
};

static int add_part(struct part_scan *s, const struct trace_part *part)
{
	struct trace_parts *p = s->out;
	void *grown = mem_grow(p->item, p->nr, &s->room, sizeof(*p->item));

	if (!grown)
		return -ENOMEM;
	p->item = grown;
	p->item[p->nr++] = *part;
	return 0;
}

/* f: the frame at from; NULL: damage, perhaps of the index. Damage ends an iteration: the frames
 * after it may belong to another one. 0 or -errno. */
static int scan_part(struct part_scan *s, const struct trace_frame *f, bool is_index, uint64_t from,
		     uint64_t to)
{
	struct trace_parts *p = s->out;
	uint32_t iteration;

	if (s->is_head && f && to <= UINT32_MAX &&
	    (f->kind == TRACE_FRAME_INFO || f->kind == TRACE_FRAME_EVENTS)) {
		s->head_bytes = to;
		return 0;
	}
	s->is_head = false;
	if (f && trace_begins_iteration(f, &iteration) &&
	    (!p->nr || p->item[p->nr - 1].iteration < iteration)) {
		s->is_open = true;
		if (p->nr == TRACE_MAX_ITEMS)
			return -EFBIG;
		return add_part(s, &(struct trace_part){.iteration = iteration,
							.head_bytes = (uint32_t)s->head_bytes,
							.from = from,
							.to = to});
	}
	if (s->is_open)
		p->item[p->nr - 1].to = to;
	else if (!f && is_index)
		p->index_is_damaged = true;
	else if (!f || f->kind != TRACE_FRAME_INDEX) {
		p->first_stray = p->strays ? p->first_stray : from;
		p->strays += to - from;
	}
	if (!f || f->kind == TRACE_FRAME_END)
		s->is_open = false;
	return 0;
}

/* The last bytes of the file match the start of an index frame. */
static bool begins_index(struct trace_reader *r, uint64_t at)
{
	static const uint8_t begin[] = {'#', 'F', 'R', 'M', TRACE_FRAME_INDEX, 0};
	uint64_t left = r->file_bytes - at;
	size_t len = left < sizeof(begin) ? (size_t)left : sizeof(begin);
	const uint8_t *p;

	return trace_reader_view(r, at, len, &p) == 0 && memcmp(p, begin, len) == 0;
}

static int scan_parts(struct trace_reader *r, struct trace_parts *out)
{
	struct part_scan s = {.out = out, .head_bytes = r->header_bytes, .is_head = true};
	int rc = 0;

	while (rc == 0) {
		struct trace_frame f = {0};
		uint64_t from = r->at;
		int got = trace_reader_next(r, &f, NULL);

		if (got != 1 && got != -EILSEQ)
			return got == -ENOMEM ? got : 0;
		rc = scan_part(&s, got == 1 ? &f : NULL,
			       got != 1 && r->at == r->file_bytes && begins_index(r, from), from,
			       r->at);
	}
	return rc;
}

int trace_reader_parts(struct trace_reader *r, struct trace_parts *out)
{
	struct trace_parts p = {0};
	int rc = read_index(r, &p) ?: scan_parts(r, &p);

	p.has_stray_end = p.strays && p.first_stray + p.strays == r->file_bytes;
	if (rc < 0) {
		trace_parts_fini(&p);
		return rc;
	}
	*out = p;
	return 0;
}
