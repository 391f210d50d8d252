/*
 * Integers as text, one after another without separators. Each character holds five bits, the
 * lowest first, and a sixth bit that is set if more follow; so small numbers are one character. The
 * characters are those of base64 for URLs, which need no quoting in JSON, HTML and JavaScript.
 */
#ifndef EXPORT_DIGITS_H
#define EXPORT_DIGITS_H

#include <stdint.h>

struct buf;

void export_digits_add(struct buf *b, uint64_t v);

#endif
