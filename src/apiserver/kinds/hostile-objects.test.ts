import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { applyDefaults, validateObject, validateUpdate } from './testing/rules-by-kind.ts'

const KINDS = [
  'ConfigMap',
  'Secret',
  'ServiceAccount',
  'Role',
  'ClusterRole',
  'RoleBinding',
  'Pod',
  'ClusterRoleBinding',
  'NetworkPolicy',
  'ClusterNetworkPolicy',
  'Deployment',
  'DaemonSet',
  'ReplicaSet',
  'StatefulSet',
  'Job',
  'ControllerRevision',
  'PodDisruptionBudget',
  'Lease',
  'Namespace',
  'RuntimeClass',
  'CSIDriver',
  'CSINode',
  'VolumeAttachment',
  'CertificateSigningRequest',
]
const KEYS = [
  'metadata',
  'uid',
  'name',
  'namespace',
  'labels',
  'annotations',
  'spec',
  'data',
  'revision',
  'stringData',
  'type',
  'immutable',
  'rules',
  'verbs',
  'roleRef',
  'subjects',
  'kind',
  'apiGroup',
  'egress',
  'to',
  'ports',
  'port',
  'endPort',
  'ipBlock',
  'cidr',
  'except',
  'subject',
  'networks',
  'pods',
  'protocols',
  'tcp',
  'destinationPort',
  'range',
  'selector',
  'template',
  'matchLabels',
  'matchExpressions',
  'values',
  'operator',
  'volumes',
  'projected',
  'updateStrategy',
  'rollingUpdate',
  'volumeClaimTemplates',
  'maxUnavailable',
  'status',
  'conditions',
  'drivers',
  'source',
  'overhead',
  'podFixed',
  'tokenRequests',
  'request',
  'usages',
  '__proto__',
]
const LEAVES = ['', 'x', 'In', 'User', 'orch.io/tls', '10.0.0.0/8', '\u001b[2J\u202e', -1, 80, null]

const hostile = fc.object({
  key: fc.constantFrom(...KEYS),
  values: [fc.constantFrom<unknown>(...LEAVES, true, [], {}), fc.string()],
  maxDepth: 6,
  maxKeys: 12,
}) as fc.Arbitrary<Raw>

test('no object of any kind makes defaults or validation throw or show a control character', () => {
  fc.assert(
    fc.property(fc.constantFrom(...KINDS), hostile, hostile, (kind, raw, old) => {
      const next = applyDefaults(kind, raw)
      for (const problem of [...validateObject(kind, next), ...validateUpdate(kind, next, old)]) {
        expect(Object.values(problem).join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
        expect(problem.value.length).toBeLessThanOrEqual(80)
      }
    }),
    { numRuns: 2_000 },
  )
  expect(Object.keys(Object.prototype)).toEqual([])
})

test('no problem with a Secret shows a value', () => {
  const secret = fc.constantFrom<unknown>(
    'hunter2',
    ['hunter2'],
    { a: 'hunter2' },
    { 'tls.key': 'hunter2' },
  )
  const types = fc.constantFrom('orch.io/tls', 'kubernetes.io/dockerconfigjson', 'Opaque')
  fc.assert(
    fc.property(types, secret, secret, fc.boolean(), (type, data, stringData, immutable) => {
      const next = applyDefaults('Secret', { type, data, stringData, immutable })
      const old = { type, immutable: true, data: {} }
      const problems = [...validateObject('Secret', next), ...validateUpdate('Secret', next, old)]
      expect(problems).not.toEqual([])
      expect(JSON.stringify(problems)).not.toContain('hunter2')
    }),
  )
})
