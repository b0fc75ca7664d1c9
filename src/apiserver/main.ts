import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { messageOf, NodeProxyError } from '../lib/error.ts'
import { type PortRange, parsePortRange } from '../lib/port-range.ts'
import { createMemoryStore } from '../storage/memory-store.ts'
import { createApiServer } from './api-server.ts'
import type { ListenOptions } from './http/listen.ts'

const USAGE = `Usage: node src/apiserver/main.ts [options]

Serves the API from this process's memory until SIGTERM or SIGINT.

  --host ADDRESS                    default 127.0.0.1
  --port PORT                       default 0: any free port
  --tls-cert FILE --tls-key FILE    PEM; HTTPS when given
  --service-cluster-ip-range CIDR   default 10.96.0.0/16; a second one after a comma for dual stack
  --service-node-port-range A-B     default 30000-32767
  --help
`

/** Serves until a signal says stop; prints the URL once requests are answered. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string' },
      port: { type: 'string' },
      'tls-cert': { type: 'string' },
      'tls-key': { type: 'string' },
      'service-cluster-ip-range': { type: 'string' },
      'service-node-port-range': { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    process.stdout.write(USAGE)
    return
  }
  const ranges = values['service-cluster-ip-range']
  const nodePorts = values['service-node-port-range']
  const store = createMemoryStore()
  const server = createApiServer({
    store,
    ...(ranges === undefined ? {} : { serviceAddressRanges: ranges.split(',') }),
    ...(nodePorts === undefined ? {} : { nodePortRange: nodePortRange(nodePorts) }),
    onError: (error) =>
      process.stderr.write(`${JSON.stringify({ level: 'error', message: String(error) })}\n`),
  })
  const listening = await server.listen(listenOptions(values))
  const stop = (): void => {
    void server.close().then(() => store.close())
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.stdout.write(`${listening.url}\n`)
}

function listenOptions(values: {
  readonly host?: string | undefined
  readonly port?: string | undefined
  readonly 'tls-cert'?: string | undefined
  readonly 'tls-key'?: string | undefined
}): ListenOptions {
  const { host, port, 'tls-cert': cert, 'tls-key': key } = values
  if ((cert === undefined) !== (key === undefined))
    throw usage('give --tls-cert and --tls-key together')
  if (port !== undefined && !/^[0-9]{1,5}$/.test(port))
    throw usage(`--port ${JSON.stringify(port)} is not a port`)
  return {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(cert === undefined || key === undefined
      ? {}
      : { tls: { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') } }),
  }
}

function nodePortRange(text: string): PortRange {
  const range = parsePortRange(text)
  if (range !== undefined) return range
  throw usage(`--service-node-port-range ${JSON.stringify(text)} is not a range like 30000-32767`)
}

function usage(message: string): NodeProxyError {
  return new NodeProxyError('NP_APISERVER_USAGE', message, { hint: 'see --help' })
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exitCode = 1
}
