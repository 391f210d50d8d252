/*
 * Two tables behind one lock: texts, and functions by the numbers of their name and object.
 */
#include "report/functions.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/dict.h"
#include "base/mem.h"
#include "report/rules.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static const size_t max_text_bytes = (size_t)1 << 30; /* per table */

/* A function with the rules that apply to it; bits are numbers of rules. */
struct function {
	struct report_function shown;
	const struct report_function *merged; /* what merge rules make of it; NULL: itself */
	uint32_t is_caller, is_callee;        /* of splits */
};

/* The key of a function: the numbers of its name and object. */
struct entry {
	uint32_t name, object;
	struct function *function; /* in the arena; NULL: not made yet */
};

struct report_functions {
	const struct report_rules *rules;
	pthread_mutex_t lock;
	struct arena arena;
	struct dict texts;   /* const char * */
	struct dict entries; /* struct entry */
};

struct report_functions *report_functions_new(const struct report_rules *rules)
{
	struct report_functions *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->rules = rules;
	pthread_mutex_init(&f->lock, NULL);
	arena_init(&f->arena, max_text_bytes);
	dict_init_texts(&f->texts, sizeof(const char *), DICT_MAX, max_text_bytes);
	dict_init(&f->entries, sizeof(struct entry), DICT_KEY(struct entry, object), DICT_MAX);
	return f;
}

void report_functions_free(struct report_functions *f)
{
	if (!f)
		return;
	dict_fini(&f->texts);
	dict_fini(&f->entries);
	arena_fini(&f->arena);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}

uint32_t report_functions_text_number(struct report_functions *f, const char *text)
{
	uint32_t number;

	pthread_mutex_lock(&f->lock);
	number = dict_add(&f->texts, text);
	pthread_mutex_unlock(&f->lock);
	return number;
}

static bool matches_any(const struct report_pattern *list, size_t nr, const char *name)
{
	return ARRAY_ANY(x, list, nr, report_pattern_matches(x, name));
}

/* NULL without memory. */
static struct function *make_function(struct report_functions *f, const struct entry *e,
				      uint32_t number)
{
	const struct report_rules *r = f->rules;
	const char *name = dict_text(&f->texts, e->name);
	struct function *fn = arena_alloc(&f->arena, sizeof(*fn));

	if (!fn)
		return NULL;
	fn->shown = (struct report_function){.number = number,
					     .object_number = e->object,
					     .name = name,
					     .linkage_name = name,
					     .object = dict_text(&f->texts, e->object),
					     .is_known = true,
					     .is_hidden = matches_any(r->hide, r->nr_hide, name),
					     .is_wanted = !r->nr_only ||
							  matches_any(r->only, r->nr_only, name)};
	for (size_t i = 0; i < r->nr_split; i++) {
		fn->is_caller |= (uint32_t)report_pattern_matches(&r->split[i].caller, name) << i;
		fn->is_callee |= (uint32_t)report_pattern_matches(&r->split[i].callee, name) << i;
	}
	return fn;
}

/* *is_new: the caller fills in everything but the names. NULL without memory. */
static struct function *get(struct report_functions *f, const char *name, const char *object,
			    bool *is_new)
{
	const struct entry key = {.name = dict_add(&f->texts, name),
				  .object = dict_add(&f->texts, object)};
	uint32_t number;
	struct entry *e;

	if (key.name == DICT_NONE || key.object == DICT_NONE)
		return NULL;
	number = dict_add(&f->entries, &key);
	e = dict_at(&f->entries, number);
	if (!e)
		return NULL;
	*is_new = !e->function;
	if (*is_new)
		e->function = make_function(f, e, number);
	return e->function;
}

const struct report_function *report_functions_named(struct report_functions *f, const char *name,
						     const char *object)
{
	struct function *fn;
	bool is_new;

	pthread_mutex_lock(&f->lock);
	fn = get(f, name, object, &is_new);
	pthread_mutex_unlock(&f->lock);
	return fn ? &fn->shown : NULL;
}

/* What merge rules make of a symbol, in its object: the same as a function that has this name.
 * *out: NULL if no rule applies. 0 or -ENOMEM. */
static int get_merged(struct report_functions *f, const struct symbol_function *s,
		      const struct report_function **out)
{
	bool is_new;
	int rc;
	MEM_AUTO char *merged = report_rules_merged(f->rules, s->name, &rc);
	const char *name = merged ?: f->rules->merge_object ? s->object : NULL;
	struct function *fn;

	*out = NULL;
	if (rc || !name)
		return rc;
	fn = get(f, name, s->object, &is_new);
	if (!fn)
		return -ENOMEM;
	if (is_new)
		fn->shown.is_kernel = s->is_kernel;
	*out = &fn->shown;
	return 0;
}

