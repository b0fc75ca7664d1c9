import { existsSync } from 'node:fs'
import type { LockHolder } from '../../../kernel/owner-lock/owner-lock.ts'
import { type Rights, readRights } from '../kernel/rights.ts'

export interface Judgement {
  readonly ownUid: number | undefined
  /** Undefined when the process is not visible. */
  readonly rightsOf: (pid: number) => Rights | undefined
}

const HERE: Judgement = { ownUid: process.getuid?.(), rightsOf: rightsOfProcess }

/**
 * Whether the holder of the lock can be a node-proxy that writes this kernel: any process can take an
 * abstract name. Where its rights are not visible (another PID namespace), root and our own user can.
 */
export function mayOwn(holder: LockHolder | undefined, judgement: Judgement = HERE): boolean {
  if (holder === undefined) return true
  const rights = holder.pid > 0 ? judgement.rightsOf(holder.pid) : undefined
  if (rights !== undefined) return rights.netAdmin
  return holder.uid === 0 || holder.uid === judgement.ownUid
}

/** Every process may read the rights of every other one. */
function rightsOfProcess(pid: number): Rights | undefined {
  const file = `/proc/${pid}/status`
  return existsSync(file) ? readRights(file) : undefined
}
