import { expect, test } from 'vitest'
import type { CommandOutput } from '../host/run-command.ts'
import { listNftables } from './read-nftables.ts'

/** Records commands; `fail`: a part of those that fail. */
function runner(fail?: string, status = 1) {
  const commands: string[] = []
  const run = async (program: string, args: readonly string[]): Promise<CommandOutput> => {
    const command = [program, ...args].join(' ')
    commands.push(command)
    const isFailing = fail !== undefined && command.includes(fail)
    return { status: isFailing ? status : 0, stdout: command, stderr: isFailing ? 'no' : '' }
  }
  return { run, commands }
}

const OURS = { family: 'ip', name: 'node-proxy' }
const WHOLE = ['nft -j list ruleset', 'nft -a -t list ruleset']

test('tables of iptables are not listed', async () => {
  const { run, commands } = runner()
  const filter = { family: 'inet', name: 'filter' }
  const tables = [{ family: 'ip', name: 'nat' }, OURS, { family: 'ip6', name: 'filter' }, filter]
  const listings = await listNftables(run, tables)
  expect(commands).toEqual([
    'nft -j list table ip node-proxy',
    'nft -a -t list table ip node-proxy',
    'nft -j list table inet filter',
    'nft -a -t list table inet filter',
  ])
  expect(listings[0]).toEqual({ json: commands[0], text: commands[1] })
})

test.each([
  ['their names are not known', undefined, undefined],
  ['one has an unusual name', [{ family: 'ip', name: 'a b' }], undefined],
  ['one is gone meanwhile', [OURS], 'table ip'],
])('all tables are listed where %s', async (_, tables, fail) => {
  const { run, commands } = runner(fail)
  expect(await listNftables(run, tables)).toEqual([{ json: WHOLE[0], text: WHOLE[1] }])
  expect(commands.slice(-2)).toEqual(WHOLE)
})

test('without nft there are no tables; a failure is an error', async () => {
  expect(await listNftables(runner('nft', 127).run, [OURS])).toEqual([])
  await expect(listNftables(runner('ruleset').run)).rejects.toMatchObject({
    code: 'NP_EXPLAIN_READ',
  })
})
