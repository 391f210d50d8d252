#include "screen/cases.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 };

struct cases_format {
	void (*add)(const struct cases_item *item, struct buf *out);
	void (*write)(const struct cases *c, const char *suite, struct buf *out);
};

void cases_init(struct cases *c, const struct cases_format *format)
{
	*c = (struct cases){.format = format};
	buf_init(&c->text, MAX_BYTES);
}

void cases_fini(struct cases *c)
{
	buf_fini(&c->text);
}

void cases_add(struct cases *c, const struct cases_item *item)
{
	c->nr++;
	c->nr_failed += item->failure != NULL;
	c->format->add(item, &c->text);
}

void cases_write(const struct cases *c, const char *suite, struct buf *out)
{
	c->format->write(c, suite, out);
}

/* --- JUnit */

static void add_attribute(const char *name, const char *value, struct buf *out)
{
	buf_printf(out, " %s=\"", name);
	buf_xml(out, value);
	buf_addc(out, '"');
}

static void add_junit(const struct cases_item *item, struct buf *out)
{
	buf_adds(out, "  <testcase");
	add_attribute("classname", item->class, out);
	add_attribute("name", item->name, out);
	if (!item->failure && !item->says) {
		buf_adds(out, "/>\n");
		return;
	}
	buf_addc(out, '>');
	if (item->failure) {
		buf_adds(out, "<failure type=\"grew\"");
		add_attribute("message", item->failure, out);
		buf_adds(out, "/>");
	}
	if (item->says) {
		buf_adds(out, "<system-out>");
		buf_xml(out, item->says);
		buf_adds(out, "</system-out>");
	}
	buf_adds(out, "</testcase>\n");
}

static void write_junit(const struct cases *c, const char *suite, struct buf *out)
{
	buf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite");
	add_attribute("name", suite, out);
	buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", c->nr,
		   c->nr_failed);
	buf_add(out, buf_str(&c->text), c->text.len);
	buf_adds(out, " </testsuite>\n</testsuites>\n");
}

const struct cases_format cases_junit = {add_junit, write_junit};

/* --- GitHub */

/* The runner decodes these, and in properties also what divides them. */
static void add_escaped(const char *text, bool is_property, struct buf *out)
{
	for (; *text; text++)
		if (strchr(is_property ? "%\r\n:," : "%\r\n", *text))
			buf_printf(out, "%%%02X", (unsigned)*text);
		else
			buf_addc(out, *text);
}

/* Lines stay, all else that is not to be seen does not. */
static void add_text(const char *text, bool is_property, struct buf *out)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");
		BUF_AUTO(line, MAX_BYTES);

		buf_shown(&line, text, len);
		add_escaped(buf_str(&line), is_property, out);
		text += len;
		if (*text == '\n')
			text++, add_escaped("\n", is_property, out);
	}
}

static void add_command(const char *level, const char *class, const char *name, const char *text,
			struct buf *out)
{
	buf_printf(out, "::%s title=", level);
	add_text(class, true, out);
	if (*name) {
		add_text(": ", true, out);
		add_text(name, true, out);
	}
	buf_adds(out, "::");
	add_text(text, false, out);
	buf_addc(out, '\n');
}

static void add_github(const struct cases_item *item, struct buf *out)
{
	if (item->failure)
		add_command("error", item->class, item->name, item->failure, out);
	if (item->says)
		add_command("notice", item->class, item->name, item->says, out);
}

static void write_github(const struct cases *c, const char *suite, struct buf *out)
{
	BUF_AUTO(text, 128);

	buf_add(out, buf_str(&c->text), c->text.len);
	if (c->text.len)
		return;
	buf_printf(&text, "%zu compared, none over the limit", c->nr);
	add_command("notice", suite, "", buf_str(&text), out);
}

const struct cases_format cases_github = {add_github, write_github};
