/*
 * Reads a trace frame by frame. A frame is checked, and unpacked, before it is returned; after
 * damage the next whole frame is found by its sync word. Reads with pread into one buffer, because
 * mmap raises SIGBUS when a file shrinks. Must not know what is in a frame, except the end.
 */
#include "trace/reader.h"

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"
#include "trace/format.h"
#include "trace/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum {
	READ_AHEAD_BYTES = 64 << 10,
	RESYNC_MAX_BYTES =
	    4 * TRACE_FRAME_MAX_BYTES, /* a sparse file can be endless: stop searching */
	WASTE_BASE_BYTES = 2 * TRACE_FRAME_MAX_BYTES,
	WASTE_FACTOR = 4,
};

struct trace_reader {
	char *name;        /* owned; for messages */
	int fd;            /* -1: in memory */
	uint64_t size, at; /* size: where reading ends */
	uint64_t header_bytes;
	const uint8_t *window; /* the bytes in memory: window_bytes from window_at */
	uint64_t window_at;
	size_t window_bytes;
	uint8_t *memory; /* owned; of the window of a file */
	size_t memory_bytes;
	struct trace_unpacker unpacker;
	uint16_t known_flags;  /* of frames, in this file */
	uint64_t wasted_bytes; /* checksummed or unpacked for what was not a frame */
	uint64_t nr_frames, nr_readings;
	bool end_agrees, damaged, is_short;
	struct trace_head head;
	const struct trace_feed
	    *feed; /* of the frames after those in memory; NULL: there are none */
	void *feed_arg;
	bool is_segment, has_part, is_in_head; /* is_in_head: the part itself is still to come */
	struct trace_part part;                /* the selected one */
	uint64_t file_bytes;
};

/* Moves the window of a file to at; it has len bytes or more. -ENODATA: the file became shorter. */
static int load(struct trace_reader *r, uint64_t at, size_t len)
{
	uint64_t left = r->size - at;
	size_t want = len > READ_AHEAD_BYTES ? len : READ_AHEAD_BYTES;
	ssize_t got;

	if (want > left)
		want = (size_t)left;
	r->window_bytes = 0;
	if (want > r->memory_bytes) {
		uint8_t *p = mem_resize(r->memory, want);

		if (!p)
			return -ENOMEM;
		r->memory = p;
		r->memory_bytes = want;
	}
	got = io_pread_full(r->fd, r->memory, want, at);
	if (got < 0)
		return (int)got;
	r->window = r->memory;
	r->window_at = at;
	r->window_bytes = (size_t)got;
	if ((size_t)got < want)
		r->size = at + (uint64_t)got;
	return (size_t)got < len ? -ENODATA : 0;
}

/* *out points to len bytes at at, which must lie within the file's size; valid until the next view.
 */
static int view(struct trace_reader *r, uint64_t at, size_t len, const uint8_t **out)
{
	int rc = 0;

	if (at < r->window_at || at + len > r->window_at + r->window_bytes)
		rc = load(r, at, len);
	if (rc == 0)
		*out = r->window + (at - r->window_at);
	return rc;
}

static bool is_zero(const uint8_t *p, size_t len)
{
	while (len && !p[len - 1])
		len--;
	return len == 0;
}

/*
 * Checksums take time, and a hostile file may be full of sync words that each claim half of it. The
 * bytes spent on false frames are limited in proportion to the position: reading is linear.
 */
static bool waste_is_spent(const struct trace_reader *r, uint64_t at)
{
	return r->wasted_bytes > WASTE_BASE_BYTES + WASTE_FACTOR * at;
}

/* Why a frame with this header cannot be at at; NULL: it can. */
static const char *header_fault(const struct trace_reader *r, uint64_t at,
				const struct trace_frame_bytes *h)
{
	uint64_t total = trace_frame_total_bytes(h->length);

	if (h->sync != TRACE_FRAME_SYNC)
		return "no frame starts there";
	if (h->flags & ~r->known_flags)
		return "a frame with unknown flags";
	if (total > TRACE_FRAME_MAX_BYTES)
		return "a frame with an impossible length";
	if (total > r->size - at)
		return "the file ends inside a frame";
	return waste_is_spent(r, at) ? "too many false frames before it" : NULL;
}

