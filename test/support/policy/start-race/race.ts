import type { PolicyFamily } from '../universe.ts'

/** Ports of the sink and of the Pods; only policies tell them apart. */
export const RACE_PORTS = {
  /** At the sink, over UDP and TCP: what only Pods without policies may reach. */
  forbidden: 9001,
  /** At the Pods, over UDP and TCP: whom the sink may reach only without policies. */
  inward: 9002,
  /** At the sink, over TCP: what every Pod may reach. */
  allowed: 9003,
  /** At the node, over UDP: it answers every Pod, whatever policies say. */
  node: 9004,
} as const

type Addresses = Readonly<Record<PolicyFamily, string>>

/** A host that all Pods send to. */
export interface RaceHost {
  readonly namespace: string
  readonly ips: Addresses
}

export interface RaceSettings {
  /** Beyond the node. */
  readonly sink: RaceHost
  readonly node: RaceHost
}

/** A Pod whose network namespace has no interface yet. */
export interface RacePod {
  readonly id: number
  readonly namespace: string
  readonly ips: Addresses
}

/** What happened around one Pod; times are those of `monotonicMs`. */
export interface RaceResult {
  /** When the node first answered the Pod: its network is up, and packets were on their way before. */
  readonly upAt: Readonly<Record<PolicyFamily, number>>
  /** When a connection that every Pod may have was first answered. */
  readonly worksAt: Readonly<Record<PolicyFamily, number>>
  /** When the one that began as soon as the network was up was answered, over IPv4; infinite if it was not. */
  readonly firstAt: number
  /** Forbidden packets that the Pod and the sink sent while the Pod had its network. */
  readonly sent: number
  /** Those that arrived. */
  readonly outward: number
  readonly inward: number
  /** When the last of them arrived; 0: none did. */
  readonly lastArrivedAt: number
}

export type RaceRequest =
  | { readonly kind: 'begin'; readonly pod: RacePod }
  /** The Pod goes on for some milliseconds; its result follows. */
  | { readonly kind: 'end'; readonly id: number; readonly afterMs: number }

export type RaceReply =
  /** From now on the Pod sends as soon as it can. */
  | { readonly kind: 'begun'; readonly id: number }
  /** The node answered it over IPv4; over IPv6 it may take a second longer, where a solicitation is lost. */
  | { readonly kind: 'up'; readonly id: number }
  /** The allowed connection was answered, in both families. */
  | { readonly kind: 'works'; readonly id: number }
  | { readonly kind: 'ended'; readonly id: number; readonly result: RaceResult }

/** Milliseconds of the clock that all threads share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
