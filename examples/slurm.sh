#!/usr/bin/env bash
# The whole paper as a SLURM array job: sbatch examples/slurm.sh [FOLDER] [FIGURE...]
#
# Every task of the array does its part of the runs, into one folder on a shared disk. A task that is
# stopped or fails can be started again: it does only what is missing. When all are done, the same
# command without --shard draws the figures and checks the claims.
#SBATCH --job-name=monmdp
#SBATCH --array=1-8
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=00:30:00
#SBATCH --signal=B:TERM@30
set -euo pipefail

folder=${1:-results}
figures=("${@:2}")
[ ${#figures[@]} -gt 0 ] || figures=(all)

# Compiled code is kept in a folder that every task may write to.
export NUMBA_CACHE_DIR=${NUMBA_CACHE_DIR:-${TMPDIR:-/tmp}/monmdp-numba-$(id -u)}

exec monmdp reproduce "${figures[@]}" --out "$folder" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
