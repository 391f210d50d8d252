/*
 * The table of output formats. csv and ndjson are those of the recording program, so that both
 * print the same of the same session. Knows nothing of files.
 */
#include "summary/format.h"

#include <string.h>

static void csv_begin(struct print *p)
{
	screen_format_find("csv")->begin(p->screen, p->table, p->out);
}

static void csv_iteration(struct print *p)
{
	screen_format_find("csv")->iteration(p->screen, p->table, p->out);
}

static void ndjson_iteration(struct print *p)
{
	screen_format_find("ndjson")->iteration(p->screen, p->table, p->out);
}

static void ndjson_end(struct print *p)
{
	screen_format_find("ndjson")->summary(p->screen, p->table, p->summary, p->out);
}

static const struct summary_format formats[] = {
    {"text", false, out_text_begin, .trace = out_text_trace, .iteration = out_text_iteration,
     .end = out_text_end},
    {"csv", true, csv_begin, .iteration = csv_iteration},
    {"ndjson", true, .iteration = ndjson_iteration, .end = ndjson_end},
    {"raw", .head = out_raw_head, .trace = out_raw_trace, .common = out_raw_common,
     .item = out_raw_item, .end = out_raw_end},
};

const struct summary_format *summary_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}
