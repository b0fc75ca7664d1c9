import { setImmediate } from 'node:timers/promises'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { regularly } from '../../lib/regularly.ts'
import { coreEvent } from '../../resources/core-event.ts'
import type { Store, StoredEntry } from '../../storage/store.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import {
  ALLOCATIONS,
  allocationFor,
  allocationOwner,
  describeKey,
} from '../allocation/allocation-keys.ts'
import { isReadable, readItem } from '../cache/item.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { events } from '../kinds/event.ts'
import { keysHeldBy } from '../kinds/service/held-keys.ts'
import { services } from '../kinds/service/resource.ts'
import type { ServerMetrics } from '../metrics/server-metrics.ts'
import { storagePrefix } from '../resource/resource.ts'
import { createObject } from '../verbs/create.ts'
import { deleteUnchanged } from '../verbs/persist.ts'
import { isApiServiceKey } from './api-services.ts'
import { type BackgroundContext, systemRequest } from './system-request.ts'

/** Entries that are read before the event loop runs other work. */
const PAGE = 250

const FAULTS: Readonly<
  Record<LastingFault, { readonly reason: string; readonly problem: string }>
> = {
  duplicate: { reason: 'AlreadyAllocated', problem: 'allocated to another Service' },
  outOfRange: { reason: 'OutOfRange', problem: 'outside the range that this server gives out' },
}

/** How many Services one message names. */
const MAX_NAMED = 10

const KINDS = {
  address: {
    reason: 'cluster-ips-outside-range',
    what: 'ClusterIPs',
    flag: '--service-cluster-ip-range',
  },
  port: {
    reason: 'node-ports-outside-range',
    what: 'node ports',
    flag: '--service-node-port-range',
  },
} as const

interface RepairOptions {
  readonly context: BackgroundContext
  readonly metrics: Pick<ServerMetrics, 'addressRepairs' | 'portRepairs' | 'outsideRange'>
  /** Receives the error of a failed round; the next one follows. */
  readonly onError: (error: unknown) => void
}

/** Milliseconds from the end of one round to the beginning of the next. */
const PERIOD_MS = 180_000

/** Rounds in a row in which an allocation must be leaked before it is freed, as in kube-apiserver. */
const ROUNDS_UNTIL_FREED = 3

/** Values of the metric label `type`, as in kube-apiserver. */
type CountedAs = 'leak' | 'repair' | LastingFault

/**
 * Compares allocations with Services at the start and every three minutes, and repairs the allocations.
 * Transactions keep the two consistent, but stores are restored, edited and damaged. Every repair is
 * conditional on the revisions that it was decided on, so several servers may repair at the same time.
 */
export class AllocationRepair {
  readonly #options: RepairOptions
  /** Rounds in a row in which each allocation was leaked. */
  #leaks: ReadonlyMap<string, number> = new Map()
  /** The faults that the last round found: the next one reports only others. */
  #reported: ReadonlySet<string> = new Set()
  #stop = (): void => undefined

  constructor(options: RepairOptions) {
    this.#options = options
  }

  /** Resolves after the first round; further rounds run in the background. */
  async start(): Promise<void> {
    const { context, onError } = this.#options
    const round = (): Promise<void> => this.#round()
    await round().catch(onError)
    this.#stop = regularly({ clock: context.clock, everyMs: PERIOD_MS, round, onError })
  }

  /** Stops; a round in progress is finished. */
  stop(): void {
    this.#stop()
  }

