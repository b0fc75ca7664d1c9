import { isLabel, isPathSegment, isSubdomain } from './names.ts'
import type { Reader } from './reader.ts'

/** The fields of an object's metadata that decoders read. */
export interface Metadata {
  readonly name: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly labels: Reader
  readonly annotations: Reader
}

/** Name rules of a kind: the names of most kinds are subdomains, of Services labels, of roles path segments. */
export interface NameRules {
  readonly namespaced: boolean
  readonly name: keyof typeof EXAMPLES
}

const EXAMPLES = {
  label: 'must be a DNS label (RFC 1123): at most 63 of a-z, 0-9 and -, such as my-name',
  subdomain: 'must be a DNS subdomain (RFC 1123): labels joined by dots, such as a.my-name',
  segment: 'must be a name without / and %, and neither . nor .., such as system:my-name',
} as const

const TESTS = { label: isLabel, subdomain: isSubdomain, segment: isPathSegment }

/** Reads the identity of an object; undefined, with a finding, if the object cannot be identified. */
export function readMetadata(object: Reader, rules: NameRules): Metadata | undefined {
  const metadata = object.object('metadata')
  const name = readName(metadata, 'name', TESTS[rules.name], EXAMPLES[rules.name])
  const namespace = rules.namespaced ? readName(metadata, 'namespace', isLabel, EXAMPLES.label) : ''
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

/** The first of these names that a label or annotation map contains, with any value. */
export function firstPresent(map: Reader, names: readonly string[]): string | undefined {
  for (const name of names) if (map.value(name) !== undefined) return name
  return undefined
}

/** The text under the first of these names that is present. */
export function named(map: Reader, names: readonly string[]): string | undefined {
  const name = firstPresent(map, names)
  return name === undefined ? undefined : map.text(name)
}
