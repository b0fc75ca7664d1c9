import { NodeProxyError } from '../../lib/error.ts'
import type { ApplyResult, Change, Digest, KernelError, ObjectKey } from '../mode.ts'
import { memberOf, ofKind } from '../netfilter/objects/object-key.ts'
import type { ManagedState, Redirect } from './managed-state.ts'
import { CHAIN } from './names.ts'
import type { Route } from './route.ts'

interface MutableApplyResult {
  readonly failed: Map<ObjectKey, KernelError>
  readonly left: Map<ObjectKey, Digest>
  uncertain: boolean
}

/**
 * Writes one change, in an order in which no packet meets half of it: what is not served any
 * more is led here no longer; the forwarder learns all at once, since a listener may go from one
 * Service to another; then the rules, which name its ports, before the members that lead packets to
 * them; what is not needed goes last.
 */
export async function applyChange(change: Change, state: ManagedState): Promise<ApplyResult> {
  const result: MutableApplyResult = { failed: new Map(), left: new Map(), uncertain: false }
  const { redirect } = state
  if (redirect) await closeListeners(change, redirect, result)
  take(result, await applyRoutes(routesIn(change, state), state))
  if (redirect) await lead(change, { ...state, redirect }, result)
  return result
}

function routesIn(
  { set, unset }: Change,
  { program }: ManagedState,
): ReadonlyMap<ObjectKey, Route | undefined> {
  return new Map([
    ...ofKind(set, 'entry').map((key) => [key, program.routeOf(key)] as const),
    ...ofKind(unset, 'entry').map((key) => [key, undefined] as const),
  ])
}

async function applyRoutes(
  routes: ReadonlyMap<ObjectKey, Route | undefined>,
  { forwarderState }: ManagedState,
): Promise<ReadonlyMap<ObjectKey, KernelError>> {
  if (forwarderState === undefined && routes.size === 0) return new Map()
  if (forwarderState === undefined) throw new TypeError('there is no forwarder for routes')
  return forwarderState.apply(routes)
}

async function closeListeners(
  { set, unset }: Change,
  { sets }: Redirect,
  result: MutableApplyResult,
): Promise<void> {
  take(result, await sets.create(ofKind(set, 'set')))
  take(result, await sets.delete(ofKind(unset, 'member').filter(leads)))
}

async function lead(
  { set, unset }: Change,
  state: ManagedState & { readonly redirect: Redirect },
  result: MutableApplyResult,
): Promise<void> {
  const { redirect } = state
  const { sets, routes, chains } = redirect
  const added = ofKind(set, 'member')
  take(result, await sets.add(added.filter((key) => !leads(key))))
  take(result, await routes.set(ofKind(set, 'route')))
  const leading = ofKind(set, 'rule').filter(leadsToPorts)
  const former = leading.length > 0 ? await redirect.entryPorts() : new Set<number>()
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  take(result, rules.failed)
  for (const [key, digest] of rules.left ?? []) result.left.set(key, digest)
  result.uncertain = rules.uncertain ?? false
  take(result, await sets.add(added.filter(leads)))
  take(result, await bringFlows(former, leading, state))
  take(result, await routes.tidy(ofKind(set, 'route')))
  take(result, await routes.unset(ofKind(unset, 'route')))
  take(result, await sets.delete(ofKind(unset, 'member').filter((key) => !leads(key))))
  take(result, await sets.destroy(ofKind(unset, 'set')))
}

/** Whether these are the rules that say at which ports the forwarder is. */
function leadsToPorts(key: ObjectKey): boolean {
  return key.endsWith(`/${CHAIN.redirect}`) || key.endsWith(`/${CHAIN.pods}`)
}

/**
 * Conntrack would lead known UDP clients to the ports of an earlier run for as long as they speak;
 * their next datagram meets the rules. So does the next SYN of TCP clients that got no answer,
 * because the earlier run was about to end; connections stay where they are.
 */
async function bringFlows(
  former: ReadonlySet<number>,
  leading: readonly ObjectKey[],
  { forwarderState, conntrack }: ManagedState,
): Promise<ReadonlyMap<ObjectKey, KernelError>> {
  const mine = forwarderState?.forwarder.ownPorts ?? new Set()
  const others = new Set([...former].filter((port) => !mine.has(port)))
  try {
    if (others.size > 0) {
      await conntrack?.cutTranslatedTo(others, ['UDP'])
      await conntrack?.cutTranslatedTo(others, ['TCP'], 'unanswered')
    }
    return new Map()
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    const { code, message } = error
    return new Map(leading.map((key) => [key, { code, message }]))
  }
}

function take({ failed }: MutableApplyResult, refused: ReadonlyMap<ObjectKey, KernelError>): void {
  for (const [key, why] of refused) failed.set(key, why)
}

/** Members of SERVICES lead packets here; the other sets say what becomes of those. */
function leads(key: ObjectKey): boolean {
  return memberOf(key).set.endsWith('-SERVICES')
}
