import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type Machine, startMachine } from '../support/machine/machine.ts'

/** The versions of the packages that `npm run test:packages` builds: two minor versions, one after the other. */
export const VERSIONS = { old: '0.1.0', new: '0.2.0' } as const

export const PROGRAMS = ['node-proxy', 'orch-server', 'orchctl'] as const

/** An upgrade of all of them, on a machine that is many times slower than it should be. */
const COMMAND_MS = 600_000

const folder = process.env['NP_PACKAGES'] ?? ''

/** The file of a package. */
export function packageFile(
  version: keyof typeof VERSIONS,
  name: (typeof PROGRAMS)[number],
): string {
  const architecture = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim()
  return join(folder, 'shared', version, `${name}_${VERSIONS[version]}_${architecture}.deb`)
}

/** The npm package of orchctl. */
export function npmPackageFile(): string {
  return join(folder, 'shared/new', `orchctl-${VERSIONS.new}.tgz`)
}

/** Starts a machine with a Debian of its own; the packages are in `/run/packages/old` and `/run/packages/new`. */
export async function startDebian(): Promise<Machine> {
  const script = join(import.meta.dirname, 'boot.sh')
  const machine = await startMachine({
    script,
    args: [join(folder, 'debian'), join(folder, 'shared')],
    commandMs: COMMAND_MS,
  })
  return { ...machine, sh: (text, input) => machine.sh(`cd /root\n${text}`, input) }
}
