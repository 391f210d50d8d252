/*
 * Output compared with a file that holds what it must be.
 */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include "base/buf.h"

/*
 * Fails, with the output, if it is not what TEST_DATA_DIR/name holds. With CPUPERF_RENEW=1 in the
 * environment it writes the file instead: look at the difference before you commit it.
 */
void golden_compare(const char *name, const struct buf *out);

#endif
