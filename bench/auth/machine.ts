import { availableParallelism, release } from 'node:os'
import type { AuthMachine } from '../report/auth/results.ts'

export function describeMachine(): AuthMachine {
  return {
    cores: availableParallelism(),
    kernel: /^\d+\.\d+/.exec(release())?.[0] ?? release(),
    node: process.version,
  }
}
