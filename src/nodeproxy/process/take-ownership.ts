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

/** What `takeOwnership` uses. */
export interface OwnershipParts {
  readonly locks: OwnerLocks
  /** What this process reports to processes that wait for the lock. */
  readonly owner: () => LockOwner
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** How long to wait for the end of another node-proxy, in milliseconds. */
  readonly waitMs: number
  /** Waits `ms`, and keeps the process alive meanwhile. */
  readonly pause: (ms: number) => Promise<void>
  /** When it is aborted, the wait ends. */
  readonly signal: AbortSignal
  /** Whether the holder can be a node-proxy that writes rules. Default: `mayOwn`. */
  readonly mayOwn?: (holder: LockHolder | undefined) => boolean
}

/** The right to write the rules of this network namespace, which one process at a time has. */
export interface Ownership {
  /** Releases the lock, so that another process can write. Idempotent. */
  release(): void
  /**
   * Calls `report` at once and after each later attempt to take the lock, with the reason why this process does not
   * have it; undefined: it has the lock.
   */
  follow(report: (problem: string | undefined) => void): void
}

type Taken = Extract<LockAttempt, { kind: 'taken' }>

/** Milliseconds between two attempts while the process waits for the lock and has not begun its work. */
const PAUSE_MS = 200
/** Milliseconds between two attempts of a process that works without the lock. */
const RETRY_MS = 5_000

/**
 * Takes the lock of this network namespace. While another node-proxy holds it, waits up to `waitMs`. If the holder is a
 * process that cannot write rules, this process works without the lock, and takes it when it becomes free.
 * @returns undefined if `signal` was aborted first
 * @throws NP_NODEPROXY_LOCKED when the time is over, or NP_NODEPROXY_LOCK_FOREIGN if the holder does not answer as a
 * node-proxy
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

/** An ownership with the lock, or one that tries to get the lock every 5 s. */
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

/** What this process knows of its own user and of the rights of other processes. */
interface VisibleRights {
  readonly ownUid: number | undefined
  /** The rights of a process; undefined if it is not visible. */
  readonly rightsOf: (pid: number) => Rights | undefined
}

const HERE: VisibleRights = { ownUid: process.getuid?.(), rightsOf: rightsOfProcess }

/**
 * Whether the holder of the lock can be a node-proxy that writes rules. This is not certain, because any process can
 * listen on the name of an abstract socket. The holder can be one if it has CAP_NET_ADMIN. If its rights are not
 * visible, because it is in another PID namespace, it can be one if it runs as root or as the user of this process. If
 * nothing is known about the holder, it can be one.
 */
export function mayOwn(holder: LockHolder | undefined, visible: VisibleRights = HERE): boolean {
  if (holder === undefined) return true
  const rights = holder.pid > 0 ? visible.rightsOf(holder.pid) : undefined
  if (rights !== undefined) return rights.netAdmin
  return holder.uid === 0 || holder.uid === visible.ownUid
}

/** The rights of a process as /proc shows them; undefined if it is not visible there. */
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

/**
 * The holder of the lock as messages name it: `node-proxy (task "daemon", pid 4711, since …)`. Texts are quoted,
 * because another process sent them.
 */
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

/** The PID namespace of this process, `pid:[4026531836]`; empty if it cannot be read. */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
