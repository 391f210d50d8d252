/*
 * A region is 256 MiB of addresses, divided into as many cells as it has blocks, or up to twice as
 * many. A cell has the number of the first block that begins at or beyond its own begin.
 */
#include "heap/index.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <stdbool.h>

enum { REGION_SHIFT = 28, FEW = 16, CHECK_MASK = (1 << 16) - 1 };

static const uint64_t IN_REGION = (UINT64_C(1) << REGION_SHIFT) - 1;

struct heap_index_region {
	uint32_t cell; /* its first */
	uint32_t shift;
};

uint64_t heap_index_begin(const struct heap_index *ix, size_t i)
{
	return ix->block[i].address;
}

static uint64_t end_of(const struct wire_heap_block *b)
{
	uint64_t bytes = heap_size(b->size);

	return b->address + bytes + !bytes;
}

uint64_t heap_index_end(const struct heap_index *ix, size_t i)
{
	return end_of(&ix->block[i]);
}

static size_t region_of(const struct heap_index *ix, uint64_t address)
{
	return (address >> REGION_SHIFT) - (ix->low >> REGION_SHIFT);
}

static size_t cell_of(const struct heap_index *ix, uint64_t address)
{
	const struct heap_index_region *r = &ix->region[region_of(ix, address)];

	return r->cell + ((address & IN_REGION) >> r->shift);
}

/* --- in order */

static bool is_late(size_t i, uint64_t until_ns)
{
	return !(i & CHECK_MASK) && clock_monotonic_ns() > until_ns;
}

static void find_range(struct heap_index *ix, const struct wire_heap_block *block, size_t nr)
{
	uint64_t last = 0;

	ix->low = UINT64_MAX;
	for (size_t i = 0; i < nr; i++) {
		ix->low = block[i].address < ix->low ? block[i].address : ix->low;
		last = block[i].address > last ? block[i].address : last;
	}
	ix->nr_regions = region_of(ix, last) + 1;
}

/* Returns the number of cells. */
static size_t divide(struct heap_index *ix)
{
	size_t nr = 0;

	for (size_t i = 0; i < ix->nr_regions; i++) {
		struct heap_index_region *r = &ix->region[i];
		uint32_t nr_blocks = r->cell, shift = REGION_SHIFT;

		while (shift && 1u << (REGION_SHIFT - shift) < nr_blocks)
			shift--;
		*r = (struct heap_index_region){(uint32_t)nr, shift};
		nr += 1u << (REGION_SHIFT - shift);
	}
	return nr;
}

static int compare(const void *a, const void *b)
{
	const struct wire_heap_block *x = a, *y = b;

	return order_u64(x->address, y->address);
}

static void sort_cell(struct wire_heap_block *block, size_t nr)
{
	if (nr > FEW) {
		order_sort(block, nr, sizeof(*block), compare);
		return;
	}
	for (size_t i = 1; i < nr; i++) {
		struct wire_heap_block b = block[i];
		size_t k = i;

		for (; k && block[k - 1].address > b.address; k--)
			block[k] = block[k - 1];
		block[k] = b;
	}
}

/* Each cell has its end, and receives its begin. A block may have been read twice. */
static int sort_cells(struct heap_index *ix, size_t nr_cells, uint64_t until_ns)
{
	size_t from = 0, to = 0;

	for (size_t c = 0; c < nr_cells; c++) {
		const size_t end = ix->cell[c];

		if (is_late(c, until_ns))
			return -ETIMEDOUT;
		sort_cell(ix->block + from, end - from);
		ix->cell[c] = (uint32_t)to;
		for (; from < end; from++)
			if (!to || ix->block[to - 1].address != ix->block[from].address)
				ix->block[to++] = ix->block[from];
	}
	ix->cell[nr_cells] = (uint32_t)to;
	ix->nr = to;
	ix->high = end_of(&ix->block[to - 1]);
	return 0;
}

/* Into the cells, whose numbers are then their ends. */
static int scatter(struct heap_index *ix, const struct wire_heap_block *block, size_t nr,
		   size_t nr_cells, uint64_t until_ns)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < nr; i++) {
		if (is_late(i, until_ns))
			return -ETIMEDOUT;
		ix->cell[cell_of(ix, block[i].address)]++;
	}
	for (size_t c = 0; c < nr_cells; c++) {
		uint32_t begin = sum;

		sum += ix->cell[c];
		ix->cell[c] = begin;
	}
	for (size_t i = 0; i < nr; i++) {
		if (is_late(i, until_ns))
			return -ETIMEDOUT;
		ix->block[ix->cell[cell_of(ix, block[i].address)]++] = block[i];
	}
	return 0;
}

static int make(struct heap_index *ix, const struct wire_heap_block *block, size_t nr,
		uint64_t until_ns)
{
	size_t nr_cells;

	find_range(ix, block, nr);
	ix->region = mem_calloc(ix->nr_regions, sizeof(*ix->region));
	if (!ix->region)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		ix->region[region_of(ix, block[i].address)].cell++;
	nr_cells = divide(ix);
	ix->cell = mem_calloc(nr_cells + 1, sizeof(*ix->cell));
	ix->block = mem_calloc(nr, sizeof(*ix->block));
	if (!ix->cell || !ix->block)
		return -ENOMEM;
	return scatter(ix, block, nr, nr_cells, until_ns) ?: sort_cells(ix, nr_cells, until_ns);
}

int heap_index_make(struct heap_index *ix, struct wire_heap_block *block, size_t nr,
		    uint64_t until_ns)
{
	struct heap_index made = {0};
	int rc = nr ? make(&made, block, nr, until_ns) : 0;

	mem_free(block);
	if (rc)
		heap_index_fini(&made);
	else
		*ix = made;
	return rc;
}

void heap_index_fini(struct heap_index *ix)
{
	mem_free(ix->block);
	mem_free(ix->region);
	mem_free(ix->cell);
	*ix = (struct heap_index){0};
}

/* --- search */

size_t heap_index_after(const struct heap_index *ix, uint64_t address)
{
	const uint32_t *cell;

	if (!ix->nr || address < ix->low)
		return 0;
	if (region_of(ix, address) >= ix->nr_regions)
		return ix->nr;
	cell = &ix->cell[cell_of(ix, address)];
	return cell[0] +
	       ORDER_FIRST(i, cell[1] - cell[0], heap_index_begin(ix, cell[0] + i) > address);
}

static bool is_within(const struct heap_index *ix, uint64_t address)
{
	return address - ix->low < ix->high - ix->low;
}

size_t heap_index_find(const struct heap_index *ix, uint64_t address)
{
	size_t i = is_within(ix, address) ? heap_index_after(ix, address) : 0;

	return i && address < heap_index_end(ix, i - 1) ? i - 1 : ix->nr;
}

static bool has_cell(const struct heap_index *ix, uint64_t address)
{
	return is_within(ix, address) && region_of(ix, address) < ix->nr_regions;
}

void heap_index_fetch(const struct heap_index *ix, const uint64_t *address, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (has_cell(ix, address[i]))
			__builtin_prefetch(&ix->cell[cell_of(ix, address[i])]);
	for (size_t i = 0; i < nr; i++)
		if (has_cell(ix, address[i]))
			__builtin_prefetch(&ix->block[ix->cell[cell_of(ix, address[i])]]);
}
