import { hostPort } from '../lib/ip.ts'
import { activeBackends } from './active-backends.ts'
import { compareBackends } from './backends.ts'
import type { DrainingBackend, ForwardingEntry } from './entry.ts'

const NONE: readonly DrainingBackend[] = Object.freeze([])

/** The present time, and the time for which a backend drains. */
export interface DrainTimes {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** How long a backend that is removed now keeps its connections; 0: it does not drain. */
  readonly seconds: number
}

/**
 * The draining backends of an entry that changes from `before` to `wanted`, sorted: those that `wanted` no
 * longer has, with a deadline from now, and those that drained already and whose deadline is not over. A
 * backend that `wanted` has again is no longer draining.
 */
export function drainingAfter(
  before: ForwardingEntry | undefined,
  wanted: ForwardingEntry,
  { now, seconds }: DrainTimes,
): readonly DrainingBackend[] {
  if (before === undefined || seconds === 0) return NONE
  if (before.pools === wanted.pools && before.draining.length === 0) return NONE
  const active = activeBackends(wanted)
  const draining = before.draining.filter(
    ({ ip, port, until }) => until > now && !active.has(hostPort(ip, port)),
  )
  if (before.pools !== wanted.pools) {
    for (const [key, backend] of activeBackends(before)) {
      if (!active.has(key)) draining.push({ ...backend, until: now + seconds * 1000 })
    }
  }
  return draining.length === 0 ? NONE : draining.sort(compareBackends)
}
