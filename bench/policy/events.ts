import { formatIp, parseCidr, parseIp } from '../../src/lib/ip.ts'
import type { JsonObject } from '../../src/lib/json.ts'
import { readPolicy } from '../../src/networkpolicy/read-policy.ts'
import type { PolicyEvent } from '../../src/policy/policy-content.ts'

export const NODE = 'node-1'
const NAMESPACES = 50
/** Pods of a Deployment, which have the same labels. */
const REPLICAS = 10
const LOCAL = { network: parseCidr('10.0.0.0/16')!, first: 0x0a00_0001 }
const ELSEWHERE = 0x0a80_0000
/** Where Pods that are added later have their addresses. */
const LATER = 0x0bc0_0000

export interface Size {
  readonly policies: number
  readonly localPods: number
  /** Pods of other nodes. */
  readonly peers: number
}

/**
 * A cluster: policies that isolate the Pods of the node in both directions and admit Pods of their namespace by a label,
 * those of teams by a label of their namespaces, and a block; Pods of Deployments with ten replicas in 50 namespaces.
 */
export function clusterEvents({ policies, localPods, peers }: Size): PolicyEvent[] {
  return [
    { kind: 'node', podCIDRs: [LOCAL.network] },
    ...range(NAMESPACES, (n): PolicyEvent => {
      return { kind: 'namespace', name: namespaceOf(n), labels: { team: `team-${n % 5}` } }
    }),
    ...range(policies, (n) => policyEvent(n, 8080)),
    ...range(localPods, (n) => podEvent(`local-${n}`, { ip: LOCAL.first + n, n, node: NODE })),
    ...range(peers, (n) =>
      podEvent(`peer-${n}`, { ip: ELSEWHERE + n, n, node: `node-${n % 100}x` }),
    ),
  ]
}

/** Another Pod of a Deployment that is there, on another node. */
export function podAdded(n: number): PolicyEvent {
  return podEvent(`later-${n}`, { ip: LATER + n, n, node: 'node-2x' })
}

/** A Pod that was added gets the label that policies of its namespace admit. */
export function podRelabelled(n: number): PolicyEvent {
  return podEvent(`later-${n}`, { ip: LATER + n, n, node: 'node-2x', role: 'client' })
}

/** The policies of `clusterEvents` that isolate Pods of the node: a change of others writes nothing. */
export function isolatingPolicies({ policies, localPods }: Size): readonly number[] {
  const groups = Math.ceil(localPods / REPLICAS)
  return Array.from({ length: policies }, (_, n) => n).filter((n) => n % NAMESPACES < groups)
}

/** A policy admits another port. */
export function policyChanged(policy: number, n: number): PolicyEvent {
  return policyEvent(policy, 9000 + n)
}

function policyEvent(n: number, port: number): PolicyEvent {
  const namespace = namespaceOf(n)
  const key = `${namespace}/policy-${n}`
  const peer = [
    { podSelector: { matchLabels: { role: 'client' } } },
    { namespaceSelector: { matchLabels: { team: `team-${n % 5}` } } },
    { ipBlock: { cidr: `172.16.${n % 256}.0/24`, except: [`172.16.${n % 256}.128/25`] } },
  ]
  const object: JsonObject = {
    metadata: { namespace, name: `policy-${n}` },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: peer, ports: [{ port }, { port: 'metrics' }] }],
      egress: [{ to: peer }, { ports: [{ protocol: 'UDP', port: 53 }] }],
    },
  }
  return { kind: 'policy', key, value: readPolicy(object) }
}

interface Placed {
  readonly ip: number
  readonly n: number
  readonly node: string
  readonly role?: string
}

function podEvent(name: string, { ip, n, node, role = 'server' }: Placed): PolicyEvent {
  const group = Math.floor(n / REPLICAS)
  const namespace = namespaceOf(group)
  const key = `${namespace}/${name}`
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(ip)
  return {
    kind: 'pod',
    key,
    value: {
      key,
      namespace,
      labels: { app: `app-${group}`, role },
      ips: [parseIp(formatIp(bytes))!],
      nodeName: node,
      isBeingDeleted: false,
      createdAt: 0,
      namedPorts: [{ name: 'metrics', protocol: 'TCP', port: 9100 }],
    },
  }
}

function namespaceOf(n: number): string {
  return `namespace-${n % NAMESPACES}`
}

function range(count: number, event: (n: number) => PolicyEvent): readonly PolicyEvent[] {
  return Array.from({ length: count }, (_, n) => event(n))
}
