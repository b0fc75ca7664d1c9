import type { RunCommand } from '../host/run-command.ts'
import type { WalkStart } from '../walk/walk-packet.ts'
import { parseTracked, type TrackedConnection } from './tracked-connection.ts'

/** Connections that are explained beside a packet; the others are counted. */
const MAX_LISTED = 10

/** Which connections: those of a client, or of any, to one destination. */
export type ConnectionQuery = Pick<
  WalkStart,
  'family' | 'protocol' | 'src' | 'srcPort' | 'dst' | 'dstPort'
>

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
  const found = stdout.split('\n').flatMap((line) => parseTracked(line) ?? [])
  const longest = found.toSorted((a, b) => b.secondsLeft - a.secondsLeft)
  return { listed: longest.slice(0, MAX_LISTED), count: found.length }
}

/** `conntrack -L -f ipv4 -p tcp --orig-src … --orig-dst … --orig-port-dst …`. */
function commandOf({ family, protocol, src, srcPort, dst, dstPort }: ConnectionQuery) {
  return [
    ...['-L', '-f', `ipv${family}`, '-p', protocol.toLowerCase()],
    ...['--orig-dst', dst, '--orig-port-dst', String(dstPort)],
    ...(src === undefined ? [] : ['--orig-src', src]),
    ...(srcPort === undefined ? [] : ['--orig-port-src', String(srcPort)]),
  ]
}
