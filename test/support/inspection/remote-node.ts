import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { InspectionHandlerParts } from '../../../src/inspection/http/inspection-handler.ts'
import { fakeSource } from '../../../src/inspection/http/testing/source.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'
import { FakeClock } from '../../../src/lib/testing/fake-clock.ts'
import { freePort } from '../../../src/lib/testing/free-port.ts'
import { serveRemote } from '../../../src/nodeproxy/remote/serve-remote.ts'
import { configuration, recordingLog } from '../../../src/nodeproxy/testing/wiring.ts'
import type { Cluster } from './cluster.ts'

/** A certificate and its key, PEM. */
interface Pair {
  readonly cert: string
  readonly key: string
}

/** The options of a remote listener of tests. */
export interface RemoteNodeOptions {
  readonly cluster: Pick<Cluster, 'client'>
  readonly serving: Pair
  /** PEM; absent: only bearer tokens are accepted. */
  readonly clientAuthority?: string
  readonly source?: InspectionHandlerParts['source']
  readonly readDocument?: InspectionHandlerParts['readDocument']
}

/** What a test varies of a request. */
export interface CallOptions {
  readonly token?: string
  readonly client?: Pair
  /** PEM. */
  readonly trusts: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply {
  readonly code: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** A remote listener of the node `n1`, with files, log and conditions of its own, on a clock of the test. */
export async function startRemoteNode(options: RemoteNodeOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'np-remote-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const paths = {
    cert: join(folder, 'tls.crt'),
    key: join(folder, 'tls.key'),
    ca: join(folder, 'ca.crt'),
  }
  const write = ({ cert, key }: Pair): void => {
    writeFileSync(paths.cert, cert)
    writeFileSync(paths.key, key)
  }
  write(options.serving)
  if (options.clientAuthority !== undefined) writeFileSync(paths.ca, options.clientAuthority)
  const port = await freePort()
  const { log, lines } = recordingLog()
  const conditions = new Map<string, string>()
  const clock = new FakeClock(Date.now())
  let wasSetBack = 0
  const steadyClock = { now: () => clock.now() + wasSetBack }
  /** Sets the clock back, but not the steady one. */
  const setBack = (ms: number): void => {
    wasSetBack += ms
    clock.elapse(-ms)
  }
  const config = configuration({
    'inspection.bindAddress': { ip: '127.0.0.1' as IpAddress, port },
    'inspection.tlsCertFile': paths.cert,
    'inspection.tlsPrivateKeyFile': paths.key,
    'inspection.clientCAFile': options.clientAuthority === undefined ? '' : paths.ca,
  })
  const parts = {
    source: options.source ?? fakeSource(),
    socket: '',
    readDocument: options.readDocument ?? (async () => ({ json: '{}' })),
    onError: (error: unknown) => log.error({ err: error }, 'failed'),
  }
  const listener = await serveRemote(parts, {
    launch: { config, log },
    client: options.cluster.client,
    nodeName: 'n1',
    clock,
    steadyClock,
    conditions: {
      raise: (reason, { message }) => void conditions.set(reason, message),
      clear: (reason) => void conditions.delete(reason),
    },
  })
  onTestFinished(() => listener?.close())
  const call = (path: string, given: CallOptions) => get(`https://127.0.0.1:${port}${path}`, given)
  return { port, paths, write, lines, conditions, clock, setBack, call }
}

async function get(url: string, { token, client, trusts: ca, headers = {} }: CallOptions) {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` }
  const options = { ca, ...client, agent: false, headers: { ...headers, ...authorization } }
  const sent = request(url, options, (response) => {
    const { statusCode: code, headers: received } = response
    text(response).then((body) => resolve({ code, headers: received, body }), reject)
  })
  sent.on('error', reject)
  sent.end()
  return promise
}
