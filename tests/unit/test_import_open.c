/*
 * perf.data as a set of traces: the kept files of the fuzz target, which tests/system/
 * perf_data_file.py made, of both byte orders; what is wrong with a file in words; and every
 * allocation and every system call failing in turn.
 */
#include "kit.h"
#include "paths.h"

#include "import/import.h"
#include "import/internal.h"
#include "profile/merged.h"
#include "profile/processes.h"
#include "profile/samples.h"
#include "profile/session.h"

#include <sys/mman.h>

enum { MAX_BYTES = 1 << 20, MAX_TOLD = 8 };

static char told[MAX_TOLD][512];
static size_t nr_told;

static void problem(void *arg, bool is_loss, const struct err *e)
{
	(void)arg;
	(void)is_loss;
	if (nr_told < MAX_TOLD)
		snprintf(told[nr_told], sizeof(told[0]), "%s", e->msg);
	nr_told++;
}

static bool was_told(const char *part)
{
	for (size_t i = 0; i < nr_told && i < MAX_TOLD; i++)
		if (strstr(told[i], part))
			return true;
	return false;
}

static const char *corpus_path(const char *name, char path[4096])
{
	snprintf(path, 4096, "%s/tests/fuzz/corpus/perf_data/%s", SOURCE_DIR, name);
	return path;
}

struct opened {
	struct import *im;
	struct profile_session *session;
};

static int open_path(const char *path, struct opened *o, struct err *e)
{
	int rc = import_open(path, problem, NULL, NULL, &o->im, e);

	if (rc)
		return rc;
	rc = profile_session_open_set(import_set(o->im), problem, NULL, &o->session, e);
	if (rc)
		import_close(o->im);
	return rc;
}

static void close_opened(struct opened *o)
{
	profile_session_close(o->session);
	import_close(o->im);
}

/* All records in the order of time, one behind the other, but for their times. */
static int gather(struct profile_session *s, struct buf *out)
{
	struct profile_merged_item item;
	struct profile_merged *m;
	int rc = profile_merged_open(s, problem, NULL, &m);

	if (rc)
		return rc;
	while ((rc = profile_merged_next(m, &item)) == 1)
		buf_add(out, item.item->record.bytes, item.item->record.len);
	profile_merged_close(m);
	return rc ? rc : buf_error(out);
}

static void gather_path(const char *path, struct buf *out, struct import_facts *facts)
{
	struct opened o;

	assert_int_equal(open_path(path, &o, NULL), 0);
	assert_int_equal(gather(o.session, out), 0);
	*facts = *import_facts(o.im);
	close_opened(&o);
}

/* The same file from machines of both orders is the same, to the last byte of its records. */
TEST(both_orders)
{
	static const struct {
		const char *name;
		uint64_t nr_samples, nr_records, nr_events;
	} rows[] = {{"file", 6, 11, 1}, {"pipe", 6, 0, 1},    {"packed", 6, 0, 1},
		    {"all", 1, 4, 1},   {"linux3", 4, 10, 1}, {"group", 8, 6, 2},
		    {"longer", 1, 5, 2} /* than written: perf_abi_body_bytes */};

	for (size_t i = 0; i < NR(rows); i++) {
		char name[64], path[4096];
		struct import_facts facts[2];
		struct buf records[2];

		for (int k = 0; k < 2; k++) {
			buf_init(&records[k], MAX_BYTES);
			snprintf(name, sizeof(name), "%s.%s", rows[i].name, k ? "big" : "little");
			gather_path(corpus_path(name, path), &records[k], &facts[k]);
			assert_int_equal(facts[k].is_big_endian, k);
			assert_int_equal(facts[k].nr_samples, rows[i].nr_samples);
			assert_int_equal(facts[k].nr_events, rows[i].nr_events);
			if (rows[i].nr_records)
				assert_int_equal(facts[k].nr_records, rows[i].nr_records);
		}
		if (records[0].len != records[1].len ||
		    memcmp(records[0].data, records[1].data, records[0].len) != 0)
			fail_msg("%s: the orders differ", rows[i].name);
		for (int k = 0; k < 2; k++)
			buf_fini(&records[k]);
	}
}

static int open_bytes(const void *data, size_t len, struct opened *o, struct err *e)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC), rc;
	char path[64];

	assert_true(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	nr_told = 0;
	rc = open_path(path, o, e);
	close(fd);
	return rc;
}

static size_t load(const char *name, uint8_t *data)
{
	char path[4096];
	FILE *f = fopen(corpus_path(name, path), "re");
	size_t len;

	assert_non_null(f);
	len = fread(data, 1, MAX_BYTES, f);
	fclose(f);
	return len;
}

