/*
 * The file has two halves: the records as added, and room for as many. Records are distributed from
 * the first half into buckets in the second. A bucket then consists of runs in order of time (one
 * for each turn of a CPU), which are merged, with the same place in the first half as scratch
 * space.
 */
#include "export/spool.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { NR_WAITING = 4096, NR_TOUCHED = 1 << 19 };

struct export_spool {
	int fd;
	size_t nr; /* records, including those not yet written */
	size_t nr_waiting;
	struct export_record waiting[NR_WAITING];
	/* After the sort: */
	struct export_record *record; /* the file, 2 × nr; NULL: not mapped */
	size_t *start; /* owned; first record of each bucket in the second half, and the end */
	const struct export_place *place;
	size_t nr_touched; /* since memory was released */
};

struct export_spool *export_spool_new(struct err *e)
{
	struct export_spool *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	rc = io_open_temporary(&s->fd, e);
	if (rc == 0)
		return s;
	mem_free(s);
	return NULL;
}

static size_t file_bytes(const struct export_spool *s)
{
	return 2 * s->nr * sizeof(*s->record);
}

void export_spool_free(struct export_spool *s)
{
	if (!s)
		return;
	if (s->record)
		munmap(s->record, file_bytes(s));
	mem_free(s->start);
	io_close(&s->fd);
	mem_free(s);
}

static int fail(struct err *e, int rc)
{
	err_set(e, rc, "samples cannot be sorted in a temporary file: %s", strerror(-rc));
	err_hint(e, "TMPDIR names the folder for such files");
	return rc;
}

static int flush(struct export_spool *s, struct err *e)
{
	int rc = io_write_full(s->fd, s->waiting, s->nr_waiting * sizeof(*s->waiting));

	s->nr_waiting = 0;
	return rc ? fail(e, rc) : 0;
}

int export_spool_add(struct export_spool *s, const struct export_record *r, struct err *e)
{
	int rc = s->nr_waiting == NR_WAITING ? flush(s, e) : 0;

	if (rc)
		return rc;
	s->waiting[s->nr_waiting++] = *r;
	s->nr++;
	return 0;
}

/* Allocates the disk space now: writing to a mapping without space would raise SIGBUS. */
static int map(struct export_spool *s)
{
	void *base;
	int rc;

	do {
		rc = posix_fallocate(s->fd, 0, (off_t)file_bytes(s));
	} while (rc == EINTR);
	if (rc)
		return -rc;
	base = mmap(NULL, file_bytes(s), PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	s->record = base;
	return 0;
}

/* The pages stay in the page cache, but no longer count as ours. */
void export_spool_touch(struct export_spool *s)
{
	if (++s->nr_touched % NR_TOUCHED == 0)
		madvise(s->record, file_bytes(s), MADV_DONTNEED);
}

/* Stable. start: of each bucket, before and after; meanwhile where its next record goes. */
static void distribute(struct export_spool *s, size_t nr_buckets)
{
	const struct export_record *from = s->record;

	for (size_t i = 0; i < s->nr; i++) {
		s->start[s->place[from[i].tag].bucket + 1]++;
		export_spool_touch(s);
	}
	s->start[0] = s->nr;
	for (size_t b = 0; b < nr_buckets; b++)
		s->start[b + 1] += s->start[b];
	for (size_t i = 0; i < s->nr; i++) {
		s->record[s->start[s->place[from[i].tag].bucket]++] = from[i];
		export_spool_touch(s);
	}
	memmove(s->start + 1, s->start, nr_buckets * sizeof(*s->start));
	s->start[0] = s->nr;
}

static bool is_less(const struct export_spool *s, const struct export_record *a,
		    const struct export_record *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return s->place[a->tag].rank < s->place[b->tag].rank;
}

/* The end of the sorted run that begins at i. */
static size_t run_end(struct export_spool *s, const struct export_record *r, size_t nr, size_t i)
{
	if (i == nr)
		return nr;
	for (; i + 1 < nr && !is_less(s, &r[i + 1], &r[i]); i++)
		export_spool_touch(s);
	return i + 1;
}

static void merge(struct export_spool *s, const struct export_record *from, size_t middle,
		  size_t end, struct export_record *to)
{
	size_t i = 0, k = middle;

	while (i < middle || k < end) {
		bool is_second = i == middle || (k < end && is_less(s, &from[k], &from[i]));

		*to++ = from[is_second ? k++ : i++];
		export_spool_touch(s);
	}
}

/* Merges runs in pairs. Returns the number of pairs. */
static size_t merge_pairs(struct export_spool *s, const struct export_record *from, size_t nr,
			  struct export_record *to)
{
	size_t nr_pairs = 0, middle, end;

	for (size_t i = 0; i < nr; i = end, nr_pairs++) {
		middle = run_end(s, from, nr, i);
		end = run_end(s, from, nr, middle);
		merge(s, from + i, middle - i, end - i, to + i);
	}
	return nr_pairs;
}

static void sort(struct export_spool *s, struct export_record *r, size_t nr)
{
	struct export_record *other = r - s->nr;

	if (run_end(s, r, nr, 0) == nr)
		return;
	for (;;) {
		if (merge_pairs(s, r, nr, other) <= 1)
			break;
		if (merge_pairs(s, other, nr, r) <= 1)
			return;
	}
	memcpy(r, other, nr * sizeof(*r));
}

int export_spool_sort(struct export_spool *s, const struct export_place *place, size_t nr_buckets,
		      struct err *e)
{
	int rc = flush(s, e);

	if (rc)
		return rc;
	s->place = place;
	s->start = mem_calloc(nr_buckets + 1, sizeof(*s->start));
	rc = s->start ? 0 : -ENOMEM;
	if (rc == 0 && s->nr)
		rc = map(s);
	if (rc)
		return fail(e, rc);
	if (!s->nr)
		return 0;
	distribute(s, nr_buckets);
	for (size_t b = 0; b < nr_buckets; b++)
		sort(s, s->record + s->start[b], s->start[b + 1] - s->start[b]);
	return 0;
}

const struct export_record *export_spool_bucket(const struct export_spool *s, uint32_t bucket,
						size_t *nr)
{
	*nr = s->start[bucket + 1] - s->start[bucket];
	return *nr ? s->record + s->start[bucket] : NULL;
}
