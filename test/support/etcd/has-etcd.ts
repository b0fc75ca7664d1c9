import { spawnSync } from 'node:child_process'

/**
 * Whether tests can start an etcd: `describe.runIf(hasEtcd())`. Where it is
 * missing they are skipped, and it says so; with `CI=true` that is a failure.
 */
export function hasEtcd(): boolean {
  if (spawnSync('etcd', ['--version']).status === 0) return true
  const words = "no etcd: its tests need Debian's package etcd-server (scripts/setup installs it)"
  if (process.env['CI'] === 'true') throw new Error(words)
  process.stderr.write(`${words}\n`)
  return false
}
