import { builtinBindings, builtinRoles } from '../../auth/builtin-roles/builtin-roles.ts'
import { AUTOUPDATE } from '../../auth/builtin-roles/role-object.ts'
import { rulesOfRole } from '../../auth/rbac/policy-rule.ts'
import { uncoveredRules } from '../../auth/rbac/uncovered-rules.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { clusterRoles } from '../kinds/role/resource.ts'
import { clusterRoleBindings } from '../kinds/role-binding/resource.ts'
import type { Resource } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import type { BackgroundContext } from './background-context.ts'
import { ensureObject } from './ensure-object.ts'

/**
 * Creates the roles and bindings that every cluster has, and adds again what was taken away from
 * them; what was added stays. An object whose annotation `autoupdate` is `"false"` stays as it is.
 * A rejected one is logged, and the server starts without it.
 */
export async function ensureBuiltinRoles(context: BackgroundContext): Promise<void> {
  for (const role of builtinRoles) await ensure(context, clusterRoles, role, repairedRole)
  for (const binding of builtinBindings) {
    await ensure(context, clusterRoleBindings, binding, repairedBinding)
  }
}

type Repair = (old: JsonObject, builtin: JsonObject) => JsonObject

async function ensure(
  context: BackgroundContext,
  resource: Resource,
  builtin: JsonObject,
  repair: Repair,
): Promise<void> {
  const name = stringAt(builtin, 'metadata', 'name')
  const next = (old: JsonObject): JsonObject => {
    if (old['metadata'] === undefined) return builtin
    return valueAt(old, 'metadata', 'annotations', AUTOUPDATE) === 'false'
      ? old
      : repair(old, builtin)
  }
  const written = await ensureObject(context, { resource, namespace: '', name, next })
  if (!(written instanceof StatusError)) return
  const { message } = written.status
  context.log.warn(
    { object: `${resource.kind} ${quote(name)}`, cause: message },
    'a built-in role was not written',
  )
}

function repairedRole(old: JsonObject, builtin: JsonObject): JsonObject {
  const { aggregationRule } = builtin
  if (aggregationRule !== undefined) return { ...old, aggregationRule }
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
