/*
 * What the starter of a job and its part on each host say to each other, over the standard input
 * and output of ssh: the part first writes HOSTS_MAGIC, then both write frames. A frame is the
 * length of its data (32 bits), its kind (32 bits) and the data; numbers are little-endian. Both
 * sides are of the same version of cpuperf: the greeting says so.
 *
 * Arguments and the text of a spec go in a frame, so no shell sees them. The starter trusts no
 * part: a table says which frames are due in which state; names of files are a session's; each is
 * made anew and never longer than announced (cpuperf/job/starter_host.c).
 */
#ifndef HOSTS_FRAME_H
#define HOSTS_FRAME_H

#include "base/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define HOSTS_MAGIC "cpuperf part\n"

enum {
	HOSTS_PROTOCOL = 1,
	HOSTS_HEADER_BYTES = 8,
	HOSTS_MAX_DATA_BYTES = 64 << 10,   /* of a frame of the part */
	HOSTS_MAX_REQUEST_BYTES = 8 << 20, /* of a frame of the starter */
	HOSTS_MAX_ARGS = 100000,
	HOSTS_MAX_FILES = 200000,
};

enum hosts_kind {
	/* of the part */
	HOSTS_HELLO,    /* protocol (32), version (string16), the host's name (string16) */
	HOSTS_PONG,     /* what the ping had (64), CLOCK_REALTIME in ns (64) */
	HOSTS_READY,    /* everything is open, and waits for HOSTS_START */
	HOSTS_OUT,      /* bytes that the command wrote to its standard output */
	HOSTS_ERR,      /* the same, to standard error; and messages */
	HOSTS_ALIVE,    /* nothing else was written for a second; what measures is not stopped */
	HOSTS_NEW_FILE, /* size (64), name (string16) of a file of the session */
	HOSTS_BYTES,    /* the next ones of that file */
	HOSTS_END,      /* exit status (32), HOSTS_ENDED_… (32), why (string16) */
	/* of the starter */
	HOSTS_PING,   /* any number (64) */
	HOSTS_RUN,    /* see hosts_frame_add_run */
	HOSTS_START,  /* the instant to begin, CLOCK_REALTIME of that host in ns (64) */
	HOSTS_SIGNAL, /* to be sent to the recorder (32) */
	HOSTS_NR_KINDS,
};

enum {
	HOSTS_ENDED_LATE = 1,   /* the instant had passed */
	HOSTS_ENDED_FAILED = 2, /* not, or not wholly, measured: why says it */
};

struct hosts_frame {
	enum hosts_kind kind;
	struct cursor data; /* into the bytes that were read */
};

/* Decodes the frame that begins at data. The number of its bytes; 0: it is not complete; -EBADMSG:
 * it is none, or longer than max_data. */
ptrdiff_t hosts_frame_next(const void *data, size_t len, size_t max_data, struct hosts_frame *out);

/* Appends a frame. Errors stick in the buffer. */
void hosts_frame_add(struct buf *out, enum hosts_kind kind, const void *data, size_t len);
void hosts_frame_add_numbers(struct buf *out, enum hosts_kind kind, size_t nr,
			     const uint64_t *number);
/* A string16 for the data of a frame: at most 1,000 bytes of the text. */
void hosts_frame_string(struct buf *data, const char *text);

/* What is to be measured: the arguments of cpuperf, as they are; the text of --spec-file. */
struct hosts_run {
	char **argv; /* NULL at the end */
	size_t nr_args;
	const char *spec_text; /* NULL: none */
	size_t spec_len;
};
void hosts_frame_add_run(struct buf *out, const struct hosts_run *run);
/* *out: argv is owned, and points into frame's data like spec_text. 0, -EBADMSG or -ENOMEM. */
int hosts_frame_read_run(const struct hosts_frame *frame, struct hosts_run *out);

/* Whether a part may send a file of this name: one of a session, and no path. */
bool hosts_frame_is_file(const char *name, size_t len);

#endif
