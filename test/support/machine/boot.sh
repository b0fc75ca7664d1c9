#!/bin/sh
# The first process of a machine: in namespaces of its own, with the files of this one, of which it changes
# copies in memory. $1: the checkout, which is at /run/checkout, wherever it is here. $2: the kubectl of the machine.
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/checkout
mount --bind "$1" /run/checkout
for folder in etc opt root var/lib var/log var/backups var/cache usr/local; do
  mkdir -p "/run/machine/$folder/new" "/run/machine/$folder/work" "/$folder"
  mount -t overlay overlay "/$folder" \
    -o "lowerdir=/$folder,upperdir=/run/machine/$folder/new,workdir=/run/machine/$folder/work"
done
for folder in tmp var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "/$folder"; done
# What is not of its network is the host's: it can read it.
mount -t sysfs -o ro sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind /proc/sys /proc/sys
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,ro /proc/sys
# Nothing is started but the journal and what a test starts.
for wants in /usr/lib/systemd/system/*.wants; do mount -t tmpfs tmpfs "$wants"; done
rm -rf /etc/systemd/system/*.wants /etc/fstab
mkdir /etc/systemd/system/sysinit.target.wants
for unit in systemd-journald.socket systemd-journald.service; do
  ln -s "/usr/lib/systemd/system/$unit" /etc/systemd/system/sysinit.target.wants/
done
ln -s /dev/null /etc/systemd/system/systemd-remount-fs.service
# The pages leave out where the source comes from, and there is no network to fetch packages by.
cat >/usr/local/bin/git <<'PROGRAM'
#!/bin/sh -eu
[ "$1" = clone ]
for target; do :; done
mkdir -p "$target"
tar -C /run/checkout --exclude=./node_modules --exclude=./.git -c . | tar -C "$target" -x
PROGRAM
cat >/usr/local/bin/npm <<'PROGRAM'
#!/bin/sh -eu
[ "$*" = "ci --omit=dev" ]
ln -s /run/checkout/node_modules node_modules
PROGRAM
chmod +x /usr/local/bin/git /usr/local/bin/npm
[ ! -f "$2" ] || [ "$2" = /usr/local/bin/kubectl ] || ln -sf "$2" /usr/local/bin/kubectl
hostname node-7
echo node-7 >/etc/hostname
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
ip link set lo up
exec env -i "PATH=$PATH" container=other /usr/lib/systemd/systemd --system --unit=basic.target \
  --log-target=null --show-status=false
