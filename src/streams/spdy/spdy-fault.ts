import { NodeProxyError } from '../../lib/error.ts'

/** What a peer sent that SPDY/3.1 does not permit; the session ends. */
export function spdyFault(why: string): NodeProxyError {
  return new NodeProxyError('NP_STREAMS_SPDY', `the peer broke the protocol SPDY/3.1: ${why}`)
}
