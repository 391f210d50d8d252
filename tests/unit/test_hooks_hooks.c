/*
 * Addresses to places, and sums over processes: the test is the program, and its agent.
 */
#include "kit.h"

#include "attach/space.h"
#include "base/array.h"
#include "base/mem.h"
#include "functions/functions.h"
#include "hooks/hooks.h"
#include "hooks/undo.h"
#include "wire/functions.h"
#include "wire/functions_memory.h"

#define CPUPERF_MARK_LATE
#include "cpuperf/mark.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The file of this program, which has its code below this address. */
static char self[PATH_MAX];
static struct stat st;
static struct hooks *hooks;
static struct functions_header *shared;

static struct functions_header *connect_to(const char *socket)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_FUNCTIONS,
						 .object = FUNCTIONS_MEMORY_VERSION};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];
	struct functions_header *h;
	struct stat file;

	if (cpuperf_mark_ask(cpuperf_mark_number(socket), &hello, fds) != 2)
		return NULL;
	close(fds[1]);
	fstat(fds[0], &file);
	h = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	close(fds[0]);
	if (h == MAP_FAILED)
		return NULL;
	h->nr_mapped = h->nr_slots;
	return h;
}

/* The address of the second loadable segment on is its offset in files of one layout; the test
 * asks by offsets, as the first one is at 0 of both. */
static const struct functions_place places[] = {
    {.path = self, .name = "first", .address = 0x100, .size = 0x20},
    {.path = self, .name = "without_size", .address = 0x140, .size = 0},
    {.path = self, .name = "last", .address = 0x120, .size = 0x10},
    {.path = "/nowhere/at/all", .name = "absent", .address = 0x100, .size = 0x20},
};
static const struct functions_place *const pointers[] = {&places[0], &places[1], &places[2],
							 &places[3]};

static void open_hooks(bool has_times)
{
	const struct hooks_config config = {.place = pointers, .nr = 4, .has_times = has_times};
	struct err e = {0};

	assert_int_equal(hooks_open(&config, &hooks, &e), 0);
}

HOOK(before_each)
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(len > 0);
	self[len] = '\0';
	assert_int_equal(stat(self, &st), 0);
	open_hooks(true);
	shared = connect_to(hooks_socket(hooks));
	assert_non_null(shared);
}

HOOK(after_each)
{
	if (shared)
		munmap(shared, shared->bytes);
	shared = NULL;
	hooks_close(hooks);
	hooks = NULL;
}

enum { BASE = 0x70000000 };

static void write_object(struct functions_header *h, uint64_t offset, const char *path)
{
	struct functions_object *o = (void *)((char *)h + h->objects);

	*o = (struct functions_object){.start = BASE,
				       .end = BASE + 0x10000,
				       .offset = offset,
				       .inode = st.st_ino,
				       .major = major(st.st_dev),
				       .minor = minor(st.st_dev)};
	snprintf(o->path, sizeof(o->path), "%s", path);
	h->nr_objects = 1;
}

/* Calls of a function at that offset of the file, in the first slot. */
static void write_calls(struct functions_header *h, uint64_t address, struct functions_row calls)
{
	uint64_t *addresses = (void *)((char *)h + h->addresses);
	char *slot = (char *)h + h->slots;
	uint32_t number = h->nr_functions = h->nr_functions ? h->nr_functions + 1 : 2;

	((struct functions_slot *)(void *)slot)->owner = 1;
	addresses[--number] = address;
	((struct functions_row *)(void *)(slot + h->rows))[number] = calls;
	((struct functions_octaves *)(void *)(slot + h->octaves))[number].chunk[0] = number;
	((struct functions_chunk *)(void *)(slot + h->chunks))[number - 1].bucket[3] = calls.calls;
}

static struct hooks_sums sums_of(size_t place)
{
	struct hooks_sums s;

	hooks_sums(hooks, place, &s);
	return s;
}

TEST(an_address_is_a_place)
{
	struct hooks_limits l;

	write_object(shared, 0, self);
	write_calls(shared, BASE + 0x100, (struct functions_row){.calls = 3, .wall = 30});
	write_calls(shared, BASE + 0x11f,
		    (struct functions_row){.calls = 2, .wall = 20, .max = 15});
	write_calls(shared, BASE + 0x140, (struct functions_row){.calls = 5});
	write_calls(shared, BASE + 0x12f, (struct functions_row){.calls = 7});
	write_calls(shared, BASE + 0x130, (struct functions_row){.calls = 100}); /* behind it */
	write_calls(shared, BASE + 0x141, (struct functions_row){.calls = 200});
	write_calls(shared, BASE + 0xff, (struct functions_row){.calls = 400});
	write_calls(shared, BASE + 0x10000, (struct functions_row){.calls = 800});
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(sums_of(0).calls, 5);
	assert_int_equal(sums_of(0).ended, 5);
	assert_int_equal(sums_of(0).wall_ns > 0, 1);
	assert_int_equal(hooks_buckets(hooks, 0)[3], 5);
	assert_int_equal(sums_of(1).calls, 5);
	assert_int_equal(sums_of(2).calls, 7);
	assert_int_equal(sums_of(3).calls, 0);
	assert_null(hooks_buckets(hooks, 3));
	hooks_limits(hooks, &l);
	assert_int_equal(l.nameless, 1500);
	assert_int_equal(l.processes, 1);
}

