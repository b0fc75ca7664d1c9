import { parseDuration } from '../../lib/duration.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { isSubdomain } from '../../resources/names.ts'
import type { CommandValues } from '../../settings/command-line.ts'
import { flagProblem } from '../../settings/flag-problem.ts'
import type { Problem } from '../../settings/problem.ts'
import { NODE_CERTIFICATE_TABLE, type NodeCertificateFlags } from './node-certificate-table.ts'

/** The certificate that an operator wants. */
export interface NodeCertificateRequest {
  readonly node: string
  readonly addresses: readonly IpAddress[]
  /** Milliseconds. */
  readonly life: number
  /** A folder. */
  readonly output: string
}

const DEFAULT_LIFE = 365 * 86_400_000
const MIN_LIFE = 600_000

/** What the flags of the command request, or the first thing that is wrong with them. */
export function nodeCertificateRequest({
  node = '',
  address: texts,
  'valid-for': validFor,
  output = '',
}: CommandValues<NodeCertificateFlags>): NodeCertificateRequest | Problem {
  if (!isSubdomain(node)) return problem('node', node, 'write the name of the Node object')
  const addresses = texts.flatMap((text) => parseIp(text) ?? [])
  const wrong = texts.find((text) => parseIp(text) === undefined)
  if (wrong !== undefined || addresses.length === 0) {
    return problem('address', wrong, 'write an IP address of the node, its InternalIP')
  }
  const life = validFor === undefined ? DEFAULT_LIFE : parseDuration(validFor)
  if (life === undefined || life < MIN_LIFE) {
    return problem('valid-for', validFor, 'write a duration such as 720h, of at least 10m')
  }
  if (output === '') return problem('output', undefined, 'write a folder')
  return { node, addresses: [...new Set(addresses)], life, output }
}

function problem(
  flag: keyof NodeCertificateFlags,
  text: string | undefined,
  message: string,
): Problem {
  const value = text === undefined ? undefined : quote(text)
  return { ...flagProblem(NODE_CERTIFICATE_TABLE, `--${flag}`, message), value }
}
