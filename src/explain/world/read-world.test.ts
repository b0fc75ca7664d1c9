import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { RouteQuery } from '../walk/routing.ts'
import { readWorld } from './read-world.ts'

/** A kernel by the outputs of commands; without one, a program of another name than `ip` and `sysctl` is absent. */
function kernel(outputs: Readonly<Record<string, string>>) {
  const commands: string[] = []
  const run: RunCommand = async (program, args) => {
    const command = [program, ...args].join(' ')
    commands.push(command)
    const stdout = outputs[command]
    const isAbsent = stdout === undefined && program !== 'ip' && program !== 'sysctl'
    return { status: isAbsent ? 127 : 0, stdout: stdout ?? '', stderr: '' }
  }
  return { run, commands, readIpvs: async () => undefined }
}

const QUERY: RouteQuery = {
  family: 4,
  protocol: 'TCP',
  src: undefined,
  dst: '192.0.2.1' as IpAddress,
  dstPort: 80,
  inInterface: undefined,
  mark: 0,
}

test.each<[Partial<RouteQuery>, string]>([
  [{}, 'ipproto 6 dport 80'],
  [
    { inInterface: 'eth0', src: '10.0.0.1' as IpAddress },
    'from 10.0.0.1 iif eth0 ipproto 6 dport 80',
  ],
  [{ protocol: 'UDP', mark: 4, dstPort: 0 }, 'mark 4 ipproto 17'],
  [{ protocol: 'SCTP' }, ''],
  [{ protocol: undefined, dstPort: 0 }, ''],
])(
  'a route is queried with protocol and port, which policy rules may have: %j',
  async (query, words) => {
    const { commands, ...readers } = kernel({})
    await (await readWorld(readers)).routing.route({ ...QUERY, ...query })
    expect(commands.at(-1)).toBe(`ip -j -4 route get 192.0.2.1 ${words}`.trim())
  },
)

test('a firewall in a table that has the name of one of iptables drops', async () => {
  const at = { family: 'ip', table: 'filter' }
  const chain = { name: 'input', type: 'filter', hook: 'input', prio: 0, policy: 'drop' }
  const nftables = [{ table: { family: 'ip', name: 'filter' } }, { chain: { ...at, ...chain } }]
  const { commands: _, ...readers } = kernel({
    'iptables-nft-save -c':
      "# Table `filter' contains incompatible base-chains, use 'nft' tool to list them.\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n",
    'nft -j list table ip filter': JSON.stringify({ nftables }),
    'nft -a -t list ruleset': '',
  })
  const nftTables = async () => [{ family: 'ip', name: 'filter' }]
  const { functions } = await readWorld({ ...readers, nftTables })
  expect(functions.map(({ source }) => source)).toEqual([
    'iptables filter INPUT',
    'nft ip filter input',
  ])
})
