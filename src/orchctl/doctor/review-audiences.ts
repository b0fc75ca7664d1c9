import { type ForeignToken, foreignTokens } from '../../doctor/checks/api-token.ts'
import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import { accountOf } from '../../doctor/evidence/inspected-object.ts'
import { nameOf } from '../../doctor/evidence/objects.ts'
import { stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/context.ts'
import { reviewToken } from './review-token.ts'

/** So many audiences are queried. */
const MAX_AUDIENCES = 3
/** The shortest life of a token, in seconds. */
const LIFETIME = 600

/**
 * Which audiences of the tokens that Pods send to the API server it accepts. It publishes its issuer alone, so it is
 * queried with a token like theirs, which is bound to the Pod and forgotten.
 */
export async function reviewAudiences(
  evidence: ClusterEvidence,
  context: CommandContext,
): Promise<ClusterEvidence> {
  const { server } = evidence
  const byAudience = Map.groupBy(foreignTokens(evidence), ({ audience }) => audience)
  if (server === undefined || byAudience.size === 0) return evidence
  const samples = [...byAudience.values()].flatMap(([first]) => first ?? [])
  const reviewed = await Promise.all(
    samples.slice(0, MAX_AUDIENCES).map(async (sample) => {
      return { audience: sample.audience, isAccepted: await isAccepted(sample, context) }
    }),
  )
  const those = (wanted: boolean): readonly string[] =>
    reviewed.filter((one) => one.isAccepted === wanted).map(({ audience }) => audience)
  const audiences = [...server.audiences, ...those(true)]
  return evidence.with({ server: { ...server, audiences, rejectedAudiences: those(false) } })
}

/** Undefined: the user may not query it. */
async function isAccepted(
  { pod, audience }: ForeignToken,
  context: CommandContext,
): Promise<boolean | undefined> {
  const { api } = await context.session()
  const [namespace = '', account = ''] = accountOf(pod).split('/')
  const bound = { name: nameOf(pod), uid: stringAt(pod, 'metadata', 'uid') }
  const answer = await api.request({
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(account)}/token`,
    body: {
      ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
      spec: {
        ...{ audiences: [audience], expirationSeconds: LIFETIME },
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...bound },
      },
    },
  })
  const token = answer.ok ? stringAt(answer.value.body, 'status', 'token') : ''
  if (token !== '') return reviewToken(token, [], context)
  const why = answer.ok ? 'the server issued no token' : answer.failure.message
  context.notice(`not checked: whether tokens for ${quote(audience)} are accepted: ${why}`)
  return undefined
}
