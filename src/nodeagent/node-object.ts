import { arch, availableParallelism, release, totalmem } from 'node:os'
import { timestamp } from '../lib/duration.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import type { JsonObject } from '../lib/json.ts'
import { packageVersion } from '../lib/process.ts'
import { ARCHITECTURE, HOSTNAME, OPERATING_SYSTEM } from '../resources/label-names.ts'

/** What a node reports about itself. */
export interface NodeIdentity {
  readonly nodeName: string
  readonly addresses: readonly IpAddress[]
  readonly podCIDRs: readonly Cidr[]
  readonly labels: Readonly<Record<string, string>>
  /** The number of Pods that schedulers may bind to it. */
  readonly maxPods: number
}

/** The Node as it is registered. */
export function nodeObject(node: NodeIdentity): JsonObject {
  const [podCIDR] = node.podCIDRs
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: node.nodeName, labels: nodeLabels(node) },
    spec: podCIDR === undefined ? {} : { podCIDR, podCIDRs: [...node.podCIDRs] },
  }
}

/** The usual labels of a node, and its own. */
function nodeLabels({ nodeName, labels }: NodeIdentity): Record<string, string> {
  return {
    [HOSTNAME]: nodeName,
    [OPERATING_SYSTEM]: 'linux',
    [ARCHITECTURE]: ARCHITECTURES.get(arch()) ?? arch(),
    ...labels,
  }
}

/**
 * The strategic merge patch of the status of the Node. `now` is the time of the heartbeat. The addresses replace the
 * stored list: the server would otherwise merge them by type, and keep one of two addresses of the same type.
 */
export function nodeStatus(node: NodeIdentity, ready: JsonObject, now: number): JsonObject {
  const architecture = ARCHITECTURES.get(arch()) ?? arch()
  const resources = {
    cpu: String(availableParallelism()),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    pods: String(node.maxPods),
  }
  return {
    addresses: [
      ...node.addresses.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: node.nodeName },
      { $patch: 'replace' },
    ],
    capacity: resources,
    allocatable: resources,
    conditions: [{ ...ready, lastHeartbeatTime: timestamp(now) }],
    nodeInfo: {
      architecture,
      operatingSystem: 'linux',
      kernelVersion: release(),
      osImage: '',
      containerRuntimeVersion: 'process://1',
      kubeletVersion: `v${packageVersion()}`,
    },
  }
}

/** The names of processor architectures in Kubernetes, by those of Node. */
const ARCHITECTURES: ReadonlyMap<string, string> = new Map([
  ['x64', 'amd64'],
  ['ia32', '386'],
])
