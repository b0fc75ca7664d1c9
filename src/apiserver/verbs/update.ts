import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import { admit, readObject, storedForm } from '../admission/admit.ts'
import { checkMayCreate, checkPrivileges, checkWrite } from '../admission/write-rules.ts'
import { tracked } from '../apply/tracked.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored, type Written } from '../encoding/codec.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import {
  type ApiRequest,
  type HandlerResult,
  invalidObject,
  subjectOf,
} from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import {
  badRequest,
  conflict,
  forbiddenValue,
  invalidValue,
  notFound,
  StatusError,
} from '../status/status.ts'
import { createObject, wrongNamespace } from './create.ts'
import { awaitRetry, decideOnNewest } from './decide-on-newest.ts'
import { checkEmptied } from './delete-namespace.ts'
import { isOver } from './deletion.ts'
import { type Persisted, persist, removeObject, type Stale } from './persist.ts'
import { parseDryRun, requiredVersion } from './write-options.ts'

/** PUT of an object, or of its status. */
export async function update(context: ServerContext, request: ApiRequest): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  const sent = readObject(context, request)
  if (sent instanceof StatusError) return sent
  const problem = checkIdentity(request, sent)
  if (problem !== undefined) return problem
  const { resource } = request.served
  const isConditional = requiredVersion(sent) !== ''
  const named = { ...sent, metadata: { ...objectAt(sent, 'metadata'), name: request.name } }
  const mayCreate = resource.createOnUpdate === true && request.subresource === '' && !isConditional
  const written = await updateOrCreate(context, request, {
    update: () => updateObject(context, request, () => sent, { dryRun, isConditional }),
    create: async () => {
      if (!mayCreate) return notFound(subjectOf(request))
      const refused = checkMayCreate(context, request)
      return refused ?? createObject(context, request, named, { dryRun })
    },
  })
  if (written instanceof StatusError) return written
  return objectReply(context, request, written.isNew ? 201 : 200, written)
}

/** Computes the next state of an object from the current one, in the version of the request. */
export type Transition = (old: JsonObject) => JsonObject | StatusError

export interface UpdateOptions {
  readonly dryRun: boolean
  /** The client names the version that it replaces, so a lost race is answered as a conflict. */
  readonly isConditional: boolean
}

/** Applies a transition to the stored object; undefined when there is none. */
export async function updateObject(
  context: ServerContext,
  request: ApiRequest,
  transition: Transition,
  { dryRun, isConditional }: UpdateOptions,
): Promise<Written | StatusError | undefined> {
  const { resource, fromStored = (object) => object } = request.served
  const key = storageKey(resource, request.namespace, request.name)
  const decide = async (before: Written): Promise<Persisted | StatusError | Stale> => {
    const old = decodeStored(before)
    const next = await nextState(context, request, transition(fromStored(old)), old)
    if (next instanceof StatusError) return next
    const write = { key, before, old, next, compare: [], dryRun }
    return isOver(resource, next)
      ? removeObject(context, request, write)
      : persist(context, request, write)
  }
  return decideOnNewest(context, request, { isConditional, decide })
}

/** The next state of an object, completed and checked. */
async function nextState(
  context: ServerContext,
  request: ApiRequest,
  next: JsonObject | StatusError,
  old: JsonObject,
): Promise<JsonObject | StatusError> {
  if (next instanceof StatusError) return next
  const refused = checkIdentity(request, next) ?? checkVersion(request, next, old)
  if (refused !== undefined) return refused
  const admitted = admitUpdate(request, next, { old, now: context.clock.now() })
  if (admitted instanceof StatusError) return admitted
  const broken =
    checkPrivileges(context, request, admitted, old) ?? checkWrite(context, request, admitted, old)
  if (broken !== undefined) return broken
  const owned = tracked(context, request, admitted, { old, sent: next })
  if (owned instanceof StatusError) return owned
  return (await checkEmptied(context, request, owned, old)) ?? owned
}

/** 400 when the object in the body is not the one that the URL names. */
export function checkIdentity(request: ApiRequest, object: JsonObject): StatusError | undefined {
  const metadata = objectAt(object, 'metadata')
  const name = stringAt(metadata, 'name')
  const namespace = stringAt(metadata, 'namespace')
  if (name !== '' && name !== request.name) {
    return badRequest(
      `the name of the object (${JSON.stringify(name)}) does not match the name on the URL (${JSON.stringify(request.name)})`,
    )
  }
  return namespace !== '' && namespace !== request.namespace ? wrongNamespace() : undefined
}

