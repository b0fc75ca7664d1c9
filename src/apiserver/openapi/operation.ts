import type { JsonObject } from '../../lib/json.ts'
import {
  apiVersionOf,
  type DerivedSubresource,
  type Face,
  type ReservedFields,
} from '../resource.ts'
import { messageOf } from '../schema/message-of.ts'
import { DELETE, FORCE, LIST, type QueryParameter, SELECT, WRITE } from './query-parameter.ts'
import type { GroupVersionKind } from './served-kinds.ts'

/** One thing that clients can do at a path, before it is written in one version of OpenAPI. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** In the ecosystem's words: `list`, `post`, `deletecollection`, … */
  readonly action: string
  readonly id: string
  readonly query: readonly QueryParameter[]
  /** The message of the body; `patch`: any of the patch formats. */
  readonly body: string | undefined
  readonly answer: string | undefined
  readonly kind: GroupVersionKind
}

export interface ApiPath {
  readonly path: string
  /** The names in braces. */
  readonly parameters: readonly string[]
  readonly operations: readonly Operation[]
}

/** Every path of a face, with what can be done there. */
export function apiPaths(face: Face): readonly ApiPath[] {
  const { resource } = face
  const root = `${face.group === '' ? '/api' : '/apis'}/${apiVersionOf(face)}`
  const inside = resource.namespaced ? `${root}/namespaces/{namespace}` : root
  const namespace = resource.namespaced ? ['namespace'] : []
  const one = [...namespace, 'name']
  const collection = `${inside}/${resource.plural}`
  const everywhere = `${root}/${resource.plural}`
  return [
    { path: collection, parameters: namespace, operations: collectionOperations(face) },
    { path: `${collection}/{name}`, parameters: one, operations: objectOperations(face, '') },
    ...(resource.status === undefined
      ? []
      : [
          {
            path: `${collection}/{name}/status`,
            parameters: one,
            operations: objectOperations(face, 'Status'),
          },
        ]),
    ...(resource.reserved === undefined
      ? []
      : [
          {
            path: `${collection}/{name}/${resource.reserved.subresource}`,
            parameters: one,
            operations: reservedOperations(face, resource.reserved),
          },
        ]),
    ...(resource.derived ?? []).map((derived) => ({
      path: `${collection}/{name}/${derived.name}`,
      parameters: one,
      operations: [derivedOperation(face, derived)],
    })),
    ...(resource.namespaced
      ? [{ path: everywhere, parameters: [], operations: [listOperation(face, 'AllNamespaces')] }]
      : []),
  ]
}

function collectionOperations(face: Face): readonly Operation[] {
  const { plural } = face.resource
  const message = messageOf(apiVersionOf(face), face.resource.kind)
  const rest: readonly Operation[] = [
    operation(face, ['post', 'post', WRITE], { body: message, answer: message }),
    operation(face, ['delete', 'deletecollection', [...SELECT, ...DELETE]], {
      body: 'meta.v1.DeleteOptions',
      answer: 'meta.v1.Status',
    }),
  ]
  const allowed = rest.filter(({ method }) => method !== 'delete' || plural !== 'namespaces')
  return [listOperation(face, ''), ...allowed]
}

function listOperation(face: Face, suffix: string): Operation {
  const answer = messageOf(apiVersionOf(face), `${face.resource.kind}List`)
  return operation(face, ['get', 'list', LIST], { body: undefined, answer }, suffix)
}

function objectOperations(face: Face, suffix: string): readonly Operation[] {
  const message = messageOf(apiVersionOf(face), face.resource.kind)
  const remove = { body: 'meta.v1.DeleteOptions', answer: 'meta.v1.Status' }
  const kept: readonly Operation[] = [
    operation(face, ['get', 'get', []], { body: undefined, answer: message }, suffix),
    operation(face, ['put', 'put', WRITE], { body: message, answer: message }, suffix),
    operation(
      face,
      ['patch', 'patch', [...WRITE, FORCE]],
      { body: 'patch', answer: message },
      suffix,
    ),
  ]
  return suffix === '' ? [...kept, operation(face, ['delete', 'delete', DELETE], remove)] : kept
}

function reservedOperations(face: Face, { subresource }: ReservedFields): readonly Operation[] {
  const all = objectOperations(face, capitalised(subresource))
  return all.filter(({ method }) => method === 'put' || method === 'patch')
}

function derivedOperation(face: Face, { name, kind }: DerivedSubresource): Operation {
  const answer = messageOf(apiVersionOf(face), kind)
  const read = operation(face, ['get', 'get', []], { body: undefined, answer }, capitalised(name))
  return { ...read, kind: { ...read.kind, kind } }
}

function operation(
  face: Face,
  [method, action, query]: readonly [Operation['method'], string, readonly QueryParameter[]],
  messages: Pick<Operation, 'body' | 'answer'>,
  suffix = '',
): Operation {
  const { group, version, resource } = face
  const scope = resource.namespaced && suffix !== 'AllNamespaces' ? 'Namespaced' : ''
  const words = [...(group === '' ? ['core'] : group.split('.')), version].map(capitalised)
  const id = `${action}${words.join('')}${scope}${resource.kind}${suffix}`
  return { method, action, id, query, ...messages, kind: { group, version, kind: resource.kind } }
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** What marks an operation for clients. */
export function operationExtensions({ action, kind }: Operation): JsonObject {
  return { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': { ...kind } }
}
