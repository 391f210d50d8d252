/* What the iterator of waits writes, through a pipe in pieces of any size; and what it must not. */
#include "kit.h"

#include "base/perf_abi.h"
#include "base/sys.h"
#include "bpf/lasting.h"
#include "bpf/waits_shared.h"

#include <errno.h>
#include <unistd.h>

enum { HEAD = offsetof(struct bpf_waits_lasting, kernel), MAX = 8 };

static struct bpf_waits_lasting record;
static struct lasting_regs place;
static const uint8_t interpreted[] = "abcdefghijklmnopqrstuvwx";
static uint8_t text[1 << 16];
static size_t len;

static struct seen {
	struct waits_lasting wait;
	uint64_t kernel, user[3], sp;
	uint8_t stack, interpreted;
} seen[MAX];
static size_t nr_seen;

static void see(const struct waits_lasting *l, void *arg)
{
	struct seen *s = &seen[nr_seen++ % MAX];

	assert_ptr_equal(arg, &record);
	*s = (struct seen){.wait = *l};
	if (l->nr_kernel)
		s->kernel = l->kernel[l->nr_kernel - 1];
	for (uint32_t i = 0; i < l->nr_user && i < NR(s->user); i++)
		s->user[i] = l->user[i];
	for (unsigned i = 0; i < 64 && l->regs; i++)
		s->sp += l->regs[i] == 0x7000;
	s->stack = l->stack_bytes ? l->stack[l->stack_bytes - 1] : 0;
	s->interpreted = l->interpreted ? l->interpreted[l->interpreted_bytes - 1] : 0;
}

HOOK(before_each)
{
	len = nr_seen = 0;
	lasting_get_regs(&place);
	record = (struct bpf_waits_lasting){.time_ns = 1000, .pid = 5, .tid = 6, .cpu = 1};
	record.ns[WAITS_OFF_CPU] = 400;
}

static void add(const void *data, size_t bytes)
{
	memcpy(text + len, data, bytes);
	len += bytes;
}

/* As write_lasting() does. */
static void add_record(void)
{
	add(&record, HEAD);
	add(record.kernel, record.nr_kernel * sizeof(record.kernel[0]));
	add(record.user, record.nr_user * sizeof(record.user[0]));
	add(record.stack, record.stack_bytes);
	add(interpreted, record.interpreted_bytes);
}

/* The text in pieces of so many bytes. */
static size_t piece_bytes, at;

static ssize_t read_piece(int fd, void *to, size_t max)
{
	size_t bytes = piece_bytes;

	(void)fd;
	if (bytes > max)
		bytes = max;
	if (bytes > len - at)
		bytes = len - at;
	memcpy(to, text + at, bytes);
	at += bytes;
	return (ssize_t)bytes;
}

static int read_all(size_t bytes)
{
	struct sys_ops ops = sys_kernel_ops;
	int fd = dup(0), rc;

	ops.read = read_piece;
	piece_bytes = bytes;
	nr_seen = at = 0;
	sys_set_ops(&ops);
	rc = lasting_read(fd, see, &record);
	sys_set_ops(NULL);
	assert_int_equal(close(fd), -1); /* it has been closed */
	return rc;
}

static void set_program(void)
{
	record.has_regs = 1;
	for (unsigned i = 0; i < place.bytes / 8; i++)
		record.regs[i] = i;
	record.regs[place.sp] = 0x7000;
#if defined(__x86_64__)
	record.regs[17] = 0x33; /* cs */
#endif
}

