import { newSigningKey } from '../../auth/testing/forge.ts'
import type { AccountClaims } from '../../auth/tokens/account-claims.ts'
import type { SigningKey } from '../../auth/tokens/signing-key.ts'
import { TokenIssuer } from '../../auth/tokens/token-issuer.ts'
import { systemClock } from '../../lib/clock.ts'
import { stringAt } from '../../lib/json.ts'
import type { IdentityOptions } from '../authentication/identity-options.ts'
import type { Answer, CallOptions, TestApi, TestOptions } from './test-api.ts'
import { startApi } from './test-api.ts'

const ISSUER = 'https://orch.default.svc'

/** A user whose token is its name, or another one. */
export interface KnownUser {
  readonly name: string
  readonly groups?: readonly string[]
  readonly token?: string
}

export interface IdentityApi extends TestApi {
  /** Signs the tokens that it accepts. */
  readonly key: SigningKey
  /** A request with a token. */
  as(token: string, method: string, path: string, options?: CallOptions): Promise<Answer>
  /** A token for an account that exists. */
  tokenFor(namespace: string, name: string, more?: Partial<AccountClaims>): Promise<string>
}

export interface IdentityTestOptions extends Omit<TestOptions, 'identity'> {
  /** Replaces parts of how the server knows its users. */
  readonly identity?: Partial<IdentityOptions>
}

/** A server that knows users: the administrator `root`, and some others. */
export async function startIdentityApi(
  users: readonly KnownUser[] = [],
  options: IdentityTestOptions = {},
): Promise<IdentityApi> {
  const key = newSigningKey()
  const known: readonly KnownUser[] = [{ name: 'root', groups: ['system:masters'] }, ...users]
  const clock = options.clock ?? systemClock
  const issuer = new TokenIssuer({ issuer: ISSUER, key, clock, newId: () => 'id' })
  const api = await startApi({
    ...options,
    identity: {
      issuers: [ISSUER],
      audiences: [ISSUER],
      keys: () => [key],
      issuer,
      authenticators: [
        {
          authenticate: ({ bearerToken }) => {
            const found = known.find(({ name, token = name }) => token === bearerToken)
            const groups = [...(found?.groups ?? []), 'system:authenticated']
            return Promise.resolve(found && { user: { name: found.name, groups } })
          },
        },
      ],
      ...options.identity,
    },
  })
  const as = (token: string, method: string, path: string, given: CallOptions = {}) =>
    api.call(method, path, {
      ...given,
      headers: { ...given.headers, authorization: `Bearer ${token}` },
    })
  return {
    ...api,
    key,
    as,
    make: async (path, object) => {
      const answer = await as('root', 'POST', path, { body: object })
      if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`)
      return answer.body
    },
    async tokenFor(namespace, name, more = {}) {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`
      const { body } = await as('root', 'GET', path)
      const account = { name, uid: stringAt(body, 'metadata', 'uid') }
      const claims = { namespace, account, ...more }
      return (await issuer.issue({ claims, audiences: [ISSUER], lifetimeSeconds: 600 })).token
    },
  }
}
