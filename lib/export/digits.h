/*
 * Whole numbers as text, one behind the other without a separator: of five bits each character, the
 * lowest first; what has a sixth is followed by more. Small numbers are one character. The
 * characters are those of base64 for URLs, so that the text may stand in JSON, HTML and JavaScript.
 */
#ifndef EXPORT_DIGITS_H
#define EXPORT_DIGITS_H

#include <stdint.h>

struct buf;

void export_digits_add(struct buf *b, uint64_t v);

#endif
