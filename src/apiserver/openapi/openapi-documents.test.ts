import { describe, expect, test } from 'vitest'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from '../../lib/json.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { startApi } from '../testing/test-api.ts'
import { documentV2 } from './openapi-documents.ts'

const V2 = documentV2(catalogue, 'v1')
const SERVICE = 'io.k8s.api.core.v1.Service'

/** Every object under a value, depth first. */
function* objectsIn(value: Json): Generator<JsonObject> {
  if (typeof value !== 'object' || value === null) return
  if (isJsonObject(value)) yield value
  for (const part of Object.values(value)) yield* objectsIn(part)
}

function brokenReferences(document: JsonObject): readonly string[] {
  const references = [...objectsIn(document)].flatMap(({ $ref }) =>
    typeof $ref === 'string' ? [$ref] : [],
  )
  expect(references.length).toBeGreaterThan(10)
  return references.filter((reference) => {
    const target = reference.slice(2).split('/')
    return !isJsonObject(target.reduce<Json>((at, key) => objectAt(at)[key] ?? null, document))
  })
}

describe('version 2', () => {
  test('every reference leads somewhere', () => {
    expect(brokenReferences(V2)).toEqual([])
  })

  test('a resource that only the server writes has no operations that write', () => {
    const paths = Object.entries(objectAt(V2, 'paths')).filter(([path]) =>
      path.startsWith('/apis/networking.k8s.io/v1/servicecidrs'),
    )
    const methods = paths.map(([path, item]) => [
      path.split('/').at(-1),
      Object.keys(objectAt(item)),
    ])
    expect(methods).toEqual([
      ['servicecidrs', ['get']],
      ['{name}', ['get', 'parameters']],
    ])
  })

  test('a definition says what clients need to merge and to explain', () => {
    const definitions = objectAt(V2, 'definitions')
    expect(definitions[SERVICE]).toMatchObject({
      description: 'A stable address in front of a changing set of pods.',
      properties: { kind: { type: 'string' }, spec: { $ref: `#/definitions/${SERVICE}Spec` } },
      'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Service' }],
    })
    expect(objectAt(definitions, `${SERVICE}Spec`, 'properties')).toMatchObject({
      ports: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['port', 'protocol'],
        'x-kubernetes-patch-merge-key': 'port',
        'x-kubernetes-patch-strategy': 'merge',
      },
      externalIPs: { items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
      selector: {
        additionalProperties: { type: 'string' },
        'x-kubernetes-map-type': 'atomic',
      },
      type: { enum: ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'] },
    })
    expect(definitions[`${SERVICE}Port`]).toMatchObject({ required: ['port'] })
  })

  test('what is read and written in YAML says so', () => {
    const path = (end: string) => objectAt(V2, 'paths', `/api/v1/namespaces/{namespace}/pods${end}`)
    const both = ['application/json', 'application/yaml']
    expect(path('')['post']).toMatchObject({ consumes: both, produces: both })
    expect(path('/{name}')['get']).toMatchObject({ consumes: both, produces: both })
    const json = ['application/json']
    expect(path('/{name}/environment')['get']).toMatchObject({ consumes: json, produces: json })
  })

  test('a group has the same definition under each of its names', () => {
    const slice = objectAt(V2, 'definitions', 'io.k8s.api.discovery.v1.EndpointSlice')
    const kinds = arrayAt(slice, 'x-kubernetes-group-version-kind')
    expect(kinds).toContainEqual({
      group: 'discovery.k8s.io',
      version: 'v1',
      kind: 'EndpointSlice',
    })
    expect(kinds).toContainEqual({
      group: 'discovery.orch.io',
      version: 'v1',
      kind: 'EndpointSlice',
    })
  })

  test('operations have the parameters that clients look for, and names of their own', () => {
    const path = '/api/v1/namespaces/{namespace}/services/{name}'
    const patch = objectAt(V2, 'paths', path, 'patch')
    const names = arrayAt(patch, 'parameters').map((one) => objectAt(one)['name'])
    expect(names).toEqual(['body', 'dryRun', 'fieldManager', 'fieldValidation', 'force'])
    const kind = { group: '', version: 'v1', kind: 'Service' }
    expect(patch).toMatchObject({ 'x-kubernetes-group-version-kind': kind })
    const ids = [...objectsIn(objectAt(V2, 'paths'))].flatMap(({ operationId = [] }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('over HTTP', () => {
  const mediaType = (at: string): string =>
    `application/com.github.proto-openapi.spec.v2${at}v1.0+protobuf`

  test.each(['@', '.'])(
    'clients that accept protobuf with %j get a media type without an at sign',
    async (at) => {
      const api = await startApi()
      const accept = `${mediaType(at)},application/json`
      const { status, headers } = await api.call('GET', '/openapi/v2', { headers: { accept } })
      expect([status, headers['content-type']]).toEqual([200, mediaType('.')])
    },
  )

  test('/openapi/v2 is JSON for other clients, and 304 for a client that has it', async () => {
    const api = await startApi()
    const { body, headers } = await api.call('GET', '/openapi/v2')
    expect(body['swagger']).toBe('2.0')
    const known = { 'if-none-match': String(headers['etag']) }
    expect((await api.call('GET', '/openapi/v2', { headers: known })).status).toBe(304)
  })

  test('/openapi/v3 leads to a document for every group version', async () => {
    const api = await startApi()
    const paths = objectAt((await api.call('GET', '/openapi/v3')).body, 'paths')
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['api/v1', 'apis/discovery.k8s.io/v1']),
    )
    for (const [name, entry] of Object.entries(paths)) {
      const address = stringAt(entry, 'serverRelativeURL')
      const { body, headers } = await api.call('GET', address)
      expect(address).toBe(
        `/openapi/v3/${name}?hash=${String(headers['etag']).replaceAll('"', '')}`,
      )
      expect(body['openapi']).toBe('3.0.0')
      expect(brokenReferences(body)).toEqual([])
    }
  })

  test('version 3 names the formats of patches, and sets no words beside references', async () => {
    const api = await startApi()
    const { body } = await api.call('GET', '/openapi/v3/api/v1')
    const path = '/api/v1/namespaces/{namespace}/services/{name}'
    expect(objectAt(body, 'paths', path, 'patch', 'requestBody', 'content')).toHaveProperty([
      'application/strategic-merge-patch+json',
    ])
    expect(objectAt(body, 'components', 'schemas', SERVICE, 'properties')['spec']).toEqual({
      description: 'What the Service should offer, and by which pods.',
      allOf: [{ $ref: `#/components/schemas/${SERVICE}Spec` }],
    })
  })
})
