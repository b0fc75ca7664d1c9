import type { JsonObject } from '../../lib/json.ts'
import type { ApiRequest } from '../request/api-request.ts'
import type { StatusError } from '../status/status.ts'
import { fieldChanges } from './field-changes.ts'
import { union } from './field-set.ts'
import { forgetsOwners, type Owner, ownersAfterUpdate, readOwners, withOwners } from './owner.ts'
import {
  checkWriter,
  isApply,
  ownedPart,
  ownedStructure,
  type WriterContext,
  writerOf,
} from './writer.ts'

/** The number of updaters that an object records separately. */
const MAX_UPDATERS = 10

/** The name of the owner that the oldest updaters are merged into. */
const ANCIENT = 'ancient-changes'

/** The objects that a write is based on. */
export interface Origin {
  /** The stored object; undefined when the write creates it. */
  readonly old: JsonObject | undefined
  /** The object that the client sent, or the result of its patch. */
  readonly sent: JsonObject
}

/** A new object is compared with this, because its top-level parts themselves have no owner. */
const NOTHING: JsonObject = { metadata: {}, spec: {}, status: {} }

/**
 * The object that is about to be stored with `metadata.managedFields`: its writer owns the fields that it
 * changes. An apply has already computed the owners; in other writes clients may edit them or, with `[{}]`,
 * clear them.
 */
export function tracked(
  context: WriterContext,
  request: ApiRequest,
  next: JsonObject,
  { old, sent }: Origin,
): JsonObject | StatusError {
  const problem = checkWriter(request)
  if (problem !== undefined) return problem
  if (isApply(request)) return withOwners(next, readOwners(sent) ?? [])
  if (forgetsOwners(sent)) return withOwners(next, [])
  const owners = readOwners(sent) ?? readOwners(old) ?? []
  const before = ownedPart(request, old ?? NOTHING)
  const changes = fieldChanges(ownedStructure(request), before, ownedPart(request, next))
  const after = ownersAfterUpdate(owners, writerOf(context, request), changes)
  return withOwners(next, boundedOwners(after))
}

/**
 * The owners. If there are too many updaters, the oldest are merged into one, so that clients cannot make
 * objects grow without limit.
 */
function boundedOwners(owners: readonly Owner[]): readonly Owner[] {
  const updaters = owners
    .filter(({ operation }) => operation === 'Update')
    .toSorted((a, b) => (a.time < b.time ? -1 : 1))
  const surplus = updaters.slice(0, -(MAX_UPDATERS - 1))
  const newest = surplus.at(-1)
  if (updaters.length <= MAX_UPDATERS || newest === undefined) return owners
  const fields = surplus.map((owner) => owner.fields).reduce(union)
  const ancient: Owner = { ...newest, name: ANCIENT, subresource: '', fields }
  return [...owners.filter((owner) => !surplus.includes(owner)), ancient]
}
