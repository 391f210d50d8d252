/*
 * The functions of BPF programs: as a fake kernel tells them, as it refuses to, and on this machine
 * those of real programs, held against its own record of the loading and its line in kallsyms.
 */
#include "kit.h"
#include "test_survey.h"

#include "survey/bpf.h"
#include "survey/btf.h"
#include "survey/ops.h"

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* Types by hand: the strings, and what names functions. */
#define STRINGS "\0int\0a_main_function_with_a_long_name\0s\0m\0helper"
enum { AT_INT = 1, AT_MAIN = 5, AT_S = 38, AT_M = 40, AT_HELPER = 42 };
enum { TYPE_INT = 1, TYPE_PROTO = 9, TYPE_MAIN = 10, TYPE_HELPER = 11, TYPE_ALL = 11 };

#define TYPE(kind, vlen) ((uint32_t)(kind) << 24 | (vlen))

static const uint32_t types[] = {
    AT_INT,    TYPE(1, 0),  4, 1u << 24 | 32, /* int */
    0,         TYPE(2, 0),  1,                /* int * */
    0,         TYPE(3, 0),  0, 1,
    1,         4, /* int[4] */
    AT_S,      TYPE(4, 2),  8, AT_M,
    1,         0,           0, 1,
    32, /* struct s { int m; int; } */
    AT_S,      TYPE(5, 1),  4, AT_M,
    1,         0, /* union s { int m; } */
    0,         TYPE(6, 2),  4, AT_M,
    0,         AT_S,        1, /* enum { m, s } */
    AT_S,      TYPE(8, 0),  1, /* typedef int s */
    0,         TYPE(13, 1), 1, AT_M,
    1,                         /* int (int m) */
    0,         TYPE(13, 0), 1, /* int () */
    AT_MAIN,   TYPE(12, 0), 9, /* functions */
    AT_HELPER, TYPE(12, 0), 9,
};

static void make_btf(struct buf *b)
{
	const struct btf_header head = {
	    .magic = 0xeb9f,
	    .version = 1,
	    .hdr_len = sizeof(head),
	    .type_len = sizeof(types),
	    .str_off = sizeof(types),
	    .str_len = sizeof(STRINGS),
	};

	buf_init(b, 4096);
	buf_add(b, &head, sizeof(head));
	buf_add(b, types, sizeof(types));
	buf_add(b, STRINGS, sizeof(STRINGS));
}

