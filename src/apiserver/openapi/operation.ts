import type { JsonObject } from '../../lib/json.ts'
import { JSON_TYPE, YAML } from '../encoding/media-type.ts'
import {
  apiVersionOf,
  type DerivedSubresource,
  type PostedSubresource,
  type ReservedFields,
  type ServedVersion,
} from '../resource/resource.ts'
import { groupVersionPath, resourcePaths } from '../resource/resource-paths.ts'
import { messageOf } from '../schema/schema.ts'
import type { GroupVersionKind } from './served-kinds.ts'

const DRY_RUN = text('dryRun', 'All: check everything and store nothing.')
const MANAGER = text('fieldManager', 'The name under which the client manages fields.')
const VALIDATION = text(
  'fieldValidation',
  'What to do about unknown and duplicate fields: Ignore, Warn or Strict.',
)
/** The parameters of every write. */
const WRITE: readonly QueryParameter[] = [DRY_RUN, MANAGER, VALIDATION]
const FORCE: QueryParameter = {
  name: 'force',
  type: 'boolean',
  description: 'Take fields over from others.',
}
const SELECT: readonly QueryParameter[] = [
  text('labelSelector', 'Only objects with such labels.'),
  text('fieldSelector', 'Only objects with such fields.'),
]
const LIST: readonly QueryParameter[] = [
  ...SELECT,
  text('resourceVersion', 'Not older than this state.'),
  text('resourceVersionMatch', 'Exact, or NotOlderThan.'),
  text('continue', 'The token of the next page, from the page before.'),
  { name: 'limit', type: 'integer', description: 'At most this many objects.' },
  { name: 'timeoutSeconds', type: 'integer', description: 'How long a watch lasts.' },
  { name: 'watch', type: 'boolean', description: 'Stream changes instead of listing.' },
  {
    name: 'allowWatchBookmarks',
    type: 'boolean',
    description: 'Also send bookmarks with the revision that the watch has reached.',
  },
  {
    name: 'sendInitialEvents',
    type: 'boolean',
    description: 'Begin a watch with the existing objects.',
  },
]
const DELETE: readonly QueryParameter[] = [
  DRY_RUN,
  {
    name: 'gracePeriodSeconds',
    type: 'integer',
    description: 'Seconds that the object has to end.',
  },
  text('propagationPolicy', 'Background, Foreground or Orphan.'),
  { name: 'orphanDependents', type: 'boolean', description: 'The older propagationPolicy.' },
]

/** One operation at a path, independent of the version of OpenAPI. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** In Kubernetes' words: `list`, `post`, `deletecollection`, … */
  readonly action: string
  readonly id: string
  readonly query: readonly QueryParameter[]
  /** The message of the body; `patch`: any of the patch formats. */
  readonly body: string | undefined
  readonly answer: string | undefined
  /** The media types of body and answer, except for patches. */
  readonly types: readonly string[]
  readonly kind: GroupVersionKind
}

export interface ApiPath {
  readonly path: string
  /** The names of the path parameters. */
  readonly parameters: readonly string[]
  readonly operations: readonly Operation[]
}

/** Every path of a served version, with its operations. */
export function apiPaths(served: ServedVersion): readonly ApiPath[] {
  const { namespaced, status, reserved, derived = [], review } = served.resource
  const { actions = [], answered = [], evicted, isReadOnly } = served.resource
  const acting = [...actions, ...(evicted === undefined ? [] : [evicted])]
  const paths = resourcePaths(served, groupVersionPath(served), (name) => `{${name}}`)
  const inside = namespaced ? ['namespace'] : []
  const at = (
    path: string,
    parameters: readonly string[],
    operations: readonly Operation[],
  ): ApiPath => ({ path, parameters, operations })
  const below = (subresource: string, operations: readonly Operation[]): ApiPath =>
    at(`${paths.one}${subresource}`, [...inside, 'name'], operations)
  if (review !== undefined) return [at(paths.collection, inside, [createOperation(served)])]
  if (isReadOnly) {
    const [read] = objectOperations(served, '')
    return [at(paths.everywhere, [], [listOperation(served, '')]), below('', [read!])]
  }
  return [
    at(paths.collection, inside, collectionOperations(served)),
    below('', objectOperations(served, '')),
    ...(status === undefined ? [] : [below('/status', objectOperations(served, 'Status'))]),
    ...(reserved === undefined
      ? []
      : [below(`/${reserved.subresource}`, reservedOperations(served, reserved))]),
    ...derived.map((each) => below(`/${each.name}`, [derivedOperation(served, each)])),
    ...answered.map((each) => below(`/${each.name}`, [postedOperation(served, each)])),
    ...acting.map((each) =>
      below(`/${each.name}`, [{ ...postedOperation(served, each), answer: 'meta.v1.Status' }]),
    ),
    ...(namespaced ? [at(paths.everywhere, [], [listOperation(served, 'AllNamespaces')])] : []),
  ]
}

