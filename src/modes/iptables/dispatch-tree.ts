import type { Protocol } from '../../forwarding/entry.ts'
import { formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { dport } from '../netfilter/rule.ts'

/** A node with more destinations than this is split by the first step in which they differ. */
const LEAF_SIZE = 48

/** Chain names have at most 28 characters: the 9 of the prefix, and two for each level below the root, three for the last step. */
const MAX_DEPTH = 9

interface Item {
  readonly id: string
  readonly key: DispatchKey
  readonly rules: readonly string[]
}

interface TreeNode {
  readonly chain: string
  readonly depth: number
  /** Undefined for a leaf. */
  step: number | undefined
  readonly items: Map<string, Item>
  children: Map<number, TreeNode>
}

/**
 * Finds a packet's Service in tens of rules, however many Services there are: a
 * tree of chains over the nibbles of the destination. Its shape depends only on
 * the destinations that it holds, so any history of changes ends in the same
 * chains, and one change touches one leaf (rarely a split).
 */
export class DispatchTree {
  readonly #prefix: string
  readonly #root: TreeNode
  readonly #nodes = new Map<string, TreeNode>()
  #changed = new Set<string>()

  /** `root` is the chain where dispatch starts; the others are named `prefix` + their path. */
  constructor(root: string, prefix: string) {
    this.#prefix = prefix
    this.#root = { chain: root, depth: 0, step: undefined, items: new Map(), children: new Map() }
    this.#register(this.#root)
  }

  /** Adds, replaces or (no rules) removes the rules of one destination. */
  replace(id: string, key: DispatchKey, rules: readonly string[]): void {
    if (rules.length === 0) this.#remove(this.#root, id, key)
    else this.#insert(this.#root, { id, key, rules })
  }

  /** Chains whose rules changed since the last call, or that are gone. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  /** The rules of a chain of this tree; undefined when it has no such chain. */
  rules(chain: string): readonly string[] | undefined {
    const node = this.#nodes.get(chain)
    if (node === undefined) return undefined
    if (node.step === undefined) return sortedItems(node).flatMap((item) => item.rules)
    return branchRules(node, node.step)
  }

  /** Ids of the destinations in a leaf chain; empty for other chains. */
  idsIn(chain: string): readonly string[] {
    const node = this.#nodes.get(chain)
    return node === undefined || node.step !== undefined ? [] : [...node.items.keys()]
  }

  #insert(node: TreeNode, item: Item): void {
    if (sameRules(node.items.get(item.id), item)) return
    node.items.set(item.id, item)
    const step = this.#stepAfterInsert(node, item)
    if (step !== node.step) return this.#rebuild(node)
    if (step === undefined) {
      this.#changed.add(node.chain)
      return
    }
    const nibble = item.key.path[step] ?? 0
    const child = node.children.get(nibble)
    if (child) return this.#insert(child, item)
    this.#addChild(node, step, nibble)
    this.#changed.add(node.chain)
    this.#insert(node.children.get(nibble)!, item)
  }

  #remove(node: TreeNode, id: string, key: DispatchKey): void {
    if (!node.items.delete(id)) return
    this.#changed.add(node.chain)
    if (node.step === undefined) return
    if (node.items.size <= LEAF_SIZE) return this.#rebuild(node)
    const nibble = key.path[node.step] ?? 0
    const child = node.children.get(nibble)
    if (child === undefined) return
    this.#remove(child, id, key)
    if (child.items.size > 0) return
    this.#unregister(child)
    node.children.delete(nibble)
    if (node.children.size === 1) this.#rebuild(node)
  }

  /** The step by which a node that has `item` now is to be split; undefined: it is a leaf. */
  #stepAfterInsert(node: TreeNode, item: Item): number | undefined {
    if (node.items.size <= LEAF_SIZE || node.depth >= MAX_DEPTH) return undefined
    if (node.step === undefined) return firstDifference(node.items)
    // All others agree in the steps before the present one, so any of them shows an earlier difference.
    const [other] = [...node.items.values().take(2)].filter((peer) => peer.id !== item.id)
    const differs = other ? firstDifferenceOf(item.key, other.key) : undefined
    return differs !== undefined && differs < node.step ? differs : node.step
  }

  #rebuild(node: TreeNode): void {
    for (const child of node.children.values()) this.#unregister(child)
    node.children = new Map()
    this.#changed.add(node.chain)
    const split = node.items.size > LEAF_SIZE && node.depth < MAX_DEPTH
    const step = split ? firstDifference(node.items) : undefined
    node.step = step
    if (step === undefined) return
    for (const item of node.items.values()) {
      const nibble = item.key.path[step] ?? 0
      const child = node.children.get(nibble) ?? this.#addChild(node, step, nibble)
      child.items.set(item.id, item)
    }
    for (const child of node.children.values()) this.#rebuild(child)
  }

  #addChild(parent: TreeNode, step: number, nibble: number): TreeNode {
    const path = parent === this.#root ? this.#prefix : parent.chain
    const chain = `${path}${step.toString(36)}${nibble.toString(16)}`
    const depth = parent.depth + 1
    const child = { chain, depth, step: undefined, items: new Map(), children: new Map() }
    parent.children.set(nibble, child)
    this.#register(child)
    return child
  }

  #register(node: TreeNode): void {
    this.#nodes.set(node.chain, node)
    this.#changed.add(node.chain)
  }

  #unregister(node: TreeNode): void {
    this.#nodes.delete(node.chain)
    this.#changed.add(node.chain)
    for (const child of node.children.values()) this.#unregister(child)
  }
}

