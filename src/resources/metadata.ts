import { isLabel, isSubdomain } from './names.ts'
import type { Findings } from './problem.ts'
import { child, isRaw, type Raw, text } from './raw.ts'

export interface Metadata {
  readonly name: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly uid: string
  readonly labels: Raw
  readonly annotations: Raw
}

/** Name rules of a kind: Services have labels for names, most others subdomains. */
export interface NameRules {
  readonly namespaced: boolean
  readonly name: 'label' | 'subdomain'
}

/** Reads what identifies an object; undefined when nothing does. */
export function readMetadata(
  raw: unknown,
  rules: NameRules,
  findings: Findings,
): Metadata | undefined {
  if (!isRaw(raw)) {
    findings.add('', raw, 'must be an object')
    return undefined
  }
  const metadata = child(raw, 'metadata')
  const name = text(metadata, 'name') ?? ''
  const namespace = text(metadata, 'namespace') ?? ''
  if (!(rules.name === 'label' ? isLabel(name) : isSubdomain(name))) {
    findings.add('metadata.name', metadata['name'], `must be a DNS ${rules.name} (RFC 1123)`)
    return undefined
  }
  if (rules.namespaced && !isLabel(namespace)) {
    findings.add('metadata.namespace', metadata['namespace'], 'must be a DNS label (RFC 1123)')
    return undefined
  }
  return {
    name,
    namespace,
    uid: text(metadata, 'uid') ?? '',
    labels: child(metadata, 'labels'),
    annotations: child(metadata, 'annotations'),
  }
}
