/*
 * The page of --output-format=html and of --serve, built from web/ by cmake/page.cmake: head,
 * policy, middle, data, tail. The data is JSON without '<', '>' and '&', or null: then the page
 * asks its server.
 */
#ifndef CPUPERF_PRINT_PAGE_SOURCE_H
#define CPUPERF_PRINT_PAGE_SOURCE_H

#include <stddef.h>

extern const char html_head[], html_middle[], html_tail[];
extern const size_t html_head_len, html_middle_len, html_tail_len;
/* What the page may load: nothing, and its server's answers. */
extern const char html_policy[], html_served_policy[];
extern const size_t html_policy_len, html_served_policy_len;

#endif
