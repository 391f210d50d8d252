/*
 * The keys of the dashboard, one row each, for the model and the help.
 */
#ifndef DASHBOARD_MODEL_KEYS_H
#define DASHBOARD_MODEL_KEYS_H

#include "dashboard/model.h"

enum { MODEL_KEY_CODES = 3 };
enum model_key_when { MODEL_KEY_ALWAYS, MODEL_KEY_LIVE, MODEL_KEY_REPLAY };

struct model_key_row {
	int code[MODEL_KEY_CODES]; /* 0: no second key */
	const char *name, *help;   /* NULL: described with the previous row */
	int command;               /* for model_key; so is by */
	long by;
	enum model_key_when when;
	unsigned where; /* screens; 0: all */
};

/* What has the focus, or covers all. */
enum model_screen {
	MODEL_SCREEN_TABLE = 1,
	MODEL_SCREEN_THINGS = 2,
	MODEL_SCREEN_PROCESSES = 4,
	MODEL_SCREEN_MACHINE = 8,
	MODEL_SCREEN_PAGE = 16,
};
enum model_screen model_screen(const struct model *m);

/* The next row that applies to this model, from *i on (0 at first); NULL after the last. */
const struct model_key_row *model_key_row(const struct model *m, size_t *i);

#endif
