/** Connections that a node has forwarded to one backend of a Service. */
export interface BackendConnections {
  /** `10.0.0.1:8080` */
  readonly backend: string
  readonly connections: number
}

/** What a node has counted for one port and family of a Service, since its counters were made. */
export interface TrafficFacts {
  readonly node: string
  /** `namespace/name` */
  readonly service: string
  /** Empty where the mode of the node does not count backends. */
  readonly backends: readonly BackendConnections[]
}
