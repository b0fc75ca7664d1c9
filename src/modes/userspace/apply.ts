import { NodeProxyError } from '../../lib/error.ts'
import type { ApplyResult, Change, Digest, KernelError, ObjectKey } from '../mode.ts'
import { memberOf, ofKind } from '../netfilter/objects/object-key.ts'
import type { ManagedState, Redirect } from './managed-state.ts'
import { CHAIN, orderOf } from './names.ts'
import type { Route } from './route.ts'

/** The result of one change, as its steps fill it in. */
interface MutableResult {
  readonly failed: Map<ObjectKey, KernelError>
  readonly left: Map<ObjectKey, Digest>
  uncertain: boolean
}

/**
 * Writes one change, in an order in which no packet meets half of it: first packets of
 * removed listeners stop coming here; then the forwarder gets all routes in one call, because a
 * listener may pass from one Service to another; then come the rules, which name the ports of the
 * forwarder, before the set members that make packets match them; objects that are not needed any
 * more are removed last.
 */
export async function applyChange(change: Change, state: ManagedState): Promise<ApplyResult> {
  const result: MutableResult = { failed: new Map(), left: new Map(), uncertain: false }
  const { redirect } = state
  if (redirect) await stopRedirecting(change, redirect, result)
  addFailed(result, await applyRoutes(routesIn(change, state), state))
  if (redirect) await programKernel(change, { ...state, redirect }, result)
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
  if (forwarderState === undefined) throw new TypeError('there is no forwarder for the routes')
  return forwarderState.apply(routes)
}

async function stopRedirecting(
  { set, unset }: Change,
  { sets }: Redirect,
  result: MutableResult,
): Promise<void> {
  addFailed(result, await sets.create(ofKind(set, 'set')))
  addFailed(result, await sets.delete(ofKind(unset, 'member').filter(isServiceMember)))
}

async function programKernel(
  { set, unset }: Change,
  state: ManagedState & { readonly redirect: Redirect },
  result: MutableResult,
): Promise<void> {
  const { redirect } = state
  const { sets, policyRoutes, chains } = redirect
  const added = inOrder(ofKind(set, 'member'))
  addFailed(result, await sets.add(added.filter((key) => !isServiceMember(key))))
  addFailed(result, await policyRoutes.set(ofKind(set, 'route')))
  const portRules = ofKind(set, 'rule').filter(hasRedirectPort)
  const former = portRules.length > 0 ? await redirect.redirectPorts() : new Set<number>()
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  addFailed(result, rules.failed)
  for (const [key, digest] of rules.left ?? []) result.left.set(key, digest)
  result.uncertain = rules.uncertain ?? false
  addFailed(result, await sets.add(added.filter(isServiceMember)))
  addFailed(result, await deleteStaleRecords(former, portRules, state))
  addFailed(result, await policyRoutes.tidy(ofKind(set, 'route')))
  addFailed(result, await policyRoutes.unset(ofKind(unset, 'route')))
  const removed = ofKind(unset, 'member').filter((key) => !isServiceMember(key))
  addFailed(result, await sets.delete(inOrder(removed).toReversed()))
  addFailed(result, await sets.destroy(ofKind(unset, 'set')))
}

/** Whether this chain translates to the ports of the forwarder. */
function hasRedirectPort(key: ObjectKey): boolean {
  return key.endsWith(`/${CHAIN.redirect}`) || key.endsWith(`/${CHAIN.pods}`)
}

/**
 * Deletes conntrack records that translate to the ports of an earlier run: of all UDP flows, which
 * would go there for as long as their clients send, and of TCP clients whose SYN was not answered
 * because that run was about to end. Their next packet meets the rules; established connections stay.
 */
async function deleteStaleRecords(
  former: ReadonlySet<number>,
  portRules: readonly ObjectKey[],
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
    return new Map(portRules.map((key) => [key, { code, message }]))
  }
}

function addFailed({ failed }: MutableResult, refused: ReadonlyMap<ObjectKey, KernelError>): void {
  for (const [key, why] of refused) failed.set(key, why)
}

/** As they are added. */
function inOrder(members: readonly ObjectKey[]): readonly ObjectKey[] {
  return members.toSorted((a, b) => orderOf(memberOf(a).set) - orderOf(memberOf(b).set))
}

/** Members of SERVICES bring packets here; the other sets decide what happens to those packets. */
function isServiceMember(key: ObjectKey): boolean {
  return memberOf(key).set.endsWith('-SERVICES')
}
