import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { certificateSigningRequests } from './certificate-signing-request.ts'
import { clusterNetworkPolicies } from './cluster-network-policy.ts'
import { configMaps } from './config-map.ts'
import { controllerRevisions } from './controller-revision.ts'
import { daemonSets } from './daemon-set.ts'
import { deployments } from './deployment.ts'
import { jobs } from './job.ts'
import { leases } from './lease.ts'
import { networkPolicies } from './network-policy.ts'
import { podDisruptionBudgets } from './pod-disruption-budget/resource.ts'
import { replicaSets } from './replica-set.ts'
import { clusterRoles } from './role.ts'
import { roleBindings } from './role-binding.ts'
import { runtimeClasses } from './runtime-class.ts'
import { secrets } from './secret.ts'
import { serviceAccounts } from './service-account/resource.ts'
import { statefulSets } from './stateful-set.ts'
import { csiDrivers, csiNodes, volumeAttachments } from './storage.ts'

const NOW = Date.UTC(2026, 0, 1, 1)
const CREATED = '2026-01-01T00:00:00Z'

const SUBJECTS = [
  { kind: 'User', name: 'ann' },
  { kind: 'User', name: 'bob' },
  { kind: 'Group', name: 'ops' },
  { kind: 'ServiceAccount', namespace: 'shop', name: 'web' },
]

const MATCHES = {
  matchLabels: { app: 'web' },
  matchExpressions: [
    { key: 'a', operator: 'In', values: ['x', 'y'] },
    { key: 'b', operator: 'NotIn', values: ['z'] },
    { key: 'c', operator: 'Exists' },
    { key: 'd', operator: 'DoesNotExist' },
  ],
}

const WORKLOAD = {
  selector: { matchLabels: { app: 'web' } },
  template: {
    spec: {
      nodeSelector: { os: 'linux', zone: 'a' },
      containers: [
        { name: 'a', image: 'i:1' },
        { name: 'b', image: 'j' },
      ],
    },
  },
}

const DEPLOYMENT = {
  spec: { replicas: 3, ...WORKLOAD },
  status: { readyReplicas: 2, updatedReplicas: 1 },
}

const DAEMON_SET = {
  spec: WORKLOAD,
  status: {
    desiredNumberScheduled: 5,
    currentNumberScheduled: 4,
    numberReady: 3,
    updatedNumberScheduled: 2,
  },
}

const JOB = { spec: { completions: 3, ...WORKLOAD }, status: { startTime: '2026-01-01T00:30:00Z' } }
const ENDED = { startTime: CREATED, completionTime: '2026-01-01T00:00:05Z', succeeded: 1 }
const OF_JOB = ['60m', 'a,b', 'i:1,j', 'app=web'] as const

/** The status of a Job with these conditions. */
function jobWith(...types: readonly string[]): JsonObject {
  return { status: { conditions: types.map((type) => ({ type, status: 'True' })) } }
}

