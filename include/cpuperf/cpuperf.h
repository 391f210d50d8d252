/*
 * libcpuperf: counters of a program's own threads, of processes and CPUs; sessions, recorded and
 * read back; samples as rows. libcpuperf(3) describes it.
 *
 * Link with pkg-config --libs cpuperf. Functions that can fail return 0 or a negative errno and
 * describe the error. None prints, exits, or changes how the process handles signals or allocates
 * memory. An object may be used by one thread at a time, except where its calls say more; different
 * objects are independent.
 */
#ifndef CPUPERF_CPUPERF_H
#define CPUPERF_CPUPERF_H

#include "cpuperf/base.h"
#include "cpuperf/counts.h"
#include "cpuperf/events.h"
#include "cpuperf/samples.h"
#include "cpuperf/session.h"
#include "cpuperf/spec.h"

#endif
