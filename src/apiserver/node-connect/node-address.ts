import { hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** Where this server itself listens. */
export interface OwnEndpoints {
  readonly addresses: readonly IpAddress[]
  readonly ports: readonly number[]
}

/**
 * The first InternalIP of a Node, if requests may go there. A node writes its addresses itself, so one that is the
 * loopback, of the link, of a group, or this server is refused.
 */
export function nodeAddress(
  node: JsonObject,
  port: number,
  own: OwnEndpoints,
): IpAddress | StatusError {
  const name = stringAt(node, 'metadata', 'name')
  const found = arrayAt(node, 'status', 'addresses').find(
    (one) => stringAt(one, 'type') === 'InternalIP',
  )
  const text = stringAt(found, 'address')
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
