import type { Nftables, TableContent } from '../../kernel/nftables/nftables.ts'
import type { Element } from '../../kernel/nftables/objects.ts'
import {
  digestOfChain,
  digestOfElement,
  digestOfSet,
  type PlacedElement,
} from '../../kernel/nftables/rules/digest.ts'
import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import {
  memberOf,
  type PolicyChanges,
  type PolicyContent,
  type PolicySet,
} from '../policy-content.ts'
import { isPortSet } from './port-ranges.ts'
import {
  DIRECTIONS,
  namedPortElement,
  podElement,
  SET,
  tableOf,
  type WantedChain,
  type WantedSet,
  type WantedTable,
} from './render.ts'

/** The elements of one set that have to go and that have to come. */
export interface ElementChanges {
  readonly remove: readonly Element[]
  readonly add: readonly Element[]
}

/** What has to be done for one table, without an order. */
export interface Difference {
  /** A set or chain has another form, which cannot be changed: the table has to be replaced as a whole. */
  readonly hasOtherForm: boolean
  readonly newSets: ReadonlyMap<string, WantedSet>
  readonly newChains: ReadonlyMap<string, WantedChain>
  readonly changedChains: ReadonlyMap<string, WantedChain>
  /** Of sets that stay. */
  readonly elements: ReadonlyMap<string, ElementChanges>
  readonly goneChains: readonly string[]
  readonly goneSets: readonly string[]
}

/** Names of what differs; empty if the kernel holds what it should. */
export function namesOf(difference: Difference): readonly string[] {
  const { newSets, newChains, changedChains, elements, goneChains, goneSets } = difference
  const names = [
    ...newSets.keys(),
    ...newChains.keys(),
    ...changedChains.keys(),
    ...elements.keys(),
  ]
  return [...new Set([...names, ...goneChains, ...goneSets])]
}

/**
 * What the kernel holds of one table, as far as this daemon knows: the names of its sets and chains, and the elements of
 * local Pods. The members of sets are not kept twice: those of the kernel are those of the model, and the difference
 * after a change is in the change.
 */
export interface Known {
  readonly sets: Set<string>
  readonly chains: Set<string>
  readonly pods: Map<IpAddress, readonly PlacedElement[]>
}

/** What is known after everything wanted was written. */
export function knownOf(wanted: WantedTable): Known {
  const pods = new Map([...wanted.podAddresses()].map((ip) => [ip, wanted.podElements(ip)]))
  return { sets: new Set(wanted.sets()), chains: new Set(wanted.chains()), pods }
}

/** Everything, as for an empty table. */
export function wholeOf(wanted: WantedTable): Difference {
  return {
    hasOtherForm: false,
    newSets: new Map([...wanted.sets()].map((name) => [name, wanted.set(name)!])),
    newChains: new Map([...wanted.chains()].map((name) => [name, wanted.chain(name)!])),
    changedChains: new Map(),
    elements: new Map(),
    goneChains: [],
    goneSets: [],
  }
}

/**
 * Compares the table in the kernel with the wanted one: reads all of it, one set after the other. Objects that are not
 * wanted stay if they are in `kept`.
 */
export async function readDifference(
  nftables: Nftables,
  wanted: WantedTable,
  kept: ReadonlySet<string>,
): Promise<Difference> {
  const content = await nftables.read(tableOf(wanted.family))
  const held: TableContent = content ?? { chains: new Map(), sets: new Map() }
  const [newSets, elements] = [new Map<string, WantedSet>(), new Map<string, ElementChanges>()]
  const [newChains, changedChains] = [
    new Map<string, WantedChain>(),
    new Map<string, WantedChain>(),
  ]
  let hasOtherForm = false
  const sets = new Set(wanted.sets())
  for (const name of sets) {
    const [set, spec] = [wanted.set(name)!, held.sets.get(name)]
    if (spec === undefined) newSets.set(name, set)
    else if (digestOfSet(spec) !== digestOfSet(set.spec)) hasOtherForm = true
    else addChanges(elements, name, await readChanges(nftables, wanted.family, name, set))
  }
  const chains = new Set(wanted.chains())
  for (const name of chains) {
    const [chain, there] = [wanted.chain(name)!, held.chains.get(name)]
    if (there === undefined) newChains.set(name, chain)
    else if (digestOfChain(there.spec, []) !== digestOfChain(chain.spec, [])) hasOtherForm = true
    else if (digestOfChain({}, there.rules) !== digestOfChain({}, chain.rules)) {
      changedChains.set(name, chain)
    }
  }
  const isUnneeded = (name: string) => !kept.has(name)
  return {
    hasOtherForm,
    newSets,
    newChains,
    changedChains,
    elements,
    goneChains: [...held.chains.keys()].filter((name) => !chains.has(name) && isUnneeded(name)),
    goneSets: [...held.sets.keys()].filter((name) => !sets.has(name) && isUnneeded(name)),
  }
}

function addChanges(
  elements: Map<string, ElementChanges>,
  name: string,
  changes: ElementChanges,
): void {
  if (changes.add.length + changes.remove.length > 0) elements.set(name, changes)
}

