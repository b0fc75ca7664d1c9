import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, release } from 'node:os'
import type { UserspaceMachine } from '../report/userspace/results.ts'

export function describeMachine(): UserspaceMachine {
  return {
    cores: availableParallelism(),
    kernel: /^\d+\.\d+/.exec(release())?.[0] ?? release(),
    haproxy: versionOf('haproxy'),
    nginx: versionOf('nginx'),
    node: process.version,
  }
}

/** Descriptors that one process may have at most. */
export function descriptorLimit(): number {
  return parseDescriptorLimit(readFileSync('/proc/self/limits', 'utf8'))
}

/** Of /proc/PID/limits the second figure, the hard limit. */
export function parseDescriptorLimit(text: string): number {
  const limit = /^Max open files +\S+ +(\S+)/m.exec(text)?.[1]
  return limit === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(limit)
}

function versionOf(program: string): string {
  const { stdout, stderr } = spawnSync(program, ['-v'], { encoding: 'utf8' })
  return /\d+\.[\d.]+/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown'
}
