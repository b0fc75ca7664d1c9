import { describe, expect, test } from 'vitest'
import { type JsonObject, objectAt } from '../lib/json.ts'
import { CHECKS, diagnose } from './diagnose.ts'
import { type DoctorCase, FURTHER_CASES, scaleToZero } from './testing/further-cases.ts'
import {
  evidenceOf,
  healthyCluster,
  type Objects,
  pod,
  service,
  slice,
} from './testing/healthy-cluster.ts'
import { LOOK_ALIKES } from './testing/look-alikes.ts'

const notReady = (one: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...one,
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    containerStatuses: [{ name: 'main', ready: false, restartCount: 0, state: {}, ...more }],
  },
})

const waiting = (reason: string) => ({ state: { waiting: { reason } } })

const event = (reason: string, message: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { namespace: 'shop', name: 'e' },
  reason,
  message,
  involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
})

/** A Secret with credentials for one registry, as doctor reads it. */
const registrySecret = (registry: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'shop', name: 'registry' },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': '' },
  registries: [registry],
})

function replacePods(cluster: Objects, change: (one: JsonObject) => JsonObject): void {
  cluster.pods = cluster.pods.map((one, index) => (index < 2 ? change(one) : one))
}

const CASES: readonly DoctorCase[] = [
  ...FURTHER_CASES,
  {
    what: 'a label with a mistake',
    spoil: (cluster) => {
      cluster.pods[0] = pod('web-1', { app: 'wbe' })
      cluster.pods.splice(1, 1)
      cluster.endpointslices.shift()
    },
    finding: {
      check: 'selector-matches-nothing',
      object: 'service/shop/web',
      cause: 'the selector app=web matches no Pod of the namespace shop',
    },
    seen: 'pod/web-1 differs only in app="wbe" instead of "web"',
  },
  {
    what: 'a key with another letter',
    spoil: (cluster) => {
      cluster.services[0] = service('web', { App: 'web' })
    },
    finding: { check: 'selector-matches-nothing', object: 'service/shop/web', cause: /App=web/ },
    seen: 'the key "app" instead of "App"',
  },
  {
    what: 'a key that objects inherit, and no Pod has',
    spoil: (cluster) => {
      cluster.services[0] = service('web', { app: 'web', constructor: 'web' })
    },
    finding: {
      check: 'selector-matches-nothing',
      object: 'service/shop/web',
      cause: /constructor/,
    },
    seen: 'pod/web-1 differs only in constructor=web, which it does not have',
  },
  {
    what: 'a Service in another namespace than its Pods',
    spoil: (cluster) => {
      const moved = service('web', { app: 'web' })
      cluster.services[0] = { ...moved, metadata: { namespace: 'other', name: 'web' } }
    },
    finding: {
      check: 'selector-matches-nothing',
      object: 'service/other/web',
      cause: /namespace other/,
    },
    seen: 'pod/shop/web-1 has these labels, in another namespace',
  },
  {
    what: 'Pods whose probe fails',
    spoil: (cluster) => {
      replacePods(cluster, (one) => notReady(one))
      cluster.events = [event('Unhealthy', 'Readiness probe failed: connection refused')]
    },
    finding: {
      check: 'pods-not-ready',
      object: 'pod/shop/web-1',
      cause: 'none of the 2 Pods of service/web is ready',
    },
    seen: 'not ready since 2026-01-01T00:00:00Z; Readiness probe failed: connection refused',
  },
  {
    what: 'a startup probe, a readiness probe and a liveness probe that fail',
    spoil: (cluster) => {
      const probe = { httpGet: { port: 8080, path: '/healthz' } }
      const probes = { startupProbe: probe, readinessProbe: probe, livenessProbe: probe }
      const spec = { containers: [{ name: 'main', ...probes }] }
      const state = { running: {} }
      replacePods(cluster, (one) => ({ ...notReady(one, { state, started: false }), spec }))
      cluster.events = [event('Unhealthy', 'Startup probe of main: HTTP 503')]
    },
    finding: {
      check: 'pods-not-ready',
      object: 'pod/shop/web-1',
      cause: 'ready: the startup probe of container main (GET :8080/healthz) fails',
    },
    seen: 'Startup probe of main: HTTP 503',
  },
  {
    what: 'containers that end again and again',
    spoil: (cluster) =>
      replacePods(cluster, (one) =>
        notReady(one, {
          ...waiting('CrashLoopBackOff'),
          restartCount: 7,
          lastState: { terminated: { exitCode: 1, reason: 'Error' } },
        }),
      ),
    finding: { check: 'pods-not-ready', object: 'pod/shop/web-1', cause: /none of the 2 Pods/ },
    seen: 'container main ended 7 times, at last with 1 (Error)',
  },
  {
    what: 'an imagePullSecret that is not there',
    spoil: (cluster) =>
      replacePods(cluster, (one) => ({
        ...notReady(one, waiting('ImagePullBackOff')),
        spec: { containers: [{ name: 'main' }], imagePullSecrets: [{ name: 'registy' }] },
      })),
    finding: {
      check: 'image-pull',
      object: 'pod/shop/web-1',
      cause:
        'pod/web-1 cannot pull an image: its imagePullSecrets name registy, which is not there',
    },
    seen: 'a container waits: ImagePullBackOff',
  },
  {
    what: 'a Secret for another registry than that of the image that is not pulled',
    spoil: (cluster) => {
      cluster.secrets = [registrySecret('mydocker.io')]
      replacePods(cluster, (one) => {
        const waits = notReady(one)
        const statuses = [
          { name: 'main', ready: true, restartCount: 0, state: { running: {} } },
          { name: 'proxy', ready: false, restartCount: 0, ...waiting('ErrImagePull') },
        ]
        const containers = [
          { name: 'main', image: 'public.example.com/web' },
          { name: 'proxy', image: 'team/proxy' },
        ]
        return {
          ...waits,
          spec: { containers, imagePullSecrets: [{ name: 'registry' }] },
          status: { ...objectAt(waits, 'status'), containerStatuses: statuses },
        }
      })
    },
    finding: {
      check: 'image-pull',
      object: 'pod/shop/web-1',
      cause: /have credentials for mydocker\.io, and none for docker\.io$/,
    },
  },
  {
    what: 'a Secret for another registry than that of an init container',
    spoil: (cluster) => {
      cluster.secrets = [registrySecret('registry.example.com')]
      replacePods(cluster, (one) => ({
        ...one,
        spec: {
          initContainers: [{ name: 'setup', image: 'other.example.com/setup' }],
          containers: [{ name: 'main', image: 'registry.example.com/web' }],
          imagePullSecrets: [{ name: 'registry' }],
        },
        status: {
          phase: 'Pending',
          initContainerStatuses: [{ name: 'setup', ...waiting('ImagePullBackOff') }],
          containerStatuses: [{ name: 'main', ...waiting('PodInitializing') }],
        },
      }))
    },
    finding: {
      check: 'image-pull',
      object: 'pod/shop/web-1',
      cause: /have credentials for registry\.example\.com, and none for other\.example\.com$/,
    },
  },
  {
    what: 'a targetPort that no container has',
    spoil: (cluster) => {
      const ports = [{ port: 80, targetPort: 'htpp' }]
      cluster.services[0] = service('web', { app: 'web' }, { ports })
      cluster.endpointslices.shift()
    },
    finding: {
      check: 'target-port',
      object: 'service/shop/web',
      cause: 'targetPort "htpp" is the name of no port of its Pods',
    },
    seen: '"http" is nearly the same',
  },
  {
    what: 'ready Pods that are in no slice',
    spoil: (cluster) => void cluster.endpointslices.shift(),
    finding: {
      check: 'endpoints-missing',
      object: 'service/shop/web',
      cause: '2 of its Pods are ready, and none is in its EndpointSlices',
    },
  },
  {
    what: 'a Service without selector and without slices',
    spoil: (cluster) => {
      cluster.services[0] = service('web', {})
      cluster.endpointslices[0] = slice('shop', 'other')
    },
    finding: { check: 'endpoints-missing', object: 'service/shop/web', cause: /no selector/ },
  },
  {
    what: 'Pods of an account that is gone',
    spoil: (cluster) => void cluster.serviceaccounts.shift(),
    finding: {
      check: 'missing-account',
      object: 'serviceaccount/shop/default',
      cause: 'the ServiceAccount shop/default does not exist',
    },
    seen: '2 Pods run as it',
  },
  {
    what: 'a token Secret of an account that never was',
    spoil: (cluster) => {
      const annotations = { 'kubernetes.io/service-account.name': 'robto' }
      cluster.secrets.push({
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/service-account-token',
        metadata: { namespace: 'shop', name: 'robot-token', annotations },
      })
    },
    finding: { check: 'missing-account', object: 'secret/shop/robot-token', cause: /shop\/robto/ },
  },
  {
    what: 'a binding to a role that is not there',
    spoil: (cluster) => void cluster.roles.shift(),
    finding: {
      check: 'broken-binding',
      object: 'rolebinding/shop/robot-reads',
      cause: 'it names the Role shop/reader, which does not exist',
    },
    seen: 'shop/robot',
  },
  {
    what: 'a binding for an account of another namespace',
    spoil: (cluster) => {
      const subjects = [{ kind: 'ServiceAccount', namespace: 'shpo', name: 'robot' }]
      cluster.rolebindings[0] = { ...cluster.rolebindings[0], subjects }
    },
    finding: {
      check: 'broken-binding',
      object: 'rolebinding/shop/robot-reads',
      cause: /shpo\/robot/,
    },
    seen: 'there is shop/robot, in another namespace',
  },
  {
    what: 'a DNS without endpoints',
    spoil: (cluster) => {
      cluster.endpointslices[1] = slice('kube-system', 'cluster-dns', false)
    },
    finding: {
      check: 'cluster-dns',
      object: 'service/kube-system/cluster-dns',
      cause: /no ready endpoint/,
    },
  },
]

