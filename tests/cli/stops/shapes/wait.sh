# The common handler that forwards SIGTERM. The signal ends `wait` at once, so this script ends before its child.
trap 'kill -TERM "$work"' TERM
sh work.sh &
work=$!
wait "$work"
