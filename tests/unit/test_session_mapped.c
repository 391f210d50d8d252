/*
 * Files that are mapped during a session: what the side-band says becomes questions, each once and
 * again when it is mapped again; the mark of others' build-ids is passed over; and a file gets its
 * build-id only if it is the very one, and has not changed since.
 */
#include "kit.h"
#include "test_survey.h"

#include "pmu/ring.h"
#include "session/mapped.h"
#include "survey/identify.h"
#include "survey/known.h"
#include "survey/mounts.h"
#include "survey/ops.h"

#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

enum { RING_BYTES = 4096, MISC_MARK = 1 << 14 };

/* A ring in memory, in which records are put one behind the other, around its end. */
struct memory {
	struct pmu_ring ring;
	uint64_t head;
};

static void memory_init(struct memory *m, uint64_t at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*m = (struct memory){.ring = {.base = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				      .bytes = RING_BYTES,
				      .tail = at},
			     .head = at};
	assert_ptr_not_equal(m->ring.base, MAP_FAILED);
}

static uint8_t *byte_at(const struct memory *m, uint64_t at)
{
	return (uint8_t *)m->ring.base + sysconf(_SC_PAGESIZE) + at % RING_BYTES;
}

static void put_mapping(struct memory *m, uint16_t misc, uint64_t inode, uint32_t prot,
			const char *path)
{
	struct buf b;

	buf_init(&b, RING_BYTES);
	buf_le32(&b, PERF_RECORD_MMAP2);
	buf_le16(&b, misc);
	buf_le16(&b, (uint16_t)(72 + (strlen(path) + 8) / 8 * 8 + 16));
	buf_le32(&b, 7);
	buf_le32(&b, 7);
	buf_le64(&b, 0x400000);
	buf_le64(&b, 0x1000);
	buf_le64(&b, 0);
	buf_le32(&b, 254);
	buf_le32(&b, 0);
	buf_le64(&b, inode);
	buf_le64(&b, 99);
	buf_le32(&b, prot);
	buf_le32(&b, 2);
	buf_adds(&b, path);
	buf_fill(&b, 0, (strlen(path) + 8) / 8 * 8 - strlen(path));
	buf_fill(&b, 0, 16);
	for (size_t i = 0; i < b.len; i++)
		*byte_at(m, m->head++) = (uint8_t)b.data[i];
	buf_fini(&b);
}

static void put_bytes(struct memory *m, struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		*byte_at(m, m->head++) = (uint8_t)b->data[i];
	buf_fini(b);
}

static void put_comm_at(struct memory *m, uint16_t misc, uint32_t pid, uint64_t time_ns)
{
	struct buf b;

	buf_init(&b, RING_BYTES);
	buf_le32(&b, PERF_RECORD_COMM);
	buf_le16(&b, misc);
	buf_le16(&b, 40);
	buf_le32(&b, pid);
	buf_le32(&b, pid);
	buf_fill(&b, 'a', 7);
	buf_fill(&b, 0, 9);
	buf_le64(&b, time_ns);
	put_bytes(m, &b);
}

static void put_comm(struct memory *m, uint16_t misc, uint32_t pid)
{
	put_comm_at(m, misc, pid, 0);
}

static void put_exit(struct memory *m, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct buf b;

	buf_init(&b, RING_BYTES);
	buf_le32(&b, PERF_RECORD_EXIT);
	buf_le16(&b, 0);
	buf_le16(&b, 48);
	buf_le32(&b, pid);
	buf_le32(&b, 1);
	buf_le32(&b, tid);
	buf_le32(&b, 1);
	buf_le64(&b, time_ns);
	buf_le32(&b, pid);
	buf_le32(&b, tid);
	buf_le64(&b, time_ns);
	put_bytes(m, &b);
}

