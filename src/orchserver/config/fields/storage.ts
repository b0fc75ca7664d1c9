import type { Cidr } from '../../../lib/ip.ts'
import type { FieldsOf, PathsUnder } from '../../../settings/field.ts'
import { text } from '../../../settings/scalar-types.ts'
import type { OrchServerConfiguration } from '../configuration.ts'
import { fieldTypes } from '../field-types.ts'

/** How Secrets are encrypted in the store. */
export const ENCRYPTION_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'encryption'>
> = {
  'encryption.keyFile': {
    flag: 'encryption-key-file',
    type: text(),
    fallback: '',
    doc: 'Keys that Secrets are encrypted with in the store, each as NAME:BASE64; the first one writes. A changed file is taken over while running. Servers that share an etcd need the same keys. Empty: pki/encryption.keys in the data directory, which is made.',
    reload: 'restart',
  },
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
    reload: 'restart',
  },
  'etcd.caFile': {
    flag: 'etcd-cafile',
    type: text(),
    fallback: '',
    doc: 'Certificate authorities that etcd is trusted by, PEM. Empty: those of the system.',
    reload: 'restart',
  },
  'etcd.certFile': {
    flag: 'etcd-certfile',
    type: text(),
    fallback: '',
    doc: 'Client certificate for etcd, PEM.',
    reload: 'restart',
  },
  'etcd.keyFile': {
    flag: 'etcd-keyfile',
    type: text(),
    fallback: '',
    doc: 'Key of etcd.certFile, PEM.',
    reload: 'restart',
  },
  'etcd.prefix': {
    flag: 'etcd-prefix',
    type: fieldTypes.etcdPrefix,
    fallback: '/registry',
    doc: 'All keys in etcd lie under it; servers of one cluster share it.',
    reload: 'restart',
  },
  'services.clusterIPRange': {
    flag: 'service-cluster-ip-range',
    type: fieldTypes.serviceRanges,
    fallback: ['10.96.0.0/16' as Cidr],
    doc: 'Network that ClusterIPs are taken from; a second one of the other family after a comma for dual stack, the primary one first.',
    reload: 'restart',
  },
  'services.nodePortRange': {
    flag: 'service-node-port-range',
    type: fieldTypes.nodePorts,
    fallback: { first: 30_000, last: 32_767 },
    doc: 'Ports that node ports are taken from, both ends included.',
    reload: 'restart',
  },
}
