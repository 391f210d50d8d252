/*
 * The sensors of the machine as rows of misc: temperatures (hwmon, thermal zones) and the CPUs'
 * frequencies (cpufreq). All are value files; the kernel's numbers are stored as they are.
 * Source: Documentation/hwmon/sysfs-interface.rst, driver-api/thermal/sysfs-api.rst,
 * admin-guide/pm/cpufreq.rst.
 */
#ifndef COLLECT_SENSORS_H
#define COLLECT_SENSORS_H

#include "event/catalogue.h"

/*
 * package_temperature, ia_temperature and cpu_frequency are always there, with `missing` where the
 * machine has no sensor for them. Every temperature is also there by its own name,
 * "hwmon/CHIP/LABEL" or "thermal/TYPE", in lower case, all but letters, digits, - and _ made _; a
 * sensor without label is "temp1". The second chip or zone of a name is NAME.1, the third NAME.2,
 * in the order of the kernel's numbers; the second sensor of one label in a chip is LABEL.N, N
 * being its own number.
 */
extern const struct event_maker collect_sensor_maker;

#endif