static void memory_fini(struct memory *m)
{
	munmap(m->ring.base, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
}

/* The kernel's ring cannot be written to, but for its first page. */
static void take_all(struct mapped *t, struct memory *m)
{
	assert_int_equal(mprotect(byte_at(m, 0), RING_BYTES, PROT_READ), 0);
	mapped_scan(t, &m->ring, m->ring.tail, m->head);
	assert_int_equal(mprotect(byte_at(m, 0), RING_BYTES, PROT_READ | PROT_WRITE), 0);
	m->ring.tail = m->head;
}

/* What mapped_next gave, of which the test has seen the first ones. */
static struct mapped_due due;
static size_t seen_pids, seen_files;

static void look(struct mapped *t)
{
	if (seen_pids < due.nr_pids || seen_files < due.nr_files)
		return;
	assert_true(mapped_next(t, &due));
	seen_pids = seen_files = 0;
}

static void expect_question_of(struct mapped *t, uint64_t inode, const char *path,
			       enum survey_identify_state answer, bool is_same)
{
	const struct survey_identify_answer a = {.state = answer, .is_same = is_same};
	const struct survey_identify_question *q;

	look(t);
	assert_int_equal(seen_pids, due.nr_pids);
	assert_true(seen_files < due.nr_files);
	q = &due.file[seen_files];
	assert_int_equal(q->inode, inode);
	assert_int_equal(q->major, 254);
	assert_int_equal(q->generation, 99);
	assert_int_equal(q->pid, 7);
	assert_int_equal(q->start, 0x400000);
	assert_int_equal(q->end, 0x401000);
	assert_string_equal(q->path, path);
	mapped_answered(t, due.number[seen_files++], &a);
}

static void expect_question(struct mapped *t, uint64_t inode, const char *path,
			    enum survey_identify_state answer)
{
	expect_question_of(t, inode, path, answer, false);
}

/* Nothing more is due. */
static void expect_nothing(void)
{
	assert_int_equal(seen_pids, due.nr_pids);
	assert_int_equal(seen_files, due.nr_files);
}

static void expect_no_question(struct mapped *t)
{
	expect_nothing();
	mapped_end(t);
	assert_false(mapped_next(t, &due));
	assert_int_equal(due.nr_pids + due.nr_files, 0);
	seen_pids = seen_files = 0;
}

/* At each place of a ring, so that the record wraps at each of its words. */
TEST(questions)
{
	for (uint64_t at = 0; at < 256; at += 8) {
		struct mapped t;
		struct memory m;

		memory_init(&m, 5 * RING_BYTES - at);
		assert_int_equal(mapped_init(&t), 0);
		put_mapping(&m, 2 | MISC_MARK, 1, 5, "/bin/a program");
		put_mapping(&m, 2, 0, 5, "//anon");
		put_mapping(&m, 2, 2, 1, "/not/executable");
		put_mapping(&m, 2, 3, 5, "[odd]");
		put_mapping(&m, 2, 1, 5, "/bin/a program");
		put_mapping(&m, 2, 1, 5, "/another/of/that/inode");
		take_all(&t, &m);
		expect_question(&t, 1, "/bin/a program", SURVEY_IDENTIFY_FOUND);
		expect_question(&t, 1, "/another/of/that/inode", SURVEY_IDENTIFY_NONE);
		expect_no_question(&t);
		mapped_fini(&t);
		memory_fini(&m);
	}
}

/* Of a process that a survey read. */
TEST(records_in_memory)
{
	struct mapped t;
	struct memory m;

	memory_init(&m, 0);
	assert_int_equal(mapped_init(&t), 0);
	put_mapping(&m, 2, 1, 5, "/bin/a program");
	put_mapping(&m, 2, 2, 1, "/not/executable");
	put_mapping(&m, 2, 3, 5, "/lib/b");
	mapped_add(&t, byte_at(&m, 0), m.head);
	expect_question(&t, 1, "/bin/a program", SURVEY_IDENTIFY_FOUND);
	expect_question(&t, 3, "/lib/b", SURVEY_IDENTIFY_FOUND);
	expect_no_question(&t);
	mapped_fini(&t);
	memory_fini(&m);
}

static void expect_exec(struct mapped *t, uint32_t pid)
{
	look(t);
	assert_int_equal(seen_files, 0);
	assert_true(seen_pids < due.nr_pids);
	assert_int_equal(due.pid[seen_pids++], pid);
}

/* Before files, which are asked for with them; a name that is only set is none, and one that execs
 * again is asked for once. Too many are dropped, not written over others. */
TEST(execs)
{
	struct mapped t;
	struct memory m;

	memory_init(&m, 3 * RING_BYTES - 24);
	assert_int_equal(mapped_init(&t), 0);
	put_mapping(&m, 2, 1, 5, "/bin/a");
	put_comm(&m, PERF_RECORD_MISC_COMM_EXEC, 70);
	put_comm(&m, PERF_RECORD_MISC_COMM_EXEC, 70);
	put_comm(&m, 0, 71);
	put_comm(&m, PERF_RECORD_MISC_COMM_EXEC, 72);
	put_comm(&m, PERF_RECORD_MISC_COMM_EXEC, 70);
	take_all(&t, &m);
	expect_exec(&t, 70);
	expect_exec(&t, 72);
	expect_exec(&t, 70);
	expect_question(&t, 1, "/bin/a", SURVEY_IDENTIFY_FOUND);
	expect_nothing();
	for (uint32_t i = 0; i < MAPPED_MAX_EXECS + 20; i++) {
		put_comm(&m, PERF_RECORD_MISC_COMM_EXEC, 100 + i);
		take_all(&t, &m);
	}
	mapped_end(&t);
	for (uint32_t i = 0; i < MAPPED_MAX_EXECS; i++)
		expect_exec(&t, 100 + i);
	expect_no_question(&t);
	mapped_fini(&t);
	memory_fini(&m);
}

/* What has ended by then is not asked for, unless it was another one with that number, or only a
 * thread of it. */
TEST(ended)
{
	struct mapped t;
	struct memory m;

	memory_init(&m, 5 * RING_BYTES - 64);
	assert_int_equal(mapped_init(&t), 0);
	put_comm_at(&m, PERF_RECORD_MISC_COMM_EXEC, 70, 10);
	put_comm_at(&m, PERF_RECORD_MISC_COMM_EXEC, 71, 10);
	put_comm_at(&m, PERF_RECORD_MISC_COMM_EXEC, 72, 20);
	put_exit(&m, 72, 72, 15);
	put_comm_at(&m, PERF_RECORD_MISC_COMM_EXEC, 73, 10);
	put_exit(&m, 73, 74, 15);
	take_all(&t, &m);
	put_exit(&m, 70, 70, 30);
	put_exit(&m, 75, 75, 30);
	take_all(&t, &m);
	expect_exec(&t, 71);
	expect_exec(&t, 72);
	expect_exec(&t, 73);
	expect_nothing();
	put_comm_at(&m, PERF_RECORD_MISC_COMM_EXEC, 76, 40);
	put_exit(&m, 76, 76, 50);
	take_all(&t, &m);
	expect_no_question(&t);
	mapped_fini(&t);
	memory_fini(&m);
}

/* A thread's exec ends the main thread, whose number it takes. The ring of its CPU is read first,
 * and what came before it is in another one. */
TEST(ended_before)
{
	struct mapped t;
	struct memory first, second;

	memory_init(&first, 0);
	memory_init(&second, RING_BYTES - 24);
	assert_int_equal(mapped_init(&t), 0);
	put_comm_at(&first, PERF_RECORD_MISC_COMM_EXEC, 70, 30);
	put_comm_at(&second, PERF_RECORD_MISC_COMM_EXEC, 70, 10);
	put_exit(&second, 70, 70, 20);
	take_all(&t, &first);
	take_all(&t, &second);
	expect_exec(&t, 70);
	expect_no_question(&t);
	mapped_fini(&t);
	memory_fini(&first);
	memory_fini(&second);
}

/* Mapped again it is asked for again, later; unless it is on a file system that may not answer, or
 * did not. */
TEST(again)
{
	struct mapped t;
	struct memory m;

	memory_init(&m, 0);
	assert_int_equal(mapped_init(&t), 0);
	for (uint64_t i = 1; i <= 4; i++)
		put_mapping(&m, 2, i, 5, "/f");
	take_all(&t, &m);
	expect_question(&t, 1, "/f", SURVEY_IDENTIFY_FOUND);
	expect_question(&t, 2, "/f", SURVEY_IDENTIFY_NONE);
	expect_question(&t, 3, "/f", SURVEY_IDENTIFY_FOREIGN);
	expect_question(&t, 4, "/f", SURVEY_IDENTIFY_SILENT);
	for (uint64_t i = 1; i <= 5; i++)
		put_mapping(&m, 2, i, 5, "/f");
	take_all(&t, &m);
	expect_question(&t, 5, "/f", SURVEY_IDENTIFY_FOUND); /* the others are not due */
	mapped_end(&t);
	assert_true(mapped_is_ending(&t));
	expect_question(&t, 1, "/f", SURVEY_IDENTIFY_FOUND);
	expect_question(&t, 2, "/f", SURVEY_IDENTIFY_FOUND);
	expect_no_question(&t);
	assert_int_equal(t.nr_foreign, 1);
	mapped_fini(&t);
	memory_fini(&m);
}

/* With nothing to query, and with a file that is not yet due, it returns now and then. */
TEST(idle)
{
	struct mapped t;
	struct memory m;

	memory_init(&m, 0);
	assert_int_equal(mapped_init(&t), 0);
	for (int i = 0; i < 2; i++) {
		put_mapping(&m, 2, 1, 5, "/f");
		take_all(&t, &m);
		if (i == 0)
			expect_question(&t, 1, "/f", SURVEY_IDENTIFY_FOUND);
	}
	look(&t);
	expect_nothing();
	mapped_end(&t);
	expect_question(&t, 1, "/f", SURVEY_IDENTIFY_FOUND);
	expect_no_question(&t);
	mapped_fini(&t);
	memory_fini(&m);
}

/* Files that are due come first who was due first, in whatever order they were mapped again. */
TEST(order)
{
	struct mapped t;
	struct memory m;

	assert_int_equal(mapped_init(&t), 0);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 100; i++) {
			memory_init(&m, 0);
			put_mapping(&m, 2, 1 + (round ? i * 37 % 100 : i), 5, "/f");
			take_all(&t, &m);
			memory_fini(&m);
		}
		if (round)
			mapped_end(&t);
		for (uint64_t i = 0; i < 100; i++)
			expect_question(&t, 1 + i, "/f", SURVEY_IDENTIFY_FOUND);
		expect_nothing();
	}
	expect_no_question(&t);
	mapped_fini(&t);
}

