import { installMissing } from '../../support/on-demand/install-missing.ts'

const WANTED = {
  'docker.io': '/usr/sbin/dockerd',
  containerd: '/usr/bin/containerd',
  runc: '/usr/sbin/runc',
  iptables: '/usr/sbin/iptables',
  debootstrap: '/usr/sbin/debootstrap',
  'debian-archive-keyring': '/usr/share/keyrings/debian-archive-keyring.gpg',
} as const

/** Installs what an engine of our own needs and this machine does not have; returns the packages. */
export function installEngine(): Promise<readonly string[]> {
  return installMissing('docker', WANTED)
}
