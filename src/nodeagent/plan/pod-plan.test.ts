import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { containers, podPlan } from '../testing/pod-story.ts'

test('absent fields of a Pod and a probe have the defaults of Kubernetes', () => {
  expect(podPlan()).toMatchObject({
    restartPolicy: 'Always',
    graceMs: 30_000,
    deletionGraceMs: undefined,
    hostNetwork: false,
    containers: [{ name: 'main', command: ['serve'], fault: undefined, probes: {} }],
  })
  const readinessProbe = { httpGet: { port: 80 } }
  expect(podPlan(containers({ readinessProbe })).containers[0]?.probes.readiness).toEqual({
    handler: { kind: 'http', port: 80, host: '', isSecure: false, path: '/', headers: [] },
    initialDelayMs: 0,
    periodMs: 10_000,
    timeoutMs: 1_000,
    successThreshold: 1,
    failureThreshold: 3,
    graceMs: undefined,
  })
})

test('longer times of a probe are reduced to one day', () => {
  const far = { initialDelaySeconds: 2 ** 31, periodSeconds: 86_401, timeoutSeconds: 2 ** 32 }
  const readinessProbe = { tcpSocket: { port: 80 }, ...far }
  const [container] = podPlan(containers({ readinessProbe })).containers
  const day = 86_400_000
  const times = { initialDelayMs: day, periodMs: day, timeoutMs: day }
  expect(container?.probes.readiness).toMatchObject(times)
})

test('the grace of a deletion is its own, or else that of the spec', () => {
  const deletionTimestamp = '2030-01-01T00:00:00Z'
  const metadata = { deletionTimestamp, deletionGracePeriodSeconds: 0 }
  expect(podPlan({}, metadata).deletionGraceMs).toBe(0)
  expect(podPlan({ terminationGracePeriodSeconds: 7 }, { deletionTimestamp }).deletionGraceMs).toBe(
    7_000,
  )
})

test('a probe may name a port of its container', () => {
  const own = { ports: [{ name: 'http', containerPort: 8080 }] }
  const readinessProbe = { tcpSocket: { port: 'http' } }
  const [container] = podPlan(containers({ ...own, readinessProbe })).containers
  expect(container?.probes.readiness?.handler).toEqual({ kind: 'tcp', port: 8080, host: '' })
})

const faulty: readonly (readonly [own: JsonObject, words: string])[] = [
  [{ command: [] }, 'spec.containers[0].command is missing: this node agent runs no images'],
  [{ command: null, args: ['x'] }, 'command is missing'],
  [{ command: ['a\0b'] }, 'command[0] must not hold a zero byte'],
  [{ command: ['a', 7] }, 'command[1] must be a string'],
  [{ workingDir: '/\0' }, 'workingDir must not hold a zero byte'],
  [{ env: [{ name: 'A=B', value: 'x' }] }, 'env[0].name must be printable ASCII'],
  [{ env: [{ name: '', value: 'x' }] }, 'env[0].name must be printable ASCII'],
  [{ env: [{ name: 'A', value: '\0' }] }, 'env[0].value must not hold a zero byte'],
  [{ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's' } } }] }, 'key must not be empty'],
  [
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: '../x', key: 'k' } } }] },
    'secretKeyRef.name must be a name, not "../x"',
  ],
  [{ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] }, 'not every field'],
  [{ env: [{ name: 'A', valueFrom: { resourceFieldRef: {} } }] }, 'not every field'],
  [{ envFrom: [{ configMapRef: { name: '..' } }] }, 'configMapRef.name must be a name, not ".."'],
  [{ envFrom: [{}] }, 'envFrom[0] must be one of configMapRef and secretRef'],
  [{ envFrom: [{ prefix: 'A=', secretRef: { name: 's' } }] }, 'prefix must be printable ASCII'],
  [{ readinessProbe: { grpc: { port: 1 } } }, 'readinessProbe must be one of exec, httpGet and'],
  [{ livenessProbe: { tcpSocket: { port: 'x' } } }, 'livenessProbe.tcpSocket.port must be a port'],
  [{ livenessProbe: { tcpSocket: { port: 65_536 } } }, 'tcpSocket.port must be a port'],
  [
    { startupProbe: { httpGet: { port: 80, host: '169.254.169.254' } } },
    'startupProbe.httpGet.host: this node agent probes only the Pod itself',
  ],
  [{ readinessProbe: { exec: { command: ['\0'] } } }, 'exec.command must not hold a zero byte'],
  [{ lifecycle: { preStop: { sleep: {} } } }, 'lifecycle.preStop must be one of'],
  [{ securityContext: { runAsUser: -1 } }, 'runAsUser must be a user or group id'],
  [{ securityContext: { runAsNonRoot: true } }, 'runAsNonRoot: set runAsUser'],
]

test.each(faulty)('a container with %j has the fault %j', (own, words) => {
  expect(podPlan(containers(own)).containers[0]?.fault).toContain(words)
})

test('init containers are a fault of every container', () => {
  const spec = { ...containers({}), initContainers: [{ name: 'first', command: ['x'] }] }
  expect(podPlan(spec).containers[0]?.fault).toContain('spec.initContainers')
})

test('a probe of a loopback address is a fault, unless the Pod has hostNetwork', () => {
  const own = { readinessProbe: { tcpSocket: { host: '127.0.0.1', port: 80 } } }
  expect(podPlan(containers(own)).containers[0]?.fault).toContain('only the Pod itself')
  const plan = podPlan({ ...containers(own), hostNetwork: true })
  expect(plan.containers[0]?.fault).toBeUndefined()
})

test('the user of the container takes precedence over that of the Pod', () => {
  const spec = {
    ...containers({ securityContext: { runAsUser: 7 } }),
    securityContext: { runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true },
  }
  expect(podPlan(spec).containers[0]).toMatchObject({
    user: { uid: 7, gid: 1000 },
    fault: undefined,
  })
})
