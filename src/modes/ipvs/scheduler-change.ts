import type { ObjectKey } from '../mode.ts'
import { memberKey, memberOf } from '../netfilter/objects/object-key.ts'
import { familyOfSet } from '../netfilter/sets/set-name.ts'
import type { ManagedState } from './managed-state.ts'
import { pointText } from './objects/member.ts'
import { type SetRole, setName } from './objects/names.ts'
import { serverIdOf } from './objects/object.ts'
import { splitText } from './servers/server-spec.ts'

type PausingState = Pick<ManagedState, 'servers' | 'program' | 'sets'>

/** Whether a virtual server that exists is about to get another scheduler. */
export function changesScheduler(server: ObjectKey, { servers, program }: PausingState): boolean {
  const held = servers.known.get(server)
  const wanted = program.specOf(server)?.settings.scheduler
  return held !== undefined && wanted !== undefined && splitText(held)[0].split(' ')[0] !== wanted
}

/**
 * Has first packets dropped while `write` gives these virtual servers another scheduler: the kernel takes the old one away,
 * waits for all processors, and refuses new connections until the new one is there (`ip_vs_edit_service`). Clients send
 * their first packet again.
 */
export async function whilePaused(
  servers: readonly ObjectKey[],
  state: PausingState,
  write: () => Promise<void>,
): Promise<void> {
  const { sets, program } = state
  const isIn = (key: ObjectKey) => sets.has(memberOf(key).set, memberOf(key).member)
  const points = servers.flatMap((server) => pointsOf(server, state))
  const dropped = inSet(points, 'DROP').filter((key) => !isIn(key))
  const shortcuts = inSet(points, 'SHORTCUT').filter(isIn)
  await sets.add(dropped)
  await sets.delete(shortcuts)
  await write()
  const marked = shortcuts.filter((key) => program.markOf(key) !== undefined)
  await sets.add(marked, (key) => program.markOf(key))
  await sets.delete(dropped)
}

/** Members of SERVICES: the point of a virtual server, or all points at which the short circuit leads to its mark. */
function pointsOf(server: ObjectKey, { sets }: PausingState): readonly ObjectKey[] {
  const id = serverIdOf(server)
  if (!('mark' in id)) return [memberKey(setName(id.family, 'SERVICES'), pointText(id))]
  return sets.keysIn(setName(id.family, 'SHORTCUT'), id.mark)
}

function inSet(members: readonly ObjectKey[], role: SetRole): readonly ObjectKey[] {
  const keys = members.map((key) => {
    const { set, member } = memberOf(key)
    return memberKey(setName(familyOfSet(set), role), member)
  })
  return [...new Set(keys)]
}
