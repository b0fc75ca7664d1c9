import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeNamespaces } from './namespace.ts'
import { enterControl } from './topology.ts'

/**
 * Enters a new control namespace, and removes what earlier runs left. @returns a folder, which is removed together with
 * the namespaces when this process ends
 */
export function enterLab(): string {
  const folder = mkdtempSync(join(tmpdir(), 'npbench-'))
  removeNamespaces()
  process.once('exit', () => {
    removeNamespaces(process.pid)
    rmSync(folder, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  enterControl()
  return folder
}
