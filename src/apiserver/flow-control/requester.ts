import type { IncomingMessage } from 'node:http'
import { parseAccountUserName } from '../../auth/service-account-name.ts'
import { MASTERS, UNSECURED, type User } from '../../auth/user.ts'

/** The sender of a request, as flow control sees it. */
export interface Requester {
  /** Requests with the same text share a queue. */
  readonly client: string
  /** Whether it is a component of the cluster, which has concurrency slots of its own. */
  readonly isSystem: boolean
}

/** The User-Agents of components that the cluster needs to run. */
const SYSTEM_PROGRAM =
  /^(?:orch-[a-z]+|node-(?:agent|proxy)|kube-(?:controller-manager|proxy|scheduler)|kubelet)\//

/** Namespaces whose accounts count as components of the cluster. */
const SYSTEM_NAMESPACES = ['kube-system', 'orch-system']

/** The node agents. */
const NODES = 'system:nodes'

/** The requester: identified by user, or by address and User-Agent if the server has no users. */
export function requesterOf({ socket, headers }: IncomingMessage, user: User): Requester {
  if (user.name !== UNSECURED) return requesterOfUser(user)
  const program = headers['user-agent'] ?? ''
  const client = `${socket.remoteAddress ?? ''} ${program}`
  return { client, isSystem: SYSTEM_PROGRAM.test(program) }
}

/** Cached by user, because a user sends many requests. */
const REQUESTERS = new WeakMap<User, Requester>()

function requesterOfUser(user: User): Requester {
  const known = REQUESTERS.get(user) ?? { client: user.name, isSystem: isComponent(user) }
  REQUESTERS.set(user, known)
  return known
}

function isComponent({ name, groups }: User): boolean {
  const account = parseAccountUserName(name)
  if (account !== undefined) return SYSTEM_NAMESPACES.includes(account.namespace)
  return groups.includes(NODES) || groups.includes(MASTERS) || name.startsWith('system:kube-')
}
