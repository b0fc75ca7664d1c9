import { NodeProxyError } from '../../lib/error.ts'
import { Mutex } from '../../lib/mutex.ts'
import type {
  ApplyResult,
  Change,
  Digest,
  ForeignChange,
  KernelError,
  Mode,
  ObjectKey,
  Probe,
  ReadTraffic,
  Traffic,
} from '../mode.ts'
import { DriftChecker, SetInspector } from '../netfilter/drift-checker.ts'
import { ifPresent, removeInTurn } from '../netfilter/if-present.ts'
import { memberOf, ofKind } from '../netfilter/object-key.ts'
import type { Forwarder } from './forwarder.ts'
import { SERVED_IN_PART } from './forwarder-state.ts'
import { GAPS } from './gaps.ts'
import {
  createManagedState,
  type ManagedState,
  observe,
  type Redirect,
  type UserspaceDependencies,
} from './managed-state.ts'
import { CHAIN, orderOf } from './names.ts'
import { probeUserspace } from './probe.ts'
import type { UserspaceProgram } from './program.ts'
import { readTraffic } from './read-traffic.ts'
import type { Route } from './route.ts'
import type { UserspaceSettings } from './settings.ts'

export type { RedirectKernel, UserspaceDependencies } from './managed-state.ts'

/**
 * The userspace mode: the contract of `../mode.ts` over a forwarder and, where packets are
 * redirected, over the kernel. Operations run one at a time.
 */
export class UserspaceMode implements Mode {
  readonly name = 'userspace'
  readonly gaps = GAPS
  readonly refusedRanges: Mode['refusedRanges']
  readonly program: UserspaceProgram
  readonly #settings: UserspaceSettings
  readonly #dependencies: UserspaceDependencies
  readonly #state: ManagedState
  /** The drift checker and calls of `sync` never overlap. */
  readonly #mutex = new Mutex()

  constructor(settings: UserspaceSettings, dependencies: UserspaceDependencies) {
    this.#settings = settings
    const { listening } = settings
    this.refusedRanges =
      listening.kind === 'transparent' ? listening.netfilter.serviceRanges : undefined
    this.#dependencies = dependencies
    this.#state = createManagedState(settings, dependencies)
    this.program = this.#state.program
  }

  /** Backends that take no new connections any more but have some. */
  get draining(): number {
    return this.#state.forwarderState?.forwarder.counts().drainingNow ?? 0
  }

  get readTraffic(): ReadTraffic | undefined {
    const forwarder = this.#state.forwarderState?.forwarder
    return forwarder && readTraffic({ forwarder, program: this.program })
  }

  get traffic(): Traffic | undefined {
    return this.#state.forwarderState?.forwarder
  }

