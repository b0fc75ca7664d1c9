import type { Target } from './order.ts'

/** What a TLS connection to the target is made with. */
export function tlsOf({ ca, certificate }: Target): {
  readonly ca: string
  readonly cert?: string
  readonly key?: string
} {
  return { ca, ...certificate }
}
