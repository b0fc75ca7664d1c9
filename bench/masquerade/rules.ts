import { spawnSync } from 'node:child_process'
import { BACKENDS } from '../lab/plan.ts'
import { ENDPOINTS, endpointsOf, nodePortOf } from './addresses.ts'
import type { Subject } from './subject.ts'

const OUT = 'backends'

/** Targets of iptables for connections to the endpoints. */
const BY_IPTABLES = {
  none: '-j ACCEPT',
  keep: '-j MASQUERADE',
  random: '-j MASQUERADE --random',
  'random-fully': '-j MASQUERADE --random-fully',
  'above-the-clients': '-p tcp -j MASQUERADE --to-ports 61000-65535',
  'snat-persistent': `-j SNAT --to-source ${BACKENDS.node} --persistent`,
} as const

const AT_RANDOM = 'numgen random mod'
/** A client's port always gets the same endpoint. */
const BY_PORT = 'jhash ip saddr . tcp sport mod'

/** The nft expressions that choose the endpoint and masquerade. */
const BY_NFT = {
  keep: [AT_RANDOM, 'masquerade'],
  'fully-random': [AT_RANDOM, 'masquerade fully-random'],
  persistent: [AT_RANDOM, 'masquerade persistent'],
  'keep-endpoint-by-port': [BY_PORT, 'masquerade'],
  'fully-random-endpoint-by-port': [BY_PORT, 'masquerade fully-random'],
} as const

/** Ways to choose the source port of a masqueraded connection, as hand-written rules. */
export const RULES: readonly Subject[] = [
  ...Object.entries(BY_IPTABLES).map(([name, target]) =>
    byRules(`iptables ${name}`, ['iptables-restore'], (loads) => iptablesRules(target, loads)),
  ),
  ...Object.entries(BY_NFT).map(([name, [choice, masquerade]]) =>
    byRules(`nft ${name}`, ['nft', '-f', '-'], (loads) => nftRules([choice, masquerade], loads)),
  ),
]

function byRules(
  name: string,
  program: readonly string[],
  rulesFor: (loads: number) => string,
): Subject {
  return {
    name,
    async start({ node }, { loads }) {
      const command = ['netns', 'exec', node, ...program]
      const rules = rulesFor(loads)
      const { status, stderr } = spawnSync('ip', command, { input: rules, encoding: 'utf8' })
      if (status !== 0) throw new Error(`${name}: ${stderr}\n${rules}`)
      return async () => {}
    },
  }
}

function iptablesRules(target: string, loads: number): string {
  const choices = numbersBelow(loads).flatMap((load) => {
    const match = `-A PREROUTING -p tcp --dport ${nodePortOf(load)} -m addrtype --dst-type LOCAL`
    return endpointsOf(load).map(({ ip, port }, n) => {
      const left = ENDPOINTS - n
      const chance = left === 1 ? '' : `-m statistic --mode random --probability ${1 / left} `
      return `${match} ${chance}-j DNAT --to-destination ${ip}:${port}`
    })
  })
  return ['*nat', ...choices, `-A POSTROUTING -o ${OUT} ${target}`, 'COMMIT', ''].join('\n')
}

function nftRules([choice, masquerade]: readonly [string, string], loads: number): string {
  const rules = numbersBelow(loads).map((load) => {
    const targets = endpointsOf(load).map(({ ip, port }, n) => `${n} : ${ip} . ${port}`)
    const chosen = `${choice} ${targets.length} map { ${targets.join(', ')} }`
    return `fib daddr type local tcp dport ${nodePortOf(load)} dnat to ${chosen}`
  })
  return `table ip measured {
  chain prerouting {
    type nat hook prerouting priority dstnat;
    ${rules.join('\n    ')}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname ${OUT} ${masquerade}
  }
}
`
}

function numbersBelow(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n)
}