static void decode_header(const uint8_t *p, struct trace_frame_bytes *out)
{
	struct cursor c;

	cursor_init(&c, p, TRACE_FRAME_HEADER_BYTES);
	out->sync = cursor_le32(&c);
	out->kind = cursor_le16(&c);
	out->flags = cursor_le16(&c);
	out->length = cursor_le32(&c);
	out->crc = cursor_le32(&c);
}

static bool frame_is_intact(const uint8_t *p, const struct trace_frame_bytes *h)
{
	const uint8_t *payload = p + TRACE_FRAME_HEADER_BYTES;
	uint32_t crc = crc32c(0, p + offsetof(struct trace_frame_bytes, kind), 8);

	return crc32c(crc, payload, h->length) == h->crc &&
	       is_zero(payload + h->length, -h->length % 8);
}

/* Replaces the packed payload of *f by the plain one. 1; 0: it does not unpack; -ENOMEM. */
static int unpack(struct trace_reader *r, struct trace_frame *f)
{
	uint32_t length = 0;
	int rc = -EINVAL;

	if (trace_unpacked_length(f->payload, f->length, &length))
		rc = trace_unpack(&r->unpacker, f->payload, f->length, length);
	if (rc == -EINVAL) {
		/* its checksum was right, but frames can be nested: this counts as waste too */
		r->wasted_bytes += (uint64_t)f->length + length;
		return 0;
	}
	if (rc)
		return rc;
	f->is_packed = true;
	f->payload = r->unpacker.data;
	f->length = length;
	return 1;
}

/* 1: *out is the frame at at, which ends at *end; 0: there is none, because of *why; -errno. */
static int check_frame(struct trace_reader *r, uint64_t at, struct trace_frame *out, uint64_t *end,
		       const char **why)
{
	struct trace_frame_bytes h;
	const char *fault;
	const uint8_t *p;
	uint64_t total;
	int rc;

	*why = "the file ends inside a frame";
	if (r->size - at < TRACE_FRAME_HEADER_BYTES)
		return 0;
	*why = "the file became shorter";
	rc = view(r, at, TRACE_FRAME_HEADER_BYTES, &p);
	if (rc)
		return rc == -ENODATA ? 0 : rc;
	decode_header(p, &h);
	fault = header_fault(r, at, &h);
	if (fault) {
		*why = fault;
		return 0;
	}
	total = trace_frame_total_bytes(h.length);
	rc = view(r, at, (size_t)total, &p);
	if (rc)
		return rc == -ENODATA ? 0 : rc;
	*why = "checksum or padding is wrong";
	if (!frame_is_intact(p, &h)) {
		r->wasted_bytes += total;
		return 0;
	}
	*end = at + total;
	*out = (struct trace_frame){h.kind, at, p + TRACE_FRAME_HEADER_BYTES, h.length, false};
	*why = "a compressed frame that cannot be decompressed";
	return h.flags & TRACE_FRAME_PACKED ? unpack(r, out) : 1;
}

static int read_error(const struct trace_reader *r, int rc, struct err *e)
{
	err_set_at(e, rc, r->name, 0, 0, "cannot be read: %s", strerror(-rc));
	return rc;
}

/* Skips to the next whole frame, or to the end, and reports it. */
static int skip_damage(struct trace_reader *r, const char *why, struct err *e)
{
	uint64_t start = r->at, at = start + 8, end;
	struct trace_frame f;
	const char *ignored;
	int rc = 0;

	for (; at < r->size && at - start < RESYNC_MAX_BYTES; at += 8) {
		rc = check_frame(r, at, &f, &end, &ignored);
		if (rc)
			break;
	}
	if (rc < 0)
		return read_error(r, rc, e);
	r->at = rc ? at : r->size;
	r->damaged = true;
	return err_set_at(e, -EILSEQ, r->name, 0, 0,
			  "damaged at offset %" PRIu64 ": %s; %" PRIu64 " bytes skipped", start,
			  why, r->at - start);
}

static bool end_agrees(struct trace_reader *r, const struct trace_frame *f)
{
	struct trace_totals t;

	if (trace_decode_end(f, &t))
		return false;
	r->is_short |= t.is_short;
	return t.nr_frames == r->nr_frames && t.nr_readings == r->nr_readings &&
	       t.bytes == f->offset;
}

