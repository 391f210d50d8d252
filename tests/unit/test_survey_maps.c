/*
 * Mappings asked for one by one: what the kernel's answers mean, that text takes over where it does
 * not answer, and that on this machine both say the same.
 */
#include "kit.h"
#include "test_survey.h"

#include "base/str.h"
#include "elf/build_id.h"
#include "proc/maps.h"
#include "survey/maps.h"
#include "survey/ops.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

/* struct procmap_query of linux/fs.h, 6.11. */
struct query {
	uint64_t size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size,
	    vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

/* A kernel that has these mappings, and an answer to the first question about each. */
struct answer {
	int error; /* to the question for it, or for what comes behind the one before */
	uint64_t start, end, flags, offset, inode;
	uint32_t major, minor;
	const char *name; /* NULL: of no name */
	const char *build_id;
	int build_id_error;
	bool is_repeated; /* whatever is asked for */
};

static struct {
	const struct answer *answer;
	size_t nr;
	unsigned nr_ids;
} fake;

static int answer_id(const struct answer *a, struct query *q)
{
	fake.nr_ids++;
	if (a->build_id_error)
		return a->build_id_error;
	q->build_id_size = a->build_id ? (uint32_t)strlen(a->build_id) : 0;
	if (q->build_id_size)
		memcpy((void *)(uintptr_t)q->build_id_addr, a->build_id,
		       q->build_id_size < 20 ? q->build_id_size : 20);
	return 0;
}

static void answer_name(const struct answer *a, struct query *q)
{
	assert_int_equal(q->vma_name_size, 4096);
	q->vma_name_size = a->name ? (uint32_t)strlen(a->name) + 1 : 0;
	if (a->name)
		memcpy((void *)(uintptr_t)q->vma_name_addr, a->name, q->vma_name_size);
}

/* The kernel refuses one of address and size without the other, and flags that it does not know. */
static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	struct query *q = arg;

	assert_true(fd >= 0);
	assert_int_equal(request, _IOWR('f', 17, struct query));
	assert_int_equal(q->size, sizeof(*q));
	assert_int_equal(!q->vma_name_size, !q->vma_name_addr);
	assert_int_equal(!q->build_id_size, !q->build_id_addr);
	/* what is at the address, or what is executable there or next */
	assert_true(!q->query_flags || (q->query_flags == 0x14 && !q->build_id_size));
	for (size_t i = 0; i < fake.nr; i++) {
		const struct answer *a = &fake.answer[i];

		if ((a->end <= q->query_addr || (!q->query_flags && q->query_addr < a->start)) &&
		    !a->is_repeated)
			continue;
		if (a->error)
			return a->error;
		q->vma_start = a->start;
		q->vma_end = a->end;
		q->vma_flags = a->flags;
		q->vma_offset = a->offset;
		q->inode = a->inode;
		q->dev_major = a->major;
		q->dev_minor = a->minor;
		if (q->build_id_size)
			return answer_id(a, q);
		answer_name(a, q);
		return 0;
	}
	return -ENOENT;
}

static void fake_start(const struct answer *answer, size_t nr)
{
	static struct survey_ops ops;

	fake.answer = answer;
	fake.nr = nr;
	fake.nr_ids = 0;
	ops = survey_kernel_ops;
	ops.ioctl = fake_ioctl;
	survey_set_ops(&ops);
}

static void fake_stop(void)
{
	survey_set_ops(NULL);
}

#define TASK "fork 7/7 of 1/1\ncomm 7/7 a\n"
/* As text and as an answer. */
#define EXE "400000-401000 r-xp 1000 fd:1 77 /bin/a\n"
#define LIB "500000-502000 r-xs 0 fd:1 78 /lib/b\n"
#define JIT "600000-601000 rwxp 0 0:0 0\n"
#define TOLD_EXE                                                                                   \
	.start = 0x400000, .end = 0x401000, .flags = 5, .offset = 0x1000, .inode = 77,             \
	.major = 0xfd, .minor = 1, .name = "/bin/a"
#define TOLD_LIB                                                                                   \
	.start = 0x500000, .end = 0x502000, .flags = 5 | 8, .inode = 78, .major = 0xfd,            \
	.minor = 1, .name = "/lib/b"
#define TOLD_JIT .start = 0x600000, .end = 0x601000, .flags = 7

