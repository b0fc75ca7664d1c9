import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import { NODES, nodeUserName } from '../../auth/node/node-authorizer.ts'
import { accountGroups, accountUserName } from '../../auth/service-account-name.ts'
import { AUTHENTICATED, type User } from '../../auth/user.ts'

/** The namespace of the accounts of controllers. */
const NAMESPACE = 'kube-system'

/** The user of the DNS server. */
export const dnsUser: User = { name: 'system:cluster-dns', groups: [AUTHENTICATED] }

/** Authenticates the clients of this server that run in its own process. */
export interface ComponentTokens {
  /** Accepts the tokens that `tokenFor` returned. */
  readonly authenticator: Authenticator
  /** The bearer token of a user: the same one at each call. No other process knows it. */
  tokenFor(user: User): string
}

interface Issued {
  readonly user: User
  readonly token: string
  /** SHA-256 of the token. */
  readonly hash: Buffer
}

const TOKEN_BYTES = 32

/**
 * Makes a random token of 256 bits for each user, on demand. Tokens are kept in memory only, so they end with
 * the process. Users with the same name share one token, with the groups of the first of them.
 */
export function createComponentTokens(): ComponentTokens {
  const issued = new Map<string, Issued>()
  const make = (user: User): Issued => {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    return { user, token, hash: hashOf(token) }
  }
  return {
    tokenFor(user) {
      const known = issued.get(user.name) ?? make(user)
      issued.set(user.name, known)
      return known.token
    },
    authenticator: {
      authenticate: ({ bearerToken }) => {
        if (bearerToken === undefined) return Promise.resolve(undefined)
        const hash = hashOf(bearerToken)
        const found = [...issued.values()].find((one) => timingSafeEqual(one.hash, hash))
        return Promise.resolve(found && { user: found.user })
      },
    },
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** The user of a controller. `account`: the name of its service account, such as `endpoint-controller`. */
export function controllerUser(account: string): User {
  return {
    name: accountUserName({ namespace: NAMESPACE, name: account }),
    groups: accountGroups(NAMESPACE),
  }
}

/** The user of the agent of a node. */
export function nodeAgentUser(node: string): User {
  return { name: nodeUserName(node), groups: [NODES, AUTHENTICATED] }
}
