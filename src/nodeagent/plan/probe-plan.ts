/** `startup` is the probe in the field `startupProbe`, and so on. */
export type ProbeKind = 'startup' | 'liveness' | 'readiness'

/** All of them. */
export const PROBE_KINDS = ['startup', 'liveness', 'readiness'] as const

/** What a probe or a hook does: runs a command in the container, or connects to the Pod, never to other hosts. */
export type Handler =
  | { readonly kind: 'exec'; readonly command: readonly string[] }
  /** `host` as below. */
  | { readonly kind: 'tcp'; readonly port: number; readonly host: string }
  | {
      readonly kind: 'http'
      readonly port: number
      /** Empty: the Pod's address. */
      readonly host: string
      /** HTTPS, with any certificate. */
      readonly isSecure: boolean
      readonly path: string
      readonly headers: readonly (readonly [name: string, value: string])[]
    }

/** A probe of a container. */
export interface ProbePlan {
  readonly handler: Handler
  /** From the start of the container to the first probe. */
  readonly initialDelayMs: number
  readonly periodMs: number
  readonly timeoutMs: number
  /** The probe counts as succeeded after this many successes in a row. */
  readonly successThreshold: number
  /** The probe counts as failed after this many failures in a row. */
  readonly failureThreshold: number
  /** The time between SIGTERM and SIGKILL when this probe ends the container; undefined: that of the Pod. */
  readonly graceMs: number | undefined
}
