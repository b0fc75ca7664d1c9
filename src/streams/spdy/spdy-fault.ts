import { NodeProxyError } from '../../lib/error.ts'

/** A violation of SPDY/3.1 by the peer, which ends the session. */
export function spdyFault(why: string): NodeProxyError {
  return new NodeProxyError('NP_STREAMS_SPDY', `the peer broke the protocol SPDY/3.1: ${why}`)
}
