/** The addresses of everything; they are 32-bit numbers unless they are strings. */

/** The addresses of the API server and of the node on their link. */
export const CONTROL = { server: '192.0.2.1', node: '192.0.2.2' } as const
/** The name by which Service proxies know their node. */
export const NODE_NAME = 'bench-node'
export const API_PORT = 6443
export const METRICS_PORT = 10249

/** Real connections come from here. */
export const CLIENT = { host: '10.251.0.2', node: '10.251.0.1' } as const
export const BACKENDS = { host: '10.252.0.2', node: '10.252.0.1' } as const

/** Any address of these is an endpoint. */
export const ENDPOINT_NET = '10.128.0.0/10'
/** Sources of probes. Every probe has another one, so that each is a new connection. */
export const PROBE_NET = '10.250.0.0/16'
/** All of the above except the API server; no packet from here needs masquerading. */
export const CLUSTER_CIDR = '10.128.0.0/9'
export const SERVICE_NET = '10.96.0.0/12'

export const SERVICE_PORT = 80
export const TARGET_PORT = 8080

const SERVICES = toNumber('10.96.1.0')
const ENDPOINTS = toNumber('10.128.0.0')
const REPLACEMENTS = toNumber('10.160.0.0')
export const PROBES = toNumber('10.250.0.0')

export function serviceAddress(index: number): number {
  return SERVICES + index
}

/** Endpoint `n` of a Service before any change, if each Service has `each` endpoints. */
export function endpointAddress(index: number, n: number, each = 10): number {
  return ENDPOINTS + 1 + index * Math.max(16, each) + n
}

/** The endpoint that change number `serial` adds; each is used once. */
export function replacementAddress(serial: number): number {
  return REPLACEMENTS + 1 + serial
}

export function toNumber(ip: string): number {
  return ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

export function toText(ip: number): string {
  return [24, 16, 8, 0].map((shift) => (ip >>> shift) & 255).join('.')
}
