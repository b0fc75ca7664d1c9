import { existsSync } from 'node:fs'
import type { LockHolder } from '../../../kernel/owner-lock/owner-lock.ts'
import { type Rights, readRights } from '../kernel/rights.ts'

/** What this process can see of others. */
export interface VisibleRights {
  readonly ownUid: number | undefined
  /** Undefined when the process is not visible. */
  readonly rightsOf: (pid: number) => Rights | undefined
}

const HERE: VisibleRights = { ownUid: process.getuid?.(), rightsOf: rightsOfProcess }

/**
 * Whether the holder of the lock can be a node-proxy that writes rules: any process can listen on an
 * abstract socket name. If its rights are not visible (another PID namespace), it can if it runs as root or as this user.
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