  async #round(): Promise<void> {
    const { store, allocator, conditions } = this.#options.context
    const holdings = await readHoldings(store)
    if (holdings === undefined) return
    const isInRange = (key: string): boolean => allocator.isInRange(key)
    const found = auditAllocations(holdings, isInRange)
    const { leaked, missing, duplicates } = found
    const outside = found.outside.filter(({ holder }) => !isApiServiceKey(holder.key))
    reportOutside(conditions, outside, allocator.described)
    this.#measure(outside)
    for (const claim of missing) await this.#allocate(claim)
    await this.#free(leaked)
    await this.#report({ duplicate: duplicates, outOfRange: outside })
  }

  async #allocate({ key, revision, holder }: Claim): Promise<void> {
    const compare = [
      { key, modRevision: revision },
      { key: holder.key, modRevision: holder.revision },
    ]
    const value = allocationFor(holder.key)
    const operations = [{ op: 'put', key, value } as const]
    const { committed } = await this.#options.context.store.txn({ compare, operations })
    if (committed) this.#count(key, 'repair')
  }

  async #free(leaked: readonly Allocation[]): Promise<void> {
    const before = this.#leaks
    const seen = leaked.map((one) => {
      const id = `${one.key} ${one.revision}`
      return { ...one, id, rounds: (before.get(id) ?? 0) + 1 }
    })
    this.#leaks = new Map(seen.map(({ id, rounds }) => [id, rounds]))
    for (const { key, revision, rounds } of seen) {
      if (rounds < ROUNDS_UNTIL_FREED) continue
      const isFreed = await deleteUnchanged(this.#options.context.store, key, revision)
      if (isFreed) this.#count(key, 'leak')
    }
  }

  /** Reports each lasting fault once, because only an operator can decide which Service to recreate. */
  async #report(claims: Readonly<Record<LastingFault, readonly Claim[]>>): Promise<void> {
    const before = this.#reported
    const faults = Object.keys(claims) as LastingFault[]
    const found = faults.flatMap((fault) =>
      claims[fault].map((claim) => ({ fault, claim, id: `${fault} ${idOf(claim)}` })),
    )
    this.#reported = new Set(found.map(({ id }) => id))
    for (const { fault, claim } of found.filter(({ id }) => !before.has(id))) {
      this.#count(claim.key, fault)
      await recordFault(this.#options.context, claim, fault)
    }
  }

  #measure(outside: readonly Claim[]): void {
    const { outsideRange } = this.#options.metrics
    for (const kind of ['address', 'port'] as const) {
      const held = outside.filter(({ key }) => describeKey(key).kind === kind)
      outsideRange.set({ kind }, new Set(held.map(({ holder }) => holder.key)).size)
    }
  }

  #count(key: string, type: CountedAs): void {
    const { addressRepairs, portRepairs } = this.#options.metrics
    const counter = describeKey(key).kind === 'address' ? addressRepairs : portRepairs
    counter.inc({ type })
  }
}

function idOf({ key, holder }: Claim): string {
  return `${key} ${holder.key}`
}

/**
 * Raises a condition for Services outside of the ranges, which happens when an operator changes a range, and
 * clears it when there are none.
 */
function reportOutside(
  conditions: Pick<Conditions, 'raise' | 'clear'>,
  outside: readonly Claim[],
  ranges: Readonly<Record<keyof typeof KINDS, string>>,
): void {
  for (const kind of ['address', 'port'] as const) {
    const { reason, what, flag } = KINDS[kind]
    const held = outside.filter(({ key }) => describeKey(key).kind === kind)
    const names = [...new Set(held.map(({ holder }) => quote(nameOf(holder.key))))].toSorted()
    if (names.length === 0) {
      conditions.clear(reason)
      continue
    }
    const named = names.slice(0, MAX_NAMED).join(', ')
    const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ''
    const message = `${names.length} Services have ${what} outside of ${flag} ${ranges[kind]}: ${named}${more}; they still work; recreate them to get others`
    conditions.raise(reason, { message, blocksReadiness: false })
  }
}

/** `namespace/name` of a storage key. */
function nameOf(key: string): string {
  return key.split('/').slice(2).join('/')
}

/** A fault of an allocation that lasts until a client recreates the Service. */
type LastingFault = 'duplicate' | 'outOfRange'

