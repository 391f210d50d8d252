/*
 * A page of man(7) as plain text, for machines without man.
 */
#ifndef CPUPERF_MAN_TEXT_H
#define CPUPERF_MAN_TEXT_H

struct buf;

/* page: the source, changed meanwhile. width: of a line, where a word is not longer. */
void man_text(char *page, unsigned width, struct buf *out);

#endif
