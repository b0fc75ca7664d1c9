import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runApiserver } from './apiserver/run.ts'
import { runAuth } from './auth/run.ts'
import { runBenchmark } from './benchmark.ts'
import { runClusterPage } from './cluster-page/run.ts'
import { runDns } from './dns/run.ts'
import { runInspection } from './inspection/run.ts'
import { findIpvsPlace, runIpvs } from './ipvs/run.ts'
import { removeNamespaces } from './lab/namespace.ts'
import { enterControl } from './lab/topology.ts'
import { runNftables } from './nftables/run.ts'
import { type ModeName, type Options, parseOptions, USAGE } from './options.ts'
import { runPage } from './page/run.ts'
import { missingForPromise, runPromise } from './promise/run.ts'
import { missingForUserspace } from './userspace/missing.ts'
import { runUserspace } from './userspace/run.ts'

try {
  const options = parseOptions(process.argv.slice(2))
  if (options === 'help') process.stdout.write(USAGE)
  else await guarded((folder) => run(options, folder))
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

/** Measures the requested modes, or by default all that this machine can run. */
async function run(options: Options, folder: string): Promise<void> {
  const wants = (mode: ModeName) => options.modes?.includes(mode) !== false
  if (wants('apiserver')) await runApiserver(options, folder)
  if (wants('auth')) await runAuth(options, folder)
  const place = wants('ipvs') ? await findIpvsPlace() : undefined
  if (wants('ipvs') && place === undefined) {
    leaveOut(options, 'the ipvs mode needs ip_vs: apt-get install user-mode-linux ipvsadm')
  }
  const missing = wants('userspace') ? missingForUserspace() : undefined
  if (missing !== undefined) leaveOut(options, missing)
  const missingPeers = wants('promise') ? missingForPromise() : undefined
  if (missingPeers !== undefined) leaveOut(options, missingPeers)
  enterControl()
  if (wants('promise') && missingPeers === undefined) await runPromise(options, folder)
  if (wants('iptables')) await runBenchmark(options, folder)
  if (place !== undefined) await runIpvs(place, options, folder)
  if (wants('nftables')) await runNftables(options, folder)
  if (wants('inspection')) await runInspection(options, folder)
  if (wants('page')) await runPage(options, folder)
  if (wants('cluster-page')) await runClusterPage(options)
  if (wants('dns')) await runDns(options, folder)
  if (wants('userspace') && missing === undefined) await runUserspace(options, folder)
}

/** Reports that a mode is left out; throws if it was requested by name. */
function leaveOut({ modes }: Options, missing: string): void {
  if (modes !== undefined) throw new Error(missing)
  process.stderr.write(`bench: left out: ${missing}\n`)
}

/** Runs `act`, and always removes the namespaces and files of this run. */
async function guarded(act: (folder: string) => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('needs root, for network namespaces')
  removeNamespaces()
  const folder = mkdtempSync(join(tmpdir(), 'npbench-'))
  process.once('exit', () => {
    removeNamespaces(process.pid)
    rmSync(folder, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  await act(folder)
}
