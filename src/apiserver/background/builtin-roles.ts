import { builtinBindings, builtinRoles } from '../../auth/builtin-roles/builtin-roles.ts'
import { AUTOUPDATE } from '../../auth/builtin-roles/role-object.ts'
import { aggregatedRules, isAggregated } from '../../auth/rbac/aggregate.ts'
import { rulesOfRole } from '../../auth/rbac/policy-rule.ts'
import { uncoveredRules } from '../../auth/rbac/uncovered-rules.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { selectsLabels } from '../../resources/label-selector.ts'
import { decodeStored } from '../encoding/codec.ts'
import { clusterRoles } from '../kinds/role.ts'
import { clusterRoleBindings } from '../kinds/role-binding.ts'
import type { Resource } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { type BackgroundContext, ensureObject } from './system-request.ts'

/**
 * Creates the roles and bindings that every cluster has, and restores rules and subjects that were removed from
 * them; additions are kept. Aggregated roles get the rules of all roles that they select. An object whose
 * annotation `autoupdate` is `"false"` is left unchanged. If an object is rejected, that is logged, and the
 * server starts without it.
 */
export async function ensureBuiltinRoles(context: BackgroundContext): Promise<void> {
  const roles = new Map(
    [...builtinRoles, ...storedRoles(context)].map((role) => [nameOf(role), role]),
  )
  const [plain, aggregated] = [false, true].map((wanted) =>
    builtinRoles.filter((role) => isAggregated(role) === wanted),
  )
  for (const role of [...plain!, ...aggregated!]) {
    const builtin = withRules(role, roles)
    const written = await ensure(context, clusterRoles, builtin, repairedRole)
    if (written !== undefined) roles.set(nameOf(role), written)
  }
  for (const binding of builtinBindings) {
    await ensure(context, clusterRoleBindings, binding, repairedBinding)
  }
}

type Repair = (old: JsonObject, builtin: JsonObject) => JsonObject

/** The object as it is now; undefined: it could not be written. */
async function ensure(
  context: BackgroundContext,
  resource: Resource,
  builtin: JsonObject,
  repair: Repair,
): Promise<JsonObject | undefined> {
  const name = nameOf(builtin)
  const next = (old: JsonObject): JsonObject => {
    if (old['metadata'] === undefined) return builtin
    return valueAt(old, 'metadata', 'annotations', AUTOUPDATE) === 'false'
      ? old
      : repair(old, builtin)
  }
  const written = await ensureObject(context, { resource, namespace: '', name, next })
  if (!(written instanceof StatusError)) return decodeStored(written)
  const { message } = written.status
  context.log.warn(
    { object: `${resource.kind} ${quote(name)}`, cause: message },
    'a built-in role was not written',
  )
  return undefined
}

function storedRoles({ feed }: BackgroundContext): readonly JsonObject[] {
  return feed
    .cache(clusterRoles)
    .snapshot()
    .map((item) => JSON.parse(item.value.toString()) as JsonObject)
}

/** The aggregated role with the rules of all roles that it selects, in the order that the controller uses. */
function withRules(role: JsonObject, roles: ReadonlyMap<string, JsonObject>): JsonObject {
  const inOrder = [...roles].toSorted(byName).map(([, one]) => one)
  const rules = aggregatedRules(role, inOrder, selectsLabels)
  return rules === undefined ? role : { ...role, rules: [...rules] }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}

function repairedRole(old: JsonObject, builtin: JsonObject): JsonObject {
  const { aggregationRule } = builtin
  if (aggregationRule !== undefined)
    return { ...old, aggregationRule, rules: [...arrayAt(builtin, 'rules')] }
  const held = rulesOfRole(old)
  const missing = arrayAt(builtin, 'rules').filter((rule) => {
    const uncovered = uncoveredRules(rulesOfRole({ rules: [rule] }), held)
    return uncovered === 'tooMany' || uncovered.length > 0
  })
  return missing.length === 0 ? old : { ...old, rules: [...arrayAt(old, 'rules'), ...missing] }
}

function repairedBinding(old: JsonObject, builtin: JsonObject): JsonObject {
  const present = arrayAt(old, 'subjects')
  const isMissing = (subject: Json) => !present.some((one) => isDeepEqual(one, subject))
  const missing = arrayAt(builtin, 'subjects').filter(isMissing)
  return missing.length === 0 ? old : { ...old, subjects: [...present, ...missing] }
}
