import { type JsonObject, stringAt, valueAt } from '../../lib/json.ts'

/** What the claims of a token say of its account. */
export interface TokenAccount {
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

const KINDS = { pod: 'pods', secret: 'secrets', node: 'nodes' } as const
const SECRET_CLAIM = 'kubernetes.io/serviceaccount/'

/** The account of a token, by either form of its claims; undefined: it is of no account. */
export function accountOfClaims(payload: JsonObject): TokenAccount | undefined {
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
