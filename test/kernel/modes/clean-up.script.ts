import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EntryId } from '../../../src/forwarding/entry.ts'
import { NetlinkSets } from '../../../src/kernel/ipset/netlink-sets.ts'
import { openIptables } from '../../../src/kernel/iptables/command-iptables.ts'
import type { IptablesVariant } from '../../../src/kernel/iptables/iptables.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { noopMonitor } from '../../../src/kernel/nftables/nftables-monitor.ts'
import { Spawner } from '../../../src/kernel/spawner/spawner.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { IptablesMode } from '../../../src/modes/iptables/mode.ts'
import { entry, settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { cleanUpKernel } from '../../../src/nodeproxy/modes/clean-up.ts'
import { configuration, recordingLog } from '../../../src/nodeproxy/testing/wiring.ts'

/** Rules of earlier runs, made with either variant, and what --cleanup leaves of them. */
const [, , made = '', absent = ''] = process.argv
const runner = new Spawner()

async function program(backend: IptablesVariant): Promise<void> {
  const iptables = await openIptables({ runner, backend })
  const kernel = {
    iptables,
    sets: new NetlinkSets(rawTransport(NETLINK_NETFILTER), systemClock),
    monitor: noopMonitor,
  }
  const mode = new IptablesMode(settings(), kernel)
  const id = `from/${backend}:http/TCP/4` as EntryId
  mode.program.replace(id, entry({ id, affinity: { seconds: 60 } }))
  const set = [...mode.program.takeChanges().keys()]
  const { failed } = await mode.apply({ set, unset: [] })
  if (failed.size > 0) throw new Error(JSON.stringify([...failed]))
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8' })
}

/** Everything that names us, in rules of both variants and in sets. */
function ours(): number {
  const saved = ['nft', 'legacy'].flatMap((backend) =>
    ['', '6'].map((six) => run(`ip${six}tables-${backend}-save`)),
  )
  return [...saved, run('ipset', 'list', '-n')].join('\n').match(/NPROXY-/g)?.length ?? 0
}

const loaded = () => run('cat', '/proc/net/ip_tables_names').trim().split('\n').filter(Boolean)

/** Puts a program that cannot be found in place of one of this machine, for us alone. */
function hide(name: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'np-hidden-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  const stub = join(folder, name)
  writeFileSync(stub, `#!/bin/sh\necho "${name}: not found" >&2\nexit 127\n`)
  chmodSync(stub, 0o755)
  run('mount', '--bind', folder, '/usr/local/sbin')
}

for (const backend of made.split(',').filter(Boolean)) await program(backend as IptablesVariant)
run('iptables-nft', '-t', 'nat', '-N', 'FOREIGN')
run('ipset', 'create', 'foreign', 'hash:ip')
const legacyBefore = loaded()
if (absent !== '') hide(absent)
const { log, lines } = recordingLog()
const status = await cleanUpKernel(configuration(), log)
const legacyAfter = loaded()
await runner.close()
const report = {
  status,
  errors: lines.filter((line) => line.startsWith('error')),
  legacyUntouched: legacyAfter.length === legacyBefore.length,
  left: ours(),
  foreign: [
    run('iptables-nft-save', '-t', 'nat').includes(':FOREIGN'),
    run('ipset', 'list', '-n').trim() === 'foreign',
  ],
}
process.stdout.write(JSON.stringify(report))
