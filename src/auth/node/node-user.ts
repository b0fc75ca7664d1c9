import type { User } from '../user.ts'

const PREFIX = 'system:node:'

/** The group of all node agents. */
export const NODES = 'system:nodes'

/** How the agent of a node is called where users are. */
export function nodeUserName(node: string): string {
  return `${PREFIX}${node}`
}

/** The Node whose agent a user is; undefined: it is no node agent. Name and group must both say so. */
export function nodeOfUser({ name, groups }: User): string | undefined {
  if (!name.startsWith(PREFIX) || !groups.includes(NODES)) return undefined
  return name.slice(PREFIX.length) || undefined
}
