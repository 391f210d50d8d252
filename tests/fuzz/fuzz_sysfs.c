/*
 * Any text as the files of a PMU and as terms. The input is lines "file=text": format/event,
 * format/umask, events/x, events/x.scale, events/x.unit, cpumask, and terms. What is listed
 * resolves, what is refused says why.
 */
#include "base/arena.h"
#include "base/err.h"
#include "event/catalogue.h"
#include "event/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], terms[600];

static void require(int holds)
{
	if (!holds)
		abort();
}

static void put(const char *path, const char *text, size_t len)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", folder, path);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

#define BOX "sys/bus/event_source/devices/box_0/"

static const char *const files[] = {"format/event",   "format/umask",  "events/x",
				    "events/x.scale", "events/x.unit", "cpumask"};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_tree(void)
{
	(void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_tree(void)
{
	static const char *const folders[] = {"/sys",
					      "/sys/devices",
					      "/sys/devices/system",
					      "/sys/devices/system/cpu",
					      "/sys/bus",
					      "/sys/bus/event_source",
					      "/sys/bus/event_source/devices",
					      "/" BOX,
					      "/" BOX "format",
					      "/" BOX "events"};
	char full[256];

	snprintf(folder, sizeof(folder), "/tmp/cpuperf-fuzz.XXXXXX");
	require(mkdtemp(folder) != NULL && atexit(remove_tree) == 0);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(full, sizeof(full), "%s%s", folder, folders[i]);
		require(mkdir(full, 0700) == 0);
	}
	put("sys/devices/system/cpu/online", "0-3", 3);
	put(BOX "type", "42", 2);
}

/* The rest of the line "name=text" in the input, or nothing. */
static const char *find_text(const char *input, const char *name, size_t *len)
{
	size_t name_len = strlen(name);

	for (const char *p = input; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, name, name_len) == 0 && p[name_len] == '=') {
			*len = strcspn(p + name_len + 1, "\n");
			return p + name_len + 1;
		}
	*len = 0;
	return "";
}

static void fill_tree(const char *input)
{
	char path[128];
	size_t len;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *text = find_text(input, files[i], &len);

		snprintf(path, sizeof(path), BOX "%s", files[i]);
		put(path, text, len);
	}
	snprintf(terms, sizeof(terms), "%s", find_text(input, "terms", &len));
	terms[strcspn(terms, "\n")] = '\0';
}

static int check_row(const struct event_row *row, void *arg)
{
	const struct catalogue *c = arg;
	const struct event_row *again = NULL;
	struct err e = {0};

	require(row->unit[0] && row->description[0] && !row->missing == (row->nr_parts > 0));
	require(row->missing ? row->missing[0] != '\0' : row->scale > 0);
	require(event_uncore_maker.find(c, row->name, &again, &e) == 0 && !e.code);
	require(strcmp(again->name, row->name) == 0 && !again->missing == !row->missing);
	return 0;
}

static void check_terms(const struct host *h)
{
	struct event_part p = {0};
	struct err e = {0};
	int rc = sysfs_encode(h, host_find_pmu(h, "box_0"), terms, &p, &e);

	require(rc == e.code && (rc == 0) == (p.pmu != NULL) && (rc == 0) == !e.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct catalogue c = {0};
	struct arena arena;
	struct root root;
	struct host h;
	char *input = strndup((const char *)data, size);

	if (!folder[0])
		make_tree();
	require(input != NULL);
	fill_tree(input);
	free(input);
	require(root_init(&root, folder) == 0 && host_load(&root, &h, NULL) == 0);
	arena_init(&arena, 1 << 20);
	c.host = &h;
	c.arena = &arena;
	check_terms(&h);
	require(event_uncore_maker.each(&c, check_row, &c) == 0);
	arena_fini(&arena);
	host_fini(&h);
	return 0;
}
