/*
 * Texts of /proc/PID/fdinfo/FD of GPUs, made after the kernel's documents and drivers (Linux 6.12,
 * unless a name says otherwise): none was captured. Only for tests.
 */
#ifndef TEST_COLLECT_GPU_FDINFO_H
#define TEST_COLLECT_GPU_FDINFO_H

#define FDINFO_FILE "pos:\t0\nflags:\t02100002\nmnt_id:\t27\nino:\t1234\n"

#define FDINFO_I915(client, render_ns, video_ns)                                                   \
	FDINFO_FILE "drm-driver:\ti915\ndrm-client-id:\t" client "\ndrm-pdev:\t0000:00:02.0\n"     \
		    "drm-total-system0:\t40960 KiB\ndrm-shared-system0:\t16 MiB\n"                 \
		    "drm-active-system0:\t0\ndrm-resident-system0:\t30720 KiB\n"                   \
		    "drm-purgeable-system0:\t1024 KiB\ndrm-total-stolen-system0:\t0\n"             \
		    "drm-shared-stolen-system0:\t0\ndrm-active-stolen-system0:\t0\n"               \
		    "drm-resident-stolen-system0:\t0\ndrm-purgeable-stolen-system0:\t0\n"          \
		    "drm-engine-render:\t" render_ns " ns\ndrm-engine-copy:\t0 ns\n"               \
		    "drm-engine-video:\t" video_ns " ns\ndrm-engine-capacity-video:\t2\n"          \
		    "drm-engine-video-enhance:\t0 ns\n"

#define FDINFO_XE(client, cycles, total)                                                           \
	FDINFO_FILE "drm-driver:\txe\ndrm-client-id:\t" client "\ndrm-pdev:\t0000:03:00.0\n"       \
		    "drm-total-system:\t0\ndrm-shared-system:\t0\ndrm-active-system:\t0\n"         \
		    "drm-resident-system:\t0\ndrm-purgeable-system:\t0\n"                          \
		    "drm-total-gtt:\t192 KiB\ndrm-shared-gtt:\t0\ndrm-active-gtt:\t0\n"            \
		    "drm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t23992 KiB\n"                    \
		    "drm-shared-vram0:\t16 MiB\ndrm-active-vram0:\t0\n"                            \
		    "drm-resident-vram0:\t23992 KiB\ndrm-total-stolen:\t0\n"                       \
		    "drm-resident-stolen:\t64 KiB\n"                                               \
		    "drm-cycles-rcs:\t" cycles "\ndrm-total-cycles-rcs:\t" total "\n"              \
		    "drm-cycles-vcs:\t0\ndrm-total-cycles-vcs:\t" total                            \
		    "\ndrm-engine-capacity-vcs:\t2\n"

#define FDINFO_AMDGPU(client, gfx_ns)                                                              \
	FDINFO_FILE "drm-driver:\tamdgpu\ndrm-client-id:\t" client                                 \
		    "\ndrm-pdev:\t0000:0c:00.0\npasid:\t32773\n"                                   \
		    "drm-total-cpu:\t0\ndrm-shared-cpu:\t0\ndrm-resident-cpu:\t0\n"                \
		    "drm-total-gtt:\t2 MiB\ndrm-resident-gtt:\t2 MiB\n"                            \
		    "drm-total-vram:\t11 MiB\ndrm-resident-vram:\t10 MiB\n"                        \
		    "drm-memory-vram:\t10240 KiB\ndrm-memory-gtt: \t2048 KiB\n"                    \
		    "drm-memory-cpu: \t0 KiB\namd-evicted-vram:\t0 KiB\n"                          \
		    "amd-requested-vram:\t11264 KiB\namd-requested-gtt:\t2048 KiB\n"               \
		    "drm-total-gds:\t4 KiB\ndrm-resident-gds:\t4 KiB\n"                            \
		    "drm-engine-gfx:\t" gfx_ns " ns\n"

/* Linux 5.19: before drm-resident */
#define FDINFO_AMDGPU_OLD                                                                          \
	FDINFO_FILE "pasid:\t32771\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:0c:00.0\n"                \
		    "drm-client-id:\t7\ndrm-memory-vram:\t71492 KiB\n"                             \
		    "drm-memory-gtt: \t8 KiB\ndrm-memory-cpu: \t0 KiB\n"                           \
		    "drm-engine-gfx:\t8439024581 ns\ndrm-engine-compute:\t10 ns\n"

#define FDINFO_PANFROST(client, fragment_ns, cycles)                                               \
	FDINFO_FILE "drm-driver:\tpanfrost\ndrm-client-id:\t" client                               \
		    "\ndrm-engine-fragment:\t" fragment_ns " ns\ndrm-cycles-fragment:\t" cycles    \
		    "\ndrm-maxfreq-fragment:\t799999987 Hz\ndrm-curfreq-fragment:\t799999987 Hz\n" \
		    "drm-engine-vertex-tiler:\t500 ns\ndrm-cycles-vertex-tiler:\t40\n"             \
		    "drm-maxfreq-vertex-tiler:\t799999987 Hz\n"                                    \
		    "drm-curfreq-vertex-tiler:\t799999987 Hz\n"                                    \
		    "drm-total-memory:\t8000 KiB\ndrm-shared-memory:\t0\n"                         \
		    "drm-active-memory:\t0\ndrm-resident-memory:\t4000 KiB\n"                      \
		    "drm-purgeable-memory:\t128 KiB\n"

#define FDINFO_MSM(client, ns)                                                                     \
	FDINFO_FILE "drm-driver:\tmsm\ndrm-client-id:\t" client "\ndrm-engine-gpu:\t" ns           \
		    " ns\ndrm-cycles-gpu:\t24218\ndrm-maxfreq-gpu:\t710000000 Hz\n"                \
		    "drm-total-memory:\t32 MiB\ndrm-resident-memory:\t31 MiB\n"

#endif