  probe(): Promise<Probe> {
    return probeUserspace(this.#dependencies, this.#settings)
  }

  apply(change: Change): Promise<ApplyResult> {
    return this.#mutex.run(() => applyChange(change, this.#state))
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#mutex.run(() => observe(this.#state, keys))
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    const { redirect } = this.#state
    const { kernel } = this.#dependencies
    if (redirect === undefined || kernel === undefined) return () => {}
    const inspector = new SetInspector(redirect.sets)
    const driftChecker = new DriftChecker({
      clock: kernel.clock,
      onForeignChange,
      exclusively: (work) => this.#mutex.run(work),
      look: () => inspector.look(),
    })
    const { chains, policyRoutes } = redirect
    const stops = [chains.watch(onForeignChange), policyRoutes.watch(onForeignChange)]
    return () => {
      driftChecker.stop()
      for (const stop of stops) stop()
    }
  }

  cleanup(): Promise<void> {
    return this.#mutex.run(() => cleanUp(this.#state))
  }

  drainAndCleanup(signal: AbortSignal): Promise<void> {
    return this.#mutex.run(() => drainAndCleanup(this.#state, signal))
  }

  takeNoMore(): Promise<void> {
    return this.#mutex.run(() => takeNoMore(this.#state))
  }
}

/** The result of one change, which its steps fill in. */
interface MutableResult {
  readonly failed: Map<ObjectKey, KernelError>
  readonly left: Map<ObjectKey, Digest>
  uncertain: boolean
}

/**
 * Writes one change in an order in which no packet meets a partly written Service. First packets of removed listeners
 * stop coming here. Then the forwarder gets all routes in one call, because a listener may pass from one Service to
 * another. Then come the rules, which name the ports of the forwarder, before the set members that make packets match
 * them. Objects that are not needed any more are removed last.
 */
async function applyChange(change: Change, state: ManagedState): Promise<ApplyResult> {
  const result: MutableResult = { failed: new Map(), left: new Map(), uncertain: false }
  const { redirect } = state
  if (redirect) await stopRedirecting(change, redirect, result)
  const refused = await applyRoutes(routesIn(change, state), state)
  addFailed(result, refused)
  for (const key of refused.keys()) result.left.set(key, SERVED_IN_PART)
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
  const { sets, policyRoutes, chains, formerPorts } = redirect
  const added = inOrder(ofKind(set, 'member'))
  addFailed(result, await sets.add(added.filter((key) => !isServiceMember(key))))
  addFailed(result, await policyRoutes.set(ofKind(set, 'route')))
  const portRules = ofKind(set, 'rule').filter(hasRedirectPort)
  if (portRules.length > 0) for (const port of await redirect.redirectPorts()) formerPorts.add(port)
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  addFailed(result, rules.failed)
  for (const [key, digest] of rules.left ?? []) result.left.set(key, digest)
  result.uncertain = rules.uncertain ?? false
  addFailed(result, await sets.add(added.filter(isServiceMember)))
  addFailed(result, await deleteStaleRecords(formerPorts, portRules, state))
  addFailed(result, await policyRoutes.tidy(ofKind(set, 'route')))
  addFailed(result, await policyRoutes.unset(ofKind(unset, 'route')))
  const removed = ofKind(unset, 'member').filter((key) => !isServiceMember(key))
  addFailed(result, await sets.delete(inOrder(removed).toReversed()))
  addFailed(result, await sets.destroy(ofKind(unset, 'set')))
}

/** Whether the chain of this key translates to the ports of the forwarder. */
function hasRedirectPort(key: ObjectKey): boolean {
  return key.endsWith(`/${CHAIN.redirect}`) || key.endsWith(`/${CHAIN.pods}`)
}

/**
 * Deletes conntrack records that translate to the ports of an earlier run: those of all UDP flows, which would last as
 * long as their clients send, and those of TCP clients whose SYN was not answered because that run was about to end.
 * Their next packet meets the rules; established connections stay. `former` is emptied when they are deleted: after a
 * failure, which counts as one of the rules, the rules in the kernel do not name these ports any more.
 */
async function deleteStaleRecords(
  former: Set<number>,
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
    former.clear()
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

/** Members in the order in which they are added. */
function inOrder(members: readonly ObjectKey[]): readonly ObjectKey[] {
  return members.toSorted((a, b) => orderOf(memberOf(a).set) - orderOf(memberOf(b).set))
}

/** Members of SERVICES bring packets here; the other sets decide what happens to them. */
function isServiceMember(key: ObjectKey): boolean {
  return memberOf(key).set.endsWith('-SERVICES')
}

/**
 * Hands over to another mode that serves already. Established connections still come to the forwarder, by their
 * connmark and their translation in conntrack, until they end or the drain time is over. Then everything is removed.
 */
async function drainAndCleanup(state: ManagedState, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await takeNoMore(state, (forwarder) => forwarder.drain(signal))
  if (!signal.aborted) await cleanUp(state)
}

/**
 * Gives all new connections to another mode that serves already: once the sets are empty, none comes here. Conntrack
 * records of UDP flows would last as long as their clients send, so they are deleted; the flows go on in the other mode.
 * @param drain what becomes of the forwarder meanwhile
 */
async function takeNoMore(
  state: ManagedState,
  drain: (forwarder: Forwarder) => Promise<void> = async () => {},
): Promise<void> {
  await emptySets(state)
  const { forwarderState, conntrack } = state
  if (forwarderState === undefined) return
  const { forwarder } = forwarderState
  const { ownPorts } = forwarder
  await Promise.all([drain(forwarder), conntrack?.cutTranslatedTo(ownPorts, ['UDP'])])
}

/** Deletes the members of all sets: first those that bring packets here, then those that decide what happens to them. */
async function emptySets({ redirect }: ManagedState): Promise<void> {
  if (redirect === undefined) return
  const { sets } = redirect
  await ifPresent(async () => {
    await sets.observe()
    const { services = [], others = [] } = Object.groupBy(sets.keys(), (key) =>
      isServiceMember(key) ? 'services' : 'others',
    )
    await sets.delete([...services, ...others])
  })
}

/**
 * Removes every trace of this mode in the kernel, including those of earlier runs: first what leads packets here, then
 * the sets that those rules name, then the translation of connections to ports at which no process listens. After a
 * failure the other steps still run, and the first error is thrown at the end. The forwarder belongs to its opener and
 * stays.
 */
async function cleanUp({ redirect, forwarderState, conntrack }: ManagedState): Promise<void> {
  if (redirect === undefined) return
  const { chains, policyRoutes, sets } = redirect
  const ports = new Set(forwarderState?.forwarder.ownPorts)
  await removeInTurn([
    async () => {
      for (const port of await redirect.redirectPorts()) ports.add(port)
    },
    () => chains.removeAll(),
    () => policyRoutes.removeAll(),
    () => sets.removeAll(),
    async () => {
      if (ports.size > 0) await conntrack?.cutTranslatedTo(ports, ['TCP', 'UDP'])
    },
  ])
}
