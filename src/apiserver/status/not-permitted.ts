import { type Action, isPathAction } from '../../auth/action.ts'
import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import type { User } from '../../auth/user.ts'
import { type StatusDetails, StatusError } from './status.ts'

/** 403 if the user may not perform the action; undefined: it may. */
export function refusalOf(
  authorizer: Pick<Authorizer, 'authorize'>,
  user: User,
  action: Action,
): StatusError | undefined {
  const { isAllowed, reason } = authorizer.authorize(user, action)
  return isAllowed ? undefined : notPermitted(user, action, reason)
}

/** 403 for an action that a user may not perform; `reason`: the reason of the authorizer, which may be empty. */
export function notPermitted(user: User, action: Action, reason: string): StatusError {
  const because = reason === '' ? '' : `: ${reason}`
  const who = `User ${JSON.stringify(user.name)}`
  if (isPathAction(action)) {
    const { verb, path } = action
    return refusal(`forbidden: ${who} cannot ${verb} path ${JSON.stringify(path)}${because}`, {})
  }
  const { verb, group, resource, subresource, namespace, name } = action
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const qualified = group === '' ? resource : `${resource}.${group}`
  const about = name === '' ? qualified : `${qualified} ${JSON.stringify(name)}`
  const where =
    namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`
  const text = `${who} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`
  const details: StatusDetails = {
    ...(name !== '' && { name }),
    ...(group !== '' && { group }),
    kind: resource,
  }
  return refusal(`${about} is forbidden: ${text}${because}`, details)
}

function refusal(message: string, details: StatusDetails): StatusError {
  return new StatusError({ code: 403, reason: 'Forbidden', message, details })
}