/* The process's maps as text, as the kernel answers, and what becomes of them. */
static const struct {
	const char *what, *maps;
	struct answer answer[4];
	const char *expected;
} processes[] = {
    {"asked for",
     "not read",
     {{TOLD_EXE}, {TOLD_LIB}, {TOLD_JIT}},
     TASK "mmap2 7/7 400000+1000 @1000 fd:1 77 5 2 /bin/a\n"
	  "mmap2 7/7 500000+2000 @0 fd:1 78 5 1 /lib/b\n"
	  "mmap2 7/7 600000+1000 @0 0:0 0 7 2 //anon\n"},
    {"with build-ids",
     "",
     {{TOLD_EXE, .build_id = "\1\2\xff"}, {TOLD_LIB, .build_id = "twenty bytes, I say."}},
     TASK "mmap2 7/7 400000+1000 @1000 id 0102ff 5 2 /bin/a\n"
	  "mmap2 7/7 500000+2000 @0 id 7477656e74792062797465732c2049207361792e 5 1 /lib/b\n"},
    {"a build-id too long, another that fails",
     "",
     {{TOLD_EXE, .build_id = "twenty bytes, I say.."}, {TOLD_LIB, .build_id_error = -EFAULT}},
     TASK "mmap2 7/7 400000+1000 @1000 fd:1 77 5 2 /bin/a\n"
	  "mmap2 7/7 500000+2000 @0 fd:1 78 5 1 /lib/b\n"},
    {"names",
     "",
     {{.start = 0x1000, .end = 0x2000, .flags = 5, .name = "/new\nline"},
      {.start = 0x3000, .end = 0x4000, .flags = 5, .name = "[vdso]"},
      {.start = 0x5000, .end = UINT64_MAX, .flags = 5, .name = "/x (deleted)"}},
     TASK "mmap2 7/7 1000+1000 @0 0:0 0 5 2 /new\nline\n"
	  "mmap2 7/7 3000+1000 @0 0:0 0 5 2 [vdso]\n"
	  "mmap2 7/7 5000+ffffffffffffafff @0 0:0 0 5 2 /x (deleted)\n"},
    {"before 6.11",
     EXE LIB,
     {{.end = UINT64_MAX, .error = -ENOTTY}},
     TASK "mmap2 7/7 400000+1000 @1000 fd:1 77 5 2 /bin/a\n"
	  "mmap2 7/7 500000+2000 @0 fd:1 78 5 1 /lib/b\n"},
    {"a name that is too long",
     EXE LIB JIT,
     {{TOLD_EXE}, {TOLD_LIB, .error = -ENAMETOOLONG}},
     TASK "mmap2 7/7 400000+1000 @1000 fd:1 77 5 2 /bin/a\n"
	  "mmap2 7/7 500000+2000 @0 fd:1 78 5 1 /lib/b\n"
	  "mmap2 7/7 600000+1000 @0 0:0 0 7 2 //anon\n"},
    {"an answer that makes no sense",
     EXE LIB,
     {{TOLD_EXE}, {.start = 0x700000, .end = 0x600000, .flags = 5}},
     TASK "mmap2 7/7 400000+1000 @1000 fd:1 77 5 2 /bin/a\n"
	  "mmap2 7/7 500000+2000 @0 fd:1 78 5 1 /lib/b\n"},
    {"the same answer again",
     EXE LIB,
     {{TOLD_EXE, .is_repeated = true}},
     TASK "mmap2 7/7 400000+1000 @1000 fd:1 77 5 2 /bin/a\n"
	  "mmap2 7/7 500000+2000 @0 fd:1 78 5 1 /lib/b\n"},
    {"gone", "", {{.end = UINT64_MAX, .error = -ESRCH}}, TASK},
};

TEST(processes)
{
	for (size_t i = 0; i < NR(processes); i++) {
		struct root r = tree_make();
		size_t nr = 0;
		struct tape t;

		print_message("%s\n", processes[i].what);
		put_process(&r, 7, "a", 1, processes[i].maps);
		while (nr < NR(processes[i].answer) && processes[i].answer[nr].end)
			nr++;
		tape_init(&t);
		fake_start(processes[i].answer, nr);
		assert_int_equal(tape_run(&t, &r, false), 0);
		fake_stop();
		tape_expect(&t, 0, processes[i].expected);
		assert_string_equal(t.result.note, "");
		tape_fini(&t);
		tree_remove(&r);
	}
}

/* Where the kernel knows no build-id, the file is read; and if that is not allowed, nothing is
 * missing. A file is asked for once. */
