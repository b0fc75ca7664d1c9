import { messages } from './messages.ts'

/** The package of the messages of each API group; the group is without the suffix of Kubernetes or ours. */
const packages: ReadonlyMap<string, string> = new Map([
  ['', 'core'],
  ['apps', 'apps'],
  ['discovery', 'discovery'],
  ['coordination', 'coordination'],
  ['events', 'events'],
  ['autoscaling', 'autoscaling'],
  ['networking', 'networking'],
  ['rbac.authorization', 'rbac'],
  ['authentication', 'authentication'],
  ['authorization', 'authorization'],
  ['meta', 'meta'],
])

/** The kinds that clients send under the group and version of the resource that they act on. */
const common = new Set(['DeleteOptions', 'CreateOptions', 'UpdateOptions', 'PatchOptions'])

/** The message of a kind, the same for both suffixes of its group; undefined: the schema has none. */
export function messageOf(apiVersion: string, kind: string): string | undefined {
  if (common.has(kind)) return `meta.v1.${kind}`
  if (apiVersion === 'v1' && kind === 'Status') return 'meta.v1.Status'
  const slash = apiVersion.lastIndexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  const name = packages.get(group.replace(/\.(?:k8s|orch)\.io$/, ''))
  const message = `${name}.${apiVersion.slice(slash + 1)}.${kind}`
  return messages.has(message) ? message : undefined
}
