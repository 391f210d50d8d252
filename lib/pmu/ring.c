/*
 * A ring, shared with the kernel.
 */
#include "pmu/ring.h"

#include "base/perf_abi.h"
#include "pmu/scan.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct perf_event_mmap_page *page_of(const struct pmu_ring *r)
{
	return r->base;
}

int pmu_ring_open(struct pmu_ring *r, const struct pmu_ops *ops, int fd, uint64_t bytes,
		  bool is_overwritten)
{
	int error = 0;
	void *base;

	if (bytes < page_bytes() || bytes & (bytes - 1))
		return -EINVAL;
	base = ops->mmap(fd, page_bytes() + bytes, is_overwritten, &error);
	if (!base)
		return error;
	*r = (struct pmu_ring){
	    .ops = ops, .fd = fd, .base = base, .bytes = bytes, .is_overwritten = is_overwritten};
	return 0;
}

void pmu_ring_close(struct pmu_ring *r)
{
	if (r->base)
		r->ops->munmap(r->base, page_bytes() + r->bytes);
	*r = (struct pmu_ring){.fd = -1};
}

int pmu_ring_join(const struct pmu_ring *r, int fd)
{
	return r->ops->ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)r->fd);
}

/* Pairs with the barrier in perf_output_put_handle(): what is before the head is written. */
uint64_t pmu_ring_head(const struct pmu_ring *r)
{
	return __atomic_load_n(&page_of(r)->data_head, __ATOMIC_ACQUIRE);
}

struct pmu_view pmu_ring_view(const struct pmu_ring *r)
{
	return (struct pmu_view){.data = (const uint8_t *)r->base + page_bytes(),
				 .mask = r->bytes - 1};
}

void pmu_view_span(const struct pmu_view *v, uint64_t from, uint64_t to, const void *part[2],
		   size_t len[2])
{
	uint64_t at = from & v->mask, to_the_end = v->mask - at;

	len[0] = to - from;
	len[1] = 0;
	if (len[0] && len[0] - 1 > to_the_end) {
		len[1] = len[0] - (size_t)to_the_end - 1;
		len[0] = (size_t)to_the_end + 1;
	}
	part[0] = v->data + at;
	part[1] = v->data;
}

/* What was read before must not be seen after the kernel may write over it. */
void pmu_ring_release(struct pmu_ring *r, uint64_t at)
{
	r->tail = at;
	__atomic_store_n(&page_of(r)->data_tail, at, __ATOMIC_RELEASE);
}

static void pause_output(const struct pmu_ring *r, unsigned long is_paused)
{
	/* fails only before Linux 4.7, which has no overwritten rings */
	(void)r->ops->ioctl(r->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, is_paused);
}

/* True if the ring still holds the record that ends at end. A record that the kernel had begun
 * before the pause, and may not have reported yet, is no longer than longest. */
static bool is_held(const struct pmu_ring *r, uint64_t end, uint64_t longest)
{
	uint64_t head, used;

	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the record was read before */
	head = pmu_ring_head(r);
	used = end - head;
	return -head <= r->bytes || used + longest <= r->bytes;
}

/* It counts down from 0. */
static uint64_t used_bytes(const struct pmu_ring *r, uint64_t head)
{
	return -head < r->bytes ? -head : r->bytes;
}

uint64_t pmu_ring_used(const struct pmu_ring *r)
{
	return used_bytes(r, pmu_ring_head(r));
}

/* The newest record first, so that the oldest, which may be overwritten meanwhile, comes last. */
static uint64_t copy_records(const struct pmu_ring *r, uint64_t head, uint8_t *out)
{
	struct pmu_view v = pmu_ring_view(r);
	uint64_t at = head, end = head + used_bytes(r, head), to = r->bytes, longest = 0, size;

	while (at != end && (size = pmu_record_bytes(&v, at, end))) {
		const void *part[2];
		size_t len[2];

		pmu_view_span(&v, at, at + size, part, len);
		memcpy(out + to - size, part[0], len[0]);
		memcpy(out + to - size + len[0], part[1], len[1]);
		longest = size > longest ? size : longest;
		at += size;
		if (!is_held(r, at, longest))
			break;
		to -= size;
	}
	return to;
}

uint64_t pmu_ring_copy(const struct pmu_ring *r, bool is_alive, uint8_t *out, bool *has_all)
{
	uint64_t head, from;

	if (is_alive)
		pause_output(r, 1);
	head = pmu_ring_head(r);
	from = copy_records(r, head, out);
	if (is_alive)
		pause_output(r, 0);
	*has_all = -head <= r->bytes;
	return from;
}
