import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../../test/support/orchserver/orch-server-process.ts'
import { cpuSeconds } from '../../daemon/process-tree.ts'
import type { Driver } from '../../report/apiserver/results.ts'
import type { Target } from '../load/order.ts'
import { residentKib } from './resident.ts'

const PROBE = new URL('./delay-probe.ts', import.meta.url).href

/** The measured server: `bin/orch-server` over HTTPS, with its store. */
export interface MeasuredServer extends AsyncDisposable {
  readonly target: Target
  readonly etcd: string | undefined
  /** Folder with the server's own certificate, `server.crt` and `server.key`. */
  readonly pki: string
  /** The Unix socket of the probe, for `watchDelay`. */
  readonly probe: string
  /** Restarts the server on the same data. @returns milliseconds from its launch until it reports that it is ready */
  restart(): Promise<number>
  /** KiB resident, after a rest. */
  resident(): Promise<number>
  /** Processor seconds of the server so far, without etcd. */
  cpuSeconds(): number
}

/** A server on an empty store. `folder` is on the disk that is measured. */
export async function startServer(driver: Driver, folder: string): Promise<MeasuredServer> {
  await using held = new AsyncDisposableStack()
  const etcd = driver === 'etcd' ? held.use(await startEtcd()) : undefined
  const probe = join(folder, 'delay.sock')
  await rm(probe, { force: true })
  const env = { DELAY_PROBE: probe, NODE_OPTIONS: `--import=${PROBE}` }
  const flags = etcd === undefined ? [] : [`--etcd-servers=${etcd.endpoint}`]
  const server = held.use(await startOrchServer({ flags, env }))
  const pki = join(server.dataDir, 'pki')
  const target = await targetOf(server)
  const owned = held.move()
  return {
    target,
    pki,
    probe,
    etcd: etcd?.endpoint,
    restart: () => restart(server, probe),
    resident: () => residentKib(pidOf(server)),
    cpuSeconds: () => cpuSeconds(pidOf(server)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The target with the administrator's certificate of the kubeconfig that the server wrote. */
async function targetOf({ url, kubeconfig, connection }: OrchServerProcess): Promise<Target> {
  const { ca, cert, key } = (await connection.tls?.material()) ?? {}
  if (ca === undefined || cert === undefined || key === undefined) {
    throw new Error(`${kubeconfig} has no authority or no client certificate`)
  }
  return { url, ca, certificate: { cert, key } }
}

async function restart(server: OrchServerProcess, probe: string): Promise<number> {
  await server.stop()
  await rm(probe, { force: true })
  const start = performance.now()
  await server.start()
  return performance.now() - start
}

function pidOf(server: OrchServerProcess): number {
  if (server.pid === undefined) throw new Error('the server has ended')
  return server.pid
}
