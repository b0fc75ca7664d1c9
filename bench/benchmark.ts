import { spawnSync } from 'node:child_process'
import { measureCell } from './cell.ts'
import { startDaemon } from './daemon/daemon.ts'
import { replacementAddress } from './lab/plan.ts'
import { buildTopology } from './lab/topology.ts'
import { counter } from './measure/counter.ts'
import { machineFacts } from './measure/machine.ts'
import type { Options } from './options.ts'
import { readResults, saveResults } from './report/files.ts'
import type { Cell, Machine } from './report/results.ts'
import { seededCluster } from './seeded-cluster.ts'

/** Runs everything, from small to large, and saves the results after every cell. */
export async function runBenchmark(options: Options, folder: string): Promise<void> {
  const machine = describeMachine()
  const startedAt = new Date().toISOString().slice(0, 10)
  const earlier = options.keep ? earlierCells(options.into) : []
  const measured: Cell[] = []
  const serial = counter()
  const address = counter()
  await warmUp(folder, serial())
  for (const size of options.sizes) {
    const cluster = await seededCluster(size)
    for (const backend of options.backends) {
      const cell = await measureCell({
        cluster,
        backend,
        folder,
        repeats: options.repeats,
        log: (what) => log(`${size} Services, ${backend}: ${what}`),
        freshSerial: serial,
        freshAddress: () => replacementAddress(address()),
      })
      measured.push(cell)
      const cells = merge(earlier, measured)
      saveResults(options.into, 'iptables', { startedAt, machine, quick: options.quick, cells })
    }
    await cluster.stop()
  }
}

/** Starts once, because the first start after an installation compiles, and later ones read the compile cache. */
async function warmUp(folder: string, serial: number): Promise<void> {
  const cluster = await seededCluster(1)
  const topology = buildTopology(serial)
  const daemon = startDaemon({ namespace: topology.node, url: cluster.url, proxy: 'nft', folder })
  await daemon.until((samples) => samples.size > 0, 20_000)
  await daemon.stop()
  topology.remove()
  await cluster.stop()
}

/** Cells of existing results; the figures of a cell and its raw figures are from the same run. */
function earlierCells(into: string): readonly Cell[] {
  return readResults(into, 'iptables')?.cells ?? []
}

function merge(earlier: readonly Cell[], measured: readonly Cell[]): readonly Cell[] {
  const nameOf = ({ services, backend }: Cell) => `${services} ${backend}`
  const again = new Set(measured.map(nameOf))
  const all = [...earlier.filter((cell) => !again.has(nameOf(cell))), ...measured]
  const order = (a: Cell, b: Cell) => a.services - b.services || (a.backend === 'nft' ? -1 : 1)
  return all.toSorted(order)
}

function describeMachine(): Machine {
  const output = spawnSync('iptables', ['--version'], { encoding: 'utf8' }).stdout
  return {
    ...machineFacts(),
    iptables: /v[\d.]+/.exec(output)?.[0] ?? 'unknown',
  }
}

function log(what: string): void {
  process.stderr.write(`bench: ${what}\n`)
}
