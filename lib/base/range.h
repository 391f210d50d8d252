/*
 * A range of the bytes of a file.
 */
#ifndef BASE_RANGE_H
#define BASE_RANGE_H

#include <stdint.h>

struct range {
	uint64_t offset, len;
};

#endif
