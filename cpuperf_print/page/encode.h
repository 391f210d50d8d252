/*
 * The stacks and counts of the page, made as few characters.
 */
#ifndef CPUPERF_PRINT_PAGE_ENCODE_H
#define CPUPERF_PRINT_PAGE_ENCODE_H

#include "page/page.h"

enum { PAGE_MAX_ENCODED_BYTES = 512 << 20 /* before it is known that they are too many */ };

/* Functions by their numbers in the page. */
struct page_numbers {
	uint32_t *function; /* by the report's numbers, nr_all of them; UINT32_MAX: not there */
	const struct report_function **functions; /* by the page's */
	size_t nr_functions, nr_all;
};
void page_numbers_fini(struct page_numbers *n);

struct page_encoded {
	struct buf tree, cells;
	uint32_t first; /* slice */
	uint64_t nr_slices;
	uint64_t *period; /* of each event; 0: samples have different ones */
	size_t names_len; /* of functions */
};
void page_encoded_init(struct page_encoded *to);
void page_encoded_fini(struct page_encoded *to);

/* The slices of the time that is shown, and those of samples outside. */
void page_encode_slices(struct page *h, struct page_encoded *to);
/*
 * Makes the outline too. Frames of fewer than *min_samples are merged. What is too large for a page
 * is made coarser until it fits: time first, then by a higher *min_samples. 0 or -errno; n and to
 * are to be freed in any case.
 */
int page_encode(struct page *h, struct page_numbers *n, struct page_encoded *to,
		uint64_t *min_samples);

#endif
