/*
 * The vendor's two libraries, loaded.
 */
#ifndef CUPTI_LIBRARY_H
#define CUPTI_LIBRARY_H

#include "cupti/abi.h"

struct err;

/* A folder to search first, or several, divided by ':'. */
#define CUPTI_PATH_VARIABLE "CPUPERF_CUDA_PATH"

struct cupti_library {
	void *cuda, *cupti;
	int (*cuInit)(unsigned flags);
	int (*cuDeviceGetCount)(int *nr);
	int (*cuDeviceGet)(int *device, int ordinal);
	int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
	int (*cuptiGetResultString)(int result, const char **text);
#define CUPTI_DECLARE(name_, argument_) int (*name_)(argument_ * argument);
	CUPTI_FUNCTIONS(CUPTI_DECLARE)
#undef CUPTI_DECLARE
};

/* Loads libcuda.so.1 and libcupti.so.13 or .12: from the folders of the variable, then as the
 * loader finds them, then from where the CUDA toolkit has them. Folders and files by path are
 * refused to root unless only root can write them. They are never unloaded: their threads go on. 0;
 * -ENOENT, -ENOSYS (a function is missing) or -EACCES with *e. */
int cupti_library_load(struct cupti_library *l, struct err *e);

#endif
