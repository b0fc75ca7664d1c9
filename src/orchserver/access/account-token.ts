import type { ServiceAccountName } from '../../auth/service-account-name.ts'
import type { Connection } from '../../client/connection/connection.ts'
import { createApiClient } from '../../client/http/api-client.ts'
import type { ApiFailure } from '../../client/http/failure/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type Json, stringAt, valueAt } from '../../lib/json.ts'
import { packageVersion } from '../../lib/package-version.ts'

export interface AccountTokenRequest {
  readonly account: ServiceAccountName
  /** None: those of the server. */
  readonly audiences: readonly string[]
  /** Milliseconds. */
  readonly life: number
}

export interface AccountToken {
  readonly token: string
  /** As the server wrote it, in RFC 3339. */
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
  { account, audiences, life }: AccountTokenRequest,
  clock: Clock,
): Promise<AccountToken> {
  const client = createApiClient({
    ...{ connection, clock },
    userAgent: `orch-server/${packageVersion()}`,
  })
  try {
    const { namespace, name } = account
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
    const answer = await client.create(path, {
      ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
      spec: {
        expirationSeconds: Math.floor(life / 1000),
        ...(audiences.length > 0 && { audiences }),
      },
    })
    if (!answer.ok) throw refused(account, connection, answer.failure)
    return tokenOf(answer.value as Json, account, connection)
  } finally {
    await client.close()
  }
}

function tokenOf(answer: Json, account: ServiceAccountName, connection: Connection): AccountToken {
  const token = stringAt(answer, 'status', 'token')
  if (token === '') {
    throw failed(
      account,
      `${connection.origin} answered without a token`,
      'look at what serves there',
    )
  }
  return {
    token,
    end: stringAt(answer, 'status', 'expirationTimestamp'),
    life: Number(valueAt(answer, 'spec', 'expirationSeconds')) * 1000,
  }
}

function refused(
  account: ServiceAccountName,
  { origin, source }: Connection,
  { code, message }: ApiFailure,
): NodeProxyError {
  const what = `${origin} does not issue it: ${message}`
  if (code === 0)
    return failed(account, what, 'start orch-server; tokens come from a server that runs')
  if (code === 401) {
    return failed(account, what, `start orch-server again, which writes ${source} anew`)
  }
  const { namespace, name } = account
  const create = `make the account with kubectl -n ${namespace} create serviceaccount ${name}`
  return failed(account, what, code === 404 ? create : 'change what the message names')
}

function failed(
  { namespace, name }: ServiceAccountName,
  what: string,
  hint: string,
): NodeProxyError {
  return new NodeProxyError(
    'NP_ORCHSERVER_TOKEN',
    `there is no token of the service account ${namespace}/${name}: ${what}`,
    { object: `${namespace}/${name}`, hint },
  )
}
