import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { root } from './source-file.ts'

interface Expression {
  readonly key: string
  readonly operator: 'In' | 'NotIn'
  readonly values: readonly string[]
}

interface PodSpec {
  readonly affinity?: {
    readonly nodeAffinity: {
      readonly requiredDuringSchedulingIgnoredDuringExecution: {
        readonly nodeSelectorTerms: readonly { readonly matchExpressions: readonly Expression[] }[]
      }
    }
  }
  readonly tolerations?: unknown
  readonly securityContext?: unknown
  readonly containers?: readonly { readonly securityContext?: unknown }[]
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: { readonly template: { readonly spec: PodSpec } }
}

function manifestsOf(path: string): readonly Manifest[] {
  const text = readFileSync(join(root, 'config', path), 'utf8')
  return [...parseAllDocuments(text)].map((document) => document.toJS() as Manifest)
}

function objectsIn(folder: string): readonly string[] {
  const files = readdirSync(join(root, 'config', folder)).filter((file) => file.endsWith('.yaml'))
  return files
    .flatMap((file) => manifestsOf(`${folder}/${file}`))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .toSorted()
}

test('applying the folder of node-proxy makes what install.md says, and nothing else', () => {
  expect(objectsIn('kubernetes/node-proxy')).toEqual([
    'ClusterRole node-proxy',
    'ClusterRoleBinding node-proxy',
    'ConfigMap node-proxy',
    'DaemonSet node-proxy',
    'ServiceAccount node-proxy',
  ])
  expect(readdirSync(join(root, 'config/kubernetes')).toSorted()).toEqual([
    'components',
    'dns',
    'inspection',
    'node-proxy',
    'orch-server',
    'overlays',
  ])
})

test('the servers of names are spread, survive a drain, and run as a user without rights', () => {
  const objects = manifestsOf('kubernetes/dns/dns.yaml')
  const spec = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec
  expect(spec).toMatchObject({
    affinity: { podAntiAffinity: expect.any(Object) },
    tolerations: expect.arrayContaining([
      { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' },
    ]),
    securityContext: { runAsNonRoot: true },
    containers: [
      {
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  })
  expect(spec?.containers?.[0]?.securityContext).not.toHaveProperty('capabilities.add')
  expect(objects.find(({ kind }) => kind === 'PodDisruptionBudget')?.spec).toMatchObject({
    maxUnavailable: 1,
  })
})

/** Whether the controller of DaemonSets puts a Pod on a node with this label; undefined: it has none. */
function placesOn(patch: string, label: string | undefined): boolean {
  const [manifest] = manifestsOf(`take-over/${patch}`)
  const required =
    manifest?.spec.template.spec.affinity?.nodeAffinity
      .requiredDuringSchedulingIgnoredDuringExecution
  return (required?.nodeSelectorTerms ?? []).some(({ matchExpressions }) =>
    matchExpressions.every(({ key, operator, values }) => {
      if (key !== 'orch.io/service-proxy') throw new Error(`${key} is not the label of the page`)
      const isListed = label !== undefined && values.includes(label)
      return operator === 'In' ? isListed : !isListed
    }),
  )
}

test.each([
  ['while nodes move', 'kube-proxy-patch.yaml', 'node-proxy-patch.yaml', ['kube-proxy']],
  [
    'when every node has moved',
    'kube-proxy-nowhere-patch.yaml',
    'node-proxy-everywhere-patch.yaml',
    ['node-proxy'],
  ],
])('%s each node has the proxies that its label names, and a new node has one', (...row) => {
  const [, kubeProxy, nodeProxy, onNewNode] = row
  const proxiesOn = (label: string | undefined) => [
    ...(placesOn(kubeProxy, label) ? ['kube-proxy'] : []),
    ...(placesOn(nodeProxy, label) ? ['node-proxy'] : []),
  ]
  expect(proxiesOn(undefined)).toEqual(onNewNode)
  expect(proxiesOn('kube-proxy')).toEqual(['kube-proxy'])
  expect(proxiesOn('both')).toEqual(['kube-proxy', 'node-proxy'])
  expect(proxiesOn('node-proxy')).toEqual(['node-proxy'])
})
