/*
 * The page of --output-format=html, made of the files in html/ when this is built
 * (cmake/page.cmake): what stands before its data, and what behind. The data is JSON without '<',
 * '>' and '&'.
 */
#ifndef CPUPERF_PRINT_PAGE_SOURCE_H
#define CPUPERF_PRINT_PAGE_SOURCE_H

#include <stddef.h>

extern const char html_head[], html_tail[];
extern const size_t html_head_len, html_tail_len;

#endif
