/**
 * The addresses that every lab has. Everything else (pods, remote endpoints, sinks) is created when a test needs it.
 */
export const NODE_NAME = 'test-node'

/** The node's own addresses on its uplink; the first of each family is its primary one. */
export const NODE_ADDRESSES = [
  '192.168.0.2/24',
  '192.168.1.2/24',
  '192.168.99.11/24',
  '2001:db8::1/64',
  '2001:db8:1::2/64',
] as const

/** Gateway of the pods: the node's address on their bridge. */
export const GATEWAY = { v4: '10.0.0.1', v6: 'fd00:10::1' } as const

/** Name of the pods' bridge, and prefix of their interfaces on the node. */
export const BRIDGE = 'cbr0'
/**
 * A fixed MAC. By default a bridge takes one from its ports, which changes with them, while clients keep the old one.
 */
export const BRIDGE_MAC = '02:00:00:00:00:01'
export const POD_INTERFACE = 'pod'

/** The addresses of the world: everything beyond the node, and the API server. */
export const WORLD = { v4: '192.168.0.1', v6: '2001:db8::ff' } as const

export const API_PORT = 6443

export const OUTSIDE = { v4: '203.0.113.2', v6: '2600:5200::1' } as const

/** Whether text is an IPv6 address or network. */
export function isV6(ip: string): boolean {
  return ip.includes(':')
}

/** The address as a network of one: `10.0.0.1/32`, `fd00::1/128`. */
export function hostNet(ip: string): string {
  return `${ip}/${isV6(ip) ? 128 : 32}`
}
