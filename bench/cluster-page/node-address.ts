/** The network of the nodes: the addresses for benchmarks (RFC 2544), on the loopback of this namespace. */
export const NODE_NET = '198.18.0.0/16'

/** The port of node-proxy for readers on other machines. */
export const NODE_PORT = 10_246

/** The InternalIP of the node with a number, from 1. */
export function nodeAddress(number: number): string {
  return `198.18.${number >> 8}.${number & 255}`
}

export function nodeName(number: number): string {
  return `node-${number}`
}
