import { endpointAddress, SERVICE_PORT, serviceAddress, TARGET_PORT, toText } from '../lab/plan.ts'

export const ENDPOINTS_PER_SERVICE = 10

export const SERVICES_PATH = '/api/v1/namespaces/default/services'
export const SLICES_PATH = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

export function serviceName(index: number): string {
  return `service-${String(index).padStart(5, '0')}`
}

export function sliceName(index: number): string {
  return `${serviceName(index)}-abcde`
}

/** A ClusterIP Service with one TCP port. */
export function serviceObject(index: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: serviceName(index), labels: { app: serviceName(index) } },
    spec: {
      clusterIP: toText(serviceAddress(index)),
      selector: { app: serviceName(index) },
      ports: [{ name: 'http', port: SERVICE_PORT, targetPort: TARGET_PORT, protocol: 'TCP' }],
    },
  }
}

/** The EndpointSlice of a Service, as the controller writes it. */
export function sliceObject(index: number, addresses: readonly number[]): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName(index),
      labels: {
        'kubernetes.io/service-name': serviceName(index),
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: TARGET_PORT, protocol: 'TCP' }],
    endpoints: addresses.map((ip, n) => ({
      addresses: [toText(ip)],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node-${n}`,
      targetRef: { kind: 'Pod', namespace: 'default', name: `${serviceName(index)}-${ip}` },
    })),
  }
}

/** The endpoints that a Service starts with. */
export function firstEndpoints(index: number, count = ENDPOINTS_PER_SERVICE): readonly number[] {
  return Array.from({ length: count }, (_, n) => endpointAddress(index, n, count))
}
