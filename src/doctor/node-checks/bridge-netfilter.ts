import { checkOfEachNode } from '../evidence/node-check.ts'

const SETTING = 'net.bridge.bridge-nf-call-iptables'

/** Pods of one bridge answer each other without passing the rules, so that translated addresses stay untranslated. */
export const bridgeNetfilter = checkOfEachNode('bridge-netfilter', (facts) => {
  const { daemon, configuration, settings, modules, interfaces } = facts
  if (daemon === undefined || daemon.mode === 'userspace' || settings[SETTING] === '1') return []
  if (configuration?.masqueradeAll === true) return []
  const ports = Map.groupBy(interfaces, ({ master }) => master)
  const bridges = facts.localBackends.flatMap(({ interface: name, count }) => {
    const isBridge = interfaces.some((one) => one.name === name && one.kind === 'bridge')
    const pods = ports.get(name)?.length ?? 0
    return isBridge && pods > 1 ? [{ name, count, pods }] : []
  })
  if (bridges.length === 0) return []
  const value = settings[SETTING]
  return [
    {
      symptom: 'Connection timeout',
      cause:
        'bridged packets bypass the rules: Pods of one bridge do not reach each other through a Service',
      evidence: [
        value === undefined
          ? `${SETTING} is absent: module br_netfilter is ${modules['br_netfilter'] ?? 'not loaded'}`
          : `${SETTING} = ${value}`,
        ...bridges.map(
          ({ name, count, pods }) =>
            `bridge ${name} has ${pods} ports; ${count} backends are behind it`,
        ),
      ],
      remedy: 'load br_netfilter and set it; or set iptables.masqueradeAll',
      commands: ['modprobe br_netfilter', `sysctl -w ${SETTING}=1`],
    },
  ]
})
