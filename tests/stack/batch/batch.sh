#!/bin/sh
# A batch as users have them: it knows nothing of locks. It tells on stdout when it
# starts and ends, one JSON object a line, and ends at once on SIGTERM.
#   BATCH_SECONDS         how long it works (default 2; 0.5 works too)
#   BATCH_EXIT            its exit code (default 0)
#   BATCH_IGNORE_SIGTERM  1: it works on, so that only SIGKILL ends it
#   BATCH_SIGTERM_EXIT    what it exits with on SIGTERM (default 143)
#   BATCH_MEMORY_MB       it takes and keeps so much memory before it works (default 0); beyond the
#                         container's limit the kernel ends it
#   BATCH_STEP            seconds between two looks at the time and at signals (default 0.05): longer ones
#                         are light, for many batches at once
#   BATCH_ECHO            prefix of the variables that it reports (default LOCKSTEP_)

now() { # epoch milliseconds, in $at; busybox date knows no %N
  moment=$EPOCHREALTIME
  at=${moment%.*}${moment#*.}
  at=${at%???}
}

say() { # say EVENT [MORE-JSON]
  now
  echo "{\"at\":$at,\"event\":\"$1\",\"id\":\"$id\"$2}"
}

take_memory() { # take_memory MB: variables of this shell, so that nobody else is killed for them
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
