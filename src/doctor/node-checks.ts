import type { NodeCheck } from './evidence/node-check.ts'
import { backendRefuses } from './node-checks/backend-refuses.ts'
import { bridgeNetfilter } from './node-checks/bridge-netfilter.ts'
import { conntrackFull } from './node-checks/conntrack-full.ts'
import { daemonAbsent } from './node-checks/daemon-absent.ts'
import { differingClock } from './node-checks/differing-clock.ts'
import { differingNode } from './node-checks/differing-node.ts'
import { expiredCredential } from './node-checks/expired-credential.ts'
import { exposedLoopback } from './node-checks/exposed-loopback.ts'
import { foreignProxy } from './node-checks/foreign-proxy.ts'
import { forwardingOff } from './node-checks/forwarding-off.ts'
import { interfaceMtu } from './node-checks/interface-mtu.ts'
import { lostInsertions } from './node-checks/lost-insertions.ts'
import { missingModules } from './node-checks/missing-modules.ts'
import { noLocalEndpoint } from './node-checks/no-local-endpoint.ts'
import { nodeFirewall } from './node-checks/node-firewall.ts'
import { notReady } from './node-checks/not-ready.ts'
import { reversePath } from './node-checks/reverse-path.ts'
import { sourceRanges } from './node-checks/source-ranges.ts'
import { takenNodePort } from './node-checks/taken-node-port.ts'
import { tooManyRules } from './node-checks/too-many-rules.ts'
import { unbalancedLoad } from './node-checks/unbalanced-load.ts'
import { unservedServices } from './node-checks/unserved-services.ts'
import { unusableRoute } from './node-checks/unusable-route.ts'
import { wrongMode } from './node-checks/wrong-mode.ts'

/** Every check of nodes, in the order in which findings are shown: the most far-reaching causes first. */
export const NODE_CHECKS: readonly NodeCheck[] = [
  missingModules,
  daemonAbsent,
  expiredCredential,
  notReady,
  wrongMode,
  foreignProxy,
  forwardingOff,
  unusableRoute,
  nodeFirewall,
  conntrackFull,
  bridgeNetfilter,
  reversePath,
  interfaceMtu,
  sourceRanges,
  noLocalEndpoint,
  backendRefuses,
  takenNodePort,
  unservedServices,
  lostInsertions,
  tooManyRules,
  unbalancedLoad,
  exposedLoopback,
  differingNode,
  differingClock,
]
