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
  const { json, text } = await listNftables(run, tables)
  const each = ['table ip node-proxy', 'table inet filter']
  expect(json).toEqual(each.map((table) => `nft -j list ${table}`))
  expect(text).toBe(each.map((table) => `nft -a -t list ${table}`).join(''))
  expect(commands.toSorted()).toEqual(
    [...json, ...each.map((table) => `nft -a -t list ${table}`)].toSorted(),
  )
})

test('a table of iptables is listed if it has base chains of other programs', async () => {
  const tables = [{ family: 'ip', name: 'filter' }, { family: 'ip', name: 'nat' }, OURS]
  const { json } = await listNftables(runner().run, tables, { shared: new Set(['ip filter']) })
  expect(json).toEqual(['nft -j list table ip filter', 'nft -j list table ip node-proxy'])
})

test('without tables of iptables, the rules of all are listed at once', async () => {
  const { run, commands } = runner()
  expect(await listNftables(run, [OURS])).toEqual({
    json: ['nft -j list table ip node-proxy'],
    text: 'nft -a -t list ruleset',
  })
  expect(commands).toHaveLength(2)
})

test.each([
  ['their names are not known', undefined, undefined],
  ['one has an unusual name', [{ family: 'ip', name: 'a b' }], undefined],
  ['one is gone meanwhile', [OURS], 'table ip'],
])('all tables are listed where %s', async (_, tables, fail) => {
  const { run, commands } = runner(fail)
  expect(await listNftables(run, tables)).toEqual({ json: [WHOLE[0]], text: WHOLE[1] })
  expect(commands.slice(-2)).toEqual(WHOLE)
})

test('without nft, or without a table, there are no tables; a failure is an error', async () => {
  expect(await listNftables(runner('nft', 127).run, [OURS])).toEqual({ json: [], text: '' })
  const { run, commands } = runner()
  expect(await listNftables(run, [{ family: 'ip', name: 'nat' }])).toEqual({ json: [], text: '' })
  expect(commands).toEqual([])
  await expect(listNftables(runner('ruleset').run)).rejects.toMatchObject({
    code: 'NP_EXPLAIN_READ',
  })
})

test('a few rules of iptables are listed with those of all, and terse listings have no elements', async () => {
  const { run, commands } = runner()
  const few = { family: 'ip', name: 'nat', rules: 2_000 }
  await listNftables(run, [few, OURS], { isTerse: true })
  expect(commands).toEqual(['nft -j -t list table ip node-proxy', WHOLE[1]])
  await listNftables(run, [{ ...few, rules: 2_001 }, OURS], { isTerse: true })
  expect(commands.slice(2)).toEqual([commands[0], 'nft -a -t list table ip node-proxy'])
})
