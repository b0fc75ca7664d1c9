import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { blocksOf } from '../../support/pages/page-section.ts'
import { TEST_IMAGE } from '../images/images.ts'

/** Where Pods have the programs of the folder `pods`. */
export const PROGRAMS_AT = '/test'
export const PORT = 8080
/** Where servers send back each byte that comes. */
export const ECHO_PORT = 8081
const PROGRAMS = 'test-programs'

export interface ServerOptions {
  /** One unless set. */
  readonly replicas?: number
  /** Fields of the Pods beside its containers. */
  readonly pod?: object
  /** Fields of the container. */
  readonly container?: object
  readonly strategy?: object
}

/** The ConfigMap that all Pods of the tests mount. */
export function programs(): object {
  const data = Object.fromEntries(
    ['server.ts', 'client.ts'].map((name) => [
      name,
      readFileSync(new URL(`../pods/${name}`, import.meta.url), 'utf8'),
    ]),
  )
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: PROGRAMS }, data }
}

/** Servers that answer with their names; spread over the nodes, and ended as docs/operate/upgrade.md advises. */
export function servers(app: string, options: ServerOptions = {}): object {
  const { replicas = 1, strategy = {} } = options
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app },
    spec: {
      replicas,
      strategy,
      selector: { matchLabels: { app } },
      template: podTemplate(app, options),
    },
  }
}

/** A server on each node. */
export function serverOnEachNode(app: string, options: ServerOptions = {}): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: app },
    spec: { selector: { matchLabels: { app } }, template: podTemplate(app, options) },
  }
}

/** A server on a node, a Pod without an owner. */
export function serverOn(node: string, app: string, options: ServerOptions = {}): object {
  const { metadata, spec } = podTemplate(app, options)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name: `${app}-${node}` },
    spec: { ...spec, nodeName: node },
  }
}

/** A Service of the servers `app`, over TCP unless the spec has ports. */
export function service(name: string, app: string, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app }, ports: [{ port: 80, targetPort: PORT }], ...spec },
  }
}

function podTemplate(
  app: string,
  { pod = {}, container = {} }: ServerOptions,
): { readonly metadata: object; readonly spec: object } {
  return {
    metadata: { labels: { app } },
    spec: {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { app } },
        },
      ],
      terminationGracePeriodSeconds: 30,
      containers: [{ ...SERVER, ...container }],
      volumes: [{ name: 'programs', configMap: { name: PROGRAMS } }],
      ...pod,
    },
  }
}

const SERVER = {
  name: 'server',
  image: TEST_IMAGE,
  imagePullPolicy: 'IfNotPresent',
  command: ['node', `${PROGRAMS_AT}/server.ts`],
  env: [
    { name: 'PORT', value: String(PORT) },
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ],
  ports: [{ containerPort: PORT }],
  // Without a request a container gets almost no processor time where a test takes all of it.
  resources: { requests: { cpu: '100m' } },
  readinessProbe: { httpGet: { path: '/ready', port: PORT }, periodSeconds: 1, timeoutSeconds: 5 },
  // Every node-proxy has heard by then that it ends.
  lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
  volumeMounts: [{ name: 'programs', mountPath: PROGRAMS_AT }],
} as const

interface Advice {
  readonly spec: {
    readonly strategy: object
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly {
          readonly readinessProbe: object
          readonly lifecycle: object
        }[]
      }
    }
  }
}

/** Pods that end as docs/operate/upgrade.md advises. */
export function asThePageSays(): ServerOptions {
  const [text = ''] = blocksOf('upgrade.md', 'Replace Pods without a failed connection', 'yaml')
  const { strategy, template } = (parse(text) as Advice).spec
  const { terminationGracePeriodSeconds, containers } = template.spec
  const [{ readinessProbe, lifecycle } = { readinessProbe: {}, lifecycle: {} }] = containers
  return {
    strategy,
    pod: { terminationGracePeriodSeconds },
    container: { readinessProbe, lifecycle },
  }
}
