import type { ApiServer } from '../../apiserver/api-server.ts'
import type { Clock } from '../../lib/clock.ts'
import { familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CertificateSource } from '../certificates/serving-certificate.ts'
import type { Followed } from '../identity/followed-files.ts'
import { follow } from '../system/follow.ts'
import { writeKubeconfig } from './kubeconfig.ts'

export interface SecureAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

export interface SecureFrontOptions {
  readonly server: Pick<ApiServer, 'listen' | 'advertise'>
  readonly address: SecureAddress
  /** Where Pods, and the clients of the kubeconfig, reach the server. */
  readonly advertised: IpAddress
  /** Whose client certificates are accepted. */
  readonly clientAuthorities: Followed<string>
  readonly source: CertificateSource
  /** The kubeconfig that is written for clients. */
  readonly kubeconfig: string
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'error'>
}

/** The TLS listener of the server, with its address and certificate kept up to date. */
export interface SecureFront {
  readonly url: string
  /** By which clients verify the server, PEM; undefined: they know it already. */
  readonly authority: string | undefined
  /**
   * The server leaves the Service for Pods, and its certificate is not renewed any more; the
   * server closes its socket itself.
   */
  close(): Promise<void>
}

/**
 * Listens, and publishes how clients reach it: for operators in a kubeconfig, for Pods in
 * a Service. Does both again with every new certificate.
 */
export async function openSecureFront(options: SecureFrontOptions): Promise<SecureFront> {
  const { server, address, advertised, source, clientAuthorities, kubeconfig, clock, log } = options
  const first = await source.current()
  const listener = await server.listen({
    ...address,
    tls: first,
    clientAuthorities: clientAuthorities.current(),
  })
  clientAuthorities.onChange((next) => listener.replaceClientAuthorities(next))
  const url = `https://${familyOf(advertised) === 6 ? `[${advertised}]` : advertised}:${listener.port}`
  const publish = (authority: string | undefined): Promise<void> =>
    writeKubeconfig(kubeconfig, { server: url, authority })
  await publish(first.authority)
  const advertisement = server.advertise({ address: advertised, port: listener.port })
  if (advertisement.unreachable !== undefined) {
    log.info({ reason: advertisement.unreachable }, 'no Service leads Pods to this server')
  }
  const unfollow = follow({
    ...{ clock, first },
    read: () => source.current(),
    onChange: async (next) => {
      listener.replaceCertificate(next)
      await publish(next.authority)
      log.info('the serving certificate was renewed')
    },
    onError: (err) => log.error({ err }, 'the serving certificate could not be renewed'),
  })
  const close = (): Promise<void> => {
    unfollow()
    return advertisement.stop()
  }
  return { url, authority: first.authority, close }
}
