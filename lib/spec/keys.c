/*
 * The table of all keys, and the few questions about it.
 */
#include "spec/keys.h"

#include "base/str.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <stddef.h>
#include <string.h>

static const char *const flag_words[] = {"os", "user", "pc", "last_branch", "timebase", NULL};

#define SPEC_FIELD(f)    .level = KEY_SPEC, .offset = offsetof(struct spec, f)
#define EVENT_FIELD(f)   .level = KEY_EVENT, .offset = offsetof(struct spec_event, f)
#define SESSION_FIELD(f) .level = KEY_SESSION, .offset = offsetof(struct cpsession, f)
#define SPEC_POS(f)      .pos_offset = offsetof(struct spec, f)
#define EVENT_POS(f)     .pos_offset = offsetof(struct spec_event, f)

/* The order is that of the document's schema, and of what is written. */
const struct key_row key_rows[] = {
    {
	SPEC_FIELD(config_name),
	.name = "config_name",
	.type = KEY_STRING,
	.max = 255,
	.description = "A name for what is measured. It is stored with the results.",
	.metavar = "NAME",
    },
    {
	SPEC_FIELD(model_name),
	SPEC_POS(model_pos),
	.name = "model_name",
	.type = KEY_STRING,
	.min = 1,
	.max = 255,
	.default_text = "default",
	.description = "The CPU model whose events are meant. \"default\" is the one of this "
		       "machine.",
	.metavar = "NAME",
    },
    {
	SPEC_FIELD(events),
	SPEC_POS(events_pos),
	.name = "events",
	.type = KEY_EVENTS,
	.required = true,
	.min = 1,
	.max = SPEC_MAX_PERF_EVENTS + SPEC_MAX_MISC_EVENTS,
	.description = "What is measured: at most 32 events, and 256 more of the group misc. The "
		       "columns of the results are in this order.",
    },
    {
	SPEC_FIELD(buffer_size_in_mb),
	.name = "buffer_size_in_mb",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 4096,
	.default_text = "16",
	.unit = "MiB",
	.modes = "sampling",
	.description = "The size of each CPU's buffer.",
	.metavar = "N",
    },
    {
	SPEC_FIELD(duration_ns),
	.name = "duration",
	.type = KEY_SECONDS,
	.max = 31536000, /* a year */
	.default_text = "10",
	.unit = "seconds",
	.description = "How long one iteration takes. 0 reads the counters once, at once. The "
		       "option --duration also takes units: 10ms, 0.5s, 2m.",
	.metavar = "TIME",
    },
    {
	SPEC_FIELD(num_iterations),
	.name = "num_iterations",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000000,
	.default_text = "1",
	.description = "How many iterations are measured, one after the other.",
	.metavar = "N",
    },
    {
	SPEC_FIELD(output_path_prefix),
	.name = "output_path_prefix",
	.type = KEY_STRING,
	.max = 3799, /* with the numbers of a trace it stays below PATH_MAX */
	.default_text = "/tmp/cpuperf",
	.description = "How the paths of the traces begin; the iteration, the trace number and "
		       ".cpuperf follow. An empty string saves no traces.",
	.metavar = "PREFIX",
    },
    {
	SPEC_FIELD(session_result_spec_path),
	.name = "session_result_spec_path",
	.type = KEY_STRING,
	.max = 3799,
	.default_text = "/tmp/cpuperf.cpsession",
	.description = "Where the description of the session is written, for cpuperf_print. It "
		       "does not follow output_path_prefix. An empty string writes none.",
	.metavar = "FILE",
    },

    {
	EVENT_FIELD(group_name),
	EVENT_POS(group_pos),
	.name = "group_name",
	.type = KEY_NAME,
	.required = true,
	.min = 1,
	.max = 255,
	.description = "The group of the event, as cpuperf --list-events shows it: fixed, arch, "
		       "software, misc and others.",
    },
    {
	EVENT_FIELD(event_name),
	EVENT_POS(name_pos),
	.name = "event_name",
	.type = KEY_NAME,
	.required = true,
	.min = 1,
	.max = 255,
	.description = "The name of the event in its group.",
    },
    {
	EVENT_FIELD(rate),
	EVENT_POS(rate_pos),
	.name = "rate",
	.type = KEY_INTEGER,
	.max = INT64_MAX,
	.default_text = "0",
	.groups = "all but misc",
	.modes = "sampling",
	.description = "A sample is taken each time the event has occurred this often. 0 counts "
		       "it only.",
    },
    {
	EVENT_FIELD(flags),
	EVENT_POS(flags_pos),
	.name = "flags",
	.type = KEY_FLAGS,
	.words = flag_words,
	.description = "os counts in the kernel, user in programs; without either, both. pc "
		       "records where each sample is taken, last_branch the branches before it. "
		       "timebase, for one event at most, reads the events without a rate at each "
		       "of its samples. These three need a rate.",
    },
    {
	EVENT_FIELD(label),
	EVENT_POS(label_pos),
	.name = "label",
	.type = KEY_NAME,
	.min = 1,
	.max = 64,
	.description = "The heading of the event's column, in place of its name. No two columns "
		       "may share a label.",
    },

    {
	SESSION_FIELD(config_name),
	.name = "config_name",
	.type = KEY_STRING,
	.max = 255,
	.description = "config_name of the spec; left out if empty.",
    },
    {
	SESSION_FIELD(model_name),
	.name = "model_name",
	.type = KEY_STRING,
	.max = 255,
	.description = "The CPU model that was measured; left out if empty.",
    },
    {
	SESSION_FIELD(num_iterations),
	.name = "num_iterations",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000000,
	.description = "How many iterations there are.",
    },
    {
	SESSION_FIELD(num_traces),
	.name = "num_traces",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 8192,
	.description = "How many traces each iteration has: the number of CPUs measured.",
    },
    {
	SESSION_FIELD(output_path_prefix),
	.name = "output_path_prefix",
	.type = KEY_STRING,
	.max = 3799,
	.default_text = "",
	.description = "How the paths of the traces begin. cpuperf_print takes the name only and "
		       "looks for the traces beside the session file.",
    },
};
const size_t nr_key_rows = sizeof(key_rows) / sizeof(key_rows[0]);

const struct key_row *key_find(enum key_level level, const char *name)
{
	for (size_t i = 0; i < nr_key_rows; i++)
		if (key_rows[i].level == level && strcmp(key_rows[i].name, name) == 0)
			return &key_rows[i];
	return NULL;
}

static void set_default(const struct key_row *row, void *target)
{
	const char *text = row->default_text ? row->default_text : "";
	uint64_t v = 0;

	switch (row->type) {
	case KEY_STRING:
	case KEY_NAME:
		memcpy((char *)target + row->offset, &text, sizeof(text));
		break;
	case KEY_SECONDS:
		str_parse_duration_ns(text, &v);
		memcpy((char *)target + row->offset, &v, sizeof(v));
		break;
	case KEY_INTEGER:
		str_parse_u64(text, &v);
		memcpy((char *)target + row->offset, &v, sizeof(v));
		break;
	case KEY_FLAGS:
	case KEY_EVENTS:
		break; /* empty */
	}
}

void keys_set_defaults(enum key_level level, void *target)
{
	for (size_t i = 0; i < nr_key_rows; i++)
		if (key_rows[i].level == level)
			set_default(&key_rows[i], target);
}
