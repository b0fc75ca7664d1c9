import { boolean, duration, integer } from '../../../settings/scalar-types.ts'
import type { FieldsOf, PathsUnder } from './field.ts'

/** Limits and timeouts of the kernel's connection tracking. */
export const conntrackFields: FieldsOf<PathsUnder<'conntrack'>> = {
  'conntrack.maxPerCore': {
    flag: 'conntrack-max-per-core',
    type: integer(0, 1_048_576),
    fallback: 32_768,
    doc: 'Tracked connections per CPU core. The limit of the node is never lowered and never raised above 1048576. 0: leave it, whatever conntrack.min is.',
    reload: 'live',
  },
  'conntrack.min': {
    flag: 'conntrack-min',
    type: integer(0, 1_048_576),
    fallback: 131_072,
    doc: 'Tracked connections of the whole node at least, however few cores it has.',
    reload: 'live',
  },
  'conntrack.tcpEstablishedTimeout': {
    flag: 'conntrack-tcp-timeout-established',
    type: duration(),
    fallback: 86_400_000,
    doc: 'Idle time of established TCP connections. 0: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.tcpCloseWaitTimeout': {
    flag: 'conntrack-tcp-timeout-close-wait',
    type: duration(),
    fallback: 3_600_000,
    doc: 'Idle time of TCP connections in CLOSE_WAIT. 0: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.tcpBeLiberal': {
    flag: 'conntrack-tcp-be-liberal',
    type: boolean,
    fallback: false,
    doc: 'Accept TCP packets outside the window (nf_conntrack_tcp_be_liberal=1). False: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.udpTimeout': {
    flag: 'conntrack-udp-timeout',
    type: duration(),
    fallback: 0,
    doc: 'Idle time of UDP flows without an answer. 0: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.udpStreamTimeout': {
    flag: 'conntrack-udp-timeout-stream',
    type: duration(),
    fallback: 0,
    doc: 'Idle time of UDP flows with answers. 0: as the kernel has it.',
    reload: 'live',
  },
}
