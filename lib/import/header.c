/*
 * The header of a perf.data file, the attrs it points to, and the features after the records.
 * Source: struct perf_file_header and process_… in tools/perf/util/header.c. Must not trust an
 * offset, a size or a number.
 */
#include "import/internal.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	PIPE_HEADER_BYTES = 16,
	FILE_HEADER_BYTES = 104, /* with the features */
	SECTION_BYTES = 16,
	NR_FEATURES = 256,
	MISC_BUILD_ID_SIZE = 1 << 15,
};

static const char magic_2[] = "PERFILE2", magic_2_swapped[] = "2ELIFREP", magic_1[] = "PERFFILE";

/* The byte order of the first version is seen by the size of an attr and its section. */
static bool is_size_of_attr(uint64_t size)
{
	return size >= IMPORT_ATTR_MIN_BYTES + SECTION_BYTES && size < 4096 && size % 8 == 0;
}

bool import_is_magic(const uint8_t p[8])
{
	return memcmp(p, magic_2, 8) == 0 || memcmp(p, magic_2_swapped, 8) == 0 ||
	       memcmp(p, magic_1, 8) == 0;
}

/* False: it is no magic. */
static bool find_order(const uint8_t *p, bool *is_big)
{
	uint64_t attr_size;

	if (memcmp(p, magic_2, 8) == 0 || memcmp(p, magic_2_swapped, 8) == 0) {
		*is_big = memcmp(p, magic_2, 8) != 0;
		return true;
	}
	if (memcmp(p, magic_1, 8) != 0)
		return false;
	memcpy(&attr_size, p + 16, sizeof(attr_size));
	*is_big = !is_size_of_attr(le64toh(attr_size));
	return true;
}

static bool is_inside(const struct import *im, struct import_section s)
{
	return s.offset <= im->size && s.size <= im->size - s.offset;
}

/* The part of a section that lies within the file. */
static struct import_section clip(const struct import *im, struct import_section s)
{
	if (s.offset > im->size)
		s.offset = im->size;
	if (s.size > im->size - s.offset)
		s.size = im->size - s.offset;
	return s;
}

static struct import_section read_section(struct import_bytes *b)
{
	struct import_section s = {import_u64(b), 0};

	s.size = import_u64(b);
	return s;
}

/* The section, in memory of the caller's: *out is NULL if there is nothing. 0, -ENOMEM, -EFBIG. */
static int load_section(struct import *im, struct import_section s, size_t max, uint8_t **out,
			size_t *len)
{
	ssize_t got;

	*out = NULL;
	*len = 0;
	s = clip(im, s);
	if (!s.size)
		return 0;
	if (s.size > max)
		return -EFBIG;
	*out = mem_alloc((size_t)s.size);
	if (!*out)
		return -ENOMEM;
	got = io_pread_full(im->fd, *out, (size_t)s.size, s.offset);
	if (got < 0) {
		mem_free(*out);
		*out = NULL;
		return (int)got;
	}
	*len = (size_t)got;
	return 0;
}

static int add_ids(struct import *im, struct import_section s, uint32_t event)
{
	struct import_bytes b;
	uint8_t *data;
	size_t len;
	int rc = load_section(im, s, (size_t)IMPORT_MAX_IDS * 8, &data, &len);

	im->has_skipped_ids |= rc == -EFBIG;
	if (rc)
		return rc == -EFBIG ? 0 : rc;
	b = import_bytes(data, len, im->facts.is_big_endian);
	while (b.c.left >= 8 && rc == 0)
		rc = import_add_id(im, import_u64(&b), event);
	mem_free(data);
	return rc;
}

static int add_attrs(struct import *im, struct import_section s, size_t attr_bytes, struct err *e)
{
	struct import_bytes b;
	uint8_t *data;
	size_t len;
	int rc = load_section(im, s, (size_t)IMPORT_MAX_EVENTS * 4096, &data, &len);

	if (rc == 0)
		b = import_bytes(data, len, im->facts.is_big_endian);
	while (rc == 0 && b.c.left >= attr_bytes) {
		const uint8_t *attr = cursor_bytes(&b.c, attr_bytes - SECTION_BYTES);
		struct import_section ids = read_section(&b);
		uint32_t event;

		rc = import_add_event(im, attr, attr_bytes - SECTION_BYTES, &event)
			 ?: add_ids(im, ids, event);
	}
	mem_free(data);
	if (rc == -EFBIG)
		return err_set_at(e, rc, im->path, 0, 0, "has more than %d events",
				  IMPORT_MAX_EVENTS);
	return rc ? err_set_at(e, rc, im->path, 0, 0, "its events are invalid: %s", strerror(-rc))
		  : 0;
}

