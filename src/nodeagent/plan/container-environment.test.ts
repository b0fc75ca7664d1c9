import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { containers, podPlan } from '../testing/pod-story.ts'
import { containerEnvironment, expand, type RuntimeValues } from './container-environment.ts'

const RUNTIME: RuntimeValues = {
  podIPs: ['10.0.0.7' as IpAddress, 'fd00::7' as IpAddress],
  hostIP: '192.0.2.10',
  services: [
    { name: 'WEB_SERVICE_HOST', value: '10.96.0.7' },
    { name: 'WEB_SERVICE_PORT', value: '80' },
  ],
  valuesOf: () => undefined,
}

/** The environment of a Pod's first container. */
function environmentOf(
  own: JsonObject,
  objects: Readonly<Record<string, readonly (readonly [string, string])[]>> = {},
) {
  const plan = podPlan(containers(own))
  expect(plan.containers[0]?.fault).toBeUndefined()
  return containerEnvironment(plan, plan.containers[0]!, {
    ...RUNTIME,
    valuesOf: ({ resource, name }) => {
      const found = objects[`${resource}/${name}`]
      return found && new Map(found)
    },
  })
}

function variablesOf(made: ReturnType<typeof containerEnvironment>): ReadonlyMap<string, string> {
  if ('problem' in made) throw new Error(made.problem)
  return made.variables
}

function field(name: string, fieldPath: string) {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

test('variables of Services come before those of `env`, of which each may use the ones before it', () => {
  const env = [
    { name: 'URL', value: 'http://$(WEB_SERVICE_HOST):$(WEB_SERVICE_PORT)/$(LATER)' },
    { name: 'LATER', value: 'x' },
    { name: 'WEB_SERVICE_HOST', value: 'web' },
    { name: 'AGAIN', value: '$(URL) $(LATER) $(WEB_SERVICE_HOST)' },
    { name: 'PATH', value: '/bin' },
  ]
  expect(Object.fromEntries(variablesOf(environmentOf({ env })))).toEqual({
    PATH: '/bin',
    HOSTNAME: 'web',
    WEB_SERVICE_HOST: 'web',
    WEB_SERVICE_PORT: '80',
    URL: 'http://10.96.0.7:80/$(LATER)',
    LATER: 'x',
    AGAIN: 'http://10.96.0.7:80/$(LATER) x web',
  })
})

test.each([
  [{}, 'web'],
  [{ hostname: 'job-0' }, 'job-0'],
])('HOSTNAME is the host name of the Pod: %j', (spec, hostname) => {
  const plan = podPlan({ ...containers({}), ...spec })
  const made = containerEnvironment(plan, plan.containers[0]!, RUNTIME)
  expect(variablesOf(made).get('HOSTNAME')).toBe(hostname)
})

test.each([
  ['metadata.name', 'web'],
  ['metadata.namespace', 'default'],
  ['metadata.uid', 'u1'],
  ["metadata.labels['app']", 'shop'],
  ["metadata.labels['__proto__']", ''],
  ["metadata.annotations['orch.io/a']", 'b'],
  ['spec.nodeName', 'n1'],
  ['spec.serviceAccountName', 'robot'],
  ['status.podIP', '10.0.0.7'],
  ['status.podIPs', '10.0.0.7,fd00::7'],
  ['status.hostIP', '192.0.2.10'],
])('fieldRef %s gives %j', (path, value) => {
  const metadata = { labels: { app: 'shop' }, annotations: { 'orch.io/a': 'b' } }
  const spec = { ...containers({ env: [field('A', path)] }), nodeName: 'n1' }
  const plan = podPlan({ ...spec, serviceAccountName: 'robot' }, metadata)
  expect(plan.containers[0]?.fault).toBeUndefined()
  const variables = variablesOf(containerEnvironment(plan, plan.containers[0]!, RUNTIME))
  expect(variables.get('A')).toBe(value)
})

test.each([
  ['$(A)-$(A)', '1-1'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$1'],
  ['$(B)', '$(B)'],
  ['$A ${A} $( $', '$A ${A} $( $'],
  ['$(B)$(A', '$(B)$(A'],
])('with A=1, %s is expanded to %s', (text, wanted) => {
  expect(expand(text, new Map([['A', '1']]))).toBe(wanted)
})

test('a variable that references make longer than 128 KiB is an error', () => {
  const doubled = Array.from({ length: 64 }, (_, index) => ({
    name: `V${index + 1}`,
    value: `$(V${index})$(V${index})`,
  }))
  const env = [{ name: 'V0', value: 'xxxxxxxx' }, ...doubled]
  const pod = podPlan(containers({ env }))
  const variables = () => containerEnvironment(pod, pod.containers[0]!, RUNTIME)
  expect(variables).toThrow('grows beyond 131072 bytes')
})

test('an environment longer than 2 MiB is an error', () => {
  const value = 'x'.repeat(100_000)
  const env = Array.from({ length: 30 }, (_, index) => ({ name: `V${index}`, value }))
  const pod = podPlan(containers({ env }))
  expect(() => containerEnvironment(pod, pod.containers[0]!, RUNTIME)).toThrow('env grows beyond')
})

const DB = {
  'secrets/db': [
    ['password', 'geheim'],
    ['user', 'ann'],
    ['binary', 'ge\0heim'],
    ['no=name', 'geheim'],
  ],
} as const
const keyOf = (key: string, more: JsonObject = {}): JsonObject => ({
  name: 'A',
  valueFrom: { secretKeyRef: { name: 'db', key, ...more } },
})

test('`envFrom` gives a variable for each key, which `env` takes the place of and may use', () => {
  const envFrom = [{ prefix: 'DB_', secretRef: { name: 'db' } }]
  const env = [
    { name: 'DB_user', value: 'bob' },
    { name: 'URL', value: '$(DB_user):$(DB_password)' },
  ]
  const made = environmentOf({ envFrom, env }, DB)
  const variables = variablesOf(made)
  expect([variables.get('DB_user'), variables.get('URL')]).toEqual(['bob', 'bob:geheim'])
  expect(made).toMatchObject({
    skipped: [
      'keys ["DB_binary", "DB_no=name"] of secret "db" were skipped: a name must be printable ASCII without "=", and a value must not hold a zero byte',
    ],
  })
  expect(variables.has('DB_binary')).toBe(false)
})

test.each([
  [{ env: [keyOf('password', { name: 'other' })] }, 'secret "other" not found'],
  [{ env: [keyOf('port')] }, 'secret "db" has no key "port"'],
  [{ env: [keyOf('binary')] }, 'key "binary" of secret "db" holds a zero byte'],
  [{ env: [keyOf('binary', { optional: true })] }, 'holds a zero byte'],
  [{ envFrom: [{ configMapRef: { name: 'db' } }] }, 'configmap "db" not found'],
] as readonly (readonly [JsonObject, string])[])(
  'with %j a container cannot start: %s',
  (own, words) => {
    const made = environmentOf(own, DB)
    expect(made).toMatchObject({ problem: expect.stringContaining(words) as string })
    expect(JSON.stringify(made)).not.toMatch(/ge.*heim/u)
  },
)

test('what is optional and not there gives no variable', () => {
  const env = [keyOf('port', { optional: true }), keyOf('a', { name: 'other', optional: true })]
  const envFrom = [{ secretRef: { name: 'other', optional: true } }]
  expect(variablesOf(environmentOf({ env, envFrom }, DB)).has('A')).toBe(false)
})
