import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { FieldsOf, PathsUnder } from '../../settings/field.ts'
import { ipAddress } from '../../settings/network-types.ts'
import { boolean, duration, integer } from '../../settings/scalar-types.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { fieldTypes, identityTypes, optionalText } from './field-types.ts'

const MINUTE = 60_000

type ServingField =
  | 'dataDir'
  | 'bindAddress'
  | 'advertiseAddress'
  | 'securePort'
  | 'kubeconfig'
  | 'tls.certFile'
  | 'tls.keyFile'
  | 'tls.extraNames'
  | 'page.enabled'
  | 'logging.verbosity'

/** Where the server stores its files, its addresses, and its serving certificate. */
export const SERVING_FIELDS: FieldsOf<OrchServerConfiguration, ServingField> = {
  dataDir: {
    flag: 'data-dir',
    type: fieldTypes.present,
    fallback: '/var/lib/orch-server',
    doc: 'Folder of the store, of certificates and of the kubeconfig. The server creates it if it does not exist, readable by its own user only. One server at a time uses it.',
  },
  bindAddress: {
    flag: 'bind-address',
    type: ipAddress,
    fallback: '127.0.0.1' as IpAddress,
    doc: 'Address to serve on; 0.0.0.0 or :: stands for all addresses of this machine. Pods and other machines cannot reach a loopback address.',
  },
  advertiseAddress: {
    flag: 'advertise-address',
    type: identityTypes.addressOrEmpty,
    fallback: '',
    doc: 'Address at which Pods reach this server: the endpoint of its Service. Empty: the bind address. If that is 0.0.0.0 or ::, the first address of this machine that is no loopback address.',
  },
  securePort: {
    flag: 'secure-port',
    type: integer(0, 65_535),
    fallback: 6443,
    doc: 'Port of HTTPS. 0: any free port; the kubeconfig names it.',
  },
  kubeconfig: optionalText(
    'write-kubeconfig',
    'Where to write a kubeconfig with the address and the certificate authority of this server. Empty: admin.kubeconfig in the data directory.',
  ),
  'tls.certFile': optionalText(
    'tls-cert-file',
    'Certificate to serve with, PEM, followed by those between it and its authority. A changed file is reloaded without a restart. Empty: the server creates and renews one in the data directory.',
  ),
  'tls.keyFile': optionalText('tls-private-key-file', 'Key of tls.certFile, PEM.'),
  'tls.extraNames': {
    flag: 'tls-san',
    type: fieldTypes.names,
    fallback: [],
    doc: 'More DNS names and addresses for the certificate that the server creates.',
  },
  'page.enabled': {
    flag: 'page',
    type: boolean,
    fallback: true,
    doc: 'Serve the page of the cluster for browsers below /page/. Its files need no credentials; it reads what it shows with the credentials of its user.',
  },
  'logging.verbosity': {
    flag: 'v',
    type: integer(0, 10),
    fallback: 0,
    doc: 'How much is logged: 0 to 2 events of operation, 3 to 5 debugging, 6 to 10 everything.',
  },
}

/** How kubelets are reached, and their certificates; the flags are named as in kube-apiserver and kube-controller-manager. */
export const KUBELET_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'kubelet'>
> = {
  'kubelet.clientCertFile': optionalText(
    'kubelet-client-certificate',
    'Certificate that this server presents to kubelets, PEM. A changed file is reloaded without a restart. Empty: the server creates and renews one for the user system:orch-server-kubelet-client in the data directory.',
  ),
  'kubelet.clientKeyFile': optionalText(
    'kubelet-client-key',
    'Key of kubelet.clientCertFile, PEM.',
  ),
  'kubelet.caFile': optionalText(
    'kubelet-certificate-authority',
    'Certificate authorities, PEM. One of them must have signed the certificate of each kubelet, for the address at which it is reached. A changed file is reloaded without a restart. Empty: the authority in the data directory. A kubelet with another certificate is accepted at the first connection; the annotation orch.io/kubelet-certificate of its Node then names this certificate, and later the kubelet needs this one or one of the authority.',
  ),
  'kubelet.preferredAddressTypes': {
    flag: 'kubelet-preferred-address-types',
    type: fieldTypes.nodeAddressTypes,
    fallback: ['InternalIP', 'ExternalIP'],
    doc: 'Types of the addresses of a Node at which its kubelet is reached, the preferred one first: InternalIP, ExternalIP. Names are not resolved.',
  },
  'kubelet.certificateDuration': {
    flag: 'cluster-signing-duration',
    type: duration(MINUTE),
    fallback: 365 * 24 * 60 * MINUTE,
    doc: 'The longest validity of client and serving certificates that kubelets request. A kubelet may request a shorter one. No certificate outlives the authority. A kubelet renews one after 70 to 90 % of its life.',
  },
}

/** How Secrets are encrypted in the store. */
export const ENCRYPTION_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'encryption'>
> = {
  'encryption.keyFile': optionalText(
    'encryption-key-file',
    'Keys that Secrets are encrypted with in the store, each as NAME:BASE64; the first one encrypts what is written. A changed file is reloaded without a restart. Servers that share an etcd need the same keys. Empty: pki/encryption.keys in the data directory, which the server creates.',
  ),
}

type Storage =
  | PathsUnder<OrchServerConfiguration, 'etcd'>
  | PathsUnder<OrchServerConfiguration, 'services'>

/** Where the state of the cluster is stored, and the ranges that ClusterIPs and node ports are allocated from. */
export const STORAGE_FIELDS: FieldsOf<OrchServerConfiguration, Storage> = {
  'etcd.servers': {
    flag: 'etcd-servers',
    type: fieldTypes.urls,
    fallback: [],
    doc: 'Members of an etcd cluster that keeps the state, such as https://192.0.2.1:2379. Empty: the store of this machine in the data directory.',
  },
  'etcd.caFile': optionalText(
    'etcd-cafile',
    'Certificate authorities by which etcd is verified, PEM. Empty: those of the system.',
  ),
  'etcd.certFile': optionalText('etcd-certfile', 'Client certificate for etcd, PEM.'),
  'etcd.keyFile': optionalText('etcd-keyfile', 'Key of etcd.certFile, PEM.'),
  'etcd.prefix': {
    flag: 'etcd-prefix',
    type: fieldTypes.etcdPrefix,
    fallback: '/registry',
    doc: 'Prefix of all keys in etcd. Servers of one cluster have the same one.',
  },
  'services.clusterIPRange': {
    flag: 'service-cluster-ip-range',
    type: fieldTypes.serviceRanges,
    fallback: ['10.96.0.0/16' as Cidr],
    doc: 'Network that ClusterIPs are taken from; a second one of the other family after a comma for dual stack, the primary one first.',
  },
  'services.nodePortRange': {
    flag: 'service-node-port-range',
    type: fieldTypes.nodePorts,
    fallback: { first: 30_000, last: 32_767 },
    doc: 'Ports that node ports are taken from, both ends included.',
  },
}