/* Texts of one string. */
static const struct {
	unsigned number;
	size_t at;
} strings[] = {
    {3, offsetof(struct import_facts, host)},         {4, offsetof(struct import_facts, kernel)},
    {5, offsetof(struct import_facts, perf_version)}, {6, offsetof(struct import_facts, machine)},
    {8, offsetof(struct import_facts, cpu_model)},    {9, offsetof(struct import_facts, cpu_id)},
};

static bool read_string(struct import *im, unsigned number, struct import_bytes *b)
{
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		const char **to = (const char **)(void *)((char *)&im->facts + strings[i].at);
		const char *s;
		size_t len;

		if (strings[i].number != number)
			continue;
		s = import_string(b, &len);
		if (s)
			*to = import_text(im, s, len);
		return true;
	}
	return false;
}

static int read_build_ids(struct import *im, struct import_bytes *b)
{
	int rc = 0;

	while (b->c.left >= 8 && rc == 0) {
		struct import_bytes head = *b;
		uint16_t misc, size;

		cursor_skip(&head.c, 4);
		misc = import_u16(&head);
		size = import_u16(&head);
		if (size < 8 || size > b->c.left)
			break;
		rc = import_add_build_id(im, misc, b->c.at + 8, size - 8u);
		cursor_skip(&b->c, size);
	}
	return rc;
}

static int read_cpus(struct import *im, struct import_bytes *b)
{
	im->facts.nr_cpus_available = import_u32(b);
	im->facts.nr_cpus_online = import_u32(b);
	return 0;
}

static int read_memory(struct import *im, struct import_bytes *b)
{
	uint64_t kib = import_u64(b);

	im->facts.memory_bytes = kib <= UINT64_MAX / 1024 ? kib * 1024 : 0;
	return 0;
}

/* Arguments that a shell would split, or nearly. */
static int read_command(struct import *im, struct import_bytes *b)
{
	uint32_t nr = import_u32(b);
	BUF_AUTO(all, IMPORT_MAX_STRING_BYTES);

	for (uint32_t i = 0; i < nr && cursor_ok(&b->c) && !buf_error(&all); i++) {
		size_t len;
		const char *s = import_string(b, &len);
		bool is_quoted = s && (!len || memchr(s, ' ', len));

		if (!s)
			break;
		buf_adds(&all, i ? " " : "");
		buf_adds(&all, is_quoted ? "'" : "");
		buf_add(&all, s, len);
		buf_adds(&all, is_quoted ? "'" : "");
	}
	im->facts.command = import_text(im, buf_str(&all), all.len);
	return 0;
}

static int read_description(struct import *im, struct import_bytes *b)
{
	uint32_t nr = import_u32(b), attr_bytes = import_u32(b);
	int rc = 0;

	for (uint32_t i = 0; i < nr && i < IMPORT_MAX_EVENTS && rc == 0; i++) {
		const uint8_t *attr = cursor_bytes(&b->c, attr_bytes);
		uint32_t nr_ids = import_u32(b), event = i;
		size_t len;
		const char *name = import_string(b, &len);
		struct import_bytes ids = *b;
		const struct import_id *id = NULL;

		if (!name || nr_ids > b->c.left / 8)
			break;
		cursor_skip(&b->c, (size_t)nr_ids * 8);
		if (i >= im->nr_events && im->facts.is_pipe) {
			rc = import_add_event(im, attr, attr_bytes, &event);
			im->nr_described = im->nr_events;
		}
		if (rc == 0 && nr_ids) /* else it has this place */
			id = import_find_id(im, import_u64(&ids));
		if (id)
			event = id->event;
		if (rc || event >= im->nr_events)
			return rc == -ENOMEM ? rc : 0;
		if (!im->events[event].name)
			im->events[event].name = import_text(im, name, len);
	}
	return rc;
}

static int read_times(struct import *im, struct import_bytes *b)
{
	uint64_t first = import_u64(b), last = import_u64(b);

	if (!cursor_ok(&b->c) || first > last)
		return 0;
	im->facts.first_ns = first;
	im->facts.last_ns = last;
	return 0;
}

