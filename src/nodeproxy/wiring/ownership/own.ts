import { setTimeout as pause } from 'node:timers/promises'
import { SocketLocks } from '../../../kernel/owner-lock/socket-locks.ts'
import { systemClock as clock } from '../../../lib/clock.ts'
import type { Launch } from '../../config/launch.ts'
import { readRights } from '../kernel/rights.ts'
import { thisProcess } from './describe-owner.ts'
import { NO_OWNERSHIP, type Ownership, takeOwnership } from './take-ownership.ts'

/** What this process does with the rules. */
export interface Task {
  /** Reported to processes that wait for the lock. */
  readonly task: 'daemon' | '--init-only' | '--cleanup'
  readonly mode: () => string
  /** Ends the wait for the lock. */
  readonly stop: Promise<unknown>
}

/** Milliseconds to wait for the lock: a previous process may take as long to stop. `--cleanup` does not wait by default. */
const WAIT_MS = { daemon: 30_000, '--init-only': 30_000, '--cleanup': 0 } as const

/**
 * Makes this process the only one that writes the rules of this network namespace. Without CAP_NET_ADMIN it
 * cannot write any, so it takes no lock.
 * @returns undefined when `stop` resolved first
 * @throws NP_NODEPROXY_LOCKED, NP_NODEPROXY_LOCK_FOREIGN after the wait
 */
export async function own(
  { line, log, version }: Pick<Launch, 'line' | 'log' | 'version'>,
  { task, mode, stop }: Task,
): Promise<Ownership | undefined> {
  if (!readRights().netAdmin) return NO_OWNERSHIP
  const waiting = new AbortController()
  void stop.then(() => waiting.abort())
  const self = thisProcess(process.argv.slice(2), { version, task, mode: '' })
  return takeOwnership({
    ...{ clock, log, signal: waiting.signal },
    locks: new SocketLocks(),
    owner: () => ({ ...self, mode: mode() }),
    waitMs: line.wait ?? WAIT_MS[task],
    pause: (ms) => pause(ms),
  })
}
