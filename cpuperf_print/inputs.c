/*
 * Opening of inputs: sessions, parts of jobs, and files of perf.data, by what names them.
 */
#include "inputs.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"
#include "counts/slices.h"
#include "elf/finder.h"
#include "elf/vdso.h"
#include "import/import.h"
#include "options.h"
#include "problems.h"
#include "profile/filter.h"
#include "profile/growth.h"
#include "profile/iterator.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "selection.h"
#include "symbol/living.h"
#include "symbol/symbols.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY_INPUTS = 256, MAX_TITLE_BYTES = 4096 };

struct input_problems {
	struct problems *problems;
	const char *folder; /* of a part, borrowed; NULL */
	char first[256];    /* loss: the file's own name and why; "": none */
};

/* Of a long path, its end. */
static void add_folder(const char *folder, const char *file, char source[])
{
	enum { ROOM = sizeof(((struct err *)0)->source) };
	const size_t len = strlen(folder), used = strlen(file) + 2;
	const size_t room = used < ROOM ? ROOM - used : 0;

	if (snprintf(source, ROOM, "%.*s/%s", (int)room, folder + (len > room ? len - room : 0),
		     file) >= (int)ROOM)
		source[ROOM - 1] = '\0'; /* the name is too long */
}

void input_add_problem(void *report, bool is_loss, const struct err *problem)
{
	struct input_problems *p = report;
	struct err e = *problem;

	if (is_loss && !*p->first)
		snprintf(p->first, sizeof(p->first), "%.90s%s%.160s", e.source,
			 *e.source ? ": " : "", e.msg);
	if (p->folder && !*e.source)
		snprintf(e.source, sizeof(e.source), "%s", p->folder);
	else if (p->folder && !strchr(e.source, '/'))
		add_folder(p->folder, problem->source, e.source);
	problems_add(p->problems, is_loss, &e);
}

bool input_is_damaged(const struct input *o)
{
	return *o->report->first;
}

static int make_report(const struct inputs *in, struct input *o, struct err *e)
{
	o->report = mem_alloc(sizeof(*o->report));
	if (!o->report)
		return err_set(e, -ENOMEM, "out of memory");
	*o->report =
	    (struct input_problems){.problems = in->problems, .folder = o->part ? o->named : NULL};
	return 0;
}

/* The owner of a file can put any numbers there. */
static void set_owner(const struct inputs *in, struct input *o, uint32_t uid)
{
	const char *path = o->path;
	struct err e = {0};

	o->owner = uid;
	if (uid == geteuid() || uid == 0)
		return;
	err_set_at(&e, -EPERM, path, 0, 0,
		   "belongs to another user (uid %u), who may have changed it", uid);
	problems_add(in->problems, false, &e);
}

static int set_path(struct input *o, const char *path, size_t len, const char *end)
{
	o->found = mem_alloc(len + strlen(end) + 1);
	if (!o->found)
		return -ENOMEM;
	sprintf(o->found, "%.*s%s", (int)len, path, end);
	o->path = o->found;
	return 0;
}

/* Cuts end, or "." and a number, off the end of a path; false: it has another end. */
static bool cut_end(const char *path, size_t *len, const char *end)
{
	size_t nr = strlen(end);

	if (*len <= nr || memcmp(path + *len - nr, end, nr) != 0)
		return false;
	*len -= nr;
	return true;
}

static void cut_digits(const char *path, size_t *len)
{
	while (*len && path[*len - 1] >= '0' && path[*len - 1] <= '9')
		--*len;
}

/* ".0.1", ".s0.1" */
static bool cut_numbers(const char *path, size_t *len)
{
	cut_digits(path, len);
	if (!cut_end(path, len, "."))
		return false;
	cut_digits(path, len);
	return cut_end(path, len, ".") || cut_end(path, len, ".s");
}

/* PREFIX.0.1.cpuperf, PREFIX.s0.1.cpuperf and PREFIX.common.cpuperf belong to PREFIX.cpsession. */
static int find_manifest_of_trace(struct input *o, struct err *e)
{
	const char *path = o->path;
	size_t len = strlen(path);
	struct stat st;
	int rc;

	if (!cut_end(path, &len, ".cpuperf") ||
	    !(cut_end(path, &len, ".common") || cut_numbers(path, &len)))
		return err_set_at(e, -EINVAL, path, 0, 0,
				  "is a trace: name the manifest of its session (.cpsession)");
	rc = set_path(o, path, len, ".cpsession");
	if (rc == 0 && sys()->fstatat(AT_FDCWD, o->path, &st, 0))
		return err_set_at(
		    e, -ENOENT, path, 0, 0,
		    "is a trace, and there is no %s: name the manifest of its session", o->path);
	return rc;
}

