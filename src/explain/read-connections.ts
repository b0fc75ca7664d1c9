import { type IpAddress, parseIp } from '../lib/ip.ts'
import type { Protocol } from '../resources/types.ts'
import type { RunCommand } from './host/run-command.ts'
import type { WalkStart } from './walk/walk-packet.ts'

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

/** Connections that are explained beside a packet; the others are counted. */
const MAX_LISTED = 10

/** Which connections: those of a client, or of some, to one destination. */
export interface ConnectionQuery
  extends Pick<WalkStart, 'family' | 'protocol' | 'srcPort' | 'dst' | 'dstPort'> {
  /** A source, or which sources. */
  readonly from: IpAddress | ((src: IpAddress) => boolean)
}

/** Connections that the kernel has already: their packets go where the entry says, whatever the rules say by now. */
export interface TrackedConnections {
  /** Those that last longest first, at most ten. */
  readonly listed: readonly TrackedConnection[]
  readonly count: number
}

/** Reads connections to a destination; a text: why they are not known. */
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

/** Source and destination of one direction, as connection tracking has them. */
interface TrackedEnds {
  readonly src: IpAddress
  readonly srcPort: number
  readonly dst: IpAddress
  readonly dstPort: number
}

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
