import type { Change, Digest, KernelError, ObjectKey } from '../mode.ts'
import { memberOf, nameOf, ofKind } from '../netfilter/object-key.ts'
import type { SetMembers } from '../netfilter/set-members.ts'
import type { ManagedState } from './managed-state.ts'
import { leavingKey, serverOfMember, servicesKey } from './member.ts'
import { kindOf } from './object.ts'
import { isRegistered, waysTo } from './paths.ts'
import { FOREIGN } from './run-plans.ts'
import type { VirtualServers } from './virtual-servers.ts'

/** Of one change, as in `ApplyResult`; filled step by step. */
export interface Outcome {
  readonly failed: Map<ObjectKey, KernelError>
  readonly left: Map<ObjectKey, Digest>
}

/**
 * Virtual servers and the sets' members about them. A point where somebody else has
 * a virtual server gets no member either: the sets say which ones are ours. So one that
 * no set knows is not made: it would be somebody else's for whoever comes after us.
 *
 * Where our rules stand already, a member of SERVICES leads packets to its point at
 * once, so the virtual server comes first, and is known as ours by LEAVING meanwhile.
 */
export async function writeServers(
  { set, unset }: Change,
  state: ManagedState,
  { failed, left }: Outcome,
): Promise<void> {
  const { servers, sets, drainer, program } = state
  const wanted = ofKind(set, 'vs')
  const unwanted = ofKind(unset, 'vs')
  const members = ofKind(set, 'member')
  const taken = await takenAmong([...wanted, ...members], servers)
  for (const key of taken) failed.set(key, foreign(key))

  const free = wanted.filter((key) => !taken.has(key))
  const added = members.filter((key) => !taken.has(key))
  const join = async () => {
    const joining = servicesLast(added.filter((key) => !failed.has(key)))
    const refused = await sets.add(joining, (key) => program.markOf(key))
    for (const [key, why] of refused) failed.set(key, why)
  }
  const isServing = ofKind(set, 'rule').length === 0
  const fresh = isServing ? free.filter((key) => !servers.known.has(key)) : []
  if (isServing) await sets.add(fresh.flatMap(leavingKey))
  else await join()
  for (const key of free) if (!isOurs(key, sets)) failed.set(key, unregistered(key))
  const result = await servers.apply(
    free.filter((key) => !failed.has(key)),
    [],
  )
  for (const [key, why] of result.failed) failed.set(key, why)
  for (const [key, digest] of result.left) left.set(key, digest)
  await withdraw(state, { failed, added, refused: result.failed })
  if (isServing) await join()
  await sets.delete(fresh.filter((key) => isRegistered(key, sets)).flatMap(leavingKey))
  await removeServers(unwanted, state, failed)
  for (const key of wanted) drainer.release(key)
  drainer.review([...wanted, ...unwanted])
}

/** Virtual servers, and members about them, at points where somebody else has one. */
async function takenAmong(
  keys: readonly ObjectKey[],
  servers: VirtualServers,
): Promise<ReadonlySet<ObjectKey>> {
  if (!servers.hasForeign) return new Set()
  const pointOf = new Map(keys.map((key) => [key, serverOfMember(key) ?? key]))
  const foreign = await servers.foreignAmong(new Set(pointOf.values()))
  return new Set([...pointOf].flatMap(([key, point]) => (foreign.has(point) ? [key] : [])))
}

/**
 * Established connections to a virtual server that nobody wants any more still find
 * it, by LEAVING. One that LEAVING refuses ends at once: nothing leads there any more,
 * and nothing would say that it is ours.
 */
async function removeServers(
  unwanted: readonly ObjectKey[],
  state: ManagedState,
  failed: Map<ObjectKey, KernelError>,
): Promise<void> {
  const { servers, sets, drainer } = state
  const result = await servers.apply([], unwanted)
  for (const [key, why] of result.failed) failed.set(key, why)
  const refused = await sets.add(result.held.flatMap((key) => waysTo(key, state)))
  const lost = result.held.filter((key) => waysTo(key, state).some((way) => refused.has(way)))
  await servers.deleteAll(lost)
  for (const key of result.held) if (!lost.includes(key)) drainer.hold(key)
}

/** Members of SERVICES lead packets on; what the rules ask about those packets is there before. */
function servicesLast(members: readonly ObjectKey[]): readonly ObjectKey[] {
  const leads = (key: ObjectKey) => memberOf(key).set.endsWith('-SERVICES')
  return [...members.filter((key) => !leads(key)), ...members.filter(leads)]
}

/** Whether a set that stays when we are killed says that a virtual server is ours. */
function isOurs(server: ObjectKey, sets: SetMembers): boolean {
  const isIn = (key: ObjectKey) => sets.has(memberOf(key).set, memberOf(key).member)
  return isRegistered(server, sets) || leavingKey(server).every(isIn)
}

interface Withdrawal {
  readonly failed: Map<ObjectKey, KernelError>
  readonly added: readonly ObjectKey[]
  readonly refused: ReadonlyMap<ObjectKey, KernelError>
}

/** Somebody made a virtual server just now where we meant to: our members are taken back. */
async function withdraw(
  { sets }: ManagedState,
  { failed, added, refused }: Withdrawal,
): Promise<void> {
  const theirs = new Set([...refused].flatMap(([key, { code }]) => (code === FOREIGN ? [key] : [])))
  if (theirs.size === 0) return
  const lost = added.filter((key) => theirs.has(serverOfMember(key) ?? key))
  for (const key of [...theirs, ...lost]) failed.set(key, foreign(key))
  const claims = [...theirs].flatMap((key) => [...servicesKey(key), ...leavingKey(key)])
  await sets.delete([...lost, ...claims])
}

function foreign(key: ObjectKey): KernelError {
  const server = kindOf(key) === 'vs' ? nameOf(key) : memberOf(key).member
  const message = `somebody else has a virtual server at ${server}; it is left alone. Remove it (ipvsadm -D), or the Service is not served there`
  return { code: FOREIGN, message }
}

function unregistered(server: ObjectKey): KernelError {
  const message = `${nameOf(server)} is not served: the set of our virtual servers does not take it`
  return { code: 'NP_IPVS_SET_REFUSED', message }
}
