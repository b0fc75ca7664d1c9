import { expect, test } from 'vitest'
import {
  arrayAt,
  type Json,
  type JsonObject,
  stringAt,
  valueAt,
  without,
} from '../../../lib/json.ts'
import { placesOf } from '../../../resources/testing/raw-objects.ts'
import { CreationRefusal, type ObjectReader } from '../../resource/resource.ts'
import { validateObject } from '../testing/rules-by-kind.ts'
import { completePod } from './complete-account.ts'

const PATHS = ['kubernetes.io', 'orch.io'].map(
  (brand) => `/var/run/secrets/${brand}/serviceaccount`,
)
const MAIN = { name: 'main', image: 'none' }

/** A Pod of the namespace shop, where there is one account, `default` unless it says otherwise. */
function complete(spec: Json, account: JsonObject = {}, annotations: JsonObject = {}) {
  const rest = without(account, 'name')
  const name = stringAt(account, 'name') || 'default'
  const stored = { metadata: { name, namespace: 'shop', ...annotated(rest) }, ...rest }
  const objects: ObjectReader = {
    get: (resource, namespace, wanted) =>
      `${resource.plural} ${namespace}/${wanted}` === `serviceaccounts shop/${name}`
        ? stored
        : undefined,
    list: () => [],
    unreadable: () => [],
  }
  const random = { uuid: () => 'u', below: () => 0 }
  const input = { user: { name: 'ann', groups: [] }, objects, namespace: 'shop', random }
  return completePod(input, { metadata: { name: 'p', namespace: 'shop', annotations }, spec })
}

function annotated(rest: JsonObject): JsonObject {
  return { annotations: valueAt(rest, 'annotations') ?? {} }
}

function specOf(spec: JsonObject, account?: JsonObject): Json {
  const pod = complete(spec, account)
  if (pod instanceof CreationRefusal) throw new Error(pod.why)
  expect(validateObject('Pod', pod)).toEqual([])
  return pod['spec']!
}

function refusalOf(...given: Parameters<typeof complete>): string | undefined {
  const outcome = complete(...given)
  return outcome instanceof CreationRefusal ? outcome.why : undefined
}

function mountPaths(container: Json | undefined): readonly string[] {
  return arrayAt(container, 'volumeMounts').map((mount) => stringAt(mount, 'mountPath'))
}

test.each([
  [undefined, undefined, true],
  [undefined, true, true],
  [undefined, false, false],
  [true, undefined, true],
  [true, true, true],
  [true, false, true],
  [false, undefined, false],
  [false, true, false],
  [false, false, false],
])('the Pod says %j, its account %j: the token is mounted: %j', (ofPod, ofAccount, expected) => {
  const field = (automountServiceAccountToken: boolean | undefined): JsonObject =>
    automountServiceAccountToken === undefined ? {} : { automountServiceAccountToken }
  const spec = specOf({ containers: [MAIN], ...field(ofPod) }, field(ofAccount))
  expect(mountPaths(arrayAt(spec, 'containers')[0])).toEqual(expected ? PATHS : [])
  expect(arrayAt(spec, 'volumes')).toHaveLength(expected ? 1 : 0)
})

test('a Pod gets token, certificate and namespace, read-only in all containers but ephemeral ones', () => {
  const spec = specOf({
    initContainers: [{ ...MAIN, name: 'init' }],
    containers: [MAIN],
    ephemeralContainers: [{ ...MAIN, name: 'debug' }],
    volumes: [{ name: 'own', emptyDir: {} }],
  })
  const name = 'kube-api-access-bbbbb'
  const volumeMounts = PATHS.map((mountPath) => ({ name, readOnly: true, mountPath }))
  expect(spec).toEqual({
    serviceAccount: 'default',
    serviceAccountName: 'default',
    initContainers: [{ ...MAIN, name: 'init', volumeMounts }],
    containers: [{ ...MAIN, volumeMounts }],
    ephemeralContainers: [{ ...MAIN, name: 'debug' }],
    volumes: [
      { name: 'own', emptyDir: {} },
      {
        name,
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            {
              downwardAPI: {
                items: [
                  {
                    path: 'namespace',
                    fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' },
                  },
                ],
              },
            },
          ],
        },
      },
    ],
  })
})

