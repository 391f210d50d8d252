/*
 * The number stands in a page that reads 0 in a forked child (MADV_WIPEONFORK), so that no call
 * has to ask for the process number.
 */
#include "api/image.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };
static _Atomic(uint32_t *) shared; /* the page; never freed */
static _Atomic uint32_t nr_images; /* also counts those that this one descends from */

/* No lock: a child may be forked while another thread is here. */
static int make_page(uint32_t **out)
{
	uint32_t *none = NULL;
	uint32_t *page =
	    mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK)) {
		int rc = -errno;

		munmap(page, PAGE_BYTES);
		return rc;
	}
	if (!atomic_compare_exchange_strong(&shared, &none, page)) {
		munmap(page, PAGE_BYTES);
		page = none;
	}
	*out = page;
	return 0;
}

int api_image_enter(uint32_t *out)
{
	uint32_t *page = shared, none = 0;
	int rc = page ? 0 : make_page(&page);

	if (rc)
		return rc;
	if (!__atomic_load_n(page, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(page, &none, ++nr_images, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	*out = __atomic_load_n(page, __ATOMIC_RELAXED);
	return 0;
}

bool api_image_is_current(uint32_t image)
{
	const uint32_t *page = shared;

	return page && __atomic_load_n(page, __ATOMIC_RELAXED) == image;
}
