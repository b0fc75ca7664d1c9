import { spawnSync } from 'node:child_process'
import { BACKENDS } from '../lab/plan.ts'
import { ENDPOINT_ADDRESSES, NODE_PORT } from './addresses.ts'
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
/** The endpoint that a client's port gets is the same each time. */
const BY_PORT = 'jhash ip saddr . tcp sport mod'

/** Choice of the endpoint, and masquerade, of nft. */
const BY_NFT = {
  keep: [AT_RANDOM, 'masquerade'],
  'fully-random': [AT_RANDOM, 'masquerade fully-random'],
  persistent: [AT_RANDOM, 'masquerade persistent'],
  'keep-endpoint-by-port': [BY_PORT, 'masquerade'],
  'fully-random-endpoint-by-port': [BY_PORT, 'masquerade fully-random'],
} as const

/** Ways to choose the source port of a masqueraded connection, by hand-written rules. */
export const RULES: readonly Subject[] = [
  ...Object.entries(BY_IPTABLES).map(([name, target]) =>
    byRules(`iptables ${name}`, ['iptables-restore'], iptablesRules(target)),
  ),
  ...Object.entries(BY_NFT).map(([name, [choice, masquerade]]) =>
    byRules(`nft ${name}`, ['nft', '-f', '-'], nftRules(choice, masquerade)),
  ),
]

function byRules(name: string, program: readonly string[], rules: string): Subject {
  return {
    name,
    async start({ node }) {
      const command = ['netns', 'exec', node, ...program]
      const { status, stderr } = spawnSync('ip', command, { input: rules, encoding: 'utf8' })
      if (status !== 0) throw new Error(`${name}: ${stderr}\n${rules}`)
      return async () => {}
    },
  }
}

function iptablesRules(target: string): string {
  const match = `-A PREROUTING -p tcp --dport ${NODE_PORT} -m addrtype --dst-type LOCAL`
  const choices = ENDPOINT_ADDRESSES.map(({ ip, port }, n) => {
    const left = ENDPOINT_ADDRESSES.length - n
    const chance = left === 1 ? '' : `-m statistic --mode random --probability ${1 / left} `
    return `${match} ${chance}-j DNAT --to-destination ${ip}:${port}`
  })
  return ['*nat', ...choices, `-A POSTROUTING -o ${OUT} ${target}`, 'COMMIT', ''].join('\n')
}

function nftRules(choice: string, masquerade: string): string {
  const targets = ENDPOINT_ADDRESSES.map(({ ip, port }, n) => `${n} : ${ip} . ${port}`)
  const chosen = `${choice} ${targets.length} map { ${targets.join(', ')} }`
  return `table ip measured {
  chain prerouting {
    type nat hook prerouting priority dstnat;
    fib daddr type local tcp dport ${NODE_PORT} dnat to ${chosen}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname ${OUT} ${masquerade}
  }
}
`
}
