import { execFileSync } from 'node:child_process'
import { constants } from 'node:os'
import fc from 'fast-check'
import type { EntryId, ForwardingEntry } from '../../../src/forwarding/entry.ts'
import { openNftables } from '../../../src/kernel/nftables/netlink-nftables.ts'
import type { TransactionError } from '../../../src/kernel/nftables/nftables.ts'
import { noopMonitor } from '../../../src/kernel/nftables/nftables-monitor.ts'
import type { Command, Table } from '../../../src/kernel/nftables/objects.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { NftablesMode } from '../../../src/modes/nftables/mode.ts'
import { settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { someChange } from '../../support/modes/some-entry.ts'

const ENTRIES = 200

const nft = (...args: readonly string[]) => execFileSync('nft', args, { encoding: 'utf8' })
const nftables = openNftables(systemClock)
const mode = new NftablesMode(settings({ dropMartians: true }), { nftables, monitor: noopMonitor })
const table: Table = { family: 4, name: 'node-proxy' }
const steps: Record<string, unknown> = {}

steps['a table that is not there'] = (await nftables.read(table)) === undefined

for (const [index, { entry }] of fc.sample(someChange, { numRuns: ENTRIES, seed: 1 }).entries()) {
  if (entry) mode.program.replace(...apart(entry, index))
}
const wanted = mode.program.takeChanges()
const { failed } = await mode.apply({ set: [...wanted.keys()], unset: [] })
steps['differs after it was written'] = [...failed, ...(await differences())]

const printed = nft('list', 'ruleset')
const ours = printed.slice(printed.indexOf('table ip node-proxy {'))
nft('delete', 'table', 'ip', 'node-proxy')
nft('delete', 'table', 'ip6', 'node-proxy')
execFileSync('nft', ['-f', '-'], { input: ours })
steps['differs after it was printed and loaded again'] = await differences()
const chains = [...wanted.keys()].filter((key) => /\/chain\/(?:prerouting|output)/.test(key))
const repaired = await mode.apply({ set: chains, unset: [] })
steps['differs after it was repaired'] = [...repaired.failed, ...(await differences())]

/** An entry of its own id, whose ports no other one has. */
function apart(entry: ForwardingEntry, index: number): readonly [EntryId, ForwardingEntry] {
  const [port, family] = entry.id.split('/').slice(-2)
  const id = `shop/s${index}:http/${port}/${family}` as EntryId
  const frontends = entry.frontends.map((one) => ({
    ...one,
    port: (one.ip === 'node' ? 30_000 : 1_000) + index,
  }))
  return [id, { ...entry, id, frontends }]
}

async function differences(): Promise<readonly string[]> {
  const seen = await mode.observe()
  const missing = [...wanted].filter(([key, digest]) => seen.get(key) !== digest)
  const foreign = [...seen.keys()].filter((key) => !wanted.has(key))
  return [...missing.map(([key]) => `differs: ${key}`), ...foreign.map((key) => `foreign: ${key}`)]
}
await mode.cleanup()

const own: Table = { family: 4, name: 'own' }
const keys = [0, 1, 2].map((index) => Buffer.from([10, 96, 0, 1, index, 0, 0, 0]))
const data = Buffer.from([10, 0, 0, 1])
const comment = 'shop/web:http/TCP/4'
await nftables.commit([
  { do: 'addTable', table: own },
  {
    do: 'addSet',
    table: own,
    set: 'shop',
    spec: { key: ['ipv4_addr', 'index'], data: ['ipv4_addr'] },
  },
  {
    do: 'addElements',
    table: own,
    set: 'shop',
    elements: keys.slice(0, 2).map((key) => ({ key, data, comment })),
  },
])
const show = (found: readonly { readonly key: Buffer }[]) =>
  found.map(({ key }) => `${[...key.subarray(0, 4)].join('.')} ${key[4]}`)
steps['elements that were looked up'] = show(await nftables.lookup(own, 'shop', keys.slice(0, 2)))
steps['until the first that is missing'] = show(
  await nftables.lookup(own, 'shop', [keys[0]!, keys[2]!, keys[1]!]),
)
steps['a comment that nft shows'] = /comment "([^"]+)"/.exec(
  nft('list', 'map', 'ip', 'own', 'shop'),
)?.[1]

const refused = async (commands: readonly Command[], generation?: number) =>
  summary(await nftables.commit(commands, generation))
const before = await nftables.generation()
nft('add', 'table', 'ip', 'other')
steps['a transaction of another generation'] = await refused(
  [{ do: 'addTable', table: { family: 4, name: 'late' } }],
  before,
)
const half: Table = { family: 4, name: 'half' }
steps['the second command is refused'] = await refused([
  { do: 'addTable', table: half },
  { do: 'deleteChain', table: half, chain: 'absent' },
])
steps['nothing of it is there'] = (await nftables.read(half)) === undefined

const second = openNftables(systemClock)
const guarded: Table = { family: 4, name: 'guarded' }
await second.commit([{ do: 'addTable', table: guarded, spec: { isOwned: true } }])
steps['a table of another socket'] = await refused([
  { do: 'addTable', table: own },
  { do: 'addChain', table: guarded, chain: 'mine' },
])
second.close()
await nftables.commit([{ do: 'addTable', table: own }])
steps['a table goes with its socket'] = (await nftables.read(guarded)) === undefined
nftables.close()
process.stdout.write(JSON.stringify(steps))

function summary(error: TransactionError | undefined) {
  if (error === undefined) return undefined
  const name = Object.entries(constants.errno).find(([, number]) => number === error.errno)?.[0]
  return {
    ...(error.command === undefined ? {} : { command: error.command }),
    errno: name ?? error.errno,
  }
}
