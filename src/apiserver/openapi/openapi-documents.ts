import type { JsonObject } from '../../lib/json.ts'
import { documentForm, jsonForm, type ServedDocument } from '../negotiation/served-document.ts'
import {
  apiVersionOf,
  type Resource,
  type ServedVersion,
  servedVersionsOf,
} from '../resource/resource.ts'
import { documentV3, PATCH_TYPES, reachableMessages } from './document-v3.ts'
import { messageSchema, type SchemaStyle, schemaName } from './message-schema.ts'
import { type ApiPath, apiPaths, type Operation, operationExtensions } from './operation.ts'
import { encodeV2 } from './protobuf-v2.ts'
import { servedKinds } from './served-kinds.ts'

/**
 * The media type that clients accept. Older clients write an at sign, which is not allowed in a media type;
 * they fail to parse an answer with it.
 */
const ACCEPTED = /^application\/com\.github\.proto-openapi\.spec\.v2[.@]v1\.0\+protobuf$/
const ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

/** The descriptions of the API by path; each is generated at its first request. */
export function openapiDocuments(
  resources: readonly Resource[],
  version: string,
): ReadonlyMap<string, ServedDocument> {
  const v2 = (): JsonObject => documentV2(resources, version)
  const protobuf = documentForm(
    ({ type }) => ACCEPTED.test(type),
    ANSWERED,
    () => encodeV2(v2()),
  )
  const versions = versionDocuments(resources, version)
  return new Map<string, ServedDocument>([
    ['/openapi/v2', [protobuf, jsonForm(v2)]],
    ['/openapi/v3', [jsonForm(() => index(versions))]],
    ...[...versions].map(([name, document]) => [`/openapi/v3/${name}`, document] as const),
  ])
}

function versionDocuments(
  resources: readonly Resource[],
  version: string,
): ReadonlyMap<string, ServedDocument> {
  const kinds = servedKinds(resources)
  const servedVersions = Map.groupBy(resources.flatMap(servedVersionsOf), nameOf)
  return new Map(
    [...servedVersions].map(([name, members]) => [
      name,
      [jsonForm(() => documentV3(members, kinds, version))],
    ]),
  )
}

function nameOf(served: ServedVersion): string {
  return `${served.group === '' ? 'api' : 'apis'}/${apiVersionOf(served)}`
}

/** The index of documents with their URLs; the hash in a URL changes with the content of the document. */
function index(versions: ReadonlyMap<string, ServedDocument>): JsonObject {
  const paths = [...versions].map(([name, [form]]) => {
    const hash = form?.content().etag.replaceAll('"', '') ?? ''
    return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }] as const
  })
  return { paths: Object.fromEntries(paths) }
}

/** The whole API in version 2 of OpenAPI. */
export function documentV2(resources: readonly Resource[], version: string): JsonObject {
  const kinds = servedKinds(resources)
  const style: SchemaStyle = { kinds, refer: reference, hasAlternatives: false }
  const paths = resources.flatMap(servedVersionsOf).flatMap(apiPaths)
  return {
    swagger: '2.0',
    info: { title: 'orch-server', version },
    paths: Object.fromEntries(paths.map((path) => [path.path, pathItem(path)])),
    definitions: Object.fromEntries(
      reachableMessages(kinds.keys()).map((message) => [
        schemaName(message),
        messageSchema(style, message),
      ]),
    ),
  }
}

function reference(name: string): JsonObject {
  return { $ref: `#/definitions/${name}` }
}

function pathItem({ parameters, operations }: ApiPath): JsonObject {
  const named = parameters.map((name) => ({ name, in: 'path', required: true, type: 'string' }))
  const items = operations.map((operation) => [operation.method, operationItem(operation)] as const)
  return { ...Object.fromEntries(items), ...(named.length > 0 ? { parameters: named } : {}) }
}

function operationItem(operation: Operation): JsonObject {
  const { id, query, body, answer, types } = operation
  const isPatch = body === 'patch'
  const schema = isPatch ? { type: 'object' } : reference(schemaName(body ?? ''))
  const bodies =
    body === undefined
      ? []
      : [{ name: 'body', in: 'body', required: operation.method !== 'delete', schema }]
  return {
    operationId: id,
    consumes: isPatch ? [...PATCH_TYPES] : [...types],
    produces: [...types],
    parameters: [...bodies, ...query.map((one) => ({ ...one, in: 'query' }))],
    responses: {
      '200': {
        description: 'OK',
        ...(answer === undefined ? {} : { schema: reference(schemaName(answer)) }),
      },
    },
    ...operationExtensions(operation),
  }
}
