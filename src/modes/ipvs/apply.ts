import { inGroups } from '../../lib/groups.ts'
import type { ApplyResult, Change, KernelError, ObjectKey } from '../mode.ts'
import { kindOf, memberKey, memberOf, nameOf, ofKind } from '../netfilter/object-key.ts'
import type { SetMembers } from '../netfilter/set-members.ts'
import { isRegistered, leavingMembersOf, pruneLeaving } from './leaving.ts'
import type { ManagedState } from './managed-state.ts'
import { SETS, type SetRole } from './objects/names.ts'
import {
  isMarked,
  leavingKey,
  pointText,
  serverIdOf,
  serverOfMember,
  servicesKey,
} from './objects/object.ts'
import { schedulerOf } from './servers/server-spec.ts'
import { FOREIGN, type WriteFailures } from './servers/server-writer.ts'
import type { VirtualServers } from './servers/virtual-servers.ts'

/**
 * Writes one change in an order in which no packet meets a partly written Service: first what packets may need (sets,
 * their members, virtual servers), then what leads them there (routes, chains), and last the removal of what is not
 * needed any more. Refusals of the kernel are values by object; a lost answer throws `NodeProxyError`.
 */
export async function applyChange(
  { set, unset }: Change,
  state: ManagedState,
): Promise<ApplyResult> {
  const { sets, chains, transit } = state
  const failures: WriteFailures = { failed: new Map(), left: new Map() }
  const take = (failed: ReadonlyMap<ObjectKey, KernelError>) => {
    for (const [key, why] of failed) failures.failed.set(key, why)
  }
  take(await sets.create(ofKind(set, 'set')))
  await writeServers({ set, unset }, state, failures)
  take(await transit.set(ofKind(set, 'route', 'relay')))
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  take(rules.failed)
  take(await transit.tidy(ofKind(set, 'route')))
  take(await transit.unset(ofKind(unset, 'route', 'relay')))
  const unwantedMembers = ofKind(unset, 'member')
  const needed = stillNeeded(failures.failed, unwantedMembers, state)
  take(needed)
  take(await sets.delete(inOrderOfRemoval(unwantedMembers.filter((key) => !needed.has(key)))))
  take(await sets.destroy(ofKind(unset, 'set')))
  await pruneLeaving(state)
  const left = new Map([...failures.left, ...(rules.left ?? [])])
  return { failed: failures.failed, left, uncertain: rules.uncertain ?? false }
}

/**
 * Of these members, those that record a virtual server of ours which could not be removed, now or earlier, each with the
 * reason. Without them the next daemon would take it for a foreign one.
 */
function stillNeeded(
  failed: ReadonlyMap<ObjectKey, KernelError>,
  unwanted: readonly ObjectKey[],
  { servers, drainer }: ManagedState,
): ReadonlyMap<ObjectKey, KernelError> {
  const ofFailed = new Map(
    [...failed].flatMap(([key, why]) =>
      kindOf(key) === 'vs' ? servicesKey(key).map((member) => [member, why] as const) : [],
    ),
  )
  const needed = new Map<ObjectKey, KernelError>()
  for (const key of unwanted) {
    const server = serverOfMember(key)
    const isRecord = server !== undefined && servicesKey(server).includes(key)
    const isThere = isRecord && servers.texts.has(server) && !drainer.isHeld(server)
    const why = ofFailed.get(key) ?? (isThere ? stays(server) : undefined)
    if (why !== undefined) needed.set(key, why)
  }
  return needed
}

function stays(server: ObjectKey): KernelError {
  return { code: 'NP_IPVS_REFUSED', message: `${nameOf(server)} could not be removed yet` }
}

/**
 * Virtual servers that are paused at once: the kernel takes some milliseconds for each, and the clients of all of them
 * wait.
 */
const PAUSED_AT_ONCE = 16

/**
 * Writes the virtual servers of a change and the set members that refer to them. A set records which virtual servers
 * are ours, so one that no set accepts is not created: the next daemon would take it for a foreign one. A point where
 * another process has a virtual server gets no member either.
 */
async function writeServers(
  change: Change,
  state: ManagedState,
  failures: WriteFailures,
): Promise<void> {
  const work = await excludeForeign({ ...workOf(change, state), state, failures })
  // Without rules to write, all rules are in the kernel already.
  const hasAllRules = ofKind(change.set, 'rule').length === 0
  if (hasAllRules) {
    await claimByLeaving(work)
    await addMembers(work, isOfMasquerade)
    await createServers(work)
    await addMembers(work, (key) => !isOfMasquerade(key))
    await releaseClaims(work)
  } else {
    await addMembers(work)
    await createServers(work)
  }
  await removeServers(work)
  reviewDraining(change, state)
}

