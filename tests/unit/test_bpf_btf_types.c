/* Names among the kernel's types, in files made here and in this machine's. */
#include "kit.h"

#include "base/root.h"
#include "base/sys.h"
#include "bpf/btf_types.h"
#include "inject.h"

#include <linux/btf.h>

#define PATH "/sys/kernel/btf/vmlinux"

enum { TYPES = 40, CHUNK = 16384, BYTES = 3 * CHUNK };

static struct {
	struct btf_header header;
	char types[TYPES], strings[BYTES];
} file;

/* A file whose strings are "", and the name from the byte at on. */
static struct root make(size_t at, const char *name)
{
	struct root r = tree_make();

	memset(&file, 0, sizeof(file));
	memset(file.types, 'x', sizeof(file.types));
	memset(file.strings + 1, '-', sizeof(file.strings) - 2);
	file.header = (struct btf_header){.magic = BTF_MAGIC,
					  .version = BTF_VERSION,
					  .hdr_len = sizeof(file.header),
					  .type_len = TYPES,
					  .str_off = TYPES,
					  .str_len = BYTES};
	file.strings[at - 1] = '\0';
	memcpy(file.strings + at, name, strlen(name) + 1);
	return r;
}

static int ask(struct root *r, const char *name)
{
	tree_put(r, PATH, &file, sizeof(file));
	return btf_types_have_name(r, name);
}

/* Wherever it stands: at both ends, and on each side of and across the parts that are read. */
TEST(names)
{
	static const char name[] = "btf_trace_sched_switch";
	static const size_t ends[] = {1 + sizeof(name), CHUNK + 1 + sizeof(name),
				      2 * CHUNK + 1 + sizeof(name), BYTES};

	for (size_t i = 0; i < NR(ends); i++) {
		for (size_t back = 0; back < sizeof(name) + 2; back++) {
			size_t at = ends[i] - sizeof(name) - (i ? back : 0);
			struct root r = make(at, name);

			assert_int_equal(ask(&r, name), 1);
			assert_int_equal(ask(&r, "btf_trace_sched_switc"), 0);
			assert_int_equal(ask(&r, "btf_trace_sched_switch2"), 0);
			assert_int_equal(ask(&r, "trace_sched_switch"), 0);
			tree_remove(&r);
		}
	}
}

TEST(bad_files)
{
	struct root r = make(100, "name");
	char longest[300];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(btf_types_have_name(&r, "name"), -ENOENT);
	assert_int_equal(ask(&r, "name"), 1);
	assert_int_equal(ask(&r, longest), -EINVAL);
	file.header.str_len = UINT32_MAX; /* more than there is */
	assert_int_equal(ask(&r, "none"), -EINVAL);
	file.header.str_len = 103; /* ends before the name does */
	assert_int_equal(ask(&r, "name"), 0);
	file.header.str_len = 0;
	assert_int_equal(ask(&r, "name"), 0);
	file.header.str_len = BYTES;
	file.header.hdr_len = 8;
	assert_int_equal(ask(&r, "name"), -EINVAL);
	file.header.hdr_len = UINT32_MAX;
	assert_int_equal(ask(&r, "name"), -EINVAL);
	file.header.hdr_len = sizeof(file.header);
	file.header.magic = 0x9feb; /* of a machine of the other byte order */
	assert_int_equal(ask(&r, "name"), -EINVAL);
	tree_put(&r, PATH, "", 0);
	assert_int_equal(btf_types_have_name(&r, "name"), -EINVAL);
	tree_remove(&r);
}

TEST(live)
{
	if (access(PATH, R_OK))
		SKIP("%s: %s", PATH, strerror(errno));
	assert_int_equal(btf_types_have_name(&root_live, "task_struct"), 1);
	assert_int_equal(btf_types_have_name(&root_live, "btf_trace_sched_switch"), 1);
	assert_int_equal(btf_types_have_name(&root_live, "btf_trace_sched_switcheroo"), 0);
}

static int open_and_close(void *root)
{
	struct btf_types t;
	int rc = btf_types_open(root, &t);

	if (rc)
		return rc;
	assert_int_equal(t.len, sizeof(file));
	assert_memory_equal(t.data, &file, sizeof(file));
	btf_types_close(&t);
	return 0;
}

/* Of a file that may shrink a copy. */
TEST(opened)
{
	struct root r = make(100, "name");
	struct btf_types t;

	assert_int_equal(btf_types_open(&r, &t), -ENOENT);
	tree_put(&r, PATH, &file, sizeof(file));
	inject_every(open_and_close, &r, 1, 3);
	tree_put(&r, PATH, "", 0);
	assert_int_equal(btf_types_open(&r, &t), -EINVAL);
	tree_remove(&r);
}
