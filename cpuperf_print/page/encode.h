/*
 * The stacks and counts of the page in few characters.
 */
#ifndef CPUPERF_PRINT_PAGE_ENCODE_H
#define CPUPERF_PRINT_PAGE_ENCODE_H

#include "page/page.h"

enum { PAGE_MAX_ENCODED_BYTES = 512 << 20 /* before coarsening */ };

/* Functions by their numbers in the page. */
struct page_numbers {
	uint32_t
	    *function; /* by the report's number, nr_all of them; UINT32_MAX: not in the page */
	const struct report_function **functions; /* by the page's number */
	size_t nr_functions, nr_all;
};
void page_numbers_fini(struct page_numbers *n);

struct page_encoded {
	struct buf tree, cells;
	uint32_t first; /* slice */
	uint64_t nr_slices;
	uint64_t *period; /* of each event; 0: not the same for all samples */
	double *squares;  /* of each event: those of its weights, by the sum of its weights */
	size_t names_len; /* of functions */
};
void page_encoded_init(struct page_encoded *to);
void page_encoded_fini(struct page_encoded *to);

/* Sets the range of slices: the time shown, and samples outside of it. */
void page_encode_slices(struct page *h, struct page_encoded *to);
/*
 * Makes the outline too. Frames of fewer than *min_samples samples are merged. Data too large for a
 * page are coarsened until they fit: first time, then by raising *min_samples. 0 or -errno; finish
 * n and to in any case.
 */
int page_encode(struct page *h, struct page_numbers *n, struct page_encoded *to,
		uint64_t *min_samples);

#endif
