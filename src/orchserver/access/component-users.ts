import { NODES, nodeUserName } from '../../auth/node/node-user.ts'
import { accountGroups, accountUserName } from '../../auth/service-account-name.ts'
import { AUTHENTICATED, type User } from '../../auth/user.ts'

/** The namespace of the accounts of controllers. */
const NAMESPACE = 'kube-system'

/** A controller, by the name of its account: `endpoint-controller`. */
export function controllerUser(account: string): User {
  return {
    name: accountUserName({ namespace: NAMESPACE, name: account }),
    groups: accountGroups(NAMESPACE),
  }
}

/** The agent of a node. */
export function nodeAgentUser(node: string): User {
  return { name: nodeUserName(node), groups: [NODES, AUTHENTICATED] }
}

/** The server of DNS names. */
export const dnsUser: User = { name: 'system:cluster-dns', groups: [AUTHENTICATED] }
