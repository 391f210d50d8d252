/*
 * Many errors of one text, told in the order of the text. Also the phrases that messages
 * about values have in common.
 */
#ifndef SPEC_DIAG_H
#define SPEC_DIAG_H

#include "base/err.h"
#include "spec/json.h"
#include "spec/keys.h"
#include "spec/spec.h"

#include <stddef.h>

/* Adds an error of code -EINVAL, in one line, at its place among the others. The result takes a
 * hint; NULL if there is no room for it. */
struct err *diag_at(struct err_list *errs, const char *source, struct spec_pos pos, const char *fmt,
		    ...) __attribute__((format(printf, 4, 5)));
/* Reports -ENOMEM; returns it. */
int diag_no_memory(struct err_list *errs, const char *source);
/* Kept and dropped. */
size_t diag_count(const struct err_list *errs);

/* 'the string "abc"', "the number -5", "an array": what a value is, long ones cut. */
void diag_string(const char *s, char *buf, size_t size);
void diag_value(const json_t *value, char *buf, size_t size);
/* 'an integer from 1 to 4096', "a string of at most 255 bytes": what a key takes. */
void diag_wanted(const struct key_row *row, char *buf, size_t size);
/* The words of a key: "any, call and call_stack". */
void diag_words(const struct key_row *row, char *buf, size_t size);
/* How many bytes of s to show ("%.*s"), whole characters only. */
int diag_cut(const char *s);

#endif
