import { spawnSync } from 'node:child_process'
import { availableParallelism, release } from 'node:os'
import type { ApiserverMachine } from '../report/apiserver/results.ts'

/** `etcd` is undefined where there is none. */
export function describeMachine(): ApiserverMachine {
  const output = spawnSync('etcd', ['--version'], { encoding: 'utf8' }).stdout ?? ''
  return {
    cores: availableParallelism(),
    kernel: /^\d+\.\d+/.exec(release())?.[0] ?? release(),
    etcd: /etcd Version: ([\d.]+)/.exec(output)?.[1],
    node: process.version,
  }
}
