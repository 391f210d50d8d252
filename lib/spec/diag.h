/*
 * The errors of one text, in the order of the text, and the phrases that messages about values
 * share.
 */
#ifndef SPEC_DIAG_H
#define SPEC_DIAG_H

#include "base/err.h"
#include "spec/json.h"
#include "spec/keys.h"
#include "spec/spec.h"

#include <stddef.h>

/* Inserts an error of one line with code -EINVAL. Returns it, so that the caller can add a hint;
 * NULL if there is no room. */
struct err *diag_at(struct err_list *errs, const char *source, struct spec_pos pos, const char *fmt,
		    ...) __attribute__((format(printf, 4, 5)));
/* Reports -ENOMEM; returns it. */
int diag_no_memory(struct err_list *errs, const char *source);
/* The number of errors, with those for which there was no room. */
size_t diag_count(const struct err_list *errs);

/* 'the string "abc"', "the number -5", "an array": describes a value; truncates long ones. */
void diag_string(const char *s, char *buf, size_t size);
void diag_value(const json_t *value, char *buf, size_t size);
/* 'an integer from 1 to 4096', "a string of at most 255 bytes": describes what a key accepts. */
void diag_wanted(const struct key_row *row, char *buf, size_t size);
/* The words of a key: "any, call and call_stack". */
void diag_words(const struct key_row *row, char *buf, size_t size);
/* The position of a byte of a string whose value is at pos; of its start if it has escapes, beside
 * those of the signs that are always escaped: diag_is_escaped. */
bool diag_is_escaped(char c);
struct spec_pos diag_within(struct spec_pos pos, const char *s, bool has_escapes, size_t offset);
/* The number of bytes of s to show ("%.*s"): whole characters only. */
int diag_cut(const char *s);

#endif
