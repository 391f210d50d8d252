/*
 * The parts of a job's folder.
 */
#ifndef HOSTS_LIST_H
#define HOSTS_LIST_H

#include "hosts/part.h"

struct hosts_entry {
	char folder[NAME_MAX + 1]; /* its name in the job's folder */
	struct hosts_part part;
};

struct hosts_list {
	struct hosts_entry *entry; /* owned */
	size_t nr;
};

/*
 * Reads host.json of each folder in the folder dirfd, in the order of hosts (numbers in names by
 * value) and ranks; links are not followed. Where it cannot be read the part is HOSTS_FAILED, with
 * the reason, and the folder's name as its host; so is a session without one. Without any host.json
 * the list is empty: the folder is not a job's. 0 or -errno with *e; -E2BIG: more than
 * HOSTS_MAX_PARTS. path: for messages.
 */
int hosts_list_read(int dirfd, const char *path, struct hosts_list *out, struct err *e);
void hosts_list_fini(struct hosts_list *l);

#endif