TEST(btf_names)
{
	static const struct {
		uint32_t type;
		const char *name;
	} cases[] = {
	    {0, NULL},
	    {TYPE_INT, "int"},
	    {2, NULL},
	    {4, "s"},
	    {TYPE_PROTO, NULL},
	    {TYPE_MAIN, "a_main_function_with_a_long_name"},
	    {TYPE_HELPER, "helper"},
	    {TYPE_ALL + 1, NULL},
	    {UINT32_MAX, NULL},
	};
	struct buf b;

	make_btf(&b);
	for (size_t i = 0; i < NR(cases); i++) {
		const char *name = survey_btf_name(b.data, b.len, cases[i].type);

		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
	buf_fini(&b);
}

/* Kinds that are younger: passed over by their length, as far as it is known. */
TEST(btf_kinds)
{
	static const struct {
		uint32_t kind, vlen;
		unsigned words; /* behind the first three */
		bool is_known;
	} cases[] = {
	    {7, 0, 0, true},       {9, 0, 0, true},  {10, 0, 0, true},  {11, 0, 0, true},
	    {14, 0, 1, true},      {15, 2, 6, true}, {16, 0, 0, true},  {17, 0, 1, true},
	    {18, 0, 0, true},      {19, 3, 9, true}, {20, 0, 0, false}, {31, 0, 0, false},
	    {19, 65535, 9, false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct btf_header head = {.magic = 0xeb9f, .hdr_len = sizeof(head)};
		uint32_t words[32] = {AT_S, TYPE(cases[i].kind, cases[i].vlen)};
		unsigned nr = 3 + cases[i].words;
		const char *name;
		struct buf b;

		words[nr++] = AT_HELPER;
		words[nr++] = TYPE(12, 0);
		words[nr++] = 1;
		head.type_len = head.str_off = nr * 4;
		head.str_len = sizeof(STRINGS);
		buf_init(&b, 4096);
		buf_add(&b, &head, sizeof(head));
		buf_add(&b, words, nr * 4);
		buf_add(&b, STRINGS, sizeof(STRINGS));
		name = survey_btf_name(b.data, b.len, 2);
		if (cases[i].is_known)
			assert_string_equal(name, "helper");
		else
			assert_null(name);
		buf_fini(&b);
	}
}

/* Cut anywhere, and with any byte changed: a name in the bytes, or none. */
TEST(btf_hostile)
{
	struct buf b;

	make_btf(&b);
	for (size_t len = 0; len < b.len; len++) {
		char *cut = mem_alloc(len + 1); /* ASan sees what is read behind */

		memcpy(cut, b.data, len);
		cut = mem_resize(cut, len ? len : 1);
		assert_null(survey_btf_name(cut, len, TYPE_HELPER));
		mem_free(cut);
	}
	for (size_t at = 0; at < b.len; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			const char *name;

			b.data[at] ^= (char)(1 << bit);
			name = survey_btf_name(b.data, b.len, TYPE_HELPER);
			assert_true(!name ||
				    (name > b.data && name + strlen(name) < b.data + b.len));
			b.data[at] ^= (char)(1 << bit);
		}
	buf_fini(&b);
}

/* A kernel with these programs, which answers as bpf_prog_get_info_by_fd does. */
struct fake_function {
	uint64_t address;
	uint32_t len, type; /* type: of its types; 0: it has none */
};
struct fake_program {
	uint32_t id, nr, btf_id;
	const char *name;
	struct fake_function function[3];
	int open_error, info_error;
	bool is_hidden; /* addresses are not shown */
};

enum { FIRST_FD = 1000000, BTF_FD = 2000000, BTF_ID = 77 };

static struct {
	const struct fake_program *program;
	size_t nr;
	int next_error, btf_error;
	unsigned nr_btf_opens;
	struct buf btf;
} fake;

static int fake_next(union bpf_attr *attr)
{
	if (fake.next_error)
		return fake.next_error;
	for (size_t i = 0; i < fake.nr; i++)
		if (fake.program[i].id > attr->start_id) {
			attr->next_id = fake.program[i].id;
			return 0;
		}
	return -ENOENT;
}

static int fake_open(uint32_t id)
{
	for (size_t i = 0; i < fake.nr; i++)
		if (fake.program[i].id == id)
			return fake.program[i].open_error ? fake.program[i].open_error
							  : FIRST_FD + (int)i;
	return -ENOENT;
}

static int fake_open_btf(uint32_t id)
{
	fake.nr_btf_opens++;
	if (fake.btf_error)
		return fake.btf_error;
	return id == BTF_ID ? BTF_FD : -ENOENT;
}

static int fake_btf_info(struct bpf_btf_info *info)
{
	uint32_t len = (uint32_t)fake.btf.len;

	if (info->btf)
		memcpy((void *)(uintptr_t)info->btf, fake.btf.data,
		       info->btf_size < len ? info->btf_size : len);
	info->btf_size = len;
	info->id = BTF_ID;
	return 0;
}

static void fake_tag(uint8_t tag[BPF_TAG_SIZE], uint32_t id, uint32_t function)
{
	for (unsigned i = 0; i < BPF_TAG_SIZE; i++)
		tag[i] = (uint8_t)(id * 16 + function + i);
}

/* What a list has room for is filled, and its length told. */
static void fake_lists(const struct fake_program *p, const struct bpf_prog_info *asked,
		       struct bpf_prog_info *info)
{
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct fake_function *f = &p->function[i];

		if (i < asked->nr_jited_ksyms && !p->is_hidden)
			((uint64_t *)(uintptr_t)asked->jited_ksyms)[i] = f->address;
		if (i < asked->nr_jited_func_lens && !p->is_hidden)
			((uint32_t *)(uintptr_t)asked->jited_func_lens)[i] = f->len;
		if (i < asked->nr_prog_tags)
			fake_tag(((uint8_t(*)[BPF_TAG_SIZE])(uintptr_t)asked->prog_tags)[i], p->id,
				 i + 8);
		if (i < asked->nr_func_info)
			((struct bpf_func_info *)(uintptr_t)asked->func_info)[i] =
			    (struct bpf_func_info){.insn_off = i, .type_id = f->type};
	}
	info->jited_ksyms = p->is_hidden ? 0 : asked->jited_ksyms;
	info->jited_func_lens = p->is_hidden ? 0 : asked->jited_func_lens;
	info->prog_tags = asked->prog_tags;
	info->func_info = asked->func_info;
}

static int fake_info(const struct fake_program *p, struct bpf_prog_info *info)
{
	const struct bpf_prog_info asked = *info;
	bool has_types = p->function[0].type;

	if (p->info_error)
		return p->info_error;
	if ((asked.nr_func_info || asked.func_info_rec_size) &&
	    asked.func_info_rec_size != sizeof(struct bpf_func_info))
		return -EINVAL;
	*info = (struct bpf_prog_info){
	    .id = p->id,
	    .btf_id = p->btf_id,
	    .nr_jited_ksyms = p->nr,
	    .nr_jited_func_lens = p->nr,
	    .nr_prog_tags = p->nr,
	    .nr_func_info = has_types ? p->nr : 0,
	    .func_info_rec_size = sizeof(struct bpf_func_info),
	};
	fake_tag(info->tag, p->id, 0);
	strncpy(info->name, p->name, sizeof(info->name) - 1);
	fake_lists(p, &asked, info);
	return 0;
}

static int fake_bpf(int cmd, void *arg, size_t size)
{
	union bpf_attr *attr = arg;

	assert_int_equal(size, sizeof(*attr));
	switch (cmd) {
	case BPF_PROG_GET_NEXT_ID:
		return fake_next(attr);
	case BPF_PROG_GET_FD_BY_ID:
		return fake_open(attr->prog_id);
	case BPF_BTF_GET_FD_BY_ID:
		return fake_open_btf(attr->btf_id);
	case BPF_OBJ_GET_INFO_BY_FD:
		if (attr->info.bpf_fd == BTF_FD)
			return fake_btf_info((void *)(uintptr_t)attr->info.info);
		assert_in_range(attr->info.bpf_fd, FIRST_FD, FIRST_FD + fake.nr - 1);
		return fake_info(&fake.program[attr->info.bpf_fd - FIRST_FD],
				 (void *)(uintptr_t)attr->info.info);
	default:
		return -EINVAL;
	}
}

static int nr_closed;

static int fake_close(int fd)
{
	nr_closed += fd >= FIRST_FD;
	return fd >= FIRST_FD ? 0 : sys_kernel_ops.close(fd);
}

static void fake_start(const struct fake_program *program, size_t nr)
{
	static struct survey_ops ops;
	static struct sys_ops files;

	memset(&fake, 0, sizeof(fake));
	fake.program = program;
	fake.nr = nr;
	nr_closed = 0;
	make_btf(&fake.btf);
	ops = survey_kernel_ops;
	ops.bpf = fake_bpf;
	survey_set_ops(&ops);
	files = sys_kernel_ops;
	files.close = fake_close;
	sys_set_ops(&files);
}

static void fake_stop(void)
{
	survey_set_ops(NULL);
	sys_set_ops(NULL);
	buf_fini(&fake.btf);
}

static int describe(const struct survey_function *f, void *arg)
{
	buf_printf(arg, "%" PRIx64 "+%x %s\n", f->address, f->len, f->name);
	return 0;
}

#define TAG_1   "1011121314151617"
#define TAG_1_1 "191a1b1c1d1e1f20"
#define TAG_1_2 "1a1b1c1d1e1f2021"
#define TAG_2   "2021222324252627"

/* One program, or two, and what it is called. */
static const struct {
	const char *what;
	struct fake_program program[2];
	const char *expected;
	unsigned nr_denied, nr_btf_opens;
	bool has_failed;
	int next_error, btf_error;
} kernels[] = {
    {"none", {{0}}, ""},
    {"one", {{1, 1, 0, "filter", {{0x100, 16}}}}, "100+10 bpf_prog_" TAG_1 "_filter\n"},
    {"without a name", {{1, 1, 0, "", {{0x100, 16}}}}, "100+10 bpf_prog_" TAG_1 "\n"},
    {"of a long name",
     {{1, 1, 0, "exactly_fifteen", {{0x100, 16}}}},
     "100+10 bpf_prog_" TAG_1 "_exactly_fifteen\n"},
    {"two",
     {{1, 1, 0, "a", {{0x100, 16}}}, {2, 1, 0, "b", {{0x200, 32}}}},
     "100+10 bpf_prog_" TAG_1 "_a\n200+20 bpf_prog_" TAG_2 "_b\n"},
    {"with functions",
     {{1, 3, 0, "main", {{0x100, 16}, {0x300, 5}, {0x200, 6}}}},
     "100+10 bpf_prog_" TAG_1 "_main\n300+5 bpf_prog_" TAG_1_1 "_F\n"
     "200+6 bpf_prog_" TAG_1_2 "_F\n"},
    {"with types",
     {{1, 2, BTF_ID, "a_main_function", {{0x100, 16, TYPE_MAIN}, {0x300, 5, TYPE_HELPER}}}},
     "100+10 bpf_prog_" TAG_1 "_a_main_function_with_a_long_name\n"
     "300+5 bpf_prog_" TAG_1_1 "_helper\n",
     0,
     1},
    {"with the same types",
     {{1, 1, BTF_ID, "a", {{0x100, 16, TYPE_MAIN}}},
      {2, 1, BTF_ID, "b", {{0x200, 32, TYPE_HELPER}}}},
     "100+10 bpf_prog_" TAG_1 "_a_main_function_with_a_long_name\n"
     "200+20 bpf_prog_" TAG_2 "_helper\n",
     0,
     1},
    {"with types of no name",
     {{1, 2, BTF_ID, "main", {{0x100, 16, TYPE_PROTO}, {0x300, 5, 99}}}},
     "100+10 bpf_prog_" TAG_1 "_main\n300+5 bpf_prog_" TAG_1_1 "_F\n",
     0,
     1},
    {"with types that are gone",
     {{1, 1, 5, "main", {{0x100, 16, TYPE_MAIN}}}},
     "100+10 bpf_prog_" TAG_1 "_main\n",
     0,
     1},
    {"with types of its own that are gone",
     {{1, 1, BTF_ID, "a", {{0x100, 16, TYPE_MAIN}}}, {2, 1, 5, "b", {{0x200, 32, TYPE_HELPER}}}},
     "100+10 bpf_prog_" TAG_1 "_a_main_function_with_a_long_name\n"
     "200+20 bpf_prog_" TAG_2 "_b\n",
     0,
     2},
    {"with types that may not be seen",
     {{1, 1, BTF_ID, "main", {{0x100, 16, TYPE_MAIN}}}},
     "100+10 bpf_prog_" TAG_1 "_main\n",
     1,
     1,
     false,
     0,
     -EPERM},
    {"not compiled", {{1, 1, 0, "a", {{0x100, 0}}}, {2, 1, 0, "b", {{0, 5}}}}, ""},
    {"addresses hidden", {{1, 1, 0, "a", {{0x100, 16}}, .is_hidden = true}}, ""},
    {"those of the second hidden",
     {{1, 1, 0, "a", {{0x100, 16}}}, {2, 1, 0, "b", {{0x200, 32}}, .is_hidden = true}},
     "100+10 bpf_prog_" TAG_1 "_a\n"},
    {"one may not be seen",
     {{1, 1, 0, "a", {{0x100, 16}}, .open_error = -EPERM}, {2, 1, 0, "b", {{0x200, 32}}}},
     "200+20 bpf_prog_" TAG_2 "_b\n",
     1},
    {"one says nothing",
     {{1, 1, 0, "a", {{0x100, 16}}, .info_error = -EACCES}, {2, 1, 0, "b", {{0x200, 32}}}},
     "200+20 bpf_prog_" TAG_2 "_b\n",
     1},
    {"one has gone",
     {{1, 1, 0, "a", {{0x100, 16}}, .open_error = -ENOENT}, {2, 1, 0, "b", {{0x200, 32}}}},
     "200+20 bpf_prog_" TAG_2 "_b\n"},
    {"no descriptors",
     {{1, 1, 0, "a", {{0x100, 16}}, .open_error = -EMFILE}, {2, 1, 0, "b", {{0x200, 32}}}},
     "200+20 bpf_prog_" TAG_2 "_b\n",
     0,
     0,
     true},
};

TEST(kernels)
{
	for (size_t i = 0; i < NR(kernels); i++) {
		struct survey_bpf told = {0};
		size_t nr = 0;
		struct buf got;

		print_message("%s\n", kernels[i].what);
		while (nr < 2 && kernels[i].program[nr].id)
			nr++;
		buf_init(&got, 4096);
		fake_start(kernels[i].program, nr);
		fake.btf_error = kernels[i].btf_error;
		assert_int_equal(survey_bpf_each(describe, &got, &told), 0);
		assert_string_equal(buf_str(&got), kernels[i].expected);
		assert_int_equal(told.nr_denied, kernels[i].nr_denied);
		assert_int_equal(told.has_failed, kernels[i].has_failed);
		assert_int_equal(fake.nr_btf_opens, kernels[i].nr_btf_opens);
		assert_false(told.is_full);
		fake_stop();
		buf_fini(&got);
	}
}

static const struct fake_program two[] = {
    {1, 2, BTF_ID, "a", {{0x100, 16, TYPE_MAIN}, {0x300, 5, TYPE_HELPER}}},
    {2, 1, 0, "b", {{0x200, 32}}},
};

/* A kernel that does not tell, from the beginning. */
TEST(refused)
{
	static const int errors[] = {-EPERM, -ENOSYS, -EINVAL, -ENOMEM};
	struct survey_bpf told = {.nr_denied = 99};

	for (size_t i = 0; i < NR(errors); i++) {
		fake_start(two, 2);
		fake.next_error = errors[i];
		assert_int_equal(survey_bpf_each(describe, NULL, &told), errors[i]);
		assert_int_equal(told.nr_denied, 99); /* untouched */
		fake_stop();
	}
}

static int return_7(const struct survey_function *f, void *arg)
{
	(void)f;
	++*(int *)arg;
	return 7;
}

TEST(callback_ends)
{
	struct survey_bpf told;
	int nr = 0;

	fake_start(two, 2);
	assert_int_equal(survey_bpf_each(return_7, &nr, &told), 7);
	assert_int_equal(nr, 1);
	assert_int_equal(nr_closed, 2); /* program and types */
	fake_stop();
}

/* Numbers that go in circles. */
static int circle_bpf(int cmd, void *arg, size_t size)
{
	union bpf_attr *attr = arg;

	if (cmd != BPF_PROG_GET_NEXT_ID)
		return fake_bpf(cmd, arg, size);
	attr->next_id = 1;
	return 0;
}

static uint32_t nr_asked;

static int endless_bpf(int cmd, void *arg, size_t size)
{
	union bpf_attr *attr = arg;

	(void)size;
	if (cmd != BPF_PROG_GET_NEXT_ID)
		return -ENOENT;
	nr_asked++;
	attr->next_id = attr->start_id + 1;
	return 0;
}

TEST(ends)
{
	struct survey_ops ops = survey_kernel_ops;
	struct survey_bpf told = {0};
	struct buf got;

	buf_init(&got, 4096);
	fake_start(two, 2);
	ops.bpf = circle_bpf;
	survey_set_ops(&ops);
	assert_int_equal(survey_bpf_each(describe, &got, &told), 0);
	assert_true(told.has_failed);
	ops.bpf = endless_bpf;
	assert_int_equal(survey_bpf_each(describe, &got, &told), 0);
	assert_true(told.is_full);
	assert_int_equal(nr_asked, SURVEY_MAX_PROGRAMS + 1);
	fake_stop();
	buf_fini(&got);
}

/* Without memory: said, and nothing is left. */
TEST(no_memory)
{
	struct survey_bpf told;
	int rc;

	for (unsigned n = 1; n <= 3; n++) {
		struct buf got;

		buf_init(&got, 4096);
		assert_non_null(buf_reserve(&got, 1000));
		fake_start(two, 2);
		told = (struct survey_bpf){0};
		inject_mem(n);
		rc = survey_bpf_each(describe, &got, &told);
		inject.countdown = 0;
		mem_set_ops(NULL);
		assert_int_equal(inject.nr_live, 0);
		if (n == 1)
			assert_int_equal(rc, -ENOMEM);
		else
			assert_int_equal(rc | (told.has_failed != inject.fired), 0);
		assert_int_equal(inject.fired, n <= 2);
		fake_stop();
		buf_fini(&got);
	}
}

/* The rest is of this machine. The programs return 0; the second one calls a function for that. */
enum { MOV = BPF_ALU64 | BPF_MOV | BPF_K, CALL = BPF_JMP | BPF_CALL, EXIT = BPF_JMP | BPF_EXIT };

static const struct bpf_insn simple[] = {{.code = MOV}, {.code = EXIT}};
static const struct bpf_insn calling[] = {
    {.code = CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
    {.code = EXIT},
    {.code = MOV},
    {.code = EXIT},
};
static const struct bpf_func_info calling_types[] = {{0, TYPE_MAIN}, {2, TYPE_HELPER}};

/* Of two functions of these types: int (struct s *), int (). */
static int load_types(void)
{
	union bpf_attr attr = {0};
	struct buf b;
	int fd;

	make_btf(&b);
	attr.btf = (uintptr_t)b.data;
	attr.btf_size = (uint32_t)b.len;
	fd = survey_kernel_ops.bpf(BPF_BTF_LOAD, &attr, sizeof(attr));
	buf_fini(&b);
	return fd;
}

static int load(const char *name, const struct bpf_insn *insn, uint32_t nr, int types_fd)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
			       .insns = (uintptr_t)insn,
			       .insn_cnt = nr,
			       .license = (uintptr_t) "GPL"};

	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	if (types_fd >= 0) {
		attr.prog_btf_fd = (uint32_t)types_fd;
		attr.func_info = (uintptr_t)calling_types;
		attr.func_info_cnt = NR(calling_types);
		attr.func_info_rec_size = sizeof(calling_types[0]);
	}
	return survey_kernel_ops.bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

enum { RING_PAGES = 16 };

/* The kernel's records of what is loaded by us. */
static int open_kernel(struct perf_event_mmap_page **ring)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	    .sample_id_all = 1,
	    .ksymbol = 1,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ring = mmap(NULL, (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0);
	return *ring == MAP_FAILED ? -errno : fd;
}

static void close_kernel(int fd, struct perf_event_mmap_page *ring, struct buf *records)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	buf_add(records, (const char *)ring + page,
		__atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE));
	munmap(ring, (1 + RING_PAGES) * page);
	close(fd);
}

