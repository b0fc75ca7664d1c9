import type { JsonObject } from '../../lib/json.ts'
import type { ApiRequest } from '../request/api-request.ts'
import type { StatusError } from '../status/status.ts'
import { fieldChanges } from './field-changes.ts'
import { union } from './field-set.ts'
import { ownedPart, ownedStructure } from './owned-structure.ts'
import { forgetsOwners, type Owner, readOwners, withOwners } from './owner.ts'
import { ownersAfterUpdate } from './ownership-change.ts'
import { checkWriter, isApply, type WriterContext, writerOf } from './writer.ts'

/** Owners by update that an object remembers one by one. */
const MAX_UPDATERS = 10

/** The owner that the oldest updaters are joined into. */
const ANCIENT = 'ancient-changes'

/** What a write starts from. */
export interface Origin {
  /** The stored object; undefined when it is made. */
  readonly old: JsonObject | undefined
  /** What the client sent, or made of the old object. */
  readonly sent: JsonObject
}

/** A new object is compared with one whose parts are empty: the parts themselves have no owner. */
const NOTHING: JsonObject = { metadata: {}, spec: {}, status: {} }

/**
 * The object that is about to be stored with `metadata.managedFields`: its
 * writer owns the fields that it changes. An apply brings the owners that it has
 * computed; otherwise clients may edit them or, with `[{}]`, clear them.
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

/** The owners, the oldest of too many updaters joined into one: clients must not make objects grow. */
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
