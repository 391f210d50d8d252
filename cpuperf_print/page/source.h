/*
 * The page of --output-format=html before and after its data, built from html/ by cmake/page.cmake.
 * The data is JSON without '<', '>' and '&'.
 */
#ifndef CPUPERF_PRINT_PAGE_SOURCE_H
#define CPUPERF_PRINT_PAGE_SOURCE_H

#include <stddef.h>

extern const char html_head[], html_tail[];
extern const size_t html_head_len, html_tail_len;
extern const char html_policy[]; /* the header Content-Security-Policy, where it is served */
extern const size_t html_policy_len;

#endif
