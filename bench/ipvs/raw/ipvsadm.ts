import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const TIMEOUT_MS = 300_000

/** Deletes every virtual server, as a foreign program would; returns `performance.now()` of its end. */
export function clearAll(namespace: string): number {
  run(namespace, 'ipvsadm -C')
  return performance.now()
}

/**
 * Writes a file for `ipvsadm --restore`. @returns a function that restores it in a namespace, and returns how long that
 * took
 */
export function prepareRestore(folder: string, text: string): (namespace: string) => number {
  const file = join(folder, 'ipvsadm-restore')
  writeFileSync(file, text)
  return (namespace) => {
    const startedAt = performance.now()
    run(namespace, `ipvsadm --restore <${file}`)
    return performance.now() - startedAt
  }
}

function run(namespace: string, command: string): void {
  const done = spawnSync('ip', ['netns', 'exec', namespace, 'sh', '-c', command], {
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
  })
  if (done.status !== 0) throw new Error(`${command}: ${done.stderr.trim()}`)
}