/* The same but for who and when, which end both. */
/* Beside another user of ksymbol the kernel (6.18) makes the record longer for each of them:
 * perf_event_ksymbol_output() adds to its size and does not take it back. So the header and the end
 * are not compared. */
static bool has_same(const struct buf *records, const struct trace_record *r)
{
	enum { HEADER = 8, END = 16 };
	uint32_t kind;

	for (size_t at = 0, size; at < records->len; at += size) {
		const uint8_t *p = (const uint8_t *)records->data + at;

		size = trace_record_size(p, records->len - at, &kind);
		assert_true(size > 0);
		if (kind == r->kind && size >= r->len &&
		    memcmp(p + HEADER, r->bytes + HEADER, r->len - HEADER - END) == 0)
			return true;
	}
	return false;
}

static bool has_line(const struct buf *kallsyms, const struct trace_record *r)
{
	char line[700];

	snprintf(line, sizeof(line), "%016" PRIx64 " t %s\t[bpf]\n", r->start, r->name);
	return strstr(buf_str(kallsyms), line);
}

static bool is_same_text(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Where others unload a program while its lines are read, the kernel skips the next line. So it is
 * read again, until it is the same twice. */
static bool comes_to_have_line(struct buf *kallsyms, const struct trace_record *r)
{
	bool is_same = false;

	while (!has_line(kallsyms, r) && !is_same) {
		struct buf again;

		buf_init(&again, 128 << 20);
		assert_int_equal(root_load(&root_live, "/proc/kallsyms", &again), 0);
		is_same = is_same_text(kallsyms, &again);
		buf_fini(kallsyms);
		*kallsyms = again;
	}
	return has_line(kallsyms, r);
}

static bool is_told(const struct tape *t, const char *end, struct trace_record *r)
{
	struct trace_layout layout;

	trace_layout_side_band(&layout, true);
	for (size_t at = 0; at < t->records.len; at += r->len) {
		const uint8_t *p = (const uint8_t *)t->records.data + at;

		assert_int_equal(trace_record_decode(&layout, p, t->records.len - at, r), 0);
		if (r->kind == PERF_RECORD_KSYMBOL && strlen(r->name) > strlen(end) &&
		    !strcmp(r->name + strlen(r->name) - strlen(end), end))
			return true;
	}
	return false;
}

static int no_folder(const char *path, mode_t mode)
{
	(void)path;
	(void)mode;
	return -EACCES;
}

/* This machine, and nothing kept of it. */
static void survey_machine(struct tape *t, int (*bpf)(int cmd, void *attr, size_t size))
{
	struct survey_ops ops = survey_kernel_ops;

	ops.mkdir = no_folder;
	ops.bpf = bpf;
	survey_set_ops(&ops);
	tape_init(t);
	assert_int_equal(tape_run(t, &root_live, true), 0);
	survey_set_ops(NULL);
	print_message("note: %s\n", t->result.note);
}

/* Programs of each kind that this machine lets us load, and its own records of that. */
struct loaded {
	int fd[3];
	struct buf kernel;
};

static void load_all(struct loaded *l)
{
	struct perf_event_mmap_page *ring = NULL;
	int ring_fd, types_fd = load_types();

	buf_init(&l->kernel, 1 << 20);
	ring_fd = open_kernel(&ring);
	l->fd[0] = load("test_simple", simple, NR(simple), -1);
	l->fd[1] = load("test_calling", calling, NR(calling), -1);
	l->fd[2] = types_fd < 0 ? types_fd : load("test_types", calling, NR(calling), types_fd);
	if (ring_fd >= 0)
		close_kernel(ring_fd, ring, &l->kernel);
	if (types_fd >= 0)
		close(types_fd);
	if (ring_fd < 0)
		print_message("skip: the kernel's records: %s\n", strerror(-ring_fd));
	for (size_t i = 0; i < NR(l->fd); i++)
		if (l->fd[i] < 0)
			print_message("skip: program %zu: %s\n", i, strerror(-l->fd[i]));
}

static void unload_all(struct loaded *l)
{
	for (size_t i = 0; i < NR(l->fd); i++)
		if (l->fd[i] >= 0)
			close(l->fd[i]);
	buf_fini(&l->kernel);
}

static const struct {
	unsigned program;
	const char *end;
} names[] = {
    {0, "_test_simple"}, {1, "_test_calling"}, {1, "_F"}, {2, "_a_main_function_with_a_long_name"},
    {2, "_helper"},
};

static void check_loaded(const struct loaded *l)
{
	struct buf kallsyms;
	struct tape t;
	unsigned nr = 0;

	buf_init(&kallsyms, 128 << 20);
	assert_int_equal(root_load(&root_live, "/proc/kallsyms", &kallsyms), 0);
	survey_machine(&t, survey_kernel_ops.bpf);
	assert_null(strstr(buf_str(&t.kallsyms), "\t[bpf]"));
	for (size_t i = 0; i < NR(names); i++) {
		struct trace_record r;

		if (l->fd[names[i].program] < 0)
			continue;
		nr++;
		assert_true(is_told(&t, names[i].end, &r));
		print_message("%" PRIx64 "+%" PRIx64 " %s\n", r.start, r.length, r.name);
		assert_in_range(r.time_ns, t.start_ns, t.end_ns);
		assert_int_equal(r.type, PERF_RECORD_KSYMBOL_TYPE_BPF);
		assert_int_equal(r.flags, 0);
		assert_true(comes_to_have_line(&kallsyms, &r));
		assert_true(!l->kernel.len || has_same(&l->kernel, &r));
	}
	assert_true(nr > 0);
	tape_fini(&t);
	buf_fini(&kallsyms);
}

static bool is_set(const char *path, bool is_on)
{
	uint64_t v;

	return root_load_u64(&root_live, path, &v) == 0 && (v != 0) == is_on;
}

/* The kernel compiles programs, and shows where to. */
static bool may_see(void)
{
	char line[256];

	return is_set("/proc/sys/net/core/bpf_jit_enable", true) &&
	       is_set("/proc/sys/net/core/bpf_jit_kallsyms", true) &&
	       is_set("/proc/sys/net/core/bpf_jit_harden", false) &&
	       root_load_line(&root_live, "/proc/kallsyms", line, sizeof(line)) == 0 &&
	       strspn(line, "0 ") < 16;
}

static void check_or_skip(void (*check)(const struct loaded *l))
{
	struct loaded l;
	bool can = may_see();

	load_all(&l);
	can = can && l.fd[0] >= 0;
	if (can)
		check(&l);
	unload_all(&l);
	if (!can)
		SKIP("no BPF program can be loaded and seen here");
}

TEST(loaded)
{
	check_or_skip(check_loaded);
}

static int refusing_bpf(int cmd, void *attr, size_t size)
{
	(void)attr;
	(void)size;
	return cmd == BPF_PROG_GET_NEXT_ID ? -EPERM : -EINVAL;
}

/* Who may not ask has the lines of kallsyms, which are asked for again where one may be skipped. */
static void check_refused(const struct loaded *l)
{
	static const char line[] = "_test_simple\t[bpf]\n";
	struct trace_record r;
	struct tape t[2];
	bool is_same = false;
	unsigned at = 0;

	(void)l;
	survey_machine(&t[at], refusing_bpf);
	while (!strstr(buf_str(&t[at].kallsyms), line) && !is_same) {
		at = !at;
		survey_machine(&t[at], refusing_bpf);
		is_same = is_same_text(&t[0].kallsyms, &t[1].kallsyms);
		tape_fini(&t[!at]);
	}
	assert_non_null(strstr(buf_str(&t[at].kallsyms), line));
	assert_false(is_told(&t[at], "_test_simple", &r));
	assert_null(strstr(t[at].result.note, "BPF"));
	tape_fini(&t[at]);
}

TEST(refused_here)
{
	check_or_skip(check_refused);
}

static int denying_bpf(int cmd, void *attr, size_t size)
{
	return cmd == BPF_PROG_GET_FD_BY_ID ? -EPERM : survey_kernel_ops.bpf(cmd, attr, size);
}

/* Omissions are reported. */
static void check_denied(const struct loaded *l)
{
	struct tape t;

	(void)l;
	survey_machine(&t, denying_bpf);
	assert_non_null(strstr(t.result.note, "BPF programs (CAP_SYS_ADMIN)"));
	assert_null(strstr(buf_str(&t.kallsyms), "\t[bpf]"));
	tape_fini(&t);
}

TEST(denied_here)
{
	check_or_skip(check_denied);
}
