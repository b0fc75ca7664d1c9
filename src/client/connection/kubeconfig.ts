import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Connection } from './connection.ts'
import type { FieldReader } from './field-reader.ts'
import { createFieldReader } from './field-reader.ts'
import { kubeconfigTls } from './kubeconfig-tls.ts'
import { kubeconfigUser } from './kubeconfig-user.ts'
import { parseServerUrl } from './server-url.ts'

export interface KubeconfigOptions {
  /** Path of the file. */
  readonly path: string
  /** Replaces the server of the current context (`--master`). */
  readonly master: string | undefined
  readonly clock: Clock
}

const SIZE_LIMIT = 4 * 1024 * 1024

/** The connection of the current-context. @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL */
export async function loadKubeconfig(options: KubeconfigOptions): Promise<Connection> {
  const file = resolve(options.path)
  return kubeconfigConnection(parseKubeconfig(await readText(file), file), file, options)
}

async function kubeconfigConnection(
  config: FieldReader,
  file: string,
  { master, clock }: KubeconfigOptions,
): Promise<Connection> {
  const context = namedEntry(config, 'context', config.text('current-context'))
  const cluster = namedEntry(config, 'cluster', context.text('cluster'))
  const userName = context.text('user')
  const user = userName === undefined ? undefined : namedEntry(config, 'user', userName)
  const server = cluster.text('server')
  if (server === undefined && master === undefined) throw cluster.refuse('server', 'is missing')
  if (cluster.has('proxy-url')) {
    throw cluster.refuse('proxy-url', 'is not supported', 'make the API server directly reachable')
  }
  const url =
    master === undefined
      ? parseServerUrl(server!, `${file}: cluster.server`)
      : parseServerUrl(master, '--master')
  const folder = dirname(file)
  const identity = kubeconfigUser({ user, cluster, server: url.origin, folder, clock })
  const tls = await kubeconfigTls({ cluster, user, folder })
  return {
    origin: url.origin,
    basePath: url.basePath,
    tls: url.secure ? tls : undefined,
    credentials: identity,
    source: `kubeconfig ${JSON.stringify(file)}`,
  }
}

/** Parses the YAML. Errors name line and column, and never quote the text, which holds secrets. */
function parseKubeconfig(text: string, file: string): FieldReader {
  const document = parseDocument(text, { prettyErrors: true, logLevel: 'silent' })
  const error = document.errors[0]
  if (error !== undefined) {
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
    const message = `not YAML at line ${line}, column ${col} (${error.code})`
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file })
  }
  return createFieldReader(expand(document, file), '', file)
}

function expand(document: ReturnType<typeof parseDocument>, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch {
    const message = 'too many YAML aliases, or an alias without its anchor'
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file })
  }
}

/** The entry of that name in `clusters`, `users` or `contexts`. */
function namedEntry(
  config: FieldReader,
  kind: 'cluster' | 'user' | 'context',
  name: string | undefined,
): FieldReader {
  const selector = kind === 'context' ? 'current-context' : `${kind} of the current context`
  if (name === undefined) throw config.refuse(selector, 'is missing')
  const entry = config.parts(`${kind}s`).find((candidate) => candidate.text('name') === name)
  if (entry === undefined) {
    throw config.refuse(`${kind}s`, `has no entry named ${JSON.stringify(name)} (${selector})`)
  }
  const part = entry.part(kind)
  if (part !== undefined) return part
  if (kind === 'user') return createFieldReader({}, 'user', '')
  throw entry.refuse(kind, 'is missing')
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    const message = `the kubeconfig ${JSON.stringify(file)} cannot be read`
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file, cause })
  })
  if (bytes.length > SIZE_LIMIT) {
    const message = `the kubeconfig is larger than ${SIZE_LIMIT} bytes`
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file })
  }
  return bytes.toString('utf8')
}
