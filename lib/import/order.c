/*
 * From the other byte order into ours. Must not trust a number that it swaps.
 */
#include "import/internal.h"

void import_swap_attr(uint8_t *attr, size_t len)
{
	(void)attr;
	(void)len;
}

bool import_swap(struct import *im, const struct import_record *r)
{
	(void)im;
	(void)r;
	return false;
}
