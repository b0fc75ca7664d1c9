import type { ApiClient } from '../../client/http/api-client.ts'
import { failureError } from '../../client/http/failure/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { isJsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import { DEFAULT_ACCOUNT } from '../../resources/names.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { TokenSource } from '../plan/volume-plan.ts'

/** What requests tokens. */
export interface TokenTools {
  readonly client: Pick<ApiClient, 'create'>
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'below'>
}

/** A token of a Pod's account. */
export interface PodToken {
  readonly token: string
  /** When to replace it: before 80 % of its life and before a day, milliseconds since the epoch. */
  readonly renewAt: number
}

const DAY_MS = 86_400_000
const RENEWED_PART = 0.8
/** The renewals of tokens that were requested together are spread over this part of their life. */
const SPREAD_PART = 0.05

/**
 * Requests a token of the Pod's account that is bound to the Pod, so that it ends with the Pod. Throws when the server
 * refuses, or answers without a token.
 */
export async function requestToken(
  { client, clock, random }: TokenTools,
  pod: PodPlan,
  { audience, expirationSeconds }: TokenSource,
): Promise<PodToken> {
  const account = pod.serviceAccountName || DEFAULT_ACCOUNT
  const [namespace, name] = [pod.namespace, account].map(encodeURIComponent)
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const from = clock.now()
  const answer = await client.create(path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      ...(audience === '' ? {} : { audiences: [audience] }),
      expirationSeconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid },
    },
  })
  const object = `token of serviceaccount ${pod.namespace}/${account}`
  if (!answer.ok) throw failureError(answer.failure, object)
  const granted = isJsonObject(answer.value) ? answer.value : {}
  const token = stringAt(granted, 'status', 'token')
  const seconds = valueAt(granted, 'spec', 'expirationSeconds')
  const life = 1000 * (typeof seconds === 'number' && seconds > 0 ? seconds : expirationSeconds)
  if (token !== '') return { token, renewAt: from + renewalAfter(life, random) }
  throw new NodeProxyError('NP_NODEAGENT_VOLUME', `${object}: the server answered without one`, {
    object,
  })
}

function renewalAfter(lifeMs: number, random: Pick<Random, 'below'>): number {
  const latest = Math.min(RENEWED_PART * lifeMs, DAY_MS)
  return latest - random.below(Math.max(1, Math.floor(SPREAD_PART * latest)))
}
