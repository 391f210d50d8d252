/*
 * Two passes over the file: the first one collects tasks, the second one copies. Frames that do not
 * change are copied as bytes.
 */
#include "trace/shorten.h"

#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace/internal.h"
#include "trace/pack.h"
#include "trace/reader.h"
#include "trace/record.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { COPY_BYTES = 256 << 10, MAX_FILES = 1 << 20, MAX_PATH_BYTES = 64 << 20 };
enum { MAX_MARKING = 1 << 16, MAX_OPEN = 64 };

/* What dropped frames of a thread and object leave: the beginnings of open regions, and how many
 * marks were lost. */
struct marking {
	uint32_t pid, tid, object; /* key */
	uint32_t nr;               /* depths in use */
	uint64_t lost;
	struct trace_mark open[MAX_OPEN]; /* kind 0: none */
};

/* The last build-id of a file, and its interval so far. The key has no padding. */
struct identity {
	uint64_t inode, generation;
	uint32_t major, minor;
	uint32_t path, id_len;
	uint8_t id[TRACE_MAX_BUILD_ID_BYTES];
	uint32_t is_used; /* key ends before */
	uint64_t from_ns, to_ns;
};

struct work {
	struct trace_copy *copy;
	struct trace_lives lives;
	struct trace_layout layouts[2]; /* of records; index: they were made from /proc */
	struct trace_writer *writer;    /* build-ids */
	struct buf needed;              /* records of a frame */
	struct dict paths;              /* const char * */
	struct dict identities;         /* struct identity */
	struct dict marking;            /* struct marking */
	uint64_t from_ns;               /* when the first remaining sample may be */
	uint8_t *room;                  /* COPY_BYTES */
	uint64_t copied;                /* of the file: in the copy, or dropped */
};

static int put(struct trace_copy *c, struct iovec *piece, size_t nr)
{
	uint64_t bytes = 0;
	int rc;

	for (size_t i = 0; i < nr; i++)
		bytes += piece[i].iov_len;
	rc = io_writev_full(c->fd, piece, nr);
	c->bytes += rc ? 0 : bytes;
	return rc;
}

/* Copies bytes from … to of the file. */
static int put_range(struct trace_copy *c, uint8_t *room, uint64_t from, uint64_t to)
{
	int rc = 0;

	while (from < to && rc == 0) {
		struct iovec piece = {room, to - from < COPY_BYTES ? to - from : COPY_BYTES};
		ssize_t got = io_pread_full(c->from_fd, room, piece.iov_len, from);

		if (got < 0)
			return (int)got;
		rc = (size_t)got == piece.iov_len ? put(c, &piece, 1) : -ENODATA;
		from += piece.iov_len;
	}
	return rc;
}

/* Copies up to the frame, and skips it. */
static int drop(struct work *w, const struct trace_frame *f, uint64_t end)
{
	int rc = put_range(w->copy, w->room, w->copied, f->offset);

	w->copied = end;
	w->copy->nr_dropped++;
	return rc;
}

/* A frame that cannot be decoded is copied whole. */
static int valid(int rc)
{
	return rc == -EINVAL ? 0 : rc;
}

/* Calls fn for each record of the frame. 0, or the first other result. */
static int each_record(struct work *w, const struct trace_frame *f,
		       int (*fn)(struct work *w, const struct trace_record *r, bool is_made))
{
	enum trace_ring ring;
	const uint8_t *bytes;
	uint32_t cpu;
	size_t len;
	int rc = trace_decode_records(f, &ring, &cpu, &bytes, &len);

	for (size_t at = 0; at < len && rc == 0;) {
		bool is_made = ring == TRACE_RING_MADE;
		struct trace_record r;

		rc = trace_record_decode(&w->layouts[is_made], bytes + at, len - at, &r);
		if (rc == 0)
			rc = fn(w, &r, is_made);
		at += r.len;
	}
	return rc;
}

static int collect_record(struct work *w, const struct trace_record *r, bool is_made)
{
	return trace_lives_add(&w->lives, r, is_made);
}

static int collect(struct work *w, const struct trace_frame *f, uint64_t end)
{
	(void)end;
	return f->kind == TRACE_FRAME_RECORDS ? valid(each_record(w, f, collect_record)) : 0;
}

