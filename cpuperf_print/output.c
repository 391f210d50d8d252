/*
 * The table of output formats. csv and ndjson are those of the recording program, so that both
 * print the same of the same session. Knows nothing of files.
 */
#include "output.h"

#include <string.h>

static void csv_begin(struct print *p)
{
	screen_format_find("csv")->begin(p->screen, p->table, &p->out);
}

static void csv_iteration(struct print *p)
{
	screen_format_find("csv")->iteration(p->screen, p->table, &p->out);
}

static void ndjson_iteration(struct print *p)
{
	screen_format_find("ndjson")->iteration(p->screen, p->table, &p->out);
}

static void ndjson_end(struct print *p)
{
	screen_format_find("ndjson")->summary(p->screen, p->table, p->summary, &p->out);
}

static const struct output outputs[] = {
    {"text", out_text_begin, out_text_trace, out_text_iteration, out_text_end},
    {"csv", csv_begin, NULL, csv_iteration, NULL},
    {"ndjson", NULL, NULL, ndjson_iteration, ndjson_end},
    {"raw", NULL, out_raw_trace, NULL, out_raw_end},
};

const struct output *output_find(const char *name)
{
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		if (strcmp(outputs[i].name, name) == 0)
			return &outputs[i];
	return NULL;
}
