import type { Gap } from '../mode.ts'

/** What mode ipvs cannot do, and why. docs/semantics.md contains these texts. */
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
      'they could not be distinguished from the connections that IPVS still serves, so they are refused until the last of those has ended',
  },
  {
    scenario: 'session affinity: one Pod for all ports of a Service',
    reason:
      'the kernel keeps clients separately for each virtual server, and a virtual server with several ports would send a connection to the port that the client used; so a client has a backend for each port and address',
  },
  {
    scenario:
      'a client that uses one source port at two addresses with the same backend at the same time',
    reason:
      'IPVS finds the connection of an answer by client and backend alone, the newest entry first; so answers of both come from the address that was used last, and the connection to the other one hangs',
  },
  {
    scenario:
      'session affinity: a client that uses one source port at one address, then at another address with the same backend, and then at the first again while the kernel remembers the first connection',
    reason:
      'the kernel remembers a connection for 10 s after a reset and for 2 minutes after a close; meanwhile IPVS makes no new entry for a connection that comes again (before Linux 5.9 without affinity, too), and it finds the connection of an answer by client and backend alone, the newest entry first; so the answer comes from the other address, and the client does not accept it',
  },
  {
    scenario:
      'session affinity of Pods and processes of the node at node ports and load balancer addresses under policy Local',
    reason:
      'with persistence the kernel would send them to the port that they connect to; so their backend follows from a hash of their address, whatever timeoutSeconds says, and may change when endpoints change',
  },
]
