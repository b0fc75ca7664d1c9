import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { launcherOf } from '../programs.ts'
import { tieToUs } from '../tie-to-us.ts'

const PROGRAM = launcherOf('orch-dns')

export interface OrchDnsOptions {
  readonly kubeconfig: string
  /** Further flags. The addresses are already given: each on a free port of the loopback. */
  readonly flags?: readonly string[]
}

/** A real orch-dns on the loopback. */
export interface OrchDnsProcess extends AsyncDisposable {
  /** The port on which it answers, over UDP and TCP. */
  readonly port: number
  readonly statusUrl: string
  readonly child: ChildProcess
}

interface DnsRecord {
  readonly msg?: string
  readonly addresses?: readonly string[]
  readonly address?: string
}

/** Resolves once all names are known. @throws Error with its records, when it ends before. */
export async function startOrchDns({
  kubeconfig,
  flags = [],
}: OrchDnsOptions): Promise<OrchDnsProcess> {
  // A port that was free a moment ago may be used by another process by now, so the server gets port 0.
  const args = [`--kubeconfig=${kubeconfig}`, '--shutdown-delay=0', ...flags]
  const child = spawn(PROGRAM, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  tieToUs(child)
  const records: string[] = []
  let statusUrl = ''
  for await (const line of createInterface({ input: child.stdout })) {
    records.push(line)
    const record = JSON.parse(line) as DnsRecord
    if (record.msg === 'status pages are served') statusUrl = `http://${record.address}`
    if (record.msg !== 'orch-dns is ready') continue
    child.stdout.resume()
    const [address = ''] = record.addresses ?? []
    const port = Number(address.slice(address.lastIndexOf(':') + 1))
    return { port, statusUrl, child, [Symbol.asyncDispose]: () => end(child) }
  }
  throw new Error(`orch-dns ended before it was ready:\n${records.join('\n')}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
