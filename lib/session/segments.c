/*
 * Growing files, ended together.
 */
#include "session/segments.h"

#include "base/err.h"
#include "base/mem.h"
#include "trace/file.h"

#include <errno.h>

int segments_init(struct segments *s, uint32_t nr_traces)
{
	struct trace_file **file = mem_calloc(nr_traces, sizeof(struct trace_file *));

	if (!file)
		return -ENOMEM;
	*s = (struct segments){.file = file, .nr_traces = nr_traces};
	return 0;
}

void segments_fini(struct segments *s)
{
	for (uint32_t t = 0; t < s->nr_traces; t++)
		trace_file_abandon(s->file[t]);
	mem_free(s->file);
	*s = (struct segments){.nr_traces = 0};
}

bool segments_are_full(const struct segments *s)
{
	for (uint32_t t = 0; t < s->nr_traces; t++)
		if (s->file[t] && trace_segment_is_full(s->file[t]))
			return true;
	return s->is_spoilt;
}

int segments_finish(struct segments *s, struct trace_writer *w, struct err *e)
{
	int rc = 0;

	for (uint32_t t = 0; t < s->nr_traces; t++) {
		struct err further = {0};
		int one = 0;

		if (s->file[t])
			one = trace_segment_finish(s->file[t], w, rc ? &further : e);
		s->file[t] = NULL;
		rc = rc ? rc : one;
	}
	s->number++;
	s->is_spoilt = false;
	return rc;
}
