/*
 * Libraries that are loaded when they are used.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

/* What to do where one cannot be loaded. */
#ifdef CPUPERF_STATIC
#define LIBRARY_HINT(name) "use a cpuperf that is not the static one: it loads " name
#else
#define LIBRARY_HINT(name) "install " name
#endif

#endif
