import { expect, test } from 'vitest'
import type { JsonObject } from '../../../lib/json.ts'
import { decodeProtobuf } from '../../encoding/decode-protobuf.ts'
import { recordedBodies } from './recorded-bodies.ts'

const SERVICE = { apiVersion: 'v1', kind: 'Service' }

function recorded(command: keyof typeof recordedBodies): JsonObject {
  const body = Buffer.from(recordedBodies[command], 'hex')
  return decodeProtobuf(body, { apiVersion: '', kind: '' }) as JsonObject
}

test('kubectl creates a ServiceAccount, a Secret, a Namespace', () => {
  expect(recorded('create sa builder')).toEqual({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'builder' },
  })
  expect(recorded('create secret generic s --from-literal=password=hunter2')).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    data: { password: Buffer.from('hunter2').toString('base64') },
  })
  expect(recorded('create ns team')).toEqual({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team' },
    spec: {},
    status: {},
  })
})

test('kubectl creates Services', () => {
  expect(recorded('create service clusterip web --tcp=80:8080')).toEqual({
    ...SERVICE,
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: {
      ports: [{ name: '80-8080', protocol: 'TCP', port: 80, targetPort: 8080 }],
      selector: { app: 'web' },
      type: 'ClusterIP',
    },
    status: { loadBalancer: {} },
  })
  const { spec } = recorded('create service nodeport np --tcp=80:http --node-port=30080')
  expect(spec).toMatchObject({ ports: [{ port: 80, targetPort: 'http', nodePort: 30_080 }] })
})

test('kubectl creates a ClusterRoleBinding and a Deployment of no replicas', () => {
  const binding = recorded('create clusterrolebinding c --clusterrole=admin --user=u')
  const apiGroup = 'rbac.authorization.k8s.io'
  expect(binding).toEqual({
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'c' },
    subjects: [{ kind: 'User', apiGroup, name: 'u' }],
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'admin' },
  })
  expect(recorded('create deployment d --image=i --replicas=0')).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', labels: { app: 'd' } },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'd' } },
      template: {
        metadata: { labels: { app: 'd' } },
        spec: { containers: [{ name: 'i', image: 'i', resources: {} }] },
      },
      strategy: {},
    },
    status: {},
  })
})

test('kubectl requests permissions and tokens', () => {
  expect(recorded('auth can-i get pods')['spec']).toEqual({
    resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' },
  })
  expect(recorded('create token builder --duration=10m')['spec']).toEqual({
    expirationSeconds: 600,
  })
})

test('a key like __proto__ is data', () => {
  const { data } = recorded(
    'create configmap settings --from-literal=a=1 --from-literal=__proto__=x',
  )
  expect(Object.entries(data as JsonObject)).toEqual([
    ['__proto__', 'x'],
    ['a', '1'],
  ])
  expect(Object.getPrototypeOf(data)).toBe(Object.prototype)
})
