import type { Nftables, TableContent } from '../../../kernel/nftables/nftables.ts'
import type { ChainSpec, Element, SetSpec, Table } from '../../../kernel/nftables/objects.ts'
import {
  digestOf,
  digestOfChain,
  digestOfElement,
  digestOfSet,
  EMPTY,
  type PlacedElement,
  sumOf,
} from '../../../kernel/nftables/rules/digest.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Digest, ObjectKey } from '../../mode.ts'
import { isFilledByPackets, TABLE, tableOf } from '../keys/names.ts'
import { isPlaced, keyOf, keyOfElement, objectOf, ownerLength } from '../keys/object-key.ts'
import type { Content } from '../program/content.ts'
import { type Holding, recordedElements } from './kernel-record.ts'
import type { ManagedState } from './managed-state.ts'

const FAMILIES: readonly Family[] = [4, 6]
/** Up to this number, frontends are read one by one; for more, the maps are read as a whole. */
const FEW_FRONTENDS = 64

/** Digests of our objects in the kernel: of all, or of those of `keys`. */
export async function observe(
  state: ManagedState,
  keys?: readonly ObjectKey[],
): Promise<ReadonlyMap<ObjectKey, Digest>> {
  if (keys === undefined) return observeAll(state)
  const frontends = keys.filter((key) => isPlaced(objectOf(key)))
  // For an unread frontend it is not known which elements to look up.
  const isUnknown = frontends.some((key) => state.record.holdingOf(key) === 'unread')
  if (isUnknown || frontends.length > FEW_FRONTENDS) return only(await observeAll(state), keys)
  const seen = new Map<ObjectKey, Digest>()
  for (const key of frontends) {
    const elements = await readFrontend(state, key)
    if (elements.length > 0) seen.set(key, digestOf(elements))
    note(state, key, seen.get(key), () => elements)
  }
  const others = keys.filter((key) => !isPlaced(objectOf(key)))
  if (others.length === 0) return seen
  const families = FAMILIES.filter((family) =>
    others.some((key) => objectOf(key).family === family),
  )
  for (const family of families) {
    const { found, forms } = await observeObjects(state, family, others)
    for (const key of others.filter((one) => objectOf(one).family === family)) {
      const digest = found.get(key)
      note(state, key, digest, () => holdingOf(state, key, forms))
      if (digest !== undefined) seen.set(key, digest)
    }
  }
  return seen
}

async function observeAll(state: ManagedState): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const seen = new Map<ObjectKey, Digest>()
  const allForms = new Map<ObjectKey, Form>()
  // Elements that are touched from now on may have been read before.
  state.suspects.clear()
  for (const family of FAMILIES) {
    const { found, forms } = await observeObjects(state, family)
    for (const [key, digest] of found) seen.set(key, digest)
    for (const [key, form] of forms) allForms.set(key, form)
  }
  state.record.forget()
  for (const [key, digest] of seen) note(state, key, digest, () => holdingOf(state, key, allForms))
  return seen
}

/** The objects that were read of one family. */
interface Observed {
  readonly found: ReadonlyMap<ObjectKey, Digest>
  /** The forms of chains and sets. */
  readonly forms: ReadonlyMap<ObjectKey, Form>
}

/** The objects of one family; sets that are not among `keys` are read without their elements. */
async function observeObjects(
  { nftables }: ManagedState,
  family: Family,
  keys?: readonly ObjectKey[],
): Promise<Observed> {
  const table = tableOf(family)
  const content = await nftables.read(table)
  if (content === undefined) return { found: new Map(), forms: new Map() }
  const seen = digestsOfContent(family, content)
  for (const set of content.sets.keys()) {
    const isWanted = keys === undefined || keys.includes(keyOf(family, 'set', set))
    if (!isWanted || isFilledByPackets(set)) continue
    const owners = new Owners(family, set)
    // An element may be reported twice, and must be in the sum once.
    const added = new Set<Digest>()
    await nftables.elements(table, set, (element) => {
      const digest = digestOfElement({ set, element })
      const key = added.has(digest) ? undefined : owners.of(element.key)
      added.add(digest)
      if (key !== undefined) seen.set(key, sumOf([seen.get(key) ?? EMPTY, digest]))
    })
  }
  return { found: seen, forms: formsOf(family, content) }
}

function formsOf(family: Family, { chains, sets }: TableContent): ReadonlyMap<ObjectKey, Form> {
  return new Map<ObjectKey, Form>([
    ...[...chains].map(([name, { spec }]) => [keyOf(family, 'chain', name), spec] as const),
    ...[...sets].map(([name, spec]) => [keyOf(family, 'set', name), spec] as const),
  ])
}

