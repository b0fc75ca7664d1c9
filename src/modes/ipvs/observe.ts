import type { VirtualServer } from '../../kernel/ipvs/ipvs.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { ofKind } from '../netfilter/object-key.ts'
import { pruneLeaving } from './leaving.ts'
import type { ManagedState } from './managed-state.ts'
import { SETS } from './objects/names.ts'
import { pointText, serverIdOf } from './objects/object.ts'
import { isShortCircuitMark, markPattern } from './objects/short-circuit-mark.ts'
import { isQuiescent } from './servers/server-commands.ts'
import { digestOf } from './servers/server-spec.ts'

/** What the kernel holds of ours: all, or these objects. */
export async function observe(
  state: ManagedState,
  keys: readonly ObjectKey[] | undefined,
): Promise<ReadonlyMap<ObjectKey, Digest>> {
  if (keys === undefined) return observeAll(state)
  const { servers, sets, chains, transit, drainer } = state
  const seen = new Map(await chains.observe(ofKind(keys, 'rule')))
  const take = (found: ReadonlyMap<ObjectKey, Digest>) => {
    for (const [key, digest] of found) seen.set(key, digest)
  }
  take(await sets.observe(ofKind(keys, 'set', 'member')))
  const virtual = ofKind(keys, 'vs')
  await servers.observeSome(virtual)
  drainer.review(virtual)
  take(serverDigests(state, virtual))
  if (ofKind(keys, 'route', 'relay').length > 0) take(await transit.observe())
  return seen
}

/** Reads all our objects from the kernel; virtual servers that were draining there go on draining. */
export async function observeAll(state: ManagedState): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const { servers, sets, chains, transit, drainer } = state
  const rules = await chains.observe()
  const members = await sets.observe()
  await servers.observe((server) => isOurs(server, state))
  await pruneLeaving(state)
  for (const [key, text] of servers.texts) {
    if (isLeaving(key, state) && isQuiescent(text)) drainer.hold(key)
  }
  drainer.review(servers.texts.keys())
  const digests = serverDigests(state, servers.texts.keys())
  return new Map([...rules, ...members, ...digests, ...(await transit.observe())])
}

/** Leaves out virtual servers that only wait for their connections to end: they do not count as drift. */
function serverDigests(
  { servers, drainer }: ManagedState,
  keys: Iterable<ObjectKey>,
): ReadonlyMap<ObjectKey, Digest> {
  const digests = new Map<ObjectKey, Digest>()
  for (const key of keys) {
    const text = servers.texts.get(key)
    if (text !== undefined && !drainer.isHeld(key)) digests.set(key, digestOf(text))
  }
  return digests
}

/** A virtual server is ours if our sets record it; they stay when the daemon dies. */
function isOurs({ id }: VirtualServer, { sets, settings }: ManagedState): boolean {
  if ('mark' in id) return isShortCircuitMark(id.mark, markPattern(settings.netfilter))
  const text = pointText(id)
  return (['SERVICES', 'LEAVING'] as const).some((role) =>
    sets.has(SETS[id.family].name(role), text),
  )
}

function isLeaving(key: ObjectKey, { sets }: ManagedState): boolean {
  const id = serverIdOf(key)
  return !('mark' in id) && sets.has(SETS[id.family].name('LEAVING'), pointText(id))
}
