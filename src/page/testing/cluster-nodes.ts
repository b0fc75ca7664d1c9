import type { StatusResponseJson } from '../../inspection/generated/inspection_pb.ts'
import type { NodeObject, PodObject } from '../files/data/cluster-api.ts'
import type { EntryMessage } from '../files/data/node-api.ts'

/** A failure as an answer: a Status of the API server, or an error of a node-proxy. */
export interface MadeFailure {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** How one node of a made-up cluster differs from the others. */
export interface Peculiarity {
  readonly failure?: MadeFailure
  readonly status?: StatusResponseJson
  readonly object?: NodeObject['status']
  /** What it has of the first Service. */
  readonly entry?: (entry: EntryMessage) => EntryMessage
}

const UNREACHABLE =
  'node "node-7" cannot be read at 192.0.2.7:10246: the connection was refused; set inspection.bindAddress of its node-proxy'
const UNACCEPTED =
  'node "node-13" cannot be read at 192.0.2.13:10246: it does not accept the certificate of this server (401); name a copy of pki/ca.crt of the data directory in inspection.clientCAFile of its node-proxy'
const REFUSED_FILE =
  'the changed configuration file "/etc/node-proxy/config.yaml" is refused, and the previous one stays in use: mode: "nftable" is no mode'

/** By the number of the node, from 1. */
export const PECULIARITIES: Readonly<Record<number, Peculiarity>> = {
  3: { status: { warnings: [REFUSED_FILE] } },
  7: { failure: statusFailure(503, UNREACHABLE) },
  13: { failure: statusFailure(503, UNACCEPTED) },
  21: {
    status: {
      isReady: false,
      waitingMs: '42000',
      reasons: ['the oldest change has waited for 42 s: iptables-restore failed'],
    },
  },
  34: { status: { mode: 'nftables' } },
  42: { status: { version: '0.0.9' } },
  50: {
    status: { entries: 9_998 },
    entry: (entry) => ({ ...entry, status: 'Pending', backends: (entry.backends ?? []).slice(1) }),
  },
  55: {
    object: {
      conditions: [
        {
          type: 'Ready',
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
        },
      ],
    },
  },
}

/** A Status of the API server. */
export function statusFailure(status: number, message: string): MadeFailure {
  return {
    status,
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code: status },
  }
}

/** The Node with a number; `name`: its own name. */
export function nodeObject(number: number, name: string): NodeObject {
  return {
    metadata: { name },
    status: {
      addresses: [{ type: 'InternalIP', address: `192.0.2.${number % 250}` }],
      conditions: [{ type: 'Ready', status: 'True' }],
      ...PECULIARITIES[number]?.object,
    },
  }
}

/** The Pod `shop/web-NUMBER`, which runs on the node of its number. */
export function podObject(number: number, nodeName: string): PodObject {
  return {
    metadata: { name: `web-${number}`, namespace: 'shop' },
    spec: { nodeName },
    status: { phase: 'Running', podIP: podIp(number) },
  }
}

export function podIp(number: number): string {
  return `10.244.${number}.2`
}

/** The status of a node with a number, made from that of any. */
export function nodeStatus(
  status: StatusResponseJson,
  {
    number,
    name,
    own,
  }: { readonly number: number; readonly name: string; readonly own: Peculiarity },
): StatusResponseJson {
  const programming = {
    count: 600,
    p50Ms: 40 + ((number * 7) % 31),
    p99Ms: 150 + ((number * 37) % 173),
  }
  const { problems = [] } = status
  return {
    ...status,
    nodeName: name,
    driftRepaired: `${number % 4}`,
    programming,
    // Real conflicts are on every node. Here they are on one node, so that the others have none.
    problems: number === 9 ? problems : [],
    ...own.status,
  }
}
