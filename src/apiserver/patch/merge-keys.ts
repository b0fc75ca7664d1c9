import { fieldsOf, messageNames } from '../schema/schema.ts'

/** How a list of the API is merged by a strategic patch; lists not named here are replaced. */
export interface ListRule {
  /** The field that identifies an element; absent for lists of plain values. */
  readonly key?: string
}

/**
 * The merge keys that Kubernetes' types declare, by message and field: a list is merged in the same way
 * wherever its message is used, in a Pod or in a Pod template.
 */
const rules: ReadonlyMap<string, ListRule> = new Map<string, ListRule>([
  ['meta.v1.ObjectMeta.finalizers', {}],
  ['meta.v1.ObjectMeta.ownerReferences', { key: 'uid' }],
  ['apps.v1.DaemonSetStatus.conditions', { key: 'type' }],
  ['apps.v1.DeploymentStatus.conditions', { key: 'type' }],
  ['apps.v1.ReplicaSetStatus.conditions', { key: 'type' }],
  ['apps.v1.StatefulSetStatus.conditions', { key: 'type' }],
  ['batch.v1.JobStatus.conditions', { key: 'type' }],
  ['core.v1.NamespaceStatus.conditions', { key: 'type' }],
  ['core.v1.NodeSpec.podCIDRs', {}],
  ['core.v1.NodeStatus.addresses', { key: 'type' }],
  ['core.v1.NodeStatus.conditions', { key: 'type' }],
  ['core.v1.PersistentVolumeClaimStatus.conditions', { key: 'type' }],
  ['core.v1.PodSpec.containers', { key: 'name' }],
  ['core.v1.PodSpec.ephemeralContainers', { key: 'name' }],
  ['core.v1.PodSpec.hostAliases', { key: 'ip' }],
  ['core.v1.PodSpec.imagePullSecrets', { key: 'name' }],
  ['core.v1.PodSpec.initContainers', { key: 'name' }],
  ['core.v1.PodSpec.resourceClaims', { key: 'name' }],
  ['core.v1.PodSpec.schedulingGates', { key: 'name' }],
  ['core.v1.PodSpec.topologySpreadConstraints', { key: 'topologyKey' }],
  ['core.v1.PodSpec.volumes', { key: 'name' }],
  ['core.v1.PodStatus.conditions', { key: 'type' }],
  ['core.v1.PodStatus.hostIPs', { key: 'ip' }],
  ['core.v1.PodStatus.podIPs', { key: 'ip' }],
  ['core.v1.PodStatus.resourceClaimStatuses', { key: 'name' }],
  ['core.v1.ServiceAccount.secrets', { key: 'name' }],
  ['core.v1.ServiceSpec.ports', { key: 'port' }],
  ['core.v1.ServiceStatus.conditions', { key: 'type' }],
  ['policy.v1.PodDisruptionBudgetStatus.conditions', { key: 'type' }],
  ['storage.v1.CSINodeSpec.drivers', { key: 'name' }],
  ...containerRules('core.v1.Container'),
  ...containerRules('core.v1.EphemeralContainer'),
])

/** The messages of objects by kind. All versions of a kind have the same lists. */
const messages: ReadonlyMap<string, string> = new Map(
  [...messageNames()]
    .filter((message) => fieldsOf(message)?.get('metadata')?.type === 'meta.v1.ObjectMeta')
    .map((message) => [message.slice(message.lastIndexOf('.') + 1), message]),
)

/** The rule of a list that is a field of a message. */
export function mergeRuleOf(message: string, field: string): ListRule | undefined {
  return rules.get(`${message}.${field}`)
}

/**
 * The rule of the list at the dotted `path`, without indexes, of a kind; undefined: the list is replaced as a
 * whole.
 */
export function listRule(kind: string, path: string): ListRule | undefined {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let message = messages.get(kind)
  for (const name of names) {
    message = message === undefined ? undefined : fieldsOf(message)?.get(name)?.type
  }
  return message === undefined ? undefined : mergeRuleOf(message, last)
}

function containerRules(message: string): readonly (readonly [string, ListRule])[] {
  return [
    [`${message}.env`, { key: 'name' }],
    [`${message}.ports`, { key: 'containerPort' }],
    [`${message}.volumeDevices`, { key: 'devicePath' }],
    [`${message}.volumeMounts`, { key: 'mountPath' }],
  ]
}
