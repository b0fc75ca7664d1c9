import { type IpAddress, parseIp } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'

/** Source and destination of one direction, as connection tracking has them. */
export interface TrackedEnds {
  readonly src: IpAddress
  readonly srcPort: number
  readonly dst: IpAddress
  readonly dstPort: number
}

/** An entry of the kernel's table of connections. */
export interface TrackedConnection {
  readonly protocol: Protocol
  /** Of TCP and SCTP: `ESTABLISHED`, `SYN_SENT`; empty for UDP. */
  readonly state: string
  /** Until the kernel forgets it, unless another packet comes. */
  readonly secondsLeft: number
  /** As the client sent it. */
  readonly original: TrackedEnds
  /** As answers come: from the backend, to the address that the backend sees. */
  readonly reply: TrackedEnds
  /** Whether a packet has come back. */
  readonly isAnswered: boolean
}

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
  ['sctp', 'SCTP'],
])

/**
 * An entry as `conntrack -L` prints it: `tcp 6 431999 ESTABLISHED src=… dst=… sport=… dport=… src=… dst=… sport=… dport=…
 * [ASSURED] mark=0 use=1`; undefined: of another protocol, or not understood.
 */
export function parseTracked(line: string): TrackedConnection | undefined {
  const [name = '', , seconds = '', ...words] = line.trim().split(/\s+/)
  const protocol = PROTOCOLS.get(name)
  const original = endsOf(words, 0)
  const reply = endsOf(words, 1)
  if (protocol === undefined || original === undefined || reply === undefined) return undefined
  const [first = ''] = words
  return {
    ...{ protocol, original, reply, secondsLeft: Number(seconds) },
    state: /^[A-Z_0-9]+$/.test(first) ? first : '',
    isAnswered: !words.includes('[UNREPLIED]'),
  }
}

function endsOf(words: readonly string[], direction: 0 | 1): TrackedEnds | undefined {
  const valueOf = (name: string) =>
    words.filter((word) => word.startsWith(`${name}=`))[direction]?.slice(name.length + 1) ?? ''
  const [src, dst] = [parseIp(valueOf('src')), parseIp(valueOf('dst'))]
  const [srcPort, dstPort] = [Number(valueOf('sport')), Number(valueOf('dport'))]
  if (src === undefined || dst === undefined || !(srcPort > 0) || !(dstPort > 0)) return undefined
  return { src, srcPort, dst, dstPort }
}
