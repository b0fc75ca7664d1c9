import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { services } from '../kinds/service/resource.ts'
import type { Resource } from '../resource/resource.ts'
import { startApi } from '../testing/test-api.ts'
import { discoveryDocuments } from './discovery-documents.ts'

const aggregated = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`

/** The header Accept of kubectl 1.33. */
const KUBECTL_ACCEPT = [aggregated('v2'), aggregated('v2beta1'), 'application/json'].join(',')

test('the aggregated document of the core group lists Services with their verbs and subresources', async () => {
  const api = await startApi()
  const { text, headers } = await api.call('GET', '/api', { headers: { accept: KUBECTL_ACCEPT } })
  expect(headers).toMatchObject({ vary: 'Accept', 'content-type': aggregated('v2') })
  const document = JSON.parse(text) as JsonObject
  expect(document).toMatchObject({
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    items: [{ metadata: { name: '' }, versions: [{ version: 'v1', freshness: 'Current' }] }],
  })
  const resources = arrayAt(arrayAt(arrayAt(document, 'items')[0], 'versions')[0], 'resources')
  expect(resources).toContainEqual({
    resource: 'services',
    responseKind: { group: '', version: 'v1', kind: 'Service' },
    scope: 'Namespaced',
    singularResource: 'service',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    shortNames: ['svc'],
    categories: ['all'],
    subresources: [
      {
        subresource: 'status',
        responseKind: { group: '', version: 'v1', kind: 'Service' },
        verbs: ['get', 'patch', 'update'],
      },
    ],
  })
})

test.each([
  [`${aggregated('v2beta1')},application/json`, aggregated('v2beta1')],
  [`${aggregated('v2beta1')},${aggregated('v2')}`, aggregated('v2beta1')],
  [`${aggregated('v3')},application/json`, 'application/json'],
  [`application/json,${aggregated('v2')}`, 'application/json'],
  ['*/*', 'application/json'],
])('Accept: %s is answered with %s', async (accept, contentType) => {
  const api = await startApi()
  const { headers } = await api.call('GET', '/apis', { headers: { accept } })
  expect(headers['content-type']).toBe(contentType)
})

test('a request that accepts only an unknown form is answered with 406 NotAcceptable', async () => {
  const api = await startApi()
  const answer = await api.call('GET', '/apis', { headers: { accept: aggregated('v3') } })
  expect([answer.status, answer.body['reason']]).toEqual([406, 'NotAcceptable'])
})

test('a request with the ETag of the document in If-None-Match gets 304 without a body', async () => {
  const api = await startApi()
  const first = await api.call('GET', '/apis', { headers: { accept: KUBECTL_ACCEPT } })
  const etag = String(first.headers['etag'])
  for (const known of [etag, `"x", W/${etag}`, '*']) {
    const headers = { accept: KUBECTL_ACCEPT, 'if-none-match': known }
    const again = await api.call('GET', '/apis', { headers })
    expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', etag])
  }
  const legacy = await api.call('GET', '/apis', { headers: { 'if-none-match': etag } })
  expect(legacy.status).toBe(200)
})

test('the groups of Kubernetes come first, and only the first group of a resource has its short names', () => {
  const servedVersions = ['web.orch.io', 'web.k8s.io'].map((group) => ({ group, version: 'v1' }))
  const own: Resource = {
    ...services,
    plural: 'own',
    versions: servedVersions.slice(0, 1),
    shortNames: ['o'],
  }
  const both: Resource = { ...services, plural: 'both', versions: servedVersions.toReversed() }
  const documents = discoveryDocuments([own, both])
  const read = (path: string): JsonObject => {
    const form = documents.get(path)!.at(-1)!
    return JSON.parse(form.content().bytes.toString()) as JsonObject
  }
  const names = arrayAt(read('/apis'), 'groups').map((group) => stringAt(group, 'name'))
  expect(names).toEqual(['web.k8s.io', 'web.orch.io'])
  const shown = (group: string) =>
    arrayAt(read(`/apis/${group}/v1`), 'resources').map((one) => [
      stringAt(one, 'name'),
      objectAt(one)['shortNames'],
    ])
  expect(shown('web.k8s.io')).toEqual([
    ['both', ['svc']],
    ['both/status', undefined],
  ])
  expect(shown('web.orch.io')).toEqual([
    ['own', ['o']],
    ['own/status', undefined],
    ['both', undefined],
    ['both/status', undefined],
  ])
})

test('the list of custom resources is empty and read-only, and discovery does not contain it', async () => {
  const api = await startApi()
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const { status, body } = await api.call('GET', path)
  expect([status, body['kind'], body['items']]).toEqual([200, 'CustomResourceDefinitionList', []])
  expect((await api.call('POST', path, { body: {} })).status).toBe(405)
  const { text } = await api.call('GET', '/apis')
  expect(text).not.toContain('apiextensions')
})

test('the root lists the paths of discovery, health and metrics, sorted', async () => {
  const api = await startApi()
  const paths = arrayAt((await api.call('GET', '/')).body, 'paths')
  const some = ['/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1', '/healthz', '/metrics']
  expect(paths).toEqual(expect.arrayContaining([...some, '/openapi/v3', '/version']))
  expect(paths.map(String)).toEqual(paths.map(String).toSorted())
  expect(JSON.stringify(paths)).not.toContain('apiextensions')
})