describe('diagnose', () => {
  test('a healthy cluster has nothing', () => {
    expect(diagnose(evidenceOf(healthyCluster()))).toEqual([])
  })

  test('what works, though it looks unusual, has nothing', () => {
    const cluster = healthyCluster()
    cluster.services.push(
      service('alias', {}, { type: 'ExternalName', externalName: 'example.com' }),
      service('canary', { app: 'web' }, { publishNotReadyAddresses: true }),
    )
    cluster.endpointslices.push(slice('shop', 'canary'))
    cluster.pods[1] = notReady(cluster.pods[1]!)
    cluster.pods.push({ ...pod('job-1', { app: 'job' }), status: { phase: 'Succeeded' } })
    expect(diagnose(evidenceOf(cluster))).toEqual([])
  })

  test.each(LOOK_ALIKES)('$what has nothing', ({ change, more }) => {
    const cluster = healthyCluster()
    change(cluster)
    expect(diagnose(evidenceOf(cluster, more))).toEqual([])
  })

  test.each(CASES)(
    '$what is the first finding',
    ({ spoil, finding, seen = '', remedy = /./, inspected, more }) => {
      const cluster = healthyCluster()
      spoil(cluster)
      const [first] = diagnose(evidenceOf(cluster, more), inspected)
      const { check, object, cause } = finding
      expect(first).toMatchObject({ check, object })
      expect(first?.cause).toMatch(cause)
      expect(first?.evidence.join('\n')).toContain(seen)
      expect(first?.remedy).toMatch(remedy)
      expect(first?.commands).not.toEqual([])
    },
  )

  test('what may be meant so is a finding of an inspected object alone', () => {
    for (const { spoil, inspected } of CASES.filter((one) => one.inspected !== undefined)) {
      const cluster = healthyCluster()
      spoil(cluster)
      expect([inspected, diagnose(evidenceOf(cluster))]).toEqual([inspected, []])
    }
    const cluster = healthyCluster()
    scaleToZero(cluster)
    expect(diagnose(evidenceOf(cluster))).toEqual([])
  })

  test('every check has a case', () => {
    expect(new Set(CASES.map(({ finding }) => finding.check))).toEqual(
      new Set(CHECKS.map(({ name }) => name)),
    )
  })

  test('kinds that could not be read lead to no finding', () => {
    const { services, clusterrolebindings, rolebindings, secrets } = healthyCluster()
    expect(diagnose(evidenceOf({ services }))).toEqual([])
    expect(diagnose(evidenceOf({ rolebindings, clusterrolebindings, secrets }))).toEqual([])
  })

  test('a server without Pods needs no endpoint of its own Services', () => {
    const own = ['kubernetes', 'orch'].map((name) => ({
      ...service('own'),
      metadata: { namespace: 'default', name },
      spec: { clusterIP: '10.96.0.1', ports: [{ port: 443 }] },
    }))
    const cluster = { ...healthyCluster(), services: own, pods: [], endpointslices: [] }
    expect(diagnose(evidenceOf(cluster))).toEqual([])
    const [finding] = diagnose(evidenceOf({ ...cluster, pods: [pod('web-1')] }))
    expect(finding?.remedy).toContain('--advertise-address')
  })

  test('a policy may select namespaces by a key that objects inherit', () => {
    const cluster = healthyCluster()
    const from = [{ namespaceSelector: { matchLabels: { constructor: 'web' } } }]
    cluster.networkpolicies.push({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace: 'shop', name: 'by-label' },
      spec: { podSelector: { matchLabels: { app: 'other' } }, ingress: [{ from }] },
    })
    expect(diagnose(evidenceOf(cluster))).toEqual([])
  })

  test('an account of a namespace that was not read may exist', () => {
    const cluster = healthyCluster()
    const subjects = [{ kind: 'ServiceAccount', namespace: 'elsewhere', name: 'robot' }]
    cluster.clusterrolebindings[0] = { ...cluster.clusterrolebindings[0], subjects }
    expect(diagnose(evidenceOf(cluster, { namespace: 'shop' }))).toEqual([])
    expect(diagnose(evidenceOf(cluster))).toMatchObject([{ check: 'broken-binding' }])
  })

  test('one policy that keeps clients from several Services is one finding', () => {
    const cluster = healthyCluster()
    cluster.services.push(service('web2'), service('web3'))
    cluster.endpointslices.push(slice('shop', 'web2'), slice('shop', 'web3'))
    cluster.networkpolicies.push({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace: 'shop', name: 'deny' },
      spec: { podSelector: {}, policyTypes: ['Ingress'] },
    })
    const findings = diagnose(evidenceOf(cluster))
    expect(findings).toMatchObject([{ object: 'networkpolicy/shop/deny' }])
    expect(findings[0]?.affects).toEqual(
      expect.arrayContaining(['service/shop/web', 'service/shop/web2', 'service/shop/web3']),
    )
    expect(findings[0]?.evidence.at(-1)).toBe(
      'the same of 3 Services: service/web, service/web2, service/web3',
    )
  })

  test('one ClusterNetworkPolicy is one finding, also where a part of it cannot be read', () => {
    const policyWith = (from: JsonObject): JsonObject => {
      const ingress = [{ action: 'Deny', from: [from] }]
      const spec = { tier: 'Admin', priority: 0, subject: { namespaces: {} }, ingress }
      return { metadata: { name: 'fence' }, spec }
    }
    for (const [from, check] of [
      [{ namespaces: {} }, 'cluster-network-policy'],
      [{ nodes: {} }, 'unreadable-cluster-policy'],
    ] as const) {
      const cluster = healthyCluster()
      cluster.clusternetworkpolicies.push(policyWith(from))
      const findings = diagnose(evidenceOf(cluster))
      expect(findings).toMatchObject([{ check, object: 'clusternetworkpolicy/fence' }])
      expect(findings[0]?.affects).toEqual(
        expect.arrayContaining(['service/shop/web', 'service/kube-system/cluster-dns']),
      )
      expect(findings[0]?.evidence.at(-1)).toBe(
        'the same of 2 Services: service/shop/web, service/kube-system/cluster-dns',
      )
      expect(diagnose(evidenceOf(cluster), { kind: 'service', key: 'shop/web' })).toHaveLength(1)
      const { clusternetworkpolicies: _, ...others } = cluster
      expect(diagnose(evidenceOf(others))).toEqual([])
      const { namespaces: __, ...unnamed } = cluster
      expect(diagnose(evidenceOf(unnamed)).map((one) => one.check)).toEqual(
        check === 'unreadable-cluster-policy' ? [check] : [],
      )
    }
  })

  test('Pods that claim one address are clients of each other', () => {
    const cluster = healthyCluster()
    const own = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } }
    const ingress = [{ action: 'Deny', from: [{ namespaces: {} }] }]
    const spec = { tier: 'Admin', priority: 0, subject: own, ingress }
    cluster.clusternetworkpolicies.push({ metadata: { name: 'fence' }, spec })
    cluster.pods = cluster.pods.map((one) => ({
      ...one,
      status: { ...(one['status'] as JsonObject), podIP: '10.0.0.1' },
    }))
    expect(diagnose(evidenceOf(cluster))[0]?.evidence[1]).toBe(
      'of 2 Pods that were judged, the rule denies 2: pod/shop/web-1, pod/kube-system/dns-1',
    )
  })

  test('of one object, only what it needs', () => {
    const cluster = healthyCluster()
    cluster.services.push(service('broken', { app: 'nothing' }))
    cluster.serviceaccounts.shift()
    const of = (kind: 'service' | 'pod' | 'serviceaccount', key: string) =>
      diagnose(evidenceOf(cluster), { kind, key }).map(({ object }) => object)
    expect(of('service', 'shop/web')).toEqual(['serviceaccount/shop/default'])
    expect(of('pod', 'shop/web-2')).toEqual(['serviceaccount/shop/default'])
    expect(of('service', 'shop/broken')).toEqual(['service/shop/broken'])
    expect(of('serviceaccount', 'shop/robot')).toEqual([])
  })
})
