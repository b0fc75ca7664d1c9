import { readFile, stat } from 'node:fs/promises'
import { arch, hostname, release } from 'node:os'
import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import { openLocalReaders } from '../../explain/world/local-readers.ts'
import { filesOfWorld, recordWorld } from '../../explain/world/world-record.ts'
import { EntrySchema, StatusResponseSchema } from '../../inspection/generated/inspection_pb.ts'
import { type InspectionClient, withInspection } from '../../inspection/inspection-client.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { type BundleFiles, writeBundle } from './bundle-file.ts'
import type { CommandContext } from './command-module.ts'
import { addSocketFlags, type SocketFlags } from './socket-flags.ts'

const REDACTED = '[redacted]'

/** Private keys, tokens, and passwords, in whatever text they are. */
const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, REDACTED],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  [/:\/\/[^\s/:@"]*:[^\s/@"]+@/g, `://${REDACTED}@`],
  [/("?(?:password|token|secret|client-key-data)"?\s*[:=]\s*)"?[^\s",}]+"?/gi, `$1"${REDACTED}"`],
]

/** The file of a bundle that says what recorded it. */
const VERSIONS = 'versions.json'

const README = `This archive was written by "node-proxy record" on one node.

versions.json     node-proxy, kernel and programs
node-proxy/       status, configuration, metrics, and what node-proxy wants of the kernel
kernel/           what the kernel holds: rules, sets, virtual servers, addresses, routes, sockets

node-proxy explain --from FILE SOURCE DEST:PORT explains a packet by it on any machine, without root.
It has names and addresses of Services and Pods. Private keys, tokens and passwords are left out.
`

const NOTES = `
The file has rules, sets, virtual servers, addresses, routes and sockets of the kernel, and of
node-proxy its status, configuration, metrics and forwarding table. Private keys, tokens and
passwords are left out; names and addresses of Services and Pods are not.

Examples:
  node-proxy record
  node-proxy record /tmp/node7.tar.gz
  node-proxy explain --from /tmp/node7.tar.gz 10.0.0.2 shop/web
`

/** `node-proxy record`: what decides about packets on this node, as one file. */
export function define(command: Command, { host, finish }: CommandContext): void {
  command
    .argument('[file]', 'a new file; otherwise node-proxy-HOST-TIME.tar.gz here')
    .addHelpText('after', NOTES)
  addSocketFlags(command).action(async (given: string | undefined, flags: SocketFlags) => {
    const now = new Date()
    const file = given ?? defaultName(now)
    const say = (what: string) => host.stderr.write(`${what}\n`)
    const { files, missing } = await recordNode(host.version, flags.socket, (what) =>
      say(`${what} …`),
    )
    await writeBundle(file, files, now)
    const { size } = await stat(file)
    for (const one of missing) say(`not recorded: ${one}`)
    const result = { file, bytes: size, files: files.size, missing }
    host.stdout.write(
      flags.output === 'json'
        ? `${JSON.stringify(result)}\n`
        : `${quote(file)}: ${files.size} files, ${size} bytes\n`,
    )
    finish(missing.length === 0 ? 0 : 1)
  })
}

function defaultName(now: Date): string {
  const time = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  return `node-proxy-${hostname().replaceAll(/[^\w.-]/g, '_')}-${time}Z.tar.gz`
}

/** What was recorded, and what could not be. */
interface NodeRecord {
  readonly files: BundleFiles
  /** One line each. */
  readonly missing: readonly string[]
}

/** Reads this node. Without node-proxy the kernel alone is recorded. Throws NP_EXPLAIN_READ. */
async function recordNode(
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

/** Seconds since the kernel was booted; empty when they cannot be read. */
async function uptime(): Promise<string> {
  const text = await readFile('/proc/uptime', 'utf8').catch(() => '')
  return text.split(' ')[0] ?? ''
}

async function recordDaemon(socket: string): Promise<NodeRecord> {
  try {
    return { files: await withInspection(socket, filesOf), missing: [] }
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return {
      files: new Map(),
      missing: [`node-proxy itself: ${error.message}; ${error.hint ?? ''}`],
    }
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

/** The text without private keys, tokens and passwords. */
export function redact(text: string): string {
  return SECRETS.reduce((left, [pattern, replacement]) => left.replace(pattern, replacement), text)
}
