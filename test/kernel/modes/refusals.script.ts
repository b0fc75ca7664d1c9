import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { EntryId } from '../../../src/forwarding/entry.ts'
import { NetlinkSets } from '../../../src/kernel/ipset/netlink-sets.ts'
import {
  type CommandIptablesOptions,
  openIptables,
} from '../../../src/kernel/iptables/command-iptables.ts'
import type { IptablesVariant } from '../../../src/kernel/iptables/iptables.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { noopMonitor } from '../../../src/kernel/nftables/nftables-monitor.ts'
import type { ProgramRunner } from '../../../src/kernel/spawner/program-runner.ts'
import { Spawner } from '../../../src/kernel/spawner/spawner.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { IptablesMode } from '../../../src/modes/iptables/mode.ts'
import { backend, entry, frontend, ip, settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { DeltaTracker } from '../../../src/sync/delta-tracker.ts'

/** What the real iptables refuses, which entry is blamed for it, and that all others are served. */
const name = process.argv[2] as IptablesVariant
execFileSync('mount', ['-t', 'tmpfs', 'none', '/run'])
const runner = new Spawner()
const sets = new NetlinkSets(rawTransport(NETLINK_NETFILTER), systemClock)

async function open(options: Partial<CommandIptablesOptions> = {}) {
  const iptables = await openIptables({ runner, backend: name, ...options })
  const mode = new IptablesMode(settings(), { iptables, sets, monitor: noopMonitor })
  const tracker = new DeltaTracker()
  tracker.saw(await mode.observe())
  return { mode, tracker }
}

/** Programs that restore never end by themselves. */
const stuck: ProgramRunner = {
  run: (job) =>
    runner.run(
      job.program.endsWith('-restore') ? { ...job, program: 'sleep', args: ['infinity'] } : job,
    ),
  runLines: (job, onLine) => runner.runLines(job, onLine),
  close: () => runner.close(),
}

const rules = () => execFileSync(`iptables-${name}-save`).toString()
const foreign = (...args: readonly string[]) =>
  execFileSync(`iptables-${name}`, ['-w', '-t', 'nat', ...args])
let { mode, tracker } = await open()

function want(id: string, address: string, port = 8080): void {
  const backends = [backend('10.180.0.1', { port })]
  const frontends = [frontend({ ip: ip(address), kind: 'externalIP', masquerade: 'always' })]
  const wanted = { id: id as EntryId, frontends, pools: { cluster: backends, local: [] } }
  mode.program.replace(wanted.id, entry(wanted))
}

/** Writes what is pending; the owners (or keys) of what was refused, and with which code. */
async function write(now = 0) {
  tracker.want(mode.program.takeChanges())
  const change = tracker.pending(now)
  const result = await mode.apply(change)
  tracker.confirm(change, result, now)
  const refused = [...result.failed].map(([key, { code }]) => {
    const [owner] = mode.program.ownersOf(key)
    return `${code} ${owner ?? key.replace(/[\w-]{19}$/, '…')}`
  })
  return { refused: [...new Set(refused)], uncertain: result.uncertain }
}

const later = () => write(tracker.nextRetry() ?? 0)
const drift = async () => tracker.saw(await mode.observe()).map(({ kind, key }) => `${kind} ${key}`)
const served = (...hosts: readonly number[]) =>
  hosts.filter((host) => rules().includes(`-d 172.30.0.${host}/32`))
const steps: Record<string, unknown> = {}

for (let n = 1; n <= 60; n++) want(`s${n}`, `172.30.0.${n}`, n === 7 ? 99_999 : 8080)
steps['a rule that iptables cannot read'] = {
  ...(await write()),
  served: served(1, 6, 7, 8, 60),
  drift: await drift(),
}
want('s7', '172.30.0.7')
steps['corrected'] = { ...(await later()), served: served(7) }

const original = mode.program.rulesOf.bind(mode.program)
const bad = new Set(['s9', 's40', 's41'])
mode.program.rulesOf = (key) =>
  mode.program.ownersOf(key).some((owner) => bad.has(owner)) ? ['-j REJECT'] : original(key)
for (let n = 1; n <= 60; n++) want(`s${n}`, `172.30.0.${n}`, 9090)
steps['rules that the kernel refuses'] = {
  ...(await write()),
  changed: rules().match(/--to-destination 10.180.0.1:9090/g)?.length,
}
mode.program.rulesOf = original
steps['accepted later'] = { ...(await later()), drift: await drift() }

const chain = /NPROXY-C-\S+(?=.*\n-A NPROXY-C)/.exec(rules())?.[0] ?? 'NPROXY-C-none'
foreign('-N', 'FOREIGN')
foreign('-A', 'FOREIGN', '-j', chain)
for (let n = 1; n <= 60; n++) mode.program.replace(`s${n}` as EntryId, undefined)
const busy = await write()
steps['a chain that a foreign rule leads to'] = {
  ...busy,
  left: rules().match(/^:NPROXY-C-/gm)?.length,
  drift: await drift(),
}
foreign('-F', 'FOREIGN')
steps['let go'] = { ...(await later()), left: rules().match(/^:NPROXY-C-/gm)?.length ?? 0 }

if (name === 'legacy') {
  const holder = spawn('flock', ['/run/xtables.lock', 'sh', '-c', 'echo locked; cat'])
  await once(holder.stdout, 'data')
  want('late', '172.30.0.99')
  steps['another process holds the lock'] = await write()
  holder.stdin.end()
  await once(holder, 'exit')
  steps['the lock is free'] = { ...(await later()), served: served(99) }
}

;({ mode, tracker } = await open({ runner: stuck, restoreTimeoutMs: 20 }))
for (let n = 0; n < 50; n++) want(`slow${n}`, `172.31.0.${n}`)
const slow = await write()
const codes = new Set(slow.refused.map((one) => one.split(' ')[0]))
steps['too slow'] = { codes: [...codes], uncertain: slow.uncertain }
;({ mode, tracker } = await open())
want('slow', '172.30.0.98')
steps['with time'] = { ...(await write()), served: served(98), drift: await drift() }

await runner.close()
process.stdout.write(JSON.stringify(steps))
