/*
 * Reads the text that cpuperf --metrics-listen serves, by libcurl. Waits half a second at most,
 * because pmcd drops an agent that is silent for five.
 */
#ifndef PMDACPUPERF_READER_H
#define PMDACPUPERF_READER_H

struct buf;
struct err;
struct reader;

#define READER_DEFAULT_ADDRESS "127.0.0.1:9712"

/* address: as cpuperf --metrics-listen takes it. 0 or -errno with *e. */
int reader_open(const char *address, struct reader **out, struct err *e);
void reader_close(struct reader *r); /* NULL is fine */
/* Replaces the content of text. 0; -EAGAIN with *e: nobody listens there, or what does has no text.
 */
int reader_get(struct reader *r, struct buf *text, struct err *e);

#endif
