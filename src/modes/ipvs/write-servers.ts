import type { Change, KernelError, ObjectKey } from '../mode.ts'
import { memberOf, nameOf, ofKind } from '../netfilter/object-key.ts'
import type { SetMembers } from '../netfilter/set-members.ts'
import type { ManagedState } from './managed-state.ts'
import { leavingKey, serverOfMember, servicesKey } from './member.ts'
import { kindOf } from './object.ts'
import { isRegistered, leavingMembersOf } from './paths.ts'
import { FOREIGN } from './run-plans.ts'
import type { VirtualServers, WriteFailures } from './virtual-servers.ts'

/**
 * Virtual servers and the sets' members about them. A point where another program has
 * a virtual server gets no member either: the sets register which ones are ours. So one that
 * no set holds is not created: the next daemon would take it for a foreign one.
 *
 * Where our rules stand already, a member of SERVICES leads packets to its point at
 * once, so the virtual server comes first, and is known as ours by LEAVING meanwhile.
 */
export async function writeServers(
  { set, unset }: Change,
  state: ManagedState,
  failures: WriteFailures,
): Promise<void> {
  const wanted = ofKind(set, 'vs')
  const unwanted = ofKind(unset, 'vs')
  const free = await withoutForeign(wanted, ofKind(set, 'member'), { state, failures })
  const work: Work = { ...free, state, failures }
  if (ofKind(set, 'rule').length === 0) await writeWhileServing(work)
  else await writeBeforeRules(work)
  await removeServers(unwanted, state, failures.failed)
  for (const key of wanted) state.drainer.release(key)
  state.drainer.review([...wanted, ...unwanted])
}

/** What one change adds, at points where no other program has a virtual server. */
interface Work {
  readonly servers: readonly ObjectKey[]
  readonly members: readonly ObjectKey[]
  readonly state: ManagedState
  readonly failures: WriteFailures
}

/** Our rules stand: claim new points by LEAVING, create the servers, then let packets in. */
async function writeWhileServing(work: Work): Promise<void> {
  const { servers, sets } = work.state
  const fresh = work.servers.filter((key) => !servers.known.has(key))
  await sets.add(fresh.flatMap(leavingKey))
  await createServers(work)
  await addMembers(work)
  await sets.delete(fresh.filter((key) => isRegistered(key, sets)).flatMap(leavingKey))
}

/** No rule leads packets here yet: register the points, then create the servers. */
async function writeBeforeRules(work: Work): Promise<void> {
  await addMembers(work)
  await createServers(work)
}

async function addMembers({ members, state, failures: { failed } }: Work): Promise<void> {
  const { sets, program } = state
  const added = servicesLast(members.filter((key) => !failed.has(key)))
  const refused = await sets.add(added, (key) => program.markOf(key))
  for (const [key, why] of refused) failed.set(key, why)
}

/** Creates what a set registers as ours; where another program came first, members are removed. */
async function createServers({ servers: keys, members, state, failures }: Work): Promise<void> {
  const { failed, left } = failures
  const { servers, sets } = state
  for (const key of keys) if (!isOurs(key, sets)) failed.set(key, unregistered(key))
  const created = keys.filter((key) => !failed.has(key))
  const result = await servers.apply(created, [])
  for (const [key, why] of result.failed) failed.set(key, why)
  for (const [key, digest] of result.left) left.set(key, digest)
  await withdraw(state, { failed, added: members, refused: result.failed })
}

/** The servers and members of a change, without those at points of other programs, which fail. */
async function withoutForeign(
  servers: readonly ObjectKey[],
  members: readonly ObjectKey[],
  { state, failures }: Pick<Work, 'state' | 'failures'>,
): Promise<Pick<Work, 'servers' | 'members'>> {
  const taken = await takenAmong([...servers, ...members], state.servers)
  for (const key of taken) failures.failed.set(key, foreign(key))
  const isFree = (key: ObjectKey) => !taken.has(key)
  return { servers: servers.filter(isFree), members: members.filter(isFree) }
}

/** Virtual servers, and members about them, at points where another process has one. */
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
 * Established connections to a virtual server that no Service wants any more still find
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
  const refused = await sets.add(result.held.flatMap((key) => leavingMembersOf(key, state)))
  const lost = result.held.filter((key) =>
    leavingMembersOf(key, state).some((member) => refused.has(member)),
  )
  await servers.deleteAll(lost)
  for (const key of result.held) if (!lost.includes(key)) drainer.hold(key)
}

/** Members of SERVICES lead packets on; the other sets that rules match for them come first. */
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

/** Another program created a virtual server at our point just now: our members are removed. */
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
  const message = `another process has a virtual server at ${server}; it is left alone. Remove it (ipvsadm -D), or the Service is not served there`
  return { code: FOREIGN, message }
}

function unregistered(server: ObjectKey): KernelError {
  const message = `${nameOf(server)} is not served: the set of our virtual servers does not take it`
  return { code: 'NP_IPVS_SET_REFUSED', message }
}
