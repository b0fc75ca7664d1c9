import type { Gap } from '../mode.ts'

/** What this mode cannot do, and why. docs/semantics.md shows the list. */
export const GAPS: readonly Gap[] = [
  {
    scenario: 'draining with scheduler dh',
    reason:
      'dh keeps choosing a backend of weight 0 and refuses its clients, so a backend that left is removed at once, with its connections',
  },
  {
    scenario: 'node ports on 127.0.0.1 over SCTP',
    reason:
      'IPVS sends nothing with a loopback source to another host; the relay that serves loopback speaks TCP and UDP',
  },
  {
    scenario: 'ICMP "fragmentation needed" from this node about packets to a ClusterIP, IPv4',
    reason:
      'its source would be the ClusterIP, which is not an address of this node; TCP is not affected, because the backend announced its segment size',
  },
  {
    scenario: 'passing on new connections to a deleted Service while its established ones go on',
    reason:
      'they could not be distinguished from those that IPVS still serves, so they are refused until the last one has ended',
  },
  {
    scenario: 'session affinity: one Pod for all ports of a Service',
    reason:
      'the kernel keeps clients for each virtual server, and a virtual server with several ports sends to the port that the client used; a client has a backend for each port and address',
  },
  {
    scenario:
      'session affinity: a client that uses a source port at one address, at another one with the same backend, and at the first again while the kernel remembers that',
    reason:
      'it remembers a connection for 10 s after a reset and for 2 minutes after a close; IPVS makes no new entry for one that comes again (before Linux 5.9 without affinity, too), and finds the connection of an answer by client and backend alone, the newest entry first: the answer comes from the other address, and the client does not take it',
  },
  {
    scenario:
      'session affinity of Pods and processes of the node at node ports and load balancer addresses under policy Local',
    reason:
      'with persistence the kernel would send them to the port that they connect to; their backend is a hash of their address, whatever timeoutSeconds says, so it may be another one when endpoints change',
  },
]
