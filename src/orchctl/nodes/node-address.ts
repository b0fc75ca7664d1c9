import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { MAX_ADDRESSES } from '../../lib/tls/first-connection.ts'

/** The addresses of a Node object, those of its own network first. */
export function nodeAddresses(node: JsonObject): readonly IpAddress[] {
  const all = arrayAt(node, 'status', 'addresses')
  const ofType = (type: string) => all.filter((one) => stringAt(one, 'type') === type)
  return [...ofType('InternalIP'), ...ofType('ExternalIP')].flatMap(
    (one) => parseIp(stringAt(one, 'address')) ?? [],
  )
}

/** The addresses at which other machines of the cluster reach the node, in its order; those beyond four are left out. */
export function internalAddresses(node: JsonObject): readonly IpAddress[] {
  const found = arrayAt(node, 'status', 'addresses')
    .filter((one) => stringAt(one, 'type') === 'InternalIP')
    .flatMap((one) => parseIp(stringAt(one, 'address')) ?? [])
  return [...new Set(found)].slice(0, MAX_ADDRESSES)
}
