import { USUAL_EVICTION } from '../../controllers/nodetaints-controller.ts'
import type { Cidr } from '../../lib/ip.ts'
import { isQualifiedName } from '../../resources/names.ts'
import type { FieldsOf, PathsUnder } from '../../settings/field.ts'
import { boolean, integer, numberUpTo, text } from '../../settings/scalar-types.ts'
import { addressPools } from './address-pools.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { CONTROLLER_NAMES, fieldTypes, optionalText } from './field-types.ts'

/** Nodes in each second. */
const MAX_RATE = 1_000
const MAX_NODES = 1_000_000

/** What the cluster does by itself. */
export const CONTROLLER_FIELDS: FieldsOf<OrchServerConfiguration, Controlling> = {
  controllers: {
    flag: 'controllers',
    type: fieldTypes.controllers,
    fallback: ['*'],
    doc: `Controllers to run, by name: * stands for all, -name leaves one out. Leave out those that another controller manager runs. They are ${CONTROLLER_NAMES.join(', ')}.`,
  },
  'loadBalancer.addressPools': {
    flag: 'load-balancer-pool',
    type: addressPools,
    fallback: [],
    doc: 'Networks such as 192.0.2.0/24 and ranges such as 192.0.2.10-192.0.2.20, of either family, that Services of type LoadBalancer get their addresses from; in a file also pools with a name, for some Services only (load-balancers.md). Empty: another controller assigns them.',
  },
  'loadBalancer.loadBalancerClass': {
    flag: 'load-balancer-class',
    type: text((name) =>
      name === '' || isQualifiedName(name)
        ? undefined
        : 'write a name such as example.com/internal',
    ),
    fallback: '',
    doc: 'The spec.loadBalancerClass of the Services that get addresses of the pools. Empty: Services without a class.',
  },
  'nodeEviction.rate': {
    flag: 'node-eviction-rate',
    type: numberUpTo(MAX_RATE),
    fallback: USUAL_EVICTION.rate,
    doc: 'Nodes per second whose Pods are deleted because the node is out, in each zone: 0.1 is one node in 10 s. 0: none.',
  },
  'nodeEviction.secondaryRate': {
    flag: 'secondary-node-eviction-rate',
    type: numberUpTo(MAX_RATE),
    fallback: USUAL_EVICTION.secondaryRate,
    doc: 'The same for a large zone in which too many nodes are out. In a smaller zone these nodes then keep their Pods.',
  },
  'nodeEviction.unhealthyShare': {
    flag: 'unhealthy-zone-threshold',
    type: numberUpTo(1),
    fallback: USUAL_EVICTION.unhealthyShare,
    doc: 'Too many nodes of a zone are out when their share is at least this: 0.55 is 55 %. It counts if three nodes or more are out, and not all.',
  },
  'nodeEviction.largeZone': {
    flag: 'large-cluster-size-threshold',
    type: integer(0, MAX_NODES),
    fallback: USUAL_EVICTION.largeZone,
    doc: 'A zone with more nodes is large.',
  },
}

/** Running Pods on this machine, without a container runtime. */
export const SANDBOX_NODE_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'sandboxNode'>
> = {
  'sandboxNode.enabled': {
    flag: 'sandbox-node',
    type: boolean,
    fallback: false,
    doc: 'Make this machine a node: Pods run as processes from their command, each in a network namespace; images are ignored. Needs root.',
  },
  'sandboxNode.name': optionalText('node-name', 'Name of the node. Empty: the name of the host.'),
  'sandboxNode.addresses': {
    flag: 'node-ip',
    type: fieldTypes.addresses,
    fallback: [],
    doc: 'Addresses of the node, the primary one first, one of each family. Empty: the first of this machine that is no loopback address. A machine without such an address does not become a node.',
  },
  'sandboxNode.podCIDRs': {
    flag: 'pod-cidr',
    type: fieldTypes.podNetworks,
    fallback: ['10.244.0.0/24' as Cidr],
    doc: 'Network that the Pods of the node get their addresses from; a second one of the other family after a comma for dual stack. The longest prefix is /30, for IPv6 /126.',
  },
  'sandboxNode.bridge': {
    flag: 'pod-bridge',
    type: fieldTypes.interfaceName,
    fallback: 'cbr0',
    doc: 'Name of the bridge of the Pods, which the server creates.',
  },
  'sandboxNode.clusterDNS': {
    flag: 'cluster-dns',
    type: fieldTypes.addresses,
    fallback: [],
    doc: 'Addresses of the DNS server that the resolv.conf of Pods names, such as that of the Service cluster-dns; their port is 53. Empty: those of dns.addresses with that port; none there: Pods resolve as this machine does.',
  },
  'sandboxNode.resolvConf': {
    flag: 'resolv-conf',
    type: text(),
    fallback: '/etc/resolv.conf',
    doc: 'File of the resolver for Pods that use that of their node, and whose search domains follow those of the cluster.',
  },
  'sandboxNode.namespacePrefix': {
    flag: 'pod-namespace-prefix',
    type: fieldTypes.namespacePrefix,
    fallback: 'orch-pod',
    doc: 'Prefix of the names of the Pods’ network namespaces. All namespaces with it belong to this server, which removes those that no Pod needs. Each server of a machine needs its own prefix, and none may be that of another one followed by a hyphen.',
  },
}

type Controlling =
  | 'controllers'
  | PathsUnder<OrchServerConfiguration, 'loadBalancer' | 'nodeEviction'>
