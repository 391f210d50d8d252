/*
 * The process that samples GPUs by the vendor's libraries for a session, and sends it what they
 * return (message.h). A process of its own, and another program: the libraries start threads, open
 * descriptors, handle signals, and may crash or hang; and CUDA cannot be used in a copy of a
 * process that has threads.
 */
#ifndef CUPTI_HELPER_H
#define CUPTI_HELPER_H

/* Receives the request from the socket and serves it until the socket is closed, or sampling fails,
 * which it sends. 0, or -errno if the session did not speak as in message.h. */
int cupti_helper_run(int fd);

#endif
