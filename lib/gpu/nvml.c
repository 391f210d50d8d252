/*
 * Loads the library, and what its results mean.
 */
#include "gpu/nvml.h"

#include "base/array.h"
#include "base/err.h"
#include "base/root.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char library[] = "libnvidia-ml.so.1";

int nvml_load(const struct root *root, struct nvml *out, struct err *why)
{
	struct nvml nvml = {0};
	const struct {
		const char *name;
		void *at;
	} functions[] = {
#define PLACE(name, symbol, parameters) {#symbol, &nvml.name},
	    NVML_FUNCTIONS(PLACE)};
	char path[PATH_MAX];
	void *handle;

	snprintf(path, sizeof(path), "%s%s%s", root->dir, *root->dir ? "/" : "", library);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		const char *text = dlerror();

		return err_set(why, -ENOTSUP, "%s", text ? text : library);
	}
	for (size_t i = 0; i < ARRAY_NR(functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		memcpy(functions[i].at, &function, sizeof(function));
	}
	if ((!nvml.init && !nvml.init_v1) || (!nvml.find && !nvml.find_v1))
		return err_set(why, -ENOTSUP, "%s lacks functions that all versions have", library);
	*out = nvml;
	return 0;
}

int nvml_init(const struct nvml *nvml)
{
	return nvml->init ? nvml->init() : nvml->init_v1();
}

static const struct {
	int result, error;
	const char *text;
} results[] = {
    {NVML_SUCCESS, 0, "no error"},
    {NVML_ERROR_INVALID_ARGUMENT, -EIO, "it does not accept the question"},
    {NVML_ERROR_NOT_SUPPORTED, -ENOTSUP, "the GPU does not have it"},
    {NVML_ERROR_NO_PERMISSION, -EACCES, "this user has no permission"},
    {NVML_ERROR_NOT_FOUND, -EIO, "it is not found"},
    {NVML_ERROR_DRIVER_NOT_LOADED, -EIO, "NVIDIA's driver is not loaded"},
    {NVML_ERROR_TIMEOUT, -EIO, "the driver did not answer in time"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, -ENOTSUP, "the driver is too old"},
    {NVML_ERROR_GPU_IS_LOST, -ENODEV, "the GPU is lost"},
    {NVML_ERROR_RESET_REQUIRED, -EIO, "the GPU needs a reset"},
    {NVML_ERROR_OPERATING_SYSTEM, -EACCES, "the system has blocked the GPU"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, -EIO, "the library and the driver differ in version"},
    {NVML_ERROR_MEMORY, -EIO, "out of memory"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, -ENOTSUP, "the library has another version of it"},
    {NVML_ERROR_DEPRECATED, -ENOTSUP, "the library does not have it any more"},
};

int nvml_errno(int result)
{
	for (size_t i = 0; i < ARRAY_NR(results); i++)
		if (results[i].result == result)
			return results[i].error;
	return -EIO;
}

const char *nvml_reason(int result)
{
	for (size_t i = 0; i < ARRAY_NR(results); i++)
		if (results[i].result == result)
			return results[i].text;
	return "an unknown error of the driver";
}
