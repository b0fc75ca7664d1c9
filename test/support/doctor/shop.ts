import { arrayAt, type JsonObject, stringAt, valueAt } from '../../../src/lib/json.ts'
import type { DoctorCluster } from './doctor-cluster.ts'

/** A namespace in which a Service works: two ready Pods, an account, and a role that is bound to it. */
export interface Shop {
  readonly cluster: DoctorCluster
  readonly namespace: string
  /** `/api/v1/namespaces/NAMESPACE` */
  readonly core: string
  readonly rbac: string
  /** Creates a Pod, and writes the status that its node would write. */
  pod(name: string, change?: PodChange): Promise<void>
  /** Creates a Service for the Pods with `app=web`, unless the spec says otherwise. */
  service(name: string, spec?: JsonObject, metadata?: JsonObject): Promise<void>
  /** Waits until a Service has `count` ready endpoints. */
  ready(service: string, count: number): Promise<void>
}

export interface PodChange {
  readonly labels?: JsonObject
  readonly spec?: JsonObject
  readonly container?: JsonObject
  readonly status?: JsonObject
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const DISCOVERY = '/apis/discovery.k8s.io/v1'

/** Opens a namespace; the addresses of its Pods begin with `10.200.INDEX.`. */
export async function openNamespace(
  cluster: DoctorCluster,
  namespace: string,
  index: number,
): Promise<Shop> {
  await cluster.make('/api/v1/namespaces', { metadata: { name: namespace } })
  const core = `/api/v1/namespaces/${namespace}`
  let last = 0
  return {
    cluster,
    namespace,
    core,
    rbac: `${RBAC}/namespaces/${namespace}`,
    async pod(name, { labels = { app: 'web' }, spec = {}, container = {}, status = {} } = {}) {
      const ports = [{ name: 'http', containerPort: 8080 }]
      const readinessProbe = { tcpSocket: { port: 'http' } }
      const main = { name: 'main', image: 'web:1', ports, readinessProbe, ...container }
      const metadata = { name, labels }
      await cluster.make(`${core}/pods`, { metadata, spec: { containers: [main], ...spec } })
      last += 1
      const ready = runningStatus(`10.200.${index}.${last}`)
      await cluster.patch(`${core}/pods/${name}/status`, { status: { ...ready, ...status } })
    },
    async service(name, spec = {}, metadata = {}) {
      const ports = [{ name: 'web', port: 80, targetPort: 'http' }]
      await cluster.make(`${core}/services`, {
        metadata: { name, ...metadata },
        spec: { selector: { app: 'web' }, ports, ...spec },
      })
    },
    ready: (service, count) =>
      cluster.until(
        `${DISCOVERY}/namespaces/${namespace}/endpointslices`,
        (slice) =>
          stringAt(slice, 'metadata', 'labels', 'kubernetes.io/service-name') === service &&
          arrayAt(slice, 'endpoints').filter((one) => valueAt(one, 'conditions', 'ready') !== false)
            .length === count,
      ),
  }
}

/** A namespace in which everything works. */
export async function openShop(
  cluster: DoctorCluster,
  namespace: string,
  index: number,
): Promise<Shop> {
  const shop = await openNamespace(cluster, namespace, index)
  const { core, rbac } = shop
  await cluster.make(`${core}/serviceaccounts`, { metadata: { name: 'robot' } })
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }]
  await cluster.make(`${rbac}/roles`, { metadata: { name: 'reader' }, rules })
  await cluster.make(`${rbac}/rolebindings`, bindingOf('robot', namespace))
  for (const name of ['web-1', 'web-2']) {
    await shop.pod(name, { spec: { serviceAccountName: 'robot' } })
  }
  await shop.service('web')
  await shop.ready('web', 2)
  return shop
}

/** The binding of the role `reader` to an account. */
export function bindingOf(account: string, namespace: string): JsonObject {
  return {
    metadata: { name: `${account}-reads` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: account }],
  }
}

function runningStatus(ip: string): JsonObject {
  const state = { running: { startedAt: '2026-01-01T00:00:00Z' } }
  return {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    containerStatuses: [
      {
        name: 'main',
        ready: true,
        started: true,
        restartCount: 0,
        state,
        image: 'web:1',
        imageID: '',
      },
    ],
  }
}

/** The status of a Pod whose container runs and is not ready. */
export const UNREADY: JsonObject = {
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  containerStatuses: [
    {
      name: 'main',
      ready: false,
      started: true,
      restartCount: 0,
      image: 'web:1',
      imageID: '',
      state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    },
  ],
}

/** The status of a Pod whose node cannot pull the image. */
export const PULLING: JsonObject = {
  phase: 'Pending',
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  containerStatuses: [
    {
      name: 'main',
      ready: false,
      started: false,
      restartCount: 0,
      image: 'web:1',
      imageID: '',
      state: { waiting: { reason: 'ImagePullBackOff', message: 'unauthorized' } },
    },
  ],
}
