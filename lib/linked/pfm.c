/* What event/libpfm.c uses of it. */
#include "linked/linked.h"

#include "base/array.h"

#define FUNCTIONS(X)                                                                               \
	X(pfm_initialize)                                                                          \
	X(pfm_get_pmu_info)                                                                        \
	X(pfm_get_event_next)                                                                      \
	X(pfm_get_event_info)                                                                      \
	X(pfm_get_event_attr_info)                                                                 \
	X(pfm_get_os_event_encoding)                                                               \
	X(pfm_strerror)
#define DECLARE(symbol) extern void symbol(void);
FUNCTIONS(DECLARE)

#define ROW(symbol) LINKED_FUNCTION(symbol),
static const struct linked_function functions[] = {FUNCTIONS(ROW)};

const struct linked_library linked_pfm = {"libpfm.so.", functions, ARRAY_NR(functions)};
