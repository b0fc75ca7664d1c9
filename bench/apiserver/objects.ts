/** What the benchmark writes. */

export const SERVICES = '/api/v1/namespaces/default/services'
export const ENDPOINTS = '/api/v1/namespaces/default/endpoints'
export const PODS = '/api/v1/namespaces/default/pods'
export const NODES = '/api/v1/nodes'

export const ADDRESSES = 10

/** The annotation by which a watcher recognises a write. */
export const MARK = 'bench'

export function objectName(index: number): string {
  return `service-${String(index).padStart(5, '0')}`
}

/** A ClusterIP Service whose address the server chooses; the benchmark writes its endpoints. */
export function serviceObject(index: number): object {
  const name = objectName(index)
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name, labels: { app: name } },
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
  }
}

/** Endpoints with ten addresses, and with a label that keeps the controller from mirroring them into a slice. */
export function endpointsObject(index: number): object {
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
  const addresses = Array.from({ length: ADDRESSES }, (_, n) => ({
    ip: `10.${128 + (index >> 12)}.${(index >> 4) & 255}.${((index & 15) << 4) + n}`,
    nodeName: 'node',
  }))
  return {
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: { name: objectName(index), labels },
    subsets: [{ addresses, ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] }],
  }
}

/** A merge patch that changes one annotation. */
export function markPatch(mark: string): object {
  return { metadata: { annotations: { [MARK]: mark } } }
}

const READY = 'becomes-ready'

export const READY_POD = `${PODS}/${READY}`
export const READY_ENDPOINTS = `${ENDPOINTS}?fieldSelector=metadata.name%3D${READY}`

/** The node of the Pod; without it, the Pod would be deleted as an orphan of a deleted node. */
export function readyNode(): object {
  const conditions = [{ type: 'Ready', status: 'True' }]
  return { kind: 'Node', apiVersion: 'v1', metadata: { name: 'node' }, status: { conditions } }
}

/** A Service with a selector, and the one Pod that it selects. */
export function readyService(): object {
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name: READY },
    spec: { selector: { app: READY }, ports: [{ port: 80, targetPort: 8080 }] },
  }
}

export function readyPod(): object {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: READY, labels: { app: READY } },
    spec: { nodeName: 'node', containers: [{ name: 'main', image: 'none' }] },
  }
}

/** A merge patch of the Pod's status. */
export function readinessPatch(isReady: boolean): object {
  const ip = '10.64.0.1'
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
  return { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions } }
}
