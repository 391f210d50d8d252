/*
 * The table of output formats. csv and ndjson are those of the recording program, so that both
 * print the same of the same session. Knows nothing of files.
 */
#include "summary/output.h"

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

static const struct output outputs[] = {
    {"text", false, out_text_begin, .trace = out_text_trace, .iteration = out_text_iteration,
     .end = out_text_end},
    {"csv", true, csv_begin, .iteration = csv_iteration},
    {"ndjson", true, .iteration = ndjson_iteration, .end = ndjson_end},
    {"raw", .head = out_raw_head, .trace = out_raw_trace, .common = out_raw_common,
     .item = out_raw_item, .end = out_raw_end},
};

const struct output *output_find(const char *name)
{
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		if (strcmp(outputs[i].name, name) == 0)
			return &outputs[i];
	return NULL;
}
