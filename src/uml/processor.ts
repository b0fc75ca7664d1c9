import { readFileSync } from 'node:fs'

/**
 * The processor for a kernel: of those that this process may use the `turn`-th, counted
 * round. User-mode Linux is two processes that take turns with every system call; on one
 * processor that is three times as fast as on two.
 */
export function processorFor(turn: number): number {
  const usable = processorsOf(readFileSync('/proc/self/status', 'utf8'))
  return usable[turn % usable.length] ?? 0
}

/** The processors that the text of a /proc/PID/status allows: `0-2,8` are four. */
export function processorsOf(status: string): readonly number[] {
  const [, list = '0'] = /^Cpus_allowed_list:\s+(.*)$/m.exec(status) ?? []
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}