TEST(sums_grow_once)
{
	struct functions_row *row;

	write_object(shared, 0, self);
	write_calls(shared, BASE + 0x100, (struct functions_row){.calls = 3});
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(sums_of(0).calls, 3);
	row = (struct functions_row *)(void *)((char *)shared + shared->slots + shared->rows) + 1;
	row->calls = 4;
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(sums_of(0).calls, 4);
}

TEST(a_mapping_begins_anywhere_in_its_file)
{
	write_object(shared, 0x80, self);
	write_calls(shared, BASE + 0x80, (struct functions_row){.calls = 3});
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(sums_of(0).calls, 3);
}

TEST(another_file_is_no_place)
{
	struct functions_object *o = (void *)((char *)shared + shared->objects);

	write_object(shared, 0, self);
	o->inode++;
	write_calls(shared, BASE + 0x100, (struct functions_row){.calls = 3});
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(sums_of(0).calls, 0);
}

TEST(a_device_may_have_another_number)
{
	struct functions_object *o = (void *)((char *)shared + shared->objects);

	write_object(shared, 0, self);
	o->minor++;
	write_calls(shared, BASE + 0x100, (struct functions_row){.calls = 3});
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(sums_of(0).calls, 3);
}

TEST(processes_that_have_ended_are_in_sums)
{
	char name[64];
	int status;

	snprintf(name, sizeof(name), "%s", hooks_socket(hooks));
	write_object(shared, 0, self);
	write_calls(shared, BASE + 0x100, (struct functions_row){.calls = 3, .max = 4});
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child == 0) {
			struct functions_header *h = connect_to(name);

			if (!h)
				_exit(1);
			write_object(h, 0, self);
			write_calls(h, BASE + 0x100,
				    (struct functions_row){.calls = 10, .wall = 7, .max = 5});
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		assert_int_equal(hooks_read(hooks), 0);
		assert_int_equal(hooks_read(hooks), 0);
		assert_int_equal(sums_of(0).calls, 3 + 10 * (i + 1));
		assert_int_equal(sums_of(0).ended, 3 + 10 * (i + 1));
	}
}

static uint64_t *word_of(uint64_t address)
{
	return (uint64_t *)(void *)((char *)shared + shared->places) +
	       functions_memory_place(address);
}

TEST(places_are_left_out)
{
	const uint64_t first = BASE + 0x100, later = BASE + 0x110, other = BASE + 0x120;
	const bool is_out[4] = {true}, none[4] = {false};

	write_object(shared, 0, self);
	write_calls(shared, first, (struct functions_row){.calls = 3});
	write_calls(shared, other, (struct functions_row){.calls = 4});
	*word_of(first) = first << FUNCTIONS_MEMORY_NUMBER_BITS | 1;
	*word_of(other) = other << FUNCTIONS_MEMORY_NUMBER_BITS | 2;
	assert_int_equal(hooks_read(hooks), 0);
	hooks_leave_out(hooks, is_out);
	assert_int_equal(*word_of(first),
			 first << FUNCTIONS_MEMORY_NUMBER_BITS | FUNCTIONS_MEMORY_OUT);
	assert_int_equal(*word_of(other), other << FUNCTIONS_MEMORY_NUMBER_BITS | 2);
	/* another address of the same place */
	write_calls(shared, later, (struct functions_row){.calls = 5});
	*word_of(later) = later << FUNCTIONS_MEMORY_NUMBER_BITS | 3;
	assert_int_equal(hooks_read(hooks), 0);
	assert_int_equal(*word_of(later),
			 later << FUNCTIONS_MEMORY_NUMBER_BITS | FUNCTIONS_MEMORY_OUT);
	assert_int_equal(sums_of(0).calls, 8); /* what it had remains */
	hooks_leave_out(hooks, none);
	assert_int_equal(*word_of(first), first << FUNCTIONS_MEMORY_NUMBER_BITS | 1);
	assert_int_equal(*word_of(later), later << FUNCTIONS_MEMORY_NUMBER_BITS | 3);
}

