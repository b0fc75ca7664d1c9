import { timestamp } from '../lib/duration.ts'
import { type Json, type JsonObject, scalarText, stringAt, valueAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import type { ClusterEvidence } from './evidence/cluster-evidence.ts'
import type { Finding } from './evidence/finding.ts'

const KINDS = { pod: 'pods', secret: 'secrets', node: 'nodes' } as const
const SECRET_CLAIM = 'kubernetes.io/serviceaccount/'

/** What is known of a token, without the token itself. */
export interface TokenEvidence {
  /** Its claims, which are not verified. */
  readonly payload: JsonObject
  /** Milliseconds since 1970. */
  readonly now: number
  /** What the API server says of it (TokenReview); undefined: it could not be queried. */
  readonly isAccepted: boolean | undefined
  /** Whether the server accepts it for the audiences that the token itself names. */
  readonly isAcceptedForItsAudience: boolean | undefined
}

type Wrong = Pick<Finding, 'check' | 'symptom' | 'cause' | 'evidence' | 'remedy'>

/** Why a token of an account is rejected; undefined: nothing shows that it is. */
export function judgeToken(token: TokenEvidence, cluster: ClusterEvidence): Finding | undefined {
  if (token.isAccepted === true) return undefined
  const account = accountOfClaims(token.payload)
  const wrong =
    expired(token) ??
    notYetValid(token) ??
    otherIssuer(token, cluster) ??
    goneAccount(account, cluster) ??
    goneObject(account, cluster) ??
    otherAudience(token, cluster) ??
    rejected(token)
  if (wrong === undefined) return undefined
  const { namespace, name } = account ?? { namespace: '', name: '' }
  return {
    ...wrong,
    object: account === undefined ? 'token' : `serviceaccount/${namespace}/${name}`,
    affects: [],
    commands: [
      account === undefined
        ? 'orchctl create token ACCOUNT'
        : `orchctl -n ${namespace} create token ${name}`,
    ],
  }
}

function expired({ payload, now }: TokenEvidence): Wrong | undefined {
  const end = secondsAt(payload, 'exp')
  if (end === undefined || end * 1_000 > now) return undefined
  const start = secondsAt(payload, 'iat')
  return {
    check: 'token-expired',
    symptom: 'Token expired',
    cause: `the token expired at ${timestamp(end * 1_000)}`,
    evidence: [
      `it is now ${timestamp(now)} here`,
      ...(start === undefined ? [] : [`it was issued for ${end - start} s`]),
    ],
    remedy:
      'request a new token; in a Pod, read the file of the token again for each request: the node replaces it in time',
  }
}

/** How far the clock of the API server may be ahead of ours. */
const TOLERANCE_MS = 60_000

function notYetValid({ payload, now }: TokenEvidence): Wrong | undefined {
  const start = secondsAt(payload, 'nbf') ?? secondsAt(payload, 'iat')
  if (start === undefined || start * 1_000 <= now + TOLERANCE_MS) return undefined
  return {
    check: 'token-not-yet-valid',
    symptom: 'Permission denied',
    cause: `the token is not valid before ${timestamp(start * 1_000)}`,
    evidence: [`it is now ${timestamp(now)} here`],
    remedy: 'correct the clock of this machine, or that of the API server',
  }
}

/** The issuer is the first one that the server names: it may accept tokens of others, too. */
function otherIssuer(
  { payload, isAccepted }: TokenEvidence,
  { server }: ClusterEvidence,
): Wrong | undefined {
  const issuer = stringAt(payload, 'iss')
  if (server === undefined || [server.issuer, SECRET_ISSUER].includes(issuer)) return undefined
  return {
    check: 'token-issuer',
    symptom: 'Permission denied',
    cause: `the token was issued by ${quote(issuer)}, not by this API server${isAccepted === false ? '' : ', as far as is known'}`,
    evidence: [
      `the API server issues tokens as ${quote(server.issuer)}`,
      isAccepted === false
        ? 'the API server rejects it'
        : 'the API server was not queried about the token; it may accept further issuers (--service-account-issuer)',
    ],
    remedy: 'use a token of this cluster, or the server that issued it',
  }
}

/** The issuer of tokens in Secrets. */
const SECRET_ISSUER = 'kubernetes/serviceaccount'

function goneAccount(
  account: TokenAccount | undefined,
  cluster: ClusterEvidence,
): Wrong | undefined {
  if (account === undefined || !cluster.has('serviceaccounts')) return undefined
  const { namespace, name, uid } = account
  const present = cluster.find('serviceaccounts', `${namespace}/${name}`)
  const presentUid = stringAt(present, 'metadata', 'uid')
  if (present !== undefined && uid === presentUid) return undefined
  return {
    check: 'token-account',
    symptom: 'Token does not exist',
    cause:
      present === undefined
        ? `the token is of the ServiceAccount ${namespace}/${name}, which does not exist`
        : `the token is of a ServiceAccount ${namespace}/${name} that was deleted and created again`,
    evidence: [
      `the token is for the uid ${uid}`,
      ...(present === undefined ? [] : [`the present account has the uid ${presentUid}`]),
    ],
    remedy:
      present === undefined
        ? 'create the account, then request a new token'
        : 'request a new token; replace the Pods that were started before that',
  }
}

function goneObject(
  account: TokenAccount | undefined,
  cluster: ClusterEvidence,
): Wrong | undefined {
  const bound = account?.bound
  if (account === undefined || bound === undefined || !cluster.has(bound.kind)) return undefined
  const key = bound.kind === 'nodes' ? bound.name : `${account.namespace}/${bound.name}`
  const present = cluster.find(bound.kind, key)
  if (
    present !== undefined &&
    (bound.uid === '' || stringAt(present, 'metadata', 'uid') === bound.uid)
  )
    return undefined
  return {
    check: 'token-bound-object',
    symptom: 'Token does not exist',
    cause: `the token is bound to an object of ${bound.kind} that is gone: ${key}`,
    evidence: [present === undefined ? `${key} does not exist` : `${key} has another uid`],
    remedy: 'request a new token: this one ended with the object',
  }
}

function otherAudience(token: TokenEvidence, { server }: ClusterEvidence): Wrong | undefined {
  const audiences = audiencesOf(token)
  const isOther =
    server !== undefined &&
    audiences.join('') !== '' &&
    !audiences.some((one) => server.audiences.includes(one))
  const isProven = token.isAccepted === false && token.isAcceptedForItsAudience === true
  if (!isProven && (!isOther || token.isAcceptedForItsAudience === false)) return undefined
  return {
    check: 'token-audience',
    symptom: 'Permission denied',
    cause: `the token is for ${audiences.map(quote).join(', ')}, and not for the API server${isProven ? '' : ', as far as is known'}`,
    evidence: [
      ...(server === undefined ? [] : [`the API server accepts ${server.audiences.join(', ')}`]),
      isProven
        ? 'the API server says that it is valid for its own audience'
        : `the API server ${token.isAccepted === false ? 'rejects the token' : 'was not queried about the token; it may accept further audiences (--api-audiences)'}`,
    ],
    remedy: 'for the API server, request a token that names no audience',
  }
}

function rejected({ isAccepted, payload }: TokenEvidence): Wrong | undefined {
  if (isAccepted !== false) return undefined
  const audiences = audiencesOf({ payload })
  return {
    check: 'token-rejected',
    symptom: 'Permission denied',
    cause: 'the API server rejects the token, though its claims look right',
    evidence: [
      `it has the claims ${Object.keys(payload).join(', ')}`,
      ...(audiences.length === 0 ? [] : [`it is for ${audiences.map(quote).join(', ')}`]),
    ],
    remedy:
      'request a new token: this one is for another audience, or is not signed with a current key of the server',
  }
}

function audiencesOf({ payload }: Pick<TokenEvidence, 'payload'>): readonly string[] {
  return [valueAt(payload, 'aud') ?? []].flat().map(scalarText)
}

function secondsAt(payload: Json, claim: string): number | undefined {
  const value = valueAt(payload, claim)
  return typeof value === 'number' && Math.abs(value) < MAX_SECONDS ? value : undefined
}

/** The largest time that a Date can hold. */
const MAX_SECONDS = 8.64e12

/** What the claims of a token say of its account. */
interface TokenAccount {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The object with which the token ends. */
  readonly bound?: {
    readonly kind: 'pods' | 'secrets' | 'nodes'
    readonly name: string
    /** Empty: the token does not say it. */
    readonly uid: string
  }
}

/** The account of a token, by either form of its claims; undefined: it is of no account. */
function accountOfClaims(payload: JsonObject): TokenAccount | undefined {
  const claims = valueAt(payload, 'kubernetes.io')
  const ofSecret = (claim: string): string => stringAt(payload, `${SECRET_CLAIM}${claim}`)
  if (claims === undefined) {
    const [namespace, name] = [ofSecret('namespace'), ofSecret('service-account.name')]
    const bound = { kind: 'secrets', name: ofSecret('secret.name'), uid: '' } as const
    return name === ''
      ? undefined
      : { namespace, name, uid: ofSecret('service-account.uid'), bound }
  }
  const account = {
    namespace: stringAt(claims, 'namespace'),
    name: stringAt(claims, 'serviceaccount', 'name'),
    uid: stringAt(claims, 'serviceaccount', 'uid'),
  }
  const kind = (['pod', 'secret', 'node'] as const).find(
    (one) => valueAt(claims, one) !== undefined,
  )
  if (account.name === '') return undefined
  if (kind === undefined) return account
  const [name, uid] = [stringAt(claims, kind, 'name'), stringAt(claims, kind, 'uid')]
  return { ...account, bound: { kind: KINDS[kind], name, uid } }
}
