import { isJsonObject } from '../../lib/json.ts'
import type { ApiClient } from './api-client.ts'
import { type ApiResult, localFailure } from './failure.ts'

/** The requested token of a ServiceAccount (`authentication.k8s.io/v1`, TokenRequest). */
export interface TokenRequest {
  readonly namespace: string
  /** The name of the ServiceAccount. */
  readonly name: string
  /** If empty, the audiences of the server. */
  readonly audiences: readonly string[]
  readonly expirationSeconds: number
  /** The object with whose deletion the token becomes invalid. */
  readonly boundTo?: { readonly kind: 'Pod'; readonly name: string; readonly uid: string }
}

export interface GrantedToken {
  readonly token: string
  /** The end as the server wrote it, in RFC 3339. */
  readonly end: string
  /** Milliseconds; the server may grant less than was requested. */
  readonly lifeMs: number
}

/** Requests a token from the API server. */
export async function requestToken(
  client: Pick<ApiClient, 'create'>,
  { namespace, name, audiences, expirationSeconds, boundTo }: TokenRequest,
): Promise<ApiResult<GrantedToken>> {
  const [inNamespace, ofAccount] = [namespace, name].map(encodeURIComponent)
  const path = `/api/v1/namespaces/${inNamespace}/serviceaccounts/${ofAccount}/token`
  const answer = await client.create(path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      ...(audiences.length > 0 && { audiences }),
      expirationSeconds,
      ...(boundTo && { boundObjectRef: { apiVersion: 'v1', ...boundTo } }),
    },
  })
  if (!answer.ok) return answer
  const { spec, status } = isJsonObject(answer.value) ? answer.value : {}
  const { token, expirationTimestamp: end } = isJsonObject(status) ? status : {}
  const seconds = isJsonObject(spec) ? spec['expirationSeconds'] : undefined
  if (typeof token !== 'string' || token === '') {
    const message = 'the server answered a TokenRequest without a token'
    return { ok: false, failure: localFailure('NP_CLIENT_GARBAGE', 'Garbage', message) }
  }
  const granted = typeof seconds === 'number' && seconds > 0 ? seconds : expirationSeconds
  return {
    ok: true,
    value: { token, end: typeof end === 'string' ? end : '', lifeMs: granted * 1_000 },
  }
}
