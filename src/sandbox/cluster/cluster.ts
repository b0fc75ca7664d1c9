import { type Json, type JsonObject, objectAt, valueAt } from '../../lib/json.ts'
import { readManifests } from '../../manifests/manifests.ts'
import { SERVICE_NAME } from '../../resources/label-names.ts'
import { READY_PATH } from '../agent/pod-serve.ts'
import type { Namespace } from '../network/namespace.ts'
import { DNS_IP, NODE_IP, PODS } from '../network/topology.ts'
import type { Run } from '../run/run.ts'
import { absentPod, ClusterState, type PodState } from './cluster-state.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { Writer } from './writer.ts'

const FOLDERS = ['services', 'policies'].map(
  (name) => new URL(`../../../examples/${name}/`, import.meta.url).pathname,
)

const DNS = { namespace: 'kube-system', name: 'cluster-dns' } as const
const READER = { namespace: 'default', name: 'service-reader' } as const
const RBAC = 'rbac.authorization.k8s.io'

const DNS_PORTS = ['UDP', 'TCP'].map((protocol) => ({
  name: protocol.toLowerCase(),
  protocol,
  port: 53,
}))

/**
 * The Service of DNS, whose backend is orch-server itself, so that node-proxy forwards the DNS queries of pods, too.
 */
const dnsService: JsonObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: DNS,
  spec: { clusterIP: DNS_IP, ports: DNS_PORTS },
}

const dnsEndpoints: JsonObject = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  addressType: 'IPv4',
  metadata: { ...DNS, labels: { [SERVICE_NAME]: DNS.name } },
  endpoints: [{ addresses: [NODE_IP], conditions: { ready: true } }],
  ports: DNS_PORTS,
}

/** The role of the account of the pods, which may only read Services. */
const role: JsonObject = {
  apiVersion: `${RBAC}/v1`,
  kind: 'Role',
  metadata: READER,
  rules: [{ apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] }],
}

const roleBinding: JsonObject = {
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: READER,
  roleRef: { apiGroup: RBAC, kind: 'Role', name: READER.name },
  subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'default' }],
}

/** The objects that the cluster has in addition to those of the examples. */
const SYSTEM_OBJECTS: readonly JsonObject[] = [dnsService, dnsEndpoints, role, roleBinding]

/** A small cluster: orch-server with its controllers and node agent, its objects, three pods. */
export interface Cluster {
  readonly controlPlane: ControlPlane
  readonly state: ClusterState
  readonly pods: Pods
  readonly catalog: Catalog
}

/** Starts the cluster on the node and creates its objects; `stack` ends it again. */
export async function openCluster(
  run: Run,
  node: Namespace,
  stack: AsyncDisposableStack,
): Promise<Cluster> {
  const controlPlane = await startControlPlane(run, node, stack)
  const state = new ClusterState(controlPlane)
  const stop = new AbortController()
  const following = state.run(stop.signal)
  stack.defer(async () => {
    stop.abort()
    await following
  })
  const writer = new Writer(controlPlane.api, state)
  const pods = new Pods(state, writer)
  for (const object of SYSTEM_OBJECTS) await writer.create(object)
  await Promise.all(PODS.map((name) => pods.start(name)))
  for (const object of await readExamples()) await writer.create(object)
  return { controlPlane, state, pods, catalog: new Catalog(state, writer) }
}

/** All objects of the example manifests, in the order of their files. @throws NP_MANIFESTS_INVALID */
export async function readExamples(): Promise<readonly JsonObject[]> {
  const manifests = await readManifests({ filename: FOLDERS })
  return manifests.map(({ object }) => object)
}

/** The three pods of the node, with what an operator could do to them by kubectl and a shell. */
export class Pods {
  readonly #state: ClusterState
  readonly #writer: Writer

  constructor(state: ClusterState, writer: Writer) {
    this.#state = state
    this.#writer = writer
  }

  states(): readonly PodState[] {
    return PODS.map((name) => this.state(name))
  }

  state(name: string): PodState {
    return this.#state.pods.get(`default/${name}`) ?? absentPod(name)
  }

  /** Creates a pod, instead of a dead one if there is one; resolves when it is ready. */
  async start(name: string): Promise<void> {
    if (this.state(name).uid !== '') await this.#writer.removePod(name)
    await this.#writer.create(podManifest(name))
    await this.#state.until(`${name} is ready`, () => this.state(name).ready)
  }

