import { compareOutcomes } from '../../../explain/comparison/compare-outcomes.ts'
import type { TrackedConnections } from '../../../explain/connections/read-connections.ts'
import type { WalkOutcome } from '../../../explain/walk/walk-outcome.ts'
import { type WalkWorld, walkPacket } from '../../../explain/walk/walk-packet.ts'
import { arrivalInterface } from '../../../explain/world/first-hop.ts'
import type { ExplainResponse } from '../../../inspection/generated/inspection_pb.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { familyOf, type IpAddress } from '../../../lib/ip.ts'
import type { Protocol } from '../../../resources/types.ts'
import type { DesiredQuery } from './desired-query.ts'
import { expectationOf } from './expectation-of.ts'
import type { KnownNode } from './known-node.ts'
import type { Query } from './parse-query.ts'

/** What was found out about a packet. */
export interface Explanation {
  readonly src: IpAddress | undefined
  readonly dst: IpAddress
  readonly port: number
  readonly protocol: Protocol
  /** Undefined: from a process of this node. */
  readonly inInterface: string | undefined
  /** What node-proxy wants; a text: why that is not known. */
  readonly desired: ExplainResponse | string
  /** What the kernel does. */
  readonly observed: readonly WalkOutcome[]
  /** Where the kernel does otherwise than node-proxy wants. */
  readonly differences: readonly string[]
  /** Connections to the destination that the kernel has already; a text: why they are not known. */
  readonly connections: TrackedConnections | string
}

/**
 * Explains a packet by the forwarding table of a node-proxy and by what its kernel holds. Without node-proxy the
 * kernel's part is given alone. Throws NP_INSPECTION_… where a Service is to be found by name.
 */
export async function explainPacket(node: KnownNode, query: Query): Promise<Explanation> {
  const { world } = node
  const src = query.source.kind === 'address' ? query.source.ip : undefined
  const inInterface = await interfaceOf(world, query, src)
  const desired = await node.desired(requestOf(query, { src, inInterface }))
  const { dst, port, protocol } = destinationOf(query, desired)
  const family = familyOf(dst)
  const srcPort = query.source.port
  const observed = await walkPacket(world, {
    ...{ family, protocol, src, srcPort, dst, dstPort: port, inInterface },
  })
  const isOwn = (ip: IpAddress) => world.facts.addressType(ip) === 'local'
  const isOwnSource = src === undefined || isOwn(src)
  const differences =
    typeof desired === 'string'
      ? []
      : compareOutcomes({ src, isOwnSource, dst, port }, expectationOf(desired), observed)
  const ends = { family, protocol, from: src ?? isOwn, srcPort, dst, dstPort: port }
  const connections = await node.connections(ends)
  return { src, dst, port, protocol, inInterface, desired, observed, differences, connections }
}

async function interfaceOf(world: WalkWorld, query: Query, src: IpAddress | undefined) {
  if (query.inInterface !== undefined) return query.inInterface
  if (src === undefined) return undefined
  const found = await arrivalInterface(world.routing, src)
  if (found !== undefined) return found === '' ? undefined : found
  throw new NodeProxyError('NP_EXPLAIN_NO_ROUTE', `this node has no route back to ${src}`, {
    hint: 'name the interface by which its packets come with --interface, or explain on the node of the client',
  })
}

function requestOf(
  { destination, protocol }: Query,
  { src = '', inInterface = '' }: { src?: string | undefined; inInterface?: string | undefined },
): DesiredQuery {
  if (destination.kind === 'service') {
    return { src, inInterface, service: destination.service, dst: '', port: 0, protocol: '' }
  }
  const dst = destination.kind === 'node' ? '' : destination.ip
  return { src, inInterface, service: '', dst, port: destination.port ?? 0, protocol }
}

function destinationOf({ destination, protocol }: Query, desired: ExplainResponse | string) {
  if (destination.kind === 'address') {
    return { dst: destination.ip, port: destination.port ?? 0, protocol }
  }
  const found = desired as ExplainResponse
  return { dst: found.dst as IpAddress, port: found.port, protocol: found.protocol as Protocol }
}
