import { networkFailure } from '../../client/http/network-failure.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { hostPort } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { CONNECT_MS, type FailedAttempt, LATE_CONNECTION } from '../../lib/tls/first-connection.ts'
import type { CallFailure } from '../session/call-failure.ts'

/** Why a node was not read at one of its addresses, which the message names. */
export type AddressFailure = Pick<CallFailure, 'errorCode' | 'message'>

const TURN_ON =
  'set inspection.bindAddress of its node-proxy (docs/operate/inspection.md), or check --inspection-port'
const CERTIFY =
  'give the authority that signed its inspection.tlsCertFile by --inspection-certificate-authority; the certificate must name the InternalIP of the node'

/** What a connection that was not made met. */
export function addressFailure({ address, error }: FailedAttempt, port: number): AddressFailure {
  const origin = `https://${hostPort(address, port)}`
  if (!('code' in error) || error.code !== LATE_CONNECTION) return networkFailure(error, origin)
  const message = `no TLS connection to ${origin} within ${CONNECT_MS / 1000} s`
  return { errorCode: 'NP_CLIENT_TIMEOUT', message }
}

/** Names each address with its reason, and then each remedy once. */
export function unreachableNode(node: string, failures: readonly AddressFailure[]): NodeProxyError {
  const reasons = failures.map(({ message }) => message).join('; ')
  const remedies = failures.map(({ errorCode }) =>
    errorCode === 'NP_CLIENT_TLS' ? CERTIFY : TURN_ON,
  )
  const text = `the node-proxy of node ${quote(node)} cannot be read: ${reasons}`
  const hint = [...new Set(remedies)].join('; ')
  return new NodeProxyError('NP_ORCHCTL_NODE_UNREACHABLE', text, { hint })
}
