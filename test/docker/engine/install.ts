import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { aptInstall } from '../../support/on-demand/apt.ts'
import { step } from '../../support/on-demand/step.ts'

/** Debian package: a file that it brings. */
const WANTED = {
  'docker.io': '/usr/sbin/dockerd',
  containerd: '/usr/bin/containerd',
  runc: '/usr/sbin/runc',
  iptables: '/usr/sbin/iptables',
  binutils: '/usr/bin/strip',
  debootstrap: '/usr/sbin/debootstrap',
  'debian-archive-keyring': '/usr/share/keyrings/debian-archive-keyring.gpg',
} as const

/** What invoke-rc.d and deb-systemd-invoke run before they start a service. */
const POLICY = '/usr/sbin/policy-rc.d'
const SERVICES = ['docker.socket', 'docker.service', 'containerd.service']

/**
 * Installs what an engine of our own needs and this machine does not have; returns the
 * packages. The services that come with them are neither started nor enabled: an
 * engine of the machine would write into its packet filter.
 */
export async function installEngine(): Promise<readonly string[]> {
  const missing = Object.entries(WANTED)
    .filter(([, file]) => !existsSync(file))
    .map(([name]) => name)
  if (missing.length === 0) return []
  if (process.getuid?.() !== 0) {
    throw new Error(`only root can install: apt-get install ${missing.join(' ')}`)
  }
  await step('docker', `installing Debian's ${missing.join(', ')}`, () => withoutServices(missing))
  return missing
}

async function withoutServices(packages: readonly string[]): Promise<void> {
  const ours = !existsSync(POLICY)
  if (ours) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await aptInstall(packages)
    if (packages.includes('docker.io')) spawnSync('systemctl', ['--quiet', 'disable', ...SERVICES])
  } finally {
    if (ours) rmSync(POLICY)
  }
}
