import { hashName } from '../lib/hash.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import { addressNumber, networkDifference, networkRange } from '../lib/ip-range.ts'
import { isJsonObject, type Json } from '../lib/json.ts'
import { printable } from '../lib/quote.ts'
import type { PolicyPeer } from '../networkpolicy/network-policy.ts'
import { labelMatcher } from '../resources/label-selector.ts'
import { present } from '../resources/reader.ts'
import type { Protocol } from '../resources/types.ts'
import type { ClusterPod } from './cluster-pod.ts'
import {
  type AddressRange,
  HASH_LENGTH,
  memberKey,
  type NamedPortMember,
  type PolicySet,
  type SetName,
} from './policy-content.ts'
import { Tracked } from './tracked.ts'

/** The kernel keeps at most 127 bytes of a comment. */
const COMMENT_LENGTH = 120

/** Pods that no selector can tell apart. */
interface Identity {
  readonly key: string
  readonly namespace: string
  readonly labels: Json
  readonly ips: Set<IpAddress>
  /** The selectors that select it. */
  readonly selectors: Set<PodSet>
}

/** What every set has: its name, what it is in words, and how many rules need it. */
interface Shared {
  readonly name: SetName
  readonly comment: string
  uses: number
}

interface PodSet extends Shared {
  readonly kind: 'pods'
  readonly members: Set<IpAddress>
  /** The only namespace of its Pods; undefined: `selects` decides by the labels of the namespace. */
  readonly namespace: string | undefined
  readonly selects: (labels: Json, namespaceLabels: Json | undefined) => boolean
}

interface PortSet extends Shared {
  readonly kind: 'namedPorts'
  readonly members: Map<string, NamedPortMember>
  readonly protocol: Protocol
  readonly port: string
}

interface BlockSet extends Shared {
  readonly kind: 'blocks'
  readonly ranges: readonly AddressRange[]
}

/** The Pod that has an address. */
interface Holder {
  readonly identity: Identity
  readonly pod: ClusterPod
}

/**
 * The sets that rules compare addresses with. A set is made when the first rule needs it, shared by all rules that need
 * the same one, and gone when changes are taken after its last rule went. A selector is compared once with all Pods of
 * the same namespace and labels; one changed Pod changes the sets that select it, whatever the number of policies.
 */
export class PolicySets {
  readonly #sets = new Map<SetName, PodSet | PortSet | BlockSet>()
  readonly #namespaces = new Map<string, Json>()
  readonly #identities = new Map<string, Identity>()
  readonly #identitiesOf = new Map<string, Set<Identity>>()
  /** By the namespace of its Pods; undefined: by the labels of namespaces. */
  readonly #podSets = new Map<string | undefined, Set<PodSet>>()
  /** By protocol and name. */
  readonly #portSets = new Map<string, PortSet>()
  readonly #holders = new Map<IpAddress, Holder>()
  /** Sets that no rule needs any more, unless another one does by now. */
  readonly #unused = new Set<PodSet | PortSet | BlockSet>()
  readonly #appeared = new Set<SetName>()
  readonly #changed = new Map<SetName, Tracked<string, true>>()

  get all(): ReadonlyMap<SetName, PolicySet> {
    return this.#sets
  }

