import { readFileSync } from 'node:fs'
import { formatIp, type IpAddress, parseIp } from '../lib/ip.ts'

/** Protocols whose sockets are listed. */
type ListenerProtocol = 'TCP' | 'UDP' | 'SCTP'

/** A local socket that waits for clients. */
export interface Listener {
  readonly protocol: ListenerProtocol
  /** `0.0.0.0` or `::` stands for every address. */
  readonly ip: IpAddress
  readonly port: number
}

/** The ports on which processes of this network namespace listen. */
export interface Listeners {
  /**
   * Every listening socket of TCP and SCTP, and every UDP socket that is bound and not connected. A table under
   * /proc/net that cannot be read counts as empty.
   */
  list(): readonly Listener[]
}

/** States in /proc/net (net/tcp_states.h): TCP_LISTEN for a TCP listener, TCP_CLOSE for an unconnected UDP socket. */
const LISTEN = '0A'
const CLOSE = '07'
/** Groups: the local address and port, the port of the peer, the state. All are hexadecimal. */
const ROW =
  /^\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]{2}) /

/** Reads the socket tables under /proc/net; a missing one (no IPv6, no SCTP) is empty. */
export class ProcListeners implements Listeners {
  readonly #root: string

  constructor(root = '/proc/self/net') {
    this.#root = root
  }

  list(): readonly Listener[] {
    return [
      ...parseSocketTable(this.#read('tcp'), 'TCP'),
      ...parseSocketTable(this.#read('tcp6'), 'TCP'),
      ...parseSocketTable(this.#read('udp'), 'UDP'),
      ...parseSocketTable(this.#read('udp6'), 'UDP'),
      ...parseSctpTable(this.#read('sctp/eps')),
    ]
  }

  #read(table: string): string {
    try {
      return readFileSync(`${this.#root}/${table}`, 'latin1')
    } catch {
      return ''
    }
  }
}

/** Listeners in the text of /proc/net/tcp, tcp6, udp or udp6. */
export function parseSocketTable(text: string, protocol: 'TCP' | 'UDP'): readonly Listener[] {
  const listeners: Listener[] = []
  const wanted = protocol === 'TCP' ? LISTEN : CLOSE
  for (const line of text.split('\n')) {
    const [, address = '', port = '', peer, state] = ROW.exec(line) ?? []
    if (state !== wanted || peer !== '0000') continue
    const ip = decodeAddress(address)
    listeners.push({ protocol, ip, port: Number.parseInt(port, 16) })
  }
  return listeners
}

/** Listeners in the text of /proc/net/sctp/eps: port in the sixth column, addresses after the eighth. */
export function parseSctpTable(text: string): readonly Listener[] {
  const protocol: ListenerProtocol = 'SCTP'
  return text.split('\n').flatMap((line) => {
    const columns = line.trim().split(/\s+/)
    const port = Number(columns[5])
    if (!Number.isInteger(port) || port <= 0 || port > 65_535) return []
    const addresses = columns.slice(8).map((text) => parseIp(text))
    return addresses.filter((ip) => ip !== undefined).map((ip) => ({ protocol, ip, port }))
  })
}

/** Reads one or four 32-bit words, which the kernel prints as numbers of the host's byte order (little-endian here). */
function decodeAddress(hex: string): IpAddress {
  const bytes = Buffer.from(hex, 'hex')
  return formatIp(bytes.swap32())
}
