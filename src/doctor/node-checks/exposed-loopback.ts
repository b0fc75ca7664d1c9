import { checkOfEachNode } from '../evidence/node-check.ts'

const SETTING = 'net.ipv4.conf.all.route_localnet'

/** route_localnet without a rule that keeps neighbours from 127.0.0.1 (CVE-2020-8558). */
export const exposedLoopback = checkOfEachNode('exposed-loopback', ({ settings, walks }) => {
  const reached = walks.filter(
    ({ purpose, outcomes }) =>
      purpose === 'toLoopback' &&
      outcomes.some(
        ({ kind, where }) => kind === 'delivered' || (kind === 'refused' && where === 'socket'),
      ),
  )
  return reached.map(({ src, inInterface, dst, port, outcomes }) => ({
    symptom: 'Services on 127.0.0.1 are exposed',
    cause: `neighbours reach services on 127.0.0.1 of this node by ${inInterface}: no rule drops their packets`,
    evidence: [
      `${SETTING} = ${settings[SETTING] ?? 'absent'}`,
      `from ${src} by ${inInterface} to ${dst} port ${port}: ${outcomes[0]?.kind ?? ''}`,
    ],
    remedy:
      'set it to 0 unless a program needs it; node-proxy sets it with a guard where iptables.localhostNodePorts is true',
    commands: [`sysctl -w ${SETTING}=0`],
  }))
})
