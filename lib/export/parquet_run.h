/*
 * Parquet's hybrid of run lengths and packed bits, in which definition levels and the numbers of
 * dictionary entries are written.
 */
#ifndef EXPORT_PARQUET_RUN_H
#define EXPORT_PARQUET_RUN_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/* How many bits the numbers 0 … highest need; at least 1. */
unsigned parquet_run_width(uint32_t highest);
/* Appends nr numbers, each of at most width bits (1 … 32). */
void parquet_run_add(struct buf *b, const uint32_t *v, size_t nr, unsigned width);

#endif
