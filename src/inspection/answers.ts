import type { ExplainResponseJson } from './generated/inspection_pb.ts'

/**
 * The HTTP answers that are not messages of the proto file. This file has types only: the page in the browser imports
 * them, and must not load code of this module.
 */

/** One line of `/inspection/v1/services`. */
export interface ServiceLine {
  /** namespace/name */
  readonly service: string
  readonly entries: number
  /** Of all entries, each once. */
  readonly backends: number
  /** The worst of its entries: Error, Pending, Conflict or Done. */
  readonly status: string
  /** The first problem of its entries, with its code. */
  readonly problem?: { readonly code: string; readonly message: string }
}

/** What `node-proxy explain -o json` prints, and `/inspection/v1/explain` answers, without its connections and its text. */
export interface ExplanationDocument {
  /** null: an address that the kernel chooses, of a process of this node. */
  readonly src: string | null
  readonly dst: string
  readonly port: number
  readonly protocol: string
  /** null: from a process of this node. */
  readonly inInterface: string | null
  /** What node-proxy wants; null: not known, and `desiredUnknown` says why. */
  readonly desired: ExplainResponseJson | null
  readonly desiredUnknown?: string
  /** What the kernel does, each outcome with its probability. */
  readonly observed: readonly OutcomeDocument[]
  /** The differences between what the kernel does and what node-proxy wants. */
  readonly differences: readonly string[]
}

export interface OutcomeDocument {
  readonly kind: 'delivered' | 'refused' | 'silent' | 'uncertain'
  /** 0 to 1. */
  readonly probability: number
  readonly steps: readonly StepDocument[]
  /** Of `delivered`. */
  readonly to?: 'local' | 'forwarded'
  readonly dst?: { readonly ip: string; readonly port?: number | undefined }
  readonly src?: string
  readonly outInterface?: string | undefined
  /** Of `refused`. */
  readonly how?: string
  /** Of `silent`. */
  readonly by?: string
  /** Of `silent`: the destination that the packet had, if rules of NetworkPolicies dropped it. */
  readonly refusedTo?: OutcomeDocument['dst']
  /** Of `uncertain`. */
  readonly reason?: string
}

export interface StepDocument {
  readonly where: string
  readonly object?: string
  readonly text: string
  /** Numbers of 64 bits are text, as in the JSON form of protobuf. */
  readonly counter?: { readonly packets: string; readonly bytes: string }
}
