/*
 * Records of tasks, mappings and kernel symbols as in a trace's common file: each ends in TID and
 * TIME. Records that perf made for what existed before have no time. Must not know their meaning.
 */
#include "base/mem.h"
#include "base/order.h"
#include "base/perf_abi.h"
#include "import/internal.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	TAIL_BYTES = 16,
	TASK_TIME_AT = 24, /* in FORK and EXIT */
	MAX_RECORD_BYTES = 65528,
	FRAME_BYTES = 1 << 20,
	RANGE_BYTES = 32, /* pid, tid, address, length, place in the file */
	MMAP2_BYTES = 64, /* up to the name */
	PROT_AND_FLAGS_BYTES = 8,
	SHORT_MMAP2_BYTES = IMPORT_HEADER_BYTES + MMAP2_BYTES - PROT_AND_FLAGS_BYTES,
	PROT_EXEC_ONLY = 4,
};

bool import_is_side_band(uint32_t kind)
{
	static const bool is[] = {
	    [PERF_RECORD_MMAP] = true,    [PERF_RECORD_COMM] = true,
	    [PERF_RECORD_EXIT] = true,    [PERF_RECORD_FORK] = true,
	    [PERF_RECORD_MMAP2] = true,   [PERF_RECORD_NAMESPACES] = true,
	    [PERF_RECORD_KSYMBOL] = true, [PERF_RECORD_BPF_EVENT] = true,
	    [PERF_RECORD_CGROUP] = true,  [PERF_RECORD_TEXT_POKE] = true,
	};

	return kind < sizeof(is) / sizeof(is[0]) && is[kind];
}

/* "[nf_tables]", of that or of "/lib/modules/6.1/kernel/net/netfilter/nf-tables.ko.xz"; NULL
 * without memory. */
