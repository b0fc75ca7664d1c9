import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import {
  type ChannelCredentials,
  type ChannelOptions,
  credentials,
  experimental,
} from '@grpc/grpc-js'
import type { Endpoint } from './endpoint.ts'
import type { RenewableTls } from './renewable-tls.ts'

/** The TLS server name for an endpoint with an IP address, which cannot be a server name (RFC 6066 §3). */
const NAME_OF_ADDRESSES = 'etcd'

/** Credentials and options of a channel to an endpoint. Each new connection uses the present certificates of `tls`. */
export function channelSecurity(
  { address, secure }: Endpoint,
  tls: RenewableTls,
): { readonly credentials: ChannelCredentials; readonly options: ChannelOptions } {
  if (!secure) return { credentials: credentials.createInsecure(), options: {} }
  const { createCertificateProviderChannelCredentials: follow } = experimental
  const identity = tls.hasIdentity ? tls : null
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '')
  if (isIP(host) === 0) return { credentials: follow(tls, identity), options: {} }
  // grpc-js would send the address as the server name, which Node refuses.
  const verify = (_name: string, peer: PeerCertificate) => checkServerIdentity(host, peer)
  return {
    credentials: follow(tls, identity, { checkServerIdentity: verify }),
    options: { 'grpc.ssl_target_name_override': NAME_OF_ADDRESSES },
  }
}