/** The differences of one set; both sides are in memory only while it is read. */
async function readChanges(
  nftables: Nftables,
  family: Family,
  name: string,
  set: WantedSet,
): Promise<ElementChanges> {
  const missing = new Map<number, Element>()
  for (const element of set.elements())
    missing.set(digestOfElement({ set: name, element }), element)
  const remove: Element[] = []
  // An element may be reported twice.
  const seen = new Set<number>()
  await nftables.elements(tableOf(family), name, (element) => {
    const digest = digestOfElement({ set: name, element })
    if (!missing.delete(digest) && !seen.has(digest)) remove.push(element)
    seen.add(digest)
  })
  return { remove, add: [...missing.values()] }
}

/** What changed in the model since everything that it held was written. */
export interface ChangedModel {
  readonly content: PolicyContent
  readonly changes: PolicyChanges
  readonly known: Known
}

/** The difference that follows from the changes of the model. Reads only sets whose elements are not known. */
export async function changedDifference(
  nftables: Nftables,
  wanted: WantedTable,
  { content, changes, known }: ChangedModel,
): Promise<Difference> {
  const newSets = new Map<string, WantedSet>()
  const elements = new Map<string, ElementChanges>()
  const goneSets: string[] = []
  for (const name of changedSets(wanted, changes, known)) {
    const set = wanted.set(name)
    const isHeld = known.sets.has(name)
    if (set === undefined && isHeld) goneSets.push(name)
    if (set !== undefined && !isHeld) newSets.set(name, set)
    if (set !== undefined && isHeld) {
      addChanges(elements, name, await readChanges(nftables, wanted.family, name, set))
    }
  }
  for (const [name, keys] of changes.members) {
    addChanges(elements, name, memberChanges(content.sets.get(name), keys, wanted.family))
  }
  for (const [name, moved] of podChanges(wanted, known, changes)) addChanges(elements, name, moved)
  return {
    ...changedChains(wanted, changes, known),
    newSets,
    elements,
    goneSets,
    hasOtherForm: false,
  }
}

/** The sets that came or went: those of the model, and the sets of ports that changed rules need or no longer need. */
function changedSets(
  wanted: WantedTable,
  { sets, chains, hasLocalRanges }: PolicyChanges,
  known: Known,
): ReadonlySet<string> {
  const changed = new Set<string>(sets)
  if (hasLocalRanges) changed.add(SET.localRanges)
  if (chains.size === 0) return changed
  const ports = new Set(wanted.portSets())
  for (const name of ports) if (!known.sets.has(name)) changed.add(name)
  for (const name of known.sets) if (isPortSet(name) && !ports.has(name)) changed.add(name)
  return changed
}

function changedChains(wanted: WantedTable, { chains }: PolicyChanges, known: Known) {
  const newChains = new Map<string, WantedChain>()
  const rewritten = new Map<string, WantedChain>()
  const goneChains: string[] = []
  for (const name of chains) {
    const chain = wanted.chain(name)
    if (chain) (known.chains.has(name) ? rewritten : newChains).set(name, chain)
    else if (known.chains.has(name)) goneChains.push(name)
  }
  return { newChains, changedChains: rewritten, goneChains }
}

/** The changes of a set that stays, by the keys of its members that came or went. */
function memberChanges(
  set: PolicySet | undefined,
  keys: ReadonlySet<string>,
  family: Family,
): ElementChanges {
  if (set === undefined || set.kind === 'blocks') return { add: [], remove: [] }
  const isNamed = set.kind === 'namedPorts'
  const ours = [...keys].filter((key) => {
    const ip = isNamed ? memberOf(key).ip : (key as IpAddress)
    return familyOf(ip) === family
  })
  const elementOf = (key: string): Element =>
    isNamed ? namedPortElement(memberOf(key)) : podElement(key as IpAddress)
  const isMember = (key: string) => set.members.has(key as IpAddress)
  return {
    add: ours.filter(isMember).map(elementOf),
    remove: ours.filter((key) => !isMember(key)).map(elementOf),
  }
}

/** The changes of the sets that hold the Pods of this node, by the addresses whose chains changed. */
function podChanges(
  wanted: WantedTable,
  known: Known,
  { pods }: PolicyChanges,
): readonly (readonly [set: string, ElementChanges])[] {
  const remove: PlacedElement[] = []
  const add: PlacedElement[] = []
  for (const ip of new Set(DIRECTIONS.flatMap((direction) => [...pods[direction]]))) {
    const [before, after] = [known.pods.get(ip) ?? [], wanted.podElements(ip)]
    remove.push(...without(before, after))
    add.push(...without(after, before))
  }
  return [SET.egress, SET.ingress, SET.hairpin].map((set) => [
    set,
    { remove: elementsIn(set, remove), add: elementsIn(set, add) },
  ])
}

function without(
  these: readonly PlacedElement[],
  others: readonly PlacedElement[],
): readonly PlacedElement[] {
  const digests = new Set(others.map(digestOfElement))
  return these.filter((one) => !digests.has(digestOfElement(one)))
}

function elementsIn(set: string, placed: readonly PlacedElement[]): readonly Element[] {
  return placed.filter((one) => one.set === set).map(({ element }) => element)
}
