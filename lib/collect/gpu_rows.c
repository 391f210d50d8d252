/*
 * The rows of the group gpu.
 */
#include "collect/collect.h"
#include "collect/rows.h"
#include "gpu/engine.h"
#include "gpu/gpm.h"
#include "gpu/gpu.h"
#include "gpu/pm.h"
#include "gpu/process.h"

#define ROW     COLLECT_ROW
#define DEVICES .choice = "devices"
#define PIDS    .choice = "pids"
#define MEAN    .total = EVENT_TOTAL_MEAN
#define LARGEST .total = EVENT_TOTAL_LARGEST

/* clang-format off */
static const struct event_row gpu_rows[] = {
	ROW(1, "busy", VALUE, THINGS, "%", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_BUSY, 0,
	    "Share of time in which the GPU computed or drew, as its driver reports it for the last"
	    " moments (amdgpu, NVIDIA).", DEVICES, MEAN),
	ROW(2, "memory_busy", VALUE, THINGS, "%", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_MEMORY_BUSY, 0,
	    "Share of time in which the GPU's memory was read or written (amdgpu, NVIDIA).", DEVICES, MEAN),
	ROW(3, "memory_used", VALUE, THINGS, "B", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_MEMORY_USED, 0,
	    "Memory of the GPU's own that is in use (amdgpu, NVIDIA).", DEVICES),
	ROW(4, "memory_total", VALUE, THINGS, "B", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_MEMORY_TOTAL, 0,
	    "All memory of the GPU's own (amdgpu, NVIDIA).", DEVICES),
	ROW(5, "memory_shared", VALUE, THINGS, "B", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_MEMORY_SHARED, 0,
	    "Memory of the machine that the GPU uses (amdgpu: GTT).", DEVICES),
	ROW(6, "power", VALUE, THINGS, "W", "/sys/class/drm/card*/device/hwmon",
	    COLLECT_MANY + GPU, GPU_POWER, 1e-6,
	    "Power that the GPU draws: a mean of the last moments, or that of now.", DEVICES),
	ROW(7, "energy", COUNT, THINGS, "J", "/sys/class/drm/card*/device/hwmon",
	    COLLECT_MANY + GPU, GPU_ENERGY, 1e-6,
	    "Energy that the GPU used (NVIDIA; cards of their own of i915 and xe; Instinct of amdgpu).", DEVICES),
	ROW(8, "temperature", VALUE, THINGS, "C", "/sys/class/drm/card*/device/hwmon",
	    COLLECT_MANY + GPU, GPU_TEMPERATURE, 1e-3,
	    "Temperature of the GPU, at its edge if it has several sensors.", DEVICES, LARGEST),
	ROW(9, "frequency", VALUE, THINGS, "Hz", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_FREQUENCY, 0,
	    "Frequency of the GPU's cores: measured, or the one that was set.", DEVICES, MEAN),
	ROW(10, "memory_frequency", VALUE, THINGS, "Hz", "/sys/class/drm/card*/device/hwmon",
	    COLLECT_MANY + GPU, GPU_MEMORY_FREQUENCY, 0,
	    "Frequency of the GPU's memory (amdgpu, NVIDIA).", DEVICES, MEAN),
	ROW(11, "idle_time", COUNT, THINGS, "ns", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_IDLE_TIME, 0,
	    "Time in which the GPU was switched off for want of work (i915 and xe: RC6).", DEVICES),
	ROW(12, "fan", VALUE, THINGS, "rpm", "/sys/class/drm/card*/device/hwmon",
	    COLLECT_MANY + GPU, GPU_FAN, 0,
	    "Speed of the GPU's fan.", DEVICES, MEAN),
	ROW(13, "awake", VALUE, THINGS, "GPUs", "/sys/class/drm/card*/device/power/runtime_status",
	    COLLECT_MANY + GPU, GPU_AWAKE, 0,
	    "1, or 0 while the GPU sleeps. A sleeping GPU is not asked for anything else: that could wake it.",
	    DEVICES),
	ROW(14, "hotspot_temperature", VALUE, THINGS, "C", "/sys/class/drm/card*/device/gpu_metrics",
	    COLLECT_MANY + GPU, GPU_HOTSPOT, 1e-3,
	    "Temperature of the GPU where it is hottest (amdgpu).", DEVICES, LARGEST),
	ROW(15, "memory_temperature", VALUE, THINGS, "C", "/sys/class/drm/card*/device/hwmon",
	    COLLECT_MANY + GPU, GPU_MEMORY_TEMPERATURE, 1e-3,
	    "Temperature of the GPU's memory (amdgpu, xe, some of NVIDIA).", DEVICES, LARGEST),
	ROW(16, "media_busy", VALUE, THINGS, "%", "/sys/class/drm/card*/device/gpu_metrics",
	    COLLECT_MANY + GPU, GPU_MEDIA_BUSY, 0,
	    "Share of time in which the GPU encoded or decoded video: that of its busiest unit (amdgpu).",
	    DEVICES, MEAN),
	ROW(17, "throttled", VALUE, THINGS, "GPUs", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_THROTTLED, 0,
	    "1 while a limit of power, current or temperature holds the GPU's frequency down, or 0 (amdgpu,"
	    " i915, xe, NVIDIA).", DEVICES),
	ROW(18, "requested_frequency", VALUE, THINGS, "Hz", "/sys/class/drm/card*",
	    COLLECT_MANY + GPU, GPU_REQUESTED_FREQUENCY, 0,
	    "Frequency that the driver requested for the GPU's cores (i915, xe).", DEVICES, MEAN),
	ROW(19, "link_speed", VALUE, THINGS, "transfers/s", "/sys/class/drm/card*/device/gpu_metrics",
	    COLLECT_MANY + GPU, GPU_LINK_SPEED, 0,
	    "Transfers per second on each lane of the GPU's PCIe link, as it is set now (amdgpu: cards of"
	    " their own).", DEVICES, MEAN),
	/* Of NVIDIA's library */
	ROW(30, "encoder_busy", VALUE, THINGS, "%", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_ENCODER_BUSY, 0,
	    "Share of time in which the GPU's video encoder worked, in the last moments (NVIDIA).",
	    DEVICES, MEAN),
	ROW(31, "decoder_busy", VALUE, THINGS, "%", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_DECODER_BUSY, 0,
	    "Share of time in which the GPU's video decoder worked, in the last moments (NVIDIA).",
	    DEVICES, MEAN),
	ROW(32, "power_limit", VALUE, THINGS, "W", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_POWER_LIMIT, 1e-6,
	    "Power beyond which the GPU lowers its clocks (NVIDIA).", DEVICES),
	ROW(35, "throttled_power_time", COUNT, THINGS, "ns", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_THROTTLED_POWER_TIME, 0,
	    "Time in which the GPU's clocks were lowered to stay below the power limit (NVIDIA).",
	    DEVICES),
	ROW(36, "throttled_thermal_time", COUNT, THINGS, "ns", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_THROTTLED_THERMAL_TIME, 0,
	    "Time in which the GPU's clocks were lowered because of heat (NVIDIA).", DEVICES),
	ROW(37, "pcie_rx", VALUE, THINGS, "B/s", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_PCIE_RX, 0,
	    "Bytes per second that the GPU receives by PCIe, of 20 ms, which each reading takes (NVIDIA).",
	    DEVICES),
	ROW(38, "pcie_tx", VALUE, THINGS, "B/s", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_PCIE_TX, 0,
	    "Bytes per second that the GPU sends by PCIe, of 20 ms, which each reading takes (NVIDIA).",
	    DEVICES),
	ROW(39, "pcie_replays", COUNT, THINGS, "packets", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU, GPU_PCIE_REPLAYS, 0,
	    "Packets of PCIe that were sent again (NVIDIA).", DEVICES),
	/* Of its GPM, between two readings */
	ROW(80, "graphics_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_GRAPHICS, 1e-3,
	    "Share of time in which the GPU computed or drew"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(81, "sm_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_SM, 1e-3,
	    "Share of the GPU's SMs that were busy"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(82, "sm_occupancy", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_OCCUPANCY, 1e-3,
	    "Share of the warps that the GPU's SMs can hold which they held"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(83, "integer_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_INTEGER, 1e-3,
	    "Share of time in which the GPU's SMs calculated with integers"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(84, "tensor_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_TENSOR, 1e-3,
	    "Share of time in which the GPU's tensor cores worked"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(85, "fp64_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_FP64, 1e-3,
	    "Share of time in which the GPU's SMs calculated with 64-bit floating point numbers"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(86, "fp32_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_FP32, 1e-3,
	    "Share of time in which the GPU's SMs calculated with 32-bit floating point numbers"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(87, "fp16_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_FP16, 1e-3,
	    "Share of time in which the GPU's SMs calculated with 16-bit floating point numbers"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(88, "dram_active", VALUE, THINGS, "%", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_DRAM, 1e-3,
	    "Share of its memory's bandwidth that the GPU used"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES, MEAN),
	ROW(89, "pcie_received", VALUE, THINGS, "B/s", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_PCIE_RX, 0,
	    "Bytes per second that the GPU received by PCIe"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES),
	ROW(90, "pcie_sent", VALUE, THINGS, "B/s", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_PCIE_TX, 0,
	    "Bytes per second that the GPU sent by PCIe"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES),
	ROW(91, "nvlink_received", VALUE, THINGS, "B/s", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_NVLINK_RX, 0,
	    "Bytes per second that the GPU received by NVLink"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES),
	ROW(92, "nvlink_sent", VALUE, THINGS, "B/s", "libnvidia-ml.so.1: GPM",
	    COLLECT_MANY + GPM, GPM_NVLINK_TX, 0,
	    "Bytes per second that the GPU sent by NVLink"
	    ", between two readings (NVIDIA from Hopper on).", DEVICES),
	/* Each engine, and each process: what clients used (DRM's fdinfo) */
	ROW(40, "engine_busy", SHARE, THINGS, "%", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_BUSY, 0,
	    "Share of time in which an engine of the GPU worked (of alike engines: all of them), or, where"
	    " the driver reports no times (xe), of its clock's cycles while it had clients.", DEVICES),
	ROW(41, "engine_busy_time", COUNT, THINGS, "ns", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_BUSY_TIME, 0,
	    "Time that an engine of the GPU worked, summed over its clients (not xe).", DEVICES),
	ROW(42, "engine_busy_cycles", COUNT, THINGS, "cycles", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_BUSY_CYCLES, 0,
	    "Cycles that an engine of the GPU worked, summed over its clients (xe, panfrost, msm).", DEVICES),
	ROW(43, "engine_total_cycles", COUNT, THINGS, "cycles", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_TOTAL_CYCLES, 0,
	    "Cycles of an engine's clock, busy or not, between readings at which it had clients (xe).", DEVICES),
	ROW(44, "engine_capacity", VALUE, THINGS, "engines", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_CAPACITY, 0,
	    "Alike engines that are counted as one.", DEVICES),
	ROW(45, "engine_max_frequency", VALUE, THINGS, "Hz", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_MAX_FREQUENCY, 0,
	    "Highest frequency of an engine (panfrost, msm).", DEVICES, LARGEST),
	ROW(46, "engine_frequency", VALUE, THINGS, "Hz", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_FREQUENCY, 0,
	    "Frequency of an engine, now (panfrost).", DEVICES, MEAN),
	ROW(47, "engine_clients", VALUE, THINGS, "clients", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_ENGINE, GPU_ENGINE_CLIENTS, 0,
	    "Clients of an engine, now: the GPU's open files, each once.", DEVICES),
	ROW(50, "process_gpu_time", COUNT, THINGS, "ns", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_PROCESS, GPU_PROCESS_BUSY_TIME, 0,
	    "Time that engines of GPUs worked for the process, summed over them (not xe). A client that"
	    " several processes share is counted in the one with the lowest number.", PIDS),
	ROW(51, "process_gpu_cycles", COUNT, THINGS, "cycles", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_PROCESS, GPU_PROCESS_BUSY_CYCLES, 0,
	    "Cycles that engines of GPUs worked for the process, summed over them (xe, panfrost, msm).", PIDS),
	ROW(52, "process_gpu_memory", VALUE, THINGS, "B", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_PROCESS, GPU_PROCESS_MEMORY, 0,
	    "Memory of the GPU's own in which buffers of the process are present, also those it shares (also NVIDIA).", PIDS),
	ROW(53, "process_gpu_memory_shared", VALUE, THINGS, "B", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_PROCESS, GPU_PROCESS_MEMORY_MACHINE, 0,
	    "Memory of the machine in which GPU buffers of the process are present, also those it shares.", PIDS),
	ROW(54, "process_gpu_clients", VALUE, THINGS, "clients", "/proc/*/fdinfo",
	    COLLECT_MANY + GPU_PROCESS, GPU_PROCESS_CLIENTS, 0,
	    "Clients of GPUs that the process has open, now.", PIDS),
	ROW(93, "process_gpu_busy", VALUE, THINGS, "%", "libnvidia-ml.so.1",
	    COLLECT_MANY + GPU_PROCESS, GPU_PROCESS_BUSY, 0,
	    "Share of time in which the GPU ran kernels of the process, summed over GPUs, as last sampled (NVIDIA).",
	    PIDS),
};
/* clang-format on */

static const struct event_maker *const gpu_makers[] = {&event_gpu_pmu_maker, &collect_pm_maker};

const struct event_group collect_gpu_group = {
    .name = "gpu",
    .description =
	"Each GPU: load, memory, power, temperature, frequency; its engines and the processes "
	"that use it, as its driver shows them.",
    .id = EVENT_GROUP_GPU,
    .is_perf = false,
    .rows = gpu_rows,
    .nr_rows = sizeof(gpu_rows) / sizeof(gpu_rows[0]),
    .makers = gpu_makers,
    .nr_makers = sizeof(gpu_makers) / sizeof(gpu_makers[0]),
};
