import { hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import { MAX_ADDRESSES } from '../../lib/tls/first-connection.ts'
import { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** Where this server itself listens. */
export interface OwnEndpoints {
  readonly addresses: readonly IpAddress[]
  readonly ports: readonly number[]
}

/**
 * The InternalIPs of a Node to which requests may go, at least one, in their order. A node writes its addresses itself, so one
 * that is the loopback, of the link, of a group, or this server is left out; the status is of the first, where none is left.
 */
export function nodeAddresses(
  node: JsonObject,
  port: number,
  own: OwnEndpoints,
): readonly IpAddress[] | StatusError {
  const name = stringAt(node, 'metadata', 'name')
  const found = arrayAt(node, 'status', 'addresses')
    .filter((one) => stringAt(one, 'type') === 'InternalIP')
    .map((one) => usableAddress(stringAt(one, 'address'), { name, port, own }))
  const usable = found.flatMap((one) => (one instanceof StatusError ? [] : [one]))
  if (usable.length > 0) return [...new Set(usable)].slice(0, MAX_ADDRESSES)
  return found.find((one) => one instanceof StatusError) ?? withoutAddress(name, '')
}

function usableAddress(
  text: string,
  { name, port, own }: { readonly name: string; readonly port: number; readonly own: OwnEndpoints },
): IpAddress | StatusError {
  const ip = parseIp(text)
  if (ip === undefined) return withoutAddress(name, text)
  if (isSpecialAddress(ip)) {
    return badRequest(
      `node ${quote(name)} is not reached at its InternalIP ${ip}: it is loopback, link-local, multicast or unspecified; register the node with an address of its network`,
    )
  }
  if (own.addresses.includes(ip) && own.ports.includes(port)) {
    const where = hostPort(ip, port)
    return badRequest(
      `node ${quote(name)} is not reached at ${where}: this server listens there itself; name the port of its node-proxy`,
    )
  }
  return ip
}

function withoutAddress(name: string, text: string): StatusError {
  const what = text === '' ? 'no InternalIP' : `the InternalIP ${quote(text)}, which is no address`
  return new StatusError({
    code: 503,
    reason: 'ServiceUnavailable',
    message: `node ${quote(name)} has ${what}: see its status.addresses, which the program that registers the node writes`,
    details: { name },
  })
}
