#!/bin/sh
# In a kernel with ip_vs: the daemon in ipvs mode, first with all rights for what needs them, then
# with those that config/kubernetes/node-proxy/daemonset.yaml leaves it and a /proc/sys that cannot be written.
set -eu
api=http://127.0.0.1:6443
flags="--proxy-mode=ipvs --master=$api --hostname-override=node"
modprobe ip_vs
ip link add eth0 type dummy
ip addr add 192.0.2.1/24 dev eth0
ip link set eth0 up

node src/apiserver/main.ts --port=6443 >/tmp/api &
until grep -q http /tmp/api; do sleep 0.1; kill -0 $!; done
post() { curl -sSf -H 'content-type: application/json' -d "$2" "$api$1" >/dev/null; }
post /api/v1/namespaces/default/services '{"kind":"Service","apiVersion":"v1",
  "metadata":{"name":"web"},"spec":{"clusterIP":"10.96.0.80","ports":[{"port":80}]}}'
post /apis/discovery.k8s.io/v1/namespaces/default/endpointslices '{"kind":"EndpointSlice",
  "apiVersion":"discovery.k8s.io/v1","addressType":"IPv4","ports":[{"port":8080}],
  "metadata":{"name":"web-1","labels":{"kubernetes.io/service-name":"web"}},
  "endpoints":[{"addresses":["192.0.2.80"],"conditions":{"ready":true}}]}'

bin/node-proxy $flags --init-only
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
echo 'the daemon itself:'
setpriv --bounding-set=-all,+net_admin,+net_raw --inh-caps=-all --no-new-privs \
  bin/node-proxy $flags --oom-score-adj=0 &
until curl -sf 127.0.0.1:10256/readyz >/dev/null; do sleep 0.2; kill -0 $!; done
ipvsadm --save --numeric
kill $!
wait $!
