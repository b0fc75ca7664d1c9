import { expect } from 'vitest'
import { backendProgram } from '../lab/daemon-config.ts'
import type { Namespace } from '../lab/namespace.ts'
import { CLUSTER_IP, CLUSTER_IP_V6, HAIRPIN, NODE_PORT, REFUSAL } from './probes.ts'
import type { Sabotage, Sabotages } from './sabotage.ts'

function tool(node: Namespace, program: string, ...args: readonly string[]): Promise<string> {
  return node.exec([backendProgram(program), ...args])
}

/** The first rule of `table` that contains all of `words`, as `iptables-save` prints it. */
async function findRule(
  node: Namespace,
  program: string,
  table: string,
  words: readonly string[],
): Promise<string[]> {
  const saved = await tool(node, `${program}-save`, '-t', table)
  const line = saved.split('\n').find((rule) => words.every((word) => rule.includes(word)))
  expect(line, `no rule with ${words.join(' ')} in:\n${saved}`).toBeDefined()
  return splitRule(line ?? '')
}

function splitRule(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] ?? found[2] ?? '')
}

async function deleteRule(
  node: Namespace,
  program: string,
  table: string,
  words: readonly string[],
): Promise<void> {
  const [, ...rule] = await findRule(node, program, table, words)
  await tool(node, program, '-w', '-t', table, '-D', ...rule)
}

const flush =
  (program: string, ...args: readonly string[]) =>
  async (node: Namespace): Promise<void> => {
    await tool(node, program, '-w', ...args)
  }

const rule =
  (program: string, table: string, ...words: readonly string[]) =>
  (node: Namespace): Promise<void> =>
    deleteRule(node, program, table, words)

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
      for (const table of ['nat', 'filter', 'mangle']) {
        await tool(node, 'iptables', '-w', '-t', table, '-F')
        await tool(node, 'iptables', '-w', '-t', table, '-X')
      }
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
      const [, chain = '', ...rest] = await findRule(node, 'iptables', 'nat', [
        '-A',
        '10.180.0.1:80',
      ])
      const altered = rest.map((word) => word.replace('10.180.0.1:80', '10.180.0.1:81'))
      await tool(node, 'iptables', '-w', '-t', 'nat', '-D', chain, ...rest)
      await tool(node, 'iptables', '-w', '-t', 'nat', '-A', chain, ...altered)
    },
  },
  {
    what: 'a foreign rule put in front of ours in a chain of ours',
    probe: CLUSTER_IP,
    async harm(node) {
      const [, chain = ''] = await findRule(node, 'iptables', 'nat', ['-A', '10.180.0.1:80'])
      await tool(node, 'iptables', '-w', '-t', 'nat', '-I', chain, '-j', 'RETURN')
    },
  },
]

async function forgetClients(node: Namespace): Promise<void> {
  const names = (await node.exec(['ipset', 'list', '-n'])).trim().split('\n')
  expect(names[0]).not.toBe('')
  for (const name of names) await node.exec(['ipset', 'flush', name])
}

/** With the programs of iptables and ipset. */
export const ofIptables: Sabotages = { changes, forgetClients }
