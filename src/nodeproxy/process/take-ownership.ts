import { existsSync, readlinkSync } from 'node:fs'
import type {
  LockAttempt,
  LockHolder,
  LockOwner,
  OwnerLock,
  OwnerLocks,
} from '../../kernel/owner-lock.ts'
import type { Clock } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { scrubText } from '../../telemetry/redact.ts'
import { type Rights, readRights } from '../kernel/rights.ts'

const HERE: VisibleRights = { ownUid: process.getuid?.(), rightsOf: rightsOfProcess }

/** What taking the lock needs. */
export interface OwnershipParts {
  readonly locks: OwnerLocks
  /** What this process reports to processes that wait for the lock. */
  readonly owner: () => LockOwner
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly waitMs: number
  /** Waits `ms`, and keeps the process alive meanwhile. */
  readonly pause: (ms: number) => Promise<void>
  /** Aborted: ends the wait. */
  readonly signal: AbortSignal
  readonly mayOwn?: (holder: LockHolder | undefined) => boolean
}

/** The right to write the rules of this network namespace, which one process at a time has. */
export interface Ownership {
  /** Releases the lock, so that another process can write. Idempotent. */
  release(): void
  /** Calls back at once and after each change with the reason why there is no lock; undefined: there is one. */
  follow(report: (problem: string | undefined) => void): void
}

type Taken = Extract<LockAttempt, { kind: 'taken' }>

/** Between two attempts before the process has begun its work. */
const PAUSE_MS = 200
/** Between two attempts of a process that works without the lock. */
const RETRY_MS = 5_000

/**
 * Takes the lock of this network namespace, and waits while another node-proxy holds it. If a process holds it that
 * cannot write rules, this process works without the lock, and takes it when it is free.
 * @returns undefined when `signal` was aborted
 * @throws NP_NODEPROXY_LOCKED, NP_NODEPROXY_LOCK_FOREIGN when the time is over
 */
export async function takeOwnership(parts: OwnershipParts): Promise<Ownership | undefined> {
  const { locks, owner, clock, log, waitMs, pause, signal } = parts
  const deadline = clock.now() + waitMs
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const attempt = await locks.attempt(owner)
    if (attempt.kind === 'held') return new NodeOwnership(parts, attempt)
    if (!(parts.mayOwn ?? mayOwn)(attempt.holder)) return new NodeOwnership(parts, attempt)
    if (clock.now() >= deadline) throw lockError(attempt, waitMs)
    if (isFirst) {
      const who = describeOwner(attempt.owner, attempt.holder)
      log.warn({ wait: formatDuration(waitMs) }, `waiting for the end of ${who}`)
    }
    await pause(PAUSE_MS)
  }
  return undefined
}

/** The ownership of a process without CAP_NET_ADMIN, which needs no lock. */
export const NO_OWNERSHIP: Ownership = { release: () => {}, follow: () => {} }

class NodeOwnership implements Ownership {
  readonly #parts: OwnershipParts
  #lock: OwnerLock | undefined
  #problem: string | undefined
  #report: (problem: string | undefined) => void = () => {}
  #cancel = (): void => {}
  #isReleased = false

