import { expect } from 'vitest'
import type { Namespace } from '../lab/namespace.ts'
import { CLUSTER_IP, CLUSTER_IP_V6, HAIRPIN, NODE_PORT, REFUSAL } from './probes.ts'
import type { Sabotage, Sabotages } from './sabotage.ts'

const nft =
  (...commands: readonly string[]) =>
  (node: Namespace): Promise<string> =>
    node.exec(['nft', commands.join('; ')])

/** The handle of the first rule of a chain that has all of `words`. */
async function handleOf(node: Namespace, chain: string, words: string): Promise<string> {
  const listed = await node.exec(['nft', '-a', 'list', 'chain', 'ip', 'node-proxy', chain])
  const line = listed.split('\n').find((rule) => rule.includes(words))
  const handle = / # handle (\d+)$/.exec(line ?? '')?.[1]
  expect(handle, `no rule with ${words} in:\n${listed}`).toBeDefined()
  return handle ?? ''
}

const withoutRule =
  (chain: string, words: string) =>
  async (node: Namespace): Promise<string> => {
    const handle = await handleOf(node, chain, words)
    return nft(`delete rule ip node-proxy ${chain} handle ${handle}`)(node)
  }

const changes: readonly Sabotage[] = [
  { what: 'nft flush ruleset', probe: CLUSTER_IP, harm: nft('flush ruleset') },
  { what: 'the same, seen from outside', probe: NODE_PORT, harm: nft('flush ruleset') },
  {
    what: 'nft delete table ip node-proxy',
    probe: CLUSTER_IP,
    harm: nft('delete table ip node-proxy'),
  },
  {
    what: 'nft delete table ip6 node-proxy',
    probe: CLUSTER_IP_V6,
    harm: nft('delete table ip6 node-proxy'),
  },
  {
    what: 'the table replaced by an empty one, as a firewall does that loads a file of its own',
    probe: CLUSTER_IP,
    harm: nft('flush ruleset', 'add table ip node-proxy'),
  },
  {
    what: 'the element of one Service deleted',
    probe: CLUSTER_IP,
    harm: nft('delete element ip node-proxy services { 172.30.16.1 . tcp . 80 }'),
  },
  {
    what: 'the element of one endpoint deleted',
    probe: CLUSTER_IP,
    harm: nft('delete element ip node-proxy endpoints { 172.30.16.1 . tcp . 80 . 0 }'),
  },
  {
    what: 'the element of one IPv6 endpoint deleted',
    probe: CLUSTER_IP_V6,
    harm: nft('delete element ip6 node-proxy endpoints { fd00:172:30::16:1 . tcp . 80 . 0 }'),
  },
  {
    what: 'an endpoint’s element altered to another destination',
    probe: CLUSTER_IP,
    harm: nft(
      `delete element ip node-proxy endpoints { 172.30.16.1 . tcp . 80 . 0 }`,
      `add element ip node-proxy endpoints { 172.30.16.1 . tcp . 80 . 0 : 10.180.0.1 . 81 }`,
    ),
  },
  {
    what: 'an element added that no Service has',
    probe: CLUSTER_IP,
    harm: nft('add element ip node-proxy limited-services { 172.30.16.1 . tcp . 80 }'),
  },
  {
    what: 'all elements of a map deleted',
    probe: CLUSTER_IP,
    harm: nft('flush map ip node-proxy endpoints'),
  },
  {
    what: 'the rules of a chain deleted',
    probe: REFUSAL,
    harm: nft('flush chain ip node-proxy unserved'),
  },
  {
    what: 'the jump to node ports deleted',
    probe: NODE_PORT,
    harm: withoutRule('dispatch', 'jump dispatch-node-ports'),
  },
  {
    what: 'the rules of postrouting deleted',
    probe: HAIRPIN,
    harm: nft('flush chain ip node-proxy postrouting'),
  },
  {
    what: 'the masquerade rule of pods that reach themselves deleted',
    probe: HAIRPIN,
    harm: withoutRule('postrouting', '@same-byte'),
  },
  {
    what: 'a rule altered',
    probe: CLUSTER_IP,
    async harm(node) {
      const handle = await handleOf(node, 'dispatch', 'vmap @services')
      const lookup = 'ip daddr . meta l4proto . th sport vmap @services'
      return nft(`replace rule ip node-proxy dispatch handle ${handle} ${lookup}`)(node)
    },
  },
  {
    what: 'the policy of a chain changed to drop',
    probe: CLUSTER_IP,
    harm: nft('chain ip node-proxy filter-forward { policy drop; }'),
  },
  {
    what: 'a foreign rule put in front of ours in a chain of ours',
    probe: CLUSTER_IP,
    harm: nft('insert rule ip node-proxy dispatch return'),
  },
]

async function forgetClients(node: Namespace): Promise<void> {
  const listed = await node.exec(['nft', 'list', 'maps', 'ip'])
  const names = [...listed.matchAll(/map (affinity-\S+) /g)].map(([, name]) => name)
  expect(names).not.toEqual([])
  await nft(...names.map((name) => `flush map ip node-proxy ${name}`))(node)
}

/** With the program nft. */
export const ofNftables: Sabotages = { changes, forgetClients }
