import type { BackendMessage } from './messages.ts'

/** What `node-proxy explain -o json` prints. */
export interface ExplanationMessage {
  readonly src: string | null
  readonly dst: string
  readonly port: number
  readonly protocol: string
  readonly inInterface: string | null
  /** What node-proxy wants; null: not known, and `desiredUnknown` says why. */
  readonly desired: DesiredMessage | null
  readonly desiredUnknown?: string
  /** What the kernel does, each outcome with its probability. */
  readonly observed: readonly OutcomeMessage[]
  /** How the kernel differs from what node-proxy wants. */
  readonly differences: readonly string[]
}

export interface DesiredMessage {
  readonly outcome?: string
  readonly entry?: string
  readonly backends?: readonly BackendMessage[]
  readonly reasons?: readonly string[]
  readonly hint?: string
  readonly mode?: string
  /** Absent: no Service claims the packet. */
  readonly pool?: PoolMessage
}

/** Why a Service has these backends on the node. */
export interface PoolMessage {
  /** The decisions, in their order. */
  readonly reasons?: readonly string[]
  /** Endpoints that get no new connections from the node: a hundred of them at most. */
  readonly leftOut?: readonly {
    readonly ip?: string
    readonly port?: number
    readonly text?: string
  }[]
  readonly leftOutCount?: number
}

export interface OutcomeMessage {
  readonly kind: 'delivered' | 'refused' | 'silent' | 'uncertain'
  /** 0 to 1. */
  readonly probability: number
  readonly steps: readonly StepMessage[]
  /** Of `delivered`. */
  readonly to?: 'local' | 'forwarded'
  readonly dst?: { readonly ip: string; readonly port?: number }
  readonly src?: string
  readonly outInterface?: string
  /** Of `refused`. */
  readonly how?: string
  /** Of `silent`. */
  readonly by?: string
  /** Of `uncertain`. */
  readonly reason?: string
}

export interface StepMessage {
  readonly where: string
  readonly object?: string
  readonly text: string
  readonly counter?: { readonly packets: string; readonly bytes: string }
}
