import type { Family } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import type { ManagedState } from '../kernel/managed-state.ts'
import { SET, tableOf } from '../keys/names.ts'
import { objectOf } from '../keys/object-key.ts'
import { connectionKey } from './connection-key.ts'
import { countedElements } from './counted-elements.ts'

/** Elements that are deleted in one transaction at most. */
const AT_ONCE = 4_096

/**
 * Deletes what was counted of frontends that are gone, so that another Service that gets one of them begins at 0. A
 * refusal changes nothing of what is served, and the kernel forgets the elements after a day.
 */
export async function forgetConnections(
  state: ManagedState,
  gone: readonly ObjectKey[],
): Promise<void> {
  if (!state.settings.countsTraffic) return
  for (const family of state.settings.families) {
    const frontends = gone.filter((key) => {
      const object = objectOf(key)
      return object.kind === 'frontend' && object.family === family
    })
    if (frontends.length > 0) await forgetOf(state, family, new Set(frontends))
  }
}

async function forgetOf(
  state: ManagedState,
  family: Family,
  gone: ReadonlySet<ObjectKey>,
): Promise<void> {
  const elements = [...(await countedElements(state, family, SET.connections))].filter(
    ({ key }) => {
      const { byAddress, byPort } = connectionKey(family, key)
      const owner = state.program.entryOf(byAddress) || gone.has(byAddress) ? byAddress : byPort
      return gone.has(owner) && state.program.entryOf(owner) === undefined
    },
  )
  for (let at = 0; at < elements.length; at += AT_ONCE) {
    const some = elements.slice(at, at + AT_ONCE).map(({ key }) => ({ key }))
    const where = { table: tableOf(family), set: SET.connections } as const
    await state.nftables.commit([{ do: 'deleteElements', ...where, elements: some }])
  }
}
