/*
 * A window over the file, moved with pread: with mmap a file that is truncated while it is read
 * would kill the process. Must not know what records are for.
 */
#include "import/walk.h"

#include "base/io.h"
#include "base/mem.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

void import_walk_fini(struct import_walk *w)
{
	mem_free(w->memory);
	w->memory = NULL;
	w->window_bytes = 0;
}

int import_walk_load(struct import_walk *w)
{
	uint64_t left = w->end - w->at;
	size_t want = left < IMPORT_WINDOW_BYTES ? (size_t)left : IMPORT_WINDOW_BYTES;
	ssize_t got;

	if (!w->memory)
		w->memory = mem_alloc(IMPORT_HEADER_BYTES + IMPORT_WINDOW_BYTES);
	if (!w->memory)
		return -ENOMEM;
	w->window_bytes = 0;
	w->window_at = w->at;
	got = io_pread_full(w->fd, w->memory + IMPORT_HEADER_BYTES, want, w->at);
	if (got < 0)
		return (int)got;
	w->window_bytes = (size_t)got;
	if ((size_t)got < want) {
		w->end = w->at + (uint64_t)got;
		w->is_short = true;
	}
	return got > 0;
}

static size_t in_window(const struct import_walk *w)
{
	uint64_t from = w->at - w->window_at;

	return w->at >= w->window_at && from < w->window_bytes ? w->window_bytes - (size_t)from : 0;
}

static void read_header(const struct import_walk *w, struct import_record *out)
{
	uint32_t type;
	uint16_t misc, size;

	out->p = w->memory + IMPORT_HEADER_BYTES + (w->at - w->window_at);
	out->at = w->at;
	memcpy(&type, out->p, sizeof(type));
	memcpy(&misc, out->p + 4, sizeof(misc));
	memcpy(&size, out->p + 6, sizeof(size));
	out->type = w->is_big ? be32toh(type) : le32toh(type);
	out->misc = w->is_big ? be16toh(misc) : le16toh(misc);
	out->size = w->is_big ? be16toh(size) : le16toh(size);
}

bool import_walk_has(const struct import_walk *w)
{
	struct import_record r;

	if (in_window(w) < IMPORT_HEADER_BYTES)
		return false;
	read_header(w, &r);
	return in_window(w) >= r.size;
}

/* Sees to it that len bytes are in the window: 1, -ENODATA, -errno. */
static int ensure(struct import_walk *w, size_t len, bool *is_moved)
{
	int rc;

	if (in_window(w) >= len)
		return 1;
	if (w->end - w->at < len)
		return -ENODATA;
	*is_moved = true;
	rc = import_walk_load(w);
	if (rc < 0)
		return rc;
	return in_window(w) >= len ? 1 : -ENODATA;
}

int import_walk_peek(struct import_walk *w, struct import_record *out, bool *is_moved)
{
	int rc;

	*is_moved = false;
	if (w->at >= w->end)
		return 0;
	rc = ensure(w, IMPORT_HEADER_BYTES, is_moved);
	if (rc < 0)
		return rc;
	read_header(w, out);
	if (out->size < IMPORT_HEADER_BYTES)
		return -EILSEQ;
	rc = ensure(w, out->size, is_moved);
	if (rc == 1 && *is_moved)
		read_header(w, out);
	return rc;
}

/* Source: struct perf_record_header_tracing_data, perf_record_auxtrace in
 * tools/lib/perf/include/perf/event.h. A payload that is cut ends the file. */
uint64_t import_walk_payload(const struct import_walk *w, const struct import_record *r)
{
	uint64_t left = w->end - w->at, size = 0;
	uint32_t size_32;

	if (r->type == IMPORT_TRACING_DATA && r->size >= 12) {
		memcpy(&size_32, r->p + 8, sizeof(size_32));
		size = w->is_big ? be32toh(size_32) : le32toh(size_32);
	} else if (r->type == IMPORT_AUXTRACE && r->size >= 16) {
		memcpy(&size, r->p + 8, sizeof(size));
		size = w->is_big ? be64toh(size) : le64toh(size);
	}
	if (size > left)
		return left;
	size = (size + 7) & ~UINT64_C(7);
	return size < left ? size : left;
}
