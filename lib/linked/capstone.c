/* What annotate/decode.c uses of it. */
#include "linked/linked.h"

#include "base/array.h"

#define FUNCTIONS(X)    X(cs_open) X(cs_close) X(cs_option) X(cs_malloc) X(cs_free) X(cs_disasm_iter)
#define DECLARE(symbol) extern void symbol(void);
FUNCTIONS(DECLARE)

#define ROW(symbol) LINKED_FUNCTION(symbol),
static const struct linked_function functions[] = {FUNCTIONS(ROW)};

const struct linked_library linked_capstone = {"libcapstone.so.", functions, ARRAY_NR(functions)};
