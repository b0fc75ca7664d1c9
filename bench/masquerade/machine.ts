import { spawnSync } from 'node:child_process'
import { machineFacts } from '../measure/machine.ts'
import type { MasqueradeMachine } from '../report/masquerade/results.ts'

export function describeMachine(): MasqueradeMachine {
  const { stdout } = spawnSync('iptables', ['--version'], { encoding: 'utf8' })
  return { ...machineFacts(), iptables: /v[\d.]+/.exec(stdout)?.[0] ?? 'unknown' }
}