static const char *module_name(struct import *im, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *end = strstr(name, ".ko");
	char text[64];

	if (*name == '[')
		return import_text(im, name, strlen(name));
	snprintf(text, sizeof(text), "[%.*s]", (int)(end && end - name < 60 ? end - name : 60),
		 name);
	for (char *p = text; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return import_text(im, text, strlen(text));
}

static int note_module(struct import *im, const struct trace_record *r)
{
	struct import_facts *f = &im->facts;
	void *grown;

	if (f->nr_modules == IMPORT_MAX_MODULES || !r->length)
		return 0;
	grown = mem_grow(im->modules, f->nr_modules, &im->modules_room, sizeof(*im->modules));
	if (!grown)
		return -ENOMEM;
	im->modules = grown;
	im->modules[f->nr_modules++] =
	    (struct import_module){r->start, r->length, module_name(im, r->name)};
	f->modules = im->modules;
	return 0;
}

/* The kernel's own mapping, "[kernel.kallsyms]_text": the text after the bracket is a symbol, and
 * the file offset its address. Others are of modules. */
static int note_kernel(struct import *im, const struct trace_record *r)
{
	const char *end;
	bool is_map = r->kind == PERF_RECORD_MMAP || r->kind == PERF_RECORD_MMAP2;

	if (!is_map || r->cpumode != PERF_RECORD_MISC_KERNEL)
		return 0;
	if (strncmp(r->name, "[kernel.kallsyms]", 17) != 0)
		return note_module(im, r);
	end = strchr(r->name, ']');
	if (end && end[1] && !im->facts.kernel_address) {
		im->facts.kernel_symbol = import_text(im, end + 1, strlen(end + 1));
		im->facts.kernel_address = r->offset;
	}
	return 0;
}

static void add_tail(struct buf *b, const struct trace_record *r, uint64_t time_ns)
{
	buf_le32(b, r->pid);
	buf_le32(b, r->tid);
	buf_le64(b, time_ns);
}

int import_side_add(struct import *im, const uint8_t *p, size_t len, uint64_t time_ns, uint64_t at)
{
	const struct import_event *ev = import_layout_of(im, p, len);
	const struct trace_layout l = ev ? ev->layout : (struct trace_layout){0};
	struct trace_record r;
	struct buf *b = &im->side_recorded;
	size_t body, size;

	if (trace_record_decode(&l, p, len, &r)) {
		im->nr_invalid++;
		return 0;
	}
	if (note_kernel(im, &r))
		return -ENOMEM;
	/* Without times perf's own records come first, and the program that it starts begins with
	 * an exec. */
	im->is_running |=
	    im->is_timeless && r.kind == PERF_RECORD_COMM && r.misc & PERF_RECORD_MISC_COMM_EXEC;
	if (im->is_timeless)
		time_ns = im->is_running ? at : 0;
	else if (r.has & TRACE_HAS_TIME)
		time_ns = r.time_ns;
	if (!time_ns)
		b = &im->side_made;
	body = perf_abi_body_bytes(p, len, trace_layout_id_bytes(&l)) - IMPORT_HEADER_BYTES;
	size = IMPORT_HEADER_BYTES + body + TAIL_BYTES;
	if (size > MAX_RECORD_BYTES || b->len > IMPORT_MAX_SIDE_BYTES) {
		im->has_skipped_side_band = true;
		return 0;
	}
	buf_le32(b, r.kind);
	buf_le16(b, r.misc);
	buf_le16(b, (uint16_t)size);
	buf_add(b, p + IMPORT_HEADER_BYTES, body);
	add_tail(b, &r, time_ns);
	return buf_error(b) == -ENOMEM ? -ENOMEM : 0;
}

/* Three characters of a name stand where else is a protection: below a blank, or, of perf inject,
 * the mode of a file, of two bytes; in either byte order. */
bool import_is_short_mmap2(const struct import_record *r)
{
	const uint8_t *name = r->p + SHORT_MMAP2_BYTES;

	return r->type == PERF_RECORD_MMAP2 && r->size >= SHORT_MMAP2_BYTES + 3 && name[0] >= ' ' &&
	       name[1] >= ' ' && name[2] >= ' ';
}

int import_side_add_short(struct import *im, const struct import_record *r, uint64_t time_ns)
{
	BUF_AUTO(whole, MAX_RECORD_BYTES);

	buf_le32(&whole, r->type);
	buf_le16(&whole, r->misc);
	buf_le16(&whole, (uint16_t)(r->size + PROT_AND_FLAGS_BYTES));
	buf_add(&whole, r->p + IMPORT_HEADER_BYTES, SHORT_MMAP2_BYTES - IMPORT_HEADER_BYTES);
	buf_le32(&whole, PROT_EXEC_ONLY);
	buf_le32(&whole, 0);
	buf_add(&whole, r->p + SHORT_MMAP2_BYTES, r->size - SHORT_MMAP2_BYTES);
	if (buf_error(&whole) == -ENOMEM)
		return -ENOMEM;
	im->nr_invalid += buf_error(&whole) != 0; /* no name is as long */
	return buf_error(&whole)
		   ? 0
		   : import_side_add(im, (const uint8_t *)whole.data, whole.len, time_ns, r->at);
}

/* Rewrites a mapping of a file whose build-id is elsewhere in the file as one with a build-id. */
static bool add_identified(struct import *im, const struct trace_record *r, struct buf *out)
{
	bool is_map = r->kind == PERF_RECORD_MMAP || r->kind == PERF_RECORD_MMAP2;
	const struct import_build_id *id =
	    is_map && !r->build_id_len ? import_find_build_id(im, r->name) : NULL;
	size_t name_len, size;

	if (!id)
		return false;
	name_len = (strlen(r->name) + 8) & ~(size_t)7;
	size = IMPORT_HEADER_BYTES + MMAP2_BYTES + name_len + TAIL_BYTES;
	if (size > MAX_RECORD_BYTES)
		return false;
	buf_le32(out, PERF_RECORD_MMAP2);
	buf_le16(out, (uint16_t)(r->misc | PERF_RECORD_MISC_MMAP_BUILD_ID));
	buf_le16(out, (uint16_t)size);
	buf_add(out, r->bytes + IMPORT_HEADER_BYTES, RANGE_BYTES);
	buf_addc(out, (char)id->len);
	buf_fill(out, 0, 3);
	buf_add(out, id->bytes, IMPORT_BUILD_ID_BYTES);
	buf_le32(out, r->kind == PERF_RECORD_MMAP2 ? r->prot : PROT_EXEC_ONLY);
	buf_le32(out, r->flags);
	buf_adds(out, r->name);
	buf_fill(out, 0, name_len - strlen(r->name));
	add_tail(out, r, r->time_ns);
	return true;
}

static void put_time(struct buf *b, size_t at, uint64_t time_ns)
{
	if (!buf_error(b))
		memcpy(b->data + at, &time_ns, sizeof(time_ns));
}

static int put(struct import *im, struct trace_writer *w, enum trace_ring ring,
	       const struct buf *records)
{
	struct trace_layout l;
	BUF_AUTO(out, 2 * FRAME_BYTES);
	int rc = 0;

	trace_layout_side_band(&l, true); /* their bits are those of their own events */
	for (size_t at = 0; at < records->len && rc == 0;) {
		const uint8_t *p = (const uint8_t *)records->data + at;
		struct trace_record r;

		rc = trace_record_decode(&l, p, records->len - at, &r);
		if (rc)
			break;
		if (!r.time_ns)
			r.time_ns = im->facts.first_ns;
		if (!add_identified(im, &r, &out)) {
			const uint64_t time_ns = htole64(r.time_ns);
			size_t start = out.len;

			buf_add(&out, p, r.len);
			put_time(&out, start + r.len - sizeof(time_ns), time_ns);
			if (r.kind == PERF_RECORD_FORK || r.kind == PERF_RECORD_EXIT)
				put_time(&out, start + TASK_TIME_AT, time_ns);
		}
		at += r.len;
		if (out.len < FRAME_BYTES && at < records->len)
			continue;
		rc = buf_error(&out);
		trace_writer_records(w, ring, UINT32_MAX, out.data, out.len);
		buf_reset(&out);
		rc = rc ? rc : import_append_frames(im, w);
	}
	return rc;
}

struct place {
	uint64_t time_ns;
	size_t at, len;
};

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns) ?: order_u64(x->at, y->at);
}