/* Who limits the cost sees calls and their price without a reading, which goes on from where it
 * was.
 */
TEST(calls_and_their_price_between_readings)
{
	struct hooks_limits limits;
	uint64_t calls[4];
	double cost_ns;

	write_object(shared, 0, self);
	write_calls(shared, BASE + 0x100, (struct functions_row){.calls = 3});
	assert_int_equal(hooks_read(hooks), 0);
	write_calls(shared, BASE + 0x120, (struct functions_row){.calls = 4});
	assert_int_equal(hooks_look(hooks, calls, &cost_ns), 0);
	assert_true(calls[0] == 3 && calls[1] == 0 && calls[2] + calls[3] == 4);
	assert_true(cost_ns == 0);
	assert_true(sums_of(0).calls == 3 && sums_of(2).calls + sums_of(3).calls == 0);
	/* 16 calls of 25 ns each; what a program may not say is limited */
	shared->outer = ((UINT64_C(400) << 32) + shared->factor - 1) / shared->factor;
	assert_int_equal(hooks_look(hooks, calls, &cost_ns), 0);
	assert_true(cost_ns == 25);
	shared->outer = UINT64_MAX;
	assert_int_equal(hooks_read(hooks), 0);
	hooks_limits(hooks, &limits);
	assert_true(limits.cost_ns == 100000);
	assert_int_equal(sums_of(2).calls + sums_of(3).calls, 4);
}

TEST(programs_read_what_is_measured)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_FUNCTIONS,
						 .object = FUNCTIONS_MEMORY_VERSION};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];
	const struct functions_wanted *w;
	const struct functions_wanted_file *file;
	const struct functions_wanted_place *place;
	struct stat list;

	assert_int_equal(cpuperf_mark_ask(cpuperf_mark_number(hooks_socket(hooks)), &hello, fds),
			 2);
	assert_int_equal(fstat(fds[1], &list), 0);
	w = mmap(NULL, (size_t)list.st_size, PROT_READ, MAP_SHARED, fds[1], 0);
	assert_ptr_not_equal(w, MAP_FAILED);
	file = (const void *)(w + 1);
	place = (const void *)(file + w->nr_files);
	assert_int_equal(w->nr_files, 2);
	assert_int_equal(w->nr_places, 3); /* without those of a file that is not there */
	assert_string_equal(file[0].path, self);
	assert_int_equal(file[0].inode, st.st_ino);
	assert_int_equal(file[0].nr, 3);
	assert_int_equal(file[1].nr, 0);
	assert_int_equal(place[file[0].first].offset, 0x100);
	assert_int_equal(place[1].offset, 0x120);
	assert_int_equal(place[1].size, 0x10);
	assert_int_equal(place[2].offset, 0x140);
	munmap((void *)(uintptr_t)w, (size_t)list.st_size);
	close(fds[0]);
	close(fds[1]);
}

TEST(another_version_is_refused)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_FUNCTIONS,
						 .object = FUNCTIONS_MEMORY_VERSION + 1};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];

	assert_int_equal(cpuperf_mark_ask(cpuperf_mark_number(hooks_socket(hooks)), &hello, fds),
			 -ECONNREFUSED);
}

