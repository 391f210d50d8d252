/*
 * A job: a session on each of several hosts, or of each rank of a parallel program. Its folder has
 * a folder for each of these parts, with the files of a session and with host.json, which says
 * where it was measured and what became of it. A part that failed has host.json alone.
 *
 * The starter of several hosts writes each host.json at once, as partial and with a reason, so
 * that a part has both if the starter is killed. A rank writes its own: as partial when its
 * session begins, and again at the end.
 */
#ifndef HOSTS_PART_H
#define HOSTS_PART_H

#include "spec/cpsession.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

#define HOSTS_FILE CPSESSION_FOLDER_HOST

enum {
	HOSTS_MAX_PARTS = 16384,
	HOSTS_MAX_RANK = INT32_MAX,
	HOSTS_NAME_BYTES = 256, /* with the NUL */
};

/* A number that is not there. */
#define HOSTS_ABSENT INT64_MIN

enum hosts_status {
	HOSTS_OK,
	HOSTS_FAILED,  /* no session: it could not be started or gathered */
	HOSTS_LATE,    /* a session that began after the instant agreed on */
	HOSTS_PARTIAL, /* some of the session's files */
	HOSTS_NR_STATUSES,
};

/* What host.json says. Texts are UTF-8 without control characters; "": absent. */
struct hosts_part {
	char host[HOSTS_NAME_BYTES]; /* as the user named it; with ranks, the node */
	char node[HOSTS_NAME_BYTES]; /* its own name */
	char job[64], step[64];      /* of the scheduler */
	char reason[512];            /* why the status is not ok */
	char tool[64];               /* "cpuperf 1.2" */
	enum hosts_status status;
	bool is_unread;            /* HOSTS_FILE itself is not there, or damaged */
	int64_t rank;              /* from 0; or HOSTS_ABSENT, as all below */
	int64_t exit_status;       /* of the command, as a shell shows it */
	int64_t clock_offset_ns;   /* that host's CLOCK_REALTIME minus the starter's */
	int64_t clock_error_ns;    /* the offset is this near: half of the shortest round trip */
	int64_t start_realtime_ns; /* the instant agreed on, by the starter's clock */
};

/* All absent, and ok. */
void hosts_part_init(struct hosts_part *p);
/* "ok", "failed", … */
const char *hosts_status_name(enum hosts_status status);

/* The name of a part's folder: the host's, with what is unusual in the name of a file as "_", and
 * with a rank HOST.RANK. Different hosts may have the same. */
void hosts_part_folder(const struct hosts_part *p, char name[NAME_MAX + 1]);

/* The text of host.json; and its reading: 0, -EINVAL or -ENOMEM with *e, *p unchanged. Unknown keys
 * are ignored. source: for messages. */
void hosts_part_to_json(const struct hosts_part *p, struct buf *out);
int hosts_part_parse(const char *text, size_t len, const char *source, struct hosts_part *p,
		     struct err *e);

/* Writes host.json of the folder dirfd, replacing it; reads it: -ENOENT if there is none. path: of
 * the folder, for messages. 0 or -errno with *e. */
int hosts_part_write(int dirfd, const char *path, const struct hosts_part *p, struct err *e);
int hosts_part_read(int dirfd, const char *path, struct hosts_part *p, struct err *e);

/* The draft 2020-12 schema of host.json. */
void hosts_part_schema(struct buf *out);

#endif
