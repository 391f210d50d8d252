/*
 * The counters of NVIDIA's GPUs, sampled by the hardware at a rate of their own (CUPTI's PM
 * sampling, from CUDA 12.6 on). A process of its own runs the vendor's code (cupti/helper.h): what
 * that does, or fails to do, costs these events alone.
 *
 * Names of things: as in gpu/nvidia_driver.h, which CUDA's numbers become by the order of the bus.
 * GPUs that are suspended are not sampled unless the choice names them.
 *
 * Source: the headers and documentation of CUPTI. Tested with a stand-in for its libraries, not on
 * a GPU.
 *
 * That process is libexec/cpuperf/cpuperf-gpu-pm, started by base/child.h and exec: CUDA cannot be
 * used in a copy of a process that has threads, and a program that links libcpuperf is not
 * cpuperf. It sends samples with the GPU's times (cupti/message.h), and readings of both clocks:
 * at the start, each second, and when a boundary asks for what was sampled up to it. A sample
 * waits for the next pair, which converts its time (gpu/pm_clock.h), then for the session
 * (paced_take_samples), which writes it as a reading between boundaries. Of a boundary is the
 * newest sample that had arrived.
 *
 * If the process dies or does not answer for 2 s, or for 20 s in which it has a CPU or waits for
 * one, a note says so and the events fail. The first samples show whether they are by the clock
 * that CUPTI reads; if not, they have the times of their arrival, and a note says that.
 */
#ifndef GPU_PM_H
#define GPU_PM_H

#include "event/event.h"
#include "things/many.h"

enum { PM_DEFAULT_EVERY_NS = 10000000, PM_MAX_EVERY_NS = 1000000000 };

extern const struct things_source pm_source;
/* Makes the rows gpu:pm/METRIC: lists well-known metrics where the driver is loaded, and finds any
 * name that a metric may have. */
extern const struct event_maker collect_pm_maker;

/* How long the process may be silent: at the start, and later when it was asked, ten times as long
 * while it has a CPU or waits for one (tests only). 0: as usual. */
void pm_set_patience(unsigned start_ms, unsigned ms);
struct root;
/* Borrowed: whose files name the GPUs (tests only). NULL: this machine's. */
void pm_set_root(const struct root *root);

#endif
