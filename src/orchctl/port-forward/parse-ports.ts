import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/usage-error.ts'

/** A port of this machine, and a port of the Pod or Service. */
export interface PortPair {
  /** 0: any free one. */
  readonly local: number
  /** A number, or the name of a port. */
  readonly remote: string
}

const MAX_PORT = 65_535

/** Reads `8080`, `8080:80`, `:80`, `0:http`. A name alone gets any free port. @throws NP_ORCHCTL_USAGE */
export function parsePorts(texts: readonly string[]): readonly PortPair[] {
  if (texts.length === 0) throw usageError('a port is missing', 'write for example 8080:80')
  return texts.map(parsePair)
}

function parsePair(text: string): PortPair {
  const [first = '', second, ...rest] = text.split(':')
  const remote = second ?? first
  const isNumber = /^\d+$/.test(remote)
  const local = second === undefined ? (isNumber ? first : '0') : first || '0'
  if (rest.length > 0 || !isRemote(remote) || !isPort(local, 0)) {
    throw usageError(`${quote(text)} is no pair of ports`, 'write 8080, 8080:80, :80 or 8080:http')
  }
  return { local: Number(local), remote }
}

function isRemote(text: string): boolean {
  return /^\d+$/.test(text) ? isPort(text, 1) : /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
}

function isPort(text: string, least: number): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= least && Number(text) <= MAX_PORT
}
