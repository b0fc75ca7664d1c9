import type { ProbeResult } from '../state/pod-event.ts'

/** What a probe over the network connects to, on a connection of its own. */
export type ProbeTarget =
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
  readonly target: ProbeTarget
  readonly timeoutMs: number
}

/** Prober to parent, in the order in which results arrive. */
export interface ProbeReply extends ProbeResult {
  readonly id: number
}
