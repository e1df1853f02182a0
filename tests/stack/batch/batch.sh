#!/bin/sh
# A batch like those of users, which does not know locks. It reports its start and its end on stdout,
# one JSON object a line, and ends at once on SIGTERM.
#   BATCH_SECONDS         seconds of work (default 2; fractions are allowed)
#   BATCH_EXIT            the exit code (default 0)
#   BATCH_IGNORE_SIGTERM  1: ignores SIGTERM, so that only SIGKILL ends the batch
#   BATCH_SIGTERM_EXIT    the exit code after SIGTERM (default 143)
#   BATCH_MEMORY_MB       memory that the batch allocates and keeps before it works (default 0); the kernel
#                         kills the batch if this exceeds the container's limit
#   BATCH_STEP            seconds between two checks of the time and of signals (default 0.05); a longer step
#                         uses less CPU, for many batches at once
#   BATCH_ECHO            prefix of the variables that the batch reports (default LOCKSTEP_)

now() { # sets $at to the milliseconds since 1970; busybox date has no %N
  moment=$EPOCHREALTIME
  at=${moment%.*}${moment#*.}
  at=${at%???}
}

say() { # say EVENT [MORE-JSON]
  now
  echo "{\"at\":$at,\"event\":\"$1\",\"id\":\"$id\"$2}"
}

take_memory() { # take_memory MB: in variables of this shell, so that the kernel kills no other process
  [ "$1" -gt 0 ] || return 0
  block=aaaaaaaaaaaaaaaa
  while [ ${#block} -lt 1048576 ]; do block=$block$block; done
  taken=0
  while [ "$taken" -lt "$1" ]; do
    taken=$((taken + 1))
    eval "memory_$taken=\$block"
  done
}

on_sigterm() {
  say sigterm
  [ "${BATCH_IGNORE_SIGTERM:-0}" = 1 ] || exit "${BATCH_SIGTERM_EXIT:-143}"
}

id=$(hostname)
echo_prefix=${BATCH_ECHO:-LOCKSTEP_}
trap on_sigterm TERM

seen=$(env | sed -n 's/["\\]/\\&/g; s/^\('"$echo_prefix"'[A-Z0-9_]*\)=\(.*\)$/"\1":"\2"/p' | paste -s -d , -)
length=$(awk -v seconds="${BATCH_SECONDS:-2}" 'BEGIN { printf "%d", seconds * 1000 }')
say start ",\"env\":{$seen}"
take_memory "${BATCH_MEMORY_MB:-0}"
end=$((at + length))
while now; [ "$at" -lt "$end" ]; do
  sleep "${BATCH_STEP:-0.05}" # the trap runs between two steps
done
say end
exit "${BATCH_EXIT:-0}"
