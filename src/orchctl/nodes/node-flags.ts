import type { Command } from 'commander'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/exit-code.ts'

/** The default port on which node-proxies serve other machines. */
const DEFAULT_PORT = 10_246

/** The flags of commands that read the node-proxy of nodes. */
export interface NodeFlags {
  readonly inspectionPort?: string
  readonly inspectionCertificateAuthority?: string
}

/** Adds those flags. */
export function addNodeFlags(command: Command): Command {
  return command
    .option(
      '--inspection-port <port>',
      `the port of inspection.bindAddress of node-proxy; default: ${DEFAULT_PORT}`,
    )
    .option(
      '--inspection-certificate-authority <file>',
      'the authority of the nodes, a PEM file; default: that of the API server',
    )
}

/** @throws NP_ORCHCTL_USAGE */
export function portOf({ inspectionPort: text }: NodeFlags): number {
  if (text === undefined) return DEFAULT_PORT
  const port = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_535) return port
  throw usageError(`--inspection-port ${quote(text)} is no port`, 'write a number from 1 to 65535')
}