/* Words of the header of a file. */
enum { SIZE = 8, ATTR_SIZE = 16, ATTRS_AT = 24, ATTRS = 32, DATA_AT = 40, DATA = 48 };

/* What cannot be read at all, and why. */
TEST(refused)
{
	static const struct {
		size_t at;
		uint64_t word;
		size_t len; /* of the file; 0: all */
		const char *says;
	} rows[] = {
	    {0, 0, 0, "is not a perf.data file"},
	    {0, 0x4352554f53, 0, "is not a perf.data file"},
	    {SIZE, 104, 15, "is not a perf.data file"},
	    {SIZE, 104, 60, "header is invalid"},
	    {ATTR_SIZE, 0, 0, "header is invalid"},
	    {ATTR_SIZE, 79, 0, "header is invalid"},
	    {ATTR_SIZE, 1 << 20, 0, "header is invalid"},
	    {ATTRS, 0, 0, "describes no event"},
	    {ATTRS_AT, UINT64_MAX, 0, "describes no event"},
	    {ATTRS, 64, 0, "describes no event"},
	};
	uint8_t *data = malloc(MAX_BYTES);
	size_t len;

	for (size_t i = 0; i < NR(rows); i++) {
		struct opened o;
		struct err e = {0};

		len = load("file.little", data);
		memcpy(data + rows[i].at, &rows[i].word, 8);
		if (open_bytes(data, rows[i].len ? rows[i].len : len, &o, &e) != -EINVAL ||
		    !strstr(e.msg, rows[i].says))
			fail_msg("row %zu: %s", i, e.msg);
	}
	free(data);
}

/* What is there is read, and the rest is told. */
TEST(damaged)
{
	static const struct {
		const char *file;
		size_t at;
		uint64_t word;
		size_t cut; /* bytes from the end */
		uint64_t nr_samples;
		const char *says;
	} rows[] = {
	    {"file.little", DATA, 0, 0, 6, "did not finish"},
	    {"file.little", DATA, UINT64_MAX, 0, 6, "truncated at offset"},
	    {"file.little", DATA_AT, UINT64_MAX, 0, 0, "truncated at offset"},
	    {"file.little", 248, 0, 0, 0, "no record begins at offset 248"},
	    {"pipe.little", SIZE, 16, 5, 6, "truncated record at offset"},
	    {"packed.little", 256, 0, 0, 0, "are damaged"},
	};
	uint8_t *data = malloc(MAX_BYTES);

	for (size_t i = 0; i < NR(rows); i++) {
		size_t len = load(rows[i].file, data);
		struct opened o;
		struct err e = {0};

		memcpy(data + rows[i].at, &rows[i].word, 8);
		if (open_bytes(data, len - rows[i].cut, &o, &e))
			fail_msg("row %zu: %s", i, e.msg);
		if (import_facts(o.im)->nr_samples != rows[i].nr_samples ||
		    (*rows[i].says && !was_told(rows[i].says)))
			fail_msg("row %zu: %zu samples, %zu told, %s", i,
				 (size_t)import_facts(o.im)->nr_samples, nr_told, told[0]);
		close_opened(&o);
	}
	free(data);
}

/* Any cut ends in words, or in what is before it. */
TEST(every_cut)
{
	static const char *const names[] = {"file.little", "pipe.big",  "packed.little",
					    "all.big",     "group.big", "longer.big"};
	uint8_t *data = malloc(MAX_BYTES);

	for (size_t i = 0; i < NR(names); i++) {
		size_t len = load(names[i], data);

		for (size_t cut = 0; cut < len; cut += 3) {
			struct opened o;
			struct buf records;
			struct err e = {0};

			if (open_bytes(data, cut, &o, &e)) {
				assert_int_not_equal(e.code, 0);
				continue;
			}
			buf_init(&records, MAX_BYTES);
			assert_int_equal(gather(o.session, &records), 0);
			buf_fini(&records);
			close_opened(&o);
		}
	}
	free(data);
}

static void check_facts(const char *name)
{
	char path[4096];
	struct opened o;
	const struct import_facts *f;

	assert_int_equal(open_path(corpus_path(name, path), &o, NULL), 0);
	f = import_facts(o.im);
	assert_string_equal(f->host, "box");
	assert_string_equal(f->kernel, "5.4");
	assert_string_equal(f->perf_version, "4.19");
	assert_string_equal(f->machine, "aarch64");
	assert_string_equal(f->cpu_model, "cpu");
	assert_string_equal(f->command, "perf record");
	assert_string_equal(f->events[0].name, "cycles");
	assert_int_equal(f->events[0].frequency, 99);
	assert_int_equal(f->events[0].period, 0);
	assert_int_equal(f->events[0].nr_lost, UINT64_MAX);
	assert_true(f->nr_cpus_available == 4 && f->nr_cpus_online == 2);
	assert_true(f->memory_bytes == 1 << 30 && f->has_times && !f->is_truncated &&
		    !f->is_packed);
	assert_true(f->first_ns == 1000 && f->last_ns == 2050);
	close_opened(&o);
}

