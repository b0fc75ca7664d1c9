import type { JsonObject } from '../../lib/json.ts'
import { JSON_TYPE, YAML } from '../http/media-type.ts'
import {
  apiVersionOf,
  type DerivedSubresource,
  type Face,
  type ReservedFields,
} from '../resource.ts'
import { groupVersionPath, resourcePaths } from '../resource-paths.ts'
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
  /** Media types of both, but for patches. */
  readonly types: readonly string[]
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
  const { namespaced, status, reserved, derived = [] } = face.resource
  const paths = resourcePaths(face, groupVersionPath(face), (name) => `{${name}}`)
  const inside = namespaced ? ['namespace'] : []
  const at = (
    path: string,
    parameters: readonly string[],
    operations: readonly Operation[],
  ): ApiPath => ({ path, parameters, operations })
  const below = (subresource: string, operations: readonly Operation[]): ApiPath =>
    at(`${paths.one}${subresource}`, [...inside, 'name'], operations)
  return [
    at(paths.collection, inside, collectionOperations(face)),
    below('', objectOperations(face, '')),
    ...(status === undefined ? [] : [below('/status', objectOperations(face, 'Status'))]),
    ...(reserved === undefined
      ? []
      : [below(`/${reserved.subresource}`, reservedOperations(face, reserved))]),
    ...derived.map((each) => below(`/${each.name}`, [derivedOperation(face, each)])),
    ...(namespaced ? [at(paths.everywhere, [], [listOperation(face, 'AllNamespaces')])] : []),
  ]
}

const REMOVAL = { body: 'meta.v1.DeleteOptions', answer: 'meta.v1.Status' }

function collectionOperations(face: Face): readonly Operation[] {
  const message = messageOf(apiVersionOf(face), face.resource.kind)
  const growing = [
    listOperation(face, ''),
    operation(face, ['post', 'post', WRITE], { body: message, answer: message }),
  ]
  if (face.resource.deletedOneByOne) return growing
  const query = [...SELECT, ...DELETE]
  return [...growing, operation(face, ['delete', 'deletecollection', query], REMOVAL)]
}

function listOperation(face: Face, suffix: string): Operation {
  const answer = messageOf(apiVersionOf(face), `${face.resource.kind}List`)
  return operation(face, ['get', 'list', LIST], { body: undefined, answer }, suffix)
}

function objectOperations(face: Face, suffix: string): readonly Operation[] {
  const message = messageOf(apiVersionOf(face), face.resource.kind)
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
  return suffix === '' ? [...kept, operation(face, ['delete', 'delete', DELETE], REMOVAL)] : kept
}

function reservedOperations(face: Face, { subresource }: ReservedFields): readonly Operation[] {
  const all = objectOperations(face, capitalised(subresource))
  return all.filter(({ method }) => method === 'put' || method === 'patch')
}

function derivedOperation(face: Face, { name, kind }: DerivedSubresource): Operation {
  const answer = messageOf(apiVersionOf(face), kind)
  const read = operation(face, ['get', 'get', []], { body: undefined, answer }, capitalised(name))
  return { ...read, kind: { ...read.kind, kind }, types: [JSON_TYPE] }
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
  const kind = { group, version, kind: resource.kind }
  return { method, action, id, query, ...messages, kind, types: [JSON_TYPE, YAML] }
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** What marks an operation for clients. */
export function operationExtensions({ action, kind }: Operation): JsonObject {
  return { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': { ...kind } }
}
