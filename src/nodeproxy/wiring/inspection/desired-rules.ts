import type { Protocol } from '../../../forwarding/entry.ts'
import { localTraffic } from '../../../modes/netfilter/settings/netfilter-settings.ts'
import type { DesiredRules } from '../../explanation/desired-state.ts'
import type { Running } from '../engine/engine.ts'
import type { ThisNode } from '../node/this-node.ts'

const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']

/** What the running node proxy wants beside its table, as of now. */
export function desiredRules(
  { mode }: Pick<Running, 'mode'>,
  node: Pick<ThisNode, 'localAddresses' | 'modeInputs' | 'nodePortScope'>,
): DesiredRules {
  const { config, node: object } = node.modeInputs
  const { masqueradeAll, localhostNodePorts } = config.iptables
  return {
    ...{ mode: mode.name, ownPorts: [...(mode.traffic?.ownPorts ?? [])] },
    unserved: mode.gaps.flatMap(({ scenario, reason }) => {
      const protocol = PROTOCOLS.find((one) => one === scenario)
      return protocol === undefined ? [] : [{ protocol, reason }]
    }),
    ...{ localAddresses: node.localAddresses, nodePortScope: node.nodePortScope },
    localTraffic: localTraffic(config, object),
    ...{ masqueradeAll, localhostNodePorts },
    ...(mode.refusedRanges && { refusedRanges: mode.refusedRanges }),
  }
}