/* The manifest, where the folder or a trace of a session is named. */
static int find_manifest(struct input *o, struct err *e)
{
	IO_AUTO_FD int fd = -1;
	struct stat st;

	if (sys()->fstatat(AT_FDCWD, o->path, &st, 0))
		return 0;
	if (S_ISDIR(st.st_mode))
		return set_path(o, o->path, strlen(o->path), "/" CPSESSION_FOLDER_MANIFEST);
	fd = S_ISREG(st.st_mode) ? open(o->path, O_RDONLY | O_CLOEXEC) : -1;
	return fd >= 0 && trace_is_trace(fd) == 1 ? find_manifest_of_trace(o, e) : 0;
}

/* Of a part the first error is in *part_e: it is named with the part. */
static int load_manifest(const struct inputs *in, struct input *o, struct err *part_e)
{
	static struct err_list errs; /* too large for a stack */
	struct err e = {0};
	struct stat st;
	IO_AUTO_FD int fd = io_open_linked_input(o->path, &e);
	int rc;

	if (fd < 0) {
		if (o->part)
			*part_e = e;
		else
			log_err(LOG_ERROR, &e);
		return fd;
	}
	if (sys()->fstatat(fd, "", &st, AT_EMPTY_PATH) == 0)
		set_owner(in, o, st.st_uid);
	errs.nr = errs.dropped = 0;
	rc = cpsession_load_fd(fd, o->path, &o->manifest, &errs);
	if (rc && o->part && errs.nr)
		*part_e = errs.item[0];
	for (size_t i = 0; i < errs.nr && !o->part; i++)
		log_err(LOG_ERROR, &errs.item[i]);
	if (rc)
		return rc;
	mem_free(o->config_name);
	o->config_name = mem_strdup(o->manifest.config_name);
	if (!o->config_name) {
		log_error("out of memory");
		return -ENOMEM;
	}
	str_disarm(o->config_name);
	return 0;
}

/* From the spec in the traces. If it cannot be parsed, the events are still printed. */
static void load_stored(struct inputs *in, struct input *o)
{
	static struct err_list errs; /* too large for a stack */

	errs.nr = errs.dropped = 0;
	if (!o->facts->info ||
	    !spec_parse_stored(o->facts->info->spec_json, o->facts->nr_events, &o->spec, &errs))
		return;
	for (size_t i = 0; i < errs.nr; i++)
		problems_add(in->problems, true, &errs.item[i]);
}

/* The program without its folder, which is the same for many. */
static void add_command(struct buf *text, const struct spec_list *command)
{
	for (size_t i = 0; i < command->nr; i++) {
		const char *word = command->item[i], *slash = strrchr(word, '/');

		buf_adds(text, i ? " " : "");
		buf_shell_word(text, i == 0 && slash && slash[1] ? slash + 1 : word);
	}
}

/* "process 17", "processes 17, 20". */
static void add_list(struct buf *text, const struct spec_list *list, const char *one,
		     const char *several)
{
	for (size_t i = 0; i < list->nr; i++)
		buf_printf(text, "%s%s", i ? ", " : list->nr > 1 ? several : one, list->item[i]);
}

static int make_title(struct input *o)
{
	const struct spec_target *t = &o->spec.target;
	BUF_AUTO(text, MAX_TITLE_BYTES);

	add_command(&text, &t->command);
	add_list(&text, &t->pids, "process ", "processes ");
	add_list(&text, &t->comms, "processes ", "processes ");
	add_list(&text, &t->cgroups, "cgroup ", "cgroups ");
	if (!text.len || buf_error(&text) == -EFBIG)
		return 0;
	o->title = mem_strdup(buf_str(&text));
	if (!o->title)
		return -ENOMEM;
	str_clean(o->title, strlen(o->title));
	return 0;
}

static bool is_recording(const struct input *o)
{
	return *o->manifest.state;
}

