/* Made by scripts/generate of go.tsv. */
/* clang-format off */
static const struct go_version go_versions[] = {
	{1, 15, {
		.g_m = 48,
		.g_labels = 344,
		.m_curg = 192,
		.is_map = 1,
	}},
	{1, 19, {
		.g_m = 48,
		.g_labels = 360,
		.m_curg = 192,
		.is_map = 1,
	}},
	{1, 21, {
		.g_m = 48,
		.g_labels = 344,
		.m_curg = 192,
		.is_map = 1,
	}},
	{1, 22, {
		.g_m = 48,
		.g_labels = 344,
		.m_curg = 192,
		.is_map = 1,
	}},
	{1, 23, {
		.g_m = 48,
		.g_labels = 352,
		.m_curg = 192,
		.is_map = 1,
	}},
	{1, 24, {
		.g_m = 48,
		.g_labels = 352,
		.m_curg = 192,
		.is_map = 0,
	}},
	{1, 25, {
		.g_m = 48,
		.g_labels = 344,
		.m_curg = 184,
		.is_map = 0,
	}},
	{1, 26, {
		.g_m = 48,
		.g_labels = 352,
		.m_curg = 184,
		.is_map = 0,
	}},
	{1, 27, {
		.g_m = 48,
		.g_labels = 352,
		.m_curg = 184,
		.is_map = 0,
	}},
};
