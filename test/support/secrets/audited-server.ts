import type { Dirent } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OrchServerProcess, startOrchServer } from '../orchserver/orch-server-process.ts'
import { startAuditWebhook, webhookKubeconfig } from './audit-webhook.ts'

/** An orch-server that audits to a file and to a webhook, with access to everything that it writes and sends. */
export interface AuditedServer extends AsyncDisposable {
  readonly server: OrchServerProcess
  /** What it wrote to standard output and standard error. */
  said(): Buffer
  /** The file of the audit log. */
  readonly logPath: string
  /** The audit log, with its rotated files. */
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
  const webhook = await startAuditWebhook()
  const kubeconfig = join(folder, 'webhook.yaml')
  await writeFile(kubeconfig, webhookKubeconfig(webhook.url))
  const logPath = join(folder, 'log', 'audit.log')
  const server = await startOrchServer({
    flags: [
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${logPath}`,
      `--audit-webhook-config-file=${kubeconfig}`,
      '--audit-log-maxsize=1',
      ...flags,
    ],
    onOutput: (bytes) => said.push(bytes),
  })
  return {
    server,
    logPath,
    said: () => Buffer.concat(said),
    auditLog: () => filesUnder(join(folder, 'log')),
    posted: () => Buffer.concat(webhook.bodies),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await webhook[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

/** The contents of all files under a folder, concatenated. */
export async function filesUnder(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Buffer.concat(
    await Promise.all(files.map(async (file) => written(await readFile(pathOf(file))))),
  )
}

function pathOf({ parentPath, name }: Dirent): string {
  return join(parentPath, name)
}

/** A file without the zeros at its end: etcd preallocates 64 MB for future writes. */
function written(file: Buffer): Buffer {
  let end = file.length
  while (end > 0 && file[end - 1] === 0) end--
  return file.subarray(0, end)
}
