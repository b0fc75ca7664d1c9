import { hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import { MAX_ADDRESSES } from '../../lib/tls/first-connection.ts'
import type { ServerContext } from '../context/server-context.ts'
import { badRequest, StatusError } from '../status/status.ts'

/** Which addresses of a Node are wanted. */
interface WantedAddresses {
  readonly port: number
  /** The types of addresses, the preferred one first. */
  readonly types: readonly string[]
}

/** The addresses and ports at which this server itself listens. */
type OwnEndpoints = Pick<ServerContext, 'ownAddresses' | 'ownPorts'>

/**
 * The addresses of a Node to which requests may be sent, at least one. They are in the order of `types`, and those of
 * one type in the order of the Node. Because a node writes its addresses itself, loopback, link-local and multicast
 * addresses and those of this server are left out. If none is left, the status names the reason of the first.
 */
export function nodeAddresses(
  own: OwnEndpoints,
  node: JsonObject,
  { port, types }: WantedAddresses,
): readonly IpAddress[] | StatusError {
  const name = stringAt(node, 'metadata', 'name')
  const listed = arrayAt(node, 'status', 'addresses')
  const found = types.flatMap((type) =>
    listed
      .filter((one) => stringAt(one, 'type') === type)
      .map((one) => usableAddress(own, stringAt(one, 'address'), { name, type, port })),
  )
  const usable = found.flatMap((one) => (one instanceof StatusError ? [] : [one]))
  if (usable.length > 0) return [...new Set(usable)].slice(0, MAX_ADDRESSES)
  return found.find((one) => one instanceof StatusError) ?? withoutAddress(name, types.join(' or '))
}

interface Listed {
  readonly name: string
  readonly type: string
  readonly port: number
}

function usableAddress(
  own: OwnEndpoints,
  text: string,
  { name, type, port }: Listed,
): IpAddress | StatusError {
  const ip = parseIp(text)
  if (ip === undefined) return withoutAddress(name, type, text)
  if (isSpecialAddress(ip)) {
    return badRequest(
      `node ${quote(name)} is not reached at its ${type} ${ip}: it is loopback, link-local, multicast or unspecified; register the node with an address of its network`,
    )
  }
  if (own.ownAddresses().includes(ip) && own.ownPorts().includes(port)) {
    const where = hostPort(ip, port)
    return badRequest(
      `node ${quote(name)} is not reached at ${where}: this server listens there itself; name the port of its node-proxy`,
    )
  }
  return ip
}

function withoutAddress(name: string, type: string, text = ''): StatusError {
  const what = text === '' ? `no ${type}` : `the ${type} ${quote(text)}, which is not an address`
  return new StatusError({
    code: 503,
    reason: 'ServiceUnavailable',
    message: `node ${quote(name)} has ${what}: see its status.addresses, which the program that registers the node writes`,
    details: { name },
  })
}
