import { hostPort, type IpAddress, parseIp } from '../../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../../lib/json.ts'

/** A backend that a connection may reach. */
export interface ReachedBackend {
  readonly ip: IpAddress
  readonly port: number
  /** The source that it sees; undefined: an address of the node that explains the connection, which one is not known. */
  readonly seen: IpAddress | undefined
}

/**
 * The backends of an explanation: those that the kernel delivers to, with the source that they see, then further ones that
 * node-proxy wants.
 */
export function reachedBackends(document: JsonObject): readonly ReachedBackend[] {
  const delivered = arrayAt(document, 'observed')
    .filter((one) => stringAt(one, 'kind') === 'delivered')
    .flatMap((one) => backendAt(valueAt(one, 'dst'), parseIp(stringAt(one, 'src'))))
  const isKept = stringAt(document, 'desired', 'masquerade') !== 'yes'
  const source = isKept ? parseIp(stringAt(document, 'src')) : undefined
  const wanted = arrayAt(document, 'desired', 'backends').flatMap((one) => backendAt(one, source))
  const found = new Map<string, ReachedBackend>()
  for (const one of [...delivered, ...wanted]) found.getOrInsert(hostPort(one.ip, one.port), one)
  return [...found.values()]
}

function backendAt(at: Json | undefined, seen: IpAddress | undefined): readonly ReachedBackend[] {
  const ip = parseIp(stringAt(at, 'ip'))
  const port = valueAt(at, 'port')
  return ip === undefined || typeof port !== 'number' ? [] : [{ ip, port, seen }]
}
