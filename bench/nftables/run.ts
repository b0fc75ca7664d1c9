import { startDaemon } from '../daemon/daemon.ts'
import { replacementAddress } from '../lab/plan.ts'
import { buildTopology } from '../lab/topology.ts'
import { counter } from '../measure/counter.ts'
import { machineFacts } from '../measure/machine.ts'
import type { Options } from '../options.ts'
import { readResults, saveResults } from '../report/files.ts'
import type { NftablesCell } from '../report/nftables/results.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { measureNftablesCell } from './cell.ts'

/** Measures all shapes, from small to large, and saves the results after each figure. */
export async function runNftables(options: Options, folder: string): Promise<void> {
  const { into, quick, repeats } = options
  const startedAt = new Date().toISOString().slice(0, 10)
  const freshSerial = counter()
  const address = counter()
  let cells = options.keep ? (readResults(into, 'nftables')?.cells ?? []) : []
  const save = (cell: NftablesCell) => {
    cells = placed(cells, cell)
    saveResults(into, 'nftables', { startedAt, machine: machineFacts(), quick, cells })
  }
  await warmUp(folder, freshSerial())
  for (const { services, endpoints } of options.shapes) {
    const cluster = await seededCluster(services, endpoints)
    await measureNftablesCell({
      cluster,
      folder,
      repeats,
      freshSerial,
      save,
      log: (what) =>
        process.stderr.write(`bench: ${services} Services × ${endpoints}, nftables: ${what}\n`),
      freshAddress: () => replacementAddress(address()),
    })
    await cluster.stop()
  }
}

/** The cells, in which a cell replaces the one of the same size. */
function placed(cells: readonly NftablesCell[], cell: NftablesCell): readonly NftablesCell[] {
  const isOther = ({ services, endpoints }: NftablesCell) =>
    services !== cell.services || endpoints !== cell.endpoints
  return [...cells.filter(isOther), cell].toSorted(
    (a, b) => a.services - b.services || a.endpoints - b.endpoints,
  )
}

/** Starts once, because the first start compiles, and later ones read the compile cache. */
async function warmUp(folder: string, serial: number): Promise<void> {
  const cluster = await seededCluster(1)
  const topology = buildTopology(serial)
  const place = { namespace: topology.node, url: cluster.url, folder }
  const daemon = startDaemon({ ...place, proxy: 'nftables' })
  await daemon.until((samples) => samples.size > 0, 20_000)
  await daemon.stop()
  topology.remove()
  await cluster.stop()
}
