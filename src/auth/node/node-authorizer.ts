import { isPathAction } from '../action.ts'
import type { Authorizer } from '../rbac/authorizer.ts'
import type { User } from '../user.ts'
import { type NodePods, nodePermits } from './node-permits.ts'

const PREFIX = 'system:node:'

/** The group of all node agents. */
export const NODES = 'system:nodes'

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

/** The user name of the agent of a node. */
export function nodeUserName(node: string): string {
  return `${PREFIX}${node}`
}

/**
 * The name of the Node whose agent a user is; undefined: the user is no node agent. Both its name and its group
 * must be those of an agent.
 */
export function nodeOfUser({ name, groups }: User): string | undefined {
  if (!name.startsWith(PREFIX) || !groups.includes(NODES)) return undefined
  return name.slice(PREFIX.length) || undefined
}
