import type { Change, Digest, ObjectKey, Refusal } from '../mode.ts'
import type { Estate } from './estate.ts'
import { serverOfMember, servicesKey } from './member.ts'
import { kindOf, memberOf, nameOf, ofKind } from './object.ts'
import { FOREIGN } from './run-plans.ts'
import { isRegistered, waysTo } from './ways.ts'

/** Of one change, as in `ApplyResult`; filled step by step. */
export interface Outcome {
  readonly failed: Map<ObjectKey, Refusal>
  readonly left: Map<ObjectKey, Digest>
}

/**
 * Virtual servers and the sets' members about them. A point where somebody else has
 * a virtual server gets no member either: the sets say which ones are ours. So they are
 * told first, and a virtual server that they do not know is not made: it would be
 * somebody else's for whoever comes after us.
 */
export async function writeServers(
  { set, unset }: Change,
  estate: Estate,
  { failed, left }: Outcome,
): Promise<void> {
  const { servers, sets, drainer, program } = estate
  const wanted = ofKind(set, 'vs')
  const unwanted = ofKind(unset, 'vs')
  const members = ofKind(set, 'member')
  const concerned = new Set([...wanted, ...members.flatMap((key) => serverOfMember(key) ?? [])])
  const taken = await servers.foreignAmong([...concerned])
  const isTaken = (key: ObjectKey) => taken.has(serverOfMember(key) ?? key)
  for (const key of [...wanted, ...members]) if (isTaken(key)) failed.set(key, foreign(key))

  const added = members.filter((key) => !isTaken(key))
  for (const [key, why] of await sets.add(added, (key) => program.markOf(key))) failed.set(key, why)
  const free = wanted.filter((key) => !taken.has(key))
  for (const key of free) if (!isRegistered(key, sets)) failed.set(key, unregistered(key))
  const result = await servers.apply(
    free.filter((key) => !failed.has(key)),
    unwanted,
  )
  for (const [key, why] of result.failed) failed.set(key, why)
  for (const [key, digest] of result.left) left.set(key, digest)
  await withdraw(estate, { failed, added, refused: result.failed })
  await keepWays(estate, { held: result.held, wanted })
  drainer.review([...wanted, ...unwanted])
}

interface Withdrawal {
  readonly failed: Map<ObjectKey, Refusal>
  readonly added: readonly ObjectKey[]
  readonly refused: ReadonlyMap<ObjectKey, Refusal>
}

/** Somebody made a virtual server just now where we meant to: our members are taken back. */
async function withdraw({ sets }: Estate, { failed, added, refused }: Withdrawal): Promise<void> {
  const theirs = new Set([...refused].flatMap(([key, { code }]) => (code === FOREIGN ? [key] : [])))
  if (theirs.size === 0) return
  const lost = added.filter((key) => theirs.has(serverOfMember(key) ?? key))
  for (const key of [...theirs, ...lost]) failed.set(key, foreign(key))
  await sets.delete([...lost, ...[...theirs].flatMap(servicesKey)])
}

/** Established connections to a virtual server that nobody wants any more still find it. */
async function keepWays(
  estate: Estate,
  change: { readonly held: readonly ObjectKey[]; readonly wanted: readonly ObjectKey[] },
): Promise<void> {
  const { sets, drainer } = estate
  for (const key of change.held) drainer.hold(key)
  await sets.add(change.held.flatMap((key) => waysTo(key, estate)))
  for (const key of change.wanted) drainer.release(key)
}

function foreign(key: ObjectKey): Refusal {
  const server = kindOf(key) === 'vs' ? nameOf(key) : memberOf(key).member
  const message = `somebody else has a virtual server at ${server}; it is left alone. Remove it (ipvsadm -D), or the Service is not served there`
  return { code: FOREIGN, message }
}

function unregistered(server: ObjectKey): Refusal {
  const message = `${nameOf(server)} is not served: the set of our virtual servers does not take it`
  return { code: 'NP_IPVS_SET_REFUSED', message }
}
