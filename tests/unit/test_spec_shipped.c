/*
 * The specs that are shipped: each says in a line "// models: ..." which CPUs it is for, and each
 * of its events resolves for each of them. Nothing is opened.
 */
#include "kit.h"
#include "paths.h"

#include "api/table.h"
#include "event/model.h"
#include "spec/spec.h"

/* A model as a spec names it: libpfm4's name, and the captured machine it is checked on. */
static const struct {
	const char *name, *model, *tree, *machine;
} models[] = {
    {"vm", "default", "x86-vm", "x86_64"},
    {"hybrid", "default", "intel-hybrid", "x86_64"},
    {"server", "default", "intel-uncore", "x86_64"},
    {"arm", "default", "arm64-big-little", "aarch64"},
    {"hsw", "hsw", "x86-vm", "x86_64"},
    {"hsw_ep", "hsw_ep", "x86-vm", "x86_64"},
    {"bdw", "bdw", "x86-vm", "x86_64"},
    {"bdw_ep", "bdw_ep", "x86-vm", "x86_64"},
    {"skl", "skl", "x86-vm", "x86_64"},
    {"skx", "skx", "x86-vm", "x86_64"},
    {"clx", "clx", "x86-vm", "x86_64"},
    {"icl", "icl", "x86-vm", "x86_64"},
    {"icx", "icx", "x86-vm", "x86_64"},
    {"spr", "spr", "x86-vm", "x86_64"},
    {"zen1", "zen1", "x86-vm", "x86_64"},
    {"zen2", "zen2", "x86-vm", "x86_64"},
    {"zen3", "zen3", "x86-vm", "x86_64"},
    {"zen4", "zen4", "x86-vm", "x86_64"},
};

/* "// models: all" or the names of the table, as in the spec's text. */
static bool is_for(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(line, " all\n", 5) == 0)
		return true;
	for (const char *p = line; *p && *p != '\n'; p += strcspn(p, " \n")) {
		p += *p == ' ';
		if (strcspn(p, " \n") == len && strncmp(p, name, len) == 0)
			return true;
	}
	return false;
}

/* A column of requests and the one of those that missed, NAME_requests and NAME_misses, divide: the
 * same event, its misses' mask within that of the requests. */
static void expect_subset(const struct plan_event *requests, const struct plan_event *misses)
{
	struct event_part all, some;

	event_part(&requests->event, 0, &all);
	event_part(&misses->event, 0, &some);
	assert_int_equal(all.config & 0xff, some.config & 0xff);
	assert_int_equal(all.config | some.config, all.config);
	assert_int_not_equal(all.config, some.config);
}

static size_t expect_ratios(const struct plan *plan)
{
	static const char suffix[] = "_requests";
	size_t nr = 0;

	for (size_t i = 0; i < plan->nr_events; i++) {
		const char *label = plan->events[i].asked->label;
		const char *at = label ? strstr(label, suffix) : NULL;

		for (size_t k = 0; at && k < plan->nr_events; k++) {
			const char *other = plan->events[k].asked->label;

			if (!other || strncmp(other, label, (size_t)(at - label)) != 0 ||
			    strcmp(other + (at - label), "_misses") != 0)
				continue;
			expect_subset(&plan->events[i], &plan->events[k]);
			nr++;
		}
	}
	return nr;
}

static void expect_resolved(const char *path, size_t which)
{
	struct root root = tree_captured(models[which].tree);
	struct err_list errs = {0};
	struct api_catalogue events;
	struct err e = {0};
	struct host host;
	struct spec spec;
	struct plan plan;

	assert_int_equal(host_load(&root, &host, &e), 0);
	snprintf(host.machine, sizeof(host.machine), "%s", models[which].machine);
	spec_init(&spec);
	assert_int_equal(spec_load(path, &spec, &errs), 0);
	api_catalogue_init(&events, &host, models[which].model);
	if (plan_make(&spec, &events.catalogue, &host, &plan, &errs))
		fail_msg("%s for %s: %s (%s)", path, models[which].name, errs.item[0].msg,
			 errs.item[0].hint);
	assert_true(plan.nr_events > 0);
	assert_int_equal(expect_ratios(&plan), strstr(path, "/l2-amd.") ? 2 : 0);
	plan_fini(&plan);
	api_catalogue_fini(&events);
	spec_fini(&spec);
	host_fini(&host);
}

/* libpfm4 is built for one architecture: the models of the other are checked there. */
static bool is_known_here(const char *model)
{
	struct err e = {0};

	return !model || event_model_check(model, &e) != -ENOTSUP;
}

/* How many models the spec is for; it is checked for those of this architecture. */
static size_t check_spec(const char *path)
{
	char *text = calloc(1, 65536);
	const char *line;
	size_t nr = 0;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	line = strstr(text, "// models:");
	if (!line)
		fail_msg("%s: has no line \"// models:\"", path);
	line += strlen("// models:");
	for (size_t i = 0; i < NR(models); i++)
		if (is_for(line, models[i].name)) {
			nr++;
			if (is_known_here(models[i].model))
				expect_resolved(path, i);
		}
	free(text);
	return nr;
}

static int check_named(const char *name, void *arg)
{
	size_t *nr_specs = arg, nr;
	char path[512];

	if (!strstr(name, ".cpspec"))
		return 0;
	snprintf(path, sizeof(path), SOURCE_DIR "/specs/%s", name);
	nr = check_spec(path);
	print_message("%s: %zu model(s)\n", name, nr);
	assert_true(nr > 0);
	++*nr_specs;
	return 0;
}

TEST(shipped)
{
	size_t nr = 0;

	assert_int_equal(root_each(&root_live, SOURCE_DIR "/specs", check_named, &nr), 0);
	assert_true(nr >= 19);
}

TEST(models_line)
{
	assert_true(is_for(" all\n{", "skl"));
	assert_true(is_for(" skl spr\n", "skl") && is_for(" skl spr\n", "spr"));
	assert_false(is_for(" skl spr\n icx", "icx"));
	assert_false(is_for(" skl spr\n", "sk"));
}
