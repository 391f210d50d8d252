/*
 * A trace file that grows frame by frame. It ends with a whole frame at all times: after a failed
 * write it is truncated. Must not read records, nor decide when to write frames.
 */
#include "trace/file.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "trace/fields.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace/internal.h"
#include "trace/pack.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace_file {
	char *path; /* owned */
	int fd;
	struct trace_packer *packer;     /* borrowed; NULL: none */
	uint64_t bytes;                  /* whole frames */
	uint64_t nr_frames, nr_readings; /* so far */
	int error;                       /* of a write; sticky */
	bool is_short;                   /* a write failed */
	bool is_torn;                    /* its remains could not be truncated */
	uint64_t max_bytes;              /* of all but the end frame: RLIMIT_FSIZE */
	struct trace_part *part;         /* owned; of a segment: where its iterations begin */
	size_t nr_parts;
};

static int write_error(const struct trace_file *f, int rc, struct err *e)
{
	return err_set_at(e, rc, f->path, 0, 0, "cannot be written: %s", strerror(-rc));
}

bool trace_file_retry(struct trace_file *f)
{
	bool is_full = f->error == -ENOSPC || f->error == -EFBIG || f->error == -EDQUOT;

	if (!is_full || f->is_torn)
		return false;
	f->error = 0;
	return true;
}

/* Writes whole frames: all of them, or none and never again. Changes piece. */
static int put(struct trace_file *f, uint64_t nr_frames, struct iovec *piece, size_t nr,
	       struct err *e)
{
	uint64_t bytes = f->bytes;

	for (size_t i = 0; i < nr; i++)
		bytes += piece[i].iov_len;
	f->error = bytes > f->max_bytes ? -EFBIG : io_writev_full(f->fd, piece, nr);
	if (f->error) {
		/* Remove a partial frame. If that fails too, readers skip it. */
		int rc;

		do
			rc = sys()->ftruncate(f->fd, (off_t)f->bytes);
		while (rc == -EINTR);
		f->is_torn = rc || sys()->lseek(f->fd, (off_t)f->bytes, SEEK_SET) < 0;
		f->is_short = true;
		return write_error(f, f->error, e);
	}
	f->bytes = bytes;
	f->nr_frames += nr_frames;
	return 0;
}

/* Packs one of our own frames if the packer takes its kind, and it becomes smaller; returns its
 * length. */
static size_t pack_frame(struct trace_packer *p, char *at)
{
	struct trace_frame_bytes h;
	struct iovec payload = {.iov_base = at + sizeof(h)};
	uint16_t kind;
	size_t total;

	memcpy(&h, at, sizeof(h));
	payload.iov_len = le32toh(h.length);
	total = (size_t)trace_frame_total_bytes((uint32_t)payload.iov_len);
	kind = le16toh(h.kind);
	if (!trace_packer_takes(p, kind) || !trace_packer_add(p, kind, &payload, 1))
		buf_add(&p->out, at, total);
	return total;
}

/* Packs the gathered frames into the packer's memory, or leaves them as they are if that is too
 * small. */
static struct iovec pack_all(struct trace_packer *p, const struct trace_writer *w)
{
	size_t at = w->has_header ? TRACE_HEADER_BYTES : 0;

	buf_reset(&p->out);
	buf_add(&p->out, w->own.bytes.data, at);
	while (at < w->own.bytes.len)
		at += pack_frame(p, w->own.bytes.data + at);
	if (buf_error(&p->out))
		return (struct iovec){w->own.bytes.data, w->own.bytes.len};
	return (struct iovec){p->out.data, p->out.len};
}

/* Writes the gathered frames; the writer may be reused then. */
static int put_gathered(struct trace_file *f, struct trace_writer *w, struct err *e)
{
	struct iovec all = {w->own.bytes.data, w->own.bytes.len};
	int rc;

	if (f->packer)
		all = pack_all(f->packer, w);
	rc = put(f, w->own.nr, &all, 1, e);
	f->nr_readings += rc ? 0 : w->nr_readings;
	trace_writer_more(w);
	return rc;
}