TEST(told_facts)
{
	check_facts("file.big");
	check_facts("file.little");
}

/* Build-ids without a length have 20 bytes, or 16 (md5) or 8 and zeros; the kernel's own is one of
 * the facts, a module's is not. */
TEST(build_ids)
{
	enum { ID_BYTES = 24, SIZE_AT = 20, HAS_SIZE = 1 << 15 };
	static const struct {
		const char *path;
		uint16_t misc;
		unsigned nr, size; /* bytes that are not 0; as the record says */
		unsigned len;
	} rows[] = {
	    {"/sha1", PERF_RECORD_MISC_USER, 20, 0, 20},
	    {"/md5", PERF_RECORD_MISC_USER, 16, 0, 16},
	    {"/md5 with a 0", PERF_RECORD_MISC_USER, 15, 0, 16},
	    {"/short", PERF_RECORD_MISC_USER, 8, 0, 8},
	    {"/of 12", PERF_RECORD_MISC_USER | HAS_SIZE, 20, 12, 12},
	    {"/of 99", PERF_RECORD_MISC_USER | HAS_SIZE, 20, 99, 20},
	    {"[kernel.kallsyms]", PERF_RECORD_MISC_KERNEL, 20, 0, 20},
	    {"/lib/modules/6.1/a.ko", PERF_RECORD_MISC_KERNEL, 16, 0, 16},
	};
	const struct import_facts *f;
	char path[4096];
	struct opened o;

	assert_int_equal(open_path(corpus_path("file.little", path), &o, NULL), 0);
	f = import_facts(o.im);
	for (size_t i = 0; i < NR(rows); i++) {
		uint8_t data[4 + ID_BYTES + 32] = {0};
		const struct import_build_id *id;

		memset(data + 4, (int)i + 1, rows[i].nr);
		if (rows[i].size)
			data[4 + SIZE_AT] = (uint8_t)rows[i].size;
		snprintf((char *)data + 4 + ID_BYTES, 32, "%s", rows[i].path);
		assert_int_equal(import_add_build_id(o.im, rows[i].misc, data, sizeof(data)), 0);
		id = import_find_build_id(o.im, rows[i].path);
		assert_non_null(id);
		assert_int_equal(id->len, rows[i].len);
		assert_memory_equal(id->bytes, data + 4, rows[i].len);
	}
	assert_int_equal(f->nr_kernel_ids, 2);
	assert_int_equal(f->kernel_build_id_len, 20);
	assert_int_equal(f->kernel_build_id[0], 7);
	close_opened(&o);
}

/* Which file of a folder has a record: those that are packed are one stream. */
static unsigned file_of(uint32_t type, unsigned number)
{
	enum { PERFS_OWN = 64, PACKED = 81, PACKED_2 = 83, NR_FILES = 3 };

	if (type == PACKED || type == PACKED_2)
		return 1;
	return type < PERFS_OWN ? number % NR_FILES : 0;
}

/* Writes the file as perf record --threads would: its records are shared out, and what is behind
 * those of the first file moves there. */
static void write_folder(const struct root *r, const char *file)
{
	static const char *const names[] = {"/p/data", "/p/data.0", "/p/data.1"};
	uint8_t *data = malloc(MAX_BYTES), *out[NR(names)];
	size_t len = load(file, data), nr[NR(names)] = {0}, from, size;
	uint64_t moved, at;

	memcpy(&from, data + DATA_AT, 8);
	memcpy(&size, data + DATA, 8);
	for (size_t i = 0; i < NR(names); i++)
		out[i] = malloc(MAX_BYTES);
	memcpy(out[0], data, from);
	nr[0] = from;
	for (size_t i = from, n = 0; i < from + size; n++) {
		uint32_t type;
		uint16_t bytes;
		unsigned k;

		memcpy(&type, data + i, sizeof(type));
		memcpy(&bytes, data + i + 6, sizeof(bytes));
		k = file_of(type, (unsigned)n);
		memcpy(out[k] + nr[k], data + i, bytes);
		nr[k] += bytes;
		i += bytes;
	}
	moved = from + size - nr[0];
	memcpy(out[0] + nr[0], data + from + size, len - from - size);
	for (size_t table = nr[0]; table < nr[0] + 16 * 64; table += 16) { /* of features */
		memcpy(&at, out[0] + table, 8);
		if (at < from + size || at > len)
			break;
		at -= moved;
		memcpy(out[0] + table, &at, 8);
	}
	memcpy(out[0] + DATA, &(uint64_t){nr[0] - from}, 8);
	nr[0] += len - from - size;
	for (size_t i = 0; i < NR(names); i++) {
		tree_put(r, names[i], out[i], nr[i]);
		free(out[i]);
	}
	tree_text(r, "/p/kcore_dir/kallsyms", "");
	free(data);
}

