import type { RealServerState } from '../../kernel/ipvs/ipvs.ts'
import { virtualServerKey } from '../../kernel/ipvs/ipvs.ts'
import { hostPort } from '../../lib/ip.ts'
import { type Branch, branchOf, type Step, type Verdict } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import { chooseServers, findService } from './choose-servers.ts'
import type { IpvsSnapshot, ListedService } from './ipvs-snapshot.ts'

/** Before source NAT at input, after destination NAT at output (ip_vs_core.c). */
const PRIORITIES: readonly (readonly [hook: Hook, priority: number])[] = [
  ['input', 99],
  ['output', -98],
]

/** IPVS at both of its hooks; none without virtual servers. */
export function ipvsFunctions(
  snapshot: IpvsSnapshot,
  facts: Pick<HostFacts, 'addressType'>,
): readonly HookFunction[] {
  if (snapshot.services.length === 0) return []
  return PRIORITIES.map(([hook, priority]) => ({
    ...{ hook, families: [4, 6] as const, priority, isNat: false, source: 'ipvs' },
    apply: (packet) => schedule({ snapshot, facts, hook }, packet),
  }))
}

const REFUSAL: Verdict = { kind: 'reject', how: 'icmp-port-unreachable' }

/** The kernel sends no ICMP error from an address that it does not have. */
function dropOf({ dst }: PacketState): Verdict {
  const reason = `ipvs: no real server, and ${dst} is no address of this node, from which a refusal could come`
  return { kind: 'drop', reason }
}

interface At {
  readonly snapshot: IpvsSnapshot
  readonly facts: Pick<HostFacts, 'addressType'>
  readonly hook: Hook
}

function schedule({ snapshot, facts, hook }: At, packet: PacketState): readonly Branch[] {
  const listed = packet.virtualServer === undefined ? findService(snapshot, packet) : undefined
  if (listed === undefined) return [branchOf(packet)]
  const chances = chooseServers(snapshot, listed, packet)
  const step = stepOf(listed)
  if (chances === undefined) {
    const reason = `scheduler ${listed.service.settings.scheduler} of IPVS`
    return [branchOf(packet, { kind: 'uncertain', reason }, [step('its scheduler is not known')])]
  }
  if (chances.length === 0) {
    const steps = [step('no real server takes new connections')]
    const isHeard = hook === 'output' || facts.addressType(packet.dst) === 'local'
    return [branchOf(packet, isHeard ? REFUSAL : dropOf(packet), steps)]
  }
  return chances.map(({ server, probability, secondsLeft }) => {
    const text = `real server ${hostPort(server.ip, server.port)}, weight ${server.weight}`
    const bound = secondsLeft === undefined ? {} : { secondsLeft }
    return {
      ...{ ...forward(snapshot, server, packet), probability },
      steps: [{ ...step(text), ...bound }],
    }
  })
}

/** Masquerading replaces the destination; the other methods send the packet on as it is, which is not followed. */
function forward(snapshot: IpvsSnapshot, server: RealServerState, packet: PacketState): Branch {
  const virtualServer = { ip: packet.dst, port: packet.dstPort }
  const { connection } = packet
  if (server.forwarding === 'local') return branchOf({ ...packet, virtualServer })
  if (server.forwarding !== 'masquerade') {
    const reason = `forwarding method ${server.forwarding} of IPVS`
    return branchOf(packet, { kind: 'uncertain', reason })
  }
  const moved: PacketState = {
    ...{ ...packet, virtualServer, dst: server.ip },
    dstPort: server.port === 0 ? packet.dstPort : server.port,
    connection: snapshot.tracksConnections ? connection : { ...connection, status: 'untracked' },
  }
  return branchOf(moved, { kind: 'taken' })
}

function stepOf({ service }: ListedService): (text: string) => Step {
  const { incomingPackets, incomingBytes } = service.counters
  const counter = { packets: BigInt(incomingPackets), bytes: BigInt(incomingBytes) }
  const object = `${virtualServerKey(service.id)} ${service.settings.scheduler}`
  return (text) => ({ where: 'ipvs', object, text, counter })
}
