import { constants } from 'node:os'
import type { TouchedObject } from '../../kernel/nftables/netlink/object-collector.ts'
import type { Nftables } from '../../kernel/nftables/nftables.ts'
import type { Rule } from '../../kernel/nftables/objects.ts'
import type { RuleChange, RuleMonitor } from '../../kernel/nftables-monitor/rule-monitor.ts'
import type { Family } from '../../lib/ip.ts'
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
} from '../mode.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { GAPS } from './gaps.ts'
import { FamilyWriter } from './kernel/family-writer.ts'
import { cleanUp, createManagedState, type ManagedState } from './kernel/managed-state.ts'
import { observe } from './kernel/observe.ts'
import type { Suspects } from './kernel/suspects.ts'
import { CHAIN, GUARD_TABLE, SET, tableOf } from './keys/names.ts'
import { FRONTEND_SETS, keyOf, keyOfElement, objectOf } from './keys/object-key.ts'
import { probeNftables } from './probe.ts'
import type { NftablesProgram } from './program/program.ts'
import { connectionKey, countedElements, readTraffic } from './read-traffic.ts'
import { IS_TRANSLATED } from './statements/matches.ts'

/** Elements that are deleted in one transaction at most. */
const AT_ONCE = 4_096

const { EINVAL, EOPNOTSUPP } = constants.errno

/** Of a kernel that has no tables with an owner. */
const UNKNOWN: ReadonlySet<number> = new Set([EINVAL, EOPNOTSUPP])

/** Uses connection tracking, and has no effect. */
const TRACKING: Rule = {
  expressions: [...IS_TRANSLATED, { type: 'verdict', verdict: { kind: 'return' } }],
}

const FAMILIES: readonly Family[] = [4, 6]

/** Objects of a change, beyond which its notifications are not read. */
const HEARD_OBJECTS = 200

/** What an instance is built on; the instance closes none of it. */
export interface NftablesDependencies {
  readonly nftables: Nftables
  readonly monitor: RuleMonitor<TouchedObject>
}

/** The nftables mode: the contract of `../mode.ts` over one table in each IP family. */
export class NftablesMode implements Mode {
  readonly name = 'nftables'
  readonly gaps = GAPS
  readonly refusedRanges: NetfilterSettings['serviceRanges']
  readonly program: NftablesProgram
  readonly readTraffic: ReadTraffic | undefined
  readonly #kernel: NftablesDependencies
  readonly #state: ManagedState
  /** Calls of `sync` and of a clean-up never overlap. */
  readonly #mutex = new Mutex()
  #isGuarded = false

  constructor(settings: NetfilterSettings, kernel: NftablesDependencies) {
    this.#kernel = kernel
    this.refusedRanges = settings.serviceRanges
    this.#state = createManagedState(settings, kernel)
    this.program = this.#state.program
    this.readTraffic = settings.countsTraffic
      ? (isWanted) => readTraffic(this.#state, isWanted)
      : undefined
  }

  probe(): Promise<Probe> {
    return probeNftables(this.#kernel.nftables, this.#state.settings)
  }

  apply(change: Change): Promise<ApplyResult> {
    return this.#known(async () => {
      await this.#guard()
      const result = await this.#unheard(change, () => applyChange(change, this.#state))
      await forgetConnections(this.#state, change.unset)
      return result
    })
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#known(async () => {
      // A daemon that finds everything as it should be applies nothing.
      if (keys === undefined) await this.#guard()
      return observe(this.#state, keys)
    })
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    return this.#kernel.monitor.start((change) => {
      const foreign = foreignChange(change, this.#state.suspects)
      if (foreign) onForeignChange(foreign)
    })
  }

  cleanup(): Promise<void> {
    return this.#mutex.run(() => cleanUp(this.#kernel.nftables))
  }

  /** Conntrack translates established connections without our rules, so none has to be waited for. */
  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.cleanup()
  }

  async #guard(): Promise<void> {
    if (this.#isGuarded) return
    const { families } = this.#state.settings
    this.#isGuarded = await keepTranslating(this.#kernel.nftables, families)
  }

  /** The socket of the monitor has no space for the notifications of a large change. */
  async #unheard<T>({ set, unset }: Change, work: () => Promise<T>): Promise<T> {
    if (set.length + unset.length <= HEARD_OBJECTS) return work()
    const { nftables, monitor } = this.#kernel
    const before = nftables.commits
    const release = monitor.hold({ unsubscribed: true })
    let commits: number | undefined
    try {
      const result = await work()
      commits = nftables.commits - before
      return result
    } finally {
      release({ pids: [], commits })
    }
  }

  /** After an error nothing is known of the kernel until it is read again. */
  #known<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      try {
        return await work()
      } catch (error) {
        this.#state.record.forget()
        throw error
      }
    })
  }
}

