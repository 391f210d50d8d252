/*
 * Of which version an agent's file is, without loading it. The agent has a stamp among its
 * constants (struct heap_stamp), which is looked for as what(1) looks for its marks: so it is found
 * in files of 32 and of 64 bits.
 *
 * Without it an agent of another version would be loaded, would find that it cannot use the memory
 * of this recorder, and measure nothing.
 */
#ifndef WIRE_STAMP_H
#define WIRE_STAMP_H

#include <stdint.h>

/* The version that this recorder's memory has. */
uint32_t wire_stamp_own(void);
/* 0; -ENODATA: it has no stamp, as those before there was one, or it is truncated; -EINVAL or
 * -EISDIR: it is no regular file, and was not opened; -errno: it cannot be read. */
int wire_stamp_read(const char *path, uint32_t *version);

#endif