  constructor(parts: OwnershipParts, attempt: LockAttempt) {
    this.#parts = parts
    if (attempt.kind === 'held') {
      this.#lock = attempt.lock
      return
    }
    this.#problem = withoutLock(attempt)
    parts.log.warn({ code: 'NP_NODEPROXY_LOCK_FOREIGN' }, this.#problem)
    const round = () => this.#retry()
    this.#cancel = regularly({ clock: parts.clock, everyMs: RETRY_MS, round, onError: () => {} })
  }

  release(): void {
    this.#isReleased = true
    this.#cancel()
    this.#lock?.release()
  }

  follow(report: (problem: string | undefined) => void): void {
    this.#report = report
    report(this.#problem)
  }

  async #retry(): Promise<void> {
    const attempt = await this.#parts.locks.attempt(this.#parts.owner)
    if (attempt.kind === 'taken') {
      const isRival = (this.#parts.mayOwn ?? mayOwn)(attempt.holder)
      this.#problem = isRival ? besideRival(attempt) : withoutLock(attempt)
      return this.#report(this.#problem)
    }
    if (this.#isReleased) return attempt.lock.release()
    this.#cancel()
    this.#lock = attempt.lock
    this.#problem = undefined
    this.#parts.log.info('acquired the lock of this network namespace')
    this.#report(undefined)
  }
}

const LOCK =
  'the lock of node-proxy in this network namespace (the abstract Unix socket @node-proxy)'

function withoutLock({ owner, holder }: Taken): string {
  return `${describeOwner(owner, holder)} holds ${LOCK} without the right to write rules; node-proxy works without the lock, so a second one would not notice it; end that process (NP_NODEPROXY_LOCK_FOREIGN)`
}

function besideRival({ owner, holder }: Taken): string {
  return `${describeOwner(owner, holder)} took ${LOCK} while this process could not; two processes write the same rules; stop one of them (NP_NODEPROXY_LOCKED)`
}

function lockError({ owner, holder }: Taken, waitMs: number): NodeProxyError {
  const who = describeOwner(owner, holder)
  const waited = waitMs > 0 ? ` after ${formatDuration(waitMs)}` : ''
  if (owner === undefined) {
    return new NodeProxyError(
      'NP_NODEPROXY_LOCK_FOREIGN',
      `${who} holds ${LOCK}${waited} and does not answer as a node-proxy`,
      { hint: 'find it with ss -xlp src @node-proxy, end it, and repeat this' },
    )
  }
  return new NodeProxyError(
    'NP_NODEPROXY_LOCKED',
    `another process works on this network namespace${waited}: ${who}; nothing was changed`,
    {
      hint: 'stop it first (systemctl stop node-proxy, or delete its pod), or wait longer for its end: --wait=2m',
    },
  )
}

/** What this process can see of others. */
interface VisibleRights {
  readonly ownUid: number | undefined
  /** Undefined when the process is not visible. */
  readonly rightsOf: (pid: number) => Rights | undefined
}

/**
 * Whether the holder of the lock can be a node-proxy that writes rules; any process can listen on an abstract socket
 * name. If its rights are not visible (another PID namespace), the answer is yes if it runs as root or as this user.
 */
export function mayOwn(holder: LockHolder | undefined, visible: VisibleRights = HERE): boolean {
  if (holder === undefined) return true
  const rights = holder.pid > 0 ? visible.rightsOf(holder.pid) : undefined
  if (rights !== undefined) return rights.netAdmin
  return holder.uid === 0 || holder.uid === visible.ownUid
}

/** The rights of a visible process. */
function rightsOfProcess(pid: number): Rights | undefined {
  const file = `/proc/${pid}/status`
  return existsSync(file) ? readRights(file) : undefined
}

/** What this process reports to others while it has the lock. */
export function thisProcess(
  args: readonly string[],
  facts: Pick<LockOwner, 'version' | 'task' | 'mode'>,
): LockOwner {
  return {
    pid: process.pid,
    pidNamespace: pidNamespace(),
    since: new Date(Date.now() - process.uptime() * 1_000).toISOString(),
    command: scrubText(['node-proxy', ...args].join(' ')),
    ...facts,
  }
}

/** Such as `node-proxy (task "daemon", pid 4711, since …)`; texts are quoted, because another process sent them. */
export function describeOwner(
  owner: LockOwner | undefined,
  holder: LockHolder | undefined,
  ownNamespace: string = pidNamespace(),
): string {
  const seen = holder !== undefined && holder.pid > 0 ? holder.pid : undefined
  if (owner === undefined) {
    const pid = seen === undefined ? 'a process that is not visible from here' : `pid ${seen}`
    return `${pid}${holder === undefined ? '' : ` of user ${holder.uid}`}`
  }
  const { pid, pidNamespace: namespace, since, version, task, mode, command } = owner
  const isElsewhere = namespace !== ownNamespace
  const parts = [
    `task ${quote(task)}`,
    isElsewhere ? `pid ${pid} in another container (${quote(namespace)})` : `pid ${pid}`,
    ...(isElsewhere && seen !== undefined ? [`pid ${seen} from here`] : []),
    `since ${quote(since)}`,
    `version ${quote(version)}`,
    ...(mode === '' ? [] : [`mode ${quote(mode)}`]),
    `command ${quote(command)}`,
  ]
  return `node-proxy (${parts.join(', ')})`
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
