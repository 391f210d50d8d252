/*
 * The processes of a control group, from files as the kernel makes them.
 */
#include "kit.h"
#include "tree.h"

#include "base/root.h"
#include "process/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct root tree;
static struct process_group group;

HOOK(before_each)
{
	tree = tree_make();
	group = (struct process_group){0};
}

HOOK(after_each)
{
	process_group_fini(&group);
	tree_remove(&tree);
}

static int read_group(void)
{
	int fd = root_open(&tree, "/g"), rc = process_group_read(&group, fd);

	close(fd);
	return rc;
}

TEST(with_those_below)
{
	static const uint32_t in[] = {1, 7, 8, 90, 4194304};

	tree_text(&tree, "/g/cgroup.procs", "90\n7\n0\n");
	tree_text(&tree, "/g/b/cgroup.procs", "8\n");
	tree_text(&tree, "/g/b/c/cgroup.procs", "4194304\n1\n");
	tree_put(&tree, "/g/removed", NULL, 0);
	tree_text(&tree, "/beside/cgroup.procs", "5\n");
	for (int i = 0; i < 2; i++) { /* each time anew */
		assert_int_equal(read_group(), 0);
		assert_int_equal(group.nr, NR(in));
		for (size_t k = 0; k < NR(in); k++)
			assert_true(process_group_has(&group, in[k]));
		assert_false(process_group_has(&group, 5));
		assert_false(process_group_has(&group, 0));
	}
	tree_text(&tree, "/g/cgroup.procs", "");
	assert_int_equal(read_group(), 0);
	assert_int_equal(group.nr, 3);
	assert_false(process_group_has(&group, 7));
}

TEST(invalid)
{
	static const char *const texts[] = {"1\nx\n", "-1\n", "4194305\n", "1 2\n",
					    "99999999999999999999\n"};

	for (size_t i = 0; i < NR(texts); i++) {
		tree_text(&tree, "/g/cgroup.procs", texts[i]);
		if (read_group() != -EINVAL || group.nr)
			fail_msg("row %zu", i);
	}
	tree_drop(&tree, "/g/cgroup.procs");
	assert_int_equal(read_group(), -ENOENT);
}

/* No group is that deep: folders without end end. */
TEST(deep)
{
	char path[512] = "/g";

	tree_text(&tree, "/g/cgroup.procs", "1\n");
	for (int i = 0; i < 80; i++) {
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d");
		tree_put(&tree, path, NULL, 0);
	}
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/cgroup.procs");
	tree_text(&tree, path, "2\n");
	assert_int_equal(read_group(), 0);
	assert_int_equal(group.nr, 1);
}
