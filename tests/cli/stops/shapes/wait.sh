# The common handler that forwards SIGTERM: it ends `wait` at once, and with it this script.
trap 'kill -TERM "$work"' TERM
sh work.sh &
work=$!
wait "$work"
