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
static const struct elf_build_id no_id = {.len = 0};
static const struct annotate_namer own = {.id = &no_id};

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
	return annotate_sources_find(s, path, &own);
}

enum { OTHER = 1234 };
static const struct annotate_namer other = {&no_id, {.are_limited = true, .uid = OTHER}};

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
		assert_string_equal(annotate_sources_fault(s, faults[i].path, &own),
				    faults[i].fault);
	}
	assert_null(find(s, ""));
	annotate_sources_free(s);
}

static void put_link(const char *path, const char *to)
{
	char whole[300];

	snprintf(whole, sizeof(whole), "%s%s", tree.dir, path);
	assert_int_equal(symlink(to, whole), 0);
}

/* What another user's program names, root reads as that user would, and only in folders that are
 * named: neither ".." nor a link leads out of them. */
TEST(of_others)
{
	static const struct {
		const char *path, *fault; /* NULL: it is shown */
	} cases[] = {
	    {"/build/a.c", NULL},
	    {"/build/link.c", NULL}, /* leads to /a.c of the folder */
	    {"/build/secret.c", "may not be read"},
	    {"/build/to_secret.c", "may not be read"},
	    {"/hidden/h.c", "may not be read"},
	    {"/outside.c",
	     "is not in a folder named for it, as data of another user or container names it"},
	    {"/../outside.c",
	     "is not in a folder named for it, as data of another user or container names it"},
	    {"/build/up.c",
	     "is not in a folder named for it, as data of another user or container names it"},
	    {"/build/away.c",
	     "is not in a folder named for it, as data of another user or container names it"},
	    {"/build/pipe.c", "is not a regular file"},
	};
	char dir[300], path[300];
	const char *dirs[] = {dir};
	struct annotate_sources *s;

	if (geteuid())
		SKIP("only root's rights are limited");
	snprintf(dir, sizeof(dir), "%s/src", tree.dir);
	tree_text(&tree, "/outside.c", "outside\n");
	tree_text(&tree, "/src/a.c", "named\n");
	tree_text(&tree, "/src/build/a.c", "named\n");
	tree_text(&tree, "/src/build/secret.c", "secret\n");
	tree_text(&tree, "/src/hidden/h.c", "secret\n");
	snprintf(path, sizeof(path), "chmod -R a+rX %s", tree.dir);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/src/build/secret.c", tree.dir);
	assert_int_equal(chmod(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/src/hidden", tree.dir);
	assert_int_equal(chmod(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/src/build/pipe.c", tree.dir);
	assert_int_equal(mkfifo(path, 0666), 0);
	put_link("/src/build/link.c", "/a.c");
	put_link("/src/build/to_secret.c", "secret.c");
	put_link("/src/build/up.c", "../../outside.c");
	put_link("/src/build/away.c", "/outside.c"); /* of the sysroot */
	s = make(dirs, 1);
	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		const struct annotate_source *f = annotate_sources_find(s, cases[i].path, &other);

		if (!cases[i].fault) {
			check_line(f, 1, "named");
			continue;
		}
		assert_null(f);
		assert_string_equal(annotate_sources_fault(s, cases[i].path, &other),
				    cases[i].fault);
		/* one's own program shows it, before and after */
		if (strcmp(cases[i].fault, "is not a regular file") != 0)
			assert_non_null(find(s, cases[i].path));
		assert_null(annotate_sources_find(s, cases[i].path, &other));
	}
	annotate_sources_free(s);
	/* without such a folder there is none */
	s = make(NULL, 0);
	assert_non_null(find(s, "/outside.c"));
	assert_null(annotate_sources_find(s, "/outside.c", &other));
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
	const struct annotate_namer by = {.id = &id};
	char url[300], cache[300];
	struct annotate_sources *s;

	tree_text(&tree, "/srv/buildid/abcdef/source/gone/p.c", "of a server\n");
	snprintf(url, sizeof(url), "file://%s/srv", tree.dir);
	snprintf(cache, sizeof(cache), "%s/cache", tree.dir);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	s = make(NULL, 0);
	assert_null(annotate_sources_find(s, "/gone/p.c", &by));
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
	check_line(annotate_sources_find(s, "/gone/p.c", &by), 1, "of a server");
	assert_null(annotate_sources_find(s, "/gone/q.c", &by));
	assert_null(annotate_sources_find(s, "gone/p.c", &by));
	annotate_sources_free(s);
	unsetenv("DEBUGINFOD_URLS");
}
