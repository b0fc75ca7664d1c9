import { hostPort, type IpAddress, parseIp, splitHostPort } from '../../../lib/ip.ts'

const DNS_PORT = 53
/** A link-local address with the interface through which it is reached (RFC 4007 §11). */
const ZONED = /^(fe[89ab][0-9a-f]:[0-9a-f:.]*)%([\w.-]{1,15})$/i
/** Addresses that are not of a single host: unspecified, multicast and broadcast. */
const NO_HOST = /^(?:0\.|22[4-9]\.|23\d\.|255\.255\.255\.255$|::$|ff[0-9a-f]{2}:|::ffff:)/

/** A DNS server to which questions are forwarded. */
export interface Upstream {
  /** Canonical text; of a link-local address with its zone, such as `fe80::1%eth0`. */
  readonly address: string
  readonly port: number
}

/**
 * An upstream as an operator writes it: `10.0.0.1`, `10.0.0.1:5353`, `fd00::1`, `[fd00::1]:5353`, `fe80::1%eth0`.
 * The port is 53 unless given. Undefined when it has another form, or is not the address of a single host.
 */
export function parseUpstream(text: string): Upstream | undefined {
  const { host = '', port: digits = DNS_PORT } = splitHostPort(text) ?? {}
  const address = parseAddress(host)
  const port = Number(digits)
  if (address === undefined || port < 1 || port > 65_535) return undefined
  return { address, port }
}

/** `10.0.0.1:53` or `[fd00::1]:53`. */
export function upstreamName({ address, port }: Upstream): string {
  return hostPort(address, port)
}

function parseAddress(text: string): string | undefined {
  const [, linkLocal, zone] = ZONED.exec(text) ?? []
  const ip: IpAddress | undefined = parseIp(linkLocal ?? text)
  if (ip === undefined || NO_HOST.test(ip)) return undefined
  return zone === undefined ? ip : `${ip}%${zone}`
}
