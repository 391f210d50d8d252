/*
 * The target of a session: the key target of the spec, which options replace. A command of a spec
 * is run only where that was asked for.
 *
 * What options name as the target replaces the key. With --run-spec-command the process is made as
 * early as for a command of the options, and gets its argv when the spec is read.
 */
#include "base/buf.h"
#include "base/str.h"
#include "program.h"
#include "spec/spec.h"
#include "target/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A longer command line is measured, but not stored in the spec. */
enum { MAX_ARGUMENTS = 1024, MAX_COMMAND_BYTES = 64 << 10 };

static int set_list(struct spec *spec, const char *const *from, size_t nr, struct spec_list *out)
{
	const char **item = arena_calloc(&spec->arena, nr + 1, sizeof(*item));

	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		item[i] = from[i];
	*out = (struct spec_list){item, nr};
	return 0;
}

static int set_command(struct spec *spec, char *const *argv)
{
	size_t nr = 0, len = 0;
	bool is_text = true;

	for (; argv[nr]; nr++) {
		len += strlen(argv[nr]) + 1;
		is_text &= str_is_utf8(argv[nr], strlen(argv[nr]));
	}
	if (!is_text || nr > MAX_ARGUMENTS || len > MAX_COMMAND_BYTES)
		return 0;
	return set_list(spec, (const char *const *)argv, nr, &spec->target.command);
}

/* "12,34" */
static int set_pids(struct spec *spec, const char *text, struct err *e)
{
	const char **item = arena_calloc(&spec->arena, strlen(text) + 1, sizeof(*item));
	struct spec_list *list = &spec->target.pids;
	uint64_t pid;

	*list = (struct spec_list){item, 0};
	for (; item; text++) {
		size_t len = strcspn(text, ",");
		const char *word = arena_strndup(&spec->arena, text, len);

		if (!word)
			break;
		if (str_parse_u64(word, &pid) || !pid || pid > INT32_MAX) {
			snprintf(e->source, sizeof(e->source), "--pid");
			return err_set(e, -EINVAL, "\"%s\" is not a process number", word);
		}
		item[list->nr++] = word;
		text += len;
		if (!*text)
			return 0;
	}
	return -ENOMEM;
}

int settle_target(const struct options *o, struct spec *spec, struct err *e)
{
	struct spec_target *t = &spec->target;
	int rc = 0;

	if (options_have_target(o))
		*t = (struct spec_target){.cpus = t->cpus, .has_children = true};
	if (o->command_argv)
		rc = set_command(spec, o->command_argv);
	if (rc == 0 && o->pids)
		rc = set_pids(spec, o->pids, e);
	if (rc == 0 && o->comms.nr)
		rc = set_list(spec, o->comms.item, o->comms.nr, &t->comms);
	if (rc == 0 && o->cgroup)
		rc = set_list(spec, &o->cgroup, 1, &t->cgroups);
	if (rc)
		return err_set(e, rc, "out of memory");
	if (o->cpus)
		t->cpus = o->cpus;
	if (o->no_children)
		t->has_children = false;
	t->waits_for_children |= o->wait_children;
	t->attaches |= o->attach;
	if (t->attaches && !t->pids.nr && !t->comms.nr && !t->cgroups.nr)
		return err_set(e, -EINVAL, "--attach requires --pid, --comm or --cgroup");
	t->has_short_tasks |= o->short_tasks;
	/* Who names no spec and no event asks where the time went, whatever the command starts. */
	t->tries_short_tasks = o->command && !o->spec_file && !o->events.nr && !o->top;
	if (t->has_short_tasks && !o->command && !t->command.nr && !t->pids.nr && !t->comms.nr)
		return err_set(e, -EINVAL, "--short-tasks requires a command, --pid or --comm");
	t->maps_memory |= o->memory_map;
	if (t->maps_memory && !o->command && !spec_has_target(spec))
		return err_set(e, -EINVAL,
			       "--memory-map requires a command, --pid, --comm or --cgroup");
	spec->regions.is_wanted |= o->regions;
	if (o->save_spec && o->command_argv && !t->command.nr)
		return err_set(e, -EINVAL, "--save-spec: the command is too long, or not UTF-8");
	if (t->has_children || o->command || t->command.nr || t->pids.nr || t->comms.nr)
		return 0;
	return err_set(e, -EINVAL, "--no-children requires a command, --pid or --comm");
}

int take_spec_command(struct options *o, const struct spec *spec, int fd, const char *path,
		      struct err *e)
{
	char *const *argv = (char *const *)spec->target.command.item;
	const char *why = mistrust_spec(fd);
	char text[160];
	BUF_AUTO(file, 8 * PATH_MAX);
	bool is_whole;

	if (!spec->target.command.nr || options_have_target(o) || o->check_spec)
		return 0;
	if (o->run_spec_command && !why) {
		o->command = o->later;
		return target_command_set(o->command, argv, e);
	}
	buf_shell_word(&file, path);
	target_command_quote(argv, text, sizeof(text));
	is_whole = strlen(text) + 1 < sizeof(text);
	str_disarm(text);
	err_set_at(e, -EPERM, spec->source, spec->target_pos.line, spec->target_pos.column,
		   "its command is not run%s%s: %s%s", why ? ": " : "", why ? why : "", text,
		   is_whole ? "" : "...");
	if (why)
		err_hint(e, "to run it: cpuperf --spec-file=%s -- %s", buf_str(&file),
			 is_whole ? text : "COMMAND");
	else
		err_hint(e, "to run it: cpuperf --spec-file=%s --run-spec-command", buf_str(&file));
	return -EPERM;
}
