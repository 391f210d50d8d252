/*
 * Makes text from a trace safe to show: what comes from outside must not reach a terminal as it
 * is. Private to trace/; knows nothing of frames.
 */
#ifndef TRACE_TEXT_H
#define TRACE_TEXT_H

#include <stddef.h>

/*
 * In place, length kept: tab, newline and carriage return become a space (so that JSON stays
 * JSON); every other control character (C0, DEL, C1), NUL and every byte that is not UTF-8
 * becomes '?'.
 */
void trace_text_clean(char *s, size_t len);
/* As above, but tabs and newlines stay: for text that is read line by line. */
void trace_text_clean_lines(char *s, size_t len);

#endif
