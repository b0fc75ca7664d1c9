import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { containers, podPlan } from '../testing/pod-story.ts'

function volumes(...list: readonly JsonObject[]): JsonObject {
  return { volumes: list.map((one, index) => ({ name: `v${index}`, ...one })) }
}

const projected = (...sources: readonly JsonObject[]): JsonObject => ({
  projected: { sources: [...sources] },
})
const token = (own: JsonObject): JsonObject =>
  projected({ serviceAccountToken: { path: 'token', ...own } })
const item = (own: JsonObject): JsonObject => ({
  configMap: { name: 'c', items: [{ key: 'k', path: 'p', ...own }] },
})
const field = (fieldPath: string): JsonObject => ({
  downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath } }] },
})

test.each([
  [
    { hostPath: { path: '/' } },
    'spec.volumes[0].hostPath: this node agent has no volumes of this type',
  ],
  [{ persistentVolumeClaim: {} }, 'spec.volumes[0].persistentVolumeClaim'],
  [{}, 'spec.volumes[0] has no type'],
  [{ emptyDir: {}, hostPath: {} }, 'spec.volumes[0] has several types'],
  [{ name: '../v', emptyDir: {} }, 'spec.volumes[0].name must be a label, not "../v"'],
  [{ name: '', emptyDir: {} }, 'spec.volumes[0].name must be a label'],
  [token({ path: '../token' }), 'serviceAccountToken.path must not contain "..": "../token"'],
  [token({ path: 'a/../../b' }), 'path must not contain ".."'],
  [token({ path: '/etc/passwd' }), 'path must be relative: "/etc/passwd"'],
  [token({ path: '' }), 'path must not be empty'],
  [token({ path: '..data' }), 'path must not begin with ".."'],
  [token({ path: 'a//b' }), 'path must name a file'],
  [token({ path: 'a\0b' }), 'path must not hold a zero byte'],
  [token({ expirationSeconds: 599 }), 'expirationSeconds must be 600 or more'],
  [token({ expirationSeconds: 'x' }), 'expirationSeconds must be 600 or more'],
  [item({ path: '../../etc' }), 'spec.volumes[0].configMap.items[0].path must not contain ".."'],
  [item({ key: '../k' }), 'items[0].key must be a key, not "../k"'],
  [item({ mode: 0o1777 }), 'items[0].mode must be file permissions'],
  [item({ mode: 0.5 }), 'items[0].mode must be file permissions'],
  [{ secret: { secretName: '..' } }, 'spec.volumes[0].secret.secretName must be a name, not ".."'],
  [{ secret: { secretName: 's', defaultMode: -1 } }, 'secret.defaultMode must be file permissions'],
  [projected({ configMap: { name: 'a/b' } }), 'sources[0].configMap.name must be a name'],
  [
    projected({ clusterTrustBundle: {} }),
    'sources[0].clusterTrustBundle: this node agent projects',
  ],
  [projected({ secret: { name: 's' }, configMap: { name: 'c' } }), 'sources[0] must have one type'],
  [field('spec.nodeName'), 'downwardAPI.items[0]: this node agent knows fieldRef of metadata only'],
  [field('metadata.managedFields'), 'knows fieldRef of metadata only'],
] as readonly (readonly [JsonObject, string])[])('a volume %j is refused: %s', (volume, words) => {
  const plan = podPlan({ ...containers({}), ...volumes(volume) })
  expect(plan.volumeFault).toContain(words)
  expect(plan.containers[0]?.fault).toBe(plan.volumeFault)
})

test('two volumes of one name are refused', () => {
  const two = {
    volumes: [
      { name: 'v', emptyDir: {} },
      { name: 'v', emptyDir: {} },
    ],
  }
  expect(podPlan(two).volumeFault).toContain('spec.volumes[1].name: "v" is another volume\'s')
})

test.each([
  [{ mountPath: 'var/x' }, 'volumeMounts[0].mountPath must be absolute: "var/x"'],
  [{ mountPath: '/var/../../x' }, 'mountPath must not contain ".."'],
  [{ mountPath: '/' }, 'mountPath must not be the root folder'],
  [{ mountPath: '/./' }, 'mountPath must not be the root folder'],
  [{ mountPath: '/proc/self' }, "mountPath must not lie in /proc, which is the kernel's"],
  [{ mountPath: '//dev/shm' }, 'mountPath must not lie in /dev'],
  [{ mountPath: '/a\0' }, 'mountPath must not hold a zero byte'],
  [{ name: 'other' }, 'volumeMounts[0].name: there is no volume "other"'],
  [{ subPath: '../x' }, 'volumeMounts[0].subPath must not contain "..": "../x"'],
  [{ subPath: '/x' }, 'subPath must be relative'],
  [{ subPathExpr: '$(A)' }, 'subPathExpr is not supported'],
  [{ name: 'v1', subPath: 'x' }, 'subPath: processes of a Pod could replace parts'],
] as readonly (readonly [JsonObject, string])[])('a mount %j is refused: %s', (mount, words) => {
  const list = volumes({ secret: { secretName: 's' } }, { emptyDir: {} })
  const volumeMounts = [{ name: 'v0', mountPath: '/data', ...mount }]
  const plan = podPlan({ ...containers({ volumeMounts }), ...list })
  expect(plan.volumeFault).toBeUndefined()
  expect(plan.containers[0]?.fault).toContain(words)
})

test('two mounts at one path are refused, however it is written', () => {
  const volumeMounts = ['/data', '//data/./'].map((mountPath) => ({ name: 'v0', mountPath }))
  const plan = podPlan({ ...containers({ volumeMounts }), ...volumes({ emptyDir: {} }) })
  expect(plan.containers[0]?.fault).toContain('volumeMounts[1].mountPath is that of another mount')
})

test('the volume that the API server adds for a token is understood', () => {
  const ca = { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] }
  const namespace = { path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }
  const volume = projected(
    { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
    { configMap: ca },
    { downwardAPI: { items: [namespace] } },
  )
  const volumeMounts = [{ name: 'v0', mountPath: '/var/run/secrets/x/', readOnly: true }]
  const plan = podPlan({ ...containers({ volumeMounts }), ...volumes(volume) })
  expect([plan.volumeFault, plan.containers[0]?.fault]).toEqual([undefined, undefined])
  expect(plan.volumes).toEqual([
    {
      kind: 'files',
      name: 'v0',
      defaultMode: 0o644,
      sources: [
        { kind: 'token', path: 'token', audience: '', expirationSeconds: 3607 },
        {
          kind: 'object',
          resource: 'configmaps',
          name: ca.name,
          isOptional: false,
          items: [{ key: 'ca.crt', path: 'ca.crt', mode: undefined }],
        },
        {
          kind: 'fields',
          items: [{ field: 'metadata.namespace', path: 'namespace', mode: undefined }],
        },
      ],
    },
  ])
  expect(plan.containers[0]?.mounts).toMatchObject([
    { path: '/var/run/secrets/x', isReadOnly: true },
  ])
})
