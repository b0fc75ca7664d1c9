#!/bin/sh
# scp FILE... HOST:PATH between machines without SSH servers: the test puts the files there after the script.
set -eu
for to; do :; done
number=$(find EXCHANGE -name 'scp.*' | wc -l)
box=EXCHANGE/scp.$number
mkdir "$box"
echo "$to" >"$box/to"
while [ $# -gt 1 ]; do
  cp "$1" "$box/"
  shift
done
