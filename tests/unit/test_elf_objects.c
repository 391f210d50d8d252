/*
 * The loader's cache, made by hand and damaged; and what this machine's loader itself says of a
 * program.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/root.h"
#include "elf/ld_cache.h"
#include "elf/objects.h"
#include "elf/reader.h"

#include <limits.h>

static void add_header(struct buf *b, uint32_t nr)
{
	buf_add(b, "glibc-ld.so.cache1.1", 20);
	buf_le32(b, nr);
	buf_fill(b, 0, 24);
}

static void add_entry(struct buf *b, uint32_t name, uint32_t path)
{
	buf_le32(b, 0x303);
	buf_le32(b, name);
	buf_le32(b, path);
	buf_fill(b, 0, 12);
}

struct seen {
	char text[512];
	size_t nr;
};

static int take(const char *name, const char *path, void *arg)
{
	struct seen *s = arg;
	size_t len = strlen(s->text);

	snprintf(s->text + len, sizeof(s->text) - len, "%s=%s ", name, path);
	s->nr++;
	return 0;
}

static struct seen read_cache(const char *data, size_t len)
{
	struct seen s = {.nr = 0};
	uint8_t *copy = malloc(len + !len);

	memcpy(copy, data, len);
	assert_int_equal(elf_ld_cache_each(copy, len, take, &s), 0);
	free(copy);
	return s;
}

TEST(cache)
{
	enum { STRINGS_AT = 48 + 3 * 24 };
	struct seen s;
	struct buf b;

	buf_init(&b, 1 << 20);
	add_header(&b, 3);
	add_entry(&b, STRINGS_AT, STRINGS_AT + 5);
	add_entry(&b, STRINGS_AT, STRINGS_AT + 15); /* no path from the root */
	add_entry(&b, STRINGS_AT + 5, UINT32_MAX);  /* outside */
	buf_add(&b, "liba\0/lib/liba\0x", 17);
	s = read_cache(b.data, b.len);
	assert_string_equal(s.text, "liba=/lib/liba ");
	for (size_t len = 0; len < b.len; len++) /* the name needs its NUL */
		assert_int_equal(read_cache(b.data, len).nr, len >= STRINGS_AT + 15);
	buf_reset(&b);
	add_header(&b, UINT32_MAX); /* more than there are */
	add_entry(&b, 0, 20);
	assert_int_equal(read_cache(b.data, b.len).nr, 0);
	buf_reset(&b);
	buf_add(&b, "ld.so-1.7.0 and its libraries", 29);
	add_header(&b, 1);
	add_entry(&b, 48 + 24, 48 + 24 + 2);
	buf_add(&b, "b\0/b\0", 5);
	assert_string_equal(read_cache(b.data, b.len).text, "b=/b ");
	buf_fini(&b);
}

static bool has(const struct elf_objects *o, const char *path)
{
	char real[PATH_MAX];

	for (size_t i = 0; i < elf_objects_nr(o); i++)
		if (realpath(elf_objects_at(o, i)->path, real) && strcmp(real, path) == 0)
			return true;
	return false;
}

/* The files of this test are those that its loader has mapped. */
TEST(this_program)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct elf_reader *reader;
	struct elf_objects o;
	size_t nr = 0;
	struct buf cache;
	char line[2 * PATH_MAX];
	FILE *maps = fopen("/proc/self/maps", "re");

	assert_non_null(maps);
	buf_init(&cache, 64 << 20);
	assert_int_equal(elf_reader_new(&config, &reader), 0);
	elf_objects_init(&o, reader);
	if (root_load(&root_live, "/etc/ld.so.cache", &cache) == 0) {
		o.cache = (uint8_t *)cache.data;
		o.cache_bytes = cache.len;
	}
	assert_int_equal(elf_objects_add_program(&o, "/proc/self/exe"), 0);
	while (fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (!path || !strstr(line, " r-xp ") || strstr(line, "/dev/"))
			continue;
		path[strcspn(path, "\n")] = '\0';
		nr++;
		if (!has(&o, path))
			fail_msg("%s is missing", path);
	}
	fclose(maps);
	assert_true(nr > 1);
	/* once, whatever the name */
	nr = elf_objects_nr(&o);
	assert_int_equal(elf_objects_add(&o, "/proc/self/exe"), 0);
	assert_int_equal(elf_objects_nr(&o), nr);
	assert_int_equal(elf_objects_add(&o, "/dev/null"), 0);
	assert_int_equal(elf_objects_add(&o, "/nothing"), 0);
	assert_int_equal(elf_objects_nr(&o), nr);
	elf_objects_fini(&o);
	elf_reader_free(reader);
	buf_fini(&cache);
}

/* The first file of a script is the program that executes it, also where env finds it. */
TEST(scripts)
{
	static const struct {
		const char *line, *program; /* NULL: none */
	} cases[] = {
	    {"#!/tool\n", "/tool"},
	    {"#! /tool -u\n", "/tool"},
	    {"#!/usr/bin/env tool\n", "/tool"},
	    {"#!/usr/bin/env -S A=1 tool -u\nx", "/tool"},
	    {"#!/usr/bin/env no-such-tool\n", "/usr/bin/env"},
	    {"#!/usr/bin/env\ntool\n", "/usr/bin/env"},
	    {"#!tool\n", NULL},
	};
	const char *before = getenv("PATH");
	struct elf_reader_config config = {.max_bytes = 0};
	struct root tree = tree_make();
	char script[PATH_MAX], tool[PATH_MAX], folders[PATH_MAX], line[2 * PATH_MAX];

	snprintf(script, sizeof(script), "%s/script", tree.dir);
	snprintf(tool, sizeof(tool), "%s/tool", tree.dir);
	snprintf(folders, sizeof(folders), "/nonexistent::%s:/usr/bin", tree.dir);
	before = before ? strdup(before) : NULL;
	assert_int_equal(symlink("/usr/bin/env", tool), 0);
	setenv("PATH", folders, 1);
	for (size_t i = 0; i < NR(cases); i++) {
		struct elf_reader *reader;
		struct elf_objects o;

		snprintf(line, sizeof(line), "%s", cases[i].line);
		if (strncmp(line, "#!/tool", 7) == 0 || strncmp(line, "#! /tool", 8) == 0)
			snprintf(line, sizeof(line), "#! %s%s", tool,
				 strstr(cases[i].line, "/tool") + 5);
		tree_text(&tree, "/script", line);
		assert_int_equal(elf_reader_new(&config, &reader), 0);
		elf_objects_init(&o, reader);
		assert_int_equal(elf_objects_add_program(&o, script), 0);
		assert_int_equal(elf_objects_nr(&o) > 0, cases[i].program != NULL);
		if (cases[i].program)
			assert_string_equal(
			    elf_objects_at(&o, 0)->path,
			    strcmp(cases[i].program, "/tool") == 0 ? tool : cases[i].program);
		elf_objects_fini(&o);
		elf_reader_free(reader);
	}
	if (before)
		setenv("PATH", before, 1);
	free((void *)before);
	tree_remove(&tree);
}
