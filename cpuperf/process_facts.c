/*
 * What identifies a process, from /proc/PID/status and cmdline.
 */
#include "process_facts.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/str.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_BYTES = 16 << 10, CMDLINE_BYTES = 4 << 20, PASSWD_BYTES = 4096 };

/* The number behind "\nPPid:"; false: there is none. */
static bool find_number(const char *text, const char *name, uint32_t *out)
{
	const char *at = strstr(text, name);
	char *end;
	unsigned long n;

	if (!at)
		return false;
	at += strlen(name);
	n = strtoul(at, &end, 10);
	if (end == at || n > UINT32_MAX)
		return false;
	*out = (uint32_t)n;
	return true;
}

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
	char path[32];
	size_t len;
	BUF_AUTO(text, CMDLINE_BYTES);

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);
	if (root_load(root, path, &text))
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
	char path[32];
	uint32_t uid;
	BUF_AUTO(status, STATUS_BYTES);

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	if (root_load(root, path, &status) || buf_error(&status))
		return false;
	memset(out, 0, sizeof(*out));
	(void)find_number(buf_str(&status), "\nPPid:", &out->parent);
	if (find_number(buf_str(&status), "\nUid:", &uid))
		name_user(uid, out->user);
	load_command(root, pid, out->command);
	return true;
}
