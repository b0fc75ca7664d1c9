import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { busyPercent } from '../measure/busy-percent.ts'
import type { Options } from '../options.ts'
import type { ApiserverCell, Driver } from '../report/apiserver/results.ts'
import { saveResults } from '../report/files.ts'
import { measureCell } from './cell.ts'
import { startLoad } from './load/load.ts'
import { describeMachine } from './machine.ts'
import { FULL, QUICK } from './repeats.ts'
import { startServer } from './server/server.ts'

/** Measures the API server on both drivers of its store, or without etcd only on the embedded one. */
export async function runApiserver(options: Options, folder: string): Promise<void> {
  const machine = describeMachine()
  const drivers: readonly Driver[] =
    machine.etcd === undefined ? ['embedded'] : ['embedded', 'etcd']
  if (machine.etcd === undefined) log('etcd is left out: apt-get install etcd-server')
  const startedAt = new Date().toISOString().slice(0, 10)
  const head = { startedAt, machine, quick: options.quick, busyPercent: await busyPercent() }
  const cells: ApiserverCell[] = []
  for (const driver of drivers) {
    cells.push(await measureDriver(driver, options, folder))
    saveResults(options.into, 'apiserver', { ...head, cells })
  }
}

async function measureDriver(driver: Driver, options: Options, parent: string) {
  const folder = mkdtempSync(join(parent, `${driver}-`))
  const load = startLoad()
  try {
    await using server = await startServer(driver, folder)
    const repeats = options.quick ? QUICK : FULL
    return await measureCell({ driver, server, load, repeats, folder }, log)
  } finally {
    load.stop()
  }
}

function log(what: string): void {
  process.stderr.write(`bench: apiserver: ${what}\n`)
}
