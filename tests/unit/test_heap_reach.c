/*
 * Which blocks of a process nothing points to, and what is said of a search that takes too long: of
 * a child whose mappings are what a test says.
 */
#include "kit.h"
#include "test_heap_agent.h"

#include "attach/thread.h"
#include "base/mem.h"
#include "base/root.h"
#include "heap/reach.h"
#include "proc/proc.h"
#include "proc/stat.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { NR_BLOCKS = 4, BYTES = 56 };

static struct root folder;
static struct wire_heap *heap;
static struct agent agent;
static char *memory; /* of the child: a page with a pointer, and one with blocks */
static size_t page;
static pid_t child;
static struct heap_searched searched;
static struct wire_heap_amount *found;
static size_t nr_found;

static char *block(size_t i)
{
	return memory + page + i * 2 * BYTES;
}

static void put_file(const char *name, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)child, name);
	tree_put(&folder, path, text, strlen(text));
}

static void put(char *at, const char *target)
{
	memcpy(at, &target, sizeof(target));
}

static void list_child(void)
{
	char text[PROC_STAT_BYTES], name[40];
	struct proc_stat stat;

	snprintf(text, sizeof(text), "%lx-%lx rw-p 00000000 00:00 0\n", (unsigned long)memory,
		 (unsigned long)(memory + 2 * page));
	put_file("maps", text);
	assert_int_equal(proc_stat_load(PROC(&root_live, (uint32_t)child), text, &stat, NULL, 0),
			 0);
	snprintf(name, sizeof(name), "task/%d/stat", (int)child);
	put_file(name, text);
}

/* It has left fork when it is searched: registers there may still point to blocks. */
static void start_child(void)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	while (child == 0) {
		(void)!write(ready[1], "", 1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	list_child();
}

/* It ends when a byte comes; its status is the error with which its wait ended. */
static void start_waiting_child(int from)
{
	struct epoll_event event = {.events = EPOLLIN};

	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int fd = epoll_create1(0);

		epoll_ctl(fd, EPOLL_CTL_ADD, from, &event);
		_exit(syscall(SYS_epoll_pwait, fd, &event, 1, -1, NULL, 8UL) == 1 ? 0 : errno);
	}
	while (attach_waiting_of(child).number != SYS_epoll_pwait)
		sched_yield();
	list_child();
}

HOOK(before_each)
{
	const struct wire_heap_config config = {.rate = 1, .wants = HEAP_WANTS_BLOCKS};
	int fd;

	page = (size_t)sysconf(_SC_PAGESIZE);
	folder = tree_make();
	assert_int_equal(wire_heap_new(&config, &heap, &fd), 0);
	agent_map(&agent, fd);
	close(fd);
	agent_stack(&agent, 0);
	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	for (size_t i = 0; i < NR_BLOCKS; i++)
		agent_block(&agent, (uintptr_t)block(i), 0, BYTES);
	searched = (struct heap_searched){0};
	nr_found = 0;
}

HOOK(after_each)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
	munmap(memory, 2 * page);
	mem_free(found);
	found = NULL;
	agent_unmap(&agent);
	wire_heap_free(heap);
	heap = NULL;
	tree_remove(&folder);
}

static void keep(void *arg, struct wire_heap_amount *unreachable, size_t nr)
{
	(void)arg;
	found = unreachable;
	nr_found = nr;
}

static int search(uint64_t limit_ns)
{
	const struct heap_reach what = {.root = &folder,
					.pid = (uint32_t)child,
					.limit_ns = limit_ns,
					.memory = heap,
					.keep = keep,
					.searched = &searched};

	return heap_reach(&what);
}

/* The first from outside, from which the second; the third and the fourth from each other. */
TEST(by_pointers_from_outside)
{
	put(memory + 8, block(0) + 1);
	put(block(0) + 48, block(1));
	put(block(2), block(3));
	put(block(3), block(2));
	start_child();
	assert_int_equal(search(UINT64_C(1) << 60), 0);
	assert_true(nr_found >= 1);
	assert_int_equal(found[0].samples, 2);
	assert_int_equal(found[0].bytes, 2 * BYTES);
	assert_int_equal(searched.blocks, NR_BLOCKS);
	assert_int_equal(searched.searched, 2);
}

/* The C library's lists of free memory point there; a block's own pointers may, too. */
TEST(last_words)
{
	put(memory, block(0) + 48);
	put(memory + 8, block(1));
	put(block(1), block(2) + 48);
	start_child();
	assert_int_equal(search(UINT64_C(1) << 60), 0);
	assert_int_equal(found[0].samples, 2);
	assert_int_equal(searched.searched, 2);
}

TEST(too_late)
{
	put(memory, block(0));
	start_child();
	assert_int_equal(search(0), -ETIMEDOUT);
	assert_null(found); /* any may be reachable */
	assert_int_equal(searched.blocks, NR_BLOCKS);
	assert_int_equal(searched.searched, 0);
}

/* The kernel ends such a wait by EINTR whenever its thread is stopped. */
TEST(waits_on)
{
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	start_waiting_child(ends[0]);
	assert_int_equal(search(UINT64_C(1) << 60), 0);
	assert_int_equal(write(ends[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	child = 0;
	close(ends[0]);
	close(ends[1]);
}

TEST(gone)
{
	start_child();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(search(UINT64_C(1) << 60), -ESRCH);
	assert_int_equal(searched.blocks, 0);
	child = 0;
}
