import { arrayAt, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import type { CacheReader } from '../cache/feed.ts'
import { nodes } from '../kinds/node.ts'
import { storagePrefix } from '../resource/resource.ts'
import { invalidValue } from '../status/causes.ts'
import type { StatusCause } from '../status/status.ts'
import { newExternalIPs } from './captured-addresses.ts'

/**
 * Nobody may capture a node's own address as an externalIP: the Service would
 * take the ports that the node serves itself. A load balancer may be one.
 */
export function nodeCapture(
  { feed }: CacheReader,
  next: JsonObject,
  old: JsonObject | undefined,
): StatusCause | undefined {
  const external = newExternalIPs(next, old)
  if (external.length === 0) return undefined
  const items = feed.cache(nodes).under(storagePrefix(nodes))
  const own = new Set(items.flatMap(({ value }) => addressesOf(value)))
  const taken = external.find(({ text }) => own.has(text))
  if (taken === undefined) return undefined
  return invalidValue(taken.field, taken.text, "must not be a node's own address")
}

function addressesOf(node: Buffer): readonly string[] {
  const addresses = arrayAt(JSON.parse(node.toString()) as Json, 'status', 'addresses')
  return addresses.flatMap((one) => parseLegacyIp(stringAt(one, 'address')) ?? [])
}
