#!/bin/sh
# A user's program that handles one message, "NAME SECONDS PORT". It reports its start and its end, with its
# fencing token, to a resource at PORT of the host.
read -r name seconds port
host=${AWS_ENDPOINT_URL#http://}
host=${host%%:*}

tell() {
  answer=$(echo "$LOCKSTEP_LOCK/$name $LOCKSTEP_FENCING_TOKEN $1 $name" | /bin/busybox nc "$host" "$port")
  [ "$answer" = ok ]
}

tell start || exit 1
sleep "$seconds" # in the foreground, so a SIGTERM to the process group ends both sleep and this script
tell done
