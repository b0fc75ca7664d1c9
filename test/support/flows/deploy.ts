import type { Lab } from '../lab/lab.ts'
import {
  type ApiObject,
  type EndpointSpec,
  type PortSpec,
  type ServiceSpec,
  service,
  slice,
} from '../lab/objects.ts'
import { NODE_NAME } from '../lab/plan.ts'

export interface Deployment {
  /** `namespace/name`. */
  readonly key: string
  readonly clusterIP: string
  readonly endpoints: readonly EndpointSpec[]
  /** One unnamed TCP port 80 unless given; every endpoint serves the same number. */
  readonly ports?: readonly PortSpec[]
  /** More fields of the Service's spec. */
  readonly spec?: Partial<ServiceSpec>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ingress?: readonly object[]
  /** Weights of the endpoints by address; 1 unless given. */
  readonly weights?: Readonly<Record<string, number>>
}

const PORTS: readonly PortSpec[] = [{ name: '', port: 80, protocol: 'TCP' }]

/** A Service, its EndpointSlice and real listeners for its endpoints; waits for the daemon. */
export async function deploy(lab: Lab, deployment: Deployment): Promise<void> {
  await deployAll(lab, [deployment])
}

export async function deployAll(lab: Lab, deployments: readonly Deployment[]): Promise<void> {
  for (const deployment of deployments) {
    await serveEndpoints(lab, deployment)
    await lab.api.apply(...objectsOf(deployment))
  }
  await lab.daemon.synced()
}

/** Replaces a deployment's endpoints; waits for the daemon. */
export async function redeploy(lab: Lab, deployment: Deployment): Promise<void> {
  await serveEndpoints(lab, deployment)
  const [, endpointSlice] = objectsOf(deployment)
  if (endpointSlice !== undefined) await lab.api.apply(endpointSlice)
  await lab.daemon.synced()
}

export function objectsOf(deployment: Deployment) {
  const { key, clusterIP, endpoints, ports = PORTS, spec, annotations, ingress } = deployment
  const metadata = annotations === undefined ? {} : { metadata: { name: '', annotations } }
  const status = ingress === undefined ? {} : { status: { loadBalancer: { ingress } } }
  const named = ports.map((port) => ({ protocol: 'TCP', ...port }) as const)
  const endpointSlice = slice(key, endpoints, {
    ports: named.map(({ name = '', protocol, port, targetPort }) => ({
      name,
      protocol,
      port: typeof targetPort === 'number' ? targetPort : port,
    })),
  })
  return [
    service(key, { clusterIP, ports: named, ...spec }, { ...metadata, ...status }),
    deployment.weights === undefined ? endpointSlice : weighted(endpointSlice, deployment.weights),
  ]
}

function weighted(object: ApiObject, weights: Readonly<Record<string, number>>): ApiObject {
  const annotations = { 'service.orch.io/weight': JSON.stringify(weights) }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

async function serveEndpoints(lab: Lab, { endpoints, ports = PORTS }: Deployment): Promise<void> {
  const listening = ports.map(({ protocol = 'TCP', port, targetPort }) => ({
    protocol,
    port: typeof targetPort === 'number' ? targetPort : port,
  }))
  for (const { ip, node = NODE_NAME } of endpoints) {
    await lab.serve({ ip, local: node === NODE_NAME, ports: listening })
  }
}
