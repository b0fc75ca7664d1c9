import { plainName } from '../../dns/wire/name.ts'
import { ipBytes, parseIp } from '../../lib/ip.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import { isDnsName } from '../../resources/names.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { usageError } from '../usage/exit-code.ts'

/** What a name refers to in the cluster domain. `outside`: the name is not in that domain. */
export type ZoneName =
  | { readonly kind: 'outside' }
  /**
   * `DOMAIN`, `svc.DOMAIN`, `dns-version.DOMAIN` and every other name that names no namespace. `branch` is the label
   * directly before the domain (`svc`, `dns-version`); empty for the domain itself.
   */
  | { readonly kind: 'zone'; readonly branch: string }
  | { readonly kind: 'namespace'; readonly namespace: string }
  | {
      readonly kind: 'service'
      readonly namespace: string
      readonly service: string
      readonly key: ServiceKey
      /** The labels before the name of the Service, in the order of the name: `_http`, `_tcp`. */
      readonly below: readonly string[]
    }

/** The types of records that can be queried for. */
export const QUERY_TYPES = ['A', 'AAAA', 'SRV', 'PTR', 'CNAME', 'TXT'] as const

/** One of `QUERY_TYPES`. */
export type QueryType = (typeof QUERY_TYPES)[number]

/** What a program in the Pod looks up. */
export interface Question {
  /** In lower case, without the final dot. */
  readonly name: string
  /** Whether the search list is not used: the name ended with a dot, or it is the reverse name of an address. */
  readonly isAbsolute: boolean
  /**
   * Every name is queried for each of these types. A name resolves if it has records of at least one type, as with
   * getaddrinfo(3).
   */
  readonly types: readonly QueryType[]
}

/**
 * Reads the argument NAME and the value of `--type`. Without a type, the types are A and AAAA. An address, without a
 * type or with the type PTR, becomes a PTR query for its reverse name.
 * @throws NP_ORCHCTL_USAGE for a word that is not a DNS name, and for a type that is not one of `QUERY_TYPES`
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

/**
 * The reverse name of an address, which has its PTR records (RFC 1035 §3.5, RFC 3596 §2.5); undefined for other texts.
 */
function reverseName(text: string): string | undefined {
  const ip = parseIp(text)
  if (ip === undefined) return undefined
  const bytes = ipBytes(ip)
  if (bytes.length === 4) return `${[...bytes].toReversed().join('.')}.in-addr.arpa`
  return `${bytes.toHex().split('').toReversed().join('.')}.ip6.arpa`
}

/** What `name` refers to in the cluster domain. Both are in lower case, without the final dot. */
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
