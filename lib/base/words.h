/*
 * A command line in one text, split into words as a shell splits them, but by no shell.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

struct err;

/* Words are divided by spaces, tabs and newlines; quotes and backslashes are those of a POSIX
 * shell. Nothing else is: what a shell would act upon (unquoted | & ; < > ( ) ` $, and ` $ within
 * double quotes) is -EINVAL with *e, as is a text without a word. *out ends with NULL; mem_free
 * frees it, words and all. 0 or -errno. */
int words_split(const char *text, char ***out, struct err *e);

#endif
