import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { KernelTraces } from '../../../src/kernel/traces.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const run = (...command: string[]) => execFileSync(command[0] ?? '', command.slice(1))
const traces = new KernelTraces(rawTransport(NETLINK_NETFILTER), systemClock)
const services = (family: 4 | 6) =>
  traces.variantsWith({ family, table: 'nat', chain: 'KUBE-SERVICES' })
const legacyTables = () => readFileSync('/proc/self/net/ip_tables_names', 'utf8')

const steps: Record<string, unknown> = {}
steps['empty'] = [await services(4), await services(6), await traces.hasNftTable(4, 'kube-proxy')]
steps['nothingCreated'] = [legacyTables(), String(run('nft', 'list', 'tables'))]
run('iptables-nft', '-t', 'nat', '-N', 'KUBE-SERVICES-2')
steps['another'] = await services(4)
run('iptables-nft', '-t', 'nat', '-N', 'KUBE-SERVICES')
steps['nft'] = [await services(4), await services(6)]
run('ip6tables-legacy', '-t', 'nat', '-N', 'KUBE-SERVICES')
run('iptables-legacy', '-t', 'nat', '-N', 'KUBE-SERVICES')
steps['both'] = [await services(4), await services(6)]
run('iptables-legacy', '-t', 'nat', '-X', 'KUBE-SERVICES')
run('iptables-nft', '-t', 'nat', '-X', 'KUBE-SERVICES')
steps['gone'] = [await services(4), await services(6)]
run('nft', 'add', 'table', 'ip', 'kube-proxy')
steps['table'] = [
  await traces.hasNftTable(4, 'kube-proxy'),
  await traces.hasNftTable(6, 'kube-proxy'),
]
run('ip', 'link', 'add', 'kube-ipvs0', 'type', 'bridge')
steps['devices'] = [...(await traces.devices())].filter(
  (name) => name.startsWith('kube') || name === 'lo',
)

const folder = mkdtempSync(join(tmpdir(), 'np-traces-'))
const program = join(folder, 'kube-proxy')
copyFileSync('/bin/sleep', program)
const here = spawn(program, ['60'])
const elsewhere = spawn('unshare', ['--net', program, '60'])
const started = async (pid: number | undefined) => {
  while (existsSync(`/proc/${pid}`)) {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8') === 'kube-proxy\n') return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
await Promise.all([started(here.pid), started(elsewhere.pid)])
const found = await traces.processes(['kube-proxy', 'kube-router'])
steps['processes'] = found.map(({ name, pid }) => [name, pid === here.pid])
for (const child of [here, elsewhere]) child.kill('SIGKILL')
rmSync(folder, { recursive: true })
traces.close()
process.stdout.write(JSON.stringify(steps))
process.exit(0)
