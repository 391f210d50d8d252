/*
 * The model of a .cpsession, the manifest of a session.
 */
#ifndef SPEC_CPSESSION_H
#define SPEC_CPSESSION_H

#include "base/arena.h"
#include "base/err.h"
#include "estimate/limit.h"
#include "spec/keys.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* Appended to the name of a manifest: its lock file. */
#define CPSESSION_LOCK ".lock"

/* The state of a session that runs, or was killed. */
#define CPSESSION_RECORDING "recording"

/* A folder of one session, and the names in it: the manifest and the prefix of the traces. */
#define CPSESSION_FOLDER          "cpuperf.session" /* of a command, without --output */
#define CPSESSION_FOLDER_MANIFEST "cpuperf.cpsession"
#define CPSESSION_FOLDER_PREFIX   "cpuperf"
/* Beside them if the session is a part of a job (hosts/part.h). */
#define CPSESSION_FOLDER_HOST "host.json"

/* The first iterations, whose traces were removed; 0: none. */
struct cpsession_removed {
	uint64_t iterations;
	const char *begin, *end; /* never NULL; times for people, or "" */
};

#define CPSESSION_WALL       "wall"
#define CPSESSION_THROUGHPUT "throughput"
#define CPSESSION_LATENCY    "latency"
enum { CPSESSION_MAX_EXPERIMENTS = 256, CPSESSION_MAX_NAME = 1023 };

/* An experiment of cpuperf --causal. Strings are never NULL; real numbers are percent, of which the
 * text is NULL if they are not known. */
struct cpsession_experiment {
	const char *function, *linkage_name, *object; /* function "": it is of a region */
	const char *region;                           /* of marks; "" */
	const char *source;                           /* of a line; "" */
	uint64_t line;                                /* 0: the function */
	const char *quantity, *point;
	uint64_t speedup; /* percent */
	struct metric_limit on_cpu, saves, low, high;
	uint64_t rounds;
};

struct cpsession_experiments {
	const char *command;  /* "": not known */
	const char *why_none; /* "": some were made, if there are rows */
	uint64_t wall_ns, spent_ns, rounds, functions;
	struct metric_limit until, confidence, queued;
	struct metric_limit rate; /* of passes of the progress point; without text: there is none */
	uint64_t latency_ns, unused, untimed;
	bool has_fixed_rounds, is_known, is_cut, is_by_looks;
	uint64_t unslowed, seed;
	struct key_objects row; /* of struct cpsession_experiment */
};

struct cpsession {
	struct arena arena;
	const char *config_name, *model_name; /* never NULL; "" is not written */
	uint64_t num_iterations, num_traces;  /* 0: absent */
	const char *output_path_prefix;       /* never NULL */
	const char *session_id;               /* never NULL; 32 digits, or "": absent */
	const char *state;                    /* never NULL; CPSESSION_RECORDING, or "" */
	struct cpsession_removed removed;
	struct cpsession_experiments experiments;
};

void cpsession_init(struct cpsession *s);
void cpsession_fini(struct cpsession *s);
/* As spec_parse and spec_load. No key is required, numbers must be >= 1, unknown keys are errors.
 */
int cpsession_parse(const char *text, size_t len, const char *source, struct cpsession *s,
		    struct err_list *errs);
int cpsession_load(const char *path, struct cpsession *s, struct err_list *errs);
int cpsession_load_fd(int fd, const char *path, struct cpsession *s, struct err_list *errs);
/* Whether the recorder of the session whose manifest this is holds the lock beside it: a manifest
 * of state CPSESSION_RECORDING without it is of a session that was killed, or was copied. */
bool cpsession_is_locked(const char *path);
/* The experiments, *nr of them. */
const struct cpsession_experiment *cpsession_experiments(const struct cpsession *s, size_t *nr);
/* Whether --causal made the session: it has experiments, or says why not. */
bool cpsession_is_causal(const struct cpsession *s);
/* Compact JSON and a newline, keys in the original's order. */
void cpsession_to_json(const struct cpsession *s, struct buf *out);

#endif
