import type { BackendMessage, EntryMessage } from '../data/messages.ts'
import { frequencies } from '../nodes/most-frequent.ts'
import { hostPort } from '../text/format.ts'
import type { ReadService } from './node-service.ts'

/** Addresses of a list that are named; of the others, the number is. */
const NAMED = 3

/** Where nodes forward a Service otherwise than most: texts by the name of the node, without those that agree. */
export function nodeDifferences(
  services: readonly ReadService[],
): ReadonlyMap<string, readonly string[]> {
  const ids = new Set(services.flatMap(({ entries }) => entries.map(({ id }) => id)))
  const texts = new Map<string, string[]>()
  for (const id of [...ids].toSorted()) {
    const found = services.map(({ node, entries }) => ({
      node,
      entry: entries.find((entry) => entry.id === id),
    }))
    for (const [node, text] of entryDifferences(id, found)) {
      texts.set(node, [...(texts.get(node) ?? []), text])
    }
  }
  return texts
}

interface NodeEntry {
  readonly node: string
  readonly entry: EntryMessage | undefined
}

function entryDifferences(
  id: string,
  found: readonly NodeEntry[],
): readonly (readonly [node: string, text: string])[] {
  const port = id.slice(id.indexOf(':') + 1)
  const usual = {
    isForwarded: mostFrequent(found.map(({ entry }) => entry !== undefined)) ?? true,
    status: mostFrequent(found.flatMap(({ entry }) => entry?.status ?? [])),
    backends: mostFrequent(found.flatMap(({ entry }) => (entry ? [backendsKey(entry)] : []))) ?? '',
  }
  return found.flatMap(({ node, entry }) => {
    if (entry === undefined) {
      return usual.isForwarded ? [[node, `${port}: is not forwarded`] as const] : []
    }
    const texts = [
      ...(usual.isForwarded ? [] : ['is forwarded, elsewhere not']),
      ...(entry.status === usual.status ? [] : [`${entry.status}, elsewhere ${usual.status}`]),
      ...backendDifferences(entry, usual.backends),
    ]
    return texts.map((text) => [node, `${port}: ${text}`] as const)
  })
}

function backendDifferences(entry: EntryMessage, usualKey: string): readonly string[] {
  const own = backendsKey(entry)
  if (own === usualKey) return []
  const [here, usual] = [own, usualKey].map((key) => new Set(key.split(' ').filter(Boolean)))
  if (here === undefined || usual === undefined) return []
  const missing = [...usual.difference(here)]
  const extra = [...here.difference(usual)]
  return [
    ...(missing.length === 0 ? [] : [`without ${listed(missing)}`]),
    ...(extra.length === 0 ? [] : [`only here ${listed(extra)}`]),
  ]
}

function listed(words: readonly string[]): string {
  const named = words.slice(0, NAMED).join(', ')
  return words.length > NAMED ? `${named} and ${words.length - NAMED} more` : named
}

/** What nodes have to agree on. Those that drain are left out: each node ends its own connections. */
function backendsKey({ backends = [] }: EntryMessage): string {
  return backends
    .filter(({ drainingUntil = '0' }) => drainingUntil === '0')
    .map(backendWords)
    .toSorted()
    .join(' ')
}

/** With its weight, unless that is the usual one: it depends on no other backend, which another node may not have. */
function backendWords({ ip = '', port, weight = 0 }: BackendMessage): string {
  const address = hostPort(ip, port)
  return weight === 1 ? address : `${address}×${weight}`
}

function mostFrequent<T>(values: readonly T[]): T | undefined {
  return frequencies(values)[0]?.[0]
}
