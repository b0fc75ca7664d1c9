import { dirname, resolve } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import type { Connection, TlsMaterial } from './connection.ts'
import type { FieldReader } from './field-reader.ts'
import { createFieldReader } from './field-reader.ts'
import { kubeconfigValue, readKubeconfigDocument } from './kubeconfig-document.ts'
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

/**
 * The connection of the current-context. The file is read again for each new connection and, for its token, every
 * minute: a new certificate, authority or token in it needs no restart. What cannot be read then stays as it was.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL
 */
export async function loadKubeconfig(options: KubeconfigOptions): Promise<Connection> {
  const file = resolve(options.path)
  const first = await readEntries(file)
  const connection = await connectionOf(first, options, file)
  if (connection.tls === undefined) return connection
  let tls = connection.tls
  const material = async (): Promise<TlsMaterial> => {
    tls = await readEntries(file)
      .then((entries) => kubeconfigTls({ ...entries, folder: dirname(file) }))
      .catch(() => tls)
    return tls.material()
  }
  return { ...connection, tls: { ...tls, material } }
}

async function readEntries(file: string): Promise<Entries> {
  return entriesOf(kubeconfigValue(await readKubeconfigDocument(file), file), file)
}

/**
 * The connection of the current-context of a kubeconfig that is already parsed, such as one that was merged from
 * several files. `path` is for messages, and its folder is where relative paths begin.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL
 */
export async function kubeconfigConnection(
  value: unknown,
  options: KubeconfigOptions,
): Promise<Connection> {
  return connectionOf(entriesOf(value, resolve(options.path)), options)
}

/** What the current-context refers to. */
interface Entries {
  readonly cluster: FieldReader
  readonly user: FieldReader | undefined
  readonly userName: string | undefined
}

function entriesOf(value: unknown, file: string): Entries {
  const config = createFieldReader(value, '', file)
  const context = namedEntry(config, 'context', config.text('current-context'))
  const cluster = namedEntry(config, 'cluster', context.text('cluster'))
  const userName = context.text('user')
  const user = userName === undefined ? undefined : namedEntry(config, 'user', userName)
  return { cluster, user, userName }
}

/** `source`: the file that the entries are from, where they are from one. */
async function connectionOf(
  { cluster, user, userName }: Entries,
  { path, master, clock }: KubeconfigOptions,
  source?: string,
): Promise<Connection> {
  const file = resolve(path)
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
  const entry =
    source === undefined || userName === undefined ? undefined : { file: source, userName }
  const identity = kubeconfigUser({ user, cluster, server: url.origin, folder, entry, clock })
  const tls = await kubeconfigTls({ cluster, user, folder })
  return {
    origin: url.origin,
    basePath: url.basePath,
    tls: url.secure ? tls : undefined,
    credentials: identity,
    source: `kubeconfig ${JSON.stringify(file)}`,
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