TEST(no_id)
{
	static const struct answer answer[] = {
	    {TOLD_EXE},
	    {.start = 0x401000,
	     .end = 0x402000,
	     .flags = 5,
	     .inode = 77,
	     .major = 0xfd,
	     .minor = 1,
	     .name = "/bin/a"},
	};
	static const struct {
		int stat_error;
		const char *expected;
	} cases[] = {
	    {0, TASK "mmap2 7/7 400000+1000 @1000 id 6964 5 2 /bin/a\n"
		     "mmap2 7/7 401000+1000 @0 id 6964 5 2 /bin/a\n"},
	    {-EPERM, TASK "mmap2 7/7 400000+1000 @1000 fd:1 77 5 2 /bin/a\n"
			  "mmap2 7/7 401000+1000 @0 fd:1 77 5 2 /bin/a\n"},
	};
	struct root r = tree_make();

	put_process(&r, 7, "a", 1, "");
	put_mapped(&r, 7, "400000-401000", "id");
	for (size_t i = 0; i < NR(cases); i++) {
		struct tape t;

		tape_init(&t);
		fake_start(answer, NR(answer));
		hook_start((struct hook){.part = "map_files", .stat_error = cases[i].stat_error});
		assert_int_equal(tape_run(&t, &r, false), 0);
		hook_stop();
		fake_stop();
		tape_expect(&t, 0, cases[i].expected);
		assert_int_equal(fake.nr_ids, 1);
		assert_int_equal(hook.nr_stats, 1);
		assert_string_equal(t.result.note, "");
		tape_fini(&t);
	}
	tree_remove(&r);
}

enum { PAGE = 4096 };

