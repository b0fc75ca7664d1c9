import { NodeProxyError } from '../../lib/error.ts'
import type { ObjectKey } from '../mode.ts'
import { ifPresent } from '../netfilter/if-present.ts'
import { nameOf } from '../netfilter/objects/object-key.ts'
import type { ManagedState } from './managed-state.ts'
import { observeAll } from './observe.ts'

/**
 * Removes every trace of this mode and of its earlier runs: first what leads packets
 * to virtual servers, then those, and last the sets that record which ones were ours. What
 * cannot be removed holds up nothing but what is needed to find it again; the first failure
 * is thrown at the end (`NP_IPVS_REFUSED`: a virtual server is left).
 */
export async function cleanUp(state: ManagedState): Promise<void> {
  const { servers, sets, chains, transit } = state
  const problems: unknown[] = []
  const attempt = (work: () => Promise<unknown>) =>
    ifPresent(work).catch((error: unknown) => problems.push(error))
  await ifPresent(() => observeAll(state))
  await attempt(() => chains.removeAll())
  await attempt(() => transit.removeAll())
  await attempt(() => servers.deleteAll([...servers.known.keys()]))
  if (servers.known.size === 0) await attempt(() => sets.removeAll())
  else problems.push(new NodeProxyError('NP_IPVS_REFUSED', leftBehind(servers.known)))
  if (problems.length > 0) throw problems[0]
}

function leftBehind(servers: ReadonlyMap<ObjectKey, string>): string {
  const names = [...servers.keys()].map(nameOf)
  return `${names.length} virtual servers could not be removed, the first is ${names[0]}; remove them (ipvsadm -D) and clean up again`
}
