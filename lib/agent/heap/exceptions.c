/*
 * C++ exceptions: where they are thrown, and where they are caught.
 *
 * The functions that throw and catch are found at the first call, by the caller's object if the
 * program itself has no C++ runtime. The type's name lies in the arena (types.c), and a number of
 * it stands in the stack as an address. The session maps an object of that name there, in the
 * common file (stacks_map_name): so every report shows it, demangled, as a function.
 */
#include "agent/heap/resource.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define HOOK __attribute__((visibility("default")))

typedef void throw_function(void *, void *, void (*)(void *));
typedef void *catch_function(void *);
typedef void *type_function(void);

/* The function that the calling object would have called: a module that was loaded with a runtime
 * of its own has it there, and not in the libraries of the program. */
static void *find_of(const char *name, uint64_t caller)
{
	void *handle, *found, *closing = dlsym(RTLD_NEXT, "dlclose");
	int (*close_it)(void *);
	Dl_info object;

	if (!closing || !dladdr((void *)(uintptr_t)caller, &object))
		return NULL;
	handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	found = dlsym(handle, name);
	memcpy(&close_it, &closing, sizeof(closing));
	(void)close_it(handle);
	return found;
}

/* Looks for the function at the call and not in advance, as few programs have exceptions. What the
 * search allocates does not count as the program's. The answer is not stored for a module with a
 * runtime of its own. */
static AGENT_RARE AGENT_ALIGNS void *find(const char *name, void **stored, uint64_t caller)
{
	struct agent_local *t = &agent_local;
	uint16_t before = t->is_busy;
	int error = errno;
	void *found;

	t->is_busy = AGENT_ASKS;
	found = agent_find(name);
	__atomic_store_n(stored, found, __ATOMIC_RELAXED);
	if (!found)
		found = find_of(name, caller);
	t->is_busy = before;
	errno = error;
	return found;
}

/* The function behind, as *to. */
#define REAL(to, name)                                                                             \
	do {                                                                                       \
		static void *stored;                                                               \
		void *found_ = __atomic_load_n(&stored, __ATOMIC_RELAXED);                         \
                                                                                                   \
		if (!found_)                                                                       \
			found_ = find(name, &stored, AGENT_HERE.pc);                               \
		memcpy(&(to), &found_, sizeof(found_));                                            \
	} while (0)

static AGENT_RARE AGENT_ALIGNS void count(enum heap_resource of, const void *type,
					  struct agent_frame from)
{
	int error = errno;
	uint32_t stack;

	if (agent_resource_begin(HEAP_WANTS_EXCEPTIONS)) {
		stack = agent_resource_stack_within(of, &from, agent_type_name(type));
		if (stack)
			agent_resource_add(stack, 1);
		agent_resource_end();
	}
	errno = error;
}

static bool is_wanted(void)
{
	return AGENT_UNLIKELY(agent_may_want(HEAP_WANTS_EXCEPTIONS));
}

/* It does not return. As a call at the end it has no frame that an exception is unwound through. */
HOOK void __cxa_throw(void *what, void *type, void (*destroy)(void *));
void __cxa_throw(void *what, void *type, void (*destroy)(void *))
{
	throw_function *behind;

	if (is_wanted())
		count(HEAP_RESOURCE_THROWN, type, AGENT_HERE);
	REAL(behind, "__cxa_throw");
	behind(what, type, destroy);
}

HOOK AGENT_ALIGNS void *__cxa_begin_catch(void *what);
void *__cxa_begin_catch(void *what)
{
	catch_function *behind;
	type_function *type;
	void *caught;

	REAL(behind, "__cxa_begin_catch");
	caught = behind(what);
	if (is_wanted()) {
		REAL(type, "__cxa_current_exception_type");
		count(HEAP_RESOURCE_CAUGHT, type ? type() : NULL, AGENT_HERE);
	}
	return caught;
}
