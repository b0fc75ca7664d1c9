import { styleText } from 'node:util'
import { NodeProxyError } from '../../lib/error.ts'
import type { OutputStream } from '../usage/host.ts'
import { oneLine } from './terminal-text.ts'

export interface Writing {
  readonly stderr: OutputStream
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Whether an output may have colours: a terminal, and NO_COLOR (no-color.org) is not set. */
export function isColourful(
  stream: OutputStream,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

/** Writes one line for an error; rethrows an error that is a bug. */
export function reportError(error: unknown, { stderr, env }: Writing): void {
  if (!(error instanceof NodeProxyError)) throw error
  const hint = error.hint === undefined ? '' : `; ${error.hint}`
  const object = isFile(error) ? `${error.object}: ` : ''
  const text = oneLine(`${object}${error.message}${hint} (${error.code})`)
  const name = isColourful(stderr, env)
    ? styleText(['red', 'bold'], 'orchctl:', { validateStream: false })
    : 'orchctl:'
  stderr.write(`${name} ${text}\n`)
}

/** Whether the file must be shown before the message: that of a broken kubeconfig does not name it. */
function isFile({ code, object, message }: NodeProxyError): boolean {
  return code === 'NP_CLIENT_KUBECONFIG' && object !== undefined && !message.includes(object)
}
