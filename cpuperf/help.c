/*
 * Pages are found relative to the program, as in an install and in a build tree, so they are those
 * of this version; man formats them. Where there is no man (containers), their text is printed.
 */
#include "help.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/opt_std.h"
#include "base/privilege.h"
#include "base/str.h"
#include "export/gzip.h"
#include "man_text.h"
#include "parts.h"
#include "program.h"
#include "serve/browser.h"
#include "topics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PAGE_BYTES = 1 << 20, MAX_NAME_BYTES = 128, TEXT_WIDTH = 80, NAME_WIDTH = 16 };

static const char verb[] = "help";

bool help_is_asked(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], verb) == 0;
}

static int list_topics(void)
{
	BUF_AUTO(out, MAX_PAGE_BYTES);

	buf_adds(&out, "cpuperf help TOPIC shows the page of man of:\n");
	for (size_t i = 0; i < nr_topics; i++)
		buf_printf(&out, "  %-*s %s\n", NAME_WIDTH, topics[i].name, topics[i].summary);
	buf_adds(&out, "\ncpuperf --manual opens the manual, from symptoms to commands;"
		       " --help has the usual options, --help=all all.\n");
	return print_result(&out);
}

static const struct topic *find_topic(const char *word, struct err *e)
{
	const struct topic *found = topic_find(word);
	const char *near;

	if (found)
		return found;
	near = topic_nearest(word);
	err_set(e, -ENOENT, "there is no topic \"%s\"", word);
	if (near)
		err_hint(e, "did you mean %s? (cpuperf help lists all)", near);
	else
		err_hint(e, "cpuperf help lists all");
	return NULL;
}

static const char packed[] = ".gz"; /* of pages: distributions compress them */

/* False: there is none. */
static bool find_page(const struct topic *t, char path[PATH_MAX])
{
	static const char *const ends[] = {"", packed};
	char name[MAX_NAME_BYTES];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(name, sizeof(name), CPUPERF_MAN_FROM_BIN "/man%c/%s.%c%s", t->section,
			 t->page, t->section, ends[i]);
		if (part_near(name, path))
			return true;
	}
	return false;
}

/* Returns if there is no man. */
static void become_man(const char *path)
{
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execlp("man", "man", "-l", path, (char *)NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

/* As it is installed: plain, or compressed. */
static int load_page(const char *path, struct buf *page)
{
	BUF_AUTO(file, MAX_PAGE_BYTES);
	int rc = io_load(AT_FDCWD, path, str_stem(path, packed) ? &file : page);

	if (rc || !file.len)
		return rc;
	return gzip_unpack(buf_str(&file), file.len, page);
}

static int print_page(const struct topic *t, const char *path, struct err *e)
{
	BUF_AUTO(page, MAX_PAGE_BYTES);
	BUF_AUTO(out, MAX_PAGE_BYTES);
	int rc = path ? load_page(path, &page) : -ENOENT;

	if (rc || page.len == 0 || buf_str(&page)[0] != '.') {
		err_set(e, rc ?: -EINVAL, "%s(%c) is %s", t->page, t->section,
			path ? "unreadable, and there is no man that could show it"
			     : "not installed");
		err_hint(e, "%sit is in the package %s",
			 path ? "install man (Debian: man-db); " : "",
			 t->section == '3' ? "libcpuperf-dev" : "cpuperf");
		return fail(EXIT_FAILED, e);
	}
	log_info("there is no man here (Debian: man-db): the text of %s(%c) follows", t->page,
		 t->section);
	buf_addc(&page, '\0');
	man_text(page.data, TEXT_WIDTH, &out);
	return print_result(&out);
}

static int show_page(const struct topic *t)
{
	char path[PATH_MAX];
	const bool is_found = find_page(t, path);
	struct err e = {0};

	/* man alone would say that there is none, or show that of another version */
	if (is_found)
		become_man(path);
	return print_page(t, is_found ? path : NULL, &e);
}

int help_run(int argc, char **argv)
{
	const struct topic *t;
	struct err e = {0};

	opt_std_prepare(cpuperf_options(), argc, argv);
	if (privilege_init(&e))
		return fail(EXIT_NOT_MEASURED, &e); /* as whatever else is asked for */
	if (argc == 2)
		return list_topics();
	if (argc > 3) {
		err_set(&e, -EINVAL, "help %s %s: one topic at a time", argv[2], argv[3]);
		err_hint(&e, "cpuperf help %s", argv[2]);
		return fail(EXIT_USAGE, &e);
	}
	t = find_topic(argv[2], &e);
	return t ? show_page(t) : fail(EXIT_USAGE, &e);
}

int help_open_manual(const char *topic)
{
	const struct topic *t = NULL;
	char name[MAX_NAME_BYTES], path[PATH_MAX];
	struct err e = {0};

	if (topic) {
		t = find_topic(topic, &e);
		if (!t)
			return fail(EXIT_USAGE, &e);
	}
	snprintf(name, sizeof(name), CPUPERF_MANUAL_FROM_BIN "/%s.html", t ? t->manual : "index");
	if (!part_near(name, path)) {
		log_info("the pages of the manual are not installed (cpuperf was built without "
			 "mkdocs): man follows");
		return show_page(t ?: topic_find("options"));
	}
	if (!browser_has_screen()) {
		log_info("there is no screen: man follows; the page for a browser is %s", path);
		return show_page(t ?: topic_find("options"));
	}
	return browser_open(path, "--manual", &e) ? fail(EXIT_FAILED, &e) : EXIT_DONE;
}
