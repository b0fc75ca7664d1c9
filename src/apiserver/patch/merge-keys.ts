/** How a list of the API is merged by a strategic patch; lists not named here are replaced. */
export interface ListRule {
  /** The field that identifies an element; absent for lists of plain values. */
  readonly key?: string
}

/**
 * By the dotted path of a list inside an object of any kind, without indexes:
 * the merge keys that the ecosystem's types declare.
 */
const COMMON: Readonly<Record<string, ListRule>> = {
  'metadata.finalizers': {},
  'metadata.ownerReferences': { key: 'uid' },
}

const CONTAINER_LISTS: Readonly<Record<string, ListRule>> = {
  ports: { key: 'containerPort' },
  env: { key: 'name' },
  volumeMounts: { key: 'mountPath' },
  volumeDevices: { key: 'devicePath' },
}

const BY_KIND: Readonly<Record<string, Readonly<Record<string, ListRule>>>> = {
  Service: {
    'spec.ports': { key: 'port' },
    'status.conditions': { key: 'type' },
  },
  Pod: {
    'spec.volumes': { key: 'name' },
    'spec.imagePullSecrets': { key: 'name' },
    'spec.hostAliases': { key: 'ip' },
    'spec.topologySpreadConstraints': { key: 'topologyKey' },
    ...containers('spec.containers'),
    ...containers('spec.initContainers'),
    ...containers('spec.ephemeralContainers'),
    'status.conditions': { key: 'type' },
    'status.podIPs': { key: 'ip' },
  },
  Node: {
    'spec.podCIDRs': {},
    'status.conditions': { key: 'type' },
    'status.addresses': { key: 'type' },
  },
  Namespace: { 'status.conditions': { key: 'type' } },
}

/** The rule of the list at `path` of a kind; undefined: it is replaced as a whole. */
export function listRule(kind: string, path: string): ListRule | undefined {
  const rules = BY_KIND[kind]
  if (rules !== undefined && Object.hasOwn(rules, path)) return rules[path]
  return Object.hasOwn(COMMON, path) ? COMMON[path] : undefined
}

function containers(path: string): Readonly<Record<string, ListRule>> {
  const lists = Object.entries(CONTAINER_LISTS)
  const inner = Object.fromEntries(lists.map(([list, rule]) => [`${path}.${list}`, rule] as const))
  return { [path]: { key: 'name' }, ...inner }
}
