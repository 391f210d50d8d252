/*
 * The stacks and counts of the page, made as few characters.
 */
#ifndef CPUPERF_PRINT_PAGE_ENCODE_H
#define CPUPERF_PRINT_PAGE_ENCODE_H

#include "page/html.h"

enum { HTML_MAX_ENCODED_BYTES = 512 << 20 /* before it is known that they are too many */ };

/* Functions by their numbers in the page. */
struct html_numbers {
	uint32_t *function; /* by the report's numbers, nr_all of them; UINT32_MAX: not there */
	const struct report_function **functions; /* by the page's */
	size_t nr_functions, nr_all;
};
void html_numbers_fini(struct html_numbers *n);

struct html_encoded {
	struct buf tree, cells;
	uint32_t first; /* slice */
	uint64_t nr_slices;
	uint64_t *period; /* of each event; 0: samples have different ones */
	size_t names_len; /* of functions */
};
void html_encoded_init(struct html_encoded *to);
void html_encoded_fini(struct html_encoded *to);

/* The slices of the time that is shown, and those of samples outside. */
void html_encode_slices(struct html *h, struct html_encoded *to);
/*
 * Makes the outline too. Frames of fewer than *min_samples are merged. What is too large for a page
 * is made coarser until it fits: time first, then by a higher *min_samples. 0 or -errno; n and to
 * are to be freed in any case.
 */
int html_encode(struct html *h, struct html_numbers *n, struct html_encoded *to,
		uint64_t *min_samples);

#endif
