/** What identifies the elements of a list; a list without a type is one value. */
export type ListType =
  | { readonly type: 'set' }
  /** Elements are identified by these fields, in alphabetical order; an absent field has its default. */
  | { readonly type: 'map'; readonly keys: readonly ListKey[] }

export interface ListKey {
  readonly name: string
  readonly default?: string
}

const set: ListType = { type: 'set' }

const protocol: ListKey = { name: 'protocol', default: 'TCP' }

/**
 * The list types that Kubernetes' types declare (`+listType`), by message and field. They differ from the keys
 * of strategic merge patches, which treat ports of different protocols as the same.
 */
const lists: ReadonlyMap<string, ListType> = new Map([
  ['meta.v1.ObjectMeta.finalizers', set],
  ['meta.v1.ObjectMeta.ownerReferences', by('uid')],
  ['core.v1.ServiceSpec.ports', by('port', protocol)],
  ['core.v1.ServiceStatus.conditions', by('type')],
  ['core.v1.NamespaceStatus.conditions', by('type')],
  ['core.v1.NodeSpec.podCIDRs', set],
  ['core.v1.NodeStatus.addresses', by('type')],
  ['core.v1.NodeStatus.conditions', by('type')],
  ['core.v1.PodSpec.containers', by('name')],
  ['core.v1.PodSpec.initContainers', by('name')],
  ['core.v1.PodSpec.ephemeralContainers', by('name')],
  ['core.v1.PodSpec.volumes', by('name')],
  ['core.v1.PodSpec.imagePullSecrets', by('name')],
  ['core.v1.PodSpec.hostAliases', by('ip')],
  ['core.v1.PodSpec.resourceClaims', by('name')],
  ['core.v1.PodSpec.schedulingGates', by('name')],
  ['core.v1.PodSpec.topologySpreadConstraints', by('topologyKey', { name: 'whenUnsatisfiable' })],
  ['core.v1.PodStatus.conditions', by('type')],
  ['core.v1.PodStatus.podIPs', by('ip')],
  ['core.v1.PodStatus.resourceClaimStatuses', by('name')],
  ['core.v1.ResourceRequirements.claims', by('name')],
  ...containerLists('core.v1.Container'),
  ...containerLists('core.v1.EphemeralContainer'),
  ['core.v1.ServiceAccount.secrets', by('name')],
  ['apps.v1.DaemonSetStatus.conditions', by('type')],
  ['apps.v1.DeploymentStatus.conditions', by('type')],
  ['apps.v1.ReplicaSetStatus.conditions', by('type')],
  ['apps.v1.StatefulSetStatus.conditions', by('type')],
  ['batch.v1.UncountedTerminatedPods.succeeded', set],
  ['batch.v1.UncountedTerminatedPods.failed', set],
  ['core.v1.PersistentVolumeClaimStatus.conditions', by('type')],
  ['policy.v1.PodDisruptionBudgetStatus.conditions', by('type')],
  ['policynetworking.v1alpha2.ClusterNetworkPolicyStatus.conditions', by('type')],
  ['certificates.v1.CertificateSigningRequestStatus.conditions', by('type')],
  ['storage.v1.CSIDriverSpec.volumeLifecycleModes', set],
  ['storage.v1.CSINodeSpec.drivers', by('name')],
])

/** Messages and maps (`Message.field`) that are owned as one value. */
const atomic: ReadonlySet<string> = new Set([
  'meta.v1.LabelSelector',
  'meta.v1.OwnerReference',
  'core.v1.ObjectReference',
  'core.v1.LocalObjectReference',
  'core.v1.TypedLocalObjectReference',
  'core.v1.SecretReference',
  'core.v1.ConfigMapKeySelector',
  'core.v1.SecretKeySelector',
  'core.v1.ObjectFieldSelector',
  'core.v1.ResourceFieldSelector',
  'core.v1.NodeSelector',
  'core.v1.NodeSelectorTerm',
  'rbac.v1.RoleRef',
  'core.v1.ServiceSpec.selector',
  'core.v1.PodSpec.nodeSelector',
  'node.v1.Scheduling.nodeSelector',
])

/** What identifies the elements of a list field; undefined: the list is owned as one value. */
export function listTypeOf(message: string, field: string): ListType | undefined {
  return lists.get(`${message}.${field}`)
}

export function isAtomic(name: string): boolean {
  return atomic.has(name)
}

function by(...keys: readonly (string | ListKey)[]): ListType {
  return {
    type: 'map',
    keys: keys.map((key) => (typeof key === 'string' ? { name: key } : key)),
  }
}

function containerLists(message: string): readonly (readonly [string, ListType])[] {
  return [
    [`${message}.ports`, by('containerPort', protocol)],
    [`${message}.env`, by('name')],
    [`${message}.volumeMounts`, by('mountPath')],
    [`${message}.volumeDevices`, by('devicePath')],
  ]
}
