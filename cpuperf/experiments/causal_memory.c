#include "experiments/causal_memory.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "wire/memory.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- candidates */

void causal_candidates_fini(struct causal_candidates *c)
{
	mem_free(c->list);
	mem_free(c->range);
	*c = (struct causal_candidates){.nr = 0};
}

int causal_candidates_add(struct causal_candidates *c, const struct causal_candidate *one)
{
	struct causal_candidate *place;

	if (c->nr == CAUSAL_MEMORY_CANDIDATES)
		return -E2BIG;
	place = MEM_ADD(c->list, c->nr, c->room);
	if (!place)
		return -ENOMEM;
	*place = *one;
	return 0;
}

int causal_candidates_add_range(struct causal_candidates *c, const struct causal_range *range)
{
	struct causal_range *place;

	if (c->nr_ranges == CAUSAL_MEMORY_RANGES)
		return -E2BIG;
	if (!range->size || range->size > UINT32_MAX)
		return 0;
	place = MEM_ADD(c->range, c->nr_ranges, c->range_room);
	if (!place)
		return -ENOMEM;
	*place = *range;
	return 0;
}

static int compare_places(const struct causal_range *x, const struct causal_range *y)
{
	return order_u64(x->device, y->device)
		   ?: order_u64(x->inode, y->inode) ?: order_u64(x->address, y->address);
}

static int compare(const void *a, const void *b)
{
	const struct causal_range *x = a, *y = b;

	return compare_places(x, y) ?: order_u64(x->candidate, y->candidate);
}

/* Of several names of the same code the first one stays. */
static void sort_ranges(struct causal_candidates *c)
{
	size_t nr = 0;

	order_sort(c->range, c->nr_ranges, sizeof(*c->range), compare);
	for (size_t i = 0; i < c->nr_ranges; i++)
		if (!nr || compare_places(&c->range[nr - 1], &c->range[i]) != 0)
			c->range[nr++] = c->range[i];
	c->nr_ranges = nr;
}

/* --- the memory */

static bool is_of_next_object(const struct causal_candidates *c, size_t i)
{
	return !i || c->range[i].inode != c->range[i - 1].inode ||
	       c->range[i].device != c->range[i - 1].device;
}

static void write_ranges(const struct causal_candidates *c, struct causal_shared *s)
{
	struct causal_memory_object *object = (void *)(s->at + 1);
	struct causal_memory_range *r =
	    (void *)((char *)s->at + causal_memory_ranges_at(s->nr_objects));
	uint32_t at = 0;

	for (size_t i = 0; i < c->nr_ranges; i++) {
		const struct causal_range *from = &c->range[i];

		if (is_of_next_object(c, i))
			object[at++] = (struct causal_memory_object){from->device, from->inode,
								     (uint32_t)i, 0};
		object[at - 1].nr++;
		r[i] = (struct causal_memory_range){from->address, (uint32_t)from->size,
						    from->candidate};
	}
}

/* The kernel looks at the list when the thread ends. Only the word itself is in memory that the
 * program may write. */