test.each([
  [PATHS[0]!, [PATHS[0], PATHS[1]]],
  [`${PATHS[1]}/`, [`${PATHS[1]}/`, PATHS[0]]],
  [`${PATHS[0]}/token`, [`${PATHS[0]}/token`, ...PATHS]],
  ['/var/run/secrets', ['/var/run/secrets', ...PATHS]],
])('a container that mounts %s has %j', (mountPath, expected) => {
  const mount = { name: 'own', mountPath }
  const containers = [{ ...MAIN, volumeMounts: [mount] }]
  const spec = specOf({ containers, volumes: [{ name: 'own', emptyDir: {} }] })
  const [container] = arrayAt(spec, 'containers')
  expect(mountPaths(container)).toEqual(expected)
  expect(arrayAt(container, 'volumeMounts')[0]).toEqual(mount)
})

test('containers that mount both paths themselves need no volume', () => {
  const volumeMounts = PATHS.map((mountPath) => ({ name: 'own', mountPath }))
  const volumes = [{ name: 'own', emptyDir: {} }]
  const containers = [{ ...MAIN, volumeMounts }]
  expect(specOf({ containers, volumes })).toMatchObject({ containers, volumes })
  expect(arrayAt(specOf({ containers, volumes }), 'volumes')).toEqual(volumes)
})

test('a copy of a Pod has its token once; a volume that only has the name is not taken for it', () => {
  const first = specOf({ containers: [MAIN] })
  expect(specOf(first as JsonObject)).toEqual(first)
  const volumes = [{ name: 'kube-api-access-mine', hostPath: { path: '/' } }]
  const spec = specOf({ containers: [MAIN], volumes })
  expect(arrayAt(spec, 'volumes').map((one) => stringAt(one, 'name'))).toEqual([
    'kube-api-access-mine',
    'kube-api-access-bbbbb',
  ])
})

test('a volume with a token under a name of its own is not mounted where programs look for theirs', () => {
  const sources = [{ serviceAccountToken: { path: 'token', audience: 'vault' } }]
  const spec = specOf({ containers: [MAIN], volumes: [{ name: 'vault', projected: { sources } }] })
  expect(arrayAt(spec, 'volumes').map((one) => stringAt(one, 'name'))).toEqual([
    'vault',
    'kube-api-access-bbbbb',
  ])
  const [container = {}] = arrayAt(spec, 'containers')
  expect(arrayAt(container, 'volumeMounts').map((one) => stringAt(one, 'name'))).toEqual(
    PATHS.map(() => 'kube-api-access-bbbbb'),
  )
})

test.each<[JsonObject, string, JsonObject]>([
  [{}, 'default', {}],
  [{ serviceAccountName: '' }, 'default', {}],
  [{ serviceAccountName: 'builder' }, 'builder', { name: 'builder' }],
])('the account of %j is %s, under both names', (given, name, account) => {
  expect(specOf({ containers: [MAIN], ...given }, account)).toMatchObject({
    serviceAccountName: name,
    serviceAccount: name,
  })
})

test('a missing account refuses the Pod; the default one is expected', () => {
  const pod = { containers: [MAIN], serviceAccountName: 'x' }
  const missing = (account: string, isExpected: boolean): object => ({
    why: `error looking up service account shop/${account}: serviceaccount "${account}" not found`,
    missing: { namespace: 'shop', name: account, isExpected },
  })
  expect(complete(pod)).toMatchObject(missing('x', false))
  expect(complete({ containers: [MAIN] }, { name: 'x' })).toMatchObject(missing('default', true))
})

test.each<[Json, Json, Json | undefined]>([
  [[], [{ name: 'a' }], [{ name: 'a' }]],
  [null, [{ name: 'a' }, { name: 'b' }], [{ name: 'a' }, { name: 'b' }]],
  [[{ name: 'own' }], [{ name: 'a' }], [{ name: 'own' }]],
  [null, [], undefined],
])('pull secrets %j of a Pod and %j of its account: %j', (ofPod, ofAccount, expected) => {
  const given = ofPod === null ? {} : { imagePullSecrets: ofPod }
  const spec = specOf({ containers: [MAIN], ...given }, { imagePullSecrets: ofAccount })
  expect(valueAt(spec, 'imagePullSecrets')).toEqual(expected)
})

