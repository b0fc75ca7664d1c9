import type { ObjectKey } from '../mode.ts'
import { memberKey, memberOf } from '../netfilter/objects/object-key.ts'
import type { ManagedState } from './managed-state.ts'
import { pointText } from './objects/member.ts'
import { setName } from './objects/names.ts'
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
  const name = setName(id.family, 'PAUSED')
  if (!('mark' in id)) return [memberKey(name, pointText(id))]
  const led = sets.keysIn(setName(id.family, 'SHORTCUT'), id.mark)
  return led.map((key) => memberKey(name, memberOf(key).member))
}
