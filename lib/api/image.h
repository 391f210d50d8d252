/*
 * Recognises that the process was forked: counters that the parent opened count the parent. A page
 * that reads 0 after fork (MADV_WIPEONFORK) shows it.
 */
#ifndef API_IMAGE_H
#define API_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* A number of this process image, never 0, for what is opened now. 0 or -errno. Thread-safe. */
int api_image_enter(uint32_t *out);
/* True if image is of this process. A load; thread-safe. */
bool api_image_is_current(uint32_t image);

#endif