TEST(in_pieces)
{
	static const size_t pieces[] = {1 << 16, 8, 56, 4096, 1000};

	record.nr_kernel = 2;
	record.kernel[1] = 77;
	add_record(); /* a thread of the kernel */
	set_program();
	record.ns[WAITS_RUN_QUEUE] = 50;
	record.futex = 0x7f0000001008;
	record.owner = 12;
	record.nr_user = 2;
	record.user[0] = 88;
	record.user[1] = 99;
	record.stack_bytes = 16;
	record.stack[15] = 5;
	record.interpreted_bytes = 24;
	add_record();
	for (size_t i = 0; i < NR(pieces); i++) {
		assert_int_equal(read_all(pieces[i]), 0);
		assert_int_equal(nr_seen, 3);
		assert_int_equal(seen[0].wait.kind, WAITS_OFF_CPU);
		assert_int_equal(seen[0].wait.ns, 400);
		assert_int_equal(seen[0].kernel, 77);
		assert_int_equal(seen[0].wait.nr_user, 0);
		assert_int_equal(seen[0].wait.regs_abi, 0);
		/* one record, two samples with the same stack */
		assert_int_equal(seen[1].wait.kind, WAITS_OFF_CPU);
		assert_int_equal(seen[2].wait.kind, WAITS_RUN_QUEUE);
		assert_int_equal(seen[2].wait.ns, 50);
		assert_int_equal(seen[2].wait.pid, 5);
		assert_int_equal(seen[2].wait.tid, 6);
		assert_int_equal(seen[2].wait.cpu, 1);
		assert_int_equal(seen[2].wait.time_ns, 1000);
		/* only of what is blocked */
		assert_int_equal(seen[0].wait.futex, 0);
		assert_int_equal(seen[1].wait.futex, 0x7f0000001008);
		assert_int_equal(seen[1].wait.owner, 12);
		assert_int_equal(seen[2].wait.futex, 0);
		assert_int_equal(seen[0].wait.interpreted_bytes, 0);
		assert_int_equal(seen[0].interpreted, 0);
		if (!place.bytes)
			continue;
		assert_int_equal(seen[2].wait.nr_user, 3);
		assert_int_equal(seen[2].user[1], 88);
		assert_int_equal(seen[2].user[2], 99);
		assert_int_equal(seen[2].sp, 1);
		assert_int_equal(seen[2].wait.stack_bytes, 16);
		assert_int_equal(seen[2].stack, 5);
		assert_int_equal(seen[2].interpreted, 'x');
		assert_int_equal(seen[2].wait.regs_abi, PERF_SAMPLE_REGS_ABI_64);
	}
}

/* A program of 32 bits: its frames are others. */
TEST(compat)
{
#if defined(__x86_64__)
	set_program();
	record.regs[17] = 0x23;
	record.nr_user = 3;
	add_record();
	assert_int_equal(read_all(sizeof(text)), 0);
	assert_int_equal(seen[0].wait.nr_user, 1);
	assert_int_equal(seen[0].wait.regs_abi, PERF_SAMPLE_REGS_ABI_32);
#endif
}

TEST(many)
{
	record.nr_kernel = 3;
	while (len + 1000 < sizeof(text))
		add_record();
	assert_int_equal(read_all(32 << 10), 0);
	assert_int_equal(nr_seen, len / (HEAD + 3 * 8));
}

TEST(invalid)
{
	static const struct {
		uint32_t *field, value;
	} wrong[] = {{&record.nr_kernel, BPF_LASTING_ADDRESSES + 8},
		     {&record.nr_user, BPF_LASTING_ADDRESSES + 8},
		     {&record.stack_bytes, BPF_LASTING_STACK + 8},
		     {&record.stack_bytes, 4},
		     {&record.interpreted_bytes, BPF_LASTING_INTERPRETED + 8},
		     {&record.interpreted_bytes, 4}};

	add_record();
	len -= 8; /* truncated */
	assert_int_equal(read_all(sizeof(text)), -EIO);
	assert_int_equal(nr_seen, 0);

	for (size_t i = 0; i < NR(wrong); i++) {
		len = 0;
		before_each();
		*wrong[i].field = wrong[i].value;
		add(&record, sizeof(record)); /* more than it needs */
		add(&record, sizeof(record));
		assert_int_equal(read_all(sizeof(text)), -EIO);
		assert_int_equal(nr_seen, 0);
	}
	assert_int_equal(lasting_read(-EPERM, see, NULL), -EPERM);
}