static int read_groups(struct import *im, struct import_bytes *b)
{
	uint32_t nr = import_u32(b);

	for (uint32_t i = 0; i < nr && cursor_ok(&b->c); i++) {
		uint32_t leader, members;
		size_t len;

		import_string(b, &len);
		leader = import_u32(b);
		members = import_u32(b);
		if (!cursor_ok(&b->c))
			break;
		for (uint64_t k = leader; k < (uint64_t)leader + members && k < im->nr_events; k++)
			im->events[k].leader = leader;
	}
	return 0;
}

static int read_tracing(struct import *im, struct import_bytes *b)
{
	import_tracing(im, b->c.at, b->c.left);
	return 0;
}

static int read_packed(struct import *im, struct import_bytes *b)
{
	(void)b;
	im->facts.is_packed = true;
	return 0;
}

static int (*const features[])(struct import *im, struct import_bytes *b) = {
    [1] = read_tracing, [2] = read_build_ids, [7] = read_cpus,
    [10] = read_memory, [11] = read_command,  [12] = read_description,
    [17] = read_groups, [21] = read_times,    [27] = read_packed,
};

int import_feature(struct import *im, unsigned number, const void *data, size_t len)
{
	struct import_bytes b = import_bytes(data, len, im->facts.is_big_endian);

	if (read_string(im, number, &b))
		return 0;
	if (number >= sizeof(features) / sizeof(features[0]) || !features[number])
		return 0;
	return features[number](im, &b);
}

const struct import_build_id *import_find_build_id(const struct import *im, const char *path)
{
	return dict_at(&im->build_ids, dict_find(&im->build_ids, path));
}

/* Before Linux 5.10 there is no size; an md5 has 16 bytes, and 0 after them. */
static unsigned length_of(uint16_t misc, const uint8_t id[24])
{
	unsigned len = IMPORT_BUILD_ID_BYTES;

	if (misc & MISC_BUILD_ID_SIZE)
		return id[20] <= IMPORT_BUILD_ID_BYTES ? id[20] : IMPORT_BUILD_ID_BYTES;
	while (len > 8 && !id[len - 1])
		len--;
	return len > 16 ? IMPORT_BUILD_ID_BYTES : len > 8 ? 16 : 8;
}

/* Of the kernel itself or of a module. */
static int add_kernel_id(struct import *im, const struct import_build_id *id)
{
	struct import_facts *f = &im->facts;
	struct import_kernel_id *ids = mem_grow(im->kernel_ids, f->nr_kernel_ids,
						&im->kernel_ids_room, sizeof(*im->kernel_ids));

	if (!ids)
		return -ENOMEM;
	f->kernel_ids = im->kernel_ids = ids;
	ids += f->nr_kernel_ids++;
	*ids = (struct import_kernel_id){.path = id->path, .len = id->len};
	memcpy(ids->bytes, id->bytes, sizeof(ids->bytes));
	if (strncmp(id->path, "[kernel", 7) == 0) {
		memcpy(f->kernel_build_id, id->bytes, sizeof(f->kernel_build_id));
		f->kernel_build_id_len = id->len;
	}
	return 0;
}

