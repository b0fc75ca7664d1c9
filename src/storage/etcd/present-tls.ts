import { getCACertificates } from 'node:tls'
import type { experimental } from '@grpc/grpc-js'

/** PEM texts. Without `ca`, the system's authorities are trusted. */
export interface EtcdTls {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

type Provider = experimental.CertificateProvider
type AuthorityListener = Parameters<Provider['addCaCertificateListener']>[0]
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0]

/**
 * The certificates as they are now, for the connections that begin from now on;
 * those that stand stay. Whether there is a client certificate at all does not change.
 */
export class PresentTls implements Provider {
  readonly hasIdentity: boolean
  readonly #authorityListeners = new Set<AuthorityListener>()
  readonly #identityListeners = new Set<IdentityListener>()
  #tls: EtcdTls

  constructor(tls: EtcdTls) {
    this.#tls = tls
    this.hasIdentity = tls.cert !== undefined
  }

  replace(tls: EtcdTls): void {
    this.#tls = tls
    for (const listener of this.#authorityListeners) listener(this.#authority())
    for (const listener of this.#identityListeners) listener(this.#identity())
  }

  addCaCertificateListener(listener: AuthorityListener): void {
    this.#authorityListeners.add(listener)
    listener(this.#authority())
  }

  removeCaCertificateListener(listener: AuthorityListener): void {
    this.#authorityListeners.delete(listener)
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener)
    listener(this.#identity())
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener)
  }

  #authority() {
    const { ca = Buffer.from(getCACertificates('default').join('\n')) } = this.#tls
    return { caCertificate: ca }
  }

  #identity() {
    const { cert, key } = this.#tls
    return cert === undefined || key === undefined ? null : { certificate: cert, privateKey: key }
  }
}
