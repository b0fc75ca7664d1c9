import type { ProbeOutcome } from '../state/pod-event.ts'

/** One question over the network, asked on a connection of its own. */
export type Question =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | {
      readonly kind: 'http'
      readonly host: string
      readonly port: number
      readonly isSecure: boolean
      readonly path: string
      readonly headers: readonly (readonly [name: string, value: string])[]
    }

/** Parent to prober, one JSON line each. */
export interface ProbeRequest {
  readonly id: number
  readonly question: Question
  readonly timeoutMs: number
}

/** Prober to parent, in the order in which they are known. */
export interface ProbeReply extends ProbeOutcome {
  readonly id: number
}
