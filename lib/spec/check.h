/*
 * The rules between the keys of an event and between events. Need no knowledge of the machine.
 */
#ifndef SPEC_CHECK_H
#define SPEC_CHECK_H

struct spec;
struct err_list;

/* Reports every rule that the events of s break, at the place that breaks it. */
void check_events(const struct spec *s, struct err_list *errs);

#endif
