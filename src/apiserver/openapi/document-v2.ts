import type { JsonObject } from '../../lib/json.ts'
import { type Resource, servedVersionsOf } from '../resource/resource.ts'
import { messageSchema, type SchemaStyle } from './message-schema.ts'
import { type ApiPath, apiPaths, type Operation, operationExtensions } from './operation.ts'
import { PATCH_TYPES } from './patch-types.ts'
import { reachableMessages } from './reachable-messages.ts'
import { schemaName } from './schema-name.ts'
import { servedKinds } from './served-kinds.ts'

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
