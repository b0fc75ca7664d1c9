import type { WalkFacts } from '../../../doctor/evidence/node-facts.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { Protocol } from '../../../resources/types.ts'
import type { PacketSource } from './packet-sources.ts'
import type { SampledFrontend } from './sampled-entries.ts'

/** A packet that is to be followed. */
export interface Probe {
  readonly purpose: WalkFacts['purpose']
  /** Undefined: it is for no Service. */
  readonly to: SampledFrontend | undefined
  /** Undefined: from a process of this node. */
  readonly source: PacketSource | undefined
  readonly dst: IpAddress
  readonly port: number
  readonly protocol: Protocol
}
