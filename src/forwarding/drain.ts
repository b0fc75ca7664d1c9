import { hostPort } from '../lib/ip.ts'
import { activeBackends } from './active-backends.ts'
import { compareBackends } from './backends.ts'
import type { DrainingBackend, ForwardingEntry } from './entry.ts'

const NONE: readonly DrainingBackend[] = Object.freeze([])

export interface DrainClock {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** How long a backend that leaves now keeps its connections; 0 keeps nothing. */
  readonly seconds: number
}

/**
 * The backends of `before` that `wanted` no longer has and whose time is not up.
 * One that leaves now gets its deadline; one that was leaving keeps its own; one
 * that is back is no longer draining.
 */
export function drainingAfter(
  before: ForwardingEntry | undefined,
  wanted: ForwardingEntry,
  { now, seconds }: DrainClock,
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
