import { onTestFinished, vi } from 'vitest'
import type { Action } from '../action.ts'
import { isPathAction } from '../action.ts'
import type { RoleRule } from '../builtin-roles/role-object.ts'
import { GrantIndex } from '../rbac/policy.ts'

/** What a rule permits: `get apps/deployments`, `patch /nodes/status`. */
export type Permission = string

/** By the name of the role that permitted it. */
export type UsedPermissions = ReadonlyMap<string, ReadonlySet<Permission>>

/** Records every decision of authorizers that permits an action, until the test ends. */
export function recordPermissions(): UsedPermissions {
  const used = new Map<string, Set<Permission>>()
  const permits = GrantIndex.prototype.permits
  const spy = vi.spyOn(GrantIndex.prototype, 'permits')
  spy.mockImplementation(function permit(this: GrantIndex, action: Action) {
    const binding = permits.call(this, action)
    if (binding !== undefined && !isPathAction(action)) {
      used.getOrInsertComputed(binding.role.name, () => new Set()).add(permissionOf(action))
    }
    return binding
  })
  onTestFinished(() => spy.mockRestore())
  return used
}

/** Every permission of the rules that no recorded permission needed; wildcards cover everything. */
export function unusedPermissions(
  rules: readonly RoleRule[],
  used: ReadonlySet<Permission>,
): readonly Permission[] {
  const all = rules.flatMap(permissionsOf)
  const isUsed = (permission: Permission): boolean =>
    permission.endsWith(' */*')
      ? [...used].some((one) => one.startsWith(`${permission.split(' ', 1)[0]} `))
      : used.has(permission)
  return [...new Set(all)].filter((permission) => !isUsed(permission))
}

function permissionsOf({ verbs, apiGroups = [], resources = [] }: RoleRule): readonly Permission[] {
  return verbs.flatMap((verb) =>
    apiGroups.flatMap((group) => resources.map((resource) => `${verb} ${group}/${resource}`)),
  )
}

function permissionOf(action: Exclude<Action, { readonly path: string }>): Permission {
  const { verb, group, resource, subresource } = action
  return `${verb} ${group}/${resource}${subresource === '' ? '' : `/${subresource}`}`
}
