/*
 * Names of domains and ranges, as the interfaces of marks pass them: kept for ever, in memory of
 * our own, since a mark may be set within the program's allocator. No lock: any thread, any time.
 */
#ifndef AGENT_NAMES_H
#define AGENT_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { AGENT_MAX_NAME = 255, AGENT_TEXT_BYTES = AGENT_MAX_NAME + 1 };

/* A name; one for each kind and text. */
struct agent_name {
	struct agent_name *next;     /* in its bucket */
	uint32_t kind;               /* of the caller: names of different kinds are apart */
	uint32_t number;             /* 0: it has none */
	uint32_t key;                /* unique, not 0, and below AGENT_FIRST_RANGE */
	_Alignas(16) char extra[64]; /* the caller's, 0 at first; read by other threads at once */
	char text[];
};

/* Keys of ranges with numbers. */
#define AGENT_FIRST_RANGE 0x80000000u

/* The name of this text, at most AGENT_MAX_NAME bytes of it. NULL: no memory. on_new is
 * called for a new one before others see it; NULL is fine. */
struct agent_name *agent_name(uint32_t kind, const char *text,
			      void (*on_new)(struct agent_name *name));
/* A number of the name, for interfaces that name by numbers; 0: there are too many. */
uint32_t agent_number(uint32_t kind, const char *text);
/* The name of that kind with the number. NULL: there is none. */
const struct agent_name *agent_name_of(uint32_t kind, uint32_t number);
/* A new range's key: the low bits of a number of its own. */
uint32_t agent_next_range(void);

size_t agent_length(const char *text); /* at most AGENT_MAX_NAME */
uint32_t agent_hash(const char *text, size_t len);

/* Writes "domain: text" to out and returns it; without a domain the text itself. Cut where too
 * long. */
const char *agent_join(char out[AGENT_TEXT_BYTES], const char *domain, const char *text);
/* The wide text as UTF-8. */
const char *agent_narrow(char out[AGENT_TEXT_BYTES], const wchar_t *text);

#endif
