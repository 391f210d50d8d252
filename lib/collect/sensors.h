/*
 * The sensors of the machine as rows of misc: temperatures (hwmon, thermal zones) and frequencies
 * of CPUs (cpufreq). All are value files; the kernel's numbers are stored raw. Source:
 * Documentation/hwmon/sysfs-interface.rst, driver-api/thermal/sysfs-api.rst,
 * admin-guide/pm/cpufreq.rst.
 */
#ifndef COLLECT_SENSORS_H
#define COLLECT_SENSORS_H

#include "event/catalogue.h"

/*
 * package_temperature, ia_temperature and cpu_frequency always exist, with `missing` if the machine
 * has no sensor for them. Every temperature also has its own name, "hwmon/CHIP/LABEL" or
 * "thermal/TYPE", in lower case, with _ for all but letters, digits, - and _; a sensor without
 * label is "temp1". The second chip or zone of a name is NAME.1, the third NAME.2, by the kernel's
 * numbers; the second sensor with a label in a chip is LABEL.N, N being its number.
 */
extern const struct event_maker collect_sensor_maker;

#endif
