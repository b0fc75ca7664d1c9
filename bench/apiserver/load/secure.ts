import type { Target } from './order.ts'

/** The TLS options of a connection to the target. */
export function tlsOf({ ca, certificate }: Target): {
  readonly ca: string
  readonly cert?: string
  readonly key?: string
} {
  return { ca, ...certificate }
}