/** The virtual servers and members of one change, and where its phases record failures. */
interface Work {
  /** Virtual servers to create or alter. */
  readonly servers: readonly ObjectKey[]
  /** Of `servers`, those that do not exist yet. */
  readonly fresh: readonly ObjectKey[]
  /** Members to add. */
  readonly members: readonly ObjectKey[]
  /** Virtual servers to remove. */
  readonly unwanted: readonly ObjectKey[]
  /** Members to remove. */
  readonly unwantedMembers: readonly ObjectKey[]
  readonly state: ManagedState
  readonly failures: WriteFailures
}

function workOf({ set, unset }: Change, { servers }: ManagedState) {
  const wanted = ofKind(set, 'vs')
  return {
    servers: wanted,
    fresh: wanted.filter((key) => !servers.texts.has(key)),
    members: ofKind(set, 'member'),
    unwanted: ofKind(unset, 'vs'),
    unwantedMembers: ofKind(unset, 'member'),
  }
}

/** Virtual servers wanted at points of other processes fail; later phases do not touch them. */
async function excludeForeign(work: Work): Promise<Work> {
  const { servers, fresh, members, state, failures } = work
  const foreign = await foreignAmong([...servers, ...members], state.servers)
  for (const key of foreign) failures.failed.set(key, foreignError(key))
  const isFree = (key: ObjectKey) => !foreign.has(key)
  return {
    ...work,
    servers: servers.filter(isFree),
    fresh: fresh.filter(isFree),
    members: members.filter(isFree),
  }
}

/**
 * Where our rules exist already, a member of SERVICES leads packets to its point at once. The virtual server must exist
 * before that; meanwhile LEAVING records that it is ours.
 */
async function claimByLeaving({ fresh, state: { sets } }: Work): Promise<void> {
  await sets.add(fresh.flatMap(leavingKey))
}

/** Deletes these members of LEAVING again, once SERVICES records the virtual server. */
async function releaseClaims({ fresh, state: { sets } }: Work): Promise<void> {
  await sets.delete(fresh.filter((key) => isRegistered(key, sets)).flatMap(leavingKey))
}

async function addMembers(
  { members, state, failures: { failed } }: Work,
  isMeant: (member: ObjectKey) => boolean = () => true,
): Promise<void> {
  const { sets, program } = state
  const added = inOrderOfAddition(members.filter((key) => isMeant(key) && !failed.has(key)))
  const refused = await sets.add(added, (key) => program.markOf(key))
  for (const [key, why] of refused) failed.set(key, why)
}

/** Creates or alters the virtual servers that a set records as ours. */
async function createServers(work: Work): Promise<void> {
  const { servers, state, failures } = work
  const { failed } = failures
  for (const key of servers) if (!isOurs(key, state.sets)) failed.set(key, unregistered(key))
  const ours = servers.filter((key) => !failed.has(key))
  const rescheduled = new Set(ours.filter((key) => changesScheduler(key, state)))
  await alter(
    ours.filter((key) => !rescheduled.has(key)),
    work,
  )
  for (const some of inGroups([...rescheduled], PAUSED_AT_ONCE)) {
    await whilePaused(some, state, () => alter(some, work))
  }
}

/** Writes virtual servers; where another process created one first, deletes our members. */
async function alter(keys: readonly ObjectKey[], work: Work): Promise<void> {
  const { members, state, failures } = work
  const { failed, left } = failures
  const { writer, sets } = state
  const result = await writer.apply(keys, [])
  for (const [key, why] of result.failed) failed.set(key, why)
  for (const [key, digest] of result.left) left.set(key, digest)
  await withdrawMembers(sets, { refused: result.failed, members, failed })
}

/** Whether a set, which outlives this process, records that a virtual server is ours. */
function isOurs(server: ObjectKey, sets: SetMembers): boolean {
  const isIn = (key: ObjectKey) => sets.has(memberOf(key).set, memberOf(key).member)
  return isRegistered(server, sets) || leavingKey(server).every(isIn)
}

function unregistered(server: ObjectKey): KernelError {
  const message = `${nameOf(server)} is not served: the set of our virtual servers does not take it`
  return { code: 'NP_IPVS_SET_REFUSED', message }
}

/**
 * Established connections to a virtual server that no Service wants any more still find
 * it, by LEAVING. One that LEAVING refuses is deleted at once: no packet would reach it any
 * more, and no set would record that it is ours.
 */
async function removeServers(work: Work): Promise<void> {
  const { unwanted, state, failures } = work
  const { servers, writer, sets, drainer } = state
  const leaving = new Map(unwanted.map((key) => [key, leavingMembersOf(key, state)]))
  const membersOf = (keys: readonly ObjectKey[]) => keys.flatMap((key) => leaving.get(key) ?? [])
  const refused = new Map(await sets.add(membersOf(unwanted.filter(isMarked))))
  await endShortCircuits(work)
  const result = await writer.apply([], unwanted)
  for (const [key, why] of result.failed) failures.failed.set(key, why)
  const unmarked = result.held.filter((key) => !isMarked(key))
  for (const [key, why] of await sets.add(membersOf(unmarked))) refused.set(key, why)
  const unreachable = result.held.filter((key) => membersOf([key]).some((one) => refused.has(one)))
  await servers.deleteAll(unreachable)
  for (const key of result.held) if (!unreachable.includes(key)) drainer.hold(key)
}

