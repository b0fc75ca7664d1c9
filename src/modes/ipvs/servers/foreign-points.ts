import type { KernelError, ObjectKey } from '../../mode.ts'
import { memberOf, nameOf } from '../../netfilter/objects/object-key.ts'
import type { SetMembers } from '../../netfilter/sets/set-members.ts'
import { leavingKey, serverOfMember, servicesKey } from '../objects/member.ts'
import { kindOf } from '../objects/object.ts'
import { FOREIGN } from './run-plans.ts'
import type { VirtualServers } from './virtual-servers.ts'

/** Virtual servers, and members about them, at points where another process has a virtual server. */
export async function foreignAmong(
  keys: readonly ObjectKey[],
  servers: VirtualServers,
): Promise<ReadonlySet<ObjectKey>> {
  if (!servers.hasForeign) return new Set()
  const pointOf = new Map(keys.map((key) => [key, serverOfMember(key) ?? key]))
  const foreign = await servers.foreignAmong(new Set(pointOf.values()))
  return new Set([...pointOf].flatMap(([key, point]) => (foreign.has(point) ? [key] : [])))
}

interface Withdrawal {
  /** Refusals of virtual servers of ours that were to be created. */
  readonly refused: ReadonlyMap<ObjectKey, KernelError>
  /** Members that the same change adds. */
  readonly members: readonly ObjectKey[]
  /** Gets an error for each of them at a foreign point. */
  readonly failed: Map<ObjectKey, KernelError>
}

/** Where another process created its virtual server just now, before ours: deletes our members. */
export async function withdrawMembers(
  sets: SetMembers,
  { refused, members, failed }: Withdrawal,
): Promise<void> {
  const foreign = new Set(
    [...refused].flatMap(([key, { code }]) => (code === FOREIGN ? [key] : [])),
  )
  if (foreign.size === 0) return
  const lost = members.filter((key) => foreign.has(serverOfMember(key) ?? key))
  for (const key of [...foreign, ...lost]) failed.set(key, foreignError(key))
  const claims = [...foreign].flatMap((key) => [...servicesKey(key), ...leavingKey(key)])
  await sets.delete([...lost, ...claims])
}

/** Of a virtual server or a member about one. */
export function foreignError(key: ObjectKey): KernelError {
  const server = kindOf(key) === 'vs' ? nameOf(key) : memberOf(key).member
  const message = `another process has a virtual server at ${server}; it is left alone. Remove it (ipvsadm -D), or the Service is not served there`
  return { code: FOREIGN, message }
}
