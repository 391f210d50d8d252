/*
 * This machine, and the events of its CPU model or of the one that was asked for.
 */
#ifndef CPUPERF_MACHINE_H
#define CPUPERF_MACHINE_H

#include "api/table.h"
#include "event/usdt.h"
#include "host/host.h"

struct machine {
	struct host host;
	struct event_objects objects; /* of the target: set by who knows it */
	struct api_catalogue events;
};

/* 0, or -errno with *e. */
int machine_init(struct machine *m, const char *model, struct err *e);
void machine_fini(struct machine *m);

#endif
