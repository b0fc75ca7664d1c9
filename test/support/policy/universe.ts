import type { Transport } from '../agent/protocol.ts'
import { NODE_NAME } from '../lab/plan.ts'

/** The ports on which every Pod answers, over each protocol. */
export const PORTS = [80, 81, 82, 8080] as const
export const PROTOCOLS: readonly Transport[] = ['TCP', 'UDP', 'SCTP']
/** A Service's port is its Pod's port plus this, so that a policy that speaks of Services is found out. */
export const SERVICE_PORT_OFFSET = 1000

export const FAMILIES = [4, 6] as const
export type PolicyFamily = (typeof FAMILIES)[number]
/** Whether the client addresses the Pod or its Service. */
export const WAYS = ['Pod', 'Service'] as const
export type ProbeRoute = (typeof WAYS)[number]

type Labels = Readonly<Record<string, string>>

export interface TestPod {
  readonly namespace: string
  readonly name: string
  /** `namespace/name` */
  readonly key: string
  readonly labels: Labels
  readonly isLocal: boolean
  readonly ips: Readonly<Record<PolicyFamily, string>>
  readonly serviceIps: Readonly<Record<PolicyFamily, string>>
  /** Named container ports, several names may have one number. */
  readonly namedPorts: readonly {
    readonly name: string
    readonly protocol: Transport
    readonly port: number
  }[]
}

/** The labels of the namespaces, those that every API server adds included. */
export const NAMESPACES: Readonly<Record<string, Labels>> = Object.fromEntries(
  ['x', 'y', 'z'].map((name) => [
    name,
    { 'kubernetes.io/metadata.name': name, ns: name, team: name === 'z' ? 'far' : 'near' },
  ]),
)

/** Three Pods of each namespace on the node, and one of each on another node. */
export const PODS: readonly TestPod[] = Object.keys(NAMESPACES).flatMap((namespace, space) =>
  ['a', 'b', 'c', 'r'].map((name, index) => pod(namespace, name, { space, index })),
)

function pod(
  namespace: string,
  name: string,
  { space, index }: { readonly space: number; readonly index: number },
): TestPod {
  const isLocal = name !== 'r'
  const host = isLocal ? 11 + space * 16 + index : 11 + space
  return {
    namespace,
    name,
    key: `${namespace}/${name}`,
    labels: { pod: name, tier: index % 2 === 0 ? 'even' : 'odd' },
    isLocal,
    ips: isLocal
      ? { 4: `10.180.0.${host}`, 6: `fd00:10:180::${host}` }
      : { 4: `10.181.0.${host}`, 6: `fd00:10:181::${host}` },
    serviceIps: {
      4: `172.30.${90 + space}.${1 + index}`,
      6: `fd00:172:30::${90 + space}:${1 + index}`,
    },
    namedPorts: [
      ...PROTOCOLS.flatMap((protocol) =>
        PORTS.map((port) => ({ name: `serve-${port}-${protocol.toLowerCase()}`, protocol, port })),
      ),
      { name: 'web', protocol: 'TCP', port: PORTS[index % 3] ?? PORTS[0] },
      { name: 'dns', protocol: 'UDP', port: PORTS[(index + 1) % 3] ?? PORTS[0] },
    ],
  }
}

/** One connection that is tried, and where it leads. */
export interface Probe {
  readonly source: TestPod
  readonly target: TestPod
  readonly family: PolicyFamily
  readonly protocol: Transport
  /** The port of the Pod, also if its Service is addressed. */
  readonly port: number
  readonly way: ProbeRoute
}

/** Every connection between two Pods of which at least one is on the node, in a fixed order. */
export function allProbes(ways: readonly ProbeRoute[] = WAYS): readonly Probe[] {
  const pairs = PODS.flatMap((source) =>
    PODS.filter((target) => source.isLocal || target.isLocal).map((target) => ({ source, target })),
  )
  return ways.flatMap((way) =>
    FAMILIES.flatMap((family) =>
      PROTOCOLS.flatMap((protocol) =>
        PORTS.flatMap((port) => pairs.map((pair) => ({ ...pair, family, protocol, port, way }))),
      ),
    ),
  )
}

/** The address and port to which the client of a probe sends. */
export function addressed({ target, family, port, way }: Probe): {
  readonly ip: string
  readonly port: number
} {
  return way === 'Pod'
    ? { ip: target.ips[family], port }
    : { ip: target.serviceIps[family], port: port + SERVICE_PORT_OFFSET }
}

/** The name of the node that a Pod runs on. */
export function nodeOf({ isLocal }: TestPod): string {
  return isLocal ? NODE_NAME : 'another-node'
}
