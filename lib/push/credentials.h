/*
 * The secret that a receiver requires, from a file. It is in no message, and in no argument.
 */
#ifndef PUSH_CREDENTIALS_H
#define PUSH_CREDENTIALS_H

#include <stdbool.h>

struct err;

enum { PUSH_SECRET_BYTES = 8192 };

struct push_credentials {
	bool is_basic;                  /* USER:PASSWORD; else a token */
	char secret[PUSH_SECRET_BYTES]; /* "": none */
};

/* A regular file of the caller or of root, that nobody else may read, with a line "bearer TOKEN" or
 * "basic USER:PASSWORD". -errno with *e, which does not quote it; *out is empty then. */
int push_credentials_load(const char *path, struct push_credentials *out, struct err *e);
void push_credentials_forget(struct push_credentials *c);

#endif
