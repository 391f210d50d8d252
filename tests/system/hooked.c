/*
 * Counts the calls of a command by the agent of functions: hooked [-c] [-p] [-o NAME] OUT
 * FILE,FILE… COMMAND… FILEs have the functions. -c: without times. -p: the agent replaces
 * instructions; what it cannot is a line "refused", or "untimed" if it only counts. -o: of that
 * function alone. OUT has a line for each function that was called: name, calls, ended, ns of wall,
 * self, max and cost, and the sum of the buckets' lower ends; then "limits" and those of the
 * session. Returns what the command returned, 128 and a signal, or 125. The agent is that of the
 * variable HOOKS.
 */
#include "base/err.h"
#include "elf/file.h"
#include "elf/reader.h"
#include "functions/functions.h"
#include "hooks/hooks.h"
#include "wire/loadable.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

static struct functions_place places[MOST];
static const struct functions_place *pointers[MOST];
static size_t nr;
static const char *only;

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return 125;
}

static void add_symbols(const struct elf_file *f, const char *path)
{
	struct elf_section table = {0}, text;

	for (size_t i = 0; elf_file_section(f, i, &table) && table.type != SHT_SYMTAB; i++)
		;
	if (table.type != SHT_SYMTAB || !elf_file_section(f, table.link, &text) ||
	    !elf_file_load(f, &table) || !elf_file_load(f, &text))
		return;
	for (size_t i = 0; i < table.size / sizeof(Elf64_Sym) && nr < MOST; i++) {
		const Elf64_Sym *s = (const void *)(table.data + i * sizeof(*s));

		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_shndx ||
		    s->st_name >= text.size ||
		    (only && strcmp(only, (const char *)text.data + s->st_name) != 0))
			continue;
		places[nr] =
		    (struct functions_place){.path = path,
					     .name = strdup((const char *)text.data + s->st_name),
					     .address = s->st_value,
					     .size = s->st_size};
		pointers[nr] = &places[nr];
		nr++;
	}
}

static int read_files(char *files)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct elf_reader *reader;
	struct elf_file *f;
	struct err e = {0};
	struct stat st;

	if (elf_reader_new(&config, &reader))
		return fail(files, "no memory");
	for (char *path = strtok(files, ","); path; path = strtok(NULL, ",")) {
		char *whole = realpath(path, NULL);

		if (!whole || elf_file_open(reader, whole, &f, &st, &e))
			return fail(path, whole ? e.msg : strerror(errno));
		add_symbols(f, whole);
		elf_file_close(f);
	}
	elf_reader_free(reader);
	return 0;
}

static uint64_t least_of(uint32_t number)
{
	unsigned k = number >> HOOKS_BITS;

	return k ? (uint64_t)((1u << HOOKS_BITS) + number % (1u << HOOKS_BITS)) << (k - 1) : number;
}

static void write_calls(const struct hooks *h, FILE *out)
{
	struct hooks_sums s;
	struct hooks_limits l;

	for (size_t i = 0; i < nr; i++) {
		const uint64_t *bucket = hooks_buckets(h, i);
		uint64_t least = 0;

		hooks_sums(h, i, &s);
		if (!s.calls)
			continue;
		for (uint32_t b = 0; bucket && b < HOOKS_BUCKETS; b++)
			least += bucket[b] * least_of(b);
		fprintf(out,
			"%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			"\t%" PRIu64 "\t%" PRIu64 "\n",
			places[i].name, s.calls, s.ended, s.wall_ns, s.self_ns, s.max_ns, s.cost_ns,
			least);
	}
	hooks_limits(h, &l);
	fprintf(out,
		"limits\tprocesses=%u\tmissed=%" PRIu64 "\tuntimed=%" PRIu64
		"\tjoined=%u\tpatched=%u\tunpatched=%u\tnameless=%" PRIu64 "\tplaced=%u"
		"\tunplaced=%u\ttimed=%u\thalf=%u\n",
		l.processes, l.missed, l.untimed, l.joined, l.patched, l.unpatched, l.nameless,
		l.placed, l.unplaced, l.timed, l.half);
	for (size_t i = 0; i < nr; i++) {
		if (hooks_refused(h, i))
			fprintf(out, "refused\t%s\t%s\n", places[i].name, hooks_refused(h, i));
		if (hooks_untimed(h, i))
			fprintf(out, "untimed\t%s\t%s\n", places[i].name, hooks_untimed(h, i));
	}
}

static int run(const struct hooks *h, char **command)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		const char *library = getenv("HOOKS");

		setenv("LD_PRELOAD", library ? library : "", 1);
		setenv(HOOKS_VARIABLE, hooks_socket(h), 1);
		execvp(command[0], command);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 125;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct hooks_config config = {.place = pointers, .has_times = true};
	struct loadable_judged judged;
	struct hooks *h;
	struct err e = {0};
	FILE *out;
	int rc;

	while (argc > 1 && (strcmp(argv[1], "-c") == 0 || strcmp(argv[1], "-p") == 0)) {
		config.has_times &= strcmp(argv[1], "-c") != 0;
		config.patches |= strcmp(argv[1], "-p") == 0;
		argc--;
		argv++;
	}
	if (argc > 2 && strcmp(argv[1], "-o") == 0) {
		only = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 4 || !getenv("HOOKS"))
		return fail("usage", "hooked [-c] [-p] [-o NAME] OUT FILE,FILE... COMMAND...");
	loadable_judge_named(getenv("PATH"), argv[3], &judged);
	if (judged.answer != LOADABLE_YES)
		return fail(judged.name, loadable_reason(judged.answer));
	rc = read_files(argv[2]);
	if (rc)
		return rc;
	config.nr = nr;
	out = fopen(argv[1], "w");
	if (!out || hooks_open(&config, &h, &e))
		return fail(argv[1], out ? e.msg : strerror(errno));
	rc = run(h, argv + 3);
	if (hooks_read(h))
		return fail("reading", "no memory");
	write_calls(h, out);
	fclose(out);
	hooks_close(h);
	return rc;
}
