import type { JsonObject } from '../../lib/json.ts'
import type { ServedVersion } from '../resource/resource.ts'
import { fieldsOf } from '../schema/schema.ts'
import { isScalar, messageSchema, type SchemaStyle, schemaName } from './message-schema.ts'
import { type ApiPath, apiPaths, type Operation, operationExtensions } from './operation.ts'
import type { ServedKinds } from './served-kinds.ts'

/** The formats of patches. */
export const PATCH_TYPES: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]

/** One group version in version 3 of OpenAPI: its paths, and the schemas that they lead to. */
export function documentV3(
  servedVersions: readonly ServedVersion[],
  kinds: ServedKinds,
  version: string,
): JsonObject {
  const style: SchemaStyle = { kinds, refer: within, hasAlternatives: true }
  const paths = servedVersions.flatMap(apiPaths)
  return {
    openapi: '3.0.0',
    info: { title: 'orch-server', version },
    paths: Object.fromEntries(paths.map((path) => [path.path, pathItem(path)])),
    components: {
      schemas: Object.fromEntries(
        reachableMessages(rootsOf(paths)).map((message) => [
          schemaName(message),
          messageSchema(style, message),
        ]),
      ),
    },
  }
}

function rootsOf(paths: readonly ApiPath[]): Set<string> {
  const messages = paths.flatMap(({ operations }) =>
    operations.flatMap(({ body, answer }) => [body ?? [], answer ?? []].flat()),
  )
  return new Set(messages.filter((one) => one !== 'patch'))
}

/**
 * A reference to a schema, wrapped because version 3 allows nothing else, such as a description, in the same
 * object.
 */
function within(name: string): JsonObject {
  return { allOf: [reference(name)] }
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

function pathItem({ parameters, operations }: ApiPath): JsonObject {
  const schema = { type: 'string' }
  const named = parameters.map((name) => ({ name, in: 'path', required: true, schema }))
  const items = operations.map((operation) => [operation.method, operationItem(operation)] as const)
  return { ...Object.fromEntries(items), ...(named.length > 0 ? { parameters: named } : {}) }
}

function operationItem(operation: Operation): JsonObject {
  const { id, query, answer, types } = operation
  return {
    operationId: id,
    parameters: query.map(({ name, type, description }) => ({
      name,
      in: 'query',
      description,
      schema: { type },
    })),
    ...requestBody(operation),
    responses: {
      '200': {
        description: 'OK',
        ...(answer === undefined ? {} : { content: content(answer, types) }),
      },
    },
    ...operationExtensions(operation),
  }
}

function requestBody({ body, method, types }: Operation): JsonObject {
  if (body === undefined) return {}
  if (body !== 'patch')
    return { requestBody: { content: content(body, types), required: method !== 'delete' } }
  const schema = { type: 'object' }
  const contents = Object.fromEntries(PATCH_TYPES.map((type) => [type, { schema }]))
  return { requestBody: { content: contents, required: true } }
}

function content(message: string, types: readonly string[]): JsonObject {
  const schema = reference(schemaName(message))
  return Object.fromEntries(types.map((type) => [type, { schema }]))
}

/** The messages themselves and all that their fields refer to, in alphabetical order. */
export function reachableMessages(roots: Iterable<string>): readonly string[] {
  const found = new Set<string>()
  const open = [...roots]
  for (let message = open.pop(); message !== undefined; message = open.pop()) {
    if (found.has(message)) continue
    found.add(message)
    for (const { type } of fieldsOf(message)?.values() ?? []) if (!isScalar(type)) open.push(type)
  }
  return [...found].toSorted()
}
