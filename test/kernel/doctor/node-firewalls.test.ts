import { beforeAll, describe, expect, test } from 'vitest'
import { type BrokenNode, expectFound, run } from '../../support/doctor/broken-node.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { SERVICES } from '../../support/doctor/services.ts'
import { deployAll } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** Rules of other programs in the way, in both variants of iptables; and rules that are meant. */
const lab = useLab()
beforeAll(() => deployAll(lab(), SERVICES))

const NODE_PORTS = '-p tcp --dport 30000:32767'
const firewall = (program: string, rule: string) => ({
  run: [`${program} -I ${rule}`],
  undo: [`${program} -D ${rule}`],
})

const UFW = ['ufw-before-forward', 'ufw-user-forward', 'ufw-reject-forward']

const BROKEN: readonly BrokenNode[] = [
  {
    name: 'iptables-nft drops packets to a backend',
    ...firewall('iptables-nft', 'FORWARD -d 10.180.0.1 -j DROP'),
    check: 'node-firewall',
    cause:
      /drops packets to Services: iptables filter FORWARD: -A FORWARD -d 10\.180\.0\.1\/32 -j DROP/,
    seen: /^the rule has counted \d+ packets so far\n.*: silent/,
  },
  {
    name: 'iptables-legacy drops what is forwarded, in a chain of its own',
    run: [
      'iptables-legacy -N guard',
      'iptables-legacy -A guard -j DROP',
      'iptables-legacy -A FORWARD -i cbr0 -j guard',
    ],
    undo: [
      'iptables-legacy -D FORWARD -i cbr0 -j guard',
      'iptables-legacy -F guard',
      'iptables-legacy -X guard',
    ],
    check: 'node-firewall',
    cause: /iptables-legacy filter guard: -A guard -j DROP/,
  },
  {
    name: 'chains as ufw has them refuse what is forwarded, and its policy is DROP',
    run: [
      'iptables -P FORWARD DROP',
      ...UFW.map((chain) => `iptables -N ${chain}`),
      ...UFW.map((chain, at) => `iptables -I FORWARD ${at + 1} -j ${chain}`),
      'iptables -A ufw-before-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
      'iptables -A ufw-reject-forward -j REJECT --reject-with icmp-port-unreachable',
    ],
    undo: [
      'iptables -P FORWARD ACCEPT',
      ...UFW.map((chain) => `iptables -D FORWARD -j ${chain}`),
      ...UFW.map((chain) => `iptables -F ${chain}`),
      ...UFW.map((chain) => `iptables -X ${chain}`),
    ],
    check: 'node-firewall',
    cause: /refuses packets to Services: iptables filter ufw-reject-forward: /,
  },
  {
    name: 'node ports are closed for everyone outside',
    ...firewall('iptables', `PREROUTING -t raw -i eth0 ${NODE_PORTS} -j DROP`),
    check: 'node-firewall',
    cause: /iptables raw PREROUTING: .*--dport 30000:32767 -j DROP/,
    seen: /from 192\.168\.0\.1 by eth0 to 192\.168\.0\.2:30080 \(nodePort of ns\/two\): silent/,
  },
  {
    name: 'nftables refuses node ports',
    run: [
      'nft add table ip guard',
      'nft add chain ip guard in { type filter hook prerouting priority -200; }',
      'nft add rule ip guard in tcp dport 30000-32767 reject with tcp reset',
    ],
    undo: ['nft delete table ip guard'],
    check: 'node-firewall',
    cause: /refuses packets to Services: nft ip guard in: /,
    seen: /^the rule has no counter/,
  },
]

describe('the first finding', () => {
  test.each(BROKEN)('$name', (broken) => expectFound(lab(), broken))
})

test.each([
  [
    'clients of some networks alone are admitted',
    `PREROUTING -t raw ! -s 192.168.0.0/16 ${NODE_PORTS} -j DROP`,
  ],
  ['packets to other ports are dropped', 'FORWARD -p tcp --dport 81 -j DROP'],
])('%s: nothing', async (_, rule) => {
  try {
    await run(lab(), `iptables -I ${rule}`)
    expect(await nodeFindings(lab())).toEqual([])
  } finally {
    await run(lab(), `iptables -D ${rule}`)
  }
})

test('a network policy drops: nothing', async () => {
  const chain = 'cali-tw-pod'
  try {
    for (const words of [
      `-N ${chain}`,
      `-A ${chain} -d 10.180.0.1 -j DROP`,
      `-I FORWARD -j ${chain}`,
    ]) {
      await run(lab(), `iptables ${words}`)
    }
    expect(await nodeFindings(lab())).toEqual([])
  } finally {
    for (const words of [`-D FORWARD -j ${chain}`, `-F ${chain}`, `-X ${chain}`]) {
      await run(lab(), `iptables ${words}`)
    }
  }
})