static void map_again(struct mapped *t, uint64_t inode)
{
	struct memory m;

	memory_init(&m, 0);
	put_mapping(&m, 2, inode, 5, "/f");
	take_all(t, &m);
	memory_fini(&m);
}

/* A file that stays as it is at its path is asked for more and more rarely; one that changes is
 * not. */
TEST(unchanged)
{
	struct mapped t;

	assert_int_equal(mapped_init(&t), 0);
	mapped_end(&t); /* all are due at once, in the order in which they would be */
	for (int i = 0; i < 5; i++) {
		map_again(&t, 1);
		map_again(&t, 2);
		if (i < 3)
			expect_question_of(&t, 1, "/f", SURVEY_IDENTIFY_FOUND, i > 0);
		expect_question(&t, 2, "/f", SURVEY_IDENTIFY_FOUND);
		if (i >= 3)
			expect_question_of(&t, 1, "/f", SURVEY_IDENTIFY_FOUND, true);
	}
	expect_no_question(&t);
	mapped_fini(&t);
}

TEST(hostile_sizes)
{
	static const uint16_t sizes[] = {0, 4, 8, 72, 80, 88, 4000};
	struct mapped t;
	struct memory m;

	assert_int_equal(mapped_init(&t), 0);
	for (size_t i = 0; i < NR(sizes); i++) {
		memory_init(&m, 0);
		put_mapping(&m, 2, 1, 5, "/x");
		memcpy(byte_at(&m, 6), &sizes[i], 2);
		take_all(&t, &m);
		memory_fini(&m);
	}
	expect_no_question(&t);
	mapped_fini(&t);
}

