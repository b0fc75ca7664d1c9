import type { JsonObject } from '../../lib/json.ts'

/** The object of the API, and its field, from which a record follows. */
export interface Origin extends JsonObject {
  /** `Service`, `EndpointSlice`, `Endpoints`; `Zone` for records that come from no object. */
  kind: string
  /** `namespace/name`; the domain of a zone. */
  name: string
  /** `spec.clusterIPs[0]`, `endpoints[2]`; empty for a zone. */
  field: string
  /** `namespace/name` of the Pod at that address; empty when there is none. */
  pod: string
}

/** A record of an answer. */
export interface ShownRecord extends JsonObject {
  /** Without the final dot. */
  name: string
  type: string
  /** Seconds. */
  ttl: number
  /** As programs print it: `10.96.0.10`, `0 100 80 web.shop.svc.cluster.local`. */
  data: string
  origin: Origin
}

/**
 * The result of a question.
 *
 * - `NOERROR`: records of the type, or an alias to a name outside of the cluster domain.
 * - `NODATA`: the name exists, without records of the type; also an alias that leads to no record.
 * - `NXDOMAIN`: the name does not exist.
 * - `FORWARDED`: the name is outside of the cluster domain, so another server knows the answer.
 * - `UNKNOWN`: the objects cannot be read.
 */
export type Status = 'NOERROR' | 'NODATA' | 'NXDOMAIN' | 'FORWARDED' | 'UNKNOWN'

/** What the DNS server of `--dns-server` replied. */
export interface ServerReply extends JsonObject {
  /** `NOERROR`, `NXDOMAIN`, `REFUSED`, `SERVFAIL`, or why there is no answer: `timeout`, `unreachable`, … */
  status: string
  /** `name TYPE data`, in order. */
  records: string[]
  /** How the reply differs from what follows from the objects; empty: it does not differ. */
  difference: string
}

/** The answer to one type at one name. */
export interface TypeAnswer extends JsonObject {
  type: string
  status: Status
  records: ShownRecord[]
  /** Why there are no records, in a sentence; empty if there are. */
  reason: string
  /** Null: no server was queried. */
  server: ServerReply | null
}

/** One name of the search list. */
export interface Candidate extends JsonObject {
  /** Without the final dot. */
  name: string
  /** False: an earlier name has records, so a resolver does not query for this one. */
  queried: boolean
  answers: TypeAnswer[]
}

/** The resolver of the Pod. */
export interface ShownResolver extends JsonObject {
  /** `namespace/name`; empty: a Pod of the namespace with the default policy. */
  pod: string
  /** Of the Pod; empty when it has none yet. */
  node: string
  dnsPolicy: string
  /** Whose servers are queried: those of the cluster, of the node, or of `dnsConfig` alone. */
  servers: 'cluster' | 'node' | 'pod'
  /** Addresses that the API shows. */
  nameservers: string[]
  searches: string[]
  /** `ndots:5` */
  options: string[]
  /** What the API does not show of the resolver, and what is unusual about it, in sentences. */
  notes: string[]
}

/** What `orchctl resolve -o json` prints. */
export interface Resolution extends JsonObject {
  /** The name as the user wrote it. */
  name: string
  resolver: ShownResolver
  candidates: Candidate[]
  /** The first name that has records; empty: none has. */
  resolved: string
  /** What to try, in sentences. */
  hints: string[]
}