/** Every way in which a Secret reaches a Pod. */
const WAYS: readonly [string, (name: string) => JsonObject, string][] = [
  ...(
    [
      ['secret', (secretName) => ({ secretName }), 'volume with secret.secretName="s"'],
      ['azureFile', (secretName) => ({ secretName }), 'volume with azureFile.secretName="s"'],
      ...(['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'] as const).map(
        (type): [string, (name: string) => JsonObject, string] => [
          type,
          (name) => ({ secretRef: { name } }),
          `volume with ${type}.secretName="s"`,
        ],
      ),
      ['csi', (name) => ({ nodePublishSecretRef: { name } }), 'volume with csi.secretName="s"'],
      [
        'projected',
        (name) => ({ sources: [{ configMap: { name: 'c' } }, { secret: { name } }] }),
        'volume with projected secret.secretName="s"',
      ],
    ] as [string, (name: string) => JsonObject, string][]
  ).map(([type, source, text]): [string, (name: string) => JsonObject, string] => [
    `a volume ${type}`,
    (name) => ({
      volumes: [
        { name: 'other', emptyDir: {} },
        { name: 'v', [type]: source(name) },
      ],
    }),
    text,
  ]),
  ...(
    [
      ['initContainers', 'init container'],
      ['containers', 'container'],
      ['ephemeralContainers', 'ephemeral container'],
    ] as const
  ).flatMap(([field, what]): [string, (name: string) => JsonObject, string][] => [
    [
      `env of ${field}`,
      (name) => ({
        [field]: [
          { ...MAIN, name: 'first' },
          {
            ...MAIN,
            name: 'c',
            env: [
              { name: 'A', value: 'x' },
              { name: 'E', valueFrom: { secretKeyRef: { name, key: 'k' } } },
            ],
          },
        ],
      }),
      `${what} "c" with envVar "E" referencing secret.secretName="s"`,
    ],
    [
      `envFrom of ${field}`,
      (name) => ({
        [field]: [
          {
            ...MAIN,
            name: 'c',
            envFrom: [{ configMapRef: { name: 's' } }, { prefix: 'P_', secretRef: { name } }],
          },
        ],
      }),
      `${what} "c" with envFrom referencing secret.secretName="s"`,
    ],
  ]),
]

const ENFORCED = { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } }

test.each(WAYS)('a restricted account permits only its Secrets: %s', (_what, make, text) => {
  const spec = (name: string): JsonObject => ({ containers: [MAIN], ...make(name) })
  const account = { ...ENFORCED, secrets: [{ name: 'mine' }], imagePullSecrets: [{ name: 's' }] }
  const why = ' is not allowed because service account default does not reference that secret'
  expect(refusalOf(spec('s'), account)).toBe(text + why)
  expect(refusalOf(spec(''), account)).toContain(why)
  expect(refusalOf(spec('mine'), account)).toBeUndefined()
  expect(refusalOf(spec('s'), { secrets: [] })).toBeUndefined()
})

test.each(WAYS)('a mirror Pod uses no Secret: %s', (_what, make) => {
  for (const brand of ['orch.io', 'kubernetes.io']) {
    const mirror = { [`${brand}/config.mirror`]: '' }
    const spec = { containers: [MAIN], ...make('s') }
    expect(refusalOf(spec, {}, mirror)).toBe('a mirror pod may not reference secrets')
  }
})

