/*
 * What identifies a process, from /proc/PID/status and cmdline.
 */
#include "process_facts.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/str.h"
#include "proc/keys.h"
#include "proc/proc.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CMDLINE_BYTES = 4 << 20, PASSWD_BYTES = 4096 };

/* Of the local file only: a directory service may never answer. Else the number. */
static void name_user(uint32_t uid, char name[PROCESSES_USER_BYTES])
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry, *found = NULL;
	char text[PASSWD_BYTES];

	snprintf(name, PROCESSES_USER_BYTES, "%" PRIu32, uid);
	while (file && fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0) {
		if (entry.pw_uid != uid)
			continue;
		snprintf(name, PROCESSES_USER_BYTES, "%s", entry.pw_name);
		str_disarm(name);
		break;
	}
	if (file)
		(void)fclose(file);
}

static void load_command(const struct root *root, uint32_t pid, char *command)
{
	size_t len;
	BUF_AUTO(text, CMDLINE_BYTES);

	if (proc_load(PROC(root, pid), "cmdline", &text))
		return;
	len = text.len < PROCESSES_COMMAND_BYTES ? text.len : PROCESSES_COMMAND_BYTES - 1;
	memcpy(command, buf_str(&text), len);
	while (len && !command[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!command[i]) /* between arguments */
			command[i] = ' ';
	command[len] = '\0';
	str_clean(command, len);
}

bool process_facts_find(void *root, uint32_t pid, struct processes_one *out)
{
	uint64_t parent = 0, uids[4];
	struct proc_key keys[] = {{"PPid", &parent}, {"Uid", uids, ARRAY_NR(uids)}};

	if (proc_keys_load(PROC(root, pid), "status", keys, ARRAY_NR(keys)))
		return false;
	memset(out, 0, sizeof(*out));
	out->parent = (uint32_t)parent;
	if (keys[1].nr)
		name_user((uint32_t)uids[0], out->user);
	load_command(root, pid, out->command);
	return true;
}
