import type { IpAddress } from '../../lib/ip.ts'
import type { ProbeKind } from '../plan/container-plan.ts'

/** An action for a Pod; its result is reported as a `PodEvent`. */
export type PodAction =
  /** Makes the network. */
  | { readonly do: 'connect' }
  /** Removes the network and the volumes. */
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

interface OfContainer {
  readonly container: string
  readonly run: number
}

/** What happened to a Pod. */
export type PodEvent =
  /** The network is made. */
  | { readonly is: 'connected'; readonly ips: readonly IpAddress[] }
  /** The network could not be made. */
  | { readonly is: 'unconnected'; readonly message: string }
  /** The network and the volumes are removed. */
  | { readonly is: 'disconnected' }
  | { readonly is: 'mounted' }
  /** The volumes could not be made. */
  | { readonly is: 'unmounted'; readonly message: string }
  /** Something to report that changes no state. `reason`: that of the Event. */
  | { readonly is: 'noticed'; readonly reason: string; readonly message: string }
  | ({ readonly is: 'started'; readonly pid: number } & OfContainer)
  /** The process could not be started. `isUnconfigured`: an object or key that its environment refers to is missing. */
  | ({
      readonly is: 'refused'
      readonly message: string
      readonly isUnconfigured?: boolean
    } & OfContainer)
  /** `signal`: its number, or 0. */
  | ({ readonly is: 'ended'; readonly exitCode: number; readonly signal: number } & OfContainer)
  | ({ readonly is: 'probed'; readonly kind: ProbeKind } & OfContainer & ProbeResult)
  | ({ readonly is: 'hooked' } & OfContainer)
  /** The Pod is to end within `graceMs`; a later event can only shorten that. */
  | { readonly is: 'stopped'; readonly graceMs: number }

/** `unknown`: the probe could not run, so its result concerns the node and not the container. */
export interface ProbeResult {
  readonly outcome: 'pass' | 'fail' | 'unknown'
  /** Why the probe did not pass; empty: it passed. */
  readonly message: string
}
