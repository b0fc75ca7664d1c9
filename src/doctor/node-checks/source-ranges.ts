import { checkOfEachNode } from '../evidence/node-check.ts'
import { packetText } from './node-firewall.ts'

/** The loadBalancerSourceRanges of a Service do not admit the client that was named. */
export const sourceRanges = checkOfEachNode('source-ranges', ({ walks }) =>
  walks
    .filter(
      ({ purpose, desired, outcomes, sourceRanges: ranges }) =>
        purpose === 'fromClient' &&
        desired === 'drop' &&
        ranges.length > 0 &&
        outcomes.some(({ kind, isOwn }) => kind === 'silent' && isOwn),
    )
    .map((walk) => {
      const { service, src, outcomes } = walk
      const [namespace = '', name = ''] = service.split('/')
      const counted = outcomes[0]?.packets ?? -1
      return {
        symptom: 'External access fails',
        cause: `loadBalancerSourceRanges of service/${service} do not admit ${src}`,
        evidence: [
          `they are ${walk.sourceRanges.join(', ')}`,
          `${packetText(walk)}: dropped${counted < 0 ? '' : `, as ${counted} packets before`}`,
        ],
        remedy: "add the client's network, if it is meant to reach the Service",
        commands: [`kubectl -n ${namespace} edit service ${name}`],
        services: [service],
      }
    }),
)