/** Writes a Warning Event about the Service; none when the Service was deleted or is unreadable. */
async function recordFault(
  context: ServerContext,
  { key, holder }: Claim,
  fault: LastingFault,
): Promise<void> {
  const entry = await context.store.get(holder.key)
  if (entry === undefined || !isReadable(readItem(services, entry))) return
  const metadata = objectAt(decodeStored(entry), 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const now = context.clock.now()
  const event = coreEvent({
    regarding: {
      apiVersion: 'v1',
      kind: 'Service',
      namespace,
      name: stringAt(metadata, 'name'),
      uid: stringAt(metadata, 'uid'),
      resourceVersion: stringAt(metadata, 'resourceVersion'),
    },
    ...describeFault(key, fault),
    component: 'orch-server',
    first: now,
    last: now,
    count: 1,
  })
  const request = { method: 'POST', resource: events, namespace, name: '' } as const
  await createObject(context, systemRequest(context, request), event, { dryRun: false })
}

/** The reasons of kube-apiserver: ClusterIPAlreadyAllocated, PortOutOfRange and so on. */
function describeFault(key: string, fault: LastingFault) {
  const { kind, text } = describeKey(key)
  const [prefix, name] = kind === 'address' ? ['ClusterIP', 'ClusterIP'] : ['Port', 'node port']
  const { reason, problem } = FAULTS[fault]
  return {
    type: 'Warning',
    reason: `${prefix}${reason}`,
    message: `${name} ${text} is ${problem}; please recreate this Service`,
  } as const
}

/**
 * Reads allocations and Services at one revision, in pages; undefined when the store compacted that
 * revision meanwhile.
 */
async function readHoldings(store: Store): Promise<Holdings | undefined> {
  const revision = await store.revision()
  const allocations: Allocation[] = []
  const holders: Holder[] = []
  const unreadable = new Set<string>()
  const isRead =
    (await eachEntry(store, `/${ALLOCATIONS}/`, revision, (entry) => {
      allocations.push(allocationOf(entry))
    })) &&
    (await eachEntry(store, storagePrefix(services), revision, (entry) => {
      if (isReadable(readItem(services, entry))) holders.push(holderOf(entry))
      else unreadable.add(entry.key)
    }))
  return isRead ? { allocations, holders, unreadable } : undefined
}

/** Reads all entries under a prefix at one revision. @returns whether the revision was still there */
async function eachEntry(
  store: Store,
  prefix: string,
  revision: number,
  take: (entry: StoredEntry) => void,
): Promise<boolean> {
  let last: string | undefined
  while (true) {
    const after = last === undefined ? {} : { after: last }
    const page = await store.list({ prefix, revision, limit: PAGE, ...after })
    if (page.refused !== undefined) return false
    for (const entry of page.entries) take(entry)
    if (page.remaining === 0) return true
    last = page.entries.at(-1)?.key
    await setImmediate()
  }
}

function allocationOf(entry: StoredEntry): Allocation {
  return { key: entry.key, owner: allocationOwner(entry), revision: entry.modRevision }
}

function holderOf({ key, value, modRevision, createRevision }: StoredEntry): Holder {
  const holds = keysHeldBy(JSON.parse(value.toString()) as JsonObject)
  return { key, revision: modRevision, createRevision, holds }
}

/** A stored allocation: an address or a port, by its key. */
export interface Allocation {
  readonly key: string
  readonly revision: number
  /** Storage key of the Service that it was made for; empty when the allocation cannot be read. */
  readonly owner: string
}

/** A Service that has addresses or ports in its fields. */
export interface Holder {
  /** Its storage key. */
  readonly key: string
  readonly revision: number
  readonly createRevision: number
  /** Allocation keys of its addresses and ports. */
  readonly holds: ReadonlySet<string>
}

/** The allocations and the Services that hold them, at one revision. */
interface Holdings {
  readonly allocations: readonly Allocation[]
  readonly holders: readonly Holder[]
  /** Storage keys of Services that cannot be read: their addresses and ports are unknown. */
  readonly unreadable: ReadonlySet<string>
}

/** A Service and one of its addresses or ports that is not allocated as it should be. */
interface Claim {
  /** The allocation key. */
  readonly key: string
  /** The revision of the stored allocation; 0: none. */
  readonly revision: number
  readonly holder: Holder
}

/** The differences between allocations and Services. */
interface Audit {
  /** Allocations that no Service holds. */
  readonly leaked: readonly Allocation[]
  /** Addresses and ports of Services whose allocation is missing, or names a Service that does not have them. */
  readonly missing: readonly Claim[]
  /** Addresses and ports that a Service has although another Service owns them. */
  readonly duplicates: readonly Claim[]
  /** Addresses and ports of Services outside of the present ranges. */
  readonly outside: readonly Claim[]
}

/**
 * Compares allocations with the Services of the same revision. When several Services have the same address or
 * port, it belongs to the Service that the allocation names, else to the oldest. An unreadable Service keeps
 * its allocations. While there is an unreadable Service, allocations that name no Service are also kept,
 * because they may belong to it.
 */
export function auditAllocations(
  { allocations, holders, unreadable }: Holdings,
  isInRange: (key: string) => boolean,
): Audit {
  const stored = new Map(allocations.map((one) => [one.key, one]))
  const byKey = holdersByKey(holders)
  const missing: Claim[] = []
  const duplicates: Claim[] = []
  const outside: Claim[] = []
  for (const [key, claimants] of byKey) {
    const allocation = stored.get(key)
    const revision = allocation?.revision ?? 0
    const isOwnerUnreadable = allocation !== undefined && unreadable.has(allocation.owner)
    const named = claimants.find((one) => one.key === allocation?.owner)
    const owner = isOwnerUnreadable ? undefined : (named ?? claimants[0]!)
    if (owner !== undefined && owner !== named) missing.push({ key, revision, holder: owner })
    for (const holder of claimants) {
      if (holder !== owner) duplicates.push({ key, revision, holder })
      if (!isInRange(key)) outside.push({ key, revision, holder })
    }
  }
  const isKept = (owner: string): boolean =>
    unreadable.has(owner) || (owner === '' && unreadable.size > 0)
  const leaked = allocations.filter(({ key, owner }) => !byKey.has(key) && !isKept(owner))
  return { leaked, missing, duplicates, outside }
}

/** The Services with each address or port, the oldest first. */
function holdersByKey(holders: readonly Holder[]): ReadonlyMap<string, readonly Holder[]> {
  const byKey = new Map<string, Holder[]>()
  for (const holder of holders.toSorted((a, b) => a.createRevision - b.createRevision)) {
    for (const key of holder.holds) byKey.set(key, [...(byKey.get(key) ?? []), holder])
  }
  return byKey
}
