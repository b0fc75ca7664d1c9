import { ipBatch } from '../lab/namespace.ts'
import { CLIENT, endpointAddress, TARGET_PORT, toNumber, toText } from '../lab/plan.ts'
import type { Topology } from '../lab/topology.ts'

/** Few, so that a connection often gets an endpoint at which another one has ended. */
export const ENDPOINTS = 3

const NODE_PORTS = 30_080
const CLIENTS = toNumber('10.251.16.0')
const NODES = toNumber('10.251.128.0')
/** The most clients of one load. */
const STRIDE = 256

/** The node port of the load with this number; each has a Service, endpoints and clients of its own. */
export function nodePortOf(load: number): number {
  return NODE_PORTS + load
}

export function endpointsOf(
  load: number,
): readonly { readonly ip: string; readonly port: number }[] {
  return Array.from({ length: ENDPOINTS }, (_, n) => ({
    ip: toText(endpointAddress(load, n, ENDPOINTS)),
    port: TARGET_PORT,
  }))
}

/**
 * A client, and the address of the node to which only this client connects. Therefore the route chooses the source
 * address, and a client that does not bind can have several.
 */
export interface Client {
  readonly source: string
  readonly node: string
}

export function clientsOf(load: number, count: number): readonly Client[] {
  return Array.from({ length: count }, (_, n) => ({
    source: toText(CLIENTS + load * STRIDE + 1 + n),
    node: toText(NODES + load * STRIDE + 1 + n),
  }))
}

export function addClients({ client, node }: Topology, clients: readonly Client[]): void {
  ipBatch(
    client,
    clients.flatMap((one) => [
      `addr add ${one.source}/32 dev eth0`,
      `route add ${one.node} via ${CLIENT.node} src ${one.source}`,
    ]),
  )
  ipBatch(
    node,
    clients.flatMap((one) => [
      `addr add ${one.node}/32 dev client`,
      `route add ${one.source} via ${CLIENT.host}`,
    ]),
  )
}