/* Updates the totals that the end frame must agree with. */
static void account(struct trace_reader *r, const struct trace_frame *f, uint64_t end)
{
	enum trace_boundary boundary;
	size_t nr;

	r->at = end;
	if (r->is_segment && f->kind == TRACE_FRAME_ITERATION)
		r->nr_frames = r->nr_readings = 0;
	r->end_agrees = f->kind == TRACE_FRAME_END && end_agrees(r, f);
	r->nr_frames++;
	if (trace_decode_readings(f, &boundary, &nr) == 0)
		r->nr_readings += nr;
}

static bool is_first_part(const struct trace_part *p)
{
	return p->from == p->head_bytes;
}

/* From the frames that all iterations share to the selected one. */
static void enter_part(struct trace_reader *r)
{
	r->is_in_head = false;
	r->at = r->part.from;
	r->size = r->part.to < r->file_bytes ? r->part.to : r->file_bytes;
	if (!is_first_part(&r->part))
		r->damaged = false;
}

static bool begins_iteration(const struct trace_frame *f, uint32_t *iteration)
{
	struct cursor c;

	cursor_init(&c, f->payload, f->length);
	*iteration = cursor_le32(&c);
	return f->kind == TRACE_FRAME_ITERATION && cursor_ok(&c);
}

/* Another iteration begins here than the index says: nothing of it is used. */
static int refuse_part(struct trace_reader *r, struct err *e)
{
	uint64_t at = r->at;

	r->at = r->size;
	r->damaged = true;
	return err_set_at(e, -EILSEQ, r->name, 0, 0,
			  "damaged at offset %" PRIu64 ": iteration %" PRIu32
			  " does not start there; %" PRIu64 " bytes skipped",
			  at, r->part.iteration, r->at - at);
}

/* The frame fits the selected part: its iteration begins at the start of the part and nowhere else.
 */
static bool is_selected(const struct trace_reader *r, const struct trace_frame *f)
{
	uint32_t iteration;
	bool is_begin = begins_iteration(f, &iteration);

	if (!r->has_part || (!is_begin && f->offset != r->part.from))
		return true;
	return is_begin && f->offset == r->part.from && iteration == r->part.iteration;
}

int trace_reader_next(struct trace_reader *r, struct trace_frame *out, struct err *e)
{
	struct trace_frame f = {0};
	const char *why;
	uint64_t end = 0;
	bool is_good;
	int rc;

	if (r->at >= r->size && r->is_in_head)
		enter_part(r);
	if (r->at >= r->size)
		return r->feed ? r->feed->next(r->feed_arg, out, e) : 0;
	rc = check_frame(r, r->at, &f, &end, &why);
	if (rc < 0)
		return read_error(r, rc, e);
	is_good = rc == 1 && is_selected(r, &f);
	if (!is_good && r->is_in_head && !is_first_part(&r->part)) {
		r->at = r->size; /* it is reported with the first part */
		return trace_reader_next(r, out, e);
	}
	if (!is_good)
		return rc ? refuse_part(r, e) : skip_damage(r, why, e);
	account(r, &f, end);
	*out = f;
	return 1;
}

uint64_t trace_reader_bytes(const struct trace_reader *r)
{
	bool is_in_part = r->has_part && !r->is_in_head;

	if (r->feed)
		return r->feed->bytes(r->feed_arg);
	return is_in_part ? r->at - (r->part.from - r->part.head_bytes) : r->at;
}

bool trace_reader_is_segment(const struct trace_reader *r)
{
	return r->is_segment;
}

int trace_reader_select(struct trace_reader *r, const struct trace_part *part, struct err *e)
{
	if (!r->is_segment || (part->from | part->head_bytes) % 8 ||
	    part->head_bytes < r->header_bytes || part->head_bytes > r->file_bytes ||
	    part->from < part->head_bytes || part->to < part->from)
		return err_set_at(e, -EINVAL, r->name, 0, 0, "has no iteration %" PRIu32 " there",
				  part->iteration);
	r->part = *part;
	r->has_part = r->is_in_head = true;
	r->damaged = r->end_agrees = false;
	r->head.iteration = part->iteration;
	r->at = r->header_bytes;
	r->size = part->head_bytes;
	return 0;
}

