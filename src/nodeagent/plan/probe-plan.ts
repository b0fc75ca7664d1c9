/** What a probe decides. */
export type ProbeKind = 'startup' | 'liveness' | 'readiness'

/** All of them. */
export const PROBE_KINDS = ['startup', 'liveness', 'readiness'] as const

/** How a container is probed. Only the Pod itself is: a probe names no other host. */
export type Handler =
  | { readonly kind: 'exec'; readonly command: readonly string[] }
  | { readonly kind: 'tcp'; readonly port: number; readonly host: string }
  | {
      readonly kind: 'http'
      readonly port: number
      /** Empty: the Pod's address. */
      readonly host: string
      readonly isSecure: boolean
      readonly path: string
      readonly headers: readonly (readonly [name: string, value: string])[]
    }

/** A probe of a container. All times are milliseconds. */
export interface ProbePlan {
  readonly handler: Handler
  /** After the start of the container. */
  readonly initialDelayMs: number
  readonly periodMs: number
  readonly timeoutMs: number
  /** Successes in a row after a failure until the probe passes; `failureThreshold` is the reverse. */
  readonly successThreshold: number
  readonly failureThreshold: number
  /** Between SIGTERM and SIGKILL, when this probe ends the container. */
  readonly graceMs: number | undefined
}