/** Ends the short circuits to virtual servers that are about to be removed; new connections are not dropped instead. */
async function endShortCircuits({ unwantedMembers, state: { sets } }: Work): Promise<void> {
  await sets.delete(inOrderOfRemoval(unwantedMembers.filter(isOfShortCircuit)))
}

function reviewDraining({ set, unset }: Change, { drainer }: ManagedState): void {
  const wanted = ofKind(set, 'vs')
  for (const key of wanted) drainer.release(key)
  drainer.review([...wanted, ...ofKind(unset, 'vs')])
}

/** Virtual servers, and members about them, at points where another process has a virtual server. */
async function foreignAmong(
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

/** Deletes our members at points where another process created its virtual server just before ours. */
async function withdrawMembers(
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

/** The error for a foreign virtual server, or for a member that refers to one. */
function foreignError(key: ObjectKey): KernelError {
  const server = kindOf(key) === 'vs' ? nameOf(key) : memberOf(key).member
  const message = `another process has a virtual server at ${server}; it is left alone. Remove it (ipvsadm -D), or the Service is not served there`
  return { code: FOREIGN, message }
}

type PausingState = Pick<ManagedState, 'servers' | 'program' | 'sets'>

/** Whether a virtual server that exists is about to get another scheduler. */
function changesScheduler(server: ObjectKey, { servers, program }: PausingState): boolean {
  const held = servers.texts.get(server)
  const wanted = program.specOf(server)?.settings.scheduler
  return held !== undefined && wanted !== undefined && schedulerOf(held) !== wanted
}

/**
 * Drops first packets while `write` gives these virtual servers another scheduler: the kernel removes the old
 * scheduler, waits for all processors, and refuses new connections until the new one is set (`ip_vs_edit_service`).
 * Clients send their first packet again.
 */
export async function whilePaused(
  servers: readonly ObjectKey[],
  state: PausingState,
  write: () => Promise<void>,
): Promise<void> {
  const { sets } = state
  const paused = [...new Set(servers.flatMap((server) => pausedKeys(server, state)))]
  await sets.add(paused)
  try {
    await write()
  } finally {
    await sets.delete(paused)
  }
}

/** The point of a virtual server, or all points at which the short circuit leads to its mark. */
function pausedKeys(server: ObjectKey, { sets }: PausingState): readonly ObjectKey[] {
  const id = serverIdOf(server)
  const name = SETS[id.family].name('PAUSED')
  if (!('mark' in id)) return [memberKey(name, pointText(id))]
  const led = sets.keysIn(SETS[id.family].name('SHORTCUT'), id.mark)
  return led.map((key) => memberKey(name, memberOf(key).member))
}

/** The order in which members are added, by the role of their set. */
const RANKS: Partial<Record<SetRole, number>> = {
  ALLOWED: 0,
  SHORTCUT: 0,
  RANGED: 2,
  DROP: 2,
  REJECT: 2,
  SERVICES: 3,
}
/** The rank of all other roles. */
const OTHERS = 1

/**
 * Members in the order in which they are added, so that no packet meets an incomplete state: the sources that may pass
 * come before the member that turns away all others, and what leads packets to the point comes after everything that
 * rules look up for them.
 */
function inOrderOfAddition(members: readonly ObjectKey[]): readonly ObjectKey[] {
  return members.toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** The reverse order: the member that turns clients away is deleted before the sources that may pass. */
export function inOrderOfRemoval(members: readonly ObjectKey[]): readonly ObjectKey[] {
  return members.toSorted((a, b) => rankOf(b) - rankOf(a))
}

/**
 * Whether a member decides who is masqueraded. It is added before the virtual server, which would send packets on
 * unmasqueraded.
 */
function isOfMasquerade(member: ObjectKey): boolean {
  return ['MASQUERADE', 'ONNODE'].includes(roleOf(member))
}

/**
 * Whether a member leads to another virtual server than that of its point, or drops packets that no short circuit
 * takes.
 */
function isOfShortCircuit(member: ObjectKey): boolean {
  return ['SHORTCUT', 'DROP'].includes(roleOf(member))
}

function rankOf(member: ObjectKey): number {
  return RANKS[roleOf(member)] ?? OTHERS
}

function roleOf(member: ObjectKey): SetRole {
  return memberOf(member).set.replace(/^.*-/, '') as SetRole
}
