import { isLabel, isPathSegment, isSubdomain } from './names.ts'
import type { Reader } from './reader.ts'

/** Those fields of an object's `metadata` that decoders read. */
export interface Metadata {
  readonly name: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly labels: Reader
  readonly annotations: Reader
}

/** Why a name is refused, by the rule that it breaks. */
const MESSAGES = {
  label: 'must be a DNS label (RFC 1123): at most 63 of a-z, 0-9 and -, such as my-name',
  subdomain: 'must be a DNS subdomain (RFC 1123): labels joined by dots, such as a.my-name',
  segment: 'must be a name without / and %, and neither . nor .., such as system:my-name',
} as const

const TESTS = { label: isLabel, subdomain: isSubdomain, segment: isPathSegment }

/** The rules for the metadata of a kind. */
export interface NameRules {
  readonly namespaced: boolean
  /**
   * The rule for the names of the kind. Names of most kinds are DNS subdomains, those of Services are DNS labels, and
   * those of roles are path segments.
   */
  readonly name: keyof typeof MESSAGES
}

/**
 * Reads the metadata of an object. If its name or namespace is absent or breaks the rules, refuses that field and
 * returns undefined, because the object cannot be identified.
 */
export function readMetadata(object: Reader, rules: NameRules): Metadata | undefined {
  const metadata = object.object('metadata')
  const name = readName(metadata, 'name', TESTS[rules.name], MESSAGES[rules.name])
  const namespace = rules.namespaced ? readName(metadata, 'namespace', isLabel, MESSAGES.label) : ''
  if (name === undefined || namespace === undefined) return undefined
  return {
    name,
    namespace,
    labels: metadata.map('labels'),
    annotations: metadata.map('annotations'),
  }
}

function readName(
  metadata: Reader,
  key: 'name' | 'namespace',
  isName: (text: string) => boolean,
  message: string,
): string | undefined {
  const value = metadata.value(key)
  if (typeof value === 'string' && isName(value)) return value
  metadata.refuse(key, message)
  return undefined
}

/** The first of `names` that a map of labels or annotations contains, with any value; undefined if it has none. */
export function firstPresent(map: Reader, names: readonly string[]): string | undefined {
  for (const name of names) if (map.value(name) !== undefined) return name
  return undefined
}

/** The value, as text, of the first of `names` that the map contains; undefined if it has none. */
export function named(map: Reader, names: readonly string[]): string | undefined {
  const name = firstPresent(map, names)
  return name === undefined ? undefined : map.text(name)
}