static int filter_record(struct work *w, const struct trace_record *r, bool is_made)
{
	(void)is_made;
	if (trace_lives_needs(&w->lives, r))
		buf_add(&w->needed, r->bytes, r->len);
	return buf_error(&w->needed);
}

static int put_records(struct work *w, const struct trace_frame *f)
{
	struct trace_packer *p = w->copy->how->packer;
	uint8_t header[TRACE_FRAME_HEADER_BYTES];
	struct iovec piece[] = {{header, sizeof(header)},
				{(void *)f->payload, TRACE_RECORDS_HEAD_BYTES},
				{w->needed.data, w->needed.len}};

	w->copy->nr_dropped--;
	if (p) {
		struct iovec packed;

		buf_reset(&p->out);
		if (trace_packer_add(p, TRACE_FRAME_RECORDS, piece + 1, 2)) {
			packed = (struct iovec){p->out.data, p->out.len};
			return put(w->copy, &packed, 1);
		}
	}
	trace_frame_header(header, TRACE_FRAME_RECORDS, 0, piece + 1, 2);
	return put(w->copy, piece, 3); /* no padding: records are multiples of 8 */
}

static int copy_records(struct work *w, const struct trace_frame *f, uint64_t end)
{
	int rc;

	buf_reset(&w->needed);
	rc = each_record(w, f, filter_record);
	if (rc || TRACE_RECORDS_HEAD_BYTES + w->needed.len == f->length)
		return valid(rc);
	rc = drop(w, f, end);
	return rc || !w->needed.len ? rc : put_records(w, f);
}

static int copy_cmdline(struct work *w, const struct trace_frame *f, uint64_t end)
{
	struct trace_cmdline c;
	int rc = trace_decode_cmdline(f, &c);

	if (rc || c.flags & TRACE_CMDLINE_IS_COMMAND ||
	    trace_lives_needs_process(&w->lives, c.pid, c.to_ns))
		return valid(rc);
	return drop(w, f, end);
}

static int put_gathered(struct work *w)
{
	const void *bytes;
	struct iovec piece = {0};
	int rc = trace_writer_bytes(w->writer, &bytes, &piece.iov_len);

	piece.iov_base = (void *)bytes;
	w->copy->nr_dropped -= w->writer->own.nr;
	rc = rc ?: put(w->copy, &piece, 1);
	trace_writer_more(w->writer);
	return rc;
}

/* Writes the build-id of a file with its interval so far. */
static int put_identity(struct work *w, const struct identity *i)
{
	const char *path = dict_text(&w->paths, i->path);

	trace_writer_build_id(w->writer, &(struct trace_build_id){
					     .major = i->major,
					     .minor = i->minor,
					     .inode = i->inode,
					     .inode_generation = i->generation,
					     .from_ns = i->from_ns,
					     .to_ns = i->to_ns,
					     .id = i->id,
					     .id_len = i->id_len,
					     .path = path,
					     .path_len = (uint32_t)strlen(path),
					 });
	return w->writer->own.bytes.len < COPY_BYTES ? 0 : put_gathered(w);
}

/* A later interval of the same build-id extends an earlier one. */
static int copy_build_id(struct work *w, const struct trace_frame *f, uint64_t end)
{
	struct identity key = {0}, *i;
	struct trace_build_id b;
	int rc = trace_decode_build_id(f, &b);

	if (rc || memchr(b.path, '\0', b.path_len))
		return valid(rc);
	key.path = dict_add_text(&w->paths, b.path, b.path_len);
	key.inode = b.inode;
	key.generation = b.inode_generation;
	key.major = b.major;
	key.minor = b.minor;
	key.id_len = b.id_len;
	memcpy(key.id, b.id, b.id_len);
	i = key.path == DICT_NONE ? NULL : dict_get(&w->identities, &key);
	if (!i)
		return -ENOMEM;
	rc = drop(w, f, end);
	if (i->is_used && (b.from_ns > i->to_ns || b.to_ns < i->from_ns)) {
		rc = rc ?: put_identity(w, i);
		i->is_used = 0;
	}
	if (!i->is_used || b.from_ns < i->from_ns)
		i->from_ns = b.from_ns;
	if (!i->is_used || b.to_ns > i->to_ns)
		i->to_ns = b.to_ns;
	i->is_used = 1;
	return rc;
}

static int put_identities(struct work *w)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->identities.nr && rc == 0; i++)
		rc = put_identity(w, dict_at(&w->identities, i));
	return rc ?: put_gathered(w);
}

