import { timestamp } from '../../lib/duration.ts'
import { type JsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import type { Compare } from '../../storage/store.ts'
import { admit, readObject, storedForm } from '../admission/admit.ts'
import { completeObject, namespaceCondition } from '../admission/complete.ts'
import { checkPrivileges, checkWrite } from '../admission/write-rules.ts'
import { tracked } from '../apply/tracked.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { Written } from '../encoding/codec.ts'
import { container } from '../kinds/catalogue.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import {
  type ApiRequest,
  type HandlerResult,
  invalidObject,
  subjectOf,
} from '../request/api-request.ts'
import { nameSuffix } from '../resource/object-rules.ts'
import { storageKey } from '../resource/resource.ts'
import { alreadyExists, badRequest, requiredValue, StatusError } from '../status/status.ts'
import { awaitRetry, contended } from './decide-on-newest.ts'
import { persist, Stale } from './persist.ts'
import { parseDryRun, requiredVersion } from './write-options.ts'

/** The maximum length of a generated name before its suffix. */
const MAX_BASE_LENGTH = 58

/** POST of a collection. */
export async function create(context: ServerContext, request: ApiRequest): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  const object = readObject(context, request)
  if (object instanceof StatusError) return object
  const problem = checkMetadata(request, object)
  if (problem !== undefined) return problem
  const written = await createObject(context, request, object, { dryRun })
  return written instanceof StatusError ? written : objectReply(context, request, 201, written)
}

/**
 * Stores a new object under its name, or under one generated from `generateName`. With `dryRun` everything is
 * checked, but nothing is written.
 */
export async function createObject(
  context: ServerContext,
  request: ApiRequest,
  sent: JsonObject,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Written | StatusError> {
  const object = await completeObject(context, request, sent)
  if (object instanceof StatusError) return object
  const named = stringAt(object, 'metadata', 'name')
  const attempt = async (isRetry: boolean): Promise<Written | StatusError | Stale> => {
    const name = named || generateName(context.random, stringAt(object, 'metadata', 'generateName'))
    const compare = await namespaceCondition(context, request, isRetry)
    if (compare instanceof StatusError) return compare
    const written = await createNamed(context, request, { object, name, compare, dryRun })
    const isTaken = written instanceof Stale && written.newest !== undefined
    return isTaken && named !== '' ? alreadyExists(subjectOf(request, name)) : written
  }
  let written = await attempt(false)
  for (let losses = 1; written instanceof Stale; losses++) {
    const late = await awaitRetry(context, request, losses)
    if (late !== undefined) return late
    written = await inTurnOfNamespace(context, request, () => attempt(true))
  }
  return written
}

/**
 * A create requires that its namespace has not changed since it was read. A create that lost against a write of
 * the namespace takes turns with such writes; otherwise it could lose again and again.
 */
async function inTurnOfNamespace<T>(
  context: ServerContext,
  request: ApiRequest,
  attempt: () => Promise<T>,
): Promise<T | StatusError> {
  if (!request.served.resource.namespaced) return attempt()
  const key = storageKey(container, '', request.namespace)
  const turn = await context.turns.take(key, request.deadline)
  if (turn === undefined) return contended(request)
  try {
    return await attempt()
  } finally {
    turn.end()
  }
}

interface NamedObject {
  readonly object: JsonObject
  readonly name: string
  /** The condition on its namespace. */
  readonly compare: readonly Compare[]
  readonly dryRun: boolean
}

async function createNamed(
  context: ServerContext,
  request: ApiRequest,
  { object, name, compare, dryRun }: NamedObject,
): Promise<Written | StatusError | Stale> {
  const next = admit(request, storedForm(request, newObject(context, request, object, name)))
  if (next instanceof StatusError) return next
  const refused = checkPrivileges(context, request, next) ?? checkWrite(context, request, next)
  if (refused !== undefined) return refused
  const key = storageKey(request.served.resource, request.namespace, name)
  const owned = tracked(context, request, next, { old: undefined, sent: object })
  if (owned instanceof StatusError) return owned
  const existing = dryRun ? await context.store.get(key) : undefined
  if (existing !== undefined) return new Stale(existing)
  const write = { key, before: undefined, old: undefined, next: owned, compare, dryRun }
  return persist(context, request, write)
}

function checkMetadata(request: ApiRequest, object: JsonObject): StatusError | undefined {
  const metadata = objectAt(object, 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  if (namespace !== '' && namespace !== request.namespace) return wrongNamespace()
  if (requiredVersion(object) !== '') {
    return badRequest('resourceVersion should not be set on objects to be created')
  }
  if (stringAt(metadata, 'name') !== '' || stringAt(metadata, 'generateName') !== '')
    return undefined
  const unnamed = requiredValue('metadata.name', 'name or generateName is required')
  return invalidObject(request, object, [unnamed])
}

export function wrongNamespace(): StatusError {
  return badRequest(
    'the namespace of the provided object does not match the namespace sent on the request',
  )
}

/** The object as a new one: metadata of the server replace those that the client sent. */
function newObject(
  context: ServerContext,
  request: ApiRequest,
  object: JsonObject,
  name: string,
): JsonObject {
  const { resource } = request.served
  const sent = without(
    objectAt(object, 'metadata'),
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'generation',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'managedFields',
    'selfLink',
  )
  const metadata = {
    name,
    ...(resource.namespaced ? { namespace: request.namespace } : {}),
    uid: context.random.uuid(),
    ...(resource.countsGenerations ? { generation: 1 } : {}),
    creationTimestamp: timestamp(context.clock.now()),
    ...sent,
  }
  const { status: rules, reserved = { keep: (next: JsonObject) => next } } = resource
  if (rules === undefined) return reserved.keep({ ...object, metadata }, undefined)
  const status = rules.initial(object['status'])
  const initial = status === undefined ? {} : { status }
  return reserved.keep({ ...without(object, 'status'), metadata, ...initial }, undefined)
}

function generateName(random: Random, base: string): string {
  return base.slice(0, MAX_BASE_LENGTH) + nameSuffix(random)
}