static int open_session(struct inputs *in, struct input *o, struct err *e)
{
	struct profile_manifest m;
	bool is_locked = false;
	uint32_t writer;
	int rc = find_manifest(o, e) ?: load_manifest(in, o, e);

	if (rc == 0 && is_recording(o)) {
		is_locked = cpsession_is_locked(o->path);
		if (!is_locked && io_named_descriptor(o->path) < 0)
			rc = load_manifest(in, o, e); /* it may have ended meanwhile */
	}
	if (rc)
		return rc;
	m = (struct profile_manifest){
	    .path = o->path,
	    .output_path_prefix = o->manifest.output_path_prefix,
	    .num_iterations = o->manifest.num_iterations,
	    .num_traces = o->manifest.num_traces,
	    .session_id = o->manifest.session_id,
	    .is_recording = is_recording(o),
	    .is_in_progress = is_locked,
	    .has_results = cpsession_is_causal(&o->manifest),
	    .nr_removed = o->manifest.removed.iterations,
	    .removed_begin = o->manifest.removed.begin,
	    .removed_end = o->manifest.removed.end,
	};
	rc = profile_session_open(&m, input_add_problem, o->report, &o->session, e);
	if (rc)
		return rc;
	writer = profile_session_writer(o->session, o->owner);
	if (writer != o->owner)
		set_owner(in, o, writer);
	o->facts = profile_session_facts(o->session);
	load_stored(in, o);
	rc = make_title(o);
	return rc ? err_set(e, rc, "out of memory") : 0;
}

static void on_import_problem(void *arg, bool is_loss, const struct err *problem)
{
	const struct inputs *in = arg;

	problems_add(in->problems, is_loss, problem);
}

static void on_import_facts(void *arg, const struct import_facts *f)
{
	struct inputs *in = arg;

	if (in->wants_names && !in->options->kallsyms)
		perf_kernel_read_ahead(&in->kernel, f);
}

static int open_perf_data(struct inputs *in, struct input *o, struct err *e)
{
	int rc = import_open(o->path, on_import_problem, on_import_facts, in, &o->import, e);

	if (rc)
		return rc;
	rc = profile_session_open_set(import_set(o->import), input_add_problem, o->report,
				      &o->session, e);
	if (rc)
		return rc;
	o->facts = profile_session_facts(o->session);
	o->config_name = mem_strdup(import_facts(o->import)->command);
	if (!o->config_name)
		return err_set(e, -ENOMEM, "out of memory");
	set_owner(in, o, import_facts(o->import)->uid);
	return 0;
}

/* A session that is named twice would count twice. One in progress may have no trace yet, and no
 * id. */
static int check_is_new(const struct inputs *in, size_t i, struct err *e)
{
	const struct input *o = &in->item[i];
	const struct trace_head *head = &o->facts->head;

	for (size_t k = 0; k < i && o->facts->nr_events; k++) {
		const struct input *other = &in->item[k];

		if (!other->facts) /* a part that cannot be read */
			continue;
		if (o->iterations && !other->iterations)
			continue;
		if (memcmp(other->facts->head.session_id, head->session_id,
			   sizeof(head->session_id)) != 0)
			continue;
		err_set_at(e, -EINVAL, o->path, 0, 0, "is the same session as %s", other->path);
		err_hint(e,
			 "use each session once; record each run that is added up or compared, or "
			 "compare iterations of one: --diff=@0");
		return -EINVAL;
	}
	return 0;
}

/* "FILE@LIST", or "@LIST" of the session that is printed. A file of that name is a file. */
static int cut_iterations(struct inputs *in, struct input *o, struct err *e)
{
	const char *at = strrchr(o->path, '@'), *of = in->item[0].path;
	struct stat st;
	size_t len;

	if (!at || !at[1] || at[1 + strspn(at + 1, "0123456789,-")] ||
	    sys()->fstatat(AT_FDCWD, o->path, &st, 0) == 0)
		return 0;
	if (at == o->path && in->nr != 1) {
		err_set(e, -EINVAL, "--diff=%s: of which session?", o->path);
		err_hint(e, "write --diff=FILE%s, or name one session to print", o->path);
		return -EINVAL;
	}
	o->iterations = at + 1;
	len = at == o->path ? strlen(of) : (size_t)(at - o->path);
	o->named = mem_alloc(len + 1);
	if (!o->named)
		return err_set(e, -ENOMEM, "out of memory");
	memcpy(o->named, at == o->path ? of : o->path, len);
	o->named[len] = '\0';
	o->path = o->named;
	return 0;
}

static void input_fini(struct input *o)
{
	mem_free(o->by_state);
	counts_slices_free(o->slices);
	symbols_free(o->symbols);
	symbol_living_free(o->living);
	buf_fini(&o->kallsyms);
	profile_processes_free(o->processes);
	profile_session_close(o->session);
	import_close(o->import);
	cpsession_fini(&o->manifest);
	spec_fini(&o->spec);
	mem_free(o->config_name);
	mem_free(o->title);
	mem_free(o->report);
	mem_free(o->filter);
	mem_free(o->found);
	mem_free(o->named);
}

