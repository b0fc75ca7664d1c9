import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { openXtables } from '../../../src/kernel/iptables/xtables.ts'
import { XtablesMonitor } from '../../../src/kernel/iptables/xtables-monitor.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const xtables = await openXtables()
if (xtables === undefined) throw new Error('no foreign function interface')
const run = (...command: string[]) => execFileSync(command[0] ?? '', command.slice(1))
const iptables = (family: 4 | 6, ...args: string[]) =>
  run(family === 4 ? 'iptables-legacy' : 'ip6tables-legacy', '-t', 'filter', ...args)

const steps: Record<string, unknown> = {}
for (const family of [4, 6] as const) {
  const loopback = family === 4 ? '127.0.0.1' : '::1'
  iptables(family, '-A', 'OUTPUT', '-d', loopback, '-p', 'tcp', '--dport', '80', '-j', 'ACCEPT')
  xtables.lockTaken()
  const before = await xtables.digest(family, 'filter')
  const info = xtables.info(family, 'filter')
  await once(connect({ host: loopback, port: 80 }), 'close').catch(() => undefined)
  const traffic = await xtables.digest(family, 'filter')
  const quiet = xtables.lockTaken()
  iptables(
    family,
    '-R',
    'OUTPUT',
    '1',
    '-d',
    loopback,
    '-p',
    'tcp',
    '--dport',
    '81',
    '-j',
    'ACCEPT',
  )
  const replaced = xtables.info(family, 'filter')
  steps[family] = {
    entries: info?.entries,
    trafficChangesNothing: before === traffic,
    replacedSameSize: replaced?.size === info?.size,
    replacedOtherDigest: before !== (await xtables.digest(family, 'filter')),
    lock: [quiet, xtables.lockTaken(), xtables.lockTaken()],
  }
}
steps['missing'] = xtables.info(4, 'nope') ?? 'undefined'

const tables = [
  { family: 4, table: 'nat' },
  { family: 4, table: 'filter' },
] as const
const monitor = new XtablesMonitor(xtables, { clock: systemClock, tables })
const keepAlive = setInterval(() => undefined, 1000)
let heard: (value: unknown) => void = () => undefined
monitor.start((change) => heard(change.touched))
const next = (work: () => unknown) =>
  new Promise((resolve) => {
    heard = resolve
    work()
  })
const release = monitor.hold()
iptables(4, '-A', 'INPUT', '-j', 'ACCEPT')
release({ authors: [], commits: 1 })
steps['flushed'] = await next(() => iptables(4, '-F'))
steps['added'] = await next(() => run('iptables-legacy', '-t', 'nat', '-N', 'FOREIGN'))
clearInterval(keepAlive)
xtables.close()
process.stdout.write(JSON.stringify(steps))
process.exit(0)
