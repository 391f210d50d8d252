/*
 * cpuperf for hosts that have none: files that scripts/package tar makes, one for each machine
 * (as uname -m names it), and what a host does to receive one.
 *
 * The starter cannot know what a host has. So it asks ssh for a script, which becomes the cpuperf
 * that is there if it is of the same version. Otherwise the script makes a folder that nobody else
 * can enter, writes HOSTS_SEND_MAGIC with the name of the machine, and reads the file, whose length
 * and SHA-256 are in the script. It unpacks the file, runs its cpuperf, and removes the folder when
 * that has ended, when it gets SIGHUP, SIGINT or SIGTERM, or when the connection is gone: not each
 * shell runs its trap for EXIT when SIGPIPE ends it.
 */
#ifndef HOSTS_SEND_H
#define HOSTS_SEND_H

#include "base/buf.h"
#include "base/sha256.h"

#include <stddef.h>

struct err;

/* Then the name of the machine, and a newline. */
#define HOSTS_SEND_MAGIC "cpuperf send "

enum { HOSTS_SEND_MAX_FILES = 4, HOSTS_SEND_MACHINE_BYTES = 32 };

struct hosts_send_file {
	char machine[HOSTS_SEND_MACHINE_BYTES];
	char sum[SHA256_HEX_BYTES];
	struct buf data;
};

/* Zero: none. */
struct hosts_send {
	struct hosts_send_file file[HOSTS_SEND_MAX_FILES];
	size_t nr;
};

/* Adds the file path, whose name must be cpuperf-MACHINE-linux.tar.gz. 0 or -errno with *e. */
int hosts_send_add(struct hosts_send *s, const char *path, struct err *e);
/* Adds what the folder has of the machines that cpuperf is built for. 0 or -errno with *e; none is
 * no error. */
int hosts_send_add_folder(struct hosts_send *s, const char *folder, struct err *e);
void hosts_send_fini(struct hosts_send *s);

/* NULL: there is none for this machine. */
const struct hosts_send_file *hosts_send_find(const struct hosts_send *s, const char *machine,
					      size_t len);

/* Appends the command for ssh. program: the name of cpuperf there, of any characters. */
void hosts_send_command(const struct hosts_send *s, const char *program, const char *version,
			struct buf *out);

#endif