/* A tree whose files are of the file system that it lies on, which is said to be of that type. */
struct place {
	struct root root;
	struct survey_mounts mounts;
	struct survey_identify_question q;
};

static void put_file(const struct root *r, const char *path, const char *id)
{
	struct test_segment s = {.type = TEST_NOTE, .align = 4};
	char note[20] = TEST_GNU("\4", "\3");
	struct buf b;

	memcpy(note + 16, id, 4);
	s.bytes = note;
	s.len = sizeof(note);
	buf_init(&b, 1 << 16);
	test_elf(&b, 64, &s, 1);
	tree_put(r, path, b.data, b.len);
	buf_fini(&b);
}

static void set_inode(struct place *p, const char *path)
{
	char full[512];
	struct stat st;

	snprintf(full, sizeof(full), "%s%s", p->root.dir, path);
	assert_int_equal(lstat(full, &st), 0);
	p->q.inode = st.st_ino;
	p->q.major = major(st.st_dev);
	p->q.minor = minor(st.st_dev);
}

static void place_init(struct place *p, const char *type, const char *point)
{
	char text[512];

	*p = (struct place){.root = tree_make()};
	put_file(&p->root, "/bin/a", "abcd");
	put_file(&p->root, "/over/bin/b", "efgh");
	set_inode(p, "/bin/a");
	snprintf(text, sizeof(text), "20 1 %u:%u / %s rw shared:1 master:2 - %s /dev/x rw\n",
		 p->q.major, p->q.minor, point, type);
	put_text(&p->root, "/proc/self/mountinfo", text);
	survey_mounts_init(&p->mounts, &p->root);
	snprintf(p->q.path, sizeof(p->q.path), "/bin/a");
	p->q.pid = 7;
	p->q.start = 0x1000;
	p->q.end = 0x2000;
	usleep(30000); /* what changed in this very tick is not believed */
}

