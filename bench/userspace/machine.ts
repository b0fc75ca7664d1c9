import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { machineFacts } from '../measure/machine.ts'
import type { UserspaceMachine } from '../report/userspace/results.ts'

export function describeMachine(): UserspaceMachine {
  return {
    ...machineFacts(),
    haproxy: versionOf('haproxy'),
    nginx: versionOf('nginx'),
  }
}

/** Descriptors that one process may have at most. */
export function descriptorLimit(): number {
  return parseDescriptorLimit(readFileSync('/proc/self/limits', 'utf8'))
}

/** Reads the hard limit, the second figure, from the text of /proc/PID/limits. */
export function parseDescriptorLimit(text: string): number {
  const limit = /^Max open files +\S+ +(\S+)/m.exec(text)?.[1]
  return limit === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(limit)
}

function versionOf(program: string): string {
  const { stdout, stderr } = spawnSync(program, ['-v'], { encoding: 'utf8' })
  return /\d+\.[\d.]+/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown'
}