static void expect_same(const struct root *r, const char *file)
{
	struct import_facts one, folder;
	struct buf records[2];
	size_t nr_told_one;
	char path[4096];

	for (int i = 0; i < 2; i++)
		buf_init(&records[i], MAX_BYTES);
	nr_told = 0;
	gather_path(corpus_path(file, path), &records[0], &one);
	nr_told_one = nr_told;
	nr_told = 0;
	snprintf(path, sizeof(path), "%s/p", r->dir);
	gather_path(path, &records[1], &folder);
	assert_int_equal(folder.nr_samples, one.nr_samples);
	assert_int_equal(folder.nr_records, one.nr_records);
	assert_true(folder.first_ns == one.first_ns && folder.last_ns == one.last_ns);
	if (nr_told != nr_told_one)
		fail_msg("%s: %s", file, told[nr_told - 1]);
	if (records[0].len != records[1].len ||
	    memcmp(records[0].data, records[1].data, records[0].len) != 0)
		fail_msg("%s: the folder differs", file);
	for (int i = 0; i < 2; i++)
		buf_fini(&records[i]);
}

/* Records of tasks and mappings, of all files: readers sort only those of one second. */
static void expect_sorted(const char *path)
{
	struct opened o;
	uint64_t time, last = 0;
	const struct buf *b;

	assert_int_equal(open_path(path, &o, NULL), 0);
	b = &o.im->side_recorded;
	for (size_t at = 0; at < b->len; last = time) {
		uint16_t bytes;

		memcpy(&bytes, b->data + at + 6, sizeof(bytes));
		at += bytes;
		memcpy(&time, b->data + at - 8, sizeof(time));
		assert_true(time >= last);
	}
	assert_true(last > 0);
	close_opened(&o);
}

TEST(folder)
{
	static const char *const files[] = {"file.little", "packed.little", "all.little"};
	struct root r = tree_make();
	char path[4096];

	snprintf(path, sizeof(path), "%s/p", r.dir);
	for (size_t i = 0; i < NR(files); i++) {
		write_folder(&r, files[i]);
		assert_true(import_is_perf_data(path));
		expect_same(&r, files[i]);
	}
	write_folder(&r, files[0]);
	expect_sorted(path);
	tree_remove(&r);
}

TEST(folder_damaged)
{
	static const uint8_t part[] = {9, 0, 0, 0, 0, 0, 64, 0, 1};
	struct root r = tree_make();
	struct err e = {0};
	struct opened o;
	char path[4096];

	snprintf(path, sizeof(path), "%s/p", r.dir);
	write_folder(&r, "file.little");
	tree_drop(&r, "/p/data.0");
	nr_told = 0;
	assert_int_equal(open_path(path, &o, NULL), 0);
	assert_true(was_told("1 of its files data.0 to data.1 is missing"));
	close_opened(&o);

	tree_put(&r, "/p/data.0", part, sizeof(part));
	nr_told = 0;
	assert_int_equal(open_path(path, &o, NULL), 0);
	assert_true(was_told("truncated record at offset 0 of data.0"));
	close_opened(&o);

	tree_text(&r, "/p/data.99999999", "");
	assert_int_equal(open_path(path, &o, &e), -EFBIG);
	assert_non_null(strstr(e.msg, "more than"));
	tree_drop(&r, "/p/data.99999999");

	e = (struct err){0};
	tree_drop(&r, "/p/data");
	assert_false(import_is_perf_data(path));
	assert_int_equal(open_path(path, &o, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "a folder without a file named data"));
	tree_remove(&r);
}

static int read_file(void *arg)
{
	struct profile_processes *processes;
	struct opened o;
	struct buf records;
	int rc = open_path(arg, &o, NULL);

	if (rc)
		return rc;
	buf_init(&records, MAX_BYTES);
	rc = profile_processes_load(o.session, NULL, NULL, &processes);
	if (rc == 0) {
		profile_processes_free(processes);
		rc = gather(o.session, &records);
	}
	buf_fini(&records);
	close_opened(&o);
	return rc;
}

TEST(failures)
{
	static const char *const names[] = {"file.little", "packed.big", "linux3.little",
					    "group.little"};

	for (size_t i = 0; i < NR(names); i++) {
		char path[4096];

		inject_every(read_file, (void *)corpus_path(names[i], path), 20, 8);
	}
}