void trace_parts_fini(struct trace_parts *p)
{
	mem_free(p->item);
	*p = (struct trace_parts){0};
}

static int add_part(struct trace_parts *p, const struct trace_part *part)
{
	enum { FIRST = 256 };

	if (p->nr == TRACE_MAX_ITEMS)
		return -EFBIG;
	if ((p->nr & (p->nr - 1)) == 0 && (p->nr == 0 || p->nr >= FIRST)) {
		size_t cap = p->nr ? 2 * p->nr : FIRST;
		struct trace_part *item = mem_resize(p->item, cap * sizeof(*item));

		if (!item)
			return -ENOMEM;
		p->item = item;
	}
	p->item[p->nr++] = *part;
	return 0;
}

/* Decodes the next part of the index. It ends at limit until the next one is known. False: invalid.
 */
static bool decode_part(struct cursor c, struct trace_parts *p, uint64_t limit,
			struct trace_part *out)
{
	uint64_t least = p->nr ? p->item[p->nr - 1].from + 8 : TRACE_HEADER_BYTES;

	out->iteration = cursor_le32(&c);
	cursor_skip(&c, 4);
	out->from = cursor_le64(&c);
	out->to = limit;
	out->head_bytes = p->nr ? p->item[0].head_bytes : (uint32_t)out->from;
	return cursor_ok(&c) && out->from >= least && out->from < limit && out->from % 8 == 0 &&
	       (p->nr ? p->item[p->nr - 1].iteration < out->iteration
		      : out->from == out->head_bytes);
}

/* 1; 0: malformed; -ENOMEM. */
static int decode_index(const struct trace_frame *f, struct trace_parts *out)
{
	uint32_t item_bytes, nr;
	struct cursor c;

	cursor_init(&c, f->payload, f->length);
	item_bytes = cursor_le32(&c);
	nr = cursor_le32(&c);
	if (!cursor_ok(&c) || item_bytes < TRACE_INDEX_ITEM_BYTES || nr > TRACE_MAX_ITEMS ||
	    (uint64_t)item_bytes * nr > c.left)
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct trace_part part;
		struct cursor item;
		int rc;

		cursor_init(&item, cursor_bytes(&c, item_bytes), item_bytes);
		if (!decode_part(item, out, f->offset, &part))
			return 0;
		if (out->nr)
			out->item[out->nr - 1].to = part.from;
		rc = add_part(out, &part);
		if (rc)
			return rc;
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
	int rc = view(r, r->file_bytes - 8, 8, &p);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	cursor_init(&c, p, 8);
	at = cursor_le64(&c);
	if (at % 8 || at < r->header_bytes || at >= r->file_bytes)
		return 0;
	rc = check_frame(r, at, &f, &end, &ignored);
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
	uint64_t head_bytes;
	bool is_head, is_open; /* still in the shared frames; the last iteration has not ended */
};

static bool is_common(const struct trace_frame *f)
{
	return f->kind == TRACE_FRAME_INFO || f->kind == TRACE_FRAME_EVENTS;
}

static void add_stray(struct trace_parts *p, uint64_t from, uint64_t to)
{
	if (!p->strays)
		p->first_stray = from;
	p->strays += to - from;
}

/* f: the frame at from; NULL: damage, perhaps of the index. Damage ends an iteration: the frames
 * after it may belong to another one. 0 or -errno. */
static int scan_part(struct part_scan *s, const struct trace_frame *f, bool is_index, uint64_t from,
		     uint64_t to)
{
	struct trace_parts *p = s->out;
	uint32_t iteration;

	if (s->is_head && f && is_common(f) && to <= UINT32_MAX) {
		s->head_bytes = to;
		return 0;
	}
	s->is_head = false;
	if (f && begins_iteration(f, &iteration) &&
	    (!p->nr || p->item[p->nr - 1].iteration < iteration)) {
		s->is_open = true;
		return add_part(p, &(struct trace_part){.iteration = iteration,
							.head_bytes = (uint32_t)s->head_bytes,
							.from = from,
							.to = to});
	}
	if (s->is_open)
		p->item[p->nr - 1].to = to;
	else if (!f && is_index)
		p->index_is_damaged = true;
	else if (!f || f->kind != TRACE_FRAME_INDEX)
		add_stray(p, from, to);
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

	return view(r, at, len, &p) == 0 && memcmp(p, begin, len) == 0;
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
	int rc = read_index(r, &p);

	if (rc == 0)
		rc = scan_parts(r, &p);
	if (rc < 0) {
		trace_parts_fini(&p);
		return rc;
	}
	*out = p;
	return 0;
}