/* What only a region is known by: other marks hold for what follows. */
static bool is_of_region(const struct trace_mark *m)
{
	return m->kind == TRACE_MARK_BEGIN || m->kind == TRACE_MARK_BEGIN_NUMBER ||
	       m->kind == TRACE_MARK_END || m->kind == TRACE_MARK_INSTANT ||
	       m->kind == TRACE_MARK_INT || m->kind == TRACE_MARK_COUNT;
}

static bool are_needed(const struct work *w, const struct trace_marks *m)
{
	for (size_t i = 0; i < m->nr; i++)
		if (m->mark[i].time_ns >= w->from_ns || !is_of_region(&m->mark[i]))
			return true;
	return false;
}

/* Deeper regions than there is room for: theirs are lost with the frame. */
static void follow(struct marking *to, const struct trace_marks *m)
{
	to->lost += m->lost;
	for (size_t i = 0; i < m->nr; i++) {
		const struct trace_mark *mark = &m->mark[i];
		bool is_end = mark->kind == TRACE_MARK_END;

		if (mark->depth >= MAX_OPEN || (!is_end && mark->kind != TRACE_MARK_BEGIN &&
						mark->kind != TRACE_MARK_BEGIN_NUMBER))
			continue;
		while (to->nr < mark->depth)
			to->open[to->nr++].kind = 0;
		to->nr = mark->depth + !is_end;
		if (!is_end)
			to->open[mark->depth] = *mark;
	}
}

static int put_marking(struct work *w, struct marking *of)
{
	struct trace_mark open[MAX_OPEN];
	struct trace_marks m = {
	    .pid = of->pid, .tid = of->tid, .object = of->object, .lost = of->lost, .mark = open};

	for (uint32_t i = 0; i < of->nr; i++)
		if (of->open[i].kind)
			open[m.nr++] = of->open[i];
	of->nr = 0;
	of->lost = 0;
	if (!m.nr && !m.lost)
		return 0;
	trace_writer_marks(w->writer, &m);
	return put_gathered(w);
}

/* Of regions that ended before the remaining samples nothing is needed. */
static int copy_marks(struct work *w, const struct trace_frame *f, uint64_t end)
{
	struct marking key = {0}, *of;
	struct trace_marks m;
	int rc = trace_decode_marks(f, &m);

	if (rc)
		return valid(rc);
	key.pid = m.pid;
	key.tid = m.tid;
	key.object = m.object;
	of = dict_at(&w->marking, dict_find(&w->marking, &key));
	if (are_needed(w, &m)) {
		if (of && (of->nr || of->lost)) { /* they precede this frame */
			rc = put_range(w->copy, w->room, w->copied, f->offset);
			w->copied = f->offset;
			rc = rc ?: put_marking(w, of);
		}
	} else {
		of = dict_get(&w->marking, &key);
		if (of) /* else it stays: at the limit of threads */
			follow(of, &m);
		rc = of ? drop(w, f, end) : w->marking.nr < w->marking.max ? -ENOMEM : 0;
	}
	trace_marks_fini(&m);
	return rc;
}

static int put_markings(struct work *w)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->marking.nr && rc == 0; i++)
		rc = put_marking(w, dict_at(&w->marking, i));
	return rc;
}

static int copy_frame(struct work *w, const struct trace_frame *f, uint64_t end)
{
	switch (f->kind) {
	case TRACE_FRAME_RECORDS:
		return copy_records(w, f, end);
	case TRACE_FRAME_CMDLINE:
		return copy_cmdline(w, f, end);
	case TRACE_FRAME_BUILD_ID:
		return copy_build_id(w, f, end);
	case TRACE_FRAME_LONG_MARKS:
	case TRACE_FRAME_MARKS:
		return copy_marks(w, f, end);
	default:
		return 0;
	}
}

static int walk(struct work *w,
		int (*step)(struct work *w, const struct trace_frame *f, uint64_t end),
		struct err *e)
{
	const struct trace_shorten *how = w->copy->how;
	struct trace_reader *r;
	int rc = trace_reader_open(how->dirfd, how->name, &r, e);

