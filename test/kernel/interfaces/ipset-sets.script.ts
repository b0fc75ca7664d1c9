import { execFileSync } from 'node:child_process'
import { NetlinkSets } from '../../../src/kernel/ipset/netlink-sets.ts'
import type { SetCommand } from '../../../src/kernel/ipset/sets.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'
import { STEPS } from './ipset-steps.ts'
import { walk } from './ipset-walk.ts'

const MANY = 20_000
const sets = new NetlinkSets(rawTransport(NETLINK_NETFILTER), systemClock)
const run = (program: string, args: readonly string[]) =>
  execFileSync(program, args, { timeout: 10_000 }).toString().trim().split('\n')
const ipset = (...args: readonly string[]) => run('ipset', args)

/** Commands of the steps with their members as `ipset` lists them. */
async function listed() {
  for (const { commands } of STEPS) await sets.run(commands)
  const lines = ipset('save').map((line) => line.replace(/timeout \d\d+/g, 'timeout N'))
  await sets.run((await sets.names('')).map((name) => ({ do: 'destroy', name })))
  return lines.toSorted()
}

/** Distinct members, added, read and deleted in bulk; then all refused at once. */
async function bulk() {
  const member = (i: number) => ({
    ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` as IpAddress,
    protocol: 'TCP' as const,
    port: 80,
  })
  const all = (what: 'add' | 'delete', name: string): readonly SetCommand[] =>
    Array.from({ length: MANY }, (_, i) => ({ do: what, name, member: member(i) }))
  const type = { type: 'hash:ip,port', family: 4, maxElements: 1_048_576 } as const
  await sets.run([{ do: 'create', name: 'NP-MANY', type }])
  const empty = (await sets.headers('NP-MANY')).get('NP-MANY')
  const added = (await sets.run(all('add', 'NP-MANY'))).length
  const full = (await sets.headers('NP-MANY')).get('NP-MANY')
  const found = new Set((await sets.members('NP-MANY'))?.map(({ ip }) => ip)).size
  return {
    added,
    found,
    entries: full?.entries,
    hasGrown: (full?.hashSize ?? 0) > (empty?.hashSize ?? 0),
    isSmall: (empty?.memory ?? 0) < 1024,
    refused: (await sets.run(all('add', 'NP-NONE'))).length,
    deleted: (await sets.run(all('delete', 'NP-MANY'))).length,
    left: (await sets.members('NP-MANY'))?.length,
    destroyed: await sets.run([{ do: 'destroy', name: 'NP-MANY' }]),
  }
}

/** A set of sets, and one that another names, both made by `ipset`. */
async function foreign() {
  ipset('create', 'NP-OLD', 'hash:ip', 'maxelem', '3', 'timeout', '0')
  ipset('create', 'LIST', 'list:set')
  ipset('add', 'LIST', 'NP-OLD')
  ipset('add', 'NP-OLD', '192.0.2.1', 'timeout', '0')
  const type = { type: 'hash:ip', family: 4, maxElements: 3, timeout: 0 } as const
  const adopted = await sets.run([{ do: 'create', name: 'NP-OLD', type }])
  const refused = await sets.run([{ do: 'destroy', name: 'NP-OLD' }])
  const headers = Object.fromEntries(await sets.headers(''))
  const members = await sets.members('NP-OLD')
  ipset('destroy', 'LIST')
  ipset('destroy', 'NP-OLD')
  return { adopted, refused, headers, members }
}

const version = await sets.protocolVersion()
const steps = {
  version,
  walked: await walk(sets),
  listed: await listed(),
  bulk: await bulk(),
  foreign: await foreign(),
}
sets.close()
process.stdout.write(JSON.stringify(steps))
