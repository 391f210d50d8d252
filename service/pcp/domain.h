/* One of those that PCP leaves free; another one is set here, before ./Install. */
#define CPUPERF 397