bool trace_reader_is_short(const struct trace_reader *r)
{
	return r->is_short;
}

bool trace_reader_is_whole(const struct trace_reader *r)
{
	if (r->feed)
		return r->feed->is_whole(r->feed_arg);
	return r->end_agrees && !r->damaged && r->at == r->size;
}

const struct trace_head *trace_reader_head(const struct trace_reader *r)
{
	return &r->head;
}

static void decode_field(struct cursor *c, char *out, size_t size)
{
	const uint8_t *p = cursor_bytes(c, size);

	memcpy(out, p, size);
	out[size] = '\0';
	str_clean(out, strlen(out));
}

/* Number and checksum of the bytes are right. */
static void decode_head(const uint8_t *p, struct trace_head *out)
{
	const struct trace_header_bytes *layout = NULL;
	struct cursor c;

	cursor_init(&c, p, TRACE_HEADER_BYTES);
	cursor_skip(&c, offsetof(struct trace_header_bytes, session_id));
	memcpy(out->session_id, cursor_bytes(&c, 16), 16);
	memcpy(out->boot_id, cursor_bytes(&c, 16), 16);
	out->iteration = cursor_le32(&c);
	out->trace = cursor_le32(&c);
	out->cpu = cursor_le32(&c);
	out->nr_traces = cursor_le32(&c);
	decode_field(&c, out->host, sizeof(layout->host));
	decode_field(&c, out->machine, sizeof(layout->machine));
}

static int damaged_header(const struct trace_reader *r, struct err *e)
{
	err_set_at(e, -EINVAL, r->name, 0, 0, "the header of this trace is damaged");
	return -EINVAL;
}

/* The incompatible ones. */
static uint32_t features(const uint8_t *p)
{
	struct cursor c;

	cursor_init(&c, p + offsetof(struct trace_header_bytes, incompatible), 4);
	return cursor_le32(&c);
}

/* Of a header whose checksum is right. */
static int check_version(const struct trace_reader *r, const uint8_t *p, struct err *e)
{
	uint32_t order, incompatible = features(p);
	uint16_t version;
	struct cursor c;

	cursor_init(&c, p + 8, TRACE_HEADER_BYTES - 8);
	order = cursor_le32(&c);
	version = cursor_le16(&c);
	if (order != TRACE_BYTE_ORDER)
		return damaged_header(r, e);
	if (version == TRACE_VERSION && !(incompatible & ~(uint32_t)TRACE_INCOMPATIBLE_KNOWN))
		return 0;
	err_set_at(e, -EPROTO, r->name, 0, 0,
		   "made by a newer cpuperf: format version %u, features %#x; this one reads "
		   "version %u, features %#x",
		   (unsigned)version, (unsigned)incompatible, TRACE_VERSION,
		   TRACE_INCOMPATIBLE_KNOWN);
	err_hint(e, "read it with the cpuperf_print it was recorded with, or with a newer one");
	return -EPROTO;
}

/* The file begins with the header of a trace. */
static int check_magic(struct trace_reader *r, struct err *e)
{
	size_t n = r->size < TRACE_HEADER_BYTES ? (size_t)r->size : TRACE_HEADER_BYTES;
	const uint8_t *p;
	int rc = n ? view(r, 0, n, &p) : 0;

	if (rc)
		return read_error(r, rc, e);
	if (n == 0 || memcmp(p, TRACE_MAGIC, n < 8 ? n : 8) != 0)
		return err_set_at(e, -EINVAL, r->name, 0, 0, "is not a cpuperf trace");
	if (n < TRACE_HEADER_BYTES)
		return err_set_at(e, -EINVAL, r->name, 0, 0,
				  "the trace is truncated: %zu of the %d bytes of its header", n,
				  TRACE_HEADER_BYTES);
	return 0;
}

