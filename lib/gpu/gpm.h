/*
 * What the parts of NVIDIA's GPUs did between two readings, by the library's GPM: Hopper and later.
 * The things are those of gpu/gpu.h, with the same names; others have no such values.
 *
 * The library's counters are renewed every 100 ms. A reading sooner than that after the one before
 * has its values; the first waits for the rest of that time since the source was opened.
 */
#ifndef GPU_GPM_H
#define GPU_GPM_H

#include "things/many.h"

/* Shares are in thousandths of a percent. */
enum gpm_field {
	GPM_AWAKE,     /* as GPU_AWAKE */
	GPM_GRAPHICS,  /* of time in which anything ran */
	GPM_SM,        /* of SMs that were busy */
	GPM_OCCUPANCY, /* of warps that can be */
	GPM_INTEGER,   /* of time in which SMs did such operations; the same below */
	GPM_TENSOR,
	GPM_FP64,
	GPM_FP32,
	GPM_FP16,
	GPM_DRAM,    /* of the memory's bandwidth */
	GPM_PCIE_RX, /* bytes per second; the same below */
	GPM_PCIE_TX,
	GPM_NVLINK_RX,
	GPM_NVLINK_TX,
	GPM_NR_FIELDS
};

extern const struct things_source gpm_source;

#endif
