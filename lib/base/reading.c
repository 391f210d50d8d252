/*
 * Names of what a reading can be.
 */
#include "base/reading.h"

const char *reading_state_name(uint32_t state)
{
	static const char *const names[READING_NR_STATES] = {
	    [READING_NONE] = "none",
	    [READING_OK] = "ok",
	    [READING_OFFLINE] = "offline",
	    [READING_NOT_SUPPORTED] = "not supported",
	    [READING_NO_PERMISSION] = "no permission",
	    [READING_LIMIT] = "limit reached",
	    [READING_FAILED] = "failed",
	};

	return state < READING_NR_STATES ? names[state] : "unknown state";
}
