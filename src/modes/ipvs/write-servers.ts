import { inGroups } from '../../lib/groups.ts'
import type { Change, KernelError, ObjectKey } from '../mode.ts'
import { memberOf, nameOf, ofKind } from '../netfilter/objects/object-key.ts'
import type { SetMembers } from '../netfilter/sets/set-members.ts'
import { isRegistered, leavingMembersOf } from './draining/leaving.ts'
import type { ManagedState } from './managed-state.ts'
import { leavingKey } from './objects/member.ts'
import {
  inOrderOfAddition,
  inOrderOfRemoval,
  isOfMasquerade,
  isOfShortCircuit,
} from './objects/member-order.ts'
import { isMarked } from './objects/object.ts'
import { changesScheduler, whilePaused } from './scheduler-change.ts'
import { foreignAmong, foreignError, withdrawMembers } from './servers/foreign-points.ts'
import type { WriteFailures } from './servers/server-writer.ts'

/** The kernel takes some milliseconds for each, and their clients wait for all of them. */
const PAUSED_AT_ONCE = 16

/**
 * Writes the virtual servers of a change and the sets' members about them. A set records which
 * ones are ours, so one that no set accepts is not created: the next daemon would take it for a
 * foreign one. A point where another process has a virtual server gets no member either.
 */
export async function writeServers(
  change: Change,
  state: ManagedState,
  failures: WriteFailures,
): Promise<void> {
  const work = await excludeForeign({ ...workOf(change, state), state, failures })
  const isServing = ofKind(change.set, 'rule').length === 0
  if (isServing) {
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

/** What one change wants of virtual servers, and where its phases note what failed. */
interface Work {
  readonly servers: readonly ObjectKey[]
  /** Of `servers`, those that do not exist yet. */
  readonly fresh: readonly ObjectKey[]
  readonly members: readonly ObjectKey[]
  readonly unwanted: readonly ObjectKey[]
  readonly unwantedMembers: readonly ObjectKey[]
  readonly state: ManagedState
  readonly failures: WriteFailures
}

function workOf({ set, unset }: Change, { servers }: ManagedState) {
  const wanted = ofKind(set, 'vs')
  return {
    servers: wanted,
    fresh: wanted.filter((key) => !servers.known.has(key)),
    members: ofKind(set, 'member'),
    unwanted: ofKind(unset, 'vs'),
    unwantedMembers: ofKind(unset, 'member'),
  }
}

/** What is wanted at points of other processes fails, and no later phase touches it. */
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
 * Our rules stand already, so a member of SERVICES leads packets to its point at once, and the
 * virtual server comes first. Meanwhile LEAVING records that it is ours.
 */
async function claimByLeaving({ fresh, state: { sets } }: Work): Promise<void> {
  await sets.add(fresh.flatMap(leavingKey))
}

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

/** Creates or alters what a set records as ours. */
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

/** Where another process was faster, withdraws. */
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

/** No new connection takes the short circuit to a virtual server that is about to be removed, nor is one dropped instead. */
async function endShortCircuits({ unwantedMembers, state: { sets } }: Work): Promise<void> {
  await sets.delete(inOrderOfRemoval(unwantedMembers.filter(isOfShortCircuit)))
}

function reviewDraining({ set, unset }: Change, { drainer }: ManagedState): void {
  const wanted = ofKind(set, 'vs')
  for (const key of wanted) drainer.release(key)
  drainer.review([...wanted, ...ofKind(unset, 'vs')])
}