static void place_fini(struct place *p)
{
	survey_mounts_fini(&p->mounts);
	tree_remove(&p->root);
}

static struct survey_identify_answer ask(struct place *p)
{
	struct survey_identify_answer a;
	uint64_t before_ns = clock_monotonic_ns();

	survey_identify(&p->mounts, &p->q, &a);
	if (a.state == SURVEY_IDENTIFY_FOUND) {
		assert_in_range(a.to_ns, before_ns, clock_monotonic_ns());
		assert_true(a.from_ns <= a.to_ns);
	}
	return a;
}

static void expect_id(struct place *p, const char *id)
{
	struct survey_identify_answer a = ask(p);

	assert_int_equal(a.state, id ? SURVEY_IDENTIFY_FOUND : SURVEY_IDENTIFY_NONE);
	if (id) {
		assert_int_equal(a.id.len, 4);
		assert_memory_equal(a.id.bytes, id, 4);
	}
}

/* Changes an inode's number to that of no file: the next number may be a neighbour's. */
#define NOBODYS_INODE (1ULL << 40)

TEST(identify)
{
	struct place p;
	char from[512], to[512];
	struct survey_identify_answer a;
	struct timespec tick;
	uint64_t written_ns;

	place_init(&p, "ext4", "/");
	expect_id(&p, "abcd");
	p.q.inode ^= NOBODYS_INODE;
	expect_id(&p, NULL);
	p.q.inode ^= NOBODYS_INODE;
	p.q.minor++;
	expect_id(&p, NULL);
	p.q.minor--;
	snprintf(p.q.path, sizeof(p.q.path), "/bin/a (deleted)");
	expect_id(&p, NULL);
	snprintf(p.q.path, sizeof(p.q.path), "/bin/a");
	/* another one in its place */
	snprintf(from, sizeof(from), "%s/over/bin/b", p.root.dir);
	snprintf(to, sizeof(to), "%s/bin/a", p.root.dir);
	assert_int_equal(rename(to, from), 0);
	put_file(&p.root, "/bin/a", "efgh");
	expect_id(&p, NULL);
	/* it is still mapped, under whatever name */
	tree_put(&p.root, "/proc/7/map_files/x", "", 0);
	snprintf(to, sizeof(to), "%s/proc/7/map_files/1000-2000", p.root.dir);
	assert_int_equal(symlink(from, to), 0);
	usleep(30000);
	expect_id(&p, "abcd");
	/* or another file is */
	p.q.inode ^= NOBODYS_INODE;
	expect_id(&p, NULL);
	p.q.inode ^= NOBODYS_INODE;
	/* written over: what was mapped before has no build-id, though the inode is the same */
	/* files have the time of the last tick */
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC_COARSE, &tick), 0);
	written_ns = (uint64_t)tick.tv_sec * 1000000000 + (uint64_t)tick.tv_nsec;
	put_file(&p.root, "/over/bin/b", "ijkl");
	usleep(30000);
	a = ask(&p);
	assert_int_equal(a.state, SURVEY_IDENTIFY_FOUND);
	assert_memory_equal(a.id.bytes, "ijkl", 4);
	assert_true(a.from_ns >= written_ns);
	place_fini(&p);
}

