import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OrchServerProcess, startOrchServer } from '../orchserver/orch-server-process.ts'

/** An orch-server that audits to a file and to a webhook, and all that it writes and sends. */
export interface AuditedServer extends AsyncDisposable {
  readonly server: OrchServerProcess
  /** What it wrote to standard output and standard error. */
  said(): Buffer
  /** The file of the audit log. */
  readonly logPath: string
  /** The audit log, with the files that were put aside. */
  auditLog(): Promise<Buffer>
  /** The bodies that the webhook got. */
  posted(): Buffer
}

/** `policy` is the path of its audit policy. */
export async function startAuditedServer(
  policy: string,
  flags: readonly string[] = [],
): Promise<AuditedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'np-audited-'))
  const said: Buffer[] = []
  const webhook = await startWebhook()
  const kubeconfig = join(folder, 'webhook.yaml')
  await writeFile(kubeconfig, webhookKubeconfig(webhook.url))
  const logPath = join(folder, 'log', 'audit.log')
  const server = await startOrchServer({
    flags: [
      ...[`--audit-policy-file=${policy}`, `--audit-log-path=${logPath}`],
      ...[`--audit-webhook-config-file=${kubeconfig}`, '--audit-log-maxsize=1', ...flags],
    ],
    onOutput: (bytes) => said.push(bytes),
  })
  return {
    ...{ server, logPath },
    said: () => Buffer.concat(said),
    auditLog: () => filesUnder(join(folder, 'log')),
    posted: () => Buffer.concat(webhook.bodies),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await webhook.close()
      await rm(folder, { recursive: true })
    },
  }
}

/** Every file under a folder, one behind the other. */
export async function filesUnder(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Buffer.concat(
    await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name)))),
  )
}

function webhookKubeconfig(server: string): string {
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    contexts: [{ name: 'c', context: { cluster: 'c' } }],
    clusters: [{ name: 'c', cluster: { server } }],
  })
}

/** Takes everything that is posted to it. */
async function startWebhook() {
  const bodies: Buffer[] = []
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk))
    request.on('end', () => response.end('{}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    bodies,
    url: `http://127.0.0.1:${port}/events`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
