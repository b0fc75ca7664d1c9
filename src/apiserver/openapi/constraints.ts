/** The fields that are required in a message even though the server fills in defaults. */
export const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'apps.v1.DeploymentCondition': ['type', 'status'],
  'apps.v1.DeploymentSpec': ['selector', 'template'],
  'certificates.v1.CertificateSigningRequest': ['spec'],
  'certificates.v1.CertificateSigningRequestCondition': ['type', 'status'],
  'certificates.v1.CertificateSigningRequestSpec': ['request', 'signerName'],
  'core.v1.Binding': ['target'],
  'core.v1.ConfigMapKeySelector': ['key'],
  'core.v1.Container': ['name'],
  'core.v1.ContainerPort': ['containerPort'],
  'core.v1.EndpointAddress': ['ip'],
  'core.v1.EndpointPort': ['port'],
  'core.v1.EnvVar': ['name'],
  'core.v1.EphemeralContainer': ['name'],
  'core.v1.Event': ['metadata', 'involvedObject'],
  'core.v1.HTTPGetAction': ['port'],
  'core.v1.HTTPHeader': ['name', 'value'],
  'core.v1.HostAlias': ['ip'],
  'core.v1.HostIP': ['ip'],
  'core.v1.HostPathVolumeSource': ['path'],
  'core.v1.KeyToPath': ['key', 'path'],
  'core.v1.NamespaceCondition': ['type', 'status'],
  'core.v1.NodeAddress': ['type', 'address'],
  'core.v1.NodeCondition': ['type', 'status'],
  'core.v1.ObjectFieldSelector': ['fieldPath'],
  'core.v1.PodCondition': ['type', 'status'],
  'core.v1.PodIP': ['ip'],
  'core.v1.PodSpec': ['containers'],
  'core.v1.PortStatus': ['port', 'protocol'],
  'core.v1.SecretKeySelector': ['key'],
  'core.v1.ServiceAccountTokenProjection': ['path'],
  'core.v1.ServicePort': ['port'],
  'core.v1.TCPSocketAction': ['port'],
  'core.v1.Taint': ['key', 'effect'],
  'core.v1.Volume': ['name'],
  'core.v1.VolumeMount': ['name', 'mountPath'],
  'discovery.v1.Endpoint': ['addresses'],
  'discovery.v1.EndpointSlice': ['addressType', 'endpoints'],
  'discovery.v1.ForZone': ['name'],
  'discovery.v1beta1.Endpoint': ['addresses'],
  'discovery.v1beta1.EndpointSlice': ['addressType', 'endpoints'],
  'discovery.v1beta1.ForZone': ['name'],
  'meta.v1.Condition': ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  'meta.v1.LabelSelectorRequirement': ['key', 'operator'],
  'meta.v1.OwnerReference': ['apiVersion', 'kind', 'name', 'uid'],
  'networking.v1.IPBlock': ['cidr'],
  'node.v1.RuntimeClass': ['handler'],
  'rbac.v1.ClusterRoleBinding': ['roleRef'],
  'rbac.v1.PolicyRule': ['verbs'],
  'rbac.v1.RoleBinding': ['roleRef'],
  'rbac.v1.RoleRef': ['kind', 'name'],
  'rbac.v1.Subject': ['kind', 'name'],
  'storage.v1.CSIDriver': ['spec'],
  'storage.v1.CSINode': ['spec'],
  'storage.v1.CSINodeDriver': ['name', 'nodeID'],
  'storage.v1.TokenRequest': ['audience'],
  'storage.v1.VolumeAttachment': ['spec'],
  'storage.v1.VolumeAttachmentSpec': ['attacher', 'source', 'nodeName'],
}

const PROTOCOLS = ['SCTP', 'TCP', 'UDP']
const TRAFFIC_POLICIES = ['Cluster', 'Local']
const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6']

/** The allowed values of enumerations, by `message.field`. */
export const ENUMS: Readonly<Record<string, readonly string[]>> = {
  'core.v1.ContainerPort.protocol': PROTOCOLS,
  'core.v1.EndpointPort.protocol': PROTOCOLS,
  'core.v1.PodSpec.dnsPolicy': ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'],
  'core.v1.PodSpec.restartPolicy': ['Always', 'Never', 'OnFailure'],
  'core.v1.ServicePort.protocol': PROTOCOLS,
  'core.v1.ServiceSpec.externalTrafficPolicy': TRAFFIC_POLICIES,
  'core.v1.ServiceSpec.internalTrafficPolicy': TRAFFIC_POLICIES,
  'core.v1.ServiceSpec.ipFamilyPolicy': ['PreferDualStack', 'RequireDualStack', 'SingleStack'],
  'core.v1.ServiceSpec.sessionAffinity': ['ClientIP', 'None'],
  'core.v1.ServiceSpec.type': ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'],
  'core.v1.Taint.effect': ['NoExecute', 'NoSchedule', 'PreferNoSchedule'],
  'discovery.v1.EndpointPort.protocol': PROTOCOLS,
  'discovery.v1.EndpointSlice.addressType': ADDRESS_TYPES,
  'discovery.v1beta1.EndpointPort.protocol': PROTOCOLS,
  'discovery.v1beta1.EndpointSlice.addressType': ADDRESS_TYPES,
  'meta.v1.LabelSelectorRequirement.operator': ['DoesNotExist', 'Exists', 'In', 'NotIn'],
  'networking.v1.NetworkPolicyPort.protocol': PROTOCOLS,
  'rbac.v1.RoleRef.kind': ['ClusterRole', 'Role'],
  'rbac.v1.Subject.kind': ['Group', 'ServiceAccount', 'User'],
}

export function requiredOf(message: string): readonly string[] {
  return REQUIRED[message] ?? (message.endsWith('List') ? ['items'] : [])
}

export function enumOf(message: string, field: string): readonly string[] | undefined {
  return ENUMS[`${message}.${field}`]
}
