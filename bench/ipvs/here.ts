import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { startDaemon } from '../daemon/daemon.ts'
import { replacementAddress } from '../lab/plan.ts'
import { buildTopology } from '../lab/topology.ts'
import { counter } from '../measure/counter.ts'
import { machineFacts } from '../measure/machine.ts'
import type { Options } from '../options.ts'
import type { IpvsCell, IpvsMachine } from '../report/ipvs/results.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { measureIpvsCell } from './cell.ts'
import type { IpvsStore } from './store.ts'

/** Whether this kernel has IPVS, perhaps after loading the module. */
export function hasIpvs(): boolean {
  return spawnSync('modprobe', ['-q', 'ip_vs']).status === 0
}

/** Measures all sizes on this kernel, which has ip_vs. */
export async function measureHere(
  { sizes, repeats }: Options,
  folder: string,
  store: IpvsStore,
): Promise<void> {
  const machine = describeMachine()
  const freshSerial = counter()
  const address = counter()
  await warmUp(folder, freshSerial())
  for (const size of sizes) {
    const cluster = await seededCluster(size)
    await measureIpvsCell({
      cluster,
      folder,
      repeats,
      freshSerial,
      log: (what) => process.stderr.write(`bench: ${size} Services, ipvs: ${what}\n`),
      freshAddress: () => replacementAddress(address()),
      save: (cell: IpvsCell) => store.put(machine, cell),
    })
    await cluster.stop()
  }
}

/** Starts once, because the first start compiles, and later ones read the compile cache. */
async function warmUp(folder: string, serial: number): Promise<void> {
  const cluster = await seededCluster(1)
  const topology = buildTopology(serial)
  const place = { namespace: topology.node, url: cluster.url, folder }
  for (const proxy of ['ipvs', 'legacy'] as const) {
    const daemon = startDaemon({ ...place, proxy })
    await daemon.until((samples) => samples.size > 0, 30_000)
    await daemon.stop()
  }
  topology.remove()
  await cluster.stop()
}

function describeMachine(): IpvsMachine {
  const output = spawnSync('ipvsadm', ['--version'], { encoding: 'utf8' }).stdout
  return {
    ...machineFacts(),
    isUserMode: readFileSync('/proc/cpuinfo', 'utf8').includes('User Mode Linux'),
    ipvsadm: /v[\d.]+/.exec(output)?.[0] ?? 'unknown',
  }
}
