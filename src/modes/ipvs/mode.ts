import type { ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { Ipvs, RealServerState, TrafficCounters } from '../../kernel/ipvs/ipvs.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { Mutex } from '../../lib/mutex.ts'
import {
  type ApplyResult,
  addNumbers,
  BackendSums,
  type BackendTraffic,
  type Change,
  type Digest,
  type ForeignChange,
  type Mode,
  type ObjectKey,
  type Probe,
  type ReadTraffic,
  type TrafficNumbers,
} from '../mode.ts'
import { DriftChecker, SetInspector } from '../netfilter/drift-checker.ts'
import { ifPresent, removeInTurn } from '../netfilter/if-present.ts'
import { kindOf, memberOf, nameOf } from '../netfilter/object-key.ts'
import type { SetMembers } from '../netfilter/set-members.ts'
import { applyChange, inOrderOfRemoval } from './apply.ts'
import { GAPS } from './gaps.ts'
import { endDrained, leavingMembersOf, pruneLeaving } from './leaving.ts'
import { createManagedState, type IpvsDependencies, type ManagedState } from './managed-state.ts'
import { serverKey } from './objects/object.ts'
import { observe, observeAll } from './observe.ts'
import { probeIpvs } from './probe.ts'
import type { IpvsProgram } from './program.ts'
import { digestOf } from './servers/server-spec.ts'
import type { VirtualServers } from './servers/virtual-servers.ts'
import type { IpvsSettings } from './settings.ts'

const LOOK_EVERY_MS = 1_000

/** Virtual servers looked at in each round. */
const PER_ROUND = 16

export type { IpvsDependencies } from './managed-state.ts'

/** Seconds; more than `INT_MAX / HZ` is refused (net/netfilter/ipvs/ip_vs_ctl.c), and HZ is at most 1000. */
const MAX_TIMEOUT = 2_147_483

/**
 * The ipvs mode: `IpvsProgram` computes what the kernel should hold, `ManagedState` writes and
 * reads it. Lost answers of the kernel throw `NodeProxyError`; refusals are values.
 */
export class IpvsMode implements Mode {
  readonly name = 'ipvs'
  readonly gaps = GAPS
  readonly refusedRanges: Mode['refusedRanges']
  readonly program: IpvsProgram
  /** Netlink requests are sent one at a time, so a pending change waits for at most one of them. */
  readonly readTraffic: ReadTraffic
  readonly #kernel: IpvsDependencies
  readonly #state: ManagedState
  /** Our own inspection and the calls of `sync` never overlap. */
  readonly #mutex = new Mutex()
  #hasTimeouts = false

  constructor(settings: IpvsSettings, kernel: IpvsDependencies) {
    this.#kernel = kernel
    this.refusedRanges = settings.netfilter.serviceRanges
    this.#state = createManagedState(settings, kernel)
    this.program = this.#state.program
    this.readTraffic = async (isWanted) => ({
      totals: await readTotals(kernel.ipvs, this.#state),
      backends: isWanted ? await readBackends(this.#state, isWanted) : new Map(),
    })
  }

  /** Backends that take no new connections any more but have some. */
  get draining(): number {
    return this.#state.drainer.count
  }

  probe(): Promise<Probe> {
    return probeIpvs(this.#kernel, this.#state.settings)
  }

  apply(change: Change): Promise<ApplyResult> {
    return this.#mutex.run(async () => {
      await this.#setTimeouts()
      return applyChange(change, this.#state)
    })
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#mutex.run(() => observe(this.#state, keys))
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    const { servers, sets, chains, transit } = this.#state
    const inspection = new Inspection(servers, sets)
    const driftChecker = new DriftChecker({
      clock: this.#kernel.clock,
      onForeignChange,
      exclusively: (work) => this.#mutex.run(work),
      look: async () => {
        const keys = await inspection.look()
        await endDrained(this.#state)
        return keys
      },
    })
    const stops = [chains.watch(onForeignChange), transit.watch(onForeignChange)]
    return () => {
      driftChecker.stop()
      for (const stop of stops) stop()
    }
  }

  cleanup(): Promise<void> {
    return this.#mutex.run(() => cleanUp(this.#state))
  }

  drainAndCleanup(signal: AbortSignal): Promise<void> {
    return this.#mutex.run(() =>
      drainAndCleanup(this.#state, { signal, clock: this.#kernel.clock }),
    )
  }

  /** The kernel has one value of each for all virtual servers, so once is enough. */
  async #setTimeouts(): Promise<void> {
    if (this.#hasTimeouts) return
    const { timeouts } = this.#state.settings
    const configured = (['tcp', 'tcpFin', 'udp'] as const).filter((name) => timeouts[name] > 0)
    const within = (name: keyof typeof timeouts) => Math.min(timeouts[name], MAX_TIMEOUT)
    const wanted = Object.fromEntries(configured.map((name) => [name, within(name)] as const))
    if (configured.length > 0) await this.#kernel.ipvs.setTimeouts(wanted)
    this.#hasTimeouts = true
  }
}

/** What all virtual servers of each Service counted: one dump, without their real servers. */
async function readTotals(
  ipvs: Pick<Ipvs, 'services'>,
  { servers, program }: Sources,
): Promise<ReadonlyMap<ServiceKey, TrafficNumbers>> {
  const totals = new Map<ServiceKey, TrafficNumbers>()
  for (const { id, counters } of await ipvs.services()) {
    const key = serverKey(id)
    const service = program.entryOf(key)?.service
    if (service === undefined || !servers.texts.has(key)) continue
    totals.set(service, addNumbers(totals.get(service), trafficNumbers(counters)))
  }
  return totals
}

interface Sources {
  readonly servers: Pick<VirtualServers, 'texts' | 'states'>
  readonly program: EntryOwners
}

/**
 * The real servers of the wanted Services: one request for each virtual server. The counters of a backend are added up
 * over all virtual servers of its entry (one for each frontend, and one identified by a mark).
 */
async function readBackends(
  { servers, program }: Sources,
  isWanted: (service: ServiceKey) => boolean,
): Promise<ReadonlyMap<ServiceKey, readonly BackendTraffic[]>> {
  const wanted = [...servers.texts.keys()].filter((key) => {
    const entry = program.entryOf(key)
    return entry !== undefined && isWanted(entry.service)
  })
  const sums = new BackendSums()
  for (const [key, states] of await servers.states(wanted)) {
    const entry = program.entryOf(key)
    if (entry !== undefined)
      for (const state of states) sums.add(entry.service, trafficOf(entry, state))
  }
  return sums.byService
}

function trafficOf(
  { id: entry }: ForwardingEntry,
  { ip, port, activeConnections, inactiveConnections, counters }: RealServerState,
): BackendTraffic {
  const connectionsNow = activeConnections + inactiveConnections
  return { entry, ip, port, ...trafficNumbers(counters), connectionsNow }
}

/** Finds the entry that an object is made for. */
interface EntryOwners {
  entryOf(key: ObjectKey): ForwardingEntry | undefined
}

/** Counters of IPVS in the words of the contract. */
function trafficNumbers(counters: TrafficCounters): TrafficNumbers {
  return {
    connections: counters.connections,
    packetsIn: counters.incomingPackets,
    bytesIn: counters.incomingBytes,
    packetsOut: counters.outgoingPackets,
    bytesOut: counters.outgoingBytes,
  }
}

/**
 * IPVS notifies no process of changes, so this looks for them. One round checks whether the
 * next few virtual servers are still there (a flush removes all of them), whether the sets
 * hold as many members as we put in, and whether those virtual servers and the next set
 * are as we left them.
 */
class Inspection {
  readonly #servers: VirtualServers
  readonly #sets: SetInspector
  #position = 0

  constructor(servers: VirtualServers, sets: SetMembers) {
    this.#servers = servers
    this.#sets = new SetInspector(sets)
  }

  /** One round; empty: all that it saw is as we left it. */
  async look(): Promise<ForeignChange['keys']> {
    const members = await this.#sets.look()
    if (members === 'all') return 'all'
    const recorded = this.#servers.texts
    const sample = this.#next([...recorded.keys()])
    const held = await this.#servers.look(sample)
    if (sample.length > 0 && held.size === 0) return 'all'
    const altered = sample.filter((key) => {
      const [now, before] = [held.get(key), recorded.get(key)]
      return now === undefined || before === undefined || digestOf(now) !== digestOf(before)
    })
    return [...altered, ...members]
  }

  #next(keys: readonly ObjectKey[]): readonly ObjectKey[] {
    if (this.#position >= keys.length) this.#position = 0
    const sample = keys.slice(this.#position, this.#position + PER_ROUND)
    this.#position += PER_ROUND
    return sample
  }
}

/** When and how long draining goes on. */
interface DrainOptions {
  /** Ends draining early; what is left is removed later. */
  readonly signal: AbortSignal
  readonly clock: Pick<Clock, 'after'>
}

/**
 * Called when another mode serves. New connections belong to that mode from the moment at which the sets
 * are empty; established ones find their virtual servers by the set LEAVING, until
 * they end or reach their deadline. Then everything is removed.
 */
async function drainAndCleanup(
  state: ManagedState,
  { signal, clock }: DrainOptions,
): Promise<void> {
  if (signal.aborted) return
  if (await isServing(state)) await leave(state)
  while (!state.drainer.isEmpty) {
    if (await isAbortedAfter(LOOK_EVERY_MS, { signal, clock })) return
    await endDrained(state)
  }
  if (!signal.aborted) await cleanUp(state)
}

/** Whether the kernel holds virtual servers of this mode; a kernel without IPVS or sets holds none. */
async function isServing(state: ManagedState): Promise<boolean> {
  await ifPresent(() => observeAll(state))
  return state.servers.texts.size > 0
}

async function leave(state: ManagedState): Promise<void> {
  const { servers, writer, sets, drainer } = state
  const keys = [...servers.texts.keys()]
  await sets.add(keys.flatMap((key) => leavingMembersOf(key, state)))
  await sets.delete(inOrderOfRemoval(sets.keys().filter((key) => !isLeaving(key))))
  const { held } = await writer.apply([], keys)
  for (const key of held) drainer.hold(key)
  await pruneLeaving(state)
  drainer.review(keys)
}

function isLeaving(key: ObjectKey): boolean {
  return kindOf(key) === 'member' && memberOf(key).set.endsWith('-LEAVING')
}

/** Resolves to whether the signal was aborted. */
function isAbortedAfter(ms: number, { signal, clock }: DrainOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve(signal.aborted)
    })
    function abort() {
      cancel()
      resolve(true)
    }
    signal.addEventListener('abort', abort, { once: true })
  })
}

/**
 * Removes every trace of this mode and of its earlier runs: first what leads packets to virtual servers, then the
 * virtual servers, and last the sets that record which of them were ours. If an object cannot be removed, everything
 * else is removed except what is needed to find that object again; the first failure is thrown at the end
 * (`NP_IPVS_REFUSED`: a virtual server is left).
 */
async function cleanUp(state: ManagedState): Promise<void> {
  const { servers, sets, chains, transit } = state
  await ifPresent(() => observeAll(state))
  await removeInTurn([
    () => chains.removeAll(),
    () => transit.removeAll(),
    () => servers.deleteAll([...servers.texts.keys()]),
    async () => {
      if (servers.texts.size === 0) await sets.removeAll()
      else throw new NodeProxyError('NP_IPVS_REFUSED', leftBehind(servers.texts))
    },
  ])
}

function leftBehind(servers: ReadonlyMap<ObjectKey, string>): string {
  const names = [...servers.keys()].map(nameOf)
  return `${names.length} virtual servers could not be removed, the first is ${names[0]}; remove them (ipvsadm -D) and clean up again`
}
