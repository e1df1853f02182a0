#!/bin/sh
# A user's program for one message, which is "NAME SECONDS PORT": it tells a resource at PORT of the
# host when it starts and when it is done, under its fencing token.
read -r name seconds port
host=${AWS_ENDPOINT_URL#http://}
host=${host%%:*}

tell() {
  answer=$(echo "$LOCKSTEP_LOCK/$name $LOCKSTEP_FENCING_TOKEN $1 $name" | /bin/busybox nc "$host" "$port")
  [ "$answer" = ok ]
}

tell start || exit 1
sleep "$seconds" # not in the background, so a SIGTERM to the group ends it and this script
tell done
