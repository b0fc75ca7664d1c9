import { plainName } from '../../dns/wire/name.ts'
import { ipBytes, parseIp } from '../../lib/ip.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import { isDnsName } from '../../resources/names.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { usageError } from '../usage/exit-code.ts'

/** What a name means in the cluster domain, or that it is outside of that domain. */
export type ZoneName =
  | { readonly kind: 'outside' }
  /** `DOMAIN`, `svc.DOMAIN`, `dns-version.DOMAIN` and everything else that names no namespace. */
  | { readonly kind: 'zone'; readonly branch: string }
  | { readonly kind: 'namespace'; readonly namespace: string }
  | {
      readonly kind: 'service'
      readonly namespace: string
      readonly service: string
      readonly key: ServiceKey
      /** The labels before the name of the Service. */
      readonly below: readonly string[]
    }

/** The types of records that can be queried for. */
export const QUERY_TYPES = ['A', 'AAAA', 'SRV', 'PTR', 'CNAME', 'TXT'] as const

export type QueryType = (typeof QUERY_TYPES)[number]

/** What a program in the Pod looks up. */
export interface Question {
  /** In lower case, without the final dot. */
  readonly name: string
  /** Whether the search list is not used, because the name ended with a dot, or is the reverse name of an address. */
  readonly isAbsolute: boolean
  /** Each type is queried for at every name. It is enough that one type has records, as for getaddrinfo. */
  readonly types: readonly QueryType[]
}

/**
 * Reads NAME and `--type`. Without a type: A and AAAA, for an address PTR of its reverse name.
 * @throws NP_ORCHCTL_USAGE
 */
export function readQuestion(word: string, type: string | undefined): Question {
  const wanted = type === undefined ? undefined : readType(type)
  const reverse = wanted === undefined || wanted === 'PTR' ? reverseName(word) : undefined
  if (reverse !== undefined) return { name: reverse, isAbsolute: true, types: ['PTR'] }
  if (!isDnsName(word)) {
    throw usageError(`${quote(word)} is no name of DNS`, 'write a name such as web or web.shop')
  }
  return {
    name: plainName(word),
    isAbsolute: word.endsWith('.'),
    types: wanted === undefined ? ['A', 'AAAA'] : [wanted],
  }
}

function readType(text: string): QueryType {
  const upper = text.toUpperCase()
  const found = QUERY_TYPES.find((one) => one === upper)
  if (found !== undefined) return found
  const meant = nearest(upper, QUERY_TYPES)
  const hint =
    meant === undefined ? `write one of ${QUERY_TYPES.join(', ')}` : `did you mean ${meant}?`
  throw usageError(`--type ${quote(text)} is no type that can be queried for`, hint)
}

/** The name under which the PTR records of an address are (RFC 1035 §3.5, RFC 3596 §2.5). */
function reverseName(text: string): string | undefined {
  const ip = parseIp(text)
  if (ip === undefined) return undefined
  const bytes = ipBytes(ip)
  if (bytes.length === 4) return `${[...bytes].toReversed().join('.')}.in-addr.arpa`
  return `${bytes.toHex().split('').toReversed().join('.')}.ip6.arpa`
}

/** Reads a name in lower case, without the final dot. */
export function zoneNameOf(name: string, domain: string): ZoneName {
  if (name === domain) return { kind: 'zone', branch: '' }
  if (!name.endsWith(`.${domain}`)) return { kind: 'outside' }
  const labels = name.slice(0, -domain.length - 1).split('.')
  const branch = labels.pop() ?? ''
  const [namespace, service] = [labels.at(-1), labels.at(-2)]
  if (branch !== 'svc' || namespace === undefined) return { kind: 'zone', branch }
  if (service === undefined) return { kind: 'namespace', namespace }
  const key = `${namespace}/${service}` as ServiceKey
  return { kind: 'service', namespace, service, key, below: labels.slice(0, -2) }
}
