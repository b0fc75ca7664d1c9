import { checkOfEachNode, type NodeFinding } from '../evidence/node-check.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

/** Settings of each family, and how its addresses are recognised. */
const FAMILIES = [
  { setting: 'net.ipv4.ip_forward', family: 'IPv4', isOf: (ip: string) => ip.includes('.') },
  {
    setting: 'net.ipv6.conf.all.forwarding',
    family: 'IPv6',
    isOf: (ip: string) => ip.includes(':'),
  },
] as const

/** The node does not forward packets of a family, or not those of one interface: Pods reach no backend elsewhere. */
export const forwardingOff = checkOfEachNode('forwarding-off', (facts) => {
  if (facts.daemon === undefined || facts.daemon.mode === 'userspace') return []
  const off = FAMILIES.filter(({ setting }) => facts.settings[setting] === '0').filter(({ isOf }) =>
    facts.walks.some(({ dst, service }) => service !== '' && isOf(dst)),
  )
  return off.length > 0 ? off.map(ofNode) : ofInterfaces(facts)
})

function ofNode({ setting, family }: (typeof FAMILIES)[number]): NodeFinding {
  return {
    symptom: 'Connection timeout',
    cause: `the node does not forward ${family}: ${setting} is 0`,
    evidence: [`${setting} = 0`, 'only processes of the node itself reach backends elsewhere'],
    remedy: 'set it, and in /etc/sysctl.d so that it stays; find the program that reset it',
    commands: [`sysctl -w ${setting}=1`],
  }
}

function ofInterfaces({ walks }: NodeFacts): readonly NodeFinding[] {
  const dropped = walks.filter(
    ({ desired, outcomes }) =>
      desired === 'deliver' && outcomes.some(({ text }) => DOES_NOT_FORWARD.test(text)),
  )
  const [first] = dropped
  if (first === undefined) return []
  const names = [...new Set(dropped.map(({ inInterface }) => inInterface))]
  return [
    {
      symptom: 'Connection timeout',
      cause: `the node does not forward packets that come in by ${names.join(', ')}`,
      evidence: dropped
        .slice(0, 3)
        .map(({ src, outcomes }) => `from ${src}: ${outcomes[0]?.text ?? ''}`),
      remedy: 'set forwarding of the interface; find the program that reset it',
      commands: names.map((name) => `sysctl -w net/ipv4/conf/${name}/forwarding=1`),
      services: dropped.map(({ service }) => service),
    },
  ]
}

/** Matches the text of explain. */
const DOES_NOT_FORWARD = /does not forward/
