/* What the plugin tells cpuperf-srun, by the environment of a task. */
#ifndef SLURM_SRUN_H
#define SLURM_SRUN_H

#define SRUN_PROGRAM "CPUPERF_SRUN_PROGRAM" /* in whose place it runs */
#define SRUN_OPTIONS "CPUPERF_SRUN_OPTIONS" /* the argument of srun --cpuperf */

#endif