static int say_hello(void)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_FUNCTIONS,
						 .object = FUNCTIONS_MEMORY_VERSION};
	struct sockaddr_un to;
	socklen_t len = cpuperf_mark_address(cpuperf_mark_number(hooks_socket(hooks)), &to);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(s >= 0);
	assert_int_equal(connect(s, (struct sockaddr *)&to, len), 0);
	assert_int_equal(send(s, &hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
	return s;
}

static int gate[2], entered[2];

static bool is_slow(void *arg, uint32_t pid)
{
	char byte;

	(void)arg;
	(void)pid;
	(void)!write(entered[1], "", 1);
	(void)!read(gate[0], &byte, 1);
	return true;
}

/* While the recorder serves one, another waits, and gives up. */
TEST(who_gives_up_is_counted)
{
	const struct hooks_config config = {.place = pointers, .nr = 4, .is_wanted = is_slow};
	struct hooks_limits l;
	struct err e = {0};
	char byte;
	int first;

	after_each();
	assert_int_equal(pipe(gate), 0);
	assert_int_equal(pipe(entered), 0);
	assert_int_equal(hooks_open(&config, &hooks, &e), 0);
	first = say_hello();
	assert_int_equal(read(entered[0], &byte, 1), 1);
	close(say_hello());
	assert_int_equal(write(gate[1], "123", 3), 3);
	do {
		assert_int_equal(hooks_read(hooks), 0);
		hooks_limits(hooks, &l);
	} while (l.processes + l.late < 2);
	assert_int_equal(l.processes, 1);
	assert_int_equal(l.late, 1);
	close(first);
	for (int i = 0; i < 2; i++) {
		close(gate[i]);
		close(entered[i]);
	}
}

TEST(without_memory_a_process_is_counted)
{
	struct rlimit before, none;
	struct hooks_limits l;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){4096, before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_null(connect_to(hooks_socket(hooks)));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(hooks_read(hooks), 0);
	hooks_limits(hooks, &l);
	assert_int_equal(l.processes, 1);
	assert_int_equal(l.failed, 1);
	assert_int_equal(l.failed_error, EFBIG);
}

/* Of the same program, as far as the recorder sees: each has its memory. */
static bool connect_often(const char *socket, int nr)
{
	for (int i = 0; i < nr; i++) {
		struct functions_header *h = connect_to(socket);

		if (!h)
			return false;
		munmap(h, h->bytes);
	}
	return true;
}

/* Nearly as many as there is room for, which end before others begin. */
TEST(those_that_have_ended_leave_room)
{
	struct hooks_limits l;
	char name[64];
	int status;
	struct rlimit files;
	pid_t child;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	if (files.rlim_max < 4096 || setrlimit(RLIMIT_NOFILE, &files))
		SKIP("each process needs two descriptors");
	snprintf(name, sizeof(name), "%s", hooks_socket(hooks));
	child = fork();
	if (child == 0)
		_exit(!connect_often(name, 1000));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(connect_often(name, 60));
	assert_int_equal(hooks_read(hooks), 0);
	hooks_limits(hooks, &l);
	assert_int_equal(l.processes, 1061);
	assert_int_equal(l.refused, 0);
}

/* A child with the memory, or without it. */
static pid_t start_child(bool has_memory)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (has_memory)
			(void)raise(SIGSTOP);
		else
			execl("/bin/sh", "sh", "-c", "kill -STOP $$", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The first bytes of this program's code, which are not as the place says. */
static struct wire_functions_file make_replaced(struct wire_functions_place *place)
{
	const struct attach_mapping *m;
	struct attach_space s;

	assert_int_equal(attach_space_open(&s, getpid()), 0);
	m = ARRAY_FIND(x, s.mapping, s.nr, x->is_executable && x->inode == st.st_ino);
	assert_non_null(m);
	*place = (struct wire_functions_place){
	    .begin = {.offset = m->offset, .len = 5, .moved_len = 5, .old = {1, 2, 3, 4, 5}}};
	attach_space_close(&s);
	return (struct wire_functions_file){.path = self,
					    .major = major(st.st_dev),
					    .minor = minor(st.st_dev),
					    .inode = st.st_ino,
					    .place = place,
					    .nr = 1};
}

/* How many of its places were found and are not as they were. */
static size_t undo_left(const struct hooks_replaced *what, pid_t pid, int expected)
{
	struct hooks_undone found = {0};

	assert_int_equal(hooks_undo_left(what, pid, 0, &found), expected);
	return found.others;
}

/* By whoever comes after a recorder that was killed: what is of no session of it, or of one of
 * another recorder, is left alone. The agent is told at first, also of what is not yet replaced. */
TEST(what_is_being_replaced_is_not_put_back)
{
	struct wire_functions_place place;
	const struct wire_functions_file file = make_replaced(&place);
	struct hooks_replaced what = {.files = &file, .nr = 1};
	struct hooks_undone found = {0};
	pid_t with, without;

	after_each();
	open_hooks(false); /* it is small */
	shared = connect_to(hooks_socket(hooks));
	assert_non_null(shared);
	what.recorder = cpuperf_mark_number(hooks_socket(hooks));
	with = start_child(true);
	without = start_child(false);
	assert_int_equal(undo_left(&what, without, 0), 0);
	what.recorder++;
	assert_int_equal(undo_left(&what, with, 0), 0);
	assert_int_equal(hooks_undo(&what, with, &found), 0);
	assert_int_equal(found.others, 0);
	what.recorder--;
	assert_int_equal(hooks_undo(&what, with, &found), 0);
	assert_int_equal(found.others, 1);
	assert_int_equal(shared->is_closed, 0);
	shared->is_placing = 1;
	assert_int_equal(undo_left(&what, with, -EAGAIN), 0);
	assert_int_equal(shared->is_closed, 1);
	shared->is_placing = 0;
	assert_int_equal(undo_left(&what, with, 0), 1);
	end_child(with);
	end_child(without);
}

TEST(counts_alone_have_no_buckets)
{
	after_each();
	open_hooks(false);
	shared = connect_to(hooks_socket(hooks));
	assert_non_null(shared);
	assert_int_equal(shared->wants, 0);
	assert_int_equal(hooks_read(hooks), 0);
	assert_null(hooks_buckets(hooks, 0));
}
