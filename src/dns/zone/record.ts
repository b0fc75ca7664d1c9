import type { EndpointSource, Service, ServiceKey } from '../../resources/types.ts'

/** The cluster as a zone reads it; a `ClusterStore` is one. */
export interface ZoneView {
  /** Undefined: there is no such Service. */
  service(key: ServiceKey): Service | undefined
  /** Every endpoint source of the Service. */
  endpointSourcesOf(key: ServiceKey): readonly EndpointSource[]
}

/** Seconds for which a record of the cluster may be kept; the default of CoreDNS. */
export const RECORD_TTL = 5

/** The target of an SRV record (RFC 2782): `weight` is the share among records of equal `priority`. */
export interface ServiceTarget {
  readonly priority: number
  readonly weight: number
  readonly port: number
  readonly target: string
}

/** The start of authority (RFC 1035, RFC 2308): times in seconds, `minimum` is how long a denial may be kept. */
export interface StartOfAuthority {
  readonly mname: string
  readonly rname: string
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  readonly minimum: number
}

/** One record of class IN. Names are lower case, without the final dot; `ttl` is in seconds. */
export type ZoneRecord = { readonly name: string; readonly ttl: number } & (
  | { readonly type: 'A' | 'AAAA' | 'CNAME' | 'NS' | 'PTR'; readonly data: string }
  | { readonly type: 'SRV'; readonly data: ServiceTarget }
  | { readonly type: 'TXT'; readonly data: readonly string[] }
  | { readonly type: 'SOA'; readonly data: StartOfAuthority }
  | { readonly type: 'HINFO'; readonly data: { readonly cpu: string; readonly os: string } }
)
