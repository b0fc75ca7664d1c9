import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { NODE_NAME } from '../network/plan.ts'
import type { PodState } from './pod-state.ts'

/** Only so many of the selected pods are used. */
export const REPLICAS = 'sandbox.orch.io/replicas'

/** What of a Service decides its endpoints. */
export interface SelectingService {
  readonly name: string
  readonly version: number
  /** Undefined: somebody else writes its endpoints. */
  readonly selector: Readonly<Record<string, unknown>> | undefined
  readonly ports: readonly { readonly name: string; readonly port: number }[]
  /** Undefined: as many as there are. */
  readonly replicas: number | undefined
}

export function readSelecting(service: JsonObject): SelectingService {
  const selector = objectAt(service, 'spec', 'selector')
  const replicas = stringAt(service, 'metadata', 'annotations', REPLICAS)
  return {
    name: stringAt(service, 'metadata', 'name'),
    version: Number(stringAt(service, 'metadata', 'resourceVersion')),
    selector: Object.keys(selector).length === 0 ? undefined : selector,
    ports: arrayAt(service, 'spec', 'ports').map((port) => ({
      name: stringAt(port, 'name'),
      port: Number(valueAt(port, 'targetPort') ?? valueAt(port, 'port')),
    })),
    replicas: /^\d{1,3}$/.test(replicas) ? Number(replicas) : undefined,
  }
}

/** The EndpointSlice of a Service: its pods in the order of their names, ready or not. */
export function endpointSlice(service: SelectingService, pods: readonly PodState[]): JsonObject {
  const wanted = Object.entries(service.selector ?? {})
  const selected = pods
    .filter(({ labels }) => wanted.every(([key, value]) => labels[key] === value))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, service.replicas)
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${service.name}-pods`,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': service.name },
    },
    addressType: 'IPv4',
    ports: service.ports.map((port) => ({ ...port, protocol: 'TCP' })),
    endpoints: selected.map(({ name, ip, ready }) => ({
      addresses: [ip],
      nodeName: NODE_NAME,
      conditions: { ready, serving: ready, terminating: false },
      targetRef: { kind: 'Pod', namespace: 'default', name },
    })),
  }
}
