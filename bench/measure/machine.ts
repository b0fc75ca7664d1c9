import { availableParallelism, release } from 'node:os'

/** The facts about the machine in every report; `kernel` as `6.18`. */
export interface MachineFacts {
  readonly cores: number
  readonly kernel: string
  readonly node: string
}

/** The machine that measures. */
export function machineFacts(): MachineFacts {
  return {
    cores: availableParallelism(),
    kernel: /^\d+\.\d+/.exec(release())?.[0] ?? release(),
    node: process.version,
  }
}
