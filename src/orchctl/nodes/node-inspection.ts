import { readFile } from 'node:fs/promises'
import type { Connection } from '../../client/connection/connection.ts'
import { noObserver } from '../../client/http/client-observer.ts'
import type { Query } from '../../client/http/query.ts'
import { createTransport } from '../../client/http/transport.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { hostPort } from '../../lib/ip.ts'
import { isJsonObject, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/context.ts'
import { createApi } from '../session/api.ts'
import type { CallFailure } from '../session/call-failure.ts'
import { usageError } from '../usage/usage-error.ts'
import { internalAddress } from './node-address.ts'
import { type NodeFlags, portOf } from './node-flags.ts'

/** The answer of a node-proxy, or why there is none. */
export type NodeResult =
  | { readonly ok: true; readonly body: JsonObject }
  | { readonly ok: false; readonly error: NodeProxyError }

/** A list of a node-proxy, one JSON object a line, or why there is none. */
export type NodeLines =
  | { readonly ok: true; readonly lines: readonly JsonObject[] }
  | { readonly ok: false; readonly error: NodeProxyError }

/** Reads the node-proxy of one node. */
export interface NodeInspection {
  /** A document, such as `/inspection/v1/status`. */
  get(path: string, query?: Query): Promise<NodeResult>
  /** A list, such as `/inspection/v1/traffic`. */
  lines(path: string, query?: Query): Promise<NodeLines>
  close(): Promise<void>
}

/** How to reach a node. */
export interface NodeAccess extends NodeFlags {
  /** Milliseconds for a document. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 20_000

/**
 * Opens the way to the node-proxy of a Node object, with the credentials of the session. They are sent to no server whose
 * certificate the authority of the flags, or that of the API server, did not sign for the address of the node.
 * @throws NP_ORCHCTL_USAGE, NP_ORCHCTL_NODE where the node cannot be reached so
 */
export async function openNodeInspection(
  node: JsonObject,
  context: Pick<CommandContext, 'session' | 'notice' | 'host'>,
  access: NodeAccess = {},
): Promise<NodeInspection> {
  const name = stringAt(node, 'metadata', 'name')
  const { connection, impersonation } = await context.session()
  if (impersonation !== undefined) {
    throw usageError('nodes know no impersonation', 'leave out --as, --as-group and --as-uid')
  }
  const address = internalAddress(node)
  if (address === undefined) {
    throw new NodeProxyError('NP_ORCHCTL_NODE', `node ${quote(name)} has no InternalIP`, {
      hint: 'see its status.addresses, which the program that registers the node writes',
    })
  }
  const origin = `https://${hostPort(address, portOf(access))}`
  const transport = createTransport({
    connection: await nodeConnection(origin, connection, access),
    userAgent: `orchctl/${context.host.version}`,
    clock: systemClock,
    observer: noObserver,
  })
  const shared = { clock: systemClock, headers: {}, notice: context.notice, verbosity: 0 }
  const api = createApi({
    ...shared,
    transport,
    server: origin,
    timeoutMs: access.timeoutMs ?? TIMEOUT_MS,
  })
  return {
    async get(path, query = {}) {
      const result = await api.request({ path, query })
      if (result.ok) return { ok: true, body: result.value.body }
      return { ok: false, error: nodeError(name, result.failure) }
    },
    async lines(path, query = {}) {
      const result = await api.requestText({ path, query })
      if (!result.ok) return { ok: false, error: nodeError(name, result.failure) }
      const lines = parsedLines(result.text)
      if (lines !== undefined) return { ok: true, lines }
      const message = `the node-proxy of node ${quote(name)} answered ${quote(path)} with something else than JSON`
      return { ok: false, error: new NodeProxyError('NP_ORCHCTL_NODE', message) }
    },
    close: () => transport.close(),
  }
}

/** Undefined: a line is no JSON object. */
function parsedLines(text: string): readonly JsonObject[] | undefined {
  try {
    const lines = text.split('\n').filter((line) => line !== '')
    const values = lines.map((line) => JSON.parse(line) as Json)
    const objects = values.filter(isJsonObject)
    return objects.length === values.length ? objects : undefined
  } catch {
    return undefined
  }
}

/** With the credentials for the API server, and whatever leads to that one left out. */
async function nodeConnection(
  origin: string,
  { tls, credentials, source }: Connection,
  { inspectionCertificateAuthority: file }: NodeFlags,
): Promise<Connection> {
  const ca = file === undefined ? (await tls?.material())?.ca : await readAuthority(file)
  if (ca === undefined) {
    const hint =
      'give --inspection-certificate-authority FILE; nothing is sent to a node unverified'
    throw usageError('no authority of the nodes is known: the kubeconfig has none', hint)
  }
  const material = async () => {
    const { cert, key } = (await tls?.material()) ?? {}
    return { ca, cert, key }
  }
  return {
    origin,
    basePath: '',
    credentials,
    source,
    tls: { material, serverName: undefined, insecureSkipVerify: false },
  }
}

async function readAuthority(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const message = `--inspection-certificate-authority ${quote(file)} cannot be read: ${error.code}`
    throw usageError(message)
  })
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw usageError(`--inspection-certificate-authority ${quote(file)} holds no certificate in PEM`)
}

const TURN_ON =
  'set inspection.bindAddress of its node-proxy (docs/operate/inspection.md), or check --inspection-port'
const CERTIFY =
  'give the authority that signed its inspection.tlsCertFile by --inspection-certificate-authority; the certificate must name the InternalIP of the node'

function nodeError(node: string, { errorCode, message, code }: CallFailure): NodeProxyError {
  if (code > 0) {
    const text = `the node-proxy of node ${quote(node)} refuses: ${message} (HTTP ${code})`
    return new NodeProxyError('NP_ORCHCTL_NODE', text)
  }
  const hint = errorCode === 'NP_CLIENT_TLS' ? CERTIFY : TURN_ON
  const text = `the node-proxy of node ${quote(node)} cannot be read: ${message}`
  return new NodeProxyError('NP_ORCHCTL_NODE_UNREACHABLE', text, { hint })
}
