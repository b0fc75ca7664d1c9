import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { type ChannelCredentials, type ChannelOptions, credentials } from '@grpc/grpc-js'
import type { Endpoint } from './endpoint.ts'

/** PEM texts. Without `ca`, the system's authorities are trusted. */
export interface EtcdTls {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** What TLS says it wants to reach where only an address is known: server names are never addresses. */
const NAME_OF_ADDRESSES = 'etcd'

/** How a channel to an endpoint is protected. */
export function channelSecurity(
  { address, secure }: Endpoint,
  tls: EtcdTls,
): { readonly credentials: ChannelCredentials; readonly options: ChannelOptions } {
  if (!secure) return { credentials: credentials.createInsecure(), options: {} }
  const { ca = null, cert = null, key = null } = tls
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '')
  if (isIP(host) === 0) return { credentials: credentials.createSsl(ca, key, cert), options: {} }
  // grpc-js would ask for the address as a server name, which Node refuses.
  const verify = (_name: string, peer: PeerCertificate) => checkServerIdentity(host, peer)
  return {
    credentials: credentials.createSsl(ca, key, cert, { checkServerIdentity: verify }),
    options: { 'grpc.ssl_target_name_override': NAME_OF_ADDRESSES },
  }
}