static void guard(struct causal_shared *s)
{
	static struct robust_list node;
	static struct robust_list_head head;

	s->at->owner = (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS;
	node.next = &head.list;
	head.list.next = &node;
	head.futex_offset = (char *)&s->at->owner - (char *)&node;
	(void)syscall(SYS_set_robust_list, &head, sizeof(head));
}

static int map(struct causal_shared *s, struct err *e)
{
	void *at = MAP_FAILED;
	int rc = wire_make_file("cpuperf-experiment", s->bytes, &s->fd);

	if (rc == 0)
		at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (rc == 0 && at == MAP_FAILED)
		rc = -errno;
	if (rc)
		return err_set(e, rc, "memory of experiments: %s", strerror(-rc));
	s->at = at;
	return 0;
}

/* A point that is longer than any name of a mark is none. */
static bool can_be_region(const char *point)
{
	return point && strlen(point) < CAUSAL_MEMORY_REGION_BYTES;
}

static void name_region(struct causal_shared *s, const char *name)
{
	struct causal_memory_region *r =
	    (void *)((char *)s->at +
		     causal_memory_regions_at(s->nr_objects, s->nr_ranges, s->nr_candidates));

	memcpy(r->name, name, strlen(name));
	r->kind = CAUSAL_MEMORY_POINT;
}

int causal_shared_open(struct causal_candidates *c, const char *point, struct causal_shared *out,
		       struct err *e)
{
	const bool has_own = !c->nr_regions && can_be_region(point);
	struct causal_shared s = {
	    .fd = -1, .nr_candidates = (uint32_t)c->nr, .nr_regions = has_own ? 1 : c->nr_regions};
	int rc;

	sort_ranges(c);
	s.nr_ranges = (uint32_t)c->nr_ranges;
	for (size_t i = 0; i < c->nr_ranges; i++)
		s.nr_objects += is_of_next_object(c, i);
	if (s.nr_objects > CAUSAL_MEMORY_OBJECTS)
		return err_set(e, -E2BIG, "--causal: code of more than %d files is meant",
			       CAUSAL_MEMORY_OBJECTS);
	s.bytes = causal_memory_bytes(s.nr_objects, s.nr_ranges, s.nr_candidates, s.nr_regions);
	rc = map(&s, e);
	if (rc) {
		causal_shared_close(&s);
		return rc;
	}
	*s.at =
	    (struct causal_memory){.magic = CAUSAL_MEMORY_MAGIC,
				   .nr_objects = s.nr_objects,
				   .nr_ranges = s.nr_ranges,
				   .nr_candidates = s.nr_candidates,
				   .nr_regions = s.nr_regions,
				   .are_regions = c->nr_regions > 0,
				   .experiment = causal_memory_experiment(CAUSAL_MEMORY_NONE, 0)};
	write_ranges(c, &s);
	if (has_own)
		name_region(&s, point);
	guard(&s);
	*out = s;
	return 0;
}

void causal_shared_end(struct causal_shared *s)
{
	__atomic_store_n(&s->at->owner, CAUSAL_MEMORY_DIED, __ATOMIC_RELAXED);
	(void)syscall(SYS_futex, &s->at->owner, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void causal_shared_close(struct causal_shared *s)
{
	static struct robust_list_head none;

	if (s->at) {
		causal_shared_end(s);
		none.list.next = &none.list;
		(void)syscall(SYS_set_robust_list, &none, sizeof(none));
		munmap(s->at, s->bytes);
	}
	io_close(&s->fd);
	s->at = NULL;
}

void causal_shared_reset(struct causal_shared *s)
{
	const uint64_t points =
	    causal_memory_points_at(s->nr_objects, s->nr_ranges, s->nr_candidates);

	causal_shared_try(s, CAUSAL_MEMORY_NONE, 0);
	s->at->first_pid = s->at->nr_threads = s->at->nr_unsampled = 0;
	s->at->all_ns = s->at->behind_ns = s->at->sampled_ns = s->at->queued_ns = 0;
	memset((char *)s->at + points, 0,
	       CAUSAL_MEMORY_POINTS * sizeof(struct causal_memory_point));
}

void causal_shared_try(struct causal_shared *s, uint32_t candidate, unsigned percent)
{
	__atomic_store_n(&s->at->experiment, causal_memory_experiment(candidate, percent),
			 __ATOMIC_RELAXED);
}

void causal_shared_times(const struct causal_shared *s, struct causal_candidates *c)
{
	const struct causal_memory_candidate *from =
	    (const void *)((const char *)s->at +
			   causal_memory_candidates_at(s->nr_objects, s->nr_ranges));

	for (size_t i = 0; i < c->nr; i++)
		c->list[i].ns = __atomic_load_n(&from[i].ns, __ATOMIC_RELAXED);
}

const struct causal_memory_point *causal_shared_points(const struct causal_shared *s)
{
	return (const void *)((const char *)s->at + causal_memory_points_at(s->nr_objects,
									    s->nr_ranges,
									    s->nr_candidates));
}

const struct causal_memory_region *causal_shared_regions(const struct causal_shared *s)
{
	return (const void *)((const char *)s->at + causal_memory_regions_at(s->nr_objects,
									     s->nr_ranges,
									     s->nr_candidates));
}

uint64_t causal_shared_paid(const struct causal_shared *s, const char *name)
{
	const struct causal_memory_region *r = causal_shared_regions(s);

	for (uint32_t i = 0; i < s->nr_regions; i++)
		if (__atomic_load_n(&r[i].kind, __ATOMIC_ACQUIRE) == CAUSAL_MEMORY_POINT &&
		    strncmp(r[i].name, name, sizeof(r[i].name)) == 0)
			return __atomic_load_n(&r[i].paid_ns, __ATOMIC_RELAXED);
	return 0;
}
