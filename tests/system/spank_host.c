/*
 * spank_host PLUGIN [ARGUMENT]: what Slurm does with a plugin: loads it, chooses its option, and
 * prints what stands in place of a task's program.
 */
#include <dlfcn.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>

static char *task[] = {(char[]){"prog"}, NULL};

void slurm_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
}

spank_context_t spank_context(void)
{
	return S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t s, struct spank_option *option)
{
	(void)s;
	return option->cb(option->val, NULL, 1) ? ESPANK_ERROR : ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t s, spank_item_t item, ...)
{
	va_list ap;

	(void)s;
	(void)item;
	va_start(ap, item);
	*va_arg(ap, int *) = 1;
	*va_arg(ap, char ***) = task;
	va_end(ap);
	return ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t s, const char *name, const char *value, int overwrite)
{
	(void)s;
	(void)name;
	(void)value;
	(void)overwrite;
	return ESPANK_SUCCESS;
}

int main(int argc, char **argv)
{
	static const char *const steps[] = {"slurm_spank_init", "slurm_spank_task_init"};
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;

	for (int i = 0; i < 2; i++) {
		int (*step)(spank_t, int, char **) = NULL;

		if (plugin)
			*(void **)&step = dlsym(plugin, steps[i]);
		if (!step || step(NULL, argc - 2, argv + 2)) {
			fprintf(stderr, "%s\n", plugin ? steps[i] : dlerror());
			return 1;
		}
	}
	puts(task[0]);
	return 0;
}
