/*
 * Reads a trace frame by frame. A frame is checked, and unpacked, before it is returned; after
 * damage the next whole frame is found by its sync word. Reads with pread into one buffer, because
 * mmap raises SIGBUS when a file shrinks. Must not know what is in a frame, except the end.
 */
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "trace/fields.h"
#include "trace/format.h"
#include "trace/reader_internal.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	READ_AHEAD_BYTES = 64 << 10,
	READ_HEADER_BYTES = 256, /* where most frames are passed over */
	RESYNC_MAX_BYTES =
	    4 * TRACE_FRAME_MAX_BYTES, /* a sparse file can be endless: stop searching */
	WASTE_BASE_BYTES = 2 * TRACE_FRAME_MAX_BYTES,
	WASTE_FACTOR = 4,
};

static const char ends_inside[] = "the file ends inside a frame";

/* Moves the window of a file to at; it has len bytes or more. -ENODATA: the file became shorter. */
static int load(struct trace_reader *r, uint64_t at, size_t len)
{
	uint64_t left = r->size - at;
	size_t want = len > r->read_ahead ? len : r->read_ahead;
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

int trace_reader_view(struct trace_reader *r, uint64_t at, size_t len, const uint8_t **out)
{
	int rc = 0;

	if (at < r->window_at || at + len > r->window_at + r->window_bytes)
		rc = load(r, at, len);
	if (rc == 0)
		*out = r->window + (at - r->window_at);
	return rc;
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
		return ends_inside;
	/* Checksums take time, and a hostile file may be full of sync words that each claim half of
	 * it. The bytes spent on false frames are limited in proportion to the position: reading is
	 * linear. */
	if (r->wasted_bytes > WASTE_BASE_BYTES + WASTE_FACTOR * at)
		return "too many false frames before it";
	return NULL;
}

static bool is_intact(const uint8_t *p, const struct trace_frame_bytes *h)
{
	static const uint8_t zeros[8];
	const uint8_t *payload = p + TRACE_FRAME_HEADER_BYTES;
	uint32_t crc = crc32c(0, p + offsetof(struct trace_frame_bytes, kind), 8);

	return crc32c(crc, payload, h->length) == h->crc &&
	       memcmp(payload + h->length, zeros, -h->length % 8) == 0;
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

static bool is_omitted(const struct trace_reader *r, uint16_t kind)
{
	return kind < 64 && r->omitted >> kind & 1;
}

/* 1 */
static int omit(struct trace_frame *f)
{
	f->is_packed = true;
	f->length = 0;
	return 1;
}

/* 1; 0: no frame can be there: *why; -errno. */
static int view_header(struct trace_reader *r, uint64_t at, struct trace_frame_bytes *h,
		       const char **why)
{
	const uint8_t *p;
	int rc;

	*why = ends_inside;
	if (r->size - at < TRACE_FRAME_HEADER_BYTES)
		return 0;
	*why = "the file became shorter";
	rc = trace_reader_view(r, at, TRACE_FRAME_HEADER_BYTES, &p);
	if (rc)
		return rc == -ENODATA ? 0 : rc;
	memcpy(h, p, sizeof(*h));
	*h = (struct trace_frame_bytes){le32toh(h->sync), le16toh(h->kind), le16toh(h->flags),
					le32toh(h->length), le32toh(h->crc)};
	*why = header_fault(r, at, h);
	return !*why;
}

int trace_reader_check(struct trace_reader *r, uint64_t at, struct trace_frame *out, uint64_t *end,
		       const char **why)
{
	struct trace_frame_bytes h = {0};
	const uint8_t *p;
	uint64_t total;
	int rc = view_header(r, at, &h, why);

	if (rc != 1)
		return rc;
	total = trace_frame_total_bytes(h.length);
	*why = "the file became shorter";
	rc = trace_reader_view(r, at, (size_t)total, &p);
	if (rc)
		return rc == -ENODATA ? 0 : rc;
	*why = "checksum or padding is wrong";
	if (!is_intact(p, &h)) {
		r->wasted_bytes += total;
		return 0;
	}
	*end = at + total;
	*out = (struct trace_frame){h.kind, at, p + TRACE_FRAME_HEADER_BYTES, h.length, false};
	*why = "a compressed frame that cannot be decompressed";
	if (!(h.flags & TRACE_FRAME_PACKED))
		return 1;
	return is_omitted(r, h.kind) ? omit(out) : unpack(r, out);
}

static int read_error(const struct trace_reader *r, int rc, struct err *e)
{
	return err_set_at(e, rc, r->name, 0, 0, "cannot be read: %s", io_reason(rc));
}

/* code: that of *e. */
static int report_damage(struct trace_reader *r, int code, uint64_t start, const char *why,
			 struct err *e)
{
	r->damaged = true;
	err_set_at(e, code, r->name, 0, 0,
		   "damaged at offset %" PRIu64 ": %s; %" PRIu64 " bytes skipped", start, why,
		   r->at - start);
	return -EILSEQ;
}

/* Skips to the next whole frame, or to the end, and reports it. */
static int skip_damage(struct trace_reader *r, const char *why, struct err *e)
{
	uint64_t start = r->at, at = start + 8, end;
	struct trace_frame f;
	const char *ignored;
	bool is_end = why == ends_inside && r->size >= r->file_bytes;
	int rc = 0;

	for (; at < r->size && at - start < RESYNC_MAX_BYTES; at += 8) {
		rc = trace_reader_check(r, at, &f, &end, &ignored);
		if (rc)
			break;
	}
	if (rc < 0)
		return read_error(r, rc, e);
	r->at = rc ? at : r->size;
	return report_damage(r, is_end && !rc ? -ENODATA : -EILSEQ, start, why, e);
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

bool trace_begins_iteration(const struct trace_frame *f, uint32_t *iteration)
{
	struct cursor c;

	cursor_init(&c, f->payload, f->length);
	*iteration = cursor_le32(&c);
	return f->kind == TRACE_FRAME_ITERATION && cursor_ok(&c);
}

/* The index names another iteration than the one that begins here: it is skipped. */
static int refuse_part(struct trace_reader *r, struct err *e)
{
	uint64_t start = r->at;
	char why[64];

	r->at = r->size;
	snprintf(why, sizeof(why), "iteration %" PRIu32 " does not start there", r->part.iteration);
	return report_damage(r, -EILSEQ, start, why, e);
}

/* The frame fits the selected part: its iteration begins at the start of the part and nowhere else.
 */
static bool is_selected(const struct trace_reader *r, const struct trace_frame *f)
{
	uint32_t iteration;
	bool is_begin = trace_begins_iteration(f, &iteration);

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

	if (r->at >= r->size && r->is_in_head) { /* the shared frames precede the selected part */
		r->is_in_head = false;
		r->at = r->part.from;
		r->size = r->part.to < r->file_bytes ? r->part.to : r->file_bytes;
		if (!is_first_part(&r->part))
			r->damaged = false;
	}
	if (r->at >= r->size)
		return r->feed ? r->feed->next(r->feed_arg, out, e) : 0;
	rc = trace_reader_check(r, r->at, &f, &end, &why);
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

void trace_reader_omit(struct trace_reader *r, enum trace_frame_kind kind)
{
	r->omitted |= UINT64_C(1) << kind;
}

bool trace_reader_pass_over(struct trace_reader *r, uint16_t kind)
{
	struct trace_frame_bytes h = {0};
	const char *why;

	if (r->feed || r->is_segment || r->at >= r->size)
		return false;
	r->read_ahead = READ_HEADER_BYTES;
	if (view_header(r, r->at, &h, &why) != 1 || h.kind != kind)
		return false;
	r->at += trace_frame_total_bytes(h.length);
	r->nr_frames++;
	r->end_agrees = false;
	return true;
}

uint64_t trace_reader_offset(const struct trace_reader *r)
{
	return r->feed ? UINT64_MAX : r->at;
}

bool trace_reader_pass_to(struct trace_reader *r, uint64_t offset, uint64_t nr_frames)
{
	if (r->feed || offset % 8 || offset < r->at || offset > r->size)
		return false;
	r->at = offset;
	r->nr_frames += nr_frames;
	r->end_agrees = false;
	return true;
}

uint64_t trace_reader_bytes(const struct trace_reader *r)
{
	bool is_in_part = r->has_part && !r->is_in_head;

	if (r->feed)
		return r->feed->bytes(r->feed_arg);
	return is_in_part ? r->at - (r->part.from - r->part.head_bytes) : r->at;
}

bool trace_reader_skip_to(struct trace_reader *r, uint64_t bytes)
{
	if (r->feed || r->has_part || r->is_segment || bytes % 8 || bytes < r->header_bytes ||
	    bytes > r->size)
		return false;
	r->at = bytes;
	return true;
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

static int damaged_header(const struct trace_reader *r, struct err *e)
{
	return err_set_at(e, -EINVAL, r->name, 0, 0, "the header of this trace is damaged");
}

/* The first len bytes are not those of a trace, or are too few. */
static int refuse_header(const struct trace_reader *r, const uint8_t *p, size_t len, struct err *e)
{
	const int code = len < TRACE_HEADER_BYTES ? -ENODATA : -EINVAL;

	if (len == 0 || memcmp(p, TRACE_MAGIC, len < 8 ? len : 8) != 0)
		err_set_at(e, code, r->name, 0, 0, "is not a cpuperf trace");
	else
		err_set_at(e, code, r->name, 0, 0,
			   "the trace is truncated: %zu of the %d bytes of its header", len,
			   TRACE_HEADER_BYTES);
	return -EINVAL;
}

/* Magic, length, checksum, byte order and version, in this order. */
static int check_header(struct trace_reader *r, struct trace_header_bytes *h, struct err *e)
{
	size_t len = r->size < TRACE_HEADER_BYTES ? (size_t)r->size : TRACE_HEADER_BYTES;
	const uint8_t *p = NULL;
	uint32_t crc;
	int rc = len ? trace_reader_view(r, 0, len, &p) : 0;

	if (rc)
		return read_error(r, rc, e);
	if (len < TRACE_HEADER_BYTES || memcmp(p, TRACE_MAGIC, 8) != 0)
		return refuse_header(r, p, len, e);
	memcpy(h, p, sizeof(*h));
	len = le16toh(h->header_bytes);
	if (len < TRACE_HEADER_BYTES || len > TRACE_HEADER_MAX_BYTES || len % 8 || len > r->size)
		return damaged_header(r, e);
	rc = trace_reader_view(r, 0, len, &p);
	if (rc)
		return read_error(r, rc, e);
	memcpy(&crc, p + len - sizeof(crc), sizeof(crc));
	if (crc32c(0, p, len - sizeof(crc)) != le32toh(crc) ||
	    le32toh(h->byte_order) != TRACE_BYTE_ORDER)
		return damaged_header(r, e);
	if (le16toh(h->version) == TRACE_VERSION &&
	    !(le32toh(h->incompatible) & ~(uint32_t)TRACE_INCOMPATIBLE_KNOWN))
		return 0;
	err_set_at(e, -EPROTO, r->name, 0, 0,
		   "made by a newer cpuperf: format version %u, features %#x; this one reads "
		   "version %u, features %#x",
		   (unsigned)le16toh(h->version), (unsigned)le32toh(h->incompatible), TRACE_VERSION,
		   TRACE_INCOMPATIBLE_KNOWN);
	err_hint(e, "read it with the cpuperf_print it was recorded with, or with a newer one");
	return -EPROTO;
}

/* Finishes opening: sets *out, or closes the reader. */
static int start(struct trace_reader *r, struct trace_reader **out, struct err *e)
{
	struct trace_header_bytes h = {0};
	int rc = check_header(r, &h, e);

	if (rc) {
		trace_reader_close(r);
		return rc;
	}
	r->head = (struct trace_head){.iteration = le32toh(h.iteration),
				      .trace = le32toh(h.trace),
				      .cpu = le32toh(h.cpu),
				      .nr_traces = le32toh(h.nr_traces)};
	memcpy(r->head.session_id, h.session_id, sizeof(h.session_id));
	memcpy(r->head.boot_id, h.boot_id, sizeof(h.boot_id));
	trace_copy_clean(r->head.host, sizeof(r->head.host), (const char *)h.host,
			 strnlen((const char *)h.host, sizeof(h.host)));
	trace_copy_clean(r->head.machine, sizeof(r->head.machine), (const char *)h.machine,
			 strnlen((const char *)h.machine, sizeof(h.machine)));
	r->at = r->header_bytes = le16toh(h.header_bytes);
	r->file_bytes = r->size;
	r->is_segment = le32toh(h.incompatible) & TRACE_FEATURE_SEGMENT;
	r->known_flags = le32toh(h.incompatible) & TRACE_FEATURE_ZSTD ? TRACE_FRAME_PACKED : 0;
	*out = r;
	return 0;
}

/* NULL and *e: no memory. */
static struct trace_reader *reader_new(const char *name, struct err *e)
{
	struct trace_reader *r = mem_zalloc(sizeof(*r));

	if (r) {
		r->fd = -1;
		r->read_ahead = READ_AHEAD_BYTES;
		r->name = mem_strdup(name);
		if (r->name)
			return r;
	}
	mem_free(r);
	err_set_at(e, -ENOMEM, name, 0, 0, "no memory to read it");
	return NULL;
}

int trace_reader_open_mem(const void *data, size_t len, const char *name, struct trace_reader **out,
			  struct err *e)
{
	struct trace_reader *r = reader_new(name, e);

	if (!r)
		return -ENOMEM;
	r->window = data;
	r->window_bytes = len;
	r->size = len;
	return start(r, out, e);
}

int trace_reader_open_feed(const struct trace_head *head, const void *frames, size_t len,
			   const struct trace_feed *feed, void *arg, const char *name,
			   struct trace_reader **out)
{
	struct trace_reader *r = reader_new(name, NULL);

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

int trace_reader_open(int dirfd, const char *path, struct trace_reader **out, struct err *e)
{
	struct trace_reader *r = reader_new(path, e);
	struct stat st;
	int rc;

	if (!r)
		return -ENOMEM;
	rc = r->fd = io_open_linked(dirfd, path, 0, &st);
	if (rc == -EINVAL || rc == -EISDIR) /* others may block, or have no end */
		rc = err_set_at(e, -EINVAL, r->name, 0, 0,
				"is not a cpuperf trace: not a regular file");
	else if (rc < 0)
		read_error(r, rc, e);
	if (rc < 0) {
		trace_reader_close(r);
		return rc;
	}
	r->size = (uint64_t)st.st_size;
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