/* Writes over a known file, and asks for it within the tick of that: nothing is believed then, and
 * nothing remembered. Where this process had no CPU meanwhile it is a later tick: it is tried
 * again. */
static void write_over(struct survey_known *k, struct place *p, const char *path, const char *id)
{
	/* as old a change is believed; the time of one lags by the clock's resolution */
	enum { BELIEVED_NS = 10000000 };
	struct survey_identify_answer a;
	struct timespec lag;
	uint64_t before_ns;

	assert_int_equal(clock_getres(CLOCK_MONOTONIC_COARSE, &lag), 0);
	do {
		before_ns = clock_monotonic_ns();
		put_file(&p->root, path, id);
		assert_false(survey_known_identify(k, &p->mounts, &p->q, &a));
	} while (a.state == SURVEY_IDENTIFY_FOUND &&
		 clock_monotonic_ns() - before_ns + (uint64_t)lag.tv_nsec >= BELIEVED_NS);
	assert_int_equal(a.state, SURVEY_IDENTIFY_NONE);
}

/* A file that is as it was is not read again; one that may not be is. */
TEST(known)
{
	struct survey_identify_answer first, again;
	struct survey_known k;
	struct place p;
	char from[512], to[512];

	place_init(&p, "ext4", "/");
	survey_known_init(&k);
	assert_false(survey_known_identify(&k, &p.mounts, &p.q, &first));
	assert_int_equal(first.state, SURVEY_IDENTIFY_FOUND);
	assert_true(survey_known_identify(&k, &p.mounts, &p.q, &again));
	assert_int_equal(again.state, SURVEY_IDENTIFY_FOUND);
	assert_memory_equal(again.id.bytes, "abcd", 4);
	assert_true(again.is_same && !first.is_same);
	assert_true(again.from_ns == first.from_ns && again.to_ns > first.to_ns);
	p.q.generation = 77;
	assert_false(survey_known_identify(&k, &p.mounts, &p.q, &again));
	p.q.generation = 0;
	write_over(&k, &p, "/bin/a", "ijkl");
	usleep(30000);
	assert_false(survey_known_identify(&k, &p.mounts, &p.q, &again));
	assert_memory_equal(again.id.bytes, "ijkl", 4);
	assert_true(again.from_ns > first.to_ns);
	assert_true(survey_known_identify(&k, &p.mounts, &p.q, &again));
	/* another one in its place */
	snprintf(from, sizeof(from), "%s/over/bin/b", p.root.dir);
	snprintf(to, sizeof(to), "%s/bin/a", p.root.dir);
	assert_int_equal(rename(from, to), 0);
	assert_false(survey_known_identify(&k, &p.mounts, &p.q, &again));
	assert_int_equal(again.state, SURVEY_IDENTIFY_NONE);
	survey_known_fini(&k);
	place_fini(&p);
}

/* So many files that all are forgotten: memory is bounded. */
TEST(known_limit)
{
	struct survey_identify_answer a;
	struct survey_known k;
	struct place p;

	place_init(&p, "ext4", "/");
	survey_known_init(&k);
	k.files.max = 2;
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(p.q.path, sizeof(p.q.path), "/bin/%u", i);
		put_file(&p.root, p.q.path, "abcd");
		set_inode(&p, p.q.path);
		usleep(30000);
		assert_false(survey_known_identify(&k, &p.mounts, &p.q, &a));
	}
	assert_true(survey_known_identify(&k, &p.mounts, &p.q, &a));
	assert_int_equal(k.files.nr, 1);
	survey_known_fini(&k);
	place_fini(&p);
}

