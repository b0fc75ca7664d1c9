import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { familyOf, type IpAddress } from '../../../src/lib/ip.ts'
import type { Transport } from '../agent/protocol.ts'
import type { Lab, LabHost } from '../lab/lab.ts'
import { BRIDGE } from '../lab/plan.ts'

/** A packet of the lab. */
export interface LabPacket {
  readonly from: LabHost
  readonly src: string
  readonly dst: string
  readonly port: number
  readonly protocol?: Transport
}

/** What the node's kernel will do with a packet, from its state now, or at the last prediction. */
export async function predict(
  lab: Lab,
  packet: LabPacket,
  { isUnchanged } = { isUnchanged: false },
): Promise<readonly WalkOutcome[]> {
  const { from, src, dst, port, protocol = 'TCP' } = packet
  const start = {
    family: familyOf(dst as IpAddress),
    protocol,
    src: src as IpAddress,
    srcPort: undefined,
    dst: dst as IpAddress,
    dstPort: port,
    inInterface: interfaceOf(from),
  }
  // The lab answers on addresses of the node on which nothing else listens.
  const alsoListening = [`${dst}:${port}`]
  return await lab.node.agent.call('explain', { start, alsoListening, isUnchanged })
}

/** The interface by which packets of a host of the lab arrive; undefined: a process of the node sends them. */
export function interfaceOf(from: LabHost): string | undefined {
  if (from === 'node') return undefined
  return from === 'pod' ? BRIDGE : 'eth0'
}
