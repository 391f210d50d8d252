/*
 * Loading the programs of selected.bpf.c.
 */
#include "bpf/selected.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/privilege.h"

#include <errno.h>

#include "bpf/follow_shared.h"
#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/generated/selected.h"

struct selected {
	struct selected_bpf *programs; /* owned */
	bool is_command;
};

static int load(struct selected *s, const struct follow_config *c, struct err *e)
{
	int rc = loading_open(&selected_programs, &s->programs);
	struct selected_bpf *p = s->programs;

	if (rc)
		return rc;
	p->rodata->has_target = c->has_target;
	p->rodata->has_children = c->has_children;
	p->rodata->is_followed = c->is_command;
	bpf_program__set_autoload(p->progs.seed, !c->is_command);
	return loading_follow(p->obj, c, c->has_target, &p->rodata->cgroup_id, e)
		   ?: loading_load(p->skeleton) ?: loading_attach(p->skeleton);
}

int selected_open(const struct follow_config *config, struct selected **out, struct err *e)
{
	struct selected *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->is_command = config->is_command;
	loading_begin();
	rc = load(s, config, e);
	if (rc)
		rc = e->code ? e->code : loading_refuse(rc, e);
	loading_end();
	if (rc)
		selected_close(s);
	else
		*out = s;
	return rc;
}

void selected_close(struct selected *s)
{
	if (!s)
		return;
	loading_close(s->programs);
	mem_free(s);
}

int selected_add_process(struct selected *s, pid_t process)
{
	const struct bpf_follow member = {.is_member = s->is_command ? BPF_FOLLOW_STARTS : 1};

	return loading_add_process(s->programs->maps.tasks, process, &member);
}

int selected_find_threads(struct selected *s)
{
	int rc;

	if (s->is_command) /* has one, which is the process */
		return 0;
	privilege_raise();
	rc = loading_run(bpf_iter_create(bpf_link__fd(s->programs->links.seed)));
	privilege_lower();
	return rc;
}

struct selected_program selected_program(const struct selected *s)
{
	return (struct selected_program){bpf_program__fd(s->programs->progs.selected),
					 bpf_map__fd(s->programs->maps.next), false};
}

int selected_go_on(const struct selected_program *p, int program)
{
	const uint32_t first = 0;
	int rc;

	loading_begin();
	rc = bpf_map_update_elem(p->next, &first, &program, BPF_ANY);
	loading_end();
	return rc;
}