/* RLIMIT_FSIZE, less the size of an end frame. */
static uint64_t find_max_bytes(void)
{
	enum { END_BYTES = 16 << 10 };
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur > 2 * END_BYTES ? limit.rlim_cur - END_BYTES : limit.rlim_cur;
}

static struct trace_file *file_new(const char *path, struct trace_packer *packer)
{
	struct trace_file *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->path = mem_strdup(path);
	f->fd = -1;
	f->max_bytes = find_max_bytes();
	f->packer = packer;
	if (f->path)
		return f;
	mem_free(f);
	return NULL;
}

/* Closes and frees it. Returns what close returned: a network file system may report a full disk
 * only now. */
static int file_close(struct trace_file *f, struct err *e)
{
	int rc = f->fd >= 0 ? sys()->close(f->fd) : 0;

	if (rc == -EINTR)
		rc = 0; /* it is closed */
	if (rc)
		write_error(f, rc, e);
	mem_free(f->part);
	mem_free(f->path);
	mem_free(f);
	return rc;
}

static int no_memory(const char *path, struct err *e)
{
	return err_set_at(e, -ENOMEM, path, 0, 0, "no memory to write it");
}

/* Takes ownership of f. */
static int create(struct trace_file *f, struct trace_writer *w, int dirfd, const char *name,
		  uint32_t features, struct trace_file **out, struct err *e)
{
	const char *path = f->path;
	int rc;

	if (features)
		trace_writer_features(w, features);
	rc = io_create(dirfd, name, path, trace_is_trace, &f->fd, e);
	if (rc == 0) {
		rc = put_gathered(f, w, e);
		if (rc)
			sys()->unlinkat(dirfd, name, 0);
	}
	if (rc) {
		file_close(f, NULL);
		return rc;
	}
	*out = f;
	return 0;
}

int trace_file_create(struct trace_writer *w, int dirfd, const char *name, const char *path,
		      struct trace_packer *packer, struct trace_file **out, struct err *e)
{
	struct trace_file *f;
	int rc = trace_writer_check(w, true, path, e);

	if (rc)
		return rc;
	f = file_new(path, packer);
	return f ? create(f, w, dirfd, name, packer ? TRACE_FEATURE_ZSTD : 0, out, e)
		 : no_memory(path, e);
}

int trace_segment_create(struct trace_writer *w, int dirfd, const char *name, const char *path,
			 struct trace_file **out, struct err *e)
{
	struct trace_file *f;
	int rc = trace_writer_check(w, true, path, e);

	if (rc)
		return rc;
	f = file_new(path, NULL);
	if (f)
		f->part = mem_calloc(TRACE_SEGMENT_ITERATIONS, sizeof(*f->part));
	if (!f || !f->part) {
		trace_file_abandon(f);
		return no_memory(path, e);
	}
	return create(f, w, dirfd, name, TRACE_FEATURE_SEGMENT, out, e);
}

enum { RECORDS_PIECES = 4 }; /* frame header, head of the payload, the ring's two parts */

/* Prepends a frame header to the pieces, or packs them into one piece; returns the number of
 * pieces. */
static size_t close_records(struct trace_packer *p, struct iovec *piece)
{
	if (p && trace_packer_takes(p, TRACE_FRAME_RECORDS)) {
		buf_reset(&p->out);
		if (trace_packer_add(p, TRACE_FRAME_RECORDS, piece + 1, RECORDS_PIECES - 1)) {
			*piece = (struct iovec){p->out.data, p->out.len};
			return 1;
		}
	}
	trace_frame_header(piece->iov_base, TRACE_FRAME_RECORDS, 0, piece + 1, RECORDS_PIECES - 1);
	return RECORDS_PIECES; /* no padding: all are multiples of 8 */
}

int trace_file_records(struct trace_file *f, enum trace_ring ring, uint32_t cpu,
		       const struct trace_span *span, struct err *e)
{
	uint8_t header[TRACE_FRAME_HEADER_BYTES];
	uint32_t head[TRACE_RECORDS_HEAD_BYTES / 4] = {htole32(ring), htole32(cpu)};
	struct iovec piece[RECORDS_PIECES] = {
	    {header, sizeof(header)},
	    {head, sizeof(head)},
	    {(void *)span->part[0], span->len[0]},
	    {(void *)span->part[1], span->len[1]},
	};

	if (f->error)
		return write_error(f, f->error, e);
	if ((span->len[0] | span->len[1]) % 8 || span->len[0] > TRACE_FILE_RECORDS_BYTES ||
	    span->len[1] > TRACE_FILE_RECORDS_BYTES - span->len[0])
		return err_set_at(e, -EINVAL, f->path, 0, 0, "incomplete records");
	if (!span->len[0] && !span->len[1])
		return 0;
	return put(f, 1, piece, close_records(span->is_urgent ? NULL : f->packer, piece), e);
}

