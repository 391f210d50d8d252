/*
 * A host of a job, as the starter sees it: a process of ssh, and what cpuperf on the host says
 * through it. What it says is hostile input.
 */
#ifndef CPUPERF_STARTER_HOST_H
#define CPUPERF_STARTER_HOST_H

#include "base/buf.h"
#include "hosts/address.h"
#include "hosts/frame.h"
#include "hosts/part.h"
#include "hosts/send.h"

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

enum host_state {
	HOST_CONNECTING,
	HOST_CLOCK,   /* its clock is being compared with this one */
	HOST_OPENING, /* it has the request */
	HOST_READY,
	HOST_RUNNING,
	HOST_DONE, /* whatever became of it */
};

/* Shared by all hosts. */
struct host_job {
	const char *program; /* on the hosts */
	const char *path;    /* of the job's folder */
	int dirfd;           /* the same */
	uint64_t timeout_ns;
	const struct hosts_send *send; /* for hosts without cpuperf; NULL: none is sent */
	bool has_prefix;               /* of what commands print */
	const struct hosts_run *run;   /* the request */
	struct host *hosts;            /* all; nr of them */
	size_t nr;
};

struct host {
	const struct host_job *job;
	const struct hosts_address *address;
	enum host_state state;
	struct hosts_part part;
	char folder[NAME_MAX + 1];
	char path[PATH_MAX];  /* of its folder, for messages */
	int dirfd;            /* of its folder; -1: not made */
	pid_t pid;            /* of ssh; 0: none */
	int to, from, errors; /* pipes of ssh */
	bool is_deaf;         /* what it says ended */
	uint64_t heard_ns, ended_ns;
	struct buf in, out;
	const struct hosts_send_file *sent; /* what it asked for; NULL: nothing */
	size_t sent_bytes;
	bool is_greeted;
	unsigned nr_pings;
	uint64_t pinged_ns;                      /* CLOCK_REALTIME */
	struct buf out_line, err_line, ssh_line; /* the beginning of a line */
	char error[256];                         /* the last one that its cpuperf printed, or ssh */
	int file;                                /* that it sends; -1: none */
	char file_name[NAME_MAX + 1];
	uint64_t file_left;
	uint64_t file_bytes, stored_bytes; /* written: of this file, of all */
	unsigned nr_files;
	int write_error;     /* 0 or -errno: the rest of its files is dropped */
	bool has_lost_bytes; /* it sent less of a file than it said */
};

/* Makes its folder and starts ssh. Failures are those of the host alone. */
void host_connect(struct host *h, const struct host_job *job, const struct hosts_address *address);
/* What poll should wait for: to, from, errors; and what it found. */

enum { HOST_NR_FDS = 3 };
void host_expect(const struct host *h, struct pollfd p[HOST_NR_FDS]);
void host_handle(struct host *h, const struct pollfd p[HOST_NR_FDS]);
/* Looks at limits of time, and whether ssh has ended. */
void host_look(struct host *h);

/* To begin at this instant of the starter's clock. */
void host_start(struct host *h, int64_t instant_ns);
/* Sends a signal to what it runs; one that does not run yet fails. */
void host_signal(struct host *h, int number);
/* It is over, with this reason, cleaned, and its status. */
void host_end(struct host *h, enum hosts_status status, const char *reason);
void host_close(struct host *h);

#endif
