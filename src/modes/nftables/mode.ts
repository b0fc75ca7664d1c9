import { constants } from 'node:os'
import type { Nftables } from '../../kernel/nftables/nftables.ts'
import type { TouchedObject } from '../../kernel/nftables/object-collector.ts'
import type { Rule } from '../../kernel/nftables/objects.ts'
import type { RuleChange, RuleMonitor } from '../../kernel/nftables/rule-monitor.ts'
import { IS_TRANSLATED } from '../../kernel/nftables/rules/matches.ts'
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
import {
  cleanUp,
  createManagedState,
  type ManagedState,
  type Suspects,
} from './kernel/managed-state.ts'
import { observe } from './kernel/observe.ts'
import { CHAIN, GUARD_TABLE, SET, tableOf } from './keys/names.ts'
import { FRONTEND_SETS, keyOf, keyOfElement, objectOf } from './keys/object-key.ts'
import { probeNftables } from './probe.ts'
import type { NftablesProgram } from './program/program.ts'
import { connectionKey, countedElements, readTraffic } from './read-traffic.ts'

/** The maximum number of elements that are deleted in one transaction. */
const AT_ONCE = 4_096

const { EINVAL, EOPNOTSUPP } = constants.errno

/** The errors of a kernel that has no tables with an owner. */
const UNKNOWN: ReadonlySet<number> = new Set([EINVAL, EOPNOTSUPP])

/** Uses connection tracking, and has no effect. */
const TRACKING: Rule = {
  expressions: [...IS_TRANSLATED, { type: 'verdict', verdict: { kind: 'return' } }],
}

const FAMILIES: readonly Family[] = [4, 6]

/** For changes with more objects than this, the kernel's notifications are not read. */
const MAX_NOTIFIED_OBJECTS = 200

/** The dependencies of an instance, which does not close them. */
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
  /** `apply`, `observe` and a cleanup never overlap. */
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
    return this.#forgetAfterError(async () => {
      await this.#guard()
      const result = await this.#withoutNotifications(change, () =>
        applyChange(change, this.#state),
      )
      await forgetConnections(this.#state, change.unset)
      return result
    })
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#forgetAfterError(async () => {
      // `apply` is not called if everything is as it should be, so the guard is also written here.
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

  /** Conntrack translates established connections without our rules, so there is no need to wait for them. */
  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.cleanup()
  }

  async #guard(): Promise<void> {
    if (this.#isGuarded) return
    const { families } = this.#state.settings
    this.#isGuarded = await keepTranslating(this.#kernel.nftables, families)
  }

  /** Pauses notifications during a large change, for which the socket of the monitor has no space. */
  async #withoutNotifications<T>({ set, unset }: Change, work: () => Promise<T>): Promise<T> {
    if (set.length + unset.length <= MAX_NOTIFIED_OBJECTS) return work()
    const { nftables, monitor } = this.#kernel
    const before = nftables.commits
    const release = monitor.hold({ unsubscribed: true })
    let commits: number | undefined
    try {
      const result = await work()
      commits = nftables.commits - before
      return result
    } finally {
      release({ authors: [], commits })
    }
  }

  /** Runs `work` alone. After an error, nothing is known about the kernel until it is read again. */
  #forgetAfterError<T>(work: () => Promise<T>): Promise<T> {
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

/** Writes one change. A small one takes one transaction in each family, so that no packet meets only a part of it. */
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

/** Our objects that a change by another program concerns; undefined if there are none. Elements become suspects. */
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
      // The set's elements, which belong to all frontends, are gone, too.
      return FRONTEND_SETS.includes(touched.name) ? 'all' : keyOf(family, 'set', touched.name)
    case 'element': {
      const { set, element } = touched
      const key = keyOfElement(family, set, element.key)
      return key === undefined || suspects.add(key, { set, element }) ? key : 'all'
    }
  }
}

/**
 * The kernel translates packets of established connections as long as any chain of type nat exists, and tracks
 * connections as long as any rule needs that. If a firewall flushes all tables, both would end until our table is
 * written again. The table written here belongs to the daemon's socket, so that flushes of other programs do not
 * remove it (NFT_TABLE_F_OWNER, Linux 5.12); it is removed when the socket is closed. An older kernel gets no such
 * table. Returns false if it was refused for another reason and should be tried again.
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
 * Deletes the counters of frontends that are gone, so that another Service that gets one of them begins at 0. A
 * refusal does not affect forwarding, and the kernel removes the elements after a day.
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