/* Adds a frame that is not packed, of one structure. */
static void add_plain(struct buf *out, enum trace_frame_kind kind, const void *from)
{
	uint8_t header[TRACE_FRAME_HEADER_BYTES];
	BUF_AUTO(payload, TRACE_FRAME_MAX_BYTES);

	trace_encode(&payload, trace_frame_fields[kind], from);
	trace_frame_header(header, kind, 0, &(struct iovec){payload.data, payload.len}, 1);
	buf_add(out, header, sizeof(header));
	buf_add(out, payload.data, payload.len);
	buf_fill(out, 0, -payload.len % 8);
	trace_buf_fail(out, buf_error(&payload));
}

bool trace_packer_kallsyms(struct trace_packer *p, const struct trace_symbol_range *range,
			   const char *text, size_t len, const void **frames, size_t *frames_len)
{
	const struct iovec lines = {(void *)text, len};

	buf_reset(&p->out);
	if (range)
		add_plain(&p->out, TRACE_FRAME_RANGE, range);
	if (!trace_packer_add(p, TRACE_FRAME_KALLSYMS, &lines, 1) || buf_error(&p->out))
		return false;
	*frames = p->out.data;
	*frames_len = p->out.len;
	return true;
}

bool trace_packer_file_parts(struct trace_packer *p, const struct trace_file_parts *parts,
			     const void **frame, size_t *frame_len)
{
	BUF_AUTO(head, TRACE_FRAME_MAX_BYTES);
	struct iovec piece[2];

	trace_encode(&head, trace_file_parts_fields, parts);
	trace_encode_list(&head, &trace_range_list, parts->part, parts->nr);
	piece[0] = (struct iovec){head.data, head.len};
	piece[1] = (struct iovec){(void *)parts->bytes, parts->len};
	buf_reset(&p->out);
	if (buf_error(&head) ||
	    head.len + parts->len > TRACE_FRAME_MAX_BYTES - TRACE_FRAME_HEADER_BYTES ||
	    !trace_packer_add(p, TRACE_FRAME_FILE_PARTS, piece, 2))
		return false;
	*frame = p->out.data;
	*frame_len = p->out.len;
	return true;
}

/* The bytes of the frame that these begin with; 0: there is none of its kind, with these flags. */
static size_t frame_bytes(const void *frame, size_t len, uint16_t flags, uint16_t *kind)
{
	struct trace_frame_bytes h;
	uint64_t bytes;

	if (len < sizeof(h) || len > TRACE_FRAME_MAX_BYTES)
		return 0;
	memcpy(&h, frame, sizeof(h));
	*kind = le16toh(h.kind);
	bytes = trace_frame_total_bytes(le32toh(h.length));
	return le32toh(h.sync) == TRACE_FRAME_SYNC && le16toh(h.flags) == flags && bytes <= len
		   ? (size_t)bytes
		   : 0;
}

/* The number of frames: what is packed, and its range before it. 0: they are others. */
static uint64_t nr_packed(const void *frames, size_t len)
{
	uint16_t kind = 0;
	size_t range = frame_bytes(frames, len, 0, &kind), bytes;

	if (range && kind != TRACE_FRAME_RANGE)
		return 0;
	bytes =
	    frame_bytes((const uint8_t *)frames + range, len - range, TRACE_FRAME_PACKED, &kind);
	return bytes && bytes == len - range &&
		       (kind == TRACE_FRAME_KALLSYMS || (!range && kind == TRACE_FRAME_FILE_PARTS))
		   ? 1 + (range > 0)
		   : 0;
}

