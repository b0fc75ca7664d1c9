#!/bin/bash
# The first process of a node, in namespaces of its own: makes the node's root file system and
# control groups, says "booted", and reaps processes until it is killed. With it, everything of the node ends.
#
#   boot.sh NAME DISK SHARED HIERARCHY...
#
# DISK is a folder that survives a reboot. SHARED are folders of the machine, one a line, which the node has at the same
# places. A hierarchy of control groups is OPTIONS:NAME, as in "cpu,cpuacct:cpu,cpuacct".
set -eu
name=$1 disk=$2 shared=$3
shift 3

# The machine's own files below, and above them a file system in memory: nothing reaches the machine.
above=$disk/above root=$disk/root
mkdir -p "$above" "$root"
mount -t tmpfs tmpfs "$above"
mkdir "$above/upper" "$above/work"
mount -t overlay -o "lowerdir=/,upperdir=$above/upper,workdir=$above/work" overlay "$root"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
for hierarchy; do
  group=$root/sys/fs/cgroup/${hierarchy#*:}
  mkdir "$group"
  mount -t cgroup -o "${hierarchy%%:*}" cgroup "$group"
done
for place in var/lib var/log; do
  mkdir -p "$disk/$place"
  mount --bind "$disk/$place" "$root/$place"
done
while read -r place; do
  mkdir -p "$root$place"
  mount --bind "$place" "$root$place"
done <<<"$shared"

# A kubelet sets these for the whole machine. Here it finds them as it wants them.
while read -r setting value; do
  echo "$value" >"$above/${setting//\//-}"
  mount --bind "$above/${setting//\//-}" "$root/proc/sys/$setting"
done <<'END'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END

cd "$root"
mkdir -p mnt/machine
pivot_root . mnt/machine
umount -l /mnt/machine
# kubelet and containerd share it, so that a volume that one mounts is there for the other.
mount --make-rshared /
hostname "$name"
echo booted
sleep infinity &
wait
