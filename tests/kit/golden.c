#include "golden.h"

#include "kit.h"
#include "paths.h"

#include "base/io.h"

static void renew(const char *path, const struct buf *out)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(buf_str(out), 1, out->len, f), out->len);
	assert_int_equal(fclose(f), 0);
}

void golden_compare(const char *name, const struct buf *out)
{
	struct buf golden;
	char path[512];

	assert_int_equal(buf_error(out), 0);
	snprintf(path, sizeof(path), TEST_DATA_DIR "/%s", name);
	if (getenv("CPUPERF_RENEW"))
		renew(path, out);
	buf_init(&golden, SIZE_MAX / 2);
	if (io_load(AT_FDCWD, path, &golden))
		fail_msg("%s cannot be read", path);
	if (golden.len != out->len || memcmp(buf_str(&golden), buf_str(out), out->len) != 0)
		fail_msg("%s differs; the output is now:\n%s", path, buf_str(out));
	buf_fini(&golden);
}
