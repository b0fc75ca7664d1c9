import { NetlinkSets } from '../../../src/kernel/ipset/netlink-sets.ts'
import { openIptables } from '../../../src/kernel/iptables/command-iptables.ts'
import type { IptablesVariant } from '../../../src/kernel/iptables/iptables.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { noopMonitor } from '../../../src/kernel/nftables/nftables-monitor.ts'
import { Spawner } from '../../../src/kernel/spawner/spawner.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { IptablesMode } from '../../../src/modes/iptables/mode.ts'
import { objectOf } from '../../../src/modes/netfilter/chains/object.ts'
import { kindOf } from '../../../src/modes/netfilter/object-key.ts'
import type { NetfilterSettings } from '../../../src/modes/netfilter/settings/settings.ts'
import { cidr, settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { DeltaTracker } from '../../../src/sync/delta-tracker.ts'
import { everyShape, manyServices } from './every-shape.ts'

/** Writes every shape of rule, reads all back and prints what the kernel shows otherwise. */
const runner = new Spawner()
const iptables = await openIptables({ runner, backend: process.argv[2] as IptablesVariant })
const kernel = {
  iptables,
  sets: new NetlinkSets(rawTransport(NETLINK_NETFILTER), systemClock),
  monitor: noopMonitor,
}

const VARIANTS: Readonly<Record<string, Partial<NetfilterSettings>>> = {
  'by source': {},
  'by source, everything': {
    localTraffic: { by: 'source', cidrs: [cidr('0.0.0.0/0'), cidr('::/0')] },
    nodePortScope: {
      kind: 'networks',
      networks: [cidr('192.168.0.0/16'), cidr('10.1.2.3/32'), cidr('fd00::/8')],
    },
  },
  'by bridge': {
    localTraffic: { by: 'bridge', name: 'cbr0' },
    localhostNodePorts: true,
    dropMartians: true,
    dropInvalid: false,
    randomFully: false,
    hairpin: 'rules',
    masqueradeBit: 31,
  },
  'by interface prefix': {
    localTraffic: { by: 'interfacePrefix', prefix: 'veth0123456789' },
    nodePortScope: { kind: 'networks', networks: [cidr('0.0.0.0/0'), cidr('::/0')] },
    masqueradeBit: 0,
  },
  'nothing distinguishes pods': { localTraffic: { by: 'none' }, masqueradeAll: true },
}

/** A small generator with a fixed start: every run tries the same trees. */
let state = 42
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

async function roundTrip(overrides: Partial<NetfilterSettings>, many: number) {
  const mode = new IptablesMode(settings(overrides), kernel)
  const tracker = new DeltaTracker()
  tracker.saw(await mode.observe())
  for (const family of [4, 6] as const) {
    for (const one of everyShape(family)) mode.program.replace(one.id, one)
    for (const one of manyServices(family, many, random)) mode.program.replace(one.id, one)
  }
  tracker.want(mode.program.takeChanges())
  const change = tracker.pending(0)
  const { failed } = await mode.apply(change)
  tracker.confirm(change, { failed }, 0)
  const drift = tracker.saw(await mode.observe())
  const chains = change.set
    .filter((key) => kindOf(key) !== 'set' && objectOf(key).kind === 'chain')
    .slice(0, 40)
  const listed = tracker.saw(await mode.observe([...chains]), chains)
  const changes = [...drift, ...listed].map(({ key, kind }) => `${kind} ${key}`)
  const wanted = Object.fromEntries(
    drift.slice(0, 5).map(({ key }) => [key, mode.program.rulesOf(key)]),
  )
  await mode.cleanup()
  const left = [...(await mode.observe()).keys()]
  return { written: change.set.length > 100, failed: [...failed], changes, wanted, left }
}

const results: Record<string, unknown> = {}
for (const [name, overrides] of Object.entries(VARIANTS)) {
  results[name] = await roundTrip(overrides, name === 'by source' ? 1_000 : 20)
}
await runner.close()
process.stdout.write(JSON.stringify(results))