/* Adds an input, to be opened. NULL without memory. */
static struct input *add_input(struct inputs *in, size_t *nr, size_t *room, const char *path)
{
	struct input *o = MEM_ADD(in->item, *nr, *room);

	if (!o)
		return NULL;
	*o = (struct input){.path = path};
	cpsession_init(&o->manifest);
	spec_init(&o->spec);
	return o;
}

/* The parts that have a session. */
static int add_parts(struct inputs *in, const struct selection *s, size_t *nr, size_t *room,
		     struct err *e)
{
	const struct parts_job *job = &in->jobs[in->nr_jobs - 1];

	for (size_t i = 0; i < job->list.nr; i++) {
		struct hosts_entry *entry = &job->list.entry[i];
		size_t len = strlen(job->path) + strlen(entry->folder) + 2;
		struct input *o;

		if (!parts_is_selected(s, entry->part.host, entry->part.rank))
			continue;
		in->problems->has_loss |= entry->part.is_unread;
		if (entry->part.status == HOSTS_FAILED)
			continue;
		o = add_input(in, nr, room, NULL);
		if (!o || !(o->named = mem_alloc(len)))
			return err_set(e, -ENOMEM, "out of memory");
		snprintf(o->named, len, "%s/%s", job->path, entry->folder);
		o->path = o->named;
		o->part = &entry->part;
		o->job = in->nr_jobs - 1;
	}
	return 0;
}

/* Of a list of options: sessions, jobs and files. */
static int add_inputs(struct inputs *in, const struct opt_strings *list, const struct selection *s,
		      size_t *nr, size_t *room, struct err *e)
{
	const struct options *options = in->options;
	const bool is_diff = list == &options->diff, is_perf_data = list == &options->perf_data;
	int rc = 0;

	for (size_t i = 0; i < list->nr && rc == 0; i++) {
		struct hosts_list parts;
		struct input *o;

		rc = is_perf_data ? 0 : parts_list(list->item[i], &parts, e);
		if (rc == 1) {
			in->jobs[in->nr_jobs++] = (struct parts_job){
			    .path = list->item[i], .list = parts, .is_diff = is_diff};
			rc = add_parts(in, s, nr, room, e);
			continue;
		}
		if (rc)
			return rc;
		o = add_input(in, nr, room, list->item[i]);
		if (!o)
			return err_set(e, -ENOMEM, "out of memory");
		rc = is_diff ? cut_iterations(in, o, e) : 0;
		o->is_perf_data = is_perf_data || import_is_perf_data(o->path);
	}
	return rc;
}

/* Its events are not known though it has ended: the reason is in its files. -EBADMSG with *e: they
 * are damaged. */
static int check_part(const struct input *o, struct err *e)
{
	const char *first = o->report->first;
	struct profile_iterator *it;
	struct profile_trace trace;
	int rc;

	if (o->facts->nr_events || o->facts->is_in_progress)
		return 0;
	it = profile_iterator_new(o->session);
	do
		rc = profile_iterator_next(it, &trace);
	while (rc == 1);
	profile_iterator_free(it);
	return rc < 0 || !*first ? rc : err_set(e, -EBADMSG, "%s", first);
}

/* A part that cannot be read is named above the report, and the others are printed. */
static int open_input(struct inputs *in, size_t i, struct err *e)
{
	struct input *o = &in->item[i];
	struct err own = {0};
	int rc = make_report(in, o, e);

	if (rc)
		return rc;
	if (!o->part)
		return (o->is_perf_data ? open_perf_data(in, o, e) : open_session(in, o, e))
			   ?: check_is_new(in, i, e);
	rc = open_session(in, o, &own) ?: check_part(o, &own);
	if (rc == 0 || rc == -ENOMEM)
		return rc ? rc : check_is_new(in, i, e);
	parts_set_failed(o->part, &own);
	in->problems->has_loss = true;
	return 0;
}

static bool is_selected(const struct selection *s, const struct input *o)
{
	return o->session && !(o->part && o->part->status == HOSTS_FAILED) &&
	       (o->part || o->import || parts_is_selected(s, o->facts->head.host, HOSTS_ABSENT));
}