/* So many pages, each of one letter, at an address of a file of the tree. */
static void put_pages(const struct root *r, const char *name, uint64_t at, const char *letters)
{
	char path[sizeof(r->dir) + 64], page[PAGE];
	int fd;

	snprintf(path, sizeof(path), "%s%s", r->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	for (size_t i = 0; letters[i]; i++) {
		memset(page, letters[i], sizeof(page));
		assert_int_equal(pwrite(fd, page, PAGE, (off_t)(at + i * PAGE)), PAGE);
	}
	close(fd);
}

/* Memory behind a part of a file is that file's, if it has the bytes that follow there. */
TEST(copies)
{
#define FIRST TASK "mmap2 7/7 400000+2000 @0 id 6964 5 2 /bin/a\n"
	static const struct {
		const char *pages, *name, *expected;
	} cases[] = {
	    {"cd", NULL, FIRST "mmap2 7/7 402000+2000 @2000 id 6964 5 2 /bin/a\n"},
	    {"cd", "[anon:text]", FIRST "mmap2 7/7 402000+2000 @2000 id 6964 5 2 /bin/a\n"},
	    {"bc", NULL, FIRST "mmap2 7/7 402000+2000 @1000 id 6964 5 2 /bin/a\n"},
	    {"ab", NULL, FIRST "mmap2 7/7 402000+2000 @0 id 6964 5 2 /bin/a\n"},
	    {"cx", NULL, FIRST "mmap2 7/7 402000+2000 @0 0:0 0 5 2 //anon\n"},
	    {"xd", NULL, FIRST "mmap2 7/7 402000+2000 @0 0:0 0 5 2 //anon\n"},
	    {"", NULL, FIRST "mmap2 7/7 402000+2000 @0 0:0 0 5 2 //anon\n"},
	    {"cd", "[stack]", FIRST "mmap2 7/7 402000+2000 @0 0:0 0 5 2 [stack]\n"},
	};
	static const char file[] = "/proc/7/map_files/400000-402000";
	struct root r = tree_make();
	char path[sizeof(r.dir) + 64];
	struct stat st;

	put_process(&r, 7, "a", 1, "");
	put_mapped(&r, 7, "400000-402000", "id");
	put_pages(&r, file, 0, "abcd");
	snprintf(path, sizeof(path), "%s%s", r.dir, file);
	assert_int_equal(stat(path, &st), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		const struct answer answer[] = {
		    {.start = 0x400000,
		     .end = 0x402000,
		     .flags = 5,
		     .inode = st.st_ino,
		     .major = 0xfd,
		     .minor = 1,
		     .name = "/bin/a",
		     .build_id = "id"},
		    {.start = 0x402000, .end = 0x404000, .flags = 5, .name = cases[i].name},
		};
		struct tape t;

		put_pages(&r, "/proc/7/mem", 0x402000, cases[i].pages);
		tape_init(&t);
		fake_start(answer, NR(answer));
		assert_int_equal(tape_run(&t, &r, false), 0);
		fake_stop();
		tape_expect(&t, 0, cases[i].expected);
		tape_fini(&t);
	}
	tree_remove(&r);
}

/* The build-id is that of the mapping that was told, not of one that took its place. */
TEST(other_mapping)
{
	static const struct answer now[] = {
	    {TOLD_EXE, .build_id = "id"},
	    {.start = 0x3ff000,
	     .end = 0x401000,
	     .inode = 77,
	     .major = 0xfd,
	     .minor = 1,
	     .build_id = "id"},
	    {.start = 0x400000,
	     .end = 0x401000,
	     .inode = 78,
	     .major = 0xfd,
	     .minor = 1,
	     .build_id = "id"},
	    {.start = 0x400000,
	     .end = 0x401000,
	     .inode = 77,
	     .major = 0xfd,
	     .minor = 2,
	     .build_id = "id"},
	    {.start = 0x400000,
	     .end = 0x401000,
	     .inode = 77,
	     .major = 0xfc,
	     .minor = 1,
	     .build_id = "id"},
	    {.start = 0x500000, .end = 0x501000, .error = -ENOENT},
	};
	static const struct proc_mapping m = {
	    .start = 0x400000, .end = 0x401000, .inode = 77, .major = 0xfd, .minor = 1};

	for (size_t i = 0; i < NR(now); i++) {
		struct elf_build_id id = {.len = 99};
		int rc;

		fake_start(&now[i], 1);
		rc = survey_maps_build_id(3, &m, &id);
		fake_stop();
		assert_int_equal(rc == 0, i == 0);
		assert_int_equal(id.len, i ? 99 : 2); /* untouched */
	}
}

/* One line for each; [vsyscall] is in the text alone. */
static void describe_text(const char *maps, struct buf *out)
{
	const char *end = maps + strlen(maps), *line, *stop;
	struct proc_mapping m;

	while ((line = str_next_line(&maps, end, &stop))) {
		assert_int_equal(proc_maps_parse(line, (size_t)(stop - line), &m), 0);
		if (!(m.prot & PROC_MAPS_EXEC) ||
		    memmem(line, (size_t)(stop - line), "[vsyscall]", 10))
			continue;
		buf_printf(out, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 " %x:%x %u %d ",
			   m.start, m.end, m.offset, m.inode, m.major, m.minor, m.prot,
			   m.is_shared);
		for (size_t i = 0; i < m.name_len; i++)
			if (strncmp(m.name + i, "\\012", 4) == 0) {
				buf_addc(out, '\n');
				i += 3;
			} else
				buf_addc(out, m.name[i]);
		buf_addc(out, '\n');
	}
}

/* 0, or why the kernel cannot be asked. */
static int describe_told(int fd, struct buf *out)
{
	char name[SURVEY_PATH_BYTES];
	struct proc_mapping m = {0};
	int rc;

	while ((rc = survey_maps_next(fd, m.end, name, &m)) == 0)
		buf_printf(out,
			   "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 " %x:%x %u %d %.*s\n",
			   m.start, m.end, m.offset, m.inode, m.major, m.minor, m.prot, m.is_shared,
			   (int)m.name_len, m.name);
	return rc == -ENOENT ? 0 : rc;
}

/* A file of an odd name, mapped shared, and one that is gone. */
static void map_odd(const struct root *r)
{
	static const char *const names[] = {"/new\nline", "/gone"};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < NR(names); i++) {
		char path[512];
		int fd;

		snprintf(path, sizeof(path), "%s%s", r->dir, names[i]);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
		assert_int_equal(ftruncate(fd, (off_t)(2 * page)), 0);
		assert_ptr_not_equal(mmap(NULL, page, PROT_READ | PROT_EXEC,
					  i ? MAP_PRIVATE : MAP_SHARED, fd, (off_t)page),
				     MAP_FAILED);
		assert_true(i == 0 || unlink(path) == 0);
		close(fd);
	}
	assert_ptr_not_equal(mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			     MAP_FAILED);
}

TEST(live)
{
	struct root r = tree_make();
	struct buf maps, text, told;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), rc;

	map_odd(&r);
	buf_init(&maps, 1 << 20);
	buf_init(&text, 1 << 20);
	buf_init(&told, 1 << 20);
	rc = describe_told(fd, &told);
	assert_int_equal(root_load(&root_live, "/proc/self/maps", &maps), 0);
	describe_text(buf_str(&maps), &text);
	if (rc == 0) {
		assert_string_equal(buf_str(&told), buf_str(&text));
		assert_non_null(strstr(buf_str(&told), "/gone (deleted)\n"));
	}
	close(fd);
	buf_fini(&maps);
	buf_fini(&text);
	buf_fini(&told);
	tree_remove(&r);
	if (rc)
		SKIP("PROCMAP_QUERY: %s", strerror(-rc));
}
