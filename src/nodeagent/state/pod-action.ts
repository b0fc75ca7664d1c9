import type { ProbeKind } from '../plan/probe-plan.ts'

/** What is to be done for a Pod; what became of it comes back as a `PodEvent`. */
export type PodAction =
  | { readonly do: 'connect' }
  /** Ends the network, and the volumes. */
  | { readonly do: 'disconnect' }
  /** Makes the volumes. */
  | { readonly do: 'mount' }
  | { readonly do: 'start'; readonly container: string; readonly run: number }
  | {
      readonly do: 'probe'
      readonly container: string
      readonly run: number
      readonly kind: ProbeKind
    }
  | { readonly do: 'hook'; readonly container: string; readonly run: number }
  | {
      readonly do: 'signal'
      readonly container: string
      readonly run: number
      readonly signal: 'SIGTERM' | 'SIGKILL'
    }
