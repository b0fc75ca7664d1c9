#!/bin/sh
# The first process of a machine with a Debian of its own: in namespaces of its own, it changes copies in memory.
# $1: a folder with a Debian; $2: a folder that is /run/packages.
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/new /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$1,upperdir=/mnt/new,workdir=/mnt/work" /mnt/root
packages=$(readlink -f "$2")
cd /mnt/root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
for folder in tmp var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "$folder"; done
mkdir run/packages old
mount --bind "$packages" run/packages
# What is not of its network is the host's: it can read it.
mount --bind proc/sys proc/sys
mount --bind proc/sys/net proc/sys/net
mount -o remount,bind,ro proc/sys
pivot_root . old
cd /
umount -l /old
rmdir /old
# Nothing is started but the journal and what a test starts.
for wants in /usr/lib/systemd/system/*.wants; do mount -t tmpfs tmpfs "$wants"; done
rm -rf /etc/systemd/system/*.wants /etc/fstab /usr/sbin/policy-rc.d
mkdir /etc/systemd/system/sysinit.target.wants
for unit in systemd-journald.socket systemd-journald.service; do
  ln -s "/usr/lib/systemd/system/$unit" /etc/systemd/system/sysinit.target.wants/
done
ln -s /dev/null /etc/systemd/system/systemd-remount-fs.service
mkdir -p /var/cache/apt/archives/partial /var/lib/apt/lists/partial /var/log/apt
# Nobody is there to answer.
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90answers
hostname node-7
echo node-7 >/etc/hostname
echo 127.0.0.1 localhost node-7 >/etc/hosts
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
ip link set lo up
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other /usr/lib/systemd/systemd --system \
  --unit=basic.target --log-target=null --show-status=false