  /** The set of a peer of a policy of this namespace, until `release` is called as often. */
  need(peer: PolicyPeer, policyNamespace: string): SetName {
    if (peer.kind === 'block') return this.#use(blockSet(peer))
    return this.#use(podSet(peer, policyNamespace), (made) => {
      this.#podSets.getOrInsertComputed(made.namespace, () => new Set()).add(made)
      for (const identity of this.#identitiesFor(made)) this.#judge(made, identity)
    })
  }

  /** The set of all ports of Pods with this name, until `release` is called as often. */
  needPort(protocol: Protocol, port: string): SetName {
    return this.#use(portSet(protocol, port), (made) => {
      this.#portSets.set(portKey(protocol, port), made)
      for (const [ip, { pod }] of this.#holders) this.#addPorts(made, ip, pod)
    })
  }

  release(name: SetName): void {
    const set = this.#sets.get(name)
    if (set === undefined) return
    set.uses -= 1
    if (set.uses === 0) this.#unused.add(set)
  }

  /** Sets the labels of a namespace; undefined if there is none of this name. */
  setNamespace(name: string, labels: Json | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
    for (const identity of this.#identitiesOf.get(name) ?? []) {
      for (const set of this.#podSets.get(undefined) ?? []) this.#judge(set, identity)
    }
  }

  /** The labels of a namespace; undefined if there is none of this name. */
  namespaceLabels(name: string): Json | undefined {
    return this.#namespaces.get(name)
  }

  /** Gives an address to a Pod, or (undefined) to none. */
  setHolder(ip: IpAddress, pod: ClusterPod | undefined): void {
    const before = this.#holders.get(ip)
    const identity = pod && this.#identityOf(pod)
    for (const set of this.#portSetsOf(before?.pod)) this.#dropPorts(set, ip, before?.pod)
    for (const set of this.#portSetsOf(pod)) this.#addPorts(set, ip, pod)
    if (pod === undefined || identity === undefined) this.#holders.delete(ip)
    else this.#holders.set(ip, { identity, pod })
    if (before?.identity === identity) return
    if (before !== undefined) this.#leave(ip, before.identity)
    if (identity === undefined) return
    identity.ips.add(ip)
    for (const set of identity.selectors) this.#add(set, ip)
  }

  /** The same Pod, with the labels of others that have equal ones. */
  interned(pod: ClusterPod): ClusterPod {
    const key = identityKey(pod)
    return { ...pod, labels: this.#identities.get(key)?.labels ?? pod.labels }
  }

  /** What is different since this was last called. Sets that nothing needs are gone afterwards. */
  takeChanges() {
    const sets = new Set(this.#appeared)
    for (const set of this.#unused) {
      if (set.uses > 0) continue
      this.#remove(set)
      // One that appeared since the last call was never reported.
      if (!sets.delete(set.name)) sets.add(set.name)
    }
    const members = new Map<SetName, ReadonlySet<string>>()
    let hasLost = false
    const gained: SetName[] = []
    for (const [name, tracked] of this.#changed) {
      const set = this.#sets.get(name)
      if (set === undefined || set.kind === 'blocks') continue
      const keys = tracked.take((key) => (set.members.has(key as IpAddress) ? true : undefined))
      if (keys.size > 0) members.set(name, new Set(keys.keys()))
      hasLost ||= [...keys.values()].includes(true)
      if ([...keys.values()].includes(undefined)) gained.push(name)
    }
    this.#unused.clear()
    this.#appeared.clear()
    this.#changed.clear()
    return { sets, members, hasLost, gained }
  }

  #use<T extends PodSet | PortSet | BlockSet>(
    made: T,
    fill: (made: T) => void = () => {},
  ): SetName {
    const known = this.#sets.get(made.name)
    if (known !== undefined) {
      known.uses += 1
      return known.name
    }
    this.#sets.set(made.name, made)
    this.#appeared.add(made.name)
    fill(made)
    return made.name
  }

  #remove(set: PodSet | PortSet | BlockSet): void {
    this.#sets.delete(set.name)
    if (set.kind === 'namedPorts') this.#portSets.delete(portKey(set.protocol, set.port))
    if (set.kind !== 'pods') return
    deleteFrom(this.#podSets, set.namespace, set)
    for (const identity of this.#identitiesFor(set)) identity.selectors.delete(set)
  }

  #identitiesFor({ namespace }: PodSet): Iterable<Identity> {
    if (namespace === undefined) return this.#identities.values()
    return this.#identitiesOf.get(namespace) ?? []
  }

  #judge(set: PodSet, { namespace, labels, ips, selectors }: Identity): void {
    const isSelected = set.selects(labels, this.#namespaces.get(namespace))
    if (isSelected === selectors.has(set)) return
    if (isSelected) selectors.add(set)
    else selectors.delete(set)
    for (const ip of ips) {
      if (isSelected) this.#add(set, ip)
      else this.#drop(set, ip)
    }
  }

  #portSetsOf(pod: ClusterPod | undefined): Iterable<PortSet> {
    return present(
      (pod?.namedPorts ?? []).map((one) => this.#portSets.get(portKey(one.protocol, one.name))),
    )
  }

  #identityOf(pod: ClusterPod): Identity {
    const { namespace, labels } = pod
    const key = identityKey(pod)
    const known = this.#identities.get(key)
    if (known !== undefined) return known
    const made = { key, namespace, labels, ips: new Set<IpAddress>(), selectors: new Set<PodSet>() }
    this.#identities.set(key, made)
    this.#identitiesOf.getOrInsertComputed(namespace, () => new Set()).add(made)
    for (const place of [namespace, undefined]) {
      for (const set of this.#podSets.get(place) ?? []) this.#judge(set, made)
    }
    return made
  }

  #leave(ip: IpAddress, identity: Identity): void {
    identity.ips.delete(ip)
    for (const set of identity.selectors) this.#drop(set, ip)
    if (identity.ips.size > 0) return
    this.#identities.delete(identity.key)
    deleteFrom(this.#identitiesOf, identity.namespace, identity)
  }

  #add(set: PodSet, ip: IpAddress): void {
    this.#note(set, ip)
    set.members.add(ip)
  }

  #drop(set: PodSet, ip: IpAddress): void {
    this.#note(set, ip)
    set.members.delete(ip)
  }

  #addPorts(set: PortSet, ip: IpAddress, pod: ClusterPod | undefined): void {
    for (const { port } of portsOf(pod, set)) {
      const member = { ip, protocol: set.protocol, port }
      const key = memberKey(member)
      this.#note(set, key)
      set.members.set(key, member)
    }
  }

  #dropPorts(set: PortSet, ip: IpAddress, pod: ClusterPod | undefined): void {
    for (const { port } of portsOf(pod, set)) {
      const key = memberKey({ ip, protocol: set.protocol, port })
      this.#note(set, key)
      set.members.delete(key)
    }
  }

  #note({ name, members }: PodSet | PortSet, key: string): void {
    if (this.#appeared.has(name)) return
    const tracked = this.#changed.getOrInsertComputed(name, () => new Tracked())
    tracked.note(key, members.has(key as IpAddress) ? true : undefined)
  }
}

