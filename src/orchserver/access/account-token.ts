import type { ServiceAccountName } from '../../auth/service-account-name.ts'
import type { Connection } from '../../client/connection/connection.ts'
import { type ApiClient, createApiClient } from '../../client/http/api-client.ts'
import type { ApiFailure } from '../../client/http/failure.ts'
import { requestToken } from '../../client/http/token-request.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { packageVersion } from '../../lib/process.ts'

export interface AccountTokenRequest {
  readonly account: ServiceAccountName
  /** Empty: the audiences of the server. */
  readonly audiences: readonly string[]
  /** Milliseconds. */
  readonly life: number
  /** Whether the account gets the right to request its next token itself. */
  readonly isRenewable: boolean
}

export interface AccountToken {
  readonly token: string
  /** When the token expires, as the server wrote it, in RFC 3339. */
  readonly end: string
  /** Milliseconds; the server may grant less than was requested. */
  readonly life: number
}

/**
 * A token of a service account, issued by a running server.
 * @throws NP_ORCHSERVER_TOKEN
 */
export async function accountToken(
  connection: Connection,
  { account, audiences, life, isRenewable }: AccountTokenRequest,
  clock: Clock,
): Promise<AccountToken> {
  const client = createApiClient({
    connection,
    clock,
    userAgent: `orch-server/${packageVersion()}`,
  })
  try {
    const expirationSeconds = Math.floor(life / 1000)
    const answer = await requestToken(client, { ...account, audiences, expirationSeconds })
    if (!answer.ok) throw refused(account, connection, answer.failure)
    if (isRenewable) await permitRenewal(client, account, connection)
    const { token, end, lifeMs } = answer.value
    return { token, end, life: lifeMs }
  } finally {
    await client.close()
  }
}

/**
 * Lets an account request tokens for itself, and nothing else. An existing Role or RoleBinding of that name is
 * left unchanged.
 */
async function permitRenewal(
  client: ApiClient,
  account: ServiceAccountName,
  connection: Connection,
): Promise<void> {
  const { namespace } = account
  const group = 'rbac.authorization.k8s.io'
  const metadata = { name: renewalRole(account), namespace }
  const role = {
    apiVersion: `${group}/v1`,
    kind: 'Role',
    metadata,
    rules: [
      {
        apiGroups: [''],
        resources: ['serviceaccounts/token'],
        resourceNames: [account.name],
        verbs: ['create'],
      },
    ],
  }
  const binding = {
    apiVersion: `${group}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: group, kind: 'Role', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  }
  const folder = `/apis/${group}/v1/namespaces/${namespace}`
  for (const [plural, body] of [
    ['roles', role],
    ['rolebindings', binding],
  ] as const) {
    const answer = await client.create(`${folder}/${plural}`, body)
    if (!answer.ok && answer.failure.code !== 409)
      throw refused(account, connection, answer.failure)
  }
}

/** The name of the Role, and of the RoleBinding, by which an account may renew its token. */
export function renewalRole({ name }: ServiceAccountName): string {
  return `${name}:renew-token`
}

function refused(
  account: ServiceAccountName,
  { origin, source }: Connection,
  { code, message }: ApiFailure,
): NodeProxyError {
  const what = `${origin} did not issue one: ${message}`
  if (code === 0)
    return failed(account, what, 'start orch-server; only a running server issues tokens')
  if (code === 401) {
    return failed(account, what, `restart orch-server, which writes ${source} again`)
  }
  const { namespace, name } = account
  const create = `create the account with kubectl -n ${namespace} create serviceaccount ${name}`
  return failed(account, what, code === 404 ? create : 'change what the message names')
}

function failed(
  { namespace, name }: ServiceAccountName,
  what: string,
  hint: string,
): NodeProxyError {
  return new NodeProxyError(
    'NP_ORCHSERVER_TOKEN',
    `got no token of the service account ${namespace}/${name}: ${what}`,
    { object: `${namespace}/${name}`, hint },
  )
}
