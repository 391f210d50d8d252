/*
 * The proc connector, a netlink socket. Members are the live processes of the target.
 */
#include "target/failures.h"

#include "base/array.h"
#include "base/io.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 4 << 20, MAX_REPORTS = 1000, MAX_MEMBERS = 1 << 20 };
/* Of newer headers PROC_EVENT_… is an enum of its own; the numbers are the same. */
enum { NONE = 0, FORK = 1, EXIT = (int)0x80000000 };

#define EVENT_AT (NLMSG_HDRLEN + offsetof(struct cn_msg, data))

struct target_failures {
	int fd;
	bool has_children;
	pid_t *members; /* owned */
	size_t nr, room;
};

/* Drops all other reports (exec, names, …) in the kernel. Numbers are in network order there. */
static int filter(int fd)
{
	struct sock_filter steps[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, EVENT_AT + offsetof(struct proc_event, what)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(NONE), 3, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(FORK), 2, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl((uint32_t)EXIT), 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = {.len = ARRAY_NR(steps), .filter = steps};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int subscribe(int fd)
{
	struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
	const uint32_t order = PROC_CN_MCAST_LISTEN;
	unsigned char bytes[NLMSG_SPACE(sizeof(struct cn_msg) + sizeof(order))] = {0};
	const struct nlmsghdr head = {.nlmsg_len = sizeof(bytes), .nlmsg_type = NLMSG_DONE};
	const struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof(order)};

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + NLMSG_HDRLEN, &message, sizeof(message));
	memcpy(bytes + EVENT_AT, &order, sizeof(order));
	if (bind(fd, (const struct sockaddr *)&group, sizeof(group)) ||
	    send(fd, bytes, sizeof(bytes), 0) < 0)
		return -errno;
	return 0;
}

/* 0 with a report of the kernel, or -errno; -EPROTO: something else. */
static int receive(int fd, struct proc_event *out)
{
	unsigned char bytes[EVENT_AT + sizeof(*out)];
	struct sockaddr_nl from = {0};
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC,
			     (struct sockaddr *)&from, &len);
	struct cn_msg message;

	if (n < 0)
		return -errno;
	if (from.nl_pid || (size_t)n < EVENT_AT + offsetof(struct proc_event, event_data))
		return -EPROTO;
	n = n < (ssize_t)sizeof(bytes) ? n : (ssize_t)sizeof(bytes);
	memcpy(&message, bytes + NLMSG_HDRLEN, sizeof(message));
	*out = (struct proc_event){0};
	memcpy(out, bytes + EVENT_AT, (size_t)n - EVENT_AT);
	return message.id.idx == CN_IDX_PROC ? 0 : -EPROTO;
}

/* The kernel has answered before send returns; in a namespace it is silent. */
static int acknowledged(int fd)
{
	struct proc_event report;
	int rc;

	do
		rc = receive(fd, &report);
	while (rc == -EPROTO || rc == -EINTR || (rc == 0 && (int)report.what != NONE));
	if (rc)
		return rc == -EAGAIN ? -EPERM : rc;
	return report.event_data.ack.err ? -(int)report.event_data.ack.err : 0;
}

int target_failures_new(bool has_children, struct target_failures **out, struct err *e)
{
	const int bytes = BUFFER_BYTES;
	struct target_failures *f = mem_zalloc(sizeof(*f));
	int rc;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->has_children = has_children;
	f->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	if (f->fd < 0)
		rc = -errno;
	else
		rc = filter(f->fd) ?: subscribe(f->fd) ?: acknowledged(f->fd);
	if (rc) {
		target_failures_free(f);
		return err_set(e, rc, "the kernel does not report ends of processes here: %s",
			       strerror(-rc));
	}
	/* the default holds some hundred reports; without CAP_NET_ADMIN no more */
	(void)setsockopt(f->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	*out = f;
	return 0;
}

void target_failures_free(struct target_failures *f)
{
	if (!f)
		return;
	io_close(&f->fd);
	mem_free(f->members);
	mem_free(f);
}

static pid_t *find(const struct target_failures *f, pid_t pid)
{
	return ARRAY_FIND(x, f->members, f->nr, *x == pid);
}

int target_failures_add(struct target_failures *f, pid_t pid)
{
	pid_t *member = find(f, pid);

	if (!member)
		member = f->nr < MAX_MEMBERS ? MEM_ADD(f->members, f->nr, f->room) : NULL;
	if (!member)
		return -ENOMEM;
	*member = pid;
	return 0;
}

int target_failures_fd(const struct target_failures *f)
{
	return f->fd;
}

static int on_fork(struct target_failures *f, pid_t parent, pid_t process, pid_t task)
{
	bool is_thread = task != process;

	if (is_thread || !f->has_children || !find(f, parent))
		return 0;
	return target_failures_add(f, process) ? -ENOBUFS : 0;
}

/* The exit of a process is that of its first thread: a signal, or exit_group(2), ends all with one
 * status. */
static int on_exit_of(struct target_failures *f, pid_t process, pid_t task, int status,
		      struct target_failure *out)
{
	pid_t *member = task == process ? find(f, process) : NULL;

	if (!member)
		return 0;
	*member = f->members[--f->nr];
	*out = (struct target_failure){process, status};
	return status != 0;
}

int target_failures_next(struct target_failures *f, struct target_failure *out)
{
	struct proc_event r = {0};
	int rc;

	for (unsigned i = 0; i < MAX_REPORTS; i++) {
		rc = receive(f->fd, &r);
		if (rc == -EAGAIN)
			return 0;
		if (rc == -EPROTO || rc == -EINTR)
			continue;
		if (rc == 0 && (int)r.what == FORK)
			rc = on_fork(f, r.event_data.fork.parent_tgid, r.event_data.fork.child_tgid,
				     r.event_data.fork.child_pid);
		else if (rc == 0 && (int)r.what == EXIT)
			rc = on_exit_of(f, r.event_data.exit.process_tgid,
					r.event_data.exit.process_pid,
					(int)r.event_data.exit.exit_code, out);
		if (rc)
			return rc;
	}
	return -EAGAIN;
}
