import { ipBatch } from '../lab/namespace.ts'
import { CLIENT, endpointAddress, TARGET_PORT, toNumber, toText } from '../lab/plan.ts'
import type { Topology } from '../lab/topology.ts'

export const NODE_PORT = 30_080
/** Few, so that a connection often meets the endpoint at which another one ended. */
export const ENDPOINTS = 3

export const ENDPOINT_ADDRESSES = Array.from({ length: ENDPOINTS }, (_, n) => ({
  ip: toText(endpointAddress(0, n, ENDPOINTS)),
  port: TARGET_PORT,
}))

const CLIENTS = toNumber('10.251.1.0')
const NODES = toNumber('10.251.2.0')

/**
 * A client, and the address of the node that it alone connects to: so the route chooses the source address, and
 * a client that does not bind has several.
 */
export interface Client {
  readonly source: string
  readonly node: string
}

export function clientsOf(count: number): readonly Client[] {
  return Array.from({ length: count }, (_, n) => ({
    source: toText(CLIENTS + 1 + n),
    node: toText(NODES + 1 + n),
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