int trace_file_packed(struct trace_file *f, const void *frames, size_t len, struct err *e)
{
	struct iovec all = {(void *)frames, len};
	const uint64_t nr = f->packer ? nr_packed(frames, len) : 0;

	if (f->error)
		return write_error(f, f->error, e);
	if (!nr)
		return err_set_at(e, -EINVAL, f->path, 0, 0, "this is no packed frame for it");
	return put(f, nr, &all, 1, e);
}

int trace_file_append(struct trace_file *f, struct trace_writer *w, struct err *e)
{
	int rc;

	if (f->error)
		return write_error(f, f->error, e);
	rc = trace_writer_check(w, false, f->path, e);
	if (rc || !w->own.bytes.len)
		return rc;
	return put_gathered(f, w, e);
}

/* On a full disk the frames that were gathered may not fit, and the small end frame still does. */
static int append_end(struct trace_file *f, struct trace_writer *w,
		      const struct trace_totals *totals, struct err *e)
{
	struct trace_totals t = *totals;
	int rc = trace_file_append(f, w, e), end;

	if (rc && !trace_file_retry(f))
		return rc;
	t.nr_frames = f->nr_frames;
	t.nr_readings = f->nr_readings;
	t.bytes = f->bytes;
	t.is_short = f->is_short;
	trace_writer_end(w, &t);
	end = trace_file_append(f, w, rc ? NULL : e);
	return rc ?: end;
}

int trace_file_finish(struct trace_file *f, struct trace_writer *w,
		      const struct trace_totals *totals, struct err *e)
{
	int before = f->error, rc, closed;

	if (before)
		write_error(f, before, e);
	trace_file_retry(f);
	f->max_bytes = UINT64_MAX;
	rc = append_end(f, w, totals, e);
	closed = file_close(f, e);
	return before ?: rc ?: closed;
}

bool trace_segment_is_full(const struct trace_file *f)
{
	return f->nr_parts == TRACE_SEGMENT_ITERATIONS || f->bytes >= TRACE_SEGMENT_BYTES;
}

/* Totals of the end frame are those of the iteration, except its offset in the file. */
int trace_segment_add(struct trace_file *f, struct trace_writer *w, uint32_t iteration,
		      const struct trace_totals *totals, struct err *e)
{
	struct trace_totals t = *totals;
	uint64_t from = f->bytes;
	int rc;

	if (f->nr_parts == TRACE_SEGMENT_ITERATIONS)
		return err_set_at(e, -EFBIG, f->path, 0, 0, "no room for a further iteration");
	t.nr_frames = w->own.nr;
	t.nr_readings = w->nr_readings;
	t.bytes = from + w->own.bytes.len;
	trace_writer_end(w, &t);
	rc = trace_file_append(f, w, e);
	if (rc == 0)
		f->part[f->nr_parts++] = (struct trace_part){.iteration = iteration, .from = from};
	return rc;
}

int trace_segment_finish(struct trace_file *f, struct trace_writer *w, struct err *e)
{
	int rc, closed;

	trace_writer_more(w);
	trace_writer_index(w, f->bytes, f->part, f->nr_parts);
	rc = trace_file_append(f, w, e);
	closed = file_close(f, e);
	return rc ? rc : closed;
}

void trace_file_abandon(struct trace_file *f)
{
	if (f)
		file_close(f, NULL);
}

uint64_t trace_file_bytes(const struct trace_file *f)
{
	return f->bytes;
}

int trace_file_replace(struct trace_file *f, int dirfd, const char *name, const char *temporary,
		       int *fd, uint64_t bytes, uint64_t nr_dropped)
{
	struct stat own, named;
	int rc = f->error ?: sys()->fstatat(f->fd, "", &own, AT_EMPTY_PATH)
			  ?: sys()->fstatat(dirfd, name, &named, AT_SYMLINK_NOFOLLOW);

	if (rc == 0 && (own.st_dev != named.st_dev || own.st_ino != named.st_ino))
		rc = -ESTALE;
	rc = rc ?: sys()->renameat2(dirfd, temporary, dirfd, name, 0);
	if (rc)
		return rc;
	sys()->close(f->fd);
	f->fd = *fd;
	f->bytes = bytes;
	f->nr_frames -= nr_dropped;
	*fd = -1;
	return 0;
}
