import type { ApiClient } from '../../client/http/api-client.ts'
import { type ApiResult, failureError } from '../../client/http/failure.ts'
import { requestToken } from '../../client/http/token-request.ts'
import type { Clock } from '../../lib/clock.ts'
import { isJsonObject, type JsonObject, objectAt, scalarText } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import { DEFAULT_ACCOUNT } from '../../resources/names.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { ObjectResource, TokenSource } from '../plan/volume-plan.ts'

/** A ConfigMap or Secret of a namespace. */
export interface ObjectName {
  readonly namespace: string
  readonly resource: ObjectResource
  readonly name: string
}

/** The values of a ConfigMap or Secret by key. */
export type ObjectValues = ReadonlyMap<string, Buffer>

/**
 * Reads a ConfigMap or Secret; undefined: it does not exist. A node agent may read only those that its Pods
 * need, each by name. Throws an error of the client when it cannot be read; no message contains a value.
 */
export async function readObjectValues(
  client: Pick<ApiClient, 'get'>,
  { namespace, resource, name }: ObjectName,
): Promise<ObjectValues | undefined> {
  const folder = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`
  const found: ApiResult<unknown> = await client.get(`${folder}/${encodeURIComponent(name)}`)
  if (found.ok) return valuesOf(isJsonObject(found.value) ? found.value : {}, resource)
  if (found.failure.code === 404) return undefined
  throw failureError(found.failure, `${resource} ${namespace}/${name}`)
}

function valuesOf(object: JsonObject, resource: ObjectResource): ObjectValues {
  const read = (field: string, encoding: 'utf8' | 'base64') =>
    Object.entries(objectAt(object, field)).map(
      ([key, value]) => [key, Buffer.from(scalarText(value), encoding)] as const,
    )
  if (resource === 'secrets') return new Map(read('data', 'base64'))
  return new Map([...read('data', 'utf8'), ...read('binaryData', 'base64')])
}

/** The dependencies for requesting tokens. */
export interface TokenTools {
  readonly client: Pick<ApiClient, 'create'>
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'below'>
}

/** A token of a Pod's account. */
interface PodToken {
  readonly token: string
  /** When to replace it, in milliseconds since the epoch: before 80 % of its lifetime, and before a day. */
  readonly renewAt: number
}

const DAY_MS = 86_400_000
const RENEWED_PART = 0.8
/** The renewals of tokens that were requested together are spread over this part of the time until the latest renewal. */
const SPREAD_PART = 0.05

/**
 * Requests a token of the Pod's account that is bound to the Pod, so that it ends with the Pod. Throws when the server
 * refuses, or answers without a token.
 */
export async function podToken(
  { client, clock, random }: TokenTools,
  pod: PodPlan,
  { audience, expirationSeconds }: TokenSource,
): Promise<PodToken> {
  const { namespace } = pod
  const name = pod.serviceAccountName || DEFAULT_ACCOUNT
  const from = clock.now()
  const answer = await requestToken(client, {
    namespace,
    name,
    expirationSeconds,
    audiences: audience === '' ? [] : [audience],
    boundTo: { kind: 'Pod', name: pod.name, uid: pod.uid },
  })
  if (!answer.ok) {
    throw failureError(answer.failure, `token of serviceaccount ${namespace}/${name}`)
  }
  const { token, lifeMs } = answer.value
  return { token, renewAt: from + renewalAfter(lifeMs, random) }
}

function renewalAfter(lifeMs: number, random: Pick<Random, 'below'>): number {
  const latest = Math.min(RENEWED_PART * lifeMs, DAY_MS)
  return latest - random.below(Math.max(1, Math.floor(SPREAD_PART * latest)))
}
