/*
 * What is sent, and the script that receives it.
 */
#include "hosts/send.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 256 << 20, MAX_SCRIPT_BYTES = 64 << 10 };

static const char before[] = "cpuperf-", behind[] = "-linux.tar.gz";

/* False: it is not of such a file. */
static bool find_machine(const char *path, char machine[HOSTS_SEND_MACHINE_BYTES])
{
	static const char usual[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const char *name = str_base_name(path), *from;
	size_t len;

	if (strncmp(name, before, strlen(before)) != 0)
		return false;
	from = name + strlen(before);
	len = strspn(from, usual);
	if (!len || len >= HOSTS_SEND_MACHINE_BYTES || strcmp(from + len, behind) != 0)
		return false;
	memcpy(machine, from, len);
	machine[len] = '\0';
	return true;
}

/* A host would say no more than that it did not arrive. */
static int check_content(const struct buf *data, const char *path, struct err *e)
{
	static const char gzip[] = {'\x1f', '\x8b'};

	if (data->len < sizeof(gzip) || memcmp(data->data, gzip, sizeof(gzip)) != 0)
		return err_set_at(e, -EINVAL, path, 0, 0, "%s",
				  data->len ? "is no file of gzip" : "is empty");
	return 0;
}

static int load(struct hosts_send_file *f, const char *path, int fd, struct err *e)
{
	int rc;

	buf_init(&f->data, MAX_FILE_BYTES);
	rc = io_load_fd(fd, &f->data);
	if (rc)
		err_set_at(e, rc, path, 0, 0, "cannot be read: %s", strerror(-rc));
	rc = rc ?: check_content(&f->data, path, e);
	if (rc)
		buf_fini(&f->data);
	return rc;
}

static int add(struct hosts_send *s, const char *path, int fd, struct err *e)
{
	struct hosts_send_file *f = &s->file[s->nr];
	char machine[HOSTS_SEND_MACHINE_BYTES];
	int rc;

	if (!find_machine(path, machine)) {
		err_set_at(e, -EINVAL, path, 0, 0, "is not named cpuperf-MACHINE-linux.tar.gz");
		err_hint(e, "scripts/package tar makes such a file");
		return -EINVAL;
	}
	if (hosts_send_find(s, machine, strlen(machine)))
		return 0;
	if (s->nr == HOSTS_SEND_MAX_FILES)
		return err_set(e, -E2BIG, "--send: more than %d files", HOSTS_SEND_MAX_FILES);
	rc = load(f, path, fd, e);
	if (rc)
		return rc;
	memcpy(f->machine, machine, sizeof(machine));
	sha256_hex(f->data.data, f->data.len, f->sum);
	s->nr++;
	return 0;
}

int hosts_send_add(struct hosts_send *s, const char *path, struct err *e)
{
	IO_AUTO_FD int fd = io_open_input(path, e);

	return fd < 0 ? fd : add(s, path, fd, e);
}

/* Hosts run it as the user's own. A folder like /tmp may have anybody's. */
static int add_found(struct hosts_send *s, const char *path, struct err *e)
{
	struct stat st;
	IO_AUTO_FD int fd = io_open_regular(AT_FDCWD, path, O_NOFOLLOW, &st);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return err_set_at(e, fd, path, 0, 0, "cannot be sent: %s", io_reason(fd));
	if ((st.st_uid && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH))) {
		err_set_at(e, -EPERM, path, 0, 0,
			   "is not sent: another user can write it, and hosts would run it");
		err_hint(e, "name the file that you mean: --send=FILE");
		return -EPERM;
	}
	return add(s, path, fd, e);
}

int hosts_send_add_folder(struct hosts_send *s, const char *folder, struct err *e)
{
	static const char *const machines[] = {"x86_64", "aarch64"};
	char path[PATH_MAX];
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(machines) && rc == 0; i++) {
		if (snprintf(path, sizeof(path), "%s/%s%s%s", folder, before, machines[i],
			     behind) >= (int)sizeof(path))
			return 0;
		rc = add_found(s, path, e);
	}
	return rc;
}

void hosts_send_fini(struct hosts_send *s)
{
	for (size_t i = 0; i < s->nr; i++)
		buf_fini(&s->file[i].data);
	s->nr = 0;
}

const struct hosts_send_file *hosts_send_find(const struct hosts_send *s, const char *machine,
					      size_t len)
{
	return ARRAY_FIND(f, s->file, s->nr,
			  strlen(f->machine) == len && memcmp(f->machine, machine, len) == 0);
}

/* For any POSIX shell, also a busybox's. In one line, without "!": the user's own shell, which
 * passes it on, may be csh. Where programs may not be executed, /tmp is of no use. */
void hosts_send_command(const struct hosts_send *s, const char *program, const char *version,
			struct buf *out)
{
	BUF_AUTO(script, MAX_SCRIPT_BYTES);

	buf_adds(&script, "p=");
	buf_shell_word(&script, program);
	buf_printf(&script,
		   "; [ \"$(\"$p\" --version 2>/dev/null)\" = \"cpuperf %s\" ] && "
		   "exec \"$p\" --as-part; m=$(uname -m); case $m in ",
		   version);
	for (size_t i = 0; i < s->nr; i++)
		buf_printf(&script, "%s) n=%zu h=%s;; ", s->file[i].machine, s->file[i].data.len,
			   s->file[i].sum);
	buf_adds(
	    &script,
	    "*) echo \"it is of machine $m, and --send has no cpuperf-$m-linux.tar.gz\" >&2; "
	    "exit 1;; esac; "
	    "d=; trap '[ -z \"$d\" ] || rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT PIPE TERM; "
	    "for b in \"$TMPDIR\" /tmp /var/tmp \"$HOME\"; do "
	    "[ -d \"$b\" ] && d=$(mktemp -d \"$b/cpuperf.XXXXXXXXXX\" 2>/dev/null) && "
	    ": >\"$d/x\" && chmod 700 \"$d/x\" && \"$d/x\" 2>/dev/null && break; "
	    "[ -z \"$d\" ] || rm -rf \"$d\"; d=; done; "
	    "[ -n \"$d\" ] || { echo \"no folder can hold a program: "
	    "not TMPDIR, /tmp, /var/tmp, HOME\" >&2; exit 1; }; "
	    "echo \"" HOSTS_SEND_MAGIC "$m\"; head -c $n >\"$d/f\"; "
	    "(cd \"$d\" && echo \"$h  f\" | sha256sum -c >/dev/null && gzip -dc f | tar xf - && "
	    "rm f x) || { "
	    "echo \"what was sent did not arrive whole in $d: is the disk full?\" >&2; exit 1; }; "
	    "\"$d/cpuperf-$m-linux/bin/cpuperf\" --as-part; exit");
	buf_adds(out, "sh -c ");
	buf_shell_word(out, buf_str(&script));
	if (buf_error(&script))
		out->error = buf_error(&script);
}
