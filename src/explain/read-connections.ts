import { type IpAddress, parseIp } from '../lib/ip.ts'
import type { Protocol } from '../resources/types.ts'
import type { RunCommand } from './host/run-command.ts'
import type { WalkStart } from './walk/walk-packet.ts'

/** An entry of the kernel's table of connections. */
export interface TrackedConnection {
  readonly protocol: Protocol
  /** State of TCP and SCTP: `ESTABLISHED`, `SYN_SENT`; empty for UDP. */
  readonly state: string
  /** Seconds until the kernel forgets it if no further packet comes. */
  readonly secondsLeft: number
  /** The direction of the client's packets, before translation. */
  readonly original: TrackedEnds
  /** The direction of the replies: from the backend to the address that the backend sees. */
  readonly reply: TrackedEnds
  /** Whether a packet has come back. */
  readonly isAnswered: boolean
}

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
  ['sctp', 'SCTP'],
])

/** The maximum number of connections that are listed; all others are only counted. */
const MAX_LISTED = 10

/** The connections of one client, or of several, to one destination. */
export interface ConnectionQuery
  extends Pick<WalkStart, 'family' | 'protocol' | 'srcPort' | 'dst' | 'dstPort'> {
  /** A source address, or a test for source addresses. */
  readonly from: IpAddress | ((src: IpAddress) => boolean)
}

/**
 * Connections that the kernel already tracks: their packets go where the entry says, even if rules have changed since.
 */
export interface TrackedConnections {
  /** At most ten, those with the longest remaining time first. */
  readonly listed: readonly TrackedConnection[]
  readonly count: number
}

/** Reads connections to a destination; returns a text with the reason if that fails. */
export async function readConnections(
  run: RunCommand,
  query: ConnectionQuery,
): Promise<TrackedConnections | string> {
  const { status, stdout, stderr } = await run('conntrack', commandOf(query))
  if (status === 127) return 'the program conntrack is not installed'
  if (status !== 0) return stderr.trim().split('\n')[0] ?? ''
  const { from } = query
  const all = stdout.split('\n').flatMap((line) => parseTracked(line) ?? [])
  const found = typeof from === 'string' ? all : all.filter(({ original }) => from(original.src))
  const longest = found.toSorted((a, b) => b.secondsLeft - a.secondsLeft)
  return { listed: longest.slice(0, MAX_LISTED), count: found.length }
}

/** `conntrack -L -f ipv4 -p tcp --orig-src … --orig-dst … --orig-port-dst …`. */
function commandOf({ family, protocol, from, srcPort, dst, dstPort }: ConnectionQuery) {
  return [
    '-L',
    '-f',
    `ipv${family}`,
    '-p',
    protocol.toLowerCase(),
    '--orig-dst',
    dst,
    '--orig-port-dst',
    String(dstPort),
    ...(typeof from === 'string' ? ['--orig-src', from] : []),
    ...(srcPort === undefined ? [] : ['--orig-port-src', String(srcPort)]),
  ]
}

/** Source and destination of one direction in connection tracking. */
interface TrackedEnds {
  readonly src: IpAddress
  readonly srcPort: number
  readonly dst: IpAddress
  readonly dstPort: number
}

/**
 * Parses an entry as `conntrack -L` prints it: `tcp 6 431999 ESTABLISHED src=… dst=… sport=… dport=… src=… dst=…
 * sport=… dport=… [ASSURED] mark=0 use=1`; undefined for another protocol or an unknown format.
 */
export function parseTracked(line: string): TrackedConnection | undefined {
  const [name = '', , seconds = '', ...words] = line.trim().split(/\s+/)
  const protocol = PROTOCOLS.get(name)
  const original = endsOf(words, 0)
  const reply = endsOf(words, 1)
  if (protocol === undefined || original === undefined || reply === undefined) return undefined
  const [first = ''] = words
  return {
    protocol,
    original,
    reply,
    secondsLeft: Number(seconds),
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
