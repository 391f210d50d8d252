/*
 * What one report or export prints: of which inputs, what of them, and where to.
 */
#ifndef CPUPERF_PRINT_JOB_H
#define CPUPERF_PRINT_JOB_H

#include "inputs.h"
#include "output.h"
#include "report/states.h"
#include "selection.h"

/* An iteration that is pushed, in place of a file for people. */
struct job_pushed {
	uint32_t iteration;
	const char *service, *host;
	const struct push_labels *labels;
	uint8_t id[16]; /* of the profile, the same in each try */
};

struct job {
	const struct registry_row *row; /* of the report or export */
	struct inputs *inputs;
	const struct selection *selection;
	struct output *output;
	size_t first, nr;    /* of the inputs; their events are the same */
	const char *session; /* for programs: printed in each row; NULL: not */
	const char *host;    /* the same, with the rank; of a job */
	uint32_t rank;
	bool is_default;     /* no report was asked for */
	enum report_sum sum; /* of events with a state: input.by_state */
	bool is_brief;       /* another report of more interest follows the summary */
	bool is_followed;    /* another session follows in the same file, whose last one states what
				could not be read of all */
	const struct job_pushed *pushed; /* NULL: it is printed */
	uint64_t nr_samples;             /* set by exports of profiles: samples in them */
	uint64_t fitted_top;             /* rows for each event, by --rows; 0: not known */
};

/* The columns of the terminal, or of a usual one. */
static inline unsigned job_columns(const struct job *j)
{
	enum { USUAL = 80 };

	return j->output->width ? j->output->width : USUAL;
}

/* Whether --rows has fewer lines than a usual answer. */
static inline bool job_is_tight(const struct job *j)
{
	return j->selection->rows && j->selection->rows < SELECTION_USUAL_ROWS;
}

static inline const struct input *job_input(const struct job *j)
{
	return &j->inputs->item[j->first];
}

/* What of the input is meant. */
static inline const struct profile_filter *job_filter(const struct job *j, const struct input *o)
{
	return o->filter ? o->filter : &j->selection->filter;
}

/* By its number, which is the same in all inputs of the job; as its samples are counted. */
static inline const struct trace_event *job_event(const struct job *j, uint32_t event)
{
	const struct input *o = job_input(j);

	return j->sum ? &o->by_state[event] : &o->facts->events[event];
}

/* Warns if the output lists samples, and some were added up. */
void job_warn_aggregated(struct job *j);
/* Warns if the output omits latencies or functions that the session has. */
void job_warn_omitted(struct job *j);
/* Warns of options that were used and have no effect; ignored: REGISTRY_IGNORES_… */
void job_warn_ignored(struct job *j, unsigned ignored);

#endif
