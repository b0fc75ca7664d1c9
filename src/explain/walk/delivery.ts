import type { IpAddress } from '../../lib/ip.ts'
import type { Branch } from '../packet/branch.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { PacketState } from '../packet/packet-state.ts'
import type { WalkOutcome } from './walk-outcome.ts'

const NOT_LISTENING: Readonly<Record<PacketState['protocol'], string>> = {
  TCP: 'tcp-reset',
  UDP: 'icmp-port-unreachable',
  SCTP: 'sctp-abort',
}

/** A packet that passed the input hook: a local socket gets it, or its sender learns that there is none. */
export function deliverHere(facts: HostFacts, { packet, probability, steps }: Branch): WalkOutcome {
  const dst = packet.socket ?? { ip: packet.dst, port: packet.dstPort }
  const listens = facts.listens(packet.protocol, dst)
  const canAnswer = facts.addressType(dst.ip) === 'local'
  if (listens === 'none') {
    const how = NOT_LISTENING[packet.protocol]
    const text = `no socket listens on ${dst.ip} port ${dst.port}/${packet.protocol}`
    const rest = { probability, steps: [...steps, { where: 'socket', text }] }
    if (canAnswer) return { kind: 'refused', how, ...rest }
    return { kind: 'silent', by: `socket: ${text}, and ${noAnswer(dst.ip)}`, ...rest }
  }
  if (listens === 'usual' && !canAnswer) {
    return { kind: 'silent', by: `socket: ${noAnswer(dst.ip)}`, probability, steps }
  }
  const outInterface = undefined
  return {
    ...{ kind: 'delivered', to: 'local', dst, src: packet.src, outInterface },
    probability,
    steps,
  }
}

/** The kernel sends nothing from an address that it does not have, but from transparent sockets. */
function noAnswer(ip: IpAddress): string {
  return `${ip} is no address of this node, from which an answer could come`
}

/** A packet that leaves this node; some are certain to be dropped by their receiver, or as an answer by their sender. */
export function leave(facts: HostFacts, { packet, probability, steps }: Branch): WalkOutcome {
  const lost = neverAnswered(facts, packet)
  if (lost !== undefined) return { kind: 'silent', by: lost, probability, steps }
  const { dst: ip, dstPort: port, src, outInterface } = packet
  return {
    ...{ kind: 'delivered', to: 'forwarded', dst: { ip, port }, src, outInterface },
    ...{ probability, steps },
  }
}

function neverAnswered(facts: HostFacts, packet: PacketState): string | undefined {
  const { src, dst, outInterface = '', connection } = packet
  if (src === dst) return `${dst}: drops a packet whose source is its own address`
  if (isLoopback(src)) return `${dst}: drops a packet whose source is ${src}`
  const sender = connection.original.src.ip
  if (!isLoopback(sender) || facts.routesLoopback(outInterface)) return undefined
  return `route: ${outInterface} does not route answers to ${sender} (sysctl route_localnet)`
}

function isLoopback(ip: IpAddress): boolean {
  return ip === '::1' || (ip.startsWith('127.') && !ip.includes(':'))
}