int import_add_build_id(struct import *im, uint16_t misc, const void *data, size_t len)
{
	size_t nr = im->build_ids.nr;
	struct import_build_id *id;
	struct import_bytes b = import_bytes(data, len, im->facts.is_big_endian);
	const uint8_t *bytes;

	cursor_skip(&b.c, 4); /* pid */
	bytes = cursor_bytes(&b.c, 24);
	if (!bytes || !b.c.left)
		return 0;
	id = dict_at(&im->build_ids, dict_add_text(&im->build_ids, (const char *)b.c.at, b.c.left));
	if (!id) /* the limit is reached, or there is no memory */
		return im->build_ids.nr == IMPORT_MAX_BUILD_IDS ||
			       im->build_ids.texts.used_bytes > IMPORT_MAX_TEXT_BYTES / 2
			   ? 0
			   : -ENOMEM;
	if (im->build_ids.nr == nr)
		return 0;
	id->len = (uint8_t)length_of(misc, bytes);
	memcpy(id->bytes, bytes, id->len);
	return (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL
		   ? add_kernel_id(im, id)
		   : 0;
}

/* One section for each bit, after the records, in the order of the bits. */
static int load_features(struct import *im, const uint64_t bits[NR_FEATURES / 64])
{
	struct import_section at = {im->data.offset + im->data.size,
				    NR_FEATURES * (uint64_t)SECTION_BYTES};
	bool is_whole = true;
	uint8_t *table;
	size_t len;
	int rc = load_section(im, at, NR_FEATURES * SECTION_BYTES, &table, &len);
	struct import_bytes b = import_bytes(table, len, im->facts.is_big_endian);

	for (unsigned i = 0; i < NR_FEATURES && rc == 0; i++) {
		struct import_section s;
		uint8_t *data;

		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		s = read_section(&b);
		is_whole &= cursor_ok(&b.c) && is_inside(im, s);
		if (!cursor_ok(&b.c))
			break;
		rc = load_section(im, s, IMPORT_MAX_FEATURE_BYTES, &data, &len)
			 ?: import_feature(im, i, data, len);
		mem_free(data);
		rc = rc == -EFBIG ? 0 : rc;
	}
	mem_free(table);
	if (!is_whole)
		import_truncated(im,
				 "truncated at offset %" PRIu64
				 ", behind the records: parts of the host, the names of events and "
				 "the build-ids are missing",
				 im->size);
	return rc;
}

/* Where the records would begin the table of features does: there are none. A perf that was killed
 * wrote no table, and its first record's size is not 0 there. */
static bool is_empty(const struct import *im, uint64_t at, const uint64_t bits[NR_FEATURES / 64])
{
	uint64_t nr = 0, first;
	struct import_bytes b;

	for (size_t i = 0; i < NR_FEATURES / 64; i++)
		nr += (uint64_t)__builtin_popcountll(bits[i]);
	if (!nr || io_pread_full(im->fd, &first, sizeof(first), at) != sizeof(first))
		return false;
	b = import_bytes(&first, sizeof(first), im->facts.is_big_endian);
	return import_u64(&b) == at + nr * SECTION_BYTES;
}

static void find_data(struct import *im, struct import_section data,
		      const uint64_t bits[NR_FEATURES / 64])
{
	im->data = data;
	if (!data.size && !is_empty(im, data.offset, bits)) {
		im->data.size = im->size > data.offset ? im->size - data.offset : 0;
		import_truncated(im, "perf did not finish: the host, the names of events and "
				     "perhaps the last records are missing");
	}
	if (!is_inside(im, data))
		import_truncated(im,
				 "truncated at offset %" PRIu64
				 ": records, the host and the names of events are missing",
				 im->size);
	im->data = clip(im, im->data);
}

static int load_file(struct import *im, struct import_bytes *b, uint64_t header_bytes,
		     struct err *e)
{
	uint64_t attr_bytes = import_u64(b), bits[NR_FEATURES / 64] = {0};
	struct import_section attrs = read_section(b), data = read_section(b);
	int rc;

	read_section(b); /* names of events, of the first perfs */
	/* big-endian perf writes longs: the bits of each word are as a number has them */
	for (size_t i = 0; i < NR_FEATURES / 64 && header_bytes >= FILE_HEADER_BYTES; i++)
		bits[i] = import_u64(b);
	if (!cursor_ok(&b->c) || !is_size_of_attr(attr_bytes))
		return err_set_at(e, -EINVAL, im->path, 0, 0, "its header is invalid");
	rc = add_attrs(im, attrs, (size_t)attr_bytes, e);
	if (rc)
		return rc;
	find_data(im, data, bits);
	rc = load_features(im, bits);
	return rc ? err_set_at(e, rc, im->path, 0, 0, "cannot be read: %s", strerror(-rc)) : 0;
}

int import_header_load(struct import *im, struct err *e)
{
	uint8_t bytes[FILE_HEADER_BYTES] = {0};
	struct import_bytes b;
	uint64_t header_bytes;
	ssize_t got = io_pread_full(im->fd, bytes, sizeof(bytes), 0);

	if (got < 0)
		return err_set_at(e, (int)got, im->path, 0, 0, "cannot be read: %s",
				  strerror(-(int)got));
	if (got < PIPE_HEADER_BYTES || !find_order(bytes, &im->facts.is_big_endian)) {
		err_set_at(e, -EINVAL, im->path, 0, 0, "is not a perf.data file");
		err_hint(e, "--perf-data=FILE reads a file of perf record, --session=FILE a "
			    "cpuperf session");
		return -EINVAL;
	}
	b = import_bytes(bytes, (size_t)got, im->facts.is_big_endian);
	cursor_skip(&b.c, 8);
	header_bytes = import_u64(&b);
	if (header_bytes != PIPE_HEADER_BYTES)
		return load_file(im, &b, header_bytes, e);
	im->facts.is_pipe = true;
	im->data = (struct import_section){PIPE_HEADER_BYTES, im->size - PIPE_HEADER_BYTES};
	return 0;
}