function digestsOfContent(family: Family, content: TableContent): Map<ObjectKey, Digest> {
  const seen = new Map<ObjectKey, Digest>([[keyOf(family, 'table', TABLE), EMPTY]])
  for (const [name, { spec, rules }] of content.chains) {
    seen.set(keyOf(family, 'chain', name), digestOfChain(spec, rules))
  }
  for (const [name, spec] of content.sets) seen.set(keyOf(family, 'set', name), digestOfSet(spec))
  return seen
}

/**
 * The owners of the elements of one set; the key of each owner is computed once, not for each endpoint of a frontend.
 */
class Owners {
  readonly #family: Family
  readonly #set: string
  readonly #prefix: number
  readonly #owners = new Map<string, ObjectKey | undefined>()

  constructor(family: Family, set: string) {
    this.#family = family
    this.#set = set
    this.#prefix = ownerLength(family, set)
  }

  of(key: Buffer): ObjectKey | undefined {
    const name = key.toString('latin1', 0, this.#prefix)
    const known = this.#owners.get(name)
    if (known !== undefined) return known
    const owner = keyOfElement(this.#family, this.#set, key)
    this.#owners.set(name, owner)
    return owner
  }
}

/** Records what the kernel holds of an object: the wanted entry if digests are equal, else what `otherwise` returns. */
function note(
  { program, record }: ManagedState,
  key: ObjectKey,
  digest: Digest | undefined,
  otherwise: () => Holding,
): void {
  if (digest === undefined) return record.delete(key)
  const isWanted = program.digestOf(key) === digest
  record.set(key, isWanted ? (program.entryOf(key) ?? 'fixed') : otherwise())
}

/** The record for an object that is not as wanted. */
function holdingOf(
  { program }: ManagedState,
  key: ObjectKey,
  forms: ReadonlyMap<ObjectKey, Form>,
): Holding {
  const [form, content] = [forms.get(key), program.contentOf(key)]
  return form === undefined || content === undefined || hasForm(content, form)
    ? 'unread'
    : 'otherForm'
}

function only(
  all: ReadonlyMap<ObjectKey, Digest>,
  keys: readonly ObjectKey[],
): ReadonlyMap<ObjectKey, Digest> {
  return new Map(
    keys.flatMap((key) => {
      const digest = all.get(key)
      return digest === undefined ? [] : [[key, digest] as const]
    }),
  )
}

/**
 * Reads the elements of one frontend in the kernel: those that it should have, those that it had when it was last
 * written or read, and those that another program has touched since.
 */
async function readFrontend(
  state: ManagedState,
  key: ObjectKey,
): Promise<readonly PlacedElement[]> {
  const { nftables, program, suspects } = state
  const table = tableOf(objectOf(key).family)
  const content = program.contentOf(key)
  const wanted = content?.kind === 'frontend' ? content.elements : []
  const candidates = [...wanted, ...recordedElements(state, key), ...suspects.take(key)]
  const bySet = Map.groupBy(candidates, ({ set }) => set)
  const found: PlacedElement[] = []
  for (const [set, placed] of bySet) {
    const keys = new Map(placed.map(({ element }) => [element.key.toString('latin1'), element.key]))
    const there = await lookUp(nftables, { table, set }, [...keys.values()])
    for (const element of there) found.push({ set, element })
  }
  return found
}

/** `Nftables.lookup` stops at the first key that does not exist; this function continues after it. */
async function lookUp(
  nftables: Nftables,
  { table, set }: { readonly table: Table; readonly set: string },
  keys: readonly Buffer[],
): Promise<readonly Element[]> {
  const found = new Map<string, Element>()
  for (let at = 0; at < keys.length; ) {
    const some = await nftables.lookup(table, set, keys.slice(at))
    for (const element of some) found.set(element.key.toString('latin1'), element)
    at += some.length + 1
  }
  return [...found.values()]
}

/**
 * The form of a set or chain: everything except size, comment and policy. It cannot be changed without deleting the
 * object.
 */
type Form = SetSpec | ChainSpec

/** Whether an object in the kernel can be changed into the wanted one with the same name. */
export function hasForm(content: Content, seen: Form): boolean {
  if (content.kind === 'chain') {
    return !('key' in seen) && hookDigest(content.spec) === hookDigest(seen)
  }
  return content.kind !== 'set' || ('key' in seen && formDigest(content.spec) === formDigest(seen))
}

function hookDigest({ hook }: ChainSpec) {
  if (hook === undefined) return digestOfChain({}, [])
  const { type, hook: at, priority } = hook
  return digestOfChain({ hook: { type, hook: at, priority } }, [])
}

function formDigest({ key, data, isInterval, isDynamic, hasTimeouts, hasCounters }: SetSpec) {
  const flags = { isInterval, isDynamic, hasTimeouts, hasCounters }
  return digestOfSet({
    key,
    ...(data === undefined ? {} : { data }),
    ...Object.fromEntries(Object.entries(flags).filter(([, flag]) => flag === true)),
  })
}
