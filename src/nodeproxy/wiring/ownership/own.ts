import { setTimeout as pause } from 'node:timers/promises'
import { SocketLocks } from '../../../kernel/owner-lock/socket-locks.ts'
import { systemClock as clock } from '../../../lib/clock.ts'
import type { Launch } from '../../config/launch.ts'
import { readRights } from '../kernel/rights.ts'
import { thisProcess } from './describe-owner.ts'
import { NO_OWNERSHIP, type Ownership, takeOwnership } from './take-ownership.ts'

export interface Task {
  /** For processes that want the lock. */
  readonly task: 'daemon' | '--init-only' | '--cleanup'
  readonly mode: () => string
  /** Ends the wait. */
  readonly stop: Promise<unknown>
}

/** As long as a predecessor may take to stop writing. An operator does not expect `--cleanup` to wait. */
const WAIT_MS = { daemon: 30_000, '--init-only': 30_000, '--cleanup': 0 } as const

/**
 * Makes this process the one that writes this network namespace. Without CAP_NET_ADMIN it cannot write
 * anything, and any number of such processes may serve at addresses of their own.
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
