/*
 * Compares boot ids.
 */
#include "profile/boot.h"

#include "base/root.h"
#include "base/str.h"

#include <string.h>

bool profile_boot_is_current(const struct trace_head *head)
{
	char id[40], hex[33];
	size_t at = 0;

	if (root_load_line(&root_live, "/proc/sys/kernel/random/boot_id", id, sizeof(id)))
		return false;
	for (const char *p = id; *p; p++)
		if (*p != '-')
			id[at++] = *p;
	id[at] = '\0';
	str_hex16(head->boot_id, hex);
	return strcmp(id, hex) == 0;
}
