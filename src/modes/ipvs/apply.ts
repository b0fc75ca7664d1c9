import type { ApplyResult, Change, Digest, ObjectKey, Refusal } from '../mode.ts'
import type { Estate } from './estate.ts'
import { leavingKey, serverOfMember } from './member.ts'
import { type Kind, kindOf, memberOf, nameOf } from './object.ts'

/**
 * Writes one change, in an order in which no packet meets half of it: what packets
 * may need comes first (sets, their members, virtual servers), then what leads them
 * there (routes, chains), and what is not needed any more goes last.
 */
export async function applyChange({ set, unset }: Change, estate: Estate): Promise<ApplyResult> {
  const { sets, chains, transit } = estate
  const outcome: Outcome = { failed: new Map(), left: new Map() }
  const take = (failed: ReadonlyMap<ObjectKey, Refusal>) => {
    for (const [key, why] of failed) outcome.failed.set(key, why)
  }
  take(await sets.create(ofKind(set, 'set')))
  await writeServers({ set, unset }, estate, outcome)
  take(await transit.set(ofKind(set, 'route', 'relay')))
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  take(rules.failed)
  await transit.unset(ofKind(unset, 'route', 'relay'))
  take(await sets.delete(ofKind(unset, 'member')))
  take(await sets.destroy(ofKind(unset, 'set')))
  const left = new Map([...outcome.left, ...(rules.left ?? [])])
  return { failed: outcome.failed, left, uncertain: rules.uncertain ?? false }
}

interface Outcome {
  readonly failed: Map<ObjectKey, Refusal>
  readonly left: Map<ObjectKey, Digest>
}

/**
 * Virtual servers and the sets' members about them. A point where somebody else has
 * a virtual server gets no member either: the sets say which ones are ours.
 */
async function writeServers({ set, unset }: Change, estate: Estate, { failed, left }: Outcome) {
  const { servers, sets, drainer, program } = estate
  const wanted = ofKind(set, 'vs')
  const members = ofKind(set, 'member')
  const concerned = new Set([...wanted, ...members.flatMap((key) => serverOfMember(key) ?? [])])
  const taken = await servers.foreignAmong([...concerned])
  const isTaken = (key: ObjectKey) => taken.has(serverOfMember(key) ?? key)
  for (const key of [...wanted, ...members]) if (isTaken(key)) failed.set(key, foreign(key))

  const added = members.filter((key) => !isTaken(key))
  for (const [key, why] of await sets.add(added, (key) => program.markOf(key))) failed.set(key, why)
  const result = await servers.apply(
    wanted.filter((key) => !taken.has(key)),
    ofKind(unset, 'vs'),
  )
  for (const [key, why] of result.failed) failed.set(key, why)
  for (const [key, digest] of result.left) left.set(key, digest)
  await withdraw(estate, { failed, added })
  await keepWays(estate, { held: result.held, wanted })
  drainer.review([...wanted, ...ofKind(unset, 'vs')])
}

/** Somebody made a virtual server just now where we meant to: our members are taken back. */
async function withdraw(
  { sets }: Estate,
  {
    failed,
    added,
  }: { readonly failed: Map<ObjectKey, Refusal>; readonly added: readonly ObjectKey[] },
): Promise<void> {
  const lost = added.filter((key) => {
    const server = serverOfMember(key)
    return server !== undefined && failed.get(server)?.code === FOREIGN
  })
  for (const key of lost) failed.set(key, foreign(key))
  await sets.delete(lost)
}

/** Established connections to a virtual server that nobody wants any more still find it. */
async function keepWays(
  { sets, drainer }: Estate,
  change: { readonly held: readonly ObjectKey[]; readonly wanted: readonly ObjectKey[] },
): Promise<void> {
  for (const key of change.held) drainer.hold(key)
  await sets.add(change.held.flatMap(leavingKey))
  const back = change.wanted.filter((key) => drainer.isHeld(key))
  for (const key of back) drainer.release(key)
  await sets.delete(back.flatMap(leavingKey))
}

const FOREIGN = 'NP_IPVS_FOREIGN'

function foreign(key: ObjectKey): Refusal {
  const server = kindOf(key) === 'vs' ? nameOf(key) : memberOf(key).member
  const message = `somebody else has a virtual server at ${server}; it is left alone. Remove it (ipvsadm -D), or the Service is not served there`
  return { code: FOREIGN, message }
}

function ofKind(keys: readonly ObjectKey[], ...kinds: readonly Kind[]): readonly ObjectKey[] {
  return keys.filter((key) => kinds.includes(kindOf(key)))
}
