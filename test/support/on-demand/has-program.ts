import { spawnSync } from 'node:child_process'

/**
 * Whether tests can start a program: `describe.runIf(hasProgram('etcd', 'etcd-server'))`. If it is missing, the tests
 * are skipped, and a line on stderr names its Debian package; with `CI=true` a missing program is an error.
 */
export function hasProgram(command: string, debianPackage: string): boolean {
  if (spawnSync(command, ['--version']).status === 0) return true
  const message = `no ${command}: its tests need the Debian package ${debianPackage}; scripts/setup installs it`
  if (process.env['CI'] === 'true') throw new Error(message)
  process.stderr.write(`${message}\n`)
  return false
}