/* A mapping's device that stat does not report, and one that may not answer, are not remembered. */
TEST(not_known)
{
	static const char *const types[] = {"overlay", "nfs4"};

	for (size_t i = 0; i < NR(types); i++) {
		struct survey_identify_answer a;
		struct survey_known k;
		struct place p;
		char text[128];

		place_init(&p, types[i], "/");
		p.q.major = 250;
		p.q.minor = 7;
		snprintf(text, sizeof(text), "20 1 250:7 / / rw - %s /dev/x rw\n", types[i]);
		put_text(&p.root, "/proc/self/mountinfo", text);
		survey_known_init(&k);
		for (int n = 0; n < 2; n++)
			assert_false(survey_known_identify(&k, &p.mounts, &p.q, &a));
		survey_known_fini(&k);
		place_fini(&p);
	}
}

/* What fstat adds, times the number of the call (later_s: always). */
static struct {
	unsigned nr;
	long ctime_step_ns, size_step, later_s;
} odd;

static int odd_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	int rc = sys_kernel_ops.fstatat(dirfd, path, st, flags);

	if (rc || *path)
		return rc;
	odd.nr++;
	st->st_ctim.tv_nsec += odd.nr * odd.ctime_step_ns;
	st->st_size += odd.nr * odd.size_step;
	st->st_ctim.tv_sec += odd.later_s;
	return 0;
}

/* A file that changes while it is read, or that changed in the future: the clock was set. */
TEST(changing)
{
	static const struct {
		long ctime_step_ns, size_step, later_s;
		const char *id;
	} cases[] = {{0, 0, 0, "abcd"}, {1, 0, 0, NULL}, {0, 1, 0, NULL}, {0, 0, 3600, NULL}};
	struct sys_ops ops = sys_kernel_ops;

	ops.fstatat = odd_fstatat;
	for (size_t i = 0; i < NR(cases); i++) {
		struct place p;

		place_init(&p, "ext4", "/");
		odd.ctime_step_ns = cases[i].ctime_step_ns;
		odd.size_step = cases[i].size_step;
		odd.later_s = cases[i].later_s;
		sys_set_ops(&ops);
		expect_id(&p, cases[i].id);
		sys_set_ops(NULL);
		place_fini(&p);
	}
}

static int generation_ioctl(int fd, unsigned long request, void *arg)
{
	if (request != FS_IOC_GETVERSION)
		return survey_kernel_ops.ioctl(fd, request, arg);
	*(int *)arg = 5;
	return 0;
}

/* An inode may be used again for another file: then it has another generation. */
TEST(generation)
{
	static const struct {
		uint64_t recorded; /* 0: it was not */
		const char *id;
	} cases[] = {{5, "abcd"}, {6, NULL}, {0, "abcd"}};
	struct survey_ops ops = survey_kernel_ops;
	struct place p;

	place_init(&p, "ext4", "/");
	ops.ioctl = generation_ioctl;
	survey_set_ops(&ops);
	for (size_t i = 0; i < NR(cases); i++) {
		p.q.generation = cases[i].recorded;
		expect_id(&p, cases[i].id);
	}
	survey_set_ops(NULL);
	place_fini(&p);
}

/* A path on another device than the mapping's: only where stat and mappings report other ones. */
TEST(other_device)
{
	static const struct {
		const char *type, *id;
	} cases[] = {{"ext4", NULL}, {"btrfs", "abcd"}, {"overlay", "abcd"}};

	for (size_t i = 0; i < NR(cases); i++) {
		struct place p;
		char text[128];

		place_init(&p, cases[i].type, "/");
		p.q.major = 250;
		p.q.minor = 7;
		snprintf(text, sizeof(text), "20 1 250:7 / / rw - %s /dev/x rw\n", cases[i].type);
		put_text(&p.root, "/proc/self/mountinfo", text);
		expect_id(&p, cases[i].id);
		place_fini(&p);
	}
}

/* Types that may not answer are not looked at; a mount of none is asked for later. */
TEST(types)
{
	static const struct {
		const char *type;
		enum survey_identify_state state;
	} types[] = {
	    {"ext4", SURVEY_IDENTIFY_FOUND},         {"btrfs", SURVEY_IDENTIFY_FOUND},
	    {"overlay", SURVEY_IDENTIFY_FOUND},      {"fuse", SURVEY_IDENTIFY_FOREIGN},
	    {"fuse.sshfs", SURVEY_IDENTIFY_FOREIGN}, {"nfs4", SURVEY_IDENTIFY_FOREIGN},
	    {"9p", SURVEY_IDENTIFY_FOREIGN},         {"of the future", SURVEY_IDENTIFY_FOREIGN}};

	for (size_t i = 0; i < NR(types); i++) {
		struct place p;

		print_message("%s\n", types[i].type);
		place_init(&p, types[i].type, "/");
		hook_start((struct hook){.part = "/bin/a"});
		assert_int_equal(ask(&p).state, types[i].state);
		hook_stop();
		place_fini(&p);
	}
}