test.each<[JsonObject, string | undefined]>([
  [{}, undefined],
  [{ serviceAccountName: 'default' }, 'a mirror pod may not reference service accounts'],
  [{ serviceAccount: 'default' }, 'a mirror pod may not reference service accounts'],
  [{ imagePullSecrets: [{ name: 's' }] }, 'a mirror pod may not reference secrets'],
  [
    { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
    'a mirror pod may not use ServiceAccountToken volume projections',
  ],
])('the mirror Pod %j: %j', (parts, expected) => {
  const spec = { containers: [MAIN], ...parts }
  const mirror = { 'kubernetes.io/config.mirror': 'x' }
  expect(refusalOf(spec, {}, mirror)).toBe(expected)
  if (expected === undefined) expect(complete(spec, {}, mirror)).toMatchObject({ spec })
})

test('pull secrets of a restricted account are its imagePullSecrets', () => {
  const account = { ...ENFORCED, secrets: [{ name: 's' }], imagePullSecrets: [{ name: 'pull' }] }
  const spec = (name: string): JsonObject => ({
    containers: [MAIN],
    imagePullSecrets: [{ name: 'pull' }, { name }],
  })
  expect(refusalOf(spec('s'), account)).toBe(
    'imagePullSecrets[1].name="s" is not allowed because service account default does not reference that imagePullSecret',
  )
  expect(refusalOf(spec('pull'), account)).toBeUndefined()
})

test.each([
  ['kubernetes.io', 'true', true],
  ['orch.io', 'true', true],
  ['orch.io', 'T', true],
  ['kubernetes.io', '1', true],
  ['kubernetes.io', 'yes, please', true],
  ['kubernetes.io', 'false', false],
  ['orch.io', '0', false],
  ['orch.io', '', false],
  ['orch.io', 'yes', true],
  ['orch.io', 'no', true],
  ['orch.io', ' false', true],
  ['other.io', 'true', false],
])('%s/enforce-mountable-secrets: %j restricts: %j', (brand, value, expected) => {
  const spec = { containers: [MAIN], volumes: [{ name: 'v', secret: { secretName: 's' } }] }
  const annotations = { [`${brand}/enforce-mountable-secrets`]: value }
  expect(refusalOf(spec, { annotations }) !== undefined).toBe(expected)
})

test('the annotation of one brand does not lift that of the other', () => {
  const spec = { containers: [MAIN], volumes: [{ name: 'v', secret: { secretName: 's' } }] }
  for (const [yes, no] of [
    ['orch.io', 'kubernetes.io'],
    ['kubernetes.io', 'orch.io'],
  ]) {
    const annotations = {
      [`${yes}/enforce-mountable-secrets`]: 'true',
      [`${no}/enforce-mountable-secrets`]: 'false',
    }
    expect(refusalOf(spec, { annotations })).toContain('is not allowed')
  }
})

test.each<Json>([
  'x',
  { containers: [MAIN], serviceAccountName: 7 },
  { containers: [MAIN], serviceAccountName: '../other/x' },
  { containers: [MAIN], serviceAccountName: 'a/b' },
  { containers: [MAIN], serviceAccountName: '__proto__' },
  { containers: [MAIN], serviceAccountName: ['default'] },
  { containers: 'x' },
  { containers: [{ ...MAIN, volumeMounts: 'x' }] },
  { containers: [{ ...MAIN, env: { name: 'A' } }] },
  { containers: [{ ...MAIN, envFrom: ['x'] }] },
  { containers: [MAIN], volumes: { name: 'v', secret: { secretName: 's' } } },
  { containers: [MAIN], volumes: ['v'] },
  { containers: [MAIN], volumes: [{ name: 'v', secret: 's' }] },
  { containers: [MAIN], volumes: [{ name: 'v', projected: { sources: { secret: {} } } }] },
  { containers: [MAIN], imagePullSecrets: 's' },
  { containers: [MAIN], automountServiceAccountToken: 'false' },
  { containers: [MAIN], automountServiceAccountToken: 0 },
])('what is malformed is refused in the end: %j', (spec) => {
  for (const account of [{}, ENFORCED, { imagePullSecrets: [{ name: 'a' }] }]) {
    const outcome = complete(spec, account)
    const isRefused =
      outcome instanceof CreationRefusal || validateObject('Pod', outcome).length > 0
    expect(isRefused).toBe(true)
  }
})

test.each(['../other/x', 'a/b', '__proto__', 'X', 7])('no account is looked up by %j', (name) => {
  const outcome = complete({ containers: [MAIN], serviceAccountName: name })
  expect(outcome).not.toBeInstanceOf(CreationRefusal)
  expect(placesOf(validateObject('Pod', outcome as JsonObject))).toEqual([
    `spec.serviceAccountName ${JSON.stringify(name)}`,
  ])
})
