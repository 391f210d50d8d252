/*
 * The process that samples GPUs (cupti/helper.h): started, asked, heard, ended.
 */
#ifndef GPU_PM_LINK_H
#define GPU_PM_LINK_H

#include "base/child.h"
#include "cupti/message.h"

#include <stddef.h>

struct err;

/* Starts the program and sends it the request. 0 or -errno with *e. */
int pm_link_start(struct child *c, const struct cupti_request *request, struct err *e);
/* Receives a message, whose text is terminated and whose lengths are right. 0; -ETIMEDOUT;
 * -ECONNRESET: the process has ended; -EPROTO: it sent what is no message. */
int pm_link_receive(int fd, const struct cupti_request *request, struct cupti_message *out,
		    unsigned ms);
/* Asks for the samples up to now. Does not wait. */
void pm_link_ask(int fd, uint32_t number);

/* Another program (tests only); NULL: the installed one. */
void pm_link_set_program(const char *path);

#endif
