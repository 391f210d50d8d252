/*
 * The keys of the dashboard: a row for each, for the model and for the help.
 */
#ifndef DASHBOARD_MODEL_KEYS_H
#define DASHBOARD_MODEL_KEYS_H

#include "dashboard/model.h"

enum { MODEL_KEY_CODES = 3 };
enum model_key_when { MODEL_KEY_ALWAYS, MODEL_KEY_LIVE, MODEL_KEY_REPLAY };

struct model_key_row {
	int code[MODEL_KEY_CODES]; /* 0: no further one */
	const char *name, *help;   /* NULL: said with the row before */
	enum model_action (*use)(struct model *m);
	enum model_key_when when;
};

/* The next row of this model from *i (0 at first) on; NULL after the last. */
const struct model_key_row *model_key_row(const struct model *m, size_t *i);

#endif
