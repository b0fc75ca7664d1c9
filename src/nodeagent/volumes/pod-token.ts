import type { ApiClient } from '../../client/http/api-client.ts'
import { failureError } from '../../client/http/failure.ts'
import { requestToken } from '../../client/http/token-request.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { DEFAULT_ACCOUNT } from '../../resources/names.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { TokenSource } from '../plan/volume-plan.ts'

/** The dependencies for requesting tokens. */
export interface TokenTools {
  readonly client: Pick<ApiClient, 'create'>
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'below'>
}

/** A token of a Pod's account. */
export interface PodToken {
  readonly token: string
  /** When to replace it, in milliseconds since the epoch: before 80 % of its lifetime, and before a day. */
  readonly renewAt: number
}

const DAY_MS = 86_400_000
const RENEWED_PART = 0.8
/** The renewals of tokens that were requested together are spread over this part of their lifetime. */
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
