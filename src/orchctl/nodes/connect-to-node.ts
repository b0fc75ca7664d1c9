import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { hostPort } from '../../lib/ip.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { firstConnection, type TlsTrust } from '../../lib/tls/first-connection.ts'
import { internalAddresses } from './node-address.ts'
import { type AddressFailure, addressFailure, unreachableNode } from './unreachable-node.ts'

/** A connection to the node-proxy of a node. */
export interface ConnectedNode {
  /** With the address that was reached: `https://192.0.2.7:10246`. */
  readonly origin: string
  readonly socket: TLSSocket
  /** Of the addresses before. */
  readonly failures: readonly AddressFailure[]
}

/**
 * Connects to the first InternalIP of a Node object that is reached, as `firstConnection` does.
 * @throws NP_ORCHCTL_NODE where it has none, NP_ORCHCTL_NODE_UNREACHABLE
 */
export async function connectToNode(
  node: JsonObject,
  port: number,
  trust: TlsTrust,
): Promise<ConnectedNode> {
  const name = stringAt(node, 'metadata', 'name')
  const addresses = internalAddresses(node)
  if (addresses.length === 0) {
    throw new NodeProxyError('NP_ORCHCTL_NODE', `node ${quote(name)} has no InternalIP`, {
      hint: 'see its status.addresses, which the program that registers the node writes',
    })
  }
  const target = { addresses, port, trust, connect: (host: string) => connect({ host, port }) }
  const result = await firstConnection(target, { clock: systemClock })
  const attempts = 'socket' in result ? result.failed : result
  const failures = addresses
    .flatMap((one) => attempts.filter(({ address }) => address === one))
    .map((attempt) => addressFailure(attempt, port))
  if (!('socket' in result)) throw unreachableNode(name, failures)
  const { address, socket } = result
  return { origin: `https://${hostPort(address, port)}`, socket, failures }
}
