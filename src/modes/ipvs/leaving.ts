import type { Family } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { memberOf } from '../netfilter/object-key.ts'
import { familyOfSet } from '../netfilter/role-sets.ts'
import type { SetMembers } from '../netfilter/set-members.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import type { Drainer } from './drainer.ts'
import { SETS } from './objects/names.ts'
import { isMarked, leavingKey, serverIdOf, serverOfMember, servicesKey } from './objects/object.ts'
import { isQuiescent } from './servers/server-commands.ts'
import type { VirtualServers } from './servers/virtual-servers.ts'

/** What decides which members of LEAVING are needed. */
export interface LeavingState {
  readonly sets: SetMembers
  readonly servers: Pick<VirtualServers, 'texts'>
  readonly drainer: Drainer
  readonly settings: { readonly netfilter: Pick<NetfilterSettings, 'families'> }
}

/**
 * Members of LEAVING by which established connections find a virtual server that no Service
 * wants any more: its point, or all points at which the short circuit led to its mark.
 */
export function leavingMembersOf(
  server: ObjectKey,
  { sets }: Pick<LeavingState, 'sets'>,
): readonly ObjectKey[] {
  const id = serverIdOf(server)
  if (!('mark' in id)) return leavingKey(server)
  return sets
    .keysIn(SETS[id.family].name('SHORTCUT'), id.mark)
    .flatMap((member) => serverOfMember(member) ?? [])
    .flatMap(leavingKey)
}

/** Deletes what has drained, and the members of LEAVING that led to it. */
export async function endDrained(state: LeavingState): Promise<void> {
  const gone = await state.drainer.step()
  if (gone.length > 0) await pruneLeaving(state)
}

/**
 * Deletes the members of LEAVING that no connection needs any more: their virtual servers
 * are gone, or are wanted again. It is not recorded which points lead to a mark, so all of a family stay while a
 * virtual server of that family that is identified by a mark drains.
 */
export async function pruneLeaving({
  sets,
  servers,
  drainer,
  settings,
}: LeavingState): Promise<void> {
  const { families } = settings.netfilter
  const leaving = families.flatMap((family) => sets.keysIn(SETS[family].name('LEAVING')))
  if (leaving.length === 0) return
  const draining = familiesOfDrainingMarks(servers.texts)
  const gone = leaving.filter((member) => {
    const server = serverOfMember(member) ?? member
    if (drainer.isHeld(server)) return false
    if (isRegistered(server, sets)) return true
    return !servers.texts.has(server) && !draining.has(familyOfSet(memberOf(member).set))
  })
  await sets.delete(gone)
}

function familiesOfDrainingMarks(servers: ReadonlyMap<ObjectKey, string>): ReadonlySet<Family> {
  const families = new Set<Family>()
  for (const [key, text] of servers) {
    if (isMarked(key) && isQuiescent(text)) families.add(serverIdOf(key).family)
  }
  return families
}

/** Whether SERVICES records a virtual server as ours; one with a mark is recognised by its mark. */
export function isRegistered(server: ObjectKey, sets: SetMembers): boolean {
  return servicesKey(server).every((key) => {
    const { set, member } = memberOf(key)
    return sets.has(set, member)
  })
}
