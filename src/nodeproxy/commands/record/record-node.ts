import { readFile } from 'node:fs/promises'
import { arch, release } from 'node:os'
import { toJson } from '@bufbuild/protobuf'
import { openLocalReaders } from '../../../explain/world/local-readers.ts'
import { filesOfWorld } from '../../../explain/world/world-files.ts'
import { recordWorld } from '../../../explain/world/world-record.ts'
import {
  type InspectionClient,
  openInspection,
} from '../../../inspection/client/inspection-client.ts'
import { EntrySchema, StatusResponseSchema } from '../../../inspection/generated/inspection_pb.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { BundleFiles } from '../bundle/bundle-file.ts'
import { redact } from '../bundle/redact.ts'

/** The file of a bundle that says what recorded it. */
export const VERSIONS = 'versions.json'

const README = `This archive was written by "node-proxy record" on one node.

versions.json     node-proxy, kernel and programs
node-proxy/       status, configuration, metrics, and what node-proxy wants of the kernel
kernel/           what the kernel holds: rules, sets, virtual servers, addresses, routes, sockets

node-proxy explain --from FILE SOURCE DEST:PORT explains a packet by it on any machine, without root.
It has names and addresses of Services and Pods. Private keys, tokens and passwords are left out.
`

/** What was recorded, and what could not be. */
export interface NodeRecord {
  readonly files: BundleFiles
  /** One line each. */
  readonly missing: readonly string[]
}

/** Reads this node. Without node-proxy the kernel alone is recorded. Throws NP_EXPLAIN_READ. */
export async function recordNode(
  version: string,
  socket: string,
  onProgress: (what: string) => void,
): Promise<NodeRecord> {
  onProgress('reading the kernel')
  const readers = openLocalReaders()
  try {
    const world = filesOfWorld(await recordWorld(readers))
    onProgress('reading node-proxy')
    const daemon = await recordDaemon(socket)
    const versions = {
      format: 1,
      version,
      kernel: release(),
      architecture: arch(),
      uptime: await uptime(),
    }
    const own = [
      ['README.txt', README],
      [VERSIONS, `${JSON.stringify(versions, null, 2)}\n`],
    ] as const
    const all = [...own, ...daemon.files, ...world]
    return {
      files: new Map(all.map(([name, text]) => [name, redact(text)])),
      missing: daemon.missing,
    }
  } finally {
    await readers.close()
  }
}

/** Seconds since the kernel was booted; empty where that is not to be read. */
async function uptime(): Promise<string> {
  const text = await readFile('/proc/uptime', 'utf8').catch(() => '')
  return text.split(' ')[0] ?? ''
}

async function recordDaemon(socket: string): Promise<NodeRecord> {
  const client = openInspection(socket)
  try {
    return { files: await filesOf(client), missing: [] }
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return {
      files: new Map(),
      missing: [`node-proxy itself: ${error.message}; ${error.hint ?? ''}`],
    }
  } finally {
    client.close()
  }
}

async function filesOf(client: InspectionClient): Promise<BundleFiles> {
  const files = new Map<string, string>()
  const status = toJson(StatusResponseSchema, await client.status(), { alwaysEmitImplicit: true })
  files.set('node-proxy/status.json', `${JSON.stringify(status, null, 2)}\n`)
  const entries: string[] = []
  for await (const entry of client.entries(''))
    entries.push(JSON.stringify(toJson(EntrySchema, entry)))
  files.set('node-proxy/entries.jsonl', entries.map((line) => `${line}\n`).join(''))
  for await (const { name, text } of client.documents()) {
    if (!/^[\w-]+\.\w+$/.test(name)) continue
    files.set(`node-proxy/${name}`, (files.get(`node-proxy/${name}`) ?? '') + text)
  }
  return files
}