test.each<[string, Resource, JsonObject, readonly (string | number)[]]>([
  ['ConfigMap', configMaps, { data: { a: '' }, binaryData: { b: '' } }, ['2', '60m']],
  ['Secret', secrets, { type: 'Opaque', data: { a: '' } }, ['Opaque', '1', '60m']],
  ['ServiceAccount', serviceAccounts, { secrets: [{ name: 'a' }] }, ['1', '60m']],
  ['ClusterRole', clusterRoles, {}, [CREATED]],
  [
    'RoleBinding',
    roleBindings,
    { roleRef: { kind: 'Role', name: 'r' }, subjects: SUBJECTS },
    ['Role/r', '60m', 'ann, bob', 'ops', 'shop/web'],
  ],
  ['NetworkPolicy', networkPolicies, { spec: {} }, ['<none>', '60m']],
  [
    'NetworkPolicy',
    networkPolicies,
    { spec: { podSelector: MATCHES } },
    ['app=web,a in (x,y),b notin (z),c,!d', '60m'],
  ],
  [
    'ClusterNetworkPolicy',
    clusterNetworkPolicies,
    { spec: { tier: 'Admin', priority: 7 } },
    ['Admin', '7', '60m'],
  ],
  ['RuntimeClass', runtimeClasses, { handler: 'gvisor' }, ['gvisor', '60m']],
  ['CSINode', csiNodes, { spec: { drivers: [{ name: 'a' }, { name: 'b' }] } }, [2, '60m']],
  [
    'CSIDriver',
    csiDrivers,
    {
      spec: {
        attachRequired: true,
        podInfoOnMount: false,
        storageCapacity: false,
        requiresRepublish: false,
        tokenRequests: [{ audience: 'vault' }, { audience: '' }],
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
    ['true', 'false', 'false', 'vault,', 'false', 'Persistent,Ephemeral', '60m'],
  ],
  [
    'VolumeAttachment',
    volumeAttachments,
    {
      spec: { attacher: 'csi.io', source: { persistentVolumeName: 'pv' }, nodeName: 'n1' },
      status: { attached: true },
    },
    ['csi.io', 'pv', 'n1', 'true', '60m'],
  ],
  [
    'CertificateSigningRequest',
    certificateSigningRequests,
    { spec: { signerName: 'a.b/c', username: 'ann', expirationSeconds: 7200 } },
    ['60m', 'a.b/c', 'ann', '120m', 'Pending'],
  ],
  [
    'CertificateSigningRequest',
    certificateSigningRequests,
    {
      spec: { signerName: 'a.b/c', username: 'ann' },
      status: { conditions: [{ type: 'Approved' }], certificate: 'eA==' },
    },
    ['60m', 'a.b/c', 'ann', '<none>', 'Approved,Issued'],
  ],
  [
    'CertificateSigningRequest',
    certificateSigningRequests,
    { status: { conditions: [{ type: 'Failed' }, { type: 'Denied' }] } },
    ['60m', '', '', '<none>', 'Denied,Failed'],
  ],
  [
    'PodDisruptionBudget',
    podDisruptionBudgets,
    { spec: { minAvailable: '50%' }, status: { disruptionsAllowed: 2 } },
    ['50%', 'N/A', 2, '60m'],
  ],
  ['Lease', leases, { spec: { holderIdentity: 'n1' } }, ['n1', '60m']],
  ['Deployment', deployments, DEPLOYMENT, ['2/3', '1', '0', '60m', 'a,b', 'i:1,j', 'app=web']],
  [
    'DaemonSet',
    daemonSets,
    DAEMON_SET,
    ['5', '4', '3', '2', '0', 'os=linux,zone=a', '60m', 'a,b', 'i:1,j', 'app=web'],
  ],
  ['DaemonSet', daemonSets, {}, ['0', '0', '0', '0', '0', '<none>', '60m', '', '', '<none>']],
  [
    'ReplicaSet',
    replicaSets,
    { spec: { replicas: 3, ...WORKLOAD }, status: { replicas: 2, readyReplicas: 1 } },
    ['3', '2', '1', '60m', 'a,b', 'i:1,j', 'app=web'],
  ],
  ['ControllerRevision', controllerRevisions, { revision: 7 }, ['<none>', 7, '60m']],
  ['StatefulSet', statefulSets, DEPLOYMENT, ['2/3', '60m', 'a,b', 'i:1,j']],
  ['Job', jobs, JOB, ['Running', '0/3', '30m', ...OF_JOB]],
  [
    'Job',
    jobs,
    { ...JOB, status: { ...ENDED, ...(jobWith('Complete')['status'] as JsonObject) } },
    ['Complete', '1/3', '5s', ...OF_JOB],
  ],
  [
    'Job',
    jobs,
    { ...jobWith('FailureTarget', 'Failed'), spec: { parallelism: 2 } },
    ['Failed', '0/1 of 2', '', '60m', '', '', '<none>'],
  ],
  ['Job', jobs, jobWith('FailureTarget'), ['FailureTarget', '0/1', '', '60m', '', '', '<none>']],
  [
    'Job',
    jobs,
    jobWith('SuccessCriteriaMet'),
    ['SuccessCriteriaMet', '0/1', '', '60m', '', '', '<none>'],
  ],
  ['Job', jobs, jobWith('Suspended'), ['Suspended', '0/1', '', '60m', '', '', '<none>']],
  [
    'PodDisruptionBudget',
    podDisruptionBudgets,
    { spec: { maxUnavailable: 1 } },
    ['N/A', '1', 0, '60m'],
  ],
])('a %s shows its columns', (_, resource, parts, expected) => {
  const object = { metadata: { name: 'x', creationTimestamp: CREATED }, ...parts }
  const cells = resource.columns.map((column) => column.cell(object, NOW))
  expect(cells).toEqual(['x', ...expected])
})

test.each<[string, string]>([
  ['apps/v1', 'daemonset.apps/web'],
  ['v1', 'daemonset/web'],
])(
  'a ControllerRevision shows the controller in %s as kubectl names it',
  (apiVersion, expected) => {
    const owner = { apiVersion, kind: 'DaemonSet', name: 'web' }
    const ownerReferences = [
      { ...owner, name: 'other' },
      { ...owner, controller: true },
    ]
    const [, controller] = controllerRevisions.columns
    expect(controller?.cell({ metadata: { name: 'x', ownerReferences } }, NOW)).toBe(expected)
  },
)