/* The size is in the header, the time in the last word. */
static int list_places(const struct buf *records, struct place **out, size_t *nr)
{
	struct place *places = NULL, *p;
	size_t room = 0;

	*nr = 0;
	for (size_t at = 0; at < records->len; at += p->len) {
		const uint8_t *r = (const uint8_t *)records->data + at;
		uint32_t kind;

		p = MEM_ADD(places, *nr, room);
		if (!p) {
			mem_free(places);
			return -ENOMEM;
		}
		p->at = at;
		p->len = trace_record_size(r, records->len - at, &kind);
		p->time_ns = trace_word(r, p->len / sizeof(uint64_t) - 1);
	}
	*out = places;
	return 0;
}

/* The records of a folder's files were added one file after the other. */
static int sort_by_time(struct buf *records)
{
	struct place *places;
	struct buf sorted;
	size_t nr;
	int rc = list_places(records, &places, &nr);

	if (rc)
		return rc;
	buf_init(&sorted, records->len + 1);
	order_sort(places, nr, sizeof(*places), compare);
	for (size_t i = 0; i < nr; i++)
		buf_add(&sorted, records->data + places[i].at, places[i].len);
	mem_free(places);
	rc = buf_error(&sorted);
	if (rc == 0) {
		buf_fini(records);
		*records = sorted;
	} else {
		buf_fini(&sorted);
	}
	return rc;
}

int import_side_put(struct import *im, struct trace_writer *w)
{
	int rc = im->nr_more ? sort_by_time(&im->side_recorded) : 0;

	return rc ?: put(im, w, TRACE_RING_MADE, &im->side_made)
		   ?: put(im, w, TRACE_RING_SIDE_BAND, &im->side_recorded);
}
