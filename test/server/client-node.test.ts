import {
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  type V1Service,
  VersionApi,
} from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { startOrchServer } from '../support/orchserver/orch-server-process.ts'

const HERE = { namespace: 'default' }
const WEB = { ...HERE, name: 'web' }
const MERGE = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
const STRATEGIC = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch)
const APPLY = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply)

function service(port: number, labels: Record<string, string> = {}): V1Service {
  const metadata = { name: 'web', labels }
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'p', port }] } }
}

const labelsOf = ({ metadata }: V1Service) => metadata?.labels
const portsOf = ({ spec }: V1Service) => spec?.ports?.map(({ port }) => port)

test('@kubernetes/client-node creates, replaces, patches, lists and deletes', async () => {
  await using server = await startOrchServer()
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  const api = config.makeApiClient(CoreV1Api)

  const body = await api.createNamespacedService({ ...HERE, body: service(80) })
  expect(body.metadata?.creationTimestamp).toBeInstanceOf(Date)
  body.metadata!.labels = { a: '1' }
  const replaced = await api.replaceNamespacedService({ ...WEB, body })
  expect(labelsOf(replaced)).toEqual({ a: '1' })
  const stale = api.replaceNamespacedService({ ...WEB, body })
  await expect(stale).rejects.toMatchObject({ code: 409 })

  const add = [{ op: 'add', path: '/metadata/labels/b', value: '2' }]
  expect(labelsOf(await api.patchNamespacedService({ ...WEB, body: add }))).toEqual({
    a: '1',
    b: '2',
  })
  const drop = { metadata: { labels: { a: null } } }
  const merged = await api.patchNamespacedService({ ...WEB, body: drop }, MERGE)
  expect(labelsOf(merged)).toEqual({ b: '2' })
  const another = { spec: { ports: [{ name: 'q', port: 443 }] } }
  const joined = await api.patchNamespacedService({ ...WEB, body: another }, STRATEGIC)
  expect(portsOf(joined)?.sort()).toEqual([443, 80])
  const wanted = { ...WEB, body: service(80, { c: '3' }), fieldManager: 'test', force: true }
  expect(labelsOf(await api.patchNamespacedService(wanted, APPLY))).toEqual({ b: '2', c: '3' })

  const objects = KubernetesObjectApi.makeApiClient(config)
  for (const name of ['one', 'two', 'three']) {
    const metadata = { ...HERE, name, labels: { page: 'yes' } }
    await objects.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
  }
  const labelled = { ...HERE, labelSelector: 'page=yes' }
  const page = await api.listNamespacedConfigMap({ ...labelled, limit: 2 })
  const next = { ...labelled, _continue: page.metadata!._continue! }
  const rest = await api.listNamespacedConfigMap(next)
  expect([page.items.length, rest.items.length]).toEqual([2, 1])

  await api.deleteNamespacedService(WEB)
  await expect(api.readNamespacedService(WEB)).rejects.toMatchObject({ code: 404 })
  await api.deleteCollectionNamespacedConfigMap(HERE)
  expect((await api.listNamespacedConfigMap(labelled)).items).toEqual([])
  expect((await config.makeApiClient(VersionApi).getCode()).major).toBe('1')
})
