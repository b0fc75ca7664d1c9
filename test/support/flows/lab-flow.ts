import { type Flow, type FlowConfig, type FlowStep, readFlows } from '../../flows/flow-file.ts'

/** Who sends the packet, as the flow file names it. */
export type Sender =
  | 'pod'
  | 'endpoint'
  | 'external'
  | 'externalBlocked'
  | 'node'
  | 'node-lb-ip'
  | 'localhost'

export interface Sticky {
  readonly connections: number
  readonly distinct: number
  /** Whether another endpoint must answer than the one that the same client had before. */
  readonly notPrevious?: boolean
}

/** A flow with everything that is needed to send real packets. */
export interface LabFlow extends Omit<Flow, 'sticky'> {
  readonly from: Sender
  readonly sticky?: Sticky
  readonly fixedSourcePort?: number
  /** The expectation must hold within this number of seconds, and not at once. */
  readonly retrySeconds?: number
  readonly needs?: readonly ('sctp' | 'route_localnet' | 'lb-ip-on-lo')[]
  readonly modes?: Readonly<Record<string, Partial<Flow['expect']>>>
  readonly http?: {
    readonly status: number
    readonly body: { readonly localEndpoints: number }
  }
}

export interface LabStep extends Omit<FlowStep, 'flows'> {
  readonly flows: readonly LabFlow[]
}

export interface LabConfig extends Omit<FlowConfig, 'steps'> {
  readonly family: 'IPv4' | 'IPv6'
  readonly expectAntiMartianRule?: boolean
  readonly steps: readonly LabStep[]
}

export function readLabConfigs(): readonly LabConfig[] {
  return readFlows().configs as readonly LabConfig[]
}
