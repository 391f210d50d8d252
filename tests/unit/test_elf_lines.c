/* The line tables of this program: the lines of a function of it. */
#include "kit.h"

#include "base/err.h"
#include "elf/file.h"
#include "elf/lines.h"
#include "elf/reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST = __LINE__ };
static __attribute__((noinline)) int known(int n)
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(n));
	return n;
}
enum { LAST = __LINE__ };

struct found {
	size_t nr, nr_known;
	size_t stop_at;
};

static int look_at(void *arg, const struct elf_line *line)
{
	const char *name = strrchr(line->path, '/');
	struct found *f = arg;

	assert_true(line->begin < line->end && line->line > 0);
	f->nr_known += strcmp(name ? name + 1 : line->path, "test_elf_lines.c") == 0 &&
		       line->line > FIRST && line->line < LAST;
	return ++f->nr == f->stop_at ? -ECANCELED : 0;
}

static int find(struct found *f)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct elf_reader *reader;
	struct elf_file *file;
	struct err e = {0};
	struct stat st;
	int rc;

	assert_int_equal(elf_reader_new(&config, &reader), 0);
	assert_int_equal(elf_file_open(reader, "/proc/self/exe", &file, &st, &e), 0);
	rc = elf_lines_each(file, look_at, f);
	elf_file_close(file);
	elf_reader_free(reader);
	return rc;
}

TEST(own)
{
	struct found all = {.nr = 0}, some = {.stop_at = 2};

	assert_int_equal(known(3), 3);
	assert_int_equal(find(&all), 0);
	if (!all.nr) {
		puts("skip: own: this program has no line tables");
		return;
	}
	assert_true(all.nr_known >= 2);
	assert_int_equal(find(&some), -ECANCELED);
	assert_int_equal(some.nr, 2);
}
