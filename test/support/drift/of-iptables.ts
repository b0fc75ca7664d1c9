import { expect } from 'vitest'
import { backendProgram } from '../lab/daemon-config.ts'
import type { Namespace } from '../lab/namespace.ts'
import { CLUSTER_IP, CLUSTER_IP_V6, HAIRPIN, NODE_PORT, REFUSAL } from './probes.ts'
import type { Sabotage, Sabotages } from './sabotage.ts'

/** The tables that the daemon writes, each with its built-in chains. */
const TABLES = {
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
} as const
type Table = keyof typeof TABLES

/**
 * Runs the lines as one transaction, so that the daemon cannot repair anything between them, as it could between two
 * commands.
 */
async function transact(
  node: Namespace,
  [program, table]: readonly [program: string, table: Table],
  lines: readonly string[],
): Promise<void> {
  const input = [`*${table}`, ...lines, 'COMMIT', ''].join('\n')
  await node.exec([backendProgram(`${program}-restore`), '-w', '--noflush'], { input })
}

/** The first rule of `table` that contains all of `words`, as `iptables-save` prints it after `-A`. */
async function findRule(
  node: Namespace,
  [program, table]: readonly [program: string, table: Table],
  words: readonly string[],
): Promise<string> {
  const saved = await node.exec([backendProgram(`${program}-save`), '-t', table])
  const line = saved.split('\n').find((rule) => words.every((word) => rule.includes(word)))
  expect(line, `no rule with ${words.join(' ')} in:\n${saved}`).toMatch(/^-A /)
  return line?.slice('-A '.length) ?? ''
}

const flush =
  (program: string, ...args: readonly string[]) =>
  (node: Namespace): Promise<string> =>
    node.exec([backendProgram(program), '-w', ...args])

/** Deletes the first rule that contains all of `words`. */
const rule =
  (program: string, table: Table, ...words: readonly string[]) =>
  async (node: Namespace): Promise<void> => {
    const found = await findRule(node, [program, table], words)
    await transact(node, [program, table], [`-D ${found}`])
  }

const changes: readonly Sabotage[] = [
  { what: 'iptables -t nat -F', probe: CLUSTER_IP, harm: flush('iptables', '-t', 'nat', '-F') },
  {
    what: 'the same, seen from outside',
    probe: NODE_PORT,
    harm: flush('iptables', '-t', 'nat', '-F'),
  },
  { what: 'iptables -F', probe: REFUSAL, harm: flush('iptables', '-F') },
  {
    what: 'ip6tables -t nat -F',
    probe: CLUSTER_IP_V6,
    harm: flush('ip6tables', '-t', 'nat', '-F'),
  },
  {
    what: 'iptables -F and -X of every table, as a firewall restart does',
    probe: CLUSTER_IP,
    async harm(node) {
      const emptied = Object.entries(TABLES).flatMap(([table, chains]) => [
        `*${table}`,
        ...chains.map((chain) => `:${chain} ACCEPT [0:0]`),
        'COMMIT',
      ])
      const input = `${emptied.join('\n')}\n`
      await node.exec([backendProgram('iptables-restore'), '-w'], { input })
    },
  },
  {
    what: 'the DNAT rule of one endpoint deleted',
    probe: CLUSTER_IP,
    harm: rule('iptables', 'nat', '-A', '10.180.0.1:80'),
  },
  {
    what: 'the DNAT rule of one IPv6 endpoint deleted',
    probe: CLUSTER_IP_V6,
    harm: rule('ip6tables', 'nat', '-A', '[fd00:10::180:1]:80'),
  },
  {
    what: 'the jump from PREROUTING deleted',
    probe: CLUSTER_IP,
    harm: rule('iptables', 'nat', '-A PREROUTING'),
  },
  {
    what: 'the jump from POSTROUTING deleted',
    probe: HAIRPIN,
    harm: rule('iptables', 'nat', '-A POSTROUTING'),
  },
  {
    what: 'the MASQUERADE rule deleted',
    probe: HAIRPIN,
    harm: rule('iptables', 'nat', '-j MASQUERADE'),
  },
  {
    what: 'an endpoint’s rule altered to another destination',
    probe: CLUSTER_IP,
    async harm(node) {
      const found = await findRule(node, ['iptables', 'nat'], ['-A', '10.180.0.1:80'])
      const altered = found.replace('10.180.0.1:80', '10.180.0.1:81')
      await transact(node, ['iptables', 'nat'], [`-D ${found}`, `-A ${altered}`])
    },
  },
  {
    what: 'a foreign rule put in front of ours in a chain of ours',
    probe: CLUSTER_IP,
    async harm(node) {
      const found = await findRule(node, ['iptables', 'nat'], ['-A', '10.180.0.1:80'])
      await transact(node, ['iptables', 'nat'], [`-I ${found.split(' ')[0]} -j RETURN`])
    },
  },
]

async function forgetClients(node: Namespace): Promise<void> {
  expect(await node.exec(['ipset', 'list', '-n'])).not.toBe('')
  await node.exec(['ipset', 'flush'])
}

/** With the programs of iptables and ipset. */
export const ofIptables: Sabotages = { changes, forgetClients }
