import { checkOfEachNode } from '../evidence/node-check.ts'
import { packetText } from './node-firewall.ts'

const STRICT = 1

/** Strict rp_filter drops packets whose answers would leave by another interface. */
export const reversePath = checkOfEachNode('reverse-path', ({ counters, interfaces, walks }) => {
  const strict = interfaces.filter(({ rpFilter, isUp }) => rpFilter === STRICT && isUp)
  const grown =
    counters === undefined ? 0 : counters.after.reversePath - counters.before.reversePath
  const dropped = walks.filter(({ outcomes }) =>
    outcomes.some(({ where, text }) => where === 'route' && text.includes('rp_filter')),
  )
  if (dropped.length === 0 && (grown <= 0 || strict.length === 0)) return []
  const names = strict.map(({ name }) => name)
  return [
    {
      symptom: 'Connection timeout',
      cause: `rp_filter is strict on ${names.slice(0, 5).join(', ')}, and drops packets whose answers leave by another interface`,
      evidence: [
        ...(counters === undefined
          ? []
          : [
              `IPReversePathFilter grew by ${grown} in ${counters.seconds} s, to ${counters.after.reversePath}`,
            ]),
        ...dropped.slice(0, 3).map(packetText),
      ],
      remedy:
        'set it to 2 (loose) where clients come in by one interface and answers leave by another',
      commands: ['sysctl -w net.ipv4.conf.all.rp_filter=2', 'nstat -az TcpExtIPReversePathFilter'],
      services: dropped.map(({ service }) => service).filter((one) => one !== ''),
    },
  ]
})