function branchRules(node: TreeNode, step: number): readonly string[] {
  return [...node.children.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, child]) => `${matchStep(someKey(child), step)}-g ${child.chain}`)
}

function sameRules(old: Item | undefined, item: Item): boolean {
  return (
    old?.rules.length === item.rules.length && old.rules.every((rule, i) => rule === item.rules[i])
  )
}

function someKey(node: TreeNode): DispatchKey {
  const [item] = node.items.values()
  if (item === undefined) throw new Error(`empty dispatch chain ${node.chain}`)
  return item.key
}

function sortedItems(node: TreeNode): readonly Item[] {
  return [...node.items.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

function firstDifference(items: ReadonlyMap<string, Item>): number | undefined {
  let first: number | undefined
  const [reference, ...others] = items.values()
  if (reference === undefined) return undefined
  for (const other of others) {
    const step = firstDifferenceOf(reference.key, other.key)
    if (step !== undefined && (first === undefined || step < first)) first = step
  }
  return first
}

function firstDifferenceOf(a: DispatchKey, b: DispatchKey): number | undefined {
  const step = a.path.findIndex((nibble, index) => nibble !== b.path[index])
  return step < 0 ? undefined : step
}

/**
 * What a packet is dispatched by: destination address, protocol and port, seen
 * as a path of 4-bit steps. The address comes first, its low bits first (those
 * of allocated addresses are the ones that differ), then the protocol, then the
 * port from its high bits down.
 */
export interface DispatchKey {
  readonly path: Uint8Array
  /** Address steps at the start of the path: 8, 32, or 0 for node ports. */
  readonly addressSteps: number
  readonly protocol: Protocol
  readonly port: number
}

const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']

/** `node`: any address of this node; the key then has no address steps. */
export function dispatchKey(ip: IpAddress | 'node', protocol: Protocol, port: number): DispatchKey {
  const address = ip === 'node' ? [] : lowNibblesFirst(ipBytes(ip))
  const steps = [port >> 12, (port >> 8) & 15, (port >> 4) & 15, port & 15]
  const path = Uint8Array.from([...address, PROTOCOLS.indexOf(protocol), ...steps])
  return { path, addressSteps: address.length, protocol, port }
}

/** Matches every key that agrees with `key` at `step`; at a step of the port, at all earlier ones of the port, too. */
export function matchStep(key: DispatchKey, step: number): string {
  if (step < key.addressSteps) return matchAddress(key, step)
  const portStep = step - key.addressSteps - 1
  if (portStep < 0) return `-p ${key.protocol.toLowerCase()} `
  const width = 12 - 4 * portStep
  const first = (key.port >> width) << width
  const last = first + (1 << width) - 1
  return dport(key.protocol, first === last ? first : `${first}:${last}`)
}

function matchAddress(key: DispatchKey, step: number): string {
  const nibble = key.path[step] ?? 0
  const address = addressWith(nibble, step, key.addressSteps)
  if (step === key.addressSteps - 1) return `-d ${address}/4 `
  return `-d ${address}/${addressWith(15, step, key.addressSteps)} `
}

/** An address that is zero except for one nibble, as inet_ntop(3) prints it. */
function addressWith(nibble: number, step: number, steps: number): string {
  const bytes = new Uint8Array(steps / 2)
  const index = bytes.length - 1 - (step >> 1)
  const byte = nibble << (4 * (step & 1))
  bytes[index] = byte
  const v4Compatible = steps === 32 && byte !== 0 && (index === 12 || index === 13)
  return v4Compatible ? `::${formatIp(bytes.slice(12))}` : formatIp(bytes)
}

function lowNibblesFirst(bytes: Uint8Array): number[] {
  return [...bytes].reverse().flatMap((byte) => [byte & 15, byte >> 4])
}