/** Equal for Pods that no selector can tell apart. */
export function identityKey({
  namespace,
  labels,
}: Pick<ClusterPod, 'namespace' | 'labels'>): string {
  return `${namespace} ${textOf(labels)}`
}

function portKey(protocol: string, port: string): string {
  return `${protocol} ${port}`
}

function portsOf(pod: ClusterPod | undefined, { protocol, port }: PortSet) {
  return (pod?.namedPorts ?? []).filter((one) => one.name === port && one.protocol === protocol)
}

function podSet(peer: Extract<PolicyPeer, { kind: 'pods' }>, policyNamespace: string): PodSet {
  const { namespaceSelector, podSelector = {} } = peer
  const namespace = namespaceSelector === undefined ? policyNamespace : undefined
  const isOfPod = labelMatcher(podSelector)
  const matches = namespaceSelector === undefined ? undefined : labelMatcher(namespaceSelector)
  // A namespace that is not known yet is selected by no selector: its labels may be those that one excludes.
  const isOfNamespace = (labels: Json | undefined) =>
    matches === undefined || (labels !== undefined && matches(labels))
  const where = namespaceSelector === undefined ? { namespace } : { namespaceSelector }
  const text = textOf({ ...where, podSelector } as Json)
  return {
    kind: 'pods',
    ...named('pods', text),
    members: new Set(),
    namespace,
    selects: (labels, namespaceLabels) => isOfPod(labels) && isOfNamespace(namespaceLabels),
  }
}

function portSet(protocol: Protocol, port: string): PortSet {
  return {
    kind: 'namedPorts',
    ...named('named', `${protocol} ${port}`),
    members: new Map(),
    protocol,
    port,
  }
}

function blockSet({ cidr, except }: Extract<PolicyPeer, { kind: 'block' }>): BlockSet {
  const text = [cidr, ...except.toSorted()].join(' except ')
  return { kind: 'blocks', ...named('block', text), ranges: blockRanges(cidr, except) }
}

function named(kind: string, text: string): Shared {
  const name = `${kind}-${hashName(text, HASH_LENGTH)}` as SetName
  return { name, comment: printable(text).slice(0, COMMENT_LENGTH), uses: 1 }
}

/** The same text for equal values, whatever the order of their fields. */
function textOf(value: Json): string {
  return JSON.stringify(value, (_, inner: Json) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

export function deleteFrom<K, V>(groups: Map<K, Set<V>>, key: K, value: V): void {
  const group = groups.get(key)
  group?.delete(value)
  if (group?.size === 0) groups.delete(key)
}

/** The addresses of a block that are in none of the exceptions, as ranges in ascending order that do not touch. */
function blockRanges(cidr: Cidr, except: readonly Cidr[]): readonly AddressRange[] {
  const ranges: AddressRange[] = []
  for (const network of networkDifference([cidr], except)) {
    const range = networkRange(network)
    const [first, last] = [range.at(0n), range.at(range.size - 1n)]
    const before = ranges.at(-1)
    const touches = before && addressNumber(before.last) + 1n === addressNumber(first)
    if (touches) ranges.splice(-1, 1, { first: before.first, last })
    else ranges.push({ first, last })
  }
  return ranges
}
