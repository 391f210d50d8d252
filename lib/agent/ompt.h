/* Whether an OpenMP runtime says by OMPT what it does: its frames of ITT are the same regions. */
#ifndef AGENT_OMPT_H
#define AGENT_OMPT_H

#include <stdbool.h>

extern bool agent_ompt_is_on;

#endif