const REMOVAL = { body: 'meta.v1.DeleteOptions', answer: 'meta.v1.Status' }

function collectionOperations(served: ServedVersion): readonly Operation[] {
  const growing = [listOperation(served, ''), createOperation(served)]
  if (served.resource.deletedOneByOne) return growing
  const query = [...SELECT, ...DELETE]
  return [...growing, operation(served, ['delete', 'deletecollection', query], REMOVAL)]
}

function createOperation(served: ServedVersion): Operation {
  const message = messageOf(apiVersionOf(served), served.resource.kind)
  return operation(served, ['post', 'post', WRITE], { body: message, answer: message })
}

function listOperation(served: ServedVersion, suffix: string): Operation {
  const answer = messageOf(apiVersionOf(served), `${served.resource.kind}List`)
  return operation(served, ['get', 'list', LIST], { body: undefined, answer }, suffix)
}

function objectOperations(served: ServedVersion, suffix: string): readonly Operation[] {
  const message = messageOf(apiVersionOf(served), served.resource.kind)
  const kept: readonly Operation[] = [
    operation(served, ['get', 'get', []], { body: undefined, answer: message }, suffix),
    operation(served, ['put', 'put', WRITE], { body: message, answer: message }, suffix),
    operation(
      served,
      ['patch', 'patch', [...WRITE, FORCE]],
      { body: 'patch', answer: message },
      suffix,
    ),
  ]
  return suffix === '' ? [...kept, operation(served, ['delete', 'delete', DELETE], REMOVAL)] : kept
}

function reservedOperations(
  served: ServedVersion,
  { subresource }: ReservedFields,
): readonly Operation[] {
  const all = objectOperations(served, capitalised(subresource))
  return all.filter(({ method }) => method === 'put' || method === 'patch')
}

function derivedOperation(served: ServedVersion, { name, kind }: DerivedSubresource): Operation {
  const answer = messageOf(apiVersionOf(served), kind)
  const read = operation(served, ['get', 'get', []], { body: undefined, answer }, capitalised(name))
  return { ...read, kind: { ...read.kind, kind }, types: [JSON_TYPE] }
}

function postedOperation(served: ServedVersion, { name, type }: PostedSubresource): Operation {
  const message = messageOf(apiVersionOf(type), type.kind)
  const posted = operation(
    served,
    ['post', 'post', WRITE],
    { body: message, answer: message },
    capitalised(name),
  )
  return { ...posted, kind: type }
}

function operation(
  served: ServedVersion,
  [method, action, query]: readonly [Operation['method'], string, readonly QueryParameter[]],
  messages: Pick<Operation, 'body' | 'answer'>,
  suffix = '',
): Operation {
  const { group, version, resource } = served
  const scope = resource.namespaced && suffix !== 'AllNamespaces' ? 'Namespaced' : ''
  const words = [...(group === '' ? ['core'] : group.split('.')), version].map(capitalised)
  const id = `${action}${words.join('')}${scope}${resource.kind}${suffix}`
  const kind = { group, version, kind: resource.kind }
  return { method, action, id, query, ...messages, kind, types: [JSON_TYPE, YAML] }
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** The extensions that identify an operation for clients. */
export function operationExtensions({ action, kind }: Operation): JsonObject {
  return { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': { ...kind } }
}

interface QueryParameter {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean'
  readonly description: string
}

function text(name: string, description: string): QueryParameter {
  return { name, type: 'string', description }
}
