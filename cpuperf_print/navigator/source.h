/*
 * The navigator's page, made by cmake/page.cmake.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_SOURCE_H
#define CPUPERF_PRINT_NAVIGATOR_SOURCE_H

#include <stddef.h>

extern const char navigator_page[];
extern const size_t navigator_page_len;
extern const char navigator_policy[]; /* the header Content-Security-Policy */
extern const size_t navigator_policy_len;

#endif
