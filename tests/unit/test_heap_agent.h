/* An agent of a test's own: connects to a wire, and writes into the memory of a heap. */
#ifndef TEST_HEAP_AGENT_H
#define TEST_HEAP_AGENT_H

#include "kit.h"

#define CPUPERF_NO_MARKS
#include "cpuperf/mark.h"
#include "wire/heap_memory.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct agent {
	struct heap_header *header; /* NULL: the recorder did not answer */
	struct heap_thread *threads;
	struct heap_node *nodes;
	struct heap_stack *stacks;
	struct heap_shard *shards;
};

static inline void agent_map(struct agent *a, int fd)
{
	uint64_t bytes;
	char *base;

	assert_int_equal(pread(fd, &bytes, sizeof(bytes), offsetof(struct heap_header, bytes)),
			 sizeof(bytes));
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	a->header = (struct heap_header *)base;
	a->threads = (struct heap_thread *)(base + a->header->threads);
	a->nodes = (struct heap_node *)(base + a->header->nodes);
	a->stacks = (struct heap_stack *)(base + a->header->stacks);
	a->shards = (struct heap_shard *)(base + a->header->shards);
}

static inline void agent_unmap(struct agent *a)
{
	if (a->header)
		munmap(a->header, a->header->bytes);
	a->header = NULL;
}

/* The descriptor of the answer; -1: it has none. */
static inline int agent_receive(int from)
{
	char byte;
	struct iovec part = {&byte, 1};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* name: that of the socket, without the zero byte of abstract ones; version: of a heap's memory.
 * Returns when it is answered, with a descriptor or -1. */
static inline int agent_ask_as(const char *name, uint32_t what, uint32_t version)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = what,
						 .object = version};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd;

	strncpy(to.sun_path + 1, name, sizeof(to.sun_path) - 2);
	assert_int_equal(
	    connect(s, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
	    0);
	assert_int_equal(send(s, &hello, sizeof(hello), 0), sizeof(hello));
	fd = agent_receive(s);
	close(s);
	return fd;
}

static inline int agent_ask(const char *name, uint32_t what)
{
	return agent_ask_as(name, what, what == CPUPERF_MARK_ASK_HEAP ? HEAP_VERSION : 0);
}

/* name: as above. */
static inline void agent_connect(struct agent *a, const char *name)
{
	const int fd = agent_ask(name, CPUPERF_MARK_ASK_HEAP);

	*a = (struct agent){0};
	if (fd < 0)
		return;
	agent_map(a, fd);
	close(fd);
}

/* Adds a node, as a caller's or an epoch. Returns its number. */
static inline uint32_t agent_node(struct agent *a, uint32_t parent, uint64_t pc)
{
	uint32_t node = a->header->nr_nodes + !a->header->nr_nodes; /* 0 is none */

	a->nodes[node] = (struct heap_node){.pc = pc, .parent = parent};
	a->header->nr_epochs += parent == HEAP_ROOT;
	a->header->nr_nodes = node + 1;
	return node;
}

static inline struct heap_stack *agent_stack(struct agent *a, uint32_t node)
{
	struct heap_stack *s = &a->stacks[a->header->nr_stacks];

	s->node = node;
	a->nodes[node].stack = ++a->header->nr_stacks;
	return s;
}

/* Adds a block of stack number i to a shard without a directory. */
static inline void agent_block(struct agent *a, uint64_t address, uint32_t i, uint64_t bytes)
{
	uint32_t shard = 0, key = 0;
	struct heap_bucket *b;
	struct heap_shard *s;

	assert_true(heap_place(address, &shard, &key));
	s = &a->shards[shard];
	if (!s->bucket) {
		s->bucket = 1 + (uint32_t)(a->header->arena_used / HEAP_BUCKET_BYTES);
		a->header->arena_used += HEAP_BUCKET_BYTES;
	}
	b = (struct heap_bucket *)((char *)a->header + a->header->arena) + (s->bucket - 1);
	b->block[b->nr++] = (struct heap_block){key, i + 1, heap_pack_size(bytes)};
	s->nr++;
}

#endif