static const struct report_function *get_symbol(struct report_functions *f,
						const struct symbol_function *s)
{
	const struct report_function *merged;
	struct function *fn;
	bool is_new;

	if (get_merged(f, s, &merged))
		return NULL;
	fn = get(f, s->name, s->object, &is_new);
	if (!fn)
		return NULL;
	if (is_new) {
		fn->shown.is_kernel = s->is_kernel;
		fn->shown.is_known = s->is_known;
		fn->shown.is_script = s->is_script;
		if (strcmp(s->linkage_name, fn->shown.name) != 0)
			fn->shown.linkage_name = arena_strdup(&f->arena, s->linkage_name);
	}
	if (merged && !fn->merged) /* a rule may have made a function of this name before */
		fn->merged = merged;
	return fn->shown.linkage_name ? &fn->shown : NULL;
}

const struct report_function *report_functions_get(struct report_functions *f,
						   const struct symbol_function *symbol)
{
	const struct report_function *fn;

	pthread_mutex_lock(&f->lock);
	fn = get_symbol(f, symbol);
	pthread_mutex_unlock(&f->lock);
	return fn;
}

/* A sink is given an entry while other threads add texts and functions, which may move both tables.
 */
static void lock(const struct report_functions *f)
{
	pthread_mutex_lock((pthread_mutex_t *)&f->lock);
}

static void unlock(const struct report_functions *f)
{
	pthread_mutex_unlock((pthread_mutex_t *)&f->lock);
}

const char *report_functions_text(const struct report_functions *f, uint32_t number)
{
	const char *text;

	lock(f);
	text = dict_text(&f->texts, number);
	unlock(f);
	return text;
}

size_t report_functions_nr_texts(const struct report_functions *f)
{
	return f->texts.nr;
}

size_t report_functions_nr(const struct report_functions *f)
{
	return f->entries.nr;
}

const struct report_function *report_functions_at(const struct report_functions *f, uint32_t number)
{
	const struct entry *e;
	const struct function *fn;

	lock(f);
	e = dict_at(&f->entries, number);
	fn = e->function;
	unlock(f);
	return &fn->shown;
}

static int split(struct report_functions *f, struct report_frame *frames, size_t nr)
{
	for (size_t i = 0; i + 1 < nr; i++) {
		const struct function *callee = (const struct function *)frames[i].function;
		const struct function *caller = (const struct function *)frames[i + 1].function;
		int rule = __builtin_ffs((int)(caller->is_caller & callee->is_callee)) - 1;

		if (rule < 0)
			continue;
		frames[i].function =
		    report_functions_named(f, f->rules->split[rule].name, callee->shown.object);
		if (!frames[i].function)
			return -ENOMEM;
	}
	return 0;
}

static bool is_wanted(const struct report_frame *frames, size_t nr)
{
	return ARRAY_ANY(x, frames, nr, x->function->is_wanted);
}

/* If all frames are hidden, one frame stands for them: the samples are still counted. */
static int hide(struct report_functions *f, struct report_frame *frames, size_t *nr)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < *nr; i++)
		if (!frames[i].function->is_hidden)
			frames[nr_left++] = frames[i];
	if (!nr_left)
		frames[nr_left++] =
		    (struct report_frame){.function = report_functions_named(f, "[hidden]", "")};
	*nr = nr_left;
	return frames[0].function ? 0 : -ENOMEM;
}

static size_t join_merged(struct report_frame *frames, size_t nr)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < nr; i++) {
		struct report_frame *last = nr_left ? &frames[nr_left - 1] : NULL;

		if (last && frames[i].function == last->function &&
		    (frames[i].is_merged || last->is_merged))
			last->is_merged = true;
		else
			frames[nr_left++] = frames[i];
	}
	return nr_left;
}

void report_functions_merge(struct report_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct function *fn = (const struct function *)frames[i].function;

		if (frames[i].is_merged || !fn->merged)
			continue;
		frames[i].is_merged = true;
		frames[i].function = fn->merged;
	}
}

int report_functions_shape(struct report_functions *f, struct report_frame *frames, size_t *nr)
{
	const struct report_rules *r = f->rules;
	size_t left = *nr;
	int rc;

	report_functions_merge(frames, left);
	if (r->nr_only && !is_wanted(frames, left))
		left = 0;
	rc = r->nr_hide && left ? hide(f, frames, &left) : 0;
	if (rc == 0 && r->nr_split)
		rc = split(f, frames, left);
	if (r->nr_merge || r->merge_object)
		left = join_merged(frames, left);
	if (rc == 0)
		*nr = left;
	return rc;
}

bool report_functions_use_callers(const struct report_functions *f)
{
	const struct report_rules *r = f->rules;

	return r->nr_only || r->nr_hide || r->nr_split || r->nr_merge || r->merge_object;
}

int report_function_compare(const struct report_function *a, const struct report_function *b)
{
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->object, b->object);
}