function checkVersion(
  request: ApiRequest,
  next: JsonObject,
  old: JsonObject,
): StatusError | undefined {
  const uid = stringAt(next, 'metadata', 'uid')
  const oldUid = stringAt(old, 'metadata', 'uid')
  if (uid !== '' && uid !== oldUid) {
    return conflict(
      subjectOf(request),
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${oldUid}`,
    )
  }
  const version = requiredVersion(next)
  if (version === '') return checkUnconditional(request, next)
  const current = stringAt(old, 'metadata', 'resourceVersion')
  return version === current ? undefined : conflict(subjectOf(request))
}

/** 422 for an update without a version where the resource requires one; its status needs none. */
function checkUnconditional(request: ApiRequest, next: JsonObject): StatusError | undefined {
  if (!request.served.resource.updateNeedsVersion || request.subresource !== '') return undefined
  const missing = invalidValue('metadata.resourceVersion', '', 'must be specified for an update')
  return invalidObject(request, next, [missing])
}

/** The validated next state, with the fields that an update cannot change. */
function admitUpdate(
  request: ApiRequest,
  next: JsonObject,
  { old, now }: { readonly old: JsonObject; readonly now: number },
): JsonObject | StatusError {
  const problem = checkFinalizers(request, next, old)
  if (problem !== undefined) return problem
  const metadata = keptMetadata(objectAt(next, 'metadata'), objectAt(old, 'metadata'))
  const { status, reserved, actions = [] } = request.served.resource
  const sent = storedForm(request, { ...next, metadata })
  const isFree = reserved === undefined || request.subresource === reserved.subresource
  if (actions.some(({ name }) => name === request.subresource)) {
    return admitCounted(request, sent, old)
  }
  if (isFree && reserved?.take !== undefined)
    return admit(request, reserved.take(sent, old, now), old)
  const stored = isFree ? sent : reserved.keep(sent, old)
  if (status === undefined) return admitCounted(request, stored, old)
  if (request.subresource === 'status') {
    return admit(request, { ...withStatusOf(old, stored), metadata }, old)
  }
  return admitCounted(request, withStatusOf(stored, old), old)
}

function withStatusOf(object: JsonObject, from: JsonObject): JsonObject {
  const { status } = from
  return { ...without(object, 'status'), ...(status === undefined ? {} : { status }) }
}

function admitCounted(
  request: ApiRequest,
  next: JsonObject,
  old: JsonObject,
): JsonObject | StatusError {
  const admitted = admit(request, next, old)
  return admitted instanceof StatusError ? admitted : countGeneration(request, admitted, old)
}

/** While an object is being deleted, finalizers can only be removed. */
function checkFinalizers(
  request: ApiRequest,
  next: JsonObject,
  old: JsonObject,
): StatusError | undefined {
  if (stringAt(old, 'metadata', 'deletionTimestamp') === '') return undefined
  const before = new Set(arrayAt(old, 'metadata', 'finalizers'))
  const added = arrayAt(next, 'metadata', 'finalizers').filter((one) => !before.has(one))
  if (added.length === 0) return undefined
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`
  return invalidObject(request, next, [forbiddenValue('metadata.finalizers', why)])
}

function keptMetadata(next: JsonObject, old: JsonObject): JsonObject {
  const kept = [
    'name',
    'namespace',
    'uid',
    'generation',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ]
  const fixed = kept.flatMap((field) =>
    old[field] === undefined ? [] : [[field, old[field]] as const],
  )
  const free = without(next, ...kept, 'managedFields', 'selfLink', 'resourceVersion')
  return { ...Object.fromEntries(fixed), ...free }
}

function countGeneration(request: ApiRequest, next: JsonObject, old: JsonObject): JsonObject {
  if (!request.served.resource.countsGenerations) return next
  const content = (object: JsonObject) =>
    without(object, 'metadata', 'status', 'kind', 'apiVersion')
  if (isDeepEqual(content(next), content(old))) return next
  const metadata = objectAt(next, 'metadata')
  return { ...next, metadata: { ...metadata, generation: Number(metadata['generation'] ?? 0) + 1 } }
}

/** The two ways to write an object that may or may not exist. */
interface UpdateOrCreate {
  /** Undefined: the object does not exist. */
  readonly update: () => Promise<Written | StatusError | undefined>
  readonly create: () => Promise<Written | StatusError>
}

interface UpdatedOrCreated extends Written {
  readonly isNew: boolean
}

/**
 * Updates an object, or creates it when there is none. If another client creates or deletes it in between, this
 * starts again, until the deadline of the request.
 */
export async function updateOrCreate(
  context: ServerContext,
  request: ApiRequest,
  { update, create }: UpdateOrCreate,
): Promise<UpdatedOrCreated | StatusError> {
  for (let losses = 1; ; losses++) {
    const updated = await update()
    if (updated instanceof StatusError) return updated
    if (updated !== undefined) return { ...updated, isNew: false }
    const created = await create()
    if (!(created instanceof StatusError)) return { ...created, isNew: true }
    if (created.status.reason !== 'AlreadyExists') return created
    const late = await awaitRetry(context, request, losses)
    if (late !== undefined) return late
  }
}
