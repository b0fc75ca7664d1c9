import type { ObjectKey } from '../mode.ts'
import type { Estate } from './estate.ts'
import { leavingKey, serverOfMember } from './member.ts'
import { setName } from './names.ts'
import { serverIdOf } from './object.ts'
import { isQuiescent } from './server-commands.ts'

/**
 * Members of LEAVING by which established connections find a virtual server that nobody
 * wants any more: its point, or all points at which the shortcut led to its mark.
 */
export function waysTo(server: ObjectKey, { sets }: Pick<Estate, 'sets'>): readonly ObjectKey[] {
  const id = serverIdOf(server)
  if (!('mark' in id)) return leavingKey(server)
  return sets
    .keysIn(setName(id.family, 'SHORTCUT'), id.mark)
    .flatMap((member) => serverOfMember(member) ?? [])
    .flatMap(leavingKey)
}

/** Ends what has drained; established connections to it need their way no longer. */
export async function endDrained(estate: Estate): Promise<void> {
  const gone = await estate.drainer.step()
  if (gone.length > 0) await forgetWays(estate)
}

/**
 * Empties LEAVING of points without a virtual server. Which of them lead to a mark is not
 * recorded, so all of a family stay as long as one that is known by a mark drains.
 */
export async function forgetWays({ sets, servers, settings }: Estate): Promise<void> {
  const draining = [...servers.known].flatMap(([key, text]) => {
    const id = serverIdOf(key)
    return 'mark' in id && isQuiescent(text) ? [id.family] : []
  })
  const gone = settings.netfilter.families
    .filter((family) => !draining.includes(family))
    .flatMap((family) => sets.keysIn(setName(family, 'LEAVING')))
    .filter((member) => !servers.known.has(serverOfMember(member) ?? member))
  await sets.delete(gone)
}
