import type { IpAddress } from '../../lib/ip.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { WalkStart } from '../walk/walk-packet.ts'
import { parseTracked, type TrackedConnection } from './tracked-connection.ts'

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
    ...['-L', '-f', `ipv${family}`, '-p', protocol.toLowerCase()],
    ...['--orig-dst', dst, '--orig-port-dst', String(dstPort)],
    ...(typeof from === 'string' ? ['--orig-src', from] : []),
    ...(srcPort === undefined ? [] : ['--orig-port-src', String(srcPort)]),
  ]
}