  /** Signals the process of a pod; resolves when the cluster has noticed its end. */
  async signal(name: string, signal: NodeJS.Signals): Promise<void> {
    const { pid } = this.state(name)
    if (pid === undefined) return
    process.kill(pid, signal)
    const hasEnded = (): boolean => this.state(name).pid !== pid && !this.state(name).ready
    await this.#state.until(`the process of ${name} has ended`, hasEnded)
  }

  /** Makes this number of the pods endpoints of web-public. */
  async scale(replicas: number): Promise<void> {
    for (const [index, { name, uid }] of this.states().entries()) {
      if (uid !== '') await this.label(name, { [PUBLIC]: index < replicas ? 'yes' : null })
    }
  }

  /** Sets labels of a pod, or removes them (null). */
  async label(name: string, labels: Readonly<Record<string, string | null>>): Promise<void> {
    await this.#writer.patch('Pod', name, { metadata: { labels } })
  }
}

/** A Deployment behind the Service `catalog`, whose pods answer with the version of their template. */
export class Catalog {
  readonly #state: ClusterState
  readonly #writer: Writer
  #version = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(state: ClusterState, writer: Writer) {
    this.#state = state
    this.#writer = writer
  }

  /**
   * Creates it, or changes its template to the next version: `version-1`, `version-2` and so on. Resolves to the version
   * when all its pods have it and are available. One change at a time: others wait.
   */
  next(): Promise<string> {
    const changed = this.#last.catch(() => undefined).then(() => this.#change())
    this.#last = changed
    return changed
  }

  async #change(): Promise<string> {
    const manifest = catalogManifest(`version-${++this.#version}`)
    if (this.#version === 1) await this.#writer.create(manifest)
    else await this.#writer.patch('Deployment', CATALOG, { spec: manifest.spec })
    await this.#rolledOut()
    return `version-${this.#version}`
  }

  /** All its pods have the current template and are available, and those before them are gone. */
  async #rolledOut(): Promise<void> {
    await this.#state.until('the Deployment has rolled out', () => {
      const deployment = this.#state.deployments.get(`default/${CATALOG}`)
      const status = objectAt(deployment, 'status')
      const isObserved =
        valueAt(status, 'observedGeneration') === valueAt(deployment, 'metadata', 'generation')
      const counts = ['replicas', 'updatedReplicas', 'availableReplicas'].map(
        (name) => status[name],
      )
      return (
        isObserved &&
        counts.every((count) => count === CATALOG_PODS) &&
        this.#pods().length === CATALOG_PODS
      )
    })
  }

  #pods(): readonly PodState[] {
    return [...this.#state.pods.values()].filter(({ labels }) => labels['app'] === CATALOG)
  }
}

const CATALOG = 'catalog'
const CATALOG_PODS = 2

function catalogManifest(version: string): {
  readonly [key: string]: Json
  readonly spec: JsonObject
} {
  const labels = { app: CATALOG }
  const container = containerOf([{ name: 'POD_NAME', value: version }])
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: CATALOG, namespace: 'default' },
    spec: {
      replicas: CATALOG_PODS,
      selector: { matchLabels: labels },
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 5, containers: [container] },
      },
    },
  }
}

/** The port on which the pods' servers listen. */
const POD_PORT = 8080

/** The label that makes a pod an endpoint of web-public; scaling sets and removes it. */
export const PUBLIC = 'public'

const PROGRAM = new URL('../agent/pod-main.ts', import.meta.url).pathname

/** A Pod whose process is not restarted when it has ended, so that one can see the traffic move. */
export function podManifest(name: string): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'web', [PUBLIC]: 'yes' } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 5,
      containers: [
        containerOf([
          { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ]),
      ],
    },
  }
}

/** A server that names itself by the variable `POD_NAME`. */
function containerOf(env: readonly JsonObject[]): JsonObject {
  return {
    name: 'web',
    image: 'none',
    command: [process.execPath, PROGRAM],
    env: [
      { name: 'PORT', value: String(POD_PORT) },
      { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      ...env,
    ],
    ports: [{ name: 'http', containerPort: POD_PORT }],
    readinessProbe: {
      httpGet: { path: READY_PATH, port: 'http' },
      periodSeconds: 1,
      failureThreshold: 1,
    },
  }
}
