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

/** A record as `name TYPE data`, as programs print it. */
export function recordText(record: ZoneRecord): string {
  return `${record.name} ${record.type} ${dataText(record)}`
}

/** The data of a record, as programs print it. */
export function dataText(record: ZoneRecord): string {
  switch (record.type) {
    case 'SRV': {
      const { priority, weight, port, target } = record.data
      return `${priority} ${weight} ${port} ${target}`
    }
    case 'TXT':
      return record.data.map((text) => `"${text}"`).join(' ')
    case 'HINFO':
      return `"${record.data.cpu}" "${record.data.os}"`
    case 'SOA':
      return `${record.data.mname} ${record.data.rname} ${record.data.serial}`
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return record.data
  }
}
