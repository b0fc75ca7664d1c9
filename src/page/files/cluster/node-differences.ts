import type { BackendJson } from '../../../inspection/generated/inspection_pb.ts'
import type { EntryMessage } from '../data/node-api.ts'
import { hostPort } from '../display/format.ts'
import type { ReadService } from './cluster-services.ts'
import { agreementOf, groupsWords, type NodeValue, shareWords } from './compare-nodes.ts'

/** The most addresses of a list that are named; the others are counted. */
const NAMED = 3

/** How the nodes forward one Service differently. */
export interface ServiceDifferences {
  /** Texts by the name of the node, for the nodes that differ from most. */
  readonly byNode: ReadonlyMap<string, readonly string[]>
  /** What has no majority, with the nodes that have each value. */
  readonly disputed: readonly string[]
}

/** `hasHints`: its endpoints have topology hints, by which each node may have other backends. */
export function nodeDifferences(
  services: readonly ReadService[],
  hasHints: boolean,
): ServiceDifferences {
  const ids = new Set(services.flatMap(({ entries }) => entries.map(({ id }) => id)))
  const byNode = new Map<string, string[]>()
  const disputed: string[] = []
  for (const id of [...ids].toSorted()) {
    const port = id.slice(id.indexOf(':') + 1)
    const found = services.map(({ node, entries }) => ({
      node,
      value: entries.find((entry) => entry.id === id),
    }))
    for (const aspect of aspectsOf(found, hasHints)) {
      for (const [node, text] of aspect.texts) {
        byNode.set(node, [...(byNode.get(node) ?? []), `${port}: ${text}`])
      }
      if (aspect.disputed !== '') disputed.push(`${port}: ${aspect.disputed}`)
    }
  }
  return { byNode, disputed }
}

/** One property that all nodes should share. */
interface Aspect {
  readonly texts: readonly (readonly [node: string, text: string])[]
  /** Empty: a majority has the same value. */
  readonly disputed: string
}

function aspectsOf(
  found: readonly NodeValue<EntryMessage | undefined>[],
  hasHints: boolean,
): readonly Aspect[] {
  const forwarding = found.flatMap(({ node, value }) => (value ? [{ node, value }] : []))
  return [
    aspectOf(
      found.map(({ node, value }) => ({ node, value: value !== undefined })),
      {
        words: (isForwarded) => (isForwarded ? 'forwarded' : 'not forwarded'),
        texts: (isForwarded) => [isForwarded ? 'is forwarded, elsewhere not' : 'is not forwarded'],
      },
    ),
    aspectOf(
      forwarding.map(({ node, value: { status = '' } }) => ({ node, value: status })),
      {
        words: (status) => `state ${status}`,
        texts: (status, usual) => [`${status}, elsewhere ${usual}`],
      },
    ),
    aspectOf(
      (hasHints ? [] : forwarding).map(({ node, value }) => ({ node, value: backendsKey(value) })),
      { words: backendsWords, texts: backendDifferences },
    ),
  ]
}

interface AspectWords<T> {
  /** `all`: what groups of nodes have. */
  readonly words: (value: T, all: readonly T[]) => string
  /** The texts for a node whose value differs from that of most. */
  readonly texts: (value: T, usual: T) => readonly string[]
}

function aspectOf<T>(values: readonly NodeValue<T>[], { words, texts }: AspectWords<T>): Aspect {
  const { usual, groups, known } = agreementOf(values)
  if (usual !== undefined) {
    const others = values.filter(({ value }) => value !== usual.value)
    return {
      texts: others.flatMap(({ node, value }) =>
        texts(value, usual.value).map((text) => [node, text] as const),
      ),
      disputed: '',
    }
  }
  const all = groups.map(({ value }) => value)
  return {
    texts: groups.flatMap((group) => {
      const text = `${words(group.value, all)}; the nodes disagree: ${shareWords(group, known)} have it so`
      return group.nodes.map((node) => [node, text] as const)
    }),
    disputed: groupsWords(groups, (value) => words(value, all)),
  }
}

function backendDifferences(ownKey: string, usualKey: string): readonly string[] {
  const [here, usual] = [new Set(addressesIn(ownKey)), new Set(addressesIn(usualKey))]
  const missing = [...usual.difference(here)]
  const extra = [...here.difference(usual)]
  return [
    ...(missing.length === 0 ? [] : [`without ${listed(missing)}`]),
    ...(extra.length === 0 ? [] : [`only here ${listed(extra)}`]),
  ]
}

/** The backends that not all groups have, so that long lists show what differs. */
function backendsWords(key: string, all: readonly string[]): string {
  const [first = new Set<string>(), ...others] = all.map((one) => new Set(addressesIn(one)))
  const common = others.reduce((found, one) => found.intersection(one), first)
  const own = addressesIn(key).filter((address) => !common.has(address))
  if (own.length > 0) return `to ${listed(own)}`
  return common.size > 0 ? 'to no such backend' : 'to no backend'
}

function addressesIn(key: string): readonly string[] {
  return key.split(' ').filter(Boolean)
}

function listed(words: readonly string[]): string {
  const named = words.slice(0, NAMED).join(', ')
  return words.length > NAMED ? `${named} and ${words.length - NAMED} more` : named
}

/**
 * The backends on which nodes must agree. Draining backends are left out, because each node ends its own connections;
 * so are backends that are only in the local pool, because each node has its own.
 */
function backendsKey({ backends = [] }: EntryMessage): string {
  return backends
    .filter(({ inClusterPool = false }) => inClusterPool)
    .filter(({ drainingUntil = '0' }) => drainingUntil === '0')
    .map(backendWords)
    .toSorted()
    .join(' ')
}

/** With its weight, unless that is the usual one: it depends on no other backend, which another node may not have. */
function backendWords({ ip = '', port, weight = 0 }: BackendJson): string {
  const address = hostPort(ip, port)
  return weight === 1 ? address : `${address}×${weight}`
}