/** Writes one change: a small one in one transaction of each family, so that no packet meets a part of it. */
async function applyChange(change: Change, state: ManagedState): Promise<ApplyResult> {
  const failed = new Map<ObjectKey, KernelError>()
  let uncertain = false
  for (const family of FAMILIES) {
    const isOurs = (key: ObjectKey) => objectOf(key).family === family
    const own = { set: change.set.filter(isOurs), unset: change.unset.filter(isOurs) }
    if (own.set.length + own.unset.length === 0) continue
    const written = await new FamilyWriter(family, own, state).write()
    for (const [key, why] of written.failed) failed.set(key, why)
    uncertain ||= written.uncertain
  }
  return { failed, uncertain }
}

/** Objects of ours that a change by another program concerns; undefined: none. Elements become suspects. */
export function foreignChange(
  { touched, by }: RuleChange<TouchedObject>,
  suspects: Suspects,
): ForeignChange | undefined {
  const name = by === undefined ? 'another program' : `${by.process} (pid ${by.pid})`
  if (touched === 'unknown') return { keys: 'all', by: name }
  const keys = new Set<ObjectKey>()
  for (const one of touched) {
    const key = concernedBy(one, suspects)
    if (key === 'all') return { keys: 'all', by: name }
    if (key !== undefined) keys.add(key)
  }
  return keys.size === 0 ? undefined : { keys: [...keys], by: name }
}

function concernedBy(touched: TouchedObject, suspects: Suspects): ObjectKey | 'all' | undefined {
  const { family } = touched.table
  switch (touched.kind) {
    case 'table':
      return 'all'
    case 'chain':
      return keyOf(family, 'chain', touched.name)
    case 'set':
      // With the set went the elements of every frontend.
      return FRONTEND_SETS.includes(touched.name) ? 'all' : keyOf(family, 'set', touched.name)
    case 'element': {
      const { set, element } = touched
      const key = keyOfElement(family, set, element.key)
      return key === undefined || suspects.add(key, { set, element }) ? key : 'all'
    }
  }
}

/**
 * The kernel translates packets of established connections as long as any chain of type nat is there, and tracks
 * connections as long as any rule uses that. A firewall that flushes all tables would end them until ours is written
 * again; this table belongs to the daemon's socket, so that flushes of other programs spare it (NFT_TABLE_F_OWNER,
 * Linux 5.12). It goes with the socket. A kernel that does not know it has no such table. False: it was refused for another reason, and should be
 * tried again.
 */
export async function keepTranslating(
  nftables: Nftables,
  families: readonly Family[],
): Promise<boolean> {
  let isDone = true
  for (const family of families) {
    const table = { family, name: GUARD_TABLE }
    if ((await nftables.read(table)) !== undefined) continue
    const hook = { type: 'nat', hook: 'postrouting', priority: 300 } as const
    const error = await nftables.commit([
      { do: 'addTable', table, spec: { isOwned: true } },
      { do: 'addChain', table, chain: CHAIN.postrouting, spec: { hook } },
      { do: 'addRule', table, chain: CHAIN.postrouting, rule: TRACKING },
    ])
    isDone &&= error === undefined || UNKNOWN.has(error.errno)
  }
  return isDone
}

/**
 * Deletes what was counted of frontends that are gone, so that another Service that gets one of them begins at 0. A
 * refusal changes nothing of what is served, and the kernel forgets the elements after a day.
 */
async function forgetConnections(state: ManagedState, gone: readonly ObjectKey[]): Promise<void> {
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
