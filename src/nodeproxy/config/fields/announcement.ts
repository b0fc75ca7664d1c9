import { FAST_TIMING } from '../../../announcement/election-timing.ts'
import { isQualifiedName } from '../../../resources/names.ts'
import { boolean, duration, listOf, text } from '../../../settings/scalar-types.ts'
import type { FieldsOf, PathsUnder } from './configuration.ts'

const INTERFACE = /^[A-Za-z0-9_.@-]{1,15}$/
/** Shorter durations would be those of a single request. */
const MIN_MS = 100

/** Whether and how this node announces load balancer addresses on its network. */
export const announcementFields: FieldsOf<PathsUnder<'announcement'>> = {
  'announcement.layer2': {
    flag: 'announcement-layer2',
    type: boolean,
    fallback: false,
    doc: 'Whether this node takes part in announcing load balancer addresses on its network: it answers ARP and neighbour solicitations for its share of them, and takes those of a node that died; announcement.md. It needs rights for Leases of kube-system.',
    reload: 'live',
  },
  'announcement.interfaces': {
    flag: 'announcement-interfaces',
    type: listOf(
      'list of interfaces',
      (item) => (INTERFACE.test(item) ? undefined : 'write the name of an interface, such as eth0'),
      INTERFACE,
    ),
    fallback: [],
    doc: 'Interfaces at which addresses are announced: Ethernet, bonds, bridges or VLANs, no ports of them. Empty: those that have an address of the Node object.',
    reload: 'live',
  },
  'announcement.loadBalancerClass': {
    flag: 'announcement-load-balancer-class',
    type: text((name) =>
      name === '' || isQualifiedName(name) ? undefined : 'write a name such as example.com/layer2',
    ),
    fallback: '',
    doc: 'The spec.loadBalancerClass of the Services whose addresses are announced. Empty: Services without a class. All nodes that announce the same Services need the same class.',
    reload: 'live',
  },
  'announcement.leaseDuration': {
    flag: 'announcement-lease-duration',
    type: duration(MIN_MS),
    fallback: FAST_TIMING.leaseDuration,
    doc: 'How long other nodes wait after the last renewal that they saw before they take an address over. Short durations cost writes: announcement.md#timing.',
    reload: 'live',
  },
  'announcement.renewDeadline': {
    flag: 'announcement-renew-deadline',
    type: duration(MIN_MS),
    fallback: FAST_TIMING.renewDeadline,
    doc: 'How long this node answers for an address after the start of its last successful renewal: at most 80 % of leaseDuration. Without an API server an address is silent after it.',
    reload: 'live',
  },
  'announcement.renewInterval': {
    flag: 'announcement-renew-interval',
    type: duration(MIN_MS),
    fallback: FAST_TIMING.renewInterval,
    doc: 'How often this node renews the Lease of each address that it announces: at most two thirds of renewDeadline.',
    reload: 'live',
  },
}
