# Saves its state on SIGTERM. Saving takes $SAVING seconds.
trap 'sleep "$SAVING"; echo saved > "$STATE/saved"; exit 0' TERM
echo up > "$STATE/up"
while :; do sleep 0.1; done
