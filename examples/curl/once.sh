#!/bin/sh
# Runs a command once per key: once.sh KEY COMMAND [ARGUMENT...]
#
# For cron jobs and scripts. SEMEL_URL and SEMEL_TOKEN say where the claims API is. What the command printed is kept and printed
# again by whoever comes later. A command that fails leaves an unknown outcome: nothing runs under the key again until somebody has
# looked. The lease is not renewed here, so it must be longer than the command takes.
set -eu
key=$1
shift
owner=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

call() {
  curl --silent --show-error --fail-with-body --retry 3 --retry-connrefused --max-time 10 \
    --header "Authorization: Bearer $SEMEL_TOKEN" --json @- "$SEMEL_URL/v1/claims$1"
}

# The value of a member that is a plain string.
member() {
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

name="\"namespace\":\"scripts\",\"key\":\"$key\""
answer=$(echo "{$name,\"owner\":\"$owner\",\"lease_ms\":600000,\"ttl_ms\":604800000}" | call "") || {
  echo "$answer" >&2
  exit 75 # in flight, unknown, or the store is away: nothing ran
}
fence=$(echo "$answer" | member fence)
if [ -z "$fence" ]; then
  echo "$answer" | member body_base64 | base64 --decode
  exit 0
fi
if output=$("$@"); then
  result=$(printf '%s\n' "$output" | base64 --wrap=0)
  echo "{$name,\"fence\":\"$fence\",\"result\":{\"content_type\":\"text/plain\",\"body_base64\":\"$result\"}}" | call /complete > /dev/null
  printf '%s\n' "$output"
else
  echo "{$name,\"fence\":\"$fence\",\"outcome\":\"unknown\"}" | call /complete > /dev/null
  exit 1
fi
