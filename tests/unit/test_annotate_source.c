/*
 * Source files: where they are found, what is refused, and that no line controls a terminal.
 */
#include "kit.h"

#include "annotate/source.h"
#include "base/array.h"
#include "elf/debuginfod.h"
#include "elf/finder.h"

#include <sys/stat.h>

static struct root tree;
static struct elf_finder *finder;

HOOK(before_each)
{
	tree = tree_make();
	assert_int_equal(elf_finder_new(&(struct elf_finder_config){.sysroot = tree.dir}, &finder),
			 0);
}

HOOK(after_each)
{
	elf_finder_free(finder);
	tree_remove(&tree);
}

static struct annotate_sources *make(const char *const *dirs, size_t nr)
{
	struct annotate_sources *s = annotate_sources_new(
	    &(struct annotate_sources_config){.finder = finder, .dirs = dirs, .nr_dirs = nr});

	assert_non_null(s);
	return s;
}

static const struct annotate_source *find(struct annotate_sources *s, const char *path)
{
	return annotate_sources_find(s, path, &(struct elf_build_id){.len = 0});
}

static void check_line(const struct annotate_source *f, uint32_t line, const char *text)
{
	char buf[ANNOTATE_MAX_LINE_BYTES];

	assert_non_null(f);
	assert_string_equal(annotate_source_line(f, line, buf), text);
}

TEST(lines)
{
	struct annotate_sources *s = make(NULL, 0);
	const struct annotate_source *f;
	static char wide[4000];

	tree_text(&tree, "/p.c", "int a;\n\n\tif (x)\t// \033[31mred\a\r\n  last \xff\xe2\x80\xa8");
	f = find(s, "/p.c");
	assert_ptr_equal(f, find(s, "/p.c"));
	assert_int_equal(annotate_source_nr_lines(f), 4);
	check_line(f, 0, "");
	check_line(f, 1, "int a;");
	check_line(f, 2, "");
	check_line(f, 3, "    if (x)  // ?[31mred?");
	check_line(f, 4, "  last ????");
	check_line(f, 5, "");
	check_line(f, UINT32_MAX, "");
	memset(wide, '\t', sizeof(wide));
	tree_put(&tree, "/wide.c", wide, sizeof(wide));
	check_line(find(s, "/wide.c"), 1, "");
	memset(wide, 'x', sizeof(wide));
	tree_put(&tree, "/x.c", wide, sizeof(wide));
	f = find(s, "/x.c");
	assert_in_range(strlen(annotate_source_line(f, 1, wide)), 1000,
			ANNOTATE_MAX_LINE_BYTES - 1);
	annotate_sources_free(s);
}

TEST(found)
{
	char one[300], two[300];
	const char *dirs[] = {one, two};
	struct annotate_sources *s;

	snprintf(one, sizeof(one), "%s/one", tree.dir);
	snprintf(two, sizeof(two), "%s/two", tree.dir);
	tree_text(&tree, "/build/a/b.c", "path of the build\n");
	tree_text(&tree, "/one/a/b.c", "a tree\n");
	tree_text(&tree, "/two/b.c", "another\n");
	tree_text(&tree, "/two/only.c", "only\n");
	s = make(dirs, 2);
	check_line(find(s, "/build/a/b.c"), 1, "a tree");
	check_line(find(s, "relative/only.c"), 1, "only");
	assert_null(find(s, "/no/where.c"));
	annotate_sources_free(s);
	s = make(NULL, 0);
	check_line(find(s, "/build/a/b.c"), 1, "path of the build");
	assert_null(find(s, "build/a/b.c")); /* of which folder? */
	annotate_sources_free(s);
}

/* What is no source: a pipe is not waited for. */
TEST(refused)
{
	static const struct {
		const char *path, *fault;
	} faults[] = {
	    {"/pipe.c", "is not a regular file"},
	    {"/folder.c/", "is not a regular file"},
	    {"/folder.c", "is not a regular file"},
	    {"/binary.c", "is not text"},
	    {"/empty.c", "is empty"},
	    {"/large.c", "is too large"},
	    {"/none.c", "is not found"},
	    {"/empty.c/none.c", "is not found"},
	};
	struct annotate_sources *s = make(NULL, 0);
	char path[300], *large;

	snprintf(path, sizeof(path), "%s/pipe.c", tree.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	tree_put(&tree, "/folder.c", NULL, 0);
	tree_put(&tree, "/binary.c", "a\0b", 3);
	tree_text(&tree, "/empty.c", "");
	large = malloc(ANNOTATE_MAX_SOURCE_BYTES + 1);
	assert_non_null(large);
	memset(large, 'x', ANNOTATE_MAX_SOURCE_BYTES + 1);
	tree_put(&tree, "/large.c", large, ANNOTATE_MAX_SOURCE_BYTES + 1);
	tree_put(&tree, "/largest.c", large, ANNOTATE_MAX_SOURCE_BYTES);
	free(large);
	assert_non_null(find(s, "/largest.c"));
	for (size_t i = 0; i < ARRAY_NR(faults); i++) {
		assert_null(find(s, faults[i].path));
		assert_string_equal(annotate_sources_fault(s, faults[i].path), faults[i].fault);
	}
	assert_null(find(s, ""));
	annotate_sources_free(s);
}

static bool can_download(const struct elf_build_id *id)
{
	struct elf_debuginfod *d = NULL;
	char *path = NULL;
	bool is_found = elf_debuginfod_open(&d, NULL) == 0 &&
			elf_debuginfod_find_source(d, id, "/gone/p.c", &path) == 0;

	free(path);
	elf_debuginfod_close(d);
	return is_found;
}

/* From a folder in a server's place, if the library can do that; not without being told. */
TEST(server)
{
	const struct elf_build_id id = {.len = 3, .bytes = {0xab, 0xcd, 0xef}};
	char url[300], cache[300];
	struct annotate_sources *s;

	tree_text(&tree, "/srv/buildid/abcdef/source/gone/p.c", "of a server\n");
	snprintf(url, sizeof(url), "file://%s/srv", tree.dir);
	snprintf(cache, sizeof(cache), "%s/cache", tree.dir);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	s = make(NULL, 0);
	assert_null(annotate_sources_find(s, "/gone/p.c", &id));
	annotate_sources_free(s);
	elf_finder_free(finder);
	assert_int_equal(
	    elf_finder_new(&(struct elf_finder_config){.use_debuginfod = true}, &finder), 0);
	s = make(NULL, 0);
	if (!can_download(&id)) {
		annotate_sources_free(s);
		unsetenv("DEBUGINFOD_URLS");
		SKIP("no library that asks servers");
	}
	check_line(annotate_sources_find(s, "/gone/p.c", &id), 1, "of a server");
	assert_null(annotate_sources_find(s, "/gone/q.c", &id));
	assert_null(annotate_sources_find(s, "gone/p.c", &id));
	annotate_sources_free(s);
	unsetenv("DEBUGINFOD_URLS");
}
