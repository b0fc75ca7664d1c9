import type { Gap } from '../mode.ts'

/** What this mode cannot do, and why. docs/semantics.md shows the list. */
export const GAPS: readonly Gap[] = [
  {
    scenario: 'SCTP',
    reason: 'the sockets of this process forward TCP and UDP; a Service port of SCTP is not served',
  },
  {
    scenario: 'the source address of clients',
    reason:
      'this process opens the connection to the backend, which therefore sees an address of this node, whatever the traffic policy; the PROXY protocol can carry the client’s address',
  },
  {
    scenario: 'connections that outlive the daemon',
    reason:
      'this process is one end of them, so they end with it, after the time to drain; affinity is forgotten as well',
  },
  {
    scenario: 'NetworkPolicies for connections through Services',
    reason:
      'this process opens the connection to the backend, so egress policies of the client do not see it, and ingress policies of the backend see an address of this node; connections to addresses of Pods are judged',
  },
  {
    scenario: 'refusal by a backend',
    reason:
      'a client is connected before a backend is found, so a client that no backend accepts is reset and not refused',
  },
  {
    scenario: 'IPVS schedulers',
    reason:
      'a backend is chosen in turn (rr) or by the number of its connections (lc); other names are ignored',
  },
  {
    scenario: 'refusing addresses and ports that no Service has',
    reason:
      'with `entry: bind`, no packet for another address reaches this process; with `entry: redirect`, such connections are refused as in other modes',
  },
]
