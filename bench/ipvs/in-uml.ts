import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NodeProxyError } from '../../src/lib/error.ts'
import { findInstallation } from '../../src/uml/installation.ts'
import { bootKernel } from '../../src/uml/start-kernel.ts'
import type { Options } from '../options.ts'
import { readResults } from '../report/files.ts'
import type { IpvsCell, IpvsMachine } from '../report/ipvs/results.ts'
import { OthersLoad } from './others-load.ts'
import type { IpvsStore } from './store.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RESULTS = '/run/np-bench'
const MEMORY_MIB = 4_096
const SILENCE_MS = 300_000
const TIMEOUT_MS = 1_800_000

/** Whether User-mode Linux can be started here. */
export async function hasUserModeLinux(): Promise<boolean> {
  try {
    await findInstallation()
    return true
  } catch {
    return false
  }
}

/** Measures every size in a kernel of its own, in which this program runs again. */
export async function measureInUml(
  options: Options,
  folder: string,
  store: IpvsStore,
): Promise<void> {
  for (const size of options.sizes) {
    const out = join(folder, `uml-${size}`)
    mkdirSync(out)
    const others = new OthersLoad()
    const failure = await bootFor(size, options, out)
    const found = readResults(out, 'ipvs')
    const cell = found?.cells.find(({ services }) => services === size)
    const machine = found?.machine ?? UNKNOWN
    store.put(machine, withFacts(cell ?? { services: size, measured: {} }, others, failure))
  }
}

/** Why the kernel ended too early; undefined: it did not. */
async function bootFor(size: number, options: Options, out: string): Promise<string | undefined> {
  const flags = ['--modes=ipvs', `--sizes=${size}`, `--into=${RESULTS}`]
  const quick = options.quick ? ['--quick'] : []
  try {
    const { status } = await bootKernel({
      command: join(ROOT, 'scripts/node'),
      args: ['--disable-warning=ExperimentalWarning', 'bench/main.ts', ...flags, ...quick],
      cwd: ROOT,
      memory: MEMORY_MIB,
      silenceMs: SILENCE_MS,
      timeoutMs: TIMEOUT_MS,
      share: [{ host: out, inside: RESULTS, writable: true }],
      onOutput: (text) => process.stderr.write(text),
    })
    return status === 0 ? undefined : `the benchmark ended with status ${status}`
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    process.stderr.write(`bench: ${error.message}\n`)
    return error.message.split('\n', 1)[0]
  }
}

function withFacts(cell: IpvsCell, others: OthersLoad, failure: string | undefined): IpvsCell {
  const unfinished = cell.unfinished ?? failure
  return {
    ...cell,
    ...(unfinished === undefined ? {} : { unfinished }),
    othersPercent: others.percent(),
  }
}

const UNKNOWN: IpvsMachine = {
  cores: 1,
  kernel: 'unknown',
  isUserMode: true,
  ipvsadm: 'unknown',
  node: process.version,
}
