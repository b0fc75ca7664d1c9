import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { aptInstall } from './apt.ts'
import { step } from './step.ts'

/** What invoke-rc.d and deb-systemd-invoke run before they start a service. */
const POLICY = '/usr/sbin/policy-rc.d'
const SERVICES: Readonly<Record<string, readonly string[]>> = {
  'docker.io': ['docker.socket', 'docker.service'],
  containerd: ['containerd.service'],
  bird2: ['bird.service'],
  frr: ['frr.service'],
}

/** Debian package: a file that it brings. */
export type WantedPackages = Readonly<Record<string, string>>

/**
 * Installs what `who` needs and this machine does not have; returns the packages. The services that come with them are
 * neither started nor enabled: an engine of the machine would write into its packet filter.
 */
export async function installMissing(
  who: string,
  wanted: WantedPackages,
): Promise<readonly string[]> {
  const missing = Object.entries(wanted)
    .filter(([, file]) => !existsSync(file))
    .map(([name]) => name)
  if (missing.length === 0) return []
  if (process.getuid?.() !== 0) {
    throw new Error(`only root can install: apt-get install ${missing.join(' ')}`)
  }
  await step(who, `installing Debian's ${missing.join(', ')}`, () => withoutServices(missing))
  return missing
}

async function withoutServices(packages: readonly string[]): Promise<void> {
  const ours = !existsSync(POLICY)
  if (ours) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await aptInstall(packages)
    const services = packages.flatMap((name) => SERVICES[name] ?? [])
    if (services.length > 0) spawnSync('systemctl', ['--quiet', 'disable', ...services])
  } finally {
    if (ours) rmSync(POLICY)
  }
}
