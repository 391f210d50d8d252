/*
 * What is printed on a terminal without options: six questions that people have, each with a
 * command that works as typed, and whether this user may run it here. By the rows of the doctor, so
 * that it promises nothing that a session then refuses.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt_std.h"
#include "doctor/doctor.h"
#include "program.h"
#include "screen/number.h"
#include "target/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PAGE_BYTES = 64 << 10, MAX_WAYS = 3, WIDTH = 80 };

/* One of the ways must work; DOCTOR_NR ends them. Of a way that works partly the answer is one. */
static const struct question {
	const char *text, *command;
	enum doctor_id ways[MAX_WAYS];
	const char *program; /* that must be there; NULL: none */
	const char *if_so;   /* what else it depends on, which is not tried; "": nothing */
} questions[] = {
    {"where does time go?",
     "cpuperf -- du -s /usr",
     {DOCTOR_OWN, DOCTOR_AGENT, DOCTOR_NR},
     NULL,
     ""},
    {"what does it wait for?",
     "cpuperf --spec-file=wall -- du -s /usr",
     {DOCTOR_PROGRAMS, DOCTOR_NR, DOCTOR_NR},
     NULL,
     ""},
    {"who allocates?",
     "cpuperf --spec-file=heap -- du -s /usr",
     {DOCTOR_AGENT, DOCTOR_NR, DOCTOR_NR},
     NULL,
     ""},
    {"is B faster than A?", "cpuperf --versus='du -s /usr' -- du -sl /usr", {DOCTOR_NR}, NULL, ""},
    {"why is the machine slow?",
     "cpuperf --spec-file=watch",
     {DOCTOR_CPUS, DOCTOR_NR, DOCTOR_NR},
     NULL,
     ""},
    {"which host differs?",
     "cpuperf --hosts=localhost -e page_faults -d 1",
     {DOCTOR_CPUS, DOCTOR_NR, DOCTOR_NR},
     "ssh",
     "if ssh reaches localhost without asking"},
};

/* Where rights are missing that root has. */
static const char *propose_root(const struct doctor *d, struct doctor_finding *out)
{
	if (geteuid() == 0 || d->m.host.grant != HOST_GRANT_FILE)
		return out->get;
	snprintf(out->get, sizeof(out->get), "%s",
		 target_command_find("sudo") ? "as root" : "with sudo");
	return out->get;
}

/* What to type, in *first; NULL: nothing, it works. */
static const char *find_remedy(struct doctor *d, const struct question *q,
			       struct doctor_finding *first)
{
	struct doctor_finding f = {.state = DOCTOR_YES};

	*first = f;
	if (q->program && target_command_find(q->program)) {
		snprintf(first->get, sizeof(first->get), "install %s", q->program);
		return first->get;
	}
	for (size_t i = 0; i < MAX_WAYS && q->ways[i] != DOCTOR_NR; i++) {
		doctor_try(d, &doctor_checks[q->ways[i]], &f);
		if (f.state != DOCTOR_NO)
			return NULL;
		if (!i)
			*first = f;
	}
	if (first->state == DOCTOR_YES)
		return NULL;
	if (q->ways[0] == DOCTOR_CPUS)
		return propose_root(d, first);
	return *first->get ? first->get : first->found;
}

static void add_question(struct doctor *d, const struct question *q, struct buf *out)
{
	struct doctor_finding first;
	const char *remedy = find_remedy(d, q, &first), *note = remedy ?: q->if_so;
	const enum doctor_state state = remedy      ? DOCTOR_NO
					: *q->if_so ? DOCTOR_UNKNOWN
						    : DOCTOR_YES;

	buf_printf(out, "%s %-24s %s\n", doctor_sign(state), q->text, q->command);
	if (*note)
		buf_printf(out, "    %s\n", note);
}

int first_page(void)
{
	struct doctor d;
	struct err e = {0};
	struct buf out;
	int status;

	if (doctor_init(&d, &e))
		return fail(EXIT_FAILED, &e);
	buf_init(&out, MAX_PAGE_BYTES);
	buf_adds(&out, "Six questions, each a command to type (du stands for any command):\n\n");
	for (size_t i = 0; i < ARRAY_NR(questions); i++)
		add_question(&d, &questions[i], &out);
	buf_adds(&out, "\ncpuperf --doctor: what this machine allows, and how to have more. "
		       "cpuperf --help: all options.\n");
	screen_wrap_lines(&out, 0, WIDTH);
	status = print_result(&out);
	buf_fini(&out);
	doctor_fini(&d);
	return status;
}
