import type { ApplyResult, Change, KernelError, ObjectKey } from '../mode.ts'
import { kindOf, nameOf, ofKind } from '../netfilter/object-key.ts'
import { pruneLeaving } from './leaving.ts'
import type { ManagedState } from './managed-state.ts'
import { serverOfMember, servicesKey } from './objects/member.ts'
import type { WriteFailures } from './servers/server-writer.ts'
import { inOrderOfRemoval, writeServers } from './write-servers.ts'

/**
 * Writes one change in an order in which no packet meets a partly written Service: first what packets may need (sets,
 * their members, virtual servers), then what leads them there (routes, chains), and last the removal of what is not
 * needed any more. Refusals of the kernel are values by object; a lost answer throws `NodeProxyError`.
 */
export async function applyChange(
  { set, unset }: Change,
  state: ManagedState,
): Promise<ApplyResult> {
  const { sets, chains, transit } = state
  const failures: WriteFailures = { failed: new Map(), left: new Map() }
  const take = (failed: ReadonlyMap<ObjectKey, KernelError>) => {
    for (const [key, why] of failed) failures.failed.set(key, why)
  }
  take(await sets.create(ofKind(set, 'set')))
  await writeServers({ set, unset }, state, failures)
  take(await transit.set(ofKind(set, 'route', 'relay')))
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  take(rules.failed)
  take(await transit.tidy(ofKind(set, 'route')))
  take(await transit.unset(ofKind(unset, 'route', 'relay')))
  const members = ofKind(unset, 'member')
  const needed = stillNeeded(failures.failed, members, state)
  take(new Map([...needed].filter(([key]) => members.includes(key))))
  take(await sets.delete(inOrderOfRemoval(members.filter((key) => !needed.has(key)))))
  take(await sets.destroy(ofKind(unset, 'set')))
  await pruneLeaving(state)
  const left = new Map([...failures.left, ...(rules.left ?? [])])
  return { failed: failures.failed, left, uncertain: rules.uncertain ?? false }
}

/**
 * Members that record a virtual server of ours which could not be removed, now or
 * earlier: without them the next daemon would take it for a foreign one.
 */
function stillNeeded(
  failed: ReadonlyMap<ObjectKey, KernelError>,
  leaving: readonly ObjectKey[],
  { servers, drainer }: ManagedState,
): ReadonlyMap<ObjectKey, KernelError> {
  const needed = new Map<ObjectKey, KernelError>()
  for (const [server, why] of failed) {
    if (kindOf(server) === 'vs') for (const key of servicesKey(server)) needed.set(key, why)
  }
  for (const key of leaving) {
    const server = serverOfMember(key)
    const isThere = server !== undefined && servers.texts.has(server) && !drainer.isHeld(server)
    if (isThere && servicesKey(server).includes(key) && !needed.has(key))
      needed.set(key, stays(server))
  }
  return needed
}

function stays(server: ObjectKey): KernelError {
  return { code: 'NP_IPVS_REFUSED', message: `${nameOf(server)} could not be removed yet` }
}
