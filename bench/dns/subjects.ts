import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PinnedServer, startPinned } from './pinned.ts'

const ECHO = new URL('echo-server.ts', import.meta.url).pathname
const DNS = new URL('../../bin/orch-dns', import.meta.url).pathname

/** Starts the bare UDP server, which is the limit. */
export function startEcho(): Promise<PinnedServer> {
  return startPinned([process.execPath, ECHO], (line) => Number(line))
}

interface ReadyRecord {
  readonly msg?: string
  readonly addresses?: readonly string[]
}

/**
 * Starts orch-dns as an operator does, beside an API server without users; resolves when it knows all names. It is
 * started twice, because at the first start Node compiles, and later starts use the compile cache.
 */
export async function startDns(url: string, folder: string): Promise<PinnedServer> {
  const first = await start(url, folder)
  await first.stop()
  return start(url, folder)
}

function start(url: string, folder: string): Promise<PinnedServer> {
  const kubeconfig = join(folder, 'dns.kubeconfig')
  writeFileSync(kubeconfig, kubeconfigOf(url))
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    '--dns-address=127.0.0.1:5300',
    '--status-address=',
    '--shutdown-delay=0s',
  ]
  return startPinned([DNS, ...flags], (line) => {
    const { msg, addresses = [] } = JSON.parse(line) as ReadyRecord
    if (msg !== 'orch-dns is ready') return undefined
    return Number(addresses[0]?.split(':').at(-1))
  })
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    clusters: [{ name: 'bench', cluster: { server } }],
    users: [{ name: 'bench', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
  })
}
