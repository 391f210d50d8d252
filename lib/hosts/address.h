/*
 * The hosts that a user names.
 */
#ifndef HOSTS_ADDRESS_H
#define HOSTS_ADDRESS_H

#include "hosts/part.h"

enum { HOSTS_MAX_HOSTS = 1024 };

struct hosts_address {
	char name[HOSTS_NAME_BYTES];   /* as it was written */
	char target[HOSTS_NAME_BYTES]; /* for ssh: [user@]host */
	char port[8];                  /* "": ssh's default */
};

struct hosts_addresses {
	struct hosts_address *item; /* owned */
	size_t nr;
};

/* LIST: [USER@]HOST[:PORT], separated by commas; an IPv6 address with a port in brackets. @FILE:
 * one on each line; what follows # is a comment. 0 or -errno with *e: none, one twice, more than
 * HOSTS_MAX_HOSTS, or one that ssh or a terminal might read as something else. */
int hosts_address_list(const char *list, struct hosts_addresses *out, struct err *e);
void hosts_address_free(struct hosts_addresses *a);

#endif
