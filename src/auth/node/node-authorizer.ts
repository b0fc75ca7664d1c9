import { isPathAction } from '../action.ts'
import type { Authorizer } from '../rbac/authorizer.ts'
import { type NodePods, nodePermits } from './node-permits.ts'
import { nodeOfUser } from './node-user.ts'

/** Permits node agents what their nodes need; `next` decides everything else. */
export function nodeAuthorizer(pods: NodePods, next: Authorizer): Authorizer {
  return {
    ...next,
    authorize: (user, action) => {
      const node = isPathAction(action) ? undefined : nodeOfUser(user)
      const isAllowed =
        node !== undefined && !isPathAction(action) && nodePermits(node, action, pods)
      return isAllowed
        ? { isAllowed, reason: 'Node: allowed to the agent of the node' }
        : next.authorize(user, action)
    },
  }
}
