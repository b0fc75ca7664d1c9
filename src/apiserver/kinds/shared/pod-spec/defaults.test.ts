import { expect, test } from 'vitest'
import type { JsonObject } from '../../../../lib/json.ts'
import { applyDefaults } from '../../testing/rules-by-kind.ts'

function withDefaults(container: JsonObject): unknown {
  const pod = applyDefaults('Pod', { spec: { containers: [container] } })
  return (pod as { spec: { containers: unknown[] } }).spec.containers[0]
}

test('a Pod is restarted, has half a minute to end, and finds Services', () => {
  const spec = { containers: [], terminationGracePeriodSeconds: 0, enableServiceLinks: false }
  expect(applyDefaults('Pod', { spec })).toEqual({
    spec: {
      ...spec,
      tolerations: expect.any(Array),
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      securityContext: {},
    },
  })
})

test.each([
  [{ serviceAccountName: 'a' }],
  [{ serviceAccount: 'a' }],
  [{ serviceAccount: 'b', serviceAccountName: 'a' }],
])('the account of %j stands under both of its names', (spec) => {
  const both = { serviceAccount: 'a', serviceAccountName: 'a' }
  expect(applyDefaults('Pod', { spec })).toMatchObject({ spec: both })
})

test('volumes are complete', () => {
  const volumes = [{ name: 'a', secret: {} }]
  expect(applyDefaults('Pod', { spec: { volumes } })).toMatchObject({
    spec: { volumes: [{ name: 'a', secret: { defaultMode: 420 } }] },
  })
})

test('a container’s ports, probes, hooks and fields of the Pod are complete', () => {
  const httpGet = { port: 8080 }
  const container = {
    name: 'web',
    image: 'web:1',
    ports: [{ containerPort: 8080 }],
    env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
    readinessProbe: { httpGet, failureThreshold: 1 },
    lifecycle: { preStop: { httpGet } },
  }
  const full = { ...httpGet, path: '/', scheme: 'HTTP' }
  expect(withDefaults(container)).toEqual({
    name: 'web',
    image: 'web:1',
    ports: [{ containerPort: 8080, protocol: 'TCP' }],
    env: [{ name: 'IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } }],
    readinessProbe: {
      httpGet: full,
      failureThreshold: 1,
      successThreshold: 1,
      timeoutSeconds: 1,
      periodSeconds: 10,
    },
    lifecycle: { preStop: { httpGet: full } },
    resources: {},
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  })
})

test.each([
  ['web', 'Always'],
  ['web:latest', 'Always'],
  ['host.example:5000/web', 'Always'],
  ['host.example:5000/web:1', 'IfNotPresent'],
  ['web@sha256:1234', 'IfNotPresent'],
])('the image %s is pulled %s', (image, policy) => {
  expect(withDefaults({ image })).toMatchObject({ imagePullPolicy: policy })
})