/* A container's path is that of ours below its mount. */
TEST(elsewhere)
{
	struct place p;

	place_init(&p, "ext4", "/over");
	set_inode(&p, "/over/bin/b");
	snprintf(p.q.path, sizeof(p.q.path), "/bin/b");
	expect_id(&p, "efgh");
	place_fini(&p);
}

/* What is no file is not opened: a pipe would wait for a writer. */
TEST(not_opened)
{
	struct place p;
	char path[512];

	place_init(&p, "ext4", "/");
	snprintf(path, sizeof(path), "%s/bin/pipe", p.root.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	set_inode(&p, "/bin/pipe");
	snprintf(p.q.path, sizeof(p.q.path), "/bin/pipe");
	expect_id(&p, NULL);
	place_fini(&p);
}

/* The table of a process in a chroot begins below its root. */
TEST(chroot)
{
	struct place p;

	place_init(&p, "ext4", "/proc");
	expect_id(&p, "abcd");
	p.q.minor++;
	expect_id(&p, NULL);
	place_fini(&p);
}

TEST(mounts)
{
	struct root r = tree_make();
	struct survey_mounts m;

	put_text(&r, "/proc/self/mountinfo",
		 "1 0 8:1 / / rw - ext4 /dev/a rw\n"
		 "2 1 0:40 / /user rw shared:7 - nfs4 host:/x rw\n"
		 "3 1 0:41 / /a\\040b rw - tmpfs none rw\n"
		 "9 1 0:43 / /c\\134d rw - ramfs none rw\n"
		 "4 1 0:42 / /user/c rw - fuse.x y rw\n"
		 "5 1 9999999999:1 / /d rw - ext4 x rw\n6 1 1:x / /e rw - ext4 x rw\n7\n\n- \n"
		 "8 1 8:2 / /f rw no end of options\n");
	put_text(&r, "/proc/7/mountinfo", "1 0 0:50 / / rw - overlay o rw\n");
	survey_mounts_init(&m, &r);
	assert_string_equal(survey_mounts_find(&m, 7, 0, 40)->type, "nfs4");
	assert_false(survey_mounts_find(&m, 7, 0, 40)->is_local);
	assert_true(survey_mounts_find(&m, 7, 8, 1)->is_local);
	assert_true(survey_mounts_find(&m, 7, 0, 50)->is_local);
	assert_false(survey_mounts_find(&m, 7, 0, 50)->is_own);
	assert_null(survey_mounts_find(&m, 8, 8, 2));
	assert_string_equal(survey_mounts_cover(&m, "/bin/a")->type, "ext4");
	assert_string_equal(survey_mounts_cover(&m, "/users/a")->type, "ext4");
	assert_string_equal(survey_mounts_cover(&m, "/user/a")->type, "nfs4");
	assert_string_equal(survey_mounts_cover(&m, "/user/c/a")->type, "fuse.x");
	assert_string_equal(survey_mounts_cover(&m, "/a b/c")->type, "tmpfs");
	assert_string_equal(survey_mounts_cover(&m, "/c\\d/e")->type, "ramfs");
	survey_mounts_fini(&m);
	tree_remove(&r);
}

/* The table is read again, at most each second. */
TEST(mounted_later)
{
	struct root r = tree_make();
	struct survey_mounts m;

	put_text(&r, "/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n");
	survey_mounts_init(&m, &r);
	assert_null(survey_mounts_find(&m, 7, 0, 60));
	put_text(&r, "/proc/self/mountinfo",
		 "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:60 / /a rw - tmpfs none rw\n");
	usleep(1100000);
	assert_non_null(survey_mounts_find(&m, 7, 0, 60));
	assert_true(survey_mounts_find(&m, 7, 0, 60)->is_own);
	survey_mounts_fini(&m);
	tree_remove(&r);
}
