import { spawnSync } from 'node:child_process'
import { machineFacts } from '../measure/machine.ts'
import type { ApiserverMachine } from '../report/apiserver/results.ts'

/** `etcd` is undefined if it is not installed. */
export function describeMachine(): ApiserverMachine {
  const output = spawnSync('etcd', ['--version'], { encoding: 'utf8' }).stdout ?? ''
  return {
    ...machineFacts(),
    etcd: /etcd Version: ([\d.]+)/.exec(output)?.[1],
  }
}