/* Removes inputs that could not be opened, or are not selected. */
static void remove_absent(struct inputs *in, const struct selection *s)
{
	const size_t nr[] = {in->nr, in->nr_diff};
	size_t to = 0, from = 0;

	in->nr = in->nr_diff = 0;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < nr[side]; i++, from++) {
			if (!is_selected(s, &in->item[from])) {
				input_fini(&in->item[from]);
				continue;
			}
			in->item[to++] = in->item[from];
			*(side ? &in->nr_diff : &in->nr) += 1;
		}
}

static int check_remain(const struct inputs *in, const struct selection *s, struct err *e)
{
	const struct options *o = in->options;
	const char *of = o->sessions.nr    ? o->sessions.item[0]
			 : o->perf_data.nr ? o->perf_data.item[0]
					   : NULL;

	if (!of || (in->nr && (in->nr_diff || !o->diff.nr)))
		return 0; /* --push-waiting names none */
	if (in->nr)
		of = o->diff.item[0];
	if (s->hosts.nr || s->ranks.nr) {
		err_set_at(e, -EINVAL, of, 0, 0, "--host and --rank select nothing of it");
		err_hint(e, "--report=hosts lists the hosts and ranks");
		return -EINVAL;
	}
	return err_set_at(e, -ENODATA, of, 0, 0, "no part of the job can be read: %s",
			  in->jobs[in->nr ? in->nr_jobs - 1 : 0].list.entry[0].part.reason);
}

int inputs_open(struct inputs *in, const struct options *o, const struct selection *s,
		bool wants_names, struct problems *problems, struct err *e)
{
	const struct opt_strings *lists[] = {&o->sessions, &o->perf_data, &o->diff};
	size_t nr = 0, room = 0;
	int rc = 0;

	*in = (struct inputs){.options = o, .problems = problems, .wants_names = wants_names};
	perf_kernel_init(&in->kernel);
	in->jobs = mem_calloc(o->sessions.nr + o->diff.nr + 1, sizeof(*in->jobs));
	if (!in->jobs)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t k = 0; k < ARRAY_NR(lists) && rc == 0; k++) {
		size_t before = nr;

		rc = add_inputs(in, lists[k], s, &nr, &room, e);
		*(lists[k] == &o->diff ? &in->nr_diff : &in->nr) += nr - before;
	}
	if (nr > MANY_INPUTS)
		parts_raise_limit();
	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = open_input(in, i, e);
	if (rc)
		return rc;
	remove_absent(in, s);
	return check_remain(in, s, e);
}

/* They grow. */
static void take_names(struct input *to, struct input *from)
{
	to->kallsyms = from->kallsyms;
	to->processes = from->processes;
	to->symbols = from->symbols;
	to->living = from->living;
	to->vdso = from->vdso;
	to->start_ns = from->start_ns;
	to->is_same_boot = from->is_same_boot;
	from->kallsyms = (struct buf){.data = NULL};
	from->processes = NULL;
	from->symbols = NULL;
	from->living = NULL;
}

int inputs_reopen(struct inputs *in, struct err *e)
{
	struct input *old = &in->item[0], o = {.named = mem_strdup(old->path)};
	int rc;

	cpsession_init(&o.manifest);
	spec_init(&o.spec);
	o.path = o.named;
	rc = o.named ? make_report(in, &o, e) ?: open_session(in, &o, e)
		     : err_set(e, -ENOMEM, "out of memory");
	if (rc == 0 && in->growth)
		take_names(&o, old);
	input_fini(rc ? &o : old);
	if (rc == 0)
		*old = o;
	return rc;
}

void inputs_fini(struct inputs *in)
{
	if (in->growth)
		in->item[0].processes = NULL;
	for (size_t i = 0; i < in->nr + in->nr_diff; i++)
		input_fini(&in->item[i]);
	mem_free(in->item);
	for (size_t i = 0; i < in->nr_jobs; i++)
		parts_job_fini(&in->jobs[i]);
	mem_free(in->jobs);
	elf_finder_free(in->finder);
	elf_file_close(in->vdso);
	report_functions_free(in->functions);
	profile_growth_free(in->growth);
	perf_kernel_fini(&in->kernel);
}

const char *input_name(const struct input *o)
{
	return *o->config_name ? o->config_name : str_base_name(o->path);
}

const char *input_title(const struct input *o)
{
	return o->title ? o->title : input_name(o);
}

bool input_has_common(const struct input *o)
{
	return o->facts->is_sampling || o->facts->has_regions;
}

bool inputs_are_sampled(const struct inputs *in)
{
	return ARRAY_ANY(x, in->item, in->nr + in->nr_diff, x->facts->is_sampling);
}
