import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Finding } from '../evidence/finding.ts'
import { checkOfEach } from '../evidence/finding.ts'
import { accountOf, isInspected } from '../evidence/inspected-object.ts'
import { isPresent, nameOf, namespaceOf } from '../evidence/objects.ts'

/**
 * A Pod without a token for the API server: the file that clients read holds a token for other servers, or, in the inspected
 * Pod, no token is mounted.
 */
export const apiToken = checkOfEach('pods', 'api-token', (pod, evidence, inspected) => {
  if (!isPresent(pod)) return []
  const wrong =
    rejectedAudience(pod, evidence) ??
    (isInspected('pod', pod, inspected)
      ? (doubtfulAudience(pod, evidence) ?? notMounted(pod, evidence))
      : undefined)
  if (wrong === undefined) return []
  const commands = [`orchctl -n ${namespaceOf(pod)} get pod ${nameOf(pod)} -o yaml`]
  return [{ symptom: 'Pod cannot reach the API', ...wrong, commands }]
})

type Wrong = Pick<Finding, 'cause' | 'evidence' | 'remedy'>

/** Where clients look for their token. */
const TOKEN_FOLDERS = ['kubernetes.io', 'orch.io'].map(
  (brand) => `/var/run/secrets/${brand}/serviceaccount`,
)

/** A token that a Pod sends to the API server, and whose audience is none that the server is known to accept. */
export interface ForeignToken {
  readonly pod: JsonObject
  readonly audience: string
}

/** The foreign tokens of all Pods. */
export function foreignTokens(evidence: ClusterEvidence): readonly ForeignToken[] {
  return evidence
    .all('pods')
    .filter(isPresent)
    .flatMap((pod) => {
      const audience = foreignAudience(pod, evidence)
      return audience === undefined ? [] : [{ pod, audience }]
    })
}

function foreignAudience(pod: JsonObject, { server }: ClusterEvidence): string | undefined {
  if (server === undefined || server.audiences.length === 0) return undefined
  const mounts = arrayAt(pod, 'spec', 'containers').flatMap((one) => arrayAt(one, 'volumeMounts'))
  const volumes = mounts
    .filter((one) => TOKEN_FOLDERS.includes(stringAt(one, 'mountPath').replace(/\/$/, '')))
    .map((one) => stringAt(one, 'name'))
  return tokensOf(pod, volumes)
    .map((token) => stringAt(token, 'audience'))
    .find((one) => one !== '' && !server.audiences.includes(one))
}

function rejectedAudience(pod: JsonObject, evidence: ClusterEvidence): Wrong | undefined {
  const audience = foreignAudience(pod, evidence)
  const { audiences = [], rejectedAudiences = [] } = evidence.server ?? {}
  if (audience === undefined || !rejectedAudiences.includes(audience)) return undefined
  return {
    cause: `the token that it sends to the API server is for ${quote(audience)}, and is rejected (401)`,
    evidence: [
      `the API server rejects a token for ${quote(audience)}, and accepts those for ${audiences.join(', ')}`,
    ],
    remedy: REMEDY,
  }
}

/** A token of which nothing shows that it is rejected: a server may accept more audiences than it publishes. */
function doubtfulAudience(pod: JsonObject, evidence: ClusterEvidence): Wrong | undefined {
  const audience = foreignAudience(pod, evidence)
  if (audience === undefined) return undefined
  return {
    cause: `the token that it sends to the API server is for ${quote(audience)}, which is not the issuer of that server`,
    evidence: [
      `the issuer is ${evidence.server?.issuer ?? ''}; whether --api-audiences has ${quote(audience)}, too, could not be queried`,
    ],
    remedy: REMEDY,
  }
}

const REMEDY = 'remove the audience of the projected token, or mount that token at another path'

/** The projected tokens of a Pod in these volumes; undefined: in all of them. */
function tokensOf(pod: JsonObject, names?: readonly string[]): readonly Json[] {
  return arrayAt(pod, 'spec', 'volumes')
    .filter((volume) => names === undefined || names.includes(stringAt(volume, 'name')))
    .flatMap((volume) => arrayAt(volume, 'projected', 'sources'))
    .flatMap((source) => valueAt(source, 'serviceAccountToken') ?? [])
}

function notMounted(pod: JsonObject, evidence: ClusterEvidence): Wrong | undefined {
  const account = evidence.find('serviceaccounts', accountOf(pod))
  const ofPod = valueAt(pod, 'spec', 'automountServiceAccountToken')
  const ofAccount = valueAt(account, 'automountServiceAccountToken')
  if ((ofPod ?? ofAccount) !== false || tokensOf(pod).length > 0) return undefined
  const where = ofPod === false ? 'the Pod' : `serviceaccount/${nameOf(account ?? {})}`
  return {
    cause: `no token is mounted into it: automountServiceAccountToken of ${where} is false`,
    evidence: ['none of its volumes has a projected serviceAccountToken'],
    remedy: 'set automountServiceAccountToken of the Pod to true if it needs the API server',
  }
}
