import { type IpAddress, parseIp, splitHostPort } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'
import type { HostFacts, Listening } from '../packet/host-facts.ts'
import type { RunCommand } from './run-command.ts'
import { unreadable } from './run-command.ts'

/** A listening TCP socket, or an unconnected UDP socket. */
interface ListeningSocket {
  readonly protocol: Protocol
  readonly port: number
  /** Any address of IPv4, of IPv6, or of both; or a single address. */
  readonly at: 'any4' | 'any6' | 'any' | IpAddress
  /** Whether it may answer from any address; undefined if unknown. */
  readonly isTransparent: boolean | undefined
}

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
])
const ANY: ReadonlyMap<string, ListeningSocket['at']> = new Map([
  ['0.0.0.0', 'any4'],
  ['::', 'any6'],
  ['*', 'any'],
])

/** An address of IPv4 as a socket of IPv6 has it: `::ffff:192.0.2.1`. */
const MAPPED = /^::ffff:(?=[\d.]+$)/

/**
 * Reads local sockets with `ss`; without that program nothing is known. Before iproute2 5.10 `ss` shows no socket
 * options. Throws NP_EXPLAIN_READ.
 */
export async function readListening(run: RunCommand): Promise<HostFacts['listens']> {
  const detailed = await run('ss', ['-HOlntu', '--inet-sockopt'])
  if (detailed.status === 127) return () => undefined
  const output = detailed.status === 0 ? detailed : await run('ss', ['-Hlntu'])
  if (output.status !== 0) throw unreadable('ss -Hlntu', output)
  return listensAt(parseSockets(output.stdout))
}

/** Whether a socket receives packets to an address; unknown for SCTP. */
function listensAt(sockets: readonly ListeningSocket[]): HostFacts['listens'] {
  return (protocol, { ip, port }) => {
    if (protocol === 'SCTP') return undefined
    const anyOfFamily = ip.includes(':') ? 'any6' : 'any4'
    const found = sockets.filter(
      (one) =>
        one.protocol === protocol &&
        one.port === port &&
        (one.at === ip || one.at === 'any' || one.at === anyOfFamily),
    )
    return kindOf(found.find((one) => one.at === ip) ?? found[0])
  }
}

function kindOf(socket: ListeningSocket | undefined): Listening | undefined {
  if (socket === undefined) return 'none'
  if (socket.isTransparent === undefined) return undefined
  return socket.isTransparent ? 'transparent' : 'usual'
}

/** Columns: protocol, state, two queues, local `ADDRESS[%INTERFACE]:PORT`, remote, `inet-sockopt: (NAME…)`. */
function parseSockets(text: string): readonly ListeningSocket[] {
  return text.split('\n').flatMap((line) => {
    const [kind = '', , , , local = ''] = line.trim().split(/\s+/)
    const options = /inet-sockopt: \(([^)]*)\)/.exec(line)?.[1]?.trim().split(/\s+/)
    const protocol = PROTOCOLS.get(kind)
    const { host = '', port } = splitHostPort(local.replace(/%[^\]:]*/, '')) ?? {}
    const at = ANY.get(host) ?? parseIp(host.replace(MAPPED, ''))
    if (protocol === undefined || at === undefined) return []
    const isTransparent = options?.includes('transparent')
    return [{ protocol, at, port: Number(port), isTransparent }]
  })
}