static size_t header_length(const uint8_t *p)
{
	struct cursor c;

	cursor_init(&c, p + offsetof(struct trace_header_bytes, header_bytes), 2);
	return cursor_le16(&c);
}

/* Length and checksum; *out points to the header. */
static int check_header(struct trace_reader *r, const uint8_t **out, struct err *e)
{
	struct cursor crc;
	size_t len;
	int rc = view(r, 0, TRACE_HEADER_BYTES, out);

	if (rc)
		return read_error(r, rc, e);
	len = header_length(*out);
	if (len < TRACE_HEADER_BYTES || len > TRACE_HEADER_MAX_BYTES || len % 8 || len > r->size)
		return damaged_header(r, e);
	rc = view(r, 0, len, out);
	if (rc)
		return read_error(r, rc, e);
	cursor_init(&crc, *out + len - 4, 4);
	return crc32c(0, *out, len - 4) == cursor_le32(&crc) ? 0 : damaged_header(r, e);
}

/* Finishes opening: sets *out, or closes the reader. */
static int start(struct trace_reader *r, struct trace_reader **out, struct err *e)
{
	const uint8_t *p;
	int rc = check_magic(r, e);

	if (rc == 0)
		rc = check_header(r, &p, e);
	if (rc == 0)
		rc = check_version(r, p, e);
	if (rc) {
		trace_reader_close(r);
		return rc;
	}
	decode_head(p, &r->head);
	r->at = r->header_bytes = header_length(p);
	r->file_bytes = r->size;
	r->is_segment = features(p) & TRACE_FEATURE_SEGMENT;
	r->known_flags = features(p) & TRACE_FEATURE_ZSTD ? TRACE_FRAME_PACKED : 0;
	*out = r;
	return 0;
}

static struct trace_reader *reader_new(const char *name)
{
	struct trace_reader *r = mem_zalloc(sizeof(*r));

	if (!r)
		return NULL;
	r->fd = -1;
	r->name = mem_strdup(name);
	if (r->name)
		return r;
	mem_free(r);
	return NULL;
}

static int no_memory(const char *name, struct err *e)
{
	return err_set_at(e, -ENOMEM, name, 0, 0, "no memory to read it");
}

int trace_reader_open_mem(const void *data, size_t len, const char *name, struct trace_reader **out,
			  struct err *e)
{
	struct trace_reader *r = reader_new(name);

	if (!r)
		return no_memory(name, e);
	r->window = data;
	r->window_bytes = len;
	r->size = len;
	return start(r, out, e);
}

int trace_reader_open_feed(const struct trace_head *head, const void *frames, size_t len,
			   const struct trace_feed *feed, void *arg, const char *name,
			   struct trace_reader **out)
{
	struct trace_reader *r = reader_new(name);

	if (!r) {
		feed->close(arg);
		return -ENOMEM;
	}
	r->window = frames;
	r->window_bytes = len;
	r->size = len;
	r->head = *head;
	r->feed = feed;
	r->feed_arg = arg;
	*out = r;
	return 0;
}

/* Other than regular files may block, or have no end. */
static int open_file(struct trace_reader *r, int dirfd, const char *path, struct err *e)
{
	struct stat st;

	r->fd = io_open_regular(dirfd, path, 0, &st);
	if (r->fd == -EINVAL || r->fd == -EISDIR)
		return err_set_at(e, -EINVAL, r->name, 0, 0,
				  "is not a cpuperf trace: not a regular file");
	if (r->fd < 0)
		return read_error(r, r->fd, e);
	r->size = (uint64_t)st.st_size;
	return 0;
}

int trace_reader_open(int dirfd, const char *path, struct trace_reader **out, struct err *e)
{
	struct trace_reader *r = reader_new(path);
	int rc;

	if (!r)
		return no_memory(path, e);
	rc = open_file(r, dirfd, path, e);
	if (rc) {
		trace_reader_close(r);
		return rc;
	}
	return start(r, out, e);
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		sys()->close(r->fd);
	if (r->feed)
		r->feed->close(r->feed_arg);
	trace_unpacker_fini(&r->unpacker);
	mem_free(r->memory);
	mem_free(r->name);
	mem_free(r);
}