	if (rc)
		return rc;
	while (rc == 0 && trace_reader_bytes(r) < w->copy->from) {
		struct trace_frame f;

		rc = trace_reader_next(r, &f, e);
		rc = rc == 1 ? step(w, &f, trace_reader_bytes(r)) : rc ?: -ENODATA;
	}
	if (rc == 0 && trace_reader_bytes(r) != w->copy->from)
		rc = -EILSEQ;
	trace_reader_close(r);
	return rc;
}

static int copy_all(struct work *w, struct err *e)
{
	const struct trace_shorten *how = w->copy->how;
	int rc = walk(w, collect, e) ?: trace_lives_decide(&w->lives, how->periods, how->nr_periods)
				     ?: walk(w, copy_frame, e)
				     ?: put_range(w->copy, w->room, w->copied, w->copy->from)
				     ?: put_markings(w) ?: put_identities(w);

	return rc ?: io_sync(w->copy->fd);
}

void trace_shorten_drop(struct trace_copy *c)
{
	if (c->fd >= 0)
		sys()->unlinkat(c->how->dirfd, c->how->temporary, 0);
	io_close(&c->fd);
	io_close(&c->from_fd);
}

static int failed(const struct trace_shorten *how, int rc, struct err *e)
{
	return err_set_at(e, rc, how->path, 0, 0, "cannot be shortened: %s", strerror(-rc));
}

/* The copy must not take the room that the session needs meanwhile. */
static bool has_room(const struct trace_copy *c)
{
	struct statvfs v;

	return fstatvfs(c->how->dirfd, &v) != 0 || (uint64_t)v.f_bavail * v.f_frsize >= 2 * c->from;
}

static int open_files(struct trace_copy *c, struct err *e)
{
	const struct trace_shorten *how = c->how;
	struct stat st;

	if (!has_room(c))
		return -ENOSPC;
	c->from_fd = io_open_regular(how->dirfd, how->name, O_NOFOLLOW, &st);
	return c->from_fd < 0
		   ? c->from_fd
		   : io_create(how->dirfd, how->temporary, how->path, trace_is_trace, &c->fd, e);
}

int trace_shorten_begin(struct trace_copy *c, const struct trace_shorten *how, uint64_t bytes,
			struct err *e)
{
	struct work w = {.copy = c};
	int rc;

	*c = (struct trace_copy){.how = how, .fd = -1, .from_fd = -1, .from = bytes};
	trace_layout_side_band(&w.layouts[0], false);
	trace_layout_side_band(&w.layouts[1], true);
	buf_init(&w.needed, TRACE_FRAME_MAX_BYTES);
	dict_init_texts(&w.paths, sizeof(const char *), MAX_FILES, MAX_PATH_BYTES);
	dict_init(&w.identities, sizeof(struct identity), DICT_KEY(struct identity, id), MAX_FILES);
	dict_init(&w.marking, sizeof(struct marking), DICT_KEY(struct marking, object),
		  MAX_MARKING);
	w.from_ns = how->nr_periods ? UINT64_MAX : 0;
	for (size_t i = 0; i < how->nr_periods; i++)
		w.from_ns =
		    how->periods[i].from_ns < w.from_ns ? how->periods[i].from_ns : w.from_ns;
	w.room = mem_alloc(COPY_BYTES);
	w.writer = trace_writer_new();
	rc = w.room && w.writer ? open_files(c, e) : -ENOMEM;
	if (rc == 0) {
		trace_writer_more(w.writer);
		rc = copy_all(&w, e);
	}
	mem_free(w.room);
	trace_writer_free(w.writer);
	buf_fini(&w.needed);
	dict_fini(&w.paths);
	dict_fini(&w.identities);
	dict_fini(&w.marking);
	trace_lives_fini(&w.lives);
	if (rc)
		trace_shorten_drop(c);
	return rc ? failed(how, rc, e) : 0;
}

int trace_shorten_end(struct trace_copy *c, struct trace_file *f, struct err *e)
{
	const struct trace_shorten *how = c->how;
	uint8_t *room = mem_alloc(COPY_BYTES);
	int rc = room ? put_range(c, room, c->from, trace_file_bytes(f)) : -ENOMEM;

	mem_free(room);
	rc = rc
		 ?: trace_file_replace(f, how->dirfd, how->name, how->temporary, &c->fd, c->bytes,
				       c->nr_dropped);
	if (rc)
		trace_shorten_drop(c);
	io_close(&c->from_fd);
	return rc ? failed(how, rc, e) : 0;
}
