#!/bin/sh
# What pages use of systemctl, on a machine without systemd: starts what a unit says, with the environment, the user and
# the folders that it has, waits until it serves, and stops it.
set -eu
extras=/var/lib/units
run=/run/units
log=/var/log/units
mkdir -p "$run" "$log"

value() {
  sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$file" | sed -n "s/^$1=//p" | tail -n 1
}

start() {
  file=/etc/systemd/system/$unit.service
  [ -e "$file" ] || file=/usr/lib/systemd/system/$unit.service
  user=$(value User)
  for kind in Runtime:/run State:/var/lib Cache:/var/cache Logs:/var/log; do
    name=$(value "${kind%%:*}Directory")
    [ -z "$name" ] || install -d -m 0700 -o "${user:-root}" "${kind#*:}/$name"
  done
  environment=$(value EnvironmentFile)
  environment=${environment#-}
  flags=$(cat "$extras/$unit.flags" 2>/dev/null || true)
  set -a
  [ -z "$environment" ] || . "$environment"
  set +a
  eval "set -- $(value ExecStart) $flags"
  [ -z "$user" ] || set -- setpriv "--reuid=$user" "--regid=$user" --init-groups "$@"
  (
    cd /
    exec setsid "$@" </dev/null >>"$log/$unit.log" 2>&1
  ) &
  echo $! >"$run/$unit.pid"
  until sh "$extras/$unit.ready" >/dev/null 2>&1; do
    kill -0 "$(cat "$run/$unit.pid")"
    sleep 0.1
  done
}

stop() {
  pid=$(cat "$run/$unit.pid")
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}

verb=$1
for unit; do :; done
case $verb in
  start | enable) start ;;
  stop | disable) stop ;;
  restart)
    stop
    start
    ;;
  *)
    echo "systemctl.sh: unknown command $verb" >&2
    exit 64
    ;;
esac
